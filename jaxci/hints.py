"""What a message says of an unknown word."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def hint(word: str, known: Collection[str]) -> str:
    """Return the nearest known word, or all of them, as the end of a message."""
    close = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f": did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
