import doctest
import importlib

import pytest

MODULES = [
    "jaxci.api.bootstrap",
    "jaxci.api.check",
    "jaxci.api.compare",
    "jaxci.api.evaluate",
    "jaxci.api.evaluate_cases",
    "jaxci.api.generalization",
    "jaxci.api.jackknife",
    "jaxci.api.proportion",
    "jaxci.api.quantile_plans",
    "jaxci.api.quantiles",
    "jaxci.api.runs",
    "jaxci.runs.seeds",
    "jaxci.coverage.bundled",
    "jaxci.coverage.enumeration",
    "jaxci.coverage.study",
    "jaxci.distributions.files",
    "jaxci.distributions.problem_registry",
    "jaxci.data",
    "jaxci.resampling.exact_mean",
    "jaxci.resampling.exact_order",
    "jaxci.resampling.exact_ratio",
    "jaxci.segmentation.measuring",
    "jaxci.segmentation.table",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module)
    assert found.failed == 0
    assert found.attempted > 0
