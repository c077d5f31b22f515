"""A coverage study on one self-contained HTML page."""

from __future__ import annotations

import base64
import datetime
import html
import io
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.coverage.analysis import (
    SERIES,
    Columns,
    StudyTable,
    averages,
    convergence_pace,
    failures,
    groups,
    levels_of,
    quartiles,
    require,
    required_n,
    summarized_by,
    take,
    three_quartiles,
)
from jaxci.coverage.instances import extrapolated_widths, instances_of, ks_distances, shape_and_pace, shapes
from jaxci.coverage.runner import Runnable
from jaxci.coverage.tally import NO_INTERVAL
from jaxci.printing import html_table, number
from jaxci.statistics.summary import QuantileStatistic

COVERAGES = (0.925, 0.94)
WIDTHS = (0.1, 0.05, 0.01)
"""Targets of the table of sample sizes, those of Andre et al. (2026)."""
BEYOND = (2, 10)
"""Multiples of the largest simulated size at which widths are extrapolated."""
FEW = 6
"""Studies of at most this many distributions list each of them."""
MOST_ROWS = 400
"""Rows of a table beyond this are left out, and counted below it."""

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid #ddd}
p{max-width:46rem}.note{color:#555}.scroll{overflow-x:auto;max-height:36rem;overflow-y:auto}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th{text-align:left;position:sticky;top:0;background:#f4f4f4}
th,td{padding:.2rem .7rem;border-bottom:1px solid #e5e5e5;white-space:nowrap}
figure{margin:1rem 0}img{max-width:100%;height:auto}figcaption{color:#555;font-size:13px}
"""


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
    pictures = _pictures(results)
    sections = [
        ("Design", _design(columns, design)),
        ("Coverage and width against n", "".join(pictures[:2])),
        ("Coverage by instance", "".join(pictures[2:3]) + _each_distribution(columns)),
        ("Mean coverage over distributions", _averages(columns)),
        ("Quartiles over distributions", _quartiles(columns)),
        ("Sample size needed", _sizes(columns, results.tags)),
        ("Widths beyond the sizes simulated", _extrapolated(columns)),
        ("Instances", _instances(results, study)),
        ("Convergence pace", "".join(pictures[3:4]) + _pace(columns, results.tags)),
        ("Coverage against the true value", "".join(pictures[4:])),
        ("Quantiles", "".join(_quantile_pictures(results))),
        ("Generalization error", "".join(_learners(results))),
        ("Failure cases", _failures(columns)),
        ("Flagged cells", _flagged(columns)),
        (
            "Not judged, or without meaning",
            "".join(map(_said, study.left_out())) if isinstance(study, Runnable) else "",
        ),
    ]
    body = "".join(f"<section><h2>{html.escape(name)}</h2>{text}</section>" for name, text in sections if text)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    page = (
        f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{html.escape(title)}</h1>'
        f'<p class="note">Written by jaxci, {now}.</p>{body}</body></html>\n'
    )
    out = pathlib.Path(path)
    out.write_text(page, encoding="utf-8")
    return out


def _text(value: Any) -> str:
    """Format one cell of a table, or one field of the design."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_text(v)}" for key, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else number(float(value))
    return str(value)


def _listing(table: Columns, headings: Mapping[str, str]) -> str:
    """Render columns of a table under their ``headings``, in a box that scrolls."""
    values = [table[name].tolist() for name in headings]
    rows = [
        [f"{cell:g}" if name == "level" else _text(cell) for name, cell in zip(headings, row, strict=True)]
        for row in zip(*values, strict=True)
    ]
    left_out = len(rows) - MOST_ROWS
    note = f'<p class="note">{left_out} more rows are left out.</p>' if left_out > 0 else ""
    return f'<div class="scroll">{html_table(list(headings.values()), rows[:MOST_ROWS])}</div>{note}'


def _said(text: str) -> str:
    return f'<p class="note">{html.escape(text)}</p>'


def _metric(tags: Sequence[str]) -> tuple[str, ...]:
    return ("metric",) if "metric" in tags else ()


def _named(names: Sequence[str]) -> dict[str, str]:
    return {name: name.replace("_", " ") for name in names}


def _design(columns: Columns, design: Mapping[str, Any]) -> str:
    """List the fields of the study, and what the rows themselves say."""
    found = {
        "distributions": len(levels_of(columns["distribution"])),
        "statistics": levels_of(columns["statistic"]),
        "methods": levels_of(columns["method"]),
        "levels": [f"{level:g}" for level in levels_of(columns["level"])],
        "sample sizes": sorted(levels_of(columns["n"])),
        "rows judged": len(columns["n"]),
    }
    rows = [[name, _text(value)] for name, value in found.items()]
    rows += [[f"study: {name}", _cut(_text(value))] for name, value in design.items() if name != "name"]
    return f'<div class="scroll">{html_table(["", ""], rows)}</div>'


def _cut(text: str) -> str:
    return text if len(text) <= 500 else f"{text[:500]} …"


def _quartiles(columns: Columns) -> str:
    by = summarized_by(columns)
    names = [f"{value}_{part}" for value in ("coverage", "mean_width") for part in ("q1", "median", "q3")]
    return _listing(quartiles(columns), _named([*by, "instances", *names]))


def _averages(columns: Columns) -> str:
    if "covered_by_group" not in columns:
        return ""
    by = summarized_by(columns)
    told = _said("The error heeds that distributions share resamples: it comes from the variance between groups.")
    return told + _listing(averages(columns), _named([*by, "instances", "coverage", "coverage_error"]))


def _each_distribution(columns: Columns) -> str:
    if len(levels_of(columns["distribution"])) > FEW:
        return ""
    names = (*SERIES, "n", "coverage", "coverage_error", "how", "below", "above", "invalid", "mean_width")
    return _listing(columns, _named([name for name in names if name in columns]))


def _pace(columns: Columns, tags: Sequence[str]) -> str:
    by = (*_metric(tags), "statistic", "method", "level")
    paces = convergence_pace(columns, tags)
    found = groups(paces, by)
    out: Columns = {name: np.array([key[j] for key in found]) for j, name in enumerate(by)}
    three = np.array([three_quartiles(paces["pace"][rows]) for rows in found.values()])
    out |= {"pace_q1": three[:, 0], "pace_median": three[:, 1], "pace_q3": three[:, 2]}
    out["largest_relative_error"] = np.array([_largest(paces["relative_error"][rows]) for rows in found.values()])
    told = _said("Coverage = level + pace / n, fitted by least squares to each instance; quartiles over instances.")
    return told + _listing(out, _named(tuple(out)))


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
        return _said("No target is reached within the sizes simulated.")
    told = _said(
        "Of the median over instances, interpolated between simulated sizes. ≤: the smallest size is already enough; "
        "*: a larger simulated size misses the target again; –: not reached."
    )
    return told + _listing(shown, _named(tuple(shown)))


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
    out: Columns = {name: np.array([key[j] for key in parts]) for j, name in enumerate(by)}
    out["median_of_mean_width"] = np.array([np.median(found["mean_width"][rows]) for rows in parts.values()])
    out["largest_error_within"] = np.array([_largest(np.abs(found["error_within"][rows])) for rows in parts.values()])
    told = _said(
        "Width falls as 1 / sqrt(n) beyond the largest size; the error is what this rule has from at most half the "
        "largest size to it."
    )
    return told + _listing(out, _named(tuple(out)))


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
        _said(
            "Skewness and kurtosis of the data of each instance (0 and 3 for a normal law of values), and the "
            "Kolmogorov-Smirnov distance of the data from the law that was fitted."
        ),
        _listing(table, _named(tuple(table))),
    ]
    if len(related["statistic"]):
        parts += [
            _said("Rank correlation of the convergence pace with skewness and kurtosis over instances."),
            _listing(related, _named(tuple(related))),
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
    told = _said("Instances whose coverage lies below Q1 - 1.5 IQR of all instances in the same setting.")
    if len(found["fence"]) == 0:
        return told + _said("There are none.")
    return told + _listing(found, _named([*SERIES, "n", "coverage", "fence"]))


def _flagged(columns: Columns) -> str:
    """List the rows that carry a flag, or some of whose intervals do not exist."""
    size = len(columns["n"])
    flags = columns.get("flags", np.full(size, "")).tolist()
    shares = columns.get("invalid", np.zeros(size)).tolist()
    missing = [
        NO_INTERVAL if share == 1 else f"{100 * share:.2g}% of the intervals do not exist" if share > 0 else ""
        for share in shares
    ]
    remark = np.array(["; ".join(filter(None, both)) for both in zip(flags, missing, strict=True)])
    if not np.any(remark != ""):
        return _said("None.")
    return _listing(take(columns | {"remark": remark}, remark != ""), _named([*SERIES, "n", "remark"]))


def _pictures(results: StudyTable) -> list[str]:
    """Draw the pictures: coverage, width, boxes, pace and, for many true values, the saw tooth."""
    from jaxci import plots

    pictures = [
        _picture(plots.coverage_against_n(results), "Coverage against sample size"),
        _picture(plots.width_against_n(results), "Mean width against sample size"),
        _picture(plots.coverage_boxes(results), "Coverage of every instance, with quartiles"),
        _picture(plots.pace_by_statistic(results), "Convergence pace of every instance, with quartiles"),
    ]
    for statistic in _swept(results.columns):
        figure = plots.saw_tooth(results, statistic=statistic)
        pictures.append(_picture(figure, f"Coverage of {statistic} against its true value"))
    return pictures


def _swept(columns: Columns) -> list[str]:
    """Return the statistics with many true values over distributions named by a proportion ``p=``."""
    if "truth" not in columns:
        return []
    named = np.array([re.search(r"(^|\()p=", name) is not None for name in columns["distribution"].tolist()])
    statistics = levels_of(columns["statistic"][named])
    return [s for s in statistics if len(levels_of(columns["truth"][named & (columns["statistic"] == s)])) > FEW]


def _picture(figure: Any, caption: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=144, metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    width = round(figure.get_figwidth() * 96)
    text = html.escape(caption, quote=True)
    image = f'<img src="data:image/png;base64,{data}" alt="{text}" width="{width}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _quantile_pictures(results: StudyTable) -> list[str]:
    """Draw coverage and width of quantile intervals where the study has several quantiles."""
    from jaxci.plots import quantiles as plots_quantiles

    statistics = getattr(getattr(results, "study", None), "named_statistics", {})
    if sum(isinstance(statistic, QuantileStatistic) for statistic in statistics.values()) < 2:
        return []
    methods = tuple(m for m in plots_quantiles.PAPER if m in results.columns["method"].tolist())
    if not methods:
        return []
    pictures = []
    for n in sorted(set(results.columns["n"].tolist())):
        for value, what in (("coverage", "Coverage"), ("mean_width", "Width over the interdecile range")):
            figure = plots_quantiles.quantile_panels(results, value=value, n=n, methods=methods)  # type: ignore[arg-type]
            pictures.append(_picture(figure, f"{what} of quantile intervals, n = {n}"))
    return pictures


def _learners(results: StudyTable) -> list[str]:
    """List and draw coverage of each target, width and cost where the study is of learners."""
    from jaxci.plots import generalization as plots_generalization

    if "coverage_expected" not in results.columns:
        return []
    sizes = sorted(set(results.columns["n"].tolist()))
    targets = [
        _picture(plots_generalization.target_coverage(results, n=n), f"Coverage of each target, n = {n}") for n in sizes
    ]
    shown = ("coverage", "coverage_expected", "coverage_proxy", "median_width", "width_over_sd", "fits", "seconds")
    return [
        _said(
            "Coverage of the risk, the expected risk and the proxy; width over sd: median width over that of estimates."
        ),
        _listing(results.columns, _named([*SERIES, "n", *shown, "target"])),
        *targets,
        _picture(plots_generalization.coverage_against_width(results), "Coverage of the risk against relative width"),
        _picture(plots_generalization.cost_against_n(results), "Fits and time of one interval"),
    ]
