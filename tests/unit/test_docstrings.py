"""Examples in docstrings are true, in every module that has any."""

import doctest
import importlib
from pathlib import Path

import pytest

import jaxci

ROOT = Path(jaxci.__file__).parent
MODULES = sorted(
    ".".join(("jaxci", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module)
    assert found.failed == 0
    assert found.attempted > 0
