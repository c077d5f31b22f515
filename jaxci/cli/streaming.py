"""Metrics of files that are read in batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.accumulator import Accumulator
from jaxci.api.readers.labelled import Labelled
from jaxci.api.readers.labels import distinct, is_classification, plain_labels
from jaxci.api.readers.metrics import are_of_numbers, default_metrics
from jaxci.api.readers.tables import as_scores
from jaxci.api.readers.texts import WrittenLabels, as_names, as_texts
from jaxci.cli.batches import Rules, read_batches
from jaxci.cli.words import in_flags
from jaxci.results import EvaluationTable
from jaxci.statistics.sample import Sample

ALL_ROWS = re.compile(r"max_rows must be at least \d+, for (.*?); got \d+.*?( \(fewer .*\))?", re.DOTALL)
"""What an accumulator says of metrics that need more rows than it keeps."""
MOST_LABELS = 1_000
"""Labels of files that are sorted by them, above which all of them are not looked for."""


class Columns(NamedTuple):
    """Names of the columns of targets, predictions, scores, clusters and weights, and of those that hold names.

    ``labels`` are those that the user names, as texts.
    """

    target: str
    pred: str | None
    scores: tuple[str, ...]
    groups: str | None
    weights: str | None
    names: tuple[str, ...]
    labels: tuple[str, ...] = ()

    def rules(self, metrics: Sequence[str]) -> Rules:
        """Return what the columns must hold for the metrics that are named, if any.

        Targets and predictions are numbers where these are metrics of values or of a regression, and else labels.
        """
        truths = (self.target,) if self.pred is None else (self.target, self.pred)
        of_numbers = are_of_numbers(metrics)
        weights = () if self.weights is None else (self.weights,)
        numbers = (*weights, *self.scores, *(truths if of_numbers else ()))
        labels = WrittenLabels.of(() if of_numbers else truths, self.labels, sure=bool(metrics or self.scores))
        return Rules(numbers=numbers, weights=weights, labels=labels, texts=self.names)

    def arrays(self, columns: dict[str, np.ndarray], texts: bool) -> dict[str, Any]:
        """Return the arguments of :meth:`jaxci.Accumulator.update`, names of clusters as ``texts`` or as numbers."""
        found: dict[str, Any] = {"y_true": columns[self.target]}
        single = {"y_pred": self.pred, "groups": self.groups, "sample_weight": self.weights}
        found |= {argument: columns[name] for argument, name in single.items() if name is not None}
        found |= {} if self.groups is None else {"groups": (as_texts if texts else as_names)(columns[self.groups])}
        return found | ({"y_score": as_scores(columns, self.scores)} if self.scores else {})


def streamed(
    paths: Sequence[Path],
    columns: Columns,
    *,
    metrics: Sequence[str],
    method: str,
    confidence_level: float,
    n_resamples: int,
    alternative: str,
    rng: int | None,
    progress: Callable[[int, int], None],
    sep: str | None,
    label_options: Callable[[np.ndarray], dict[str, Any]],
    threshold: float | None = None,
) -> EvaluationTable:
    """Return the table of metrics of files in one pass; the first batch decides on the metrics where none are named.

    Where its rows are sorted by their labels, those of all rows are looked for first, which takes a pass of its own.
    Where words follow clusters whose names are whole numbers, a second pass reads all of them as texts.

    Raises
    ------
    ValueError
        If a value is not what its column must hold: with the file, the row and the column.
    ValueError, TypeError
        With the file and the rows, where an accumulator refuses a batch.
    """
    single = [columns.target, columns.pred, columns.groups, columns.weights]
    names = [name for name in (*single, *columns.scores) if name is not None]

    def accumulated(texts: bool) -> Accumulator | None:
        """Return what is kept of all rows; None where words follow clusters that were read as numbers."""
        accumulator, n = None, 0
        for batch in read_batches(paths, names, progress=progress, sep=sep, **columns.rules(metrics)):
            arrays = columns.arrays(batch.columns, texts)
            if not texts and columns.groups is not None and isinstance(arrays["groups"][0], str):
                if accumulator is not None:
                    return None
                texts = True
            try:
                if accumulator is None:
                    options = {**label_options(batch.columns[columns.target]), "threshold": threshold}
                    labels = [] if metrics or "labels" in options else _labels_to_come(paths, columns, arrays, sep)
                    options |= {"labels": labels} if labels else {}
                    chosen = metrics or _default_metrics(arrays, options, first=bool(labels))
                    grouped = columns.groups is not None
                    accumulator = Accumulator(chosen, n_resamples=n_resamples, groups=grouped, rng=rng, **options)
                accumulator.update(**arrays, ids=np.arange(n, n + len(arrays["y_true"])))
                n += len(arrays["y_true"])
            except (TypeError, ValueError) as error:
                last = batch.start + len(arrays["y_true"]) - 1
                text = ALL_ROWS.sub(
                    r"\1, which batches do not keep: name other --metrics, or pass --whole\2", str(error)
                )
                raise type(error)(f"{batch.path}, rows {batch.start} to {last}: {in_flags(text)}") from error
        return accumulator

    accumulator = accumulated(texts=False)
    if accumulator is None:
        accumulator = accumulated(texts=True)
    assert accumulator is not None  # read_batches refuses files without rows
    return accumulator.finalize(method, confidence_level, alternative)


def _labels_to_come(paths: Sequence[Path], columns: Columns, arrays: dict[str, Any], sep: str | None) -> list[Any]:
    """Return the labels of all rows where the first batch is sorted by its true ones, and lacks some; else none."""
    truth = arrays["y_true"]
    if "y_score" not in arrays and not is_classification(truth):
        return []
    known = _labels_in(truth)
    if np.count_nonzero(truth[1:] != truth[:-1]) >= len(known):
        return []
    found: dict[str, set[Any]] = {name: set() for name in (columns.target, columns.pred) if name is not None}
    only = Columns(columns.target, columns.pred, (), None, None, ())
    for batch in read_batches(paths, [*found], sep=sep, **only.rules(())):
        for name, labels in found.items():
            labels |= _labels_in(batch.columns[name])
        everyone = set().union(*found.values())
        if len(everyone) > MOST_LABELS or len({isinstance(label, str) for label in everyone}) > 1:
            return []
    return sorted(everyone) if found[columns.target] > known else []


def _labels_in(column: np.ndarray) -> set[Any]:
    return set(distinct(plain_labels("y_true", column)).tolist())


def _default_metrics(arrays: dict[str, Any], options: dict[str, Any], *, first: bool) -> list[str]:
    """Return the names of metrics that suit the first batch, which may lack classes that others have."""
    if "y_score" not in arrays and "labels" not in options and not is_classification(arrays["y_true"]):
        return [name for name, _ in default_metrics(Sample(), None)]
    read: dict[str, Any] = {name: arrays[name] for name in ("y_true", "y_pred") if name in arrays}
    scores = {"y_score": arrays["y_score"]} if "y_score" in arrays else {}
    labelled = Labelled.of(read, scores, labels=options.get("labels"), pos_label=options.get("pos_label"))
    labelled = labelled if "y_pred" in read else labelled.with_derived_labels(options.get("threshold"))
    return [name for name, _ in default_metrics(labelled.sample("y_pred", "y_score"), labelled, first=first)]
