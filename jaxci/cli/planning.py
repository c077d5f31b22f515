"""The command ``plan``: how many cases a width takes, or a difference of two models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxci.cli.options import (
    Bounds,
    DrawnResamples,
    Groups,
    Json,
    Level,
    Method,
    Seed,
    Sep,
    labels_in,
    listed,
    naming,
    numbers,
    split,
    working,
)


def _pilot(metric: str, file: Path, sep: str | None, columns: dict[str, str | None], *, of_two: bool) -> dict[str, Any]:
    """Return pilot data as :func:`jaxci.plan` takes them, of one model or ``of_two``; ``columns`` are by option."""
    from jaxci.api.readers.tables import as_scores, read_columns

    scores, models = split(columns["score"]), split(columns["models"])
    if sum(columns[option] is not None for option in ("pred", "score", "values", "models")) != 1:
        raise ValueError("--pilot needs one of --pred, --score, --values and --models")
    if of_two != bool(models):
        raise ValueError(
            "--power compares two models: name their columns by --models"
            if of_two
            else "--models goes with --power: of one model pass --pred, --score or --values"
        )
    if models and len(models) != 2:
        raise ValueError(f"--models must name the columns of two models; got {columns['models']}")
    named = {"y_true": columns["target"], "y_pred": columns["pred"], "values": columns["values"]}
    named |= {"groups": columns["groups"], **dict(zip(("prediction_a", "prediction_b"), models, strict=False))}
    held = {name: column for name, column in named.items() if column is not None}
    others = [*scores, *(column for name, column in held.items() if name != "groups")]
    read = read_columns(
        file,
        [*held.values(), *scores],
        sep,
        texts=naming(columns["groups"], beside=others),
        labels=labels_in(columns["target"], [columns["pred"], *models], [metric]),
    )
    found = {name: read[column] for name, column in held.items()}
    return found | ({"y_score": as_scores(read, scores)} if scores else {})


FORMS = {
    "values": "--mean and --sd, or --pilot with --values",
    "labels": (
        "--table; --prevalence, --sensitivity and --specificity; --auc and --prevalence; "
        "or --pilot with --target and --pred"
    ),
    "scores": "--auc and --prevalence, or --pilot with --target and --score",
    "targets": "--pilot with --target and --pred",
}
"""What tells a plan what is expected of metrics that read columns of each kind."""


def _expected(value: float | None, table: str | None, parts: dict[str, float | None]) -> Any:
    """Return what is expected as :func:`jaxci.plan` takes it."""
    named = {name: part for name, part in parts.items() if part is not None}
    given = [text for text, one in (("--expected", value), ("--table", table)) if one is not None]
    if len(given) + bool(named) > 1:
        raise ValueError(f"{given[0]} tells all that is expected: leave out --{next(iter([*named, 'table']))}")
    if table is not None:
        return [list(numbers("--table", row)) for row in table.split(";")]
    if value is None and not named:
        raise ValueError(
            "plan needs --expected, --table, --prevalence, --auc, --sd, -a and -b, or --pilot: what is expected"
        )
    return named if value is None else value


def plan(
    metric: Annotated[
        str, typer.Argument(metavar="METRIC", help="One metric; see 'jaxci metrics'.", show_default=False)
    ],
    expected: Annotated[float | None, typer.Option(help="Value of a share of all cases, such as accuracy.")] = None,
    table: Annotated[
        str | None, typer.Option(metavar="ROW;ROW;...", help="Table of true by predicted classes: '90,10;5,45'.")
    ] = None,
    prevalence: Annotated[float | None, typer.Option(help="Share of positive cases.")] = None,
    sensitivity: Annotated[float | None, typer.Option(help="Recall of the positive class.")] = None,
    specificity: Annotated[float | None, typer.Option(help="Recall of the negative class.")] = None,
    auc: Annotated[float | None, typer.Option(help="Area under the ROC curve of normal scores.")] = None,
    mean: Annotated[float | None, typer.Option(help="Mean of the values by case.")] = None,
    sd: Annotated[
        float | None, typer.Option(help="Standard deviation of the values, or with --power of differences.")
    ] = None,
    a: Annotated[float | None, typer.Option("--a", "-a", help="Metric of model a, with --power.")] = None,
    b: Annotated[float | None, typer.Option("--b", "-b", help="Metric of model b, with --power.")] = None,
    discordant: Annotated[float | None, typer.Option(help="Share of cases of which one model alone is right.")] = None,
    correlation: Annotated[float | None, typer.Option(help="Correlation of the models' scores within a class.")] = None,
    pilot: Annotated[Path | None, typer.Option(metavar="FILE", help="Cases like those to come, a row each.")] = None,
    target: Annotated[str | None, typer.Option(metavar="COL", help="Column of the true labels in --pilot.")] = None,
    pred: Annotated[str | None, typer.Option(metavar="COL", help="Column of predictions.")] = None,
    score: Annotated[str | None, listed("COL,...", "Columns of scores.")] = None,
    values: Annotated[str | None, typer.Option(metavar="COL", help="Column of values by case.")] = None,
    models: Annotated[str | None, listed("COL,COL", "Columns of two models, with --power.")] = None,
    groups: Groups = None,
    sep: Sep = None,
    width: Annotated[float | None, typer.Option(help="Width of the interval, low to high.")] = None,
    assurance: Annotated[float | None, typer.Option(help="Share of samples that must be so narrow.")] = None,
    difference: Annotated[float | None, typer.Option(help="Difference of two models to be seen.")] = None,
    power: Annotated[float | None, typer.Option(help="Probability of seeing it.")] = None,
    method: Method = "auto",
    level: Level = 0.95,
    bounds: Bounds = None,
    icc: Annotated[float | None, typer.Option(help="Intraclass correlation of rows in clusters.")] = None,
    cluster_size: Annotated[
        int | None, typer.Option(metavar="N", help="Rows of a cluster; of uneven ones sum m^2 / sum m.")
    ] = None,
    replications: Annotated[int, typer.Option(metavar="N", help="Simulated data sets of each size.")] = 1_000,
    resamples: DrawnResamples = 1_999,
    seed: Seed = None,
    json: Json = None,
) -> None:
    """How many cases an interval of a given width takes, or a difference of two models seen with given power."""
    parts = {"prevalence": prevalence, "sensitivity": sensitivity, "specificity": specificity, "auc": auc}
    parts |= {"mean": mean, "sd": sd, "a": a, "b": b, "discordant": discordant, "correlation": correlation}
    if power is not None and expected is not None:
        if a is not None:
            raise ValueError("--expected is the metric of model a, as -a is: leave out one of them")
        expected, parts["a"] = None, expected
    columns = {"target": target, "pred": pred, "score": score, "values": values, "models": models, "groups": groups}
    given = [name for name, one in {"expected": expected, "table": table, **parts}.items() if one is not None]
    if pilot is not None and given:
        raise ValueError(f"--pilot tells all that is expected: leave out --{given[0]}")
    if pilot is None and (lost := [option for option, column in columns.items() if column is not None]):
        raise ValueError(f"--{lost[0]} names a column of --pilot, which is not given")
    if pilot is None and sep is not None:
        raise ValueError("--sep is of the file --pilot, which is not given")
    for of_one, given_as in ((mean, "--mean"), (sensitivity, "--sensitivity"), (specificity, "--specificity")):
        if of_one is not None and power is not None:
            raise ValueError(f"{given_as} goes with --width; with --power pass -a and -b")
    for option in ("a", "b", "discordant", "correlation"):
        if parts[option] is not None and power is None:
            raise ValueError(f"--{option} goes with --power")
    if mean is not None and sd is None:
        raise ValueError("--mean needs --sd: the standard deviation of the values")
    if pilot is None:
        known = _expected(expected, table, parts)
    else:
        known = _pilot(metric, pilot, sep, columns, of_two=power is not None)
    options = {} if bounds is None else {"bounds": numbers("--bounds", bounds)}
    with working("planning") as advance:
        import jaxci
        from jaxci.api.readers.expected import TooLittleExpected

        try:
            found = jaxci.plan(
                metric,
                expected=known,
                width=width,
                difference=difference,
                power=power,
                assurance=assurance,
                confidence_level=level,
                method=method,
                icc=icc,
                cluster_size=cluster_size,
                n_replications=replications,
                n_resamples=resamples,
                rng=seed,
                progress=advance,
                **options,
            )
        except TooLittleExpected as error:
            raise ValueError(f"{error.amiss}. Pass {FORMS[error.kind]}") from None
    from jaxci.cli.display import show_and_write, show_seeded

    show_and_write(found, json, how=show_seeded)
