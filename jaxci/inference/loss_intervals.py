"""Intervals of mean losses as they are reported: within the range of the loss, and no narrower than what is known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import shown
from jaxci.generalization.base import ANY, IncompleteFits, LossInterval, Resampled, check_bounds
from jaxci.generalization.registry import METHODS, usual_scale
from jaxci.inference.ends import within_range
from jaxci.intervals.base import Bounds, tails
from jaxci.intervals.proportion import ClopperPearson
from jaxci.intervals.pvalues import NO_VARIATION
from jaxci.printing import number

FEW_ERRORS = 10
"""Rows that are predicted wrong below which means of a loss of 0 and 1 are skewed."""
MOST, FAR = 1e305, 300
"""The largest loss, of either sign; and powers of two up to which squares of losses are numbers."""


class Reported(NamedTuple):
    """An interval, why its ends are where they are (before and after it was computed), and what is said of it."""

    interval: LossInterval
    scale: str
    ends: str
    remarks: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class KnownLosses:
    """What is known of losses besides their numbers.

    Attributes
    ----------
    bounds : (float, float)
        Their range.
    share : bool
        Whether they are 0 or 1.
    groups : (n,) array or None
        Group of every row, where rows come in groups.
    turn : (float, float)
        Offset and sign of what is shown: ``offset + sign * loss``.
    all_right_low : callable or None
        Lower end of the rows of a mask (n,) at a level if none of them were predicted wrong, or a given end where that
        is lower; None where it is not known.
    """

    bounds: tuple[float, float] = ANY
    share: bool = False
    groups: np.ndarray | None = None
    turn: tuple[float, float] = (0.0, 1.0)
    all_right_low: Callable[[np.ndarray, float, float], float] | None = None

    def interval(
        self, method: str, fits: Mapping[str, Resampled], level: float, options: Mapping[str, Any]
    ) -> Reported:
        """Return the interval of a method from the ``fits`` of its plans, with ``options`` of its formula."""
        options, why = self._scaled(method, fits, options)
        found = checked_interval(method, fits, level, options)
        first = next(fits[name] for role in METHODS[method].roles for name in role.names if name in fits)
        ends, said = Bounds(found.low, found.high), found.remarks
        if self.share and found.standard_error == 0:
            ends, told = self._of_shares(found.estimate, first, level, options)
            why = ""
        elif math.isnan(found.low):
            told = ""
        else:
            ends, told = self._reaching_all_right(ends, first, level, options)
            ends, said = within_range(ends, said, *self.bounds, method)
            nearest = min(max(found.estimate, self.bounds[0]), self.bounds[1])
            if nearest != found.estimate:
                shown_as = number(self.turn[0] + self.turn[1] * found.estimate)
                left = f"the estimate of {method}, {shown_as}, left the range of the loss: its nearest end is reported"
                said, found = (*said, left), found._replace(estimate=nearest)
            said = (*said, *self._few_errors(method, first))
        return Reported(found._replace(low=ends.low, high=ends.high), why, told, said)

    def by_formula(
        self, method: str, fits: Mapping[str, Resampled], level: float, options: Mapping[str, Any]
    ) -> LossInterval:
        """Return what the method's formula gives, on its usual scale: also beyond the range, and without width."""
        return checked_interval(method, fits, level, self._scaled(method, fits, options)[0])

    def _scaled(
        self, method: str, fits: Mapping[str, Resampled], options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], str]:
        """Return options with the scale of the ends where it is usual, and why it is taken."""
        options = dict(options)
        check_scale(options, self.share)
        is_mean = all(of.scores is None or of.of_means for of in fits.values())
        n_groups = None if self.groups is None else len(np.unique(self.groups))
        scale, why = usual_scale(method, self.bounds, n_groups, self.share, is_mean)
        if why and "scale" not in options:
            options["scale"] = scale
        else:
            why = ""
        if options.get("scale") == "nearer_end":
            options.setdefault("bounds", self.bounds)
            check_bounds(options["bounds"])
        return options, why

    def _reaching_all_right(
        self, ends: Bounds, of: Resampled, level: float, options: Mapping[str, Any]
    ) -> tuple[Bounds, str]:
        """Return ends that begin no closer to the best value than those of rows all predicted right, and why."""
        skewed = options.get("scale") == "nearer_end" or ends.low == ends.high
        if self.all_right_low is None or not skewed or options.get("one_sided"):
            return ends, ""
        seen = (of.plan.test_mask & of.kept[:, None]).any(axis=0)
        low = self.all_right_low(seen, level, float(ends.low))
        if low == ends.low:
            return ends, ""
        return Bounds(low, ends.high), "the lower end as far as that of as many rows all predicted right"

    def _few_errors(self, method: str, of: Resampled) -> list[str]:
        """Say where few rows are predicted wrong, and ends do not reach as far as Wilson's."""
        if not self.share or of.scores is not None or usual_scale(method, self.bounds, None, True)[0] == "wilson":
            return []
        seen = of.plan.test_mask[of.kept].any(axis=0)
        n, wrong = int(seen.sum()), float(np.nanmean(of.tested[:, seen], axis=0).sum())
        few, which = min((wrong, "wrong"), (n - wrong, "right"))
        if few >= FEW_ERRORS:
            return []
        return [
            f"about {few:.2g} of {n} rows are predicted {which}: 95% intervals by methods that do not reach as far as "
            f"Wilson's covered 79 to 91% below {FEW_ERRORS}; corrected_t and nested_cv do"
        ]

    def _of_shares(
        self, estimate: float, of: Resampled, level: float, options: Mapping[str, Any]
    ) -> tuple[Bounds, str]:
        """Return the interval of a share that does not vary between splits, and why.

        Clopper and Pearson's, for as many rows as were tested, or groups, or as tell as much where rows have weights.
        """
        seen = (of.plan.test_mask & of.kept[:, None]).any(axis=0)
        n, what = float(seen.sum()), "rows"
        if of.weights is not None:
            n = float(of.weights[seen].sum() ** 2 / np.sum(of.weights[seen] ** 2))
        if self.groups is not None:
            n, what = min(n, float(len(np.unique(self.groups[seen])))), "groups"
        level = 2 * level - 1 if options.get("one_sided") else level
        count = min(max(estimate, 0.0), 1.0) * n
        low, high = map(float, ClopperPearson().from_counts(count, n, tails(level)))
        losses = of.tested[np.isfinite(of.tested)] if of.scores is None else of.means[of.kept]
        if np.all(losses == 0) or np.all(losses == 1):
            found = f"no row is predicted {'right' if estimate else 'wrong'}"
        else:
            found = f"nothing varies between splits ({count:.3g} wrong)"
        ends = Bounds(0.0 if options.get("one_sided") else low, high)
        return ends, f"{found}: Clopper and Pearson's interval for {n:.4g} {what}"


def checked_interval(
    method: str, fits: Mapping[str, Resampled], level: float, options: Mapping[str, Any]
) -> LossInterval:
    """Return the interval of a method's formula, or one of NaN that says why, where too many fits failed.

    Losses whose squares would overflow, or vanish, are taken over a power of two.

    Raises
    ------
    ValueError
        If losses are so large that an interval may end beyond all numbers.
    """
    largest = max(of.largest for of in fits.values())
    if largest > MOST:
        raise ValueError(f"losses must lie within +-{MOST:g}; got {largest:g}")
    power = math.frexp(largest)[1]
    power = power if abs(power) > FAR else 0
    try:
        of = {name: one.over(power) for name, one in fits.items()} if power else fits
        found = METHODS[method].interval(of, level, options).times(2.0**power)
        if found.high - found.low <= NO_VARIATION * largest:  # of splits that differ by rounding
            return found._replace(low=found.estimate, high=found.estimate, standard_error=0.0)
        return found
    except IncompleteFits as error:
        return LossInterval(math.nan, math.nan, math.nan, math.nan, remarks=(str(error),))


def check_scale(options: Mapping[str, Any], share: bool, paired: bool = False) -> None:
    """Refuse a scale that the losses do not have: ``paired`` are differences, of either sign."""
    scale = options.get("scale", "plain")
    if paired and scale != "plain":
        raise ValueError(
            f"scale must be 'plain' for a difference of learners, which may be negative; got {shown(scale)}"
        )
    if scale == "wilson" and not share:
        raise ValueError("scale='wilson' is for losses that are 0 or 1")
    if "bounds" in options and scale != "nearer_end":
        raise ValueError(f"bounds must go with scale='nearer_end', of which they are; got {shown(options['bounds'])}")
