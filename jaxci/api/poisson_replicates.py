"""Moments and weighted counts of Poisson resamples: what an accumulator keeps of weighted rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.api.rank_replicates import RankedRows, RankReplicates, RankTable
from jaxci.api.tallies import alike, coded, read_back
from jaxci.api.value_bins import spread
from jaxci.resampling.poisson import name_words, poisson_sums
from jaxci.statistics.base import MomentStatistic, TableStatistic
from jaxci.statistics.regression import QuadraticStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import Features

DRAWS_AT_A_TIME = 2**22
"""Counts drawn together, nearly."""

ARRAYS = ("sizes", "weights", "means", "squares", "sums", "sums_by_cluster", "table")
"""What is kept in arrays of numbers, but for rankings."""

LEAST_ROWS, LEAST_CELLS = 256, 16
"""Sizes of the smallest program; others double them."""


class PoissonReplicates:
    """Weighted moments of columns, weights by labels, and by scores, of the data and of B resamples, R = 1 + B in all.

    What a row counts in a resample follows from the key, its name, and the number of the resample alone, so that sums
    do not depend on batches, their order and merging, but for rounding.

    Attributes
    ----------
    n : int
        Rows of a weight above 0; ``squares_of_weights`` and ``heaviest`` are the sum of squares and the largest.
    clusters : dict
        Those that occurred; empty where rows are independent.
    sizes : (U,) float64
        Weight of every cluster.
    weights : (R,) float64
    means : (R, d) float64
        Of the columns.
    squares : (R, 2, 2) float64
        Centred, weighted sums of squares and products of the last two columns.
    sums : (R, p) float64
        Of features.
    sums_by_cluster : (U, p) float64
        The same of every cluster, of the rows themselves.
    labels, cells : dict
        Code of every label, and of every pair of codes of a true and a predicted label.
    table : (C, R) float64
        Weight of every such pair.
    ranks : RankReplicates
    """

    def __init__(self, n_resamples: int, width: int, n_features: int = 0, ranks: RankReplicates | None = None) -> None:
        self.n, self.squares_of_weights, self.heaviest = 0, 0.0, 0.0
        self.clusters: dict[Any, int] = {}
        self.sizes = np.zeros(0)
        self.weights = np.zeros(1 + n_resamples)
        self.means = np.zeros((1 + n_resamples, width))
        self.squares = np.zeros((1 + n_resamples, 2, 2))
        self.sums = np.zeros((1 + n_resamples, n_features))
        self.sums_by_cluster = np.zeros((0, n_features))
        self.labels: dict[Any, int] = {}
        self.cells: dict[tuple[int, int], int] = {}
        self.table = np.zeros((0, 1 + n_resamples))
        self.ranks = RankReplicates([], 0, n_resamples) if ranks is None else ranks

    def add(
        self,
        key: jax.Array,
        names: np.ndarray,
        weights: np.ndarray,
        values: np.ndarray,
        labels: tuple[np.ndarray, np.ndarray] | None,
        groups: np.ndarray | None,
        features: np.ndarray | None = None,
        sample: Sample | None = None,
    ) -> None:
        """Draw rows (n,) of ``names``, whose ``weights`` are not negative, ``values`` (n, d) and pairs of labels.

        ``features`` (n, p) are summed as they are; ``sample`` has the scores that are ranked.
        """
        for array, known, called in (
            (groups, self.clusters, "groups"),
            *((x, self.labels, "labels") for x in labels or ()),
        ):
            if array is not None:
                alike(called, array, known)
        rows = weights > 0
        if not rows.any():
            return
        names, weights, values = names[rows], weights[rows], values[rows]
        codes = np.zeros(len(names), np.int32)
        rest = np.zeros((len(names), 0)) if features is None else features[rows]
        if groups is not None:
            of = coded(groups[rows], self.clusters)
            self._make_room()
            self.sizes += np.bincount(of, weights, len(self.clusters))
            np.add.at(self.sums_by_cluster, of, weights[:, None] * rest)
        if labels is not None:
            codes = self._coded(labels[0][rows], labels[1][rows])
        self.n += len(names)
        self.squares_of_weights += float(weights @ weights)
        self.heaviest = max(self.heaviest, float(weights.max()))
        centre = np.average(values, axis=0, weights=weights) if values.shape[1] else np.zeros(0)
        apart = values - centre
        products = [apart[:, -2] ** 2, apart[:, -2] * apart[:, -1], apart[:, -1] ** 2] if values.shape[1] > 1 else []
        summed = weights[:, None] * np.column_stack([np.ones(len(names)), rest, apart, *products])
        ranked = [] if sample is None else self.ranks.ranked(sample, rows)
        sums, table = self._drawn(key, name_words(names), summed, codes, ranked)
        self.table[: len(table)] += table
        self.sums += sums[:, 1 : 1 + rest.shape[1]]
        self._join(*_moments(np.delete(sums, slice(1, 1 + rest.shape[1]), axis=1), centre))

    def _make_room(self) -> None:
        """Make room for clusters that are new."""
        new = len(self.clusters) - len(self.sizes)
        self.sizes = np.pad(self.sizes, (0, new))
        self.sums_by_cluster = np.pad(self.sums_by_cluster, ((0, new), (0, 0)))

    def _coded(self, true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the cell (n,) of every pair of labels, of which there may be new ones."""
        found, place = np.unique(np.concatenate([true, predicted]), return_inverse=True)
        codes = np.array([self.labels.setdefault(label, len(self.labels)) for label in found.tolist()])[place]
        both = np.stack(np.split(codes, 2), axis=1)
        pairs, place = np.unique(both, axis=0, return_inverse=True)
        return self._cells(pairs.tolist())[place.reshape(-1)]

    def _cells(self, pairs: list[list[int]]) -> np.ndarray:
        """Return the cells (m,) of pairs of codes, and make room for new ones."""
        found = [self.cells.setdefault((true, predicted), len(self.cells)) for true, predicted in pairs]
        new = np.zeros((len(self.cells) - len(self.table), len(self.weights)))
        self.table = np.concatenate([self.table, new])
        return np.array(found, np.int32)

    def _drawn(
        self,
        key: jax.Array,
        words: np.ndarray,
        features: np.ndarray,
        codes: np.ndarray,
        ranked: Sequence[tuple[RankTable, RankedRows]],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of features (R, k) and weights by cell (C, R), rows by rows; those that fill up weigh nothing.

        Weights by score go into the rankings.
        """
        n_resamples = len(self.weights) - 1
        size = min(_room(len(words), LEAST_ROWS), _room(DRAWS_AT_A_TIME // n_resamples, 1))
        sums, table = np.zeros((1 + n_resamples, features.shape[1])), np.zeros_like(self.table)
        placed = [(one, own, one.place(own, features[:, 0])) for one, own in ranked]
        with jax.enable_x64(True):
            for start in range(0, len(words), size):
                parts = [x[start : start + size] for x in (words, features, codes)]
                filled = [np.pad(x, ((0, size - len(x)), *((0, 0),) * (x.ndim - 1))) for x in parts]
                found, cells, counts = poisson_sums(
                    key,
                    filled[0],
                    filled[1],
                    filled[1][:, 0],
                    filled[2],
                    n_resamples=n_resamples,
                    n_cells=_room(len(table), LEAST_CELLS),
                )
                sums += np.asarray(found)
                table += np.asarray(cells)[: len(table)]
                for one, own, place in placed:
                    there = slice(*np.searchsorted(own.rows, [start, start + size]))
                    one.add(place[there], own.rows[there] - start, filled[1][:, 0], np.asarray(counts))
        return sums, table

    def _join(self, weights: np.ndarray, means: np.ndarray, squares: np.ndarray) -> None:
        """Add moments of other rows."""
        total = self.weights + weights
        share = weights / np.where(total > 0, total, 1.0)
        apart = means - self.means
        between = apart[:, -2:, None] * apart[:, None, -2:] if means.shape[1] > 1 else np.zeros((1, 2, 2))
        self.squares = self.squares + squares + (self.weights * share)[:, None, None] * between
        self.means = self.means + share[:, None] * apart
        self.weights = total

    def merge(self, other: PoissonReplicates) -> None:
        """Add the sums of other rows, which were drawn with the same key."""
        for called, mine, others in (
            ("groups", self.clusters, other.clusters),
            ("labels", self.labels, other.labels),
        ):
            if others:
                alike(called, np.array([*others]), mine)
        of = [self.clusters.setdefault(cluster, len(self.clusters)) for cluster in other.clusters]
        self._make_room()
        self.sizes[of] += other.sizes
        self.sums_by_cluster[of] += other.sums_by_cluster
        self.ranks.merge(other.ranks)
        self.sums += other.sums
        codes = [self.labels.setdefault(label, len(self.labels)) for label in other.labels]
        if other.cells:
            place = self._cells([[codes[true], codes[predicted]] for true, predicted in other.cells])
            self.table[place] += other.table
        self.n += other.n
        self.squares_of_weights += other.squares_of_weights
        self.heaviest = max(self.heaviest, other.heaviest)
        self._join(other.weights, other.means, other.squares)

    @property
    def label_sample(self) -> dict[str, np.ndarray]:
        """True and predicted label (C,) of every cell."""
        labels = np.array([*self.labels])
        true, predicted = np.array([*self.cells]).T
        return {"y_true": labels[true], "y_pred": labels[predicted]}

    @property
    def heaviest_unit(self) -> float:
        """Largest weight of a row, or of a cluster."""
        return float(self.sizes.max()) if self.clusters else self.heaviest

    def of_moments(self, statistic: MomentStatistic, columns: slice) -> np.ndarray:
        """Return a statistic (R,) whose features are ``columns``."""
        sums = np.column_stack([self.weights, self.sums[:, columns]]).T
        with jax.enable_x64(True):
            found = np.asarray(statistic.from_sums(Features(None), jnp.asarray(sums)))
        return np.where(self.weights > 0, found, np.nan)

    def sums_of(self, columns: slice) -> np.ndarray:
        """Return the sums of the features that are ``columns``, of every cluster (U, p), or of all rows (1, p)."""
        return self.sums_by_cluster[:, columns] if self.clusters else self.sums[:1, columns]

    def of_mean(self, column: int, root: bool) -> np.ndarray:
        """Return the mean (R,) of a column, or its root; NaN where nothing was drawn."""
        means = np.where(self.weights > 0, self.means[:, column], np.nan)
        return np.sqrt(means) if root else means

    def of_pair(self, statistic: QuadraticStatistic) -> np.ndarray:
        """Return a statistic (R,) of the last two columns, targets and predictions."""
        held = self.weights > 0
        total = np.where(held, self.weights, 1.0)
        shares = np.full((len(total), 3), 1 / 3)
        points = self.means[:, None, -2:] + spread(shares, self.squares / total[:, None, None])
        with jax.enable_x64(True):
            prepared = statistic.prepare(Sample(y_true=points[..., 0].ravel(), y_pred=points[..., 1].ravel()))
            design = np.asarray(prepared.design).reshape(*points.shape[:2], -1).mean(axis=1)
            sums = np.concatenate([np.ones((1, len(total))), design.T])
            found = np.asarray(statistic.from_sums(prepared.without_rows(), jnp.asarray(sums)))
        return np.where(held, found, np.nan)

    def of_table(self, statistic: TableStatistic, sample: Sample) -> tuple[np.ndarray, int]:
        """Return a statistic (R,) of the labels, and in how many resamples a class was absent.

        ``sample`` is of :attr:`label_sample`.
        """
        with jax.enable_x64(True):
            cells = statistic.prepare(sample)
            sums = np.zeros((cells.size, len(self.weights)))
            np.add.at(sums, cells.codes.astype(np.int64), self.table)
            known = cells.without_rows()
            found = np.asarray(statistic.from_sums(known, jnp.asarray(sums)))
            absent = jax.vmap(lambda one: statistic.absent_in_sums(known, one), in_axes=1)(sums[:, 1:])
        return np.where(self.weights > 0, found, np.nan), int(np.asarray(absent).sum())

    def state(self) -> dict[str, Any]:
        """Return the sums as numbers, lists and arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        numbers = {name: getattr(self, name) for name in ("n", "squares_of_weights", "heaviest")}
        cells = np.array([*self.cells], np.int64).reshape(-1, 2)
        names = {"clusters": [*self.clusters], "labels": [*self.labels], "cells": cells}
        return {**numbers, **arrays, **names, "ranks": self.ranks.state()}

    @classmethod
    def of(cls, state: Mapping[str, Any], ranks: RankReplicates) -> PoissonReplicates:
        """Return the sums that :meth:`state` describes, those of ``ranks``, which are empty, among them."""
        means, sums = state["means"], state["sums"]
        found = cls(len(means) - 1, len(means[0]), len(sums[0]), ranks)
        ranks.load(state["ranks"])
        for name in ARRAYS:
            setattr(found, name, read_back(state[name], getattr(found, name)))
        found.n, found.heaviest = int(state["n"]), float(state["heaviest"])
        found.squares_of_weights = float(state["squares_of_weights"])
        found.clusters = {name: code for code, name in enumerate(state["clusters"])}
        found.labels = {name: code for code, name in enumerate(state["labels"])}
        found.cells = {(int(t), int(p)): code for code, (t, p) in enumerate(state["cells"])}
        return found


def _room(size: int, least: int) -> int:
    """Return the power of 2 from ``least`` on that holds ``size``."""
    return max(least, 1 << max(size - 1, 0).bit_length())


def _moments(sums: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights (R,), means (R, d) and centred squares (R, 2, 2) from sums (R, k) of columns less ``centre``."""
    weights, width = sums[:, 0], len(centre)
    moved = sums[:, 1 : 1 + width] / np.where(weights > 0, weights, 1.0)[:, None]
    squares = np.zeros((len(sums), 2, 2))
    if width > 1:
        a, ab, b = sums[:, 1 + width :].T
        squares = np.stack([np.stack([a, ab], axis=1), np.stack([ab, b], axis=1)], axis=1)
        last = moved[:, -2:]
        squares = squares - weights[:, None, None] * last[:, :, None] * last[:, None, :]
    return weights, centre + moved, squares
