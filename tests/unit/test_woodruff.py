"""Woodruff's interval: quantiles of rows of any design, by the share of the rows below."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.inference.places import places
from jaxci.intervals.base import Evidence, NoInterval, tails
from jaxci.intervals.delta import SCALES
from jaxci.intervals.woodruff import Woodruff
from jaxci.statistics import IQR, Median, Quantile
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample

N = 400
RNG = np.random.default_rng(11)
X = RNG.gamma(2.0, size=N)
OTHER = RNG.gamma(2.0, size=N)
WEIGHTS = RNG.gamma(2.0, size=N)
GROUPS = np.sort(RNG.integers(0, 25, N))
STRATA = RNG.integers(0, 3, N)
SHUFFLED = RNG.permutation(N)
LAYOUTS = {
    "rows": {},
    "weights": {"sample_weight": WEIGHTS},
    "clusters": {"groups": GROUPS},
    "strata": {"strata": STRATA},
    "all": {"groups": GROUPS, "strata": GROUPS % 3, "sample_weight": WEIGHTS},
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def ends(x, weights, shares):
    """The first value up to which a share of the weight lies, and the first above the other share."""
    order = np.argsort(x)
    through = np.cumsum(weights[order]) / weights.sum()
    low, high = shares
    return x[order][np.argmax(through >= low - 1e-12)], x[order][np.argmax(through > high + 1e-12)]


def error_of_share(below, q, layout):
    """Standard error of the weighted share of rows that are below, of rows alone, by definition."""
    w = layout.get("sample_weight", np.ones(N))
    apart = w * (below - np.average(below, weights=w)) / w.sum()
    if "strata" in layout:
        strata = layout["strata"]
        return np.sqrt(sum((own := apart[strata == s]).var(ddof=1) * len(own) for s in np.unique(strata)))
    return np.sqrt((apart**2).sum() * N / (N - 1))


@pytest.mark.parametrize("layout", ["rows", "weights", "strata"])
@pytest.mark.parametrize("q", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("scale", ["natural", "logit"])
def test_ends_lie_where_the_share_below_is_some_errors_away(layout, q, scale):
    given = LAYOUTS[layout]
    weights = given.get("sample_weight", np.ones(N))
    found = jaxci.interval("quantile", X, q=q, method=Woodruff(scale=scale), **given)
    middle = ends(X, weights, (q, q))[0]
    error = error_of_share(middle >= X, q, given)
    size = weights.sum() ** 2 / (weights**2).sum()
    step = stats.t.ppf(0.975, size - 1) * error
    to, back = (SCALES[scale].to, SCALES[scale].back)
    apart = step * SCALES[scale].slope(q)
    expected = ends(X, weights, [back(to(q) + side * apart) for side in (-1, 1)])
    width = np.ptp(expected)  # an error of one row in the share moves an end by a value or two
    np.testing.assert_allclose(found.confidence_interval, expected, atol=0.04 * width)


@every_layout
def test_ends_do_not_depend_on_the_order_of_the_rows(layout):
    given = LAYOUTS[layout]
    moved = {name: x[SHUFFLED] for name, x in given.items()}
    for name, data in (("median", (X,)), ("iqr", (X,)), ("median_absolute_error", (np.zeros(N), X))):
        one = jaxci.interval(name, *data, method="woodruff", **given)
        other = jaxci.interval(name, *(x[SHUFFLED] for x in data), method="woodruff", **moved)
        np.testing.assert_allclose(other.confidence_interval, one.confidence_interval, rtol=1e-12)


@every_layout
def test_ends_are_near_those_of_resamples(layout):
    given = LAYOUTS[layout]
    drawn_by = "expanded_percentile" if "groups" in given else "percentile"
    for name in ("median", "iqr"):
        drawn, found = (
            jaxci.interval(name, X, method=method, n_resamples=999, rng=0, **given) for method in (drawn_by, "woodruff")
        )
        assert np.ptp(found.confidence_interval) == pytest.approx(np.ptp(drawn.confidence_interval), rel=0.25)
        assert found.standard_error == pytest.approx(drawn.standard_error, rel=0.3)


def test_weights_of_one_are_none():
    for name in ("median", "iqr"):
        one, other = (
            jaxci.interval(name, X, method="woodruff", **given) for given in ({}, {"sample_weight": np.full(N, 3.0)})
        )
        assert one.confidence_interval == other.confidence_interval


@pytest.mark.parametrize("size", [1, 5])
def test_rows_that_come_together_count_once(size):
    groups = np.repeat(np.arange(N), size)
    found = jaxci.interval("median", np.repeat(X, size), groups=groups, method="woodruff")
    expected = jaxci.interval("median", X, method="woodruff")
    np.testing.assert_allclose(found.confidence_interval, expected.confidence_interval, rtol=0.02)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_a_difference_takes_the_rows_of_both_models(groups):
    same = jaxci.compare("median_absolute_error", np.zeros(N), X, X, groups=groups, method="woodruff")
    assert (same.estimate, *same.confidence_interval) == (0.0, 0.0, 0.0)
    assert same.pvalue == 1.0
    apart = {
        name: jaxci.compare("median_absolute_error", np.zeros(N), X, x, groups=groups, method="woodruff")
        for name, x in (("alike", 0.9 * X + 0.1), ("other", OTHER))
    }
    assert np.ptp(apart["alike"].confidence_interval) < 0.5 * np.ptp(apart["other"].confidence_interval)
    turned = jaxci.compare("median_absolute_error", np.zeros(N), OTHER, X, groups=groups, method="woodruff")
    np.testing.assert_allclose(turned.confidence_interval, -np.array(apart["other"].confidence_interval)[::-1])


def test_p_values_and_intervals_agree():
    for shift in (0.0, 0.05, 0.1, 0.2, 0.4):
        found = jaxci.compare("median_absolute_error", np.zeros(N), X, X * (1 + shift) + 1e-6, method="woodruff")
        low, high = found.confidence_interval
        assert (found.pvalue < 0.05) == (low > 0 or high < 0)


def test_values_on_a_lattice_keep_to_it():
    counts = np.random.default_rng(0).poisson(3, 2_000).astype(float)
    found = jaxci.interval("median", counts, method="woodruff", sample_weight=np.ones(2_000))
    assert set(found.confidence_interval) <= {2.0, 3.0}


@pytest.mark.parametrize("q", [0.01, 0.99])
def test_an_end_beyond_the_values_is_that_of_the_range(q):
    with pytest.warns(jaxci.JaxciWarning, match="too few rows tell what lies beyond"):
        found = jaxci.interval("quantile", X[:50], q=q, method="woodruff")
    assert np.isinf(found.confidence_interval[int(q > 0.5)])
    assert np.isfinite(found.standard_error)
    within = jaxci.interval("quantile", X[:50], q=q, method=Woodruff(scale="logit"))
    assert X[:50].min() <= within.confidence_interval.low <= within.confidence_interval.high <= X[:50].max()
    least = jaxci.interval("median_absolute_error", np.zeros(3), X[:3], method="woodruff")
    assert least.confidence_interval == (0.0, np.inf)


def test_open_sides_end_with_the_range():
    less = jaxci.interval("iqr", X, method="woodruff", alternative="less")
    assert less.confidence_interval.low == 0.0
    greater = jaxci.interval("median", X, method="woodruff", alternative="greater")
    assert greater.confidence_interval.high == np.inf
    two = jaxci.interval("median", X, method="woodruff", confidence_level=0.9)
    assert greater.confidence_interval.low == two.confidence_interval.low


def test_what_it_is_not_for_is_refused():
    with pytest.raises(ValueError, match="'woodruff' is for quantiles, their ranges, and differences of these"):
        jaxci.interval("mean", X, method="woodruff")
    with pytest.raises(ValueError, match="scale must be one of"):
        Woodruff(scale="log")
    with pytest.raises(NoInterval, match="at least 2 rows or clusters; got 1"):
        Woodruff().critical(Median(), 1, tails(0.95))


@pytest.mark.parametrize("statistic", [Median(), Quantile(0.9), IQR()])
@pytest.mark.parametrize("layout", [Layout(60), Layout(60, (np.arange(60) // 4).astype(np.int32))])
def test_simulations_find_the_same_places(statistic, layout):
    data = np.round(np.random.default_rng(1).gamma(2.0, size=(3, 60)), 1)
    with jax.enable_x64(True):
        traced = jax.jit(jax.vmap(lambda x: places(statistic, statistic.prepare(Sample(values=x)), layout)))(data)
    method, sides = Woodruff(scale="logit"), tails(0.95)
    for number, one in enumerate(data):
        host = jax.tree.map(np.asarray, places(statistic, statistic.prepare(Sample(values=one)), layout))
        estimate = np.asarray(float(statistic.value(statistic.prepare(Sample(values=one)), np.ones(60))))
        expected = Evidence(statistic=statistic, estimate=estimate, n=layout.n_units, places=host)
        found = dataclasses.replace(expected, places=jax.tree.map(lambda x, at=number: np.asarray(x[at]), traced))
        bounds = [method.bounds(evidence, sides, ()) for evidence in (expected, found)]
        np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-9)


@pytest.mark.parametrize("groups", [None, np.arange(60) // 4])
def test_its_coverage_can_be_checked(groups):
    x = np.random.default_rng(3).normal(size=60)
    found = jaxci.check_coverage("median", x, groups=groups, methods=["woodruff"], n_replications=400, rng=0)
    assert found.judgements[0].coverage == pytest.approx(0.95, abs=0.05)
