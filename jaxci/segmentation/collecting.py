"""Measures of cases on the way to their table: what is left of a case once the next is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from jaxci.checks import shown
from jaxci.segmentation.measures import Overlap, surface_scores
from jaxci.segmentation.overlaps import BATCH, Pair, overlaps
from jaxci.segmentation.reading import Case
from jaxci.segmentation.surfaces import box_of
from jaxci.segmentation.table import COLUMNS, DISTANCES, CaseTable

BOUNDARY_SHARE = 0.02
"""Share of the image's diagonal that the boundary of the boundary IoU is wide (Cheng et al., 2021, section 4)."""
ONE_SLICE = "a volume of one slice is surface on both sides, where no distance is large: pass slices with 2 axes"


class Row(NamedTuple):
    """One row of the table."""

    case: int
    label: Any
    overlap: Overlap
    scores: dict[str, float]


class Collection:
    """A table in the making: what is left of a case once the next is read."""

    def __init__(
        self,
        regions: dict[Any, tuple[int, ...]] | None,
        tolerance: float | None,
        width: float | None,
        empty: str,
        surface: str,
    ):
        self.regions, self.tolerance, self.width = regions, tolerance, width
        self.empty, self.surface = empty, surface
        self.cases: list[Any] = []
        self.rows: list[Row] = []
        self.diagonals: list[float] = []
        self.voxels: list[float] = []
        self.tolerances: set[float] = set()
        self.waiting: list[tuple[int, Pair]] = []
        self.found: dict[tuple[int, Any], dict[str, float]] = {}
        self.warnings: list[str] = []
        self.odd: dict[str, str] = {}

    def add(self, case: Case, threads: Executor) -> None:
        """Measure surfaces of a case, and keep its codes until a batch of overlaps is full."""
        number = len(self.cases)
        self.cases.append(case.name)
        if case.remark:
            steps = " x ".join(f"{step:.3g}" for step in case.spacing)
            self.odd.setdefault(case.remark, f"{steps} in case {case.name!r}; spacing= gives another")
        if case.prediction.ndim == 3 and 1 in case.prediction.shape:
            self.odd.setdefault(ONE_SLICE, f"case {case.name!r} of shape {case.prediction.shape}")
        size = np.array(case.prediction.shape) * np.array(case.spacing)
        self.diagonals.append(float(np.linalg.norm(size)))
        self.voxels.append(float(np.prod(case.spacing)))
        any_voxel = (case.prediction != 0) | (case.reference != 0)
        if not any_voxel.any():
            return
        box = box_of(any_voxel)
        del any_voxel
        one, other = case.prediction[box], case.reference[box]
        tolerance = max(case.spacing) if self.tolerance is None else self.tolerance
        self.tolerances.add(tolerance)
        width = max(BOUNDARY_SHARE * self.diagonals[-1], *case.spacing) if self.width is None else self.width
        for label, codes in (self.regions or _seen(one, other)).items():
            prediction, reference = (
                side == codes[0] if len(codes) == 1 else np.isin(side, codes) for side in (one, other)
            )
            if prediction.any() and reference.any():
                self.found[number, label] = surface_scores(
                    prediction,
                    reference,
                    case.spacing,
                    tolerance=tolerance,
                    width=width,
                    surface=self.surface,
                    threads=threads,
                )
        self._keep(number, Pair(one.ravel(), other.ravel()))

    def _keep(self, number: int, pair: Pair) -> None:
        """Put a case into the batch, measuring overlaps of those that it has no room with."""
        longest = max(len(pair.prediction), *(len(p.prediction) for _, p in self.waiting), 0)
        if self.waiting and (len(self.waiting) + 1) * longest > BATCH:
            self.flush()
        self.waiting.append((number, Pair(*(np.array(side) for side in pair))))
        if len(pair.prediction) > BATCH // 2:
            self.flush()

    def flush(self) -> None:
        """Measure the overlaps of the batch."""
        if not self.waiting:
            return
        numbers, pairs = zip(*self.waiting, strict=True)
        self.waiting = []
        regions = self.regions or _seen(*(side for pair in pairs for side in pair))
        most = max(len(codes) for codes in regions.values())
        codes = np.array([[*found, *found[:1] * (most - len(found))] for found in regions.values()])
        for number, case in zip(numbers, overlaps(pairs, codes), strict=True):
            for label, overlap in zip(regions, case, strict=True):
                scores = self.found.pop((number, label), {}) | overlap.scores(self.voxels[number])
                self.rows.append(Row(number, label, overlap, scores))

    def table(self) -> CaseTable:
        """Return the table; rows of labels that a case has no voxel of are added."""
        self.flush()
        if not self.cases:
            raise ValueError("predictions and references must hold at least one case; got none")
        counted = {(row.case, row.label): row for row in self.rows}
        labels = list(self.regions) if self.regions else sorted({row.label for row in self.rows})
        if all(row.overlap.empty == "both" for row in self.rows):
            which = f" of labels {shown(labels)}" if labels else ""
            raise ValueError(f"all masks are empty: no prediction and no reference has a voxel{which}")
        absent = Overlap(0, 0, 0)
        rows = [
            counted.get((number, label), Row(number, label, absent, absent.scores(self.voxels[number])))
            for number in range(len(self.cases))
            for label in labels
        ]
        empty = [row.overlap.empty for row in rows]
        self._refuse_or_remark(rows)
        columns: dict[str, np.ndarray] = {
            "case": np.array([self.cases[row.case] for row in rows]),
            "label": np.array([row.label for row in rows]),
        }
        values = [self._scored(row) for row in rows]
        for name in COLUMNS[2:-1]:
            columns[name] = np.array([scores.get(name, math.nan) for scores in values])
        columns["empty"] = np.array(empty)
        settings = {"tolerance": self.tolerance, "boundary_width": self.width, "empty": self.empty}
        return CaseTable(columns, self.surface, settings, tuple(self.warnings))

    def _scored(self, row: Row) -> dict[str, float]:
        """Return the scores of a row, by the convention where one mask is empty."""
        if row.overlap.empty not in ("prediction", "reference"):
            return row.scores
        worst = self.diagonals[row.case] if self.empty == "worst" else math.nan
        return row.scores | {"boundary_iou": 0.0, "nsd": 0.0} | dict.fromkeys(DISTANCES, worst)

    def _refuse_or_remark(self, rows: Sequence[Row]) -> None:
        """Say which masks are empty and what that was worth, and the tolerance where none was given."""
        for label in dict.fromkeys(row.label for row in rows):
            of = [row for row in rows if row.label == label]
            told = []
            for which, words in (
                ("both", "both masks"),
                ("prediction", "the prediction"),
                ("reference", "the reference"),
            ):
                where = [self.cases[row.case] for row in of if row.overlap.empty == which]
                if where:
                    told.append(f"in {words} of {len(where)} of {len(of)} cases ({_worth(which, self.empty)})")
                    if self.empty == "error":
                        raise ValueError(
                            f"label {label!r} has no voxel in {words} of case {where[0]!r}; empty='worst' or "
                            "empty='nan' counts such cases"
                        )
            if told:
                self.warnings.append(f"label {label!r} is empty {', '.join(told)}")
        self.warnings += [f"{text} ({first})" for text, first in self.odd.items()]
        sides = [{row.label for row in rows if getattr(row.overlap, side)} for side in ("prediction", "reference")]
        if self.regions is None and all(sides) and not set.intersection(*sides):
            ours, theirs = (shown(sorted(side)) for side in sides)
            self.warnings.append(f"predictions and references have no label in common: {ours} and {theirs}")
        if self.tolerance is None and self.tolerances:
            low, high = min(self.tolerances), max(self.tolerances)
            span = f"{high:g}" if low == high else f"from {low:g} to {high:g}"
            self.warnings.append(
                f"tolerance of the NSD: one voxel, the largest spacing of a case ({span}); none was given"
            )


def _worth(which: str, empty: str) -> str:
    if which == "both":
        return "no value"
    return "overlaps 0, distances the diagonal of the image" if empty == "worst" else "overlaps 0, no distances"


def _seen(*sides: np.ndarray) -> dict[Any, tuple[int, ...]]:
    """Return the labels that occur, in order."""
    found: set[int] = set()
    for side in sides:
        if side.dtype == np.uint8:
            found.update(np.flatnonzero(np.bincount(side.ravel(), minlength=256)).tolist())
        else:
            found.update(np.unique(side).tolist())
    return {code: (code,) for code in sorted(found - {0})}
