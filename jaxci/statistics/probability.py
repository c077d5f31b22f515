"""Statistics of predicted probabilities: log loss, Brier score, calibration error.

``y_score`` holds the probability of class 1 (n,), or one probability per class (n, K). Weights are
``w_i``, ``N = sum_i w_i``; the value is NaN where N = 0.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.special import namespace
from jaxci.statistics.base import MomentStatistic, Statistic, square_root
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic
from jaxci.statistics.sums import Features

ONE_ROW = 1e-9
"""Bins in which all rows but one weigh less than about half of this of that one tell no variance."""


def _probabilities(sample: Sample) -> tuple[Any, Any]:
    """Return class codes (n,) and the probability of every class (n, K)."""
    assert sample.y_true is not None
    assert sample.y_score is not None
    p = sample.y_score
    return sample.y_true, namespace(p).stack([1 - p, p], axis=1) if p.ndim == 1 else p


def of_own_class(sample: Sample) -> Any:
    """Return the probability of the class that every row has (n,)."""
    codes, p = _probabilities(sample)
    return p[np.arange(len(codes)), codes]


def _of_others(codes: Any, p: Any, least: Any) -> Any:
    """Return how likely the classes other than that of a row are, by its scores, which count as ``least`` (n, K)."""
    xp = namespace(p)
    own = codes[:, None] == np.arange(p.shape[1])
    if p.shape[1] == 2:  # there is one other
        return xp.where(own, 0.0, 1.0)
    others = xp.where(own, 0.0, xp.maximum(p, least))
    return others / others.sum(axis=1, keepdims=True)


@record
class LogLoss(MeanStatistic):
    """Mean negative log-likelihood, ``-sum_i w_i log(p_i[y_i]) / N``, natural logarithm.

    ``p_i[k]`` is the probability given to class k in row i, clipped to [eps, 1 - eps] with the machine epsilon of
    the type that the scores came in (2.2e-16 in double precision, 1.2e-7 in single). Rows are used as given,
    also where they do not sum to one, as in scikit-learn 1.9. From 0, nearly, for certain and correct
    predictions, to 36.05 in double precision.

    References
    ----------
    Good (1952), Rational decisions.
    """

    task = "multiclass"
    inputs = ("y_true", "y_score")
    bounds = (0.0, np.inf)
    loss = True
    needs_probabilities = True
    cuts_probabilities = True

    def row_values(self, sample: Sample) -> Any:
        """Return the negative log probability of every row's class (n,)."""
        return self._of_scores(of_own_class(sample), sample)

    def mistaken_values(self, sample: Sample) -> Any:
        """Return the negative log probability of another class (n,), on average over these by their scores."""
        codes, p = _probabilities(sample)
        return (_of_others(codes, p, sample.score_eps) * self._of_scores(p, sample)).sum(axis=1)

    @staticmethod
    def _of_scores(p: Any, sample: Sample) -> Any:
        xp = namespace(p)
        return -xp.log(xp.clip(p, sample.score_eps, 1 - sample.score_eps))


@record
class BrierScoreLoss(MeanStatistic):
    """Brier score, ``sum_i w_i sum_k (1[y_i = k] - p_i[k])**2 / N``, halved for two classes.

    Halved it lies between 0 and 1 and is the mean of ``(y - p)**2`` for binary y; the sum over
    classes lies between 0 and 2.

    Parameters
    ----------
    scale_by_half : {"auto", True, False}
        Whether to halve the sum over classes; "auto" does for two classes.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.
    """

    task = "multiclass"
    inputs = ("y_true", "y_score")
    loss = True
    needs_probabilities = True

    scale_by_half: bool | str = static(default="auto")

    def settled(self, n_classes: int) -> BrierScoreLoss:
        """Return the score with "auto" decided."""
        if self.scale_by_half != "auto":
            return self
        return dataclasses.replace(self, scale_by_half=n_classes == 2)

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the score whatever the number of classes."""
        return (0.0, 1.0) if self.scale_by_half is True else (0.0, 2.0)

    def row_values(self, sample: Sample) -> Any:
        """Return the squared distance of every row's probabilities from its class (n,)."""
        codes, p = _probabilities(sample)
        outcome = codes[:, None] == np.arange(p.shape[1])
        return self._factor(p) * ((outcome - p) ** 2).sum(axis=1)

    def mistaken_values(self, sample: Sample) -> Any:
        """Return the squared distance from another class (n,), on average over these by their scores."""
        codes, p = _probabilities(sample)
        distance = (p**2).sum(axis=1, keepdims=True) - 2 * p + 1
        return self._factor(p) * (_of_others(codes, p, sample.score_eps) * distance).sum(axis=1)

    def _factor(self, p: Any) -> float:
        halve = p.shape[1] < 3 if self.scale_by_half == "auto" else self.scale_by_half
        return 0.5 if halve else 1.0


class Calibration(MomentStatistic):
    """A statistic of the calibration curve of probabilities: of the gaps of hits and confidence in bins."""

    task = "multiclass"
    inputs = ("y_true", "y_score")
    bounds = (0.0, 1.0)
    loss = True
    needs_probabilities = True

    debiased: ClassVar[bool] = False
    """Whether what chance adds to the gaps is taken off: of bins that :meth:`gaps` returns."""
    n_bins: int

    def n_features(self, weighted: bool) -> int:
        """Return the number of features of a row, which may have an importance weight."""
        return self.n_bins

    def gaps(self, sums: Any) -> Gaps | None:
        """Return the bins (..., n_bins) from the sums of weights and features; None where it is not debiased."""
        return None

    def gaps_of_clusters(self, sums: Any) -> ClusterGaps | None:
        """Return the square of rows in U clusters from the sums of features by cluster (..., U, n_features), if any."""
        return None

    def binned(self, sample: Sample) -> tuple[Any, Any]:
        """Return which bin of confidence every row falls into (n, n_bins), and its hit less confidence (n,)."""
        codes, p = _probabilities(sample)
        xp = namespace(p)
        if p.shape[1] == 2:
            confidence, hit = p[:, 1], codes == 1
        else:
            top = xp.argmax(p, axis=1)
            confidence, hit = p[np.arange(len(codes)), top], codes == top
        edges = np.arange(1, self.n_bins) / self.n_bins
        return xp.searchsorted(edges, confidence)[:, None] == np.arange(self.n_bins), hit - confidence


@record
class CalibrationError(Calibration):
    """Expected calibration error, ``sum_b |sum_{i in b} w_i (hit_i - confidence_i)| / N``.

    Rows fall into equal-width bins b of their confidence, each open below and closed above. Two
    classes: confidence is the probability of class 1, a hit is class 1. More classes: confidence
    is the largest probability, a hit is a row whose class has it (the first, where several do).
    From 0 to 1.

    The absolute values make the estimate biased upwards, the more so the more bins, the fewer
    rows and the better the calibration: that of a perfectly calibrated model is positive, of
    order ``sqrt(n_bins / N)``, and a resample is biased again. For the same reason derivatives,
    and intervals that rest on them, mean little where a bin's gap is near 0; the value is
    differentiable for almost all weights only.

    Parameters
    ----------
    n_bins : int
        Number of bins.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning; Guo et al. (2017), On calibration of modern neural networks, eq. 3.
    """

    n_bins: int = static(default=15)

    def prepare(self, sample: Sample) -> Features:
        """Return, in the column of the row's bin, hit less confidence."""
        member, gap = self.binned(sample)
        return Features(namespace(gap).where(member, gap[:, None], 0.0))

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the error from the sums (1 + n_bins,) of weights and of gaps by bin."""
        return jnp.sum(jnp.abs(sums[1:]), axis=0) / sums[0]


class Gaps(NamedTuple):
    """Bins of a calibration curve, along the last axis.

    Weight of the rows, ``squares`` of it summed (a row without weights counts 1 in both), mean of hit less confidence,
    and its variance. The variance is 0 in bins of fewer than two rows, which ``known`` marks.
    """

    rows: Any
    squares: Any
    mean: Any
    variance: Any
    known: Any

    @property
    def share(self) -> Any:
        """Shares of all weight."""
        return self.rows / self.rows.sum(axis=-1, keepdims=True)

    @property
    def square(self) -> Any:
        """Mean square of the gaps, without the part that chance adds: below 0 where this was less than expected."""
        xp = namespace(self.mean)
        return (self.share * xp.where(self.known, self.mean**2 - self.variance, 0.0)).sum(axis=-1)

    @property
    def square_variance(self) -> Any:
        """Variance of :attr:`square`: within bins, of gaps that are normal, and of the rows among bins."""
        share, square = self.share, self.mean**2
        within = (share**2 * (4 * square * self.variance + 2 * self.variance**2)).sum(axis=-1)
        middle = (share * square).sum(axis=-1, keepdims=True)
        return within + (self.squares * (square - middle) ** 2).sum(axis=-1) / self.rows.sum(axis=-1) ** 2


class ClusterGaps(NamedTuple):
    """Mean square of the gaps of a calibration curve of rows in U clusters, without the part that chance adds (...).

    ``influence`` (..., U) is what each cluster adds to it, times U, ``sizes`` (..., U) what its rows weigh, and
    ``chance`` (...) the variance that gaps have which are normal, and whose expectations are 0.
    """

    square: Any
    influence: Any
    sizes: Any
    chance: Any


@record
class RootMeanSquaredCalibrationError(Calibration):
    """Root mean squared calibration error, ``sqrt(max(0, sum_b n_b / N (m_b**2 - s_b**2 / n_b)))``.

    Bins, confidence and hits are those of :class:`CalibrationError`; ``m_b`` is the mean of hit less confidence in
    bin b, ``s_b`` its standard deviation (divisor ``n_b - 1``). The square of a mean exceeds that of its expectation
    by its variance, on average, and this is taken off: of a perfectly calibrated model the mean square is 0 on
    average, whatever the number of bins and rows. Bins of one row add nothing. With importance weights rows count by
    them, and the variance of a bin's mean is ``k / (k - 1) sum w**2 (gap - m_b)**2 / (sum w)**2``, where
    ``k = (sum w)**2 / sum w**2``. From 0 to 1. The value depends on the number of rows, not on their distribution
    alone, so that derivatives in the weights tell nothing.

    Parameters
    ----------
    n_bins : int
        Number of bins.

    References
    ----------
    Kumar, Liang & Ma (2019), Verified uncertainty calibration, section 4 (the debiased estimator).
    """

    smooth = False
    of_law = False
    debiased = True

    n_bins: int = static(default=15)

    def n_features(self, weighted: bool) -> int:
        """Return the number of features of a row, which may have an importance weight."""
        return (6 if weighted else 3) * self.n_bins

    def prepare(self, sample: Sample) -> Features:
        """Return, in the columns of the row's bin, 1, hit less confidence, and the square of this."""
        return Features(self._columns(sample))

    def prepare_weighted(self, sample: Sample, weights: np.ndarray) -> Features:
        """Return the columns of :meth:`prepare`, and the same times the weight of the row."""
        columns = self._columns(sample)
        return Features(np.concatenate([columns, weights[:, None] * columns], axis=1))

    def _columns(self, sample: Sample) -> Any:
        member, gap = self.binned(sample)
        xp = namespace(gap)
        return xp.concatenate([xp.where(member, x[:, None], 0.0) for x in (xp.ones_like(gap), gap, gap**2)], axis=1)

    def gaps(self, sums: Any) -> Gaps:
        """Return the bins (..., n_bins) from the sums (..., 1 + 3 n_bins, or 1 + 6 n_bins) of weights and features."""
        xp = namespace(sums)
        parts = xp.split(sums[..., 1:], (sums.shape[-1] - 1) // self.n_bins, axis=-1)
        (rows, total), (squares, products, spread) = parts[:2], parts[-3:]  # of rows without weights the same sums
        most = xp.where(rows > 0, rows, 1.0)
        mean = total / most
        size = rows * most / xp.where(squares > 0, squares, 1.0)
        known = size > 1 + ONE_ROW
        noise = (spread - 2 * mean * products + mean**2 * squares) / most**2
        variance = xp.where(known, xp.maximum(noise, 0.0) * size / xp.where(known, size - 1, 1.0), 0.0)
        return Gaps(rows, squares, mean, variance, known)

    def gaps_of_clusters(self, sums: Any) -> ClusterGaps:
        """Return the square of rows in U clusters from the sums of features by cluster (..., U, n_features).

        The covariance of the means of bins is ``sum_u T_ub T_uc / (W_b W_c)`` with the sums T by cluster of weighted
        gaps less their mean in the bin, times ``k_b / (k_b - 1)`` with the effective number ``k_b`` of clusters in bin
        b (its root, between two bins), which makes up for the mean. Bins of one cluster add nothing.
        """
        xp = namespace(sums)
        rows, total, *_ = xp.split(sums, sums.shape[-1] // self.n_bins, axis=-1)
        whole, squares = rows.sum(axis=-2), (rows**2).sum(axis=-2)
        most = xp.where(whole > 0, whole, 1.0)
        mean = total.sum(axis=-2) / most
        size = whole * most / xp.where(squares > 0, squares, 1.0)
        known = size > 1 + ONE_ROW
        factor = xp.sqrt(xp.where(known, size / xp.where(known, size - 1, 1.0), 0.0)) / most
        apart = (total - mean[..., None, :] * rows) * factor[..., None, :]
        share = whole / whole.sum(axis=-1, keepdims=True)
        joint = xp.matmul(xp.swapaxes(apart, -1, -2), apart)
        weighed = share[..., None] * joint
        chance = 2 * (weighed * xp.swapaxes(weighed, -1, -2)).sum(axis=(-1, -2))
        variance = xp.diagonal(joint, axis1=-2, axis2=-1)
        square = (share * xp.where(known, mean**2 - variance, 0.0)).sum(axis=-1)
        middle, sizes = (share * mean**2).sum(axis=-1), rows.sum(axis=-1)
        among = (rows * mean[..., None, :] ** 2).sum(axis=-1) - middle[..., None] * sizes
        within = 2 * (apart * (share * mean)[..., None, :]).sum(axis=-1)
        influence = among / sizes.sum(axis=-1, keepdims=True) + within
        return ClusterGaps(square, influence * rows.shape[-2], sizes, chance)

    def core(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the error from the sums of weights and features."""
        return square_root(self.gaps(jnp.moveaxis(sums, 0, -1)).square, 1e-12)


METRICS: dict[str, Statistic] = {
    "log_loss": LogLoss(),
    "brier_score_loss": BrierScoreLoss(),
    "expected_calibration_error": CalibrationError(),
    "root_mean_squared_calibration_error": RootMeanSquaredCalibrationError(),
}
"""Statistics by name, with default settings."""
