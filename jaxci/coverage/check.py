"""Coverage of every method on data like the user's: fit a distribution, simulate, judge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import stats

from jaxci.coverage.cell import Cell
from jaxci.coverage.enumeration import enumerable, nearby_coverage
from jaxci.coverage.results import cell
from jaxci.coverage.running import cell_truths, judge, simulate
from jaxci.coverage.tally import INFINITE, Judgement, Tally, simulation_error
from jaxci.distributions import Distribution
from jaxci.intervals.base import Method
from jaxci.intervals.concentration import ConcentrationMethod
from jaxci.intervals.registry import METHODS
from jaxci.intervals.semiparametric import SemiparametricTransformed
from jaxci.printing import Printable, number
from jaxci.records import Named
from jaxci.results import IntervalResult
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.order import OrderStatistic

QUICK = frozenset(
    {
        "replicates",
        "acceleration",
        "values",
        "shares",
        "count",
        "nobs",
        "standard_error",
        "auc",
        "posterior",
        "clusters",
    }
)
"""What a method reads that is quick to simulate."""
SHORTFALL = 0.01
"""A method whose coverage is further below its level than this is not recommended."""
SURE = 0.95
"""Probability with which what is told of a method holds."""
EQUAL = 1e-6
"""Mean widths that differ by less than this share are equal but for rounding."""
ROUNDING = 1e-9
"""Numbers that differ by less than this share of the true value are equal."""
NOMINAL = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.999)
"""Nominal levels tried when a method is calibrated."""


@dataclasses.dataclass(frozen=True, eq=False)
class CoverageCheck(Printable):
    """How the methods do on data like the user's.

    Attributes
    ----------
    statistic, distribution : str
        What was estimated, and the distribution that was fitted and simulated.
    n : int
    confidence_level : float
    judgements : tuple of Judgement
        One a method, in the order asked for; coverage by enumeration has no Monte-Carlo error.
    nearby : dict of str to float
        By the method's label.
        For a share of all rows, the mean coverage of each method over shares near the fitted one:
        coverage at one share is that of a tooth of a saw. NaN of methods that are simulated; empty for other
        statistics.
    recommended : Method or None
        The method with the narrowest intervals among those whose coverage (nearby, where there is
        that) is no more than one percentage point below the level, beyond the error of the simulation (at 95%, over
        all looks at it). None if there is none.
    as_good : tuple of str
        Labels of methods that reach the level, too, and whose widths cannot be told from that of the recommended one.
    undecided : tuple of str
        Labels of methods, narrower than the recommended one, of which the simulation cannot tell whether they reach
        the level.
    n_replications : int
        Data sets that were simulated; 0 where nothing is.
    calibrated_levels : dict of str to float
        Nominal level at which each method reaches ``confidence_level`` (NaN where no level below
        0.999 does); empty unless asked for.
    calibrated : IntervalResult or None
        The interval for the user's own data at the calibrated level, by the recommended method or,
        where none is, by the one whose level has to change least; None unless asked for.
    rng : int, JAX key or None
        Repeats the call when passed as ``rng``.
    """

    statistic: str
    distribution: str
    n: int
    confidence_level: float
    judgements: tuple[Judgement, ...]
    nearby: dict[str, float]
    recommended: Method | str | None
    calibrated_levels: dict[str, float]
    as_good: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    n_replications: int = 0
    flags: tuple[str, ...] = ()
    calibrated: IntervalResult | None = None
    rng: Any = None

    def __getitem__(self, method: str | Method) -> Judgement:
        for judgement in self.judgements:
            if (judgement.label if isinstance(method, str) else judgement.method) == method:
                return judgement
        raise KeyError(f"no method {method!r} here; there are {[j.label for j in self.judgements]}")

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        header = ["method", "coverage", "std. error", "below", "above", "mean width"]
        rows = [
            [j.label, *(cell(x) for x in (j.coverage, j.coverage_error, j.below, j.above, j.mean_width))]
            for j in self.judgements
        ]
        if self.nearby:
            header.insert(2, "nearby")
            for row in rows:
                row.insert(2, self.nearby[row[0]])
        if self.calibrated_levels:
            header.append("calibrated level")
            for row in rows:
                row.append(self.calibrated_levels[row[0]])
        return header, rows

    def headline(self) -> str:
        """Return the line above the table."""
        level = f"{100 * self.confidence_level:g}%"
        return (
            f"Coverage of {level} intervals for {self.statistic} at n = {self.n}, data drawn from {self.distribution}"
        )

    def notes(self) -> list[str]:
        """Return the lines below the table: what to use, the calibrated interval, and what to know."""
        least = f"{100 * (self.confidence_level - SHORTFALL):g}%"
        if self.recommended is not None:
            found = self[self.recommended]
            short = self.nearby.get(found.label, found.coverage) < self.confidence_level
            counts = f", as {least} counts as reaching it" if short else ""
            lines = [f"use method={_typed(self.recommended)}: the narrowest that reaches its level{counts}"]
            if self.as_good:
                lines.append(f"no difference in width can be told from {', '.join(self.as_good)}")
        elif self.calibrated is not None:
            lines = ["no method reaches its level here; the calibrated interval is meant to"]
        elif self.undecided:
            lines = ["no method is recommended: none reaches its level beyond the error of the simulation"]
        elif self.nearby and all(map(math.isnan, self.nearby.values())):
            lines = ["no method is recommended: what they cover near the fitted share is not computed"]
        elif any(j.coverage >= self.confidence_level - SHORTFALL for j in self.judgements):
            lines = ["no method is recommended: nearly all samples have the true value itself as their estimate"]
        elif all(math.isnan(j.mean_width) for j in self.judgements):
            lines = [f"no method has an interval at n = {self.n}: take more data"]
        elif self.calibrated_levels:
            lines = [
                f"no method reaches its level here, nor at any nominal level up to {max(NOMINAL):g}: take more data"
            ]
        else:
            lines = ["no method reaches its level here: use calibrate=True, or more data"]
        if self.undecided:
            lines.append(
                f"whether they cover the {least} that count as reaching it cannot be told in {self.n_replications} "
                f"data sets: {', '.join(self.undecided)}"
            )
        infinite = [j.label for j in self.judgements if j.how == INFINITE]
        if infinite:
            lines.append(f"enumerated for infinitely many resamples: {', '.join(infinite)}")
        if self.calibrated is not None:
            low, high = self.calibrated.confidence_interval
            nominal = self.calibrated.confidence_level
            lines.append(
                f"calibrated for these data: {number(self.calibrated.estimate)} [{number(low)}, {number(high)}], "
                f"by {_typed(self.calibrated.method)} at nominal level {number(nominal)}"
            )
        return lines + [f"warning: {text}" for text in self.flags]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a method."""
        rows = []
        for judgement in self.judgements:
            row = {"n": self.n, **judgement.row()}
            if self.nearby:
                row["nearby_coverage"] = self.nearby[judgement.label]
            if self.calibrated_levels:
                row["calibrated_level"] = self.calibrated_levels[judgement.label]
            rows.append(row)
        return rows

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: a row a method."""
        names = (
            *("statistic", "distribution", "n", "confidence_level", "recommended", "as_good", "undecided"),
            *("n_replications", "calibrated", "flags", "rng"),
        )
        return {**{name: getattr(self, name) for name in names}, "methods": self.records()}


def _typed(method: Named | str) -> str:
    """Return how a user writes a method as an argument: its name, or the object where settings are changed."""
    written = method if isinstance(method, str) else method.written()
    if isinstance(written, str):
        return repr(written)
    changed = ", ".join(f"{name}={value!r}" for name, value in written.items() if name != "name")
    return f"{type(method).__name__}({changed})"


def check(
    statistic: Statistic,
    name: str,
    distribution: Distribution,
    n: int,
    methods: Sequence[str | Method],
    key: jax.Array,
    *,
    confidence_level: float = 0.95,
    n_replications: int = 2_000,
    n_resamples: int = 1_999,
    max_replications: int = 8_000,
    calibrate: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> CoverageCheck:
    """Judge ``methods`` for ``statistic`` on samples of n from ``distribution``.

    A proportion of all rows is enumerated, without simulation; everything else is simulated
    with shared banks of resamples. Data sets are doubled until the recommendation is settled, or they would be more
    than ``max_replications``.

    Raises
    ------
    ValueError
        If the statistic has no true value under the distribution.
    """
    levels = sorted({confidence_level, *(NOMINAL if calibrate else ())})
    groups = max(2, min(80, n_replications // 25))
    cell = Cell(distribution, n, {name: statistic}, methods, levels, n_replications, n_resamples, groups)
    truths = cell_truths(cell.distribution, cell.statistics, key)
    if math.isnan(truths[name].value):
        raise ValueError(truths[name].how)
    fixed = cell.enumerates(name)

    def reached(judgement: Judgement, simulated: float) -> float:
        """Coverage that counts: of a share of all rows the mean near the fitted one, without its saw-tooth."""
        if fixed and isinstance(judgement.method, Method) and enumerable(judgement.method):
            return nearby_coverage(judgement.method, truths[name].value, n, judgement.level, n_resamples)
        return simulated

    looks = 1 + max(0, int(math.log2(max(1.0, max_replications / n_replications))))
    tally, simulated = Tally(), 0
    for look in range(looks):
        # Data sets of a look have a key of their own; so many as all before it, but for the first two.
        times = 2 ** max(0, look - 1)
        part = dataclasses.replace(cell, n_replications=n_replications * times, n_groups=groups * times)
        own = key if look == 0 else jax.random.fold_in(key, look)
        new = simulate(part, own, truths, progress=progress if look == 0 else None)
        tally = Tally.merged([tally, new.moved(simulated * groups)])
        simulated += times if new.counts else 0
        result = judge(cell, truths, tally, 0.0)
        chosen = tuple(j for j in result.judgements if j.level == confidence_level)
        varies = any(j.mean_width > ROUNDING * abs(truths[name].value) for j in chosen)
        varies &= fixed or _share_at(truths[name].value, tally.estimates[name]) < confidence_level - SHORTFALL
        nearby = {j.label: reached(j, math.nan if fixed else j.coverage) for j in chosen}
        choice = choose(chosen, nearby, confidence_level, tally, looks) if varies else Choice(None, (), ())
        if not varies or not simulated or not choice.undecided:
            break
    stepped = isinstance(statistic, OrderStatistic) and bool(statistic.quantiles)  # ends go from value to value
    calibrated = {
        label: calibrated_level(
            {j.level: reached(j, j.coverage) for j in result.judgements if j.label == label},
            confidence_level,
            stepped=stepped,
        )
        for label in (nearby if calibrate and varies else {})
    }
    flags = result.behaviours[0].flags if result.behaviours else ()
    return CoverageCheck(
        name,
        distribution.label,
        n,
        confidence_level,
        chosen,
        nearby if fixed else {},
        choice.method,
        calibrated,
        choice.as_good,
        choice.undecided,
        simulated * n_replications,
        flags,
    )


def _share_at(value: float, estimates: Mapping[int, np.ndarray]) -> float:
    """Return the share of the estimates, by group, that are ``value`` itself."""
    found = np.concatenate(list(estimates.values()))
    return float(np.mean(np.abs(found - value) <= ROUNDING * abs(value)))


def quick_methods(statistic: Statistic, given: frozenset[str] = frozenset()) -> list[str]:
    """Return the methods that a check of ``statistic`` tries by default: those read for many data sets at once.

    ``given`` says whether rows have clusters or strata.
    """
    names = [name for name, cls in METHODS.items() if cls().refusal_of_rows(statistic, given) is None]
    if has_fixed_trials(statistic) and not given:
        return [name for name in names if enumerable(METHODS[name]())]
    quick = [name for name in names if METHODS[name]().needs <= QUICK]
    # Betting takes an optimization a data set; the transformed extrapolation is for values in [0, 1] only.
    return [n for n in quick if not issubclass(METHODS[n], ConcentrationMethod | SemiparametricTransformed)]


class Choice(NamedTuple):
    """The method to use, what is as good, and narrower ones of which the simulation cannot tell whether they are."""

    method: Method | str | None
    as_good: tuple[str, ...]
    undecided: tuple[str, ...]


def choose(
    judgements: Sequence[Judgement], reached: Mapping[str, float], level: float, tally: Tally, looks: int
) -> Choice:
    """Choose the method with the narrowest intervals among those whose coverage ``reached`` the level.

    Every coverage is held against the level less :data:`SHORTFALL` by :func:`~jaxci.coverage.tally.simulation_error`,
    and every width against that of the method chosen, by normal intervals with the errors of differences between
    methods, group by group. Each holds at all ``looks`` together with a probability of :data:`SURE`; methods are judged
    on the same data sets, and err together.
    """
    known = [j for j in judgements if not math.isnan(j.mean_width) and not math.isnan(reached[j.label])]
    alpha, bar = (1 - SURE) / (2 * looks), level - SHORTFALL
    z = float(stats.norm.isf(alpha))
    reach = {j.label: simulation_error(j.coverage_error, j.by_group, alpha) for j in known}

    def narrower(one: Judgement, other: Judgement) -> bool:
        """Whether the intervals of one method are narrower than those of the other, beyond the error."""
        gap = other.mean_width - one.mean_width
        return gap > max(z * _error_of_gap(one, other, tally), EQUAL * other.mean_width)

    good = [j for j in known if reached[j.label] - reach[j.label] >= bar]
    open_ones = [j for j in known if j not in good and reached[j.label] + reach[j.label] >= bar]
    best = min(good, key=lambda j: j.mean_width, default=None)
    if best is None:
        return Choice(None, (), tuple(j.label for j in open_ones))
    first, *others = [j for j in good if j is best or not narrower(best, j)]
    undecided = [j.label for j in open_ones if narrower(j, first)]
    return Choice(first.method, tuple(j.label for j in others), tuple(undecided))


def _error_of_gap(one: Judgement, other: Judgement, tally: Tally) -> float:
    """Return the standard error of the difference between two mean widths, from that within groups of data sets."""

    def means(judgement: Judgement) -> np.ndarray | float:
        groups = tally.widths.get((judgement.statistic, judgement.label, judgement.level))
        if groups is None:
            return judgement.mean_width
        finite = [widths[np.isfinite(widths)] for _, widths in sorted(groups.items())]
        return np.array([float(widths.mean()) if widths.size else math.nan for widths in finite])

    gaps = np.atleast_1d(means(one) - means(other))
    gaps = gaps[~np.isnan(gaps)]
    return float(np.std(gaps, ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else 0.0


def calibrated_level(coverages: dict[float, float], target: float, *, stepped: bool = False) -> float:
    """Return the smallest nominal level whose coverage reaches ``target``; NaN if none does.

    It is interpolated, but where coverage is ``stepped``: between two levels it is that of either then.
    """
    levels = np.array(sorted(coverages))
    reached = np.maximum.accumulate([coverages[level] for level in levels])
    above = np.flatnonzero(reached >= target)
    if not above.size:
        return math.nan
    right = above[0]
    if right == 0 or stepped or reached[right] == target:
        return float(levels[right])
    left = right - 1
    share = (target - reached[left]) / (reached[right] - reached[left])
    return float(levels[left] + share * (levels[right] - levels[left]))
