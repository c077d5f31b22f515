"""Studies of intervals for the generalization error."""

import dataclasses

import jax
import numpy as np
import pytest

import jaxci
from jaxci.coverage import GeneralizationStudy, load_study
from jaxci.coverage.learner_cell import Configuration, Found, LearningCell, rows_of, run_cell
from jaxci.coverage.tally import NO_INTERVAL
from jaxci.distributions import BatesRegression, FileProblem, Friedman1, Problem, problem
from jaxci.generalization import LOSSES, METHODS
from jaxci.inducers import Linear, Logistic, Ridge
from jaxci.inference.sharding import Spread
from jaxci.records import record

KEY = jax.random.key(5, impl="threefry2x32")


def cell(**changes):
    given = {
        "problem": Friedman1(),
        "n": 40,
        "learner": Ridge(),
        "loss": LOSSES["squared"],
        "configurations": [Configuration("corrected_t", "corrected_t"), Configuration("cv_wald", "cv_wald")],
        "n_replications": 6,
        "n_groups": 2,
        "n_validation": 3000,
        "level": 0.9,
    }
    return LearningCell(**{**given, **changes})


@record
class RoomyRidge(Ridge):
    """A ridge regression whose programs have room for more rows."""

    pads_rows = True


@pytest.mark.slow
def test_room_for_more_rows_changes_no_cell():
    configurations = [Configuration("holdout", "holdout"), Configuration("corrected_t", "corrected_t")]
    cells = (cell(n=42, learner=learner, configurations=configurations) for learner in (Ridge(), RoomyRidge()))
    plain, roomy = (run_cell(one, KEY, [0, 1], Spread.over()) for one in cells)
    assert np.isfinite(plain.proxies[:, 0]).all()
    for name, values in plain.to_arrays().items():
        if np.asarray(values).dtype.kind == "U":
            assert getattr(roomy, name) == values
        elif name != "seconds":
            np.testing.assert_allclose(getattr(roomy, name), values, rtol=1e-9)


def small(**changes):
    given = {
        "problems": ["friedman1", "bates_classif_20"],
        "inducers": ["ridge", "logistic"],
        "losses": ["squared", "zero_one"],
        "methods": ["corrected_t", {"method": "cv_wald", "n_folds": 5, "label": "cv_5"}],
        "sample_sizes": [30, 60],
        "n_replications": 6,
        "n_groups": 2,
        "n_validation": 2000,
    }
    return GeneralizationStudy(**{**given, **changes})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "learner", "loss"),
    [
        ("friedman1", Ridge(), "winsorized"),
        pytest.param("bates_classif_20", Logistic(), "log", marks=pytest.mark.slow),
        pytest.param("friedman1", Linear(), "squared", marks=pytest.mark.slow),
    ],
)
def test_a_cell_gives_what_the_verb_gives_for_each_data_set(name, learner, loss):
    methods = ["corrected_t", "conservative_z", "bootstrap_632_plus", "nested_cv"]
    settings = {"conservative_z": {"n_subsamples": 3, "n_pairs": 4}, "nested_cv": {"n_repeats": 2}}
    settings["bootstrap_632_plus"] = {"n_resamples": 30}
    made = cell(
        problem=problem(name),
        learner=learner,
        loss=LOSSES[loss],
        configurations=[Configuration(m, m, settings.get(m, {})) for m in methods],
    )
    found = run_cell(made, KEY, [0, 1], Spread.over())
    assert found.estimates.shape == (6, 4)
    with jax.enable_x64(True):
        X, y = map(np.asarray, made.data(KEY, [4]))
    seed = int(jax.random.bits(jax.random.fold_in(jax.random.fold_in(KEY, 3), 1)))
    for c, configuration in enumerate(made.configurations):
        alone = jaxci.generalization_interval(
            learner, X[0], y[0], loss=loss, method=configuration.method, cv=configuration.plans(40, seed),
            confidence_level=0.9, progress=False,
        )  # fmt: skip
        low, high = found.low[4, c], found.high[4, c]
        np.testing.assert_allclose(found.estimates[4, c], alone.estimate, rtol=1e-8)
        np.testing.assert_allclose(low, alone.confidence_interval.low, rtol=1e-7)
        np.testing.assert_allclose(high, alone.confidence_interval.high, rtol=1e-7)
        assert found.fits[c] == alone.n_fits


@record
class Apart(Problem):
    """Two classes of one normal feature that lie well apart."""

    task = "classification"
    n_features = 1
    n_classes = 2

    def sample(self, key, n):
        of_y, of_x = jax.random.split(key)
        y = jax.random.randint(of_y, (n,), 0, 2)
        return jax.random.normal(of_x, (n, 1)) + 4.4 * y[:, None] - 2.2, y


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(
    ("law", "learner", "loss", "methods"),
    [
        (Apart(), Logistic(), "zero_one", ["corrected_t", "cv_wald", "holdout", "conservative_z"]),
        (BatesRegression(), Linear(), "squared", ["nested_cv", "conservative_z"]),
    ],
)
def test_a_cell_judges_what_the_verb_reports_where_formulas_have_no_width_or_leave_the_range(
    law, learner, loss, methods
):
    settings = {"conservative_z": {"n_subsamples": 2, "n_pairs": 2}, "nested_cv": {"n_repeats": 2}}
    settings["corrected_t"] = {"n_subsamples": 5}
    configurations = [Configuration(m, m, settings.get(m, {})) for m in methods]
    made = cell(problem=law, learner=learner, loss=LOSSES[loss], configurations=configurations)
    found = run_cell(made, KEY, [0, 1], Spread.over())
    formula = run_cell(dataclasses.replace(made, ends="formula"), KEY, [0, 1], Spread.over())
    width, of_formula = found.high - found.low, formula.high - formula.low
    if loss == "zero_one":
        assert (of_formula == 0).any()
        assert (width > 0).all()
    else:
        assert (formula.low < 0).any()
        assert (found.low >= 0).all()
    with jax.enable_x64(True):
        X, y = map(np.asarray, made.data(KEY, [3, 4, 5]))
    seed = int(jax.random.bits(jax.random.fold_in(jax.random.fold_in(KEY, 3), 1)))
    for r in range(3):
        for c, configuration in enumerate(configurations):
            alone = jaxci.generalization_interval(
                learner, X[r], y[r], loss=loss, method=configuration.method, cv=configuration.plans(40, seed),
                confidence_level=0.9, progress=False,
            )  # fmt: skip
            judged = found.estimates[3 + r, c], found.low[3 + r, c], found.high[3 + r, c]
            np.testing.assert_allclose(judged, (alone.estimate, *alone.confidence_interval), rtol=1e-7, atol=1e-12)


def test_what_is_judged_must_be_known():
    with pytest.raises(ValueError, match=r"ends must be one of reported, formula; got 'verb'"):
        small(ends="verb")
    assert small(ends="formula").to_dict()["generalization"]["ends"] == "formula"
    assert load_study("generalization").ends == "reported"
    assert load_study("generalization-paper").ends == "formula"


@pytest.mark.slow
def test_the_risk_is_that_of_the_model_of_all_rows():
    """Of a linear model, noise plus the squared distance of the coefficients, for normal features."""
    made = cell(problem=BatesRegression(), learner=Linear(), n_validation=100_000, n=60)
    found = run_cell(made, KEY, [0, 1], Spread.over())
    with jax.enable_x64(True):
        X, y = map(np.asarray, made.data(KEY, range(6)))
    truth = np.r_[np.ones(5), np.zeros(15), 0.0]
    for r in range(6):
        fitted = np.linalg.lstsq(np.c_[X[r], np.ones(60)], y[r], rcond=None)[0]
        np.testing.assert_allclose(found.risks[r], 1 + np.sum((fitted - truth) ** 2), rtol=0.02)
    assert np.isnan(found.proxies[:, 0]).all()
    assert (found.proxies[:, 1] > found.risks - 0.2).all()  # models of nine tenths of the rows


@pytest.mark.slow
def test_groups_can_be_run_apart():
    whole = run_cell(cell(), KEY, [0, 1], Spread.over())
    parts = [run_cell(cell(), KEY, [g], Spread.over()) for g in (0, 1)]
    np.testing.assert_array_equal(whole.low, np.concatenate([part.low for part in parts]))
    again = type(whole).from_arrays(whole.to_arrays())
    np.testing.assert_array_equal(again.high, whole.high)


@pytest.mark.slow
def test_rows_of_a_cell():
    made = cell()
    found = run_cell(made, KEY, [0, 1], Spread.over())
    row = rows_of(made, found, "here")[0]
    inside = (found.low[:, 0] <= found.risks) & (found.risks <= found.high[:, 0])
    assert row["coverage"] == inside.mean()
    expected = found.risks.mean()
    assert row["coverage_expected"] == np.mean((found.low[:, 0] <= expected) & (expected <= found.high[:, 0]))
    width, estimates = found.high[:, 0] - found.low[:, 0], found.estimates[:, 0]
    np.testing.assert_allclose(row["width_over_sd"], np.median(width) / estimates.std(ddof=1), rtol=1e-6)
    apart = estimates - found.risks
    np.testing.assert_allclose(row["relative_width"], width.mean() / np.ptp(np.quantile(apart, [0.1, 0.9])), rtol=1e-6)
    np.testing.assert_allclose([row["bias"], row["standard_error"]], [apart.mean(), apart.std(ddof=1)])
    np.testing.assert_allclose(row["rmse"] ** 2, np.mean(apart**2))
    groups = np.array([inside[:3].mean(), inside[3:].mean()])
    np.testing.assert_allclose(row["coverage_error"], groups.std(ddof=1) / np.sqrt(2))
    assert np.isnan(row["coverage_proxy"])
    assert not np.isnan(rows_of(made, found, "here")[1]["coverage_proxy"])


@pytest.mark.slow
def test_intervals_that_do_not_exist_have_no_coverage():
    made = cell()
    found = run_cell(made, KEY, [0, 1], Spread.over())
    found.low[:, 0] = np.nan
    found.high[:2, 1] = np.nan
    none, some = rows_of(made, found, "here")
    assert (none["status"], none["invalid"], some["status"]) == (NO_INTERVAL, 1.0, "")
    empty = ("coverage", "coverage_error", "below", "above", "coverage_expected", "coverage_expected_error")
    assert all(np.isnan(none[name]) for name in (*empty, "mean_width", "relative_width"))
    assert some["invalid"] == pytest.approx(1 / 3)
    assert some["coverage"] + some["below"] + some["above"] + some["invalid"] == pytest.approx(1)
    assert "there is no interval here by corrected_t" in none["flags"]


@pytest.mark.slow
def test_the_order_in_which_processes_count_changes_nothing():
    made = cell(n_groups=3)
    parts = [run_cell(made, KEY, [g], Spread.over()) for g in range(3)]
    for part in parts:
        part.fits[:], part.seconds[:] = 1, 1
    one, other = (rows_of(made, Found.merged(order), "") for order in (parts, parts[::-1]))
    assert repr(one) == repr(other)


@pytest.mark.slow
def test_the_memory_limit_is_kept_and_changes_no_interval(monkeypatch):
    free = run_cell(cell(), KEY, [0, 1], Spread.over())
    sizes = []
    original = LearningCell.data

    def counting(self, key, replications):
        sizes.append(len(replications))
        return original(self, key, replications)

    monkeypatch.setattr(LearningCell, "data", counting)
    tight = run_cell(cell(), KEY, [0, 1], Spread.over(), memory_limit=1)
    assert sizes == [1] * 6
    for name in ("estimates", "low", "high", "risks", "proxies"):
        np.testing.assert_allclose(getattr(tight, name), getattr(free, name), rtol=1e-9)


def test_a_study_pairs_learners_with_problems_of_their_task():
    study = small()
    assert study.cell_names() == (
        "friedman1, ridge, squared, n=30",
        "friedman1, ridge, squared, n=60",
        "bates_classif_20, logistic, zero_one, n=30",
        "bates_classif_20, logistic, zero_one, n=60",
    )
    limited = small(methods=["corrected_t", {"method": "cv_wald", "largest_n": 30}])
    labels = [c.label for c in limited.cell("friedman1, ridge, squared, n=60").configurations]
    assert labels == ["corrected_t"]


@pytest.mark.slow
def test_a_study_is_run_resumed_and_reported(tmp_path):
    study = small()
    study.save(tmp_path / "study.toml")
    again = load_study(tmp_path / "study.toml")
    assert again.to_dict() == study.to_dict()
    results = study.run(tmp_path / "out")
    assert (results.n_cells, len(results.columns["method"])) == (4, 8)
    assert set(results.columns["inducer"]) == {"ridge", "logistic"}
    name = next((tmp_path / "out" / "cells").glob("friedman1*60*"))
    before = name.read_text()
    name.unlink()
    resumed = again.run(tmp_path / "out")
    np.testing.assert_array_equal(resumed.columns["coverage"], results.columns["coverage"])
    np.testing.assert_array_equal(resumed.columns["mean_width"], results.columns["mean_width"])
    assert '"coverage"' in before
    with pytest.raises(ValueError, match=r"holds another study: generalization\.level"):
        small(level=0.8).run(tmp_path / "out")
    pytest.importorskip("matplotlib")
    results.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Generalization error" in page
    assert "Fits and time of one interval" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problems": ["friedman"]}, "no problem 'friedman': did you mean 'friedman1'"),
        ({"inducers": ["rigde"]}, "no learner 'rigde': did you mean 'ridge'"),
        ({"inducers": [{"name": "ridge", "alfa": 1.0}]}, "has no key 'alfa': did you mean 'alpha'"),
        ({"losses": ["hinge"]}, "losses must be one of"),
        ({"methods": ["percentile"]}, "methods must be one of"),
        ({"methods": [{"method": "cv_wald", "folds": 3}]}, "cv_wald has no setting 'folds'; did you mean 'n_folds'"),
        ({"methods": ["cv_wald", "cv_wald"]}, "methods must be distinct|cv_wald"),
        ({"methods": []}, "methods must not be empty"),
        ({"losses": ["zero_one"], "problems": ["friedman1"]}, "must be for one task in at least one cell"),
        ({"n_replications": 1}, "n_replications must be"),
        ({"level": 95}, r"^level must lie in \(0, 1\); got 95"),
    ],
)
def test_bad_designs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        small(**change)


@pytest.mark.parametrize("name", ["generalization", "generalization-paper"])
def test_bundled_studies_are_whole(name):
    study = load_study(name, n_replications=2)
    assert len(study.cell_names()) > 10
    for configuration in study.methods:
        if configuration.largest_n is None:
            assert configuration.plans(100, 0)
        assert configuration.method in METHODS
    assert study.n_replications == 2


@pytest.mark.slow
@pytest.mark.false_alarm(5e-4)
def test_a_file_gives_disjoint_data_sets(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    table = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=X.sum(axis=1) + rng.normal(size=900))
    table.to_csv(tmp_path / "t.csv", index=False)
    law = FileProblem(str(tmp_path / "t.csv"), "y", "regression", n_validation=400)
    study = small(problems={"table": law}, inducers=["linear"], losses=["squared"], n_validation=400)
    results = study.run(tmp_path / "out")
    np.testing.assert_allclose(results.columns["truth"], 1.1, atol=0.3)
    assert GeneralizationStudy.from_dict(study.to_dict()).to_dict() == study.to_dict()
    with pytest.raises(ValueError, match="enough for 5 replications of size 100"):
        dataclasses.replace(study, sample_sizes=[100]).run(tmp_path / "more")


def test_learners_of_a_study_may_have_fields_in_their_name():
    study = small(problems=["friedman1"], inducers=["ridge", "ridge:alpha=0.1"], losses=["squared"])
    assert set(study.inducers) == {"ridge", "ridge:alpha=0.1"}
    assert study.inducers["ridge:alpha=0.1"].alpha == 0.1
    with pytest.raises(ValueError, match=r"inducers: inducer must be of jaxci\.inducers, or an estimator .*; got 3"):
        small(inducers=[3])
