"""Plans of a width: in closed form where there is one, by simulation otherwise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import scipy

from jaxci.api.planning_results import Plan, Tried
from jaxci.api.readers.expected import Clusters, Expected, Pilot
from jaxci.coverage.enumeration import enumerable, proportion_bounds
from jaxci.coverage.running import cell_truths
from jaxci.coverage.widths import WidthStudy, auto_choice, smallest_units
from jaxci.distributions import Cells
from jaxci.inference.randomness import Randomness
from jaxci.intervals.base import Method, tails
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion import MidP, ProportionMethod
from jaxci.intervals.registry import method_by_name
from jaxci.intervals.sample_size import ROUNDING, ShareLaw, smallest, t_width, t_width_assurance
from jaxci.statistics.base import Statistic, has_fixed_trials

PURPOSE_PLAN = 8
"""Separates the draws of a plan from those of other verbs."""
MOST = 10**8
"""Cases that a plan considers at most."""
AHEAD = 100
"""Larger numbers of cases at which an assurance that moves in steps must also hold."""
ACROSS = 41
"""Values across the interval of a pilot's share, of which those of the least and the largest width are planned for."""


@dataclasses.dataclass(frozen=True)
class WidthAsked:
    """What a plan of a width is to meet, and how.

    Attributes
    ----------
    name : str
    width : float
    assurance : float or None
    level : float
    method : str or Method
    clusters : Clusters or None
    n_replications, n_resamples : int
    """

    name: str
    width: float
    assurance: float | None
    level: float
    method: str | Method
    clusters: Clusters | None
    n_replications: int
    n_resamples: int

    def tried(self) -> Tried:
        """Return where what was tried is written down."""
        if self.assurance is None:
            return Tried("width", self.width, {})
        return Tried("assurance", self.assurance, {})

    def meets(self, n: int, tried: Tried, width: Callable[[], float], assured: Callable[[], float]) -> bool:
        """Whether n cases do, by their width, or by the share of samples that are narrow enough."""
        if self.assurance is None:
            tried.found[n] = width()
            return tried.found[n] <= self.width * (1 + ROUNDING)
        tried.found[n] = assured()
        return tried.found[n] >= self.assurance

    @property
    def given(self) -> frozenset[str]:
        """What there is of the design."""
        return frozenset() if self.clusters is None else frozenset({"groups"})

    def too_many(self) -> ValueError:
        """Return the error of a width that no number of cases considered reaches."""
        return ValueError(f"width = {self.width:g} needs more than {MOST:,} cases of {self.name}")


def plan_width(
    asked: WidthAsked, expected: Expected, source: Randomness, progress: Callable[[int, int], None] | None
) -> Plan:
    """Return the smallest number of cases at which the interval is as narrow as asked for."""
    method = None if asked.method == "auto" else method_by_name(asked.method)
    if method is not None:
        refusal = method.refusal_of_rows(expected.statistic, asked.given)
        if refusal is not None:
            raise ValueError(f"method must serve {asked.name}; {refusal}")
    share = expected.share()
    if asked.clusters is not None:
        share = None
    alone = method is None and asked.clusters is None and _unbounded(expected.statistic)
    if expected.deviation is not None and (method == T() or alone):
        return _by_student(asked, expected, expected.deviation)
    if share is not None and (method is None or isinstance(method, ProportionMethod)):
        return _by_share(asked, expected, share, method or MidP())
    if share is not None and method is not None and has_fixed_trials(expected.statistic) and enumerable(method):
        return _by_enumeration(asked, expected, share, method)
    return _by_study(asked, expected, method, source, progress)


def _unbounded(statistic: Statistic) -> bool:
    return not np.isfinite(statistic.bounds).any()


def _plan(asked: WidthAsked, expected: Expected, n: int, method: Method | str, **found: Any) -> Plan:
    return Plan(
        statistic=asked.name,
        n=n,
        positives=None if expected.prevalence is None else round(n * expected.prevalence),
        method=method,
        expected=expected.described,
        width=asked.width,
        difference=None,
        power=None,
        reached_power=math.nan,
        confidence_level=asked.level,
        **{"clusters": None, "warnings": expected.remarks, **found},
    )


def _of_one_method(asked: WidthAsked, method: Method) -> tuple[str, ...]:
    """Say that what is planned is that of one method, where users might ask for another."""
    if asked.method != "auto":
        return ()
    what, name = "width" if asked.assurance is None else "assurance", repr(str(method))
    return (f"the {what} is that of {name}: 'auto' may take a wider interval on the data, so ask for method={name}",)


def _by_student(asked: WidthAsked, expected: Expected, deviation: float) -> Plan:
    """Plan by Student's interval where all that is known of the values is their deviation."""
    clusters, sides = asked.clusters or Clusters.equal(0.0, 1), tails(asked.level)
    spread = deviation * math.sqrt(clusters.design_effect)

    def width(units: int) -> float:
        return t_width(spread, clusters.rows(units), units - 1, sides)

    def assured(units: int) -> float:
        return t_width_assurance(width(units), asked.width, units - 1)

    tried = asked.tried()

    def meets(units: int) -> bool:
        return asked.meets(clusters.rows(units), tried, lambda: width(units), lambda: assured(units))

    units = smallest(meets, 2, MOST)
    if units is None:
        raise asked.too_many()
    reason = "asked for" if asked.method != "auto" else "of the values only mean and standard deviation are known"
    if asked.clusters is not None:
        reason += f"; {clusters.described}"
    return _plan(
        asked,
        expected,
        clusters.rows(units),
        T(),
        clusters=None if asked.clusters is None else units,
        value=float(expected.law.analytic(expected.statistic) or 0.0) if expected.located else math.nan,
        expected_width=width(units),
        assurance=assured(units),
        found_by="closed form: the width at the expected deviation, its assurance for normal values",
        reason=reason,
        width_error=0.0,
        assurance_error=0.0,
        tried=tried,
        warnings=(*expected.remarks, *_of_one_method(asked, T())),
    )


def _by_share(asked: WidthAsked, expected: Expected, share: ShareLaw, method: ProportionMethod) -> Plan:
    """Plan by an interval for a proportion of independent rows."""
    sides = tails(asked.level)
    if expected.prevalence == 0 and share.success == 0:
        raise ValueError(f"expected['prevalence'] must be positive for {asked.name}, of the positive class; got 0")
    assert isinstance(expected.law, Cells)

    def width(of: ShareLaw, n: int) -> float:
        return of.width(method, n, sides)

    def assured(of: ShareLaw, n: int) -> float:
        return of.assurance(method, n, sides, asked.width)

    def cases(of: ShareLaw, tried: Tried, ahead: int = 0) -> int:
        n = smallest(lambda n: asked.meets(n, tried, lambda: width(of, n), lambda: assured(of, n)), 2, MOST, ahead)
        if n is None:
            raise asked.too_many()
        return n

    steps = asked.assurance is not None and (share.seen is None or has_fixed_trials(expected.statistic))
    tried = asked.tried()
    n = cases(share, tried, AHEAD if steps else 0)
    reason = "asked for"
    if asked.method == "auto":
        reason = auto_choice(expected.statistic, expected.law, n, asked.level, jax.random.key(0)).reason
    how, remarks = "the width at the expected counts, its assurance summed over all counts", expected.remarks
    if share.seen is not None:
        how += " and averaged over what the pilot leaves open (Jeffreys' prior)"
        successes, trials = share.seen * share.trial * share.success, share.seen * share.trial
        ends = MidP().from_counts(successes, trials, sides)
        inside = [share._replace(success=float(p), seen=None) for p in np.linspace(*ends, ACROSS)]
        widths = [width(law, n) for law in inside]
        sizes = [cases(inside[int(at)], asked.tried()) for at in (np.argmin(widths), np.argmax(widths))]
        values = sorted(_value(law) for law in (inside[0], inside[-1]))
        of = f"in the {100 * asked.level:g}% interval of {asked.name}, {values[0]:.3g} to {values[1]:.3g}, about"
        allowed = "" if asked.assurance is not None else "; assurance= allows for that"
        remarks = (*remarks, pilot_remark(share.seen, of, *sizes) + allowed)
    return _plan(
        asked,
        expected,
        n,
        method,
        value=_value(share),
        expected_width=width(share, n),
        assurance=assured(share, n),
        found_by=f"closed form: {how}",
        reason=reason,
        width_error=0.0,
        assurance_error=0.0,
        tried=tried,
        warnings=remarks,
    )


def _value(share: ShareLaw) -> float:
    return float(np.asarray(share.statistic.of_share(share.success)[0]))


def pilot_remark(rows: int, where: str, fewest: float, most: float) -> str:
    """Say how far the number of cases hangs on what a pilot leaves open."""
    range_of = f"{max(2, fewest):,.0f} to {most:,.0f}"
    return f"the pilot has {rows:,} rows: {where} {range_of} cases would be planned if it were known"


def _by_enumeration(asked: WidthAsked, expected: Expected, share: ShareLaw, method: Method) -> Plan:
    """Plan by the mean width over all numbers of successes among n rows; the assurance as :class:`ShareLaw` has it."""
    tried = asked.tried()

    def widths(n: int) -> tuple[float, float]:
        low, high = proportion_bounds(method, n, asked.level)
        counts, narrow = np.arange(n + 1), high - low <= asked.width * (1 + ROUNDING)
        mass = scipy.stats.binom.pmf(counts, n, share.success)
        assuring = mass if share.seen is None else scipy.stats.betabinom.pmf(counts, n, *share.successes.args)
        return float(mass @ (high - low)), float(assuring @ narrow)

    def meets(n: int) -> bool:
        mean, met = widths(n)
        return asked.meets(n, tried, lambda: mean, lambda: met)

    n = smallest(meets, 2, MOST, AHEAD)
    if n is None:
        raise asked.too_many()
    mean, met = widths(n)
    remarks = expected.remarks
    if expected.pilot is not None:
        remarks = (*remarks, _of_spread(asked, expected.statistic, expected.pilot, n))
    return _plan(
        asked,
        expected,
        n,
        method,
        value=share.success,
        expected_width=mean,
        assurance=met,
        found_by="enumeration: the mean width over all counts, for infinitely many resamples",
        reason="asked for",
        width_error=0.0,
        assurance_error=0.0,
        tried=tried,
        warnings=remarks,
    )


def _of_spread(asked: WidthAsked, statistic: Statistic, pilot: Pilot, n: int) -> str:
    """Say how far n hangs on the variance that a pilot shows: it grows with that."""
    found, rows = pilot.spread(statistic, asked.level), pilot.sample.n
    if found is None:
        return f"the pilot has {rows:,} rows, which do not tell how far n may be off"
    where = f"in the {100 * asked.level:g}% interval of the variance of {asked.name}, about"
    return pilot_remark(rows, where, *(math.ceil(n * end) for end in found))


def _by_study(
    asked: WidthAsked,
    expected: Expected,
    method: Method | None,
    source: Randomness,
    progress: Callable[[int, int], None] | None,
) -> Plan:
    """Plan by the widths of the intervals of simulated data sets."""
    key = jax.random.fold_in(source.key, PURPOSE_PLAN)
    statistic, clusters, law = expected.statistic, asked.clusters, expected.law
    truth = cell_truths(law, {asked.name: statistic}, key)[asked.name]
    if not math.isfinite(truth.value):
        raise ValueError(f"expected must give {asked.name} a value; {truth.how}")
    step = 1 if clusters is None else clusters.step
    study = WidthStudy(
        asked.name,
        statistic,
        truth,
        (lambda units: law) if clusters is None else (lambda units: clusters.law(law, units * step)),
        1 if clusters is None else clusters.rows(step),
        method,
        asked.level,
        asked.n_replications,
        asked.n_resamples,
        key,
        progress,
    )
    found = smallest_units(study, asked.width, asked.assurance, MOST // study.cluster_size)
    if found is None:
        raise asked.too_many()
    met, met_error = found.assurance(asked.width)
    held, held_error = found.coverage
    of = (lambda one: one.mean) if asked.assurance is None else (lambda one: one.assurance(asked.width)[0])
    how = f"simulation of {asked.n_replications:,} data sets at each of {len(study.seen)} sizes"
    if found.simulated < found.units:
        how += f", extrapolated from n = {found.simulated * study.cluster_size:,} as 1/sqrt(n)"
    if clusters is not None:
        how += f"; {clusters.described}"
    told = () if found.choice.remark is None else (found.choice.remark,)
    if expected.pilot is not None:
        told = (*told, _of_spread(asked, expected.statistic, expected.pilot, found.rows))
    if asked.assurance is not None:
        told = (*told, *_of_one_method(asked, found.choice.method))
    return _plan(
        asked,
        expected,
        found.rows,
        found.choice.method,
        clusters=None if clusters is None else found.units * step,
        value=truth.value,
        expected_width=found.mean,
        assurance=met,
        found_by=how,
        reason=found.choice.reason,
        coverage=held,
        width_error=found.error,
        assurance_error=met_error,
        coverage_error=held_error,
        n_replications=asked.n_replications,
        tried=asked.tried()._replace(found={one.rows: of(one) for one in (*study.seen.values(), found)}),
        warnings=(*expected.remarks, *told),
        rng=source.record,
    )
