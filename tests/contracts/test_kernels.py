"""Kernels: both forms give one result, which is that of the plain computation they stand for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.resampling import kernels
from jaxci.statistics.base import Sample
from jaxci.statistics.summary import IQR, Median, OrderStatistic, Quantile

N, B = 37, 101
RNG_SEED = 5


def bank_of(n: int, size: int, draws: int | None = None) -> np.ndarray:
    """Counts (B, n), one row with all weight on a single observation, one of zeros."""
    counts = np.random.default_rng(RNG_SEED).multinomial(n if draws is None else draws, np.full(n, 1 / n), size)
    counts[1] = 0
    counts[1, n // 3] = n
    counts[2] = 0
    return counts


@pytest.mark.parametrize("counts", [[10, 0, 20, 7], [37], [0, 0, 37, 0], [1] * 37], ids=str)
def test_cell_counts_equal_products_with_indicators(counts: list[int]) -> None:
    bank = bank_of(N, B)
    codes = np.repeat(np.arange(len(counts)), counts)
    cumulative = jnp.asarray(np.pad(np.cumsum(bank.T, axis=0), ((1, 0), (0, 0))), jnp.float32)
    tables = jax.jit(kernels.cell_counts)(cumulative, jnp.asarray(counts))
    assert tables.dtype == jnp.float32
    np.testing.assert_array_equal(tables, (codes == np.arange(len(counts))[:, None]) @ bank.T)


def test_cell_counts_of_many_data_sets() -> None:
    bank, counts = bank_of(N, B), np.array([[10, 27, 0], [0, 30, 7]])
    cumulative = jnp.asarray(np.pad(np.cumsum(bank.T, axis=0), ((1, 0), (0, 0))))
    tables = jax.jit(jax.vmap(kernels.cell_counts, (None, 0)))(cumulative, counts)
    for table, row in zip(tables, counts, strict=True):
        np.testing.assert_array_equal(table, kernels.cell_counts(cumulative, row))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("n", [2, 9, 10, 37, 250])
@pytest.mark.parametrize("q", [0.0, 0.1, 0.25, 0.5, 0.77, 1.0])
def test_rank_picks_read_the_quantile(n: int, q: float) -> None:
    values = np.sort(np.random.default_rng(n).normal(size=n))
    for draws in (n, n + 1):
        bank = bank_of(n, 60, draws)
        low, high, fraction = (np.asarray(x) for x in jax.jit(kernels.rank_picks)(bank, q))
        got = (1 - fraction) * values[low] + fraction * values[high]
        statistics: list[OrderStatistic] = [Quantile(q), Median()] if q == 0.5 else [Quantile(q)]
        for statistic in statistics:
            prepared = statistic.prepare(Sample(values=values))
            expected = jax.vmap(lambda w: statistic.value(prepared, w))(jnp.asarray(bank, float))  # noqa: B023
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.ptp(values) * n)
        repeated = [np.quantile(np.repeat(values, row), q) if row.sum() else np.nan for row in bank]
        np.testing.assert_allclose(got, repeated, rtol=0, atol=1e-14 * n)


@pytest.mark.usefixtures("float64")
def test_rank_picks_read_the_interquartile_range() -> None:
    values = np.sort(np.random.default_rng(3).normal(size=N))
    bank = bank_of(N, B)
    ends = [kernels.rank_picks(jnp.asarray(bank, jnp.float32), q) for q in (0.25, 0.75)]
    low, high = ((1 - end.fraction) * values[end.low] + end.fraction * values[end.high] for end in ends)
    prepared = IQR().prepare(Sample(values=values))
    expected = jax.vmap(lambda w: IQR().value(prepared, w))(jnp.asarray(bank, float))
    np.testing.assert_allclose(high - low, expected, rtol=0, atol=1e-13)
