"""Results of verbs: an interval, a table of them, a comparison, a jackknife."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from jaxci.printing import ConfidenceInterval, Printable, gathered, number, p_said, stated_level
from jaxci.records import Named

IN_SIMULATIONS = "in simulations"
SIMULATED = (
    f"{IN_SIMULATIONS}: how often 95% intervals by the method held the truth on data like these, and in the worst "
    "tenth of them; each is about the narrowest that held, or the nearest to that"
)
COLUMNS = ("metric", "estimate", "low", "high", "std. error", "method")


@dataclasses.dataclass(frozen=True, eq=False)
class IntervalResult(Printable):
    """An estimate and its confidence interval.

    Attributes
    ----------
    statistic : str
        Name of the statistic.
    estimate : float
        Value on the data; the interval is about this estimator.
    confidence_interval : ConfidenceInterval
        ``.low`` and ``.high``; infinite, or the end of the range, on an unbounded side.
    standard_error : float
        Of the estimate: from the method where it has one, from influence values or the
        replicates otherwise; NaN where there is none.
    method : Method or str
        The method used, with its settings; equal to its name, as which it prints.
    reason : str
        Why it was used.
    confidence_level : float
    alternative : str
    n : int
        Independent units behind the interval: rows, or clusters.
    n_rows : int
        Rows in the clusters, 0 where rows are the units.
    n_resamples : int
        Resamples drawn; 0 for closed forms.
    error_bound : float
        How far from those of infinitely many resamples the ends may lie that are read from an exact bootstrap law, in
        units of the statistic: less than a thousandth of the standard error for means and ratios of sums, 0 where the
        law is a finite sum. Errors of probabilities, below 1e-6, come to it. NaN where resamples were drawn, or the
        method reads none.
    bootstrap_distribution : (B,) array or None
        The replicates the interval was read from, NaN where undefined.
    rng : int, JAX key or None
        Repeats the call when passed as ``rng``; None where nothing was drawn.
    warnings : tuple of str
    dtype : str
        Floating type of the computation.
    coverage, coverage_error : float
        Coverage that the method reaches on data like these, with its Monte-Carlo standard error;
        NaN where no check was asked for.
    simulated_coverage, simulated_worst : float
        Median, and worst tenth, of the coverages of the method's 95% intervals in the simulated designs most like
        the data, by which it was chosen; NaN where it was not.
    design_effect : float
        Variance of ``design_effect_of`` over that in as many independent rows of equal weight; NaN where rows are the
        units, or nothing varies. Source: Kish (1965), Survey Sampling.
    design_effect_of : str
        The mean that is natural for the data, whatever the statistic: "accuracy" of predicted labels, "the mean
        absolute error" of predicted values, "the mean" of values, or "the difference in" these between two models; ""
        where there is none, as of scores without predictions.
    """

    statistic: str
    estimate: float
    confidence_interval: ConfidenceInterval
    standard_error: float
    method: Named | str
    reason: str
    confidence_level: float
    alternative: str
    n: int
    n_rows: int = 0
    n_resamples: int = 0
    bootstrap_distribution: np.ndarray | None = dataclasses.field(default=None, repr=False)
    rng: Any = None
    warnings: tuple[str, ...] = ()
    dtype: str = "float64"
    coverage: float = math.nan
    coverage_error: float = math.nan
    simulated_coverage: float = math.nan
    simulated_worst: float = math.nan
    design_effect: float = math.nan
    design_effect_of: str = ""
    error_bound: float = math.nan

    heading: ClassVar[tuple[str, ...]] = COLUMNS
    subject: ClassVar[str] = "confidence intervals"
    unlisted = frozenset({"bootstrap_distribution"})

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row."""
        out = self.to_dict()
        interval = out.pop("confidence_interval")
        joined = {"method": str(self.method), "warnings": "; ".join(self.warnings)}
        return [out | interval | joined]

    def headline(self) -> str:
        """Return the line above the table."""
        size = f"{self.n_rows:,} rows in {self.n:,} clusters" if self.n_rows else f"n = {self.n}"
        if not math.isnan(self.design_effect):
            effect = f"{self.design_effect:.1f}" if self.design_effect >= 1 else f"{self.design_effect:.2g}"
            rows = f"{self.n_rows / self.design_effect:,.0f} independent rows"
            size += f" (design effect of {self.design_effect_of} {effect}: as {rows})"
        return f"{stated_level(self.confidence_level, self.alternative, self.subject)}, {size}"

    def cells(self) -> list[Any]:
        """Return the cells of the row of a table."""
        low, high = map(float, self.confidence_interval)
        return [self.statistic, self.estimate, low, high, self.standard_error, str(self.method)]

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        return list(self.heading), [self.cells()]

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        why = f": {self.reason}" if self.reason else ""
        return [f"{self.statistic}: {self.method}{why}", *super().notes()]


@dataclasses.dataclass(frozen=True, eq=False)
class EvaluationTable(Printable):
    """Intervals for several metrics of one model on one data set: one row a metric.

    Rows are :class:`IntervalResult`; ``table["f1"]`` and iteration give them.
    ``warnings`` holds remarks that concern the data as a whole.
    """

    rows: tuple[IntervalResult, ...]
    n: int
    rng: Any = None
    warnings: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """All warnings, those of metrics under their names."""
        return [*self.warnings, *(f"{', '.join(names)}: {text}" for text, names in self._told().items())]

    def _told(self) -> dict[str, list[str]]:
        """Return what is said of metrics, with the names of those of which it is said."""
        return gathered((row.statistic, text) for row in self.rows for text in row.warnings)

    @property
    def design_effect(self) -> float:
        """How many times the variance of independent rows that of clusters is: see :class:`IntervalResult`."""
        return self.rows[0].design_effect if self.rows else math.nan

    def __getitem__(self, name: str) -> IntervalResult:
        for row in self.rows:
            if row.statistic == name:
                return row
        raise KeyError(f"no metric {name!r} in this table; it has {[row.statistic for row in self.rows]}")

    def __iter__(self) -> Iterator[IntervalResult]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a metric."""
        return [record for row in self.rows for record in row.records()]

    def headline(self) -> str:
        """Return the line above the table."""
        return self.rows[0].headline() if self.rows else "no metrics"

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        given = [row for row in self.rows if math.isnan(row.simulated_coverage)]
        reasons = gathered((row.statistic, (row.method, row.reason)) for row in given)
        notes = [] if len(given) == len(self.rows) else [SIMULATED]
        notes += [f"{method}: {reason} ({', '.join(names)})" for (method, reason), names in reasons.items()]
        notes += super().notes()
        return notes + [f"warning ({', '.join(names)}): {text}" for text, names in self._told().items()]

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table; columns of coverage where it was measured, or is on cards."""
        header, rows = list(COLUMNS), [row.cells() for row in self.rows]
        if any(not math.isnan(row.simulated_coverage) for row in self.rows):
            header.append(IN_SIMULATIONS)
            for row, cells in zip(self.rows, rows, strict=True):
                typical, worst = 100 * row.simulated_coverage, 100 * row.simulated_worst
                cells.append("" if math.isnan(typical) else f"{typical:.1f}% (worst {worst:.1f}%)")
        if any(not math.isnan(row.coverage) for row in self.rows):
            place = len(COLUMNS) - 1
            header.insert(place, "coverage")
            for row, cells in zip(self.rows, rows, strict=True):
                cells.insert(place, "" if math.isnan(row.coverage) else row.coverage)
        return header, rows


@dataclasses.dataclass(frozen=True, eq=False)
class ComparisonResult(IntervalResult):
    """A paired difference ``a - b``: the interval, both estimates, and tests.

    Attributes
    ----------
    estimate_a, estimate_b : float
    pvalue : float
        Of no difference, against ``alternative``; obtained by ``test``.
    test : str
    margin : float or None
        The margin asked for.
    conclusion : str
        What the interval says of superiority, and of non-inferiority within ``margin``.
    """

    estimate_a: float = math.nan
    estimate_b: float = math.nan
    pvalue: float = math.nan
    test: str = ""
    margin: float | None = None
    conclusion: str = ""

    heading = ("metric", "a - b", *COLUMNS[2:])
    subject = "confidence intervals of the difference a - b"

    @property
    def p_said(self) -> str:
        """The p-value as a sentence has it; no share of replicates smaller than one of them can be seen."""
        drawn = self.n_resamples > 0 and self.test.startswith("inversion")
        tails = 2 if self.alternative == "two-sided" else 1
        return p_said(self.pvalue, tails / (self.n_resamples + 1) if drawn else 0.0)

    def notes(self) -> list[str]:
        """Return the lines below the table: reasons and warnings."""
        both = f"a = {number(self.estimate_a)}, b = {number(self.estimate_b)}"
        return [both, f"{self.p_said} ({self.test})", self.conclusion, *super().notes()]


@dataclasses.dataclass(frozen=True, eq=False)
class JackknifeResult(Printable):
    """Jackknife estimate, bias, standard error and pseudo-values.

    Attributes
    ----------
    estimate : float
        The statistic on the data.
    bias : float
        Jackknife bias of ``estimate``.
    bias_corrected : float
        ``estimate - bias``.
    standard_error : float
    pseudo_values : (n,) array, or (number of subsets,) for ``delete > 1``
    """

    estimate: float
    bias: float
    bias_corrected: float
    standard_error: float
    pseudo_values: np.ndarray = dataclasses.field(repr=False)
    delete: int = 1

    def headline(self) -> str:
        """Return the line above the table."""
        left_out = "1 observation" if self.delete == 1 else f"{self.delete} observations"
        return f"Jackknife, {left_out} left out at a time, {len(self.pseudo_values)} subsets"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        (record,) = self.records()
        return list(record), [[*record.values()]]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row, without the pseudo-values."""
        names = ("estimate", "bias", "bias_corrected", "standard_error")
        return [{name: float(getattr(self, name)) for name in names}]
