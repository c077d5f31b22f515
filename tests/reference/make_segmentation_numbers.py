"""Makes segmentation_numbers.json: what other packages say of the pairs of tests/helpers/mask_pairs.py.

Needs ``pip install surface-distance monai medpy vtk`` in an environment of its own; jaxci is not asked. MeshMetrics is
not published as a package: ``mesh`` goes the way of its ``metrics.py`` and ``utils.py`` (gasperpodobnik/MeshMetrics on
GitHub, 2025) through the same filters of VTK: surface nets without smoothing, distances of cell centres to the mesh.

    python tests/reference/make_segmentation_numbers.py
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "helpers"))

from mask_pairs import MaskPair, mask_pairs  # noqa: E402

BOUNDARY_WIDTH = 1.7013


def surface_distance_numbers(pair: MaskPair) -> dict[str, float]:
    """Numbers of google-deepmind/surface-distance."""
    import scipy.ndimage

    for name in ("filters", "morphology"):  # names that SciPy has dropped since
        if not hasattr(scipy.ndimage, name):
            setattr(scipy.ndimage, name, scipy.ndimage)
    if not hasattr(np, "Inf"):
        np.Inf = np.inf  # noqa: NPY201
    from surface_distance import metrics

    found = metrics.compute_surface_distances(pair.reference, pair.prediction, pair.spacing)
    sides = metrics.compute_average_surface_distance(found)
    sizes = [found[f"surfel_areas_{side}"].sum() for side in ("gt", "pred")]
    return {
        "nsd": metrics.compute_surface_dice_at_tolerance(found, pair.tolerance),
        "hd": metrics.compute_robust_hausdorff(found, 100),
        "hd95": metrics.compute_robust_hausdorff(found, 95),
        "assd": float(np.dot(sides, sizes) / np.sum(sizes)),
        "masd": float(np.mean(sides)),
        "dice": metrics.compute_dice_coefficient(pair.reference, pair.prediction),
    }


def monai_numbers(pair: MaskPair) -> dict[str, float]:
    """Numbers of MONAI."""
    import torch
    from monai.metrics import (
        compute_average_surface_distance,
        compute_dice,
        compute_hausdorff_distance,
        compute_iou,
        compute_surface_dice,
    )

    one, other = (torch.from_numpy(mask[None, None].astype(np.float32)) for mask in (pair.prediction, pair.reference))
    shared = {"include_background": True, "spacing": list(pair.spacing)}
    return {
        "nsd": float(compute_surface_dice(one, other, [pair.tolerance], **shared)),
        "hd": float(compute_hausdorff_distance(one, other, **shared)),
        "hd95": float(compute_hausdorff_distance(one, other, percentile=95, **shared)),
        "assd": float(compute_average_surface_distance(one, other, symmetric=True, **shared)),
        "dice": float(compute_dice(one, other)),
        "iou": float(compute_iou(one, other)),
    }


def medpy_numbers(pair: MaskPair) -> dict[str, float]:
    """Numbers of MedPy; its ``hd95`` pools both surfaces."""
    from medpy.metric import binary

    masks = pair.prediction, pair.reference
    return {
        "hd": float(binary.hd(*masks, pair.spacing)),
        "hd95_pooled": float(binary.hd95(*masks, pair.spacing)),
        "assd": float(binary.assd(*masks, pair.spacing)),
        "dice": float(binary.dc(*masks)),
        "iou": float(binary.jc(*masks)),
    }


class Mesh:
    """Surface nets of a mask, without smoothing: parts of the surface, and the surface that others are measured to."""

    def __init__(self, mask: np.ndarray, spacing: tuple[float, ...]):
        import vtk
        from vtk.util.numpy_support import vtk_to_numpy

        self.d = mask.ndim
        padded = np.pad(mask, 1)
        if self.d == 2:
            image = self._image(padded[:, :, None], (*spacing, 1.0))
            nets = vtk.vtkSurfaceNets2D()
        else:
            image = self._image(padded, spacing)
            nets = vtk.vtkSurfaceNets3D()
            nets.SetOutputMeshTypeToTriangles()
        nets.SmoothingOff()
        nets.SetInputData(image)
        nets.Update()
        cells = nets.GetOutput().GetLines() if self.d == 2 else nets.GetOutput().GetPolys()
        points = vtk_to_numpy(nets.GetOutput().GetPoints().GetData()).astype(float)
        corners = points[vtk_to_numpy(cells.GetConnectivityArray()).reshape(-1, self.d)]
        self.centres = corners.mean(axis=1)
        if self.d == 2:
            self.sizes = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
            lifted = vtk.vtkSurfaceNets3D()
            lifted.SetOutputMeshTypeToTriangles()
            lifted.SmoothingOff()
            walls = self._image(np.repeat(padded[:, :, None], 5, axis=2), (*spacing, 10.0))
            walls.SetOrigin(0.0, 0.0, -20.0)
            lifted.SetInputData(walls)
            lifted.Update()
            self.surface = lifted.GetOutput()
        else:
            sides = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
            self.sizes = np.linalg.norm(np.cross(*sides), axis=1) / 2
            self.surface = nets.GetOutput()
        self.distance = vtk.vtkImplicitPolyDataDistance()
        self.distance.SetInput(self.surface)

    @staticmethod
    def _image(mask: np.ndarray, spacing: tuple[float, ...]):
        import vtk
        from vtk.util.numpy_support import numpy_to_vtk

        image = vtk.vtkImageData()
        image.SetDimensions(*mask.shape)
        image.SetSpacing(*spacing)
        image.GetPointData().SetScalars(numpy_to_vtk(mask.astype(np.uint8).ravel(order="F"), deep=1))
        return image

    def away(self, points: np.ndarray) -> np.ndarray:
        """Return the distances of points from the surface."""
        filled = np.zeros((len(points), 3))
        filled[:, : points.shape[1]] = points
        return np.array([abs(self.distance.FunctionValue(point)) for point in filled])


def mesh_numbers(pair: MaskPair) -> dict[str, float]:
    """Numbers of MeshMetrics."""
    masks = pair.prediction, pair.reference
    meshes = [Mesh(mask, pair.spacing) for mask in masks]
    distances = [meshes[1].away(meshes[0].centres), meshes[0].away(meshes[1].centres)]
    sizes = [mesh.sizes for mesh in meshes]

    def percentile(distance: np.ndarray, size: np.ndarray, percent: float) -> float:
        order = np.argsort(distance)
        share = np.cumsum(size[order]) / size.sum()
        return float(distance[order][min(np.searchsorted(share, percent / 100), len(order) - 1)])

    sides = list(zip(distances, sizes, strict=True))
    total = sum(size.sum() for size in sizes)
    bands = []
    for mask, mesh in zip(masks, meshes, strict=True):
        places = np.argwhere(mask)
        near = places[mesh.away((places + 1) * np.array(pair.spacing)) < BOUNDARY_WIDTH]
        band = np.zeros_like(mask)
        band[tuple(near.T)] = True
        bands.append(band)
    return {
        "nsd": float(sum(size[distance <= pair.tolerance].sum() for distance, size in sides) / total),
        "hd": max(percentile(*side, 100) for side in sides),
        "hd95": max(percentile(*side, 95) for side in sides),
        "assd": float(sum(distance @ size for distance, size in sides) / total),
        "masd": float(np.mean([distance @ size / size.sum() for distance, size in sides])),
        "boundary_iou": float((bands[0] & bands[1]).sum() / max(1, (bands[0] | bands[1]).sum())),
    }


def main() -> None:
    numbers = [
        {
            "surface-distance": surface_distance_numbers(pair),
            "monai": monai_numbers(pair),
            "medpy": medpy_numbers(pair),
            "mesh": mesh_numbers(pair),
            "voxels": [int(pair.prediction.sum()), int(pair.reference.sum())],
        }
        for pair in mask_pairs()
    ]
    versions = {name: version(name) for name in ("surface-distance", "monai", "medpy", "vtk", "numpy", "scipy")}
    out = {"boundary_width": BOUNDARY_WIDTH, "versions": versions, "pairs": numbers}
    text = json.dumps(out, default=float).replace('}, {"surface', '},\n{"surface')
    (HERE / "segmentation_numbers.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
