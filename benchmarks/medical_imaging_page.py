"""What came out of the designs of Andre et al. (2026), as tables of a page: see ``medical_imaging_paper.py``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

START, END = "<!-- figures: written by medical_imaging_paper.py --page -->", "<!-- end of figures -->"
SIZES = (10, 25, 50, 150, 250)


def table(header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> list[str]:
    """Return the lines of a table."""
    header = list(header)
    return [f"| {' | '.join(map(str, row))} |" for row in (header, ["---"] * len(header), *rows)]


def percent(share: float) -> str:
    """Return a coverage in percent."""
    return f"{100 * share:.1f}"


def of(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """Return the row of a table of medians that has the values wanted."""
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def size(found: dict[str, Any]) -> str:
    """Return a sample size, and in how many instances it is reached."""
    n = found["median n"]
    return f"{n:.0f} ({found['reached']})" if n != float("inf") else f"not reached ({found['reached']})"


def _segmentation(found: dict[str, Any]) -> list[str]:
    dice = found["mean Dice, coverage and width by method and n"]
    summaries = found["Dice, coverage by summary, method and n"]
    medians = found["BCa of a median by metric and n"]
    methods = list(dict.fromkeys(row["method"] for row in dice))
    kinds = list(dict.fromkeys(row["statistic"] for row in summaries))
    metrics = list(dict.fromkeys(row["metric"] for row in medians))

    def covered(row: dict[str, Any]) -> str:
        return f"{percent(row['coverage_median'])} ({percent(row['coverage_q1'])})"

    lines = ["Coverage of the mean Dice, median over the instances (first quartile), and median width at n = 50:", ""]
    lines += table(
        ["method", *(f"n = {n}" for n in SIZES), "width"],
        [
            [
                f"`{method}`",
                *(covered(of(dice, method=method, n=n)) for n in SIZES),
                f"{of(dice, method=method, n=50)['mean_width_median']:.3f}",
            ]
            for method in methods
        ],
    )
    lines += ["", "Sizes at which the mean Dice has a coverage of 92.5%, and intervals a width of .1:", ""]
    reached = (found["n for 92.5% coverage (mean Dice)"], found["n for width 0.1 (mean Dice)"])
    lines += table(["method", "92.5%", "width .1"], [[f"`{m}`", *(size(one[m]) for one in reached)] for m in methods])
    lines += ["", "Coverage of summaries of Dice by the percentile bootstrap, and how fast it converges (pace):", ""]
    paces = found["pace by summary (Dice, percentile)"]
    lines += table(
        ["summary", *(f"n = {n}" for n in SIZES), "pace"],
        [
            [
                kind.replace("_", " "),
                *(covered(of(summaries, statistic=kind, method="percentile", n=n)) for n in SIZES),
                f"{paces[kind]:.2f}",
            ]
            for kind in kinds
        ],
    )
    lines += ["", "Pace of the mean by metric, percentile bootstrap:", ""]
    paces = found["pace by metric (mean, percentile)"]
    lines += table(paces, [[f"{pace:.2f}" for pace in paces.values()]])
    lines += ["", "Coverage of a median by BCa:", ""]
    return lines + table(
        ["metric", *(f"n = {n}" for n in SIZES)],
        [[metric, *(covered(of(medians, metric=metric, n=n)) for n in SIZES)] for metric in metrics],
    )


def _classification(name: str, found: dict[str, Any]) -> list[str]:
    metrics = [metric for metric, value in found.items() if isinstance(value, dict)]
    rows = []
    for metric in metrics:
        one = found[metric]
        methods = [m for m in ("wilson", "percentile", "basic", "bca", "proper_bayesian") if m in one]
        for method in methods:
            covered = dict(zip(one["n"], one[method]["coverage"], strict=True))
            shown = [percent(covered[n]) if n in covered and covered[n] == covered[n] else "" for n in (*SIZES, 1000)]
            reached = (one["n for 94% coverage"][method], one["n for width 0.1"][method])
            rows.append([metric, f"`{method}`", *shown, *(_one_size(x) for x in reached)])
    header = ["metric", "method", *(f"n = {n}" for n in (*SIZES, 1000)), "n for 94%", "n for width .1"]
    return [f"## {name}", "", *table(header, rows)]


def _one_size(found: dict[str, Any]) -> str:
    return f"{found['median n']:.0f}" if found["median n"] != float("inf") else "beyond"


def _headlines(found: dict[str, Any]) -> list[str]:
    """Return the paper's headlines beside what came out."""
    rows: list[list[str]] = []
    if "segmentation" in found:
        one = found["segmentation"]
        dice = one["mean Dice, coverage and width by method and n"]
        at_ten = {m: of(dice, method=m, n=10)["coverage_median"] for m in dict.fromkeys(row["method"] for row in dice)}
        boots = [at_ten[m] for m in ("percentile", "basic", "bca")]
        paces = sorted(one["pace by metric (mean, percentile)"].items(), key=lambda pair: pair[1])
        summaries = sorted(one["pace by summary (Dice, percentile)"].items(), key=lambda pair: pair[1])
        medians = one["BCa of a median by metric and n"]
        rows += [
            ["mean Dice at n = 10, t", "92.5%", f"{percent(at_ten['t'])}%"],
            ["the same, three bootstraps", "88 to 89%", f"{percent(min(boots))} to {percent(max(boots))}%"],
            ["the same, `proper_bayesian`", "", f"{percent(at_ten['proper_bayesian'])}%"],
            ["cases for a width of .1 of the mean Dice", "about 50", size(one["n for width 0.1 (mean Dice)"]["t"])],
            ["metrics whose mean converges slowest", "ASSD, MASD", ", ".join(name for name, _ in paces[:2])],
            ["summary that converges slowest", "spread", ", ".join(name for name, _ in summaries[:2])],
            [
                "BCa of a median, n = 10 and 250",
                "falls, HD95 most",
                "; ".join(
                    f"{m} {percent(of(medians, metric=m, n=10)['coverage_median'])}, "
                    f"{percent(of(medians, metric=m, n=250)['coverage_median'])}%"
                    for m in ("dice", "hd95")
                ),
            ],
        ]

    def each(metric: str, method: str, n: int) -> str:
        found_here = []
        for value in found.values():
            one = value.get(metric) if isinstance(value, dict) else None
            if one and n in one["n"]:
                found_here.append(percent(one[method]["coverage"][one["n"].index(n)]))
        return " / ".join(found_here) + "%"

    def sizes_of(metric: str, method: str, target: str) -> str:
        values = [value[metric][target] for value in found.values() if isinstance(value, dict) and metric in value]
        return " / ".join(_one_size(one[method]) for one in values)

    if any(isinstance(value, dict) and "accuracy" in value for value in found.values()):
        rows += [
            ["accuracy at n = 10, Wilson", "about 95%", each("accuracy", "wilson", 10)],
            ["the same, percentile", "91%", each("accuracy", "percentile", 10)],
            ["the same, BCa", "88%", each("accuracy", "bca", 10)],
            ["rows for 94% coverage of accuracy", "about 50", sizes_of("accuracy", "percentile", "n for 94% coverage")],
            [
                "of balanced accuracy",
                "three times as many",
                sizes_of("balanced_accuracy", "percentile", "n for 94% coverage"),
            ],
            ["rows for a width of .1 of accuracy", "about 250", sizes_of("accuracy", "wilson", "n for width 0.1")],
            *(
                [f"macro average precision at n = 50, {m}", told, each("average_precision_macro", m, 50)]
                for m, told in (("percentile", ""), ("basic", "above percentile"), ("bca", "above percentile"))
            ),
        ]
    return ["## Beside the paper's headlines", "", *table(["headline", "paper", "here"], rows)]


def figures(found: dict[str, Any]) -> str:
    """Return the figures of a file as text."""
    machine, numbers = found["machine"], found["numbers"]
    parts = [name for name, value in found.items() if isinstance(value, dict) and "cells" in value]
    lines = [
        f"{numbers['replications']:,} data sets, {numbers['resamples']} resamples, {numbers['groups']} groups; "
        f"{machine['cores']} cores ({machine['system']}), {machine['date']}.",
        "",
        *table(["part", "cells", "seconds of the cells"], [[p, found[p]["cells"], found[p]["seconds"]] for p in parts]),
    ]
    lines += ["", *_headlines(found)]
    for name in parts:
        lines.append("")
        lines += ["## Segmentation", "", *_segmentation(found[name])] if name == "segmentation" else []
        lines += _classification(name, found[name]) if name != "segmentation" else []
    return "\n".join(lines)


def rewritten(page: str, found: dict[str, Any]) -> str:
    """Return the page with its figures replaced by those that were found."""
    before, rest = page.split(START)
    return f"{before}{START}\n\n{figures(found)}\n\n{END}{rest.split(END)[1]}"
