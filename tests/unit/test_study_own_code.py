"""A folder refuses cells of a class of the user's own, registered or not, once its code was changed."""

import importlib
import sys

import pytest
from scipy import stats

from jaxci.coverage import GeneralizationStudy, Study
from jaxci.coverage.own_code import told_of_code
from jaxci.distributions import Clustered, Friedman1
from jaxci.distributions.files import KINDS
from jaxci.inducers import INDUCERS
from jaxci.inducers.registry import inducer
from jaxci.intervals.registry import METHODS
from jaxci.statistics.registry import METRICS

METHOD = '''
import numpy as np
from jaxci.intervals.base import Method, open_sides
from jaxci.records import record

STEPS = np.array([2.0])


def step(evidence):
    """Return some standard errors."""
    return STEPS[0] * evidence.standard_error  # of the estimate


@record
class Wide(Method):
    name = "wide_of_a_user"
    needs = frozenset({"standard_error"})
    leaves_range = True

    def refusal(self, statistic):
        return None

    def bounds(self, evidence, tails, critical):
        low, high = evidence.estimate - step(evidence), evidence.estimate + step(evidence)
        return open_sides(low, high, tails, evidence.statistic.bounds)
'''
STATISTIC = """
from jaxci.records import record
from jaxci.statistics.summary import MeanStatistic


@record
class Power(MeanStatistic):
    task = "values"
    inputs = ("values",)

    def row_values(self, sample):
        return abs(sample.values) ** 2
"""
LAW = """
import jax
from jaxci.distributions import Distribution
from jaxci.records import record


@record
class Skewed(Distribution):
    kind = "values"
    bounds = (0.0, float("inf"))

    def sample(self, key, n):
        return {"values": 2 * jax.random.exponential(key, (n,))}

    def analytic(self, statistic):
        return None
"""
LEARNER = """
import jax.numpy as jnp
from jaxci.inducers import Fitted, Inducer
from jaxci.records import record


@record
class Level(Inducer):
    penalty: float = 1.0
    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        return Fitted(2 * jnp.sum(weights * y) / jnp.sum(weights), jnp.array(True))

    def predict(self, params, X):
        return jnp.full(len(X), params)
"""
HOME = "own_classes_of_a_user"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a module of the user's, of a text in which something may be another."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def module(text, old="", new=""):
        assert old in text
        (tmp_path / f"{HOME}.py").write_text(text.replace(old, new))
        sys.modules.pop(HOME, None)
        importlib.invalidate_caches()
        return importlib.import_module(HOME)

    yield module
    sys.modules.pop(HOME, None)


def simulated(**changes):
    given = {"distributions": {"it": stats.norm()}, "statistics": ["mean"], "methods": ["z"], "sample_sizes": [10]}
    return Study(**(given | {"n_replications": 8, "n_resamples": 9, "n_groups": 2} | changes))


def learners(learner):
    counts = {"n_replications": 2, "n_groups": 1, "n_validation": 200}
    method = {"method": "cv_wald", "n_folds": 5}
    return GeneralizationStudy([Friedman1()], {"it": learner}, ["squared"], [method], [30], **counts)


def wide(module, registry):
    registry(METHODS, "wide_of_a_user", module.Wide)
    return simulated(methods=["wide_of_a_user"])


def power(module, registry):
    registry(METRICS, "power_of_a_user", module.Power())
    return simulated(statistics=["power_of_a_user"])


def skewed(module, registry):
    registry(KINDS, "skewed_of_a_user", module.Skewed)
    return simulated(distributions={"it": module.Skewed()})


def level(module, registry):
    registry(INDUCERS, "level_of_a_user", module.Level)
    return learners("level_of_a_user")


def tuned(module, registry):
    registry(INDUCERS, "level_of_a_user", module.Level)
    return learners(inducer("level_of_a_user", tune="penalty", values=[0.1, 1.0], n_folds=2))


CASES = {
    "a registered method": (METHOD, wide, "[2.0]", "[3.0]", "methods is"),
    "a method": (METHOD, lambda m, _: simulated(methods=[m.Wide()]), "[2.0]", "[3.0]", "methods is"),
    "a registered statistic": (STATISTIC, power, "** 2", "** 4", "statistics is"),
    "a statistic": (STATISTIC, lambda m, _: simulated(statistics=[("it", m.Power())]), "** 2", "** 4", "statistics is"),
    "a registered law": (LAW, skewed, "2 *", "5 *", "distribution is"),
    "the truth of a registered law": (LAW, skewed, "return None", "return 2.0", "distribution is"),
    "a law": (LAW, lambda m, _: simulated(distributions={"it": m.Skewed()}), "2 *", "5 *", "distributions.it.draws is"),
    "a registered learner": (LEARNER, level, "2 *", "5 *", r"generalization\.predictions is"),
    "a learner that is tuned": (LEARNER, tuned, "2 *", "5 *", r"generalization\.predictions is"),
}


@pytest.mark.parametrize(("text", "made", "old", "new", "field"), CASES.values(), ids=list(CASES))
def test_a_folder_refuses_a_class_of_the_users_that_was_changed(
    tmp_path, monkeypatch, own, text, made, old, new, field
):
    def study(*change):
        return made(own(text, *change), lambda *entry: monkeypatch.setitem(*entry))

    first = study().run(tmp_path / "out").columns
    assert study().results(tmp_path / "out").columns["mean_width"].tolist() == first["mean_width"].tolist()
    for reads in ("run", "results"):
        with pytest.raises(ValueError, match=f"another study: {field}"):
            getattr(study(old, new), reads)(tmp_path / "out")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEPS[0] *", "4 * STEPS[0] *"),
        ("  # of the estimate", ""),
        ('"""Return some standard errors."""', '"""Return several."""'),
        ("leaves_range = True", "leaves_range = False"),
        ("@record", "\n\n@record"),
    ],
)
def test_what_a_method_calls_is_its_code_and_how_it_is_written_is_not(own, old, new):
    before, after = (told_of_code(own(METHOD, *change).Wide()) for change in ((), (old, new)))
    assert (before != after) == ("4" in new or "False" in new)


def test_code_without_its_text_is_told_by_its_instructions(own, tmp_path):
    def told(*change):
        method = own(METHOD, *change).Wide()
        (tmp_path / f"{HOME}.py").unlink()
        return told_of_code(method)

    assert told() == told() != told("STEPS[0] *", "4 * STEPS[0] *")


def test_code_whose_text_was_changed_after_it_was_read_is_told_by_its_instructions(own):
    method = own(METHOD).Wide()
    before = told_of_code(method)
    changed = own(METHOD, "STEPS[0] *", "STEPS[-1] *").Wide()
    assert len({told["code"] for told in (before, told_of_code(method), told_of_code(changed))}) == 3


def test_what_is_of_the_library_has_no_code_and_is_told_as_files_hold_it():
    study = simulated(
        statistics=["mean", "median"], methods=["z", "percentile", {"name": "bca", "acceleration": "jackknife"}]
    )
    told = study.identity("it, n=10")
    assert told["methods"] == study.to_dict()["methods"]
    assert told["statistics"] == study.to_dict()["statistics"]


def test_a_law_of_the_users_within_one_of_the_library_is_told_by_its_code(own, monkeypatch):
    monkeypatch.setitem(KINDS, "skewed_of_a_user", own(LAW).Skewed)
    one, other = (Clustered(own(LAW, *change).Skewed(), 5) for change in ((), ("2 *", "5 *")))
    assert told_of_code(one) != told_of_code(other)
