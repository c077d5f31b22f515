"""What an accumulator keeps of rows that are too many to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.asked import Asked
from jaxci.api.counted_features import CountedFeatures
from jaxci.api.poisson_replicates import PoissonReplicates
from jaxci.api.rank_cells import RankCells
from jaxci.api.rank_replicates import TOO_MANY_SUMS, RankReplicates
from jaxci.api.readers.batches import of_binary_scores
from jaxci.api.readers.label_remarks import Disagreement
from jaxci.api.readers.labelled import Labelled
from jaxci.api.readers.labels import distinct, encode_labels, label_values
from jaxci.api.readers.samples import regression_sample
from jaxci.api.readers.scores import of_other_names
from jaxci.api.score_bins import ScoreBins
from jaxci.api.tallies import LabelTable, WeightSums
from jaxci.api.value_bins import MOST_OF_CLUSTERS, ValueBins
from jaxci.api.value_tables import check_powers, check_squares, row_values
from jaxci.inference.cut_losses import CutLosses
from jaxci.inference.randomness import Randomness
from jaxci.statistics.base import Statistic
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
    categories : sequence or None
        Those of ordered categories, in order.
    classes : (K,) array or None
        The classes, where labels are encoded.
    score_type : dtype
        In which scores came.
    score_names : sequence
        Names of their columns, where they have any.
    disagreement : Disagreement
        In how many rows predictions are not what scores make likely.
    losses : CutLosses
        In how many rows losses of probabilities are cut, where these are averaged.
    derived : str
        What is said of predictions that follow from scores; empty where they were given.
    table : LabelTable
    bins : ScoreBins
    values : dict of ValueBins
        Row values of metrics that are means, or quantiles.
    pairs : ValueBins
        Targets and predictions.
    ranks : RankCells
        The same, by rank.
    features : CountedFeatures
        Of rows in clusters, where means, quantiles or functions of sums are asked for.
    weighted : bool
        Whether rows differ in weight.
    weights : WeightSums
    poisson : PoissonReplicates or None
        Of rows that differ in weight and are in no clusters, all that is kept but for quantiles; of others, what ranks
        need but for those of two classes.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.started = self.weighted = False
        self.categories: Sequence[Any] | None = None
        self.classes: np.ndarray | None = None
        self.score_type = np.dtype(float)
        self.score_names: Sequence[Any] = ()
        self.derived = ""
        self.disagreement, self.losses = Disagreement(), CutLosses()
        self.table, self.bins = LabelTable(), ScoreBins()
        self.values: dict[str, ValueBins] = {}
        self.pairs = ValueBins(2)
        self.ranks = RankCells()
        self.features = CountedFeatures()
        self.weights = WeightSums()
        self.poisson: PoissonReplicates | None = None

    @property
    def kept(self) -> str:
        """What is kept."""
        cells = sum(len(one.counts) for one in (*self.values.values(), self.pairs)) + self.features.n_cells
        bins = len(self.bins.keys) + len(self.features.scores.keys)
        bins += 0 if self.poisson is None else self.poisson.ranks.n_bins
        counted = {"counts of labels": len(self.table.counts), "bins of scores": bins, "cells of values": cells}
        counted["cells of ranks"] = len(self.ranks.counts)
        found = [f"{many} {what}" for what, many in counted.items() if many]
        if self.poisson is not None:
            found.append(f"sums of {len(self.poisson.weights) - 1} Poisson resamples")
            found += [f"{len(self.poisson.clusters)} clusters"] if self.asked.groups else []
        return ", ".join(found) or "0 counts of labels"

    @property
    def resampled(self) -> bool:
        """Whether all metrics but quantiles are of rows that are resampled as they pass."""
        return self.weighted and not self.asked.groups

    @property
    def labels(self) -> list[Any] | None:
        """The classes that are known."""
        known = self.asked.labels if self.classes is None else self.classes
        return None if known is None else known.tolist()

    def labels_of(self, columns: Mapping[str, Any]) -> list[Any] | None:
        """Return the classes that are known, or those of ordered categories; None where labels give their order.

        Of the latter all where scores have a column for each, else those that occur in the ``columns``.
        """
        if self.labels is not None or self.categories is None:
            return self.labels
        if "y_score" in columns and columns["y_score"].shape[1:] == (len(self.categories),):
            return list(self.categories)
        labels = _labels_in(columns)
        order = [category for category in self.categories if category in labels]
        return order + sorted(labels - {*order})

    def remarks_of_names(self, columns: Mapping[str, Any]) -> list[str]:
        """Return what is to be said of the names of the columns of scores, of kept rows as :meth:`labels_of`."""
        if not self.score_names:
            return []
        labels = self.labels_of(columns) or sorted(_labels_in(columns))
        asked = None if self.asked.labels is None else labels
        return of_other_names("y_score", self.score_names, labels, asked)

    def _road(self, statistic: Statistic) -> str:
        """Return what is kept for a metric that is none of a confusion table; empty where all rows are needed."""
        weighted, groups = self.weighted, self.asked.groups
        binary = self.classes is not None and len(self.classes) == 2
        if binary and not groups and not weighted and of_binary_scores(statistic):
            return "bins"
        if statistic.correlates_ranks and not groups and not weighted:
            return "cells"
        if isinstance(statistic, QuadraticStatistic):
            return "pairs"
        if isinstance(statistic, QuantileStatistic):
            return "quantiles"
        roads = {MeanStatistic: "values", ScoreRanking: "ranks", Calibration: "moments"}
        return next((road for kind, road in roads.items() if isinstance(statistic, kind)), "")

    def by(self, road: str) -> list[tuple[str, Statistic]]:
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
            known = self.labels_of(kept)
            _, classes, _ = encode_labels(read, known, 1)
            self.classes = np.sort(classes) if known is None else label_values("labels", known)
        if self.classes is not None and len(self.classes) < 2:
            raise ValueError(
                f"{needs} rows of {len(self.classes)} classes must be kept (pass labels to name classes that are "
                f"still to come); got {max_rows}"
            )
        resampled = [name for road in ("ranks", "moments") for name, _ in self.by(road)]
        nameless = not {"groups", "ids"} & kept.keys()
        by_weight = self.resampled and len(self.by("quantiles")) < len(self.asked.named)
        if by_weight and nameless:
            raise ValueError(
                f"{needs} rows with sample_weight must be kept unless ids (or groups) name them, so that weights "
                f"that follow from the names resample them as they pass; got {max_rows}, and ids=None"
            )
        needy = [name for name, _ in self.by("")]
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
        if "y_score" in kept and kept["y_score"].dtype.kind == "f":
            self.score_type = kept["y_score"].dtype
        if by_weight or resampled:
            self.poisson = self._resamples()
            ranks = self.poisson.ranks
            if ranks.most_sums > TOO_MANY_SUMS:
                what = ", ".join(name for name, _ in self.by("ranks"))
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
        ranks = [one for _, one in self.by("ranks") if isinstance(one, ScoreRanking)]
        n_features = sum(one.n_features(self.weighted) for _, one in self.calibrations)
        width = len(self.by("values")) + 2 * bool(self.by("pairs")) if self.resampled else 0
        n_resamples, n_classes = self.asked.n_resamples, 0 if self.classes is None else len(self.classes)
        return PoissonReplicates(n_resamples, width, n_features, RankReplicates(ranks, n_classes, n_resamples))

    def read_as(self, other: CountedRows) -> None:
        """Read labels and scores as others were."""
        self.categories, self.score_names = other.categories, other.score_names

    def start_like(self, other: CountedRows) -> None:
        """Count rows to come in the ways in which others were counted."""
        self.started, self.classes, self.score_type = True, other.classes, other.score_type
        self.weighted = other.weighted
        self.poisson = None if other.poisson is None else self._resamples()

    def add(self, columns: Mapping[str, np.ndarray], source: Randomness) -> None:
        """Count a batch of rows."""
        if self.weighted and (self.asked.groups or self.by("quantiles")):
            held = columns["sample_weight"] > 0
            columns = {name: column[held] for name, column in columns.items()}
            check_powers(columns["sample_weight"])
            if not held.any():
                return
        groups, weights = columns.get("groups"), columns.get("sample_weight")
        sample, labels, apart = self._read(columns)
        means = {name: row_values(name, one, sample) for name, one in self.settled("values")}
        mistaken = {name: one.mistaken_values(sample) for name, one in self.settled("values")}
        ordered = {name: row_values(name, one, sample) for name, one in self.settled("quantiles")}
        pair = np.column_stack([sample.y_true, sample.y_pred]) if self.by("pairs") else np.zeros((sample.n, 0))
        for what, column in zip(("y_true", "y_pred"), pair.T, strict=False):
            check_squares(what, column)
        if self.poisson is not None:
            masses = np.ones(sample.n) if weights is None else weights
            read = [
                one.prepare_weighted(sample, masses) if self.weighted else one.prepare(sample)
                for _, one in self.calibrations
            ]
            values = np.column_stack([*means.values(), pair]) if self.resampled else np.zeros((sample.n, 0))
            features = np.column_stack([*(one.design for one in read), np.zeros((sample.n, 0))])
            names = columns["ids"] if groups is None else groups
            key = jax.random.fold_in(source.key, PURPOSE_POISSON)
            self.poisson.add(key, names, masses, values, labels if self.resampled else None, groups, features, sample)
        self.disagreement = self.disagreement.joined(apart)
        if any(one.cuts_probabilities for _, one in self.settled("values")):
            times = np.ones(sample.n, np.int64) if weights is None else weights > 0
            self.losses = self.losses.joined(CutLosses.of(sample, times))
        for name, found in ordered.items():
            self.values.setdefault(name, self._bins_of(name)).add(found[:, None], groups, weights=weights)
        if self.resampled:
            assert weights is not None
            self.weights.add(weights)
            return
        if labels is not None:
            self.table.add(*labels, groups, weights)
        if self.asked.regression and groups is not None:
            means[ERRORS] = MeanAbsoluteError().row_values(sample)
        for name, found in means.items():
            self.values.setdefault(name, self._bins_of(name)).add(found[:, None], groups, mistaken.get(name), weights)
        if pair.shape[1]:
            self.pairs.add(pair, groups, weights=weights)
        if groups is not None and any(map(self.by, ("values", "quantiles", "pairs"))):
            self.features.add(sample, groups)
        if self.by("bins"):
            self.bins.add(sample.y_true, sample.y_score.astype(np.float64))
        if self.by("cells"):
            self.ranks.add(np.column_stack([sample.y_true, sample.y_pred]))
        if weights is not None:
            self.weights.add(weights)

    def _bins_of(self, name: str) -> ValueBins:
        """Return bins of no rows for the values of a metric."""
        quantile = name in dict(self.by("quantiles"))
        return ValueBins(most=MOST_OF_CLUSTERS if quantile and self.asked.groups else None)

    @property
    def calibrations(self) -> list[tuple[str, Calibration]]:
        """The metrics for which sums of features by bin are kept."""
        return [(name, one) for name, one in self.by("moments") if isinstance(one, Calibration)]

    def settled(self, road: str) -> list[tuple[str, Any]]:
        """Return metrics with what they leave to the number of classes decided."""
        n_classes = 0 if self.classes is None else len(self.classes)
        return [(name, one.settled(n_classes)) for name, one in self.by(road)]

    def _read(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[Sample, tuple[np.ndarray, np.ndarray] | None, Disagreement]:
        """Return a batch as metrics read it, and its true and predicted labels where any metric is of a table.

        At last in how many rows predictions are not what scores make likely.
        """
        if self.asked.regression:
            return regression_sample(columns["y_true"], columns.get("y_pred")), None, Disagreement()
        read = {name: columns[name] for name in ("y_true", "y_pred") if name in columns}
        labelled = self.labelled(read, columns.get("y_score"))
        apart = labelled.disagreement
        if "y_pred" not in read and "y_score" in columns:
            labelled = labelled.with_derived_labels(self.asked.threshold)
            if "y_pred" in labelled.codes and len(self.asked.others) < len(self.asked.named):
                least = self.asked.threshold  # how many reach it is known in the end only
                by_threshold = f"y_pred was not given: scores of at least {least} count as positive"
                self.derived = labelled.remarks[-1][1] if least is None else by_threshold
        for name, statistic in self.asked.others:
            labelled.accept(name, statistic)
            for field in statistic.inputs:
                if field not in ("y_true", *labelled.codes, *labelled.scores):
                    raise ValueError(f"{name} needs {field}, which was not given")
        sample = labelled.sample("y_pred", "y_score")
        if len(self.asked.others) == len(self.asked.named):
            return sample, None, apart
        if sample.y_pred is None:
            raise ValueError("y_pred must be given for metrics of labels: scores outside [0, 1] do not tell it")
        labels = np.asarray(labelled.classes)
        return sample, (labels[sample.y_true], labels[sample.y_pred]), apart

    def labelled(self, columns: Mapping[str, Any], scores: np.ndarray | None) -> Labelled:
        """Read labels and scores of a batch, of the classes that are known."""
        given = {} if scores is None else {"y_score": scores}
        return Labelled.of(columns, given, labels=self.labels, pos_label=self.asked.pos_label)

    def merge(self, other: CountedRows) -> None:
        """Add the counts of other rows."""
        self.derived = self.derived or other.derived
        self.disagreement = self.disagreement.joined(other.disagreement)
        self.losses = self.losses.joined(other.losses)
        self.score_names = self.score_names or other.score_names
        self.table.merge(other.table)
        self.bins.merge(other.bins)
        for name, found in other.values.items():
            self.values.setdefault(name, self._bins_of(name)).merge(found)
        self.pairs.merge(other.pairs)
        self.ranks.merge(other.ranks)
        self.features.merge(other.features)
        self.weights.merge(other.weights)
        if self.poisson is not None and other.poisson is not None:
            self.poisson.merge(other.poisson)

    def state(self) -> dict[str, Any]:
        """Return what is kept as lists, numbers and arrays."""
        return {
            "started": self.started,
            "weighted": self.weighted,
            "categories": None if self.categories is None else [*self.categories],
            "classes": None if self.classes is None else self.classes.tolist(),
            "score_type": self.score_type.name,
            "score_names": [*self.score_names],
            "derived": self.derived,
            "disagreement": [*self.disagreement],
            "losses": [*self.losses],
            "table": self.table.state(),
            "bins": self.bins.state(),
            "values": {name: one.state() for name, one in self.values.items()},
            "pairs": self.pairs.state(),
            "features": self.features.state(),
            "weights": self.weights.state(),
            "poisson": None if self.poisson is None else self.poisson.state(),
            **({"ranks": self.ranks.state()} if self.by("cells") else {}),
        }

    @classmethod
    def of(cls, asked: Asked, state: Mapping[str, Any]) -> CountedRows:
        """Return what :meth:`state` describes."""
        found = cls(asked)
        found.started, found.weighted = bool(state["started"]), bool(state["weighted"])
        found.categories = state["categories"]
        found.classes = None if state["classes"] is None else label_values("classes", state["classes"])
        found.score_names = state["score_names"]
        found.score_type, found.derived = np.dtype(state["score_type"]), str(state["derived"])
        found.disagreement, found.losses = Disagreement(*state["disagreement"]), CutLosses(*state["losses"])
        found.table, found.bins = LabelTable.of(state["table"]), ScoreBins().load(state["bins"])
        found.values = {name: found._bins_of(name).load(one) for name, one in state["values"].items()}
        found.pairs.load(state["pairs"])
        if found.by("cells"):
            found.ranks.load(state["ranks"])
        found.features.load(state["features"])
        found.weights = WeightSums.of(state["weights"])
        if state["poisson"] is not None:
            found.poisson = PoissonReplicates.of(state["poisson"], found._resamples().ranks)
        return found


def _labels_in(columns: Mapping[str, Any]) -> set[Any]:
    """Return the true and predicted labels that occur."""
    return {label for name in ("y_true", "y_pred") if name in columns for label in distinct(columns[name]).tolist()}
