"""Intervals from bootstrap resamples of the rows. Formulas only, no fits.

Sources: Schulz-Kuempel et al. (2024), Efron and Tibshirani (1997), Jiang et al. (2008), Noma et al.
(2021), Raschka (2022).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from jaxci.generalization.base import IncompleteFits, LossInterval, Resampled, normal, quantiles, student

WEIGHT = 0.632
"""Weight of the out-of-bag loss in the .632 estimator (Efron 1983)."""
ENOUGH = 5
"""Resamples a row from which on the internal error of an out-of-bag standard error is small."""


def _fitted(of: Resampled, method: str) -> np.ndarray:
    kept = of.kept
    if kept.sum() < 2:
        raise IncompleteFits(f"{method} needs at least 2 resamples; got {int(kept.sum())}")
    return kept


@dataclasses.dataclass(frozen=True, eq=False)
class OutOfBag:
    """Out-of-bag losses: K resamples of n rows.

    Attributes
    ----------
    out : (K, n) bool array
        Whether a resample leaves a row out.
    losses : (K, n) array
        Zero where it does not.
    counts : (K, n) array
        How often a row trains.
    """

    out: np.ndarray
    losses: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, fits: Resampled, method: str) -> OutOfBag:
        """Read the splits whose fit did not fail."""
        kept = _fitted(fits, method)
        out = fits.plan.test_mask[kept]
        return cls(out, np.where(out, np.nan_to_num(fits.tested[kept]), 0.0), fits.plan.train_counts[kept])

    def influences(self) -> tuple[float, np.ndarray]:
        """Return the estimate, and the influence D_i of every row that was left out at least once.

        Efron and Tibshirani (1997), eq. 36 and 37, with the counts of the training samples.
        """
        n, times = self.out.shape[1], self.out.sum(axis=0)
        seen = times > 0
        by_row = self.losses.sum(axis=0)[seen] / times[seen]
        point = float(by_row.mean())
        counts = self.counts[:, seen]
        apart = (self.losses.sum(axis=1) / n) @ (counts - counts.mean(axis=0))
        return point, (2 + 1 / (n - 1)) * (by_row - point) / n + apart / times[seen]

    def squared_error(self) -> tuple[float, float]:
        """Return the estimate and its squared standard error."""
        point, slopes = self.influences()
        return point, self.out.shape[1] / len(slopes) * float(np.sum(slopes**2))

    def internal(self) -> float:
        """Return what so few resamples add to the squared standard error: jackknife over resamples.

        Efron and Tibshirani (1997), eq. 43: the sum over rows of the variance of D_i.
        """
        resamples, n = self.out.shape
        times = self.out.sum(axis=0) - self.out
        seen = times > 0
        by_row = np.where(seen, (self.losses.sum(axis=0) - self.losses) / np.maximum(times, 1), 0.0)
        point = by_row.sum(axis=1) / seen.sum(axis=1)
        q = self.losses.sum(axis=1) / n
        mean_count = (self.counts.sum(axis=0) - self.counts) / (resamples - 1)
        apart = q @ self.counts - q[:, None] * self.counts - mean_count * (q.sum() - q)[:, None]
        slopes = (2 + 1 / (n - 1)) * (by_row - point[:, None]) / n + apart / np.maximum(times, 1)
        slopes = np.where(seen, slopes, np.nan)
        squared = float(np.nansum((slopes - np.nanmean(slopes, axis=0)) ** 2))
        return n / int(self.out.any(axis=0).sum()) * (resamples - 1) / resamples * squared


def oob(of: Resampled, *, level: float = 0.95, internal_error: str = "keep") -> LossInterval:
    """Out-of-bag loss with its influence-function standard error (Efron and Tibshirani 1997).

    With few resamples the standard error holds their internal error too, and is far too large:
    ``internal_error="remove"`` takes it off (eq. 43), at least down to 0. Resamples whose fit failed
    are left out.
    """
    of.need("oob", "bootstrap")
    if internal_error not in ("keep", "remove"):
        raise ValueError(f"internal_error must be 'keep' or 'remove'; got {internal_error!r}")
    bag = OutOfBag.of(of, "oob")
    point, squared = bag.squared_error()
    remarks: list[str] = []
    resamples, n = bag.out.shape
    if internal_error == "remove":
        squared = max(0.0, squared - bag.internal())
        if squared == 0:
            remarks.append("the internal error of the resamples exceeds the standard error; draw more of them")
    elif resamples < ENOUGH * n:
        remarks.append(
            f"{resamples} resamples of {n} rows are too few for an out-of-bag standard error, which is then too "
            f"large: draw at least {ENOUGH * n}, or pass internal_error='remove'"
        )
    if (missed := int((~bag.out.any(axis=0)).sum())) > 0:
        remarks.append(f"{missed} of {n} rows were in every resample, so no loss is known of them")
    return normal(point, math.sqrt(squared), level)._replace(remarks=tuple(remarks))


def weight_plus(out: float, inside: float, no_information: float, *, clip: bool = True) -> tuple[float, float]:
    """Return the weight of the out-of-bag loss in the .632+ estimator, and that loss as it enters.

    Efron and Tibshirani (1997), eq. 29 to 32: ``.632 / (1 - .368 R)`` with the overfitting rate R, in
    [0, 1], and the out-of-bag loss at most the no-information rate. ``clip=False`` leaves both out.
    """
    used = min(out, no_information) if clip else out
    room = no_information - inside
    rate = (used - inside) / room if room != 0 else 0.0
    if clip:
        rate = min(max(rate, 0.0), 1.0) if no_information > inside and used > inside else 0.0
    return WEIGHT / (1 - (1 - WEIGHT) * rate), used


def _inside(insample: Resampled, method: str) -> tuple[float, float]:
    insample.need(method, "insample")
    insample.need_all(method)
    gamma = math.nan if insample.no_information is None else float(insample.no_information[0])
    return float(insample.means[0]), gamma


def bootstrap_632(
    of: Resampled, insample: Resampled, *, level: float = 0.95, internal_error: str = "keep"
) -> LossInterval:
    """Return the .632 estimate (Efron 1983), with the out-of-bag standard error in proportion."""
    found = oob(of, level=level, internal_error=internal_error)
    inside, _ = _inside(insample, "bootstrap_632")
    return _in_proportion(found, WEIGHT * found.estimate + (1 - WEIGHT) * inside, level)


def bootstrap_632_plus(
    of: Resampled, insample: Resampled, *, level: float = 0.95, internal_error: str = "keep", clip: bool = True
) -> LossInterval:
    """Return the .632+ estimate, with the out-of-bag standard error in proportion (Efron and Tibshirani 1997).

    ``clip=False`` does not bound the overfitting rate and the out-of-bag loss (Schulz-Kuempel et al. 2024).
    """
    found = oob(of, level=level, internal_error=internal_error)
    inside, gamma = _inside(insample, "bootstrap_632_plus")
    weight, used = weight_plus(found.estimate, inside, gamma, clip=clip)
    return _in_proportion(found, weight * used + (1 - weight) * inside, level)


def _in_proportion(found: LossInterval, point: float, level: float) -> LossInterval:
    error = found.standard_error * point / found.estimate if found.estimate != 0 else 0.0
    return normal(point, error, level)._replace(remarks=found.remarks)


def bootstrap_case_cv(
    of: Resampled,
    leave_one_out: Resampled | None = None,
    *,
    level: float = 0.95,
    bias_correction: bool = True,
    one_sided: bool = False,
) -> LossInterval:
    """Percentile interval of bootstrap case cross-validation (Jiang, Varma and Simon 2008).

    The quantiles are of the leave-one-case-out losses of R resamples, less their mean excess over the
    leave-one-out loss of the rows themselves. ``one_sided`` gives [0, upper bound], as the original.
    """
    of.need("bootstrap_case_cv", "bootstrap_case_cv")
    of.need_all("bootstrap_case_cv")
    plan = of.plan
    copies = plan.n - plan.train_counts.sum(axis=1)
    values = np.bincount(plan.repetition, copies * of.sums) / plan.n
    if len(values) < 2:
        raise ValueError(f"bootstrap_case_cv needs at least 2 resamples; got {len(values)}")
    point, bias = float(values.mean()), 0.0
    if bias_correction:
        if leave_one_out is None:
            raise ValueError("bootstrap_case_cv with bias_correction=True needs a plan leave_one_out too")
        leave_one_out.need("bootstrap_case_cv", "leave_one_out")
        leave_one_out.need_all("bootstrap_case_cv")
        bias = point - float(leave_one_out.means.mean())
    if not one_sided:
        return quantiles(point - bias, values, bias, level)
    return LossInterval(point - bias, 0.0, float(np.quantile(values, level)) - bias, float(values.std(ddof=1)))


def _inner_plus(of: Resampled, splits: np.ndarray) -> float:
    """Return the .632+ estimate from the ``splits`` of one first-stage resample, whose copies count."""
    plan = of.plan
    first = splits[plan.inner[splits] < 0][0]
    stages = splits[(plan.inner[splits] >= 0) & of.kept[splits]]
    if not of.kept[first] or len(stages) == 0 or of.no_information is None:
        return math.nan
    copies = plan.train_counts[first]
    inside = float(np.nansum(copies * of.tested[first])) / float(copies.sum())
    times = plan.test_mask[stages].sum(axis=0)
    seen = times > 0
    by_row = np.nansum(of.tested[stages], axis=0)[seen] / times[seen]
    out = float(np.average(by_row, weights=copies[seen]))
    weight, used = weight_plus(out, inside, float(of.no_information[first]))
    return weight * used + (1 - weight) * inside


def two_stage_bootstrap(
    of: Resampled, out_of_bag: Resampled, insample: Resampled, *, level: float = 0.95
) -> LossInterval:
    """Quantiles of the .632+ estimates of R resamples, each resampled K times (Noma et al. 2021).

    The estimate is that of the rows themselves. A second stage tests the rows of which it holds no copy,
    each as often as the first stage holds it: were copies rows of their own, most that are tested would have
    a twin among those that train (coverage 37 to 84% in ``benchmarks/generalization_reference.py`` at
    n = 100, where this has 94 to 99%). First stages whose fit failed are left out.
    """
    of.need("two_stage_bootstrap", "two_stage_bootstrap")
    point = bootstrap_632_plus(out_of_bag, insample, level=level).estimate
    order = np.argsort(of.plan.outer, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(of.plan.outer[order])) + 1)
    values = np.array([_inner_plus(of, splits) for splits in groups])
    values = values[~np.isnan(values)]
    if len(values) < 2:
        raise IncompleteFits(f"two_stage_bootstrap needs at least 2 first stages; got {len(values)}")
    return quantiles(point, values, 0.0, level)


def location_shifted_bootstrap(
    of: Resampled, out_of_bag: Resampled, insample: Resampled, *, level: float = 0.95
) -> LossInterval:
    """Quantiles of the losses of resamples on themselves, moved to the .632+ estimate (Noma et al. 2021).

    Rows weigh their counts in the resample. Resamples whose fit failed are left out.
    """
    of.need("location_shifted_bootstrap", "insample_bootstrap")
    kept = _fitted(of, "location_shifted_bootstrap")
    counts = of.plan.train_counts[kept]
    values = np.nansum(counts * of.tested[kept], axis=1) / counts.sum(axis=1)
    inside, _ = _inside(insample, "location_shifted_bootstrap")
    point = bootstrap_632_plus(out_of_bag, insample, level=level).estimate
    return quantiles(point, values, inside - point, level)


def oob_t(of: Resampled, *, level: float = 0.95) -> LossInterval:
    """Mean of the out-of-bag losses of b resamples -+ t (b - 1) times their deviation (Raschka 2022, method 2.1).

    The deviation is not divided by the root of b. Resamples whose fit failed are left out.
    """
    of.need("oob_t", "bootstrap")
    means = of.means[_fitted(of, "oob_t")]
    return student(float(means.mean()), float(means.std(ddof=1)), len(means) - 1, level)


COMBINED = ("oob", "632", "632_plus")
"""What :func:`oob_percentile` takes the quantiles of."""


def oob_percentile(
    of: Resampled,
    apparent: Resampled | None = None,
    *,
    level: float = 0.95,
    combine: str = "oob",
    swapped: bool = False,
) -> LossInterval:
    """Quantiles over resamples of a loss of each resample's model (Raschka 2022, methods 2.2, 2.3 and 2.4).

    ``combine="oob"`` is its out-of-bag loss; ``"632"`` .632 of that and .368 of its loss on all rows;
    ``"632_plus"`` the same with its .632+ weight, from its own no-information rate. ``swapped`` gives the
    large weight to the loss on all rows instead, as the article does: most of these rows trained the
    model, so that the interval is too optimistic and too narrow. Resamples whose fit failed are left out.
    """
    of.need("oob_percentile", "bootstrap")
    if combine not in COMBINED:
        raise ValueError(f"combine must be one of {', '.join(COMBINED)}; got {combine!r}")
    kept = _fitted(of, "oob_percentile")
    values = of.means[kept]
    if combine != "oob":
        if apparent is None:
            raise ValueError(f"oob_percentile with combine={combine!r} needs a plan bootstrap_apparent too")
        apparent.need("oob_percentile", "bootstrap_apparent")
        if not np.array_equal(apparent.plan.train_counts, of.plan.train_counts):
            raise ValueError("the plans bootstrap and bootstrap_apparent must have the same resamples")
        inside = apparent.means[kept]
        weight = np.full(len(values), WEIGHT)
        if combine == "632_plus":
            assert apparent.no_information is not None
            rates = apparent.no_information[kept]
            pairs = [weight_plus(*one) for one in zip(values, inside, rates, strict=True)]
            weight, values = np.array(pairs).T
        weight = 1 - weight if swapped else weight
        values = weight * values + (1 - weight) * inside
    return quantiles(float(values.mean()), values, 0.0, level)
