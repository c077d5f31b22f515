"""P-values of intervals: read off a computed law, and along the curve of ABC, against the bounds themselves."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import jaxci
from jaxci.intervals.base import Evidence, Method
from jaxci.intervals.bootstrap import BC, Basic, BCa, Percentile, adjusted_probability, tail_of
from jaxci.intervals.proportion_difference import PairedOutcomes, SquareAndAddDifference
from jaxci.intervals.pvalues import smallest_tail
from jaxci.resampling.exact_mean import mean_distribution
from jaxci.statistics.registry import METRICS

RNG = np.random.default_rng(5)
VALUES = {
    "continuous": RNG.normal(0.2, 1, 40),
    "far from 0": RNG.normal(1.0, 1, 60),
    "skewed": 0.6 - RNG.exponential(1, 30),
    "lattice": RNG.choice([-1.0, 0.0, 1.0], 50, p=[0.1, 0.7, 0.2]),
    "mostly 0": np.r_[np.zeros(57), 1.0, 1.0, -1.0],
    "one sign": np.r_[np.zeros(20), np.ones(6)],
}
METHODS = (Percentile(), Basic(), BC(), BCa())


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_tails_of_a_law_are_those_of_the_bounds(kind, method):
    x = VALUES[kind]
    apart = x - x.mean()
    evidence = Evidence(
        statistic=METRICS["mean"],
        estimate=x.mean()[None],
        n=len(x),
        standard_error=np.array([x.std() / np.sqrt(len(x))]),
        acceleration=np.array([np.sum(apart**3) / (6 * np.sum(apart**2) ** 1.5)]),
        distribution=mean_distribution(x),
    )
    found = method.tails_at_zero(evidence, 1e-9)
    np.testing.assert_allclose(
        np.maximum(found, 1e-9), Method.tails_at_zero(method, evidence, 1e-9), rtol=2e-3, atol=2e-6
    )


@pytest.mark.parametrize("acceleration", [-0.2, 0.0, 0.15])
@pytest.mark.parametrize("z0", [-0.3, 0.0, 0.2])
def test_a_tail_of_an_adjusted_probability_is_the_tail(z0, acceleration):
    tails = np.array([0.001, 0.025, 0.3, 0.5, 0.8, 0.99])
    adjusted = adjusted_probability(tails, z0, acceleration)
    np.testing.assert_allclose([tail_of(p, z0, acceleration) for p in adjusted], tails, rtol=1e-9)
    for end in (0.0, 1.0):  # tails beyond those found are adjusted to the end
        tail = tail_of(end, z0, acceleration)
        beyond = 0.5 * tail if end == 0 else 0.5 + 0.5 * tail
        assert tail == end or adjusted_probability(beyond, z0, acceleration) == end


FEW = [(2, "f1"), (6, "accuracy"), (8, "f1")]


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(("wrong", "metric"), FEW)
def test_the_pvalue_of_abc_is_the_level_at_which_its_interval_ends_at_zero(wrong, metric):
    y = np.repeat([1, 0], 30)
    one, other = y.copy(), y.copy()
    other[:wrong] = 0
    one[40:43] = other[40:43] = 1
    found = jaxci.compare(metric, y, one, other, method="abc")
    assert 1e-6 < found.pvalue < 0.05
    assert found.confidence_interval.low > 0
    again = jaxci.compare(metric, y, one, other, method="abc", confidence_level=1 - found.pvalue)
    assert again.confidence_interval.low == pytest.approx(0, abs=1e-9)


def test_abc_of_one_row_that_differs_shows_no_difference():
    found = jaxci.compare("mean", None, np.r_[np.zeros(59), 1.0], np.zeros(60), method="abc")
    assert 0.05 < found.pvalue < 0.1
    assert found.confidence_interval.low < 0


def test_without_an_acceleration_nothing_is_shown():
    assert np.isnan(tail_of(0.3, 0.1, np.nan))
    x = VALUES["far from 0"]
    evidence = Evidence(
        statistic=METRICS["mean"],
        estimate=x.mean()[None],
        n=len(x),
        standard_error=np.ones(1),
        acceleration=np.array([np.nan]),
        distribution=mean_distribution(x),
    )
    assert BCa(degenerate="nan").pvalue(evidence, 1.0, "two-sided").value == 1


@pytest.mark.parametrize("tail", [3e-299, 1e-240, 1e-80, 0.03, 0.97, 1 - 1e-12])
def test_any_tail_is_found_in_few_steps(tail):
    asked = []

    def rejects(one):
        asked.append(one)
        return one > tail

    def stopping(one):
        assert len(asked) < 120
        return rejects(one)

    assert smallest_tail(stopping, 1e-300) == pytest.approx(tail, rel=1e-10)


class Counted(SquareAndAddDifference):
    """The interval, counting how often its bounds are found."""

    asked: ClassVar[int] = 0

    def from_outcomes(self, seen, tails):
        Counted.asked += 1
        return super().from_outcomes(seen, tails)


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("n_shares", [2, 3, 40])
@pytest.mark.parametrize("apart", [0.0, 0.02, 0.2])
def test_many_tails_of_differences_of_shares_are_asked_at_once(turned, n_shares, apart):
    counts = np.random.default_rng(6).multinomial(100, [0.6, 0.08 + apart, 0.08, 0.24 - apart], size=(1, n_shares))
    both, only_a, only_b, neither = np.moveaxis(counts.astype(float), -1, 0)
    only_a, only_b = (only_b, only_a) if turned else (only_a, only_b)
    seen = PairedOutcomes(both, only_a, only_b, neither, np.full((1, n_shares), 1 / n_shares))
    estimate = ((only_a - only_b) / 100).mean(axis=1)
    evidence = Evidence(statistic=METRICS["mean"], estimate=estimate, n=100 * n_shares, outcomes=seen)
    Counted.asked = 0
    found = Counted().tails_at_zero(evidence, 1e-300)
    assert Counted.asked <= 60
    np.testing.assert_allclose(found, Method.tails_at_zero(SquareAndAddDifference(), evidence, 1e-300), rtol=1e-9)


def test_models_that_many_rows_tell_apart_have_a_tiny_p_value():
    y = np.arange(60_000.0)
    found = jaxci.compare("mean_squared_error", y, y + 0.5 + 0.1 * np.sin(y), y + 1.0 + 0.9 * np.cos(y), method="delta")
    assert 0 < found.pvalue < 1e-200
