"""Options that several commands have, and what they do around their work."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxci.checks import check_distinct
from jaxci.cli.progress import progress
from jaxci.cli.words import called

if TYPE_CHECKING:
    import numpy as np

    from jaxci.api.readers.texts import WrittenLabels


UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Bytes of the units of memory."""


def apart(context: typer.Context, option: typer.CallbackParam, path: Any) -> Any:
    """Return a file or files, none of which is named twice: what is written is not what is read, or written again.

    Neither is it a file that is there in a folder that is read.
    """
    given = path if isinstance(path, list) else [] if path is None else [path]
    for other in context.command.params:
        held = context.params.get(str(other.name))
        for one in held if isinstance(held, list) else [held]:
            if isinstance(one, Path) and any(_are_one(one, mine, other, option) for mine in given):
                names = " and ".join(called(param) for param in (other, option))
                raise ValueError(f"{names} must be different files; got {str(one)!r} twice")
    return path


def _are_one(one: Path, mine: Path, *params: Any) -> bool:
    """Whether two paths are one file, or one is a file in the other, a folder that an argument names."""
    paths = [path.resolve() for path in (one, mine)]
    if paths[0] == paths[1]:
        return mine.is_file() or not mine.exists()  # devices may be named again
    for folder, file, param in ((*paths, params[0]), (*paths[::-1], params[1])):
        if param.param_type_name == "argument" and folder.is_dir() and file.is_file() and folder in file.parents:
            return True
    return False


def writable(context: typer.Context, option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return where to write, of which the folder is there: an option's rule that is checked before all work."""
    apart(context, option, path)
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"{max(option.opts, key=len)} must be a file in a folder that exists; got {str(path)!r}")
    if path is not None and path.is_dir():
        raise ValueError(f"{max(option.opts, key=len)} must be a file; got the folder {str(path)!r}")
    if str(path) == "-":
        raise ValueError(f"{max(option.opts, key=len)} must be a file: the page goes to the standard output; got '-'")
    return path


def _distinct_names(option: typer.CallbackParam, text: str | None) -> str | None:
    """Return names between commas, none of which is empty or given twice: a rule that is checked before all work."""
    names, longest = split(text), max(option.opts, key=len)
    if text is not None and not (names and all(names)):
        raise ValueError(f"{longest} must have no empty place between commas; got {text!r}")
    check_distinct(longest, names)
    return text


def _as_length(option: typer.CallbackParam, text: str) -> Any:
    """Return a number of rows, or "auto"."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise ValueError(f"{max(option.opts, key=len)} must be a number of rows, or auto; got {text!r}") from None


def _as_bytes(option: typer.CallbackParam, text: str | None) -> Any:
    """Return a number of bytes, which may be given in a larger unit."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMG]i?B)?", text.strip(), re.IGNORECASE)
    if found is None or ("." in found[1] and found[2] is None):
        rule = f"a number of bytes, alone or with one of {', '.join(UNITS)} behind it"
        raise ValueError(f"{max(option.opts, key=len)} must be {rule}; got {text!r}")
    unit = {name.lower(): size for name, size in UNITS.items()}.get((found[2] or "").lower(), 1)
    return round(float(found[1]) * unit) if "." in found[1] else int(found[1]) * unit


def listed(metavar: str, help: str) -> Any:
    """Return an option that holds one or more names between commas."""
    return typer.Option(metavar=metavar, help=help, callback=_distinct_names)


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet or JSON-lines file, one row per case; text also as .gz.",
        show_default=False,
        callback=apart,
    ),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="CSV, Parquet or JSON-lines files (text also as .gz), or folders of them: one data set, one row per case.",
        show_default=False,
        callback=apart,
    ),
]
Sep = Annotated[
    str | None,
    typer.Option(
        "--sep", metavar="CHAR", help="Separator in CSV, such as ';' or tab; by default a comma, in .tsv a tab."
    ),
]
Target = Annotated[str, typer.Option(metavar="COL", help="Column of the true labels or values.")]
Method = Annotated[str, typer.Option(help="Interval method; see 'jaxci methods'.")]
Level = Annotated[float, typer.Option(help="Confidence level, between 0 and 1.")]
Alternative = Annotated[str, typer.Option(help="two-sided, less (upper bound) or greater (lower bound).")]
Groups = Annotated[
    str | None, typer.Option(metavar="COL", help="Column that names the cluster (patient, user) of a row.")
]
Strata = Annotated[str | None, typer.Option(metavar="COL", help="Column that names the stratum of a row.")]
Weights = Annotated[str | None, typer.Option(metavar="COL", help="Column of case weights.")]
WeightType = Annotated[
    str,
    typer.Option(metavar="TYPE", help="importance, or frequency: how many times a row was seen."),
]
PosLabel = Annotated[str | None, typer.Option(metavar="LABEL", help="The positive one of two labels.")]
Labels = Annotated[
    str | None,
    listed("LABEL,...", "All labels in the order of the scores, if not those of the target."),
]
Bounds = Annotated[
    str | None,
    typer.Option(metavar="LOW,HIGH", help="Range that values can have; of a mean, or of quantiles."),
]
Resamples = Annotated[
    int | None, typer.Option(metavar="N", help="Number of bootstrap resamples; by default exact laws, else 9,999.")
]
DrawnResamples = Annotated[int, typer.Option("--resamples", metavar="N", help="Number of bootstrap resamples.")]
Resampling = Annotated[
    str,
    typer.Option(
        metavar="WAY", help="bootstrap; or stationary, circular, moving: blocks of rows in the order of time."
    ),
]
BlockLength = Annotated[
    str,
    typer.Option(
        metavar="ROWS",
        help="Length of blocks (of stationary ones the mean); auto estimates it.",
        callback=_as_length,
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed, which repeats a run; drawn and shown by default.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES", help=f"Memory for replicates: bytes, or with {', '.join(UNITS)}.", callback=_as_bytes
    ),
]
Csv = Annotated[
    Path | None, typer.Option("--csv", metavar="OUT", help="Also write the table as CSV.", callback=writable)
]
Json = Annotated[
    Path | None, typer.Option("--json", metavar="OUT", help="Also write the result as JSON.", callback=writable)
]


def given(columns: Mapping[str, Any], **names: str | None) -> dict[str, Any]:
    """Return arguments of a verb from the columns that options name; None where none is named."""
    return {argument: None if name is None else columns[name] for argument, name in names.items()}


def naming(*names: str | None, beside: Iterable[str | None]) -> list[str]:
    """Return the columns that name groups of rows, read as texts unless they are read ``beside`` as something else."""
    return [name for name in names if name is not None and name not in beside]


def label_options(target: np.ndarray | None, pos_label: str | None, labels: str | None) -> dict[str, Any]:
    """Return what is said of the labels of a column, as arguments of a verb."""
    from jaxci.cli.tables import as_label

    options: dict[str, Any] = {}
    if target is None:
        if pos_label is not None or labels is not None:
            raise ValueError("--pos-label and --labels need --target")
        return options
    if pos_label is not None:
        options["pos_label"] = as_label(pos_label, target)
    if labels is not None:
        options["labels"] = [as_label(text, target) for text in split(labels)]
    return options


def labels_in(
    target: str | None, predictions: Iterable[str | None], metrics: list[str], labels: str | None = None
) -> WrittenLabels:
    """Return which of the columns that ``metrics`` read hold labels, and how they are read."""
    from jaxci.api.readers.metrics import are_of_numbers, named_metrics
    from jaxci.api.readers.texts import WrittenLabels

    if all(are_of_numbers([metric]) for metric in metrics):
        return WrittenLabels()
    scored = any(one is not None and "y_score" in one.inputs for _, one in named_metrics(metrics))
    return WrittenLabels.of([target, *(() if scored else predictions)], split(labels))


def split(text: str | None) -> list[str]:
    """Return the parts between commas."""
    return [part.strip() for part in text.split(",")] if text else []


def numbers(option: str, text: str) -> tuple[float, ...]:
    """Return the numbers between commas that an option has."""
    try:
        return tuple(float(part) for part in split(text))
    except ValueError as error:
        raise ValueError(f"{option} must be numbers between commas; {error}") from None


def within(metrics: list[str], bounds: str | None) -> list[Any]:
    """Return names of metrics, the mean as one of values within ``bounds`` where these are given."""
    if bounds is None:
        return [*metrics]
    from jaxci.statistics import Mean

    if "mean" not in metrics:
        raise ValueError(f"--bounds goes with the metric mean, of values; got {', '.join(metrics) or 'no metric'}")
    mean = Mean(bounds=numbers("--bounds", bounds))  # type: ignore[arg-type]
    return [mean if name == "mean" else name for name in metrics]


@contextlib.contextmanager
def working(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress, and leave remarks to the result, which holds them all."""
    from jaxci.printing import JaxciWarning

    with warnings.catch_warnings(), progress(label) as advance:
        warnings.simplefilter("ignore", JaxciWarning)
        yield advance
