"""Parts of an HTML page that needs no network: text, tables, pictures, sections."""

from __future__ import annotations

import base64
import datetime
import html
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.coverage.analysis import Columns, levels_of
from jaxci.printing import html_table, number, one_format, p_cell

MOST_ROWS = 400
"""Rows of a table beyond this are left out, and counted below it."""
LONG = 60
"""Cells of more characters are broken into lines."""
WIDE = 8.0
"""Pictures of more inches take the whole width of the page, others half of it."""
SETTINGS = ("metric", "statistic", "method", "level", "how")
"""Columns that are told once, above the table, where they hold one value."""

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid #ddd}
p,li{max-width:52rem}.note{color:#555}ul.verdict{padding-left:1.2rem}ul.verdict li{margin:.35rem 0}
.scroll{overflow:auto;max-height:36rem}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th{text-align:left;vertical-align:bottom;position:sticky;top:0;background:#f4f4f4}
th,td{padding:.2rem .7rem;border-bottom:1px solid #e5e5e5}
td{white-space:nowrap}td.long{white-space:normal;min-width:20rem}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem;align-items:start}
figure{margin:0;min-width:0}figure.wide{grid-column:1/-1;overflow-x:auto}
img{max-width:100%;height:auto}figcaption{color:#555;font-size:13px}
summary{cursor:pointer}
@media(max-width:700px){figure.wide img{max-width:none;width:44rem}td,th{padding:.2rem .4rem}}
"""


def document(title: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return the page: its title, and every section that has a body under its heading."""
    body = "".join(f"<section><h2>{html.escape(name)}</h2>{text}</section>" for name, text in sections if text)
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
    )
    return (
        f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{html.escape(title)}</h1>'
        f'<p class="note">Written by jaxci, {now}.</p>{body}</body></html>\n'
    )


def text(value: Any) -> str:
    """Format one cell of a table, or one field of the design."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {text(v)}" for key, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(text, value))
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else number(float(value))
    return str(value)


def named(names: Sequence[str]) -> dict[str, str]:
    """Return the headings of columns: their names, with spaces."""
    return {name: name.replace("_", " ") for name in names}


def listing(table: Columns, headings: Mapping[str, str]) -> str:
    """Render columns of a table under their ``headings``; settings of one value are told above it, once."""
    same = [name for name in headings if name in SETTINGS and len(levels_of(table[name])) == 1]
    kept = {name: heading for name, heading in headings.items() if name not in same}
    above = ", ".join(f"{headings[name]} {_cell(name, table[name].tolist()[0])}" for name in same)
    rows = list(zip(*(_column(name, table[name].tolist()[:MOST_ROWS]) for name in kept), strict=True))
    left_out = len(next(iter(table.values()))) - MOST_ROWS
    note = said(f"{left_out} more rows are left out.") if left_out > 0 else ""
    shown = html_table(list(kept.values()), rows, long=LONG)
    return (said(f"All rows: {above}.") if above else "") + f'<div class="scroll">{shown}</div>{note}'


def _column(name: str, values: Sequence[Any]) -> list[str]:
    """Return the cells of a column, its numbers in one format."""
    if name == "level" or "pvalue" in name or not all(isinstance(value, float) for value in values):
        return [_cell(name, value) for value in values]
    return ["" if np.isnan(value) else cell for value, cell in zip(values, one_format(values), strict=True)]


def _cell(name: str, value: Any) -> str:
    if name == "level":
        return f"{value:g}"
    return p_cell(value) if "pvalue" in name else text(value)


def said(what: str) -> str:
    """Return a line of explanation."""
    return f'<p class="note">{html.escape(what)}</p>'


def folded(summary: str, body: str) -> str:
    """Return what a reader opens by a click."""
    return f"<details><summary>{html.escape(summary)}</summary>{body}</details>"


def pictures(*figures: str) -> str:
    """Return pictures side by side, as many as there is room for."""
    return f'<div class="pictures">{"".join(figures)}</div>' if figures else ""


def picture(figure: Any, caption: str) -> str:
    """Return a figure of matplotlib as an image that the page holds itself."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=144, metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    width = round(figure.get_figwidth() * 96)
    told = html.escape(caption, quote=True)
    kind = ' class="wide"' if figure.get_figwidth() > WIDE else ""
    image = f'<img src="data:image/png;base64,{data}" alt="{told}" width="{width}">'
    return f"<figure{kind}>{image}<figcaption>{told}</figcaption></figure>"
