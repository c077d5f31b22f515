"""Curves that are read off the weights of rows: of rates, of precision, of calibration, of net benefit.

A curve is a vector of values of one resample: those on its grid, and after them the quantities that are read off the
curve. Rows are sorted by score; those of equal score are one threshold, and a curve runs straight from before them to
behind them.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record
from jaxci.special import ratio
from jaxci.statistics.cumulative import cumulative_sum, gather
from jaxci.statistics.ranking import Ranking, area, average_precision, partial_area
from jaxci.statistics.sample import Sample

ROUNDING = 1e-9
"""Shares apart by less are equal."""
STEPS, SHORT = 30, 1e-9
"""Newton steps of a logistic recalibration at most, and how short the last of fewer is; the next is its square."""
LONGEST = 2.0
"""Longest of them, in slopes of standardized log odds."""


class Quantity(NamedTuple):
    """A number read off a curve: its name, the ends of its range, and whether it is a score in the tail of a class."""

    name: str
    low: float
    high: float
    in_tail: bool = False


def _threshold(at: str) -> Quantity:
    return Quantity(f"threshold at {at}", -np.inf, np.inf, in_tail=True)


class Unseen(NamedTuple):
    """Rows that were not seen: one a pseudo-unit, with the mass of each.

    ``bins`` (P,) are the bins of those that stand for rows of a bin alone, -1 of others, and ``held`` (n,) those of the
    rows that were seen; None where there are no bins.
    """

    rows: Sample
    masses: tuple[float, ...]
    bins: tuple[int, ...] = ()
    held: np.ndarray | None = None


def share(x: float) -> str:
    """Return a share as names have it."""
    return f"{x:.10g}"


class Settled(NamedTuple):
    """Values (S,) of a curve on the data, and what there is to say of them, if anything."""

    values: np.ndarray
    remark: str = ""


class Curve(abc.ABC):
    """A curve of a binary problem. Leaves are records of its grid (G,) and of what is read off it.

    Attributes
    ----------
    grid : (G,) array
        Where the curve is known.
    axes : (str, str)
        What is along both axes.
    bounds : (float, float)
        The range of values; an estimate at an end of it leaves the band open to that end.
    mass : float
        Weight of a row that was not seen, in rows.
    is_mean : bool
        Whether every value is a mean over rows.
    reads_prevalence : bool
        Whether the shares of the classes count.
    """

    axes: ClassVar[tuple[str, str]]
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    mass: ClassVar[float] = 0.25
    is_mean: ClassVar[bool] = False
    reads_prevalence: ClassVar[bool] = True
    grid: Any

    @abc.abstractmethod
    def prepare(self, sample: Sample, numbers: np.ndarray) -> Any:
        """Turn rows in the order of their scores (host) into what :meth:`values` reads.

        ``numbers`` (N,) are those of the rows of :meth:`unseen`; rows of the data have -1.
        """

    @abc.abstractmethod
    def values(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Return the curve (S,) under ``weights`` (N,): G values on the grid, and the quantities."""

    @abc.abstractmethod
    def quantities(self) -> list[Quantity]:
        """Return what follows the values on the grid."""

    def settled(self, sample: Sample, values: np.ndarray) -> Settled:
        """Return the values (S,) on the data, where some of them are none that a program finds."""
        return Settled(values)

    def unseen(self, sample: Sample) -> Unseen:
        """Return the worst and the best that a row of either class could be: below all others, or above them.

        Where two models are compared there is one of each for either model, of half the mass, on which the other is
        right.
        """
        first, second = (
            Sample(
                y_true=np.tile(np.array([1, 0], np.int32), 2),
                y_score=end * np.array([-np.inf, np.inf, np.inf, -np.inf]),
                n_classes=2,
            )
            for end in (1.0, -1.0)
        )
        if sample.other is None:
            return Unseen(first, (self.mass,) * 4)
        return Unseen(dataclasses.replace(first, other=second), (self.mass / 2,) * 4)


@record
class Thresholds:
    """Rows by ascending score: their ranking, and the scores (N,), +inf behind the last."""

    ranking: Ranking
    scores: Any

    @classmethod
    def of(cls, sample: Sample) -> Thresholds:
        """Take rows in the order of their scores."""
        return cls(Ranking.of(sample.y_true, sample.y_score, sample.n), np.append(sample.y_score, np.inf))

    def below(self, weights: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return the shares (N + 1,) of positives and of negatives below every threshold, and that of positives.

        Entry j > 0 is of the threshold behind row j - 1 and all of its score.
        """
        positive, negative = self.ranking.split(weights, 1)
        sums = [jnp.pad(self._ended(cumulative_sum(x)), (1, 0)) for x in (positive, negative)]
        total = sums[0][-1] + sums[1][-1]
        return ratio(sums[0], sums[0][-1]), ratio(sums[1], sums[1][-1]), ratio(sums[0][-1], total)

    def _ended(self, sums: jax.Array) -> jax.Array:
        last = self.ranking.ordering.last
        return sums if last is None else gather(sums, last)

    def behind(self, place: jax.Array) -> jax.Array:
        """Return the least score of the rows that are not below threshold ``place``: +inf behind all."""
        last = self.ranking.ordering.last
        return gather(self.scores, place if last is None else gather(last, place - 1) + 1)


def reached(shares: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the first threshold at which ``shares`` (N + 1,) reach each target, and which part of the step that is."""
    place = jnp.clip(jnp.searchsorted(shares, targets - ROUNDING), 1, shares.shape[0] - 1)
    return place, _part(shares, targets, place, 1.0)


def exceeded(shares: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the first threshold at which ``shares`` (N + 1,) exceed each target, and which part of the step is not."""
    place = jnp.clip(jnp.searchsorted(shares, targets + ROUNDING, side="right"), 1, shares.shape[0] - 1)
    return place, _part(shares, targets, place, 0.0)


def _part(shares: jax.Array, targets: jax.Array, place: jax.Array, otherwise: float) -> jax.Array:
    start = gather(shares, place - 1)
    return jnp.clip(ratio(targets - start, gather(shares, place) - start, otherwise), 0.0, 1.0)


def along(shares: jax.Array, place: jax.Array, part: jax.Array) -> jax.Array:
    """Return ``shares`` (N + 1,) at a part of the step to each ``place``."""
    start = gather(shares, place - 1)
    return start + part * (gather(shares, place) - start)


@record
class Roc(Curve):
    """Sensitivity by specificity; both at the points asked for, with their thresholds, and areas.

    The sensitivity at a specificity is the largest of all thresholds with that specificity, on straight lines between
    thresholds. A row is positive where its score is at least the threshold.

    Parameters
    ----------
    grid : (G,) array
        Specificities.
    specificities, sensitivities : (P,), (Q,) arrays
        Points.
    max_fpr : (M,) array
        Ends of partial areas, of false-positive rates.
    """

    axes = ("specificity", "sensitivity")
    reads_prevalence = False

    grid: Any
    specificities: Any
    sensitivities: Any
    max_fpr: Any

    def prepare(self, sample: Sample, numbers: np.ndarray) -> Thresholds:
        """Rank the rows."""
        return Thresholds.of(sample)

    def values(self, prepared: Thresholds, weights: jax.Array) -> jax.Array:
        """Return sensitivities on the grid, then the quantities."""
        positive, negative, _ = prepared.below(weights)
        targets = jnp.concatenate([jnp.asarray(self.grid), jnp.asarray(self.specificities)])
        place, part = reached(negative, targets)
        at, back = exceeded(positive, 1 - jnp.asarray(self.sensitivities))
        grid = len(self.grid)
        ranking = prepared.ranking
        parts = jax.vmap(lambda end: partial_area(ranking, weights, end))(jnp.asarray(self.max_fpr))
        return jnp.concatenate(
            [
                1 - along(positive, place, part),
                prepared.behind(place[grid:]),
                along(negative, at, back),
                gather(prepared.scores, at - 1),
                area(ranking, weights)[None],
                parts,
            ]
        )

    def quantities(self) -> list[Quantity]:
        """Return what follows the sensitivities on the grid."""
        return [
            *(Quantity(f"sensitivity at specificity {share(x)}", 0, 1) for x in self.specificities),
            *(_threshold(f"specificity {share(x)}") for x in self.specificities),
            *(Quantity(f"specificity at sensitivity {share(x)}", 0, 1) for x in self.sensitivities),
            *(_threshold(f"sensitivity {share(x)}") for x in self.sensitivities),
            Quantity("area under the curve", 0, 1),
            *(Quantity(f"partial area, specificity from {share(1 - x)}", 0, float(x)) for x in self.max_fpr),
        ]


@record
class PrecisionRecall(Curve):
    """Precision by recall; both at the points asked for, with their thresholds, and average precision.

    With the share p of positives and the specificity s at a recall r the precision is ``p r / (p r + (1 - p)(1 - s))``.

    Parameters
    ----------
    grid : (G,) array
        Recalls, above 0.
    recalls : (P,) array
        Points.

    References
    ----------
    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves.
    """

    axes = ("recall", "precision")

    grid: Any
    recalls: Any

    def prepare(self, sample: Sample, numbers: np.ndarray) -> Thresholds:
        """Rank the rows."""
        return Thresholds.of(sample)

    def values(self, prepared: Thresholds, weights: jax.Array) -> jax.Array:
        """Return precisions on the grid, then the quantities."""
        positive, negative, prevalence = prepared.below(weights)
        recall = jnp.concatenate([jnp.asarray(self.grid), jnp.asarray(self.recalls)])
        place, back = exceeded(positive, 1 - recall)
        hits, alarms = prevalence * recall, (1 - prevalence) * (1 - along(negative, place, back))
        thresholds = gather(prepared.scores, place[len(self.grid) :] - 1)
        return jnp.concatenate(
            [ratio(hits, hits + alarms), thresholds, average_precision(prepared.ranking, weights)[None]]
        )

    def quantities(self) -> list[Quantity]:
        """Return what follows the precisions on the grid."""
        return [
            *(Quantity(f"precision at recall {share(x)}", 0, 1) for x in self.recalls),
            *(_threshold(f"recall {share(x)}") for x in self.recalls),
            Quantity("average precision", 0, 1),
        ]


@record
class NetBenefit(Curve):
    """Net benefit ``TP / n - FP / n * t / (1 - t)`` by the probability t from which on a row is treated.

    Parameters
    ----------
    grid : (G,) array
        Probabilities, below 1.
    thresholds : (P,) array
        Points.

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26, 565-574.
    """

    axes = ("threshold probability", "net benefit")
    bounds = (-np.inf, np.inf)
    is_mean = True

    grid: Any
    thresholds: Any

    def prepare(self, sample: Sample, numbers: np.ndarray) -> tuple[Ranking, Any]:
        """Rank the rows, and find the first that is treated at each probability."""
        at = np.concatenate([self.grid, self.thresholds])
        first = np.searchsorted(sample.y_score, at).astype(np.int32)
        return Ranking.of(sample.y_true, sample.y_score, sample.n), first

    def values(self, prepared: tuple[Ranking, Any], weights: jax.Array) -> jax.Array:
        """Return net benefits on the grid, then the quantities."""
        ranking, first = prepared
        sums = [jnp.pad(cumulative_sum(x), (1, 0)) for x in ranking.split(weights, 1)]
        hits, alarms = (part[-1] - gather(part, first) for part in sums)
        at = jnp.concatenate([jnp.asarray(self.grid), jnp.asarray(self.thresholds)])
        total = sums[0][-1] + sums[1][-1]
        found = ratio(hits - alarms * at / (1 - at), total)
        everyone = ratio(sums[0][-1] - sums[1][-1] * at / (1 - at), total)
        grid = len(self.grid)
        return jnp.concatenate([found, (found - everyone)[grid:]])

    def quantities(self) -> list[Quantity]:
        """Return what follows the net benefits on the grid."""
        return [
            *(Quantity(f"net benefit at {share(x)}", -np.inf, 1) for x in self.thresholds),
            *(Quantity(f"net benefit less treating all at {share(x)}", -np.inf, np.inf) for x in self.thresholds),
        ]


@record
class Bins:
    """Rows of a calibration curve: their bins (N,), classes (N,) and log odds (N,), and where they count (N,)."""

    codes: Any
    positive: Any
    odds: Any
    in_bins: Any
    in_fit: Any


@record
class Calibration(Curve):
    """Observed share by bins of predicted probability, and the logistic recalibration of the log odds.

    ``logit P(y = 1) = a + b logit(p)``: the slope is b; the intercept is a where b is held at 1, so that it says by how
    much the log odds are too low in all (calibration in the large). The slope is infinite where the classes are
    separated.

    Parameters
    ----------
    grid : (K,) array
        Mean prediction in every bin.
    edges : (K - 1,) array
        Between bins; a prediction at an edge belongs to the upper bin.

    References
    ----------
    Van Calster et al. (2016), A calibration hierarchy for risk models, Journal of Clinical Epidemiology 74, 167-176.
    """

    axes = ("predicted probability", "observed share")
    mass = 0.5
    worst: ClassVar[float] = 0.125

    grid: Any
    edges: Any

    def unseen(self, sample: Sample) -> Unseen:
        """Return a row of either class in every bin, and the worst of either class for the recalibration.

        The share of a bin of independent rows then has Jeffreys' law, and resamples of predictions that separate the
        classes rightly have a slope.
        """
        n_bins, scores = len(self.grid), sample.y_score
        y_true = np.append(np.repeat(np.array([0, 1], np.int32), n_bins), np.array([1, 0], np.int32))
        y_score = np.concatenate([np.tile(self.grid, 2), [scores.min(), scores.max()]])
        masses = (self.mass,) * (2 * n_bins) + (self.worst,) * 2
        bins = (*range(n_bins), *range(n_bins), -1, -1)
        unseen = Sample(y_true=y_true, y_score=y_score, n_classes=2)
        return Unseen(unseen, masses, bins, self._bins_of(scores))

    def _bins_of(self, scores: np.ndarray) -> np.ndarray:
        """Return the bin of each prediction (n,)."""
        return np.searchsorted(self.edges, scores, side="right").astype(np.int32)

    def prepare(self, sample: Sample, numbers: np.ndarray) -> Bins:
        """Put rows into bins."""
        scores = sample.y_score
        inside = np.clip(scores, sample.score_eps, 1 - sample.score_eps)
        codes = self._bins_of(scores)
        last = 2 * len(self.grid)
        odds = np.log(inside / (1 - inside))
        return Bins(codes, sample.y_true == 1, odds, numbers < last, (numbers < 0) | (numbers >= last))

    def values(self, prepared: Bins, weights: jax.Array) -> jax.Array:
        """Return observed shares by bin, then slope and intercept."""
        n_bins = len(self.grid)
        binned, own = (jnp.where(counts, weights, 0.0) for counts in (prepared.in_bins, prepared.in_fit))
        rows = jax.ops.segment_sum(binned, prepared.codes, n_bins)
        hits = jax.ops.segment_sum(jnp.where(prepared.positive, binned, 0.0), prepared.codes, n_bins)
        slope, intercept = recalibration(jnp.asarray(prepared.odds), jnp.asarray(prepared.positive), own)
        return jnp.concatenate([ratio(hits, rows), jnp.stack([slope, intercept])])

    def settled(self, sample: Sample, values: np.ndarray) -> Settled:
        """Return a slope that is unbounded where predictions separate the classes, none where they do not vary."""
        negative, positive = (sample.y_score[sample.y_true == label] for label in (0, 1))
        if sample.y_score.min() == sample.y_score.max():
            slope, remark = np.nan, "the predictions do not vary: there is no slope"
        elif negative.max() <= positive.min() or positive.max() <= negative.min():
            slope = np.inf if negative.min() < positive.max() else -np.inf
            remark = "the predictions separate the classes: the slope is unbounded, and so is its interval on that side"
        else:
            return Settled(values, self._of_certain(sample))
        place = len(self.grid)
        return Settled(np.concatenate([values[:place], [slope], values[place + 1 :]]), remark)

    @staticmethod
    def _of_certain(sample: Sample) -> str:
        """Say that predictions of exactly 0 or 1 have no log odds, and what counts in their place."""
        certain = int(np.count_nonzero((sample.y_score <= 0) | (sample.y_score >= 1)))
        if not certain:
            return ""
        cut, rows = f"{sample.score_eps:.2g}", f"{certain:,} of {sample.n:,} predictions are 0 or 1"
        return f"{rows}, which count as {cut} and 1 less {cut} in slope and intercept: cut them where you trust them"

    def quantities(self) -> list[Quantity]:
        """Return what follows the shares of bins."""
        return [Quantity("slope", -np.inf, np.inf), Quantity("intercept", -np.inf, np.inf)]


def recalibration(odds: jax.Array, positive: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return slope and intercept of the weighted logistic regression of classes (N,) on log odds (N,)."""
    total = jnp.sum(weights)
    centre = jnp.sum(weights * odds) / total
    spread = jnp.sqrt(jnp.sum(weights * (odds - centre) ** 2) / total)
    scaled = ratio(odds - centre, spread, 0.0)

    def newton(height: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
        fitted = jax.nn.sigmoid(height + slope * scaled)
        apart, curvature = weights * (positive - fitted), weights * fitted * (1 - fitted)
        first, second = jnp.sum(apart), jnp.sum(apart * scaled)
        a, b, c = jnp.sum(curvature), jnp.sum(curvature * scaled), jnp.sum(curvature * scaled**2)
        steps = ratio(c * first - b * second, a * c - b * b, 0.0), ratio(a * second - b * first, a * c - b * b, 0.0)
        shrink = LONGEST / jnp.maximum(LONGEST, jnp.maximum(jnp.abs(steps[0]), jnp.abs(steps[1])))
        return shrink * steps[0], shrink * steps[1]

    def level(height: jax.Array) -> tuple[jax.Array]:
        fitted = jax.nn.sigmoid(height + odds)
        step = ratio(jnp.sum(weights * (positive - fitted)), jnp.sum(weights * fitted * (1 - fitted)), 0.0)
        return (jnp.clip(step, -LONGEST, LONGEST),)

    start = jnp.zeros((), weights.dtype)
    _, slope = _after_steps(newton, (start, start))
    (intercept,) = _after_steps(level, (start,))
    return ratio(slope, spread), intercept


def _after_steps(step: Callable[..., tuple[jax.Array, ...]], start: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    """Return where Newton's steps lead from a start, until they are as short as :data:`SHORT`."""

    def going(state: tuple[Any, ...]) -> jax.Array:
        count, _, longest = state
        return (count < STEPS) & (longest > SHORT)

    def taken(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, at, _ = state
        moves = step(*at)
        longest = jnp.max(jnp.abs(jnp.stack(moves)))
        return count + 1, tuple(x + move for x, move in zip(at, moves, strict=True)), longest

    found: tuple[jax.Array, ...] = jax.lax.while_loop(going, taken, (0, start, jnp.full_like(start[0], jnp.inf)))[1]
    return found
