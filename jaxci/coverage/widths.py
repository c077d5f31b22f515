"""Simulated widths of intervals at any number of rows, and the smallest number at which they are narrow enough."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from jaxci.coverage.cell import Cell, draw
from jaxci.coverage.running import simulate
from jaxci.coverage.tally import COUNTS, group_error
from jaxci.distributions import Cells, Distribution, Truth, observations
from jaxci.inference.choice import choose
from jaxci.inference.settings import N_RESAMPLES
from jaxci.inference.standings import Choice
from jaxci.intervals.base import Method, tails
from jaxci.intervals.sample_size import ROUNDING
from jaxci.statistics.base import Statistic
from jaxci.statistics.sample import Sample

PURPOSE_SAMPLES, PURPOSE_WIDTHS = 0, 1
JUDGES = 5
"""Samples of each size for which ``method="auto"`` is asked; the method that most of them get is simulated."""
MOST_JUDGED = 30_000
"""Rows of such a sample at most: the choice is the same for more."""
LEAST, FIRST = 2, 100
"""Units (rows or clusters) that are simulated at least, and first."""
LARGEST, LEAST_LARGEST = 4_000, 100
"""Rows, at most, that are simulated, and units in any case: from there on widths fall as the root of their number."""
MOST_TRIED = 20
"""Numbers of units, at most, that are simulated."""


class Widths(NamedTuple):
    """Widths of the intervals of simulated data sets of one size.

    Attributes
    ----------
    units, rows : int
        Independent units, and rows; the same where there are no clusters.
    choice : Choice
        The method and why.
    groups : list of arrays
        Widths by group of data sets that share a bank of resamples; infinite where there is no interval.
    covered : (2, G) array
        Data sets of every group whose interval holds the truth, and all of the group.
    simulated : int
        Units of the data sets that were simulated; fewer than ``units`` where widths are extrapolated.
    """

    units: int
    rows: int
    choice: Choice
    groups: list[np.ndarray]
    covered: np.ndarray
    simulated: int

    @property
    def all(self) -> np.ndarray:
        """Widths of all data sets."""
        return np.concatenate(self.groups)

    @property
    def mean(self) -> float:
        """Mean width of the intervals that exist; infinite where fewer than half do."""
        found = self.all[np.isfinite(self.all)]
        return float(found.mean()) if 2 * found.size >= self.all.size else math.inf

    @property
    def error(self) -> float:
        """Standard error of the mean width: from the variance between groups, at least that of independent widths."""
        found = [group[np.isfinite(group)] for group in self.groups if np.isfinite(group).any()]
        if len(found) < 2:
            return math.nan
        every = np.concatenate(found)
        means = [float(group.mean()) for group in found]
        between, within = np.std(means, ddof=1) / math.sqrt(len(means)), np.std(every, ddof=1) / math.sqrt(every.size)
        return float(max(between, within))

    def assurance(self, width: float) -> tuple[float, float]:
        """Return the share of data sets whose interval is at most ``width``, with its standard error."""
        met = np.array([np.count_nonzero(group <= width * (1 + ROUNDING)) for group in self.groups])
        sizes = np.array(list(map(len, self.groups)))
        return share_of(met, sizes)

    @property
    def coverage(self) -> tuple[float, float]:
        """Return the share of data sets whose interval holds the truth, with its standard error."""
        held, sizes = self.covered
        return share_of(held, sizes)

    def value(self, assurance: float | None) -> float:
        """Return what must not exceed the width asked for: the mean, or the quantile that gives the assurance."""
        if assurance is None:
            return self.mean
        return float(np.quantile(self.all, assurance, method="inverted_cdf"))

    def extrapolated(self, units: int, rows: int) -> Widths:
        """Return the widths at a larger number of units: means fall as its root, deviations from them as itself."""
        ratio, mean = math.sqrt(self.units / units), self.mean
        groups = [mean * ratio + (group - mean) * ratio**2 for group in self.groups]
        return self._replace(units=units, rows=rows, groups=groups)


def share_of(counts: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """Return a share of data sets in groups (G,), and its standard error between groups, at least the binomial one.

    A few groups tell little of their variance, and banks that data sets share only add to that of independent ones.
    """
    share = float(counts.sum() / sizes.sum())
    return share, max(group_error(counts, sizes), math.sqrt(share * (1 - share) / sizes.sum()))


@dataclasses.dataclass
class WidthStudy:
    """Simulates the intervals of one statistic at one number of units after another, each once.

    Attributes
    ----------
    name : str
    statistic : Statistic
    truth : Truth
    law_of : callable
        The distribution whose samples have a number of units (clusters, or rows).
    cluster_size : int
        Rows of a unit.
    method : Method or None
        None for that of ``method="auto"`` at each size.
    level : float
    n_replications, n_resamples : int
    key : JAX key
    """

    name: str
    statistic: Statistic
    truth: Truth
    law_of: Callable[[int], Distribution]
    cluster_size: int
    method: Method | None
    level: float
    n_replications: int
    n_resamples: int
    key: jax.Array
    progress: Callable[[int, int], None] | None = None
    seen: dict[int, Widths] = dataclasses.field(default_factory=dict)

    @property
    def largest(self) -> int:
        """The largest number of units that is simulated."""
        return max(LEAST_LARGEST, LARGEST // self.cluster_size)

    def at(self, units: int) -> Widths:
        """Return the widths at a number of units; beyond the largest those there, extrapolated."""
        if units > self.largest:
            return self.at(self.largest).extrapolated(units, units * self.cluster_size)
        if units not in self.seen:
            self.seen[units] = self._simulated(units)
            if self.progress is not None:
                self.progress(len(self.seen), MOST_TRIED)
        return self.seen[units]

    def _simulated(self, units: int) -> Widths:
        rows, law = units * self.cluster_size, self.law_of(units)
        choice = self._choice(law, rows)
        n_groups = max(2, min(40, self.n_replications // 25))
        cell = Cell(
            law,
            rows,
            {self.name: self.statistic},
            [choice.method],
            [self.level],
            self.n_replications,
            self.n_resamples,
            n_groups,
        )
        key = jax.random.fold_in(self.key, PURPOSE_WIDTHS)
        tally = simulate(cell, key, {self.name: self.truth})
        ((series, counts),) = tally.counts.items()
        found, sizes = [], [int(one.sum()) for _, one in sorted(counts.items())]
        for group, size in enumerate(sizes):
            widths = tally.widths[series][group]
            found.append(np.concatenate([widths, np.full(size - len(widths), math.inf)]))
        held = [int(one[COUNTS.index("covered")]) for _, one in sorted(counts.items())]
        return Widths(units, rows, choice, found, np.array([held, sizes]), units)

    def _choice(self, law: Distribution, rows: int) -> Choice:
        if self.method is not None:
            return Choice(self.method, "asked for")
        return auto_choice(self.statistic, law, rows, self.level, jax.random.fold_in(self.key, PURPOSE_SAMPLES))


def auto_choice(statistic: Statistic, law: Distribution, n: int, level: float, key: jax.Array) -> Choice:
    """Return what ``method="auto"`` takes for most samples of n rows from a law; of a table, for the expected one."""
    n = min(n, MOST_JUDGED)
    samples = [_expected_rows(law, n)] if isinstance(law, Cells) else _drawn(law, n, key)
    with jax.enable_x64(True):
        found = [choose(statistic, law.layout(n), N_RESAMPLES, tails(level), sample) for sample in samples]
    most = Counter(choice.method for choice in found).most_common(1)[0][0]
    return next(choice for choice in found if choice.method == most)


def _drawn(law: Distribution, n: int, key: jax.Array) -> list[Sample]:
    drawn = draw(law, key, 0, JUDGES, n)
    return [observations(law, jax.tree.map(lambda x, i=i: x[i], drawn)) for i in range(JUDGES)]


def _expected_rows(law: Cells, n: int) -> Sample:
    """Return n rows of true and predicted classes whose table is the expected one, rounded by largest remainders."""
    exact = n * np.asarray(law.table).ravel()
    counts = np.floor(exact + 1e-9).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
    true, predicted = np.divmod(np.repeat(np.arange(len(counts), dtype=np.int32), counts), np.int32(law.n_classes))
    return Sample(y_true=true, y_pred=predicted, columns=(true, predicted), n_classes=law.n_classes)


def smallest_units(study: WidthStudy, width: float, assurance: float | None, most: int) -> Widths | None:
    """Return the widths at the smallest number of units that is narrow enough, found by secants on log scales.

    The mean width is at most ``width``, or a share of ``assurance`` of the widths. The search ends where the number
    below is not enough, or so near that the error of the simulation hides the difference.

    Returns
    -------
    Widths or None
        None where ``most`` units are not enough.
    """
    low, high = LEAST - 1, most + 1
    units, values = max(LEAST, min(FIRST, most)), dict[int, float]()
    for _ in range(MOST_TRIED):
        values[units] = study.at(units).value(assurance)
        if values[units] <= width * (1 + ROUNDING):
            high = min(high, units)
        else:
            low = max(low, units)
        slack = _slack(study, min(high, most))
        if high - low <= max(1, slack):
            break
        guess = _root(values, width)
        if guess >= high:
            guess = high - max(1, slack)
        if guess <= low:
            guess = low + max(1, slack)
        units = min(max(guess, low + 1), high - 1, most)
    return study.at(high) if high <= most else None


def _slack(study: WidthStudy, units: int) -> int:
    """Return by how many units the error of the mean width near a number of units moves the answer."""
    if units not in study.seen:
        return 0
    found = study.seen[units]
    return int(2 * units * found.error / found.mean) if math.isfinite(found.mean) and found.error > 0 else 0


def _root(values: dict[int, float], width: float) -> int:
    """Return where the widths by number of units are expected to cross ``width``."""
    known = sorted((abs(math.log(value / width)), n, value) for n, value in values.items() if 0 < value < math.inf)
    if not known:
        return 4 * max(values)
    _, n, value = known[0]
    slope = -0.5
    if len(known) > 1:
        _, other, its = known[1]
        found = math.log(its / value) / math.log(other / n)
        slope = min(max(found, -2.0), -0.25)
    return math.ceil(min(n * math.exp(min(math.log(width / value) / slope, 20.0)), 1e12))
