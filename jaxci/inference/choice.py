"""``method="auto"``: which interval, and why.

The cards decide of one statistic of rows without weights (:mod:`jaxci.intervals.cards`): among the methods that serve
it at a bearable cost, the narrowest one that held its level in the simulated designs that are like the data. It held
where the median of its coverages there is at most one point below the nominal 95%, and their worst tenth at most three,
both as they are printed, rounded to a tenth of a percent; where none did, the one that came nearest is taken, with a
remark. A remark also says where any of these designs was covered by less than 93%. Designs are alike in the numbers of
rows, of classes, of rows in the rarest class and of errors; of rows in clusters also in the number of clusters and the
design effect (:mod:`jaxci.inference.features`). Where large clusters differ little, one that was not seen is not
allowed for: it would decide. Rows in strata of fixed size are judged as independent ones, which vary
more. What no card tells, of weights, statistics without a card and sizes beyond the cards, is decided by the rules of
:mod:`jaxci.inference.choice_by_rules`; so are, here, means of class scores where a class has no right prediction, which
the features do not tell. Where a sample shows nothing of a kind of rows that would count, more is allowed for them
than on the cards (:mod:`jaxci.inference.choice_of_unseen`). Differences have rules of their own
(:mod:`jaxci.inference.choice_of_differences`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy

from jaxci.inference.choice_by_rules import (
    MOST_DRAWS,
    by_rules,
    few_in_many_classes,
    of_association,
    of_dependent_rows,
    of_heavy_targets,
    of_large_tables,
)
from jaxci.inference.choice_of_differences import choose_difference
from jaxci.inference.choice_of_many_rows import misranks_in_clusters, ranks_many
from jaxci.inference.choice_of_unseen import allowing_for_unseen
from jaxci.inference.features import (
    LARGEST,
    features_of,
    features_of_rows,
    predictions_count,
    strata_are_unlike,
)
from jaxci.inference.standings import (
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
from jaxci.intervals.bootstrap import BC, Basic, BCa, ExpandedPercentile, Percentile, smallest_bank
from jaxci.intervals.calibration import SquaredGaps
from jaxci.intervals.cards import CLUSTERED, Features, Standing, cards, name_on_cards
from jaxci.intervals.clustered_proportion import ClopperPearsonCluster, WilsonCluster
from jaxci.intervals.delta import Delta
from jaxci.intervals.exact import Exact
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.mover import SquareAndAdd
from jaxci.intervals.parametric import T
from jaxci.intervals.proportion import MidP
from jaxci.intervals.quantile import OrderStatistic
from jaxci.intervals.spread import Bonett
from jaxci.statistics.base import Statistic, TableStatistic, has_fixed_trials
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean_between_ends

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

WITHOUT_FORMULA: tuple[Method, ...] = (ExpandedPercentile(),)
"""Beside these, of statistics that have neither Student's interval nor one between order statistics."""

TRIED_IN_CLUSTERS: tuple[Method, ...] = (
    ProperBayesian(),
    SquareAndAdd(),
    T(),
    WilsonCluster(),
    ClopperPearsonCluster(),
    KurtosisT(scale="logit"),
    KurtosisT(scale="log"),
    Percentile(),
    BCa(),
    Delta(use_t=True),
    Delta(scale="logit", use_t=True),
)
"""Methods that ``auto`` may take for rows in clusters."""

FEW_FOR_CLASSES = 100
"""Clusters below which means of scores of more than two classes, which no card judges, are squared and added."""

CLASSES_IN_CLUSTERS = (
    f"95% intervals for means over three classes or more in fewer than {FEW_FOR_CLASSES} clusters covered 81% to 97% "
    "in simulations"
)
"""What is said where other means of scores of classes are judged by weights of few clusters: macro precision, in
``benchmarks/classes_in_clusters.py``.
"""

JUDGED: tuple[frozenset[str], ...] = (frozenset(), frozenset({"groups"}), frozenset({"strata"}))
"""Layouts that cards judge; rows in strata of fixed size, which vary less, by those of independent rows."""

ALIKE = 1.05
"""Methods at most that times as wide as the narrowest are as good: the first of those, as listed, is taken."""

MANY_DRAWS = 1e7
"""From so many draws (rows times resamples) on, a formula of a mean, or of ranks, is taken before resamples that are as
good.
"""

ALIKE_IN_CLUSTERS = 1.5
"""The same of rows in clusters: few clusters tell little of what they are like, and a choice of the narrowest by that
covers less than the methods it chooses from.
"""

NEAR_ONE, ROUNDING = 0.995, 1e-14
"""From such a rank correlation on, either way, but for one within rounding of 1, influence tells too little: resamples
lie still farther from 1, and percentiles, corrected for both biases, cover more.
"""

NEAR_ONE_OF_MANY = 0.9995
"""The same of more rows than cards know: of 25,000 normal ones formulas cover .93 to .96 up to there, .90 at .9999 and
none at .999999.
"""

NEAR_ONE_COVERED = (
    "a rank correlation this close to 1: 95% 'bc' intervals covered 84% to 99% in simulations of those from .9 to "
    ".9995 in 20 to 1,000 rows ('percentile' 27% to 98%), and far less of those still closer"
)
"""What is said of these."""

RARELY_PREDICTED = "what it scores is hardly known, and 95% intervals covered 83% to 100% in simulations of such data"
"""What is said of a class that is predicted rarely, or never."""
FEW_PREDICTED = 10
"""Predictions of a class below which that is said."""
MISSED = "what they score is hardly known, and 95% intervals covered 87% to 100% in simulations of such data"
"""What is said of classes that have rows but no right prediction."""


def choose(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose the interval method for ``statistic`` from the data's layout and size, and the rarest class."""
    found = _chosen(statistic, layout, n_resamples, tails, sample)
    found = allowing_for_unseen(found, statistic, layout, n_resamples, tails, sample)
    if not isinstance(statistic, TableStatistic) or not statistic.averages_precision:
        return found
    if statistic.averages_hits and sample.n_missed_classes:  # which is told
        return found
    predicted = sample.predicted_sizes[(sample.class_sizes > 0) | (sample.predicted_sizes > 0)]
    if predicted.min() >= FEW_PREDICTED:
        return found
    if predicted.min() > 0:
        times = {1: "once"}.get(int(predicted.min()), f"{predicted.min()} times")
        return found._replace(remark=f"a class is predicted {times}: {RARELY_PREDICTED}")
    never = f"a class is never predicted ({np.count_nonzero(predicted == 0)} of {len(predicted)})"
    drawn = ProperBayesian().name in _names(statistic, layout, n_resamples, tails)
    why = f"{never}, of which resamples tell nothing"
    return Choice(ProperBayesian() if drawn else found.method, why, remark=f"{never}: {RARELY_PREDICTED}")


def _chosen(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice:
    """Choose by what the data are like, see :func:`choose`."""
    if isinstance(statistic, Paired):
        return choose_difference(statistic, layout, n_resamples, tails, sample)
    large = of_large_tables(statistic, layout, n_resamples, sample)
    if large is not None:
        return large
    alone = _of_one_class(statistic, layout, n_resamples, tails, sample)
    if alone is not None:
        return alone
    missed = _of_missed_classes(statistic, layout, n_resamples, tails, sample)
    if missed is not None:
        return missed
    if _all_at_an_end(statistic, sample) and ProperBayesian().name in _names(statistic, layout, n_resamples, tails):
        units = "rows" if layout.units is None else "clusters"
        why = f"all values lie at an end of their range: at least the mid-p interval of as many trials as {units}"
        return Choice(ProperBayesian(), why)
    ranks = _rank_correlation(statistic, layout, n_resamples, tails, sample)
    if ranks >= (NEAR_ONE if layout.n <= LARGEST else NEAR_ONE_OF_MANY):
        why = "a rank correlation near 1 or -1, from which that of resamples bends away: percentiles, corrected for it"
        return Choice(BC(), why, remark=NEAR_ONE_COVERED)
    few = layout.units is not None and sample.n_classes > 2 and layout.n_units < FEW_FOR_CLASSES
    if few and _adds_classes(statistic, layout):
        why = f"a mean of class scores in fewer than {FEW_FOR_CLASSES} clusters: Wilson's interval of each class"
        return Choice(SquareAndAdd(), f"{why} at its effective size, squared and added")
    if not np.isfinite(statistic.bounds).all() and strata_are_unlike(statistic, sample, layout):
        why = "values that lie further apart than within any stratum, as no card knows: influence within strata"
        return Choice(KurtosisT(), f"{why}, and Student's quantiles, further out where few decide")
    heavy = of_heavy_targets(statistic, layout, sample)
    if heavy is not None:
        return heavy
    if layout.given in JUDGED:
        found = _by_cards(statistic, layout, n_resamples, tails, sample)
        if found is not None:
            return _as_of_means(found, statistic, layout, sample)
    if not layout.plain:
        found = of_dependent_rows(statistic, layout, n_resamples, tails, sample)
        unsure = few and statistic.averages_classes and found.method.prior is not None
        return found._replace(remark=CLASSES_IN_CLUSTERS) if unsure else found
    return by_rules(statistic, layout, n_resamples, tails, sample)


def _of_one_class(
    statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample
) -> Choice | None:
    """Choose for the score of one class out of several as for that of two, it and the rest; None for others."""
    one = statistic.against_rest
    if one is None or sample.n_classes <= 2:
        return None
    found = choose(one[0], layout, n_resamples, tails, sample.against_rest(one[1]))
    return None if found.method.refusal_of_rows(statistic, layout.given) else found


def _of_missed_classes(
    statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample
) -> Choice | None:
    """Choose for a mean of class scores one of which is 0 for want of a right prediction; None for others.

    Resamples keep that score at 0. Shares of classes have intervals of their own, which are squared and added, also of
    predictions of which there is none: nothing is known of these.
    """
    if not (isinstance(statistic, TableStatistic) and statistic.averages_hits) or sample.n_missed_classes == 0:
        return None
    method: Method = SquareAndAdd()
    alone = layout.units is None and statistic.averages_proportions
    if not (_adds_classes(statistic, layout) or (alone and not method.refusal_of_rows(statistic, layout.given))):
        method = ProperBayesian()
        if method.name not in _names(statistic, layout, n_resamples, tails):
            return None
    why = f"a class without a right prediction ({sample.n_missed_classes} of {sample.n_classes}), of which resamples"
    have = "has" if sample.n_missed_classes == 1 else "have"
    covered = few_in_many_classes(sample, layout.n) or MISSED
    remark = f"{sample.n_missed_classes} of {sample.n_classes} classes {have} no right prediction: {covered}"
    return Choice(method, f"{why} tell nothing", remark=remark)


def _all_at_an_end(statistic: Statistic, sample: Sample) -> bool:
    """Whether a mean is of values that all are the lowest there can be, or the highest, of two that are known."""
    return is_mean_between_ends(statistic) and any(
        bool((sample.values[: sample.n] == end).all()) for end in statistic.bounds
    )


def _is_share(statistic: Statistic) -> bool:
    return isinstance(statistic, TableStatistic) and statistic.is_proportion


def _names(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails) -> list[str]:
    return [one.name for one in _bearable(statistic, layout, n_resamples, tails)]


def _rank_correlation(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> float:
    """Return how close to 1 or -1 a rank correlation of independent rows is, that may be resampled; 0 for others."""
    independent = layout.plain and layout.counts is None
    if not (statistic.correlates_ranks and independent and _drawn(layout, n_resamples, tails)):
        return 0.0
    ranks = scipy.stats.rankdata([sample.y_true[: sample.n], sample.y_pred[: sample.n]], axis=1)
    if (np.ptp(ranks, axis=1) == 0).any():
        return 0.0
    found = abs(float(np.corrcoef(ranks)[0, 1]))
    return found if found < 1 - ROUNDING else 0.0


def _adds_classes(statistic: Statistic, layout: Layout) -> bool:
    """Whether a mean over classes is of shares of their rows, or functions of them, that are squared and added."""
    if not isinstance(statistic, TableStatistic) or SquareAndAdd().refusal_of_rows(statistic, layout.given):
        return False
    return statistic.trials_by_truth or not statistic.averages_proportions


def _bearable(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails) -> Iterator[Method]:
    """Yield the methods tried that have an interval for the statistic, at a cost of at most :data:`MOST_DRAWS`."""
    drawn = _drawn(layout, n_resamples, tails)
    for method in _tried(statistic, layout):
        if method.refusal_of_rows(statistic, layout.given) or (_draws(method) and not drawn):
            continue
        try:
            method.critical(statistic, layout.n_units, tails)
        except NoInterval:
            continue
        yield method


def _draws(method: Method) -> bool:
    return bool({"replicates", "posterior"} & method.needs)


def _drawn(layout: Layout, n_resamples: int, tails: Tails) -> bool:
    """Whether resamples are enough for the level, and at most :data:`MOST_DRAWS`."""
    return n_resamples >= smallest_bank(tails) and layout.n * float(n_resamples) <= MOST_DRAWS


def tried(statistic: Statistic) -> tuple[Method, ...]:
    """Return the methods that ``auto`` may take for a statistic of independent rows, the first of equals first."""
    if _is_share(statistic):  # 95% ones of Wilson's, as wide, cover .84 where 0.17 errors are expected, 99% ones .90
        return (MidP(),)
    if association := of_association(statistic):  # whatever their size: features do not tell, and resamples miss some
        return (association,)
    if isinstance(statistic, Calibration):  # others held on some cards by chance: resamples exaggerate it
        return (SquaredGaps(),) if statistic.debiased else (Basic(),)
    formula = any(method.refusal(statistic) is None for method in (T(), OrderStatistic()))
    return TRIED if formula else (*TRIED, *WITHOUT_FORMULA)


def _tried(statistic: Statistic, layout: Layout) -> tuple[Method, ...]:
    return tried(statistic) if layout.units is None else TRIED_IN_CLUSTERS


def _card_of(statistic: Statistic, sample: Sample, layout: Layout, n_resamples: int) -> str | None:
    """Return the name of the card of a statistic; None where it has none, or does not decide."""
    known = cards().names
    if layout.units is None:
        return name_on_cards(statistic, known)
    classes = sample.n_classes if layout.features is None else layout.features.classes
    if classes > 2 and not _is_share(statistic):  # what is simulated of clusters has two classes
        return None
    if ranks_many(statistic, layout, n_resamples) or misranks_in_clusters(statistic, layout, sample):
        return None
    suffix = CLUSTERED.format("")
    name = name_on_cards(statistic, [name.removesuffix(suffix) for name in known if name.endswith(suffix)])
    return None if name is None else CLUSTERED.format(name)


def _as_of_means(found: Choice, statistic: Statistic, layout: Layout, sample: Sample) -> Choice:
    """Return the choice with what is known of values like the means of the clusters, if these are covered too little.

    A mean of clusters of one size is that of their means, which may be as skewed as no simulated clusters are.
    """
    whole = layout.units is None or layout.counts is not None or found.remark is not None
    if whole or found.standing is None or statistic.task != "values" or not isinstance(statistic, MeanStatistic):
        return found
    rows = np.stack([statistic.averaged_values(sample), np.ones(layout.n)], axis=1)
    totals, sizes = layout.sum_rows(rows, layout.n_units).T
    features = features_of_rows(statistic, Sample(values=totals / sizes))
    name = name_on_cards(statistic, cards().names)
    near = cards().near(name, features) if name is not None and not np.isnan(features.kurtosis) else []
    one = next((one for one in near if one.designs > 0 and one.method == found.standing.method), None)
    if one is None or (held(one) and lowest(one) is None):
        return found
    like = f"of independent values like the means of these clusters ({described(features)}) {one.method}'s"
    return found._replace(remark=f"{like} {figures(one)}, at worst {100 * one.lowest:.1f}%")


def _by_cards(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails, sample: Sample) -> Choice | None:
    """Choose by the card of a statistic; None where it has none, or no design is like the data."""
    name = _card_of(statistic, sample, layout, n_resamples)
    if name is None or (layout.units is None and layout.n > LARGEST):
        return None
    features = features_of(statistic, sample, layout)
    alone = features.rarest == 0 and not has_fixed_trials(statistic)  # no design lacks one of two classes
    if features.classes > 0 and (np.isnan(features.errors) or alone):
        return None
    if statistic.task in ("values", "regression") and np.isnan(features.kurtosis):
        return None
    bearable = list(_bearable(statistic, layout, n_resamples, tails))
    if layout.units is None and layout.n * float(n_resamples) >= MANY_DRAWS:
        bearable.sort(key=lambda method: isinstance(statistic, MeanStatistic | ScoreRanking) and _draws(method))
    methods = {method.label: method for method in bearable}
    ranks = isinstance(statistic, ScoreRanking)
    alike = layout.units is not None and features.differ_little(layout.n_units, ranks=ranks)
    if alike:
        methods = {label: method for label, method in methods.items() if method.prior is None}

    def standings(features: Features) -> list[Standing]:
        found = cards().near(name, features, alike=alike)
        found = [one for one in found if one.method in methods and one.designs > 0]
        return sorted(found, key=lambda one: list(methods).index(one.method))

    found = standings(features)
    if not found:
        return None
    best = best_of(found, ALIKE if layout.units is None else ALIKE_IN_CLUSTERS)
    why = f"{figures(best)} in {best.designs} simulated designs like this ({described(features)})"
    if predictions_count(statistic, sample):
        why += ", of classes as they are predicted"
    if layout.strata is not None:
        why += ", of independent rows, which vary more than those in strata"
    other = next((one for one in found if one.method == Percentile.name), best)
    if other.method != best.method:
        why += f"; {other.method} {100 * other.typical:.0f}%"
    if held(best):
        return Choice(methods[best.method], why, best, lowest(best))
    return Choice(methods[best.method], why, best, refused(best, features, standings))
