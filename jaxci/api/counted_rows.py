"""What an accumulator keeps of rows that are too many to keep, and the tables it gives."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.asked import Asked
from jaxci.api.poisson_replicates import PoissonReplicates
from jaxci.api.rank_replicates import TOO_MANY_SUMS, RankReplicates
from jaxci.api.readers.batches import of_binary_scores, of_table
from jaxci.api.readers.labelled import Labelled
from jaxci.api.readers.labels import encode_labels, label_values
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.metrics import chosen_metrics
from jaxci.api.readers.samples import regression_sample
from jaxci.api.score_bins import ScoreBins
from jaxci.api.tallies import LabelTable
from jaxci.api.value_bins import ValueBins
from jaxci.api.value_tables import MeanOfBins, check_squares, counted, influence, row_values, with_error, with_widths
from jaxci.inference.engine import estimates_of
from jaxci.inference.randomness import Randomness
from jaxci.inference.remarks import few_clusters, layout_remarks, weight_remarks
from jaxci.inference.replicated import Replicated, intervals_from
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.results import EvaluationTable
from jaxci.statistics.base import Statistic
from jaxci.statistics.known_values import QuantileOfKnown
from jaxci.statistics.layout import Layout
from jaxci.statistics.order import QuantileStatistic
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.regression import MeanAbsoluteError, QuadraticStatistic
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic

PURPOSE_POISSON = 6
"""Separates Poisson weights from other draws of a call."""

ERRORS = "mean_absolute_error"
"""The mean of which a design effect is given, of a regression."""


class CountedRows:
    """Rows that were counted in the ways that metrics need; none until :meth:`start`, but for labels.

    Attributes
    ----------
    asked : Asked
    started : bool
        Whether more than labels is counted.
    classes : (K,) array or None
        The classes, where labels are encoded.
    score_type : dtype
        In which scores came.
    table : LabelTable
    bins : ScoreBins
    values : dict of ValueBins
        Row values of metrics that are means.
    pairs : ValueBins
        Targets and predictions.
    weighted : bool
        Whether rows differ in weight.
    poisson : PoissonReplicates or None
        Of rows that differ in weight, all that is kept; of others, what ranks need but for those of two classes.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.started = self.weighted = False
        self.classes: np.ndarray | None = None
        self.score_type = np.dtype(float)
        self.table, self.bins = LabelTable(), ScoreBins()
        self.values: dict[str, ValueBins] = {}
        self.pairs = ValueBins(2)
        self.poisson: PoissonReplicates | None = None

    @property
    def kept(self) -> str:
        """What is kept."""
        cells = sum(len(one.counts) for one in (*self.values.values(), self.pairs))
        ranked = 0 if self.poisson is None else self.poisson.ranks.n_bins
        counted = {"counts of labels": len(self.table.counts), "bins of scores": len(self.bins.keys) + ranked}
        counted["cells of values"] = cells
        found = [f"{many} {what}" for what, many in counted.items() if many]
        if self.poisson is not None:
            found.append(f"sums of {len(self.poisson.weights) - 1} Poisson resamples")
            found += [f"{len(self.poisson.clusters)} clusters"] if self.asked.groups else []
        return ", ".join(found) or "0 counts of labels"

    @property
    def labels(self) -> list[Any] | None:
        """The classes that are known."""
        known = self.asked.labels if self.classes is None else self.classes
        return None if known is None else known.tolist()

    def _road(self, statistic: Statistic) -> str:
        """Return what is kept for a metric that is none of a confusion table; empty where all rows are needed."""
        weighted, groups = self.weighted, self.asked.groups
        binary = self.classes is not None and len(self.classes) == 2
        if binary and not groups and not weighted and of_binary_scores(statistic):
            return "bins"
        if isinstance(statistic, QuadraticStatistic):
            return "pairs"
        if isinstance(statistic, QuantileStatistic) and not groups and not weighted:
            return "quantiles"
        roads = {MeanStatistic: "values", ScoreRanking: "ranks", Calibration: "moments"}
        return next((road for kind, road in roads.items() if isinstance(statistic, kind)), "")

    def _by(self, road: str) -> list[tuple[str, Statistic]]:
        """Return the metrics for which one thing is kept."""
        return [(name, one) for name, one in self.asked.others if self._road(one) == road]

    def start(self, kept: Mapping[str, np.ndarray], max_rows: int, source: Randomness) -> None:
        """Count rows that were ``kept``, and those to come, in all the ways that metrics need.

        Raises
        ------
        ValueError
            If a metric needs all rows.
        """
        needs = f"max_rows must be at least {len(kept['y_true'])}, for"
        self.weighted = "sample_weight" in kept
        if not self.asked.regression:
            read: dict[str, Any] = {name: kept[name] for name in ("y_true", "y_pred") if name in kept}
            _, classes, _ = encode_labels(read, self.labels, 1)
            self.classes = np.sort(classes) if self.asked.labels is None else self.asked.labels
        resampled = [name for road in ("ranks", "moments") for name, _ in self._by(road)]
        nameless = not {"groups", "ids"} & kept.keys()
        if self.weighted and nameless:
            raise ValueError(
                f"{needs} rows with sample_weight must be kept unless ids (or groups) name them, so that weights "
                f"that follow from the names resample them as they pass; got {max_rows}, and ids=None"
            )
        needy = [name for name, _ in self._by("")]
        if needy:
            why = [name for name in ("groups", "sample_weight") if name in kept]
            raise ValueError(
                f"{needs} {', '.join(needy)} need all rows{' with ' * bool(why)}{' and '.join(why)}; got {max_rows} "
                "(metrics of labels, ranks of classes, means of row values and functions of sums do not)"
            )
        if resampled and nameless:
            raise ValueError(
                f"{needs} {', '.join(resampled)} need all rows; got {max_rows}, and ids=None (where ids name the rows, "
                "weights that follow from the names resample them as they pass)"
            )
        if self.classes is not None and len(self.classes) < 2:
            raise ValueError(
                f"{needs} rows of {len(self.classes)} classes must be kept (pass labels to name classes that are "
                f"still to come); got {max_rows}"
            )
        if "y_score" in kept and kept["y_score"].dtype.kind == "f":
            self.score_type = kept["y_score"].dtype
        if self.weighted or resampled:
            self.poisson = self._resamples()
            ranks = self.poisson.ranks
            if ranks.most_sums > TOO_MANY_SUMS:
                what = ", ".join(name for name, _ in self._by("ranks"))
                many = 0 if self.classes is None else len(self.classes)
                raise ValueError(
                    f"{needs} {what} of {many} classes in {self.asked.n_resamples} resamples need "
                    f"{ranks.most_sums:,} sums, or all rows; got {max_rows} (fewer n_resamples need fewer sums, and "
                    "areas of every class against the rest, 'roc_auc_ovr', fewer than those of pairs of classes)"
                )
        self.started = True
        self.add(kept, source)

    def _resamples(self) -> PoissonReplicates:
        """Return sums of resamples of no rows, for the metrics that need some."""
        ranks = [one for _, one in self._by("ranks") if isinstance(one, ScoreRanking)]
        n_features = sum(one.n_features(self.weighted) for _, one in self._calibrations)
        width = len(self._by("values")) + 2 * bool(self._by("pairs")) if self.weighted else 0
        n_resamples, n_classes = self.asked.n_resamples, 0 if self.classes is None else len(self.classes)
        return PoissonReplicates(n_resamples, width, n_features, RankReplicates(ranks, n_classes, n_resamples))

    def start_like(self, other: CountedRows) -> None:
        """Count rows to come in the ways in which others were counted."""
        self.started, self.classes, self.score_type = True, other.classes, other.score_type
        self.weighted = other.weighted
        self.poisson = None if other.poisson is None else self._resamples()

    def add(self, columns: Mapping[str, np.ndarray], source: Randomness) -> None:
        """Count a batch of rows."""
        groups = columns.get("groups")
        sample, labels = self._read(columns)
        means = {name: row_values(name, one, sample) for name, one in self._settled("values")}
        mistaken = {name: one.mistaken_values(sample) for name, one in self._settled("values")}
        ordered = {name: row_values(name, one, sample) for name, one in self._settled("quantiles")}
        pair = np.column_stack([sample.y_true, sample.y_pred]) if self._by("pairs") else np.zeros((sample.n, 0))
        for what, column in zip(("y_true", "y_pred"), pair.T, strict=False):
            check_squares(what, column)
        if self.poisson is not None:
            weights = columns["sample_weight"] if self.weighted else np.ones(sample.n)
            read = [
                one.prepare_weighted(sample, weights) if self.weighted else one.prepare(sample)
                for _, one in self._calibrations
            ]
            values = np.column_stack([*(means.values() if self.weighted else ()), pair])
            features = np.column_stack([*(one.design for one in read), np.zeros((sample.n, 0))])
            names = columns["ids"] if groups is None else groups
            key = jax.random.fold_in(source.key, PURPOSE_POISSON)
            self.poisson.add(key, names, weights, values, labels if self.weighted else None, groups, features, sample)
        if self.weighted:
            return
        if labels is not None:
            self.table.add(*labels, groups)
        if self.asked.regression and groups is not None:
            means[ERRORS] = MeanAbsoluteError().row_values(sample)
        for name, found in (means | ordered).items():
            self.values.setdefault(name, ValueBins()).add(found[:, None], groups, mistaken.get(name))
        if pair.shape[1]:
            self.pairs.add(pair, groups)
        if self._by("bins"):
            self.bins.add(sample.y_true, sample.y_score.astype(np.float64))

    @property
    def _calibrations(self) -> list[tuple[str, Calibration]]:
        """The metrics for which sums of features by bin are kept."""
        return [(name, one) for name, one in self._by("moments") if isinstance(one, Calibration)]

    def _settled(self, road: str) -> list[tuple[str, Any]]:
        """Return metrics with what they leave to the number of classes decided."""
        n_classes = 0 if self.classes is None else len(self.classes)
        return [(name, one.settled(n_classes)) for name, one in self._by(road)]

    def _read(self, columns: Mapping[str, np.ndarray]) -> tuple[Sample, tuple[np.ndarray, np.ndarray] | None]:
        """Return a batch as metrics read it, and its true and predicted labels where any metric is of a table."""
        if self.asked.regression:
            return regression_sample(columns["y_true"], columns.get("y_pred")), None
        read = {name: columns[name] for name in ("y_true", "y_pred") if name in columns}
        labelled = self._labelled(read, columns.get("y_score"))
        if "y_pred" not in read and "y_score" in columns:
            labelled = labelled.with_derived_labels(self.asked.threshold)
        for name, statistic in self.asked.others:
            labelled.accept(name, statistic)
            for field in statistic.inputs:
                if field not in ("y_true", *labelled.codes, *labelled.scores):
                    raise ValueError(f"{name} needs {field}, which was not given")
        sample = labelled.sample("y_pred", "y_score")
        if len(self.asked.others) == len(self.asked.named):
            return sample, None
        if sample.y_pred is None:
            raise ValueError("y_pred must be given for metrics of labels: scores outside [0, 1] do not tell it")
        labels = np.asarray(labelled.classes)
        return sample, (labels[sample.y_true], labels[sample.y_pred])

    def _labelled(self, columns: Mapping[str, Any], scores: np.ndarray | None) -> Labelled:
        """Read labels and scores of a batch, of the classes that are known."""
        given = {} if scores is None else {"y_score": scores}
        return Labelled.of(columns, given, labels=self.labels, pos_label=self.asked.pos_label)

    def merge(self, other: CountedRows) -> None:
        """Add the counts of other rows."""
        self.table.merge(other.table)
        self.bins.merge(other.bins)
        for name, found in other.values.items():
            self.values.setdefault(name, ValueBins()).merge(found)
        self.pairs.merge(other.pairs)
        if self.poisson is not None and other.poisson is not None:
            self.poisson.merge(other.poisson)

    def result(self, method: Any, settings: Settings, source: Randomness) -> list[EvaluationTable]:
        """Return tables of all metrics together."""
        if self.weighted:
            return [self._of_poisson(method, settings, source)]
        parts = []
        if self.table.counts:
            metrics = [name if one is None else one for name, one in self.asked.named if of_table(name, one)]
            arrays = self.table.rows()._asdict()
            parts.append(self.asked.evaluated(arrays, method, settings, source, labels=self.labels, metrics=metrics))
        if self._by("bins"):
            parts.append(self._of_bins(method, settings, source))
        for name, statistic in self._settled("values"):
            bins, request = self.values[name], Request(name, MeanOfBins(statistic), method)
            rows = bins.rows()
            found = counted([request], MeanOfBins.sample(bins, rows), rows, settings, source)
            parts.append(with_error(found, bins, [rows.values]))
        for name, statistic in self._settled("quantiles"):
            bins = self.values[name]
            request, rows = Request(name, QuantileOfKnown(statistic), method), bins.middles()
            found = counted([request], Sample(values=rows.values[:, 0]), rows, settings, source)
            parts.append(with_widths(found, bins))
        if self._by("pairs"):
            requests = [Request(name, one, method) for name, one in self._by("pairs")]
            rows = self.pairs.rows()
            sample = Sample(y_true=rows.values[:, 0], y_pred=rows.values[:, 1])
            found = counted(requests, sample, rows, settings, source)
            influences = [influence(one, sample, rows.counts) for _, one in self._by("pairs")]
            parts.append(with_error(found, self.pairs, influences))
        if self.poisson is not None:
            parts.append(self._of_poisson(method, settings, source))
        return self._with_design_effect(parts) if self.asked.groups else parts

    def _with_design_effect(self, parts: list[EvaluationTable]) -> list[EvaluationTable]:
        """Return tables with the design effect of accuracy, or of the absolute error of a regression."""
        effect, of = math.nan, ""
        if self.table.counts:
            effect, of = parts[0].rows[0].design_effect, parts[0].rows[0].design_effect_of
        elif self.asked.regression:
            rows = self.values[ERRORS].rows()
            _, layout = arranged(
                Sample(values=rows.values), rows.groups, None, rows.counts, "frequency", countable=True
            )
            rest = rows.values[:, 0] if layout.counts is not None else np.repeat(rows.values[:, 0], rows.counts)
            effect = layout.design_effect(rest / 2)
            of = "" if math.isnan(effect) else "the mean absolute error"
        return [
            dataclasses.replace(
                part,
                rows=tuple(dataclasses.replace(row, design_effect=effect, design_effect_of=of) for row in part.rows),
            )
            for part in parts
        ]

    def _of_poisson(self, method: Any, settings: Settings, source: Randomness) -> EvaluationTable:
        """Return the metrics of rows that were resampled as they passed: all of rows that differ in weight."""
        poisson = self.poisson
        assert poisson is not None
        n_units = len(poisson.clusters) if self.asked.groups else poisson.n
        if poisson.n < 2 or n_units < 2:
            what = "clusters" if self.asked.groups else "observations of a weight above 0"
            raise ValueError(f"at least 2 {what} are needed for an interval; got {min(poisson.n, n_units)}")
        found: list[Replicated] = []
        if self.weighted:
            for column, (name, one) in enumerate(self._settled("values")):
                found.append(Replicated(Request(name, one, method), poisson.of_mean(column, one.link == "sqrt")))
            found += [Replicated(Request(name, one, method), poisson.of_pair(one)) for name, one in self._by("pairs")]  # type: ignore[arg-type]
        column = 0
        for name, one in self._calibrations:
            columns = slice(column, column + one.n_features(self.weighted))
            values, sums = poisson.of_moments(one, columns), poisson.sums_of(columns)
            found.append(Replicated(Request(name, one, method), values, sums=sums))
            column = columns.stop
        for name, one in self._settled("ranks"):
            ranks = poisson.ranks.value(one, poisson.heaviest_unit)
            told = (ranks.remark,) if ranks.remark else ()
            found.append(Replicated(Request(name, one, method), ranks.values, ranks.absent, told))
        if poisson.cells:
            labelled = self._labelled(poisson.label_sample, None)
            sample = labelled.sample("y_pred", "y_score")
            tables = [(name, one) for name, one in self.asked.named if of_table(name, one)]
            found += [
                Replicated(Request(name, one, method), *poisson.of_table(one, sample))  # type: ignore[arg-type]
                for name, one in chosen_metrics(tables, sample, labelled)
            ]
        what = "weighted " * self.weighted + ("clusters" if self.asked.groups else "rows")
        reason = f"the Poisson bootstrap of {what}, by weights that follow from their names"
        rows = intervals_from(found, n_units, settings, source, reason)
        if self.asked.groups:
            read = [(row, few_clusters(n_units, drawn=row.bootstrap_distribution is not None)) for row in rows]
            rows = [
                dataclasses.replace(row, n_rows=poisson.n, warnings=(*row.warnings, *(() if few is None else (few,))))
                for row, few in read
            ]
        whole = float(poisson.weights[0])
        effective = whole**2 / poisson.squares_of_weights
        remarks = weight_remarks(poisson.n, effective, poisson.heaviest / whole)
        remarks += layout_remarks(Layout(n_units, np.arange(n_units))) if self.asked.groups else []
        return EvaluationTable(tuple(rows), poisson.n, source.record, tuple(remarks))

    def _of_bins(self, method: Any, settings: Settings, source: Randomness) -> EvaluationTable:
        """Return the metrics that counts of scores give, with what may be wrong with them."""
        rows = self.bins.rows(self.score_type)
        labels = np.asarray(self._ordered_classes())[rows["codes"]]
        named = self._by("bins")
        arrays = {"y_true": labels, "y_score": rows["score"], "counts": rows["counts"]}
        metrics = [one for _, one in named]
        table = self.asked.evaluated(
            arrays, method, settings, source, labels=self.labels, metrics=metrics, counted=True
        )
        if self.bins.exact:
            return table
        low, high, middle = (self._estimates(metrics, labels, x, rows["counts"]) for x in self.bins.ends(rows))
        found = []
        for row, (_, statistic), one, two, three in zip(table, named, low, high, middle, strict=True):
            text = f"scores were counted in {len(self.bins.keys):,} bins"
            if not isinstance(statistic, Calibration):
                apart = max(abs(three - one), abs(three - two))
                text += f"; the estimate differs from that of all rows by at most {apart:.1e}"
            found.append(dataclasses.replace(row, warnings=(*row.warnings, text)))
        return dataclasses.replace(table, rows=tuple(found))

    def _ordered_classes(self) -> list[Any]:
        """Return the two labels, the positive one last."""
        assert self.classes is not None
        wanted = 1 if self.asked.pos_label is None else self.asked.pos_label
        return list(encode_labels({"y_true": self.classes}, self.labels, wanted)[1])

    def _estimates(
        self, statistics: Sequence[Statistic], labels: np.ndarray, scores: np.ndarray, counts: np.ndarray
    ) -> list[float]:
        """Return the metrics of counted rows with other scores."""
        labelled = self._labelled({"y_true": labels}, scores)
        settled = [labelled.accept(str(one), one) for one in statistics]
        sample = labelled.sample("y_pred", "y_score")
        return estimates_of(settled, *arranged(sample, None, None, counts, "frequency", countable=True))

    def state(self) -> dict[str, Any]:
        """Return what is kept as lists, numbers and arrays."""
        return {
            "started": self.started,
            "weighted": self.weighted,
            "classes": None if self.classes is None else self.classes.tolist(),
            "score_type": self.score_type.name,
            "table": self.table.state(),
            "bins": self.bins.state(),
            "values": {name: one.state() for name, one in self.values.items()},
            "pairs": self.pairs.state(),
            "poisson": None if self.poisson is None else self.poisson.state(),
        }

    @classmethod
    def of(cls, asked: Asked, state: Mapping[str, Any]) -> CountedRows:
        """Return what :meth:`state` describes."""
        found = cls(asked)
        found.started, found.weighted = bool(state["started"]), bool(state["weighted"])
        found.classes = None if state["classes"] is None else label_values("classes", state["classes"])
        found.score_type = np.dtype(state["score_type"])
        found.table, found.bins = LabelTable.of(state["table"]), ScoreBins().load(state["bins"])
        found.values = {name: ValueBins().load(one) for name, one in state["values"].items()}
        found.pairs.load(state["pairs"])
        if state["poisson"] is not None:
            found.poisson = PoissonReplicates.of(state["poisson"], found._resamples().ranks)
        return found
