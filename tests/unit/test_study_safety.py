"""What a study refuses: mixed results, names and options that break later, and pages that say too little."""

import importlib
import re
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxci.coverage import GeneralizationStudy, Study, load_study
from jaxci.coverage.classifier import ClassifierStudy
from jaxci.coverage.tally import flags_of
from jaxci.distributions import BatesClassification, FileProblem, Friedman1, Truth
from jaxci.inducers import Fitted, Inducer, Ridge
from jaxci.records import record
from jaxci.report.study import report


def learners(**changes):
    given = {
        "problems": ["friedman1"],
        "inducers": ["ridge"],
        "losses": ["squared"],
        "methods": [{"method": "cv_wald", "n_folds": 5}],
        "sample_sizes": [30],
        "n_replications": 2,
        "n_groups": 1,
        "n_validation": 200,
    }
    return GeneralizationStudy(**(given | changes))


def write_rows(path, noise):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rows = np.column_stack([x, x + noise * rng.normal(size=400)])
    np.savetxt(path, rows, delimiter=",", header="x,y", comments="")


@pytest.mark.slow
def test_a_folder_refuses_a_data_file_that_was_changed(tmp_path):
    pytest.importorskip("pandas")
    path = tmp_path / "data.csv"

    def study(*sizes, law=None):
        law = law or FileProblem(str(path), "y", "regression", n_validation=100)
        return learners(problems={"data": law}, sample_sizes=sizes)

    write_rows(path, 1.0)
    read = FileProblem(str(path), "y", "regression", n_validation=100)
    first = study(30, law=read).run(tmp_path / "out").columns
    write_rows(path, 5.0)
    with pytest.raises(ValueError, match=r"another study: generalization\.file is"):
        study(30, 40).run(tmp_path / "out")
    write_rows(path, 1.0)
    kept = study(30).results(tmp_path / "out").columns["truth"]  # a run that was refused has changed nothing
    assert kept.tolist() == first["truth"].tolist()
    write_rows(path, 5.0)
    with pytest.raises(ValueError, match=r"data\.csv must stay as it was when it was read"):
        study(30, law=read).run(tmp_path / "other")
    path.unlink()
    assert study(30, 40).results(tmp_path / "out").columns["truth"].tolist() == first["truth"].tolist()
    with pytest.raises(ValueError, match=r"data\.csv must be there to compute the cells that are left"):
        study(30, 40).run(tmp_path / "out")


PROBLEM = """
import jax, jax.numpy as jnp
from jaxci.distributions import Problem
from jaxci.records import record

@record
class Steps(Problem):
    task, n_features = "regression", 2

    def sample(self, key, n):
        X = jax.random.normal(key, (n, 2))
        return X, {slope} * X[:, 0]
"""
LEARNER = """
import jax.numpy as jnp
from jaxci.inducers import Fitted, Inducer
from jaxci.records import record

@record
class Level(Inducer):
    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        return Fitted({slope} * jnp.sum(weights * y) / jnp.sum(weights), jnp.array(True))

    def predict(self, params, X):
        return jnp.full(len(X), params)
"""
ESTIMATOR = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

class Level(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.level_ = {slope} * np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.level_)
"""
STEP = """
from sklearn.base import BaseEstimator, TransformerMixin

class Scale(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X ** {slope}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a module of the user's, of a text with a number in it; joblib's other processes could not import it."""
    joblib = pytest.importorskip("joblib")
    monkeypatch.syspath_prepend(str(tmp_path))

    def module(text, slope):
        (tmp_path / "own_parts_of_a_user.py").write_text(text.replace("{slope}", str(slope)))
        sys.modules.pop("own_parts_of_a_user", None)
        importlib.invalidate_caches()
        return importlib.import_module("own_parts_of_a_user")

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with joblib.parallel_config(backend="threading"):
        yield module
    sys.modules.pop("own_parts_of_a_user", None)


def piped(module):
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    return {"inducers": {"it": make_pipeline(module.Scale(), LinearRegression())}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "made", "field"),
    [
        (PROBLEM, lambda module: {"problems": {"it": module.Steps()}}, "draws"),
        (LEARNER, lambda module: {"inducers": {"it": module.Level()}}, "predictions"),
        (ESTIMATOR, lambda module: {"inducers": {"it": module.Level()}}, "predictions"),
        (STEP, piped, "predictions"),
    ],
    ids=["problem", "learner", "estimator", "step of a pipeline"],
)
def test_a_folder_refuses_code_of_the_users_that_was_changed(tmp_path, own, text, made, field):
    if text in (ESTIMATOR, STEP):
        pytest.importorskip("sklearn")
    first = learners(**made(own(text, 1))).run(tmp_path / "out").columns
    again = learners(**made(own(text, 1))).run(tmp_path / "out").columns
    assert again["mean_width"].tolist() == first["mean_width"].tolist()
    changed = learners(**made(own(text, 3)), sample_sizes=[30, 40])
    with pytest.raises(ValueError, match=rf"another study: generalization\.{field} is"):
        changed.run(tmp_path / "out")


@pytest.mark.parametrize("text", ["raise ValueError('no')", "self.level_ = np.random.rand()"])
def test_a_learner_that_fails_or_is_random_has_no_fingerprint(own, text):
    pytest.importorskip("sklearn")
    module = own(ESTIMATOR.replace("self.level_ = {slope} * np.mean(y)", text), 1)
    study = learners(inducers={"it": module.Level()})
    assert "predictions" not in study.identity("friedman1, it, squared, n=30")["generalization"]


def test_what_is_of_the_library_or_of_a_package_is_told_by_its_name():
    linear = pytest.importorskip("sklearn.linear_model")
    study = learners(inducers={"ours": Ridge(), "theirs": linear.LinearRegression()})
    for name in study.cell_names():
        told = study.identity(name)["generalization"]
        assert not {"file", "draws", "predictions"} & set(told)


def test_two_pairs_of_a_problem_and_a_learner_have_two_names():
    problems = {"a": Friedman1(), "a, b": Friedman1()}
    with pytest.raises(ValueError, match=r"names that differ when they are joined; got 'a, b, c' of"):
        learners(problems=problems, inducers={"b, c": Ridge(), "c": Ridge(2.0)})


def simulated(laws, **changes):
    given = {"statistics": ["mean"], "methods": ["t"], "sample_sizes": [5, 10]}
    counts = {"n_replications": 40, "n_resamples": 19, "n_groups": 4}
    return Study(laws, **(given | counts | changes))


def page_of(results, path):
    pytest.importorskip("matplotlib")
    results.report(path)
    return re.sub(r"base64,[^\"]*", "", path.read_text(encoding="utf-8"))


NO_PICTURE = "{}: there is no picture, as no row has a {} to draw."


@pytest.mark.slow
def test_a_report_leaves_out_pictures_of_what_does_not_exist(tmp_path):
    page = page_of(simulated({"c": stats.cauchy()}).run(tmp_path / "out"), tmp_path / "report.html")
    assert NO_PICTURE.format("Mean width against sample size", "mean width") in page
    assert NO_PICTURE.format("Coverage against sample size", "coverage") in page
    assert "<figure>" not in page


def zero_medians(methods):
    """Rows of two distributions, of which one method of three has a width, or the one there is has none at first."""
    rows = [(d, method, n) for d in "ab" for method in methods for n in (10, 20)]
    distribution, method, n = map(np.array, zip(*rows, strict=True))
    size = len(rows)
    wide = (method == "c") & ((n == 20) | (len(methods) > 1))
    return {
        "distribution": distribution,
        "statistic": np.full(size, "mean"),
        "method": method,
        "level": np.full(size, 0.95),
        "n": n,
        "coverage": np.full(size, 0.9),
        "mean_width": wide.astype(float),
    }


@pytest.mark.parametrize("methods", ["abc", "c"])
def test_widths_over_a_width_of_zero_are_not_drawn(tmp_path, methods):
    pytest.importorskip("matplotlib")
    path = tmp_path / "report.html"
    report(type("Table", (), {"columns": zero_medians(methods), "tags": ()}), path)
    assert NO_PICTURE.format("Mean width against sample size", "mean width") in path.read_text(encoding="utf-8")


@record
class Signs(BatesClassification):
    """Classes that the sum of five features tells."""

    def sample(self, key, n):
        X, _ = super().sample(key, n)
        return X, (X[:, :5].sum(axis=1) > 0).astype(jnp.int32)

    def normal_law(self):
        return None


@record
class Knowing(Inducer):
    """A learner that is never wrong about them, or with a fit that gives no number."""

    task = "classification"
    fails: float = 0.0

    def fit(self, key, X, y, weights, n_classes):
        return Fitted(jnp.where(self.fails > 0, jnp.nan, 0.0), jnp.array(True))

    def predict(self, params, X):
        second = (X[:, :5].sum(axis=1) > 0) + params
        return jnp.stack([1 - second, second], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("fails", [0.0, 1.0])
def test_a_report_of_learners_without_widths_is_written(tmp_path, fails):
    study = learners(problems={"signs": Signs()}, inducers={"knowing": Knowing(fails)}, losses=["zero_one"])
    page = page_of(study.run(tmp_path / "out"), tmp_path / "report.html")
    assert NO_PICTURE.format("Coverage of the risk against relative width", "width over sd") in page


@pytest.mark.slow
def test_the_page_of_an_unfinished_study_says_so_first(tmp_path):
    study = simulated({"normal": stats.norm()})
    assert "Not finished" not in page_of(study.run(tmp_path / "out"), tmp_path / "all.html")
    next((tmp_path / "out" / "cells").iterdir()).unlink()
    page = page_of(study.results(tmp_path / "out"), tmp_path / "half.html")
    assert page.index("Not finished: 1 of 2 cells are done") < page.index('<ul class="verdict">')


def test_a_share_of_all_samples_is_100_percent():
    assert "undefined in 100% of the samples" in flags_of(Truth(0.0, 0.0, ""), 1.0, (), np.zeros(0))[0]
    assert "undefined in 2.5% of the samples" in flags_of(Truth(0.0, 0.0, ""), 0.025, (), np.zeros(0))[0]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            {"method": "cv_wald", "n_folds": 4, "variance": "foo"},
            "variance must be 'all-pairs' or 'within-fold'; got 'foo'",
        ),
        ({"method": "five_by_two_cv", "n_folds": 5}, "needs 5 repetitions of 2 folds; got 5 of 5"),
        ({"method": "corrected_t", "n_subsamples": 1}, "needs at least 2 splits"),
        ({"method": "bootstrap_case_cv", "n_resamples": 1}, "needs at least 2 resamples; got 1"),
        ({"method": "oob", "n_resamples": 1}, "needs at least 2 resamples; got 1"),
        ({"method": "nested_cv"}, "needs at least 2 rows in every fold"),
        ({"method": "bootstrap_632_plus", "clip": "no"}, "clip of bootstrap_632_plus must be True or False; got 'no'"),
        (
            {"method": "bootstrap_case_cv", "one_sided": 1},
            "one_sided of bootstrap_case_cv must be True or False; got 1",
        ),
        ({"method": "holdout", "p": "a"}, ", p = 'a': "),
        ({"method": "cv_wald", "n_folds": "a"}, ", n_folds = 'a': "),
    ],
)
def test_a_method_that_would_give_no_interval_is_refused_at_once(method, message):
    with pytest.raises(ValueError, match=rf"^mine at n = 8.*{re.escape(message)}"):
        learners(methods=["corrected_t", {**method, "label": "mine"}], sample_sizes=[8, 100])


@pytest.mark.parametrize("name", ["nan", "inf", "-inf", ""])
def test_names_that_files_of_results_would_change_are_refused(name):
    for field, change in {
        "problems": {"problems": {name: Friedman1()}},
        "inducers": {"inducers": {name: Ridge()}},
        "labels of methods": {"methods": [{"method": "corrected_t", "label": name}]},
    }.items():
        with pytest.raises(ValueError, match=f"^{field} must .*; got {name!r}"):
            learners(**change)
    with pytest.raises(ValueError, match=f"^statistics must .*; got {name!r}"):
        simulated({"normal": stats.norm()}, statistics={name: "mean"})


def test_names_and_tags_that_tables_cannot_hold_are_refused():
    with pytest.raises(ValueError, match="statistics must have names without tabs"):
        simulated({"normal": stats.norm()}, statistics={"a\tb": "mean"})
    with pytest.raises(ValueError, match=r"tags must be texts or numbers; got \['a'\] for 'task'"):
        simulated({"normal": stats.norm()}, tags={"normal": {"task": ["a"]}})
    assert simulated({"normal": stats.norm()}, tags={"normal": {"task": "a", "size": np.int64(3)}}).tags


@pytest.mark.parametrize(
    "made",
    [
        lambda seed: simulated({"normal": stats.norm()}, seed=seed),
        lambda seed: learners(seed=seed),
        lambda seed: ClassifierStudy(seed=seed),
    ],
    ids=["statistics", "learners", "classifier"],
)
def test_seeds_that_draw_what_smaller_ones_do_are_refused(made):
    assert made(2**32 - 1).seed == 2**32 - 1
    for seed in (2**32, 2**70):
        with pytest.raises(ValueError, match=rf"seed must be below 2\*\*32; got {seed}"):
            made(seed)


DESIGN = """
statistics = ["mean"]
methods = ["t"]
sample_sizes = [10]
n_replications = 4
n_resamples = 19
n_groups = 2
[distributions.normal]
kind = "parametric"
name = "norm"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DESIGN.replace('["mean"]', '"mean"'), "statistics must be a list of metrics; got 'mean'"),
        (DESIGN.replace('["mean"]', "3"), "statistics must be a list of metrics; got 3"),
        ("more_sizes = 3\n" + DESIGN, "more_sizes must be a list of tables; got 3"),
        ("more_sizes = [3]\n" + DESIGN, "an entry of more_sizes must be a table of values by name; got 3"),
        ("data = 3\n" + DESIGN, "data must be a table of values by name; got 3"),
        ('[classifier]\nlevel = "a"\n', "level must be a number between 0 and 1; got 'a'"),
        ("classifier = 3\n", "classifier must be a table of values by name; got 3"),
        ("generalization = 3\n", "generalization must be a table of values by name; got 3"),
    ],
)
def test_a_field_of_a_file_that_is_of_another_kind_is_named(tmp_path, text, message):
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_study(tmp_path / "study.toml")


@pytest.mark.parametrize("command", ["run", "estimate", "status", "report"])
def test_a_folder_of_results_that_can_be_none_is_refused(tmp_path, capsys, command):
    pytest.importorskip("typer")
    from jaxci.cli import main

    (tmp_path / "study.toml").write_text(DESIGN)
    load_study(tmp_path / "study.toml")
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "within"):
        assert main(["study", command, str(tmp_path / "study.toml"), "--out", str(out)]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"error: --out must be a folder that can be made and written; got {str(out)!r}" in said
