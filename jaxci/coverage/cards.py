"""The card of a metric: how every interval method did in simulations, and how the table of all cards is made."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import jax
import numpy as np

from jaxci.checks import check_choice, check_count
from jaxci.coverage.analysis import groups
from jaxci.coverage.results import StudyResults, cell
from jaxci.coverage.tally import labelled
from jaxci.distributions import Cells, Clustered, Distribution, GaussianClasses
from jaxci.intervals.cards import CARD_LEVEL, CLUSTERED, SAME, Features, cards, shape_of
from jaxci.printing import Printable

SCORED = 200_000
"""Draws that the error rate of scores of several classes comes from."""
SHAPED = 400
"""Samples that the median skewness and kurtosis of a law come from."""


@dataclasses.dataclass(frozen=True, eq=False)
class Card(Printable):
    """How every method did for one metric: a row a sample size and method, over the laws of its studies.

    Attributes
    ----------
    metric : str
    columns : dict of str to array
        One row a law, n and method: ``distribution``, ``n``, ``method``, ``coverage`` (of 95% intervals that exist)
        with its Monte-Carlo error, ``below``, ``above`` (shares wholly below and above the truth), ``missing`` (data
        sets without an interval), ``relative_width`` (mean width in interdecile ranges of the estimate; NaN where these
        are 0).
    """

    metric: str
    columns: dict[str, np.ndarray]

    tags: ClassVar[tuple[str, ...]] = ()

    def at(self, n: int) -> Card:
        """Return the card at the simulated size nearest to ``n``, on a logarithmic scale."""
        sizes = np.unique(self.columns["n"])
        nearest = sizes[np.argmin(np.abs(np.log(sizes / check_count("n", n, 1))))]
        rows = self.columns["n"] == nearest
        return Card(self.metric, {name: values[rows] for name, values in self.columns.items()})

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a sample size and method, over the laws: by size, then by the worst coverage."""
        table = self.columns
        found = []
        for (n, method), rows in groups(table, ("n", "method")).items():
            rows = rows[np.isfinite(table["coverage"][rows])]
            if len(rows) == 0:
                continue
            worst = rows[np.argmin(table["coverage"][rows])]
            widths = table["relative_width"][rows]
            known = np.isfinite(widths)
            found.append(
                {
                    "n": int(n),
                    "method": method,
                    "median": float(np.median(table["coverage"][rows])),
                    "worst": float(table["coverage"][worst]),
                    "worst_distribution": str(table["distribution"][worst]),
                    "below": float(np.median(table["below"][rows])),
                    "above": float(np.median(table["above"][rows])),
                    "missing": float(np.median(table["missing"][rows])),
                    "relative_width": float(np.median(widths[known])) if known.any() else math.nan,
                }
            )
        return sorted(found, key=lambda row: (row["n"], -row["worst"]))

    def headline(self) -> str:
        """Return the line above the table."""
        laws = len(np.unique(self.columns["distribution"]))
        return f"Coverage of 95% intervals for {self.metric} in simulations of {laws} laws"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        header = ["n", "method", "median", "worst", "below", "above", "width", "worst for"]
        names = ("n", "method", "median", "worst", "below", "above", "relative_width", "worst_distribution")
        return header, [[cell(row[name]) for name in names] for row in self.records()]

    def notes(self) -> list[str]:
        """Return what the columns mean."""
        return [
            "median, worst: coverage over the laws; below, above: median shares of intervals wholly below or above the "
            "truth; width: median, in interdecile ranges of the estimate"
        ]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the metric, and a row a sample size and method."""
        return {"metric": self.metric, "rows": self.records()}


def card(metric: str) -> Card:
    """Return the card of a metric: the coverage of every interval method in the simulations of the package.

    Parameters
    ----------
    metric : str
        Name of a metric, or "mean within bounds" for the mean of values with bounds; with " in clusters" after it, of
        rows in clusters.

    Raises
    ------
    ValueError
        If there is no such card.

    Examples
    --------
    >>> best = card("roc_auc").at(60).records()[0]
    >>> best["n"], best["method"]
    (50, 'newcombe')
    """
    known = cards()
    held = (*known.names, *(name for name, same in SAME.items() if same in known.names))
    found = known.of(SAME.get(metric, check_choice("metric", metric, held)))
    if metric == "error_rate":  # one less the accuracy: an interval below the one is above the other
        found |= {"below": found["above"], "above": found["below"]}
    return Card(metric, {**found, "level": np.full(len(found["n"]), CARD_LEVEL), "n": found["n"].astype(int)})


def features_of(distribution: Distribution, n: int) -> Features:
    """Return the features of samples of ``n`` from a law."""
    if isinstance(distribution, Clustered):
        return features_of(distribution.law, n).in_clusters(distribution.sizes(n), distribution.correlation)
    if isinstance(distribution, Cells):
        table = np.asarray(distribution.table)
        return Features(n, len(table), n * table.sum(axis=1).min(), n * (1 - np.trace(table)))
    if isinstance(distribution, GaussianClasses):
        rarest = n * float(np.min(distribution.shares))
        if distribution.n_classes == 2:
            return Features(n, 2, rarest, n * (1 - distribution.auc))
        drawn = distribution.sample(jax.random.key(0), SCORED)
        wrong = np.mean(np.asarray(drawn["y_true"]) != np.asarray(drawn["y_score"]).argmax(axis=1))
        return Features(n, distribution.n_classes, rarest, n * wrong)
    keys = jax.random.split(jax.random.key(0), SHAPED)
    drawn = jax.vmap(lambda key: distribution.sample(key, n))(keys)
    values = drawn["values"] if distribution.kind == "values" else drawn["y_true"] - drawn["y_pred"]
    skewness, kurtosis = shape_of(np.asarray(values, float))
    return Features(n, skewness=float(np.median(skewness)), kurtosis=float(np.median(kurtosis)))


def rows_of(results: StudyResults) -> list[dict[str, Any]]:
    """Return the rows of cards that a study has found: shares of the intervals that exist."""
    rows, features = [], {}
    methods = labelled(results.study.methods)
    for row in results.records():
        exist, design = 1 - row["invalid"], (row["distribution"], row["n"])
        if design not in features:
            features[design] = features_of(results.study.distributions[row["distribution"]], row["n"])
        shares = {name: row[name] / exist if exist > 0 else math.nan for name in ("coverage", "below", "above")}
        kept = {name: row[name] for name in ("distribution", "statistic", "relative_width")}
        kept["method"] = methods[row["method"]].label  # with its settings, whether or not others have its name
        if not math.isnan(features[design].clusters):
            kept["statistic"] = CLUSTERED.format(kept["statistic"])
        error = row["coverage_error"] / exist if exist > 0 else math.nan
        own = {"study": results.study.name, "missing": row["invalid"], "coverage_error": error}
        rows.append({**own, **kept, **shares, **features[design]._asdict()})
    return rows
