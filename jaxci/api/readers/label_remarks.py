"""What is to be said of labels and scores: slips, perhaps."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxci.api.readers.arrays import as_array
from jaxci.api.readers.categories import is_categorical
from jaxci.api.readers.labels import ROWS_SEEN, has_fractions, is_classification, number_of_values
from jaxci.checks import shown
from jaxci.printing import first_few

MOST_APART = 0.05
"""Share of rows above which predictions that are not those of the highest score are remarked on."""
ALIKE = "differ only in case, in blanks around them, or in how letters are encoded: they count as different"
"""What is said of texts that a reader would take for the same."""
LIKELIER = 0.5
"""The probability above which a class is the likelier one of two."""
FEW_NUMBERS, MOST_RIGHT, NEARLY = 20, 0.5, 0.9
"""More distinct whole numbers than these, of which at most that share are predicted exactly, with a correlation from
that on, look like numbers to predict: predictions that are wrong classes are not near the right ones.
"""


class Disagreement(NamedTuple):
    """How many of some rows have another predicted label than their scores make likely, and how scores were taken.

    ``what`` is empty where scores do not tell.
    """

    apart: int = 0
    rows: int = 0
    what: str = ""
    taken: str = ""

    @classmethod
    def of(cls, codes: np.ndarray, scores: np.ndarray, columns: np.ndarray) -> Disagreement:
        """Compare predictions ``codes`` (n,) with the class of the highest score (n, K)."""
        apart = scores[np.arange(len(codes)), codes] < scores.max(axis=1)
        taken = f"columns of y_score are taken in the order {shown(columns)}"
        return cls(int(apart.sum()), len(apart), "y_pred is not the class with the highest y_score", taken)

    @classmethod
    def with_one(cls, codes: np.ndarray, scores: np.ndarray, positive: Any) -> Disagreement:
        """Compare predictions ``codes`` (n,) with the likelier class by probabilities (n,) of class 1.

        Scores outside [0, 1] do not tell: from which on they speak for class 1 is unknown.
        """
        if scores.min() < 0 or scores.max() > 1:
            return cls(rows=len(scores))
        apart = np.where(codes == 1, scores < LIKELIER, scores > LIKELIER)
        taken = f"y_score is taken for the probability of {shown(positive)}, and {LIKELIER} for the threshold"
        return cls(int(apart.sum()), len(apart), "y_pred is not the class that y_score makes likelier", taken)

    def joined(self, other: Disagreement) -> Disagreement:
        """Return that of these rows and others together."""
        if not (self.rows and other.rows):
            return self if self.rows else other
        rows = self.rows + other.rows
        told = self.what and other.what
        return Disagreement(self.apart + other.apart, rows, self.what, self.taken) if told else Disagreement(rows=rows)

    def remarks(self) -> list[str]:
        """Return what is to be said where the rows are many."""
        if not self.what or self.apart <= MOST_APART * self.rows:
            return []
        return [f"{self.what} in {self.apart} of {self.rows} rows ({self.apart / self.rows:.1%}); {self.taken}"]


def of_hard_labels(scores: Mapping[str, np.ndarray]) -> list[tuple[str, str]]:
    """Remark on scores that take two values only, which rank hardly anything."""
    hard = [name for name, x in scores.items() if len(x) > 2 and _two_valued(x)]
    if not hard:
        return []
    take = "takes" if len(hard) == 1 else "take"
    text = "only two values, as hard labels do: an area tells little of these; pass probabilities or scores"
    return [("ranking", f"{', '.join(hard)} {take} {text}")]


def _two_valued(scores: np.ndarray) -> bool:
    low, high = scores.min(), scores.max()
    return bool(low < high and np.all((scores == low) | (scores == high)))


def of_strange_labels(
    codes: Mapping[str, np.ndarray], classes: np.ndarray, pos_label: Any, counts: np.ndarray | None = None
) -> list[tuple[str, str]]:
    """Remark on predicted labels that are no true ones: slips, perhaps. Two numbers, such as 0 and 1, are none.

    Each code stands for as many rows as ``counts`` says, if given.
    """
    if len(classes) < 2 or (len(classes) == 2 and classes.dtype.kind not in "US"):
        return []
    never = np.bincount(codes["y_true"], minlength=len(classes)) == 0
    if not never.any():
        return []
    seen = {name: np.bincount(code, counts, len(classes)).astype(int) * never for name, code in codes.items()}
    found = np.any(list(seen.values()), axis=0)
    labels = [label for label in classes[found].tolist() if label != pos_label]
    if not labels:
        return []
    what = first_few(list(map(shown, labels)))
    rows = ", ".join(f"{name} in {count.sum()}" for name, count in seen.items() if count.any())
    n = len(codes["y_true"]) if counts is None else int(np.sum(counts))
    text = f"{rows} of {n} rows has a label that y_true never has: {what}"
    return [("y_pred", f"{text}; each counts as a class (pass labels to say which classes there are)")]


def of_near_labels(classes: np.ndarray) -> list[tuple[str, str]]:
    """Remark on labels that are different, but equal but for blanks around them, case and encoding."""
    found = _alike(classes.tolist())
    text = f"labels {first_few(found)} {ALIKE}"
    return [("any", text)] if found else []


def of_near_names(given: Mapping[str, Any]) -> list[str]:
    """Remark on names of groups of rows, in columns by name, that are different but for blanks, case and encoding."""
    columns = {name: as_array(name, data) for name, data in given.items() if data is not None}
    found = {name: _alike(column.tolist()) for name, column in columns.items() if column.dtype.kind in "OUT"}
    return [f"{name} has {first_few(alike)}, which {ALIKE}" for name, alike in found.items() if alike]


def _alike(values: Iterable[Any]) -> list[str]:
    """Return texts that are equal but for blanks around them, case and encoding, each time together."""
    known: dict[str, list[str]] = {}
    for value in {value for value in values if isinstance(value, str)}:
        known.setdefault(unicodedata.normalize("NFKC", value).strip().casefold(), []).append(value)
    return [" and ".join(map(shown, sorted(texts))) for _, texts in sorted(known.items()) if len(texts) > 1]


def of_many_numbers(what: str, targets: Any, predicted: Any, otherwise: str) -> list[str]:
    """Remark on whole numbers that are no labels only because they are many, unless predictions have fractions.

    ``otherwise`` says what would make labels of them.
    """
    array = as_array(what, targets)
    settled = array.squeeze().ndim > 1 or (predicted is not None and has_fractions(as_array("y_pred", predicted)))
    if settled or has_fractions(array) or is_classification(targets):
        return []
    rows = f" in {ROWS_SEEN:,} of its rows" if len(array) > ROWS_SEEN else ""
    return [
        f"{what} has {number_of_values(array)} distinct whole numbers{rows}: taken for numbers to predict, not for "
        f"classes; {otherwise}"
    ]


def of_near_classes(targets: Any, predicted: Any) -> list[str]:
    """Remark on whole numbers that are taken for labels where predictions are seldom right, but nearly so."""
    if predicted is None or is_categorical(targets):
        return []
    truth, guess = as_array("y_true", targets), as_array("y_pred", predicted)
    numbers = all(one.ndim == 1 and one.dtype.kind in "iuf" for one in (truth, guess)) and len(truth) == len(guess)
    if not numbers or number_of_values(truth) <= FEW_NUMBERS or np.mean(truth == guess) > MOST_RIGHT:
        return []
    if not np.ptp(guess) > 0 or np.corrcoef(truth.astype(float), guess.astype(float))[0, 1] < NEARLY:
        return []
    return [
        f"y_true has {number_of_values(truth)} distinct whole numbers, taken for classes, but predictions are mostly "
        "near misses: pass metrics=['mean_absolute_error'], or another of a regression, if these are numbers to predict"
    ]
