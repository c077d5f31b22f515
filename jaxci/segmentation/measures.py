"""From directed distances of two surfaces to the numbers of a case."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from jaxci.segmentation.surfaces import (
    ROUNDING,
    Directed,
    Places,
    Spacing,
    box_of,
    element_places,
    face_band,
    face_distances,
    faces_of,
    grid_band,
    grid_distances,
    voxel_places,
)

SUMS = 1e-9
"""Relative error up to which a share of a surface equals a percentage: sums of sizes are rounded."""
PERCENTILE = 95.0
"""Percentile of the robust Hausdorff distances."""


class Overlap(NamedTuple):
    """Voxels of both masks, of the prediction and of the reference."""

    both: int
    prediction: int
    reference: int

    @property
    def empty(self) -> str:
        """Which mask has no voxel: "", "prediction", "reference" or "both"."""
        if self.prediction and self.reference:
            return ""
        if self.prediction or self.reference:
            return "reference" if self.prediction else "prediction"
        return "both"

    def scores(self, voxel: float) -> dict[str, float]:
        """Return overlaps, volumes and their differences; ``voxel`` is the volume of one."""
        total = self.prediction + self.reference
        union = total - self.both
        difference = (self.prediction - self.reference) * voxel
        return {
            "dice": 2 * self.both / total if total else math.nan,
            "iou": self.both / union if union else math.nan,
            "volume_difference": difference if total else math.nan,
            "relative_volume_difference": difference / (self.reference * voxel) if self.reference else math.nan,
            "prediction_volume": self.prediction * voxel,
            "reference_volume": self.reference * voxel,
        }


def weighted_percentile(directed: Directed, percent: float) -> float:
    """Return the smallest distance within which lie parts of at least ``percent`` of the size of the surface."""
    order = np.lexsort((directed.sizes, directed.distances))
    share = np.cumsum(directed.sizes[order]) / np.sum(directed.sizes[order])
    place = min(int(np.searchsorted(share, percent / 100 * (1 - SUMS))), len(order) - 1)
    return float(directed.distances[order][place])


def linear_percentile(directed: Directed, percent: float) -> float:
    """Return the percentile of parts of equal size, between two of them by linear interpolation."""
    return float(np.percentile(directed.distances, percent))


def pooled(one: Directed, other: Directed) -> Directed:
    """Return the parts of both surfaces."""
    return Directed(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))


def distance_scores(one: Directed, other: Directed, tolerance: float, surface: str) -> dict[str, float]:
    """Return NSD and distances from the distances of either surface from the other."""
    sides, together = (one, other), pooled(one, other)
    percentile = linear_percentile if surface == "voxels" else weighted_percentile
    means = [float(side.distances @ side.sizes / side.sizes.sum()) for side in sides]
    close = float(together.sizes[together.distances <= tolerance * (1 + ROUNDING)].sum())
    return {
        "nsd": close / float(together.sizes.sum()),
        "hd": max(float(side.distances.max()) for side in sides),
        "hd95": max(percentile(side, PERCENTILE) for side in sides),
        "hd95_pooled": percentile(together, PERCENTILE),
        "assd": float(together.distances @ together.sizes / together.sizes.sum()),
        "masd": sum(means) / 2,
    }


def surface_scores(
    prediction: np.ndarray,
    reference: np.ndarray,
    spacing: Spacing,
    *,
    tolerance: float,
    width: float,
    surface: str,
    threads: Executor,
) -> dict[str, float]:
    """Return boundary IoU, NSD and distances of two masks with voxels.

    Everything is cropped to the box of both masks; the transforms of a case are computed side by side in ``threads``.
    """
    box = box_of(prediction | reference)
    masks = [np.ascontiguousarray(mask[box]) for mask in (prediction, reference)]
    band = face_band if surface == "faces" else grid_band
    bands = [threads.submit(_cropped, band, mask, spacing, width) for mask in masks]
    if surface == "faces":
        faces = list(threads.map(faces_of, masks))
        distances = [threads.submit(face_distances, faces[k], faces[1 - k], spacing) for k in (0, 1)]
    else:
        of: Callable[[np.ndarray], Places] = voxel_places
        if surface == "elements":
            of = functools.partial(element_places, spacing=spacing)
        places = list(threads.map(of, masks))
        distances = [threads.submit(grid_distances, places[k], places[1 - k], spacing) for k in (0, 1)]
    found = distance_scores(distances[0].result(), distances[1].result(), tolerance, surface)
    one, other = (future.result() for future in bands)
    union = int(np.count_nonzero(one | other))
    return {"boundary_iou": int(np.count_nonzero(one & other)) / union if union else math.nan, **found}


def _cropped(band: Callable[..., np.ndarray], mask: np.ndarray, spacing: Spacing, width: float) -> np.ndarray:
    """Return the band of a mask, computed within its own box."""
    found = np.zeros_like(mask)
    box = box_of(mask)
    found[box] = band(np.ascontiguousarray(mask[box]), spacing, width)
    return found
