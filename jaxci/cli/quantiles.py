"""The command ``quantile``: quantiles of the results of training runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxci.cli.options import Bounds, Csv, Json, Level, Seed, Sep, apart, naming, numbers, working, writable

if TYPE_CHECKING:
    from jaxci.api.quantile_results import QuantileInterval

Runs = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet or JSON-lines file, one row per run; or the file that run_seeds wrote.",
        show_default=False,
        callback=apart,
    ),
]


def quantile(
    file: Runs,
    column: Annotated[str, typer.Option(metavar="COL", help="Column, or metric, of the results.")],
    by: Annotated[str | None, typer.Option(metavar="COL", help="Column that names the groups to compare.")] = None,
    q: Annotated[str, typer.Option("--q", metavar="Q,...", help="Probabilities of the quantiles.")] = "0.1,0.5,0.9",
    method: Annotated[str, typer.Option(help="See jaxci.quantile_interval.")] = "auto",
    level: Level = 0.95,
    bounds: Bounds = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="OUT", help="Also draw them (PNG, SVG).", callback=writable)
    ] = None,
    goal: Annotated[
        str | None, typer.Option(metavar="higher|lower", help="Which results are good: a NaN is then the worst run.")
    ] = None,
    seed: Seed = None,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Quantiles of the results of training runs, group by group."""
    probabilities = list(numbers("--q", q))
    limits = None if bounds is None else numbers("--bounds", bounds)
    with working("reading"):
        import jaxci
        from jaxci.api.readers.tables import read_columns
        from jaxci.cli.tables import holds_runs, read_runs_file, write_csv, write_json
        from jaxci.coverage.bundled import instances

        named = [by] if by else []
        wanted = [column, *named]
        runs = holds_runs(file)
        texts = naming(by, beside=[column])
        columns = read_runs_file(file, wanted) if runs else read_columns(file, wanted, sep, texts=texts)
        rows, _ = instances(columns, [by] if by else [])
        found: dict[str, QuantileInterval] = {}
        for name, chosen in rows.items():
            if by and len(chosen) < 2:
                raise ValueError(f"--by {by} must give at least 2 values a group; {name!r} has one")
            try:
                found[name] = jaxci.quantile_interval(
                    columns[column][chosen],
                    probabilities,
                    method=method,
                    confidence_level=level,
                    bounds=limits,
                    goal=goal,
                    rng=seed,
                )
            except ValueError as error:
                if not by:
                    raise
                raise ValueError(f"{error}; rows are those where {by} is {name}") from None
            seed = found[name].rng if seed is None else seed  # one for all, which is shown
    if plot is not None:
        from jaxci.plots.quantiles import interval_bars
        from jaxci.whole_files import whole_file

        try:
            with whole_file(plot if plot.suffix else plot.with_suffix(".png")) as draft:
                interval_bars(found).savefig(draft)
        except ValueError as error:  # an unknown ending of the name
            raise ValueError(f"--plot {plot}: {error}") from None
    from jaxci.cli.display import page, show_quantiles

    show_quantiles(page(), found, by or "")
    records = [{"group": name, "n": one.n, **record} for name, one in found.items() for record in one.records()]
    if json is not None:
        write_json(json, {name: one.to_dict() for name, one in found.items()})
    if csv is not None:
        write_csv(csv, records)
