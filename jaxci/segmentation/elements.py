"""Sizes of surface elements: lengths of contours in 2x2, areas of surfaces in 2x2x2 neighbouring voxels."""

from __future__ import annotations

import functools
import itertools

import numpy as np

Corner = tuple[int, ...]
Edge = tuple[Corner, Corner]
Triangle = tuple[int, int, int]


def corners(dimensions: int) -> list[Corner]:
    """Return the places of the neighbouring voxels, in the order of their bits in a neighbourhood's code."""
    return list(itertools.product((0, 1), repeat=dimensions))


def element_sizes(spacing: tuple[float, ...]) -> np.ndarray:
    """Return the size of the surface element of every neighbourhood.

    Parameters
    ----------
    spacing : tuple of float
        Distance of voxels along each of 2 or 3 axes.

    Returns
    -------
    (2**2**d,) array
        Length (d = 2) or area (d = 3) of the surface between the voxels inside and those outside; 0 where all are one
        or the other. Bit i of a code is voxel i of :func:`corners`.

    Notes
    -----
    Marching cubes (Lorensen and Cline, 1987): the surface passes through the midpoints of the edges whose ends lie on
    different sides. Where voxels inside and outside are opposite each other on one face, those of the side that has
    fewer of the neighbourhood are parted. In three dimensions its polygons are cut into triangles; those that are not
    flat in the way that has the largest area at equal spacing, which makes the sizes those of
    google-deepmind/surface-distance.
    """
    d = len(spacing)
    volume = float(np.prod(spacing))
    if d == 3:
        scale = np.array([volume / step for step in spacing])
        return np.array([np.linalg.norm(normals * scale, axis=1).sum() for normals in _normals()])
    places = np.array(spacing)
    sizes = np.zeros(2 ** (2**d))
    for code in range(len(sizes)):
        for one, other in _segments(code, d):
            sizes[code] += np.linalg.norm((_middle(one) - _middle(other)) * places)
    return sizes


def _middle(edge: Edge) -> np.ndarray:
    return (np.array(edge[0]) + np.array(edge[1])) / 2


def _few(code: int, d: int) -> set[Corner]:
    """Return the voxels of the side that has fewer: the surface is the same from both sides."""
    found = {place for bit, place in enumerate(corners(d)) if code >> bit & 1}
    return found if len(found) <= 2 ** (d - 1) else set(corners(d)) - found


def _segments(code: int, d: int) -> list[tuple[Edge, Edge]]:
    """Return pairs of cut edges that are joined within a side (in 2 dimensions: within the square)."""
    inside = _few(code, d)
    edges = [
        (a, b) for a, b in itertools.combinations(corners(d), 2) if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]
    cut = [edge for edge in edges if (edge[0] in inside) != (edge[1] in inside)]
    sides = [cut] if d == 2 else [[e for e in cut if e[0][k] == e[1][k] == at] for k in range(d) for at in (0, 1)]
    found: list[tuple[Edge, Edge]] = []
    for side in sides:
        if len(side) == 2:
            found.append((side[0], side[1]))
        elif len(side) == 4:  # two diagonals: the edges that meet at a voxel inside are joined
            for place in inside:
                met = [edge for edge in side if place in edge]
                if met:
                    found.append((met[0], met[1]))
    return found


@functools.cache
def _normals() -> list[np.ndarray]:
    """Return for every code of 8 voxels the triangles' normals (m, 3), as long as their areas at equal spacing."""
    found = []
    for code in range(256):
        triangles = [normal for loop in _loops(_segments(code, 3)) for normal in _largest(loop)]
        found.append(np.array(triangles).reshape(-1, 3))
    return found


def _loops(segments: list[tuple[Edge, Edge]]) -> list[np.ndarray]:
    """Return the polygons (k, 3) that segments close to."""
    beside: dict[Edge, list[Edge]] = {}
    for one, other in segments:
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    found = []
    while beside:
        loop = [next(iter(beside))]
        while onward := [edge for edge in beside[loop[-1]] if edge not in loop]:
            loop.append(onward[0])
        for edge in loop:
            del beside[edge]
        found.append(np.array([_middle(edge) for edge in loop]))
    return found


def _largest(polygon: np.ndarray) -> list[np.ndarray]:
    """Return the normals of the triangles of a polygon (k, 3), cut so that their areas add up to most."""

    def of(triangles: list[Triangle]) -> list[np.ndarray]:
        return [np.cross(polygon[j] - polygon[i], polygon[k] - polygon[i]) / 2 for i, j, k in triangles]

    def area(normals: list[np.ndarray]) -> float:
        return round(sum(float(np.linalg.norm(normal)) for normal in normals), 9)

    return max((of(triangles) for triangles in _cuts(tuple(range(len(polygon))))), key=area)


def _cuts(places: tuple[int, ...]) -> list[list[Triangle]]:
    """Return every way to cut a polygon into triangles by diagonals."""
    if len(places) < 3:
        return [[]]
    first, last = places[0], places[-1]
    return [
        [*left, *right, (first, places[k], last)]
        for k in range(1, len(places) - 1)
        for left in _cuts(places[: k + 1])
        for right in _cuts(places[k:])
    ]
