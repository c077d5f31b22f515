"""What a comparison is to show, by which method, and with what power: of shares, means, areas and smooth metrics."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.expected import Clusters, Pilot
from jaxci.checks import shown
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.auc_power import AreaPower, Scores
from jaxci.intervals.base import Method
from jaxci.intervals.clustered_proportion import TangoCluster
from jaxci.intervals.delta import Delta
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.mean_power import MeanPower
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion_difference import Newcombe, Tango
from jaxci.intervals.registry import difference_by_name
from jaxci.intervals.sample_size import mcnemar_power, normal_alpha, normal_power, normal_size, t_power
from jaxci.statistics.base import Statistic

TAKEN = "what compare takes"
"""Why a method is planned for."""
ASKED_FOR = "asked for"
MOST_COMPARED, MOST_OF_PILOT = 2_000, 5_000
"""Rows of a study up to which a power of two means is simulated, of normal differences and of those of a pilot."""
BEYOND = 8
"""How many times as many rows as Student's law takes are looked at, of a pilot of which a few rows lie far out."""
STUDIES = 1_000
"""Studies that a power of two areas is simulated by."""
MOST_STUDIED = 10_000
"""Rows of a study up to which that is done."""
FINE = 100
"""Parts of the number of rows by which that is then told."""
ROUGHLY = f"so that the power has a standard error of up to {0.5 / math.sqrt(STUDIES):.3f}"
AHEAD = 100
"""Larger numbers of cases at which a power that moves in steps must also be reached."""
ALONE = Clusters.equal(0.0, 1)
"""Of rows that are independent."""


@dataclasses.dataclass(frozen=True)
class PowerAsked:
    """What a plan of a comparison is to meet, and how.

    Attributes
    ----------
    name : str
    statistic : Statistic
    difference : float or None
        That of ``expected`` where it is None.
    power, level : float
    method : str or Method
    clusters : Clusters or None
    labels, pos_label : object
        Of pilot data.
    """

    name: str
    statistic: Statistic
    difference: float | None
    power: float
    level: float
    method: str | Method
    clusters: Clusters | None
    labels: Sequence[Any] | None
    pos_label: Any

    def chosen(self, *served: Method) -> tuple[Method, str]:
        """Return the method, the first of ``served`` for "auto", and why."""
        if isinstance(self.method, str) and self.method == "auto":
            taken = served[0] in (Tango(), TangoCluster())
            return served[0], TAKEN if taken else "its power is known; compare may take another interval"
        method = difference_by_name(self.method)
        if method not in served:
            names = ", ".join(repr(one.label) for one in served)
            raise ValueError(
                f"method must be one whose power is known for {self.name}, {names}; got {shown(method.written())}"
            )
        return method, ASKED_FOR

    def takes(self, method: Method) -> bool:
        """Whether a method is what is planned for: asked for, or what compare takes."""
        return self.method == "auto" or difference_by_name(self.method) == method


@dataclasses.dataclass(frozen=True)
class Difference:
    """What is expected of two models.

    Attributes
    ----------
    value : float
        Difference of the metric.
    described : str
    deviation : float
        Of the difference a row; of a share, a trial.
    discordant : float
        Share of trials on which one model alone is right; NaN where the metric is no share.
    trial : float
        Share of rows that are trials of a share.
    prevalence : float or None
    clusters : Clusters or None
        Of pilot data.
    remarks : tuple of str
    pilot : Pilot or None
    ends : tuple of float
        Of the interval of the difference in pilot data.
    scores : Scores or None
        Those of two models, of which areas are compared.
    rows : array or None
        What the means of two models differ by in the rows of pilot data.
    """

    value: float
    described: str
    deviation: float = math.nan
    discordant: float = math.nan
    trial: float = 1.0
    prevalence: float | None = None
    clusters: Clusters | None = None
    remarks: tuple[str, ...] = ()
    pilot: Pilot | None = None
    ends: tuple[float, float] = (math.nan, math.nan)
    scores: Scores | None = None
    rows: np.ndarray | None = None


class Test(NamedTuple):
    """A method, why it is planned for, its power by the number of units, and how that is found.

    What is planned is a multiple of ``step``, from ``least`` on; the power is also reached by ``ahead`` more, and by
    what is ``later`` the least power of larger numbers.
    """

    method: Method
    why: str
    power: Callable[[int], float]
    how: str
    least: int = 2
    step: int = 1
    ahead: int = AHEAD
    later: Callable[[int], float] | None = None


def of_shares(asked: PowerAsked, known: Difference, clusters: Clusters | None) -> Test:
    """Test the difference of two shares of the same rows."""
    method, why = asked.chosen(*((Tango(), Newcombe()) if clusters is None else (TangoCluster(),)))
    d, units_of, alpha = known.value, clusters or ALONE, 1 - asked.level
    split, exact = ((known.discordant + d) / 2, (known.discordant - d) / 2), method == Newcombe()

    def power(units: int) -> float:
        judged = alpha if clusters is None else normal_alpha(alpha, clusters.degrees(units, 0))
        trials = math.floor(units_of.rows(units) * known.trial / units_of.design_effect)
        return mcnemar_power(*split, trials, judged, exact=exact)

    test = "McNemar's exact test" if exact else "the score test of paired proportions (McNemar's)"
    how = f"enumeration of the power of {test}"
    if clusters is not None:
        how += " with Student's quantile of the clusters"
    if known.trial < 1:
        how += " at the expected number of rows that count"
    return Test(method, why, power, how)


def of_means(asked: PowerAsked, known: Difference, clusters: Clusters | None) -> Test:
    """Test the mean of differences."""
    d, units_of, alpha = known.value, clusters or ALONE, 1 - asked.level
    deviation = known.deviation * math.sqrt(units_of.design_effect)

    def by_student(units: int) -> float:
        return t_power(d, deviation, units_of.rows(units), units_of.degrees(units, 1), alpha)

    by_law, taken = "closed form: the noncentral t law, for normal differences", KurtosisT(skewed=True)
    if clusters is not None or not asked.takes(taken):
        return Test(*asked.chosen(*((T(), taken) if clusters is None else (T(),))), by_student, by_law)
    reason = TAKEN if asked.method == "auto" else ASKED_FOR
    by_normal = math.ceil(normal_size(d, deviation, deviation, asked.power, alpha))
    largest = MOST_COMPARED if known.rows is None else MOST_OF_PILOT
    if by_normal > largest:
        return Test(taken, reason, by_student, f"{by_law}, as so many rows are nearly judged as these")
    studied = MeanPower(d, deviation, known.rows, asked.level, STUDIES)
    power = functools.cache(lambda n: studied(n) if n <= largest else by_student(n))
    if known.rows is None:
        how = f"simulation of {STUDIES:,} studies of normal differences, {ROUGHLY}"
        return Test(taken, reason, power, how, max(2, by_normal), ahead=0)
    most, least = min(BEYOND * by_normal, MOST_COMPARED), 2 if by_normal < MOST_COMPARED // 2 else by_normal // 2
    how = f"simulation of {STUDIES:,} studies of differences as in the pilot, {ROUGHLY}; larger ones have no less"

    def later(n: int) -> float:
        return studied.from_then_on(n, most) if n < most else power(n)

    return Test(taken, reason, power, how, least, ahead=0, later=later)


def of_smooth(asked: PowerAsked, known: Difference, clusters: Clusters | None, *, area: bool) -> Test:
    """Test the difference of a smooth metric, such as the whole area under a ROC curve."""
    d, s, alpha, units_of = known.value, known.deviation, 1 - asked.level, clusters or ALONE
    taken = DeLongDifference(use_t=True)
    simulated = known.scores is not None and asked.takes(taken)
    served: Method = DeLongDifference() if area and clusters is None else Delta()
    method, why = (taken, ASKED_FOR) if simulated and asked.method != "auto" else asked.chosen(served)
    rows = normal_size(d, s, s, asked.power, alpha) * units_of.design_effect / units_of.size
    how, least = "with the variance that the method estimates", max(2, math.floor(rows))
    if clusters is not None:

        def of_clusters(units: int) -> float:
            deviation = s * math.sqrt(clusters.design_effect)
            return t_power(d, deviation, clusters.rows(units), clusters.degrees(units, 0), alpha)

        return Test(method, why, of_clusters, f"approximation by the noncentral t law of the clusters, {how}", least)
    if simulated and least <= MOST_STUDIED:
        assert known.prevalence is not None
        assert known.scores is not None
        studied = AreaPower(known.scores, known.prevalence, asked.level, STUDIES)
        of_rarer = round(1 / (2 * min(known.prevalence, 1 - known.prevalence)))  # rows that bring half of one

        @functools.cache
        def of_areas(n: int) -> float:
            return studied(n) if n <= MOST_STUDIED else normal_power(d, s, s, n, alpha)

        whose = "normal scores" if known.pilot is None else "scores as in the pilot"
        how = f"simulation of {STUDIES:,} studies of {whose}, as many of them positive as expected, {ROUGHLY}"
        step = min(max(1, least // FINE, of_rarer), MOST_STUDIED // FINE)
        return Test(taken, TAKEN if asked.method == "auto" else ASKED_FOR, of_areas, how, least, step, ahead=0)
    return Test(method, why, lambda n: normal_power(d, s, s, n, alpha), f"normal approximation, {how}", least)
