"""Shapes of instances, distances from fitted laws, extrapolated widths and the regression of the pace."""

import dataclasses
import sys

import numpy as np
import pytest
from scipy import stats

from jaxci.coverage import Study, StudyResults
from jaxci.coverage.instances import extrapolated_widths, ks_distances, regression_on_shape, shape_and_pace, shapes
from jaxci.distributions import AdaptiveKDE, Empirical, LogitKDE, Parametric
from jaxci.printing import number

SIZES = {"n_replications": 4, "n_resamples": 9, "n_groups": 2}


def study_of(laws, **tags):
    return Study(laws, ["mean"], ["t"], [10], tags=tags, **SIZES)


def test_shapes_are_moments_of_the_data():
    rng = np.random.default_rng(0)
    values = rng.lognormal(size=50)
    laws = {
        "kde": AdaptiveKDE.fit(values),
        "seen": Empirical(values),
        "law": Parametric("norm", {"loc": 0}),
        "one": [1.0],
    }
    laws["one"] = Empirical([1.0, 1.0])
    found = shapes(study_of(laws))
    assert found["distribution"].tolist() == ["kde", "seen", "one"]
    np.testing.assert_allclose(found["skewness"], [stats.skew(values)] * 2 + [np.nan])
    np.testing.assert_allclose(found["kurtosis"], [stats.kurtosis(values, fisher=False)] * 2 + [np.nan])
    np.testing.assert_allclose(found["deviation"], [values.std()] * 2 + [0])


def test_shapes_of_logits_are_those_of_mori():
    # Y is (-1 or 1, -1 or 1), each pair once: E|Y|^4 = 4, and E(Y1 + Y2)^3 = 0.
    logits = np.array([[-2.0, -3.0], [-2.0, 3.0], [2.0, -3.0], [2.0, 3.0]])
    law = LogitKDE.fit(logits, [0, 1, 0, 1])
    study = Study({"a": law}, ["accuracy"], ["wilson"], [10], **SIZES)
    found = shapes(study)
    assert found["skewness"][0] == pytest.approx(0, abs=1e-12)
    assert found["kurtosis"][0] == pytest.approx(4)
    rng = np.random.default_rng(1)
    x = rng.gamma(2.0, size=(40, 3)) @ rng.normal(size=(3, 3))
    law = LogitKDE.fit(x, np.arange(40) % 3)
    centred = x - x.mean(axis=0)
    root = np.linalg.inv(np.linalg.cholesky(np.cov(x.T, ddof=0)))
    distances = ((centred @ root.T) ** 2).sum(axis=1)  # Mahalanobis, whatever the root
    found = shapes(Study({"a": law}, ["accuracy"], ["wilson"], [10], **SIZES))
    assert found["kurtosis"][0] == pytest.approx(np.mean(distances**2))


@pytest.mark.false_alarm(1e-9)
def test_distances_from_fitted_laws_and_families():
    rng = np.random.default_rng(2)
    values = rng.lognormal(size=80)
    scores = rng.beta(8, 2, 60)
    laws = {"a": AdaptiveKDE.fit(values), "b": AdaptiveKDE.fit(scores, (0, 1)), "seen": Empirical(values.round())}
    found = ks_distances(study_of(laws), ["normal", "beta"])
    rows = dict(
        zip(zip(found["distribution"].tolist(), found["law"].tolist(), strict=True), found["distance"], strict=True)
    )
    assert ("a", "beta") not in rows
    assert rows["seen", "fitted"] == pytest.approx(0, abs=1e-12)
    known = stats.kstest(values, lambda x: laws["a"].law().cdf(x)).statistic
    assert rows["a", "fitted"] == pytest.approx(known)
    known = stats.kstest(values, stats.norm(values.mean(), values.std()).cdf)
    assert rows["a", "normal"] == pytest.approx(known.statistic)
    i = list(rows).index(("a", "normal"))
    assert found["pvalue"][i] == pytest.approx(known.pvalue)
    assert found["pvalue_bonferroni"][i] == pytest.approx(3 * known.pvalue)
    with pytest.raises(ValueError, match=r"families must be of normal, .*; got 'gauss'"):
        ks_distances(study_of(laws), ["gauss"])


def curve(widths, distribution="a"):
    n = np.array(list(widths))
    size = len(n)
    same = {"distribution": distribution, "statistic": "mean", "method": "t", "level": 0.95}
    table = {name: np.array([value] * size) for name, value in same.items()}
    return table | {"n": n, "mean_width": np.array(list(widths.values()), float), "coverage": np.full(size, 0.95)}


def test_widths_beyond_the_sizes_simulated():
    found = extrapolated_widths(curve({10: 2.0, 25: 1.0, 100: 0.4}), [50, 400, 2500])
    assert found["n"].tolist() == [400, 2500]
    np.testing.assert_allclose(found["mean_width"], [0.2, 0.08])
    assert found["from_n"].tolist() == [100, 100]
    np.testing.assert_allclose(found["error_within"], 1.0 * np.sqrt(25 / 100) / 0.4 - 1)
    assert np.isnan(extrapolated_widths(curve({100: 0.4}), [400])["error_within"][0])
    with pytest.raises(ValueError, match=r"sizes must be beyond those simulated; got .50"):
        extrapolated_widths(curve({100: 0.4}), [50])


def instances_with_pace(slope=-0.4):
    """Instances of several tasks whose pace is ``slope`` times their skewness, plus what their task adds."""
    rng = np.random.default_rng(3)
    laws, tags, tables = {}, {}, []
    for task in range(6):
        shift = rng.normal(scale=0.3)
        for model in range(8):
            name = f"{task}, {model}"
            values = rng.gamma(rng.uniform(0.3, 4), size=60)
            laws[name], tags[name] = Empirical(values), {"task": str(task), "model": str(model)}
            pace = slope * stats.skew(values) + shift + rng.normal(scale=0.05)
            one = curve({10: 1.0, 50: 0.5}, name)
            tables.append(
                {**one, "coverage": 0.95 + pace / one["n"], **{k: np.array([v] * 2) for k, v in tags[name].items()}}
            )
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    study = Study(laws, ["mean"], ["t"], [10, 50], tags=tags, **SIZES)
    return StudyResults(columns, study, 96, 96)


def test_the_pace_goes_with_skewness():
    results = instances_with_pace()
    found = shape_and_pace(results.columns, results.tags, results.study)
    assert found["instances"].tolist() == [48]
    skewness, pace = results.shapes()["skewness"], results.convergence_pace()["pace"]
    assert found["skewness_rho"][0] == pytest.approx(stats.spearmanr(pace, skewness).statistic)
    assert found["skewness_rho"][0] < -0.3


def test_a_mixed_model_finds_the_slope_within_its_error():
    pytest.importorskip("statsmodels")
    found = instances_with_pace().regression_on_shape(groups_by=["task"])
    assert found["term"].tolist() == ["intercept", "skewness"]
    assert found["coefficient"][1] == pytest.approx(-0.4, abs=5 * found["standard_error"][1])
    assert found["standard_error"][1] < 0.05
    assert (found["instances"][1], found["groups"][1]) == (48, 6)
    assert 0.2 < found["marginal_r2"][1] < found["conditional_r2"][1] < 1
    assert found["low"][1] < found["coefficient"][1] < found["high"][1]
    nothing = instances_with_pace(0.0).regression_on_shape(groups_by=["task"])
    assert abs(nothing["coefficient"][1]) < 5 * nothing["standard_error"][1]
    assert nothing["marginal_r2"][1] < 0.1


def with_metric(results):
    """The same rows, their tasks read as those of one metric."""
    same = {"metric": np.full(len(results.columns["n"]), "dice")}
    tags = {name: {"metric": "dice", **tags} for name, tags in results.study.tags.items()}
    study = dataclasses.replace(results.study, tags=tags)
    return StudyResults(results.columns | same, study, results.n_cells, results.n_done)


def test_a_mixed_model_is_that_of_statsmodels_own_formula():
    pandas = pytest.importorskip("pandas")
    formula = pytest.importorskip("statsmodels.formula.api")
    results = with_metric(instances_with_pace())
    found = results.regression_on_shape()  # groups: task and metric
    skewness, pace = results.shapes()["skewness"], results.convergence_pace()
    frame = pandas.DataFrame({"pace": pace["pace"], "skewness": skewness, "task": pace["task"]})
    known = formula.mixedlm("pace ~ skewness", frame, groups=frame["task"]).fit(reml=True)
    np.testing.assert_allclose(found["coefficient"], known.fe_params.to_numpy(), rtol=1e-5)
    np.testing.assert_allclose(found["standard_error"], known.bse_fe.to_numpy(), rtol=1e-4)
    assert found["converged"].all()


def test_a_mixed_model_of_the_coverage_at_one_n():
    pytest.importorskip("statsmodels")
    results = with_metric(instances_with_pace())
    at_ten = results.where(n=10).regression_on_shape(value="coverage")
    pace = results.regression_on_shape()
    np.testing.assert_allclose(at_ten["coefficient"][1], pace["coefficient"][1] / 10, rtol=1e-3)
    np.testing.assert_allclose(at_ten["coefficient"][0] - 0.95, pace["coefficient"][0] / 10, atol=1e-4)
    with pytest.raises(ValueError, match=r"columns must be of one n; got \[10, 50\]"):
        results.regression_on_shape(value="coverage")
    with pytest.raises(ValueError, match=r"value must name columns of the table .*; got 'width'"):
        results.regression_on_shape(value="width")


@pytest.mark.slow
def test_the_report_has_the_mixed_model_or_says_what_it_lacks(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("statsmodels")
    results = with_metric(instances_with_pace())
    heading = "<h2>Pace and skewness, by a mixed model</h2>"
    results.report(tmp_path / "with.html")
    page = (tmp_path / "with.html").read_text("utf-8")
    own = page[page.index(heading) :].split("</section>")[0]
    slope = results.regression_on_shape()["coefficient"][1]
    assert f"<td>{number(float(slope))}</td>" in own
    monkeypatch.setitem(sys.modules, "statsmodels.regression.mixed_linear_model", None)
    with pytest.raises(ImportError, match=r"a mixed model needs statsmodels: pip install 'jaxci\[mixed\]'"):
        results.regression_on_shape()
    results.report(tmp_path / "without.html")
    page = (tmp_path / "without.html").read_text("utf-8")
    assert "Left out: a mixed model needs statsmodels" in page[page.index(heading) :].split("</section>")[0]
    untagged = instances_with_pace()
    study = dataclasses.replace(untagged.study, tags={})
    StudyResults(untagged.columns, study, 96, 96).report(tmp_path / "none.html")
    assert heading not in (tmp_path / "none.html").read_text("utf-8")


def test_a_mixed_model_refuses_what_it_cannot_tell():
    results = instances_with_pace()
    with pytest.raises(ValueError, match="features must be of mean, deviation, skewness, kurtosis; got 'size'"):
        results.regression_on_shape(groups_by=["task"], features=["size"])
    with pytest.raises(ValueError, match="groups_by must name columns"):
        results.regression_on_shape(groups_by=["centre"])
    with pytest.raises(ValueError, match="groups_by must make two groups or more"):
        results.regression_on_shape(groups_by=["task", "model"])
    both = {name: np.concatenate([column] * 2) for name, column in results.columns.items()}
    both["method"] = np.array(["t"] * 96 + ["z"] * 96)
    with pytest.raises(ValueError, match=r"columns must be of one method; got \['t', 'z'\]"):
        regression_on_shape(both, results.tags, results.study, groups_by=["task"])
    with pytest.raises(ValueError, match=r"groups_by must name tags; none of task, metric is one of \['model'\]"):
        regression_on_shape(results.columns, ["model"], results.study)


def test_the_report_has_instances_and_widths_beyond(tmp_path):
    pytest.importorskip("matplotlib")
    results = instances_with_pace()
    results.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Widths beyond the sizes simulated" in page
    assert "Rank correlation of the convergence pace with skewness" in page
    assert page.count("<h2>Instances</h2>") == 1
