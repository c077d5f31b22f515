"""Study files as people read them: a design with its comments, and the user's data in a file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxci.coverage.bundled import plain_name


def data_file(file: Path) -> Path:
    """Return the file of the instances of a study file."""
    if not file.name:
        raise ValueError(f"FILE must be a file to write; got {str(file)!r}")
    return file.with_name(f"{file.stem}-data.csv")


def written_design(
    text: str,
    changes: Mapping[str, Any],
    *,
    data: str | None = None,
    bounds: Any = None,
    discrete: list[str] | None = None,
) -> str:
    """Return the text of a design with other fields, and with its comments.

    Parameters
    ----------
    text : str
        The design (TOML).
    changes : mapping
        Fields by name, as :func:`jaxci.coverage.load_study` takes them.
    data : str, optional
        Name of the file of instances.
    bounds, discrete
        What the user says of the metrics of the data.
    """
    try:
        import tomlkit
    except ImportError as error:
        raise ImportError("jaxci study new needs tomlkit: install jaxci[cli]") from error
    page = tomlkit.parse(text)
    fields: Any = page.get("classifier", page.get("generalization", page))
    for name, value in changes.items():
        if name != "tags":
            fields[name] = value
    if "sample_sizes" in changes:
        page.pop("more_sizes", None)
    for entry in page.get("more_sizes", ()):
        for name in changes:
            entry.pop(name, None)
    if changes.get("tags"):
        page["tags"] = tomlkit.table()
        for name, tags in changes["tags"].items():
            row = tomlkit.inline_table()
            row.update(tags)
            page["tags"][name] = row
    described: Any = page.get("data", {})
    if data is not None:
        described["file"] = data
    if discrete is not None:
        described["discrete"] = discrete
    if isinstance(bounds, Mapping):
        ranges = described.setdefault("bounds", tomlkit.table())
        told = set(map(plain_name, bounds))
        for name in [known for known in ranges if plain_name(known) in told]:
            del ranges[name]
        for name, ends in bounds.items():
            ranges[name] = list(ends)
    elif bounds is not None:
        described["bounds"] = list(bounds)
    return tomlkit.dumps(page)
