"""Atoms of the bootstrap distribution of a mean: values that its resamples share with a probability of their own.

Values on a lattice (counts, ratings, 0 and 1, rounded numbers) have their mean on one, whose masses are the n-fold
convolution of the shares of the values: one power of a discrete Fourier transform. Few kinds of values make few
resamples, which are listed: the atoms of a difference that is mostly 0 are those of the few rows where it is not.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import fft, special

from jaxci.resampling.exact_order import discrete
from jaxci.special import log_binomial, loop, namespace

FIRST = 64
"""Values that are looked at first: most often they tell that there is no lattice, and too many kinds."""
MOST_KINDS = 16
"""Kinds of values up to which resamples are listed; of more none has a probability of 1e-6."""
MOST_RESAMPLES = 100_000
"""Up to so many different resamples all are listed."""
LEAST_MASS = 1e-5
"""Of more resamples those of at least this probability are listed."""
MOST_CASES = 4_000_000
"""Cases looked at beyond which there is no list."""
MOST_STEPS = 64
"""Steps of the search for a lattice; each halves what may be its spacing."""
SPECTRUM_ERROR = 1e-13
"""Bound on the error of a mass on a lattice by arithmetic, a row of a resample in a thousand."""


class AtomsOfMean(NamedTuple):
    """Atoms of a mean, ascending, and their probabilities (m,); ``whole`` where there is nothing beside them.

    ``error`` is the error of a probability.
    """

    atoms: Any
    masses: Any
    whole: Any
    error: Any


def spacing(apart: Any, least: Any, noise: Any) -> Any:
    """Return the largest length of which all of ``apart`` (n,) are multiples up to ``noise``; 0 where below ``least``.

    Euclid's algorithm, all values at a time: what is left of them by the smallest is the next smallest.
    """
    xp = namespace(apart)
    apart = xp.abs(apart)

    def smallest(x: Any) -> Any:
        return xp.min(xp.where(x > noise, x, np.inf))

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        _, following, count = state
        left = xp.abs(apart - following * xp.round(apart / following))
        return following, smallest(left), count + 1

    def going(state: tuple[Any, Any, Any]) -> Any:
        return (state[1] < np.inf) & (state[1] >= least) & (state[2] < MOST_STEPS)

    first = smallest(apart)
    found, left, _ = loop(xp, going, step, (first, first, 0))
    settled = (left == np.inf) & (found >= least) & (found < np.inf)
    widest = xp.max(apart)
    steps = xp.round(widest / xp.where(settled, found, 1.0))
    return xp.where(settled, widest / xp.where(settled, steps, 1.0), 0.0)


def atoms_of_mean(
    x: np.ndarray, counts: np.ndarray | None, n: int, below: float, above: float, points: int, outside: float
) -> AtomsOfMean | None:
    """Return the atoms of the mean of n draws from ``x`` (m,), or None where it has none of any mass.

    Parameters
    ----------
    x : (m,) array
        Values, not all equal.
    counts : (m,) array or None
        How many times each occurs.
    n : int
        Draws: the sum of the counts.
    below, above : float
        How far the sum of the draws reaches from its mean, but for a negligible probability.
    points : int
        Most atoms that a lattice may have between these.
    outside : float
        Bound on that probability, on each side.
    """
    start, noise = x[:FIRST], 8 * np.finfo(float).eps * float(np.abs(x).max())
    least = (below + above) / points
    found = spacing(start - start[0], least, noise) if np.ptp(start) > 0 else np.inf
    if found > 0:
        found = spacing(x - x[0], least, noise)
        if found > 0 and np.all(np.abs(x - x[0] - found * np.round((x - x[0]) / found)) <= 2 * noise):
            return lattice_atoms(x, counts, n, found, below, above, points, outside)
    if np.unique(start).size > MOST_KINDS:
        return None
    kinds, places = np.unique(x, return_inverse=True)
    if kinds.size > MOST_KINDS or np.min(np.diff(kinds)) <= noise:
        return None
    return _listed(kinds, np.bincount(places, counts), n)


def lattice_atoms(
    x: Any, counts: Any, n: int, length: Any, below: Any, above: Any, points: int, outside: float
) -> AtomsOfMean:
    """Return the atoms of the mean of values ``x`` (m,) that lie ``length`` apart, or multiples of that.

    Traceable: there are ``points`` of them then; on the host as many as the mean may reach but for a probability of
    ``outside`` on each side.
    """
    xp = namespace(x)
    low = xp.min(x)
    steps = xp.round((x - low) / length).astype(np.int64)
    last = xp.max(steps)
    size = points
    if xp is np:
        reached = int((below + above) / length) + 8
        size = int(fft.next_fast_len(min(int(n * last) + 1, max(reached, FIRST * FIRST)), real=True))
        shares = np.bincount(steps % size, counts, size) / n
        spectrum = fft.rfft(shares)
    else:
        spectrum = xp.fft.rfft(xp.zeros(size).at[steps % size].add(1.0 / n))
    power = xp.exp(n * xp.log(xp.maximum(xp.abs(spectrum), 1e-300))) * xp.exp(
        1j * (n * xp.angle(spectrum) % (2 * np.pi))
    )
    masses = xp.maximum(fft.irfft(power, size) if xp is np else xp.fft.irfft(power, size), 0.0)
    total = xp.sum(steps if counts is None else steps * counts).astype(np.int64)
    first = xp.clip(total - xp.ceil(below / length).astype(np.int64) - 2, 0, xp.maximum(n * last - size + 1, 0))
    sums = first + np.arange(size)
    masses = xp.where(sums <= n * last, masses[sums % size], 0.0)
    sums = xp.minimum(sums, n * last)
    anchor = _anchor(x, counts)
    from_anchor = sums - n * xp.round((anchor - low) / length).astype(np.int64)
    atoms = anchor + from_anchor * (length / n)
    error = SPECTRUM_ERROR * max(n, 1000) / 1000 + xp.where(size > n * last, 0.0, 2 * outside)
    return AtomsOfMean(atoms, masses / xp.sum(masses), True, error)


def _anchor(x: Any, counts: Any) -> Any:
    """Return a value that many draws may share: the middle one, or of few kinds on the host the most frequent one."""
    if namespace(x) is not np:
        return namespace(x).sort(x)[x.shape[0] // 2]
    if counts is not None:
        return x[np.argmax(counts)]
    return np.partition(x, x.size // 2)[x.size // 2]


def _listed(kinds: np.ndarray, counts: np.ndarray, n: int) -> AtomsOfMean | None:
    """Return the atoms of few ``kinds`` of values."""
    anchor = kinds[np.argmax(counts)]
    found = likely_resamples((kinds - anchor)[None], counts, n)
    if found is None:
        return None
    law = discrete(anchor + found.sums[0] / n, found.masses)
    masses = law.masses * found.masses.sum()
    return AtomsOfMean(law.atoms, masses, found.whole, SPECTRUM_ERROR)


class Resamples(NamedTuple):
    """Sums (d, m) of different resamples and their probabilities (m,); ``whole`` where there are no others."""

    sums: np.ndarray
    masses: np.ndarray
    whole: bool


def number_of_resamples(n: int, k: int) -> float:
    """Return how many different resamples n rows of k kinds have, to a few digits."""
    ways = special.gammaln(n + k) - special.gammaln(k) - special.gammaln(n + 1)
    return math.exp(min(ways, 700.0)) * (1 - 1e-9)


def likely_resamples(kinds: np.ndarray, counts: np.ndarray, n: int) -> Resamples | None:
    """List the resamples of n rows of k ``kinds`` (d, k) that have mass: all of them, where these are few.

    The kinds are drawn one after another, the rare ones first; what is already less probable than
    :data:`LEAST_MASS` goes no further. None where nothing is left, or there are too many cases.
    """
    order = np.argsort(counts, kind="stable")
    kinds, counts = kinds[:, order], counts[order].astype(float)
    whole = number_of_resamples(n, counts.size) <= MOST_RESAMPLES
    least = -1e300 if whole else math.log(LEAST_MASS)
    left, sums, mass = np.array([float(n)]), np.zeros((len(kinds), 1)), np.zeros(1)  # draws left, log probability
    after = counts[::-1].cumsum()[::-1]
    for kind, count, rest in zip(kinds.T[:-1], counts[:-1], after[:-1], strict=True):
        share = count / rest
        if not whole:
            kept = mass + log_binomial(np.floor((left + 1) * share), left, share) >= least
            left, sums, mass = left[kept], sums[:, kept], mass[kept]
        budget = np.maximum(mass - least, 0.0)  # Bernstein: farther off a count is less probable than exp(-budget)
        reach = left if whole else np.sqrt(2 * left * share * (1 - share) * budget) + budget + 1.0
        low, high = np.maximum(np.ceil(left * share - reach), 0.0), np.minimum(np.floor(left * share + reach), left)
        sizes = (high - low + 1).astype(np.int64)
        if sizes.sum() > MOST_CASES:
            return None
        source = np.repeat(np.arange(left.size), sizes)
        drawn = low[source] + np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
        mass = mass[source] + log_binomial(drawn, left[source], share)
        kept = mass >= least
        source, drawn, mass = source[kept], drawn[kept], mass[kept]
        left, sums = left[source] - drawn, sums[:, source] + drawn * kind[:, None]
    if mass.size == 0:
        return None
    return Resamples(sums + left * kinds[:, -1:], np.exp(mass), whole)
