"""Metrics, interval methods and distributions of users, and what is said where one is written wrongly."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.coverage import GeneralizationStudy, Study
from jaxci.distributions import Distribution
from jaxci.inducers import Fitted, Inducer, check_inducer
from jaxci.intervals.base import Method
from jaxci.records import record, static
from jaxci.statistics.regression import MeanError

RNG = np.random.default_rng(0)
Y = RNG.gamma(2, 3, 40)
CLOSE, FAR = (Y * RNG.lognormal(0, spread, 40) for spread in (0.2, 0.5))
QUICK = {"n_replications": 20, "n_resamples": 99, "rng": 0}


@record
class Off(MeanError):
    """The share of rows that are off by more than 1, as values of a type."""

    dtype: str = static(default="float64")

    def row_values(self, sample):
        """Return whether rows are off."""
        return (abs(sample.y_true - sample.y_pred) > 1).astype(self.dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint32", "float32", "bfloat16"])
def test_differences_of_row_values_are_those_of_numbers_whatever_their_type(dtype):
    found, wanted = (jaxci.compare(Off(name), Y, CLOSE, FAR, rng=0) for name in (dtype, "float64"))
    assert found.estimate == wanted.estimate < 0
    assert found.confidence_interval == wanted.confidence_interval


def metric_of(function, bounds=(0.0, np.inf)):
    """Return a metric with these row values."""
    own = {"row_values": lambda self, sample: function(sample), "bounds": bounds}
    return record(type("Own", (MeanError,), own))()


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda sample: np.mean(sample.y_true), r"shape \(\) and dtype float64"),
        (lambda sample: 3.0, r"3\.0"),
        (lambda sample: None, "None"),
        (lambda sample: sample.y_true[:, None], r"shape \(40, 1\) and dtype float64"),
        (lambda sample: sample.y_true[:-1], r"shape \(39,\) and dtype float64"),
        (lambda sample: sample.y_true + 1j, r"shape \(40,\) and dtype complex128"),
    ],
    ids=["mean", "number", "nothing", "column", "short", "complex"],
)
def test_row_values_that_are_not_one_number_a_row_are_refused_by_name(function, got):
    wanted = rf"row_values of 'Own' must return one number a row, shape \(40,\); got {got}"
    with pytest.raises(ValueError, match=wanted):
        jaxci.interval(metric_of(function), Y, CLOSE)
    with pytest.raises(ValueError, match=wanted):
        jaxci.compare(metric_of(function), Y, CLOSE, FAR)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (1.0, 0.0)])
def test_row_values_beyond_the_bounds_that_a_metric_declares_are_refused(bounds):
    """The interval did not hold its own estimate."""
    squared = metric_of(lambda sample: (sample.y_true - sample.y_pred) ** 2, bounds)
    with pytest.raises(
        ValueError, match=r"row_values of 'Own' must lie within its bounds, \[.*\]; \d+ do not, such as"
    ):
        jaxci.interval(squared, Y, CLOSE)


def test_rounding_takes_no_row_value_beyond_its_bounds():
    above = np.float32(1) + np.finfo(np.float32).eps
    for function, bounds in (
        (lambda sample: np.where(sample.y_true > 5, above, 0.5).astype(np.float32), (0.0, 1.0)),
        (lambda sample: sample.y_true**2 - 2 * sample.y_true * sample.y_pred + sample.y_pred**2, (0.0, np.inf)),
    ):
        low, high = jaxci.interval(metric_of(function, bounds), Y, Y * (1 + 1e-9), method="t").confidence_interval
        assert low <= high


def method_of(function):
    """Return an interval method with these bounds."""
    own = {
        "name": "mine",
        "needs": frozenset({"standard_error"}),
        "refusal": lambda self, statistic: None,
        "bounds": lambda self, evidence, tails, critical: function(evidence.estimate),
    }
    return record(type("Mine", (Method,), own))()


def test_a_pair_of_ends_is_as_good_as_bounds():
    pair = method_of(lambda estimate: (estimate - 1, estimate + 1))
    low, high = jaxci.interval("mean", Y, method=pair).confidence_interval
    assert (low, high) == (pytest.approx(Y.mean() - 1), pytest.approx(Y.mean() + 1))
    assert 0 < jaxci.check_coverage("mean", Y, methods=[pair], **QUICK)["mine"].coverage <= 1


@pytest.mark.parametrize(
    "function",
    [
        lambda estimate: estimate,
        lambda estimate: (estimate, estimate, estimate),
        lambda estimate: (np.stack([estimate, estimate]), estimate),
        lambda estimate: None,
    ],
    ids=["one", "three", "stacked", "nothing"],
)
def test_bounds_that_are_no_pair_of_ends_are_refused_by_name(function):
    for verb in (
        lambda method: jaxci.interval("mean", Y, method=method),
        lambda method: jaxci.check_coverage("mean", Y, methods=[method], **QUICK),
    ):
        with pytest.raises(ValueError, match="bounds of method 'mine' must return the low and the high end, arrays"):
            verb(method_of(function))


@pytest.mark.parametrize(
    ("draws", "got"),
    [(lambda x: {"value": x}, "'value'"), (lambda x: {}, ""), (lambda x: x, "")],
    ids=["misnamed", "none", "array"],
)
def test_draws_without_their_columns_are_told(tmp_path, draws, got):
    own = {
        "kind": "values",
        "bounds": (0.0, 1.0),
        "sample": lambda self, key, n: draws(np.zeros(n)),
        "analytic": lambda self, statistic: None,
    }
    law = record(type("Law", (Distribution,), own))()
    wanted = f"must be a dict with 'values', as its kind is 'values'; got {got}"
    study = Study({"own": law}, ["mean"], ["t"], [10], n_replications=20, n_resamples=99, n_groups=2)
    assert wanted in study.run(tmp_path / "out").to_frame()["flags"][0]


class Nearest(Inducer):
    """Predict what the nearest row has, also where that row has no weight."""

    def fit(self, key, X, y, weights, n_classes):
        """Keep all rows."""
        return Fitted((X, jnp.eye(n_classes)[y] if n_classes else y), jnp.asarray(True))

    def predict(self, params, X):
        """Look for the nearest."""
        return params[1][((X[:, None] - params[0]) ** 2).sum(axis=-1).argmin(axis=1)]


@record
class NearestClass(Nearest):
    """That of a class."""

    task = "classification"


@record
class NearestTarget(Nearest):
    """That of a target."""

    task = "regression"


@record
class OfWeight(NearestClass):
    """Predict what the nearest row of some weight has."""

    def fit(self, key, X, y, weights, n_classes):
        """Move the others far away."""
        return super().fit(key, jnp.where(weights[:, None] > 0, X, 1e9), y, weights, n_classes)


@record
class Logits(NearestClass):
    """Return what are no probabilities."""

    def predict(self, params, X):
        """Return the first feature for the second class."""
        return jnp.stack([-X[:, 0], X[:, 0]], axis=1)


X = RNG.normal(size=(60, 2))
CLASSES = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)


KNOWING = {"class": (NearestClass(), CLASSES), "target": (NearestTarget(), X[:, 0])}


@pytest.mark.parametrize("kind", KNOWING)
def test_a_learner_that_knows_the_rows_it_is_tested_on_is_refused(kind):
    """It passed the contract, and its error was 0."""
    learner, y = KNOWING[kind]
    with pytest.raises(AssertionError, match="targets of weight 0 must have no influence, on their rows neither: "):
        check_inducer(learner)
    told = r"fit must leave out rows of weight 0: \d+ of 60 predictions change with the targets of these alone"
    with pytest.raises(ValueError, match=told):
        jaxci.generalization_interval(learner, X, y, rng=0, progress=False)
    with pytest.raises(ValueError, match=told):
        jaxci.compare_inducers("constant", learner, X, y, rng=0, progress=False)
    with pytest.raises(ValueError, match=told):  # .632 fits all rows first
        jaxci.generalization_interval(learner, X, y, method="bootstrap_632", rng=0, progress=False)
    assert len(check_inducer(OfWeight())) == 9
    found = jaxci.generalization_interval(OfWeight(), X, CLASSES, rng=0, progress=False)
    assert 0.05 < found.estimate < 0.6


@pytest.mark.parametrize("kind", KNOWING)
def test_a_study_refuses_a_learner_that_knows_the_rows_it_is_tested_on(kind, tmp_path):
    """Its risk would be right, and its estimates 0."""
    law, loss = ("friedman1", "absolute") if kind == "target" else ("bates_classif_20", "zero_one")
    study = GeneralizationStudy(
        [law], {kind: KNOWING[kind][0]}, [loss], ["bootstrap_632", "cv_wald"], [60], n_replications=2, n_groups=1
    )
    with pytest.raises(ValueError, match=r"fit must leave out rows of weight 0: \d+ of 60 predictions change"):
        study.run(tmp_path / "out", progress=False)


@record
class Single(Inducer):
    """Predict the mean, in single precision and about a middle that all rows have."""

    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        """Subtract the middle of all rows, and the mean of those of some weight, which is no promise broken."""
        middle, y = y.astype(jnp.float32).mean(), y.astype(jnp.float32)
        return Fitted(middle + jnp.average(y - middle, weights=weights), jnp.asarray(True))

    def predict(self, params, X):
        """Return the mean."""
        return jnp.full(len(X), params, float)


def test_a_learner_of_single_precision_is_no_leak():
    found = jaxci.generalization_interval(Single(), X, 1e6 * X[:, 0], rng=0, progress=False)
    assert found.estimate > 0


def test_probabilities_of_a_learner_that_are_none_are_refused():
    for given in ({"loss": "log"}, {"loss": "brier"}, {"loss": "expected_calibration_error"}):
        with pytest.raises(ValueError, match=r"Logits\.predict must return probabilities, which sum to 1; got"):
            jaxci.generalization_interval(Logits(), X, CLASSES, rng=0, progress=False, **given)
    assert 0 < jaxci.generalization_interval(Logits(), X, CLASSES, rng=0, progress=False).estimate < 0.5


def test_a_function_that_has_no_hash_is_resampled():
    class Centre:
        __hash__ = None

        def __call__(self, values, axis=-1):
            return values.mean(axis=axis)

    found, wanted = (
        jaxci.bootstrap((Y,), function, n_resamples=99, rng=0)
        for function in (Centre(), lambda values, axis=-1: values.mean(axis=axis))
    )
    assert found.confidence_interval == wanted.confidence_interval
