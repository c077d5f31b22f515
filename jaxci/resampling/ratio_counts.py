"""Which counts of two models' hits and misses are summed over, and with what masses.

See :mod:`jaxci.resampling.ratio_differences`.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from jaxci.resampling.ratio_grid import SAME, Summed
from jaxci.resampling.ratio_kinds import Kinds
from jaxci.special import log_binomial

DEPTH = 21.0
"""Counts run to where a bound on the mass beyond is exp(-DEPTH)."""
RINGS = 0.0, 2.5, 5.0, 8.0, 11.0, 15.0
"""Counts of the first model less likely than the likeliest by the exponentials of these share windows of the second."""
NOTHING = 1e-13
"""Modulus that counts for nothing."""
MOST_WORK = 12_000_000
"""Counts, and angles, that are summed over at most: some tenths of a second."""
LOOKED_AT = 1000
"""Counts of the first model whose windows are all looked at: of more, those at the ends."""
AT_ONCE = 1 << 17
"""Counts that are held in memory."""


def nodes_of(rows: Kinds, steps: tuple[int, ...], most: float) -> list[Nodes]:
    """Choose the counts that are summed over, in rings; of more than ``most`` those of the first model alone."""
    n, rest = rows.n, rows.rest_share
    low, high = (float(end) for end in _ends(np.array([float(n)]), rows.first[:1], DEPTH))
    first = np.arange(low + (high - low) % steps[0] // 2, high + 1, steps[0])
    lows, highs = _ends((n - first)[:, None], np.array([rest]), DEPTH)
    lows = steps[1] * np.ceil(lows / steps[1])
    sizes = np.maximum((highs - lows) // steps[1] + 1, 0).astype(int)
    whole = int(sizes.sum())
    if whole > most:
        return [Nodes(rows, steps, np.zeros((2, whole)), np.ones(whole), np.zeros((2, whole)), (1, 1))]
    place = np.arange(whole) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first, second = np.repeat(first, sizes), np.repeat(lows, sizes) + steps[1] * place
    logs = log_binomial(first, n, rows.first[0]) + log_binomial(second, n - first, rest)
    rarer, counts, found = logs.max() - logs, np.stack([first, second]), []
    for inside, outside in itertools.pairwise((*RINGS, DEPTH)):
        here = (rarer >= inside) & (rarer < outside)
        if here.any():
            masses = steps[0] * steps[1] * np.exp(logs[here])
            found.append(Nodes(rows, steps, counts[:, here], masses, *_windows(rows, steps, counts[:, here], inside)))
    return found


def _windows(
    rows: Kinds, steps: tuple[int, ...], counts: np.ndarray, inside: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Return where the second model's counts (2, K) start, given those of the first, and how many are summed."""
    starts, sizes = [], []
    of_first = np.stack([*counts, rows.n - counts.sum(axis=0)], axis=1)
    for axis, step in enumerate(steps[2:]):
        shares = rows.given[:, axis]
        means, spread = of_first @ shares, of_first @ (shares * (1 - shares))
        at = of_first
        if len(at) > LOOKED_AT:
            at = at[[end for found in (means, spread, *counts) for end in (found.argmin(), found.argmax())]]
        low, high = _ends(at, shares, DEPTH - inside)
        below, above = float(np.max(at @ shares - low)), float(np.max(high - at @ shares))
        starts.append(np.maximum(np.floor(means - below + 1e-6), 0.0))
        sizes.append(math.ceil((math.ceil(below + above - 1e-6) + 1 + (below + above > 1e-6)) / step))
    return np.stack(starts), (sizes[0], sizes[1])


@dataclasses.dataclass(frozen=True)
class Nodes:
    """Counts that are summed over: of the first model (2, K), their masses (K,), and windows of the second's (2, K)."""

    rows: Kinds
    steps: tuple[int, ...]
    counts: np.ndarray
    masses: np.ndarray
    starts: np.ndarray
    sizes: tuple[int, int]

    @functools.cached_property
    def angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Angles of the second model's counts at which their characteristic function counts: from 0, and all."""
        least = np.array([*self.counts.min(axis=1), self.rows.n - self.counts.sum(axis=0).max()])
        spread = self.rows.spread_given(least)
        whole, found = float(np.linalg.det(spread)), []
        for axis, (size, step) in enumerate(zip(self.sizes, self.steps[2:], strict=True)):
            window = size * step
            other = spread[1 - axis, 1 - axis]
            alone = whole / other if other > 0 else spread[axis, axis]
            near = 1.5 * math.sqrt(-2 * math.log(NOTHING) / alone) if alone > 1e-9 else math.pi
            reach = min(window // 2, math.ceil(near * window / (2 * math.pi)))
            found.append(2 * np.pi / window * np.arange(0 if axis == 0 else -min(reach, (window - 1) // 2), reach + 1))
        near_enough = np.einsum("x,xab->ab", least, self._logs(*found).real) > math.log(NOTHING)
        return found[0][near_enough.any(axis=1)], found[1][near_enough.any(axis=0)]

    def _logs(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Logarithms (3, A, B) of the characteristic function of a row of each kind of the first model.

        Of the last kind, by which the others are divided, bounded so that no power overflows.
        """
        waves = np.exp(1j * one)[:, None], np.exp(1j * other)[None, :]
        found = np.stack([p * waves[0] + q * waves[1] + (1 - p - q) for p, q, _ in self.rows.given])
        found[self.rows.first == 0] = 1.0
        least = np.array([-690.0, -690.0, -690.0 / (np.ptp(self.counts, axis=1).max() + 1)])[:, None, None]
        return np.maximum(np.log(np.maximum(np.abs(found), 1e-300)), least) + 1j * np.angle(found)

    @property
    def work(self) -> float:
        """How many counts and angles are summed over; of too many, counts alone."""
        found = float(len(self.masses)) * self.sizes[0] * self.sizes[1]
        return found if found > MOST_WORK else found + len(self.masses) * math.prod(map(len, self.angles))

    @functools.cached_property
    def ratios(self) -> np.ndarray:
        """The first model's ratio (K,)."""
        whole = np.stack([*self.counts, self.rows.n - self.counts.sum(axis=0)], axis=1)
        above, below = (whole @ form for form in self.rows.forms[0])
        return self.rows.ratio(above, below)

    @functools.cached_property
    def range(self) -> tuple[float, float]:
        """Bounds of the difference; the lower one is the larger where there is none."""
        rows, n = self.rows, self.rows.n
        low = np.minimum(self.starts, n)
        high = np.minimum(low + (np.array(self.sizes) * self.steps[2:])[:, None], n)
        least = np.stack([*low, np.maximum(n - high.sum(axis=0), 0.0)])
        most = np.stack([*high, np.maximum(n - low.sum(axis=0), 0.0)])
        hit, miss = (int(np.flatnonzero(rows.inner == kind)[0]) for kind in (0, 1))
        ends = []
        for hits, misses, other in ((most[hit], least[miss], 1.0), (least[hit], most[miss], 0.0)):
            below = rows.odds * hits + misses
            one = np.where(below > 0, rows.odds * hits / np.where(below > 0, below, 1.0), other)
            ends.append(np.where(least[hit] + least[miss] == 0, other, one))
        known = ~np.isnan(self.ratios)
        low, high = ((self.ratios - end)[known] for end in ends)
        return float(low.min(initial=math.inf)), float(high.max(initial=-math.inf))

    def _all_summed(self, kind: int) -> bool:
        """Whether both models' numbers of a kind are all summed over."""
        for order, steps in ((self.rows.outer, self.steps[:2]), (self.rows.inner, self.steps[2:])):
            place = int(np.flatnonzero(order == kind)[0])
            if (steps[place] if place < 2 else max(steps)) > 1:
                return False
        return True

    def add_to(self, found: Summed) -> None:
        """Add all masses."""
        known = np.flatnonzero(~np.isnan(self.ratios))
        powers = self._powers()
        inverses = self._inverses()
        block = max(1, AT_ONCE // max(self.sizes[0] * self.sizes[1], powers[0].shape[1]))
        for start in range(0, len(known), block):
            here = known[start : start + block]
            values, masses = self._values(here), self._masses(here, powers, inverses)
            self._take_atoms(found, here, values, masses)
            found.add(values, masses)

    def _powers(self) -> tuple[np.ndarray, ...]:
        """Powers of the characteristic functions of rows, and the places (K,) of those of each pair of counts."""
        logs = self._logs(*self.angles).reshape(3, -1)
        (first, one), (second, other) = (np.unique(count, return_inverse=True) for count in self.counts)
        base = first[0] * logs[0] + second[0] * logs[1] + (self.rows.n - first[0] - second[0]) * logs[2]
        powers = np.exp(np.outer(first - first[0], logs[0] - logs[2]))
        return powers, np.exp(base + np.outer(second - second[0], logs[1] - logs[2])), one, other

    def _inverses(self) -> tuple[np.ndarray, np.ndarray]:
        """Matrices from angles to counts, times how many counts each stands for."""
        (one, other), (size, height), (step, rise) = self.angles, self.sizes, self.steps[2:]
        twice = np.where((one > 0) & (one < np.pi * (1 - 1e-12)), 2.0, 1.0)  # of the others there is the conjugate
        left = np.exp(-1j * step * np.outer(np.arange(size), one)) * twice / size
        right = np.exp(-1j * rise * np.outer(other, np.arange(height))) / height
        return np.concatenate([left.real, -left.imag], axis=1), right  # of the product the real part

    def _masses(
        self, here: np.ndarray, powers: tuple[np.ndarray, ...], inverses: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """Masses (B, X, Y) of the second model's counts with those of the first at some places (B,)."""
        (one, other), (x, y) = self.angles, self.starts[:, here]
        first, second, at, place = powers
        waves = (first[at[here]] * second[place[here]]).reshape(len(here), len(one), len(other))
        waves *= (self.masses[here, None] * np.exp(-1j * np.outer(x, one)))[:, :, None]
        waves *= np.exp(-1j * np.outer(y, other))[:, None, :]
        left, right = inverses
        half = (waves.reshape(-1, len(other)) @ right).reshape(len(here), len(one), -1)
        return left @ np.concatenate([half.real, half.imag], axis=1)

    def _seconds(self, here: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the second model's counts (B, X, 1) and (B, 1, Y)."""
        (x, y), (size, height) = self.starts[:, here], self.sizes
        x = x[:, None, None] + self.steps[2] * np.arange(size)[:, None]
        return x, y[:, None, None] + self.steps[3] * np.arange(height)

    def _values(self, here: np.ndarray) -> np.ndarray:
        """Differences (B, X, Y), NaN where there is none."""
        x, y = self._seconds(here)
        above, below = (_linear(form, x, y, self.rows.n) for form in self.rows.forms[1])
        if np.min(below) > 0:
            return self.ratios[here, None, None] - np.broadcast_to(above / below, (len(here), *self.sizes))
        found = np.where(x + y > self.rows.n, math.nan, self.rows.ratio(above, below))
        return self.ratios[here, None, None] - found

    def _take_atoms(self, found: Summed, here: np.ndarray, values: np.ndarray, masses: np.ndarray) -> None:
        """Move the mass of 0 and of the ends out of the masses, where all counts that make it are summed over."""
        if max(self.steps) == 1:
            low, high = self.range
            for atom in (-1.0, 0.0, 1.0):
                if low - SAME < atom < high + SAME:
                    found.take(atom, np.abs(values - atom) < SAME, masses)
            return
        every = max(self.steps[2:]) == 1
        alone = [kind for kind in (0, 1) if self._all_summed(kind)]
        if not (every or alone):
            return
        zero = np.abs(values) < SAME
        node, one, other = np.nonzero(zero)
        if not len(node):
            return
        x, y = self._seconds(here)
        both = self.counts[:, here[node]], np.stack([x[node, one, 0], y[node, 0, other]])
        numbers = [
            dict(zip(order, [*counts, self.rows.n - counts.sum(axis=0)], strict=True))
            for order, counts in zip((self.rows.outer.tolist(), self.rows.inner.tolist()), both, strict=True)
        ]
        held = np.full(len(node), every) & np.all([numbers[0][k] == numbers[1][k] for k in (0, 1)], axis=0)
        for kind in alone:
            held |= (numbers[0][kind] == 0) & (numbers[1][kind] == 0)
        zero[node[~held], one[~held], other[~held]] = False
        found.take(0.0, zero, masses)


def _linear(form: np.ndarray, x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """Return what x rows of the first kind, y of the second and all others of the third add up to."""
    p, q = form[:2] - form[2]
    return form[2] * n + (p * x + q * y if p and q else p * x if p else q * y)


class _Ends(NamedTuple):
    """The least and the most of counts."""

    low: np.ndarray
    high: np.ndarray


def _ends(counts: np.ndarray, shares: np.ndarray, depth: float) -> _Ends:
    """Return how far sums of binomials of ``counts`` (..., m) reach (...), by Chernoff's bound."""
    found = []
    for sign in (-1.0, 1.0):
        low, high = np.zeros(counts.shape[:-1]), np.full(counts.shape[:-1], 60.0)
        for _ in range(26):
            middle = (low + high) / 2
            mean, log = _tilted(counts, shares, sign * middle)
            beyond = sign * middle * mean - log > depth
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        found.append(_tilted(counts, shares, sign * high)[0])
    return _Ends(np.floor(found[0] + 1e-6), np.ceil(found[1] - 1e-6))


def _tilted(counts: np.ndarray, shares: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative and the cumulant generating function (...) at s of sums of binomials."""
    wave = np.exp(s)[..., None]
    whole = 1 - shares + shares * wave
    return (counts * shares * wave / whole).sum(axis=-1), (counts * np.log(whole)).sum(axis=-1)
