"""Run the notebooks and keep what they print and draw: ``python docs/run_notebooks.py [NAME ...]``, by default all.

``--short`` runs them with the small numbers of their metadata, as the tests do, and keeps nothing.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupyter_client
import nbclient
import nbformat
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
FIGURES = {"figure.dpi": 100}
"""matplotlib's settings: pictures as wide as a page of text."""
COLOURS = 64
"""Of a kept picture; so few make its file three times smaller."""


def shortened(notebook: Any) -> Any:
    """Put a cell with small numbers below the one with the tag ``parameters``, where there is one."""
    if "short" not in notebook.metadata:
        return notebook
    (place,) = (i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", ()))
    small = "\n".join(f"{name} = {value!r}" for name, value in notebook.metadata["short"].items())
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(small))
    return notebook


def smaller(picture: str) -> str:
    """Return a PNG, in base 64, with a palette of few colours."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    kept = io.BytesIO()
    image.quantize(COLOURS).save(kept, "png", optimize=True)
    return base64.b64encode(kept.getvalue()).decode()


@contextlib.contextmanager
def kernel(folder: str | Path) -> Iterator[Any]:
    """Start a process for notebooks, with ``folder`` as its working directory."""
    settings = Path(folder) / "matplotlibrc"
    settings.write_text("".join(f"{name}: {value}\n" for name, value in FIGURES.items()))
    manager = jupyter_client.KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder), env={**os.environ, "MATPLOTLIBRC": str(settings)})
    try:
        yield manager
    finally:
        manager.shutdown_kernel(now=True)


def executed(notebook: Any, manager: Any) -> Any:
    """Run a notebook from top to bottom in a process of :func:`kernel`; return it with its outputs."""
    before = {cell.id: dict(cell.metadata) for cell in notebook.cells}
    about = dict(notebook.metadata)
    nbclient.NotebookClient(notebook, km=manager, timeout=600, record_timing=False).execute()
    notebook.metadata = nbformat.from_dict(about)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(before[cell.id])
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", ()):
                output.data["image/png"] = smaller(output.data["image/png"])
    return notebook


def main() -> None:
    """Run the notebooks that are named on the command line."""
    names = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--short", action="store_true", help="small numbers, and nothing is kept")
    given = parser.parse_args()
    for name in given.names or names:
        path = FOLDER / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, kernel(folder) as manager:
            executed(shortened(notebook) if given.short else notebook, manager)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        if not given.short:
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
