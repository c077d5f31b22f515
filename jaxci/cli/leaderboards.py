"""The command ``leaderboard``: models on the same cases, ranked."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxci.cli.options import (
    BlockLength,
    Bounds,
    Csv,
    DrawnResamples,
    File,
    Groups,
    Json,
    Labels,
    Level,
    PosLabel,
    Resampling,
    Seed,
    Sep,
    Strata,
    Weights,
    WeightType,
    given,
    label_options,
    labels_in,
    listed,
    naming,
    numbers,
    split,
    working,
)


def leaderboard(
    file: File,
    metric: Annotated[str, listed("NAME,...", "See 'jaxci metrics'; of several also mean ranks.")],
    models: Annotated[
        str,
        listed("COL,...", "Columns of the models: predictions, scores or values by case; or a file of each."),
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of the true labels or values; none for a mean of values."),
    ] = None,
    reference: Annotated[
        str, typer.Option(metavar="COL", help="best: all pairs; or the model that all others are compared with.")
    ] = "best",
    adjust: Annotated[str, typer.Option(metavar="HOW", help="max_t, holm, bonferroni or none.")] = "max_t",
    less_is_better: Annotated[
        bool | None,
        typer.Option("--less-is-better/--more-is-better", help="Which end is good, where the metric does not know."),
    ] = None,
    missing: Annotated[
        str, typer.Option(metavar="HOW", help="Of values by case that a model lacks: raise, or pairwise.")
    ] = "raise",
    bounds: Bounds = None,
    level: Level = 0.95,
    groups: Groups = None,
    strata: Strata = None,
    weights: Weights = None,
    weight_type: WeightType = "importance",
    pos_label: PosLabel = None,
    labels: Labels = None,
    resamples: DrawnResamples = 9_999,
    resampling: Resampling = "bootstrap",
    block_length: BlockLength = "auto",
    seed: Seed = None,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Models from the best to the worst, the ranks that each may have, and which are tied with the reference."""
    names = split(models)
    if len(names) < 2:
        raise ValueError(f"--models must name at least two models; got {len(names)}")
    with working("comparing") as advance:
        import jaxci
        from jaxci.api.readers.models import of_files as read_files
        from jaxci.api.readers.models import of_index_columns
        from jaxci.api.readers.tables import column_names, read_columns
        from jaxci.cli.tables import write_csv, write_json

        extra = [name for name in (target, groups, strata, weights) if name is not None]
        of_files = all(Path(name).is_file() for name in names) and not set(names) & set(column_names(file, sep))
        for option, out in (("--json", json), ("--csv", csv)):
            if of_files and out is not None and out.resolve() in {Path(name).resolve() for name in names}:
                raise ValueError(f"--models and {option} must be different files; got {str(out)!r} twice")
        wanted = [*extra, *([] if of_files else names)]
        texts = naming(groups, strata, beside=[target, weights, *names])
        known = labels_in(target, names, split(metric), labels)
        columns = read_columns(file, wanted, sep, texts=texts, labels=known) if wanted else {}
        truth = None if target is None else columns[target]
        options = label_options(truth, pos_label, labels)
        if bounds is not None:
            options["bounds"] = numbers("--bounds", bounds)
        if of_files:
            by_model: dict[str, Any] = read_files(
                names,
                sep,
                truth=options.get("labels", truth),
                target=target,
                labels=labels_in(None, names, split(metric), labels),
            )
        else:
            by_model = {name: columns[name] for name in names}
        said = of_index_columns(names, sep) if of_files else []
        boards = {
            name: jaxci.leaderboard(
                name,
                by_model if truth is None else truth,
                None if truth is None else by_model,
                adjust=adjust,
                reference=reference,
                less_is_better=less_is_better,
                missing=missing,
                confidence_level=level,
                n_resamples=resamples,
                resampling=resampling,
                block_length=block_length,
                weight_type=weight_type,
                **given(columns, groups=groups, strata=strata, sample_weight=weights),
                **options,
                rng=seed,
                progress=advance,
            )
            for name in split(metric)
        }
        boards = {k: dataclasses.replace(one, warnings=(*said, *one.warnings)) for k, one in boards.items()}
    from jaxci.cli.display import page, show_seeded, show_table

    results = list(boards.values()) if len(boards) == 1 else [*boards.values(), jaxci.mean_ranks(boards)]
    for board in boards.values():
        show_seeded(page(), board)
    if len(boards) > 1:
        show_table(page(), results[-1])
    if json is not None:
        write_json(json, results[0].to_dict() if len(boards) == 1 else results[-1].to_dict())
    if csv is not None:
        write_csv(csv, [{"metric": name, **row} for name, board in boards.items() for row in board.records()])
