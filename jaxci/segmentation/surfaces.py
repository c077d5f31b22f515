"""Surfaces of masks, what they are made of, and how far the parts of one lie from the other."""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from jaxci.segmentation.elements import element_sizes

SURFACES = ("elements", "voxels", "faces")
"""What a surface is made of."""
ROUNDING = 1e-6
"""Relative error up to which a distance equals a tolerance: files of images keep spacings in single precision."""

Spacing = tuple[float, ...]


class Directed(NamedTuple):
    """Distances (m,) of the parts of one surface from the other one, and the sizes (m,) of these parts."""

    distances: np.ndarray
    sizes: np.ndarray


class Places(NamedTuple):
    """Parts of a surface that lie on a grid: where they are, and the sizes (m,) of these, in the grid's order."""

    grid: np.ndarray
    sizes: np.ndarray


def box_of(mask: np.ndarray) -> tuple[slice, ...]:
    """Return the smallest box that holds a mask with any voxel."""
    found = []
    for axis in range(mask.ndim):
        places = np.flatnonzero(mask.any(axis=tuple(k for k in range(mask.ndim) if k != axis)))
        found.append(slice(int(places[0]), int(places[-1]) + 1))
    return tuple(found)


def element_places(mask: np.ndarray, spacing: Spacing) -> Places:
    """Return the corners of voxels, in a grid one longer along each axis, around which some of 2**d voxels are inside.

    The size of each is that of its surface element (:func:`~jaxci.segmentation.elements.element_sizes`).
    """
    code = np.pad(mask, 1).view(np.uint8)
    for axis in range(mask.ndim - 1, -1, -1):  # the bits of two neighbours side by side: of a line, then of a square
        low, high = ((slice(None),) * axis + (end,) for end in (slice(None, -1), slice(1, None)))
        code = code[low] | code[high] << 2 ** (mask.ndim - 1 - axis)
    grid = (code != 0) & (code != 2 ** (2**mask.ndim) - 1)
    return Places(grid, _sizes(spacing)[code[grid]])


_sizes = functools.lru_cache(maxsize=64)(element_sizes)


def voxel_places(mask: np.ndarray) -> Places:
    """Return the voxels of a mask that share a face with one outside, or with the end of the image; all of size 1."""
    grid = mask & ~ndimage.binary_erosion(mask)
    return Places(grid, np.ones(int(grid.sum())))


def grid_distances(these: Places, those: Places, spacing: Spacing) -> Directed:
    """Return the Euclidean distances of the places of one surface from the nearest of the other."""
    return Directed(_away(~those.grid, these.grid, spacing), these.sizes)


def _away(others: np.ndarray, where: np.ndarray, spacing: Spacing) -> np.ndarray:
    """Return the Euclidean distances of the places (m,) of a grid from the nearest that is none of ``others``."""
    nearest = ndimage.distance_transform_edt(others, sampling=spacing, return_distances=False, return_indices=True)
    own = np.nonzero(where)
    squares = np.zeros(len(own[0]))
    for at, found, step in zip(own, nearest, spacing, strict=True):
        squares += ((found[own] - at) * step) ** 2
    return np.sqrt(squares)


class Faces(NamedTuple):
    """Faces between voxels inside and outside: the corner (m, d) of each, in voxels, and the axis (m,) it faces."""

    corner: np.ndarray
    axis: np.ndarray


def faces_of(mask: np.ndarray) -> Faces:
    """Return the faces of a mask; voxel i reaches from i to i + 1."""
    around = np.pad(mask, 1)
    found = []
    for axis in range(mask.ndim):
        inner = tuple(slice(None) if k == axis else slice(1, -1) for k in range(mask.ndim))
        found.append(np.argwhere(np.diff(around[inner], axis=axis)))
    axes = np.repeat(np.arange(mask.ndim), [len(places) for places in found])
    return Faces(np.concatenate(found), axes)


def _on_faces(faces: Faces, inside: np.ndarray, spread: int) -> np.ndarray:
    """Return points (m, k, d) on faces, at places ``inside`` (k, d - 1) of each, in parts of 1/spread of a voxel."""
    d = faces.corner.shape[1]
    points = np.repeat(faces.corner[:, None] * spread, len(inside), axis=1)
    for axis in range(d):
        which = faces.axis == axis
        others = [k for k in range(d) if k != axis]
        points[np.ix_(which, range(len(inside)), others)] += inside
    return points


def lattice(faces: Faces, spread: int) -> np.ndarray:
    """Return the distinct points (m, d) of faces whose coordinates are multiples of 1/spread, times ``spread``.

    The point of a face that is nearest to one with such coordinates has such coordinates: each is cut to the face.
    """
    inside = np.array(list(itertools.product(range(spread + 1), repeat=faces.corner.shape[1] - 1)))
    points = _on_faces(faces, inside, spread).reshape(-1, faces.corner.shape[1])
    grid = np.zeros(points.max(axis=0) + 1, bool)
    grid[tuple(points.T)] = True
    return np.argwhere(grid)


def _tree(points: np.ndarray) -> cKDTree:
    """Return a tree of points (m, d) of a surface; split in the middle, it answers several times faster."""
    return cKDTree(points, balanced_tree=False, compact_nodes=False)


def face_distances(these: Faces, those: Faces, spacing: Spacing) -> Directed:
    """Return the distances of the parts of one surface of faces from the nearest point of the other.

    Parts are, in 3 dimensions, the two triangles that a diagonal cuts a face into, one at its lowest corner and one at
    its highest, each measured at its centroid; in 2, the edges, at their middle.
    """
    step = np.array(spacing)
    spread = len(spacing)
    parts = np.array([[1]]) if spread == 2 else np.array([[1, 1], [2, 2]])
    points = _on_faces(these, parts, spread)
    sizes = np.array([float(np.prod(np.delete(step, axis))) for axis in range(spread)])[these.axis] / len(parts)
    tree = _tree(lattice(those, spread) * (step / spread))
    distances, _ = tree.query(points.reshape(-1, spread) * (step / spread))
    return Directed(distances, np.repeat(sizes, len(parts)))


def grid_band(mask: np.ndarray, spacing: Spacing, width: float) -> np.ndarray:
    """Return the voxels of a mask whose nearest voxel outside, beyond the image too, is at most ``width`` away."""
    width *= 1 + ROUNDING
    around = np.pad(mask, 1)
    inner = around
    for axis, step in enumerate(spacing):  # those that are so near lie outside the mask shrunk by a box
        reach = int(min(width / step, around.shape[axis]))
        inner = ndimage.minimum_filter1d(inner, 2 * reach + 1, axis=axis, mode="constant")
    rim = around & ~inner
    rim[rim] = _away(around, rim, spacing) <= width
    return rim[(slice(1, -1),) * mask.ndim]


def face_band(mask: np.ndarray, spacing: Spacing, width: float) -> np.ndarray:
    """Return the voxels of a mask whose centre is less than ``width`` from its faces.

    The way to the nearest voxel outside crosses a face, and that voxel's centre is at most half its diagonal beyond it:
    what lies between is measured.
    """
    width *= 1 - ROUNDING
    step = np.array(spacing)
    around = ndimage.distance_transform_edt(np.pad(mask, 1), sampling=spacing)[(slice(1, -1),) * mask.ndim]
    band = mask & (around <= width)
    centres = np.argwhere(mask & ~band & (around < width + float(np.linalg.norm(step))))
    tree = _tree(lattice(faces_of(mask), 2) * (step / 2))
    distances, _ = tree.query((2 * centres + 1) * (step / 2), distance_upper_bound=float(np.nextafter(width, np.inf)))
    band[tuple(centres[distances < width].T)] = True
    return band
