"""Surface distances against other packages, number by number: see make_segmentation_numbers.py."""

from __future__ import annotations

import json
from pathlib import Path

import mask_pairs
import numpy as np
import pytest

import jaxci

NUMBERS = json.loads((Path(__file__).parent / "segmentation_numbers.json").read_text())
OWNERS = {
    "elements": {"surface-distance": 1e-12},
    "voxels": {"medpy": 1e-12, "monai": 2e-6},  # MONAI computes in single precision
    "faces": {"mesh": 2e-6},  # VTK keeps points in single precision
}
"""Packages whose surfaces are ours, with the largest relative difference."""

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.fixture(scope="module")
def pairs() -> list[mask_pairs.MaskPair]:
    return mask_pairs.mask_pairs()


def test_pairs_are_those_of_the_numbers(pairs):
    assert len(pairs) == len(NUMBERS["pairs"]) >= 30
    voxels = [[int(pair.prediction.sum()), int(pair.reference.sum())] for pair in pairs]
    assert voxels == [numbers["voxels"] for numbers in NUMBERS["pairs"]]


@pytest.mark.slow
@pytest.mark.parametrize("surface", OWNERS)
def test_numbers_are_those_of_other_packages(surface, pairs):
    for number, (pair, numbers) in enumerate(zip(pairs, NUMBERS["pairs"], strict=True)):
        table = jaxci.segmentation.cases(
            [pair.prediction],
            [pair.reference],
            spacing=pair.spacing,
            tolerance=pair.tolerance,
            surface=surface,
            boundary_width=NUMBERS["boundary_width"],
        )
        for owner, tolerance in OWNERS[surface].items():
            found = {name: float(table[name][0]) for name in numbers[owner]}
            assert found == pytest.approx(numbers[owner], rel=tolerance, abs=tolerance), (number, owner)


def test_definitions_of_hd95_differ(pairs):
    """HD95 is another number in every package: percentiles by area or of voxels, of each side or of both."""
    values = np.array(
        [
            [n["surface-distance"]["hd95"], n["monai"]["hd95"], n["medpy"]["hd95_pooled"], n["mesh"]["hd95"]]
            for n in NUMBERS["pairs"]
        ]
    )
    assert (np.abs(np.diff(values, axis=1)).max(axis=0) > 0.5).all()
