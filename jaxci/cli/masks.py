"""The command ``masks``: segmentation masks of two folders, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxci.cli.options import Csv, Json, Level, Method, Seed, Sep, apart, listed, numbers, split, working


def _folder(metavar: str) -> Any:
    return typer.Argument(
        metavar=metavar, help="Folder of mask images; a case has one name in both.", show_default=False, callback=apart
    )


def masks(
    predictions: Annotated[Path, _folder("PREDICTIONS")],
    references: Annotated[Path, _folder("REFERENCES")],
    spacing: Annotated[
        str | None,
        typer.Option(metavar="Z,Y,X", help="Distance of voxels along each axis; by default that of the images."),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Tolerance of the surface Dice (NSD), in units of --spacing; by default one voxel."),
    ] = None,
    labels: Annotated[str | None, listed("CODE,...", "Labels to measure; by default all but 0.")] = None,
    empty: Annotated[
        str, typer.Option(help="worst, nan or error: what a distance counts where one mask of a case is empty.")
    ] = "worst",
    surface: Annotated[str, typer.Option(help="elements, voxels or faces: what surfaces are made of.")] = "elements",
    metrics: Annotated[str, listed("NAME,...", "Metrics to summarize with intervals.")] = "dice,nsd,hd95,assd",
    groups: Annotated[
        Path | None, typer.Option(metavar="CSV", help="File with the columns case and group (a patient's cases).")
    ] = None,
    method: Method = "auto",
    level: Level = 0.95,
    seed: Seed = None,
    sep: Sep = None,
    json: Json = None,
    csv: Csv = None,
) -> None:
    """Overlaps and surface distances of segmentation masks, with intervals; --csv and --json keep every case."""
    with working("measuring") as advance:
        import jaxci
        from jaxci.api.readers.tables import read_columns
        from jaxci.checks import check_choice, check_confidence_level
        from jaxci.cli.tables import write_csv, write_json
        from jaxci.intervals.registry import method_by_name
        from jaxci.segmentation.files import images_in, others_in
        from jaxci.segmentation.table import METRICS, VOLUMES

        if method != "auto":
            method_by_name(method)
        check_confidence_level(level)
        for folder in (predictions, references):
            if not folder.is_dir():
                raise ValueError(f"there is no folder {str(folder)!r}")
        summarized = [check_choice("--metrics", name, (*METRICS, *VOLUMES)) for name in split(metrics)]
        sides = images_in(predictions), images_in(references)
        skipped = [(str(folder), others_in(folder)) for folder in (predictions, references)]
        found = jaxci.segmentation.cases(
            *sides,
            spacing=None if spacing is None else _spacing(spacing),
            tolerance=tolerance,
            labels=None if labels is None else [_code(text) for text in split(labels)],
            empty=empty,
            surface=surface,
            progress=lambda done: advance(done, len(sides[0])),
        )
        options: dict[str, Any] = {}
        if groups is not None:
            named = read_columns(groups, ["case", "group"], sep, texts=["case", "group"])
            group = _by_case(named["case"].tolist(), named["group"].tolist())
            found, options = found.with_columns(group=group), {"groups": "group"}
        if csv is not None:
            write_csv(csv, found.records())
        if json is not None:
            write_json(json, found.to_dict())
        summaries = None
        if len(found.cases) > 1:
            summaries = jaxci.evaluate_cases(
                found, metrics=summarized, method=method, confidence_level=level, rng=seed, **options
            )
    from jaxci.cli.display import page, show_notes, show_seeded, show_table
    from jaxci.printing import first_few

    console = page()
    beside = [f"{folder}: {first_few(names)} skipped, which is no image file" for folder, names in skipped if names]
    if summaries is None:
        show_table(console, found)
        show_notes(console, ["one case, and so no interval", *beside])
        return
    show_seeded(console, summaries)
    show_notes(console, [found.headline(), *found.remarks, *beside])


def _by_case(cases: list[Any], groups: list[Any]) -> dict[str, Any]:
    """Return the group of every case, which has one."""
    from jaxci.api.readers.arrays import is_missing

    found: dict[str, Any] = {}
    for case, group in zip(map(str, cases), groups, strict=True):
        if is_missing(group):
            raise ValueError(f"--groups must name the group of every case; that of {case!r} is missing")
        if found.setdefault(case, group) != group:
            raise ValueError(f"--groups must name one group a case; got {found[case]!r} and {group!r} of {case!r}")
    return found


def _spacing(text: str) -> Any:
    """Return the distance of voxels: one number for all axes, or one for each."""
    found = numbers("--spacing", text)
    return found[0] if len(found) == 1 else found


def _code(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"--labels must be whole numbers between commas; got {text!r}") from None
