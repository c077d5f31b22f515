"""Risks of linear models where the law of the data is normal: by integrals in place of new rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxci.distributions import FileProblem, Problem
from jaxci.generalization.losses import Loss
from jaxci.inducers.base import Inducer, fitting

REACH, STEP, NODES = 9.0, 0.125, 32
"""Standard deviations to which integrals go, the step of the trapezoid rule, and nodes of Gauss's in each panel."""
BENDS = (0.0, 1.0, 8.0, -math.log(np.finfo(float).eps))
"""Log odds, of either sign, where losses of two classes bend: the last where log losses are cut."""


class Moments(NamedTuple):
    """A plane seen from the law of the features: its mean, its variance, its covariance with the line of the target."""

    mean: Any
    variance: Any
    covariance: Any


def _vouched(thing: Any, claim: str, fact: str) -> bool:
    """Whether what a class claims by one method was written with, or after, the other method that it is about."""
    order = type(thing).__mro__
    homes = [
        next((number for number, cls in enumerate(order) if name in vars(cls)), len(order)) for name in (claim, fact)
    ]
    within = vars(thing).values() if isinstance(thing, Inducer) else ()
    return homes[0] <= homes[1] and all(_vouched(x, claim, fact) for x in within if isinstance(x, Inducer))


def is_exact(problem: Problem | FileProblem, learner: Any, loss: Loss, n: int) -> bool:
    """Whether risks of these are known: of a linear model of ``n`` rows, for normal features, a plain loss.

    What a subclass inherits of a plane or a law, while it overrides ``predict`` or ``sample``, does not count.
    """
    if not isinstance(problem, Problem) or not isinstance(learner, Inducer) or loss.adjusted is not None:
        return False
    if not (_vouched(problem, "normal_law", "sample") and _vouched(learner, "plane", "predict")):
        return False
    law = problem.normal_law()
    if law is None or (law.noise is not None and loss.name not in ("squared", "absolute")):
        return False
    d, n_classes = problem.n_features, problem.n_classes

    def plane(key: jax.Array) -> Any:
        y = jnp.zeros(n, jnp.int32 if n_classes else float)
        return learner.plane(fitting(learner, key, jnp.zeros((n, d)), y, jnp.ones(n), n_classes).params, d)

    return bool(jax.tree.leaves(jax.eval_shape(plane, jax.random.key(0))))


def moments(rows: Any, shared: Any, *, n_classes: int) -> Moments:
    """Return the moments (R, F) of the planes of fits to each of the counts."""
    keys, X, y = rows
    learner, counts, problem = shared
    law = problem.normal_law()

    def fit(key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array) -> Moments:
        params = fitting(learner, key, X, y, weights, n_classes).params
        plane = learner.plane(params, X.shape[1])
        # Of a regression the line of the target less the plane: what is left of it does not lose digits.
        slopes = plane.slopes - law.theta if law.noise is not None else plane.slopes
        image = law.times(slopes)
        return Moments(plane.level, slopes @ image, law.theta @ image)

    return jax.vmap(jax.vmap(fit, (0, None, None, 0)), (0, 0, 0, None))(keys, X, y, counts)


def exact_risks(problem: Problem, loss: Loss, found: Moments) -> np.ndarray:
    """Return mean losses (R, F) of new rows.

    Of a regression the error is normal: ``E e**2`` and ``E |e|`` of a normal variable. Of two classes the mean over
    the log odds v of the plane (a normal variable) of the loss of either class, weighted by the probability of the
    class where the plane is v, itself an integral over the rest of the line of the target.
    """
    law = problem.normal_law()
    assert law is not None
    mean, variance, covariance = (np.asarray(x, np.float64) for x in found)
    if law.noise is not None:
        spread = np.sqrt(variance + law.noise**2)
        if loss.name == "squared":
            return np.asarray(mean**2 + spread**2)
        at = mean / spread
        return np.asarray(spread * np.sqrt(2 / np.pi) * np.exp(-(at**2) / 2) + mean * special.erf(at / np.sqrt(2)))
    whole = float(law.theta @ law.times(law.theta))
    flat = np.stack([x.ravel() for x in (mean, variance, covariance)], axis=1)
    return np.array([_of_classes(loss, Moments(*each), whole) for each in flat]).reshape(mean.shape)


def _of_classes(loss: Loss, found: Moments, whole: float) -> float:
    mean, variance, covariance = found
    spread = np.sqrt(max(variance, 0.0))
    slope = covariance / spread if spread > 0 else 0.0
    bends = [(sign * at - mean) / spread for at in BENDS for sign in (-1, 1)] if spread > 0 else []
    # Where the probability of the second class turns, too.
    z, mass = _nodes([*bends, *(sign * at / slope for at in BENDS[:3] for sign in (-1, 1) if slope != 0)])
    v = mean + spread * z
    rest = np.sqrt(max(whole - slope**2, 0.0))
    inner = np.arange(-REACH, REACH + STEP / 2, STEP)
    chance = special.expit(slope * z[:, None] + rest * inner) @ (_density(inner) * STEP)
    probabilities = np.stack([special.expit(-v), special.expit(v)], axis=1)
    second, first = (loss.rows(np.full(len(v), code), probabilities) for code in (1, 0))
    return float(mass @ (chance * second + (1 - chance) * first))


def _nodes(bends: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return places and weights of a mean over a standard normal variable, of what is smooth between ``bends``."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    edges = np.unique(np.clip([-REACH, -3.0, 0.0, 3.0, REACH, *bends], -REACH, REACH))
    z = np.concatenate([(a + b) / 2 + (b - a) / 2 * x for a, b in itertools.pairwise(edges)])
    return z, np.concatenate([(b - a) / 2 * w for a, b in itertools.pairwise(edges)]) * _density(z)


def _density(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
