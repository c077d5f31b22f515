"""Weighted rows beyond those that are kept: Poisson resamples whose weights follow from the names of rows."""

from __future__ import annotations

import functools
import pickle

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import jaxci
from jaxci.api.poisson_replicates import PoissonReplicates
from jaxci.resampling.poisson import name_words, poisson_counts

N, SEED = 120, 11
REGRESSION = ["root_mean_squared_error", "mean_absolute_error", "r2", "explained_variance", "pearsonr"]
CLASSES = ["accuracy", "f1_macro", "recall_per_class", "log_loss"]
CLUSTERED = ["expected_calibration_error"]

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Let accumulators keep 20 rows at most."""
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 20)


@functools.cache
def regression(n: int = N) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    y = 100 + rng.normal(size=n)
    named = {"ids": np.arange(n), "sample_weight": rng.gamma(2.0, size=n) * (np.arange(n) % 20 > 0)}
    return {"y_true": y, "y_pred": y + rng.normal(size=n), **named}


@functools.cache
def classes(n: int = N, clusters: int | None = None) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    scores = np.exp(rng.normal(size=(n, 3)) + 2.0 * (y[:, None] == np.arange(3)))
    found = {"y_true": np.array(["a", "hen", "or"])[y], "y_score": scores / scores.sum(axis=1, keepdims=True)}
    found |= {"sample_weight": rng.gamma(2.0, size=n)}
    named = {"ids": np.arange(n)} if clusters is None else {"groups": rng.integers(0, clusters, n)}
    return {**found, **named}


def accumulated(rows, metrics, parts, **options) -> list[jaxci.Accumulator]:
    """Return an accumulator for each of ``parts``."""
    options = {"n_resamples": 199, "rng": SEED, "max_rows": 20, **options}
    made = functools.partial(jaxci.Accumulator, metrics, groups="groups" in rows, **options)
    return [made().update(**{name: x[part] for name, x in rows.items()}) for part in parts]


def check_close(found, expected) -> None:
    assert (found.n, found.warnings) == (expected.n, expected.warnings)
    for one, two in zip(found, expected, strict=True):
        assert (one.statistic, one.n, one.n_rows) == (two.statistic, two.n, two.n_rows)
        np.testing.assert_allclose(one.bootstrap_distribution, two.bootstrap_distribution, rtol=1e-10, atol=1e-12)
        got, wanted = ((x.estimate, *x.confidence_interval, x.standard_error) for x in (one, two))
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["regression", "classes", "clusters"])
@settings(max_examples=5, deadline=None, derandomize=True)
@given(data=st.data())
def test_batches_their_order_and_merging_change_nothing(name, data):
    rows = {"regression": regression(), "classes": classes(), "clusters": classes(clusters=20)}[name]
    metrics = {"regression": REGRESSION, "classes": CLASSES, "clusters": CLUSTERED}[name]
    (expected,) = accumulated(rows, metrics, [np.arange(N)])
    order = np.concatenate(
        [np.arange(24), 24 + np.random.default_rng(data.draw(st.integers(0, 99))).permutation(N - 24)]
    )
    borders = data.draw(st.sets(st.integers(25, N - 1), min_size=1, max_size=6))
    parts = accumulated(rows, metrics, np.split(order, sorted(borders)))
    while len(parts) > 1:
        first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(first)
    check_close(parts[0].finalize(), expected.finalize())


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "metrics"), [(regression, REGRESSION), (classes, CLASSES)])
def test_estimates_are_those_of_all_rows(rows, metrics):
    data = rows()
    (found,) = accumulated(data, metrics, [np.arange(N)])
    assert found.kept == "sums of 199 Poisson resamples"
    table = found.finalize()
    expected = jaxci.evaluate(
        **{k: x for k, x in data.items() if k != "ids"}, metrics=metrics, method="expanded_percentile", rng=0
    )
    assert table.n == expected.n == np.count_nonzero(data["sample_weight"])
    for one, two in zip(table, expected, strict=True):
        assert one.statistic == two.statistic
        np.testing.assert_allclose(one.estimate, two.estimate, rtol=1e-10)
        assert (one.method.name, one.n_resamples) == ("expanded_percentile", 199)
        assert "Poisson bootstrap" in one.reason


@pytest.mark.slow
@pytest.mark.false_alarm(2e-7)
@pytest.mark.parametrize(("rows", "metrics"), [(regression, REGRESSION), (classes, CLASSES)])
def test_standard_errors_are_those_of_the_delta_method(rows, metrics):
    data = rows(4000)
    (found,) = accumulated(data, metrics, [np.arange(4000)], n_resamples=999)
    plain = {name: x for name, x in data.items() if name != "ids"}
    expected = jaxci.evaluate(**plain, metrics=metrics, method="delta", rng=0)
    # sd of a ratio 1 / sqrt(2 * 999) = 2.2%, and 3% for what the delta method leaves out: 5.5 sd of 12 ratios
    for one, two in zip(found.finalize(), expected, strict=True):
        assert abs(one.standard_error / two.standard_error - 1) < 5.5 / np.sqrt(2 * 999) + 0.03


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_intervals_of_weighted_means_cover():
    sets, n, held = 500, 400, 0
    rng = np.random.default_rng(3)
    for number in range(sets):
        sums = PoissonReplicates(199, 1)
        x, weights = rng.exponential(size=n), rng.gamma(2.0, size=n)
        sums.add(jax.random.key(number), np.arange(n), weights, x[:, None], None, None)
        low, high = np.quantile(sums.of_mean(0, False)[1:], [0.025, 0.975])
        held += low <= 1 <= high
    assert stats.binom.cdf(held, sets, 0.92) > 5e-7  # it holds the level nearly
    assert stats.binom.sf(held - 1, sets, 0.97) > 5e-7


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_counts_follow_the_poisson_law():
    names = np.arange(3000)
    with jax.enable_x64(True):
        counts = np.asarray(poisson_counts(jax.random.key(0), name_words(names), 100))
        fewer = np.asarray(poisson_counts(jax.random.key(0), name_words(names[5:9]), 40))
    np.testing.assert_array_equal(fewer, counts[5:9, :40])
    cells = np.bincount(np.minimum(counts, 6).ravel())
    law = stats.poisson.pmf(np.arange(6), 1)
    assert stats.chisquare(cells, counts.size * np.append(law, 1 - law.sum())).pvalue > 2e-7
    for axis in (0, 1):  # sums over rows, and over resamples, vary as independent counts do
        sums = counts.sum(axis=axis)
        bands = stats.chi2.ppf([1e-7, 1 - 1e-7], len(sums) - 1) / (len(sums) - 1)
        assert bands[0] < sums.var(ddof=1) / counts.shape[axis] < bands[1]


def test_names_of_any_type_have_words():
    same = [np.array([3, 70]), np.array([3, 70], np.uint8), np.array([3.0, 70.0]), np.array([3, 70], np.int32)]
    for other in same[1:]:
        np.testing.assert_array_equal(name_words(same[0]), name_words(other))
    apart = [*(name_words(np.array([x])) for x in (3, -3, 2**63 - 1, 3.5, -3.5, 1e300)), name_words(np.array(["3"]))]
    assert len({tuple(x[0].tolist()) for x in apart}) == len(apart)
    assert len(np.unique(name_words(np.array([f"row {i}" for i in range(1000)])), axis=0)) == 1000


@pytest.mark.slow
def test_state_of_resamples_is_saved_and_loaded():
    rows = classes(clusters=20)
    (expected,) = accumulated(rows, CLUSTERED, [np.arange(N)])
    assert all("20 clusters are fewer than 50" in " ".join(row.warnings) for row in expected.finalize())
    halves = accumulated(rows, CLUSTERED, np.split(np.arange(N), 2))
    state = pickle.loads(pickle.dumps(halves[0].state_dict()))
    (again,) = accumulated(rows, CLUSTERED, [slice(0, 1)], rng=5)
    check_close(again.load(state).merge(halves[1]).finalize(), expected.finalize())
    (other,) = accumulated(rows, CLUSTERED, [slice(0, 1)], n_resamples=99)
    with pytest.raises(ValueError, match="same n_resamples 99; got 199"):
        other.load(state)


@pytest.mark.slow
def test_bad_input_has_one_clear_error():
    rows = regression()
    nameless = {name: x for name, x in rows.items() if name != "ids"}
    with pytest.raises(ValueError, match=r"unless ids \(or groups\) name them.*got 20, and ids=None"):
        accumulated(nameless, REGRESSION, [np.arange(N)])
    with pytest.raises(ValueError, match="for spearmanr need all rows with sample_weight; got 20"):
        accumulated(rows, ["spearmanr"], [np.arange(N)])
    one, two = accumulated(rows, REGRESSION, np.split(np.arange(N), 2))
    with pytest.raises(ValueError, match="method 'bca' reads more of 'root_mean_squared_error' than replicates"):
        one.finalize("bca")
    (other,) = accumulated(rows, REGRESSION, [np.arange(N)], rng=3)
    with pytest.raises(ValueError, match=r"same rng, .* got 3 in the place of 11"):
        two.merge(other)
    (other,) = accumulated(rows, REGRESSION, [np.arange(N)], n_resamples=99)
    with pytest.raises(ValueError, match="same n_resamples 199; got 99"):
        two.merge(other)
    (none,) = accumulated({**rows, "sample_weight": np.zeros(N)}, REGRESSION, [np.arange(N)])
    with pytest.raises(ValueError, match="at least 2 observations of a weight above 0"):
        none.finalize()
