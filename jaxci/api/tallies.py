"""What an accumulator keeps of rows that have passed: counts of labels, or the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.labels import distinct, in_bytes, positions
from jaxci.checks import shown

DENSE_TABLE = 2**16
"""Cells up to which counts of a batch are made without sorting."""


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
    first = next(iter(known), None)
    if first is not None and isinstance(first, str) != (values.dtype.kind in "US"):
        raise TypeError(
            f"{name} must hold labels of one type in every batch; got dtype {values.dtype} after {shown(first)}"
        )


class LabelCounts(NamedTuple):
    """Rows (m,) of distinct cluster, true and predicted label, and how many rows each counts; clusters may be None."""

    y_true: np.ndarray
    y_pred: np.ndarray
    groups: np.ndarray | None
    counts: np.ndarray


class LabelTable:
    """Counts of rows by cluster, true and predicted label, whatever labels and clusters turn up.

    Memory is that of the cells that occur, whatever the number of rows.
    """

    def __init__(self) -> None:
        self.labels: dict[Any, int] = {}
        self.clusters: dict[Any, int] = {}
        self.counts: dict[tuple[int, int, int], int] = {}

    def add(self, y_true: np.ndarray, y_pred: np.ndarray, groups: np.ndarray | None) -> None:
        """Count rows (n,)."""
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
        for cell, count in zip(cells.tolist(), counted.tolist(), strict=True):
            self._add(cell // size**2, cell // size % size, cell % size, count)

    def _add(self, cluster: int, true: int, predicted: int, count: int) -> None:
        key = (cluster, true, predicted)
        self.counts[key] = self.counts.get(key, 0) + count

    def merge(self, other: LabelTable) -> None:
        """Add the counts of another table."""
        labels = [self.labels.setdefault(label, len(self.labels)) for label in other.labels]
        clusters = [self.clusters.setdefault(name, len(self.clusters)) for name in other.clusters] or [0]
        for (cluster, true, predicted), count in other.counts.items():
            self._add(clusters[cluster], labels[true], labels[predicted], count)

    def rows(self) -> LabelCounts:
        """Return the cells that occur, in the order of their clusters and labels."""
        labels, clusters = np.array([*self.labels]), np.array([*self.clusters])
        cells = np.array([*self.counts]).T
        counts = np.array([*self.counts.values()])
        true, predicted = labels[cells[1]], labels[cells[2]]
        groups = clusters[cells[0]] if self.clusters else None
        order = np.lexsort((predicted, true) if groups is None else (predicted, true, groups))
        return LabelCounts(true[order], predicted[order], None if groups is None else groups[order], counts[order])

    def state(self) -> dict[str, Any]:
        """Return the counts as plain lists and an array."""
        cells = [(*key, count) for key, count in self.counts.items()]
        return {
            "labels": [*self.labels],
            "clusters": [*self.clusters],
            "cells": np.array(cells, np.int64).reshape(-1, 4),
        }

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> LabelTable:
        """Return the table that :meth:`state` describes."""
        table = cls()
        table.labels = {label: code for code, label in enumerate(state["labels"])}
        table.clusters = {name: code for code, name in enumerate(state["clusters"])}
        table.counts = {(c, t, p): count for c, t, p, count in np.asarray(state["cells"]).tolist()}
        return table


class KeptRows:
    """Rows as they came, in batches: columns by name, of one type and shape in every batch."""

    def __init__(self) -> None:
        self.batches: list[dict[str, np.ndarray]] = []

    @property
    def n(self) -> int:
        """Rows kept."""
        return sum(len(batch["y_true"]) for batch in self.batches)

    def add(self, columns: Mapping[str, np.ndarray]) -> None:
        """Keep the rows of a batch."""
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
        self.batches.append(dict(columns))

    def merge(self, other: KeptRows) -> None:
        """Keep the rows of another, after these."""
        for batch in other.batches:
            self.add(batch)

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
