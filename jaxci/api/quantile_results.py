"""What the verbs for quantiles return."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from jaxci.api.planning_results import Tried
from jaxci.printing import ConfidenceInterval, Printable


@dataclasses.dataclass(frozen=True, eq=False)
class QuantileInterval(Printable):
    """An interval for a quantile, or several of them.

    Arrays have the shape of ``q``, after that of a batch of samples where there is one; scalars
    for one quantile of one sample.

    Attributes
    ----------
    q : float or array
        Probabilities of the quantiles.
    estimate : float or array
        Sample quantiles of type 6 (see :func:`quantile_estimate`, "interpolated").
    confidence_interval : ConfidenceInterval
    method, reason : str or tuple of str
        One for every quantile.
    confidence_level : float
    actual_level : float or array
        Level for a continuous law: exact for "order_statistic" and "exact_randomized", NaN where it is
        only approximate.
    n : int
    n_lost : int
        How many values were no results (NaN), and count as the worst.
    candidate_indices : (2, 2) array or None
        Order statistics (k, l), 1-based, of the two intervals that "exact_randomized" draws from;
        a rank 0 or n + 1 is an open side. With several quantiles, a list of them.
    candidate_probabilities : (2,) array or None
    shapiro_pvalue, lilliefors_pvalue : float
        For "noncentral_t": tests of the normality that it assumes; NaN otherwise and for batches.
    rng : int, JAX key or None
    warnings : tuple of str
    """

    q: Any
    estimate: Any
    confidence_interval: ConfidenceInterval
    method: Any
    reason: Any
    confidence_level: float
    alternative: str
    actual_level: Any
    n: int
    n_lost: int = 0
    candidate_indices: Any = None
    candidate_probabilities: Any = None
    shapiro_pvalue: float = math.nan
    lilliefors_pvalue: float = math.nan
    rng: Any = None
    warnings: tuple[str, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a quantile; a batch of samples has none."""
        qs, methods, reasons = (np.atleast_1d(x) for x in (self.q, self.method, self.reason))
        low, high = self.confidence_interval
        columns = [np.atleast_1d(x) for x in (self.estimate, low, high, self.actual_level)]
        if columns[0].shape != qs.shape:
            raise ValueError("a batch of samples has no table: read .confidence_interval")
        names = ("estimate", "low", "high", "actual_level")
        return [
            {
                "q": float(q),
                **{k: float(c[i]) for k, c in zip(names, columns, strict=True)},
                "method": str(methods[i]),
                "reason": str(reasons[i]),
            }
            for i, q in enumerate(qs)
        ]

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table; there is none for a batch of samples."""
        if self._is_batch():
            return [], []
        header = ["quantile", "estimate", "low", "high", "level", "method"]
        return header, [
            [f"{r['q']:g}", *(r[k] for k in ("estimate", "low", "high", "actual_level")), r["method"]]
            for r in self.records()
        ]

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings; how many samples a batch has."""
        if self._is_batch():
            shape = np.shape(self.estimate)
            return [f"{shape[0]} samples: see .confidence_interval, arrays {shape}", *super().notes()]
        return [*self.reasons(), *super().notes()]

    def reasons(self) -> list[str]:
        """Return why each method was taken."""
        return list(dict.fromkeys(f"{r['method']}: {r['reason']}" for r in self.records()))

    def headline(self) -> str:
        """Return the line above the table."""
        lost = f" ({self.n_lost} without a result)" if self.n_lost else ""
        return f"{100 * self.confidence_level:g}% confidence intervals for quantiles, n = {self.n}{lost}"

    def _is_batch(self) -> bool:
        """Whether there are several samples; the table is for one."""
        return np.shape(self.estimate) != np.shape(self.q)


@dataclasses.dataclass(frozen=True)
class QuantilePlan(Printable):
    """How many values an interval of a given width takes.

    ``expected_width`` is that of the exact interval at ``n``: in probability, or in units of the
    values where a distribution was given; ``ranks`` are its order statistics. ``tried`` are other n with their widths.
    """

    q: float
    n: int
    expected_width: float
    ranks: tuple[int, int]
    confidence_level: float
    tried: Tried | None = dataclasses.field(default=None, repr=False)

    unlisted = frozenset({"tried"})

    def headline(self) -> str:
        """Return the line above the table."""
        return f"Values that a {100 * self.confidence_level:g}% interval for the quantile {self.q:g} takes"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        return ["n", "expected width", "order statistics"], [
            [str(self.n), self.expected_width, " and ".join(map(str, self.ranks))]
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row."""
        out = self.to_dict()
        first, last = out.pop("ranks")
        return [{**out, "first_rank": first, "last_rank": last}]


@dataclasses.dataclass(frozen=True, eq=False)
class RunSummary(Printable):
    """What n runs say: the mean with its t-interval, NaN where a run diverged or failed, and quantiles with theirs.

    Attributes
    ----------
    n : int
    mean : float
    mean_interval : ConfidenceInterval
    quantiles : QuantileInterval
    goal : {"higher", "lower"}
    warnings : tuple of str
        What is to be said of the mean and of the quantiles.
    """

    n: int
    mean: float
    mean_interval: ConfidenceInterval
    quantiles: QuantileInterval
    goal: str
    warnings: tuple[str, ...] = ()

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table: the mean, then the quantiles from bad to good."""
        header, rows = self.quantiles.layout()
        header[0] = "of the runs"
        if self.goal == "lower":
            rows = rows[::-1]
        words = {True: "worst", False: "best"}
        for row in rows:
            q = float(row[0])
            share = q if self.goal == "higher" else 1 - q
            side = "below" if q < 0.5 else "above"
            row[0] = "median" if q == 0.5 else f"{words[share < 0.5]} {100 * min(q, 1 - q):g}% lie {side}"
        level = self.quantiles.confidence_level
        mean = ["mean", self.mean, *map(float, self.mean_interval), level, "t"]
        return header, [mean, *rows]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row for the mean, and one a quantile."""
        low, high = map(float, self.mean_interval)
        level = self.quantiles.confidence_level
        mean = {"q": math.nan, "estimate": self.mean, "low": low, "high": high, "actual_level": level, "method": "t"}
        return [{**mean, "reason": "the mean of the runs"}, *self.quantiles.records()]

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        undefined = ["t: the mean is not defined where a run has no result"] if self.quantiles.n_lost else []
        return [*undefined, *self.quantiles.reasons(), *super().notes()]

    def headline(self) -> str:
        """Return the line above the table."""
        better = "higher is better" if self.goal == "higher" else "lower is better"
        lost = f" ({self.quantiles.n_lost} without a result)" if self.quantiles.n_lost else ""
        return f"{self.n} runs{lost}, {100 * self.quantiles.confidence_level:g}% confidence intervals, {better}"
