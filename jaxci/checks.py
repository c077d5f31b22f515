"""Checks on the plain arguments of the verbs. Every error names the argument, the rule and the value."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

ALTERNATIVES = ("two-sided", "less", "greater")
"""Sides of an interval, with SciPy's meaning."""
ABSENT_CLASS = ("sklearn", "zero", "skip")
"""What a class may count that is absent from a resample."""
MOST_SHOWN = 200
"""Characters of a value that a message shows."""


SHORTEST = 3
"""Letters that the beginning of a name has at least."""
ALIKE, ALIKE_IN_FEW = 0.7, 0.65
"""Names less alike than this, by the ratio of difflib, share no more than letters; of few words, such as keys."""
MANY_CHOICES = 12
"""Of more choices than so many the nearest is named before them all."""


def shown(value: Any) -> str:
    """Return a value as users would write it: plain Python on one line, cut where it is long."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ..."


def _closest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in ``known`` that is like ``name``, or begins with it, whatever the case of its letters."""
    folded = {other.lower(): other for other in known}
    begun = [other for other in folded if len(name) >= SHORTEST and other.startswith(name.lower())]
    close = begun or difflib.get_close_matches(name.lower(), folded, 1, ALIKE)
    return folded[min(close, key=len)] if close else None


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint with the nearest known name, or all of them."""
    close = _closest(name, known)
    return f"known are: {', '.join(sorted(known))}" if close is None else f"did you mean {close!r}?"


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if isinstance(value, str) and value in choices:
        return value
    close = _closest(value, choices) if isinstance(value, str) else None
    known = ", ".join(choices)
    if close is not None and len(choices) > MANY_CHOICES:
        said = f"{name} must be one of {len(choices)} names; got {shown(value)}: did you mean {close!r}?"
        raise ValueError(f"{said} They are {known}")
    hint = "" if close is None else f": did you mean {close!r}?"
    raise ValueError(f"{name} must be one of {known}; got {shown(value)}{hint}")


def check_number(name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> float:
    """Return ``value`` as a float for which ``holds``, which ``rule`` says in words."""
    if isinstance(value, str | bool | np.bool_) or not hasattr(value, "__float__") or np.ndim(value):
        raise TypeError(f"{name} must be a number; got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:  # of a whole number beyond all floats
        number = math.inf if value > 0 else -math.inf
    except ValueError:  # of a text in an array
        raise TypeError(f"{name} must be a number; got {shown(value)}") from None
    if not holds(number):
        raise ValueError(f"{name} must {rule}; got {shown(value)}")
    return number


def check_confidence_level(level: Any, name: str = "confidence_level") -> float:
    """Return ``level`` as a float strictly between 0 and 1."""
    value = check_number(name, level, "lie in (0, 1)", lambda x: 0 < x < 1 or 1 < x < 100)
    if value > 1:
        raise ValueError(f"{name} must lie in (0, 1); got {shown(level)}: for {value:g}% pass {value / 100:g}")
    return value


def check_distinct(name: str, values: Sequence[str]) -> None:
    """Refuse a value that is given more than once."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{name} must be distinct; {value!r} is given {values.count(value)} times")


def check_alternative(alternative: Any) -> str:
    """Return ``alternative`` if it is one of SciPy's three."""
    return check_choice("alternative", alternative, ALTERNATIVES)


def check_count(name: str, value: Any, minimum: int) -> int:
    """Return ``value`` as an int of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer; got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}")
    return int(value)


def check_margin(margin: Any) -> float:
    """Return a non-inferiority margin as a positive float."""
    return check_number("margin", margin, "be positive and finite", lambda x: 0 < x < math.inf)


OPTION_RULES: dict[str, Callable[[str, Any], Any]] = {
    "q": functools.partial(check_number, rule="lie in [0, 1]", holds=lambda x: 0 <= x <= 1),
    "proportiontocut": functools.partial(check_number, rule="lie in [0, 0.5)", holds=lambda x: 0 <= x < 0.5),
    "n_bins": functools.partial(check_count, minimum=1),
    "beta": functools.partial(check_number, rule="not be negative", holds=lambda x: x >= 0),
    "zero_division": functools.partial(
        check_number, rule="be 0, 1 or nan", holds=lambda x: x in (0, 1) or math.isnan(x)
    ),
    "absent_class": functools.partial(check_choice, choices=ABSENT_CLASS),
    "acceleration": functools.partial(check_choice, choices=("influence", "jackknife")),
    "degenerate": functools.partial(check_choice, choices=("bc", "nan")),
    "endpoints": functools.partial(check_choice, choices=("percentile", "basic", "normal", "bc", "bca")),
}
"""What an option of a statistic or of a method must be, where its record does not say so itself."""


def check_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a statistic or a method, checked one by one."""
    return {name: OPTION_RULES[name](name, value) if name in OPTION_RULES else value for name, value in options.items()}


def counted(bad: np.ndarray, what: str) -> str:
    """Say how many entries are bad and where the first is."""
    first = np.argwhere(np.atleast_1d(bad))[0][0]
    return f"{int(bad.sum())} of {bad.size} values are {what}, the first in row {int(first)}"


def check_unmasked(name: str, data: Any) -> None:
    """Refuse masked values of NumPy, which an array made of them would hold as if they were not masked."""
    if np.ma.is_masked(data):
        raise ValueError(f"{name} must hold no masked values; {counted(np.ma.getmaskarray(data), 'masked')}")


def hint(word: str, known: Collection[str]) -> str:
    """Return the nearest known word, or all of them, as the end of a message."""
    close = difflib.get_close_matches(word, list(known), 1, ALIKE_IN_FEW)
    return f": did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def read_kind(what: str, description: Any, kinds: Collection[str], key: str = "kind") -> tuple[str, dict[str, Any]]:
    """Return the word under ``key`` of a table that describes ``what``, and its other keys."""
    if not isinstance(description, Mapping) or key not in description:
        raise ValueError(f"{what} must be a table with a key {key!r}; got {shown(description)}")
    kind = description[key]
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"{key} of {what} must be one of {', '.join(kinds)}; got {kind!r}{hint(str(kind), kinds)}")
    return kind, {str(name): value for name, value in description.items() if name != key}


def check_table(name: str, value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a table of values by name."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a table of values by name; got {shown(value)}")
    return value


def check_keys(what: str, given: Mapping[str, Any], needs: Collection[str], known: Collection[str]) -> None:
    """Refuse a table that lacks a key of ``needs`` or has one that is not ``known``."""
    for key in needs:
        if key not in given:
            raise ValueError(f"{what} needs {key!r}; got {', '.join(given) or 'nothing'}")
    for key in given:
        if key not in known:
            raise ValueError(f"{what} has no key {key!r}{hint(key, known)}")
