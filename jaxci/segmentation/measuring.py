"""From masks to the table of their cases."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from jaxci.checks import check_choice, check_number, shown
from jaxci.printing import JaxciWarning
from jaxci.segmentation.collecting import Collection
from jaxci.segmentation.reading import LARGEST_CODE, read_cases
from jaxci.segmentation.surfaces import SURFACES
from jaxci.segmentation.table import CaseTable

EMPTY = ("worst", "nan", "error")
"""What a row is worth whose label has no voxel in one of the masks."""


def cases(
    predictions: Any,
    references: Any,
    *,
    spacing: Any,
    tolerance: float | None = None,
    labels: Any = None,
    empty: str = "worst",
    surface: str = "elements",
    boundary_width: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> CaseTable:
    """Overlaps, surface distances and volume differences of segmentation masks, a row a case and label.

    Parameters
    ----------
    predictions, references : array, or iterable or dict of arrays or image files
        Masks in 2 or 3 dimensions: booleans, or whole numbers of which 0 is the background. One array with an axis more
        than ``spacing`` holds a case in each row; dicts have them by name; iterables may be generators, read one case
        at a time. Files need the extra ``images`` (SimpleITK), which gives axes in the order z, y, x.
    spacing : float, (d,) or (cases, d) array_like, or None
        Distance of voxels along each axis of the arrays. None reads it from image files.
    tolerance : float, optional
        Of the NSD, in the unit of the spacing. By default one voxel, the largest spacing of a case, which a remark
        says: how far observers are apart is the better choice.
    labels : sequence of int, or dict of str to int or sequence of int, optional
        Labels to measure; a dict names them, and may join several to one region. By default all but 0 that occur.
    empty : {"worst", "nan", "error"}
        Where a label has no voxel in one of the masks alone, overlaps are 0; with "worst" distances are the diagonal of
        the image, with "nan" there are none, and "error" refuses. A label with no voxel in both masks has no value
        (NaN), and counts as neither good nor bad. Both are counted in a remark.
    surface : {"elements", "voxels", "faces"}
        What surfaces are made of; see the notes.
    boundary_width : float, optional
        Width of the boundary inside a mask that the boundary IoU compares. By default 2% of the diagonal of the image
        [3]_, and at least the largest spacing.
    progress : callable, optional
        Called with the number of cases done.

    Returns
    -------
    CaseTable
        With NumPy arrays as columns; for :func:`jaxci.evaluate_cases`.

    Raises
    ------
    ValueError, TypeError
        If masks of a case have different shapes, there is no spacing, all masks are empty, or an argument breaks its
        rule; the message names the case or argument, the rule and the value.
    ImportError
        If image files are given without the extra ``images``.

    Warns
    -----
    JaxciWarning
        Where a mask is empty, or the tolerance was chosen.

    Notes
    -----
    With ``a_i`` the sizes and ``d_i`` the distances of the parts of one surface from the other, of both surfaces:

    =========== ======================================================================
    nsd         share of the size of both surfaces with ``d_i <= tolerance`` (surface Dice), to 1e-6
    hd          largest ``d_i``
    hd95        larger of the 95th percentiles of the two surfaces
    hd95_pooled 95th percentile of the parts of both
    assd        mean of ``d_i`` weighted by ``a_i``, of the parts of both
    masd        mean of the two surfaces' means
    =========== ======================================================================

    ``surface="elements"`` is the definition of google-deepmind/surface-distance [1]_: a part for every 2x2x2 voxels on
    both sides of the surface, at the corner where they meet, with the area of its marching cubes triangles; a distance
    is that to the nearest such corner. A percentile is the smallest distance within which lie 95% of the area.

    ``surface="voxels"`` takes the voxels of a mask with a face to the outside, all of one size, from centre to centre
    as MONAI and MedPy do; percentiles interpolate linearly. The ``hd95`` of MONAI is ``hd95`` here, that of MedPy
    ``hd95_pooled``.

    ``surface="faces"`` is the definition of MeshMetrics [2]_: faces between voxels, two triangles each, measured from
    their centroids to the nearest point of the other surface. Its boundary IoU takes the voxels whose centres are less
    than ``boundary_width`` from the surface; with the other two these are the voxels whose nearest voxel outside
    is at most ``boundary_width`` away, from centre to centre.

    Cost: Euclidean distance transforms within the box of both masks, in threads; one case is in memory at a time.

    References
    ----------
    .. [1] Nikolov et al. (2021), Clinically Applicable Segmentation of Head and Neck Anatomy, the surface Dice.
    .. [2] Podobnik and Vrtovec (2025), MeshMetrics: A Precise Implementation of Distance-Based Image
       Segmentation Metrics.
    .. [3] Cheng et al. (2021), Boundary IoU, section 4.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> truth = np.zeros((2, 12, 12), bool)
    >>> truth[:, 3:9, 3:9] = True
    >>> guess = np.roll(truth, 1, axis=2)
    >>> table = jaxci.segmentation.cases(guess, truth, spacing=(1.0, 0.5), tolerance=0.5)
    >>> table["dice"].round(3).tolist(), table["hd"].tolist()
    ([0.833, 0.833], [0.5, 0.5])
    """
    empty, surface = check_choice("empty", empty, EMPTY), check_choice("surface", surface, SURFACES)
    if tolerance is not None:
        tolerance = check_number("tolerance", tolerance, "be at least 0", lambda x: 0 <= x < math.inf)
    if boundary_width is not None:
        boundary_width = check_number("boundary_width", boundary_width, "be positive", lambda x: 0 < x < math.inf)
    wanted = None if labels is None else _regions(labels)
    made = Collection(wanted, tolerance, boundary_width, empty, surface)
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        for case in read_cases(predictions, references, spacing):
            made.add(case, threads)
            del case  # the next one is read when this one is gone
            if progress is not None:
                progress(len(made.cases))
    table = made.table()
    for remark in made.warnings:
        warnings.warn(remark, JaxciWarning, stacklevel=2)
    return table


def _regions(labels: Any) -> dict[Any, tuple[int, ...]]:
    """Return the codes of every label, by its name."""
    if isinstance(labels, set | frozenset) or (not isinstance(labels, Mapping) and np.ndim(labels) > 1):
        raise TypeError(f"labels must be whole numbers in a sequence, or a dict of names; got {shown(labels)}")
    if isinstance(labels, Mapping):
        given = {name: tuple(np.atleast_1d(np.asarray(codes)).tolist()) for name, codes in labels.items()}
    else:
        given = {code: (code,) for code in np.atleast_1d(np.asarray(labels)).tolist()}
    if not given:
        raise ValueError("labels must hold at least one; got none")
    for name, codes in given.items():
        for code in codes:
            if isinstance(code, bool) or not isinstance(code, int) or not 0 < code <= LARGEST_CODE:
                rule = "must be positive whole numbers: 0 is the background"
                raise ValueError(f"labels {rule}; got {shown(code)}{'' if name == code else f' for {name!r}'}")
        if not codes:
            raise ValueError(f"labels must name a code for each region; got none for {name!r}")
    return given
