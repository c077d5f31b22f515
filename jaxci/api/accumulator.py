"""Intervals for metrics of rows that come in batches: epochs, workers, files larger than memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from jaxci.api.evaluate import read_data, table_of
from jaxci.api.readers.batches import of_binary_scores, of_table, read_batch, stands_for
from jaxci.api.readers.labels import encode_labels, label_values
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.metrics import is_regression, named_metrics
from jaxci.api.readers.samples import Labelled
from jaxci.api.score_bins import ScoreBins
from jaxci.api.tallies import KeptRows, LabelTable
from jaxci.checks import check_count, shown
from jaxci.inference.choice import LARGEST
from jaxci.inference.engine import estimates_of
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.printing import EvaluationTable
from jaxci.statistics.base import Statistic
from jaxci.statistics.probability import Calibration

MAX_ROWS = 2**17
"""Rows that an accumulator keeps by default, where a metric cannot do without."""


class Accumulator:
    """Metrics of rows that come in batches, in one pass, with the intervals that :func:`jaxci.evaluate` gives.

    Parameters
    ----------
    metrics : iterable of str or Statistic
        As in :func:`jaxci.evaluate`.
    n_resamples : int
        Bootstrap resamples B, where a method draws any.
    groups : bool
        Whether rows belong to clusters, which every batch then names.
    rng : int, numpy.random.Generator, JAX key or None
        Source of randomness; recorded in the result.
    labels : sequence, optional
        The K classes in the order of the score columns; by default the sorted labels seen.
    pos_label : label, optional
        As in :func:`jaxci.evaluate`.
    max_rows : int
        Rows that are kept where a metric needs them, at least 20,000; 131,072 by default.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Notes
    -----
    What is kept depends on the metrics, and :attr:`kept` says it. Of metrics of a confusion table that read labels
    the counts by true and predicted label (and cluster): memory is free of the number of rows, and the result is that
    of :func:`jaxci.evaluate` on all rows, resamples included, whatever the batches and the order of merging. Other
    metrics, labels that follow from scores, and ``sample_weight`` need the rows: up to ``max_rows`` of them are kept,
    and the result is that of :func:`jaxci.evaluate` on them, in the order of ``ids`` where these are given, else in
    the order in which they came. Of more rows of two classes the scores are counted by class in at most 131,072
    bins that widen as they must, whatever the batches and the order of merging; each metric says by how much its
    estimate can differ from that of all rows. Other metrics, ``groups`` and ``sample_weight`` then end with an error.
    Observations, or clusters, are assumed independent.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> y = np.array([0, 1, 1, 0, 1, 1, 0, 1, 0, 1] * 20)
    >>> guess = np.where(np.arange(200) % 7 == 0, 1 - y, y)
    >>> accumulator = jaxci.Accumulator(["accuracy", "f1"], rng=0)
    >>> for batch in range(4):
    ...     rows = slice(50 * batch, 50 * (batch + 1))
    ...     _ = accumulator.update(y[rows], guess[rows])
    >>> table = accumulator.finalize()
    >>> round(table["accuracy"].estimate, 3)
    0.855
    """

    def __init__(
        self,
        metrics: Any,
        *,
        n_resamples: int = 999,
        groups: bool = False,
        rng: Any = None,
        labels: Sequence[Any] | None = None,
        pos_label: Any = None,
        max_rows: int = MAX_ROWS,
    ) -> None:
        self._named = named_metrics(metrics)
        self._metrics = [name if statistic is None else statistic for name, statistic in self._named]
        self._regression = is_regression(self._named)
        self._tabular = all(of_table(name, statistic) for name, statistic in self._named)
        self._n_resamples = check_count("n_resamples", n_resamples, 1)
        if not isinstance(groups, bool):
            raise TypeError(f"groups must be True or False, and batches name the clusters; got {shown(groups)}")
        self._groups = groups
        self._source = randomness(rng)
        self._labels = None if labels is None else label_values("labels", labels)
        self._pos_label = pos_label
        self._max_rows = check_count("max_rows", max_rows, LARGEST)
        self._n = 0
        self._given: frozenset[str] | None = None
        self._table = LabelTable()
        self._rows = KeptRows()
        self._classes: np.ndarray | None = None
        self._score_type = np.dtype(float)
        self._bins = ScoreBins()

    @property
    def n(self) -> int:
        """Rows that have passed."""
        return self._n

    @property
    def kept(self) -> str:
        """What is kept of the rows that have passed."""
        if self._rows.batches:
            return f"{self._n} rows"
        labels = f"{len(self._table.counts)} counts of labels"
        return labels if not len(self._bins.keys) else f"{labels}, {len(self._bins.keys)} bins of scores"

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self._named)
        return f"Accumulator of {names}: {self._n} rows have passed, {self.kept} are kept"

    def update(
        self,
        y_true: Any,
        y_pred: Any = None,
        y_score: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
    ) -> Self:
        """Take in a batch of rows.

        Parameters
        ----------
        y_true, y_pred, y_score, groups, sample_weight : (n,) array_like, scores also (n, K)
            As in :func:`jaxci.evaluate`: NumPy, JAX and PyTorch arrays, lists and columns of frames. The same of
            them in every batch.
        ids : (n,) array_like, optional
            A name of every row: rows that are kept are put in their order, so that it does not matter in which they
            come.

        Returns
        -------
        Accumulator
            Itself.

        Raises
        ------
        ValueError, TypeError
            If an argument breaks its rule, or more rows would have to be kept than ``max_rows``. The batch then
            leaves no trace.
        """
        given = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score, "groups": groups}
        columns = read_batch({**given, "sample_weight": sample_weight, "ids": ids}, self._regression, self._labels)
        self._check_given(frozenset(columns))
        n = len(columns["y_true"])
        if self._counts(frozenset(columns)):
            self._table.add(columns["y_true"], columns["y_pred"], columns.get("groups"))
        elif self._classes is not None:
            self._count_scores(columns)
        else:
            self._keep([columns])
        self._given = frozenset(columns)
        self._n += n
        return self

    def _keep(self, batches: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Keep rows, or count them with those that were kept where there are too many."""
        before = list(self._rows.batches)
        try:
            for batch in batches:
                self._rows.add(batch)
            if self._rows.n > self._max_rows:
                self._check_countable()
                kept = self._rows.columns()
                read: dict[str, Any] = {name: kept[name] for name in ("y_true", "y_pred") if name in kept}
                _, classes, _ = encode_labels(read, self._known_labels(), 1)
                if len(classes) != 2:
                    raise ValueError(
                        f"max_rows must be at least {self._rows.n}, for rows of {len(classes)} classes must be kept "
                        "(scores of two are counted; labels names classes that are still to come); got "
                        f"{self._max_rows}"
                    )
                self._start_counting(np.sort(classes) if self._labels is None else self._labels)
        except (TypeError, ValueError):
            self._rows.batches = before
            raise

    def _start_counting(self, classes: np.ndarray) -> None:
        """Count the rows that were kept, and those to come, of two ``classes``."""
        self._classes = classes
        try:
            if self._rows.batches:
                kept = self._rows.columns()
                self._score_type = kept["y_score"].dtype if kept["y_score"].dtype.kind == "f" else np.dtype(float)
                self._count_scores(kept)
        except (TypeError, ValueError):
            self._classes = None
            raise
        self._rows = KeptRows()

    def _count_scores(self, columns: Mapping[str, np.ndarray]) -> None:
        """Count labels and scores of a batch."""
        read = {name: columns[name] for name in ("y_true", "y_pred") if name in columns}
        labelled = self._labelled(read, columns["y_score"])
        for name, statistic in self._of_scores():
            labelled.accept(name, statistic)
        if len(self._of_scores()) < len(self._named):
            labelled = labelled if "y_pred" in read else labelled.with_derived_labels()
            if "y_pred" not in labelled.codes:
                raise ValueError("y_pred must be given for metrics of labels: scores outside [0, 1] do not tell it")
            labels = np.asarray(labelled.classes)
            self._table.add(labels[labelled.codes["y_true"]], labels[labelled.codes["y_pred"]], None)
        if self._of_scores():
            self._bins.add(labelled.codes["y_true"], labelled.scores["y_score"].astype(np.float64))

    def _check_countable(self) -> None:
        """Refuse what needs all rows."""
        needy = [name for name, one in self._of_scores() if not of_binary_scores(one)]
        why = [name for name in ("groups", "sample_weight") if name in self._rows.batches[0]] + needy
        if why:
            raise ValueError(
                f"max_rows must be at least {self._rows.n}, for {', '.join(why)} need all rows; got {self._max_rows} "
                "(metrics of labels alone keep counts, whatever the number of rows)"
            )

    def _counts(self, given: frozenset[str]) -> bool:
        """Whether counts of labels are all that is needed."""
        return self._tabular and "y_pred" in given and "sample_weight" not in given

    def _check_given(self, given: frozenset[str]) -> None:
        if self._groups and "groups" not in given:
            raise TypeError("groups must name the cluster of every row of an Accumulator with groups=True; got None")
        if "groups" in given and not self._groups:
            raise ValueError("groups needs an Accumulator with groups=True; got groups=False")
        if self._given is not None and given != self._given:
            raise ValueError(
                f"every batch must have the same arrays; got {', '.join(sorted(given))} after "
                f"{', '.join(sorted(self._given))}"
            )

    def merge(self, other: Accumulator) -> Self:
        """Take in the rows that another accumulator of the same metrics has taken in, which stays as it is.

        Parameters
        ----------
        other : Accumulator

        Returns
        -------
        Accumulator
            Itself.

        Raises
        ------
        ValueError, TypeError
            If ``other`` is of other metrics, labels, positive class or arrays, or more rows would have to be kept
            than ``max_rows``.
        """
        if not isinstance(other, Accumulator):
            raise TypeError(f"other must be an Accumulator; got {shown(other)}")
        for name, mine in self._identity().items():
            if (found := other._identity()[name]) != mine:
                raise ValueError(f"other must be an Accumulator of the same {name} {shown(mine)}; got {shown(found)}")
        if other._given is None:
            return self
        self._check_given(other._given)
        classes = other._classes
        if classes is not None and self._classes is None:
            self._start_counting(classes)
            self._score_type = other._score_type
        if self._classes is not None:
            if classes is not None and classes.tolist() != self._classes.tolist():
                raise ValueError(
                    f"other must be an Accumulator of the same classes {shown(self._classes)}; got {shown(classes)}"
                )
            if other._rows.batches:
                self._count_scores(other._rows.columns())
        else:
            self._keep(other._rows.batches)
        self._table.merge(other._table)
        self._bins.merge(other._bins)
        self._given = other._given
        self._n += other._n
        return self

    def _identity(self) -> dict[str, Any]:
        """Return what accumulators must share to be merged, by name."""
        return {
            "metrics": [name for name, _ in self._named],
            "groups": self._groups,
            "labels": None if self._labels is None else self._labels.tolist(),
            "pos_label": self._pos_label,
        }

    def finalize(
        self,
        method: str | Method = "auto",
        confidence_level: float = 0.95,
        alternative: str = "two-sided",
    ) -> EvaluationTable:
        """Return the intervals for the rows that have passed, which stay: more may follow.

        Parameters
        ----------
        method, confidence_level, alternative
            As in :func:`jaxci.evaluate`.

        Returns
        -------
        EvaluationTable

        Raises
        ------
        ValueError
            If there are fewer than 2 rows, or an argument breaks its rule.

        Warns
        -----
        JaxciWarning
            Once for each remark that the table also holds.
        """
        settings = Settings.of(confidence_level, alternative, self._n_resamples)
        if self._given is None or self._n < 2:
            raise ValueError(f"at least 2 observations are needed for an interval; got n = {self._n}")
        if self._rows.batches:
            parts = [self._evaluated(self._metrics, self._rows.columns(), method, settings)]
        else:
            parts = [self._of_table(method, settings)] if self._table.counts else []
            parts += [self._of_bins(method, settings)] if self._classes is not None and self._of_scores() else []
        rows = {row.statistic: row for part in parts for row in part}
        named = [[one for one in rows if stands_for(name, one)] for name, _ in self._named]
        remarks = tuple(dict.fromkeys(text for part in parts for text in part.warnings))
        table = EvaluationTable(tuple(rows[one] for names in named for one in names), self._n, parts[0].rng, remarks)
        announce(table.remarks)
        return table

    def _evaluated(
        self, metrics: Sequence[Any], arrays: Mapping[str, Any], method: Any, settings: Settings, **options: Any
    ) -> EvaluationTable:
        """Return the table of metrics of rows."""
        weight_type = "frequency" if "counts" in arrays else "importance"
        truth, guess, score = (arrays.get(name) for name in ("y_true", "y_pred", "y_score"))
        return table_of(
            read_data(truth, guess, score, metrics, {}, method, self._known_labels(), self._pos_label),
            settings,
            self._source,
            groups=arrays.get("groups"),
            strata=None,
            sample_weight=arrays.get("counts", arrays.get("sample_weight")),
            weight_type=weight_type,
            **options,
        )

    def _known_labels(self) -> list[Any] | None:
        known = self._labels if self._classes is None else self._classes
        return None if known is None else known.tolist()

    def _of_table(self, method: Any, settings: Settings) -> EvaluationTable:
        """Return the metrics that counts of labels give."""
        metrics = [x for x, (name, one) in zip(self._metrics, self._named, strict=True) if of_table(name, one)]
        return self._evaluated(metrics, self._table.rows()._asdict(), method, settings)

    def _of_scores(self) -> list[tuple[str, Statistic]]:
        """Return the metrics that read scores."""
        return [(name, one) for name, one in self._named if one is not None and not of_table(name, one)]

    def _of_bins(self, method: Any, settings: Settings) -> EvaluationTable:
        """Return the metrics that counts of scores give, with what may be wrong with them."""
        assert self._classes is not None
        rows = self._bins.rows(self._score_type)
        labels = np.asarray(self._ordered_classes())[rows["codes"]]
        named = self._of_scores()
        arrays = {"y_true": labels, "y_score": rows["score"], "counts": rows["counts"]}
        table = self._evaluated([one for _, one in named], arrays, method, settings, counted=True)
        if self._bins.exact:
            return table
        low, high, middle = (
            self._estimates([one for _, one in named], labels, x, rows["counts"]) for x in self._bins.ends(rows)
        )
        found = []
        for row, (_, statistic), one, two, three in zip(table, named, low, high, middle, strict=True):
            text = f"scores were counted in {len(self._bins.keys):,} bins"
            if not isinstance(statistic, Calibration):
                apart = max(abs(three - one), abs(three - two))
                text += f"; the estimate differs from that of all rows by at most {apart:.1e}"
            found.append(dataclasses.replace(row, warnings=(*row.warnings, text)))
        return dataclasses.replace(table, rows=tuple(found))

    def _ordered_classes(self) -> list[Any]:
        """Return the two labels, the positive one last."""
        assert self._classes is not None
        _, classes, _ = encode_labels(
            {"y_true": self._classes}, self._known_labels(), 1 if self._pos_label is None else self._pos_label
        )
        return list(classes)

    def _estimates(
        self, statistics: Sequence[Statistic], labels: np.ndarray, scores: np.ndarray, counts: np.ndarray
    ) -> list[float]:
        """Return the metrics of counted rows with other scores."""
        labelled = self._labelled({"y_true": labels}, scores)
        settled = [labelled.accept(str(one), one) for one in statistics]
        sample = labelled.sample("y_pred", "y_score")
        return estimates_of(settled, *arranged(sample, None, None, counts, "frequency", countable=True))

    def _labelled(self, columns: Mapping[str, Any], scores: np.ndarray) -> Labelled:
        """Read labels and scores of a batch, of the classes that are known."""
        return Labelled.of(columns, {"y_score": scores}, labels=self._known_labels(), pos_label=self._pos_label)

    def state_dict(self) -> dict[str, Any]:
        """Return what is kept, as lists, numbers and arrays that share no memory with the accumulator.

        Returns
        -------
        dict of str
            For :meth:`load`; may be pickled, or written with the checkpoint of a training run.
        """
        return {
            **self._identity(),
            "n": self._n,
            "given": None if self._given is None else sorted(self._given),
            "rng": self._source.record,
            "classes": None if self._classes is None else self._classes.tolist(),
            "score_type": self._score_type.name,
            "table": self._table.state(),
            "bins": self._bins.state(),
            "rows": self._rows.state() if self._rows.batches else {},
        }

    def load(self, state: Mapping[str, Any]) -> Self:
        """Put a state in the place of what is kept, with its source of randomness.

        Parameters
        ----------
        state : dict
            What :meth:`state_dict` of an accumulator of the same metrics returned.

        Returns
        -------
        Accumulator
            Itself.

        Raises
        ------
        ValueError
            If the state is of other metrics, labels, positive class or clusters.
        """
        for name, mine in self._identity().items():
            if name not in state or state[name] != mine:
                raise ValueError(
                    f"state must be that of an Accumulator of the same {name} {shown(mine)}; got "
                    f"{shown(state.get(name))}"
                )
        self._n = int(state["n"])
        self._given = None if state["given"] is None else frozenset(state["given"])
        self._source = randomness(state["rng"])
        self._classes = None if state["classes"] is None else label_values("classes", state["classes"])
        self._score_type = np.dtype(state["score_type"])
        self._table, self._bins = LabelTable.of(state["table"]), ScoreBins.of(state["bins"])
        self._rows = KeptRows.of(state["rows"])
        return self
