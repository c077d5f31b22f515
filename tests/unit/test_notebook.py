"""The notebooks run from top to bottom in short form, and are kept with the outputs of a whole run."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
SHOWN = {
    "quickstart": (7, 4),
    "which_interval": (10, 4),
    "coverage_study": (6, 1),
    "training_runs": (6, 6),
    "generalization": (4, 8),
    "leaderboards": (7, 5),
}
"""Pictures and tables of each notebook."""
LARGEST = 500_000
"""Bytes of a notebook."""
COLAB = "https://colab.research.google.com/github/jaxci/jaxci/blob/main/notebooks"
REPOSITORY = "https://github.com/jaxci/jaxci/blob/main/"

spec = importlib.util.spec_from_file_location("run_notebooks", ROOT / "docs" / "run_notebooks.py")
run_notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_notebooks)


@pytest.fixture(params=SHOWN)
def name(request):
    return request.param


@pytest.fixture
def notebook(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def outputs(notebook):
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def texts(notebook):
    """Texts that a reader sees in the outputs."""
    data = [output["data"] for output in outputs(notebook) if "data" in output]
    printed = [output.text for output in outputs(notebook) if "text" in output]
    return [*printed, *(one[kind] for one in data for kind in ("text/plain", "text/html") if kind in one)]


def shown(notebook):
    """Pictures and tables."""
    data = [output["data"] for output in outputs(notebook) if "data" in output]
    return sum("image/png" in one for one in data), sum("<table" in one.get("text/html", "") for one in data)


def assigned(cell):
    return [target.id for line in ast.parse(cell.source).body for target in line.targets]


def test_every_notebook_is_among_them():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One process for all notebooks, which starts once and keeps its programs."""
    with run_notebooks.kernel(tmp_path_factory.mktemp("notebooks")) as manager:
        yield manager


FORGET = """
%reset -f
import os, tempfile
os.chdir(tempfile.mkdtemp(dir=os.getcwd()))
del os, tempfile
"""
"""A cell that drops all names, and goes to an empty folder."""


@pytest.mark.slow
def test_runs_in_short_form(name, notebook, kernel):
    run_notebooks.executed(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(FORGET)]), kernel)
    run_notebooks.executed(run_notebooks.shortened(notebook), kernel)
    assert not [output.text for output in outputs(notebook) if output.get("name") == "stderr"]
    assert shown(notebook) == SHOWN[name]


def test_is_kept_with_the_outputs_of_one_run(name, notebook):
    assert [cell.execution_count for cell in code_cells(notebook)] == [*range(1, len(code_cells(notebook)) + 1)]
    assert shown(notebook) == SHOWN[name]
    assert {output.output_type for output in outputs(notebook)} <= {"stream", "display_data", "execute_result"}
    assert not [output.text for output in outputs(notebook) if output.get("name") == "stderr"]
    assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST


def test_what_is_kept_tells_nothing_of_the_machine(notebook):
    for text in texts(notebook):
        assert re.findall(r"(?<![\w.:/<])/(?:tmp|home|root|usr|var|opt|work|content|Users)\b\S*", text) == []
        assert re.findall(r" at 0x[0-9a-f]+|<Axes", text) == []
    assert set(notebook.metadata) <= {"colab", "kernelspec", "language_info", "short"}
    assert dict(notebook.metadata.language_info) == {"name": "python", "pygments_lexer": "ipython3"}
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags"}


def test_opens_in_colab(name, notebook):
    first, install = notebook.cells[0].source, code_cells(notebook)[0]
    assert first.startswith("[![Open in Colab](")
    assert f"]({COLAB}/{name}.ipynb)" in first
    assert 'if importlib.util.find_spec("jaxci") is None:' in install.source
    index, repository = re.findall(r'"(jaxci\[[^"]*)"', install.source)
    assert repository == f"{index} @ git+https://github.com/jaxci/jaxci"
    assert not install.outputs
    assert "GPU" in first


def test_the_short_form_changes_parameters_alone(notebook):
    tagged = [cell for cell in code_cells(notebook) if "parameters" in cell.metadata.get("tags", ())]
    if "short" not in notebook.metadata:
        assert not tagged
        return
    (cell,) = tagged
    assert set(notebook.metadata["short"]) == set(assigned(cell))
    before = [cell.source for cell in notebook.cells]
    after = [cell.source for cell in run_notebooks.shortened(notebook).cells]
    assert len(after) == len(before) + 1
    assert [source for source in after if source in before] == before


def test_links_lead_somewhere(notebook):
    for target in re.findall(r"\]\(([^)]+)\)", prose(notebook)):
        if target.startswith(REPOSITORY):
            assert (ROOT / target.removeprefix(REPOSITORY)).is_file(), target
        elif not target.startswith("https://"):
            assert (FOLDER / target).is_file(), target


def test_a_picture_of_few_colours_is_the_same_picture():
    image = pytest.importorskip("PIL.Image")
    import base64
    import io

    drawn = image.new("RGB", (200, 100), "white")
    drawn.paste((0, 114, 178), (20, 20, 90, 60))
    kept = io.BytesIO()
    drawn.save(kept, "png")
    smaller = run_notebooks.smaller(base64.b64encode(kept.getvalue()).decode())
    again = image.open(io.BytesIO(base64.b64decode(smaller))).convert("RGB")
    assert again.tobytes() == drawn.tobytes()
