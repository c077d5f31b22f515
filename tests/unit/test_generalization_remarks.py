"""What is said of learners, losses and data on which intervals are known to fail, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from learners import LeastSquares
from scipy import special, stats

import jaxci
from jaxci.api.learning_task import OF_FEW_DECIDING
from jaxci.generalization.base import on_scale, student
from jaxci.inducers import Tree

pytest.importorskip("sklearn")

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X.sum(axis=1) + RNG.normal(size=60)
ROW_0 = X[0]


class Turned(LeastSquares):
    def predict(self, X):
        return super().predict(X).T


class Texts(LeastSquares):
    def predict(self, X):
        return super().predict(X).astype(str)


def quiet(*args, rng=0, **given):
    return jaxci.generalization_interval(*args, rng=rng, progress=False, n_jobs=1, **given)


def told(result, text):
    return any(text in warning for warning in result.warnings)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_learner_that_needs_most_of_the_rows_is_told_by_nested_cv():
    """Models of 60 rows with 58 features err many times as much as those of 80: the correction goes far below 0."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 58))
    found = quiet("linear", x, x[:, 0] + rng.normal(size=100))
    assert found.method == "nested_cv"
    assert told(found, "models of 60 rows have a mean loss of ")
    assert found.estimate == 0
    assert told(found, "left the range of the loss: its nearest end is reported")
    assert not told(quiet("linear", X, Y), "models of")


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_estimates_of_nested_cv_lie_in_the_range_of_the_loss():
    rng = np.random.default_rng(1)
    y = (rng.random(40) < 0.5).astype(int)
    x = rng.normal(size=(40, 3))
    x[:, 0] += 4 * (y - 0.5)
    found = quiet("logistic", x, y, method="nested_cv", scoring="accuracy", rng=1)
    assert found.estimate == 1
    assert told(found, "the estimate of nested_cv, 1.0006, left the range")


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_majority_among_equal_classes_is_told_of_in_comparisons():
    y = np.arange(60) % 2
    found = jaxci.compare_inducers("logistic", "constant", X, y, rng=0, progress=False)
    assert told(found, "b: every model gives one class")
    assert not told(found, "a: every model")


def test_losses_cut_at_quantiles_of_few_rows_are_told():
    with pytest.warns(jaxci.JaxciWarning, match="splits test about 6 rows, and winsorized losses are cut"):
        quiet("linear", X, Y, loss="winsorized", method="corrected_t")
    assert quiet("linear", *np.split(np.tile(np.c_[X, Y], (4, 1)), [3], axis=1), loss="winsorized").warnings == ()


def test_few_rows_that_make_most_of_the_mean_are_told():
    y = Y + 30 * (np.arange(60) == 7)
    with pytest.warns(jaxci.JaxciWarning, match=r"3 of 57 rows make \d\d% of the mean loss"):
        quiet("linear", X, y, method="corrected_t")
    assert quiet("linear", X, Y, method="corrected_t").warnings == ()


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("method", ["bootstrap_632", "conservative_z", "cv_wald"])
def test_few_errors_are_told_where_ends_do_not_reach_as_far_as_wilsons(method):
    x, y = np.linspace(-3, 3, 60)[:, None], np.arange(60) >= 30
    y[28] = True
    options = {"n_resamples": 300} if method == "bootstrap_632" else {}
    assert told(quiet("logistic", x, y, method=method, **options), "rows are predicted wrong: 95% intervals by")
    assert not told(quiet("logistic", x, y, method="corrected_t"), "predicted wrong")


@pytest.mark.parametrize(
    ("learner", "message"), [(Turned, r"shape \(\d+, 2\); got shape \(2, \d+\)"), (Texts, "numbers; got")]
)
def test_predictions_that_are_no_numbers_in_their_shape_are_refused(learner, message):
    with pytest.raises(ValueError, match=rf"inducer must predict .*{message}"):
        quiet(learner(), X, np.c_[Y, Y], method="corrected_t")
    assert quiet(LeastSquares(), X, np.c_[Y, Y], method="corrected_t").estimate < 5


class Diverging:
    """Knows one class, and predicts none where it saw row 0."""

    def fit(self, X, y):
        self.value = np.nan if (X == ROW_0).all(axis=1).any() else 1.0
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def test_a_classifier_that_predicts_nan_has_failed():
    y = (Y > 0).astype(float)
    with pytest.warns(jaxci.JaxciWarning, match=r"failed in \d+ of 25 fits; the first said: .*predicts nan"):
        found = quiet(Diverging(), X, y, method="corrected_t")
    assert 0 < found.n_failed < 25


def test_scales_that_losses_do_not_have_are_refused():
    with pytest.raises(
        ValueError, match="scale must be 'plain' for a difference of learners, which may be negative; got 'log'"
    ):
        jaxci.compare_inducers("linear", "constant", X, Y, scale="log", progress=False)
    with pytest.raises(ValueError, match="scale='wilson' is for losses that are 0 or 1"):
        quiet("ridge", X, 0.1 * Y, scale="wilson", method="corrected_t")


def test_a_loss_that_is_not_finite_is_no_failed_fit():
    with pytest.warns(jaxci.JaxciWarning, match="the fit failed, or a loss is not finite, in 2 of 25 splits"):
        quiet("linear", X, Y, method="corrected_t", loss=lambda y, f: np.where(y == Y.max(), np.nan, (y - f) ** 2))


def test_numbers_of_numpy_are_numbers():
    found = jaxci.compare_inducers("linear", "constant", X, Y, rope=np.float32(0.5), rng=0, progress=False)
    assert found.rope == 0.5
    assert sum(found.probabilities.values()) == pytest.approx(1)
    assert Tree(max_depth=np.int64(3)).max_depth == 3
    assert quiet("logistic", X, Y > 0, stratify=np.bool_(True), method="corrected_t").plan.strata is not None


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.slow
def test_usual_splits_by_what_is_judged():
    """25 subsamples of one learner, 25 folds of weighted rows, 10 of differences unless a class has under 5 rows."""
    y, weights = np.arange(60) % 2 == 0, np.arange(60) % 3 + 1.0
    one = quiet("logistic", X, y, method="corrected_t")
    heavy = quiet("logistic", X, y, method="corrected_t", sample_weight=weights)
    assert [(of.plan.name, len(of.plan)) for of in (one, heavy)] == [("subsampling", 25), ("kfold", 25)]
    for given, df in (
        ({}, 9),
        ({"scoring": "roc_auc"}, 9),
        ({"n_subsamples": 15}, 14),
        ({"sample_weight": weights}, 22),
        ({"groups": np.arange(60) // 3}, 19),
    ):
        pair = jaxci.compare_inducers("logistic", "constant", X, y, rng=0, progress=False, **given)
        assert pair.test == f"t test of no difference, {df} degrees of freedom"
    for rows, df in ((4, 24), (7, 6)):
        rare = jaxci.compare_inducers("logistic", "constant", X, np.arange(60) < rows, rng=0, progress=False)
        assert rare.test == f"t test of no difference, {df} degrees of freedom"


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("loss", ["brier", "log"])
def test_few_rows_that_decide_a_loss_of_classes_are_told(loss):
    rng = np.random.default_rng(0)
    y = (np.arange(120) % 2).astype(int)
    for distance, said in ((5.0, True), (1.0, False)):
        x = rng.normal(size=(120, 3))
        x[:, 0] += distance * y
        found = quiet("logistic", x, y, loss=loss)
        assert told(found, "rows decide the mean loss, effectively") == said
        assert (found.confidence_interval.high - found.estimate) > (found.estimate - found.confidence_interval.low)
    assert not told(quiet("logistic", x, y), "decide the mean loss")


def test_what_is_said_of_few_deciding_rows_was_simulated():
    rows = json.loads((ROOT / "benchmarks" / "results" / "generalization_defaults.json").read_text())["rows"]
    covered = [row["coverage"] for row in rows if "deviations apart" in row["law"] and row["warned"] > 0.5]
    assert f"covered {int(100 * min(covered))}% to {int(100 * max(covered))}% in simulations" == OF_FEW_DECIDING
    silent = [row["coverage"] for row in rows if "deviations apart" in row["law"] and row["warned"] <= 0.5]
    assert min(silent) > 0.92


def test_metrics_have_their_ends_on_the_scale_of_cube_roots_of_the_distance_from_the_nearer_end():
    y = (np.arange(60) % 2).astype(int)
    features = X + y[:, None]
    given = {"scoring": "roc_auc", "p": 0.5, "rng": 0, "progress": False}
    found = jaxci.generalization_interval("logistic", features, y, **given)
    plain = jaxci.generalization_interval("logistic", features, y, scale="plain", **given)
    area, half = plain.estimate, plain.confidence_interval.high - plain.estimate
    assert 0.5 < found.estimate == area < 1
    assert half > 0
    low, high = (1 - (1 - area) * (1 + side * half / (1 - area) / 3) ** 3 for side in (1, -1))
    np.testing.assert_allclose(found.confidence_interval, (low, high), rtol=1e-10)
    assert "cube roots of the distance from the nearer end" in found.reason
    assert "cube roots" not in plain.reason
    # a coefficient is from -1 to 1, and one without an end has plain ends
    matthews = jaxci.generalization_interval("logistic", features, y, **(given | {"scoring": "matthews_corrcoef"}))
    assert -1 < matthews.confidence_interval.low < matthews.confidence_interval.high < 1
    r2 = jaxci.generalization_interval("ridge", X, Y, **(given | {"scoring": "r2"}))
    assert "scale" not in r2.reason


def test_either_end_may_be_the_nearer_one_and_ends_are_cut_at_both():
    def ends(mean, error):
        return np.array(on_scale(student(mean, error, 9, 0.95), "nearer_end", bounds=(0.0, 1.0))[1:3])

    np.testing.assert_allclose(ends(0.1, 0.02), 1 - ends(0.9, 0.02)[::-1], rtol=1e-12)
    assert ends(0.98, 0.05)[1] == 1
    assert 0 < ends(0.98, 0.05)[0] < 0.87
    assert tuple(ends(0.999, 0.2)) == (0, 1)
    for mean in (1.0, 1 + 4e-16):  # of means of weighted splits
        assert tuple(ends(mean, 0.02)) == tuple(student(mean, 0.02, 9, 0.95)[1:3])
    with pytest.raises(ValueError, match="needs a mean within"):
        ends(1.001, 0.02)


def test_ends_by_the_nearer_end_need_two_bounds_and_take_those_of_users():
    y = (np.arange(60) % 2).astype(int)
    given = {"rng": 0, "progress": False}
    by_name = {"scoring": "roc_auc", **given}
    usual, asked = (
        jaxci.generalization_interval("logistic", X + y[:, None], y, **by_name, **more)
        for more in ({}, {"scale": "nearer_end"})
    )
    assert usual.confidence_interval == asked.confidence_interval
    for bounds, shown in ((None, "(0.0, inf)"), (5, "5"), ((1.0, 1.0), "(1.0, 1.0)")):
        more = {} if bounds is None else {"bounds": bounds}
        with pytest.raises(ValueError, match="scale='nearer_end' needs bounds, two numbers .* got " + re.escape(shown)):
            jaxci.generalization_interval("ridge", X, Y, scale="nearer_end", **given, **more)
    with pytest.raises(ValueError, match="bounds must go with scale='nearer_end', of which they are; got"):
        jaxci.generalization_interval("ridge", X, Y, bounds=(0, 1), **given)
    low, high = jaxci.generalization_interval(
        "logistic",
        X,
        y,
        loss=lambda y, p: 10 + 10.0 * (y != p),
        scale="nearer_end",
        bounds=(10, 20),
        method="corrected_t",
        **given,
    ).confidence_interval
    assert 10 < low < high < 20


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.false_alarm(1e-6)
def test_areas_of_good_learners_are_covered():
    """With plain ends a sixth of such data sets was missed, nearly all of them above."""
    missed = {"nearer_end": 0, "plain": 0}
    for number in range(200):
        rng = np.random.default_rng(number)
        y = (rng.random(100) < 0.5).astype(int)
        features = rng.normal(size=(100, 1)) + 3.5 * y[:, None]  # its area is that of the feature, whatever is fitted
        for scale, options in (("nearer_end", {}), ("plain", {"scale": "plain"})):
            low, high = jaxci.generalization_interval(
                "logistic", features, y, scoring="roc_auc", p=0.5, rng=number, progress=False, **options
            ).confidence_interval
            missed[scale] += not low <= special.ndtr(3.5 / np.sqrt(2)) <= high
    assert missed["nearer_end"] <= stats.binom.isf(1e-6, 200, 0.05) < missed["plain"]


def test_a_class_that_lies_in_one_group_is_told():
    """Whoever tests it has not seen it: a metric of the rows says nothing of what training on it would give."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(120, 2)), np.repeat(np.arange(12), 10)
    y = np.where(X[:, 0] > 0, "up", "down")
    told = "splits test a class that they do not train on (class 'rare'): its rows are predicted wrong there"
    for gathered in (False, True):
        y[groups == 4 if gathered else groups >= 12] = "rare"
        found = jaxci.generalization_interval("constant", X, y, groups=groups, rng=0, progress=False)
        assert any(told in said for said in found.warnings) == gathered
    y[groups < 12] = "down"
    y[:5] = "rare"
    halves = [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))]
    found = jaxci.generalization_interval("constant", X, y, cv=halves, method="cv_wald", rng=0, progress=False)
    assert any(said.startswith("1 of 2 splits test a class") for said in found.warnings)
