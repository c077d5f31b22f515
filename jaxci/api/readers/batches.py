"""Rows that come in batches, and what metrics need of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_array, as_floats, check_lengths
from jaxci.api.readers.categories import dates_as_texts
from jaxci.api.readers.labels import distinct, encode_labels, plain_labels
from jaxci.api.readers.layout import as_weights
from jaxci.api.readers.scores import in_label_order, in_name_order
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import BinaryRanking
from jaxci.statistics.registry import METRICS, PER_CLASS
from jaxci.statistics.summary import MeanStatistic


def of_table(name: str, statistic: Statistic | None) -> bool:
    """Whether a metric is one of a confusion table, or stands for several such."""
    known = METRICS.get(name.removesuffix(PER_CLASS)) if statistic is None else statistic
    return isinstance(known, TableStatistic)


def of_binary_scores(statistic: Statistic) -> bool:
    """Whether counts of the scores of two classes are all that a metric needs, nearly."""
    return "y_score" in statistic.inputs and isinstance(statistic, BinaryRanking | MeanStatistic | Calibration)


def stands_for(name: str, row: str) -> bool:
    """Whether a metric asked for by ``name`` gives the ``row`` of a table."""
    base = name.removesuffix(PER_CLASS)
    return row == name or (base != name and row.startswith(f"{base}["))


def read_batch(given: Mapping[str, Any], regression: bool, known: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the columns of a batch that are ``given``, checked; labels are among the ``known`` ones, if any."""
    readers = {"y_score": lambda name, x: as_array(name, x), "sample_weight": as_weights}
    readers |= dict.fromkeys(("groups", "ids"), lambda name, x: dates_as_texts(plain_labels(name, x)))
    labels = as_floats if regression else plain_labels
    columns = {
        name: readers.get(name, labels)(name, x) for name, x in given.items() if x is not None or name == "y_true"
    }
    if "y_pred" not in columns and "y_score" not in columns:
        raise TypeError("y_pred or y_score must be given; both are None")
    if "y_score" in columns:
        as_floats("y_score", columns["y_score"], (1, 2))
    check_lengths({name: len(column) for name, column in columns.items()})
    read: dict[str, Any] = {name: columns[name] for name in ("y_true", "y_pred") if name in columns}
    if known is not None:
        encode_labels(read, known.tolist(), 1)
    if hasattr(given.get("y_score"), "columns"):
        order = in_name_order if known is None else in_label_order
        found = {value for column in read.values() for value in distinct(column).tolist()}
        some = sorted(found) if known is None else known.tolist()
        columns["y_score"] = order(given["y_score"], columns["y_score"], some)
    return columns
