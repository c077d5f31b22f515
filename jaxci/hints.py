"""What messages say of unknown words and of tables that a file does not fill rightly."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any


def hint(word: str, known: Collection[str]) -> str:
    """Return the nearest known word, or all of them, as the end of a message."""
    close = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f": did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def read_kind(what: str, description: Any, kinds: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the kind of a table that describes ``what``, and its other keys."""
    if not isinstance(description, Mapping) or "kind" not in description:
        raise ValueError(f"{what} must be a table with a key 'kind'; got {description!r}")
    kind = description["kind"]
    if kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(kinds)}; got {kind!r}{hint(str(kind), kinds)}")
    return str(kind), {key: value for key, value in description.items() if key != "kind"}


def check_keys(what: str, given: Mapping[str, Any], needs: Collection[str], known: Collection[str]) -> None:
    """Refuse a table that lacks a key of ``needs`` or has one that is not ``known``."""
    for key in needs:
        if key not in given:
            raise ValueError(f"{what} needs {key!r}; got {', '.join(given) or 'nothing'}")
    for key in given:
        if key not in known:
            raise ValueError(f"{what} has no key {key!r}{hint(key, known)}")
