"""Supervised learning problems by name, and as plain tables of a study file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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


def is_own(law: Problem | FileProblem) -> bool:
    """Whether a problem is of a class of the user's own."""
    return type(law) not in _KINDS.values()


def check_problem(law: Problem | FileProblem) -> None:
    """Try a problem, and tell what is wrong with it; of a user's own some rows are drawn.

    Raises
    ------
    ValueError
        If it does not say its task, number of features and classes, or ``sample`` does not return rows of these.
    """
    if isinstance(law, FileProblem):
        return
    name = type(law).__name__
    if jax.tree_util.all_leaves([law]):
        raise ValueError(f"{name} must be a record: decorate the class with jaxci.records.record")
    for field in ("task", "n_features"):
        if not hasattr(law, field):
            raise ValueError(f"{name} must say {field}, as an attribute of the class or a field")
    if law.task not in ("regression", "classification"):
        raise ValueError(f"task of {name} must be 'regression' or 'classification'; got {law.task!r}")
    if (law.task == "classification") != (law.n_classes >= 2):
        raise ValueError(
            f"n_classes of {name} must be 2 or more for classes, and 0 for a regression; got {law.n_classes}"
        )
    try:
        found = jax.eval_shape(lambda key: law.sample(key, 7), jax.random.key(0))
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        raise ValueError(f"{name}.sample must be a JAX program of its key: {str(error).splitlines()[0]}") from error
    shapes = (
        [getattr(part, "shape", None) for part in found]
        if isinstance(found, tuple)
        else [getattr(found, "shape", found)]
    )
    if shapes != [(7, law.n_features), (7,)]:
        raise ValueError(
            f"{name}.sample(key, n) must return X (n, {law.n_features}) and y (n,); for n = 7 it returns "
            f"{', '.join(map(str, shapes))}"
        )
    if law.n_classes and not jnp.issubdtype(found[1].dtype, jnp.integer):
        raise ValueError(f"{name}.sample must return class codes, integers from 0; got {found[1].dtype}")
    if is_own(law):
        _try_draws(law)


TRIED = 2000
"""Rows of a user's own problem that are drawn to see whether they are what it says."""
FAR = 6.0
"""Standard errors by which they may be apart from that."""


def _try_draws(law: Problem) -> None:
    """Refuse draws that are not finite, codes of no class, and a normal law that draws do not have."""
    name = type(law).__name__
    with jax.enable_x64(True):
        X, y = (np.asarray(part, np.float64) for part in law.sample(jax.random.key(0), TRIED))
        known = law.normal_law()
        if known is not None:
            theta = np.asarray(known.theta, np.float64)
            image = np.asarray(known.times(known.theta), np.float64)
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError(f"{name}.sample must return finite numbers; some of {TRIED} rows are not")
    if law.n_classes and (y.min() < 0 or y.max() >= law.n_classes):
        raise ValueError(
            f"{name}.sample must return class codes 0 to {law.n_classes - 1}; got {y.min():.0f} to {y.max():.0f}"
        )
    if known is None:
        return
    line = X @ theta
    rest = y - (line if known.noise is not None else 1 / (1 + np.exp(-line)))
    means = {"features have mean 0": X, "X @ theta times the features is times(theta)": line[:, None] * X - image}
    means |= {"targets less their line, or probability, have mean 0": rest[:, None]}
    means |= {"targets less their line, or probability, do not depend on the features": rest[:, None] * X}
    if known.noise is not None:
        means |= {"targets less their line have variance noise**2": (rest**2 - known.noise**2)[:, None]}
    for what, values in means.items():
        error = values.std(axis=0, ddof=1) / TRIED**0.5
        if (np.abs(values.mean(axis=0)) > FAR * error + 1e-9).any():
            raise ValueError(
                f"normal_law of {name} must be that of its draws; it says that {what}, which they have not"
            )


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
        If it is of a class that cannot be imported, or holds what no file can.
    """
    return encode(problem, _KINDS, defaults=True, base=Problem)


def problem_from_dict(description: Mapping[str, Any]) -> Problem | FileProblem:
    """Return the problem that a dictionary describes: ``kind`` and the fields of its class by name.

    The ``kind`` of a user's own class is ``module:class``, which is imported.

    Raises
    ------
    ValueError
        If the kind or a key is unknown or missing, or a value is not what the problem takes.

    Examples
    --------
    >>> problem_label(problem_from_dict({"kind": "bates_regression", "n_features": 100}))
    'bates_regr_100'
    """
    return decode(description, _KINDS, what="a problem", base=Problem)
