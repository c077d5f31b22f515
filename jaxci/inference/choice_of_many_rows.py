"""What ``method="auto"`` takes for very many rows, of which resamples would take seconds, and for quantiles."""

from __future__ import annotations

import math

from jaxci.inference.features import weights_go_with_scores
from jaxci.inference.places import LEAST_DEGREES
from jaxci.inference.standings import Choice
from jaxci.intervals.base import Tails
from jaxci.intervals.capabilities import quantile_terms
from jaxci.intervals.delta import student_steps
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.woodruff import Woodruff
from jaxci.statistics.base import RankedStatistic, Statistic, TableStatistic
from jaxci.statistics.custom import FunctionStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.paired import Paired
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.sample import Sample

MOST_SMOOTH_DRAWS = 1e8
"""Above so many draws, of rows or what weighted ones are in effect, the area under a ROC curve, correlations and other
smooth statistics of sorted rows or of moments are not resampled: a formula serves nearly as well, at once.
"""

LARGE_ROWS = 10_000
"""Of fewer rows, or what weighted ones are in effect, all resamples that are asked for are drawn: formulas were
simulated of more.
"""

MANY_CLUSTERS = 100
"""From so many clusters on the delta method serves ranks of many rows."""

ENOUGH_MISRANKED = 10
"""From so many rows that are ranked wrongly on, in :data:`MANY_CLUSTERS`, influence tells how ranks vary."""

FEW_MISRANKED = 3
"""Of fewer rows that are ranked wrongly (rows times one less the area) slopes tell too little: of areas of .99 their
intervals covered .50 to .94 in 30 to 100 rows, those that allow for what was not seen .89 to .99.
"""


def scale_of(statistic: Statistic) -> str:
    """Return the scale on which intervals of a statistic of this range are symmetric."""
    return {(0.0, 1.0): "logit", (-1.0, 1.0): "fisher"}.get(statistic.bounds, "natural")


def on_scale(statistic: Statistic) -> str:
    """Name that scale, where it is not the natural one."""
    scale = scale_of(statistic)
    return "" if scale == "natural" else f" on the {scale} scale"


def ranks_many(statistic: Statistic, layout: Layout, n_resamples: int) -> bool:
    """Whether the ranks of so many rows are asked for that they are not resampled, in clusters enough to do without."""
    many = too_many(layout.n, n_resamples) and layout.n_units >= MANY_CLUSTERS
    return isinstance(statistic, RankedStatistic) and statistic.smooth and layout.given == {"groups"} and many


def misranks_in_clusters(statistic: Statistic, layout: Layout, sample: Sample) -> bool:
    """Whether rows in so many clusters are ranked wrongly that influence tells how ranks vary.

    A cluster that was not seen would decide most of the width: areas and average precisions are covered as much
    without one, at down to a seventh of that (``benchmarks/ranks_in_clusters.py``). So are those of two classes whose
    rows weigh unlike, unless weights go with scores.
    """
    weights, clustered = layout.row_weights, layout.given - {"sample_weight"} == {"groups"}
    if not (isinstance(statistic, ScoreRanking) and statistic.smooth and clustered):
        return False
    if weights is not None and (sample.n_classes != 2 or weights_go_with_scores(sample, weights)):
        return False
    return layout.n_units >= MANY_CLUSTERS and layout.counts is None and sample.misranked >= ENOUGH_MISRANKED


def too_many(rows: float, n_resamples: int) -> bool:
    """Whether so many rows, or what weighted ones are in effect, are not resampled so often."""
    return rows >= LARGE_ROWS and rows * float(n_resamples) > MOST_SMOOTH_DRAWS


def of_quantiles(statistic: Statistic, layout: Layout, n_resamples: int, tails: Tails) -> Choice | None:
    """Choose for a sum of quantiles of rows with weights, in strata or clusters, or very many; None for others."""
    if not quantile_terms(statistic) or layout.n_units < 2:
        return None
    how = "Woodruff's interval, by how much the share of the rows below varies"
    if layout.units is not None:
        return Choice(Woodruff(scale="logit"), f"quantiles of rows in clusters: {how} between these")
    if too_many(layout.effective_size, n_resamples):
        return Choice(Woodruff(), f"quantiles of {layout.n:,} rows, too many to resample: {how}")
    if isinstance(statistic, Paired) or (layout.strata is None and layout.row_weights is None):
        return None
    design = "with weights" if layout.strata is None else "in strata"
    why = f"quantiles of rows {design}: {how}, which few resamples of few rows tell"
    return Choice(Woodruff(ends="values"), why, remark=_beyond(statistic, layout, tails))


def _beyond(statistic: Statistic, layout: Layout, tails: Tails) -> str | None:
    """Say that a quantile may lie beyond the values, where a test of the share below does not tell these apart."""
    if len(quantile_terms(statistic)) > 1:
        return None
    q, size, n = float(quantile_terms(statistic)[0][1]), layout.effective_size, layout.n
    error = math.sqrt(q * (1 - q) / size)
    down, up = student_steps(max(size - 1, LEAST_DEGREES), tails)
    for step, share, chance, side in ((up, 1 - q, tails.upper, "above"), (down, q, tails.lower, "below")):
        if step * error >= share and (missed := (1 - share) ** n) > chance:
            where = f"{side} all values, at which the interval ends, in {100 * missed:.3g}% of data sets of {n} rows"
            return f"the quantile lies {where}" + ", more if such rows weigh more" * (layout.row_weights is not None)
    return None


def is_large(statistic: Statistic, layout: Layout, n_resamples: int) -> bool:
    """Whether a smooth statistic, whose derivatives tell what rows contribute, is of too many of these to resample."""
    if not statistic.smooth or isinstance(statistic, FunctionStatistic | TableStatistic | Calibration):
        return False
    return layout.units is None and too_many(layout.effective_size, n_resamples)


def of_large(statistic: Statistic, layout: Layout, sample: Sample) -> Choice | None:
    """Choose for a smooth statistic of very many rows with weights or strata; None where few of them decide ranks."""
    if isinstance(statistic, ScoreRanking):
        sizes = sample.class_sizes
        if sizes[sizes > 0].min() < statistic.least_class or not sample.misranked >= FEW_MISRANKED:
            return None
    method = KurtosisT(scale=scale_of(statistic))
    if method.refusal_of_rows(statistic, layout.given):
        return None
    why = f"{layout.n:,} rows, too many to resample: influence, and Student's quantiles, further out where few decide"
    return Choice(method, f"{why}{on_scale(statistic)}")
