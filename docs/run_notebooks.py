"""Run the notebooks and keep what they print and draw: ``python docs/run_notebooks.py [NAME ...]``, by default all.

``--short`` runs them with the small numbers of their metadata, as the tests do, and keeps nothing.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
FIGURES = {"figure.dpi": 80}
"""matplotlib's settings: pictures as wide as a page of text, in files that stay small."""


def shortened(notebook: Any) -> Any:
    """Put a cell with small numbers below the one with the tag ``parameters``; both assign the same names."""
    (place,) = (i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", ()))
    small = "\n".join(f"{name} = {value!r}" for name, value in notebook.metadata["short"].items())
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(small))
    return notebook


def executed(notebook: Any, folder: str | Path) -> Any:
    """Run a notebook from top to bottom, with ``folder`` as its working directory; return it with its outputs."""
    settings = Path(folder) / "matplotlibrc"
    settings.write_text("".join(f"{name}: {value}\n" for name, value in FIGURES.items()))
    before = {name: dict(cell.metadata) for name, cell in ((cell.id, cell) for cell in notebook.cells)}
    about = dict(notebook.metadata)
    resources = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=resources, record_timing=False
    )
    client.execute(env={**os.environ, "MATPLOTLIBRC": str(settings)})
    notebook.metadata = nbformat.from_dict(about)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(before[cell.id])
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
        with tempfile.TemporaryDirectory() as folder:
            executed(shortened(notebook) if given.short else notebook, folder)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        if not given.short:
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
