"""What an accumulator keeps of rows that have passed: counts of labels, or the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.labels import distinct, in_bytes, positions
from jaxci.checks import shown
from jaxci.statistics.layout import EQUAL, CaseWeights

DENSE_TABLE = 2**16
"""Cells up to which counts of a batch are made without sorting."""

POWERS = (1, 2, 3)
"""Of weights, whose sums are kept."""


def coded(values: np.ndarray, known: dict[Any, int]) -> np.ndarray:
    """Return the code (n,) of every value in ``known``, which gains those that are new."""
    narrow = in_bytes(values)
    found = distinct(narrow)
    codes = np.array([known.setdefault(value, len(known)) for value in found.tolist()], np.int64)
    return codes[positions(found, narrow)[0]]


def read_back(kept: Any, empty: np.ndarray) -> np.ndarray:
    """Return what was kept, an array or, as from a file, lists, in the type of ``empty`` and with rows of its shape."""
    return np.array(kept, empty.dtype).reshape(len(kept), *empty.shape[1:])


def alike(name: str, values: np.ndarray, known: Mapping[Any, int]) -> None:
    """Refuse labels of another type than those before."""
    first, kind = next(iter(known), None), values.dtype.kind
    if first is not None and (isinstance(first, str), isinstance(first, bytes)) != (kind == "U", kind == "S"):
        raise TypeError(
            f"{name} must hold labels of one type in every batch; got dtype {values.dtype} after {shown(first)}"
        )


class LabelCounts(NamedTuple):
    """Rows (m,) of distinct cluster, true and predicted label, and how many rows each counts; clusters may be None.

    So may ``powers`` (m, 3): sums of the weights of these rows, of their squares and cubes.
    """

    y_true: np.ndarray
    y_pred: np.ndarray
    groups: np.ndarray | None
    counts: np.ndarray
    powers: np.ndarray | None = None


class LabelTable:
    """Counts of rows by cluster, true and predicted label, whatever labels and clusters turn up.

    Of rows that differ in weight the sums of the weights, their squares and cubes are kept too. Memory is that of the
    cells that occur, whatever the number of rows.
    """

    def __init__(self) -> None:
        self.labels: dict[Any, int] = {}
        self.clusters: dict[Any, int] = {}
        self.counts: dict[tuple[int, int, int], int] = {}
        self.powers: dict[tuple[int, int, int], np.ndarray] = {}

    def add(
        self, y_true: np.ndarray, y_pred: np.ndarray, groups: np.ndarray | None, weights: np.ndarray | None = None
    ) -> None:
        """Count rows (n,), which may differ in weight."""
        for name, values in (("y_true", y_true), ("y_pred", y_pred)):
            alike(name, values, self.labels)
        if groups is not None:
            alike("groups", groups, self.clusters)
        true, predicted = coded(y_true, self.labels), coded(y_pred, self.labels)
        size = len(self.labels)
        flat = true * size + predicted
        if groups is not None:
            flat += coded(groups, self.clusters) * size**2
        if flat.max() < DENSE_TABLE:
            counted = np.bincount(flat)
            cells = np.flatnonzero(counted)
            counted = counted[cells]
        else:
            cells, counted = np.unique(flat, return_counts=True)
        powers: Sequence[np.ndarray | None] = [None] * len(cells)
        if weights is not None:
            place = np.searchsorted(cells, flat)
            powers = [*np.stack([np.bincount(place, weights**power) for power in POWERS], axis=1)]
        for cell, count, sums in zip(cells.tolist(), counted.tolist(), powers, strict=True):
            self._add((cell // size**2, cell // size % size, cell % size), count, sums)

    def _add(self, key: tuple[int, int, int], count: int, powers: np.ndarray | None) -> None:
        self.counts[key] = self.counts.get(key, 0) + count
        if powers is not None:
            self.powers[key] = self.powers.get(key, 0.0) + powers

    def merge(self, other: LabelTable) -> None:
        """Add the counts of another table."""
        labels = [self.labels.setdefault(label, len(self.labels)) for label in other.labels]
        clusters = [self.clusters.setdefault(name, len(self.clusters)) for name in other.clusters] or [0]
        for key, count in other.counts.items():
            cluster, true, predicted = key
            self._add((clusters[cluster], labels[true], labels[predicted]), count, other.powers.get(key))

    def rows(self) -> LabelCounts:
        """Return the cells that occur, in the order of their clusters and labels."""
        labels, clusters = np.array([*self.labels]), np.array([*self.clusters])
        cells = np.array([*self.counts]).T
        counts = np.array([*self.counts.values()])
        true, predicted = labels[cells[1]], labels[cells[2]]
        groups = clusters[cells[0]] if self.clusters else None
        order = np.lexsort((predicted, true) if groups is None else (predicted, true, groups))
        groups = None if groups is None else groups[order]
        powers = np.array([self.powers[key] for key in self.counts])[order] if self.powers else None
        return LabelCounts(true[order], predicted[order], groups, counts[order], powers)

    def state(self) -> dict[str, Any]:
        """Return the counts as plain lists and an array."""
        cells = [(*key, count) for key, count in self.counts.items()]
        return {
            "labels": [*self.labels],
            "clusters": [*self.clusters],
            "cells": np.array(cells, np.int64).reshape(-1, 4),
            "powers": np.array([self.powers[key] for key in self.counts if self.powers]).reshape(-1, len(POWERS)),
        }

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> LabelTable:
        """Return the table that :meth:`state` describes."""
        table = cls()
        table.labels = {label: code for code, label in enumerate(state["labels"])}
        table.clusters = {name: code for code, name in enumerate(state["clusters"])}
        table.counts = {(c, t, p): count for c, t, p, count in np.asarray(state["cells"]).tolist()}
        powers = read_back(state["powers"], np.zeros((0, len(POWERS))))
        table.powers = dict(zip(table.counts, powers, strict=True)) if len(powers) else {}
        return table


class WeightSums:
    """Number of weights above 0, their sum, the sum of their squares, and the largest."""

    def __init__(self) -> None:
        self.n, self.total, self.squares, self.largest = 0, 0.0, 0.0, 0.0

    def add(self, weights: np.ndarray) -> None:
        """Add weights (n,) above 0."""
        self._add(len(weights), float(weights.sum()), float(weights @ weights), float(weights.max(initial=0.0)))

    def merge(self, other: WeightSums) -> None:
        """Add the weights of another."""
        self._add(other.n, other.total, other.squares, other.largest)

    def _add(self, n: int, total: float, squares: float, largest: float) -> None:
        self.n, self.total, self.squares = self.n + n, self.total + total, self.squares + squares
        self.largest = max(self.largest, largest)

    @property
    def uneven(self) -> bool:
        """Whether weights differ: rows of equal weight are rows."""
        return self.largest * self.n > self.total * (1 + EQUAL)

    def known(self, counts: LabelCounts | None = None) -> CaseWeights:
        """Return what is known of the weights, also of those of ``counts``."""
        if counts is None:
            return self.of_powers(None)
        assert counts.powers is not None
        return self.of_powers(np.column_stack([counts.counts, counts.powers]))

    def of_powers(self, powers: np.ndarray | None) -> CaseWeights:
        """Return what is known of the weights, with sums over rows of their powers 0 to 3 (m, 4), if any."""
        scaled = None if powers is None else powers / self.largest ** np.arange(4)
        return CaseWeights(self.total**2 / self.squares, self.largest / self.total, scaled)

    def state(self) -> dict[str, Any]:
        """Return the sums as numbers."""
        return dict(vars(self))

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> WeightSums:
        """Return the sums that :meth:`state` describes."""
        found = cls()
        found._add(int(state["n"]), *(float(state[name]) for name in ("total", "squares", "largest")))
        return found


class KeptRows:
    """Rows as they came, in batches: columns by name, of one type and shape in every batch."""

    def __init__(self) -> None:
        self.batches: list[dict[str, np.ndarray]] = []

    @property
    def n(self) -> int:
        """Rows kept."""
        return sum(len(batch["y_true"]) for batch in self.batches)

    def add(self, columns: Mapping[str, np.ndarray]) -> None:
        """Keep a copy of the rows of a batch, whose arrays callers may fill anew."""
        if self.batches:
            for name, column in columns.items():
                before = self.batches[0][name]
                if (before.dtype.kind in "US") != (column.dtype.kind in "US"):
                    raise TypeError(
                        f"{name} must be of one type in every batch; got dtype {column.dtype} after {before.dtype}"
                    )
                if before.shape[1:] != column.shape[1:]:
                    raise ValueError(
                        f"{name} must have as many columns in every batch; got shape {column.shape} after "
                        f"{before.shape}"
                    )
        self.batches.append({name: np.array(column) for name, column in columns.items()})

    def columns(self, *, with_ids: bool = False) -> dict[str, np.ndarray]:
        """Return all rows by column, in the order of their ids where they have any, which go ``with_ids`` or stay."""
        found = {name: np.concatenate([batch[name] for batch in self.batches]) for name in self.batches[0]}
        if "ids" in found:
            order = np.argsort(found["ids"] if with_ids else found.pop("ids"), kind="stable")
            found = {name: column[order] for name, column in found.items()}
        return found

    def state(self) -> dict[str, Any]:
        """Return all rows by column, in the order in which they came, and the types of the columns."""
        columns = {name: np.concatenate([batch[name] for batch in self.batches]) for name in self.batches[0]}
        return {"columns": columns, "types": {name: column.dtype.str for name, column in columns.items()}}

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> KeptRows:
        """Return the rows that :meth:`state` describes."""
        rows = cls()
        if state:
            rows.add({name: np.array(column, state["types"][name]) for name, column in state["columns"].items()})
        return rows
