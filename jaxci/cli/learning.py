"""The command ``jaxci generalization``: how well a learner does on data it has not seen."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jaxci.cli.options import Csv, File, Groups, Json, Level, Seed, split, working


def generalization(
    file: File,
    target: Annotated[str, typer.Option(metavar="COL", help="Column of the target: numbers or labels.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME[:field=value]",
            help="constant, linear, ridge, lasso, elastic_net, logistic, tree, forest, boosting or mlp; fields "
            "after colons, and tune=FIELD:values=A,B,... to choose one.",
        ),
    ],
    versus: Annotated[
        str | None, typer.Option("--versus", metavar="NAME[:field=value]", help="A second learner to compare with.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(metavar="COL,...", help="Columns of numbers; all but the target by default.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="squared, absolute, winsorized, standardized, percentual; zero_one, log, brier; or a metric."
        ),
    ] = None,
    method: Annotated[str, typer.Option(help="See jaxci.generalization_interval.")] = "auto",
    groups: Groups = None,
    level: Level = 0.95,
    seed: Seed = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Interval for the error of a learner on new data, by refitting it to parts of FILE."""
    with working("fitting") as advance:
        import numpy as np

        import jaxci
        from jaxci.cli.tables import as_scores, column_names, read_columns, write_csv, write_json
        from jaxci.inducers.registry import as_inducer

        first = as_inducer(model)
        second = None if versus is None else as_inducer(versus)
        chosen = split(features) or [name for name in column_names(file) if name not in (target, groups)]
        if not chosen:
            raise ValueError(f"{file} has no columns but {target!r}; a learner needs features")
        for name in chosen:
            if name == target or chosen.count(name) > 1:
                raise ValueError(f"--features must name columns once, and not the target; got {name!r}")
        columns = read_columns(file, [target, *chosen, *([groups] if groups is not None else [])])
        texts = [name for name in chosen if columns[name].dtype.kind not in "biuf"]
        if texts and features is None:
            raise ValueError(f"features must be numbers; {', '.join(texts)} are not: name the others by --features")
        X = as_scores(columns, chosen).reshape(len(columns[target]), len(chosen))
        for name, missing in zip(chosen, np.isnan(X).T, strict=True):
            if missing.any():
                count, row = int(missing.sum()), int(np.argmax(missing))
                raise ValueError(f"column {name!r} must have no missing values; {count} are, the first in row {row}")
        arguments: dict[str, Any] = {
            "loss": loss,
            "method": method,
            "confidence_level": level,
            "groups": None if groups is None else columns[groups],
            "rng": seed,
            "progress": advance,
        }
        if second is None:
            result: Any = jaxci.generalization_interval(first, X, columns[target], **arguments)
        else:
            result = jaxci.compare_inducers(first, second, X, columns[target], **arguments)
    from jaxci.cli.display import page, show

    show(page(), result)
    typer.echo(f"repeat with --seed {result.rng}")
    if json is not None:
        write_json(json, result.to_dict())
    if csv is not None:
        write_csv(csv, result.records())
