"""Voxels that masks share: one JAX program for a batch of cases and all labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.segmentation.measures import Overlap

BATCH = 2**21
"""Voxels of a batch of cases; a case with more is a batch of its own."""


class Pair(NamedTuple):
    """Label codes of a prediction and of its reference, cropped to both and flat: (voxels,) each, 0 outside."""

    prediction: np.ndarray
    reference: np.ndarray


@jax.jit
def _counts(prediction: jax.Array, reference: jax.Array, codes: jax.Array) -> jax.Array:
    """Return int32 counts (cases, K, 3) of voxels in both, in the prediction, in the reference.

    Masks are codes (cases, voxels); ``codes`` (K, M) lists those that make up each of K regions, with repeats.
    """

    def region(which: jax.Array) -> jax.Array:
        one, other = ((side[..., None] == which).any(axis=-1) for side in (prediction, reference))
        return jnp.stack([jnp.sum(mask, axis=1, dtype=jnp.int32) for mask in (one & other, one, other)], axis=1)

    return jnp.moveaxis(jax.lax.map(region, codes), 0, 1)


def overlaps(pairs: Sequence[Pair], codes: np.ndarray) -> list[list[Overlap]]:
    """Return the overlap of every region in every case.

    Cases and voxels are filled up with background to powers of 2, so that few programs are compiled.
    """
    if not pairs or not len(codes):
        return [[] for _ in pairs]
    longest = max(16, *(len(pair.prediction) for pair in pairs))
    shape = (_power(len(pairs)), _power(longest))
    small = int(codes.max()) < 256 and all(side.dtype == np.uint8 for pair in pairs for side in pair)
    kind = np.uint8 if small else np.int32
    sides = []
    for side in range(2):
        filled = np.zeros(shape, kind)
        for row, pair in zip(filled, pairs, strict=False):
            row[: len(pair[side])] = pair[side]
        sides.append(filled)
    found = np.asarray(_counts(*sides, codes.astype(kind)))
    return [[Overlap(*map(int, region)) for region in case] for case in found[: len(pairs)]]


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()
