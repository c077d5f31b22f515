"""A coverage study on one self-contained HTML page."""

from __future__ import annotations

import html
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.coverage.analysis import (
    SERIES,
    Columns,
    Rows,
    StudyTable,
    averages,
    convergence_pace,
    failures,
    groups,
    level_of,
    levels_of,
    of_infinitely_many,
    quartiles,
    require,
    required_n,
    summarized_by,
    table_by,
    take,
    three_quartiles,
)
from jaxci.coverage.instances import (
    extrapolated_widths,
    instances_of,
    ks_distances,
    regressions,
    shape_and_pace,
    shapes,
)
from jaxci.coverage.runner import Runnable
from jaxci.coverage.shifts import interval_shifts
from jaxci.coverage.tally import NO_INTERVAL
from jaxci.coverage.verdict import SURE, verdicts
from jaxci.report.figures import boxes, curves, learners, paces, saw_teeth
from jaxci.report.figures import quantiles as quantile_pictures
from jaxci.report.page import document, folded, listing, named, pictures, said, text

COVERAGES = (0.925, 0.94)
WIDTHS = (0.1, 0.05, 0.01)
"""Targets of the table of sample sizes, those of Andre et al. (2026)."""
BEYOND = (2, 10)
"""Multiples of the largest simulated size at which widths are extrapolated."""
FEW = 6
"""Studies of at most this many distributions list each of them."""
TOLD = ("name", "distributions", "statistics", "methods", "levels", "sample_sizes")
"""Fields of a study that its rows tell."""


def report(results: StudyTable, path: str | os.PathLike[str]) -> pathlib.Path:
    """Write a study's design, tables and pictures to one HTML file that needs no network.

    Parameters
    ----------
    results : object with ``columns`` and ``tags``
        If it also has a ``study``, the fields of ``study.to_dict()`` are listed.
    path : path-like
        File to write; replaced if it is there.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ValueError
        If a column is missing, or there are no rows.
    ImportError
        Without matplotlib (the ``plot`` extra).

    References
    ----------
    Andre et al. (2026), sections 4.1 to 4.6.
    """
    columns = results.columns
    require(columns, (*SERIES, "n", "coverage", "mean_width"))
    if len(columns["coverage"]) == 0:
        raise ValueError("results must hold at least one row; got none")
    study = getattr(results, "study", None)
    design = study.to_dict() if study is not None else {}
    title = str(design.get("name") or "Coverage study")
    once = _once(results)
    sections = [
        ("Verdict", _unfinished(results) + _verdict(columns)),
        ("Coverage and width", pictures(*curves(results)) + _infinite(columns) + _over_distributions(columns)),
        ("Coverage by distribution", pictures(boxes(once)) + _each_distribution(once.columns)),
        ("Sample size needed", _sizes(columns, results.tags)),
        ("Widths beyond the sizes simulated", _extrapolated(columns)),
        ("Shift of intervals", _shifts(once.columns, len(columns["n"]))),
        ("Instances", _instances(results, study)),
        ("Pace and skewness, by a mixed model", _regressions(results, study)),
        ("Convergence pace", pictures(paces(results)) + _pace(columns, results.tags)),
        ("Coverage against the true value", pictures(*saw_teeth(once))),
        ("Quantiles", pictures(*quantile_pictures(results))),
        ("Generalization error", _learners(results)),
        ("Failure cases", _failures(once.columns)),
        ("Flagged cells", _flagged(once.columns)),
        (
            "Not judged, or without meaning",
            "".join(map(said, study.left_out())) if isinstance(study, Runnable) else "",
        ),
        ("Design", _design(columns, design)),
    ]
    out = pathlib.Path(path)
    out.write_text(document(title, sections), encoding="utf-8")
    return out


PROPORTION = re.compile(r"(?:^|(?<=\())p=(\d*\.?\d+)")
"""A proportion in the name of a distribution."""


def _once(results: StudyTable) -> Rows:
    """Return the rows without those of 1 - p, where they are covered exactly as those of p, which then names both."""
    columns = results.columns
    known = {}
    for name in levels_of(columns["distribution"]):
        found = PROPORTION.search(name)
        if found is not None:
            known[PROPORTION.sub("p=", name), round(float(found[1]), 9)] = name
    rows = {name: take(columns, columns["distribution"] == name) for name in known.values()}
    both, gone = {}, set()
    for (rest, p), name in known.items():
        other = known.get((rest, round(1 - p, 9)))
        if p < 0.5 and other is not None and _alike(rows[name], rows[other]):
            both[name] = PROPORTION.sub(f"p={p:g} or {1 - p:g}", name)
            gone.add(other)
    kept = take(columns, ~np.isin(columns["distribution"], list(gone)))
    kept["distribution"] = np.array([both.get(name, name) for name in kept["distribution"].tolist()])
    return Rows(kept, tuple(results.tags))


def _alike(one: Columns, two: Columns) -> bool:
    names = ("statistic", "method", "level", "n")
    if any(one[name].tolist() != two[name].tolist() for name in names):
        return False
    return bool(np.allclose(one["coverage"], two["coverage"], rtol=0, atol=1e-9, equal_nan=True))


def _unfinished(results: StudyTable) -> str:
    """Say how many cells there are so far, where some are not finished."""
    done, cells = getattr(results, "n_done", 0), getattr(results, "n_cells", 0)
    told = f"Not finished: {done} of {cells} cells are done, and all that follows is of these."
    return said(told) if done < cells else ""


def _verdict(columns: Columns) -> str:
    level = level_of(columns)
    lines = "".join(
        f"<li><b>{html.escape(name)}</b>: {html.escape(what)}</li>" for name, what in verdicts(columns, level).items()
    )
    laws = len(levels_of(columns["distribution"]))
    over = f"over {laws} distributions" if laws > 1 else "of one distribution"
    told = (
        f"Of {100 * level:g}% intervals, {over}. A method holds where the median of its coverages is at most one point "
        "below the level, and the worst tenth at most three; of those that hold, the narrowest is named."
    )
    if np.any(columns.get("coverage_error", np.zeros(1)) > 0):
        told += (
            " A simulated coverage has a Monte-Carlo error, after ±: it is told to hold, or to miss, where it does so "
            f"within bounds that are right for all cells of a statistic together with {100 * SURE:g}% probability."
        )
    return f'<ul class="verdict">{lines}</ul>{said(told)}'


def _metric(tags: Sequence[str]) -> tuple[str, ...]:
    return ("metric",) if "metric" in tags else ()


def _design(columns: Columns, design: Mapping[str, Any]) -> str:
    """List what the rows are of, and the other fields of the study."""
    laws = levels_of(columns["distribution"])
    found = {
        "distributions": f"{len(laws)}: {', '.join(map(str, laws))}",
        "statistics": levels_of(columns["statistic"]),
        "methods": levels_of(columns["method"]),
        "levels": [f"{level:g}" for level in levels_of(columns["level"])],
        "sample sizes": sorted(levels_of(columns["n"])),
        "rows judged": len(columns["n"]),
    }
    found |= {name: value for name, value in design.items() if name not in TOLD and value not in ({}, [], None, "")}
    cells = "".join(
        f'<tr><td>{html.escape(name)}</td><td class="long">{html.escape(_cut(text(value)))}</td></tr>'
        for name, value in found.items()
    )
    summary = (
        f"{len(laws)} distributions, {len(levels_of(columns['method']))} methods, {len(columns['n']):,} rows judged"
    )
    return folded(summary, f'<div class="scroll"><table><tbody>{cells}</tbody></table></div>')


def _cut(what: str) -> str:
    return what if len(what) <= 500 else f"{what[:500]} …"


def _over_distributions(columns: Columns) -> str:
    """List mean coverage, and medians and quartiles of coverage and width over distributions."""
    by = summarized_by(columns)
    found = quartiles(columns)
    keys = list(zip(*(found[name].tolist() for name in by), strict=True))
    table: Columns = {name: found[name] for name in by}
    headings = named(by)
    if "covered_by_group" in columns:
        mean = averages(columns)
        found_by = zip(*(mean[name].tolist() for name in by), strict=True)
        values = zip(mean["coverage"].tolist(), mean["coverage_error"].tolist(), strict=True)
        means = {key: _with_error(*pair) for key, pair in zip(found_by, values, strict=True)}
        table["mean"] = np.array([means[key] for key in keys])
        headings["mean"] = "mean coverage (%)"
    for value, factor, heading in (("coverage", 100.0, "coverage (%)"), ("mean_width", 1.0, "mean width")):
        middle, q1, q3 = (factor * found[f"{value}_{part}"] for part in ("median", "q1", "q3"))
        digits = ".1f" if value == "coverage" else "#.3g"
        table[value] = np.array([_three(*one, digits) for one in zip(middle, q1, q3, strict=True)])
        headings[value] = f"{heading}, median (quartiles)"
    simulated = "mean" in table and bool(np.any(mean["coverage_error"] > 0))
    grouped = simulated and any(" " in text for text in columns["covered_by_group"].tolist())
    told = "The error of a mean heeds that distributions share resamples: it comes from the variance between groups."
    return (said(told) if grouped else "") + listing(table, headings)


def _infinite(columns: Columns) -> str:
    """Say which methods are enumerated for more resamples than the study has."""
    methods = of_infinitely_many(columns)
    told = (
        f"The coverage of {', '.join(methods)} for a share is that of infinitely many resamples: the study has too few."
    )
    return said(told) if methods else ""


def _with_error(coverage: float, error: float) -> str:
    if np.isnan(coverage):
        return NO_INTERVAL
    return f"{100 * coverage:.1f}" + (f" ± {100 * error:.1f}" if error > 0 else "")


def _three(median: float, q1: float, q3: float, digits: str) -> str:
    return f"{median:{digits}} ({q1:{digits}} to {q3:{digits}})" if np.isfinite(median) else NO_INTERVAL


def _each_distribution(columns: Columns) -> str:
    if len(levels_of(columns["distribution"])) > FEW:
        return ""
    names = (*SERIES, "n", "coverage", "coverage_error", "how", "below", "above", "invalid", "mean_width")
    shown = columns | {"coverage": _or_no_interval(columns["coverage"])}
    return listing(shown, named([name for name in names if name in columns]))


def _or_no_interval(values: np.ndarray) -> np.ndarray:
    return np.array([NO_INTERVAL if np.isnan(value) else text(value) for value in values.tolist()])


def _pace(columns: Columns, tags: Sequence[str]) -> str:
    by = (*_metric(tags), "statistic", "method", "level")
    paces = convergence_pace(columns, tags)
    found = groups(paces, by)
    q1, median, q3 = np.array([three_quartiles(paces["pace"][rows]) for rows in found.values()]).T
    largest = [_largest(paces["relative_error"][rows]) for rows in found.values()]
    out = table_by(by, list(found), pace_q1=q1, pace_median=median, pace_q3=q3, largest_relative_error=largest)
    told = said("Coverage = level + pace / n, fitted by least squares to each instance; quartiles over instances.")
    return told + listing(out, named(tuple(out)))


def _largest(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else np.nan


def _sizes(columns: Columns, tags: Sequence[str]) -> str:
    """Sample sizes of the median curve for every target that some curve reaches."""
    by = (*_metric(tags), "statistic", "method", "level")
    middle = quartiles(columns, by=(*by, "n"))
    curve = {name: middle[name] for name in (*by, "n")}
    curve |= {name: middle[f"{name}_median"] for name in ("coverage", "mean_width")}
    goals = [({"coverage": c}, f"coverage {c:g}") for c in COVERAGES] + [({"width": w}, f"width {w:g}") for w in WIDTHS]
    shown: Columns = {}
    for goal, heading in goals:
        found = required_n(curve, by=by, **goal)
        if found["reached"].any():
            shown |= {name: found[name] for name in by}
            shown[heading] = np.array(_size_cells(found))
    if not shown:
        return said("No target is reached within the sizes simulated.")
    told = said(
        "Of the median over instances, interpolated between simulated sizes. ≤: the smallest size is already enough; "
        "*: a larger simulated size misses the target again; –: not reached."
    )
    return told + listing(shown, named(tuple(shown)))


def _extrapolated(columns: Columns) -> str:
    """Median over instances of the widths at sizes beyond those simulated."""
    last = int(columns["n"].max())
    if not np.isfinite(columns["mean_width"]).any():
        return ""
    found = extrapolated_widths(columns, [last * times for times in BEYOND])
    known = {tuple(key): i for i, key in enumerate(zip(*(columns[name].tolist() for name in SERIES), strict=True))}
    same = [known[key] for key in zip(*(found[name].tolist() for name in SERIES), strict=True)]
    found |= {name: columns[name][same] for name in summarized_by(columns) if name not in (*SERIES, "n")}
    by = summarized_by(found)
    parts = groups(found, by)
    widths = [np.median(found["mean_width"][rows]) for rows in parts.values()]
    largest = [_largest(np.abs(found["error_within"][rows])) for rows in parts.values()]
    out = table_by(by, list(parts), median_of_mean_width=widths, largest_error_within=largest)
    told = said(
        "Width falls as 1 / sqrt(n) beyond the largest size; the error is what this rule has from at most half the "
        "largest size to it."
    )
    return told + listing(out, named(tuple(out)))


def _shifts(columns: Columns, whole: int) -> str:
    """List where intervals lie about the truth, and apart from those of the percentile bootstrap where it is judged."""
    if "mean_shift" not in columns or not np.isfinite(columns["mean_shift"]).any():
        return ""
    against = "percentile" if "percentile" in levels_of(columns["method"]) else None
    found = interval_shifts(columns, against=against)
    shares = [name for name in ("below", "above", "coverage_apart") if name in found]
    found |= {name: 100 * found[name] for name in shares}
    headings = named(tuple(found)) | {name: f"{name.replace('_', ' ')} (points)" for name in shares}
    told = (
        "Mean middle of the intervals less the truth, in units of the statistic and in widths, over instances; how "
        "often intervals lie wholly below and above the truth."
    )
    apart = "" if against is None else " Apart: less the same of the percentile bootstrap."
    once = " Of p and 1 - p the smaller one: their shifts are opposite." if len(columns["n"]) < whole else ""
    return said(told + apart + once) + listing(found, headings)


def _regressions(results: StudyTable, study: Any) -> str:
    """List slopes of the pace on skewness of mixed models, whose groups are tasks and metrics."""
    if not instances_of(study):
        return ""
    try:
        found = regressions(results.columns, results.tags, study, level_of(results.columns))
    except ImportError as error:
        return said(f"Left out: {error}.")
    if len(found["slope"]) == 0:
        return ""
    told = (
        "Pace = intercept + slope x skewness + an intercept of the task and metric of the instance, which is random; "
        "R2 (Nakagawa and Schielzeth 2013) of skewness alone, and with the random intercepts."
    )
    return said(told) + listing(found, named(tuple(found)))


def _instances(results: StudyTable, study: Any) -> str:
    """List shapes of the data, distances from what was fitted, and how the pace goes with both."""
    if not instances_of(study):
        return ""
    shaped, apart = shapes(study), ks_distances(study)
    places = {name: i for i, name in enumerate(apart["distribution"].tolist())}
    distance = [apart["distance"][places[x]] if x in places else np.nan for x in shaped["distribution"].tolist()]
    table = shaped | {"ks_distance": np.array(distance)}
    related = shape_and_pace(results.columns, results.tags, study)
    parts = [
        said(
            "Skewness and kurtosis of the data of each instance (0 and 3 for a normal law of values), and the "
            "Kolmogorov-Smirnov distance of the data from the law that was fitted."
        ),
        listing(table, named(tuple(table))),
    ]
    if len(related["statistic"]):
        parts += [
            said("Rank correlation of the convergence pace with skewness and kurtosis over instances."),
            listing(related, named(tuple(related))),
        ]
    return "".join(parts)


def _size_cells(found: Columns) -> list[str]:
    cells = []
    for size, reached, smallest, kept in zip(
        found["required_n"], found["reached"], found["at_smallest"], found["kept"], strict=True
    ):
        text = f"{'≤ ' if smallest else ''}{np.ceil(size - 1e-9):,.0f}{'' if kept else '*'}" if reached else "–"
        cells.append(text)
    return cells


def _failures(columns: Columns) -> str:
    found = failures(columns)
    told = said("Instances whose coverage lies below Q1 - 1.5 IQR of all instances in the same setting.")
    if len(found["fence"]) == 0:
        return told + said("There are none.")
    return told + listing(found, named([*SERIES, "n", "coverage", "fence"]))


def _flagged(columns: Columns) -> str:
    """List the rows that carry a flag, or some of whose intervals do not exist."""
    size = len(columns["n"])
    flags = columns.get("flags", np.full(size, "")).tolist()
    shares = columns.get("invalid", np.zeros(size)).tolist()
    missing = [
        NO_INTERVAL if share == 1 else f"{100 * share:.3g}% of the intervals do not exist" if share > 0 else ""
        for share in shares
    ]
    remark = np.array(["; ".join(filter(None, both)) for both in zip(flags, missing, strict=True)])
    if not np.any(remark != ""):
        return said("None.")
    return listing(take(columns | {"remark": remark}, remark != ""), named([*SERIES, "n", "remark"]))


def _learners(results: StudyTable) -> str:
    """List and draw coverage of each target, width and cost where the study is of learners."""
    if "coverage_expected" not in results.columns:
        return ""
    shown = ("coverage", "coverage_expected", "coverage_proxy", "median_width", "width_over_sd", "fits", "seconds")
    told = "Coverage of the risk, the expected risk and the proxy; width over sd: median width over that of estimates."
    table = listing(results.columns, named([*SERIES, "n", *shown, "target"]))
    return said(told) + table + pictures(*learners(results))
