"""What every statistic promises: a value as a function of observation weights.

A resample is a row of counts, so a statistic never sees moved data: it is prepared once
from a :class:`Sample` on the host and then evaluated for any vector of non-negative
weights ``w`` (shape ``(n,)``; counts, Dirichlet weights, jackknife zeros, case weights).
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.resampling.kernels import in_batches, in_blocks, sum_dtype
from jaxci.resampling.ranked import spread
from jaxci.special import namespace
from jaxci.statistics.sample import PseudoUnits, Sample
from jaxci.statistics.sums import Bank, Cells

ROWS_AT_A_TIME = 256
"""Resamples of a bank on which a statistic without a road of its own is evaluated together."""
WEIGHTS_AT_A_TIME = 2**22
"""Weights on which a ranked statistic is evaluated together."""


class Statistic(abc.ABC):
    """A real-valued function of weighted observations.

    Leaves are frozen :func:`~jaxci.records.record` dataclasses. Class attributes:

    - ``task``: ``"values"``, ``"binary"``, ``"multiclass"`` (which includes binary) or ``"regression"``;
    - ``inputs``: the :class:`Sample` fields it reads;
    - ``smooth``: whether the value is differentiable in the weights;
    - ``bounds``: the range of the estimand;
    - ``loss``: whether smaller is better;
    - ``needs_probabilities``: whether ``y_score`` must hold probabilities;
    - ``of_law``: whether the value depends on the weighted distribution alone, not on the number of rows;
    - ``averages_classes``: whether it averages over classes;
    - ``has_extremes``: whether it knows what the unseen could be at worst (:class:`ExtremeStatistic`);
    - ``reads_sorted``: whether what it reads of a bank must have rows in the order of its sort keys;
    - ``relative_to_target``: whether errors are divided by the targets;
    - ``cuts_probabilities``: whether a row whose class has probability 0 counts as one of a little more;
    - ``correlates_ranks``: whether it is a correlation of ranks;
    - ``together``: whether replicates of many data sets are products or gathers, best computed together;
    - ``walks``: whether replicates are sums along the rows, which an accelerator takes for many data sets together;
    - ``least_n``: the size below which studies found too little coverage, and of what.

    How a resample reaches it is said by the typed base it derives from: :class:`MomentStatistic`,
    :class:`TableStatistic`, :class:`~jaxci.statistics.order.OrderStatistic`, :class:`RankedStatistic`,
    or none of them. Every base gives :meth:`replicates`.
    """

    task: ClassVar[str]
    inputs: ClassVar[tuple[str, ...]]
    smooth: ClassVar[bool] = True
    of_law: ClassVar[bool] = True
    averages_classes: ClassVar[bool] = False
    least_n: ClassVar[tuple[int, str] | None] = None
    absent_class: Any = None
    has_extremes: ClassVar[bool] = False
    reads_sorted: ClassVar[bool] = False
    relative_to_target: ClassVar[bool] = False
    cuts_probabilities: ClassVar[bool] = False
    correlates_ranks: ClassVar[bool] = False
    together: ClassVar[bool] = False
    walks: ClassVar[bool] = False
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    loss: ClassVar[bool] = False
    needs_probabilities: ClassVar[bool] = False

    @abc.abstractmethod
    def prepare(self, sample: Sample) -> Any:
        """Turn observations into what :meth:`value` reads: a pytree of float64 / int32 arrays (host)."""

    def prepare_weighted(self, sample: Sample, weights: np.ndarray) -> Any:
        """Return :meth:`prepare` of rows of importance ``weights`` (n,), for statistics that read their squares."""
        return self.prepare(sample)

    @abc.abstractmethod
    def value(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Return the statistic (a scalar, NaN where undefined) under ``weights`` (n,)."""

    def absent(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Whether a class of the full sample has no weight (a scalar boolean)."""
        return jnp.zeros((), bool)

    def sort_keys(self, sample: Sample) -> np.ndarray | None:
        """Row order (n,) in which :meth:`prepare` needs no gather per resample, if there is one."""
        return None

    @property
    def described(self) -> str:
        """What a table calls the statistic where it has no registered name."""
        return repr(self)

    def settled(self, n_classes: int) -> Statistic:
        """Return the statistic with what it leaves to the number of classes decided."""
        return self

    def of_class(self, index: int) -> Statistic | None:
        """Return the statistic of one class against the rest; None where there is no such thing."""
        return None

    @property
    def against_rest(self) -> tuple[Statistic, int] | None:
        """The same score of two classes, where it is that of one class of several, and that class; None of others."""
        return None

    @property
    def of_rows(self) -> Statistic:
        """The statistic of rows that are all known, where this one reads what was kept of them."""
        return self

    def scaling(self, prepared: Any) -> Scaling:
        """Return the map from the core, which :meth:`replicates` gives, to the statistic: the identity."""
        return Scaling(0.0, 1.0)

    def shared(self, bank: Bank) -> Any:
        """Return what all data sets of one size read of a bank; none of it depends on the data."""
        return bank.rows

    def replicates(self, prepared: Any, shared: Any) -> jax.Array:
        """Return the core (B,) of the statistic on every resample of the bank."""
        return in_batches(functools.partial(self.value, prepared), shared, ROWS_AT_A_TIME)


class ExtremeStatistic(Statistic):
    """A statistic that knows what rows that were not seen could be at worst, unless ``has_extremes`` is False."""

    has_extremes = True

    @abc.abstractmethod
    def pseudo_masses(self, n_classes: int) -> tuple[float, ...]:
        """Return the mass of each pseudo-unit as a multiple of the method's."""

    @abc.abstractmethod
    def posterior(self, prepared: Any, shared: Any, unseen: PseudoUnits, whole: Any) -> jax.Array:
        """Return the core (B,) on every resample of a bank joined by ``unseen``.

        ``whole`` (U,) are the weights of the data.
        """


class OpposedStatistic(ExtremeStatistic):
    """A statistic that knows on which rows two models differ most."""

    @abc.abstractmethod
    def opposed_rows(self, sample: Sample) -> tuple[Sample, np.ndarray]:
        """Return rows on which one model is right and the other as wrong as it can be, and what they weigh (host).

        ``sample`` holds the predictions of both models, and so do the rows; for each there is one with the models
        changed.
        """


@record
class Scaling:
    """A statistic is ``offset + scale * core``, or the root of that where ``root``.

    The core is of order one whatever the units of the data and lies around 0 or 1, so replicates of it keep
    their digits in single precision.
    """

    offset: Any
    scale: Any
    root: bool = static(default=False)

    def __call__(self, core: Any) -> Any:
        """Return the statistic for ``core``, an array of the shape of ``offset`` or with one more axis."""
        value = self.offset + self.scale * core
        return square_root(value) if self.root else value


def square_root(x: jax.Array, noise: float | jax.Array = 0.0) -> jax.Array:
    """Return the root of ``x``; 0 with a zero gradient where ``x <= noise``."""
    zero = x <= noise
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, x)))


class RankedStatistic(Statistic):
    """A function of weighted ranks: rows are sorted once, and a resample reaches it in that order."""

    bounds = (0.0, 1.0)

    def shared(self, bank: Bank) -> Any:
        """Return the bank by observation (n, B)."""
        return bank.by_observation

    def each(self, prepared: Any, bank_t: jax.Array) -> jax.Array:
        """Return :meth:`value` under every column of ``bank_t`` (n, B), in batches of resamples."""
        weights = spread(bank_t).T.astype(sum_dtype(bank_t))
        most = max(1, WEIGHTS_AT_A_TIME // weights.shape[1])
        return in_batches(functools.partial(self.value, prepared), weights, most)

    def replicates(self, prepared: Any, shared: Any) -> jax.Array:
        """Return the statistic (B,) on every resample of a bank by observation (n, B)."""
        return self.each(prepared, shared)


class LinearStatistic(Statistic):
    """A function of weighted sums, which :meth:`from_sums` reads.

    Moments read the total weight and sums of per-observation features; cells read a weighted table of
    counts. ``prepared`` is :class:`Features` or :class:`Cells`. ``from_sums`` must be invariant to the scale of
    the sums (it divides by the total weight itself).
    """

    @abc.abstractmethod
    def core(self, prepared: Any, sums: jax.Array) -> jax.Array:
        """Return the core (...) of the statistic (:meth:`scaling`) from ``sums`` (k, ...), one or many of each."""

    def from_sums(self, prepared: Any, sums: jax.Array) -> jax.Array:
        """Return the statistic from ``sums`` (k,)."""
        return self.scaling(prepared)(self.core(prepared, sums))

    def absent_in_sums(self, prepared: Any, sums: jax.Array) -> jax.Array:
        """Like :meth:`absent`, from ``sums`` (k,)."""
        return jnp.zeros((), bool)

    def replicates(self, prepared: Any, shared: Bank) -> jax.Array:
        """Return the core (B,) from the sums of every resample."""
        return cores([self], prepared, prepared.bank_sums(shared))[0]

    def value(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Return the statistic under ``weights`` (n,)."""
        return self.from_sums(prepared, prepared.sums(weights))

    def absent(self, prepared: Any, weights: jax.Array) -> jax.Array:
        """Whether a class of the full sample has no weight."""
        return self.absent_in_sums(prepared, prepared.sums(weights))


class MomentStatistic(LinearStatistic):
    """A smooth function of weighted means of features.

    ``sums[0]`` is the total weight, the others are weighted sums of the features.
    """

    together = True

    def shared(self, bank: Bank) -> Bank:
        """Return the bank without the forms that sums of features do not read."""
        unread: dict[str, Any] = {"columns": None} if bank.by_rows else {"rows": None}
        return dataclasses.replace(bank, cumulative=None, **unread)


class Shares(NamedTuple):
    """Proportions of K groups of rows, with their weights and scores in a mean, (K, ...) each.

    A score is the proportion p itself, or ``w p / (1 - p + w p)`` of it where a success weighs w (``odds``), or what
    stands for it in the mean where there are no trials. Groups that share no row are independent; the estimates of
    others are correlated (``correlations`` (..., K, K)). Of rows that are weighted or in clusters the trials are those
    of equal weight that tell as much; in clusters variances of the proportions have ``degrees`` of freedom (..., K),
    and of others ``weighing`` says how rows weigh.
    """

    successes: Any
    trials: Any
    weights: Any
    scores: Any
    odds: Any = None
    correlations: Any = None
    degrees: Any = None
    weighing: Any = None

    def score_of(self, share: Any) -> tuple[Any, Any]:
        """Return the score that goes with a proportion, and its derivative."""
        if self.odds is None:
            return share, 1.0
        whole = 1 - share + self.odds * share
        return self.odds * share / whole, self.odds / whole**2

    def root_of_squares(self, apart: Any) -> Any:
        """Return the root of the sum of squares of what each group adds (..., K), correlated as the groups are."""
        xp = namespace(apart)
        if self.correlations is None:
            return xp.sqrt(xp.sum(apart**2, axis=-1))
        return xp.sqrt(xp.sum(apart * xp.matmul(self.correlations, apart[..., None])[..., 0], axis=-1))

    @property
    def standard_error(self) -> Any:
        """Standard error (...) of the mean, the groups along the last axis."""
        xp = namespace(self.successes)
        trials = xp.where(self.trials > 0, self.trials, 1.0)
        share = self.successes / trials
        slope = self.score_of(share)[1]
        return self.root_of_squares(self.weights * slope * xp.sqrt(share * (1 - share) / trials))


class CountRatio(NamedTuple):
    """A ratio ``odds H / (odds H + M)`` of whole numbers of rows: H hits and M misses, (...) each.

    ``undefined`` is what 0/0 counts as, NaN for nothing.
    """

    hits: Any
    misses: Any
    odds: float
    undefined: float


class TableStatistic(LinearStatistic):
    """A function of the counts of a finite table: one sum a cell.

    ``core`` takes sums (C, ...): further axes run over tables, which lie next to each other.
    """

    def shared(self, bank: Bank) -> Bank:
        """Return what the counts are read from: rows of a bank of counts are exchangeable."""
        return dataclasses.replace(bank, rows=None, columns=None) if bank.counts or bank.exchangeable else bank

    @property
    def is_proportion(self) -> bool:
        """Whether the statistic is a proportion of independent rows, which :meth:`successes` counts, or tells of one.

        In the second case ``share`` names the proportion, and the statistic increases with it (:meth:`of_share`).
        """
        return False

    @property
    def share(self) -> str | None:
        """The proportion that the statistic is a function of; None where it is the proportion itself."""
        return None

    def of_share(self, share: Any) -> Any:
        """Return the statistic where the proportion is ``share``, and its derivative."""
        return share, 1.0

    @property
    def has_fixed_trials(self) -> bool:
        """Whether the trials of the proportion are all rows, so that a resample cannot change them."""
        return False

    trials_by_truth: ClassVar[bool] = False
    """Whether the trials, of the proportion or of those averaged, are all rows of a true class or all but those."""

    trials_by_prediction: ClassVar[bool] = False
    """Whether the trials, of the proportion or of those averaged, are all rows predicted as a class."""

    averages_hits: ClassVar[bool] = False
    """Whether it is the plain mean over classes of scores that are 0 without a right prediction."""

    scores_absent_classes: ClassVar[bool] = False
    """Whether rows that lack a class have another value by a convention, which says nothing of the model."""

    def shares(self, table: jax.Array) -> Shares | None:
        """Return the proportions of rows that the statistic is a mean of, or of functions of; None if it is none."""
        return None

    @property
    def averages_shares(self) -> bool:
        """Whether the statistic is a mean of proportions, or of functions of them: :meth:`shares` counts them."""
        return self.averages_proportions

    @property
    def averages_proportions(self) -> bool:
        """Whether the statistic is a mean of independent proportions."""
        return False

    @property
    def averages_precision(self) -> bool:
        """Whether it averages, over classes, shares of the rows that are predicted as each."""
        return self.trials_by_prediction and self.averages_classes and not self.has_fixed_trials

    @property
    def absent_share(self) -> float | None:
        """What a share counts that has no trials, NaN for nothing; None where more than its trials decides."""
        return None

    def successes(self, table: jax.Array) -> tuple[jax.Array, jax.Array] | None:
        """Return (successes, trials) of a proportion of independent rows; None if there is none.

        Trials of a precision, recall, specificity, NPV, Jaccard index or F1 are the rows that the metric conditions
        on, so they may be 0.
        """
        return None

    @property
    def is_count_ratio(self) -> bool:
        """Whether the statistic, of every resample, is a ratio of counts of rows: :meth:`count_ratio`."""
        return False

    def count_ratio(self, table: jax.Array) -> CountRatio | None:
        """Return the hits and misses whose ratio the statistic is; None if it is none."""
        return None

    @property
    def is_ratio(self) -> bool:
        """Whether the statistic is a ratio of two sums over rows (:meth:`terms`), the lower one not negative."""
        return self.has_fixed_trials

    undefined: ClassVar[float] = math.nan
    """What a ratio 0/0 counts as; NaN for nothing."""

    def terms(self, table: jax.Array) -> tuple[jax.Array, jax.Array] | None:
        """Return the sums, linear in the table, whose ratio the statistic is; None if it is none."""
        return self.successes(table) if self.has_fixed_trials else None

    def counted_in_cells(self, prepared: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return how many successes and trials of a proportion a row of each observed cell (C,) is (host)."""
        return _of_observed(counted_in_table(self, shape=prepared.shape), prepared)

    def ratio_in_cells(self, prepared: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return how many hits and misses of a ratio of counts a row of each observed cell (C,) is (host)."""
        return _of_observed(ratio_in_table(self, shape=prepared.shape), prepared)

    def terms_in_cells(self, prepared: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return what a row of each observed cell (C,) adds to both sums of a ratio (host)."""
        return _of_observed(terms_in_table(self, shape=prepared.shape), prepared)


def _of_observed(of_table: jax.Array, prepared: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Return both numbers of every observed cell (C,); padding cells count nothing."""
    first, second = np.pad(np.asarray(of_table).reshape(2, -1), ((0, 0), (0, 1)))[:, prepared.cells]
    return first, second


@functools.partial(jax.jit, static_argnames="shape")
def counted_in_table(statistic: Any, *, shape: tuple[int, ...]) -> jax.Array:
    """Return the successes and trials (2, *shape) of a row of each cell: their numbers are linear in the table."""
    return jax.jacrev(lambda table: jnp.stack(statistic.successes(table)))(jnp.ones(shape))


@functools.partial(jax.jit, static_argnames="shape")
def ratio_in_table(statistic: Any, *, shape: tuple[int, ...]) -> jax.Array:
    """Return the hits and misses (2, *shape) of a row of each cell: their numbers are linear in the table."""
    return jax.jacrev(lambda table: jnp.stack(statistic.count_ratio(table)[:2]))(jnp.ones(shape))


@functools.partial(jax.jit, static_argnames="shape")
def terms_in_table(statistic: Any, *, shape: tuple[int, ...]) -> jax.Array:
    """Return what a row of each cell adds to both sums of a ratio (2, *shape): they are linear in the table."""
    return jax.jacrev(lambda table: jnp.stack(statistic.terms(table)))(jnp.ones(shape))


def cores(statistics: Sequence[LinearStatistic], prepared: Any, sums: jax.Array) -> list[jax.Array]:
    """Return the core (B,) of linear statistics of one source from its ``sums`` (k, B).

    Tables are evaluated together, so that the compiler sees what statistics have in common.
    """
    known = prepared.without_rows()
    if all(isinstance(statistic, TableStatistic) for statistic in statistics):
        return list(in_blocks(lambda part: tuple(s.core(known, part) for s in statistics), sums))
    return [statistic.core(known, sums) for statistic in statistics]


def is_proportion(statistic: Statistic) -> bool:
    """Whether the statistic is a proportion of independent rows, or an increasing function of one."""
    return isinstance(statistic, TableStatistic) and statistic.is_proportion


def is_ratio(statistic: Statistic) -> bool:
    """Whether the statistic is a ratio of two sums over rows of a table."""
    return isinstance(statistic, TableStatistic) and statistic.is_ratio


def has_fixed_trials(statistic: Statistic) -> bool:
    """Whether the statistic is a share of all rows."""
    return isinstance(statistic, TableStatistic) and statistic.has_fixed_trials
