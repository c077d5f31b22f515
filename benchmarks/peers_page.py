"""What ``peers.py`` found, as text, as the page docs/speed.md and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from peers_calls import PEERS
from peers_cases import CURVES

EXACT, DRAWN = "jaxci (exact)", "jaxci (drawn)"
START, END = "<!-- figures: written by peers.py --page -->", "<!-- end of the figures -->"


def seconds_text(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{1e3 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:,.0f} s"


def times_text(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99.5 else f"{float(f'{ratio:.2g}'):,.0f}"


def cells_of(name: str, row: dict[str, Any]) -> list[str]:
    """Cells of one row: peer, time, CPU time, three ratios, memory, error, verdict."""
    if row["status"] != "ok":
        return [name, row["status"], *[""] * 7]
    mark = f" (scaled from {row['resamples']:,})" if row["scaled"] else " (once)" if row["repeats"] == 1 else ""
    return [
        name,
        seconds_text(row["seconds"]) + mark,
        seconds_text(row["cpu_seconds"]),
        *(times_text(row[key]) if key in row else "" for key in ("ratio", "ratio_cpu", "ratio_drawn")),
        f"{row['peak_mib']:,.0f}" if row.get("peak_mib") else "",
        f"{row['error']:.2g} of {row['monte_carlo_error'] + 0.01:.2g}" if "error" in row else "",
        row.get("verdict", ""),
    ]


def lines_of(entry: dict[str, Any]) -> list[str]:
    """Lines of one case, as they are printed."""
    lines = [entry["title"]]
    for name, row in entry["rows"].items():
        if row["status"] != "not served":
            cells = cells_of(name, row)
            widths = (22, 30, 9, 9, 9, 9, 9, 16, 26)
            lines.append("  " + " ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())
            if row.get("note"):
                lines.append(f"    {row['note']}")
    without = [name for name, row in entry["rows"].items() if row["status"] == "not served"]
    return [*lines, *([f"  has no such thing: {', '.join(without)}"] if without else [])]


def figures(found: dict[str, Any]) -> str:
    """Return the part of the page that holds figures, in Markdown."""
    names = [name for name in PEERS if name != EXACT]
    kept = [entry for entry in found["cases"] if entry["goal"] is None]
    versions = ", ".join(f"{name} {v}" for name, v in found["versions"].items() if name not in (EXACT, "jaxci"))
    where = found["machine"]
    lines = [
        f"{where['processor']}, {where['cores']} cores, {where['date']}; {versions.replace(DRAWN, 'jaxci')}.",
        "",
        "| case | jaxci | " + " | ".join("drawn" if name == DRAWN else name for name in names) + " |",
        "| --- |" + " --- |" * (len(names) + 1),
    ]
    for entry in kept:
        rows = entry["rows"]
        default = rows.get(EXACT, {}) if rows.get(EXACT, {}).get("status") == "ok" else rows.get(DRAWN, {})
        cells = [entry["title"], seconds_text(default["seconds"]) if default else entry.get("note", "")]
        for name in names:
            row = rows.get(name, {"status": "not served"})
            if row["status"] != "ok":
                cells.append("" if row["status"] == "not served" else row["status"])
                continue
            wrong = " wrong" if row["verdict"] == "wrong" else ""
            cells.append(f"{times_text(row['ratio'])}{'*' if row['scaled'] else ''}{wrong}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *faster(kept)]
    lines += [
        "",
        "| jaxci alone | seconds | goal | CPU seconds | first call | MiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in found["cases"]:
        row = entry["rows"].get("jaxci")
        if row is None:
            continue
        if row["status"] != "ok":
            lines.append(f"| {entry['title']} | {row['status']} | {entry['goal']:.0f} s, missed | | | |")
            continue
        met = f"{entry['goal']:.0f} s, {'met' if row['seconds'] <= entry['goal'] else 'missed'}"
        first = f"{row['first_seconds']:.1f}" if "first_seconds" in row else ""
        cells = [f"{row['seconds']:.2f}", met, f"{row['cpu_seconds']:.2f}", first, f"{row['peak_mib']:,.0f}"]
        lines.append("| " + " | ".join([entry["title"], *cells]) + " |")
    lines += [
        "",
        "| case | library | time | CPU time | times jaxci | in CPU time | times drawn | MiB | error | answer |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for entry in kept:
        for name, row in entry["rows"].items():
            if row["status"] != "not served":
                lines.append("| " + " | ".join([entry["title"], *cells_of(name, row)]) + " |")
    return "\n".join(lines)


def faster(entries: list[dict[str, Any]]) -> list[str]:
    """Say who was faster than jaxci by default and than its drawn resamples."""
    lines = []
    for against, wall in (("jaxci by default", "ratio"), ("jaxci's drawn resamples", "ratio_drawn")):
        lines.append(f"Faster than {against}, with the multiple of its time:")
        found = []
        for entry in entries:
            rows = {k: row for k, row in entry["rows"].items() if row["status"] == "ok" and k not in (EXACT, DRAWN)}
            ahead = sorted((row[wall], name) for name, row in rows.items() if row.get(wall, 1.0) < 1)
            if ahead:
                found.append(f"- {entry['title']}: " + ", ".join(f"{name} {times_text(r)}" for r, name in ahead))
        lines += [*(found or ["- none"]), ""]
    return lines[:-1]


def rewritten(page: str, found: dict[str, Any]) -> str:
    """Return the page with its figures replaced by those that were found."""
    before, rest = page.split(START)
    return f"{before}{START}\n\n{figures(found)}\n\n{END}{rest.split(END)[1]}"


COLORS = {  # Okabe and Ito's, which the colour-blind tell apart
    EXACT: "#000000",
    DRAWN: "#D55E00",
    "SciPy": "#0072B2",
    "arch": "#56B4E9",
    "foostrap": "#009E73",
    "bootstrapx": "#CC79A7",
    "rapidstats": "#E69F00",
    "rapidstats (Poisson)": "#9A7B00",
    "torchmetrics": "#777777",
}


def plot(found: dict[str, Any], path: Path) -> None:
    """Draw time against n and against B, log-log, each line named at its end."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    titles = {"curve-n": "B = 9,999 resamples", "curve-B": "n = 10,000 rows"}
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 5.4), sharey=True, layout="constrained")
    for ax, (curve, title) in zip(axes, titles.items(), strict=True):
        ends = []
        for name, row in found["curves"][curve].items():
            points = row.get("points", [])
            if not points:
                continue
            x = [point["n" if curve == "curve-n" else "b"] for point in points]
            y = [point["seconds"] for point in points]
            ours = name in (EXACT, DRAWN)
            ax.plot(x, y, color=COLORS[name], lw=2.5 if ours else 1.3, zorder=3 if ours else 2)
            for point, a, s in zip(points, x, y, strict=True):
                ax.plot(a, s, "o", ms=5, mec=COLORS[name], mfc="white" if point["scaled"] else COLORS[name], zorder=4)
            ends.append((x[-1], y[-1], name))
        ax.set(xscale="log", yscale="log", title=f"percentile interval of a mean, {title}")
        ax.set_xlabel("rows n" if curve == "curve-n" else "resamples B")
        ax.grid(alpha=0.25, lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        low, high = ax.get_ylim()
        ax.set_xticks([point[0 if curve == "curve-n" else 1] for point in CURVES[curve]])
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.set_xlim(ax.get_xlim()[0], ax.get_xlim()[1] * 14)
        heights = spread([np.log10(y) for _, y, _ in ends], 0.045 * np.log10(high / low))
        for (x_end, y_end, name), height in zip(ends, heights, strict=True):
            style = {"color": COLORS[name], "lw": 0.6, "alpha": 0.6}
            ax.plot([x_end, x_end * 1.5], [y_end, 10**height], **style)
            ax.text(x_end * 1.6, 10**height, name, color=COLORS[name], va="center", fontsize=9)
    axes[0].set_ylabel("seconds, warm (hollow: scaled from fewer resamples)")
    figure.savefig(path, dpi=110)


def spread(heights: list[float], gap: float) -> list[float]:
    """Heights moved apart so that labels do not cover each other."""
    order = np.argsort(heights)
    moved = np.array(heights, dtype=float)[order]
    for _ in range(200):
        for i in range(len(moved) - 1):
            short = gap - (moved[i + 1] - moved[i])
            if short > 0:
                moved[i] -= short / 2
                moved[i + 1] += short / 2
    found = np.empty(len(moved))
    found[order] = moved
    return found.tolist()
