"""The table of cases: one row a case and label, columns as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.checks import nearest, shown
from jaxci.printing import MOST_ROWS, Printable, left_out, plain

OVERLAPS = ("dice", "iou", "boundary_iou", "nsd")
"""Scores between 0 and 1, larger ones better."""
DISTANCES = ("hd", "hd95", "hd95_pooled", "assd", "masd")
"""Distances in the unit of the spacing, smaller ones better."""
DIFFERENCES = ("volume_difference", "relative_volume_difference")
"""Prediction less reference: 0 is best."""
METRICS = (*OVERLAPS, *DISTANCES, *DIFFERENCES)
"""What is measured of a case and label."""
VOLUMES = ("prediction_volume", "reference_volume")
COLUMNS = ("case", "label", *METRICS, *VOLUMES, "empty")
"""Columns of a table, before those of the user."""
SHOWN = ("case", "label", *OVERLAPS, "hd", "hd95", "assd", "masd", "volume_difference", "empty")
"""Columns that a printed table has, before those of the user."""


@dataclasses.dataclass(frozen=True, eq=False)
class CaseTable(Printable):
    """Measures of segmentation masks: one row a case and label, the labels of a case one after the other.

    ``table["dice"]`` gives a column, ``table.names`` their names, ``len(table)`` the number of rows.

    Attributes
    ----------
    columns : dict of str to (rows,) array
        "case" and "label"; "dice", "iou", "boundary_iou" and "nsd"; "hd", "hd95", "hd95_pooled", "assd" and "masd", in
        the unit of the spacing; "volume_difference" (prediction less reference) in its cube, or square, and
        "relative_volume_difference" as a share of the reference, NaN where that is empty; both volumes; "empty" says
        which mask has no voxel of the label: "", "prediction", "reference" or "both". Columns of the user follow.
    surface : str
        What surfaces are made of.
    settings : dict
        "tolerance", "boundary_width" and "empty", as asked for.
    remarks : tuple of str
        What became of empty masks, and what was chosen.
    """

    columns: dict[str, np.ndarray]
    surface: str
    settings: dict[str, Any]
    remarks: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.columns)

    @property
    def cases(self) -> list[Any]:
        """Names of the cases, in order."""
        return list(dict.fromkeys(self.columns["case"].tolist()))

    @property
    def labels(self) -> list[Any]:
        """Labels, in order."""
        return list(dict.fromkeys(self.columns["label"].tolist()))

    def column(self, name: str) -> np.ndarray:
        """Return a column (rows,) by its name."""
        if name not in self.columns:
            raise KeyError(f"no column {name!r} in this table: {nearest(str(name), self.columns)}")
        return self.columns[name]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.column(name)

    def __len__(self) -> int:
        return len(self.columns["case"])

    def with_columns(self, **columns: Any) -> CaseTable:
        """Return the table with more columns, such as the patient of every case.

        Parameters
        ----------
        **columns : array_like, dict or str
            A value a case, in order; a dict of values by case; a value a row; or one for all rows.

        Raises
        ------
        ValueError
            If there are as many values as neither cases nor rows, or a dict lacks a case.
        """
        return dataclasses.replace(
            self, columns=self.columns | {name: self._spread(name, given) for name, given in columns.items()}
        )

    def _spread(self, name: str, given: Any) -> np.ndarray:
        """Return a value for every row."""
        if name in COLUMNS:
            raise ValueError(f"the table has a column {name!r} of its own; give yours another name")
        cases = self.cases
        if isinstance(given, Mapping):
            lacking = [case for case in cases if case not in given]
            if lacking:
                raise ValueError(f"{name} must have a value for every case; case {lacking[0]!r} has none")
            given = [given[case] for case in cases]
        values = np.asarray(given)
        if values.ndim == 0:
            return np.full(len(self), values)
        if values.shape == (len(cases),):
            place = {case: row for row, case in enumerate(cases)}
            return values[[place[case] for case in self.columns["case"].tolist()]]
        if values.shape != (len(self),):
            raise ValueError(
                f"{name} must have a value for each of {len(cases)} cases or {len(self)} rows; got shape {values.shape}"
            )
        return values

    def headline(self) -> str:
        """Return the line above the table."""
        made = {"elements": "marching cubes elements", "voxels": "border voxels", "faces": "voxel faces"}[self.surface]
        cases, labels = len(self.cases), len(self.labels)
        return f"{cases} case{'s'[: cases != 1]}, {labels} label{'s'[: labels != 1]}; surfaces of {made}"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        names = [*SHOWN, *(name for name in self.columns if name not in COLUMNS)]
        if not any(self.columns["empty"]):
            names.remove("empty")
        rows = [[self.columns[name][row] for name in names] for row in range(min(len(self), MOST_ROWS))]
        return names, rows

    def notes(self) -> list[str]:
        """Return the lines below the table: rows left out, and remarks."""
        return [*left_out(len(self)), *self.remarks]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a case and label."""
        values = {name: plain(column) for name, column in self.columns.items()}
        return [{name: values[name][row] for name in values} for row in range(len(self))]


def joined(tables: Iterable[CaseTable]) -> CaseTable:
    """Return the rows of several tables as one, such as those of several models.

    Parameters
    ----------
    tables : iterable of CaseTable
        With the same columns and surfaces; ``with_columns(model="a")`` tells their rows apart.

    Raises
    ------
    ValueError
        If there are none, or they differ in their columns, surfaces or settings.
    TypeError
        If one is no table.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> square = np.zeros((8, 8), bool)
    >>> square[2:6, 2:6] = True
    >>> one = jaxci.segmentation.cases([square], [square], spacing=1.0, tolerance=1.0)
    >>> both = jaxci.segmentation.joined([one.with_columns(model="a"), one.with_columns(model="b")])
    >>> both["model"].tolist(), len(both)
    (['a', 'b'], 2)
    """
    found: Sequence[CaseTable] = list(tables)
    if not found:
        raise ValueError("tables must hold at least one; got none")
    for table in found:
        if not isinstance(table, CaseTable):
            raise TypeError(f"tables must be those of jaxci.segmentation.cases; got {shown(table)}")
    first = found[0]
    for table in found[1:]:
        if table.names != first.names:
            odd = sorted(set(table.names) ^ set(first.names)) or ["their order"]
            raise ValueError(f"tables must have the same columns; they differ in {odd[0]!r}")
        if (table.surface, table.settings) != (first.surface, first.settings):
            raise ValueError(
                f"tables must be of one surface and settings; got {first.surface}, {first.settings} and "
                f"{table.surface}, {table.settings}"
            )
    columns = {name: np.concatenate([table.columns[name] for table in found]) for name in first.names}
    remarks = dict.fromkeys(remark for table in found for remark in table.remarks)
    apart = _in_one_only(found)
    if apart:
        said = (
            f"{apart} cases and labels are empty in both masks in some tables, where they have no value, and not in "
            "others, where a false alarm counts 0: compare overlaps where the reference has voxels, and count false "
            "alarms apart"
        )
        remarks[said] = None
    return dataclasses.replace(first, columns=columns, remarks=tuple(remarks))


def _in_one_only(tables: Sequence[CaseTable]) -> int:
    """Return how many cases and labels of several tables are empty in both masks in some, and not in others."""
    found: dict[tuple[Any, Any], set[bool]] = {}
    for table in tables:
        names = zip(table["case"].tolist(), table["label"].tolist(), (table["empty"] == "both").tolist(), strict=True)
        for case, label, empty in names:
            found.setdefault((case, label), set()).add(empty)
    return sum(len(of) > 1 for of in found.values())
