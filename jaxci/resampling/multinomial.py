"""Multinomial counts by conditional binomials, in float64, one key a draw.

Cost per draw depends on the number of cells, not on the number of trials. Binomials with a
large mean use the transformed rejection of Hoermann (1993, algorithm BTRS, without its squeeze); the
others invert the distribution function. Lanes whose first proposal is rejected (about one
in eight) are gathered into a small buffer, so a batch does not pay for its unluckiest lane.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxci.resampling.words import split_mix, wide_words

BUFFER = 1024
"""Lanes retried together."""
STEPS = 4
"""Values whose masses are summed together where a distribution function is inverted."""
ROUNDING = 1e-13
"""What the masses of a distribution may lack of 1: no more is looked for beyond the last of them."""
SMALL_MEAN = 100.0
"""Means from which on a binomial is drawn by rejection; inversion sums as many masses."""


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
    """``log k! - [(k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2]`` for integers ``k`` of about 10 or more."""
    x = k + 1.0
    inverse = 1.0 / (x * x)
    return (1 / 12 - (1 / 360 - (1 / 1260 - inverse / 1680) * inverse) * inverse) / x


class _Hat(NamedTuple):
    """Constants of the rejection hat."""

    a: jax.Array
    b: jax.Array
    centre: jax.Array
    alpha: jax.Array

    @classmethod
    def of(cls, law: _Binomial) -> _Hat:
        spread = jnp.sqrt(law.trials * law.q * (1 - law.q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * law.q
        alpha = (2.83 + 5.1 / b) * spread
        return cls(a, b, law.trials * law.q + 0.5, alpha)

    def propose(self, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        room = 0.5 - jnp.abs(u)
        return room, jnp.floor((2 * self.a / room + self.b) * u + self.centre)


def _accepted(law: _Binomial, u: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return proposals (lanes,) and which are accepted: heights under the hat below the binomial mass there."""
    hat, m = _Hat.of(law), law.trials
    room, proposal = hat.propose(u - 0.5)
    inside = (proposal >= 0) & (proposal <= m)
    k = jnp.clip(proposal, 0, m)
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
    return proposal, inside & (height <= bound)


def _invert(law: _Binomial, u: jax.Array, active: jax.Array) -> jax.Array:
    """Invert the distribution function where ``active``, all lanes in step: the masses of k = 0, 1, ... leave ``u``."""
    mass = jnp.exp(law.trials * jnp.log1p(-law.q))
    rest = jnp.where(active, u - mass, -1.0)

    def steps(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        at, k, mass, rest = state
        for step in range(STEPS):
            k = k + (rest > ROUNDING)
            mass = mass * (law.trials - (at + step)) * (law.odds / (at + step + 1))
            rest = rest - mass
        return at + STEPS, k, mass, rest

    state: tuple[jax.Array, ...] = (jnp.zeros((), u.dtype), jnp.zeros_like(u), mass, rest)
    k = jax.lax.while_loop(lambda s: jnp.any(s[3] > ROUNDING), steps, state)[1]
    return jnp.minimum(k, law.trials)


def _uniforms(bits: jax.Array) -> jax.Array:
    """Uniforms strictly inside (0, 1) from 64-bit words."""
    return ((bits >> 11).astype(jnp.float64) + 0.5) * 2.0**-53


def _reject(law: _Binomial, bits: jax.Array, active: jax.Array) -> jax.Array:
    """Draw by transformed rejection where ``active``; a lane's attempts read the sequence that its word starts."""
    lanes = bits.shape[0]
    size = min(BUFFER, lanes)
    k, good = _accepted(law, _uniforms(bits), _uniforms(split_mix(bits, jnp.ones((), jnp.uint64))))

    def retry(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        k, pending = state
        (chosen,) = jnp.nonzero(pending, size=size, fill_value=lanes)
        at = jnp.minimum(chosen, lanes - 1)
        here, begin = law.take(at), bits[at]

        def again(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            place, found, going = state
            proposal, good = _accepted(here, *(_uniforms(split_mix(begin, place + word)) for word in (0, 1)))
            return place + 2, jnp.where(going & good, proposal, found), going & ~good

        first: tuple[jax.Array, ...] = (jnp.full((), 2, jnp.int32), jnp.zeros(size, k.dtype), chosen < lanes)
        found = jax.lax.while_loop(lambda s: jnp.any(s[2]), again, first)[1]
        return k.at[chosen].set(found, mode="drop"), pending.at[chosen].set(False, mode="drop")

    return jax.lax.while_loop(lambda s: jnp.any(s[1]), retry, (k, active & ~good))[0]


def _binomial(bits: jax.Array, trials: jax.Array, p: jax.Array) -> jax.Array:
    """Draw Binomial(trials, p) for each lane, from its own word ``bits`` (lanes,)."""
    flip = p > 0.5
    law = _Binomial(trials, jnp.where(flip, 1 - p, p))
    by_rejection = trials * law.q >= SMALL_MEAN
    small = ~by_rejection & (trials > 0) & (law.q > 0)
    none = jnp.zeros_like(trials)
    inverted = jax.lax.cond(jnp.any(small), lambda: _invert(law, _uniforms(bits), small), lambda: none)
    proposed = jax.lax.cond(jnp.any(by_rejection), lambda: _reject(law, bits, by_rejection), lambda: none)
    k = jnp.where(by_rejection, proposed, inverted)
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
    Needs 64-bit types. O(B C) time, about 0.03 microseconds a cell on one CPU core.
    """
    count, cells = keys.shape[0], probabilities.shape[0]
    bits = wide_words(keys, cells - 1)
    tail = jnp.cumsum(probabilities[::-1])[::-1]
    share = jnp.where(tail > 0, probabilities / jnp.where(tail > 0, tail, 1.0), 0.0)
    is_last = jnp.concatenate([tail[1:] <= 0, jnp.ones(1, bool)])
    share = jnp.clip(jnp.where(is_last & (probabilities > 0), 1.0, share), 0.0, 1.0)

    def cell(left: jax.Array, step: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        words, p = step
        drawn = _binomial(words, left, p)
        return left - drawn, drawn

    left = jnp.full(count, trials, jnp.float64)
    rest, counts = jax.lax.scan(cell, left, (jnp.swapaxes(bits, 0, 1), share[:-1]))
    return jnp.concatenate([counts, rest[None]]).T
