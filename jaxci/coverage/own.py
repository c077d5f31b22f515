"""What tells data files, and problems and learners of a user's own, from what they were before they were changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxci.coverage.entries import TELLING, rounded
from jaxci.coverage.own_code import KEPT, is_users, own_parts
from jaxci.coverage.store import UNKNOWN, digest
from jaxci.distributions import BatesClassification, BatesRegression, FileProblem, Problem
from jaxci.distributions.problem_registry import is_own
from jaxci.importing import is_import_path
from jaxci.inducers.base import Inducer, fitting, predicting
from jaxci.inducers.host import Reading, host_batches

ROWS, FEATURES, CLASSES = 64, 10, 2
"""Of the data that a learner of a user's own is fitted to, to tell it from another one of that name."""


def told_of_problem(law: Problem | FileProblem) -> dict[str, str]:
    """Return a fingerprint of a file, or of what a problem of the user's own draws; of others there is nothing to tell.

    That of a file which is not there is :data:`~jaxci.coverage.store.UNKNOWN`.
    """
    if isinstance(law, FileProblem):
        found = law.digest()
        return {"file": UNKNOWN if found is None else found[:KEPT]}
    return _steady("draws", lambda: _draws(law)) if is_own(law) else {}


def told_of_learner(learner: Any, described: Mapping[str, Any], task: str) -> dict[str, str]:
    """Return a fingerprint of what a learner predicts after a fit, if some of it is the user's own.

    ``described`` is the learner as a file holds it. Code of the library and of installed packages is told by its name.
    """
    homes = (path.partition(":")[0] for path in _named(described))
    if not any(map(is_users, homes)) and not list(own_parts(learner)):
        return {}
    return _steady("predictions", lambda: _predictions(learner, task))


def check_as_told(law: Problem | FileProblem, told: Mapping[str, str]) -> None:
    """Refuse a file that is not there, or whose rows were read before it became what is ``told`` of it.

    Raises
    ------
    ValueError
        If cells would be computed of something else than the folder says.
    """
    if not isinstance(law, FileProblem):
        return
    if told["file"] == UNKNOWN:
        raise ValueError(f"{law.path} must be there to compute the cells that are left; it cannot be read")
    if law.digest_read[:KEPT] != told["file"]:
        raise ValueError(f"{law.path} must stay as it was when it was read; it has changed: make the problem anew")


def _steady(name: str, made: Callable[[], list[np.ndarray]]) -> dict[str, str]:
    """Return a fingerprint of numbers; nothing if they cannot be made, or are others the next time."""
    try:
        one, other = (digest([rounded(part) for part in made()])[:KEPT] for _ in range(2))
    except Exception:  # of a user's code: the cells themselves say what is wrong
        return {}
    return {name: one} if one == other else {}


def _draws(law: Problem) -> list[np.ndarray]:
    with jax.enable_x64(True):
        return list(map(np.asarray, law.sample(_key(), TELLING)))


def _predictions(learner: Any, task: str) -> list[np.ndarray]:
    """Return what a learner predicts for the rows to which it was fitted, some of them left out and some doubled."""
    classes = CLASSES if task == "classification" else 0
    law = BatesClassification(FEATURES) if classes else BatesRegression(FEATURES)
    counts = np.arange(ROWS) % 3
    with jax.enable_x64(True):
        X, y = law.sample(_key(), ROWS)
        if isinstance(learner, Inducer):

            def fitted(weights: jax.Array) -> jax.Array:  # a new function is traced anew
                return predicting(learner, fitting(learner, _key(), X, y, weights, classes).params, X, classes)

            return [np.asarray(jax.jit(fitted)(counts.astype(np.float64)))]
    reads = "probabilities" if hasattr(learner, "predict_proba") else "labels"
    labels = np.arange(classes) if classes else None
    (found,) = host_batches(learner, np.asarray(X), np.asarray(y), counts[None], labels, reading=Reading(reads))
    if found.errors[0] is not None:
        raise ValueError(found.errors[0])
    return [found.predictions]


def _key() -> jax.Array:
    return jax.random.key(0, impl="threefry2x32")


def _named(described: Any) -> Iterator[str]:
    """Yield the import paths that stand in what a file holds."""
    if isinstance(described, Mapping):
        for key, value in described.items():
            if key in ("name", "object", "import") and is_import_path(value):
                yield value
            yield from _named(value)
    elif isinstance(described, list | tuple):
        for part in described:
            yield from _named(part)
