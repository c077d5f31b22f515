"""Wilson's interval of weighted rows, against Wilson's of counts where the two must agree."""

import itertools
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import jaxci
from jaxci.intervals.base import tails
from jaxci.intervals.proportion import Wilson
from jaxci.intervals.weighted_proportion import STEPS, Weighing, weighted_wilson

SIDES = [tails(0.95), tails(0.95, "less"), tails(0.95, "greater")]
COUNTS, TRIALS = np.array([0, 1, 7, 19, 20]), 20


def weighing(count, trials, success, failure):
    """Of ``count`` of ``trials`` rows that succeed and weigh ``success``, others ``failure``."""
    powers = np.arange(4.0)[:, None]
    hits, missed = count * success**powers, (trials - count) * failure**powers
    one = np.ones_like(count, float)
    potential = np.stack([success**powers * one, (success**powers + failure**powers) * one], axis=1)
    return Weighing.of(np.stack([hits, hits + missed], axis=1), potential, np.full(4, 20.0))


@pytest.mark.parametrize("sides", SIDES, ids=["two-sided", "less", "greater"])
@pytest.mark.parametrize("weight", [1.0, 0.2, 1e-8])
def test_rows_that_weigh_the_same_have_wilsons_interval(sides, weight):
    found = weighted_wilson(COUNTS / TRIALS, weighing(COUNTS, TRIALS, weight, weight), sides)
    assert_allclose(found, Wilson().from_counts(COUNTS, TRIALS, sides), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("sides", SIDES, ids=["two-sided", "less", "greater"])
@pytest.mark.parametrize(("success", "failure"), [(0.2, 1.0), (1.0, 0.1)])
def test_successes_and_failures_of_one_weight_each_have_the_interval_of_their_counts(success, failure, sides):
    """A proportion of the weight is then a function of that of the rows."""

    def of_weight(share):
        return share * success / (share * success + (1 - share) * failure)

    found = weighted_wilson(of_weight(COUNTS / TRIALS), weighing(COUNTS, TRIALS, success, failure), sides)
    assert_allclose(
        found, [of_weight(end) for end in Wilson().from_counts(COUNTS, TRIALS, sides)], rtol=1e-10, atol=1e-14
    )


def test_both_ends_are_found_in_the_same_steps(monkeypatch):
    asked, reach = [], Weighing.reach
    monkeypatch.setattr(Weighing, "reach", lambda self, share, z: asked.append(share.shape) or reach(self, share, z))
    weighted_wilson(COUNTS / TRIALS, weighing(COUNTS, TRIALS, 0.3, 0.9), SIDES[0])
    assert asked == [(2, len(COUNTS))] * STEPS


@pytest.mark.slow
def test_numpy_and_jax_agree(float64):
    given = weighing(COUNTS, TRIALS, 0.3, 0.9)
    ours = weighted_wilson(COUNTS / TRIALS, given, SIDES[0])
    traced = weighted_wilson(jnp.asarray(COUNTS / TRIALS), Weighing(*map(jnp.asarray, given)), SIDES[0])
    assert_allclose(traced, ours, rtol=1e-12)


def test_weights_that_are_unrelated_to_success():
    """Then n rows vary as ``sum(w)^2 / sum(w^2)`` do."""
    weights = np.linspace(0.1, 1, 40)
    one, two, three = (weights ** np.arange(1, 4)[:, None]).sum(axis=1)
    alike = np.array([one, two, three])[:, None] / 40
    unrelated = Weighing(np.array(40.0), one, alike, alike)
    for p, z in itertools.product((0.2, 0.5, 0.9), (-2.5, -1.0, 1.5, 3.0)):
        error = np.sqrt(p * (1 - p) * two) / one
        skewness = (1 - 2 * p) / np.sqrt(p * (1 - p)) * (three / two**1.5 - np.sqrt(two) / one)
        reach = (abs(z) + np.sign(z) * skewness / 6 * (z**2 - 1)) * error
        assert unrelated.reach(np.array(p), z) == pytest.approx(reach)


def test_failures_that_were_not_seen_are_those_of_their_class():
    """None that fail were seen: both accounts know of them what their class tells."""
    weights = np.linspace(0.1, 1, 40)
    of_all = (weights ** np.arange(4)[:, None]).sum(axis=1)
    found = Weighing.of(np.stack([of_all, of_all], axis=1), np.stack([of_all, 2 * of_all], axis=1), of_all)
    assert_allclose(found.failure, np.tile(of_all[1:, None] / 40, 2), rtol=1e-12)


@pytest.mark.parametrize("wrong", [0.1, 0.4, 2.5, 10.0])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_where_weights_go_with_being_right_many_rows_have_the_interval_of_their_standard_error(wrong, spread):
    rng = np.random.default_rng(3)
    y, right = rng.integers(0, 2, 8000), rng.random(8000) < 0.8
    weights = np.where(right, 1.0, wrong) * rng.lognormal(0, spread, 8000)
    for metric, method in (("accuracy", "wilson"), ("balanced_accuracy", "square_and_add")):
        found = jaxci.interval(metric, y, np.where(right, y, 1 - y), sample_weight=weights)
        low, high = found.confidence_interval
        assert found.method.name == method
        assert high - low == pytest.approx(2 * stats.norm.ppf(0.975) * found.standard_error, rel=0.03)


@pytest.mark.statistical
@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize(("right", "most"), [(0.9, 0.006), (0.95, 0.009)])
def test_few_truths_lie_above_intervals_of_high_levels(right, most, false_alarm):
    """Errors that weigh much are few: .5% should lie above; without the skewness that weights add 1.0% and 1.3% do."""
    rng, sets, rows = np.random.default_rng(5), 20_000, 70
    weights, hits = rng.lognormal(0, 1.2, (sets, rows)), rng.random((sets, rows)) < right
    powers = weights ** np.arange(4)[:, None, None]
    of_all = powers.sum(axis=2)
    seen = np.stack([(powers * hits).sum(axis=2), of_all], axis=1)
    given = Weighing.of(seen, np.stack([of_all, 2 * of_all], axis=1), of_all)
    low, high = weighted_wilson(seen[1, 0] / seen[1, 1], given, tails(0.99))
    for missed, share in ((right > high, most), (right < low, 0.005)):
        assert stats.binomtest(int(missed.sum()), sets, share, alternative="greater").pvalue > false_alarm


Y = np.repeat([1, 1, 0, 0], [18, 2, 5, 75])
GUESS = np.repeat([1, 0, 1, 0], [18, 2, 5, 75])


def test_precision_with_weights_of_the_classes_is_a_function_of_that_without():
    weights = np.where(Y == 1, 0.2, 1.8)
    low, high = jaxci.interval("precision", Y, GUESS, method="wilson").confidence_interval
    found = jaxci.interval("precision", Y, GUESS, sample_weight=weights)
    assert found.method.name == "wilson"
    assert_allclose(found.confidence_interval, [0.2 * x / (0.2 * x + 1.8 * (1 - x)) for x in (low, high)], rtol=1e-10)
    assert "Wilson's score interval at the effective number" in found.reason


def test_recall_with_weights_of_the_classes_is_that_without():
    weights = np.where(Y == 1, 0.2, 1.8)
    for metric, method in (("recall", "wilson"), ("balanced_accuracy", "square_and_add")):
        alone = jaxci.interval(metric, Y, GUESS, method=method)
        found = jaxci.interval(metric, Y, GUESS, sample_weight=weights)
        assert found.method == alone.method
        assert_allclose(found.confidence_interval, alone.confidence_interval, rtol=1e-10)
        assert found.standard_error == pytest.approx(alone.standard_error, rel=1e-10)


@pytest.mark.parametrize("metric", ["precision", "f1", "jaccard"])
def test_false_alarms_that_were_not_seen_weigh_what_they_would(metric):
    """All that is taken for the class is of it and weighs .2; a false alarm would weigh nine times as much."""
    y, guess = np.repeat([1, 0], [20, 80]), np.repeat([1, 0], [20, 80])
    low = {
        heavy: jaxci.interval(
            metric, y, guess, method="wilson", sample_weight=np.where(y == 1, 0.2, heavy)
        ).confidence_interval.low
        for heavy in (0.2, 1.8)
    }
    assert low[0.2] == pytest.approx(jaxci.interval(metric, y, guess, method="wilson").confidence_interval.low)
    assert low[1.8] < low[0.2] - 0.1


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_the_scale_of_weights_does_not_matter():
    weights = np.random.default_rng(0).exponential(size=100)
    for metric in ("accuracy", "f1", "f1_macro"):
        ends = [jaxci.interval(metric, Y, GUESS, sample_weight=weights * x).confidence_interval for x in (1, 1e200)]
        assert_allclose(*ends, rtol=1e-12)


def test_weights_far_below_the_largest_do_not_vanish():
    light = np.where(Y == 1, 1e-200, 1.0)
    found = jaxci.interval("recall", Y, GUESS, sample_weight=light)
    alone = jaxci.interval("recall", Y, GUESS, method="wilson")
    assert_allclose(found.confidence_interval, alone.confidence_interval, rtol=1e-9)


def test_a_heavy_row_that_is_no_trial_does_not_enter_the_standard_error():
    weights = np.r_[np.ones(99), 100.0]
    found = jaxci.interval("precision", Y, GUESS, sample_weight=weights)
    assert found.standard_error == pytest.approx(np.sqrt(18 / 23 * 5 / 23 / 23), rel=1e-9)


def test_failures_of_all_rows_may_be_those_of_a_rare_and_heavy_class():
    y = np.repeat([1, 0], [10, 990])
    found = jaxci.interval("accuracy", y, y, sample_weight=np.where(y == 1, 99.0, 1.0))
    by_class = jaxci.interval("balanced_accuracy", y, y, method="square_and_add")
    assert found.confidence_interval.low < by_class.confidence_interval.low + 0.05


def test_a_precision_of_which_no_row_could_fail():
    """With one true class alone nothing tells what false alarms weigh: as much as rows do."""
    y, weights = np.ones(20, int), np.linspace(1, 2, 20)
    found = jaxci.interval("precision", y, y, labels=[0, 1], sample_weight=weights)
    assert found.estimate == found.confidence_interval.high == 1
    assert 0.7 < found.confidence_interval.low < 1


AGREEMENT = ("matthews_corrcoef", "cohen_kappa_score", "precision_weighted", "f1_weighted")


def test_the_page_says_what_the_benchmark_found():
    root = Path(__file__).resolve().parents[2]
    page = " ".join((root / "docs" / "weights.md").read_text().split())
    designs = json.loads((root / "benchmarks" / "results" / "weighted_labels.json").read_text())["designs"]
    for method, few in (("auto", False), ("auto", True), ("proper_bayesian", False), ("percentile", False)):
        held = [x["coverage, width, warned"].items() for x in designs if (x["n"] < 100) == few]
        covered = [100 * one[method][0] for design in held for name, one in design if name not in AGREEMENT]
        assert f"{min(covered):.0f}% to {max(covered):.0f}%" in page
    wider = {}
    for x in (x for x in designs if str(x["weights"]).endswith("where wrong")):
        found = x["coverage, width, warned"]["accuracy"]
        wider.setdefault(x["n"], []).append(found["auto"][1] / found["percentile"][1])
    few, some, many = (f"{min(x):.1f} to {max(x):.1f}" for x in wider.values())
    assert f"{few} times as wide as percentile intervals with 100 rows, {some} with 1,000 and {many} with 10,0" in page


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("cases", [9, 12])
def test_a_class_of_few_rows_in_effect_is_told(cases):
    y = 1 * (np.arange(100) < cases)
    weights = np.where(np.arange(100) % 2, 0.1, 1.9)
    found = jaxci.interval("f1", y, y, sample_weight=weights).warnings
    assert any(
        f"a class has only {weights[:cases].sum() ** 2 / (weights[:cases] ** 2).sum():.3g} cases in effect" in x
        for x in found
    )
