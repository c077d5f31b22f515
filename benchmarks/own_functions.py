"""Simulate ``jaxci.interval`` of functions of the user's own, of which no card tells.

Run ``python benchmarks/own_functions.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes how many data sets
there are of a design. The default is ``bca``; ``percentile`` is judged on the same data sets. A design counts the data
sets by what the remark says of them: fewer rows decide than 5, than 15, or nothing. Nominal 95%.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from simulated import simulate

import jaxci
from jaxci.inference.left_out import COVERED_BY_FEW
from jaxci.statistics import WeightedFunction

MANY = 2_000_000
"""Rows that true values are read off."""
LIMITS = (*COVERED_BY_FEW["bca"], 0)
"""Numbers of deciding rows that remarks tell apart; 0: no remark."""


def mean(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.sum(x * w) / jnp.sum(w)


def variation(x: jax.Array, w: jax.Array) -> jax.Array:
    m = mean(x, w)
    return jnp.sqrt(mean((x - m) ** 2, w)) / m


def skewness(x: jax.Array, w: jax.Array) -> jax.Array:
    m = mean(x, w)
    return mean((x - m) ** 3, w) / mean((x - m) ** 2, w) ** 1.5


def gini(x: jax.Array, w: jax.Array) -> jax.Array:
    order = jnp.argsort(x)
    x, w = x[order], w[order]
    return jnp.sum(w * x * (2 * jnp.cumsum(w) - w - jnp.sum(w))) / (jnp.sum(w) * jnp.sum(w * x))


def log_mean_square(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.log(mean(x**2, w))


def capped(x: jax.Array, w: jax.Array) -> jax.Array:
    return mean(jnp.minimum(jnp.abs(x - 2), 1.5), w)


def geometric_mean(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.exp(mean(jnp.log(jnp.abs(x) + 0.01), w))


def spread(x: jax.Array, w: jax.Array) -> jax.Array:
    return mean(jnp.abs(x - mean(x, w)), w)


FUNCTIONS = (variation, skewness, gini, log_mean_square, capped, geometric_mean, spread)
OWN = {function.__name__: WeightedFunction(function) for function in FUNCTIONS}
LAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: 3 + rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "gamma(4)": lambda rng, n: rng.gamma(4, size=n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "t(3)": lambda rng, n: 5 + rng.standard_t(3, size=n),
    "beta(8, 2)": lambda rng, n: 1 + rng.beta(8, 2, size=n),
    "one in twenty large": lambda rng, n: 5.0 * (rng.random(n) < 0.05) + rng.random(n),
    "uniform": lambda rng, n: rng.random(n),
}


class Design(NamedTuple):
    """A function of values of a law, and how many there are."""

    function: str
    law: str
    n: int


DESIGNS = tuple(Design(function, law, n) for function in OWN for law in LAWS for n in (50, 100, 300, 1000))


def told(result: jaxci.IntervalResult) -> int:
    """Return below which limit the remark says that deciding rows are, 0 where it says nothing."""
    found = re.search(r"fewer than (\d+) rows decide", " ".join(result.warnings))
    return 0 if found is None else int(found[1])


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return, by what is said and by method, coverage, mean width and the number of data sets."""
    function, law = OWN[design.function], LAWS[design.law]
    many = jnp.asarray(law(np.random.default_rng(0), MANY), jnp.float32)
    truth = float(function.function(many, jnp.ones(MANY)))
    held: dict[int, list[tuple[float, ...]]] = {limit: [] for limit in LIMITS}
    for number in range(sets):
        values = law(np.random.default_rng([1, number]), design.n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {"n_resamples": 999, "rng": number}
            default, percentile = (jaxci.interval(function, values, method=m, **given) for m in ("auto", "percentile"))
        ends = (one.confidence_interval for one in (default, percentile))
        held[told(default)].append(tuple(x for low, high in ends for x in (low <= truth <= high, high - low)))
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for limit, one in held.items():
        if one:
            means = np.round(np.mean(one, axis=0), 4).tolist()
            name = f"fewer than {limit}" if limit else "no remark"
            found[name] = {"auto": (*means[:2], len(one)), "percentile": (*means[2:], len(one))}
    return found


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "found")
