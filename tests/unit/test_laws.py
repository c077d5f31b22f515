"""Bootstrap distributions of stacks of data sets, drawn and computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxci.resampling.exact_mean import GRID, mean_distribution, mean_distributions
from jaxci.resampling.exact_order import quantile_distribution, quantile_weights
from jaxci.resampling.laws import Atoms, Drawn, RankLaw, Root
from jaxci.resampling.share_laws import BinomialLaw

P = np.concatenate([[1e-3], np.linspace(0.01, 0.99, 23), [0.999]])


def test_mapped_replicates_are_read_as_if_they_were_mapped_one_by_one():
    rng = np.random.default_rng(0)
    core = np.sort(rng.normal(size=(3, 101)), axis=1)
    offset, scale = np.array([5.0, 6.0, 7.0]), np.array([0.5, 1.0, 2.0])
    for root in (False, True):
        mapped = offset[:, None] + scale[:, None] * core
        mapped = np.sqrt(np.maximum(mapped, 0)) if root else mapped
        law, plain = Drawn(core, offset, scale, root), Drawn(mapped)
        np.testing.assert_array_equal(law.replicates, mapped)
        for p in P:
            np.testing.assert_allclose(law.quantile(p), np.quantile(mapped, p, axis=1), rtol=1e-14)
        value = mapped[:, 40] + 1e-9
        np.testing.assert_array_equal(law.share_below(value), plain.share_below(value))
        np.testing.assert_array_equal(law.share_below(None, core[:, 40]), np.full(3, 40.5 / 101))
        np.testing.assert_allclose(law.mean, mapped.mean(axis=1), rtol=1e-14)
        np.testing.assert_allclose(law.deviation, mapped.std(axis=1, ddof=1), rtol=1e-13)


def test_differences_in_single_precision_keep_the_digits_of_an_offset():
    core = np.sort(np.random.default_rng(1).normal(size=(2, 999)).astype(np.float32), axis=1)
    core[:, 400] = 0.0
    core.sort(axis=1)
    law = Drawn(core, np.array([1e9, -1e12]))
    for p in P:
        apart = law.quantile(p) - law.offset
        assert np.all(np.abs(apart - np.quantile(core.astype(float), p, axis=1)) < [1e-6, 1e-3])
    ties = np.mean(core < 0, axis=1) + np.mean(core == 0, axis=1) / 2
    np.testing.assert_allclose(law.share_below(law.offset), ties, rtol=1e-14)
    np.testing.assert_allclose(law.deviation, core.astype(float).std(axis=1, ddof=1), rtol=1e-6)


def test_a_negative_number_under_a_root_is_zero():
    law = Drawn(np.array([-2.0, -1.0, 3.0]), 1.0, root=True)
    np.testing.assert_array_equal(law.replicates, [0.0, 0.0, 2.0])
    assert law.share_below(-0.5) == 0.0
    assert law.share_below(1.0) == pytest.approx(2 / 3)


def test_undefined_replicates_count_for_nothing():
    rows = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan] * 4, [1.0, np.nan, np.nan, np.nan]])
    for law in (Drawn.of(rows), jax.tree.map(np.asarray, Drawn.of(jnp.asarray(rows)))):
        assert law.count.tolist() == [3, 0, 1]
        np.testing.assert_array_equal(law.quantile(0.5), [2.0, np.nan, 1.0])
        np.testing.assert_allclose(law.share_below(np.array([2.0, 2.0, 0.5])), [0.5, np.nan, 0.0])
        np.testing.assert_allclose(law.mean, [2.0, np.nan, 1.0])
        np.testing.assert_allclose(law.deviation, [1.0, np.nan, np.nan])


def test_one_data_set_is_read_as_in_a_stack():
    rows = np.random.default_rng(2).integers(0, 9, (4, 57)).astype(float)
    rows[1, 20:] = np.nan
    stack = Drawn.of(rows)
    for r in range(4):
        one = Drawn.of(rows[r])
        assert one.count == stack.count[r]
        assert one.quantile(0.3) == stack.quantile(0.3)[r]
        assert one.share_below(4.0) == stack.share_below(4.0)[r]
        assert one.deviation == stack.deviation[r]


@pytest.mark.parametrize(("count", "nobs"), [(0, 5), (3, 7), (17, 50), (50, 50), (400, 10**6)])
def test_the_binomial_law_is_scipys(count, nobs):
    law, binomial = BinomialLaw(np.array([float(count)]), np.array([float(nobs)])), stats.binom(nobs, count / nobs)
    for p in P:
        assert law.quantile(p)[0] == binomial.ppf(p) / nobs
    for k in (-1, 0, count - 1, count, count + 1, nobs, nobs + 1):
        mid = binomial.cdf(k) - binomial.pmf(k) / 2
        assert law.share_below(np.array([k / nobs]))[0] == pytest.approx(mid, rel=1e-10, abs=1e-15)
        assert law.share_below(np.array([(k + 0.5) / nobs]))[0] == pytest.approx(binomial.cdf(k), rel=1e-10)
    assert law.mean[0] == count / nobs
    assert law.deviation[0] == pytest.approx(binomial.std() / nobs)


def test_atoms_without_mass_may_fill_up_a_stack():
    whole = Atoms(np.array([1.0, 2.0, 4.0]), np.array([0.2, 0.5, 0.3]))
    support = np.array([[1.0, 2.0, 4.0, 4.0, 4.0], [0.0, 1.0, 2.0, 3.0, 4.0]])
    masses = np.array([[0.2, 0.5, 0.3, 0.0, 0.0], [0.2] * 5])
    filled = Atoms(support, masses)
    for p in P:
        assert filled.quantile(p)[0] == whole.quantile(p)
    for value in (0.5, 1.0, 3.0, 4.0, 5.0):
        assert filled.share_below(np.full(2, value))[0] == whole.share_below(value)
    assert filled.mean[0] == pytest.approx(whole.mean)
    assert filled.deviation[0] == pytest.approx(whole.deviation)


def test_laws_over_ranks_are_laws_over_atoms():
    values = np.array([[1.0, 2.0, 4.0, 7.0], [0.0, 0.0, 1.0, 1.0]])
    cumulative = np.array([0.1, 0.4, 0.9, 1.0])
    ranks = RankLaw(values, cumulative)
    atoms = Atoms(values, np.tile(np.diff(cumulative, prepend=0), (2, 1)))
    for p in (0.0, 0.05, 0.1, 0.100001, 0.4, 0.6, 0.95, 1.0, np.nan):
        np.testing.assert_array_equal(ranks.quantile(p), atoms.quantile(p))
    for value in (-1.0, 0.0, 0.5, 1.0, 2.0, 7.0, 8.0, np.nan):
        np.testing.assert_allclose(ranks.share_below(np.full(2, value)), atoms.share_below(np.full(2, value)))
    np.testing.assert_allclose(ranks.mean, atoms.mean)
    np.testing.assert_allclose(ranks.deviation, atoms.deviation)


def test_the_root_of_a_law():
    law = Root(Atoms(np.array([0.0, 4.0, 9.0]), np.array([0.25, 0.5, 0.25])))
    assert [law.quantile(p) for p in (0.1, 0.5, 0.9)] == [0.0, 2.0, 3.0]
    assert law.share_below(2.0) == 0.5
    assert law.mean == pytest.approx(np.sqrt(4.25))
    assert law.deviation == pytest.approx(law.law.deviation / (2 * np.sqrt(4.25)))
    assert Root(Atoms(np.array([0.0]), np.array([1.0]))).deviation == 0.0


def samples(n):
    rng = np.random.default_rng(n)
    return np.stack(
        [
            rng.gamma(2, size=n),
            rng.normal(size=n) + 1e6,
            rng.integers(0, 4, n).astype(float),
            (np.arange(n) == 0).astype(float),
            1e-200 * rng.random(n),
            np.full(n, 2.5),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("n", "points"), [(12, None), (90, None), (90, GRID)])
def test_laws_of_means_in_a_stack_keep_their_promise(n, points):
    x = samples(n)
    options = {} if points is None else {"points": points}
    with jax.enable_x64(True):
        stack = jax.jit(lambda v: mean_distributions(v, **options))(jnp.asarray(x).reshape(2, 3, n))
    stack = jax.tree.map(np.asarray, stack)
    for r, row in enumerate(x):
        one, host = jax.tree.map(lambda leaf, r=r: leaf[r // 3, r % 3], stack), mean_distribution(row)
        assert one.mean == pytest.approx(host.mean, rel=1e-14)
        assert one.deviation == pytest.approx(host.deviation, rel=1e-12)
        assert one.low == host.low
        assert one.high == host.high
        assert one.error_bound < (1e-3 if points else 3.5e-3)
        slack = (one.error_bound + host.error_bound) * host.deviation + 4e-16 * abs(host.mean)
        step = one.probability_error + host.probability_error
        found = one.quantile(P)
        assert np.all(found >= host.quantile(P - step) - slack)
        assert np.all(found <= host.quantile(P + step) + slack)
        for value in (host.mean, *host.quantile(P[::6])):
            assert one.share_below(value) >= host.share_below(value - slack - 1e-300) - step
            assert one.share_below(value) <= host.share_below(value + slack + 1e-300) + step


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("n", [7, 60])
def test_laws_of_quantiles_in_a_stack_are_those_of_its_data_sets(n, q):
    ordered = np.sort(samples(n), axis=1)
    weights = quantile_weights(n, q)
    with jax.enable_x64(True):
        compiled = jax.jit(lambda w, v: w.distribution(v))(weights, jnp.asarray(ordered))
    for stack in (weights.distribution(ordered), jax.tree.map(np.asarray, compiled)):
        means, deviations = stack.mean, stack.deviation
        for r, row in enumerate(ordered):
            one = quantile_distribution(row, q)
            assert means[r] == pytest.approx(one.mean, rel=1e-12)
            assert deviations[r] == pytest.approx(one.deviation, rel=1e-7, abs=1e-12 * abs(one.mean))
            for p in P:
                assert stack.quantile(p)[r] == pytest.approx(one.quantile(p), rel=1e-14)
            for value in one.support[:: max(1, one.support.size // 7)]:
                found = stack.share_below(np.full(len(ordered), value))[r]
                assert found == pytest.approx(one.share_below(value), abs=1e-12)
