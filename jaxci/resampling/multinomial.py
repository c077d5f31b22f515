"""Multinomial counts by conditional binomials, in float64, one key a draw.

Cost per draw depends on the number of cells, not on the number of trials. Binomials with a
mean of ten or more use the transformed rejection of Hoermann (1993, algorithm BTRS); the
others invert the distribution function. Lanes whose first proposal is rejected (about one
in five) are gathered into a small buffer, so a batch does not pay for its unluckiest lane.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

BUFFER = 1024
"""Lanes retried together."""

_SMALL_MEAN = 10.0


class _Binomial(NamedTuple):
    """Constants of one binomial law per lane; ``q <= 1/2``."""

    trials: jax.Array
    q: jax.Array

    @property
    def odds(self) -> jax.Array:
        return self.q / (1 - self.q)

    def take(self, lanes: jax.Array) -> _Binomial:
        return _Binomial(self.trials[lanes], self.q)


def _stirling_error(k: jax.Array) -> jax.Array:
    """``log k! - [(k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2]`` for integers ``k >= 0``."""
    small = jnp.asarray(
        [
            0.0810614667953272582,
            0.0413406959554092941,
            0.0276779256849983391,
            0.0207906721037650931,
            0.0166446911898211922,
            0.0138761288230707480,
            0.0118967099458917701,
            0.0104112652619720965,
            0.0092554621827127330,
            0.0083305634333628742,
        ],
        k.dtype,
    )
    x = k + 1.0
    inverse = 1.0 / (x * x)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - inverse / 1680) * inverse) * inverse) / x
    return jnp.where(k < 10, small[jnp.clip(k, 0, 9).astype(jnp.int32)], series)


class _Hat(NamedTuple):
    """Constants of the rejection hat."""

    a: jax.Array
    b: jax.Array
    centre: jax.Array
    accept: jax.Array
    alpha: jax.Array

    @classmethod
    def of(cls, law: _Binomial) -> _Hat:
        spread = jnp.sqrt(law.trials * law.q * (1 - law.q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * law.q
        alpha = (2.83 + 5.1 / b) * spread
        return cls(a, b, law.trials * law.q + 0.5, 0.92 - 4.2 / b, alpha)

    def propose(self, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        room = 0.5 - jnp.abs(u)
        return room, jnp.floor((2 * self.a / room + self.b) * u + self.centre)


def _accept_exactly(law: _Binomial, hat: _Hat, room: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Compare the height ``v`` under the hat with the binomial mass at ``k``."""
    m = law.trials
    inside = (k >= 0) & (k <= m)
    k = jnp.clip(k, 0, m)
    mode = jnp.floor((m + 1) * law.q)
    height = jnp.log(v * hat.alpha / (hat.a / (room * room) + hat.b))
    bound = (
        (mode + 0.5) * jnp.log((mode + 1) / (law.odds * (m - mode + 1)))
        + (m + 1) * jnp.log((m - mode + 1) / (m - k + 1))
        + (k + 0.5) * jnp.log(law.odds * (m - k + 1) / (k + 1))
        + _stirling_error(mode)
        + _stirling_error(m - mode)
        - _stirling_error(k)
        - _stirling_error(m - k)
    )
    return inside & (height <= bound)


def _invert(law: _Binomial, u: jax.Array, active: jax.Array) -> jax.Array:
    """Invert the distribution function lane by lane where ``active``."""
    mass = jnp.exp(law.trials * jnp.log1p(-law.q))
    state: tuple[jax.Array, ...] = (jnp.zeros_like(u), mass, u - mass, active & (u > mass))

    def step(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        k, mass, rest, going = state
        mass = jnp.where(going, mass * law.odds * (law.trials - k) / (k + 1), mass)
        k = jnp.where(going, k + 1, k)
        rest = jnp.where(going, rest - mass, rest)
        return k, mass, rest, going & (rest > 0) & (k < law.trials)

    return jax.lax.while_loop(lambda s: jnp.any(s[3]), step, state)[0]


def _uniforms(bits: jax.Array) -> jax.Array:
    """Uniforms strictly inside (0, 1) from 64-bit words."""
    return ((bits >> 11).astype(jnp.float64) + 0.5) * 2.0**-53


def _binomial(keys: jax.Array, node: jax.Array, bits: jax.Array, trials: jax.Array, p: jax.Array) -> jax.Array:
    """Draw Binomial(trials, p) for each lane; ``bits`` (lanes, 2) feed the first attempt."""
    flip = p > 0.5
    law = _Binomial(trials, jnp.where(flip, 1 - p, p))
    first = _uniforms(bits)
    rejection = trials * law.q >= _SMALL_MEAN
    small = ~rejection & (trials > 0) & (law.q > 0)
    k = jax.lax.cond(jnp.any(small), lambda: _invert(law, first[:, 0], small), lambda: jnp.zeros_like(trials))

    hat = _Hat.of(law)
    room, proposal = hat.propose(first[:, 0] - 0.5)
    accepted = rejection & (room >= 0.07) & (first[:, 1] <= hat.accept)
    k = jnp.where(accepted, proposal, k)

    lanes = trials.shape[0]
    size = min(BUFFER, lanes)

    def retry(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        k, attempt, pending = state
        (chosen,) = jnp.nonzero(pending, size=size, fill_value=lanes)
        at = jnp.minimum(chosen, lanes - 1)
        tried = attempt[at]

        def words(key: jax.Array, tried: jax.Array) -> jax.Array:
            return jax.random.bits(jax.random.fold_in(jax.random.fold_in(key, node), tried), (2,), jnp.uint64)

        again = _uniforms(jax.vmap(words)(keys[at], tried))
        # Attempt 0 is the first proposal, rejected so far only by the quick test.
        uniforms = jnp.where((tried == 0)[:, None], first[at], again)
        here = law.take(at)
        its = _Hat.of(here)
        room, proposal = its.propose(uniforms[:, 0] - 0.5)
        quick = (room >= 0.07) & (uniforms[:, 1] <= its.accept)
        good = quick | _accept_exactly(here, its, room, proposal, uniforms[:, 1])
        k = k.at[chosen].set(jnp.where(good, proposal, 0.0), mode="drop")
        pending = pending.at[chosen].set(~good, mode="drop")
        attempt = attempt.at[chosen].add(1, mode="drop")
        return k, attempt, pending

    state: tuple[jax.Array, ...] = (k, jnp.zeros(lanes, jnp.int32), rejection & ~accepted)
    k = jax.lax.while_loop(lambda s: jnp.any(s[2]), retry, state)[0]
    return jnp.where(flip, trials - k, k)


def multinomial(keys: jax.Array, trials: jax.Array, probabilities: jax.Array) -> jax.Array:
    """Draw one vector of multinomial counts for each key.

    Parameters
    ----------
    keys : (B,) key array
    trials : scalar
        Number of trials, exact up to 2**53.
    probabilities : (C,) float64
        Non-negative, summing to one; trailing zeros are padding.

    Returns
    -------
    (B, C) float64
        Counts; every row sums to ``trials``. Row b depends on ``keys[b]`` alone.

    Notes
    -----
    Needs 64-bit types. O(B C) time, about 0.1 microseconds a cell on one CPU core.
    """
    count, cells = keys.shape[0], probabilities.shape[0]
    bits = jax.vmap(lambda key: jax.random.bits(key, (cells - 1, 2), jnp.uint64))(keys)
    tail = jnp.cumsum(probabilities[::-1])[::-1]
    share = jnp.where(tail > 0, probabilities / jnp.where(tail > 0, tail, 1.0), 0.0)
    is_last = jnp.concatenate([tail[1:] <= 0, jnp.ones(1, bool)])
    share = jnp.clip(jnp.where(is_last & (probabilities > 0), 1.0, share), 0.0, 1.0)

    def cell(left: jax.Array, step: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        node, words, p = step
        drawn = _binomial(keys, node, words, left, p)
        return left - drawn, drawn

    left = jnp.full(count, trials, jnp.float64)
    nodes = jnp.arange(cells - 1, dtype=jnp.int32)
    rest, counts = jax.lax.scan(cell, left, (nodes, jnp.swapaxes(bits, 0, 1), share[:-1]))
    return jnp.concatenate([counts, rest[None]]).T
