"""Bootstrap distributions of stacks of data sets, drawn and computed."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxci.resampling.count_ratio import CountRatioLaw
from jaxci.resampling.exact_mean import GRID, mean_distribution, mean_distributions
from jaxci.resampling.exact_order import quantile_distribution, quantile_weights
from jaxci.resampling.exact_ratio import RatioLaw, ratio_distribution
from jaxci.resampling.laws import Atoms, Drawn, RankLaw, Root
from jaxci.resampling.share_laws import BinomialLaw
from jaxci.resampling.two_shares import TwoSharesLaw
from jaxci.special import namespace

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
        np.testing.assert_allclose(law.standard_error, mapped.std(axis=1, ddof=1), rtol=1e-13)


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
    np.testing.assert_allclose(law.standard_error, core.astype(float).std(axis=1, ddof=1), rtol=1e-6)


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
        np.testing.assert_allclose(law.standard_error, [1.0, np.nan, np.nan])


def test_one_data_set_is_read_as_in_a_stack():
    rows = np.random.default_rng(2).integers(0, 9, (4, 57)).astype(float)
    rows[1, 20:] = np.nan
    stack = Drawn.of(rows)
    for r in range(4):
        one = Drawn.of(rows[r])
        assert one.count == stack.count[r]
        assert one.quantile(0.3) == stack.quantile(0.3)[r]
        assert one.share_below(4.0) == stack.share_below(4.0)[r]
        assert one.standard_error == stack.standard_error[r]


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
    assert law.standard_error[0] == pytest.approx(binomial.std() / nobs)


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
    assert filled.standard_error[0] == pytest.approx(whole.standard_error)


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
    np.testing.assert_allclose(ranks.standard_error, atoms.standard_error)


def test_the_root_of_a_law():
    law = Root(Atoms(np.array([0.0, 4.0, 9.0]), np.array([0.25, 0.5, 0.25])))
    assert [law.quantile(p) for p in (0.1, 0.5, 0.9)] == [0.0, 2.0, 3.0]
    assert law.share_below(2.0) == 0.5
    assert law.mean == pytest.approx(np.sqrt(4.25))
    assert law.standard_error == pytest.approx(law.law.standard_error / (2 * np.sqrt(4.25)))
    assert Root(Atoms(np.array([0.0]), np.array([1.0]))).standard_error == 0.0


N = 5
ALL = np.array(list(itertools.product(range(N), repeat=N)))
BINARY = np.array([[[1, 1], [0, 1], [1, 0], [0, 1], [0, 0]], [[1, 1], [1, 0], [1, 1], [0, 1], [1, 1]]], float)
WHOLE = np.array([[[0, 1], [3, 2], [3, 0], [-1, 4], [2, 2]], [[7, 1], [7, 1], [2, 3], [0, 3], [1, 1]]], float)
WHOLE[0, 2, 0] = 0.0  # adds nothing to both sums
REAL = np.random.default_rng(3).uniform(1, 3, (2, N, 2))


def ratio_law(x, undefined=np.nan):
    """Laws of the ratio of both columns (..., n, 2), listed where there is one."""
    a, b = x[..., 0], x[..., 1]
    if isinstance(x, np.ndarray) and x.ndim == 2:
        return ratio_distribution(a, b, undefined=undefined)
    centre = a.sum(axis=-1) / b.sum(axis=-1)
    return RatioLaw(a - centre[..., None] * b, b, centre, undefined + 0.0 * centre)


def mean_law(x):
    """Laws of the mean of the first column."""
    return mean_distribution(x[:, 0]) if x.ndim == 2 else mean_distributions(jnp.asarray(x[..., 0]))


def count_law(undefined):
    def law(x):
        hits, counted = (x[..., 0] * x[..., 1]).sum(axis=-1), (x[..., 0] + x[..., 1]).sum(axis=-1)
        return CountRatioLaw.of(hits, counted - 2 * hits, N, odds=2.0, undefined=undefined + 0.0 * hits)

    return law


def two_shares(x):
    first = x[..., :1] == np.array([1.0, 0.0])
    sizes, hits = first.sum(axis=-2), (first * x[..., 1:]).sum(axis=-2)
    return TwoSharesLaw(hits, sizes, 0.0 * hits[..., 0], N, (N + 1, N + 1, N + 1))


def quantile_law(q):
    def law(x):
        return quantile_weights(N, q).distribution(namespace(x).sort(x[..., 0], axis=-1))

    return law


def over(above, below, undefined):
    return np.where(below != 0, above / np.where(below != 0, below, 1.0), undefined)


def ratios(undefined):
    return lambda rows: over(rows[..., 0].sum(axis=-1), rows[..., 1].sum(axis=-1), undefined)


def f1s(undefined):
    return lambda rows: over(2 * rows.prod(axis=-1).sum(axis=-1), rows.sum(axis=(-2, -1)), undefined)


def mean_shares(rows):
    right = [(rows[..., 0] == label) for label in (1, 0)]
    return sum(over((one * rows[..., 1]).sum(axis=-1), one.sum(axis=-1), 0.0) for one in right) / 2


def sums(rows):
    return rows[..., 0].sum(axis=-1)


def means(rows):
    return rows[..., 0].mean(axis=-1)


ENUMERATED = {
    "share": (lambda x: BinomialLaw(x[..., 0].sum(axis=-1), N + 0.0 * x[..., 0, 0]), means, BINARY),
    "F1": (count_law(0.0), f1s(0.0), BINARY),
    "F1, 0/0 is 1": (count_law(1.0), f1s(1.0), BINARY),
    "F1, 0/0 left out": (count_law(np.nan), f1s(np.nan), BINARY),
    "two shares": (two_shares, mean_shares, BINARY),
    "mean of whole numbers": (mean_law, means, WHOLE),
    "mean": (mean_law, means, REAL),
    "ratio of whole numbers": (ratio_law, ratios(np.nan), WHOLE),
    "ratio, 0/0 is 0": (lambda x: ratio_law(x, 0.0), ratios(0.0), WHOLE),
    "ratio": (ratio_law, ratios(np.nan), REAL),
    "median": (quantile_law(0.5), lambda rows: np.median(rows[..., 0], axis=-1), WHOLE),
    "quantile": (quantile_law(0.3), lambda rows: np.quantile(rows[..., 0], 0.3, axis=-1), REAL),
    "root": (lambda x: Root(mean_law(x)), lambda rows: np.sqrt(np.maximum(means(rows), 0)), WHOLE),
    "drawn": (lambda x: Drawn.of(sums(x[..., ALL, :])), sums, WHOLE),
}
SMOOTHED = ("mean", "ratio of whole numbers", "ratio, 0/0 is 0", "ratio")
"""Their laws are found on a grid where there is more than one data set."""


def enumerated(name, number):
    """All n^n values of a data set, in order, and where to look: at them, between and beyond."""
    _, statistic, data = ENUMERATED[name]
    values = np.sort(statistic(data[number][ALL]))
    values = values[~np.isnan(values)]
    atoms = values[np.append(True, np.diff(values) > 1e-9)]
    looked = [-np.inf, atoms[0] - 1, *atoms, *(atoms[1:] + atoms[:-1]) / 2, atoms[-1] + 1, np.inf]
    return values, np.array(looked)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", ENUMERATED)
def test_a_law_is_that_of_all_resamples(name, number):
    law, (values, looked) = ENUMERATED[name][0](ENUMERATED[name][2][number]), enumerated(name, number)
    for value in looked:
        below, through = np.mean(values < value - 1e-9), np.mean(values <= value + 1e-9)
        assert law.cdf(value) == pytest.approx(through, abs=1e-9)
        assert law.share_below(value) == pytest.approx((below + through) / 2, abs=1e-9)
    assert np.isnan(law.cdf(np.nan))
    np.testing.assert_allclose(law.cdf(looked.tolist()), [law.cdf(value) for value in looked], rtol=0, atol=1e-14)
    if name != "root":
        assert law.standard_error == pytest.approx(values.std(ddof=1 if name == "drawn" else 0), rel=1e-9)
    if name == "drawn":
        return
    steps = np.append(np.flatnonzero(np.diff(values) > 1e-9) + 1, len(values)) / len(values)
    for p in [0.0, *P, *steps]:
        found = law.quantile(p)
        assert law.cdf(found) >= p - 1e-9
        assert np.mean(values < found - 1e-9) <= p + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", ENUMERATED)
def test_a_law_in_a_stack_is_that_of_all_resamples(name):
    make, _, data = ENUMERATED[name]
    values, looked = zip(*(enumerated(name, number) for number in (0, 1)), strict=True)
    size = max(map(len, looked))
    at = np.stack([np.pad(points, (0, size - len(points)), constant_values=np.nan) for points in looked])

    @jax.jit
    def read(x, at):
        law = make(x)
        return law, law.error, jax.vmap(law.cdf, 1, 1)(at)

    with jax.enable_x64(True):
        law, error, traced = read(jnp.asarray(data), jnp.asarray(at))
    found = [np.asarray(traced)]
    if not isinstance(law, RatioLaw):
        law = jax.tree.map(np.asarray, law)
        found.append(np.stack([law.cdf(points) for points in at.T], axis=1))
    near = 1e-9 + (np.asarray(error) if name in SMOOTHED else np.zeros(2))
    assert np.all(near < 0.02)
    slack = 1e-6 if name in SMOOTHED else 1e-9
    for read_off in found:
        np.testing.assert_array_equal(np.isnan(read_off), np.isnan(at))
        for all_values, points, shares, apart in zip(values, looked, read_off, near, strict=True):
            for value, share in zip(points, shares, strict=False):
                least, most = (np.mean(all_values <= value + side * apart) for side in (-1, 1))
                assert least - slack <= share <= most + slack
                assert name in SMOOTHED or share == pytest.approx(most, abs=1e-9)


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
        assert one.standard_error == pytest.approx(host.standard_error, rel=1e-12)
        assert one.low == host.low
        assert one.high == host.high
        assert one.error_bound < (1e-3 if points else 3.5e-3)
        slack = (one.error_bound + host.error_bound) * host.standard_error + 4e-16 * abs(host.mean)
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
        means, deviations = stack.mean, stack.standard_error
        for r, row in enumerate(ordered):
            one = quantile_distribution(row, q)
            assert means[r] == pytest.approx(one.mean, rel=1e-12)
            assert deviations[r] == pytest.approx(one.standard_error, rel=1e-7, abs=1e-12 * abs(one.mean))
            for p in P:
                assert stack.quantile(p)[r] == pytest.approx(one.quantile(p), rel=1e-14)
            for value in one.atoms[:: max(1, one.atoms.size // 7)]:
                found = stack.share_below(np.full(len(ordered), value))[r]
                assert found == pytest.approx(one.share_below(value), abs=1e-12)
