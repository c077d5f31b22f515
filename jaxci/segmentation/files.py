"""Masks of image files."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ENDINGS = (".nii", ".nii.gz", ".nrrd", ".seg.nrrd", ".mha", ".mhd", ".hdr", ".png", ".tif", ".tiff")
"""Endings of the files of a folder that are taken for images."""


class Geometry(NamedTuple):
    """Where an image lies: distance of voxels in the order of the array's axes, origin and directions (the file's)."""

    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    direction: tuple[float, ...]

    def near(self, other: Geometry) -> bool:
        """Whether the voxels of both are the same, to a thousandth of their distance."""
        if len(self.spacing) != len(other.spacing):
            return False
        least = 1e-3 * min(self.spacing)
        return (
            np.allclose(self.spacing, other.spacing, rtol=1e-3, atol=0)
            and np.allclose(self.origin, other.origin, rtol=0, atol=least)
            and np.allclose(self.direction, other.direction, rtol=0, atol=1e-3)
        )

    def __str__(self) -> str:
        parts = (f"{name} ({', '.join(f'{x:g}' for x in values)})" for name, values in self._asdict().items())
        return ", ".join(parts)


def read_image(path: str | PathLike[str]) -> tuple[np.ndarray, Geometry]:
    """Return the array of an image file, axes in the order z, y, x, and where it lies.

    Raises
    ------
    ImportError
        If the extra ``images`` is not installed.
    ValueError
        If there is no such file, or it is no image.
    """
    try:
        import SimpleITK
    except ImportError as error:
        raise ImportError("reading image files needs SimpleITK: install jaxci[images]") from error
    name = fspath(path)
    if not Path(name).is_file():
        raise ValueError(f"there is no image file {name!r}")
    try:
        image: Any = SimpleITK.ReadImage(name)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise ValueError(f"{name!r} cannot be read as an image: {reason}") from None
    array = SimpleITK.GetArrayFromImage(image)
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise ValueError(f"masks must have one value a voxel; {name!r} has {image.GetNumberOfComponentsPerPixel()}")
    return array, Geometry(image.GetSpacing()[::-1], image.GetOrigin(), image.GetDirection())


def case_name(path: str | PathLike[str]) -> str:
    """Return the name of a file without the ending of an image."""
    name = Path(fspath(path)).name
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return Path(name).stem


def images_in(folder: str | PathLike[str]) -> dict[str, Path]:
    """Return the image files of a folder by their names without endings, in order.

    Raises
    ------
    ValueError
        If there are none, or two have one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.is_file() and path.name.lower().endswith(ENDINGS):
            name = case_name(path)
            if name in found:
                raise ValueError(
                    f"{fspath(folder)!r} holds two images of case {name!r}: {found[name].name}, {path.name}"
                )
            found[name] = path
    if not found:
        raise ValueError(f"{fspath(folder)!r} holds no image files ({', '.join(ENDINGS)})")
    return found
