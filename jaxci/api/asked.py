"""What is asked for of rows that come in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxci.api.evaluate import Reading, read_data, table_of
from jaxci.api.readers.arrays import as_floats
from jaxci.api.readers.batches import of_table
from jaxci.api.readers.labelled import not_probabilities
from jaxci.inference.randomness import Randomness
from jaxci.inference.settings import Settings
from jaxci.results import EvaluationTable
from jaxci.statistics.base import Statistic


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is asked for of rows that come in batches."""

    named: list[tuple[str, Statistic | None]]
    regression: bool
    n_resamples: int
    groups: bool
    labels: np.ndarray | None
    pos_label: Any
    threshold: float | None = None

    @property
    def tabular(self) -> bool:
        """Whether all metrics are those of a confusion table."""
        return all(of_table(name, one) for name, one in self.named)

    @property
    def others(self) -> list[tuple[str, Statistic]]:
        """The metrics that are none of a confusion table."""
        return [(name, one) for name, one in self.named if one is not None and not of_table(name, one)]

    def check_inputs(self, given: frozenset[str]) -> None:
        """Refuse batches that lack what a metric reads; labels may follow from scores."""
        if self.regression and "y_pred" not in given:
            raise TypeError("y_pred must be given for regression metrics; got None")
        for name, one in self.named:
            if one is not None and "y_score" in one.inputs and "y_score" not in given:
                raise ValueError(f"{name} needs y_score, which was not given")

    def check_probabilities(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse scores of a batch that are no probabilities where a metric needs such."""
        if "y_score" not in columns or not any(one.needs_probabilities for _, one in self.others):
            return
        if fault := not_probabilities("y_score", as_floats("y_score", columns["y_score"], (1, 2))):
            raise ValueError(fault)

    def read(
        self,
        arrays: Mapping[str, Any],
        method: Any,
        *,
        labels: Sequence[Any] | None,
        metrics: Sequence[Any] | None = None,
    ) -> Reading:
        """Return rows with what is asked of them: metrics, by default all."""
        asked = [name if one is None else one for name, one in self.named] if metrics is None else metrics
        truth, guess, score = (arrays.get(name) for name in ("y_true", "y_pred", "y_score"))
        counts = arrays.get("counts")
        return read_data(truth, guess, score, asked, {}, method, labels, self.pos_label, self.threshold, counts)

    def evaluated(
        self,
        arrays: Mapping[str, Any],
        method: Any,
        settings: Settings,
        source: Randomness,
        *,
        labels: Sequence[Any] | None,
        metrics: Sequence[Any] | None = None,
        counted: bool = False,
    ) -> EvaluationTable:
        """Return the table of metrics, by default all, of rows that may be counted."""
        return table_of(
            self.read(arrays, method, labels=labels, metrics=metrics),
            settings,
            source,
            groups=arrays.get("groups"),
            strata=None,
            sample_weight=arrays.get("counts", arrays.get("sample_weight")),
            weight_type="frequency" if "counts" in arrays else "importance",
            counted=counted,
        )
