"""Cards: what simulations said of every interval method, and which of their designs are like given data.

A design is a law of data and a sample size; the card of a metric holds, for every design and method, how often a 95%
interval held the truth. The table comes with the package (``cards.npz``) and is made from the studies named
``cards-...`` by ``benchmarks/make_cards.py``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxci.records import settings
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.registry import METRICS
from jaxci.statistics.summary import is_mean_of_values

SHARE = "accuracy"
"""Name on the cards of every share of all rows."""
BOUNDED_MEAN = "mean within bounds"
"""Name on the cards of the mean of a user's own values that has two bounds."""
CLUSTERED = "{} in clusters"
"""Name on the cards of a metric of rows in clusters."""
SAME = {
    "error_rate": "accuracy",
    "f1_micro": "accuracy",
    "precision_micro": "accuracy",
    "recall_micro": "accuracy",
    "recall_weighted": "accuracy",
    "recall_macro": "balanced_accuracy",
}
"""Metrics whose values, and intervals, are those of another, or one less them."""
RISING_WITH = {"jaccard": "f1"}
"""Metrics that are an increasing function of another, whose card is theirs where they have none."""
CARD_LEVEL = 0.95
"""Nominal level on the cards."""
NEAREST, RADIUS = 5, 0.5
"""Designs like given data: those within the radius, a factor of 1.6 in every feature, or else the nearest five."""
FARTHEST, SMALLER, LARGER, MOST_CLASSES = 1.5, 2, 4, 12
"""Data farther than that from every design, or so many times smaller or larger than all, have no card.

Small and large are their rows, and their clusters. Data of more classes have none either, of which designs have ten at
most: what each of them adds to a mean does not become less, as its error does.
"""

ALIKE, ALIKE_RANKS, LEAST_ERRORS = 0.5, 2.0, 10
"""Clusters differ little where their number, times the design effect for each of their rows, is below the first number:
an eighth of an unseen one then moves areas and scores by more than their standard errors. In simulated designs of 5 to
40 such clusters ``proper_bayesian`` covered .81 to 1.00 at up to twenty times the width that is needed, Student's
intervals .91 to 1.00 at up to 3.5 times that (``benchmarks/alike_clusters.py``). Of fewer wrong rows than the second
number, or of values of which as few rows in effect decide, this is not known. Ranks have a number of their own: all
rows of an unseen cluster would stand below all others, which moves an average precision by several standard errors.
"""
ALIKE_DESIGNS = 0.01
"""Designs of a smaller intraclass correlation tell of clusters that differ little; others of all others."""

ROUNDING = 16 * float(np.finfo(float).eps)
"""Values that are apart by less than that of the largest do not vary."""

WORDS = ("study", "distribution", "statistic", "method")
NUMBERS = (
    "n",
    "classes",
    "rarest",
    "errors",
    "skewness",
    "kurtosis",
    "clusters",
    "design_effect",
    "coverage",
    "coverage_error",
    "below",
    "above",
    "missing",
    "relative_width",
)


class Features(NamedTuple):
    """What makes data like a design: numbers compared by the ratios of them plus one; NaN where there is none.

    Attributes
    ----------
    n : float
        Rows.
    classes : float
        K.
    rarest : float
        Rows of the rarest class that has any, of precision those predicted as the class that is least, of more than two
        classes; of a law the share of the rarest class times n.
    errors : float
        Rows predicted wrong; for scores of two classes n times one less the area under the ROC curve. Of a law the
        share of errors, or the area, that it has.
    skewness, kurtosis : float
        ``|m3| / m2^1.5`` and ``m4 / m2^2`` of values, or of the errors of a regression, with their central moments
        ``m_k``. Of a law the medians over samples of n.
    clusters : float
        Number of clusters of one size that tell as much as those of the data, ``n^2 / sum m^2`` of sizes m.
    design_effect : float
        ``1 + (sum m^2 / n - 1) r`` with the intraclass correlation r: of data that of whether rows are predicted right,
        of values, of the errors of a regression, or of the scores of the true classes less their means by class.
    """

    n: float
    classes: float = math.nan
    rarest: float = math.nan
    errors: float = math.nan
    skewness: float = math.nan
    kurtosis: float = math.nan
    clusters: float = math.nan
    design_effect: float = math.nan

    def in_clusters(self, sizes: np.ndarray, correlation: float) -> Features:
        """Return the features of rows in clusters of ``sizes`` (G,), alike by the intraclass ``correlation``."""
        squares = float(np.sum(np.asarray(sizes, float) ** 2))
        effect = 1 + (squares / self.n - 1) * correlation
        return self._replace(clusters=self.n**2 / squares, design_effect=effect)

    def with_rows(self, n: float) -> Features:
        """Return the features of ``n`` rows in as many clusters, as alike, and with the same shares."""
        share, size = n / self.n, self.n / self.clusters
        correlation = (self.design_effect - 1) / (size - 1) if size > 1 else 0.0
        effect = 1 + (n / self.clusters - 1) * correlation
        return self._replace(n=n, rarest=share * self.rarest, errors=share * self.errors, design_effect=effect)

    def differ_little(self, clusters: int, *, ranks: bool) -> bool:
        """Whether large clusters differ so little that one which was not seen would decide, however rare it is.

        It would have the mean size of the ``clusters``, also where these are uneven. ``ranks``: of the ranks of rows.
        """
        deciding = self.n / self.kurtosis if math.isnan(self.errors) else self.errors
        most = ALIKE_RANKS if ranks else ALIKE
        return not deciding < LEAST_ERRORS and clusters**2 * self.design_effect < most * self.n


CLUSTERS = Features._fields.index("clusters")


def shape_of(values: np.ndarray, counts: np.ndarray | None = None) -> tuple[Any, Any]:
    """Return skewness and kurtosis (...) of values (..., n), each so many times; 0 and 1 where they do not vary."""
    apart = values - np.average(values, axis=-1, weights=counts, keepdims=True)
    widest = np.abs(apart).max(axis=-1, keepdims=True)
    largest = np.abs(values).max(axis=-1, keepdims=True)
    apart = np.where(widest > ROUNDING * largest, apart, 0.0) / np.where(widest > 0, widest, 1.0)
    second, third, fourth = (np.average(apart**power, axis=-1, weights=counts) for power in (2, 3, 4))
    varies = second > 0
    square = np.where(varies, second, 1.0)
    return np.abs(third) / square**1.5, np.where(varies, fourth / square**2, 1.0)


class Standing(NamedTuple):
    """How a method did in the designs that are like given data.

    Attributes
    ----------
    method : str
        Its label.
    typical, worst : float
        Median, and worst tenth, of the coverages of those designs, among intervals that exist.
    width : float
        Median over the designs of the mean width, in interdecile ranges of the estimate; infinite where these are 0.
    designs : int
    lowest : float
        The least of the coverages.
    """

    method: str
    typical: float
    worst: float
    width: float
    designs: int
    lowest: float


class Designs(NamedTuple):
    """A card by design: logarithms of the features plus one (D, 8), and what every method did in each (M, D)."""

    methods: tuple[str, ...]
    logs: np.ndarray
    coverage: np.ndarray
    width: np.ndarray

    @classmethod
    def of(cls, card: dict[str, np.ndarray]) -> Designs:
        """Arrange the rows of a card."""
        methods = tuple(dict.fromkeys(card["method"].tolist()))
        places = list(zip(card["study"].tolist(), card["distribution"].tolist(), card["n"].tolist(), strict=True))
        numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
        column = np.array([numbers[place] for place in places])
        row = np.array([methods.index(method) for method in card["method"].tolist()])
        first = np.unique(column, return_index=True)[1]
        features = np.stack([card[name][first] for name in Features._fields], axis=1)
        coverage, width = np.full((2, len(methods), len(numbers)), math.nan)
        coverage[row, column], width[row, column] = card["coverage"], card["relative_width"]
        return cls(methods, np.log1p(features), coverage, width)

    @property
    def most_rows(self) -> float:
        """Rows of the largest designs."""
        return float(np.rint(np.expm1(self.logs[:, 0].max())))

    def of_clusters(self, *, alike: bool) -> Designs:
        """Return the designs of clusters that differ little, or the others; all where there are none."""
        rows, clusters, effects = np.expm1(self.logs[:, [0, CLUSTERS, CLUSTERS + 1]]).T
        chosen = (effects - 1 < ALIKE_DESIGNS * (rows / clusters - 1)) == alike
        if not chosen.any():
            return self
        return Designs(self.methods, self.logs[chosen], self.coverage[:, chosen], self.width[:, chosen])

    def near(self, features: Features) -> list[Standing]:
        """Return how every method did in the designs like ``features``; empty where there is none.

        The distance of a design is the root mean square of the logarithms of the ratios of its features (plus one) to
        the given ones, of features that both have.
        """
        for given, logs in ((features.n, self.logs[:, 0]), (features.clusters, self.logs[:, CLUSTERS])):
            known = np.expm1(logs)
            if not np.isnan(given) and not known.min() / SMALLER <= given <= LARGER * known.max():
                return []
        if features.classes > MOST_CLASSES:
            return []
        distance = np.sqrt(np.nanmean((self.logs - np.log1p(np.array(features))) ** 2, axis=1))
        order = np.sort(distance)
        if order[0] > FARTHEST:
            return []
        like = distance <= max(RADIUS, order[min(NEAREST, len(order)) - 1])
        return [standing(*row) for row in zip(self.methods, self.coverage[:, like], self.width[:, like], strict=True)]


def standing(method: str, coverage: np.ndarray, width: np.ndarray) -> Standing:
    """Sum up coverages and mean widths (designs,) of a method; NaN where it has no interval."""
    known = np.isfinite(coverage)
    if not known.any():
        return Standing(method, math.nan, math.nan, math.nan, 0, math.nan)
    found, wide = np.sort(coverage[known]), np.sort(width[known & np.isfinite(width)])
    typical_width = _middle(wide) if len(wide) else math.inf
    return Standing(method, _middle(found), _worst_tenth(found), typical_width, len(found), float(found[0]))


def _middle(ordered: np.ndarray) -> float:
    """Return the median of sorted values, as ``numpy.median`` does in ten times the time."""
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def _worst_tenth(ordered: np.ndarray) -> float:
    """Return the first decile of sorted values, as ``numpy.quantile`` does in ten times the time."""
    place = 0.1 * (len(ordered) - 1)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    share = place - below
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share)


class Cards:
    """The table of all cards, by columns: one row a metric, design and method.

    ``coverage``, ``below`` and ``above`` are shares of the intervals that exist (of nominal level .95), ``missing`` is
    the share of data sets without one; :class:`Features` belong to the design.
    """

    def __init__(self, columns: dict[str, np.ndarray]):
        self.columns = columns
        self._designs: dict[str, Designs] = {}

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Metrics that have a card."""
        return tuple(dict.fromkeys(self.columns["statistic"].tolist()))

    def of(self, name: str) -> dict[str, np.ndarray]:
        """Return the card of a metric: its rows, by columns."""
        rows = self.columns["statistic"] == name
        return {column: values[rows] for column, values in self.columns.items()}

    def near(self, name: str, features: Features, *, alike: bool = False) -> list[Standing]:
        """Return how every method did for a metric in the designs like ``features``; see :meth:`Designs.near`.

        Clusters that differ little (``alike``) are judged by designs of such, and others by others. Of more rows in
        clusters than any design has, how the clusters differ decides, and not how many rows they hold: such data are
        judged as of as many rows as the largest designs.
        """
        if name not in self._designs:
            self._designs[name] = Designs.of(self.of(name))
        designs = self._designs[name]
        if features.clusters > 0:
            designs = designs.of_clusters(alike=alike)
            features = features.with_rows(min(features.n, designs.most_rows))
        return designs.near(features)

    def save(self, path: str | Path) -> None:
        """Write the table to a compressed file: numbers in single precision, words by their number.

        Monte-Carlo errors are rounded to 1e-6; ``above``, which the other shares leave, is not written.
        """
        columns = self.columns | {"coverage_error": self.columns["coverage_error"].round(6)}
        held: dict[str, Any] = {name: columns[name].astype(np.float32) for name in NUMBERS if name != "above"}
        for name in WORDS:
            held[f"{name}_words"], codes = np.unique(self.columns[name], return_inverse=True)
            held[name] = codes.astype(np.int16)
        np.savez_compressed(path, **held)

    @classmethod
    def load(cls, source: Any) -> Cards:
        """Read the file, a path or a stream, that :meth:`save` writes."""
        with np.load(source) as held:
            words = {name: held[f"{name}_words"][held[name]] for name in WORDS}
            numbers = {name: held[name].astype(np.float64) for name in NUMBERS if name != "above"}
        above = np.maximum((1 - numbers["coverage"] - numbers["below"]).round(6), 0.0)
        return cls(words | {name: numbers.get(name, above) for name in NUMBERS})


@functools.cache
def cards() -> Cards:
    """Return the cards of the package."""
    with (resources.files("jaxci.intervals") / "cards.npz").open("rb") as held:
        return Cards.load(held)


def name_on_cards(statistic: Statistic, known: Collection[str]) -> str | None:
    """Return the name under which cards of metrics ``known`` hold a statistic; None if they do not."""
    if has_fixed_trials(statistic):  # whatever its name and conventions, which never apply to it
        return SHARE if SHARE in known else None
    if is_mean_of_values(statistic) and np.isfinite(statistic.bounds).any():
        return BOUNDED_MEAN if BOUNDED_MEAN in known and np.isfinite(statistic.bounds).all() else None
    statistic = statistic.of_rows
    mine = repr(settings(statistic))
    for name, metric in METRICS.items():
        held = next((one for one in (SAME.get(name, name), RISING_WITH.get(name)) if one in known), None)
        if type(metric) is not type(statistic) or held is None:
            continue
        if any(repr(settings(form)) == mine for form in (metric, metric.settled(2), metric.settled(3))):
            return held
    return None
