"""Intervals for metrics of rows that come in batches: epochs, workers, files larger than memory."""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Self

import jax
import numpy as np

from jaxci.api.asked import Asked
from jaxci.api.counted_rows import CountedRows
from jaxci.api.counted_tables import CountedTables
from jaxci.api.readers.batches import read_batch, stands_for
from jaxci.api.readers.categories import agreed, ordered_categories
from jaxci.api.readers.labels import label_values
from jaxci.api.readers.metrics import is_of_values, is_regression, named_metrics
from jaxci.api.readers.samples import as_threshold, check_threshold
from jaxci.api.readers.scores import names_of_columns
from jaxci.api.tallies import KeptRows
from jaxci.checks import check_count, shown
from jaxci.inference.features import LARGEST
from jaxci.inference.randomness import Randomness, randomness
from jaxci.inference.remarks import announce
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.results import EvaluationTable

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
    threshold : float, optional
        As in :func:`jaxci.evaluate`.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Notes
    -----
    What is kept depends on the metrics, and :attr:`kept` says it. Of metrics of a confusion table that read labels the
    counts by true and predicted label (and cluster): memory is free of the number of rows, and the result is that of
    :func:`jaxci.evaluate` on all rows, resamples included, whatever the batches and the order of merging. Other
    metrics, labels that follow from scores, and ``sample_weight`` need the rows: up to ``max_rows`` of them are kept,
    and the result is that of :func:`jaxci.evaluate` on them, in the order of ``ids`` where given, else as they came. Of
    more rows of two classes the scores are counted by class in at most 131,072 bins that widen as they must, whatever
    the batches and the order of merging; each metric says by how much its estimate can differ from that of all rows. Of
    means of row values (errors of a regression, log loss and Brier score) and smooth functions of targets and
    predictions (R2, explained variance, Pearson's correlation) moments are kept in at most 65,536 cells, or one for
    every cluster: the estimate, and of clusters, weighted or not, the result, is that of all rows; of these the errors,
    or the scores of the true classes, are kept the same way, by which intervals are chosen. The median of errors is
    read from the same cells, with a bound, whatever weights and clusters. Of ranks of pairs (Spearman's correlation)
    that are in no clusters and weigh alike, rows are counted by bin of the target and of the prediction, at most 1,024
    of each, with a bound. With ``sample_weight`` and no clusters means and functions, and metrics of a confusion table,
    are then resampled as rows pass: the Poisson bootstrap, whose weights follow from ``rng`` and ``ids``, or clusters.
    So are ranks of several classes, clusters or weighted rows, from weights by score and class in bins, with a bound,
    and expected calibration errors of such; of root mean squared ones sums by bin (and cluster) are kept, and the
    result is that of all rows, but of weighted ones that are in no clusters, whose interval has normal quantiles. The
    other metrics then end with an error. Observations, or clusters, are assumed independent.

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
        threshold: float | None = None,
    ) -> None:
        named = named_metrics(metrics)
        if is_of_values(named):
            given = ", ".join(name for name, _ in named)
            raise ValueError(f"metrics must be of predictions in batches, not summaries of values; got {given}")
        if not isinstance(groups, bool):
            raise TypeError(f"groups must be True or False, and batches name the clusters; got {shown(groups)}")
        self._asked = Asked(
            named,
            is_regression(named),
            check_count("n_resamples", n_resamples, 1),
            groups,
            None if labels is None else label_values("labels", labels),
            pos_label,
            as_threshold(threshold),
        )
        self._source = randomness(rng)
        self._max_rows = check_count("max_rows", max_rows, LARGEST)
        self._n = 0
        self._given: frozenset[str] | None = None
        self._rows = KeptRows()
        self._counted = CountedRows(self._asked)
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "_lock"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    @property
    def n(self) -> int:
        """Rows that have passed."""
        return self._n

    @property
    def kept(self) -> str:
        """What is kept of the rows that have passed."""
        return f"{self._n} rows" if self._rows.batches else self._counted.kept

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self._asked.named)
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
        """Take in a batch of rows; one of no rows changes nothing.

        Parameters
        ----------
        y_true, y_pred, y_score, groups, sample_weight : (n,) array_like, scores also (n, K)
            As in :func:`jaxci.evaluate`: NumPy, JAX and PyTorch arrays, lists and columns of frames. The same of
            them in every batch.
        ids : (n,) array_like, optional
            A name of every row: rows that are kept are put in their order, so that it does not matter in which they
            come; of rows that are too many to keep, and weighted or of several classes, the random weights follow from
            it.

        Returns
        -------
        Accumulator
            Itself.

        Raises
        ------
        ValueError, TypeError
            If an argument breaks its rule, or more rows would have to be kept than ``max_rows``. The batch then
            leaves no trace.

        Notes
        -----
        A function that JAX transforms (``jit``, ``scan``) has no values to take in while it is traced: call this
        outside of it, or in it through ``jax.debug.callback``, and ``jax.effects_barrier()`` before the result is read.
        Several threads may call it, and all other methods beside it. Arrays are copied where their rows are kept, so
        that a batch may be filled anew.
        """
        given = {"y_true": y_true, "y_pred": y_pred, "y_score": y_score, "groups": groups}
        given |= {"sample_weight": sample_weight, "ids": ids}
        if all(np.shape(x)[:1] == (0,) for x in given.values() if x is not None):
            return self
        with self._lock:
            self._update(given)
        return self

    def _update(self, given: Mapping[str, Any]) -> None:
        asked, order, y_score = self._asked, self._counted.categories, given["y_score"]
        if not asked.regression and asked.labels is None:
            found = ordered_categories(given["y_true"])
            if self._given is None:
                order = found
            elif found is not None:
                order = agreed(order, found, scored=y_score is not None, part=True)
        every = order is not None and np.shape(y_score)[1:] == (len(order),)  # scores have a column for each
        columns = read_batch(given, asked.regression, label_values("labels", order) if every else asked.labels)
        check_threshold(asked.threshold, given["y_pred"], y_score)
        asked.check_probabilities(columns)
        self._check_given(frozenset(columns))
        names = names_of_columns(y_score, columns["y_score"]) if "y_score" in columns else []
        said = self._counted.categories, self._counted.score_names
        self._counted.categories, self._counted.score_names = order, self._counted.score_names or names
        try:
            if self._counts(frozenset(columns)):
                self._counted.table.add(columns["y_true"], columns["y_pred"], columns.get("groups"))
            elif self._counted.started:
                self._counted.add(columns, self._source)
            else:
                self._keep([columns])
        except (TypeError, ValueError):
            self._counted.categories, self._counted.score_names = said
            raise
        self._given = frozenset(columns)
        self._n += len(columns["y_true"])

    def _keep(self, batches: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Keep rows, or count them with those that were kept where there are too many."""
        before = list(self._rows.batches)
        try:
            for batch in batches:
                self._rows.add(batch)
            if self._rows.n > self._max_rows:
                counted = CountedRows(self._asked)
                counted.read_as(self._counted)
                counted.start(self._rows.columns(with_ids=True), self._max_rows, self._source)
                self._counted, self._rows = counted, KeptRows()
        except (TypeError, ValueError):
            self._rows.batches = before
            raise

    def _counts(self, given: frozenset[str]) -> bool:
        """Whether counts of labels are all that is needed."""
        return self._asked.tabular and "y_pred" in given and "sample_weight" not in given

    def _check_given(self, given: frozenset[str]) -> None:
        if self._asked.groups and "groups" not in given:
            raise TypeError("groups must name the cluster of every row of an Accumulator with groups=True; got None")
        if "groups" in given and not self._asked.groups:
            raise ValueError("groups needs an Accumulator with groups=True; got groups=False")
        if self._given is not None and given != self._given:
            raise ValueError(
                f"every batch must have the same arrays; got {', '.join(sorted(given))} after "
                f"{', '.join(sorted(self._given))}"
            )
        self._asked.check_inputs(given)

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
            If ``other`` is this one, or of other metrics, labels, positive class or arrays, or more rows would have to
            be kept than ``max_rows``.
        """
        if not isinstance(other, Accumulator):
            raise TypeError(f"other must be an Accumulator; got {shown(other)}")
        if other is self:
            raise ValueError("other must be another Accumulator; got this one, whose rows would count twice")
        for name, mine in self._identity().items():
            if (found := other._identity()[name]) != mine:
                raise ValueError(f"other must be an Accumulator of the same {name} {shown(mine)}; got {shown(found)}")
        both: list[Accumulator] = sorted((self, other), key=id)  # so that threads that merge both ways do not lock up
        with both[0]._lock, both[1]._lock:
            if other._given is not None:
                self._merge(other, other._given)
        return self

    def _merge(self, other: Accumulator, given: frozenset[str]) -> None:
        self._check_given(given)
        theirs = other._counted
        order = theirs.categories
        if self._given is not None:
            order = agreed(self._counted.categories, order, scored="y_score" in given)
        self._check_mergeable(theirs, other._source)
        if theirs.started and not self._counted.started:
            counted = CountedRows(self._asked)
            counted.read_as(self._counted)
            counted.start_like(theirs)
            if self._rows.batches:
                counted.add(self._rows.columns(with_ids=True), self._source)
            self._counted, self._rows = counted, KeptRows()
        if other._rows.batches:
            if self._counted.started:
                self._counted.add(other._rows.columns(with_ids=True), self._source)
            else:
                self._keep(other._rows.batches)
        self._counted.merge(theirs)
        self._given, self._counted.categories = given, order
        self._n += other._n

    def _check_mergeable(self, theirs: CountedRows, source: Randomness) -> None:
        """Refuse counts of other classes, and resamples that were drawn otherwise."""
        mine = self._counted
        if mine.classes is not None and theirs.classes is not None and mine.classes.tolist() != theirs.classes.tolist():
            raise ValueError(
                f"other must be an Accumulator of the same classes {shown(mine.classes)}; got {shown(theirs.classes)}"
            )
        if theirs.poisson is None:
            return
        if not np.array_equal(jax.random.key_data(self._source.key), jax.random.key_data(source.key)):
            raise ValueError(
                "other must be an Accumulator of the same rng, for rows with sample_weight were resampled with it; "
                f"got {shown(source.record)} in the place of {shown(self._source.record)}"
            )
        if len(theirs.poisson.weights) != 1 + self._asked.n_resamples:
            raise ValueError(
                f"other must be an Accumulator of the same n_resamples {self._asked.n_resamples}; got "
                f"{len(theirs.poisson.weights) - 1}"
            )

    def _identity(self) -> dict[str, Any]:
        """Return what accumulators must share to be merged, by name."""
        return {
            "metrics": [name for name, _ in self._asked.named],
            "groups": self._asked.groups,
            "labels": None if self._asked.labels is None else self._asked.labels.tolist(),
            "pos_label": self._asked.pos_label,
            "threshold": self._asked.threshold,
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
        settings = Settings.of(confidence_level, alternative, self._asked.n_resamples)
        with self._lock:
            table = self._table(method, settings)
        announce(table.remarks)
        return table

    def _table(self, method: str | Method, settings: Settings) -> EvaluationTable:
        if self._given is None or self._n < 2:
            raise ValueError(f"at least 2 observations are needed for an interval; got n = {self._n}")
        if self._rows.batches:
            columns = self._rows.columns()
            known = self._counted.labels_of(columns)
            parts = [self._asked.evaluated(columns, method, settings, self._source, labels=known)]
        else:
            columns = {}
            parts = CountedTables(self._counted, method, settings, self._source).all()
        rows = {row.statistic: row for part in parts for row in part}
        named = [[one for one in rows if stands_for(name, one)] for name, _ in self._asked.named]
        said = [*self._counted.remarks_of_names(columns), *self._counted.disagreement.remarks()]
        said += [text for part in parts for text in part.warnings]
        remarks = tuple(dict.fromkeys(said))
        return EvaluationTable(tuple(rows[one] for names in named for one in names), parts[0].n, parts[0].rng, remarks)

    def state_dict(self) -> dict[str, Any]:
        """Return what is kept, as lists, numbers and arrays that share no memory with the accumulator.

        Returns
        -------
        dict of str
            For :meth:`load`; may be pickled, written with the checkpoint of a training run, or, with arrays as lists,
            as JSON.
        """
        with self._lock:
            return {
                **self._identity(),
                "n": self._n,
                "given": None if self._given is None else sorted(self._given),
                "rng": self._source.record,
                **self._counted.state(),
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
        ValueError, TypeError
            If the state is none, or of other metrics, labels, positive class or clusters.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a dict, as state_dict() returns it; got {shown(state)}")
        for name, mine in self._identity().items():
            if name not in state or state[name] != mine:
                raise ValueError(
                    f"state must be that of an Accumulator of the same {name} {shown(mine)}; got "
                    f"{shown(state.get(name))}"
                )
        if missing := [name for name in self.state_dict() if name not in state]:
            raise ValueError(f"state must be what state_dict() returned; it lacks {', '.join(map(repr, missing))}")
        given = state["given"]
        try:
            n = operator.index(state["n"])
        except TypeError:
            n = -1
        if n < 0:
            raise ValueError(f"state['n'] must be a number of rows; got {shown(state['n'])}")
        if given is not None and (isinstance(given, str) or not all(isinstance(name, str) for name in given)):
            raise ValueError(f"state['given'] must be None or names of arguments; got {shown(given)}")
        try:
            counted, rows = CountedRows.of(self._asked, state), KeptRows.of(state["rows"])
        except (AttributeError, TypeError, KeyError, IndexError) as error:
            raise ValueError(f"state must be what state_dict() returned; a part of it is not: {error}") from error
        source = randomness(state["rng"])
        if counted.poisson is not None and len(counted.poisson.weights) != 1 + self._asked.n_resamples:
            raise ValueError(
                f"state must be that of an Accumulator of the same n_resamples {self._asked.n_resamples}; got "
                f"{len(counted.poisson.weights) - 1}"
            )
        with self._lock:
            self._n = n
            self._given = None if given is None else frozenset(given)
            self._source, self._counted, self._rows = source, counted, rows
        return self
