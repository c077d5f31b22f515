"""``method="auto"``: which interval, and why.

The cards decide of one statistic of rows without weights (:mod:`jaxci.intervals.cards`): among the methods that serve
it at a bearable cost, the narrowest one that held its level in the simulated designs that are like the data. It held
where the median of its coverages there is at most one point below the nominal 95%, and their worst tenth at most three,
both as they are printed, rounded to a tenth of a percent; where none did, the one that came nearest is taken, with a
remark. A remark also says where any of these designs was covered by less than 93%. Designs are alike in the numbers of
rows, of classes, of rows in the rarest class and of errors; of rows in clusters also in the number of clusters and the
design effect. Rows in strata of fixed size are judged as independent ones, which vary more. What no card tells, of
weights, statistics without a card and sizes beyond the cards, is decided by the rules below; so are means of class
scores where a class has no right prediction, which the features of the cards do not tell. Differences have rules of
their own (:mod:`jaxci.inference.choice_of_differences`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from jaxci.inference.choice_of_differences import choose_difference
from jaxci.inference.design import natural_values
from jaxci.inference.standings import (
    UNKNOWN_CALIBRATION,
    Choice,
    best_of,
    described,
    figures,
    held,
    lowest,
    refused,
)
from jaxci.intervals.auc import DeLongLogit, NewcombeAuc
from jaxci.intervals.base import Method, NoInterval, Tails
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.bootstrap import Basic, BCa, Percentile, Studentized, smallest_bank
from jaxci.intervals.calibration import SquaredGaps
from jaxci.intervals.cards import CLUSTERED, Features, Standing, cards, name_on_cards, shape_of
from jaxci.intervals.clustered_proportion import ClopperPearsonCluster, WilsonCluster
from jaxci.intervals.delta import Delta
from jaxci.intervals.exact import Exact
from jaxci.intervals.mover import SquareAndAdd
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion import ClopperPearson, MidP, Wilson
from jaxci.intervals.quantile import OrderStatistic, most_covered, needs_rows, smallest_n
from jaxci.intervals.spread import LEAST, Bonett
from jaxci.statistics.base import MomentStatistic, Statistic, TableStatistic, has_fixed_trials
from jaxci.statistics.custom import FunctionStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean

MOST_DRAWS = 4e9
"""Above so many draws (units times resamples) a smooth statistic gets the delta interval."""

MOST_AREA_DRAWS = 1e8
"""Above so many draws the area under one ROC curve is not resampled: a formula serves nearly as well, at once."""

SMALL_MEAN = 50
"""Below so many observations a mean of values without bounds gets the t interval."""

MANY_CLUSTERS = 100
"""From so many clusters on the delta method serves ranks of many rows."""

LARGE_MEAN = 1000
"""From so many observations on the exact bootstrap of a bounded mean covers, which needs no draws."""

LARGEST = 20_000
"""Above so many rows the rules decide: no design of the cards is as large."""

SHARES: tuple[Method, ...] = (Wilson(), MidP(), ClopperPearson())
"""Methods that ``auto`` may take for a proportion."""

TRIED: tuple[Method, ...] = (
    NewcombeAuc(),
    DeLongLogit(),
    Bonett(),
    SquaredGaps(),
    OrderStatistic(),
    ProperBayesian(),
    Exact(endpoints="bca"),
    T(),
    SquareAndAdd(),
    Percentile(),
    BCa(),
    Delta(scale="logit"),
)
"""Methods that ``auto`` may take for other statistics: all but Student's keep to the range of the statistic."""

TRIED_IN_CLUSTERS: tuple[Method, ...] = (
    ProperBayesian(),
    SquareAndAdd(),
    T(),
    WilsonCluster(),
    ClopperPearsonCluster(),
    Percentile(),
    BCa(),
    Delta(use_t=True),
    Delta(scale="logit", use_t=True),
)
"""Methods that ``auto`` may take for rows in clusters."""

FEW_FOR_CLASSES = 100
"""Clusters below which means of scores of more than two classes, which no card judges, are squared and added."""

CLASSES_IN_CLUSTERS = (
    f"95% intervals for means over three classes or more in fewer than {FEW_FOR_CLASSES} clusters covered 83% to 97% "
    "in simulations"
)
"""What is said where other means of scores of classes are judged by weights of few clusters: macro precision, in
``benchmarks/classes_in_clusters.py``.
"""

JUDGED: tuple[frozenset[str], ...] = (frozenset(), frozenset({"groups"}), frozenset({"strata"}))
"""Layouts that cards judge; rows in strata of fixed size, which vary less, by those of independent rows."""

ALIKE = 1.05
"""Methods at most that times as wide as the narrowest are as good: the first of those, as listed, is taken."""

ALIKE_IN_CLUSTERS = 1.5
"""The same of rows in clusters: few clusters tell little of what they are like, and a choice of the narrowest by that
covers less than the methods it chooses from.
"""

MISSED = "what they score is hardly known, and 95% intervals covered 87% to 100% in simulations of such data"
"""What is said of classes that have rows but no right prediction."""


def _scale(statistic: Statistic) -> str:
    return {(0.0, 1.0): "logit", (-1.0, 1.0): "fisher"}.get(statistic.bounds, "natural")


def choose(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose the interval method for ``statistic`` from the data's layout and size, and the rarest class."""
    if isinstance(statistic, Paired):
        return choose_difference(statistic, layout, tails, sample)
    missed = _of_missed_classes(statistic, layout, n_resamples, tails, sample)
    if missed is not None:
        return missed
    few = layout.units is not None and sample.n_classes > 2 and layout.n_units < FEW_FOR_CLASSES
    if few and _adds_classes(statistic, layout):
        why = f"a mean of class scores in fewer than {FEW_FOR_CLASSES} clusters: Wilson's interval of each class"
        return Choice(SquareAndAdd(), f"{why} at its effective size, squared and added")
    if layout.given in JUDGED:
        found = _by_cards(statistic, layout, n_resamples, tails, sample)
        if found is not None:
            return found
    if not layout.plain:
        found = _choose_dependent(statistic, layout, n_resamples, tails, sample)
        unsure = few and statistic.averages_classes and found.method.prior is not None
        return found._replace(remark=CLASSES_IN_CLUSTERS) if unsure else found
    return _by_rules(statistic, layout, n_resamples, tails, sample)


def _of_missed_classes(
    statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample
) -> Choice | None:
    """Choose for a mean of class scores one of which is 0 for want of a right prediction; None for others.

    Resamples keep that score at 0. Shares of classes have intervals of their own, which are squared and added, but for
    those of predictions: there may be none of that class.
    """
    if not (isinstance(statistic, TableStatistic) and statistic.averages_hits) or sample.n_missed_classes == 0:
        return None
    method: Method = SquareAndAdd()
    if not _adds_classes(statistic, layout):
        method = ProperBayesian()
        if method.name not in [one.name for one in _bearable(statistic, layout, n_resamples, tails)]:
            return None
    why = f"a class without a right prediction ({sample.n_missed_classes} of {sample.n_classes}), of which resamples"
    have = "has" if sample.n_missed_classes == 1 else "have"
    remark = f"{sample.n_missed_classes} of {sample.n_classes} classes {have} no right prediction: {MISSED}"
    return Choice(method, f"{why} tell nothing", remark=remark)


def _adds_classes(statistic: Statistic, layout: Layout) -> bool:
    """Whether a mean over classes is of shares of their rows, or functions of them, that are squared and added."""
    if not isinstance(statistic, TableStatistic) or SquareAndAdd().refusal_of_rows(statistic, layout.given):
        return False
    return statistic.trials_by_truth or not statistic.averages_proportions


def features_of(statistic: Statistic, sample: Sample, layout: Layout) -> Features:
    """Return the features of data by which cards are read."""
    found = _features_of_rows(statistic, sample)
    if layout.units is None:
        return found
    return found.in_clusters(
        np.bincount(layout.units), layout.intraclass_correlation(natural_values(statistic, sample))
    )


def _features_of_rows(statistic: Statistic, sample: Sample) -> Features:
    if statistic.task in ("values", "regression"):
        values = sample.values if statistic.task == "values" else sample.y_true - sample.y_pred
        skewness, kurtosis = shape_of(values[: sample.n])
        return Features(sample.n, skewness=float(skewness), kurtosis=float(kurtosis))
    sizes = sample.class_sizes
    rarest = float(sizes.min() if sample.n_classes == 2 else sizes[sizes > 0].min())
    errors = sample.wrong if "y_pred" in statistic.inputs else sample.misranked
    return Features(sample.n, max(2, int(np.count_nonzero(sizes))), rarest, errors)


def _bearable(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails) -> Iterator[Method]:
    """Yield the methods tried that have an interval for the statistic, at a cost of at most :data:`MOST_DRAWS`."""
    drawn = n_resamples >= smallest_bank(tails) and layout.n * float(n_resamples) <= MOST_DRAWS
    for method in _tried(statistic, layout):
        if method.refusal_of_rows(statistic, layout.given) or (
            not drawn and {"replicates", "posterior"} & method.needs
        ):
            continue
        try:
            method.critical(statistic, layout.n_units, tails)
        except NoInterval:
            continue
        yield method


def _tried(statistic: Statistic, layout: Layout) -> tuple[Method, ...]:
    if layout.units is not None:
        return TRIED_IN_CLUSTERS
    if isinstance(statistic, TableStatistic) and statistic.is_proportion:
        return SHARES
    return (Basic(),) if isinstance(statistic, Calibration) and not statistic.debiased else TRIED


def _card_of(statistic: Statistic, sample: Sample, layout: Layout, n_resamples: int) -> str | None:
    """Return the name of the card of a statistic; None where it has none, or does not decide."""
    known = cards().names
    if layout.units is None:
        return name_on_cards(statistic, known)
    share = isinstance(statistic, TableStatistic) and statistic.is_proportion
    if sample.n_classes > 2 and not share:  # what is simulated of clusters has two classes
        return None
    if _ranks_many(statistic, layout, n_resamples):
        return None
    suffix = CLUSTERED.format("")
    name = name_on_cards(statistic, [name.removesuffix(suffix) for name in known if name.endswith(suffix)])
    return None if name is None else CLUSTERED.format(name)


def _by_cards(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice | None:
    """Choose by the card of a statistic; None where it has none, or no design is like the data."""
    name = _card_of(statistic, sample, layout, n_resamples)
    if name is None or layout.n > LARGEST:
        return None
    features = features_of(statistic, sample, layout)
    alone = features.rarest == 0 and not has_fixed_trials(statistic)  # no design lacks one of two classes
    if features.classes > 0 and (np.isnan(features.errors) or alone):
        return None
    methods = {method.label: method for method in _bearable(statistic, layout, n_resamples, tails)}

    def standings(features: Features) -> list[Standing]:
        found = [one for one in cards().near(name, features) if one.method in methods and one.designs > 0]
        return sorted(found, key=lambda one: list(methods).index(one.method))

    found = standings(features)
    if not found:
        return None
    best = best_of(found, ALIKE if layout.units is None else ALIKE_IN_CLUSTERS)
    why = f"{figures(best)} in {best.designs} simulated designs like this ({described(features)})"
    if layout.strata is not None:
        why += ", of independent rows, which vary more than those in strata"
    other = next((one for one in found if one.method == Percentile.name), best)
    if other.method != best.method:
        why += f"; {other.method} {100 * other.typical:.0f}%"
    if held(best):
        return Choice(methods[best.method], why, best, lowest(best))
    return Choice(methods[best.method], why, best, refused(best, features, standings))


def _by_rules(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    n = layout.n
    if isinstance(statistic, TableStatistic) and statistic.is_proportion:
        if statistic.share is None:
            return Choice(Wilson(), "a proportion of independent rows: Wilson's score interval")
        return Choice(Wilson(), f"increases with the proportion {statistic.share}: Wilson's score interval of that")
    if isinstance(statistic, TableStatistic) and statistic.has_extremes:
        return _proper("a metric of a confusion table", layout)
    enough = n_resamples >= smallest_bank(tails)
    if isinstance(statistic, ScoreRanking):
        return _choose_ranking(statistic, sample, layout, n_resamples, enough=enough)
    if isinstance(statistic, MeanStatistic):
        return _choose_mean(statistic, layout, enough=enough)
    if SquaredGaps().refusal(statistic) is None:
        return Choice(SquaredGaps(), "a debiased calibration error: the normal interval of its square")
    if isinstance(statistic, Calibration):
        return of_calibration() if layout.counts is None else _delta(statistic, n)
    if Bonett().refusal(statistic) is None and n >= LEAST:
        return Choice(Bonett(), "a standard deviation or variance: Bonett's interval, by the kurtosis of the values")
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
    many = n * float(n_resamples) > MOST_DRAWS or layout.counts is not None
    if statistic.smooth and isinstance(statistic, MomentStatistic) and many:
        return _delta(statistic, n)
    if statistic.smooth and isinstance(statistic, FunctionStatistic):
        return Choice(BCa(), "no formula for a function of your own: the bootstrap, corrected for bias and skewness")
    return Choice(Percentile(), "no formula for this statistic: the percentile bootstrap")


def _proper(what: str, layout: Layout) -> Choice:
    units = "rows" if layout.units is None else "clusters"
    return Choice(ProperBayesian(), f"{what}: random weights of the {units}, and of a few that were not seen")


def of_calibration() -> Choice:
    """Choose for a calibration error of which no design tells."""
    why = "a calibration error, which resamples exaggerate: the basic bootstrap allows for that in part"
    return Choice(Basic(), why, remark=UNKNOWN_CALIBRATION)


def _choose_mean(statistic: MeanStatistic, layout: Layout, *, enough: bool) -> Choice:
    if np.isfinite(statistic.bounds).any() and layout.n < LARGE_MEAN and enough:
        return _proper(f"a mean of bounded values (or its root) with n < {LARGE_MEAN}", layout)
    if is_mean(statistic) and layout.n < SMALL_MEAN:
        return Choice(T(), f"a mean with n < {SMALL_MEAN}")
    return Choice(
        Exact(endpoints="bca"),
        "a mean (or its root): BCa endpoints of the exact bootstrap distribution, free of Monte-Carlo error",
    )


def _choose_ranking(
    statistic: ScoreRanking, sample: Sample, layout: Layout, n_resamples: int, *, enough: bool
) -> Choice:
    sizes = sample.class_sizes
    rarest, draws = int(sizes[sizes > 0].min()), layout.n * float(n_resamples)
    whole, few = statistic.is_whole_area, statistic.least_class
    counted = layout.counts is not None
    drawn = draws <= (MOST_AREA_DRAWS if whole else MOST_DRAWS) and (enough or not whole) and not counted
    if statistic.has_extremes and rarest < few and drawn:
        return _proper(f"ranks, {rarest} in the rarest class", layout)
    if whole and rarest < few:
        why = "too many rows to resample" if enough else "too few resamples for this level"
        return Choice(NewcombeAuc(), f"a ROC AUC, {rarest} in the rarest class, and {why}: Newcombe's score interval")
    if DeLongLogit().refusal(statistic) is None:
        return Choice(DeLongLogit(), "a ROC AUC of independent rows: DeLong on the logit scale stays in [0, 1]")
    if statistic.smooth and (draws > MOST_DRAWS or counted):
        return _delta(statistic, layout.n)
    why = f"ranks, {few} or more in every class" if statistic.has_extremes else "no formula for this statistic"
    return Choice(Percentile(), f"{why}: the percentile bootstrap")


def _delta(statistic: Statistic, n: int) -> Choice:
    scale = _scale(statistic)
    on = "" if scale == "natural" else f" on the {scale} scale"
    return Choice(Delta(scale=scale), f"n = {n} is large enough for the delta method{on}, and too large to resample")


def _ranks_many(statistic: Statistic, layout: Layout, n_resamples: int) -> bool:
    """Whether the ranks of so many rows are asked for that they are not resampled, in clusters enough to do without."""
    many = layout.n * float(n_resamples) > MOST_AREA_DRAWS and layout.n_units >= MANY_CLUSTERS
    return isinstance(statistic, ScoreRanking) and statistic.smooth and layout.given == {"groups"} and many


def _choose_dependent(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    parts = []
    if layout.strata is not None:
        parts.append("stratified")
    if layout.units is not None:
        parts.append("cluster")
    kind = " ".join(parts) or "weighted"
    size = layout.effective_size
    effective = f"{size:.3g}" if size < 1000 else f"{size:,.0f}"
    weighted = f"rows weighted by importance, {effective} of {layout.n:,} in effect"
    if isinstance(statistic, Calibration):
        return of_calibration()
    if statistic.smooth and layout.n_units * float(n_resamples) > MOST_DRAWS:
        return _delta(statistic, layout.n_units)
    if _ranks_many(statistic, layout, n_resamples):
        why = f"ranks of too many rows to resample, in {MANY_CLUSTERS} clusters or more: influence, summed over each"
        return Choice(Delta(scale=_scale(statistic), use_t=True), f"{why}, and Student's quantiles")
    if layout.units is None and layout.row_weights is not None:
        if Wilson().refusal(statistic) is None:
            return Choice(Wilson(), f"{weighted}: Wilson's score interval at the effective number")
        if SquareAndAdd().refusal(statistic) is None:
            why = "Wilson's interval of each class at its effective number, squared and added"
            return Choice(SquareAndAdd(), f"{weighted}: {why}")
    if statistic.has_extremes:
        return _proper(weighted if kind == "weighted" else {"cluster": "clustered"}.get(kind, kind) + " rows", layout)
    studentized = isinstance(statistic, MomentStatistic) and statistic.smooth and layout.given == {"groups"}
    if studentized and n_resamples >= smallest_bank(tails):
        why = "moments of rows in clusters: resamples of these, each by its own standard error"
        return Choice(Studentized(), f"{why}, which allows for few and skewed ones")
    why = f"rows are not i.i.d.: the {kind} bootstrap with percentile endpoints"
    doubted = _doubted(statistic, layout, sample) if layout.given == {"sample_weight"} else None
    return Choice(Percentile(), why, remark=doubted)


def _doubted(statistic: Statistic, layout: Layout, sample: Sample) -> str | None:
    """Say where percentile intervals did not hold of as many independent rows as weighted ones are in effect."""
    name = name_on_cards(statistic, cards().names)
    if name is None or layout.n > LARGEST:
        return None
    features = _features_of_rows(statistic, sample)._replace(n=layout.effective_size)
    for one in cards().near(name, features):
        if one.method == Percentile.name and one.designs > 0 and not held(one):
            return f"percentile's {figures(one)} in simulations of independent rows like these ({described(features)})"
    return None
