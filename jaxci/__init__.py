"""Trustworthy uncertainty for machine-learning results, computed on accelerators."""

from jaxci import statistics
from jaxci.api.bootstrap import BootstrapResult, bootstrap
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
    "compare",
    "evaluate",
    "interval",
    "jackknife",
    "list_methods",
    "list_metrics",
    "proportion_interval",
    "statistics",
]
