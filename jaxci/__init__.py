"""Trustworthy uncertainty for machine-learning results, computed on accelerators."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxci import coverage, distributions, plots, statistics
    from jaxci.api.bootstrap import BootstrapResult, bootstrap
    from jaxci.api.check import check_coverage
    from jaxci.api.compare import compare
    from jaxci.api.evaluate import evaluate, interval, list_methods, list_metrics
    from jaxci.api.jackknife import jackknife
    from jaxci.api.proportion import proportion_interval
    from jaxci.results import (
        ComparisonResult,
        ConfidenceInterval,
        EvaluationTable,
        IntervalResult,
        JackknifeResult,
        JaxciWarning,
    )

__version__ = "0.1.0"

__all__ = [
    "BootstrapResult",
    "ComparisonResult",
    "ConfidenceInterval",
    "EvaluationTable",
    "IntervalResult",
    "JackknifeResult",
    "JaxciWarning",
    "bootstrap",
    "check_coverage",
    "compare",
    "coverage",
    "distributions",
    "evaluate",
    "interval",
    "jackknife",
    "list_methods",
    "list_metrics",
    "plots",
    "proportion_interval",
    "statistics",
]

_HOMES = {
    "api.bootstrap": ("BootstrapResult", "bootstrap"),
    "api.check": ("check_coverage",),
    "api.compare": ("compare",),
    "api.evaluate": ("evaluate", "interval", "list_methods", "list_metrics"),
    "api.jackknife": ("jackknife",),
    "api.proportion": ("proportion_interval",),
    "results": (
        "ComparisonResult",
        "ConfidenceInterval",
        "EvaluationTable",
        "IntervalResult",
        "JackknifeResult",
        "JaxciWarning",
    ),
}


def __getattr__(name: str) -> Any:
    # Names load their module on first use, so that importing the package costs little more than importing JAX.
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"jaxci.{home}"), name)
            globals()[name] = found
            return found
    if name in ("coverage", "distributions", "plots", "statistics"):
        return importlib.import_module(f"jaxci.{name}")
    raise AttributeError(f"module 'jaxci' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
