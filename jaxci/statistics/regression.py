"""Statistics of real-valued predictions ``p_i`` (``y_pred``) of targets ``y_i`` (``y_true``).

Weights are ``w_i``, ``N = sum_i w_i``; E and V are the weighted mean and variance (divisor N). The
value is NaN where N = 0.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling import kernels, mid_ranks
from jaxci.special import namespace
from jaxci.statistics.base import MomentStatistic, RankedStatistic, Statistic, square_root
from jaxci.statistics.cumulative import Ordering, gather
from jaxci.statistics.order import QuantileStatistic, median_profile
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, centre, standardized, variance_from_sums
from jaxci.statistics.sums import Features

SQUARES_TO = float(np.sqrt(np.finfo(np.float64).max))
"""Numbers above it have no square in double precision."""


def _pair(sample: Sample) -> tuple[Any, Any]:
    """Return targets and predictions (n,), float64."""
    return sample.y_true.astype(np.float64), sample.y_pred.astype(np.float64)


def _squared_errors(sample: Sample) -> Any:
    """Return squared errors (n,); on the host, such as double precision cannot hold are refused."""
    y, p = _pair(sample)
    with np.errstate(over="ignore"):
        squares = (y - p) ** 2
    if isinstance(squares, np.ndarray) and np.isinf(squares).any():
        raise ValueError(
            f"y_true and y_pred must be less than {SQUARES_TO:.2g} apart for metrics of squared errors; in row "
            f"{int(np.isinf(squares).argmax())} they are not: divide both by a unit, or leave these metrics out"
        )
    return squares


class MeanError(MeanStatistic):
    """A mean of one error per row, 0 at best."""

    task = "regression"
    inputs = ("y_true", "y_pred")
    bounds = (0.0, np.inf)
    loss = True


@record
class MeanSquaredError(MeanError):
    """Mean squared error, ``E[(y - p)**2]``."""

    def row_values(self, sample: Sample) -> Any:
        """Return squared errors (n,)."""
        return _squared_errors(sample)


@record
class RootMeanSquaredError(MeanError):
    """Root mean squared error, ``sqrt(E[(y - p)**2])``.

    Where it is 0 its derivatives are given as 0.
    """

    link: ClassVar[str] = "sqrt"

    def row_values(self, sample: Sample) -> Any:
        """Return squared errors (n,)."""
        return _squared_errors(sample)


@record
class MeanAbsoluteError(MeanError):
    """Mean absolute error, ``E|y - p|``."""

    def row_values(self, sample: Sample) -> Any:
        """Return absolute errors (n,)."""
        y, p = _pair(sample)
        return abs(y - p)


@record
class MeanAbsolutePercentageError(MeanError):
    """Mean absolute error relative to the target, ``E[|y - p| / max(|y|, eps)]``.

    A fraction, not a percentage; ``eps`` is the double-precision machine epsilon (2.2e-16), so a
    target of 0 makes the value enormous rather than undefined, as in scikit-learn.
    """

    relative_to_target = True

    def row_values(self, sample: Sample) -> Any:
        """Return relative absolute errors (n,)."""
        y, p = _pair(sample)
        return abs(y - p) / namespace(y).maximum(abs(y), np.finfo(np.float64).eps)


@record
class MedianAbsoluteError(QuantileStatistic):
    """Median of the absolute errors ``|y - p|``, the two middle ones averaged where N is even."""

    task = "regression"
    inputs = ("y_true", "y_pred")
    bounds = (0.0, np.inf)
    loss = True

    @property
    def q(self) -> float:
        """Probability of the quantile, 1/2."""
        return 0.5

    def ordered_values(self, sample: Sample) -> Any:
        """Return absolute errors (n,)."""
        y, p = _pair(sample)
        return abs(y - p)

    def profile(self, cumulative: jax.Array, total: jax.Array) -> jax.Array:
        """Return the cumulated coefficient at ``cumulative`` (n,) weights out of ``total``."""
        return median_profile(cumulative, total)


class QuadraticStatistic(MomentStatistic):
    """A smooth function of the means, variances and covariance of targets and predictions."""

    task = "regression"
    inputs = ("y_true", "y_pred")
    spread_of: ClassVar[tuple[str, ...]] = ("y_true",)
    """Columns whose variance it reads beside that of the errors."""


def _explained(residual: jax.Array, spread: jax.Array, force_finite: bool) -> jax.Array:
    """Return ``1 - residual / spread``, with a rule for targets that do not vary."""
    constant = spread <= 0
    score = 1 - residual / jnp.where(constant, 1.0, spread)
    substitute = jnp.where(residual == 0, 1.0, 0.0) if force_finite else jnp.nan
    return jnp.where(constant, substitute, score)


@record
class R2(QuadraticStatistic):
    """Coefficient of determination, ``1 - E[(y - p)**2] / V[y]``, at most 1.

    A variance of the targets within rounding of 0 is 0. NaN for one observation.

    Parameters
    ----------
    force_finite : bool
        What to return where the targets do not vary: 1 for exact predictions and 0 for others
        if true (as scikit-learn does), NaN if false.
    """

    bounds = (-np.inf, 1.0)

    force_finite: bool = static(default=True)

    def prepare(self, sample: Sample) -> Features:
        """Return the standardized target, its square, and the squared error in the same unit."""
        y, p = _pair(sample)
        d, _, scale = standardized(y, sample.n)
        alone = 0.0 if sample.n > 1 else np.nan
        return Features(namespace(d).stack([d + alone, d * d, ((y - p) / scale) ** 2], axis=1))

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return R2 from the sums (4,) of the features."""
        spread = variance_from_sums(sums[0], sums[1], sums[2])
        return _explained(sums[3] / sums[0], spread, self.force_finite)


@record
class ExplainedVariance(QuadraticStatistic):
    """Share of the variance explained, ``1 - V[y - p] / V[y]``, at most 1.

    Unlike :class:`R2` it ignores a constant error. Variances within rounding of 0 are 0.

    Parameters
    ----------
    force_finite : bool
        What to return where the targets do not vary: 1 for errors that do not vary either and
        0 for others if true (as scikit-learn does), NaN if false.
    """

    bounds = (-np.inf, 1.0)

    force_finite: bool = static(default=True)

    def prepare(self, sample: Sample) -> Features:
        """Return the standardized target and its square, the centred error in the same unit and its square."""
        y, p = _pair(sample)
        d, _, scale = standardized(y, sample.n)
        e = ((y - p) - centre(y - p, sample.n)) / scale
        return Features(namespace(d).stack([d, d * d, e, e * e], axis=1))

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the share from the sums (5,) of the features."""
        spread = variance_from_sums(sums[0], sums[1], sums[2])
        return _explained(variance_from_sums(sums[0], sums[3], sums[4]), spread, self.force_finite)


def _correlation(covariance: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    """Return a correlation in [-1, 1] from a covariance and two variances; NaN if one is 0."""
    constant = (first <= 0) | (second <= 0)
    scale = square_root(jnp.where(constant, 1.0, first)) * square_root(jnp.where(constant, 1.0, second))
    return jnp.where(constant, jnp.nan, jnp.clip(covariance / scale, -1, 1))


@record
class PearsonR(QuadraticStatistic):
    """Pearson's correlation of targets and predictions, ``Cov[y, p] / sqrt(V[y] V[p])``.

    From -1 to 1; NaN where either does not vary (has a variance within rounding of 0).
    """

    bounds = (-1.0, 1.0)
    spread_of = ("y_true", "y_pred")

    def prepare(self, sample: Sample) -> Features:
        """Return the products, of degree up to two, of both columns, standardized."""
        a, b = (standardized(x, sample.n)[0] for x in _pair(sample))
        return Features(namespace(a).stack([a, b, a * a, b * b, a * b], axis=1))

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the correlation from the sums (6,) of the features."""
        n, a, b, aa, bb, ab = sums
        covariance = ab / n - (a / n) * (b / n)
        return _correlation(covariance, variance_from_sums(n, a, aa), variance_from_sums(n, b, bb))


@record
class Ranks:
    """Data of a column's ranks: its order, and the sorted ``position`` (n,) int32 of every row.

    ``position`` is None if the rows come in ascending order.
    """

    ordering: Ordering
    position: Any

    @classmethod
    def of(cls, keys: Any, n: int) -> Ranks:
        """Rank ``keys`` (N,), of which the first ``n`` are of observations and the rest padding."""
        ordering = Ordering.of(keys, n)
        if ordering.order is None:
            return cls(ordering, None)
        place = np.arange(len(keys), dtype=np.int32)
        if keys.__array_namespace__() is jnp:
            return cls(ordering, jnp.zeros_like(place).at[ordering.order].set(place, unique_indices=True))
        position = np.empty_like(place)
        position[ordering.order] = place
        return cls(ordering, position)

    def shares(self, weights: jax.Array) -> jax.Array:
        """Share of ``weights`` (n,) below every row, ties counting one half, less 1/2.

        The weighted mean of these shares is 0.
        """
        below = self.ordering.below(self.ordering.arrange(weights))
        by_row = below if self.position is None else gather(below, self.position)
        return by_row / jnp.sum(weights) - 0.5

    def ascent(self, n: int) -> mid_ranks.Ascent:
        """Return the order of n rows as a walk reads it."""
        return mid_ranks.Ascent.of(n, self.ordering.order, self.ordering.first, self.ordering.last)


def _of_ranks(products: mid_ranks.RankProducts) -> jax.Array:
    """Return the correlation of mid-ranks; spreads within rounding of 0 are 0."""
    noise = (64 * jnp.finfo(products.both.dtype).eps) ** 2
    spreads = (jnp.where(spread <= noise, 0.0, spread) for spread in (products.first, products.second))
    return _correlation(products.both, *spreads)


@record
class SpearmanR(RankedStatistic):
    """Spearman's rank correlation: Pearson's correlation of the mid-ranks of ``y`` and ``p``.

    The weighted mid-rank of row i is ``sum_j w_j (1[x_j < x_i] + 1[x_j = x_i] / 2)``; for integer
    weights this gives the correlation of the data repeated by weight. From -1 to 1; NaN where
    either column does not vary. Cost: O(n) for each vector of weights, after two sorts.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things.
    """

    correlates_ranks = True
    task = "regression"
    inputs = ("y_true", "y_pred")
    bounds = (-1.0, 1.0)

    def prepare(self, sample: Sample) -> tuple[Ranks, Ranks]:
        """Sort both columns."""
        assert sample.y_true is not None
        assert sample.y_pred is not None
        return Ranks.of(sample.y_true, sample.n), Ranks.of(sample.y_pred, sample.n)

    def value(self, prepared: tuple[Ranks, Ranks], weights: jax.Array) -> jax.Array:
        """Return the rank correlation under ``weights`` (n,)."""
        a, b = (ranks.shares(weights) for ranks in prepared)
        share = weights / jnp.sum(weights)
        return _of_ranks(mid_ranks.RankProducts(*(jnp.sum(share * x * y) for x, y in ((a, a), (a, b), (b, b)))))

    def replicates(self, prepared: tuple[Ranks, Ranks], bank_t: jax.Array) -> jax.Array:
        """Return the rank correlation in every resample (B,), from ``bank_t`` (n, B)."""
        if bank_t.shape[0] > mid_ranks.MOST_ROWS:
            return self.each(prepared, bank_t)

        def scanned(prepared: tuple[Ranks, Ranks], bank_t: jax.Array) -> jax.Array:
            return _of_ranks(mid_ranks.scanned_products(bank_t, *(one.ascent(bank_t.shape[0]) for one in prepared)))

        return kernels.by_platform(prepared, bank_t, cpu=scanned, accelerator=self.each)

    def sort_keys(self, sample: Sample) -> np.ndarray:
        """Return the targets (n,)."""
        return _pair(sample)[0]


METRICS: dict[str, Statistic] = {
    "mean_squared_error": MeanSquaredError(),
    "root_mean_squared_error": RootMeanSquaredError(),
    "mean_absolute_error": MeanAbsoluteError(),
    "median_absolute_error": MedianAbsoluteError(),
    "r2": R2(),
    "mean_absolute_percentage_error": MeanAbsolutePercentageError(),
    "explained_variance": ExplainedVariance(),
    "pearsonr": PearsonR(),
    "spearmanr": SpearmanR(),
}
"""Statistics by name, with default settings."""
