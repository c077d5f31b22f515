"""Pictures of results: one function a kind, which ``result.plot()`` finds by the type.

Every function draws on the axes ``ax``, or on those of a new figure, and returns them. Options are keywords of
``plot``.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.api.bootstrap import BootstrapResult
from jaxci.api.case_results import CaseSummaries
from jaxci.api.generalization_results import ResampledFits
from jaxci.api.leaderboard_results import Leaderboard, MeanRanks
from jaxci.api.planning_results import Plan
from jaxci.api.proportion import ProportionInterval
from jaxci.api.quantile_results import QuantileInterval, QuantilePlan, RunSummary
from jaxci.api.quantiles import quantile_interval
from jaxci.api.run_scores import PerformanceProfiles
from jaxci.api.subgroup_results import SubgroupTable
from jaxci.checks import check_choice
from jaxci.coverage.cards import Card
from jaxci.coverage.check import CoverageCheck
from jaxci.coverage.results import ColumnTable, StudyResults
from jaxci.curves.results import CurveComparison, CurveResult
from jaxci.plots.curves import draw_curve, draw_difference
from jaxci.plots.distribution import draw_distribution
from jaxci.plots.forest import Bar, draw_bars
from jaxci.plots.heat import draw_heat
from jaxci.plots.plans import draw_plan
from jaxci.plots.strips import draw_cases, draw_column, draw_fits
from jaxci.plots.style import DASHES, INK, PALETTE, entitled, legend_beside, literal, own_axes, selected_rows, shortened
from jaxci.printing import number, stated_level
from jaxci.results import ComparisonResult, EvaluationTable, IntervalResult, JackknifeResult
from jaxci.runs.results import SeedRuns
from jaxci.segmentation.table import CaseTable


@literal
def draw(result: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw a result on the axes ``ax``, or on those of a new figure, and return them.

    Raises
    ------
    TypeError
        If there is no picture of such results, or it has no such option.
    """
    picture = _picture.dispatch(type(result))
    known = [name for name, one in inspect.signature(picture).parameters.items() if one.kind is one.KEYWORD_ONLY]
    wrong = [name for name in options if name not in known]
    if wrong and picture is not _picture.dispatch(object):
        said = f"the picture of a {type(result).__name__} has no option {wrong[0]!r}"
        raise TypeError(f"{said}; it has {', '.join(known)}")
    return picture(result, ax=ax, **options)


@functools.singledispatch
def _picture(result: Any, **options: Any) -> Any:
    """Draw a result by its type; of others there is no picture."""
    raise TypeError(f"there is no picture of a {type(result).__name__}; to_frame() gives its table")


def _bar(result: IntervalResult, label: str | None = None, **more: Any) -> Bar:
    return Bar(label or result.statistic, result.estimate, *result.confidence_interval, **more)


def _stated(results: Sequence[IntervalResult]) -> str:
    """Return the title of intervals: their level where it is one, and their n, or the least and the largest."""
    sides = dict.fromkeys(one.alternative for one in results)
    one_sided = ", ".join(side for side in sides if side != "two-sided")
    level = stated_level(results[0].confidence_level, one_sided or "two-sided", "confidence intervals")
    if one_sided and "two-sided" in sides:
        level += " and two-sided"
    if len({one.confidence_level for one in results}) > 1:
        level = "confidence intervals of several levels"
    clusters = _range([one.n for one in results if one.n_rows])
    in_clusters = clusters and all(one.n_rows for one in results)
    n = _range([one.n_rows or one.n for one in results])
    return f"{level}, n = {n}{f' in {clusters} clusters' if in_clusters else ''}"


def _range(sizes: Sequence[int]) -> str:
    return " to ".join(f"{n:,}" for n in sorted({min(sizes), max(sizes)})) if sizes else ""


@literal
def forest(
    results: Any,
    *,
    labels: Sequence[str] | None = None,
    ax: Any = None,
    line: float | None = None,
    title: str | None = None,
) -> Any:
    """Draw several intervals one below the other: methods for one metric, models, data sets.

    Parameters
    ----------
    results : sequence of IntervalResult, or dict of them by label
    labels : sequence of str, optional
        Of the rows; by default what tells them apart: the method where all are of one statistic, or else that.
    ax : Axes, optional
    line : float, optional
        Where a vertical line stands.
    title : str, optional
        By default level and n of the results.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError, ValueError
        If these are no intervals, or not one label for each.
    """
    if isinstance(results, Mapping):
        labels, results = list(results), list(results.values())
    found = list(results)
    if not found or not all(isinstance(one, IntervalResult) for one in found):
        raise TypeError("results must be intervals, as jaxci.interval and jaxci.evaluate give them")
    statistics = dict.fromkeys(one.statistic for one in found)
    if labels is None:
        labels = [str(one.method) if len(statistics) == 1 else one.statistic for one in found]
    if len(labels) != len(found):
        raise ValueError(f"labels must be one for each of the {len(found)} results; got {len(labels)}")
    bars = [_bar(one, str(label)) for one, label in zip(found, labels, strict=True)]
    x = ", ".join(shortened(list(statistics))) if len(statistics) < 3 else ""
    return draw_bars(bars, ax=ax, title=_stated(found) if title is None else title, x=x, line=line)


@_picture.register
def _(table: EvaluationTable, *, ax: Any = None, metrics: Sequence[str] | None = None) -> Any:
    """Draw the metrics of a model, or some of them."""
    rows = [*table.rows] if metrics is None else [table[name] for name in metrics]
    bars = [_bar(row, beside=str(row.method)) for row in rows]
    return draw_bars(bars, ax=ax, title=_stated(rows), x="", beside="method")


@_picture.register
def _(table: SubgroupTable, *, ax: Any = None, metric: str | None = None) -> Any:
    """Draw one metric of all rows and of every group; the line is at that of all rows."""
    known = [row.statistic for row in table.rows]
    name = known[0] if metric is None else check_choice("metric", metric, known)
    whole = table[name]
    bars = [_bar(whole, "all", beside=f"{table.n:,}", colour=PALETTE[6])]
    bars += [_bar(g.result, g.name, beside=f"{g.size:,}") for g in table.subgroups if g.result.statistic == name]
    title = f"{name} by group, {100 * whole.confidence_level:g}% confidence intervals"
    return draw_bars(bars, ax=ax, title=title, x=name, line=whole.estimate, beside="n")


@_picture.register
def _(board: Leaderboard, *, ax: Any = None) -> Any:
    """Draw competitors from the best on: intervals, thin ones that hold together, and ranks; hollow: not tied."""
    bars = [
        Bar(
            one.name,
            one.estimate,
            *one.confidence_interval,
            wider=tuple(one.simultaneous_interval),
            beside=f"{one.rank_low} to {one.rank_high}" if one.rank_low < one.rank_high else str(one.rank_low),
            hollow=not one.tied,
        )
        for one in board
    ]
    level = f"{100 * board.confidence_level:g}%"
    thin = " (thin: all together)" if any(math.isfinite(sum(bar.wider or (math.nan,))) for bar in bars) else ""
    title = f"{board.statistic}, {level} intervals{thin} and ranks; filled: tied with {board.reference}"
    return draw_bars(bars, ax=ax, title=title, x=board.statistic, beside="ranks")


@_picture.register
def _(ranks: MeanRanks, *, ax: Any = None) -> Any:
    """Draw mean ranks with their intervals."""
    bars = [Bar(one.name, one.mean_rank, one.low, one.high) for one in ranks.entries]
    title = f"Mean rank over {', '.join(ranks.boards)}, {100 * ranks.confidence_level:g}% intervals"
    return draw_bars(bars, ax=ax, title=title, x="mean rank")


@_picture.register
def _(cases: CaseSummaries, *, ax: Any = None, metric: str | None = None) -> Any:
    """Draw the summaries of one metric, of every combination of the other columns."""
    known = list(dict.fromkeys(row.metric for row in cases.rows))
    name = known[0] if metric is None else check_choice("metric", metric, known)
    rows = [row for row in cases.rows if row.metric == name]
    bars = [_bar(row.result, ", ".join([row.result.statistic, *map(str, row.by.values())])) for row in rows]
    which = name if len(known) == 1 else f"{name} (one of {len(known)} metrics)"
    return draw_bars(bars, ax=ax, title=f"{which}, {cases.headline()}", x=name)


@_picture.register
def _(found: ProportionInterval, *, ax: Any = None) -> Any:
    """Draw one proportion or several."""
    rows = found.records()
    bars = [Bar(f"{row['count']:g} of {row['nobs']:g}", row["estimate"], row["low"], row["high"]) for row in rows]
    return draw_bars(bars, ax=ax, title=found.headline(), x="proportion")


@_picture.register
def _(quantiles: QuantileInterval, *, ax: Any = None) -> Any:
    """Draw the intervals of quantiles."""
    bars = [Bar(f"{100 * r['q']:g}% quantile", r["estimate"], r["low"], r["high"]) for r in quantiles.records()]
    return draw_bars(bars, ax=ax, title=quantiles.headline(), x="value")


@_picture.register
def _(runs: RunSummary, *, ax: Any = None) -> Any:
    """Draw the mean of runs and their quantiles."""
    mean = Bar("mean", runs.mean, float(runs.mean_interval.low), float(runs.mean_interval.high), colour=PALETTE[6])
    bars = [Bar(f"{100 * r['q']:g}% quantile", r["estimate"], r["low"], r["high"]) for r in runs.quantiles.records()]
    return draw_bars([mean, *bars], ax=ax, title=runs.headline(), x="result of a run")


@_picture.register
def _(result: IntervalResult, *, ax: Any = None) -> Any:
    """Draw the bootstrap distribution with estimate and interval; the interval alone where nothing was drawn."""
    if result.bootstrap_distribution is None:
        return forest([result], labels=[str(result.method)], ax=ax)
    interval = stated_level(result.confidence_level, result.alternative, f"{result.method} interval")
    axes = draw_distribution(result.bootstrap_distribution, result.estimate, result.confidence_interval, ax=ax)
    entitled(axes, f"{interval}, n = {result.n:,}", result.statistic, f"share of {result.n_resamples:,} resamples")
    return axes


@_picture.register
def _(result: ComparisonResult, *, ax: Any = None) -> Any:
    """Draw a paired difference: its distribution, where drawn, estimate and interval, no difference, the margin."""
    title = f"{result.statistic}: a {number(result.estimate_a, 3)}, b {number(result.estimate_b, 3)}; "
    title += f"{result.p_said}; {result.conclusion}"
    label = f"{result.statistic}, a - b ({100 * result.confidence_level:g}% {result.method} interval)"
    held = [] if result.margin is None else _beyond(result, result.margin)
    down = 1  # points from the top to the name of a margin
    if result.bootstrap_distribution is None:
        axes = draw_bars([_bar(result, "a - b")], ax=ax, title=title, x=label, line=0.0, held=held)
    else:
        values, interval = result.bootstrap_distribution, result.confidence_interval
        axes = draw_distribution(values, result.estimate, interval, ax=ax, held=[0.0, *held])
        axes.axvline(0, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        entitled(axes, title, label, f"share of {result.n_resamples:,} resamples")
        if held:  # room for names of margins below the estimate
            axes.set_ylim(top=1.13 * axes.get_ylim()[1])
            down = 17
    if result.margin is not None:
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
        for at, side, across in ((-result.margin, "right", -2), (result.margin, "left", 2)):
            axes.axvline(at, color=PALETTE[1], linewidth=1, linestyle=(0, (1.5, 1.2)))
            axes.annotate("margin", (at, 1), (across, -down), fontsize=8, color=PALETTE[1], ha=side, **place)
    return axes


def _beyond(result: ComparisonResult, margin: float) -> list[float]:
    """Return where a picture ends at least, on both sides, so that margins and their names are in it."""
    drawn = () if result.bootstrap_distribution is None else result.bootstrap_distribution
    reach = np.abs([margin, result.estimate, *result.confidence_interval, *drawn])
    end = margin + 0.2 * float(np.max(reach[np.isfinite(reach)]))
    return [-end, end]


@_picture.register
def _(result: BootstrapResult, *, ax: Any = None) -> Any:
    """Draw the bootstrap distribution of a single number with estimate and interval; of several the intervals."""
    replicates = np.asarray(result.bootstrap_distribution)
    if replicates.ndim > 1:
        bars = [Bar(row["index"], row["estimate"], row["low"], row["high"]) for row in result.records()]
        return draw_bars(bars, ax=ax, title=result.headline(), x="statistic")
    low, high = result.confidence_interval
    axes = draw_distribution(replicates, float(result.estimate), (float(low), float(high)), ax=ax)
    entitled(axes, result.headline(), "statistic", "share of resamples")
    return axes


@_picture.register
def _(result: JackknifeResult, *, ax: Any = None) -> Any:
    """Draw the pseudo-values and the estimate with two standard errors either way."""
    ends = (result.bias_corrected - 2 * result.standard_error, result.bias_corrected + 2 * result.standard_error)
    axes = draw_distribution(result.pseudo_values, result.bias_corrected, ends, ax=ax)
    entitled(axes, f"{result.headline()}; two standard errors either way", "pseudo-value", "share")
    return axes


@_picture.register
def _(
    runs: SeedRuns,
    *,
    ax: Any = None,
    metric: str | None = None,
    q: float = 0.5,
    confidence_level: float = 0.95,
    goal: str | None = None,
) -> Any:
    """Draw a metric of every run in their order, and the interval of a quantile; ``goal`` where runs failed."""
    name = next(iter(runs.values)) if metric is None else check_choice("metric", metric, list(runs.values))
    values = runs[name]
    (row,) = quantile_interval(values, q, confidence_level=confidence_level, goal=goal).records()
    axes = own_axes(ax, (7.4, 3.2))
    at = np.arange(1, len(values) + 1)
    known = np.isfinite(values)
    axes.plot(at[known], values[known], "o", color=PALETTE[0], markersize=5, label="a run", zorder=3)
    called = "median" if q == 0.5 else f"{100 * q:g}% quantile"
    if math.isfinite(row["estimate"]):
        axes.axhline(row["estimate"], color=INK, linewidth=1.4, label=called)
    least, most = axes.get_ylim()
    low, high = max(row["low"], least - 1), min(row["high"], most + 1)
    axes.axhspan(low, high, color=PALETTE[5], alpha=0.3, linewidth=0, label=f"{100 * confidence_level:g}% interval")
    axes.set_ylim(least, most)
    for place in at[~known]:
        axes.annotate("x", (place, 0.01), xycoords=("data", "axes fraction"), ha="center", fontsize=9, color=PALETTE[1])
    lost = f"; x: no result ({int((~known).sum())})" if not known.all() else ""
    title = f"{name} of {len(values)} runs varying {runs.varies}: {called}, {100 * confidence_level:g}% interval{lost}"
    entitled(axes, title, "run", name)
    axes.locator_params(axis="x", integer=True)
    legend_beside(axes)
    return axes


@_picture.register
def _(found: PerformanceProfiles, *, ax: Any = None) -> Any:
    """Draw the shares of every model above thresholds, with their simultaneous bands."""
    axes = own_axes(ax, (7.2, 3.6))
    names = shortened(list(found.profiles))
    for place, (name, one) in enumerate(zip(names, found.profiles.values(), strict=True)):
        look = {"color": PALETTE[place % len(PALETTE)], "linestyle": DASHES[place % len(DASHES)]}
        ends = (found.thresholds, one.simultaneous_low, one.simultaneous_high)
        axes.fill_between(*ends, color=look["color"], alpha=0.16, linewidth=0)
        axes.plot(found.thresholds, one.share, linewidth=1.8, label=name, **look)
    axes.set_ylim(-0.02, 1.02)
    entitled(axes, found.headline(), "threshold", "share of scores above")
    legend_beside(axes)
    return axes


@_picture.register
def _(cases: CaseTable, *, ax: Any = None, metric: str = "dice") -> Any:
    """Draw one measure of every case by label: a dot a case, a line at the median."""
    return draw_cases(cases, ax=ax, metric=metric)


@_picture.register
def _(fits: ResampledFits, *, ax: Any = None) -> Any:
    """Draw the loss of every split by plan: a dot a split, a line at the mean."""
    return draw_fits(fits, ax=ax)


@_picture.register
def _(plan: Plan, *, ax: Any = None) -> Any:
    """Draw width, assurance or power at the numbers of cases that were tried, and the planned one."""
    title = f"{plan.headline()} ({plan.statistic}, {plan.method})"
    return draw_plan(plan, ax=ax, title=title, x="cases")


@_picture.register
def _(plan: QuantilePlan, *, ax: Any = None) -> Any:
    """Draw the width at the numbers of values that were tried, and the planned one."""
    return draw_plan(plan, ax=ax, title=plan.headline(), x="values")


@_picture.register
def _(table: ColumnTable, *, ax: Any = None, value: str | None = None, by: Sequence[str] | None = None) -> Any:
    """Draw one column of numbers (``value``) by what tells rows apart (columns ``by``): a dot a row of the table."""
    return draw_column(table, ax=ax, value=value, by=by)


@_picture.register
def _(found: CoverageCheck, *, ax: Any = None) -> Any:
    """Draw the coverage of every method, with two Monte-Carlo standard errors, and the level asked for."""
    bars = []
    for one in found.judgements:
        error = 0.0 if math.isnan(one.coverage_error) else 2 * one.coverage_error
        best = found.recommended is not None and one.method == found.recommended
        ends = (100 * (one.coverage - error), min(100.0, 100 * (one.coverage + error)))
        bars.append(Bar(one.label, 100 * one.coverage, *ends, beside=number(one.mean_width, 3), hollow=not best))
    title = f"Coverage on data like these ({found.statistic}, n = {found.n:,}); filled: recommended"
    simulated = any(one.coverage_error > 0 for one in found.judgements)
    x = f"coverage (%){', two Monte-Carlo standard errors either way' if simulated else ''}"
    return draw_bars(bars, ax=ax, title=title, x=x, line=100 * found.confidence_level, beside="width", numbers=False)


@_picture.register
def _(card: Card, *, ax: Any = None, value: str = "worst") -> Any:
    """Draw the card of a metric: the worst (or the median) coverage over laws by method and n."""
    check_choice("value", value, ("worst", "median"))
    rows = card.records()
    found = {(row["method"], row["n"]): 100 * row[value] for row in rows}
    title = f"{card.metric}: {value} coverage of 95% intervals over simulated laws (%)"
    return draw_heat(found, 95.0, ax=ax, title=title)


@_picture.register
def _(results: StudyResults, *, ax: Any = None, statistic: str | None = None, level: float | None = None) -> Any:
    """Draw the median coverage over distributions by method and n, of one statistic at one level."""
    names = list(dict.fromkeys(results.columns["statistic"].tolist()))
    name = names[0] if statistic is None else check_choice("statistic", statistic, names)
    table, level = selected_rows(results, level, [name], None)
    keys = list(zip(table["method"].tolist(), table["n"].tolist(), strict=True))
    found = {
        key: 100 * float(np.median(table["coverage"][[other == key for other in keys]])) for key in dict.fromkeys(keys)
    }
    title = f"{name}: median coverage of {100 * level:g}% intervals over distributions (%)"
    return draw_heat(found, 100 * level, ax=ax, title=title)


@_picture.register
def _(curve: CurveResult, *, ax: Any = None, label: str | None = None, colour: str = PALETTE[0]) -> Any:
    """Draw a curve with its bands; further curves on the same axes take a ``label`` and a ``colour``."""
    return draw_curve(curve, ax=ax, label=label, colour=colour)


@_picture.register
def _(found: CurveComparison, *, ax: Any = None) -> Any:
    """Draw the difference of two curves with its bands."""
    return draw_difference(found, ax=ax)
