"""The commands in the order of need, and of them ``evaluate``, ``compare`` and ``check``.

Numerical libraries are imported inside the commands, so that help and version come at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from jaxci.cli.doctor import doctor
from jaxci.cli.examples import example
from jaxci.cli.leaderboards import leaderboard
from jaxci.cli.learning import generalization, losses
from jaxci.cli.listings import demo, methods, metrics
from jaxci.cli.masks import masks
from jaxci.cli.options import (
    Alternative,
    BlockLength,
    Bounds,
    Csv,
    DrawnResamples,
    File,
    Files,
    Groups,
    Json,
    Labels,
    Level,
    Method,
    PosLabel,
    Resamples,
    Resampling,
    Seed,
    Sep,
    Strata,
    Target,
    Weights,
    WeightType,
    given,
    label_options,
    labels_in,
    listed,
    naming,
    numbers,
    split,
    within,
    working,
)
from jaxci.cli.planning import plan
from jaxci.cli.quantiles import quantile
from jaxci.cli.study import study
from jaxci.cli.words import FLAGS
from jaxci.compiled import keep_by_environment

app = typer.Typer(
    name="jaxci",
    help="Confidence intervals for the metrics of a model, from a file of its predictions.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        import jaxci

        typer.echo(f"jaxci {jaxci.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Compile anew, and keep nothing compiled in the user's cache folder.")
    ] = False,
) -> None:
    if not no_cache and "jax" not in sys.modules:
        keep_by_environment()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def evaluate(
    files: Files,
    target: Target,
    pred: Annotated[str | None, typer.Option(metavar="COL", help="Column of predictions.")] = None,
    score: Annotated[
        str | None,
        listed("COL,...", "Score of the positive class, or one column per class, named by it or in sorted order."),
    ] = None,
    metrics: Annotated[str | None, listed("NAME,...", "See 'jaxci metrics'; a sensible set by default.")] = None,
    bounds: Bounds = None,
    method: Method = "auto",
    level: Level = 0.95,
    alternative: Alternative = "two-sided",
    groups: Groups = None,
    strata: Strata = None,
    weights: Weights = None,
    weight_type: WeightType = "importance",
    pos_label: PosLabel = None,
    labels: Labels = None,
    resamples: Resamples = None,
    resampling: Resampling = "bootstrap",
    block_length: BlockLength = "auto",
    seed: Seed = None,
    by: Annotated[str | None, listed("COL,...", "Columns that name groups: also a table by group.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Least score that counts as positive, without --pred; 0.5 by default.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Also measure the coverage of each interval on data like these.")
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--whole",
            help="Read in batches, or as a whole; by default in batches where the files would fill half of the memory.",
        ),
    ] = None,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Intervals for the metrics of one model."""
    scores = split(score)
    if pred is None and not scores and not metrics:
        raise ValueError("evaluate needs --pred, --score, or both; or --metrics that summarize the values of --target")
    with working("evaluating") as advance:
        import jaxci
        from jaxci.api.readers.tables import as_scores, read_columns
        from jaxci.cli.batches import data_files, read_batches, too_large, whole
        from jaxci.cli.streaming import Columns

        paths = data_files(files)
        asked = split(metrics)
        extra = [name for name in (pred, groups, strata, weights, *split(by)) if name is not None]
        names = tuple(naming(groups, strata, *split(by), beside=[target, pred, weights, *scores]))
        placed = Columns(target, pred, tuple(scores), groups, weights, names, tuple(split(labels)))
        if too_large(paths) if stream is None else stream:
            resampled = resampling != "bootstrap" or block_length != "auto"
            if strata or by or check or bounds or weight_type != "importance" or resampled:
                raise ValueError(
                    "--strata, --by, --bounds, --check, --weight-type, --resampling and --block-length need --whole: "
                    "files are read in batches here"
                )
            from jaxci.cli.streaming import streamed
            from jaxci.inference.settings import N_RESAMPLES

            table = streamed(
                paths,
                placed,
                metrics=asked,
                method=method,
                confidence_level=level,
                n_resamples=N_RESAMPLES if resamples is None else resamples,
                alternative=alternative,
                rng=seed,
                progress=advance,
                sep=sep,
                label_options=lambda column: label_options(column, pos_label, labels),
                threshold=threshold,
            )
        else:
            wanted, rules = [target, *extra, *scores], placed.rules(asked)
            if len(paths) == 1:
                columns = read_columns(paths[0], wanted, sep, texts=placed.names, labels=rules["labels"])
            else:
                columns = whole(read_batches(paths, wanted, sep=sep, **rules), placed.names)
            table = jaxci.evaluate(
                columns[target],
                None if pred is None else columns[pred],
                as_scores(columns, scores) if scores else None,
                metrics=within(asked, bounds) or None,
                method=method,
                confidence_level=level,
                n_resamples=resamples,
                alternative=alternative,
                weight_type=weight_type,
                resampling=resampling,
                block_length=block_length,
                **given(columns, groups=groups, strata=strata, sample_weight=weights),
                rng=seed,
                progress=advance,
                check=check,
                by={name: columns[name] for name in split(by)} or None,
                threshold=threshold,
                **label_options(columns[target], pos_label, labels),
            )
    from jaxci.cli.display import show, show_and_write

    show_and_write(table, json, csv, show)


def compare(
    file: File,
    metric: Annotated[str, typer.Option(metavar="NAME", help="One metric; see 'jaxci metrics'.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of the true labels or values; none for a mean of values."),
    ] = None,
    pred_a: Annotated[str | None, typer.Option(metavar="COL", help="Predictions of model a.")] = None,
    pred_b: Annotated[str | None, typer.Option(metavar="COL", help="Predictions of model b.")] = None,
    score_a: Annotated[str | None, listed("COL,...", "Scores of model a.")] = None,
    score_b: Annotated[str | None, listed("COL,...", "Scores of model b.")] = None,
    margin: Annotated[float | None, typer.Option(help="Margin of non-inferiority.")] = None,
    bounds: Bounds = None,
    method: Method = "auto",
    level: Level = 0.95,
    alternative: Alternative = "two-sided",
    groups: Groups = None,
    strata: Strata = None,
    weights: Weights = None,
    weight_type: WeightType = "importance",
    pos_label: PosLabel = None,
    labels: Labels = None,
    resamples: Resamples = None,
    resampling: Resampling = "bootstrap",
    block_length: BlockLength = "auto",
    seed: Seed = None,
    sep: Sep = None,
    json: Json = None,
) -> None:
    """Paired difference a - b of one metric of two models on the same cases."""
    scores_a, scores_b = split(score_a), split(score_b)
    by_pred = pred_a is not None and pred_b is not None and not scores_a and not scores_b
    by_score = pred_a is None and pred_b is None and bool(scores_a) and bool(scores_b)
    if not by_pred and not by_score:
        raise ValueError("compare needs either --pred-a and --pred-b, or --score-a and --score-b")
    if by_score:  # what the library calls predictions came by these options
        FLAGS.known |= {"pred_a": "--score-a", "pred_b": "--score-b"}
    else:
        FLAGS.known["score"] = "--score-a and --score-b"
    with working("comparing") as advance:
        import jaxci
        from jaxci.api.readers.tables import as_scores, read_columns

        extra = [name for name in (target, pred_a, pred_b, groups, strata, weights) if name is not None]
        others = [target, pred_a, pred_b, weights, *scores_a, *scores_b]
        texts = naming(groups, strata, beside=others)
        known = labels_in(target, [pred_a, pred_b], [metric], labels)
        columns = read_columns(file, [*extra, *scores_a, *scores_b], sep, texts=texts, labels=known)
        truth = None if target is None else columns[target]
        if by_score:
            a, b = as_scores(columns, scores_a), as_scores(columns, scores_b)
        else:
            a, b = columns[str(pred_a)], columns[str(pred_b)]
        options = label_options(truth, pos_label, labels)
        if margin is not None:
            options["margin"] = margin
        if bounds is not None:
            options["bounds"] = numbers("--bounds", bounds)
        result = jaxci.compare(
            metric,
            truth,
            a,
            b,
            method=method,
            confidence_level=level,
            n_resamples=resamples,
            alternative=alternative,
            weight_type=weight_type,
            resampling=resampling,
            block_length=block_length,
            **given(columns, groups=groups, strata=strata, sample_weight=weights),
            rng=seed,
            progress=advance,
            **options,
        )
    from jaxci.cli.display import show, show_and_write

    show_and_write(result, json, how=show)


def check(
    file: File,
    metric: Annotated[str, typer.Option(metavar="NAME", help="One metric; see 'jaxci metrics'.")],
    target: Annotated[str | None, typer.Option(metavar="COL", help="Column of the true labels or values.")] = None,
    pred: Annotated[str | None, typer.Option(metavar="COL", help="Predictions, or per-case values.")] = None,
    score: Annotated[str | None, listed("COL,...", "Score of the positive class, or one column per class.")] = None,
    methods: Annotated[str | None, listed("NAME,...", "Interval methods; by default the quick ones.")] = None,
    bounds: Bounds = None,
    n: Annotated[int | None, typer.Option("--n", metavar="N", help="Sample size; by default that of the file.")] = None,
    level: Level = 0.95,
    replications: Annotated[
        int, typer.Option(metavar="N", help="Simulated data sets; up to four times as many where they tell too little.")
    ] = 2_000,
    resamples: DrawnResamples = 1_999,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Also find the nominal level that covers --level.")
    ] = False,
    groups: Groups = None,
    strata: Strata = None,
    pos_label: PosLabel = None,
    labels: Labels = None,
    seed: Seed = None,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """How often the intervals for one metric hold the truth, on data like these."""
    scores = split(score)
    with working("simulating") as advance:
        import jaxci
        from jaxci.api.readers.tables import as_scores, read_columns

        named = [name for name in (target, pred, groups, strata) if name is not None]
        texts = naming(groups, strata, beside=[target, pred, *scores])
        known = labels_in(target, [pred], [metric], labels)
        columns = read_columns(file, named + scores, sep, texts=texts, labels=known)
        labelled = given(columns, y_true=target, y_pred=pred)
        scored = as_scores(columns, scores) if scores else None
        data = [x for x in [*labelled.values(), scored] if x is not None]
        options = label_options(labelled["y_true"], pos_label, labels)
        if bounds is not None:
            options["bounds"] = numbers("--bounds", bounds)
        result = jaxci.check_coverage(
            metric,
            *data,
            methods=split(methods) or None,
            n=n,
            confidence_level=level,
            n_replications=replications,
            n_resamples=resamples,
            calibrate=calibrate,
            **given(columns, groups=groups, strata=strata),
            rng=seed,
            progress=advance,
            **options,
        )
    from jaxci.cli.display import show_and_write, show_seeded

    show_and_write(result, json, csv, show_seeded)


COMMANDS = {
    "A model's predictions": (evaluate, compare, leaderboard, masks),
    "How far to trust an interval, and how many cases": (check, plan, study),
    "Training runs, and error on new data": (quantile, generalization, losses),
    "Look and list": (demo, metrics, methods, doctor),
}
"""Commands by what they are for, in the order of need, as help lists them."""

for panel, commands in COMMANDS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel, epilog=example(command.__name__))(command)
