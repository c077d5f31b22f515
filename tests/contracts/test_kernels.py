"""Kernels: both forms give one result, which is that of the plain computation they stand for."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.resampling import kernels, mid_ranks, ranked
from jaxci.statistics.order import IQR, Median, OrderStatistic, Quantile
from jaxci.statistics.regression import SpearmanR
from jaxci.statistics.sample import Sample

N, B = 37, 101
FORMS: tuple[kernels.Form, ...] = ("cpu", "accelerator")


def bank_of(n: int, size: int, draws: int | None = None) -> np.ndarray:
    """Counts (B, n): random, all weight on a single observation, and none."""
    counts = np.random.default_rng(5).multinomial(n if draws is None else draws, np.full(n, 1 / n), size)
    counts[1:3] = 0
    counts[1, n // 3] = n
    return counts


def test_the_form_is_that_of_the_platform() -> None:
    called = jax.jit(functools.partial(kernels.by_platform, cpu=jnp.sin, accelerator=jnp.exp))
    for platform, mine, other in (("cpu", "sine", "exponential"), ("cuda", "exponential", "sine")):
        program = jax.export.export(called, platforms=[platform])(jnp.float32(0)).mlir_module()
        assert f"stablehlo.{mine}" in program
        assert f"stablehlo.{other}" not in program
    for form, value in (("cpu", 0.0), ("accelerator", 1.0)):
        assert kernels.by_platform(jnp.float32(0), cpu=jnp.sin, accelerator=jnp.exp, form=form) == value


@pytest.mark.parametrize("size", [1, 4, 5, 10, 99])
def test_batches_are_of_one_size_and_compute_every_row(size: int) -> None:
    rows, seen = (jnp.arange(10.0), jnp.arange(20).reshape(10, 2)), []

    def one(row: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        seen.append(row)
        return row[0] ** 2, row[1].sum()

    squares, sums = kernels.in_batches(one, rows, size)
    np.testing.assert_array_equal(squares, np.arange(10.0) ** 2)
    np.testing.assert_array_equal(sums, np.arange(20).reshape(10, 2).sum(axis=1))
    assert len(seen) == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", [*FORMS, "tpu"])
@pytest.mark.parametrize(("m", "size"), [(1, 1), (20, 16), (300, 37)])
def test_draws_are_counted_into_rows(form: kernels.Form, m: int, size: int) -> None:
    index = np.random.default_rng(m).integers(0, size, (B, m)).astype(np.int32)
    index[0] = size - 1
    for counted in (None, np.arange(m) < m - 3, np.random.default_rng(1).random((B, m)) < 0.5):
        kept = np.broadcast_to(True if counted is None else counted, index.shape)
        expected = np.stack([np.bincount(row[keep], minlength=size) for row, keep in zip(index, kept, strict=True)])
        rows = kernels.count_rows(jnp.asarray(index), size, counted, form=form)
        assert rows.dtype == jnp.zeros((), float).dtype
        np.testing.assert_array_equal(rows, expected)


@pytest.mark.slow
@pytest.mark.parametrize("form", [*FORMS, "tpu"])
def test_even_draws_of_many_units_are_counted_into_rows(form: kernels.Form) -> None:
    index = np.random.default_rng(3).integers(0, 600, (B, 600)).astype(np.int32)
    expected = np.stack([np.bincount(row, minlength=600) for row in index])
    np.testing.assert_array_equal(kernels.count_rows(jnp.asarray(index), 600, even=True, form=form), expected)


@pytest.mark.parametrize(
    "keys",
    [
        np.zeros(0),
        np.array([2.0]),
        np.array([0.0, -0.0, 1.0, -0.0, 0.0, -1.0, np.inf, -np.inf]),
        np.random.default_rng(4).integers(0, 3, 500),
        np.random.default_rng(5).normal(size=500),
        np.random.default_rng(6).integers(0, 2**63, 300).astype(np.uint64).repeat(2),
    ],
)
def test_a_stable_order_is_that_of_numpy(keys: np.ndarray) -> None:
    np.testing.assert_array_equal(kernels.stable_order(keys), np.argsort(keys, kind="stable"))


def test_counts_beyond_32_bits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*31 counts; got 4 rows of 536870912"):
        kernels.count_rows(jnp.zeros((4, 1), jnp.int32), 2**29)


@pytest.mark.parametrize("dtype", [jnp.uint8, jnp.bfloat16, jnp.float32])
def test_cumulative_counts(dtype: Any) -> None:
    bank = bank_of(N, B)
    for form in FORMS:
        sums = kernels.cumulative_counts(jnp.asarray(bank.T, dtype), form)
        assert sums.dtype == jnp.float32
        np.testing.assert_array_equal(sums, np.pad(np.cumsum(bank.T, axis=0), ((1, 0), (0, 0))))


def test_sums_beyond_the_integers_of_float32_are_float64() -> None:
    bank = jnp.full((2, 1), 2**24 - 1, jnp.float32)
    assert kernels.sum_dtype(bank, 2**24) == jnp.float32
    with pytest.raises(ValueError, match=r"64-bit JAX .* got sums up to 1.67772e\+07"):
        kernels.sum_dtype(bank, 2**24 + 1)
    with jax.enable_x64(True):
        assert kernels.sum_dtype(bank, 2**24 + 1) == jnp.float64


def rows_with_edges(dtype: Any) -> np.ndarray:
    """Random rows; ties, signed zeros, infinities and NaN; the smallest and greatest numbers."""
    x = np.random.default_rng(2).normal(size=(5, 60)).astype(dtype)
    x[1] = np.round(x[1])
    x[2, :9] = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.0, -np.inf, np.nan]
    info = np.finfo(x.dtype)
    x[3, :5] = [info.tiny, -info.tiny, info.max, info.min, info.smallest_subnormal]
    x[4] = np.nan
    return x


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("float64")
def test_rows_are_sorted(form: kernels.Form) -> None:
    many = np.random.default_rng(4).normal(size=(9, 2**13))  # enough for threads
    for x in (rows_with_edges(np.float32), rows_with_edges(np.float64), many):
        before = x.copy()
        ordered = np.asarray(kernels.sorted_rows(jnp.asarray(x), form))
        assert ordered.dtype == x.dtype
        np.testing.assert_array_equal(ordered, np.sort(x, axis=1))
        np.testing.assert_array_equal(kernels.sorted_rows(x, form), ordered)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("counts", [[10, 0, 20, 7], [37], [0, 0, 37, 0], [1] * 37], ids=str)
def test_cell_counts_equal_products_with_indicators(counts: list[int]) -> None:
    bank = bank_of(N, B)
    codes = np.repeat(np.arange(len(counts)), counts)
    cumulative = kernels.cumulative_counts(jnp.asarray(bank.T, jnp.float32))
    tables = jax.jit(kernels.cell_counts)(cumulative, jnp.asarray(counts))
    assert tables.dtype == jnp.float32
    np.testing.assert_array_equal(tables, (codes == np.arange(len(counts))[:, None]) @ bank.T)


def test_cell_counts_of_many_data_sets() -> None:
    bank, counts = bank_of(N, B), np.array([[10, 27, 0], [0, 30, 7]])
    cumulative = kernels.cumulative_counts(jnp.asarray(bank.T, jnp.uint8))
    tables = jax.jit(jax.vmap(kernels.cell_counts, (None, 0)))(cumulative, counts)
    for table, row in zip(tables, counts, strict=True):
        np.testing.assert_array_equal(table, kernels.cell_counts(cumulative, row))


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("n", [2, 9, 10, *(pytest.param(n, marks=pytest.mark.slow) for n in (37, 250))])
@pytest.mark.parametrize("q", [0.0, 0.1, 0.25, 0.5, 0.77, 1.0])
def test_rank_picks_read_the_quantile(n: int, q: float) -> None:
    values = np.sort(np.random.default_rng(n).normal(size=n))
    for draws in (n, n + 1):
        bank = bank_of(n, 60, draws)
        cumulative = kernels.cumulative_counts(jnp.asarray(bank.T, float))
        low, high, fraction = (np.asarray(x) for x in jax.jit(kernels.rank_picks)(cumulative, q))
        got = (1 - fraction) * values[low] + fraction * values[high]
        statistics: list[OrderStatistic] = [Quantile(q), Median()] if q == 0.5 else [Quantile(q)]
        for statistic in statistics:
            prepared = statistic.prepare(Sample(values=values))
            expected = jax.vmap(lambda w: statistic.value(prepared, w))(jnp.asarray(bank, float))  # noqa: B023
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14 * np.ptp(values) * n)
        repeated = [np.quantile(np.repeat(values, row), q) if row.sum() else np.nan for row in bank]
        np.testing.assert_allclose(got, repeated, rtol=0, atol=1e-14 * n)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_rank_picks_read_the_interquartile_range() -> None:
    values = np.sort(np.random.default_rng(3).normal(size=N))
    bank = bank_of(N, B)
    cumulative = kernels.cumulative_counts(jnp.asarray(bank.T, jnp.uint8))
    ends = [kernels.rank_picks(cumulative, q) for q in (0.25, 0.75)]
    low, high = ((1 - end.fraction) * values[end.low] + end.fraction * values[end.high] for end in ends)
    prepared = IQR().prepare(Sample(values=values))
    expected = jax.vmap(lambda w: IQR().value(prepared, w))(jnp.asarray(bank, float))
    np.testing.assert_allclose(high - low, expected, rtol=0, atol=1e-13)


def drawn_ranking(decimals: int, n: int = N) -> tuple[ranked.Descent, np.ndarray, np.ndarray]:
    """Ranking of class 1 of three by random scores, with the classes and the scores by row."""
    rng = np.random.default_rng(6)
    labels, scores = rng.integers(0, 3, n), np.round(rng.normal(size=n), decimals)
    order = np.argsort(scores, kind="stable").astype(np.int32)
    first = np.searchsorted(scores[order], scores[order]).astype(np.int32)
    return ranked.Descent.of(order, labels[order] == 1, first), labels, scores


def pairs_won(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Points (n, n) of members (rows) against others (columns)."""
    points = (scores[:, None] > scores) + (scores[:, None] == scores) / 2
    return points * (labels[:, None] == 1) * (labels != 1)


@pytest.fixture(params=FORMS)
def unrolled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks take as many entries together as on the platform named."""
    monkeypatch.setitem(ranked._UNROLLED, "cpu", ranked._UNROLLED[request.param])


@pytest.mark.slow
@pytest.mark.usefixtures("unrolled")
@pytest.mark.parametrize("dtype", [jnp.uint8, jnp.bfloat16, jnp.float32])
@pytest.mark.parametrize("decimals", [0, 8])
def test_pairs_won_are_exact(dtype: Any, decimals: int) -> None:
    descent, labels, scores = drawn_ranking(decimals)
    bank = bank_of(N, B)
    points, member = pairs_won(labels, scores), labels == 1
    expected = (np.sum((bank @ points) * bank, axis=1), bank @ member, bank @ ~member)
    by_class = [np.sum((bank @ (points * (labels == k))) * bank, axis=1) for k in range(3)]
    bank_t = jnp.asarray(bank.T, dtype)
    found = jax.jit(lambda bank_t: ranked.scanned(bank_t, descent, {"wins", "class_wins"}, labels, 3))(bank_t)
    for got, sums in zip((found.wins, found.members, found.others), expected, strict=True):
        assert got.dtype == jnp.float32
        np.testing.assert_array_equal(got, sums)
    np.testing.assert_array_equal(found.class_wins, by_class)


def test_rows_are_mapped_on_both_forms() -> None:
    rows = (jnp.arange(6.0), jnp.arange(12.0).reshape(6, 2))
    for form in FORMS:
        total, both = kernels.mapped(lambda row: (row[0] + jnp.sum(row[1]), row), rows, form)
        np.testing.assert_array_equal(total, [1, 6, 11, 16, 21, 26])
        np.testing.assert_array_equal(both[1], rows[1])


@pytest.mark.usefixtures("unrolled")
def test_pairs_of_real_weights() -> None:
    descent, labels, scores = drawn_ranking(0)
    bank = np.random.default_rng(7).gamma(1, size=(B, N))
    with jax.enable_x64(True):
        got = jax.jit(lambda bank_t: ranked.scanned(bank_t, descent, {"wins"}).wins)(jnp.asarray(bank.T))
        np.testing.assert_allclose(got, np.sum((bank @ pairs_won(labels, scores)) * bank, axis=1), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_walks_read_the_weights_of_units(weighted: bool) -> None:
    """Rows of clusters are not written out, and give what they would."""
    rng = np.random.default_rng(11)
    descent, labels, _ = drawn_ranking(0)
    units, bank = rng.integers(0, 8, N).astype(np.int32), rng.gamma(1, size=(8, B))
    weights = rng.gamma(2, size=N) if weighted else None
    with jax.enable_x64(True):
        spread = ranked.SpreadBank(jnp.asarray(bank), units, weights)
        rows = jnp.asarray(bank[units] * (1.0 if weights is None else weights[:, None]))
        assert (spread.shape, spread.dtype) == (rows.shape, rows.dtype)
        np.testing.assert_array_equal(ranked.spread(spread), rows)
        both = (ranked.scanned(bank_t, descent, ranked.SUMS, labels, 3) for bank_t in (spread, rows))
        got, expected = map(jax.tree.leaves, both)
        assert len(got) == 2 + len(ranked.SUMS)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [jnp.uint8, jnp.float64])
@pytest.mark.usefixtures("float64")
def test_a_sum_is_the_same_whatever_else_is_asked_for(dtype: Any) -> None:
    descent, labels, _ = drawn_ranking(0)
    rng = np.random.default_rng(8)
    bank = bank_of(N, B) if dtype == jnp.uint8 else rng.gamma(1, size=(B, N))
    unseen = ranked.Unseen(*jnp.asarray(rng.gamma(1, size=(2, B))))
    bank_t = jnp.asarray(bank.T, dtype)
    together = ranked.scanned(bank_t, descent, ranked.SUMS, labels, 3, unseen)
    for name in ranked.SUMS:
        alone = ranked.scanned(bank_t, descent, {name}, labels, 3, unseen)
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))
        np.testing.assert_array_equal(alone.joined, together.joined)


def test_pairs_of_many_rows_stay_exact() -> None:
    """Twice the pairs exceed what float32 holds from 5,793 rows on."""
    n = 5_793
    descent, labels, scores = drawn_ranking(8, n)
    bank_t = jnp.ones((n, 1), jnp.float32)
    member = labels == 1
    below = np.searchsorted(np.sort(scores[~member]), scores[member])
    with pytest.raises(ValueError, match="64-bit JAX"):
        ranked.scanned(bank_t, descent, {"wins"})
    with jax.enable_x64(True):
        assert float(ranked.scanned(bank_t, descent, {"wins"}).wins[0]) == below.sum()


def test_a_ranking_without_ties_needs_no_groups() -> None:
    descent, labels, scores = drawn_ranking(8)
    order = np.argsort(scores).astype(np.int32)
    for got, expected in zip(ranked.Descent.of(order, labels[order] == 1, None), descent, strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 7, 50, B - 1, B, 4 * B])
def test_blocks_of_resamples_cover_all(most: int) -> None:
    bank_t, units = jnp.asarray(bank_of(N, B).T), np.arange(N)[::-1].astype(np.int32)
    rows = jnp.arange(N, dtype=jnp.int32)

    def first_and_sum(weights: ranked.Weights, width: int) -> tuple[jax.Array, jax.Array]:
        assert width <= most
        found = jnp.stack([weights(row) for row in rows])
        return found[:2], jnp.sum(found, axis=0)

    for bank, expected in ((bank_t, bank_t), (ranked.SpreadBank(bank_t, units, 1.0 + units), None)):
        whole = ranked.spread(bank) if expected is None else expected
        got = ranked.over_blocks(first_and_sum, bank, most)
        np.testing.assert_array_equal(got[0], whole[:2])
        np.testing.assert_array_equal(got[1], whole.sum(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "atol"), [(jnp.uint8, 3e-7), (jnp.float32, 3e-7), (jnp.float64, 1e-14)])
@pytest.mark.parametrize("decimals", [0, 8])
@pytest.mark.parametrize("size", [B, 2_500])
@pytest.mark.usefixtures("float64")
def test_rank_correlations_on_both_forms(dtype: Any, atol: float, decimals: int, size: int) -> None:
    """A few roundings of each of 37 terms; banks of one block of resamples and of three."""
    rng = np.random.default_rng(12)
    y, p = np.round(rng.normal(size=(2, N)), decimals)
    bank = bank_of(N, size)
    bank_t = jnp.asarray(bank.T, dtype)
    shares = bank / np.maximum(bank.sum(axis=1, keepdims=True), 1)
    a, b = (shares @ ((x[:, None] < x) + (x[:, None] == x) / 2) - 0.5 for x in (y, p))
    expected = [np.sum(shares * one * other, axis=1) for one, other in ((a, a), (a, b), (b, b))]
    statistic, some = SpearmanR(), bank.sum(axis=1) > 0
    for sample in (Sample(y_true=y, y_pred=p), Sample(y_true=jnp.asarray(y), y_pred=jnp.asarray(p))):
        prepared = statistic.prepare(sample)
        ascents = [one.ascent(N) for one in prepared]
        products = jax.jit(mid_ranks.scanned_products)(bank_t, *ascents)
        for got, one in zip(products, expected, strict=True):
            assert got.dtype == kernels.sum_dtype(bank_t)
            np.testing.assert_allclose(got[some], one[some], rtol=0, atol=atol)
            assert np.all(np.isnan(got[~some]))
        walked = statistic.replicates(prepared, bank_t)
        np.testing.assert_allclose(walked, statistic.each(prepared, bank_t), rtol=0, atol=20 * atol)
