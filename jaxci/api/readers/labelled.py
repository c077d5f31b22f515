"""Labels and scores of a classification, as samples of rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxci.api.readers.arrays import as_floats, check_lengths, in_numpy
from jaxci.api.readers.categories import ordered_categories
from jaxci.api.readers.label_remarks import (
    Disagreement,
    of_hard_labels,
    of_near_labels,
    of_strange_labels,
)
from jaxci.api.readers.labels import encode_labels
from jaxci.api.readers.scores import in_label_order, in_name_order, names_of_columns, of_other_names
from jaxci.checks import shown
from jaxci.statistics.base import Statistic
from jaxci.statistics.ranking import ScoreRanking
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import Sample

OFF, OFF_OF_TWO = 2.0**-7, 1e-3
"""By how much sums of probabilities may differ from 1: those of bfloat16 differ by up to 0.006. Of two columns one is
read, whose complement would then be wrong.
"""


def not_probabilities(name: str, scores: np.ndarray) -> str:
    """Say why scores (n,) or (n, K) are no probabilities, outside [0, 1] or with another sum; empty if they are."""
    outside = (scores < 0) | (scores > 1)
    if outside.any():
        first = int(np.argwhere(outside)[0][0])
        return (
            f"{name} must hold probabilities in [0, 1] for this metric; {int(outside.sum())} values lie outside, "
            f"the first in row {first}: {shown(scores[first])}"
        )
    total = scores.sum(axis=1) if scores.ndim == 2 else np.ones(len(scores))
    off = np.abs(total - 1) > (OFF_OF_TWO if scores.shape[1:] == (2,) else OFF)
    if off.any():
        first = int(np.argmax(off))
        return (
            f"rows of {name} must sum to 1 for this metric; {int(off.sum())} do not, "
            f"the first is row {first} with sum {total[first]:.6g}"
        )
    return ""


def _positive_column(name: str, scores: np.ndarray, n_classes: int, positive: int, rarest: str) -> np.ndarray:
    """Return scores (n,) of the positive class for two classes; (n, K) for more.

    Of two columns it is column ``positive`` where they are probabilities, else what it exceeds the other by.
    ``rarest`` says which label is seldom, where scores are of fewer classes than there are.
    """
    if scores.ndim == 2 and n_classes == 2 and scores.shape[1] == 2:
        own = scores[:, positive]
        return own - scores[:, 1 - positive] if not_probabilities(name, scores) else own
    if scores.ndim == 1 and n_classes <= 2:
        return scores
    if scores.ndim == 1:
        if 2 * n_classes > len(scores) and len(np.unique(scores)) == 2:
            raise ValueError(
                f"y_true must hold labels and {name} scores; y_true has {n_classes} values in {len(scores)} rows and "
                f"{name} has two: are they swapped?"
            )
        raise ValueError(
            f"{name} must have shape (n, K) for K = {n_classes} classes ({rarest}; one column tells two apart); got "
            f"{scores.shape}"
        )
    if scores.shape[1] != n_classes:
        raise ValueError(
            f"{name} must have one column per class, K = {n_classes} (pass labels to name classes that do not "
            f"occur); got {scores.shape[1]} columns"
        )
    return scores


def _rarest(codes: np.ndarray, classes: np.ndarray) -> str:
    """Say which label occurs least, how often, and where first."""
    counts = np.bincount(codes, minlength=len(classes))
    least = int(np.argmin(counts))
    where = f", the first in row {int(np.argmax(codes == least))}" if counts[least] else ""
    return f"the rarest is {shown(classes[least])}, {counts[least]} of {len(codes)} rows{where}"


def _all_categories(truth: Any, scores: Iterable[np.ndarray]) -> list[Any] | None:
    """Return all categories of an ordered type, in order, where scores have as many columns; else None."""
    categories = ordered_categories(truth)
    if categories is None or len(categories) not in {x.shape[1] for x in scores if x.ndim == 2}:
        return None
    return categories


def _epsilon(scores: Any) -> float:
    """Return the machine epsilon of scores as they came; of what holds no real numbers, that of float64."""
    dtype = np.dtype(float) if scores is None else in_numpy(scores).dtype
    return float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.floating) else float(np.finfo(float).eps)


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Classification data by the users' names of the arrays, and remarks on how they were read.

    Attributes
    ----------
    codes : dict of (n,) int32
        Class codes of every column of labels.
    given : dict of (n,) or (n, K)
        Scores as they came.
    scores : dict of (n,) or (n, K)
        Scores as statistics read them.
    classes : (K,) array
        The labels by code.
    eps : dict of float
        Machine epsilon of the type that scores came in.
    remarks : tuple of pairs of str
        What they concern ("any" metric, "binary" or "ranking" ones, readers of "y_pred" or "y_score"), and the text.
    disagreement : Disagreement
        In how many rows predictions are not what scores make likely: among the remarks where these are many.
    """

    codes: dict[str, np.ndarray]
    given: dict[str, np.ndarray]
    scores: dict[str, np.ndarray]
    classes: np.ndarray
    eps: dict[str, float]
    remarks: tuple[tuple[str, str], ...]
    disagreement: Disagreement

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Any],
        scores: Mapping[str, Any],
        *,
        labels: Sequence[Any] | None,
        pos_label: Any,
        counts: np.ndarray | None = None,
    ) -> Labelled:
        """Encode columns of labels, "y_true" among them, and check the shape of scores.

        Without ``labels`` ordered categories of "y_true" give the order of the classes: those that occur, or all where
        scores have a column for each.
        The positive class is 1 where ``pos_label`` is None, if that is a label. ``counts`` says for how many rows each
        one stands, where it does not for itself alone.
        """
        given = {name: as_floats(name, x, (1, 2)) for name, x in scores.items()}
        wanted = 1 if pos_label is None else pos_label
        everyone = _all_categories(columns["y_true"], given.values()) if labels is None else labels
        codes, classes, positive = encode_labels(columns, everyone, wanted)
        check_lengths({name: len(x) for name, x in {**codes, **given}.items()})
        order = classes[:: 1 if positive == 1 else -1].tolist()  # of the columns of scores
        if len(classes) > 1:
            given = {name: in_label_order(scores[name], x, order) for name, x in given.items()}
        else:
            given = {name: in_name_order(scores[name], x, order, wanted) for name, x in given.items()}
        remarks = of_strange_labels(codes, classes, pos_label, counts) if everyone is None else []
        remarks += of_near_labels(classes)
        if len(classes) > 1:
            for name, x in given.items():
                remarks += [
                    ("any", text) for text in of_other_names(name, names_of_columns(scores[name], x), order, labels)
                ]
        of_positive = "any" if any(x.ndim == 1 for x in given.values()) else "binary"  # whose scores one column has
        if len(classes) == 1:
            only = int(classes[0] == wanted)
            codes = {name: np.full(len(code), only, np.int32) for name, code in codes.items()}
            remarks.append(("any", f"only one class, {shown(classes[0])}, occurs in the data"))
        elif len(classes) == 2 and classes[1] != wanted:
            remarks.append((of_positive, f"the positive class is {shown(classes[1])} (pass pos_label to change it)"))
        elif pos_label is None and set(classes.tolist()) == {1, 2}:
            text = "the labels are 1 and 2: the positive class is 1 (pass pos_label=2 to change it)"
            remarks.append((of_positive, text))
        n_classes = max(len(classes), 2)
        rarest = _rarest(codes["y_true"], classes)
        read = {name: _positive_column(name, x, n_classes, positive, rarest) for name, x in given.items()}
        for name, x in given.items():
            if read[name].ndim < x.ndim and not_probabilities(name, x):
                text = f"the two columns of {name} are no probabilities: rows are ranked by their difference"
                remarks.append(("y_score", text))
        remarks += of_hard_labels(read)
        apart = Disagreement()
        if len(classes) > 1 and "y_pred" in codes and "y_score" in given:
            if given["y_score"].ndim == 1:
                apart = Disagreement.with_one(codes["y_pred"], given["y_score"], classes[1])
            else:
                step = 1 if positive == 1 else -1  # from the order of the columns to that of the codes
                apart = Disagreement.of(codes["y_pred"], given["y_score"][:, ::step], classes[::step])
        remarks += [("any", text) for text in apart.remarks()]
        eps = {name: _epsilon(x) for name, x in scores.items()}
        return cls(codes, given, read, classes, eps, tuple(remarks), apart)

    @property
    def n_classes(self) -> int:
        """K, at least 2."""
        return max(len(self.classes), 2)

    def sample(self, prediction: str, score: str) -> Sample:
        """Return the sample of one model from its labels and its scores, where there are any of that name."""
        return Sample(
            y_true=self.codes["y_true"],
            y_pred=self.codes.get(prediction),
            y_score=self.scores.get(score),
            n_classes=self.n_classes,
            score_eps=self.eps.get(score, _epsilon(None)),
        )

    def with_derived_labels(self, threshold: float | None = None) -> Labelled:
        """Add the labels "y_pred" that follow from "y_score", where that is unambiguous or there is a threshold."""
        scores = self.scores["y_score"]
        if threshold is not None:
            if scores.ndim == 2:
                raise ValueError(f"threshold needs two classes; y_true has {self.n_classes}")
            derived = (scores >= threshold).astype(np.int32)
            reached = f"{derived.sum()} of {len(derived)} scores reach the threshold {threshold:g}"
            remark = f"y_pred was not given: {reached} and count as positive"
        elif scores.ndim == 2:
            derived = np.argmax(scores, axis=1).astype(np.int32)
            remark = "y_pred was not given: the class with the highest score is the prediction"
        elif self.given["y_score"].ndim == 2 and not_probabilities("y_score", self.given["y_score"]):
            derived = (scores > 0).astype(np.int32)
            remark = "y_pred was not given: the class with the highest score is the prediction"
        elif scores.min() >= 0 and scores.max() <= 1:
            derived = (scores >= 0.5).astype(np.int32)
            remark = "y_pred was not given: scores of at least 0.5 count as positive"
        else:
            return self
        return dataclasses.replace(
            self, codes={**self.codes, "y_pred": derived}, remarks=(*self.remarks, ("y_pred", remark))
        )

    def accept(self, name: str, statistic: Statistic) -> Statistic:
        """Return the statistic called ``name`` with what it leaves to the number of classes settled.

        Raises
        ------
        ValueError
            If it is not meant for so many classes, or scores are no probabilities.
        """
        if statistic.task == "binary" and self.n_classes > 2:
            averaged = [m for m in METRICS if m.startswith(name) and m != name]
            hint = f"; for several classes use {', '.join(averaged)}" if averaged else ""
            raise ValueError(f"{name} is a binary metric; y_true has {self.n_classes} classes{hint}")
        if statistic.needs_probabilities:
            for called, scores in self.given.items():
                if fault := not_probabilities(called, scores):
                    raise ValueError(fault)
        return statistic.settled(self.n_classes)

    def remarks_for(self, statistics: Iterable[Statistic]) -> tuple[str, ...]:
        """Return the remarks that concern any of ``statistics``."""
        concerns = {"any"}
        for statistic in statistics:
            concerns |= {statistic.task, *statistic.inputs}
            concerns |= {"ranking"} if isinstance(statistic, ScoreRanking) else set()
        return tuple(text for concern, text in self.remarks if concern in concerns)
