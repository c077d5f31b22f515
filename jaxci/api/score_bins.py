"""Counts of scores by class in bins that widen as they must: what an accumulator keeps of many scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from jaxci.api.tallies import read_back
from jaxci.resampling.kernels import stable_order

MOST_BINS = 2**17
"""Bins of scores; where more would be needed, each two neighbours become one."""

ARRAYS = ("keys", "counts", "sums", "lowest", "highest")
"""What is kept of bins."""

_HALF, _ONE, _INFINITY = (int(np.float64(x).view(np.uint64)) for x in (0.5, 1.0, np.inf))
_ZERO = 1 + (_INFINITY >> 1)
_TOP = _ZERO + 2 * _HALF


def score_keys(scores: np.ndarray) -> np.ndarray:
    """Return keys (n,) uint64 in the order of finite scores (n,) float64.

    Neighbouring keys are neighbouring floats from 0 to 1/2, and mirrored from 1/2 to 1, so that scores near 1 are told
    apart as well as those near 0; beyond, pairs of neighbouring floats.
    """
    near = np.where(scores > 0.5, 1 - scores, scores)
    bits = np.abs(np.where((scores < 0) | (scores > 1), scores, near)).view(np.uint64)
    keys = np.where(scores > 0.5, np.uint64(_TOP) - bits, np.uint64(_ZERO) + bits)
    keys = np.where(scores < 0, np.uint64(_ZERO - 1) - (bits >> np.uint64(1)), keys)
    above = np.uint64(_TOP + 1) + ((bits - np.uint64(_ONE)) >> np.uint64(1))
    return np.where(scores > 1, above, keys)


class ScoreBins:
    """Counts of rows, or their weights, by bin of score and class, by default of two classes.

    A bin is what scores have in common whose keys agree but for their last ``level`` bits, and the level is the lowest
    that needs no more than ``most`` of them, by default :data:`MOST_BINS`. So counts, and bins, depend on the rows
    alone: not on batches, their order and merging.

    Attributes
    ----------
    keys : (m,) uint64
        Of the bins that hold rows, ascending.
    counts : (m, C) int64, or float64 of weights
        Rows of every class.
    sums, lowest, highest : (m,) float64
        Sum, least and largest of the scores.
    """

    def __init__(self, n_classes: int = 2, most: int | None = None, *, weighted: bool = False) -> None:
        self.most = MOST_BINS if most is None else most
        self.level = 0
        self.keys = np.zeros(0, np.uint64)
        self.counts = np.zeros((0, n_classes), float if weighted else np.int64)
        self.sums, self.lowest, self.highest = (np.zeros(0) for _ in range(3))

    def add(self, codes: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Count rows (n,) of classes 0, 1, ..., or add their ``weights``."""
        counts = (codes[:, None] == np.arange(self.counts.shape[1])).astype(self.counts.dtype)
        counts = counts if weights is None else weights[:, None] * counts
        self._join(score_keys(scores) >> np.uint64(self.level), counts, scores, scores, scores)

    def merge(self, other: ScoreBins) -> None:
        """Add the counts of other bins."""
        level = max(self.level, other.level)
        mine = (self.keys >> np.uint64(level - self.level), self.counts, self.sums, self.lowest, self.highest)
        self.level, self.keys = level, np.zeros(0, np.uint64)
        self.counts, (self.sums, self.lowest, self.highest) = self.counts[:0], (np.zeros(0),) * 3
        self._join(*mine)
        keys = other.keys >> np.uint64(level - other.level)
        self._join(keys, other.counts, other.sums, other.lowest, other.highest)

    def _join(
        self, keys: np.ndarray, counts: np.ndarray, sums: np.ndarray, lowest: np.ndarray, highest: np.ndarray
    ) -> None:
        """Add bins, or rows as bins of one, and widen bins where there are too many."""
        keys = np.concatenate([self.keys, keys])
        order = stable_order(keys)
        keys = keys[order]
        parts = [(self.counts, counts), (self.sums, sums), (self.lowest, lowest), (self.highest, highest)]
        columns = [np.concatenate(pair)[order] for pair in parts]
        level, first = 0, firsts(keys)
        while len(first) > self.most:
            level += 1
            first = first[firsts(keys[first] >> np.uint64(level))]
        self.level += level
        self.keys = keys[first] >> np.uint64(level)
        how = (np.add, np.add, np.minimum, np.maximum)
        reduced = [f.reduceat(column, first) for f, column in zip(how, columns, strict=True)]
        self.counts, self.sums, self.lowest, self.highest = reduced

    @property
    def exact(self) -> bool:
        """Whether no two scores that differ share a bin."""
        return bool(np.all(self.lowest == self.highest))

    def rows(self, dtype: Any) -> dict[str, np.ndarray]:
        """Return rows (r,) of class and bin that occur, by ascending score.

        Their ``codes`` and ``counts``; the mean ``score`` of the bin, and the ``lowest`` and ``highest``, of the type
        in which scores came.
        """
        place, codes = np.nonzero(self.counts)
        means = np.clip(self.sums / self.counts.sum(axis=1), self.lowest, self.highest)
        found = {"score": means, "lowest": self.lowest, "highest": self.highest}
        columns = {name: column[place].astype(dtype) for name, column in found.items()}
        return {"codes": codes.astype(np.int32), "counts": self.counts[place, codes], **columns}

    @staticmethod
    def ends(rows: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores (r,) of :meth:`rows` at worst, at best, and as they are counted.

        At worst members of class 1 have the lowest and others the highest score of their bin.
        """
        member = rows["codes"] == 1
        worst = np.where(member, rows["lowest"], rows["highest"])
        return worst, np.where(member, rows["highest"], rows["lowest"]), rows["score"]

    def state(self) -> dict[str, Any]:
        """Return the counts as numbers and arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        return {"level": self.level, **arrays}

    def load(self, state: Mapping[str, Any]) -> Self:
        """Put the counts that :meth:`state` describes in the place of what is kept."""
        self.level = int(state["level"])
        for name in ARRAYS:
            setattr(self, name, read_back(state[name], getattr(self, name)))
        return self


def firsts(ordered: np.ndarray) -> np.ndarray:
    """Return where each distinct value of ``ordered`` (n,) comes first."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
