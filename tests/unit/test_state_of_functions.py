"""Users' code that reads what may change between two calls is computed as it is now, and compiled once if it stayed."""

import tempfile
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.coverage import Study
from jaxci.coverage.learner_cell import Configuration, LearningCell, run_cell
from jaxci.distributions import BatesRegression, EmpiricalColumns, as_distribution, truth
from jaxci.generalization import LOSSES
from jaxci.inducers import Fitted, Inducer, Tuned
from jaxci.inference.sharding import Spread
from jaxci.records import record
from jaxci.statistics import WeightedFunction
from jaxci.statistics.summary import Std
from jaxci.tracing import digest_of, traced

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(0)
X, Y = RNG.exponential(size=60), RNG.normal(size=60)
P, Q = Y + RNG.normal(size=60), Y + RNG.normal(size=60)
STATE = SimpleNamespace(limit=0.5, traces=0)
KEY = jax.random.key(3)


def above(v):
    STATE.traces += 1
    return (v > STATE.limit).mean(dtype=float)


def apart(y, p, w):
    STATE.traces += 1
    return jnp.sum(w * (jnp.abs(y - p) > STATE.limit)) / jnp.sum(w)


def large(v, w):
    STATE.traces += 1
    return jnp.sum(w * (v > STATE.limit)) / jnp.sum(w)


def bent(v, w):
    STATE.traces += 1
    return jnp.sum(w * jnp.minimum(v, STATE.limit) ** 2) / jnp.sum(w)


BENT = WeightedFunction(bent)
APART, LARGE = WeightedFunction(apart, differentiable=False), WeightedFunction(large, differentiable=False)


@record
class Shrunk(Inducer):
    """The mean of the targets, times a number that is no field."""

    alpha: float = 1.0
    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        STATE.traces += 1
        return Fitted(self.alpha * STATE.limit * jnp.sum(weights * y) / jnp.sum(weights), jnp.asarray(True))

    def predict(self, params, X):
        return jnp.full(X.shape[0], params)


@record
class Capped(Std):
    """A standard deviation that a number which is no field caps."""

    def core(self, prepared, sums):
        STATE.traces += 1
        return jnp.minimum(super().core(prepared, sums), STATE.limit)


class Law:
    """A distribution without known values."""

    def sample(self, key, n):
        return jax.random.exponential(key, (n,))


def ends(found):
    return [found.estimate, *found.confidence_interval]


def of_learner(learner):
    rows = X[:, None], Y + 5
    return ends(jaxci.generalization_interval(learner, *rows, method="corrected_t", progress=False, rng=0))


def of_loss():
    return ends(
        jaxci.generalization_interval("linear", X[:, None], Y, method="corrected_t", loss=APART, progress=False, rng=0)
    )


def of_checks():
    found = jaxci.check_coverage(LARGE, X, methods=["percentile"], n_replications=20, n_resamples=99, rng=0)
    return [found["percentile"].mean_width, found["percentile"].coverage]


def of_board():
    found = jaxci.leaderboard(APART, Y, {"a": P, "b": Q}, less_is_better=True, n_resamples=99, rng=0)
    return [row["estimate"] for row in found.records()]


def of_study():
    design = {"n_replications": 20, "n_resamples": 99, "n_groups": 2, "levels": [0.9]}
    study = Study({"own": EmpiricalColumns((X,))}, [LARGE], ["percentile"], [30], **design)
    with tempfile.TemporaryDirectory() as folder:
        (row,) = study.run(folder).table.records()
    return [row["truth"], row["mean_width"]]


def of_learning_cell():
    configurations = [Configuration("corrected_t", "corrected_t")]
    cell = LearningCell(BatesRegression(), 30, Shrunk(), LOSSES["squared"], configurations, 4, 2, 500, 0.9)
    found = run_cell(cell, KEY, [0, 1], Spread.over())
    return [*found.estimates[:, 0], *found.risks]


ROADS = {
    "interval": lambda: ends(jaxci.interval(above, X, rng=0, n_resamples=99)),
    "bootstrap": lambda: ends(jaxci.bootstrap((X,), above, vectorized=False, rng=0, n_resamples=99)),
    "weighted": lambda: ends(jaxci.interval(LARGE, X, rng=0, n_resamples=99)),
    "jackknife": lambda: jaxci.jackknife(X, LARGE).pseudo_values.tolist(),
    "compare": lambda: ends(jaxci.compare(APART, Y, P, Q, rng=0, n_resamples=99)),
    "loss": of_loss,
    "check_coverage": of_checks,
    "leaderboard": of_board,
    "study": of_study,
    "learning_cell": of_learning_cell,
    "truth": lambda: [truth(as_distribution(Law(), "columns"), BENT, KEY, 200).value],
    "learner": lambda: of_learner(Shrunk()),
    "tuned": lambda: of_learner(Tuned(Shrunk(), "alpha", (1.0, 1.1), 2)),
    "statistic": lambda: ends(jaxci.interval(Capped(), X, method="percentile", rng=0, n_resamples=99)),
}


def found_by(road, limit):
    """Return what a verb finds, and how often it traced the user's code."""
    STATE.limit, STATE.traces = limit, 0
    return road(), STATE.traces


@pytest.mark.parametrize("name", ROADS)
@pytest.mark.slow
def test_code_that_reads_what_has_changed_is_computed_as_it_is_now(name):
    road = ROADS[name]
    (before, _), (after, many), (again, few) = (found_by(road, limit) for limit in (0.5, 0.8, 0.8))
    jax.clear_caches()
    fresh, _ = found_by(road, 0.8)
    assert before != after == again == fresh
    assert few < many


class Limits:
    """Functions of an object's own field, and of an array that it holds."""

    def __init__(self):
        self.limits = np.array([0.5])

    def above(self, v):
        return (v > self.limits[0]).mean(dtype=float)

    def __call__(self, v):
        return jnp.sum(v > jnp.asarray(self.limits), dtype=float) / len(v)


@pytest.mark.parametrize("bound", [True, False])
def test_objects_and_arrays_that_change_are_read_anew(bound):
    own = Limits()
    function = own.above if bound else own
    for limit in (0.5, 1.5):
        own.limits[0] = limit
        found = jaxci.interval(function, X, rng=0, n_resamples=99)
        replicates = jaxci.bootstrap((X,), function, vectorized=False, rng=0, n_resamples=99)
        share = np.mean(limit < X)
        assert found.estimate == replicates.estimate == pytest.approx(share)
        assert found.confidence_interval.low < share < found.confidence_interval.high


def test_a_digest_is_of_steps_and_of_the_numbers_they_read():
    held = np.arange(40.0)

    def inner(v, scale):
        return jax.jit(lambda x: jnp.sum(x * held) * scale)(v)

    def of(scale):
        return digest_of(traced(lambda v: jax.nn.relu(inner(v, scale)), held)[0])

    before = of(2.0)
    assert before == of(2.0) != of(2.001)
    held[17] += 1
    assert before != of(2.0)
