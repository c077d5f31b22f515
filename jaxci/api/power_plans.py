"""Plans of a comparison: how many cases show a difference of two models with given power."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jaxci.api.planning_results import Plan, Tried
from jaxci.api.power_tests import ALONE, Difference, PowerAsked, of_means, of_shares, of_smooth
from jaxci.api.readers.expected import Clusters, Pilot, known_keys
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.models import read_models
from jaxci.api.readers.samples import check_n
from jaxci.api.width_plans import MOST, pilot_remark
from jaxci.checks import check_number, shown
from jaxci.distributions import Cells
from jaxci.inference.design import row_influence
from jaxci.inference.engine import comparison
from jaxci.inference.randomness import randomness
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.auc_power import BinormalScores, PilotScores
from jaxci.intervals.base import Method
from jaxci.intervals.capabilities import is_share_difference, is_whole_auc
from jaxci.intervals.clustered_proportion import TangoCluster
from jaxci.intervals.delta import Delta
from jaxci.intervals.proportion_difference import Tango
from jaxci.intervals.sample_size import (
    ROUNDING,
    binormal_auc_variances,
    smallest,
)
from jaxci.results import IntervalResult
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired, PairedTable, paired_difference
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import is_mean

FEW = 10
"""Clusters (of like size, or as many as tell as much) below which a power is said to be a rough one."""
INDEPENDENT = "no {} was given: {} is assumed, which two models on the same cases seldom show, so fewer cases may do"


def plan_power(asked: PowerAsked, expected: Any) -> Plan:
    """Return the smallest number of cases at which the power is reached."""
    given = dict(expected) if isinstance(expected, Mapping) else {"a": expected}
    pilot = {"prediction_a", "prediction_b"} <= set(given)
    settled = asked.statistic.settled(2) if not pilot else asked.statistic
    if pilot:
        settled, known = _of_pilot(asked, given)
    elif is_share_difference(paired_difference(settled)):
        known = _of_shares(asked, settled, given)
    elif is_whole_auc(settled):
        known = _of_areas(asked, given)
    elif is_mean(settled):
        known = _of_means(asked, given)
    else:
        raise ValueError(
            f"expected must be pilot data for the power of {asked.name}, {{'y_true': y, 'prediction_a': a, "
            f"'prediction_b': b}}; got {shown(expected)}"
        )
    if known.value == 0:
        raise ValueError("difference must not be 0: the models of expected are equal, and no number of cases tells")
    found = _planned(asked, settled, known)
    if known.pilot is None:
        return found
    return dataclasses.replace(found, warnings=(*found.warnings, _of_ends(asked, settled, known, known.pilot, found.n)))


def _of_ends(asked: PowerAsked, statistic: Statistic, known: Difference, pilot: Pilot, n: int) -> str:
    """Say how far the number of cases hangs on what a pilot leaves open."""
    paired, level = paired_difference(statistic), f"{100 * asked.level:g}% interval"
    if asked.difference is not None:
        found = pilot.spread(paired, asked.level)
        if found is None:
            return f"the pilot has {pilot.sample.n:,} rows, which do not tell how far n may be off"
        sizes = [math.ceil(n * end) for end in found]
        return pilot_remark(pilot.sample.n, f"in the {level} of the variance of the difference, about", *sizes)
    low, high = known.ends
    told = f"in the {level} of the difference, {low:.3g} to {high:.3g},"
    if not low * high > 0:
        return (
            f"the pilot has {pilot.sample.n:,} rows: {told} there may be none, which no number of cases shows; "
            "difference= plans for one that matters"
        )
    sizes = sorted(math.ceil(n * (known.value / end) ** 2) for end in known.ends)
    return pilot_remark(pilot.sample.n, f"{told} about", *sizes)


def _planned(asked: PowerAsked, statistic: Statistic, known: Difference) -> Plan:
    clusters = asked.clusters or known.clusters
    units_of, mean = clusters or ALONE, is_mean(statistic)
    if is_share_difference(paired_difference(statistic)):
        test = of_shares(asked, known, clusters)
    elif mean:
        test = of_means(asked, known, clusters)
    else:
        test = of_smooth(asked, known, clusters, area=is_whole_auc(statistic))
    tried = Tried("power", asked.power, {})

    def meets(steps: int) -> bool:
        units = steps * test.step
        tried.found[units_of.rows(units)] = found = test.power(units)
        wanted = asked.power * (1 - ROUNDING)
        return found >= wanted and (test.later is None or test.later(units) >= wanted)

    most = max(2, math.floor(MOST / units_of.size))
    steps = smallest(meets, -(-test.least // test.step), -(-most // test.step), test.ahead)
    if steps is None:
        raise ValueError(f"power = {asked.power:g} needs more than {MOST:,} cases of {asked.name}")
    units, how, remarks = steps * test.step, test.how, known.remarks
    if clusters is not None:
        how += f"; {clusters.described}"
        if clusters.degrees(units, 0) + 1 < FEW and not mean:
            remarks = (*remarks, f"{units} clusters are few, so their power is a rough one: plan for some more")
    n = units_of.rows(units)
    return Plan(
        statistic=asked.name,
        n=n,
        positives=None if known.prevalence is None else round(n * known.prevalence),
        clusters=None if clusters is None else units,
        method=test.method,
        expected=known.described,
        value=known.value,
        width=None,
        difference=asked.difference,
        power=asked.power,
        expected_width=math.nan,
        assurance=math.nan,
        reached_power=test.power(units),
        confidence_level=asked.level,
        found_by=how,
        reason=test.why,
        warnings=remarks,
        tried=tried,
    )


def _number(given: Mapping[str, Any], key: str, rule: str, holds: Callable[[float], bool]) -> float:
    return check_number(f"expected[{key!r}]", given[key], rule, holds)


def _apart(asked: PowerAsked, given: Mapping[str, Any], rule: str, holds: Callable[[float], bool]) -> float:
    """Return the difference: that of "a" and "b", or the one that was asked for."""
    both = {key: _number(given, key, rule, holds) for key in ("a", "b") if key in given}
    found = both["a"] - both["b"] if len(both) == 2 else None
    if found is None and asked.difference is None:
        raise ValueError(f"difference must be given, or 'a' and 'b' in expected; got {', '.join(given)}")
    if found is not None and asked.difference is not None and abs(abs(found) - abs(asked.difference)) > 1e-9:
        raise ValueError(f"difference must be that of 'a' and 'b' in expected, {found:g}; got {asked.difference:g}")
    return asked.difference if found is None else found  # type: ignore[return-value]


def _of_shares(asked: PowerAsked, statistic: Statistic, given: Mapping[str, Any]) -> Difference:
    """Read the shares of two models, and on how many trials one alone is right."""
    known_keys(given, ("a", "b", "discordant", "prevalence"))
    inside = ("lie in [0, 1]", lambda x: 0 <= x <= 1)
    d = _apart(asked, given, *inside)
    a = _number(given, "a", *inside) if "a" in given else None
    b = None if a is None else _number(given, "b", *inside) if "b" in given else a - d
    if b is not None and not 0 <= b <= 1:
        raise ValueError(f"difference must leave b = a - difference in [0, 1]; got a = {a:g}, difference = {d:g}")
    most = 1.0 if a is None or b is None else min(a + b, 2 - a - b)
    remarks: tuple[str, ...] = ()
    if "discordant" in given:
        rule = f"lie between the difference, {abs(d):g}, and {most:g}"
        discordant = _number(given, "discordant", rule, lambda x: abs(d) - 1e-12 <= x <= most + 1e-12)
        discordant = max(discordant, abs(d))
    elif a is None or b is None:
        raise ValueError(f"expected needs 'discordant', or the share 'a' of one model; got {', '.join(given)}")
    else:
        discordant = a * (1 - b) + b * (1 - a)
        remarks = (INDEPENDENT.format("'discordant'", f"{discordant:.3g}, errors that are independent,"),)
    trial, prevalence = 1.0, None
    if "prevalence" in given:
        prevalence = _number(given, "prevalence", "lie in (0, 1)", lambda x: 0 < x < 1)
    assert isinstance(statistic, TableStatistic)
    if not statistic.has_fixed_trials:
        if prevalence is None:
            raise ValueError(f"expected needs 'prevalence', which decides how many rows of {asked.name} count")
        with jax.enable_x64(True):
            found = statistic.successes(jax.numpy.asarray(Cells.binary(prevalence, 0.5, 0.5).table))
        assert found is not None
        trial = float(found[1])
    described = f"discordant {discordant:.3g}" if a is None else f"a = {a:g}, b = {b:g}, discordant {discordant:.3g}"
    deviation = math.sqrt(max(discordant - d * d, 0.0))
    return Difference(d, described, deviation, discordant, trial, prevalence, remarks=remarks)


def _of_areas(asked: PowerAsked, given: Mapping[str, Any]) -> Difference:
    """Read the areas of two models under the correlated binormal model."""
    known_keys(given, ("a", "b", "prevalence", "correlation"))
    inside = ("lie in (0, 1)", lambda x: 0 < x < 1)
    for key in ("a", "prevalence"):
        if key not in given:
            raise ValueError(f"expected needs {key!r} for {asked.name}; got {', '.join(given)}")
    d, a = _apart(asked, given, *inside), _number(given, "a", *inside)
    b = a - d
    if not 0 < b < 1:
        raise ValueError(f"difference must leave b = a - difference in (0, 1); got a = {a:g}, difference = {d:g}")
    prevalence, correlation = _number(given, "prevalence", *inside), 0.0
    remarks: tuple[str, ...] = ()
    if "correlation" in given:
        correlation = _number(given, "correlation", "lie in [0, 1)", lambda x: 0 <= x < 1)
    else:
        remarks = (INDEPENDENT.format("'correlation'", "0"),)
    of_a, of_b, both = binormal_auc_variances(a, b, correlation)
    deviation = math.sqrt((of_a + of_b - 2 * both) * (1 / prevalence + 1 / (1 - prevalence)))
    described = f"a = {a:g}, b = {b:g}, correlation {correlation:g}, prevalence {prevalence:g}"
    return Difference(
        d, described, deviation, prevalence=prevalence, remarks=remarks, scores=BinormalScores(a, b, correlation)
    )


def _of_means(asked: PowerAsked, given: Mapping[str, Any]) -> Difference:
    """Read the deviation of the differences by case, or both deviations and their correlation."""
    known_keys(given, ("a", "b", "sd", "sd_a", "sd_b", "correlation"))
    positive = ("be positive and finite", lambda x: 0 < x < math.inf)
    low, high = asked.statistic.bounds
    rule = "be finite" if (low, high) == (-math.inf, math.inf) else f"lie in [{low:g}, {high:g}]"
    d = _apart(asked, given, rule, lambda x: low <= x <= high and math.isfinite(x))
    if "sd" in given:
        if apart := [key for key in ("sd_a", "sd_b", "correlation") if key in given]:
            raise ValueError(
                f"expected[{apart[0]!r}] must be left out with 'sd', which is that of the differences; got both"
            )
        deviation, described = _number(given, "sd", *positive), "sd of the differences {:g}"
    elif {"sd_a", "sd_b", "correlation"} <= set(given):
        a, b = (_number(given, key, *positive) for key in ("sd_a", "sd_b"))
        r = _number(given, "correlation", "lie in [-1, 1]", lambda x: -1 <= x <= 1)
        deviation, described = math.sqrt(a * a + b * b - 2 * r * a * b), "sd of the differences {:.3g}"
        if deviation == 0:
            raise ValueError("expected['correlation'] must leave the differences some deviation; got 1")
    else:
        raise ValueError(
            f"expected needs 'sd' of the differences, or 'sd_a', 'sd_b' and 'correlation'; got {', '.join(given)}"
        )
    return Difference(d, described.format(deviation), deviation)


def _of_pilot(asked: PowerAsked, given: Mapping[str, Any]) -> tuple[Statistic, Difference]:
    """Read the difference and its variance off pilot data of two models."""
    known_keys(given, ("y_true", "prediction_a", "prediction_b", "groups"))
    predictions = {key: given[key] for key in ("prediction_a", "prediction_b")}
    read = read_models(asked.statistic, asked.name, given.get("y_true"), predictions, asked.labels, asked.pos_label)
    (first, second), statistic, remarks = read
    sample, layout = arranged(dataclasses.replace(first, other=second), given.get("groups"), None, None, "importance")
    check_n(sample)
    paired = paired_difference(statistic)
    prevalence = float(sample.class_sizes[1] / sample.n) if sample.n_classes == 2 else None
    with jax.enable_x64(True):
        clusters = Clusters.of(paired, sample, layout)
        known = _of_outcomes(paired, sample) if is_share_difference(paired) else None
    if known is None:
        found = _interval(asked, paired, sample, Layout(sample.n))
        if not found.standard_error > 0:
            raise ValueError(f"expected must be pilot data in which the difference of {asked.name} varies; it does not")
        known = Difference(found.estimate, "", found.standard_error * math.sqrt(sample.n))
    d = known.value if asked.difference is None else asked.difference
    if not math.isnan(known.discordant) and abs(d) > known.discordant:
        raise ValueError(
            f"difference must not exceed the share of rows on which the pilot models differ, {known.discordant:g}; "
            f"got {d:g}"
        )
    low, high = _interval(asked, paired, sample, layout).confidence_interval
    rows = scores = None
    if is_whole_auc(statistic) and clusters is None and asked.difference is None:
        assert sample.other is not None
        scores = PilotScores(sample.y_true, np.stack([sample.y_score, sample.other.y_score]))
    if is_mean(paired) and clusters is None:
        with jax.enable_x64(True):
            rows = row_influence(paired, sample)
        if high < 0 < d or d < 0 < low:
            other = f"the difference a - b is {known.value:.3g} in the pilot, and {d:g} is planned for"
            remarks = (*remarks, f"{other}: with the other model ahead, differences are skewed to the other side")
    return statistic, dataclasses.replace(
        known,
        value=d,
        described=f"as in {sample.n} pilot rows",
        prevalence=prevalence,
        clusters=clusters,
        remarks=remarks,
        pilot=Pilot(sample, layout),
        rows=rows,
        scores=scores,
        ends=(low, high),
    )


def _interval(asked: PowerAsked, paired: Paired, sample: Sample, layout: Layout) -> IntervalResult:
    """Return the interval of a difference in pilot data, by the method whose power is planned."""
    if is_share_difference(paired):
        method: Method = Tango() if layout.units is None else TangoCluster()
    else:
        method = DeLongDifference() if is_whole_auc(paired.statistic) and layout.units is None else Delta()
    settings = Settings.of(asked.level, "two-sided", None)
    return comparison(Request(asked.name, paired, method), sample, layout, settings, randomness(0)).difference


def _of_outcomes(paired: PairedTable, sample: Sample) -> Difference | None:
    """Return what pilot predictions tell of the difference of two shares."""
    prepared = paired.prepare(sample)
    both, only_a, only_b, neither, _ = paired.outcomes(prepared, prepared.weights_of(Layout(sample.n)))
    trials = float((both + only_a + only_b + neither)[0])
    if trials == 0:
        raise ValueError("expected must be pilot data with rows that count for the metric; got none")
    discordant, d = float((only_a + only_b)[0]) / trials, float((only_a - only_b)[0]) / trials
    return Difference(d, "", math.sqrt(max(discordant - d * d, 0.0)), discordant, min(trials / sample.n, 1.0))
