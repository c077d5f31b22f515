"""The commands ``jaxci generalization`` and ``jaxci losses``: how well a learner does on data it has not seen."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import typer

from jaxci.cli.options import (
    Csv,
    File,
    Groups,
    Json,
    Level,
    PosLabel,
    Seed,
    Sep,
    Weights,
    listed,
    naming,
    split,
    working,
)

MOST_FEATURES = 10
"""Names of features that are shown."""


def generalization(
    file: File,
    target: Annotated[str, typer.Option(metavar="COL", help="Column of the target: numbers or labels.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME[:field=value]",
            help="constant, linear, ridge, lasso, elastic_net, logistic, tree, forest, boosting or mlp; fields "
            "after colons, and tune=FIELD:values=A,B,... to choose one. Or MODULE:CLASS, such as "
            "sklearn.linear_model:LinearRegression.",
        ),
    ],
    versus: Annotated[
        list[str] | None,
        typer.Option(
            "--versus",
            metavar="NAME[:field=value]",
            help="A second learner to compare with; given again, all are ranked, p-values adjusted by Holm.",
        ),
    ] = None,
    features: Annotated[
        str | None, listed("COL,...", "Columns of numbers; all but the target and an index by default.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="squared, absolute, winsorized, standardized, percentual; zero_one, log, brier; or a metric."
        ),
    ] = None,
    scoring: Annotated[
        str | None, typer.Option(metavar="NAME", help="In place of --loss: a name of scikit-learn's scorers.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="See jaxci.generalization_interval; by default auto, or corrected_t with --versus.", show_default=False
        ),
    ] = None,
    cv: Annotated[int | None, typer.Option("--cv", metavar="K", help="Number of folds.")] = None,
    stratify: Annotated[
        bool | None, typer.Option("--stratify/--no-stratify", help="Whether splits keep the shares of classes.")
    ] = None,
    groups: Groups = None,
    weights: Weights = None,
    pos_label: PosLabel = None,
    level: Level = 0.95,
    seed: Seed = None,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Interval for the error of a learner on new data, by refitting it to parts of FILE."""
    with working("fitting") as advance:
        import numpy as np

        import jaxci
        from jaxci.api.readers.tables import as_matrix, column_names, read_columns
        from jaxci.api.readers.texts import WrittenLabels
        from jaxci.checks import check_distinct
        from jaxci.cli.tables import as_label
        from jaxci.index_columns import is_index, of_left_out, of_numbered_rows
        from jaxci.inducers.registry import as_inducer

        others = versus or []
        for name in (model, *others):  # before FILE is read
            as_inducer(name)
        if len(others) > 1:
            check_distinct("--model and --versus", [model, *others])
        there = [name for name in column_names(file, sep) if name not in (target, groups, weights)]
        chosen = split(features) or [name for name in there if not is_index(name)]
        said = [] if features else of_left_out(file, there, "feature")
        if not chosen:
            raise ValueError(
                f"{file} has no columns but {target!r}{' and an index' * bool(said)}; a learner needs features"
            )
        if target in chosen:
            raise ValueError(f"--features must not name the target; got {target!r}")
        besides = [name for name in (groups, weights) if name is not None]
        columns = read_columns(
            file,
            [target, *chosen, *besides],
            sep,
            texts=naming(groups, beside=[target, weights, *chosen]),
            labels=WrittenLabels.of([target], sure=False),
        )
        texts = [name for name in chosen if columns[name].dtype.kind not in "biuf"]
        if texts and features is None:
            raise ValueError(f"features must be numbers; {', '.join(texts)} are not: name the others by --features")
        X = as_matrix(columns, chosen)
        for name, missing in zip(chosen, np.isnan(X).T, strict=True):
            if missing.any():
                count, row = int(missing.sum()), int(np.argmax(missing))
                raise ValueError(f"column {name!r} must have no missing values; {count} are, the first in row {row}")
        said += of_numbered_rows({name: columns[name] for name in chosen})
        arguments: dict[str, Any] = {
            "loss": loss,
            "scoring": scoring,
            **({} if method is None else {"method": method}),
            "cv": cv,
            "stratify": stratify,
            "sample_weight": None if weights is None else columns[weights],
            "pos_label": None if pos_label is None else as_label(pos_label, columns[target]),
            "confidence_level": level,
            "groups": None if groups is None else columns[groups],
            "rng": seed,
            "progress": advance,
        }
        if not others:
            result: Any = jaxci.generalization_interval(model, X, columns[target], **arguments)
        elif len(others) == 1:
            result = jaxci.compare_inducers(model, others[0], X, columns[target], **arguments)
        else:
            result = jaxci.rank_inducers([model, *others], X, columns[target], **arguments)
    from jaxci.cli.display import show_and_write
    from jaxci.printing import first_few

    show_and_write(dataclasses.replace(result, warnings=(*result.warnings, *said)), json, csv)
    typer.echo(f"features: {first_few(chosen, MOST_FEATURES)}")
    typer.echo(f"repeat with --seed {result.rng}")


def losses(
    file: File,
    loss: Annotated[str, typer.Option(metavar="COL", help="Column of the losses: a line a tested row and split.")],
    fold: Annotated[str, typer.Option(metavar="COL", help="Column that names the fold which tests the row.")],
    repeat: Annotated[
        str | None, typer.Option(metavar="COL", help="Column that names the repeat of the cross-validation.")
    ] = None,
    row: Annotated[
        str | None, typer.Option(metavar="COL", help="Column that names the row of the data; a line is one by default.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the loss, such as zero_one, which then has its range.")] = "loss",
    strata: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of the classes whose shares every split keeps.")
    ] = None,
    groups: Groups = None,
    method: Annotated[str, typer.Option(help="See jaxci.losses_interval.")] = "auto",
    level: Level = 0.95,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Interval for the error of a learner from the losses of a cross-validation of your own, by fold.

    Each split trains on all rows of FILE that it does not test.
    """
    with working("reading"):
        import numpy as np

        import jaxci
        from jaxci.api.readers.labels import label_values
        from jaxci.api.readers.tables import read_columns
        from jaxci.checks import shown
        from jaxci.cli.tables import as_numbers

        if repeat is not None and row is None:
            raise ValueError("--repeat needs --row: which lines are of one row of the data")
        given = [loss, fold, repeat, row, strata, groups]
        names = [column for column in (fold, repeat, row, strata, groups) if column is not None]
        columns = read_columns(file, [column for column in given if column is not None], sep, texts=names)
        for column in (fold, repeat, row):
            if column is not None:
                columns[column] = label_values(column, columns[column])
        values = as_numbers(file, loss, columns[loss], complete=True)
        n = len(values)
        rows, place = np.unique(np.arange(n) if row is None else columns[row], return_index=True)
        ids = np.searchsorted(rows, np.arange(n) if row is None else columns[row])
        for column in (strata, groups):
            if column is not None and (differs := np.flatnonzero(columns[column] != columns[column][place][ids])).size:
                line = int(differs[0])
                said = f"got {shown(columns[column][place[ids[line]]])} and {shown(columns[column][line])}"
                raise ValueError(
                    f"column {column!r} must be the same in all lines of a row; {said} in row {shown(rows[ids[line]])}"
                )
        keys = [np.unique(columns[column], return_inverse=True)[1] for column in (repeat, fold) if column is not None]
        numbers = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
        lines = [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]
        if len(lines) < 2:
            raise ValueError(f"--fold must name at least two folds; all {n} lines are of {shown(columns[fold][0])}")
        for mine in lines:
            tested, first = np.unique(ids[mine], return_index=True)
            called = f"fold {shown(columns[fold][mine[0]])}"
            if row is not None and len(tested) < len(mine):
                again = columns[row][np.delete(mine, first)[0]]
                raise ValueError(f"--row must name a row once a fold; got {shown(again)} again in {called}")
            if len(tested) == len(rows):
                raise ValueError(f"--fold must leave rows to train on; {called} tests all {len(rows)}")
        result = jaxci.losses_interval(
            [values[mine] for mine in lines],
            test=[ids[mine] for mine in lines],
            method=method,
            loss=name,
            strata=None if strata is None else columns[strata][place],
            groups=None if groups is None else columns[groups][place],
            confidence_level=level,
        )
    from jaxci.cli.display import show_and_write

    show_and_write(result, json, csv)
