"""Trustworthy uncertainty for machine-learning results, computed on accelerators."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxci import coverage, distributions, inducers, plots, segmentation, statistics
    from jaxci.api.accumulator import Accumulator
    from jaxci.api.bootstrap import BootstrapResult, bootstrap
    from jaxci.api.case_results import CaseSummaries
    from jaxci.api.check import check_coverage
    from jaxci.api.compare import compare
    from jaxci.api.compare_inducers import compare_inducers, rank_inducers
    from jaxci.api.evaluate import evaluate
    from jaxci.api.evaluate_cases import evaluate_cases
    from jaxci.api.generalization import fit_resamples, generalization_interval
    from jaxci.api.interval import interval, list_methods, list_metrics
    from jaxci.api.jackknife import jackknife
    from jaxci.api.leaderboard import leaderboard
    from jaxci.api.leaderboard_results import Leaderboard, mean_ranks
    from jaxci.api.losses import from_cross_validate, losses_interval
    from jaxci.api.planning import plan
    from jaxci.api.planning_results import Plan
    from jaxci.api.proportion import proportion_interval
    from jaxci.api.quantile_plans import minimum_sample_size, plan_quantile, simultaneous_quantile_intervals
    from jaxci.api.quantile_points import quantile_estimate
    from jaxci.api.quantiles import quantile_interval
    from jaxci.api.run_scores import performance_profiles, probability_of_improvement
    from jaxci.api.runs import runs_interval, summarize_runs, welch_interval
    from jaxci.compiled import keep_compiled
    from jaxci.printing import ConfidenceInterval, JaxciWarning
    from jaxci.results import ComparisonResult, EvaluationTable, IntervalResult, JackknifeResult
    from jaxci.runs.results import SeedRuns
    from jaxci.runs.seeds import read_runs, run_seeds

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "BootstrapResult",
    "CaseSummaries",
    "ComparisonResult",
    "ConfidenceInterval",
    "EvaluationTable",
    "IntervalResult",
    "JackknifeResult",
    "JaxciWarning",
    "Leaderboard",
    "Plan",
    "SeedRuns",
    "bootstrap",
    "check_coverage",
    "compare",
    "compare_inducers",
    "coverage",
    "curves",
    "distributions",
    "evaluate",
    "evaluate_cases",
    "fit_resamples",
    "from_cross_validate",
    "generalization_interval",
    "inducers",
    "interval",
    "jackknife",
    "keep_compiled",
    "leaderboard",
    "list_methods",
    "list_metrics",
    "losses_interval",
    "mean_ranks",
    "minimum_sample_size",
    "performance_profiles",
    "plan",
    "plan_quantile",
    "plots",
    "probability_of_improvement",
    "proportion_interval",
    "quantile_estimate",
    "quantile_interval",
    "rank_inducers",
    "read_runs",
    "run_seeds",
    "runs_interval",
    "segmentation",
    "simultaneous_quantile_intervals",
    "statistics",
    "summarize_runs",
    "welch_interval",
]

_HOMES = {
    "api.accumulator": ("Accumulator",),
    "api.bootstrap": ("BootstrapResult", "bootstrap"),
    "api.case_results": ("CaseSummaries",),
    "api.check": ("check_coverage",),
    "api.compare": ("compare",),
    "api.evaluate": ("evaluate",),
    "api.evaluate_cases": ("evaluate_cases",),
    "api.interval": ("interval", "list_methods", "list_metrics"),
    "api.compare_inducers": ("compare_inducers", "rank_inducers"),
    "api.generalization": ("fit_resamples", "generalization_interval"),
    "api.losses": ("from_cross_validate", "losses_interval"),
    "api.jackknife": ("jackknife",),
    "api.leaderboard": ("leaderboard",),
    "api.leaderboard_results": ("Leaderboard", "mean_ranks"),
    "api.planning": ("plan",),
    "api.planning_results": ("Plan",),
    "api.proportion": ("proportion_interval",),
    "api.quantile_plans": ("minimum_sample_size", "plan_quantile", "simultaneous_quantile_intervals"),
    "api.quantile_points": ("quantile_estimate",),
    "api.quantiles": ("quantile_interval",),
    "api.run_scores": ("performance_profiles", "probability_of_improvement"),
    "api.runs": ("runs_interval", "summarize_runs", "welch_interval"),
    "compiled": ("keep_compiled",),
    "runs.results": ("SeedRuns",),
    "runs.seeds": ("read_runs", "run_seeds"),
    "printing": ("ConfidenceInterval", "JaxciWarning"),
    "results": ("ComparisonResult", "EvaluationTable", "IntervalResult", "JackknifeResult"),
}


def __getattr__(name: str) -> Any:
    # Names load their module on first use, so that importing the package costs little more than importing JAX.
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"jaxci.{home}"), name)
            globals()[name] = found
            return found
    if name in ("coverage", "curves", "distributions", "inducers", "plots", "segmentation", "statistics"):
        return importlib.import_module(f"jaxci.{name}")
    raise AttributeError(f"module 'jaxci' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
