"""Every result prints as text and HTML and becomes a dictionary and a frame."""

import copy
import functools
import html.parser
import json
import pickle

import jax
import numpy as np
import pytest

import jaxci
from jaxci.coverage import GeneralizationStudy, Study, card
from jaxci.distributions import Parametric
from jaxci.inducers import Constant, Linear
from jaxci.intervals.bootstrap import BCa
from jaxci.printing import Printable, plain
from jaxci.resampling import splits
from jaxci.results import IntervalResult

RNG = np.random.default_rng(0)
X = RNG.beta(8, 2, 40)
Y = RNG.integers(0, 2, 60)
A = np.where(RNG.random(60) < 0.8, Y, 1 - Y)
B = np.where(RNG.random(60) < 0.7, Y, 1 - Y)
FEATURES, TARGET = RNG.normal(size=(30, 2)), RNG.normal(size=30)


@functools.cache
def study_results(folder):
    study = Study({"<beta>": Parametric("beta", {"a": 8, "b": 2})}, ["mean"], ["t", "percentile"], [5], [0.9], 8, 19, 2)
    return study.run(folder)


MASK = np.arange(36).reshape(6, 6) % 5 == 0

RESULTS = {
    "interval": lambda _: jaxci.interval("mean", X, method=BCa(acceleration="jackknife"), n_resamples=99, rng=0),
    "evaluation": lambda _: jaxci.evaluate(Y, A, metrics=["accuracy", "f1"], n_resamples=99, rng=0),
    "comparison": lambda _: jaxci.compare("accuracy", Y, A, B),
    "check": lambda _: jaxci.check_coverage("accuracy", Y, A, methods=["wald", "wilson"], rng=0),
    "bootstrap": lambda _: jaxci.bootstrap((X,), np.mean, n_resamples=99, rng=0),
    "bootstrap of several": lambda _: jaxci.bootstrap(
        (RNG.normal(size=(3, 12)),), np.mean, axis=1, n_resamples=99, method="percentile", rng=0
    ),
    "jackknife": lambda _: jaxci.jackknife(X, "std"),
    "proportion": lambda _: jaxci.proportion_interval(22, 23),
    "proportions": lambda _: jaxci.proportion_interval([[0, 5], [7, 10]], 10, alternative="less"),
    "quantiles": lambda _: jaxci.quantile_interval(X, [0.25, 0.5]),
    "runs": lambda _: jaxci.summarize_runs(X[:12]),
    "plan": lambda _: jaxci.plan_quantile(0.5, width=0.2),
    "plan of cases": lambda _: jaxci.plan("mean", expected={"sd": 0.2}, width=0.1, icc=0.1, cluster_size=5),
    "plan of a comparison": lambda _: jaxci.plan(
        "accuracy", expected={"a": 0.9, "b": 0.8, "discordant": 0.2}, power=0.8
    ),
    "mean of runs": lambda _: jaxci.runs_interval(X[:5]),
    "generalization": lambda _: jaxci.generalization_interval(
        Constant(), FEATURES, TARGET, method="holdout", progress=False, rng=0
    ),
    "comparison of learners": lambda _: jaxci.compare_inducers(
        Constant(), Linear(), FEATURES, TARGET, progress=False, rng=0
    ),
    "ranks of learners": lambda _: jaxci.rank_inducers(
        ["constant", "linear", "ridge"], FEATURES, TARGET, progress=False, rng=0
    ),
    "groups": lambda _: jaxci.evaluate(Y, A, metrics=["accuracy"], by=np.arange(len(Y)) % 2, n_resamples=99, rng=0),
    "leaderboard": lambda _: jaxci.leaderboard("accuracy", Y, {"a": A, "b": B}, n_resamples=999, rng=0),
    "leaderboard of runs": lambda _: jaxci.leaderboard("iqm", RNG.normal(size=(2, 5, 4)), n_resamples=99, rng=0),
    "profiles": lambda _: jaxci.performance_profiles({"a": RNG.normal(size=(5, 4))}, n_resamples=99, rng=0),
    "improvement": lambda _: jaxci.probability_of_improvement(X[:5], X[5:9], n_resamples=99, rng=0),
    "mean ranks": lambda _: jaxci.mean_ranks(
        {name: jaxci.leaderboard(name, Y, {"a": A, "b": B}, n_resamples=999, rng=0) for name in ("accuracy", "f1")}
    ),
    "cases": lambda _: jaxci.segmentation.cases([MASK, MASK], [MASK, ~MASK], spacing=(1.0, 1.0), tolerance=1.0),
    "cases, summarized": lambda _: jaxci.evaluate_cases({"dice": X}, rng=0),
    "fits": lambda _: jaxci.fit_resamples(
        Constant(), FEATURES, TARGET, plans=[splits.kfold(30, 5, 0)], progress=False, rng=0
    ),
    "curve": lambda _: jaxci.curves.roc(Y, Y + RNG.normal(size=60), n_resamples=199, rng=0),
    "difference of curves": lambda _: jaxci.curves.compare(
        "roc", Y, Y + RNG.normal(size=60), Y + RNG.normal(size=60), n_resamples=199, rng=0
    ),
    "seeds": lambda _: jaxci.run_seeds(lambda seed: seed / 10, 3),
    "study": study_results,
    "card": lambda _: card("f1"),
    "table of a study": lambda folder: study_results(folder).table,
}

THINNED = ("study", "runs", "seeds", "profiles", "curve", "difference of curves")
"""Results that print fewer rows than they have, or other ones."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("study")


class Balanced(html.parser.HTMLParser):
    """Fails where a tag is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open, self.tables = [], 0

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tables += tag == "table"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_text_html_a_dictionary_and_a_frame(name, folder):
    result = RESULTS[name](folder)
    assert isinstance(result, Printable)
    header, rows = result.texts()
    text = str(result).splitlines()
    assert all(len(row) == len(header) for row in rows)
    assert all(isinstance(value, str) for row in rows for value in row)
    assert all(word in str(result) for word in header)
    assert len(text) >= 2 + len(rows)
    page = Balanced()
    page.feed(result._repr_html_())
    assert page.open == []
    assert page.tables == 1
    described = json.loads(json.dumps(result.to_dict()))
    assert described
    assert set(described) == set(result.contents())
    records = json.loads(json.dumps(result.records()))
    assert len(records) == len(rows) or name in THINNED
    assert not any(isinstance(value, dict | list) for record in records for value in record.values())
    frame = result.to_frame()
    assert len(frame) == len(records)
    assert list(frame.columns) == list(records[0])


WITHOUT_PICTURE: dict[str, str] = {}
"""Results that have none, each with its reason."""


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_has_a_picture(name, folder):
    figures = pytest.importorskip("matplotlib.figure")
    ax = figures.Figure().subplots()
    result = RESULTS[name](folder)
    if name in WITHOUT_PICTURE:
        with pytest.raises(TypeError, match="there is no picture of"):
            result.plot(ax=ax)
    else:
        assert result.plot(ax=ax) is ax
        ax.figure.draw_without_rendering()
        assert ax.get_title(loc="left")
        assert ax.has_data()


def subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


@pytest.mark.slow
def test_every_class_of_results_is_among_them(folder):
    made = {type(make(folder)) for make in RESULTS.values()}
    assert {sub for sub in subclasses(Printable) if sub.__module__.startswith("jaxci.")} == made


def test_a_method_stays_a_value_in_a_result():
    method = BCa(acceleration="jackknife")
    result = jaxci.interval("mean", X, method=method, n_resamples=99, rng=0)
    by_option = jaxci.interval("mean", X, method="bca", acceleration="jackknife", n_resamples=99, rng=0)
    assert result.method == by_option.method == method == "bca"
    assert result.method != BCa()
    assert f"{result.method:>5}" == "  bca"
    assert result.to_dict()["method"] == {"name": "bca", "acceleration": "jackknife"}
    assert jaxci.interval("mean", X, method="t").to_dict()["method"] == "t"
    assert result.records()[0]["method"] == "bca"
    assert "  bca\n" in str(result)
    again = jaxci.interval("mean", X, method=result.method, n_resamples=99, rng=result.rng)
    assert again.confidence_interval == result.confidence_interval


@pytest.mark.slow
def test_two_settings_of_one_method_are_told_apart_in_a_check():
    methods = [BCa(), BCa(degenerate="nan"), "percentile"]
    found = jaxci.check_coverage("mean", X, methods=methods, n_replications=40, n_resamples=49, rng=0)
    assert [j.label for j in found.judgements] == ["bca", "bca(degenerate=nan)", "percentile"]
    assert [j.method for j in found.judgements] == [BCa(), BCa(degenerate="nan"), "percentile"]
    assert found["bca"] is found.judgements[0] is found[BCa()]
    assert found[BCa(degenerate="nan")] is found.judgements[1]
    assert [record["method"] for record in found.records()] == ["bca", "bca(degenerate=nan)", "percentile"]


def test_a_proportion_is_a_pair_with_more():
    found = jaxci.proportion_interval(22, 23, method="wilson")
    low, high = found
    assert (low, high) == found == (found.low, found.high) == tuple(found.confidence_interval)
    assert found.estimate == 22 / 23
    assert found.standard_error == pytest.approx(np.sqrt(22 / 23 * (1 / 23) / 23), rel=1e-14)
    assert (found.count, found.nobs, found.method, found.confidence_level) == (22, 23, "wilson", 0.95)
    for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert again == found
        assert again.to_dict() == found.to_dict()
    doubled = jax.tree.map(lambda x: 2 * x, found)
    assert tuple(doubled) == (2 * low, 2 * high)


def test_plain_values_of_results_in_results():
    inner = jaxci.interval("mean", X, method="t")
    assert plain({"a": (inner,)}) == {"a": [inner.to_dict()]}
    assert isinstance(inner, IntervalResult)


def test_a_batch_of_samples_says_so_in_place_of_a_table():
    found = jaxci.quantile_interval(RNG.random((3, 20)), 0.5)
    assert found.layout() == ([], [])
    assert "3 samples" in str(found)
    with pytest.raises(ValueError, match="a batch of samples has no table"):
        found.to_frame()


@pytest.mark.slow
def test_results_of_learners_are_results_of_a_study(folder):
    study = GeneralizationStudy(["friedman1"], ["constant"], ["squared"], ["corrected_t"], [20], 4, 2, 100)
    found = study.run(folder / "learners")
    assert isinstance(found, Printable)
    assert found.to_dict()["study"]["name"] == "generalization"
