"""The commands ``jaxci study list | new | estimate | run | status | report | merge``."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxci.cli.examples import example
from jaxci.cli.options import Memory, Sep, listed, numbers, split, writable
from jaxci.cli.progress import progress

study = typer.Typer(name="study", help="Coverage studies: how far interval methods can be trusted.")

Source = Annotated[str, typer.Argument(metavar="FILE", help="A study file (TOML), or the name of a bundled study.")]
Folder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; FILE-results by default.")
]
MOST_LINES = 20
"""Lines of a kind that a listing of cells has."""
MANY = 40
"""Blocks of all cells from which a run is estimated before it starts: fewer are soon done."""
LONG = 60.0
"""Seconds of a run before which its estimate is shown."""


def counted(help: str) -> Any:
    """Return an option that holds a number of the design."""
    return typer.Option(metavar="N", help=f"{help}; by default that of the design.")


def _table_file(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return where to write a table, by a name that says as what."""
    from jaxci.coverage.results import check_table_file

    path = writable(context, option, path)
    return None if path is None else check_table_file(max(option.opts, key=len), path)


def _folder(source: str, out: Path | None, *, to_write: bool = False) -> Path:
    """Return the folder of the results, which may not be there yet."""
    folder = out if out is not None else Path(f"{Path(source).stem}-results")
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if os.path.exists(one))
    if not there.is_dir() or (to_write and not os.access(there, os.W_OK | os.X_OK)):
        raise ValueError(f"--out must be a folder that can be made and written; got {str(folder)!r}")
    return folder


def _data(
    file: Path,
    values: list[str],
    target: str | None,
    scores: list[str],
    by: list[str],
    labels: list[str],
    sep: str | None,
) -> dict[str, Any]:
    """Read the instances of a file: per-case values, or labels with logits."""
    import numpy as np

    from jaxci.api.readers.labels import encode_labels
    from jaxci.api.readers.scores import in_label_order
    from jaxci.api.readers.tables import NamedScores, read_columns
    from jaxci.cli.tables import as_label, as_numbers
    from jaxci.coverage.bundled import instances

    columns = read_columns(file, [*by, *values, *scores, *([target] if target else [])], sep, texts=by)
    found: dict[str, Any] = {}
    tags: dict[str, dict[str, str]] = {}
    if values:
        everyone, known = instances(columns, by)
        for column in values:
            numbers_of = as_numbers(file, column, columns[column])
            for name, chosen in everyone.items():
                called = column if not by else f"{column}, {name}"
                kept = numbers_of[chosen][~np.isnan(numbers_of[chosen])]
                if missing := len(chosen) - len(kept):
                    typer.echo(f"{called}: {missing} of {len(chosen)} rows have no value and are left out", err=True)
                if len(kept) == 0:
                    typer.echo(f"{called}: no row has a value, the instance is left out", err=True)
                    continue
                if len(kept) == 1:
                    typer.echo(f"{called}: one case has no spread, every interval will hold its value", err=True)
                found[called] = kept
                tags[called] = {"metric": column, **known.get(name, {})}
        if not found:
            raise ValueError(f"{file}: no row has a value in {', '.join(values)}")
    else:
        assert target is not None
        logits = np.column_stack([as_numbers(file, name, columns[name]) for name in scores])
        order = [as_label(text, columns[target]) for text in labels] or None
        if order is None:  # columns that labels name, in any order
            everyone = encode_labels({"y_true": columns[target]}, None, 1)[1].tolist()
            logits = in_label_order(NamedScores(tuple(scores), logits), logits, everyone)
        rows, tags = instances(columns, by)
        for name, chosen in rows.items():
            found[name] = _classes(name, target, scores, columns[target], logits, chosen, order)
    return {"data": found, "tags": tags}


def _ranges(given: list[str]) -> Any:
    """Return the bounds of all columns, or those of some by their names: an open end is infinite."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return numbers("--bounds", given[0])
    found = {}
    for text in given:
        name, named, ends = text.rpartition("=")
        low, apart, high = ends.partition(":")
        if not (named and apart):
            raise ValueError(f"--bounds must be LOW,HIGH once, or COL=LOW:HIGH for each column; got {text!r}")
        if name.strip() in found:
            raise ValueError(f"--bounds must name a column once; got {name.strip()!r} again")
        found[name.strip()] = numbers("--bounds", f"{low.strip() or '-inf'},{high.strip() or 'inf'}")
    return found


def _classes(
    name: str, target: str, scores: list[str], given: Any, logits: Any, chosen: Any, order: list[Any] | None
) -> tuple[Any, Any]:
    """Return logits and class codes of an instance, which has as many classes as it has columns that are not empty."""
    import numpy as np

    from jaxci.api.readers.labels import encode_labels

    everyone = encode_labels({"y_true": given}, order, 1)[1].tolist()
    several = len(scores) > 1
    used = np.flatnonzero(~np.isnan(logits[chosen]).all(axis=0)) if several else np.array([0])
    if len(everyone) == max(len(scores), 2):  # one column a label of the file
        wanted = [everyone[i] for i in used] if several else everyone
    elif order is not None:
        raise ValueError(f"--labels must name one label for each of the {len(scores)} columns; got {len(order)}")
    else:
        wanted = encode_labels({"y_true": given[chosen]}, None, 1)[1].tolist()
    if len(wanted) != max(len(used), 2):
        raise ValueError(
            f"--score names {len(scores)} columns, and {target} has {len(wanted)} labels, {wanted}, where "
            f"{name} has values in {len(used)}: give one column a label, or the labels in the order of all columns by "
            "--labels"
        )
    column = f"{target} of {name}"
    codes = encode_labels({column: given[chosen]}, wanted, 1)[0][column]
    own = logits[chosen][:, used]
    return _as_logits(name, own if several else own[:, 0]), codes


def _as_logits(name: str, scores: Any) -> Any:
    """Return the scores (n,) or (n, K) of an instance, of probabilities their logits, and say which they are."""
    import numpy as np

    from jaxci.api.readers.labelled import not_probabilities

    if not np.all((scores >= 0) & (scores <= 1)):
        return scores
    if not_probabilities("--score", scores):
        typer.echo(f"{name}: scores lie in [0, 1] and do not sum to 1 in a row, they are read as logits", err=True)
        return scores
    odds = scores if scores.ndim == 2 else np.column_stack([1 - scores, scores])
    if (without := np.any(odds == 0, axis=1)).any():
        row = int(np.argmax(without))
        raise ValueError(
            f"--score must hold logits, or probabilities that are not 0 or 1; {int(without.sum())} rows of {name} have "
            f"such, the first {scores[row].tolist()}"
        )
    typer.echo(f"{name}: scores lie in [0, 1], they are read as probabilities", err=True)
    return np.log(scores) if scores.ndim == 2 else np.log(scores) - np.log1p(-scores)


@study.command(name="list")
def list_studies() -> None:
    """List the studies that come with the package, each with a line that says what it is about."""
    from jaxci.cli.display import grid, page
    from jaxci.coverage.bundled import bundled_summaries

    page().print(
        grid(["study", ""], sorted(map(list, bundled_summaries().items()), key=lambda row: row[0].startswith("cards-")))
    )


@study.command(epilog=example("new"))
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study file to write (TOML).", show_default=False)],
    design: Annotated[str, typer.Option(metavar="NAME", help="A bundled study to start from.")] = "summaries",
    data: Annotated[
        Path | None, typer.Option(metavar="DATA", help="CSV, Parquet or JSON-lines file of your own cases.")
    ] = None,
    value: Annotated[str | None, listed("COL,...", "Columns of per-case values.")] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="LOW,HIGH|COL=LOW:HIGH", help="Range of the values of all columns, or of one column."),
    ] = None,
    discrete: Annotated[
        str | None, typer.Option(metavar="COL,...", help="Columns whose values are drawn as they are.")
    ] = None,
    target: Annotated[str | None, typer.Option(metavar="COL", help="Column of true labels.")] = None,
    score: Annotated[str | None, listed("COL,...", "Columns of logits, or of probabilities.")] = None,
    labels: Annotated[str | None, listed("LABEL,...", "Labels in the order of the logits; sorted by default.")] = None,
    by: Annotated[str | None, listed("COL,...", "Columns that name the instances.")] = None,
    sep: Sep = None,
    sizes: Annotated[str | None, typer.Option(metavar="N,...", help="Sample sizes.")] = None,
    replications: Annotated[int | None, counted("Data sets of each cell")] = None,
    resamples: Annotated[int | None, counted("Bootstrap resamples of each")] = None,
    groups: Annotated[int | None, counted("Groups of data sets that share a bank of resamples")] = None,
    seed: Annotated[int | None, counted("Seed")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over FILE.")] = False,
) -> None:
    """Write a study file, to look at and to change before it is run."""
    from jaxci.cli.study_files import data_file, written_design
    from jaxci.coverage.bundled import load_study, study_path
    from jaxci.coverage.entries import read_toml
    from jaxci.coverage.instance_files import write_instances
    from jaxci.whole_files import whole_file, write_whole

    beside = data_file(file)
    for one in [file] if data is None else [file, beside]:
        if one.exists() and not force:
            raise ValueError(f"{one} exists: give another name, or --force to write over it")
    source = study_path(design)
    kind = read_toml(source).get("data", {}).get("kind")
    columns = {"--value": value, "--target": target, "--score": score, "--labels": labels, "--by": by, "--sep": sep}
    named = [option for option, given in columns.items() if given is not None]
    needs = {"values": ["--value"], "logits": ["--target", "--score"], None: []}[kind]
    if kind is not None and data is None:
        asked = " and ".join(f"{option} COL" for option in needs)
        raise ValueError(f"the design {design!r} needs data: pass --data FILE with {asked}")
    if data is None and named:
        raise ValueError(f"{named[0]} is of the file --data, which is not given")
    if lacking := [option for option in needs if option not in named]:
        raise ValueError(f"the design {design!r} reads {' and '.join(needs)} of --data; {lacking[0]} is not given")
    takes = [*needs, "--by", "--sep", *(["--labels"] if kind == "logits" else [])]
    if kind is not None and (other := [option for option in named if option not in takes]):
        raise ValueError(f"the design {design!r} reads {' and '.join(needs)} of --data: leave out {other[0]}")
    changes: dict[str, Any] = {}
    if data is not None:
        changes = _data(data, split(value), target, split(score), split(by), split(labels), sep)
    given = {"n_replications": replications, "n_resamples": resamples, "n_groups": groups, "seed": seed}
    changes |= {name: number for name, number in given.items() if number is not None}
    if sizes is not None:
        if not all(n.isdecimal() for n in split(sizes)):
            raise ValueError(f"--sizes must be whole numbers between commas; got {sizes!r}")
        changes["sample_sizes"] = [int(n) for n in split(sizes)]
    told = {"bounds": _ranges(bounds or []), "discrete": None if discrete is None else split(discrete)}
    found = load_study(design, **told, **changes)
    if data is not None:
        with whole_file(beside) as draft:
            write_instances(draft, changes.pop("data"))
    text = written_design(source.read_text("utf-8"), changes, data=None if data is None else beside.name, **told)
    write_whole(file, text.encode())
    typer.echo(
        f"{file}: {len(found.cell_names())} cells; run it with: {shlex.join(['jaxci', 'study', 'run', str(file)])}"
    )


def _estimate(found: Any, folder: Path) -> Any:
    from jaxci.coverage import estimate

    with progress("timing a few cells"):
        return estimate(found, folder)


@study.command(name="estimate", epilog=example("estimate"))
def estimated(file: Source, out: Folder = None) -> None:
    """Say what is left to do, and its time and memory on this machine, from a few cells that are timed."""
    from jaxci.coverage.bundled import load_study

    typer.echo(str(_estimate(load_study(file), _folder(file, out))))


@study.command(epilog=example("run"))
def run(
    file: Source,
    out: Folder = None,
    memory_limit: Memory = None,
    distributed: Annotated[
        bool, typer.Option("--distributed", help="One of several processes (see jax.distributed.initialize).")
    ] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute again what the folder holds damaged, or of something else.")
    ] = False,
    tallies: Annotated[
        bool,
        typer.Option("--tallies/--no-tallies", help="Keep what is counted, so that cells can grow (8 bytes a number)."),
    ] = True,
) -> None:
    """Simulate what is not in the folder yet; stop it at any time, and run it again to go on."""
    import jax

    from jaxci.coverage.bundled import load_study
    from jaxci.coverage.runner import check_memory

    if distributed:
        try:
            jax.distributed.initialize()
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"--distributed finds no other processes ({error}); see docs/slurm.md") from None
    limit: Any = memory_limit  # in bytes, as the option reads it
    if limit is not None:
        check_memory("--memory-limit", limit)
    found = load_study(file)
    folder = _folder(file, out, to_write=True)
    if not distributed and not recompute and found.n_blocks * len(found.cell_names()) >= MANY:
        expected = _estimate(found, folder)
        if expected.seconds > LONG:
            typer.echo(str(expected), err=True)
    with progress("simulating", delay=0.0) as advance:
        options = {"recompute": recompute, "keep_tallies": tallies}
        results = found.run(folder, memory_limit=limit, progress=advance, **options)
    see = ["jaxci", "study", "report", file, *(["--out", str(out)] if out is not None else [])]
    typer.echo(f"{results.n_done} of {results.n_cells} cells in {folder}; see: {shlex.join(see)}")


@study.command(epilog=example("status"))
def status(file: Source, out: Folder = None) -> None:
    """Say which cells are done, which are under way, and which files are damaged."""
    from jaxci.coverage.bundled import load_study
    from jaxci.coverage.status import state_of

    found = load_study(file)
    state = state_of(found, _folder(file, out))
    typer.echo(f"{len(state.done)} of {state.n_cells} cells are done in {state.folder}")
    kinds = (
        ("mind", found.left_out()),
        ("damaged", [*state.damaged.values()]),
        ("of no cell of this study", [*map(str, state.strangers)]),
        ("under way", [f"{name} ({who})" for name, who in state.under_way.items()]),
        ("to grow", state.to_grow),
        ("to do", state.to_do),
    )
    for kind, lines in kinds:
        for line in lines[:MOST_LINES]:
            typer.echo(f"  {kind}: {line}")
        if len(lines) > MOST_LINES:
            typer.echo(f"  ... and {len(lines) - MOST_LINES} more {kind}")


@study.command(epilog=example("report"))
def report(
    file: Source,
    out: Folder = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="OUT", help="The page; report.html in DIR.", callback=writable)
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="OUT", help="Also write the table (.csv, .parquet).", callback=_table_file),
    ] = None,
) -> None:
    """Write one HTML page with tables and pictures of what is done."""
    from jaxci.coverage.bundled import load_study
    from jaxci.whole_files import whole_file

    found, folder = load_study(file), _folder(file, out)
    results = found.results(folder)
    page = folder / "report.html" if html is None else html
    try:
        with whole_file(page) as draft:
            results.report(draft)
    except PermissionError as error:
        raise ValueError(f"--html must be a file that can be written; got {str(page)!r} ({error.strerror})") from None
    if csv is not None:
        with whole_file(csv) as draft:
            results.save(draft)
    typer.echo(f"{page}: {results.n_done} of {results.n_cells} cells")


@study.command(epilog=example("merge"))
def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of results.", show_default=False)],
    names: Annotated[
        str | None, listed("NAME,...", "Names of studies; their own, or their folders', by default.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="OUT", help="Write the table (.csv, .parquet).", callback=_table_file),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write designs and rows as JSON.", callback=writable)
    ] = None,
) -> None:
    """Join the results of several studies into one table, whose column study names them."""
    from jaxci.cli.tables import write_json
    from jaxci.coverage.bundled import study_in
    from jaxci.coverage.results import StudyResults
    from jaxci.whole_files import whole_file

    if csv is None and json is None:
        raise ValueError("merge needs a file to write: --csv, --json, or both")
    each = [study_in(folder).results(folder) for folder in folders]
    called = split(names) if names is not None else [one.name for one in each]
    if names is None and len(set(called)) < len(called):  # several of one design
        called = [folder.resolve().name for folder in folders]
    joined = StudyResults.concat(each, called)
    if csv is not None:
        with whole_file(csv) as draft:
            joined.save(draft)
    if json is not None:
        write_json(json, joined.to_dict())
    written = " and ".join(str(path) for path in (csv, json) if path is not None)
    typer.echo(f"{written}: {len(joined.table)} rows of {len(each)} studies, {joined.headline()}")
