"""What is counted while a cell is simulated, and what is judged from it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from jaxci.distributions.base import Truth
from jaxci.intervals.base import Method
from jaxci.special import deviation, namespace, root_sum_of_squares

NO_INTERVAL = "no interval"
"""Status of a row none of whose intervals exists: it has no coverage."""
INFINITE = "enumerated, B = infinity"
"""How coverage was found that is of infinitely many resamples."""


def even_sizes(n: int, groups: int) -> list[int]:
    """Return how ``n`` data sets are divided among groups, the first of which may have one more than the others."""
    return [n // groups + (group < n % groups) for group in range(groups)]


def labelled(methods: Iterable[Method]) -> dict[str, Method]:
    """Return methods by how they print among each other: by name, and where a name repeats with their settings."""
    listed = list(dict.fromkeys(methods))
    names = [method.name for method in listed]
    return {method.label if names.count(method.name) > 1 else method.name: method for method in listed}


def simulation_error(error: float, by_group: np.ndarray | None, alpha: float) -> float:
    """Return how far a coverage may lie from the true one on each side, but for a probability ``alpha``.

    The standard ``error`` is that between groups of data sets, and at least the binomial one of a share with two more
    successes and two more failures, which a coverage of 100% has too; times the quantile of Student's law, with one
    degree of freedom less than there are groups. 0 where the coverage is computed.

    Parameters
    ----------
    error : float
        Standard error between groups.
    by_group : (2, G) array or None
        Data sets of every group whose interval holds the truth, and all of the group.
    alpha : float
        In (0, 1).
    """
    degrees = math.inf
    if by_group is not None and np.size(by_group):
        covered, total = np.sum(by_group, axis=1)
        share = (covered + 2) / (total + 4)
        error = max(error if error > 0 else 0.0, math.sqrt(share * (1 - share) / (total + 4)))
        degrees = by_group.shape[1] - 1 if by_group.shape[1] > 1 else math.inf
    return float(error * stats.t.isf(alpha, degrees)) if error > 0 else 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Judgement:
    """How one method did at one level in one cell.

    Attributes
    ----------
    statistic : str
    method : Method or str
        With its settings; a formula of a study of learners has a name only.
    coverage, coverage_error : float
        Share of closed intervals that hold the truth, and its Monte-Carlo standard error, from
        the variance between groups. NaN where no interval exists.
    below, above : float
        Shares of intervals that lie wholly below, and wholly above, the truth.
    invalid : float
        Share of intervals that do not exist (NaN); some count as misses, but all have no coverage.
    mean_width, median_width : float
        Of the intervals that exist.
    relative_width : float
        Mean width over the interdecile range of the estimate's error: of the estimate, where there
        is one truth.
    label : str
        How the method prints among those of its study.
    by_group : (2, G) array or None
        Data sets of every group whose interval holds the truth, and all of the group; None where the
        coverage is computed without simulation.
    mean_shift, shift_error : float
        Mean of the middles of the finite intervals less the truth, and its Monte-Carlo standard error, from the
        variance between groups (NaN with one). Positive: intervals lie too high.
    how : str
        "simulated"; "enumerated", without simulation; or "enumerated, B = infinity", where the simulated methods have
        too few resamples for an enumeration with as many.
    """

    statistic: str
    method: Method | str
    level: float
    coverage: float
    coverage_error: float
    below: float
    above: float
    invalid: float
    mean_width: float
    median_width: float
    relative_width: float
    label: str
    by_group: np.ndarray | None = None
    how: str = "simulated"
    mean_shift: float = math.nan
    shift_error: float = math.nan

    @property
    def status(self) -> str:
        """:data:`NO_INTERVAL` where no interval exists."""
        return NO_INTERVAL if self.invalid == 1 else ""

    def row(self) -> dict[str, Any]:
        """Return plain values by the names of columns; the method by its label, the groups as a text of fractions."""
        out = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | {"status": self.status}
        groups = [] if self.by_group is None else self.by_group.T.tolist()
        text = " ".join(f"{covered}/{size}" for covered, size in groups)
        del out["by_group"]
        return out | {"method": out.pop("label"), "covered_by_group": text}


@dataclasses.dataclass(frozen=True, eq=False)
class Behaviour:
    """How the point estimator behaves in one cell.

    ``truth`` is the mean where every data set has its own, as the risk of a fitted model; ``bias``,
    ``rmse`` and ``standard_error`` are mean, root mean square and standard deviation of the estimate's
    error. ``truth_error`` is the standard error of a simulated truth (0 where it is known); ``flags``
    name what a reader must know (a truth that is not known well enough, undefined samples).
    """

    statistic: str
    truth: float
    truth_error: float
    bias: float
    rmse: float
    standard_error: float
    undefined: float
    flags: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class CellResult:
    """Judgements and behaviours of one cell, with the seconds it took."""

    n: int
    judgements: tuple[Judgement, ...]
    behaviours: tuple[Behaviour, ...]
    seconds: float

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row a judgement, with its statistic's behaviour."""
        by_name = {b.statistic: dataclasses.asdict(b) for b in self.behaviours}
        return [
            {
                "n": self.n,
                **j.row(),
                **{k: v for k, v in by_name[j.statistic].items() if k != "statistic"},
            }
            for j in self.judgements
        ]


RESULTS = frozenset(
    {"distribution", "n", "status", "covered_by_group"}
    | {field.name for kind in (Judgement, Behaviour) for field in dataclasses.fields(kind)}
)
"""Names of the columns of results."""

COUNTS = ("covered", "below", "above", "invalid")
Series = tuple[str, str, float]
"""Statistic, label of the method, and level."""


MISSING = COUNTS.index("invalid")


class Outcomes(NamedTuple):
    """What became of an interval in every data set.

    ``outcome`` (R,) is a place in :data:`COUNTS`, ``shift`` (R,) the middle less the truth.
    """

    outcome: Any
    width: Any
    shift: Any


def outcomes(low: Any, high: Any, target: Any) -> Outcomes:
    """Hold bounds (R,), NaN where there are none, against the truth, one or one a data set (R,).

    Replicates are sums in float32; on a grid of values an interval often ends exactly at the truth, and holds it
    then. A bound may lie a hundred-thousandth of the width from the truth and still equal it: a ten-millionth of a
    continuous law's coverage is at stake.
    """
    xp = namespace(low, high)
    width = high - low
    touch = 1e-5 * xp.where(xp.isfinite(width), width, 0.0) + 1e-12 * xp.abs(target)
    side = xp.where(high < target - touch, 1, xp.where(low > target + touch, 2, 0))
    outcome = xp.where(xp.isnan(low) | xp.isnan(high), MISSING, side).astype(np.int8)
    with np.errstate(invalid="ignore"):  # the whole line has no middle
        return Outcomes(outcome, width, low / 2 + high / 2 - target)


class Tally:
    """Counts, widths and estimates of some groups of a cell: parts add up to the whole.

    ``counts`` (4,) per series and group are those of :data:`COUNTS`; ``widths`` are of the
    intervals that exist; ``shifts`` (2,) are the number of finite intervals and the sum of their shifts; ``estimates``
    are per statistic and group.
    """

    def __init__(self) -> None:
        self.counts: dict[Series, dict[int, np.ndarray]] = {}
        self.widths: dict[Series, dict[int, np.ndarray]] = {}
        self.shifts: dict[Series, dict[int, np.ndarray]] = {}
        self.estimates: dict[str, dict[int, np.ndarray]] = {}

    def add(self, series: Series, group: int, found: Outcomes) -> None:
        """Count the intervals of one group, all of them: sums do not depend on how it was simulated."""
        outcome, width, shift = map(np.asarray, found)
        finite = shift[np.isfinite(shift)].astype(np.float64)
        self.counts.setdefault(series, {})[group] = np.bincount(outcome, minlength=len(COUNTS))
        self.widths.setdefault(series, {})[group] = width[outcome != MISSING]
        self.shifts.setdefault(series, {})[group] = np.array([finite.size, finite.sum()])

    def estimated(self, statistic: str, group: int, estimates: np.ndarray) -> None:
        """Keep the estimates (Rg,) of one group."""
        self.estimates.setdefault(statistic, {})[group] = np.asarray(estimates, np.float64)

    @classmethod
    def merged(cls, parts: Iterable[Tally]) -> Tally:
        """Return the tally of all groups of ``parts``."""
        whole = cls()
        for part in parts:
            for table, own in zip(part._tables(), whole._tables(), strict=True):
                for key, groups in table.items():
                    own.setdefault(key, {}).update(groups)
        return whole

    def moved(self, by: int) -> Tally:
        """Return the tally with the numbers of all groups raised."""
        whole = Tally()
        for table, own in zip(self._tables(), whole._tables(), strict=True):
            own.update({key: {group + by: found for group, found in groups.items()} for key, groups in table.items()})
        return whole

    def _tables(self) -> tuple[dict[Any, dict[int, np.ndarray]], ...]:
        return self.counts, self.widths, self.shifts, self.estimates

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return arrays by name, as a file holds them."""
        return {
            f"{kind}\t{group}\t" + "\t".join(map(str, key if isinstance(key, tuple) else (key,))): array
            for kind, table in zip(("counts", "widths", "shifts", "estimates"), self._tables(), strict=True)
            for key, groups in table.items()
            for group, array in groups.items()
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Tally:
        """Return what :meth:`to_arrays` wrote."""
        whole = cls()
        for name, array in arrays.items():
            kind, group, *key = name.split("\t")
            if kind == "estimates":
                whole.estimates.setdefault(key[0], {})[int(group)] = array
            else:
                table = {"counts": whole.counts, "widths": whole.widths, "shifts": whole.shifts}[kind]
                table.setdefault((key[0], key[1], float(key[2])), {})[int(group)] = array
        return whole

    def judge(
        self, truths: Mapping[str, Truth], methods: Mapping[str, Mapping[str, Method | str]]
    ) -> tuple[tuple[Judgement, ...], tuple[Behaviour, ...]]:
        """Return what the counts say, group by group in their order; ``methods`` by statistic and label."""
        judgements, behaviours = [], []
        for name, groups in self.estimates.items():
            found = np.concatenate([groups[g] for g in sorted(groups)])
            defined = found[np.isfinite(found)]
            interdecile = float(np.subtract(*np.quantile(defined, [0.9, 0.1]))) if defined.size else math.nan
            mine = [
                self._judge(series, methods[name][series[1]], interdecile)
                for series in self.counts
                if series[0] == name
            ]
            judgements += mine
            behaviours.append(_behaviour(name, truths[name], found, defined, mine))
        return tuple(judgements), tuple(behaviours)

    def _judge(self, series: Series, method: Method | str, interdecile: float) -> Judgement:
        statistic, label, level = series
        groups = self.counts[series]
        counts = np.stack([groups[g] for g in sorted(groups)])
        widths = np.concatenate([self.widths[series][g] for g in sorted(groups)])
        finite = widths[np.isfinite(widths)]
        mean = float(np.mean(finite, dtype=np.float64)) if finite.size else math.nan
        shifts = np.stack([self.shifts[series][g] for g in sorted(groups)])
        shares = counts.sum(axis=0) / counts.sum()
        exists = shares[3] < 1
        covered, below, above = shares[:3] if exists else np.full(3, math.nan)
        return Judgement(
            statistic,
            method,
            level,
            float(covered),
            group_error(counts[:, 0], counts.sum(axis=1)) if exists else math.nan,
            float(below),
            float(above),
            float(shares[3]),
            mean,
            float(np.median(finite)) if finite.size else math.nan,
            mean / interdecile if interdecile > 0 else math.nan,
            label,
            np.stack([counts[:, 0], counts.sum(axis=1)]) if exists else None,
            "simulated",
            *mean_by_groups(*shifts.T),
        )


def group_error(covered: np.ndarray, sizes: np.ndarray) -> float:
    """Return the standard error of a coverage from the variance between groups (G,) of ``sizes`` data sets.

    With one group there is none; then the binomial error, a lower bound, is returned.
    """
    p, error = mean_by_groups(sizes, covered)
    return error if len(sizes) > 1 else math.sqrt(p * (1 - p) / sizes.sum())


def mean_by_groups(sizes: np.ndarray, sums: np.ndarray) -> tuple[float, float]:
    """Return a mean, and its standard error from the variance between groups of ``sizes`` (G,) values with ``sums``."""
    total = sizes.sum()
    if total == 0:
        return math.nan, math.nan
    mean, n_groups = float(sums.sum() / total), len(sizes)
    if n_groups < 2:
        return mean, math.nan
    return mean, float(root_sum_of_squares(sums - sizes * mean, n_groups / (n_groups - 1)) / total)


def flags_of(target: Truth, undefined: float, judgements: Sequence[Judgement], defined: np.ndarray) -> tuple[str, ...]:
    """Return what a reader of the cell must know."""
    flags = []
    if undefined > 0:
        flags.append(f"the statistic was undefined in {100 * undefined:.3g}% of the samples; they count as misses")
    widths = [j.mean_width for j in judgements if math.isfinite(j.mean_width)]
    if widths and target.error > 0.02 * min(widths):
        flags.append("the truth is simulated, and its error is not small against the width of the intervals")
    never = dict.fromkeys(j.label for j in judgements if j.invalid == 1 > undefined)
    if never:
        flags.append(f"there is no interval here by {', '.join(never)}")
    partly = [j for j in judgements if undefined + 1e-12 < j.invalid < 1]
    if partly:
        worst = max(partly, key=lambda j: j.invalid)
        flags.append(f"{100 * worst.invalid:.3g}% of the {worst.label} intervals do not exist; they count as misses")
    if defined.size > 1 and np.ptp(defined) == 0:
        flags.append("the estimate is the same in all samples")
    return tuple(flags)


def _behaviour(
    name: str, target: Truth, found: np.ndarray, defined: np.ndarray, judgements: Sequence[Judgement]
) -> Behaviour:
    undefined = 1 - defined.size / found.size
    bias = float(defined.mean()) - target.value if defined.size else math.nan
    spread = float(deviation(defined, ddof=1)) if defined.size > 1 else math.nan
    rmse = float(root_sum_of_squares(defined - target.value, 1 / defined.size)) if defined.size else math.nan
    flags = flags_of(target, undefined, judgements, defined)
    return Behaviour(name, target.value, target.error, bias, rmse, spread, undefined, flags)


def judged_row(
    statistic: str,
    method: str,
    level: float,
    n: int,
    sizes: Sequence[int],
    *,
    estimates: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    truths: np.ndarray,
    truth_error: float,
    shift: float = 0.0,
) -> dict[str, Any]:
    """Judge the intervals of one method where every data set has its own truth; arrays (R,) in groups of ``sizes``.

    ``truth_error`` is the standard error of the mean truth, ``shift`` that of an error which all truths share: half
    of what the coverage changes between truths moved down and up by it counts in the error of the coverage.

    Returns the row that a study of statistics has for a method, its flags as text.
    """
    tally = Tally()
    for group, part in enumerate(np.split(np.arange(len(truths)), np.cumsum(sizes)[:-1])):
        tally.add((statistic, method, level), group, outcomes(low[part], high[part], truths[part]))
        tally.estimated(statistic, group, estimates[part] - truths[part])
    judgements, behaviours = tally.judge({statistic: Truth(0.0, truth_error, "")}, {statistic: {method: method}})
    known = truths[np.isfinite(truths)]
    behaviour = dataclasses.replace(behaviours[0], truth=float(known.mean()) if known.size else math.nan)
    (row,) = CellResult(n, judgements, (behaviour,), math.nan).rows()
    moved = [np.mean(np.asarray(outcomes(low, high, truths + by).outcome) == 0) for by in (-shift, shift)]
    error = math.hypot(row["coverage_error"], float(np.subtract(*moved)) / 2)
    return {**row, "coverage_error": error, "flags": "; ".join(row["flags"])}
