"""The cases whose answers are recorded, and how to record them again.

``python tests/reference/recording.py`` writes recorded_answers.json.gz beside this file; names of groups
after it renew those alone. Only the public interface is used.

A group gives cases by name, each a flat dictionary of numbers and texts. A case is *drawn* where its result
says that it used a source of randomness, or where another seed changes an answer. Of drawn cases, mean and
standard deviation over :data:`OTHER_SEEDS` are recorded too: they say how far another stream may lead.
"""

from __future__ import annotations

import functools
import gzip
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxci
from jaxci.intervals.base import Method

FILE = Path(__file__).with_name("recorded_answers.json.gz")
SEED = 20_240
OTHER_SEEDS = tuple(range(1, 31))
B = 499
R = 200
"""Replications of a coverage check."""

Answers = dict[str, dict[str, Any]]
GROUPS: dict[str, Callable[[int], Answers]] = {}


def group(name: str) -> Callable[[Callable[[int], Answers]], Callable[[int], Answers]]:
    """Register a function of a seed that gives cases."""

    def keep(function: Callable[[int], Answers]) -> Callable[[int], Answers]:
        GROUPS[name] = function
        return function

    return keep


# Data: small, tied and a little unbalanced.

_RNG = np.random.Generator(np.random.PCG64(7))
N = 60
Y2 = (_RNG.random(N) < 0.4).astype(int)
SCORE2 = np.round(np.clip(0.3 + 0.3 * Y2 + _RNG.normal(0, 0.22, N), 0.02, 0.98), 1)
SCORE2_B = np.round(np.clip(0.35 + 0.2 * Y2 + _RNG.normal(0, 0.25, N), 0.02, 0.98), 1)
PRED2, PRED2_B = (SCORE2 > 0.45).astype(int), (SCORE2_B > 0.45).astype(int)
Y3 = _RNG.choice(3, N, p=[0.5, 0.3, 0.2])


def _shares(signal: float) -> np.ndarray:
    raw = np.round(np.exp(_RNG.normal(0, 1, (N, 3)) + signal * np.eye(3)[Y3]), 1) + 0.1
    return raw / raw.sum(axis=1, keepdims=True)


SCORE3, SCORE3_B = _shares(1.6), _shares(0.9)
PRED3, PRED3_B = SCORE3.argmax(axis=1), SCORE3_B.argmax(axis=1)
TARGET = np.round(_RNG.normal(3, 1, N), 2)
GUESS = np.round(TARGET + 0.2 * _RNG.normal(0, 1, N), 2)
GUESS_B = np.round(TARGET + 0.05 + 0.25 * _RNG.normal(0, 1, N), 2)
VALUES = np.round(_RNG.beta(6, 2, N), 2)
VALUES_B = np.round(np.clip(VALUES - 0.03 + _RNG.normal(0, 0.08, N), 0, 1), 2)
GROUPING = _RNG.integers(0, 14, N)
STRATA = GROUPING % 3
COUNTS = _RNG.integers(1, 4, N)
WEIGHTS = np.round(_RNG.gamma(2.0, size=N) + 0.1, 2)
RUNS = np.round(0.9 + 0.02 * _RNG.normal(size=30), 4)
RUNS_B = np.round(0.89 + 0.03 * _RNG.normal(size=12), 4)
X_LEARN = np.round(_RNG.normal(size=(N, 3)), 2)
Y_LEARN = np.round(X_LEARN @ np.array([1.0, -0.5, 0.0]) + _RNG.normal(size=N), 2)

BINARY = (
    "precision",
    "recall",
    "specificity",
    "negative_predictive_value",
    "f1",
    "jaccard",
    "roc_auc",
    "average_precision",
    "brier_score_loss",
    "accuracy",
    "matthews_corrcoef",
)
REGRESSION = (
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "r2",
    "mean_absolute_percentage_error",
    "explained_variance",
    "pearsonr",
    "spearmanr",
)
SUMMARIES = ("mean", "median", "trimmed_mean", "std", "var", "iqr", "quantile")
ONLY_BINARY = {*BINARY[:8]}
CLASSES = tuple(m for m in jaxci.list_metrics() if m not in {*REGRESSION, *SUMMARIES, *ONLY_BINARY})
DEAR = ("abc", "studentized")
"""Methods that take long to compile: not tried for what differs from another metric by its average alone."""
LEFT_OUT = {"recall", "jaccard", "negative_predictive_value", "error_rate", "explained_variance"} | {
    metric
    for metric in CLASSES
    if metric.endswith(("_weighted", "_micro")) or metric in ("precision_macro", "specificity_macro", "jaccard_macro")
}
WITH_ABC = {"f1", "roc_auc", "accuracy", "f1_macro", "roc_auc_ovr", "log_loss", "mean_squared_error", "pearsonr"}
"""Metrics of labels, scores and targets that are tried with "abc", which takes longest to compile."""
SCORED = ("roc_auc", "average_precision", "brier", "log_loss", "expected_calibration", "root_mean_squared_calibration")


def read_by(metric: str, other: bool = False) -> tuple[Any, ...]:
    """Return the data that ``metric`` reads; of the second model if ``other``."""
    if metric in SUMMARIES:
        return (VALUES_B if other else VALUES,)
    if metric in REGRESSION:
        return TARGET, (GUESS_B if other else GUESS)
    binary = metric in ONLY_BINARY
    if metric.startswith(SCORED):
        scores = ((SCORE3, SCORE3_B), (SCORE2, SCORE2_B))[binary]
        return (Y2 if binary else Y3), scores[other]
    labels = ((PRED3, PRED3_B), (PRED2, PRED2_B))[binary]
    return (Y2 if binary else Y3), labels[other]


# What is kept of results.


def of_interval(result: Any) -> dict[str, Any]:
    """Keep an interval, or a comparison."""
    low, high = result.confidence_interval
    kept = {
        "estimate": result.estimate,
        "low": low,
        "high": high,
        "standard_error": result.standard_error,
        "method": result.method,
        "n": result.n,
        "warnings": len(result.warnings),
        "drawn": result.rng is not None,
    }
    for name in ("estimate_a", "estimate_b", "pvalue", "test", "conclusion", "target", "n_fits"):
        if hasattr(result, name):
            kept[name] = getattr(result, name)
    if not math.isnan(result.coverage):
        kept |= {"coverage": result.coverage, "coverage_error": result.coverage_error}
    return kept


def of_arrays(**arrays: Any) -> dict[str, Any]:
    """Keep arrays, number by number."""
    kept: dict[str, Any] = {}
    for name, value in arrays.items():
        if isinstance(value, str | bool) or value is None:
            kept[name] = value
            continue
        flat = np.ravel(value)
        kept |= {name: flat[0]} if flat.size == 1 else {f"{name}[{i}]": x for i, x in enumerate(flat)}
    return kept


def of_quantiles(result: Any) -> dict[str, Any]:
    """Keep intervals of quantiles."""
    low, high = result.confidence_interval
    kept = {"estimate": result.estimate, "low": low, "high": high, "actual_level": result.actual_level}
    kept |= {"method": result.method, "warnings": len(result.warnings), "drawn": result.rng is not None}
    for name in ("candidate_indices", "candidate_probabilities"):
        if getattr(result, name) is not None:
            kept[name] = np.concatenate([np.ravel(x) for x in getattr(result, name)])
    return of_arrays(**kept, shapiro_pvalue=result.shapiro_pvalue, lilliefors_pvalue=result.lilliefors_pvalue)


def of_judgement(judgement: Any) -> dict[str, Any]:
    """Keep how a method did."""
    names = ("coverage", "coverage_error", "below", "above", "invalid", "mean_width", "median_width", "relative_width")
    return {name: float(judgement[name] if isinstance(judgement, dict) else getattr(judgement, name)) for name in names}


def listed(statistic: Any) -> list[str]:
    """Return the methods that serve, but for "calibrated", a million resamples an answer: it has a group of its own."""
    return [method for method in jaxci.list_methods(statistic) if method != "calibrated"]


def tables(metrics: Iterable[str], data: tuple[Any, ...], seed: int) -> Answers:
    """Evaluate ``metrics`` by every method but what is left out, those that a method serves together, and by "auto"."""
    metrics = list(metrics)
    served = {metric: ["auto", *listed(metric)] for metric in metrics}
    served |= {metric: [m for m in served[metric] if m not in DEAR] for metric in metrics if metric in LEFT_OUT}
    served |= {metric: [m for m in served[metric] if m != "abc"] for metric in metrics if metric not in WITH_ABC}
    found = {}
    for method in dict.fromkeys(name for names in served.values() for name in names):
        chosen = [metric for metric in metrics if method in served[metric]]
        table = jaxci.evaluate(*data, metrics=chosen, method=method, n_resamples=B, rng=seed)
        found |= {f"{row.statistic}, {method}": of_interval(row) for row in table}
    return found


# Intervals.


@group("evaluate: binary")
def _(seed: int) -> Answers:
    return tables(BINARY, (Y2, PRED2, SCORE2), seed)


@group("evaluate: three classes")
def _(seed: int) -> Answers:
    return tables(CLASSES, (Y3, PRED3, SCORE3), seed)


@group("evaluate: regression")
def _(seed: int) -> Answers:
    return tables(REGRESSION, (TARGET, GUESS), seed)


@group("evaluate: defaults")
def _(seed: int) -> Answers:
    names = np.array(["cat", "dog", "eel"])
    given = {
        "binary": ((Y2, PRED2, SCORE2), {}),
        "score alone": ((Y2, None, SCORE2), {}),
        "names": ((names[Y3], names[PRED3], SCORE3), {}),
        "positive": ((names[Y2], names[PRED2]), {"pos_label": "dog"}),
        "per class": ((Y3, PRED3), {"metrics": ["f1_per_class", "recall_per_class"]}),
        "regression": ((TARGET, GUESS), {}),
        "clusters": ((Y2, PRED2, SCORE2), {"groups": GROUPING}),
        "absent zero": ((Y3[:20], PRED3[:20]), {"absent_class": "zero", "metrics": ["f1_macro", "balanced_accuracy"]}),
        "absent skip": ((Y3[:20], PRED3[:20]), {"absent_class": "skip", "metrics": ["f1_macro", "recall_macro"]}),
        "zero division": ((Y3[:12], PRED3[:12]), {"zero_division": 1, "metrics": ["precision_macro"]}),
    }
    found = {}
    for name, (data, options) in given.items():
        table = jaxci.evaluate(*data, n_resamples=B, rng=seed, **options)
        found |= {f"{name}: {row.statistic}": of_interval(row) for row in table}
    return found


def _summaries(metric: str) -> Callable[[int], Answers]:
    def cases(seed: int) -> Answers:
        found = {}
        for method in ["auto", *listed(metric)]:
            result = jaxci.interval(metric, VALUES, method=method, n_resamples=B, rng=seed)
            found[method] = of_interval(result)
        return found

    return cases


for _metric in SUMMARIES:
    group(f"interval: {_metric}")(_summaries(_metric))


@group("interval: calibrated")
def _(seed: int) -> Answers:
    options = {"method": "calibrated", "n_outer": 199, "n_inner": 99, "n_resamples": B, "rng": seed}
    given = {
        "accuracy": (Y3, PRED3),
        "f1_macro": (Y3, PRED3),
        "roc_auc": (Y2, SCORE2),
        "brier_score_loss": (Y2, SCORE2),
        "pearsonr": (TARGET, GUESS),
        "mean": (VALUES,),
        "std": (VALUES,),
        "median": (VALUES,),
    }
    found = {metric: of_interval(jaxci.interval(metric, *data, **options)) for metric, data in given.items()}
    for name, layout in (("groups", {"groups": GROUPING}), ("less", {"alternative": "less"})):
        found[f"f1_macro, {name}"] = of_interval(jaxci.interval("f1_macro", Y3, PRED3, **options, **layout))
    return found


@group("interval: one side")
def _(seed: int) -> Answers:
    chosen = {
        "accuracy": ("wilson", "clopper_pearson", "percentile", "bca"),
        "roc_auc": ("delong", "delong_logit", "studentized"),
        "mean": ("t", "exact", "bca", "studentized", "abc", "delta"),
        "median": ("order_statistic", "exact", "percentile", "semiparametric"),
        "brier_score_loss": ("hoeffding", "empirical_bernstein", "betting"),
    }
    found = {}
    for metric, methods in chosen.items():
        for method in methods:
            for side in ("less", "greater"):
                options = {"method": method, "alternative": side, "confidence_level": 0.9}
                result = jaxci.interval(metric, *read_by(metric), n_resamples=B, rng=seed, **options)
                found[f"{metric}, {method}, {side}"] = of_interval(result)
    return found


@group("interval: options")
def _(seed: int) -> Answers:
    auc = jaxci.statistics.RocAuc(max_fpr=0.5)
    given = {
        "balanced": ("mean", {"resampling": "balanced", "method": "percentile"}),
        "bayesian": ("f1_macro", {"resampling": "bayesian", "method": "percentile"}),
        "bayesian auc": ("roc_auc", {"resampling": "bayesian"}),
        "m out of n": ("std", {"resample_size": 30}),
        "delta logit": ("roc_auc", {"method": "delta", "scale": "logit"}),
        "delta fisher": ("pearsonr", {"method": "delta", "scale": "fisher"}),
        "exact bca": ("mean", {"method": "exact", "endpoints": "bca"}),
        "bca jackknife": ("mean", {"method": "bca", "acceleration": "jackknife"}),
        "quantile 0.9": ("quantile", {"q": 0.9}),
        "quantile 0.02": ("quantile", {"q": 0.02}),
        "partial auc": (auc, {"method": "percentile"}),
        "level 0.8": ("f1_macro", {"method": "basic", "confidence_level": 0.8}),
        "f2": (jaxci.statistics.FBeta(beta=2.0), {"method": "bca"}),
    }
    found = {}
    for name, (metric, options) in given.items():
        data = read_by({"partial auc": "roc_auc", "f2": "f1"}.get(name, metric))
        found[name] = of_interval(jaxci.interval(metric, *data, n_resamples=B, rng=seed, **options))
    return found


def _layouts() -> dict[str, dict[str, Any]]:
    return {
        "groups": {"groups": GROUPING},
        "strata": {"strata": STRATA},
        "groups in strata": {"groups": GROUPING, "strata": STRATA},
        "counts": {"sample_weight": COUNTS},
        "weights": {"sample_weight": WEIGHTS},
    }


@group("interval: layouts")
def _(seed: int) -> Answers:
    metrics = ("f1_macro", "roc_auc", "root_mean_squared_error", "mean", "median")
    more = {"f1_macro": ("bca", "delta"), "mean": ("bca", "studentized", "delta")}
    found = {}
    for called, layout in _layouts().items():
        for metric in metrics:
            for method in ("percentile", *more.get(metric, ())):
                result = jaxci.interval(metric, *read_by(metric), method=method, n_resamples=B, rng=seed, **layout)
                found[f"{called}: {metric}, {method}"] = of_interval(result)
    return found


def weighted_cube(x: Any, weights: Any) -> Any:
    """Return a weighted mean of cubes."""
    return jnp.sum(weights * x**3) / jnp.sum(weights)


def traced_ratio(x: Any, v: Any) -> Any:
    """Return a ratio of means, for JAX."""
    return jnp.mean(x) / jnp.mean(v)


def hosted_range(x: Any) -> float:
    """Return a range, for NumPy alone."""
    return float(np.asarray(x).max() - np.asarray(x).min())


@group("interval: functions")
def _(seed: int) -> Answers:
    weighted = jaxci.statistics.WeightedFunction(weighted_cube)
    found = {
        f"weighted, {method}": of_interval(jaxci.interval(weighted, VALUES, method=method, n_resamples=B, rng=seed))
        for method in listed(weighted)
    }
    for name, function, data in (("traced", traced_ratio, (VALUES, VALUES_B)), ("hosted", hosted_range, (VALUES,))):
        for layout in ({}, {"groups": GROUPING}):
            result = jaxci.interval(function, *data, method="percentile", n_resamples=B, rng=seed, **layout)
            found[f"{name}{', groups' if layout else ''}"] = of_interval(result)
    return found


@group("interval: degenerate")
def _(seed: int) -> Answers:
    right, same = np.array([0, 1] * 12), np.full(20, 0.5)
    return {
        "all right, wilson": of_interval(jaxci.interval("accuracy", right, right)),
        "all right, wald": of_interval(jaxci.interval("accuracy", right, right, method="wald")),
        "all right, bca": of_interval(jaxci.interval("f1", right, right, method="bca", n_resamples=B, rng=seed)),
        "perfect auc": of_interval(jaxci.interval("roc_auc", right, right.astype(float), n_resamples=B, rng=seed)),
        "one value, t": of_interval(jaxci.interval("mean", same)),
        "one value, studentized": of_interval(
            jaxci.interval("mean", same, method="studentized", n_resamples=B, rng=seed)
        ),
        "one class": of_interval(jaxci.interval("roc_auc", np.ones(20, int), SCORE2[:20], n_resamples=B, rng=seed)),
    }


@group("evaluate: check")
def _(seed: int) -> Answers:
    table = jaxci.evaluate(Y2[:25], PRED2[:25], metrics=["accuracy", "f1"], n_resamples=B, rng=seed, check=True)
    return {row.statistic: of_interval(row) for row in table}


# Comparisons.


def _comparison(metric: str, seed: int, **options: Any) -> dict[str, Any]:
    first, second = read_by(metric), read_by(metric, other=True)
    truth = None if metric in SUMMARIES else first[0]
    return of_interval(jaxci.compare(metric, truth, first[-1], second[-1], n_resamples=B, rng=seed, **options))


def _compared(metrics: Iterable[str]) -> Callable[[int], Answers]:
    return lambda seed: {metric: _comparison(metric, seed) for metric in metrics}


group("compare: binary")(_compared(BINARY[:8]))
group("compare: three classes")(_compared([m for m in CLASSES if not m.endswith(("_weighted", "_micro"))]))
group("compare: regression and values")(_compared((*REGRESSION, *SUMMARIES)))


@group("compare: methods")
def _(seed: int) -> Answers:
    bootstraps = ("percentile", "basic", "normal", "bc", "bca", "studentized")
    methods = {
        "accuracy": ("newcombe", *bootstraps),
        "roc_auc": ("delong", "delta", "percentile", "studentized"),
        "mean": ("t", "z", "delta", "exact", "abc", *bootstraps),
        "f1_macro": ("delta", "abc", "bca", "studentized"),
        "median": ("bca",),
    }
    found = {
        f"{metric}, {method}": _comparison(metric, seed, method=method)
        for metric, names in methods.items()
        for method in names
    }
    for side in ("less", "greater"):
        for metric, method in (("accuracy", "newcombe"), ("roc_auc", "delong"), ("mean", "t"), ("f1", "percentile")):
            options = {"method": method, "alternative": side, **({"margin": 0.05} if side == "greater" else {})}
            found[f"{metric}, {method}, {side}"] = _comparison(metric, seed, **options)
    for called, layout in _layouts().items():
        found[f"f1, {called}"] = _comparison("f1", seed, **layout)
        found[f"mean, {called}"] = _comparison("mean", seed, **layout)
    return found


# The bootstrap of functions, and the jackknife.


def centred(x: Any, axis: int = -1) -> Any:
    """Return a standard deviation, along an axis."""
    return ((x - x.mean(axis=axis, keepdims=True)) ** 2).mean(axis=axis) ** 0.5


def gap(x: Any, v: Any, axis: int = -1) -> Any:
    """Return a difference of means, along an axis."""
    return x.mean(axis=axis) - v.mean(axis=axis)


def slope(x: Any, v: Any) -> Any:
    """Return a regression slope of single samples."""
    dx = x - x.mean()
    return (dx * (v - v.mean())).sum() / (dx**2).sum()


def of_bootstrap(result: Any) -> dict[str, Any]:
    """Keep what a bootstrap gives."""
    low, high = result.confidence_interval
    return of_arrays(low=low, high=high, standard_error=result.standard_error, drawn=result.rng is not None)


@group("bootstrap")
def _(seed: int) -> Answers:
    run = functools.partial(jaxci.bootstrap, n_resamples=B, rng=seed)
    table = VALUES.reshape(3, 20)
    found = {}
    for method in ("percentile", "basic", "BCa"):
        for side in ("two-sided", "less", "greater"):
            found[f"std, {method}, {side}"] = run((VALUES,), centred, method=method, alternative=side)
        found[f"two samples, {method}"] = run((VALUES, RUNS), gap, method=method)
        found[f"paired, {method}"] = run((VALUES, VALUES_B), gap, paired=True, method=method)
        found[f"paired singly, {method}"] = run((TARGET, GUESS), slope, paired=True, method=method)
        found[f"hosted, {method}"] = run((VALUES,), hosted_range, method=method, vectorized=False)
    found["mean"] = run((VALUES,), np.mean)
    found["table"] = run((np.sqrt(table),), np.mean, axis=1)  # whose means do not tie but for rounding
    found["axis 0"] = run((table.T,), centred, axis=0, method="percentile", confidence_level=0.8)
    found["batch"] = run((VALUES,), centred, batch=100)
    found["extended"] = run((VALUES,), centred, bootstrap_result=found["batch"], method="percentile")
    found["again"] = run((VALUES,), centred, bootstrap_result=found["batch"], n_resamples=0, confidence_level=0.9)
    return {name: of_bootstrap(result) for name, result in found.items()}


def of_jackknife(result: Any) -> dict[str, Any]:
    """Keep what the jackknife gives."""
    names = ("estimate", "bias", "bias_corrected", "standard_error", "delete")
    values = result.pseudo_values
    return {name: getattr(result, name) for name in names} | {"pseudo_low": values.min(), "pseudo_high": values.max()}


@group("jackknife")
def _(seed: int) -> Answers:
    named = ("accuracy", "f1_macro", "roc_auc", "log_loss", "roc_auc_ovr", "root_mean_squared_error", "spearmanr")
    found = {metric: jaxci.jackknife(read_by(metric), metric) for metric in named}
    found |= {metric: jaxci.jackknife(VALUES, metric) for metric in ("mean", "std", "median", "trimmed_mean")}
    found["median, delete 2"] = jaxci.jackknife(VALUES[:20], "median", delete=2)
    found["function"] = jaxci.jackknife((VALUES, VALUES_B), traced_ratio)
    return {name: of_jackknife(result) for name, result in found.items()}


# Counts, quantiles and runs.


@group("proportion_interval")
def _(seed: int) -> Answers:
    counts, found = np.array([0, 1, 7, 22, 23]), {}
    for method in ("wilson", "wilson_cc", "clopper_pearson", "jeffreys", "mid_p", "agresti_coull", "wald"):
        for side in ("two-sided", "less", "greater"):
            options = {"method": method, "alternative": side, "confidence_level": 0.9 if side == "less" else 0.95}
            low, high = jaxci.proportion_interval(counts, 23, **options)
            found[f"{method}, {side}"] = of_arrays(low=low, high=high, method=method)
    return found


QUANTILE_METHODS = (
    "auto",
    "order_statistic",
    "exact_randomized",
    "interpolated",
    "asymptotic",
    "semiparametric",
    "semiparametric_resampled",
    "harrell_davis",
    "noncentral_t",
)


@group("quantile_interval")
def _(seed: int) -> Answers:
    run, qs, found = functools.partial(jaxci.quantile_interval, n_resamples=B, rng=seed), [0.25, 0.5, 0.8], {}
    for method in QUANTILE_METHODS:
        found[method] = run(RUNS, qs, method=method)
        found[f"{method}, ties, less"] = run(VALUES, 0.3, method=method, alternative="less")
    found["noncentral_t, greater"] = run(RUNS, 0.9, method="noncentral_t", alternative="greater", confidence_level=0.9)
    found["few"] = run(RUNS[:8], 0.1)
    found["clip"] = run(VALUES[:12], 0.95, bounds="clip")
    found["bounds"] = run(VALUES[:12], 0.95, bounds=(0, 1))
    found["batch"] = run(RUNS.reshape(3, 10), [0.4, 0.5], method="order_statistic")
    found["batch, randomized"] = run(RUNS.reshape(3, 10), 0.5, method="exact_randomized")
    return {name: of_quantiles(result) for name, result in found.items()}


@group("quantiles: other verbs")
def _(seed: int) -> Answers:
    from scipy import stats

    found = {}
    for method in ("sample", "interpolated", "linear", "semiparametric_median", "harrell_davis"):
        run = functools.partial(jaxci.quantile_estimate, method=method)
        found[f"estimate, {method}"] = of_arrays(estimate=run(VALUES, [0.05, 0.5, 0.9]))
        found[f"estimate of rows, {method}"] = of_arrays(estimate=run(RUNS.reshape(3, 10), 0.3))
    for level in (0.9, 0.95):
        simultaneous = jaxci.simultaneous_quantile_intervals(RUNS, [0.5, 0.25, 0.75], confidence_level=level)
        found[f"simultaneous, {level}"] = of_quantiles(simultaneous)
    for method in QUANTILE_METHODS[1:]:
        least = jaxci.minimum_sample_size([0.05, 0.1, 0.5, 0.9], confidence_level=0.9, method=method)
        found[f"least n, {method}"] = of_arrays(n=np.asarray(least, float))
    laws = {"": None, ", normal law": stats.norm(), ", lognormal law": stats.lognorm(0.5)}
    for name, law in laws.items():
        plan = jaxci.plan_quantile(0.2, width=0.15 if law is None else 0.5, distribution=law)
        found[f"plan{name}"] = of_arrays(n=plan.n, width=plan.expected_width, ranks=plan.ranks)
    return found


@group("runs")
def _(seed: int) -> Answers:
    found = {
        "runs_interval": of_interval(jaxci.runs_interval(RUNS, confidence_level=0.9)),
        "welch_interval": of_interval(jaxci.welch_interval(RUNS, RUNS_B)),
    }
    given = {"higher": (RUNS, {}), "lower": (RUNS_B, {"goal": "lower"}), "bounds": (RUNS_B, {"bounds": (0, 1)})}
    for name, (values, options) in given.items():
        summary = jaxci.summarize_runs(values, rng=seed, **options)
        mean = of_arrays(mean=summary.mean, mean_low=summary.mean_interval[0], mean_high=summary.mean_interval[1])
        found[f"summary, {name}"] = mean | of_quantiles(summary.quantiles)
    seeds = jaxci.run_seeds(lambda seed: float(np.random.default_rng(seed).normal()), 5)
    found["run_seeds"] = of_arrays(value=seeds["value"], warnings=len(seeds.warnings))
    return found


# Learners.


@group("generalization")
def _(seed: int) -> Answers:
    from jaxci.inducers import Constant, Linear, Ridge

    run = functools.partial(jaxci.generalization_interval, Ridge(), X_LEARN, Y_LEARN, rng=seed, progress=False)
    found = {
        method: run(method=method)
        for method in ("auto", "corrected_t", "conservative_z", "holdout", "cv_wald", "five_by_two_cv")
    }
    found |= {f"{method}, oob": run(method=method) for method in ("oob_t", "oob_percentile", "bootstrap_632_plus")}
    found["absolute"] = run(method="cv_wald", loss="absolute", confidence_level=0.9)
    found["r2"] = run(method="corrected_t", loss="r2")
    found["groups"] = run(method="corrected_t", groups=GROUPING)
    for method in ("corrected_t", "five_by_two_cv"):
        found[f"ridge and constant, {method}"] = jaxci.compare_inducers(
            Ridge(), Constant(), X_LEARN, Y_LEARN, method=method, rng=seed, progress=False
        )
    found["linear and ridge"] = jaxci.compare_inducers(
        Linear(), Ridge(alpha=5.0), X_LEARN, Y_LEARN, loss="absolute", rng=seed, progress=False
    )
    return {name: of_interval(result) for name, result in found.items()}


# Coverage.

CHECKED = {
    "accuracy": ("wald", "wilson", "jeffreys", "percentile", "bca"),
    "f1": ("percentile", "bca", "delta", "basic"),
    "f1_macro": ("percentile", "bca"),
    "precision": ("wilson", "percentile"),
    "roc_auc": ("delong", "delong_logit", "percentile"),
    "average_precision": ("percentile",),
    "log_loss": ("t", "percentile"),
    "root_mean_squared_error": ("percentile", "bca", "delta"),
    "spearmanr": ("percentile",),
    "mean": ("t", "z", "percentile", "basic", "normal", "bc", "bca", "studentized", "exact"),
    "median": ("percentile", "bca", "exact", "order_statistic", "semiparametric", "exact_randomized"),
    "std": ("percentile", "bca", "delta"),
    "trimmed_mean": ("percentile",),
    "iqr": ("percentile",),
}


def _checked(metrics: Iterable[str]) -> Callable[[int], Answers]:
    def cases(seed: int) -> Answers:
        found = {}
        for metric in metrics:
            result = jaxci.check_coverage(
                metric, *read_by(metric), methods=CHECKED[metric], n=25, n_replications=R, n_resamples=199, rng=seed
            )
            found |= {f"{metric}, {j.method}": of_judgement(j) for j in result.judgements}
            found |= {f"{metric}, nearby, {name}": {"coverage": value} for name, value in result.nearby.items()}
        return found

    return cases


group("check_coverage: labels")(_checked(["accuracy", "f1", "f1_macro", "precision"]))
group("check_coverage: scores")(_checked(["roc_auc", "average_precision", "log_loss"]))
group("check_coverage: regression")(_checked(["root_mean_squared_error", "spearmanr"]))
group("check_coverage: values")(_checked(["mean", "median", "std", "trimmed_mean", "iqr"]))


@group("check_coverage: calibrated")
def _(seed: int) -> Answers:
    options = {"methods": ["t", "percentile"], "n_replications": R, "n_resamples": 199, "calibrate": True, "rng": seed}
    result = jaxci.check_coverage("mean", VALUES[:25], **options)
    levels = {str(method): level for method, level in result.calibrated_levels.items()}
    return {str(j.method): of_judgement(j) | {"calibrated_level": levels[str(j.method)]} for j in result.judgements}


@group("study")
def _(seed: int) -> Answers:
    from jaxci.distributions import Mixture, Parametric

    laws = {
        "beta": Parametric("beta", {"a": 8, "b": 2}),
        "mixture": Mixture([Parametric("norm", {}), Parametric("norm", {"loc": 3})], [0.7, 0.3]),
    }
    small = {"levels": [0.9, 0.95], "n_replications": R, "n_resamples": 199, "n_groups": 4, "seed": seed}
    design = jaxci.coverage.Study(laws, ["mean", "median"], ["t", "percentile", "bca"], [10], **small)
    with tempfile.TemporaryDirectory() as folder:
        rows = design.run(folder).table.records()
    more = ("truth", "bias", "rmse", "standard_error", "undefined")
    return {
        ", ".join(str(row[k]) for k in ("distribution", "n", "statistic", "method", "level")): of_judgement(row)
        | {name: row[name] for name in more}
        for row in rows
    }


@group("proportion_coverage")
def _(seed: int) -> Answers:
    shares = np.array([0.02, 0.5, 0.85, 0.97])
    found = {}
    for method in ("wald", "wilson", "clopper_pearson", "percentile", "bca"):
        found[method] = of_arrays(coverage=jaxci.coverage.proportion_coverage(shares, 25, method))
    return found


# Recording.


def answers(name: str, seed: int = SEED) -> Answers:
    """Return the answers of a group today, as JSON holds them."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = GROUPS[name](seed)
    return {case: {key: _plain(value) for key, value in kept.items()} for case, kept in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Method):
        return str(value)
    return int(value) if isinstance(value, int | np.integer) else float(value)


def is_number(value: Any) -> bool:
    """Whether a recorded value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def recorded(name: str) -> dict[str, Any]:
    """Return what is kept of a group: by case its answer, and mean and deviation over other seeds where drawn."""
    first = answers(name)
    others = [answers(name, seed) for seed in OTHER_SEEDS]
    kept = {}
    for case, answer in first.items():
        draws = [other[case] for other in others]
        drawn = bool(answer.pop("drawn", False))
        for draw in draws:
            draw.pop("drawn", None)
        drawn = drawn or any(repr(draw) != repr(answer) for draw in draws)
        kept[case] = {"drawn": drawn, "answer": answer}
        if drawn:
            kept[case]["others"] = _spread(answer, draws)
    return kept


def _spread(answer: dict[str, Any], draws: list[dict[str, Any]]) -> dict[str, list[float] | None]:
    """Return mean and standard deviation of what changes; None where it is not always finite, or is no number."""
    found: dict[str, list[float] | None] = {}
    for key, value in answer.items():
        seen = [draw[key] for draw in draws]
        if all(repr(x) == repr(value) for x in seen):
            continue
        usable = is_number(value) and all(math.isfinite(x) for x in [value, *seen])
        found[key] = [float(f"{x:.5g}") for x in (np.mean(seen), np.std(seen, ddof=1))] if usable else None
    return found


def main(names: list[str]) -> None:
    """Record the groups called ``names``, or all."""
    held = read() if names and FILE.exists() else {}
    for name in names or GROUPS:
        held[name] = recorded(name)
        print(name, len(held[name]), flush=True)
        write(held)


def write(held: dict[str, Any]) -> None:
    """Write groups in the order of their definition, one case a line."""
    ordered = {name: held[name] for name in GROUPS if name in held}
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f" {json.dumps(case)}: {json.dumps(kept)}" for case, kept in cases.items())
        + "\n}"
        for name, cases in ordered.items()
    ]
    text = "{" + ",\n".join(lines) + "}\n"
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


def read() -> dict[str, Any]:
    """Return the record."""
    return json.loads(gzip.decompress(FILE.read_bytes()))


if __name__ == "__main__":
    main(sys.argv[1:])
