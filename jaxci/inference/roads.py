"""How a group of simulated data sets reaches its bootstrap distributions: one shared bank a group.

A road turns draws of Rg data sets of n observations, and a bank ``W`` (B + 1, n) of counts,
into :class:`~jaxci.intervals.base.Evidence` with a leading axis of length Rg. The last row of
the bank is all ones: the estimate comes out of the same arithmetic as the replicates, so that
ties with it, which BCa counts half, are seen. Moments and
L-statistics are matrix products, the order statistics of odd samples have a fixed law over
ranks, the AUC is a bilinear form, everything else is evaluated data set by data set.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from jaxci.inference.sharding import Spread
from jaxci.intervals.base import Evidence
from jaxci.resampling.laws import BootstrapDistribution, Drawn, RankLaw
from jaxci.statistics.base import Cells, Features, LinearStatistic, Sample, Statistic
from jaxci.statistics.ranking import RocAuc
from jaxci.statistics.summary import Mean, OrderStatistic, SecondMoment, ValueOrderStatistic

Draws = dict[str, np.ndarray]
THREADS = min(8, os.cpu_count() or 1)
"""Threads that sort rows on a CPU."""


class Need(NamedTuple):
    """What the methods of a cell read beyond replicates."""

    replicates: bool
    acceleration: bool
    standard_error: bool


def sort_rows(x: Any) -> np.ndarray:
    """Sort along the last axis: on the device that holds ``x``, or in threads on the host for a CPU."""
    if isinstance(x, jax.Array) and next(iter(x.devices())).platform != "cpu":
        return np.asarray(jnp.sort(x, axis=-1))
    x = np.array(x)
    parts = np.array_split(x, THREADS) if x.size > 2**16 else [x]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda part: part.sort(axis=-1), parts))
    return x


def replicates_around(estimate: np.ndarray, values: jax.Array, scale: np.ndarray) -> Drawn:
    """Return distributions around ``estimate`` (Rg,) from float32 ``values`` (Rg, B + 1), the last at the data.

    Differences within 1e-6 of ``scale`` (Rg,) are rounding and become exact ties.
    """
    return Drawn(sort_rows(_apart(values, jnp.asarray(1e-6 * scale, jnp.float32))), estimate)


@jax.jit
def _apart(values: jax.Array, rounding: jax.Array) -> jax.Array:
    apart = values[:, :-1] - values[:, -1:]
    return jnp.where(jnp.abs(apart) <= rounding[:, None], 0.0, apart)


def tied_replicates(values: Any) -> tuple[np.ndarray, Drawn]:
    """Return estimates and distributions from ``values`` (Rg, B + 1) that are exact functions of counts."""
    values = np.asarray(values)
    return values[:, -1].astype(np.float64), Drawn(sort_rows(values[:, :-1]))


class Road:
    """Evidence for one statistic from groups of data sets of n observations."""

    def __init__(self, statistic: Statistic, n: int, need: Need, spread: Spread):
        self.statistic, self.n, self.need, self.spread = statistic, n, need, spread

    @property
    def uses_bank(self) -> bool:
        """Whether :meth:`evidence` reads a bank."""
        return self.need.replicates

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence for every data set of ``draws``; arrays (Rg, n, ...)."""
        raise NotImplementedError


def _product(x: jax.Array, bank: jax.Array) -> jax.Array:
    """(Rg, n) by (B, n): weighted sums (Rg, B)."""
    return jnp.matmul(x, bank.T, precision=jax.lax.Precision.HIGHEST)


class MeanRoad(Road):
    """Means of per-row values, and their square roots."""

    def row_values(self, draws: Draws) -> np.ndarray:
        """Averaged value of every row (Rg, n)."""
        if isinstance(self.statistic, Mean):
            return draws["values"]
        shape = draws["y_true"].shape
        flat: dict[str, Any] = {k: v.reshape(-1, *v.shape[2:]) for k, v in draws.items()}
        classes = int(flat["y_true"].max()) + 1 if flat["y_true"].dtype.kind == "i" else 0
        sample = Sample(**flat, n_classes=max(classes, 2) if classes else 0)
        return np.asarray(self.statistic.row_values(sample)).reshape(shape)  # type: ignore[attr-defined]

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence from one product."""
        values = self.row_values(draws)
        centre = values.mean(axis=1)
        apart = values - centre[:, None]
        root = getattr(self.statistic, "link", "identity") == "sqrt"
        spread = np.sum(apart**2, axis=1)
        error = np.sqrt(spread) / self.n
        with np.errstate(invalid="ignore", divide="ignore"):
            acceleration = np.sum(apart**3, axis=1) / (6 * spread**1.5)
            if root:
                error = error / (2 * np.sqrt(centre))
        law: BootstrapDistribution | None = None
        if bank is not None:
            sums = self.spread(_product, jnp.asarray(apart / self.n, jnp.float32), bank)
            law = replicates_around(centre, sums, np.max(np.abs(apart), axis=1))
            if root:
                law = dataclasses.replace(law, root=True)
        return Evidence(
            statistic=self.statistic,
            estimate=np.sqrt(centre) if root else centre,
            n=self.n,
            values=values,
            standard_error=error,
            acceleration=acceleration,
            distribution=law,
            core=np.zeros(len(values)),
        )


class VarianceRoad(Road):
    """Variance and standard deviation (ddof 0) of values."""

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence from two products."""
        values = draws["values"]
        apart = values - values.mean(axis=1, keepdims=True)
        variance = np.mean(apart**2, axis=1)
        slope = apart**2 - variance[:, None]
        is_root = self.statistic.from_sums(Features(None), jnp.array([1.0, 0.0, 4.0])) < 3  # type: ignore[attr-defined]
        spread = np.sum(slope**2, axis=1)
        error = np.sqrt(spread) / self.n
        with np.errstate(invalid="ignore", divide="ignore"):
            acceleration = np.sum(slope**3, axis=1) / (6 * spread**1.5)
            if is_root:
                error = error / (2 * np.sqrt(variance))
        law = None
        if bank is not None:
            unit = np.maximum(variance, 1e-300)
            ratios = self.spread(_variances, jnp.asarray(apart / np.sqrt(unit)[:, None], jnp.float32), bank)
            around = replicates_around(np.ones(len(values)), ratios, np.ones(len(values)))
            law = Drawn(around.ordered, variance, variance, root=bool(is_root))
        return Evidence(
            statistic=self.statistic,
            estimate=np.sqrt(variance) if is_root else variance,
            n=self.n,
            standard_error=error,
            acceleration=acceleration,
            distribution=law,
            core=np.zeros(len(values)),
        )


def _variances(x: jax.Array, bank: jax.Array) -> jax.Array:
    n = x.shape[1]
    mean = _product(x, bank) / n
    return jnp.maximum(_product(x * x, bank) / n - mean * mean, 0)


class OrderRoad(Road):
    """Linear functions of the sorted values: coefficients of the bank, one product."""

    def __init__(self, statistic: OrderStatistic, n: int, need: Need, spread: Spread):
        super().__init__(statistic, n, need, spread)
        with jax.enable_x64(True):
            ones = jnp.ones(n)
            self.whole = np.asarray(statistic.coefficients(ones))
            self.left_out = np.asarray(jax.vmap(statistic.coefficients)(1.0 - jnp.eye(n)))
            self.slopes = np.asarray(jax.jacfwd(statistic.coefficients)(ones)) if statistic.smooth else None
        self.rank = self._single_rank()

    def _single_rank(self) -> int | None:
        """Rank (from 0) if the statistic is one order statistic of every resample of n."""
        if not hasattr(self.statistic, "q"):
            return None
        rank = (self.n - 1) * float(self.statistic.q)
        return round(rank) if abs(rank - round(rank)) < 1e-9 else None

    @property
    def uses_bank(self) -> bool:
        """A single order statistic has an exact law."""
        return self.need.replicates and self.rank is None

    def _law_of_rank(self) -> np.ndarray:
        """``P(X*(k) <= x_(i)) = P(Binomial(n, i/n) >= k)`` for every i (n,)."""
        i = np.arange(1, self.n + 1)
        assert self.rank is not None
        return special.betainc(self.rank + 1, self.n - self.rank, i / self.n)

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence from sorted values."""
        statistic = self.statistic
        assert isinstance(statistic, OrderStatistic)
        if isinstance(statistic, ValueOrderStatistic):
            values = draws["values"]
        else:
            values = np.abs(draws["y_true"] - draws["y_pred"])
        ordered = np.sort(values, axis=1)
        middle = ordered[:, self.n // 2 : self.n // 2 + 1]
        apart = ordered - middle
        estimate = apart @ self.whole + statistic.mass * middle[:, 0]
        acceleration = error = None
        if statistic.smooth:
            slope = apart @ self.slopes
            spread = np.sum(slope**2, axis=1)
            error = np.sqrt(spread)
            with np.errstate(invalid="ignore", divide="ignore"):
                acceleration = np.sum(slope**3, axis=1) / (6 * spread**1.5)
        elif self.need.acceleration:
            left = apart @ self.left_out.T
            away = left.mean(axis=1, keepdims=True) - left
            spread = np.sum(away**2, axis=1)
            scale = np.max(np.abs(left), axis=1)
            flat = spread <= self.n * (1e-14 * scale) ** 2
            acceleration = np.where(flat, np.nan, np.sum(away**3, axis=1) / (6 * np.where(flat, 1, spread) ** 1.5))
        law: BootstrapDistribution | None = None
        if self.need.replicates and self.rank is not None:
            law = RankLaw(ordered, self._law_of_rank())
        elif bank is not None:
            coefficients = self.spread(_bank_coefficients, bank, statistic)
            sums = self.spread(_product, jnp.asarray(apart, jnp.float32), coefficients)
            law = replicates_around(estimate, sums, np.max(np.abs(apart), axis=1))
        return Evidence(
            statistic=statistic,
            estimate=estimate,
            n=self.n,
            values=ordered,
            standard_error=error,
            acceleration=acceleration,
            distribution=law,
            core=np.zeros(len(values)),
        )


def _bank_coefficients(bank: jax.Array, statistic: OrderStatistic) -> jax.Array:
    return jax.lax.map(statistic.coefficients, bank, batch_size=max(1, 2**17 // bank.shape[1]))


class CellRoad(Road):
    """Functions of the confusion table: indicator products, then the statistic of every table."""

    def __init__(self, statistic: LinearStatistic, n: int, need: Need, n_classes: int, spread: Spread):
        super().__init__(statistic, n, need, spread)
        self.n_classes = n_classes
        shape = (n_classes, n_classes)
        self.table = Cells(None, np.arange(n_classes**2, dtype=np.int32), shape)

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence from counts per cell."""
        codes = draws["y_true"].astype(np.int64) * self.n_classes + draws["y_pred"]
        counts = np.stack([np.bincount(row, minlength=self.n_classes**2) for row in codes]).astype(float)
        with jax.enable_x64(True):
            found = self.spread(_table_slopes, jnp.asarray(counts), (self.statistic, self.table))
            estimate, slope = (np.asarray(x) for x in found)
        spread = np.sum(counts * slope**2, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            acceleration = np.sum(counts * slope**3, axis=1) / (6 * spread**1.5)
        law = None
        if bank is not None:
            shared = (self.statistic, self.table, bank)
            replicates = self.spread(_table_replicates, jnp.asarray(codes, jnp.int32), shared)
            estimate, law = tied_replicates(replicates)
        count = nobs = None
        if getattr(self.statistic, "is_proportion", False):
            successes: Any = self.statistic.successes  # type: ignore[attr-defined]
            with jax.enable_x64(True):
                tables = jnp.asarray(counts.reshape(-1, self.n_classes, self.n_classes))
                count, nobs = (np.asarray(x) for x in jax.vmap(successes)(tables))
        return Evidence(
            statistic=self.statistic,
            estimate=estimate,
            n=self.n,
            count=count,
            nobs=nobs,
            standard_error=np.sqrt(spread),
            acceleration=acceleration,
            distribution=law,
        )


def _table_slopes(counts: jax.Array, shared: tuple[LinearStatistic, Cells]) -> tuple[jax.Array, jax.Array]:
    statistic, table = shared
    return jax.vmap(jax.value_and_grad(functools.partial(statistic.from_sums, table)))(counts)


def _table_replicates(codes: jax.Array, shared: tuple[LinearStatistic, Cells, jax.Array]) -> jax.Array:
    statistic, table, bank = shared

    def one(row: jax.Array) -> jax.Array:
        sums = bank @ jax.nn.one_hot(row, table.size, dtype=bank.dtype)
        return jax.vmap(functools.partial(statistic.from_sums, table))(sums)

    return jax.lax.map(one, codes)


class AucRoad(Road):
    """The binary AUC: a bilinear form of the counts of positives and negatives."""

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence from the comparison matrix of every data set."""
        positive = draws["y_true"] == 1
        score = draws["y_score"]
        # The rows of a bank are exchangeable: put positives first, so that both classes are slices.
        order = np.argsort(~positive, axis=1, kind="stable")
        score = np.take_along_axis(score, order, axis=1)
        m = positive.sum(axis=1)
        estimate, slope = auc_slopes(score, m)
        spread = np.sum(slope**2, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            acceleration = np.sum(slope**3, axis=1) / (6 * spread**1.5)
        law = None
        if bank is not None:
            step = self.n // 16 or 1
            most = min(self.n, -(-int(m.max()) // step) * step)
            least = max(0, int(m.min()) // step * step)
            rows = (jnp.asarray(stats.rankdata(score, axis=1), jnp.float32), jnp.asarray(m, jnp.int32))
            replicates = self.spread(_auc_replicates, rows, _with_totals(bank), most=most, least=least)
            estimate, law = tied_replicates(replicates)
        return Evidence(
            statistic=self.statistic,
            estimate=estimate,
            n=self.n,
            standard_error=np.sqrt(spread),
            acceleration=acceleration,
            distribution=law,
        )


def auc_slopes(score: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """AUC (Rg,) and its derivatives in the weights (Rg, n) from placement values; the first m (Rg,) are positives.

    The placement of a positive is the number of negatives below it, ties one half: its rank among
    all less its rank among positives. An AUC without both classes is NaN.
    """
    n = score.shape[1]
    first = np.arange(n) < m[:, None]
    everyone = stats.rankdata(score, axis=1)
    among_positives = stats.rankdata(np.where(first, score, np.inf), axis=1)
    among_negatives = stats.rankdata(np.where(first, np.inf, score), axis=1)
    positives, negatives = m[:, None].astype(float), (n - m)[:, None].astype(float)
    won = np.where(first, everyone - among_positives, positives - (everyone - among_negatives))
    with np.errstate(invalid="ignore", divide="ignore"):
        auc = np.sum(np.where(first, won, 0), axis=1) / (m * (n - m))
        share = np.where(first, won / negatives, won / positives)
        return auc, (share - auc[:, None]) / np.where(first, positives, negatives)


@jax.jit
def _with_totals(bank: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the bank in half precision, exact for counts, and the sums of its first m columns (n + 1, B)."""
    sums = jnp.cumsum(bank.T, axis=0)
    return bank.astype(jnp.bfloat16), jnp.concatenate([jnp.zeros((1, bank.shape[0]), sums.dtype), sums])


def _comparisons(score: jax.Array, m: jax.Array, most: int, least: int, dtype: Any) -> jax.Array:
    """Twice the indicator that a positive scores above a negative, ties one: (most, n - least)."""
    a, b = score[:most, None], score[None, least:]
    above = (a > b).astype(dtype) * 2 + (a == b).astype(dtype)
    rows, columns = jnp.arange(most)[:, None] < m, jnp.arange(least, score.shape[0])[None, :] >= m
    return jnp.where(rows & columns, above, 0)


def _auc_replicates(
    rows: tuple[jax.Array, jax.Array], shared: tuple[jax.Array, jax.Array], *, most: int, least: int
) -> jax.Array:
    """AUC of every resample (Rg, B).

    Counts and comparisons are small integers: exact in half precision, with sums exact in float32 up to n = 4,000.
    """
    bank, totals = shared

    def one(row: tuple[jax.Array, jax.Array]) -> jax.Array:
        values, positives = row
        compared = _comparisons(values, positives, most, least, bank.dtype)
        lost = jnp.matmul(bank[:, :most], compared, preferred_element_type=jnp.float32)
        wins = jnp.sum(lost * bank[:, least:], axis=1)
        first = totals[positives]
        pairs = first * (totals[-1] - first)
        return jnp.where(pairs > 0, wins / (2 * jnp.where(pairs > 0, pairs, 1)), jnp.nan)

    return jax.lax.map(one, rows)


class GeneralRoad(Road):
    """Any statistic: prepared on the host, then evaluated on the bank one data set at a time."""

    def __init__(self, statistic: Statistic, n: int, need: Need, n_classes: int, spread: Spread):
        super().__init__(statistic, n, need, spread)
        self.n_classes = n_classes

    def evidence(self, draws: Draws, bank: jax.Array | None) -> Evidence:
        """Return evidence data set by data set."""
        size = len(next(iter(draws.values())))
        estimates, slopes, replicates = [], [], []
        with jax.enable_x64(True):
            whole = jnp.ones(self.n)
            weights = None if bank is None else jnp.asarray(bank, jnp.float64)
            for r in range(size):
                sample = Sample(**{k: v[r] for k, v in draws.items()}, n_classes=self.n_classes)
                prepared = self.statistic.prepare(sample)
                if self.statistic.smooth:
                    estimate, slope = _value_and_slope(self.statistic, prepared, whole)
                    slopes.append(np.asarray(slope))
                else:
                    estimate = _value(self.statistic, prepared, whole)
                estimates.append(float(estimate))
                if weights is not None:
                    replicates.append(np.asarray(self.spread(_values, weights, (self.statistic, prepared))))
        error = acceleration = None
        if slopes:
            slope = np.stack(slopes)
            spread = np.sum(slope**2, axis=1)
            error = np.sqrt(spread)
            with np.errstate(invalid="ignore", divide="ignore"):
                acceleration = np.sum(slope**3, axis=1) / (6 * spread**1.5)
        elif self.need.acceleration:
            acceleration = np.full(size, np.nan)
        estimate, law = np.array(estimates), None
        if replicates:
            estimate, law = tied_replicates(np.stack(replicates))
        return Evidence(
            statistic=self.statistic,
            estimate=estimate,
            n=self.n,
            standard_error=error,
            acceleration=acceleration,
            distribution=law,
        )


@jax.jit
def _value(statistic: Statistic, prepared: Any, weights: jax.Array) -> jax.Array:
    return statistic.value(prepared, weights)


@jax.jit
def _value_and_slope(statistic: Statistic, prepared: Any, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.value_and_grad(lambda w: statistic.value(prepared, w))(weights)


def _values(bank: jax.Array, shared: tuple[Statistic, Any]) -> jax.Array:
    statistic, prepared = shared
    return jax.lax.map(lambda w: statistic.value(prepared, w), bank, batch_size=256)


def road_for(statistic: Statistic, n: int, need: Need, n_classes: int, spread: Spread) -> Road:
    """Return the cheapest exact road for ``statistic``."""
    if isinstance(statistic, SecondMoment):
        return VarianceRoad(statistic, n, need, spread)
    if isinstance(statistic, OrderStatistic):
        return OrderRoad(statistic, n, need, spread)
    if hasattr(statistic, "row_values"):
        return MeanRoad(statistic, n, need, spread)
    if isinstance(statistic, LinearStatistic) and statistic.road == "cells":
        return CellRoad(statistic, n, need, n_classes, spread)
    if isinstance(statistic, RocAuc) and statistic.max_fpr is None:
        return AucRoad(statistic, n, need, spread)
    return GeneralRoad(statistic, n, need, n_classes, spread)
