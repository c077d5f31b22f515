"""A coverage cell of every kind of statistic beside a simulation in plain NumPy that shares no code with the library.

Data are drawn with replacement from a small population, so that both know the true value and a resample is a count of
the population's rows. Intervals are percentile intervals of few resamples: what they cover is far from their level, and
the same in both.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from scipy import stats

from jaxci.coverage import Cell, run_cell
from jaxci.distributions import Cells, Distribution, Empirical, EmpiricalRows, Truth
from jaxci.statistics.registry import METRICS

R, B, GROUPS, LEVEL = 2_000, 99, 200, 0.8
POPULATION = 48


def values() -> np.ndarray:
    return np.random.default_rng(1).gamma(2.0, 1.0, POPULATION)


@functools.cache
def scores(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes of equal size, and scores without ties that tell them apart in part."""
    rng = np.random.default_rng(n_classes)
    labels = np.arange(POPULATION) % n_classes
    logits = rng.normal(size=(POPULATION, n_classes)) + 1.2 * np.eye(n_classes)[labels]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return labels, shares[:, 1] if n_classes == 2 else shares


# Statistics of counts (..., M) of the rows of the population, or of samples (..., n)


def trimmed(x: np.ndarray) -> np.ndarray:
    cut = int(0.25 * x.shape[-1])
    return np.sort(x, axis=-1)[..., cut : x.shape[-1] - cut].mean(axis=-1)


def spread_of_quarters(x: np.ndarray) -> np.ndarray:
    low, high = np.quantile(x, [0.25, 0.75], axis=-1)
    return high - low


def area(counts: np.ndarray, member: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Share of pairs of a member and another in which the member scores higher."""
    order = np.argsort(score)
    inside, outside = counts[..., order] * member[order], counts[..., order] * ~member[order]
    return (inside * np.cumsum(outside, axis=-1)).sum(axis=-1) / (inside.sum(axis=-1) * outside.sum(axis=-1))


def precision(counts: np.ndarray, member: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Mean over members of the share of members among rows that score as high or higher."""
    order = np.argsort(-score)
    inside, whole = counts[..., order] * member[order], counts[..., order]
    share = np.cumsum(inside, axis=-1) / np.maximum(np.cumsum(whole, axis=-1), 1)
    return (inside * share).sum(axis=-1) / inside.sum(axis=-1)


def of_two(score_of: Callable[..., np.ndarray], counts: np.ndarray) -> np.ndarray:
    labels, score = scores(2)
    return score_of(counts, labels == 1, score)


def macro(score_of: Callable[..., np.ndarray], counts: np.ndarray) -> np.ndarray:
    labels, score = scores(3)
    return np.mean([score_of(counts, labels == k, score[:, k]) for k in range(3)], axis=0)


def micro(score_of: Callable[..., np.ndarray], counts: np.ndarray) -> np.ndarray:
    labels, score = scores(3)
    member = (labels[:, None] == np.arange(3)).ravel()
    return score_of(np.repeat(counts, 3, axis=-1), member, score.ravel())


TABLE = np.array([[10, 4, 2], [3, 11, 2], [1, 3, 12]])


def table_of(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right predictions, rows and predictions of every class (..., 3)."""
    cells = counts.reshape(*counts.shape[:-1], 3, 3)
    return np.diagonal(cells, axis1=-2, axis2=-1), cells.sum(axis=-1), cells.sum(axis=-2)


def balanced_accuracy(counts: np.ndarray) -> np.ndarray:
    right, rows, _ = table_of(counts)
    return (right / rows).mean(axis=-1)


def f1_macro(counts: np.ndarray) -> np.ndarray:
    right, rows, taken = table_of(counts)
    return (2 * right / (rows + taken)).mean(axis=-1)


def matthews(counts: np.ndarray) -> np.ndarray:
    right, rows, taken = table_of(counts)
    n = rows.sum(axis=-1)
    joint = right.sum(axis=-1) * n - (rows * taken).sum(axis=-1)
    return joint / np.sqrt((n**2 - (rows**2).sum(axis=-1)) * (n**2 - (taken**2).sum(axis=-1)))


class Kind(NamedTuple):
    """Metric, sample size, law, and the statistic: of samples (..., n), or of counts (..., M) of a population."""

    metric: str
    n: int
    law: Callable[[], Distribution]
    statistic: Callable[[np.ndarray], np.ndarray]
    of_samples: bool = False


def of_values(metric: str, n: int, statistic: Callable[..., np.ndarray]) -> Kind:
    return Kind(metric, n, lambda: Empirical(values()), statistic, True)


def of_scores(metric: str, n_classes: int, average: Callable[..., np.ndarray], score_of: Callable[..., Any]) -> Kind:
    def law() -> Distribution:
        labels, score = scores(n_classes)
        return EmpiricalRows(labels, y_score=score, n_classes=n_classes)

    return Kind(metric, 40, law, functools.partial(average, score_of))


def of_table(metric: str, statistic: Callable[..., np.ndarray]) -> Kind:
    return Kind(metric, 40, lambda: Cells(TABLE / POPULATION), statistic)


KINDS = {
    "mean": of_values("mean", 12, functools.partial(np.mean, axis=-1)),
    "sd": of_values("std", 12, functools.partial(np.std, axis=-1)),
    "trimmed mean": of_values("trimmed_mean", 14, trimmed),
    "IQR": of_values("iqr", 14, spread_of_quarters),
    "median, even n": of_values("median", 12, functools.partial(np.median, axis=-1)),
    "median, odd n": of_values("median", 13, functools.partial(np.median, axis=-1)),
    "AUC": of_scores("roc_auc", 2, of_two, area),
    "AUC, one against the rest": of_scores("roc_auc_ovr", 3, macro, area),
    "AUC, micro": of_scores("roc_auc_micro", 3, micro, area),
    "AP": of_scores("average_precision", 2, of_two, precision),
    "AP, macro": of_scores("average_precision_macro", 3, macro, precision),
    "AP, micro": of_scores("average_precision_micro", 3, micro, precision),
    "balanced accuracy": of_table("balanced_accuracy", balanced_accuracy),
    "F1, macro": of_table("f1_macro", f1_macro),
    "MCC": of_table("matthews_corrcoef", matthews),
}


def simulated(kind: Kind, target: float) -> np.ndarray:
    """Return whether each of R intervals holds the target."""
    rng = np.random.default_rng(5)
    if kind.of_samples:
        drawn = values()[rng.integers(0, POPULATION, (R, kind.n))]
        rows = rng.integers(0, kind.n, (R, B, kind.n))
        found = kind.statistic(np.take_along_axis(drawn[:, None], rows, axis=-1))
    else:
        shares = np.ones(POPULATION) / POPULATION if kind.metric in RANKED else TABLE.ravel() / POPULATION
        drawn = rng.multinomial(kind.n, shares, R)
        found = np.concatenate([kind.statistic(rng.multinomial(kind.n, one / kind.n, B)[None]) for one in drawn])
    low, high = np.nanquantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)
    return (low <= target) & (target <= high)


RANKED = {kind.metric for kind in KINDS.values() if kind.metric.startswith(("roc", "average"))}


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("name", KINDS)
def test_a_cell_covers_what_plain_numpy_covers(name, false_alarm):
    kind = KINDS[name]
    whole = values() if kind.of_samples else np.ones(POPULATION, int) if kind.metric in RANKED else TABLE.ravel()
    target = float(kind.statistic(whole[None])[0])
    cell = Cell(kind.law(), kind.n, {name: METRICS[kind.metric]}, ["percentile"], [LEVEL], R, B, GROUPS)
    (found,) = run_cell(cell, jax.random.key(7), truths={name: Truth(target, 0.0, "of the population")}).judgements
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = simulated(kind, target).mean()
    spread = np.hypot(found.coverage_error, np.sqrt(plain * (1 - plain) / R))
    assert abs(found.coverage - plain) < stats.norm.isf(false_alarm / 2) * spread, (found.coverage, plain)
