"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
SHOWN = {"quickstart": (3, 7), "what_was_not_seen": (3, 1)}
"""Pictures and tables of each notebook."""


@pytest.fixture(params=SHOWN)
def name(request):
    return request.param


@pytest.fixture
def notebook(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def test_every_notebook_is_among_them():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)


@pytest.mark.slow
def test_runs(name, notebook, tmp_path):
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    shown = [output["data"] for output in outputs if "data" in output]
    pictures = sum("image/png" in data for data in shown)
    assert (pictures, sum("<table>" in data.get("text/html", "") for data in shown)) == SHOWN[name]


def test_is_kept_without_outputs(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
