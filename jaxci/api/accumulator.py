"""Intervals for metrics of rows that come in batches: epochs, workers, files larger than memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from jaxci.api.evaluate import evaluated
from jaxci.api.readers.arrays import as_array, as_floats, check_lengths
from jaxci.api.readers.labels import encode_labels, label_values
from jaxci.api.readers.metrics import is_regression, named_metrics
from jaxci.api.tallies import KeptRows, LabelTable
from jaxci.checks import check_count, shown
from jaxci.inference.choice import LARGEST
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.printing import EvaluationTable
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.registry import METRICS, PER_CLASS

MAX_ROWS = 2**17
"""Rows that an accumulator keeps by default, where a metric cannot do without."""


def _of_table(name: str, statistic: Statistic | None) -> bool:
    """Whether a metric is one of a confusion table, or stands for several such."""
    known = METRICS.get(name.removesuffix(PER_CLASS)) if statistic is None else statistic
    return isinstance(known, TableStatistic)


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
    the order in which they came. Observations, or clusters, are assumed independent.

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
        self._tabular = all(_of_table(name, statistic) for name, statistic in self._named)
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

    @property
    def n(self) -> int:
        """Rows that have passed."""
        return self._n

    @property
    def kept(self) -> str:
        """What is kept of the rows that have passed."""
        if self._rows.batches:
            return f"{self._n} rows"
        return f"{len(self._table.counts)} counts of labels"

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
        columns = self._read(
            {
                "y_true": y_true,
                "y_pred": y_pred,
                "y_score": y_score,
                "groups": groups,
                "sample_weight": sample_weight,
                "ids": ids,
            }
        )
        given = frozenset(columns)
        self._check_given(given)
        n = len(columns["y_true"])
        if self._counts(given):
            self._table.add(columns["y_true"], columns["y_pred"], columns.get("groups"))
        else:
            self._check_room(self._n + n)
            self._rows.add(columns)
        self._given = given
        self._n += n
        return self

    def _counts(self, given: frozenset[str]) -> bool:
        """Whether counts of labels are all that is needed."""
        return self._tabular and "y_pred" in given and "sample_weight" not in given

    def _read(self, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the columns of a batch, checked."""
        readers = {"y_score": lambda name, x: as_array(name, x), "sample_weight": as_floats}
        labels = as_floats if self._regression else label_values
        columns = {
            name: readers.get(name, label_values if name in ("groups", "ids") else labels)(name, x)
            for name, x in given.items()
            if x is not None or name == "y_true"
        }
        if "y_pred" not in columns and "y_score" not in columns:
            raise TypeError("y_pred or y_score must be given; both are None")
        if "y_score" in columns:
            as_floats("y_score", columns["y_score"], (1, 2))
        check_lengths({name: len(column) for name, column in columns.items()})
        if self._labels is not None:
            read = {name: columns[name] for name in ("y_true", "y_pred") if name in columns}
            encode_labels(read, self._labels.tolist(), 1)
        return columns

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

    def _check_room(self, n: int) -> None:
        if n > self._max_rows:
            raise ValueError(
                f"max_rows must be at least {n}, for these rows must be kept; got {self._max_rows} (metrics of labels, "
                "with y_pred and without sample_weight, keep counts only)"
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
        if not self._counts(other._given):
            self._check_room(self._n + other._n)
        self._table.merge(other._table)
        self._rows.merge(other._rows)
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
        given: dict[str, Any]
        if self._counts(self._given):
            rows = self._table.rows()
            given = {**rows._asdict(), "weight_type": "frequency"}
            given["sample_weight"] = given.pop("counts")
        else:
            given = {**self._rows.columns(), "weight_type": "importance"}
        arrays = {name: given.get(name) for name in ("y_true", "y_pred", "y_score", "groups", "sample_weight")}
        table = evaluated(
            **arrays,
            metrics=self._metrics,
            method=method,
            settings=settings,
            conventions={},
            strata=None,
            labels=None if self._labels is None else self._labels.tolist(),
            pos_label=self._pos_label,
            weight_type=given["weight_type"],
            source=self._source,
            check=False,
        )
        announce(table.remarks)
        return table

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
            "table": self._table.state(),
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
        self._table = LabelTable.of(state["table"])
        self._rows = KeptRows.of(state["rows"])
        return self
