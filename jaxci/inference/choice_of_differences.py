"""``method="auto"`` of ``compare``: which interval of a difference of two models, and why; by rules, without cards."""

from __future__ import annotations

import numpy as np

from jaxci.inference.choice_of_many_rows import of_quantiles
from jaxci.inference.standings import Choice
from jaxci.intervals.adjusted_wald import AdjustedWald
from jaxci.intervals.auc_difference import DeLongDifference
from jaxci.intervals.base import Tails
from jaxci.intervals.bootstrap import ExpandedPercentile, Percentile
from jaxci.intervals.capabilities import has_opposed_rows, is_share_difference
from jaxci.intervals.clustered_proportion import TangoCluster
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion_difference import Tango
from jaxci.intervals.sign_flip import MOST_CLUSTERS, SignFlip
from jaxci.statistics.base import LinearStatistic, MomentStatistic, RankedStatistic
from jaxci.statistics.custom import FunctionStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import is_mean

MOST_LEFT_OUT = 5_000
"""Rows up to which ``auto`` leaves each out for the error of a difference, which sees how it bends."""

ENOUGH_CASES, ENOUGH_RANKED = 2, 5
"""From so many rows of every class on, derivatives in their weights tell how much areas vary, and average precisions.
Of these, of 3 positives, 10% of 95% intervals of the difference of unlike models left out the truth.
"""


def choose_difference(statistic: Paired, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose the interval method for the difference of two models, from the data's layout, size and rarest class."""
    alike = layout.given <= {"strata"}
    vary = "" if layout.strata is None else "; rows in strata vary less"
    if alike and Tango().refusal(statistic) is None:
        return Choice(Tango(), f"paired proportions: the interval that Tango's score test does not reject{vary}")
    told = layout.units is None and _has_contributions(statistic, sample)
    ranked = told and layout.strata is None and isinstance(statistic.statistic, ScoreRanking)
    if ranked and has_opposed_rows(statistic):
        return _of_contributions(statistic, layout)
    if AdjustedWald().refusal_of_rows(statistic, layout.given) is None:
        why = "its influence, with a few rows on which the models differ most"
        return Choice(AdjustedWald(), f"a difference of two models on the same rows: {why}{vary}")
    if layout.given == {"groups"} and is_share_difference(statistic):
        why = "paired proportions in clusters: Tango's score interval of the outcomes divided by the design effect"
        return Choice(TangoCluster(), why)
    if layout.given == {"groups"} and is_mean(statistic):
        return _of_flips(layout, tails)
    if alike and DeLongDifference().refusal(statistic) is None:
        why = "DeLong's variance, and Student's quantiles, which allow for rare classes"
        return Choice(DeLongDifference(use_t=True), f"correlated AUCs of independent rows: {why}{vary}")
    if told:
        return _of_contributions(statistic, layout)
    vary_within = layout.strata is None or int(np.bincount(layout.strata).min()) > 1
    if layout.units is not None and vary_within and statistic.smooth:
        why = "Student's quantiles, of fewer degrees of freedom where few clusters decide"
        return Choice(
            KurtosisT(), f"a smooth difference of rows in clusters: its influence, summed over each, and {why}"
        )
    if quantiles := of_quantiles(statistic, layout, n_resamples, tails):
        return quantiles
    why = "no formula for this difference: the paired percentile bootstrap over"
    if layout.units is not None:
        return Choice(ExpandedPercentile(), f"{why} clusters, further out as these are few")
    return Choice(Percentile(), f"{why} rows")


def _has_contributions(statistic: Paired, sample: Sample) -> bool:
    """Whether derivatives tell what each row contributes: of ranks those of the few rows of a class do not."""
    if isinstance(statistic.statistic, ScoreRanking):
        sizes, enough = sample.class_sizes, ENOUGH_RANKED if has_opposed_rows(statistic) else ENOUGH_CASES
        return statistic.smooth and int(sizes[sizes > 0].min()) >= enough
    known = isinstance(statistic, LinearStatistic) or isinstance(
        statistic.statistic, FunctionStatistic | RankedStatistic
    )
    return statistic.smooth and known


def _of_contributions(statistic: Paired, layout: Layout) -> Choice:
    """Choose for a smooth difference, of sums, ranks or users' functions, of rows in no clusters."""
    why = "Student's quantiles, of fewer degrees of freedom where few rows decide"
    skewed = ", and ends further out where the differences are skewed"
    if layout.plain and is_mean(statistic):
        return Choice(KurtosisT(skewed=True), f"a mean of paired differences: {why}{skewed}")
    own = isinstance(statistic.statistic, FunctionStatistic)
    if layout.plain and (own or isinstance(statistic, MomentStatistic)) and layout.n_units <= MOST_LEFT_OUT:
        how = f"a difference of {'smooth functions' if own else 'moments'}: the values with each row left out"
        return Choice(KurtosisT(error="jackknife", skewed=True), f"{how}, and {why}{skewed}")
    rows = "" if layout.plain else " of rows with strata or weights"
    return Choice(KurtosisT(), f"a smooth difference{rows}: its influence, and {why}")


def _of_flips(layout: Layout, tails: Tails) -> Choice:
    """Choose for the difference of means of rows in clusters."""
    flips = min(2**layout.n_units, SignFlip().n_flips)
    if layout.n_units <= MOST_CLUSTERS and max(tails.sides) * flips >= 1:
        why = "a mean of paired differences in clusters: what flips of their signs do not reject, which is exact for"
        return Choice(SignFlip(skewed=True), f"{why} symmetric differences, and further away from 0 for skewed ones")
    why = "a mean of paired differences in clusters, too few or too many for flips of their signs: Student's interval"
    return Choice(T(), f"{why} with a cluster-robust variance")
