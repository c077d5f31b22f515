"""The rules of ``method="auto"`` where no card tells: of weights, of statistics without a card, of very many rows."""

from __future__ import annotations

import math

import numpy as np

from jaxci.inference.choice_of_many_rows import (
    LARGE_ROWS,
    MANY_CLUSTERS,
    MOST_SMOOTH_DRAWS,
    is_large,
    misranks_in_clusters,
    of_large,
    of_quantiles,
    on_scale,
    ranks_many,
    scale_of,
)
from jaxci.inference.choice_of_weights import (
    known_of_weights,
    of_labels_by_weight,
    of_ranks_by_weight,
    of_values_by_weight,
    of_weighted_deviation,
    proper,
)
from jaxci.inference.design import row_influence
from jaxci.inference.features import differ_little, features_of_rows, heaviest_tails
from jaxci.inference.runs import n_drawn
from jaxci.inference.slopes import effective_units
from jaxci.inference.standings import Choice
from jaxci.intervals.auc import DeLongLogit, NewcombeAuc
from jaxci.intervals.base import Method, Tails
from jaxci.intervals.bootstrap import Basic, BCa, ExpandedPercentile, Percentile, Studentized, smallest_bank
from jaxci.intervals.calibration import SquaredGaps
from jaxci.intervals.capabilities import power_of_variance, quantile_order
from jaxci.intervals.cards import MOST_CLASSES
from jaxci.intervals.clustered_proportion import WilsonCluster
from jaxci.intervals.delta import SCALES, Delta
from jaxci.intervals.exact import Exact
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.mover import SquareAndAdd
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion import MidP, Wilson
from jaxci.intervals.quantile import OrderStatistic, most_covered, needs_rows, smallest_n
from jaxci.intervals.spread import LEAST, Bonett
from jaxci.statistics import order
from jaxci.statistics.base import MomentStatistic, Statistic, TableStatistic
from jaxci.statistics.custom import FunctionStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean

MOST_DRAWS = 4e9
"""Above so many draws (units times resamples) a smooth statistic gets the delta interval."""

MOST_CELL_DRAWS = 1e9
"""Above so many cells of tables (classes squared, times resamples) metrics of labels are not resampled."""

SMALL_MEAN = 50
"""Below so many observations a mean of values without bounds gets the t interval."""

FEW_WRONG = 3
"""Of metrics of more classes than cards tell of, resamples serve, corrected for bias and skewness, where so many rows
are wrong. What every class adds that was not seen shifts a mean over many by more than its error
(``benchmarks/many_classes.py``).
"""
ENOUGH_IN_CLASS = 10
"""Of so many classes that have fewer rows than that each, on average, intervals get a remark."""
IN_MANY_CLASSES = "covered 32% to 98% in simulations of 15 to 100 classes of 5 rows"
"""What is said of these, as ``benchmarks/many_classes.py`` found."""
ENOUGH_WITHOUT_DRAWS = 100
"""Of classes with fewer rows than that each, means over classes that are not resampled get a remark."""
LEAST_BANK = 399
"""So many resamples or more are worth naming."""
WITHOUT_DRAWS = "covered 20% to 98% in simulations of 400 classes of 5 to 50 rows"
"""What is said of these, as ``benchmarks/many_classes.py`` found."""

LEAST_FOR_PIVOTS = 4
"""In fewer clusters most resamples are the data or one cluster, which has no standard error: of 2 clusters studentized
intervals have no width, of 3 those of R2, correlations and standard deviations covered 64% to 77% of 100 data sets,
where the delta method with Student's quantiles covered 81% to 92% (of 2 clusters 81% to 97%).
"""

FEW_DECIDING = {50: 3.0, 12: 2.0}
"""In so many clusters or more of which fewer than these decide a deviation, effectively, studentized intervals are up
to 40 times as wide as needed and cover no more than those of ``kurtosis_t`` do.
"""

FEW_AMONG_MANY, OF_FEW_AMONG_MANY = 200, "covered 78% to 96% in simulations, least where they rank low"
"""Of fewer positives than this, among more rows than cards tell of, it is said what average precisions covered
(``benchmarks/rare_positives.py``).
"""
FEW_LOST = 10.0
"""Of a rare class of which fewer rows are ranked wrongly (rows times one less the area) formulas tell too little: of
150 to 1,000 positives among 50,000 rows DeLong's intervals of areas of .99 and .997 covered .86 to .95, those that
allow for what was not seen .96 to .98.
"""

HEAVY_TAILS = 5.0
"""Kurtosis of targets, or of predictions, from which on no card tells of explained variances and correlations."""
OF_HEAVY_TARGETS = "covered 56% to 96% in simulations, least of lognormal targets"
"""What is said of these, as ``benchmarks/heavy_targets.py`` found."""

EXPLAINED, CORRELATED = KurtosisT(scale="log_complement"), KurtosisT(scale="fisher")
"""For R2 and explained variance, and for correlations. Of a model that explains next to nothing no resample reaches the
truth: percentiles covered none of 200 normal targets beside their true mean, the former all. Of rank correlations near
1 the latter covers more than percentiles (``benchmarks/rank_correlations.py``).
"""

FEWEST = 6
"""Fewer rows than any simulated design has."""
OF_FEWEST = {2: "0% to 18%", 3: "0% to 94%", 4: "41% to 97%", 5: "53% to 98%"}
"""How often 95% intervals of so few hold deviations, lengths and correlations, as ``benchmarks/few_rows.py`` found."""
FEW_DEVIATIONS: dict[int, Method] = {3: KurtosisT(scale="log"), 4: Studentized()}
"""For deviations of so few values, which percentiles hold in 23% to 46%."""

LARGE_MEAN = 1000
"""From so many observations on the exact bootstrap of a bounded mean covers, which needs no draws."""


def of_association(statistic: Statistic) -> KurtosisT | None:
    """Return the method of how targets and predictions go together: R2, explained variance, correlations."""
    if statistic.task != "regression" or isinstance(statistic, FunctionStatistic):
        return None
    return next((one for one in (EXPLAINED, CORRELATED) if tuple(statistic.bounds) == SCALES[one.scale].bounds), None)


def by_rules(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose for a statistic of independent rows without weights."""
    found = _by_rules(statistic, layout, n_resamples, tails, sample)
    unsure = power_of_variance(statistic) is not None or of_association(statistic) is not None
    unsure |= isinstance(statistic, order.OrderStatistic) and quantile_order(statistic) is None
    if layout.n >= FEWEST or not unsure or found.method.name == Bonett.name:
        return found
    held = f"95% intervals of such statistics of {layout.n} rows covered {OF_FEWEST[layout.n]} in simulations"
    return found._replace(remark=f"{layout.n} rows are fewer than tell how this statistic varies: {held}")


def _by_rules(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    n = layout.n
    if isinstance(statistic, TableStatistic) and statistic.is_proportion:
        if statistic.share is None:
            return Choice(MidP(), "a proportion of independent rows: its mid-p interval")
        return Choice(MidP(), f"increases with the proportion {statistic.share}: the mid-p interval of that")
    enough = n_resamples >= smallest_bank(tails)
    if isinstance(statistic, TableStatistic) and statistic.has_extremes:
        return _of_many_classes(statistic, layout, sample, enough=enough) or proper(
            "a metric of a confusion table", layout
        )
    if isinstance(statistic, ScoreRanking):
        return _choose_ranking(statistic, sample, layout, n_resamples, enough=enough)
    if isinstance(statistic, MeanStatistic):
        return _choose_mean(statistic, layout, enough=enough)
    if isinstance(statistic, Calibration):
        counted = layout.counts is not None and not statistic.debiased
        return _delta(statistic, n) if counted else of_calibration(statistic)
    if Bonett().refusal(statistic) is None and n >= LEAST:
        return Choice(Bonett(), "a standard deviation or variance: Bonett's interval, by the kurtosis of the values")
    if power_of_variance(statistic) is not None and n in FEW_DEVIATIONS and _all_differ(sample):
        method = FEW_DEVIATIONS[n]
        return Choice(method, f"a standard deviation or variance of {n} values, too few for Bonett's interval")
    if OrderStatistic().refusal(statistic) is None:
        q = float(statistic.q)  # type: ignore[attr-defined]
        need = smallest_n(q, tails)
        if need is not None and n >= need:
            return Choice(
                OrderStatistic(),
                "a quantile: an interval between order statistics holds its level at every n",
            )
        most = f"{math.floor(1000 * most_covered(n, q, tails) + 1e-9) / 10:g}%"
        return Choice(
            Exact(),
            f"a quantile; the order-statistic interval {needs_rows(need)} at this level, so the exact bootstrap",
            remark=f"intervals that end at values hold this quantile in at most {most} of data sets of {n} rows; "
            "quantile_interval reaches beyond the values",
        )
    if quantiles := of_quantiles(statistic, layout, n_resamples, tails):
        return quantiles
    association = of_association(statistic)
    if association is not None and layout.counts is None and not is_large(statistic, layout, n_resamples):
        return _of_influence(association, "targets and predictions: influence")
    formula = statistic.correlates_ranks or (isinstance(statistic, MomentStatistic) and statistic.smooth)
    if (formula and layout.counts is not None) or is_large(statistic, layout, n_resamples):
        return _delta(statistic, n)
    if statistic.smooth and isinstance(statistic, FunctionStatistic):
        return Choice(BCa(), "no formula for a function of your own: the bootstrap, corrected for bias and skewness")
    return Choice(Percentile(), "no formula for this statistic: the percentile bootstrap")


def _all_differ(sample: Sample) -> bool:
    """Whether no value occurs twice."""
    return sample.values is not None and len(np.unique(sample.values[: sample.n])) == sample.n


def _of_many_classes(statistic: Statistic, layout: Layout, sample: Sample, *, enough: bool) -> Choice | None:
    """Choose for a metric of labels of more classes than cards tell of; None for others, or where few are wrong."""
    if not (isinstance(statistic, TableStatistic) and statistic.has_extremes and not statistic.is_proportion):
        return None
    few = layout.units is not None and layout.n_units < MANY_CLUSTERS
    if sample.n_classes <= MOST_CLASSES or few or not enough:
        return None
    if not features_of_rows(statistic, sample).errors >= FEW_WRONG:
        return None
    why = f"a metric of {sample.n_classes} classes, more than on the cards, which pseudo-rows would shift: BCa"
    method = BCa(clean_classes=True)
    if method.refusal_of_rows(statistic, layout.given) is not None:
        method = BCa()
    else:
        why += ", further out where no row of a class is wrong"
    return Choice(method, why, remark=few_in_many_classes(sample, layout.n))


def of_large_tables(statistic: Statistic, layout: Layout, n_resamples: int, sample: Sample) -> Choice | None:
    """Choose for a metric of so many classes that their tables are not resampled; None for others."""
    cells = float(sample.n_classes) ** 2
    labels = isinstance(statistic, TableStatistic) and statistic.smooth and not statistic.is_proportion
    if not labels or cells * n_resamples <= MOST_CELL_DRAWS:
        return None
    method, each, remark = Delta(use_t=layout.units is not None), layout.n / sample.n_classes, None
    if statistic.averages_classes and each < ENOUGH_WITHOUT_DRAWS:
        remark = f"a mean over {sample.n_classes:,} classes of {each:.3g} rows on average, which is not resampled: 95% "
        remark += f"intervals of such {WITHOUT_DRAWS}"
        if (most := int(MOST_CELL_DRAWS / cells)) >= LEAST_BANK:
            remark += f"; with n_resamples of {most:,} or fewer it is"
    why = f"tables of {sample.n_classes:,} classes are too large to resample so often: the delta method"
    return Choice(method, why, remark=remark)


def few_in_many_classes(sample: Sample, n: int) -> str | None:
    """Say that many classes have too few of n rows to tell what they score; None of fewer classes, or of more rows."""
    each = n / max(sample.n_classes, 1)
    if sample.n_classes <= MOST_CLASSES or each >= ENOUGH_IN_CLASS:
        return None
    return f"{sample.n_classes} classes of {each:.2g} rows on average: 95% intervals {IN_MANY_CLASSES}"


def _of_influence(method: KurtosisT, what: str) -> Choice:
    """Choose influence for ``what``, on the scale of the method."""
    why = f"{what}, on the scale {method.scale!r}, and Student's quantiles"
    return Choice(method, f"{why}, further out where few decide")


def of_calibration(statistic: Calibration, rows: str = "", law: str = "the normal") -> Choice:
    """Choose for a calibration error of which no design tells, of ``rows`` that are not alike or not independent."""
    if statistic.debiased:
        of = f" of {rows}" * bool(rows)
        return Choice(SquaredGaps(), f"a debiased calibration error{of}: {law} interval of its square")
    why = "a calibration error, which resamples exaggerate: the basic bootstrap allows for that in part"
    return Choice(Basic(), why)


def _choose_mean(statistic: MeanStatistic, layout: Layout, *, enough: bool) -> Choice:
    if np.isfinite(statistic.bounds).any() and layout.n < LARGE_MEAN and enough:
        return proper(f"a mean of bounded values (or its root) with n < {LARGE_MEAN}", layout)
    if is_mean(statistic) and layout.n < SMALL_MEAN:
        return Choice(T(), f"a mean with n < {SMALL_MEAN}")
    return Choice(
        Exact(endpoints="bca"),
        "a mean (or its root): BCa endpoints of the exact bootstrap distribution, free of Monte-Carlo error",
    )


def of_heavy_targets(statistic: Statistic, layout: Layout, sample: Sample) -> Choice | None:
    """Choose where targets have heavy tails, of which no card tells: a few rows decide what there is to explain."""
    kurtosis = heaviest_tails(statistic, sample) if layout.given <= {"strata"} else 0.0
    if kurtosis < HEAVY_TAILS:
        return None
    heavy = f"targets or predictions with heavy tails (kurtosis {kurtosis:.3g})"
    method = of_association(statistic) or KurtosisT(scale=scale_of(statistic))
    why = f"{heavy}, of which no card tells: influence on the scale {method.scale!r}, and Student's quantiles, further"
    remark = f"{heavy}: few rows decide, and 95% intervals of such data {OF_HEAVY_TARGETS}"
    return Choice(method, f"{why} out where few rows decide", remark=remark)


def _choose_ranking(
    statistic: ScoreRanking, sample: Sample, layout: Layout, n_resamples: int, *, enough: bool
) -> Choice:
    sizes = sample.class_sizes
    rarest, draws = int(sizes[sizes > 0].min()), layout.n * float(n_resamples)
    whole, few = statistic.is_whole_area, statistic.least_class
    units = n_drawn(statistic, sample, layout)
    counted = layout.counts is not None
    drawn = units * float(n_resamples) <= (MOST_SMOOTH_DRAWS if whole else MOST_DRAWS) and (enough or not whole)
    drawn &= not counted or units < layout.n
    rare = rarest < few or (whole and units < layout.n and rarest * sample.misranked < FEW_LOST * layout.n)
    if statistic.has_extremes and rare and drawn:
        found = proper(f"ranks, {rarest} in the rarest class", layout)
        few_positives = not whole and statistic.task == "binary" and sizes[1] == rarest < FEW_AMONG_MANY
        among_many = few_positives and layout.n >= LARGE_ROWS
        return found._replace(remark=_few_positives(rarest, layout.n)) if among_many else found
    if whole and rarest < few:
        why = "too many rows to resample" if enough else "too few resamples for this level"
        return Choice(NewcombeAuc(), f"a ROC AUC, {rarest} in the rarest class, and {why}: Newcombe's score interval")
    if DeLongLogit().refusal(statistic) is None:
        return Choice(DeLongLogit(), "a ROC AUC of independent rows: DeLong on the logit scale stays in [0, 1]")
    if statistic.smooth and (draws > MOST_SMOOTH_DRAWS or counted):
        return _delta(statistic, layout.n)
    why = f"ranks, {few} or more in every class" if statistic.has_extremes else "no formula for this statistic"
    return Choice(Percentile(), f"{why}: the percentile bootstrap")


def _few_positives(positives: int, n: int) -> str:
    return (
        f"{positives} positives among {n:,} rows: 95% intervals of average precisions of fewer than {FEW_AMONG_MANY} "
        f"among so many {OF_FEW_AMONG_MANY}"
    )


def _delta(statistic: Statistic, n: int) -> Choice:
    scale, on = scale_of(statistic), on_scale(statistic)
    return Choice(Delta(scale=scale), f"n = {n} is large enough for the delta method{on}, and too large to resample")


def of_dependent_rows(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose where rows have weights, or come in clusters or strata."""
    parts = []
    if layout.strata is not None:
        parts.append("stratified")
    if layout.units is not None:
        parts.append("cluster")
    kind = " ".join(parts) or "weighted"
    rows = {"cluster": "clustered"}.get(kind, kind) + " rows"
    size = layout.effective_size
    effective = f"{size:.3g}" if size < 1000 else f"{size:,.0f}"
    weighted = f"rows weighted by importance, {effective} of {layout.n:,} in effect"
    if isinstance(statistic, Calibration):
        of = rows if layout.units is None else "rows in clusters"
        return of_calibration(statistic, of, "the normal" if layout.given == {"strata"} else "Student's")
    if statistic.smooth and layout.n_units * float(n_resamples) > MOST_DRAWS:
        return _delta(statistic, layout.n_units)
    if quantiles := of_quantiles(statistic, layout, n_resamples, tails):
        return quantiles
    if ranks_many(statistic, layout, n_resamples):
        why = f"ranks of too many rows to resample, in {MANY_CLUSTERS} clusters or more: influence, summed over each"
        return Choice(Delta(scale=scale_of(statistic), use_t=True), f"{why}, and Student's quantiles")
    if misranks_in_clusters(statistic, layout, sample):
        what = f"ranks of rows in {MANY_CLUSTERS} clusters or more: influence, summed over each"
        return _of_influence(KurtosisT(scale=scale_of(statistic)), what)
    many = _of_many_classes(statistic, layout, sample, enough=n_resamples >= smallest_bank(tails))
    if many is not None:
        return many
    if layout.units is None and layout.row_weights is not None:
        if Wilson().refusal(statistic) is None:
            return Choice(Wilson(), f"{weighted}: Wilson's score interval at the effective number")
        if SquareAndAdd().refusal(statistic) is None:
            why = "Wilson's interval of each class at its effective number, squared and added"
            return Choice(SquareAndAdd(), f"{weighted}: {why}")
    if statistic.has_extremes and statistic.smooth and differ_little(statistic, sample, layout):
        return _of_alike_clusters(statistic, layout)
    if layout.given == {"sample_weight"} and (ranked := of_ranks_by_weight(statistic, layout, sample, weighted)):
        return ranked
    if is_large(statistic, layout, n_resamples) and (large := of_large(statistic, layout, sample)):
        return large
    if weighed := of_values_by_weight(statistic, layout, sample, rows if layout.row_weights is None else weighted):
        return weighed
    if labelled := of_labels_by_weight(statistic, layout, sample, weighted):
        return labelled
    if statistic.has_extremes:
        found = proper(weighted if kind == "weighted" else rows, layout)
        return found._replace(remark=known_of_weights(statistic, layout, sample))
    if deviation := of_weighted_deviation(statistic, layout, weighted):
        return deviation
    studentized = isinstance(statistic, MomentStatistic) and statistic.smooth and layout.given == {"groups"}
    studentized |= layout.given == {"groups", "sample_weight"} and power_of_variance(statistic) is not None
    if studentized and layout.n_units < LEAST_FOR_PIVOTS:
        why = "moments of rows in clusters, too few to resample: influence, summed over each, and Student's quantiles"
        return Choice(Delta(use_t=True), why)
    association = of_association(statistic)
    if association is not None and (association is EXPLAINED or layout.units is None):
        what = f"targets and predictions of {rows}: influence"
        return _of_influence(association, what + ", summed over each" * (layout.units is not None))
    if studentized and power_of_variance(statistic) is not None and _decided_by_few(statistic, sample, layout):
        why = "a deviation of rows in clusters, of which one or two decide: influence, summed over each, on the log"
        return Choice(KurtosisT(scale="log"), f"{why} scale, and Student's quantiles, further out where few decide")
    if studentized and n_resamples >= smallest_bank(tails) and not np.isfinite(statistic.bounds).all():
        why = "moments of rows in clusters: resamples of these, each by its own standard error"
        return Choice(Studentized(), f"{why}, which allows for few and skewed ones")
    why = f"rows are not i.i.d.: the {kind} bootstrap with percentile endpoints"
    if layout.units is not None:
        return Choice(ExpandedPercentile(), f"{why}, further out as clusters are few")  # correlations among these
    return Choice(Percentile(), why)


def _decided_by_few(statistic: Statistic, sample: Sample, layout: Layout) -> bool:
    """Whether one or two of many clusters decide: resamples without them have hardly any error of their own."""
    few = next((few for least, few in FEW_DECIDING.items() if layout.n_units >= least), 0.0)
    if not few:
        return False
    influence = row_influence(statistic, sample)
    of_clusters = layout.sum_rows((influence - influence.mean())[:, None], layout.n_units)[:, 0]
    return bool(effective_units(of_clusters, 1.0) < few)


def _of_alike_clusters(statistic: Statistic, layout: Layout) -> Choice:
    """Choose for clusters that differ little: their means are nearly normal."""
    why = "large clusters that differ little, of which one that was not seen would decide"
    for method, told in (
        (T(), "Student's interval of their means"),
        (WilsonCluster(), "Wilson's score interval at the effective number of rows"),
    ):
        if not method.refusal_of_rows(statistic, layout.given):
            return Choice(method, f"{why}: {told}")
    scale, on = scale_of(statistic), on_scale(statistic)
    if isinstance(statistic, ScoreRanking):
        told = f"{why}: influence, summed over each, and Student's quantiles, further out where few decide{on}"
        return Choice(KurtosisT(scale=scale), told)
    return Choice(Delta(scale=scale, use_t=True), f"{why}: influence, summed over each, and Student's quantiles{on}")
