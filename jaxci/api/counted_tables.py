"""Tables of metrics of rows that were counted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.api.counted_rows import ERRORS, CountedRows
from jaxci.api.readers.batches import of_table
from jaxci.api.readers.label_remarks import of_near_names
from jaxci.api.readers.labels import encode_labels
from jaxci.api.readers.layout import arranged, weighed
from jaxci.api.readers.metrics import chosen_metrics
from jaxci.api.value_tables import (
    How,
    counted,
    design_effect_of,
    table_of_mean,
    table_of_pairs,
    table_of_quantile,
    table_of_ranks,
)
from jaxci.inference.engine import estimates_of
from jaxci.inference.randomness import Randomness
from jaxci.inference.remarks import few_clusters, layout_remarks, missing_kind, weight_remarks
from jaxci.inference.replicated import Replicated, intervals_from
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.cards import Features
from jaxci.results import EvaluationTable, IntervalResult
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.probability import Calibration


class CountedTables:
    """Tables of the metrics of counted rows, by what is kept for them.

    Attributes
    ----------
    rows : CountedRows
    how : How
    """

    def __init__(self, rows: CountedRows, method: Any, settings: Settings, source: Randomness) -> None:
        self.rows = rows
        self.how = How(method, settings, source, rows.weights if rows.weighted else None)

    def all(self) -> list[EvaluationTable]:
        """Return tables of all metrics together, the first with what is to be said of labels and clusters."""
        first, *others = self._all()
        rows = self.rows
        kept = [rows.table.clusters, rows.pairs.clusters, *(one.clusters for one in rows.values.values())]
        kept += [] if rows.poisson is None else [rows.poisson.clusters]
        clusters = next(([*names] for names in kept if names), None)
        said = [rows.derived] * bool(rows.derived) + of_near_names({"groups": clusters})
        first = dataclasses.replace(first, warnings=(*said, *first.warnings))
        return [self._with_cut_losses(part) for part in (first, *others)]

    def _with_cut_losses(self, table: EvaluationTable) -> EvaluationTable:
        """Add, of means of losses that are cut, in how many rows they are."""
        cut = {name for name, one in self.rows.settled("values") if one.cuts_probabilities}
        said = self.rows.losses.remarks()
        return dataclasses.replace(
            table,
            rows=tuple(
                dataclasses.replace(row, warnings=(*row.warnings, *said)) if row.statistic in cut else row
                for row in table
            ),
        )

    def _all(self) -> list[EvaluationTable]:
        how = self.how
        if self.rows.resampled and self.rows.poisson is not None:
            return [self._of_poisson(), *self._of_quantiles(how)]
        if self.rows.weighted and self.rows.weights.n < 2:
            raise ValueError(
                f"at least 2 observations of a weight above 0 are needed for an interval; got {self.rows.weights.n}"
            )
        if self.rows.resampled:
            return self._of_quantiles(how)
        parts = []
        if self.rows.table.counts:
            parts.append(self._of_labels())
        if self.rows.by("bins"):
            parts.append(self._of_bins())
        how = how._replace(features=self._features())
        for name, statistic in self.rows.settled("values"):
            parts.append(table_of_mean(name, statistic, self.rows.values[name], how))
        parts += self._of_quantiles(how)
        if self.rows.by("pairs"):
            parts.append(table_of_pairs(self.rows.by("pairs"), self.rows.pairs, how))
        if self.rows.by("cells"):
            parts.append(table_of_ranks(self.rows.by("cells"), self.rows.ranks, how))
        if self.rows.poisson is not None:
            parts.append(self._of_poisson())
        return self._with_design_effect(parts) if self.rows.asked.groups else parts

    def _features(self) -> Features | None:
        """Return the features of rows in clusters whose predictions or scores were counted; None of others."""
        if self.rows.features.empty:
            return None
        return self.rows.features.in_clusters(self.rows.values.get(ERRORS), self.how.weights)

    def _of_quantiles(self, how: How) -> list[EvaluationTable]:
        """Return the quantiles of row values."""
        rows = self.rows
        return [table_of_quantile(name, one, rows.values[name], how) for name, one in rows.settled("quantiles")]

    def _of_labels(self) -> EvaluationTable:
        """Return the metrics of a confusion table."""
        asked, how = self.rows.asked, self.how
        metrics = [name if one is None else one for name, one in asked.named if of_table(name, one)]
        rows = self.rows.table.rows()
        labels = self.rows.labels_of({"y_true": rows.y_true, "y_pred": rows.y_pred})
        if how.weights is None:
            arrays = rows._asdict()
            return asked.evaluated(arrays, how.method, how.settings, how.source, labels=labels, metrics=metrics)
        assert rows.groups is not None
        assert rows.powers is not None
        arrays = {"y_true": rows.y_true, "y_pred": rows.y_pred, "counts": rows.counts}
        read = asked.read(arrays, how.method, labels=labels, metrics=metrics)
        data = weighed(read.sample, rows.groups, rows.counts, rows.powers[:, 0], how.weights.known(rows))
        found = counted(read.requests, *data, how)
        return dataclasses.replace(found, warnings=(*read.remarks, *found.warnings))

    def _with_design_effect(self, parts: list[EvaluationTable]) -> list[EvaluationTable]:
        """Return tables with the design effect of accuracy, or of the absolute error of a regression."""
        effect, of = math.nan, ""
        if self.rows.table.counts:
            effect, of = parts[0].rows[0].design_effect, parts[0].rows[0].design_effect_of
        elif self.rows.asked.regression:
            effect = design_effect_of(self.rows.values[ERRORS], self.how.weights)
            of = "" if math.isnan(effect) else "the mean absolute error"
        return [
            dataclasses.replace(
                part,
                rows=tuple(dataclasses.replace(row, design_effect=effect, design_effect_of=of) for row in part.rows),
            )
            for part in parts
        ]

    def _of_poisson(self) -> EvaluationTable:
        """Return the metrics of rows that were resampled as they passed: all of weighted ones in no clusters."""
        poisson, method, groups = self.rows.poisson, self.how.method, self.rows.asked.groups
        assert poisson is not None
        n_units = len(poisson.clusters) if groups else poisson.n
        if poisson.n < 2 or n_units < 2:
            what = "clusters" if groups else "observations of a weight above 0"
            raise ValueError(f"at least 2 {what} are needed for an interval; got {min(poisson.n, n_units)}")
        found: list[Replicated] = []
        if self.rows.resampled:
            for column, (name, one) in enumerate(self.rows.settled("values")):
                found.append(Replicated(Request(name, one, method), poisson.of_mean(column, one.link == "sqrt")))
            pairs = self.rows.by("pairs")
            found += [Replicated(Request(name, one, method), poisson.of_pair(one)) for name, one in pairs]  # type: ignore[arg-type]
        column = 0
        for name, one in self.rows.calibrations:
            columns = slice(column, column + one.n_features(self.rows.weighted))
            values, sums = poisson.of_moments(one, columns), poisson.sums_of(columns)
            found.append(Replicated(Request(name, one, method), values, sums=sums))
            column = columns.stop
        for name, one in self.rows.settled("ranks"):
            ranks = poisson.ranks.value(one, poisson.heaviest_unit)
            told = (ranks.remark,) if ranks.remark else ()
            found.append(Replicated(Request(name, one, method), ranks.values, ranks.absent, told))
        if poisson.cells:
            labelled = self.rows.labelled(poisson.label_sample, None)
            sample = labelled.sample("y_pred", "y_score")
            tables = [(name, one) for name, one in self.rows.asked.named if of_table(name, one)]
            found += [
                Replicated(Request(name, one, method), *poisson.of_table(one, sample))  # type: ignore[arg-type]
                for name, one in chosen_metrics(tables, sample, labelled)
            ]
        what = "weighted " * self.rows.weighted + ("clusters" if groups else "rows")
        reason = f"the Poisson bootstrap of {what}, by weights that follow from their names"
        rows = intervals_from(found, n_units, self.how.settings, self.how.source, reason)
        if groups:
            rows = [
                dataclasses.replace(row, n_rows=poisson.n, warnings=_with_few_clusters(row, n_units)) for row in rows
            ]
        whole = float(poisson.weights[0])
        effective = whole**2 / poisson.squares_of_weights
        remarks = weight_remarks(poisson.n, effective, poisson.heaviest / whole)
        remarks += layout_remarks(Layout(n_units, np.arange(n_units))) if groups else []
        return EvaluationTable(tuple(rows), poisson.n, self.how.source.record, tuple(remarks))

    def _of_bins(self) -> EvaluationTable:
        """Return the metrics that counts of scores give, with what may be wrong with them."""
        rows = self.rows.bins.rows(self.rows.score_type)
        labels = np.asarray(self._ordered_classes())[rows["codes"]]
        named = self.rows.by("bins")
        arrays = {"y_true": labels, "y_score": rows["score"], "counts": rows["counts"]}
        metrics = [one for _, one in named]
        how = self.how
        table = self.rows.asked.evaluated(
            arrays, how.method, how.settings, how.source, labels=self.rows.labels, metrics=metrics, counted=True
        )
        if self.rows.bins.exact:
            return table
        low, high, middle = (self._estimates(metrics, labels, x, rows["counts"]) for x in self.rows.bins.ends(rows))
        found = []
        for row, (_, statistic), one, two, three in zip(table, named, low, high, middle, strict=True):
            text = f"scores were counted in {len(self.rows.bins.keys):,} bins"
            if not isinstance(statistic, Calibration):
                apart = max(abs(three - one), abs(three - two))
                text += f"; the estimate differs from that of all rows by at most {apart:.1e}"
            found.append(dataclasses.replace(row, warnings=(*row.warnings, text)))
        return dataclasses.replace(table, rows=tuple(found))

    def _ordered_classes(self) -> list[Any]:
        """Return the two labels, the positive one last."""
        assert self.rows.classes is not None
        wanted = 1 if self.rows.asked.pos_label is None else self.rows.asked.pos_label
        return list(encode_labels({"y_true": self.rows.classes}, self.rows.labels, wanted)[1])

    def _estimates(
        self, statistics: Sequence[Statistic], labels: np.ndarray, scores: np.ndarray, counts: np.ndarray
    ) -> list[float]:
        """Return the metrics of counted rows with other scores."""
        labelled = self.rows.labelled({"y_true": labels}, scores)
        settled = [labelled.accept(str(one), one) for one in statistics]
        sample = labelled.sample("y_pred", "y_score")
        return estimates_of(settled, *arranged(sample, None, None, counts, "frequency", countable=True))


def _with_few_clusters(row: IntervalResult, n: int) -> tuple[str, ...]:
    """Return what is said of a row whose replicates are of n clusters, and that these are few."""
    exists = not math.isnan(row.confidence_interval.low)
    few = (few_clusters(n, drawn=row.bootstrap_distribution is not None), missing_kind(n) if exists else None)
    return tuple(dict.fromkeys([*row.warnings, *(text for text in few if text is not None)]))
