"""Posteriors of many data sets at once: replicates of statistics on a bank of weights joined by units not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inference.posterior import going_along, sizes
from jaxci.inference.program import Program
from jaxci.intervals.base import Prior
from jaxci.resampling.kernels import mapped
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import PseudoUnits, Sample


class Unseen(NamedTuple):
    """What posteriors of one statistic read besides the data: one for each prior, empty where none is drawn.

    Attributes
    ----------
    shared : pytree
        What the statistic reads of a bank of weights, whose last row is all ones.
    weights : tuple of (P, B + 1) arrays
        Weights of the pseudo-units; the last column is 0.
    """

    shared: Any
    weights: tuple[Any, ...]


def posterior_cores(
    statistics: Sequence[Statistic],
    priors: Sequence[tuple[Prior, ...]],
    sample: Sample,
    programs: Program,
    unseen: Sequence[Unseen | None],
    layout: Layout,
) -> list[list[jax.Array]]:
    """Return the cores (R, B + 1) of every statistic under each of its priors; none where no posterior is drawn.

    Statistics that meet the same pseudo-units are evaluated together.

    Parameters
    ----------
    statistics : sequence of length S
    priors : sequence of length S
        Of each statistic.
    sample : Sample
        Arrays (R, n, ...).
    programs : Program
        Of all data sets, with a leading axis.
    unseen : sequence of length S
        None where no posterior is drawn.
    layout : Layout
        Of the rows of every data set.
    """
    shared = {number: one.shared for number, one in enumerate(unseen) if one is not None}
    groups: dict[Any, tuple[Any, np.ndarray, list[tuple[int, int]]]] = {}
    for number, one in enumerate(unseen):
        for place, weights in enumerate(() if one is None else one.weights):
            reach = (priors[number][place].reach, priors[number][place].bounded_reach)
            kind = (id(weights), *reach, statistics[number].together, statistics[number].walks)
            groups.setdefault(kind, (weights, np.array(reach), []))[-1].append((number, place))
    known: dict[tuple[int, int], jax.Array] = {}
    for (*_, together, walks), (weights, bounds, members) in groups.items():
        numbers = tuple(number for number, _ in members)

        def of_one(
            data: tuple[Program, Any], weights: Any = weights, reach: Any = bounds, numbers: tuple[int, ...] = numbers
        ) -> tuple[jax.Array, ...]:
            program, (held, along) = data
            return program.posterior_cores(shared, PseudoUnits(weights, held, reach, along), numbers)

        held = jax.vmap(lambda one: jax.tree.map(jnp.asarray, (sizes(one, layout), going_along(one, layout))))(sample)
        if walks:
            found = mapped(of_one, (programs, held))
        else:
            found = jax.vmap(of_one)((programs, held)) if together else jax.lax.map(of_one, (programs, held))
        known.update(zip(members, found, strict=True))
    drawn = [0 if one is None else len(one.weights) for one in unseen]
    return [[known[number, place] for place in range(count)] for number, count in enumerate(drawn)]
