"""From arrays, lists of them or image files to pairs of masks, one case at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import check_unmasked, shown
from jaxci.segmentation.files import Geometry, names_of, read_image, spacing_remark
from jaxci.segmentation.surfaces import Spacing

LARGEST_CODE = 2**31 - 1
SPACINGS = (1e-50, 1e50)
"""Least and largest distance of voxels: squares of areas and volumes of images stay within double precision."""
NO_SPACING = (
    "spacing must be given for arrays: the distance of voxels along each axis, such as (3.0, 1.0, 1.0); got None, "
    "which reads that of image files"
)


class Case(NamedTuple):
    """Label codes of one case, (voxels along each axis), and the distance of voxels along each axis.

    ``remark`` is what is to be said of a distance that is read from a file, "" where there is nothing.
    """

    name: Any
    prediction: np.ndarray
    reference: np.ndarray
    spacing: Spacing
    remark: str = ""


def read_cases(predictions: Any, references: Any, spacing: Any) -> Iterator[Case]:
    """Yield the cases one after the other; a file is read when its turn comes.

    Raises
    ------
    ValueError, TypeError
        If the two sides do not match, or a mask is none; the message names the case.
    """
    names, pairs = _paired(predictions, references, spacing)
    steps: Iterator[Any] | None = None
    if spacing is not None and np.ndim(spacing) == 2:
        steps = iter(np.asarray(spacing))
    for number, (one, other) in enumerate(pairs):
        name = number if names is None else names[number]
        prediction, placed = _mask("predictions", name, one)
        reference, stands = _mask("references", name, other)
        if prediction.shape != reference.shape:
            raise ValueError(
                f"masks of a case must have one shape; case {name!r} has predictions of {prediction.shape} and "
                f"references of {reference.shape}"
            )
        if placed is not None and stands is not None and not placed.near(stands):
            raise ValueError(
                f"images of a case must lie on one grid; those of case {name!r} differ: {placed} and {stands}"
            )
        if steps is not None:
            given = next(steps, None)
            if given is None:
                raise ValueError(f"spacing must have a row for every case; got {len(spacing)} rows")
        else:
            given = spacing
        told = spacing_remark(one) if given is None and _is_file(one) else ""
        yield Case(name, prediction, reference, _spacing(name, given, prediction, placed, stands), told)
    if steps is not None and next(steps, None) is not None:
        raise ValueError(f"spacing must have a row for every case; got {len(spacing)} rows")


def _axes(spacing: Any) -> int | None:
    """Return the number of axes that a spacing has a distance for; None where it is one number."""
    if np.ndim(spacing) == 0:
        return None
    if np.ndim(spacing) > 2:
        raise ValueError(f"spacing must have a distance for each axis, or such a row a case; got {shown(spacing)}")
    return int(np.shape(spacing)[-1])


def _is_file(given: Any) -> bool:
    return isinstance(given, str | PathLike)


def _paired(predictions: Any, references: Any, spacing: Any) -> tuple[list[Any] | None, Iterable[tuple[Any, Any]]]:
    """Return the names of the cases, if they have any, and pairs of what the masks are read from."""
    if isinstance(predictions, Mapping) != isinstance(references, Mapping):
        raise TypeError("predictions and references must both be dicts by the name of the case, or neither")
    if isinstance(predictions, Mapping):
        if set(predictions) != set(references):
            odd = sorted(map(str, set(predictions) ^ set(references)))
            raise ValueError(f"predictions and references must hold the same cases; {odd[0]!r} is in one of them only")
        return list(predictions), ((predictions[name], references[name]) for name in predictions)
    series = _listed(predictions, spacing), _listed(references, spacing)
    ours, theirs = map(_file_names, series)
    if ours is not None and len(set(ours)) < len(ours):
        twice = next(name for name in ours if ours.count(name) > 1)
        raise ValueError(f"predictions must name every file once; {twice!r} comes again")
    if ours is not None and theirs is not None and ours != theirs and sorted(ours) == sorted(theirs):
        number = next(k for k, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
        raise ValueError(
            f"predictions and references must be in one order: file {number} is {ours[number]!r} of the predictions "
            f"and {theirs[number]!r} of the references"
        )
    return ours, _together(*series)


def _listed(given: Any, spacing: Any) -> Iterable[Any]:
    """Return one mask as a list of one, others as they are."""
    if _is_file(given):
        return [given]
    if hasattr(given, "shape"):
        array = np.asanyarray(given)  # with what is masked, if anything is: cases are refused by name
        if spacing is None:
            raise ValueError(NO_SPACING)
        axes = _axes(spacing)
        if axes is None:
            axes = 3 if array.ndim == 4 else 2
            if array.ndim == 3:
                raise ValueError(
                    "spacing must have a distance for each axis of a mask, to tell one in 3 dimensions from several in "
                    f"2; got masks of shape {array.shape}"
                )
        return [array] if array.ndim == axes else array
    if not isinstance(given, Iterable):
        raise TypeError(f"masks must be arrays, lists of arrays or image files; got {shown(given)}")
    rest = iter(given)
    first = list(itertools.islice(rest, 1))
    series = itertools.chain(first, rest)
    return list(series) if first and _is_file(first[0]) else series


def _file_names(series: Iterable[Any]) -> list[str] | None:
    """Return the names of cases that are all files; None of others."""
    if isinstance(series, list) and series and all(map(_is_file, series)):
        return names_of(series)
    return None


def _together(predictions: Iterable[Any], references: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair two series of the same length, neither of which need be in memory."""
    done, one, other = 0, iter(predictions), iter(references)
    end = object()
    while True:
        pair = next(one, end), next(other, end)
        if pair[0] is end or pair[1] is end:
            break
        yield pair
        done += 1
    if pair[0] is not pair[1]:
        longer = "references" if pair[0] is end else "predictions"
        raise ValueError(f"predictions and references must hold as many cases; {longer} go on after {done}")


def _mask(side: str, name: Any, given: Any) -> tuple[np.ndarray, Geometry | None]:
    """Return label codes as booleans or integers, and where an image lies."""
    check_unmasked(f"{side} of case {name!r}", given)
    array, geometry = read_image(given) if _is_file(given) else (np.asarray(given), None)
    if array.ndim not in (2, 3):
        raise ValueError(f"masks must have 2 or 3 axes; {side} of case {name!r} have shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"masks must have voxels; {side} of case {name!r} have shape {array.shape}")
    if array.dtype == bool:
        return array.astype(np.uint8), geometry
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.rint(array))
        if not whole.all():
            odd = array[~whole].flat[0]
            raise ValueError(
                f"masks must hold labels, whole numbers or booleans; {side} of case {name!r} hold {odd:g}: cut "
                "probabilities at a threshold first"
            )
    elif array.dtype.kind not in "iu":
        raise TypeError(f"masks must hold labels, whole numbers or booleans; {side} of case {name!r} are {array.dtype}")
    least, most = int(array.min()), int(array.max())
    if least < 0 or most > LARGEST_CODE:
        odd = least if least < 0 else most
        raise ValueError(f"labels of masks must lie between 0 and {LARGEST_CODE}; {side} of case {name!r} hold {odd}")
    return array.astype(np.uint8 if most < 256 else np.int32, copy=False), geometry


def _spacing(name: Any, given: Any, mask: np.ndarray, *read: Geometry | None) -> Spacing:
    """Return the distance of voxels along each axis: as given, or as an image file has it."""
    if given is None:
        known = [geometry for geometry in read if geometry is not None]
        if len(known) < len(read):
            raise ValueError(NO_SPACING)
        given = known[0].spacing
    steps = np.asarray(given)
    if steps.dtype.kind not in "iuf":
        raise TypeError(f"spacing must hold numbers; got {shown(given)}")
    steps = steps.astype(float)
    steps = np.full(mask.ndim, float(steps)) if steps.ndim == 0 else steps
    if steps.shape != (mask.ndim,):
        raise ValueError(
            f"spacing must have a distance for each of {mask.ndim} axes; got {shown(given)} for case {name!r} of shape "
            f"{mask.shape}"
        )
    least, most = SPACINGS
    if not np.all((steps >= least) & (steps <= most)):
        raise ValueError(f"spacing must be positive, from {least:g} to {most:g}; got {shown(given)}")
    return tuple(map(float, steps))
