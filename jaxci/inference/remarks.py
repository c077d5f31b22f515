"""What a reader of a result should know of the data, and how it is said."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from jaxci.intervals.base import Method
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.intervals.calibration import BlockGaps, SquaredGaps
from jaxci.intervals.capabilities import knows_mistakes, power_of_variance
from jaxci.printing import JaxciWarning
from jaxci.special import deviation
from jaxci.statistics.base import Statistic, TableStatistic, has_fixed_trials, is_proportion
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import OrderStatistic, ValueOrderStatistic
from jaxci.statistics.paired import Paired
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean_of_values

FEW_CLUSTERS = 10
"""Below so many clusters every interval gets a remark."""
FEW_FOR_A_KIND, MISSING = 30, 0.05
"""Below so many clusters intervals that do not allow for a kind of cluster that was not seen get a remark: with the
second as its probability one that makes up 9.5% of all, 1 - .05^(1/30), is missing from 30.
"""
FEW_FOR_A_RARE_KIND = 60
"""The same for ranks, which a cluster of wrong ones moves most, and for masks and regressions, which may fail: 4.9%."""
FEW_WEIGHTED, NOTABLE, HEAVY = 30, 0.9, 0.1
"""Weighted data get a remark where their effective size is below the first and below the second as a share of the rows,
and where one row has such a share of the weight.
"""
FEW_TO_STUDENTIZE = 4
"""Strata of fewer units get a remark where resamples are divided by their own standard errors."""
OF_TWO, BOTH = ("model a", "model b"), "both models"
"""How remarks on a comparison name whom they are about, where that is not the difference."""
FEW_IN_STRATUM, MUCH_IN_STRATUM, UNLIKE = 5, 0.25, 1.5
"""Strata of fewer units get a remark where they hold such a share of the weight, and so many times that share of the
units.
"""
FEW_TIED, MOSTLY_DISTINCT = 80, 0.7
"""Lengths between quartiles of fewer units get a remark where fewer than that share of the values are distinct."""
HEAVY_ATOM, NEAR_QUARTILE, APART = 0.05, 3.0, 0.1
"""Lengths between quartiles get a remark where a value that a larger share of the rows has ends so many standard errors
or less from a quartile, and the next value is a larger share of the length away.
"""
OF_ATOMS = "55% to 98%"
"""What 95% intervals of such lengths covered in ``benchmarks/atoms_near_quartiles.py``."""
FEW_ROWS = 50
"""Below so many units intervals of resamples and the delta method get a remark where no card judged them."""
FEW_CASES, ENOUGH_ROWS = 10, 20
"""A class of fewer cases gets a remark; where a card judged, only among so many units or more."""
REACH, NEAREST, RELATIVE = 3.0, 0.05, 2.0
"""Errors relative to targets get a remark where so many times the least target is below the lower quartile, and the
mean error of that share of the rows, with the least targets, is so many times that of all.
"""
FEW_GATHERED = 5
"""A class with rows in fewer clusters gets a remark."""
PERCENTILE_ON_CARDS = "in simulations of 30 rows 95% percentile intervals covered less than 93% for 40 of 46 metrics"
"""What the cards say of few rows; calibration errors, for which no size is enough, are not among the metrics."""
DEVIATIONS_IN_CLUSTERS = "in simulations of 8 and 20 clusters 95% intervals of standard deviations covered 80% to 94%"
EXPLAINED_IN_CLUSTERS = "in simulations of 8 and 20 clusters 95% intervals of R2 covered 82% to 98%"
CALIBRATION_IN_CLUSTERS = (
    "'squared_gaps' intervals may cover less than they say: in simulations of 5 to 50 clusters 95% intervals of "
    "calibration errors covered 78% to 100%, least where a class is rare"
)
EXPANDED_IN_CLUSTERS = "in simulations of 5 to 30 clusters 95% intervals of correlations covered 89% to 98%"
NONE_IN_CLUSTERS = "how much is not known of such statistics in few clusters"
QUANTILES_IN_CLUSTERS = (
    "in simulations of 5 to 30 clusters 95% intervals of medians, interquartile lengths and differences of median "
    "errors covered 90% to 100%"
)
"""Found by ``spread_in_clusters``, ``few_clusters`` and ``calibration_errors`` of the benchmarks."""
UNKNOWN_CALIBRATION = "no method is known to hold its level for a calibration error of such data"


def announce(remarks: Iterable[str]) -> None:
    """Emit each remark once as a warning that points at the caller's line."""
    for remark in dict.fromkeys(remarks):
        warnings.warn(remark, JaxciWarning, stacklevel=3)


def layout_remarks(layout: Layout) -> list[str]:
    """Remarks on the design of the data."""
    remarks = []
    if layout.units is not None and layout.n_units < FEW_CLUSTERS:
        remarks.append(
            f"there are only {layout.n_units} clusters: their variation is hardly known, and 'percentile' and 'bca' "
            "intervals, and 'delta' ones without Student's quantiles, cover less than they say"
        )
    if layout.row_weights is not None:
        remarks += weight_remarks(layout.n, layout.effective_size, layout.heaviest)
    lonely = 0 if layout.strata is None else int(np.sum(np.bincount(layout.strata) == 1))
    if lonely:
        alone = "1 stratum holds a single unit" if lonely == 1 else f"{lonely} strata hold a single unit each"
        remarks.append(
            f"{alone}, which adds nothing to the variance: intervals that keep strata ('percentile', 'bca', 'delta', "
            "'proper_bayesian') are too narrow"
        )
    return remarks + _of_heavy_strata(layout)


def _of_heavy_strata(layout: Layout) -> list[str]:
    """Remark on strata of few units that hold much of the weight: how these vary decides, and is hardly known."""
    if layout.strata is None or layout.counts is not None:
        return []
    mass = np.ones(layout.n) if layout.row_weights is None else layout.row_weights
    mass = mass if layout.units is None else np.bincount(layout.units, mass)
    sizes, shares = np.bincount(layout.strata), np.bincount(layout.strata, mass) / mass.sum()
    much = (shares >= MUCH_IN_STRATUM) & (shares >= UNLIKE * sizes / sizes.sum())
    heavy = np.flatnonzero((sizes > 1) & (sizes < FEW_IN_STRATUM) & much)
    unit = "rows" if layout.units is None else "clusters"
    return [
        f"a stratum of {sizes[h]} {unit} holds {shares[h]:.0%} of the weight: how it varies is hardly known, and "
        "intervals may cover less than they say"
        for h in heavy
    ]


def pivots_in_strata(layout: Layout, method: Method) -> list[str]:
    """Remark on studentized intervals in strata of few units, of which resamples hardly tell their own error."""
    if layout.strata is None or "pivots" not in method.needs:
        return []
    least = int(np.bincount(layout.strata).min())
    if least >= FEW_TO_STUDENTIZE:
        return []
    units = "1 unit" if least == 1 else f"{least} units"
    return [
        f"resamples of a stratum of {units} hardly tell their own standard error: {method.name!r} intervals in strata "
        f"of fewer than {FEW_TO_STUDENTIZE} may be too narrow or far too wide; use 'bca'"
    ]


def missing_kind(n: int, unit: str = "cluster", least: int = FEW_FOR_A_KIND) -> str | None:
    """Remark on an interval that allows for no kind of unit but those among n, fewer than ``least``.

    It says how common another kind may be.
    """
    if n >= least:
        return None
    share = 1 - MISSING ** (1 / n)
    return (
        f"a kind of {unit} that makes up {100 * share:.2g}% of all is missing from {n} of them with a chance of "
        f"{MISSING:.0%}, and the interval does not allow for it"
    )


def missing_kind_remarks(statistic: Statistic, layout: Layout, method: Method, *, plain: bool) -> list[str]:
    """Remark on a kind of cluster that may be missing, and on the method that allows for it, if one does.

    Also on a kind of row, of differences between values by case and of regressions: where a model fails. What a
    method adds to the data stands for such a kind where it is the worst that there can be: means of other values have
    it near those that were seen. ``plain``: whether resamples, if any, are those of rows one by one.
    """
    if layout.units is None:
        by_case = isinstance(statistic, Paired) and is_mean_of_values(statistic.statistic)
        errors = statistic.smooth and statistic.task == "regression"
        unit, least = ("case", FEW_FOR_A_KIND) if by_case else ("row", FEW_FOR_A_RARE_KIND)
        said = missing_kind(layout.n_units, unit, least) if by_case or errors else None
        return [] if said is None else [said]
    least = FEW_FOR_A_RARE_KIND if isinstance(statistic, ScoreRanking) else FEW_FOR_A_KIND
    said = None if isinstance(statistic, Paired) else missing_kind(layout.n_units, least=least)
    known = knows_mistakes(statistic)
    if said is None or (known and method.prior is not None):
        return []
    other = ProperBayesian()
    served = known and plain and other.refusal_of_rows(statistic, layout.given) is None
    return [f"{said}; that of {other.name!r} does" if served else said]


def convention_remarks(statistic: Statistic, name: str, sample: Sample, layout: Layout) -> list[str]:
    """Remark on a statistic of two models that is a share of none of the rows."""
    if not (isinstance(statistic, TableStatistic) and statistic.is_proportion):
        return []
    of_none = []
    for model, data in zip(OF_TWO, (sample, sample.other), strict=True):
        cells = statistic.prepare(data)
        if not statistic.counted_in_cells(cells)[1][cells.codes[: layout.n_rows]].any():
            of_none.append(model)
    if not of_none:
        return []
    whose, its = (BOTH, "their values are") if len(of_none) == 2 else (of_none[0], "its value is")
    return [f"{name} of {whose} is a share of no rows at all (0/0): {its} a convention, and so is the difference"]


def calibration_remarks(statistic: Statistic, method: Method, *, in_blocks: bool) -> list[str]:
    """Say that resamples and derivatives misjudge a calibration error, of one model or of two."""
    own = statistic.statistic if isinstance(statistic, Paired) else statistic
    if not isinstance(own, Calibration) or "gaps" in method.needs:
        return []
    if not own.debiased or isinstance(statistic, Paired):
        return [UNKNOWN_CALIBRATION]
    formula = BlockGaps() if in_blocks else SquaredGaps()
    return [f"resamples and derivatives misjudge a calibration error; its formula, {formula.name!r}, reads neither"]


def weight_remarks(n: int, effective: float, share: float) -> list[str]:
    """Remarks on the weights of n rows: their effective size, and the ``share`` of the heaviest."""
    few = effective < min(FEW_WEIGHTED, NOTABLE * n)
    if not (few or (share >= HEAVY and n > 1 / HEAVY)):
        return []
    size = f"an effective size of {effective:.3g} of {n} rows"
    return [f"sample_weight leaves {size}; one row holds {share:.0%} of the weight"]


def few_clusters(n: int, *, drawn: bool) -> str | None:
    """Remark on intervals of n clusters, read off resamples or of a calibration error, where more would be needed."""
    if n >= FEW_ROWS:
        return None
    what = "intervals read off resamples often cover less than they say" if drawn else CALIBRATION_IN_CLUSTERS
    return f"{n} clusters are fewer than {FEW_ROWS}, where {what}"


def _too_few(layout: Layout, least: int) -> str:
    n = layout.n_units
    return f"n = {n} is below {least}" if layout.units is None else f"{n} clusters are fewer than {least}"


def size_remarks(
    statistic: Statistic, sample: Sample, layout: Layout, values: np.ndarray | None, method: Method, *, judged: bool
) -> list[str]:
    """Remarks on few rows, rare classes and equal scores.

    Where the method was ``judged`` by the cards these tell of sizes. ``values`` are those whose mean, or its root, the
    statistic is.
    """
    remarks = _of_equal_scores(statistic, sample, method) + _of_targets_near_zero(statistic, sample, layout)
    remarks += _of_shares_without_bounds(statistic, values) + _of_tied_lengths(statistic, sample, layout)
    if not judged:
        remarks += _of_few_rows(statistic, layout, values, method)
    if sample.y_true is None or statistic.task not in ("binary", "multiclass") or _counts_all_rows(statistic):
        return remarks
    if layout.units is not None and not {"clusters", "shares"} & method.needs:  # these see it themselves
        remarks += _of_gathered_classes(sample.y_true[: layout.n_rows], layout.units)
    remarks += _of_absent_classes(statistic, sample.class_sizes, method, judged=judged)
    if not judged or layout.n_units >= ENOUGH_ROWS:
        remarks += _of_rare_classes(_rows_in_effect(sample, layout), layout.row_weights is not None)
    return remarks


def _counts_all_rows(statistic: Statistic) -> bool:
    """Whether the statistic is a share of all rows, or a difference of two, which no class decides."""
    return has_fixed_trials(statistic.statistic if isinstance(statistic, Paired) else statistic)


def _of_equal_scores(statistic: Statistic, sample: Sample, method: Method) -> list[str]:
    silent = method.prior is not None or method.models_variance  # the others say so themselves
    if silent and isinstance(statistic, ScoreRanking) and np.ptp(sample.y_score) == 0:
        return ["all scores are equal: they tell nothing of the classes"]
    return []


def _of_targets_near_zero(statistic: Statistic, sample: Sample, layout: Layout) -> list[str]:
    relative = statistic.statistic if isinstance(statistic, Paired) else statistic
    if not relative.relative_to_target:
        return []
    sizes = np.abs(np.asarray(sample.y_true, float)[: layout.n_rows])
    zeros = int((sizes == 0).sum())
    if zeros:
        rows = f"{zeros} of {layout.n_rows} rows"
        return [f"y_true is 0 in {rows}: errors there are divided by 2.2e-16 and decide the mean"]
    if relative is not statistic or not isinstance(statistic, MeanStatistic):
        return []
    errors, small = np.asarray(statistic.averaged_values(sample))[: layout.n_rows], np.quantile(sizes, NEAREST)
    near = bool(REACH * sizes.min() < np.quantile(sizes, 0.25))
    if not (near and errors[sizes <= small].mean() > RELATIVE * errors.mean()):
        return []
    reach = f"y_true comes as close to 0 as {sizes.min():.2g} (median {np.median(sizes):.2g})"
    missing = "rows still closer to 0, which may be missing, would decide the mean"
    return [f"{reach}, and errors there weigh most: {missing}, and intervals may cover less than they say"]


def _of_shares_without_bounds(statistic: Statistic, values: np.ndarray | None) -> list[str]:
    if values is None or not is_mean_of_values(statistic) or np.isfinite(statistic.bounds).any():
        return []
    if not ((values == 0) | (values == 1)).all():
        return []
    known = "bounds=(0, 1) keeps the interval of their mean within these, and proportion_interval gives that of a share"
    return [f"all values are 0 or 1: if there are no others, {known}"]


def _of_tied_lengths(statistic: Statistic, sample: Sample, layout: Layout) -> list[str]:
    """Remark on the length between quantiles of tied values, which jumps from one length to another."""
    if not (isinstance(statistic, ValueOrderStatistic) and statistic.is_length):
        return []
    held, place = np.unique(sample.values[: layout.n_rows], return_inverse=True)
    said = _of_atom_near_quartile(statistic, held, place, layout)
    distinct, n = len(held), layout.n_rows
    if layout.n_units >= FEW_TIED or distinct > MOSTLY_DISTINCT * n:
        return said
    why = f"{_too_few(layout, FEW_TIED)}, and the values are tied ({distinct} distinct ones)"
    return [*said, f"{why}: the length between their quartiles jumps, and intervals often cover less than they say"]


def _of_atom_near_quartile(statistic: OrderStatistic, held: np.ndarray, place: np.ndarray, layout: Layout) -> list[str]:
    """Remark on many equal values, and a gap beside them, that end next to a quartile: the length jumps by the gap.

    Of the distinct values ``held`` each row has the one at its ``place``.
    """
    sizes, times = np.bincount(place, layout.mass), np.bincount(place)
    n, through = float(sizes.sum()), np.cumsum(sizes)
    units = min(float(layout.n_units), layout.effective_size)
    quantiles = [float(q) for _, q in statistic.quantiles]
    low, high = (held[np.minimum(np.searchsorted(through, q * n), len(held) - 1)] for q in sorted(quantiles))
    wide = np.diff(held) > APART * (high - low)
    heavy = (times > 2) & (sizes > HEAVY_ATOM * n)
    for last in np.flatnonzero(wide & (heavy[1:] != heavy[:-1])):
        share = through[last] / n
        for q in quantiles:
            if abs(share - q) <= NEAR_QUARTILE * math.sqrt(q * (1 - q) / units):
                where = f"{share:.0%} of the values are {held[last]:.4g} or less, and the next is {held[last + 1]:.4g}"
                return [
                    f"{where}: this gap lies next to a quartile, so that the length may be another altogether; 95% "
                    f"intervals of such lengths covered {OF_ATOMS} in simulations"
                ]
    return []


def _of_few_rows(statistic: Statistic, layout: Layout, values: np.ndarray | None, method: Method) -> list[str]:
    """Warn below the sizes at which studies found 92.5% coverage of 95% intervals.

    Those sizes are of percentile intervals: of a method that allows for what was not seen they hold for means alone,
    and not of classes that are judged one by one in as many clusters as were simulated.
    """
    if method.prior is not None and not isinstance(statistic, MeanStatistic):
        return []
    if "shares" in method.needs and layout.units is not None and layout.n_units >= FEW_CLUSTERS:
        return []
    for least, what in _least_sizes(statistic, layout, values, method):
        if layout.n_units < least:
            return [f"{_too_few(layout, least)}, where {what}"]
    return []


def _least_sizes(
    statistic: Statistic, layout: Layout, values: np.ndarray | None, method: Method
) -> Iterator[tuple[int, str]]:
    """Yield sizes below which intervals of the statistic by the method cover too little, and how that is said."""
    less = "cover less than they say"
    if statistic.least_n is not None:
        least, what = statistic.least_n
        yield least, f"intervals for {what} {less}"
    if statistic.averages_classes:
        yield 50, f"intervals for averaged metrics {less}"
    if not isinstance(statistic, Paired) and values is not None and len(values) >= 2:
        skewed = _skewness(values) > 2
        yield (75, f"intervals for strongly skewed values {less}") if skewed else (25, f"intervals for a mean {less}")
    elif layout.units is not None and "influence" in method.needs and not isinstance(statistic, Paired):
        found = EXPLAINED_IN_CLUSTERS if power_of_variance(statistic) is None else DEVIATIONS_IN_CLUSTERS
        yield FEW_ROWS, f"{method.name!r} intervals may {less}: {found}"
    elif layout.units is not None and "places" in method.needs:
        yield FEW_ROWS, f"{method.name!r} intervals may {less}: {QUANTILES_IN_CLUSTERS}"
    elif layout.units is not None and "gaps" in method.needs:
        yield FEW_ROWS, CALIBRATION_IN_CLUSTERS
    elif method.judged_by_size:
        often, found = "often", PERCENTILE_ON_CARDS
        if layout.units is not None and "pivots" in method.needs:
            found = DEVIATIONS_IN_CLUSTERS
        elif layout.units is not None and method.allows_for_few:
            often, found = "may", EXPANDED_IN_CLUSTERS if statistic.task == "regression" else NONE_IN_CLUSTERS
        yield FEW_ROWS, f"{method.name!r} intervals {often} {less}: {found}"


def _skewness(values: np.ndarray) -> float:
    """Return the absolute skewness of values (n,), 0 where they do not vary."""
    sd = float(deviation(values, ddof=0))
    if sd == 0:
        return 0.0
    apart = (values - np.mean(values)) / sd
    return abs(float(np.mean(apart * apart * apart)))  # NumPy's power takes ten times as long


def _of_absent_classes(statistic: Statistic, counts: np.ndarray, method: Method, *, judged: bool) -> list[str]:
    what = "would score is unknown"
    if isinstance(statistic, TableStatistic) and statistic.against_rest is not None and len(counts) > 2:
        of_class = counts[statistic.against_rest[1]]
        if of_class == 0 and not statistic.trials_by_truth:  # of no rows at all that is said
            return [f"its class has no row in y_true: what it {what}"]
        counts = np.array([counts.sum() - of_class, of_class])
    absent, by_shares = int(np.sum(counts == 0)), "shares" in method.needs
    if absent == 0 or not (judged or by_shares or method.prior is not None):
        return []
    if len(counts) == 2:  # shares of the rows of one class need no other
        known = is_proportion(statistic)
        return [] if known else ["y_true holds one of the two classes only: what depends on the other is not known"]
    what += "" if by_shares else ", and the interval does not allow for it"
    have, they = ("has", "it") if absent == 1 else ("have", "they")
    return [f"{absent} of {len(counts)} classes {have} no row in y_true: what {they} {what}"]


def _of_gathered_classes(classes: np.ndarray, units: np.ndarray) -> list[str]:
    """Remark on a class whose rows lie in a handful of many clusters: the others tell nothing of how it varies."""
    size, all_of_them = int(classes.max()) + 1, int(units.max()) + 1
    spread = np.bincount(np.unique(units.astype(np.int64) * size + classes) % size)
    spread = spread[spread > 0]
    fewest = int(spread.min())
    if len(spread) < 2 or fewest >= FEW_GATHERED or fewest == all_of_them:
        return []
    where = "a single cluster" if fewest == 1 else f"{fewest} clusters"
    return [
        f"all rows of a class lie in {where} of {all_of_them}: how what depends on it varies between clusters is "
        "hardly known, and an interval or a verdict that depends on it means little"
    ]


def _rows_in_effect(sample: Sample, layout: Layout) -> np.ndarray:
    """Return the rows of every class (K,), of weighted ones how many of equal weight vary as much."""
    if layout.row_weights is None:
        return sample.class_sizes
    classes = sample.y_true[: layout.n_rows]
    totals, squares = (np.bincount(classes, x, sample.n_classes) for x in layout.powers_of_weights()[:, 1:3].T)
    return (totals**2 / np.where(totals > 0, squares, 1.0)).round(9)


def _of_rare_classes(counts: np.ndarray, weighted: bool) -> list[str]:
    rare = float(counts[counts > 0].min())
    if rare >= FEW_CASES:
        return []
    return [f"a class has only {cases(rare, 'case', weighted)}: intervals that depend on it are rough"]


def cases(number: float, what: str, weighted: bool) -> str:
    """Return how many of something there are, of weighted ones in effect."""
    shown = f"{number:.3g}"
    return f"{shown} {what}{'s' * (shown != '1')}{' in effect' * weighted}"
