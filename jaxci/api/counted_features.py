"""What tells which simulated designs rows in clusters are like, of rows that are only counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from jaxci.api.score_bins import ScoreBins
from jaxci.api.tallies import WeightSums
from jaxci.api.value_bins import Points, ValueBins
from jaxci.api.value_tables import laid_out
from jaxci.inference.design import true_scores
from jaxci.inference.features import features_of_classes, features_of_values
from jaxci.intervals.cards import Features
from jaxci.statistics.sample import Sample


class CountedFeatures:
    """Errors of a regression, or scores of the true classes by cluster, of rows that are counted.

    Attributes
    ----------
    errors : ValueBins
        Targets less predictions, whatever their cluster.
    sizes : (K,) float64
        Rows of each class; of no rows (0,).
    by_class : list of ValueBins
        Scores of the true class, one cell a cluster.
    wrong : float
        Rows whose highest score is of another class, of more than two classes.
    scores : ScoreBins
        Of two classes.
    """

    def __init__(self) -> None:
        self.errors = ValueBins()
        self.sizes = np.zeros(0)
        self.by_class: list[ValueBins] = []
        self.wrong = 0.0
        self.scores = ScoreBins()

    @property
    def empty(self) -> bool:
        """Whether no rows were counted."""
        return not len(self.errors.counts) and not len(self.sizes)

    @property
    def n_cells(self) -> int:
        """Cells of values."""
        return sum(len(one.counts) for one in (self.errors, *self.by_class))

    def add(self, sample: Sample, groups: np.ndarray) -> None:
        """Count a batch of rows, predictions or scores."""
        if sample.n_classes == 0:
            self.errors.add((sample.y_true - sample.y_pred)[:, None], None)
            return
        self._of_classes(sample.n_classes)
        self.sizes += sample.class_sizes
        found = true_scores(sample)
        for code, bins in enumerate(self.by_class):
            rows = sample.y_true == code
            if rows.any():
                bins.add(found[rows][:, None], groups[rows])
        if sample.y_score.ndim == 1:
            self.scores.add(sample.y_true, sample.y_score.astype(np.float64))
        else:
            self.wrong += sample.misranked

    def _of_classes(self, many: int) -> None:
        if not len(self.sizes):
            self.sizes = np.zeros(many)
            self.by_class = [ValueBins(most=0) for _ in range(many)]

    def merge(self, other: CountedFeatures) -> None:
        """Add those of other rows."""
        self.errors.merge(other.errors)
        if len(other.sizes):
            self._of_classes(len(other.sizes))
            self.sizes += other.sizes
        for mine, theirs in zip(self.by_class, other.by_class, strict=False):
            mine.merge(theirs)
        self.wrong += other.wrong
        self.scores.merge(other.scores)

    def of_rows(self) -> Features:
        """Return the features of the rows, whatever their clusters."""
        if not len(self.sizes):
            rows = self.errors.rows()
            return features_of_values(rows.values[:, 0], rows.counts)
        wrong = self.wrong
        if len(self.scores.keys):
            bins = self.scores.rows(float)
            wrong = Sample(y_true=bins["codes"], y_score=bins["score"], n_classes=2, counts=bins["counts"]).misranked
        return features_of_classes(float(self.sizes.sum()), self.sizes, wrong)

    def in_clusters(self, magnitudes: ValueBins | None, weights: WeightSums | None) -> Features:
        """Return the features of rows in clusters, of a regression with its absolute errors by cluster."""
        kept = self.by_class if magnitudes is None else [magnitudes]
        points = [bins.rows() for bins in kept if len(bins.counts)]
        apart = [one.values - np.average(one.values, axis=0, weights=one.counts) for one in points]
        columns = zip(*(one._replace(values=x) for one, x in zip(points, apart, strict=True)), strict=True)
        rows = Points(*map(np.concatenate, columns))
        sample, layout = laid_out(Sample(values=rows.values[:, 0]), rows, weights)
        assert layout.units is not None
        sizes = np.bincount(layout.units, layout.counts)
        return self.of_rows().in_clusters(sizes, layout.intraclass_correlation(sample.values))

    def state(self) -> dict[str, Any]:
        """Return what is kept as numbers, lists and arrays."""
        return {
            "errors": self.errors.state(),
            "sizes": self.sizes.copy(),
            "by_class": [bins.state() for bins in self.by_class],
            "wrong": self.wrong,
            "scores": self.scores.state(),
        }

    def load(self, state: Mapping[str, Any]) -> Self:
        """Put what :meth:`state` describes in the place of what is kept."""
        self.errors.load(state["errors"])
        self.sizes = np.array(state["sizes"], float)
        self.by_class = [ValueBins(most=0).load(one) for one in state["by_class"]]
        self.wrong = float(state["wrong"])
        self.scores.load(state["scores"])
        return self
