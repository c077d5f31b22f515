"""Supervised learning problems by name, and as plain tables of a study file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxci.checks import hint
from jaxci.distributions.problem_files import FileProblem
from jaxci.distributions.problems import (
    BatesClassification,
    BatesRegression,
    Chen10,
    Covariance,
    Friedman1,
    HighDimensional,
    Problem,
)
from jaxci.records import decode, encode, settings

PROBLEMS: dict[str, Callable[[], Problem]] = {
    **{f"bates_classif_{d}": functools.partial(BatesClassification, d) for d in (20, 100)},
    **{f"bates_regr_{d}": functools.partial(BatesRegression, d) for d in (20, 100)},
    "friedman1": Friedman1,
    "chen_10": Chen10,
    "chen_10_null": functools.partial(Chen10, null=True),
    "chen_10_code": functools.partial(Chen10, variant="code"),
    "chen_10_null_code": functools.partial(Chen10, null=True, variant="code"),
    **{f"highdim_{100 * 2**e}": functools.partial(HighDimensional, e) for e in range(7)},
}
"""Problems by name."""

_KINDS: dict[str, type[Any]] = {
    "bates_classification": BatesClassification,
    "bates_regression": BatesRegression,
    "friedman1": Friedman1,
    "chen_10": Chen10,
    "high_dimensional": HighDimensional,
    "covariance": Covariance,
    "file": FileProblem,
}


def problem(name: str) -> Problem:
    """Return the problem of that name in :data:`PROBLEMS`; raise ``ValueError`` naming the nearest."""
    if name not in PROBLEMS:
        raise ValueError(f"there is no problem {name!r}{hint(str(name), PROBLEMS)}")
    return PROBLEMS[name]()


def problem_label(problem: Problem | FileProblem) -> str:
    """Return the name in :data:`PROBLEMS`, or of the file, or that of the class and d."""
    if isinstance(problem, FileProblem):
        return Path(problem.path).name.split(".")[0]
    for name, make in PROBLEMS.items():
        known = make()
        if type(problem) is type(known) and settings(problem) == settings(known):
            return name
    return f"{type(problem).__name__}({problem.n_features} features)"


def problem_to_dict(problem: Problem | FileProblem) -> dict[str, Any]:
    """Return plain numbers, strings and lists, from which :func:`problem_from_dict` makes it again.

    Raises
    ------
    ValueError
        If it is of a user's own class.
    """
    return encode(problem, _KINDS, defaults=True)


def problem_from_dict(description: Mapping[str, Any]) -> Problem | FileProblem:
    """Return the problem that a dictionary describes: ``kind`` and the fields of its class by name.

    Raises
    ------
    ValueError
        If the kind or a key is unknown or missing, or a value is not what the problem takes.

    Examples
    --------
    >>> problem_label(problem_from_dict({"kind": "bates_regression", "n_features": 100}))
    'bates_regr_100'
    """
    return decode(description, _KINDS, what="a problem")
