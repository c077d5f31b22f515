"""Masks of image files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

UNITLESS = {
    (".png",): "PNG files hold no spacing: distances are in pixels",
    (".tif", ".tiff"): "the spacing of TIFF files is that of their resolution, which may be one of print",
}
"""What is to be said of a spacing that is read from files of these endings."""
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
        reason = str(error).strip().splitlines()[-1].removeprefix("sitk::ERROR: ")
        raise ValueError(f"{name!r} cannot be read as an image: {reason}") from None
    array = SimpleITK.GetArrayFromImage(image)
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise ValueError(
            f"masks must have one value a voxel, which is its label; {name!r} has "
            f"{image.GetNumberOfComponentsPerPixel()}, as images of colours or of a palette have"
        )
    array = array // _stretched(name)
    return array, Geometry(image.GetSpacing()[::-1], image.GetOrigin(), image.GetDirection())


def case_name(path: str | PathLike[str]) -> str:
    """Return the name of a file without the ending of an image."""
    name = Path(fspath(path)).name
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return Path(name).stem


def spacing_remark(path: str | PathLike[str]) -> str:
    """Return what is to be said of the spacing that is read from an image file, "" where it holds one."""
    return next((said for endings, said in UNITLESS.items() if fspath(path).lower().endswith(endings)), "")


def _stretched(name: str) -> int:
    """Return by what the reader multiplies the labels of a grey PNG file of fewer than 8 bits, to fill 8; else 1."""
    with open(name, "rb") as file:
        head = file.read(26)
    if len(head) < 26 or head[:8] != b"\x89PNG\r\n\x1a\n" or head[25] != 0 or head[24] >= 8:
        return 1
    return 255 // (2 ** head[24] - 1)


def names_of(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """Return the names of image files without endings, with as many of their folders as tell all of them apart."""
    parents = [Path(fspath(path)).parent.parts for path in paths]
    names = [case_name(path) for path in paths]
    for depth in range(1, max(map(len, parents), default=0) + 1):
        if len(set(names)) == len(names):
            break
        names = ["/".join((*folders[-depth:], case_name(path))) for folders, path in zip(parents, paths, strict=True)]
    return names


def images_in(folder: str | PathLike[str]) -> dict[str, Path]:
    """Return the image files of a folder by their names without endings, in order.

    Raises
    ------
    ValueError
        If there are none, two have one name, or one is a link that leads nowhere.
    """
    found: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.is_symlink() and not path.exists():
            raise ValueError(f"{fspath(path)!r} is a link that leads nowhere")
        if path.is_file() and path.name.lower().endswith(ENDINGS):
            name = case_name(path)
            if name in found:
                raise ValueError(
                    f"{fspath(folder)!r} holds two images of case {name!r}: {found[name].name}, {path.name}"
                )
            found[name] = path
    if not found:
        folders = sum(path.is_dir() for path in Path(folder).iterdir())
        beside = f"; it has {folders} folder{'s'[: folders != 1]}, which are not searched" if folders else ""
        raise ValueError(f"{fspath(folder)!r} holds no image files ({', '.join(ENDINGS)}){beside}")
    return found


def others_in(folder: str | PathLike[str]) -> list[str]:
    """Return the names of what is in a folder besides image files and hidden files, in order."""
    entries = sorted(Path(folder).iterdir())
    return [
        path.name
        for path in entries
        if not path.name.startswith(".") and not (path.is_file() and path.name.lower().endswith(ENDINGS))
    ]
