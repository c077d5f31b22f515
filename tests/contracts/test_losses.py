"""What every loss promises: its definition row by row, scikit-learn's mean, and a rate over all pairs."""

import tracemalloc

import numpy as np
import pytest

from jaxci.generalization.losses import CUT, LOSSES, losses_of

metrics = pytest.importorskip("sklearn.metrics")

N, CLASSES = 20, 3
RNG = np.random.default_rng(2)
TARGETS = np.round(RNG.normal(3, 2, N), 1) + 0.01
CODES = RNG.integers(0, CLASSES, N)
PREDICTIONS = np.round(RNG.normal(3, 1, (4, N)), 1) + 0.01
PROBABILITIES = RNG.dirichlet(np.ones(CLASSES), (4, N))
WEIGHTS = RNG.integers(0, 4, N).astype(float)


def row_loss(name, y, f, cut=None, spread=None):
    """One loss, by its definition."""
    if name == "zero_one":
        return float(np.argmax(f) != y)
    if name == "log":
        return -np.log(f[y])
    if name == "brier":
        return sum((f[k] - (k == y)) ** 2 for k in range(CLASSES))
    if name == "squared":
        return (y - f) ** 2
    if name == "winsorized":
        return min((y - f) ** 2, cut)
    return abs(y - f) / {"absolute": 1.0, "standardized": spread, "percentual": abs(y)}[name]


SKLEARN = {
    "zero_one": lambda y, f: metrics.zero_one_loss(y, f.argmax(axis=1)),
    "log": lambda y, f: metrics.log_loss(y, f),
    "brier": lambda y, f: metrics.mean_squared_error(np.eye(CLASSES)[y], f) * CLASSES,
    "squared": lambda y, f: metrics.mean_squared_error(y, f),
    "absolute": lambda y, f: metrics.mean_absolute_error(y, f),
    "percentual": lambda y, f: metrics.mean_absolute_percentage_error(y, f),
}
"""Means by scikit-learn; it has no winsorized and no standardized error."""


def case(name):
    classes = LOSSES[name].task == "classification"
    return (CODES, PROBABILITIES) if classes else (TARGETS, PREDICTIONS)


@pytest.mark.parametrize("name", LOSSES)
def test_the_no_information_rate_is_the_mean_over_all_pairs(name):
    y, f = case(name)
    rows = np.repeat(np.arange(N), WEIGHTS.astype(int))
    spread = np.std(np.repeat(TARGETS, WEIGHTS.astype(int)), ddof=1)
    cut = np.quantile((TARGETS - PREDICTIONS[0])[WEIGHTS > 0] ** 2, CUT)
    pairs = [row_loss(name, y[j], f[0, i], cut, spread) for i in rows for j in rows]
    np.testing.assert_allclose(LOSSES[name].no_information(y, f[0], WEIGHTS), np.mean(pairs), rtol=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_rows(name):
    y, f = case(name)
    loss = LOSSES[name]
    mask, counts = np.arange(N) % 3 != np.arange(4)[:, None] % 3, RNG.integers(0, 3, (4, N))
    found = loss.rows(y, f)
    if loss.adjusted is not None:
        found = loss.adjusted(found, mask, counts, y)
    for s in range(4):
        spread = np.std(np.repeat(TARGETS, counts[s]), ddof=1)
        tested = np.flatnonzero(mask[s])
        cut = np.quantile((TARGETS - PREDICTIONS[s])[tested] ** 2, CUT)
        expected = [row_loss(name, y[i], f[s, i], cut, spread) for i in tested]
        np.testing.assert_allclose(found[s, tested], expected, rtol=1e-12)


@pytest.mark.false_alarm(3e-5)
def test_the_rate_of_many_rows_needs_little_memory():
    """A number for each pair of rows would take 3.2 GB."""
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=20_000), rng.normal(size=20_000)
    tracemalloc.start()
    rates = {name: LOSSES[name].no_information(y, f, np.ones(20_000)) for name in losses_of("regression")[:3]}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    cut = np.quantile((y - f) ** 2, CUT)
    sums = {"squared": lambda e: e**2, "absolute": np.abs, "winsorized": lambda e: np.minimum(e**2, cut)}
    for name, rate in rates.items():
        means = [sums[name](y - rng.permutation(f)).mean() for _ in range(50)]
        assert abs(rate - np.mean(means)) < 5 * np.std(means) / np.sqrt(50)


@pytest.mark.parametrize("name", [name for name in LOSSES if LOSSES[name].adjusted is None])
def test_means_are_scikit_learns(name):
    y, f = case(name)
    for one in f:
        np.testing.assert_allclose(LOSSES[name].rows(y, one).mean(), SKLEARN[name](y, one), rtol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_keep_to_their_range_name_and_task(name):
    loss = LOSSES[name]
    y, f = case(name)
    assert loss.name == name
    assert name in losses_of(loss.task)
    low, high = loss.bounds
    found = loss.rows(y, f)
    assert found.shape == (4, N)
    assert found.dtype == np.float64
    assert low <= found.min() <= found.max() <= high
    np.testing.assert_array_equal(found[2], loss.rows(y, f[2]))


def test_targets_without_a_loss_are_refused():
    with pytest.raises(ValueError, match="y must not be 0 where the loss is 'percentual'; 2 are, the first in row 1"):
        LOSSES["percentual"].check(np.array([1.0, 0.0, 2.0, 0.0]))
    LOSSES["squared"].check(np.zeros(3))


def test_losses_are_listed_by_task():
    assert losses_of("classification") == ["zero_one", "log", "brier"]
    assert losses_of("regression") == ["squared", "absolute", "winsorized", "standardized", "percentual"]


def test_a_probability_of_zero_costs_what_the_metric_says():
    y, f = np.array([0, 1, 1]), np.array([[0.2, 0.8], [1.0, 0.0], [0.4, 0.6]])
    np.testing.assert_allclose(LOSSES["log"].rows(y, f).mean(), metrics.log_loss(y, f), rtol=1e-12)
