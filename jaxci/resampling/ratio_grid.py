"""Masses of a difference of ratios on a grid of values, and beside it, and the laws that they make."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy import fft

from jaxci.resampling.grid_law import GridLaw, smooth_law
from jaxci.resampling.laws import Atoms
from jaxci.resampling.mean_spectrum import TAIL

OUTSIDE = 1e-7
"""Bound on the mass that is left out."""
MOST_LEFT = 5e-5
"""Error in probability by frequencies near those that are summed up to which there is such a law."""
LEAST_MASS = 1e-7
"""Mass from which on the ends, and 0, are atoms of their own."""
SAME = 1e-13
"""Values this close are one."""


@dataclasses.dataclass
class Summed:
    """Masses on a grid whose middle is the difference of the sample, those of atoms, and how far values were moved."""

    middle: float
    step: float
    masses: np.ndarray
    held: dict[float, float]
    rough: float

    def add(self, values: np.ndarray, masses: np.ndarray) -> None:
        """Split masses between the two nearest places; those of no value are left out."""
        place = (values.ravel() - self.middle) * (1 / self.step) + len(self.masses) // 2
        masses = masses.ravel()
        if np.isnan(place.min()):
            known = ~np.isnan(place)
            place, masses = place[known], masses[known]
        cell = np.minimum(np.maximum(place, 0.0), len(self.masses) - 2.0).astype(np.int64)
        place -= cell
        place *= masses
        above = np.bincount(cell, place, len(self.masses))
        self.masses += np.bincount(cell, masses - place, len(self.masses))
        self.masses[1:] += above[:-1]

    def take(self, atom: float, held: np.ndarray, masses: np.ndarray) -> None:
        """Move masses to an atom."""
        if held.any():
            self.held[atom] = self.held.get(atom, 0.0) + float(masses[held].sum())
            masses[held] = 0.0

    @property
    def total(self) -> float:
        """All mass."""
        return float(self.masses.sum()) + sum(self.held.values())

    @property
    def points(self) -> np.ndarray:
        """Values of the grid."""
        return self.middle + self.step * (np.arange(len(self.masses)) - len(self.masses) // 2)

    @functools.cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation."""
        values = np.append(self.points, list(self.held))
        masses = np.append(self.masses, list(self.held.values())) / self.total
        mean = float(masses @ values)
        return mean, math.sqrt(max(float(masses @ (values - mean) ** 2), 0.0))

    def atoms(self) -> Atoms | None:
        """Return the law where atoms are all there is."""
        if self.masses.sum() > TAIL * self.total:
            return None
        values = sorted(self.held)
        masses = np.array([self.held[value] for value in values])
        return Atoms(np.array(values), masses / masses.sum(), SAME)

    def _split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the masses of the grid, atoms, and theirs."""
        masses, total = np.maximum(self.masses, 0.0), self.total
        for value, mass in self.held.items():
            if mass < LEAST_MASS * total:
                masses[int(np.argmin(np.abs(self.points - value)))] += mass
        atoms = sorted(value for value, mass in self.held.items() if mass >= LEAST_MASS * total)
        held = np.array([self.held[value] / total for value in atoms])
        return masses * (1 - held.sum()) / max(float(masses.sum()), 1e-300), np.array(atoms), held

    def _reach(self, masses: np.ndarray, atoms: np.ndarray) -> tuple[float, float]:
        """Smallest and largest value, but for negligible mass."""
        there = np.append(self.points[masses > 1e-16], atoms)
        return max(-1.0, float(there.min())), min(1.0, float(there.max()))

    def on_grid(self) -> GridLaw | None:
        """Return the law of the values on the grid; None where that is too coarse."""
        masses, atoms, held = self._split()
        (mean, deviation), (low, high) = self.moments, self._reach(masses, atoms)
        if not (2 * self.step + self.rough) < 1e-3 * deviation:
            return None
        return GridLaw(
            centre=mean,
            spread=deviation,
            error_bound=(2 * self.step + self.rough) / deviation,
            probability_error=OUTSIDE,
            low=low,
            high=high,
            step=self.step,
            origin=len(masses) // 2 + (mean - self.middle) / self.step,
            rest=np.append(0.0, np.cumsum(masses)[:-1]) + masses / 2,
            atoms=atoms,
            masses=held,
        )

    def smooth(self, most: float, error: float) -> GridLaw | None:
        """Return the law whose frequencies end at ``most``, with this error; None where these do not suffice."""
        masses, atoms, held = self._split()
        (mean, deviation), (low, high) = self.moments, self._reach(masses, atoms)
        half = self.step * len(masses) / 2
        last = min(int(most * half / np.pi), len(masses) // 2)
        summed = np.conj(fft.rfft(np.roll(masses, len(masses) // 2))[: last + 1])
        j = np.arange(max(last // 2, 1), last + 1)
        left = float(np.sum(np.abs(summed[j]) / j)) / np.pi
        if not left <= MOST_LEFT:
            return None
        error += left + OUTSIDE
        return smooth_law(summed[1:], half, self.middle, mean, deviation, error, low, high, atoms, held)
