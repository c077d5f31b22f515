"""Synthetic pairs of masks, made again from their seeds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

N_PAIRS = 40
SPACINGS = {
    2: ((1.0, 1.0), (0.7, 1.3), (2.5, 0.4)),
    3: ((1.0, 1.0, 1.0), (3.0, 0.8, 0.8), (0.5, 1.1, 2.3), (1.25, 1.25, 2.0)),
}


class MaskPair(NamedTuple):
    prediction: np.ndarray
    reference: np.ndarray
    spacing: tuple[float, ...]
    tolerance: float


def blobs(rng: np.random.Generator, shape: tuple[int, ...], rough: float) -> np.ndarray:
    """Return a union of ellipsoids, a hole in it, and voxels turned over around it with probability ``rough``."""
    grid = np.indices(shape)

    def ellipsoid(largest: float) -> np.ndarray:
        parts = []
        for places, n in zip(grid, shape, strict=True):
            centre, radius = rng.uniform(0.2 * n, 0.8 * n), rng.uniform(0.12, largest) * n
            parts.append(((places - centre) / radius) ** 2)
        return sum(parts) <= 1

    mask = ellipsoid(0.35) | ellipsoid(0.25) | ellipsoid(0.45)
    mask &= ~ellipsoid(0.15)
    return mask ^ (rng.random(shape) < rough)


def mask_pair(seed: int) -> MaskPair:
    """Return a pair: every third in 2 dimensions, some smooth, some rough, some at the ends of the image, some tiny."""
    rng = np.random.default_rng([2026, seed])
    d = 2 if seed % 3 == 0 else 3
    shape = tuple(int(n) for n in rng.integers(12, 30 if d == 2 else 22, d))
    spacing = SPACINGS[d][seed // 3 % len(SPACINGS[d])]
    rough = (0.0, 0.0, 0.03, 0.25)[seed % 4]
    reference = blobs(rng, shape, rough)
    if seed % 5 == 4:  # another one altogether
        prediction = blobs(rng, shape, rough)
    else:  # the same, moved by some voxels and turned over in places
        steps = tuple(int(n) for n in rng.integers(-2, 3, d))
        prediction = np.roll(reference, steps, tuple(range(d))) ^ (rng.random(shape) < rough / 2)
    if seed % 11 == 10:  # one voxel
        prediction = np.zeros(shape, bool)
        prediction[tuple(n // 2 for n in shape)] = True
    return MaskPair(prediction, reference, spacing, float(np.round(rng.uniform(0.6, 2.4), 3)) + 0.0007)


def mask_pairs() -> list[MaskPair]:
    """Return all pairs."""
    return [mask_pair(seed) for seed in range(N_PAIRS)]
