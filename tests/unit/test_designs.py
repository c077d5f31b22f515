"""Laws of rows in clusters and strata, and cells that draw from them: what they simulate is what the verbs compute."""

import functools

import jax
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.coverage import Study, dispatch, load_study
from jaxci.coverage import cell as cells
from jaxci.coverage.banks import Banks
from jaxci.coverage.cell import Cell, Simulation, draw
from jaxci.coverage.fitting import fitted
from jaxci.distributions import Cells, Clustered, Empirical, GaussianClasses, Parametric, Stratified, Truth, truth
from jaxci.distributions.base import COLUMNS
from jaxci.inference.design import natural_values
from jaxci.inference.sharding import Spread
from jaxci.intervals.delta import Delta
from jaxci.intervals.parametric import T
from jaxci.intervals.registry import METHODS
from jaxci.statistics import Mean, Median, WeightedFunction
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import Sample

TABLE = Cells([[60, 8], [6, 30]])
UNEVEN = (1, 1, 2, 3, 5, 8, 13)


def test_rows_are_divided_in_proportion_and_every_cluster_has_one():
    sizes = np.bincount(Clustered(TABLE, [1, 10, 100]).layout(50).units)
    np.testing.assert_array_equal(sizes, [1, 5, 44])  # exactly .45, 4.5 and 45.05
    np.testing.assert_array_equal(np.bincount(Clustered(TABLE, 4).layout(10).units), [3, 3, 2, 2])
    with pytest.raises(ValueError, match="n must be at least the number of clusters, 4; got 3"):
        Clustered(TABLE, 4).layout(3)


def test_strata_hold_clusters_and_rows():
    law = Stratified((Clustered(TABLE, 2), TABLE), [1, 1])
    layout = law.layout(8)
    np.testing.assert_array_equal(layout.units, [0, 0, 1, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(layout.strata, [0, 0, 1, 1, 1, 1])
    assert Stratified((TABLE, TABLE), [3, 1]).layout(8).strata.tolist() == [0] * 6 + [1] * 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Clustered(TABLE, 0), "clusters must be"),
        (lambda: Clustered(TABLE, 3, correlation=np.int64(2)), "correlation must lie in"),
        (lambda: Clustered(TABLE, [1, -1]), "clusters must be positive finite numbers; got"),
        (lambda: Clustered(TABLE, 3, correlation=1.5), "correlation must lie in"),
        (lambda: Clustered(Clustered(TABLE, 3), 3), "law must be a distribution of independent rows"),
        (lambda: Stratified((TABLE,), [1, 2]), "shares must be one for each of 1 laws"),
        (lambda: Stratified((TABLE, Parametric("norm")), [1, 2]), "laws must draw one kind of rows"),
        (lambda: Stratified((), []), "laws must be distributions"),
    ],
)
def test_designs_that_are_none_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("correlation", [0.0, 0.3, 1.0])
def test_numbers_of_successes_in_a_cluster_are_beta_binomial(correlation, false_alarm):
    """Chi-square test of 20,000 clusters of four rows."""
    law, size, p = Clustered(Empirical([0.0, 1.0, 1.0, 1.0]), 20_000, correlation), 4, 0.75
    found = np.asarray(law.sample(jax.random.key(7), 80_000)["values"]).reshape(-1, size).sum(axis=1).astype(int)
    counts = np.bincount(found, minlength=size + 1)
    if correlation in (0, 1):
        expected = stats.binom.pmf(np.arange(5), size, p) if correlation == 0 else np.array([1 - p, 0, 0, 0, p])
    else:
        total = (1 - correlation) / correlation
        expected = stats.betabinom.pmf(np.arange(5), size, p * total, (1 - p) * total)
    held = expected > 0
    assert counts[~held].sum() == 0
    assert stats.chisquare(counts[held], expected[held] * counts.sum()).pvalue > false_alarm


@pytest.mark.slow
def test_the_truth_of_a_design_is_that_of_its_rows():
    key = jax.random.key(0)
    clustered = Clustered(Parametric("beta", {"a": 8, "b": 2}), 3, 0.9)
    assert truth(clustered, Mean(), key).value == pytest.approx(0.8)
    strata = Stratified((Parametric("norm"), Clustered(Parametric("norm", {"loc": 4}), 5, 0.5)), [3, 1])
    assert truth(strata, Mean(), key).value == pytest.approx(1.0)
    median = truth(strata, Median(), key)
    assert median.how.startswith("Monte Carlo")
    middle = stats.norm.ppf(0.5 / 0.75)  # nearly all of the second stratum lies above
    assert abs(median.value - middle) < 6 * median.error + 0.01


CALIBRATION = "root_mean_squared_calibration_error"
LAWS = {
    "clusters of labels": (
        Clustered(TABLE, UNEVEN, 0.3),
        ("accuracy", "recall", "f1", "balanced_accuracy", "f1_macro", "matthews_corrcoef"),
    ),
    "clusters of values": (Clustered(Parametric("beta", {"a": 8, "b": 2}), UNEVEN, 0.3), ("mean", "median", "std")),
    "clusters of scores": (
        Clustered(GaussianClasses([0.6, 0.4], auc=0.85), UNEVEN, 0.2),
        ("roc_auc", "log_loss", CALIBRATION),
    ),
    "strata of labels": (Stratified((Cells([[9, 1], [1, 3]]), Cells([[4, 3], [1, 9]])), [2, 1]), ("f1", "accuracy")),
    "strata of clusters": (
        Stratified((Clustered(TABLE, 5, 0.3), Clustered(Cells([[9, 1], [1, 3]]), (1, 2, 4), 0.3)), [2, 1]),
        ("f1", "accuracy", "balanced_accuracy"),
    ),
}
EXACT = {
    "t": T(),
    "t by CR1": T(variance="CR1", degrees_of_freedom="groups"),
    "delta": Delta(use_t=True),
    "delta by the jackknife": Delta(error="jackknife"),
}
SERVED = (
    "wilson_cluster",
    "clopper_pearson_cluster",
    "square_and_add",
    "percentile",
    "bca",
    "normal",
    "proper_bayesian",
    "studentized",
    "squared_gaps",
)
METHODS_HERE = [*EXACT.values(), *SERVED]
N, B, R = 66, 1_999, 4
LEVELS = (0.84, 0.9, 0.96)


@functools.cache
def simulated(kind):
    """Return the cell of a law, its data sets, and bounds (levels, 2, R) of every statistic and method."""
    law, names = LAWS[kind]
    cell = Cell(law, N, {name: METRICS[name].settled(2) for name in names}, METHODS_HERE, LEVELS, R, B, 1)
    simulation, key = Simulation.of(cell, {name: Truth(0.5, 0.0, "assumed") for name in names}), jax.random.key(4)
    with jax.enable_x64(True):
        banks, spread = Banks(jax.random.key(5)), Spread.over()
        fixed = simulation.fixed(key, simulation.read(banks.of(0, simulation.asked, cell.layout, B, spread)))
        data = draw(law, fixed.key, 0, R, N)
        found = spread(cells.rows_of_evidence, (np.arange(R, dtype=np.int32), None), fixed, **simulation.static)
        evidence = dispatch.host_evidence(found, simulation)
        with np.errstate(invalid="ignore", divide="ignore"):
            bounds = {}
            for judged in simulation.series.judged:
                one = bounds.setdefault((names[judged.number], judged.method), [])
                one.append(cells.bounds_of(judged, evidence))
    return cell, data, {name: np.array(found) for name, found in bounds.items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("kind", LAWS)
def test_a_cell_computes_the_intervals_of_the_verb(kind):
    """Methods without resamples to rounding; a tail of .05 of others lies between those of .02 and .08 of a cell."""
    cell, data, bounds = simulated(kind)
    units, strata = cell.layout.units, cell.layout.strata
    design = {"groups": units, "strata": strata if strata is None or units is None else strata[units]}
    methods = {method.label for _, method in bounds}
    assert {"percentile", "bca", "proper_bayesian"} <= methods
    assert ((CALIBRATION, "squared_gaps") in {(name, method.label) for name, method in bounds}) == ("scores" in kind)
    for (name, method), found in bounds.items():
        for r in (0, R - 1):
            columns = [data[column][r] for column in COLUMNS[cell.distribution.kind]]
            options = {"method": method, "confidence_level": 0.9, "n_resamples": B, "rng": 1, **design}
            low, high = jaxci.interval(name, *columns, **options).confidence_interval
            (highest_low, same_low, lowest), (lowest_high, same_high, highest) = found[:, :, r].T
            slack = 1e-6  # replicates are of single precision
            drawn = not method.needs.isdisjoint({"replicates", "posterior"})
            message = f"{name}, {method}, data set {r}"
            assert (lowest if drawn else same_low) - slack <= low <= (highest_low if drawn else same_low) + slack, (
                message
            )
            assert (lowest_high if drawn else same_high) - slack <= high <= (highest if drawn else same_high) + slack, (
                message
            )


@pytest.mark.slow
def test_what_assumes_independent_rows_is_left_out_of_clusters_and_a_share_is_not_enumerated():
    cell, _, bounds = simulated("clusters of labels")
    assert {method.label for name, method in bounds if name == "accuracy"} >= {"normal", "wilson_cluster", "percentile"}
    assert not cell.enumerates("accuracy")
    every = Cell(cell.distribution, N, cell.statistics, list(METHODS), (0.9,), R, B, 1)
    assert set(every.served("accuracy")).isdisjoint({"wilson", "exact", "jeffreys", "clopper_pearson"})
    assert "wilson_cluster" in every.served("accuracy")


# --- checks of a user's data -----------------------------------------------------------------------

QUICKLY = {"n_replications": 60, "n_resamples": 99, "rng": 0}


def correlated(correlation, clusters=40, size=6):
    """Return labels, predictions and clusters whose correctness is ``correlation`` alike."""
    law = Clustered(Cells([[30, 6], [4, 20]]), clusters, correlation)
    drawn = law.sample(jax.random.key(11), clusters * size)
    return np.asarray(drawn["y_true"]), np.asarray(drawn["y_pred"]), law.layout(clusters * size).units


def test_the_intraclass_correlation_is_that_of_an_analysis_of_variance():
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 7, 8, 9]).astype(np.int32)
    values = rng.normal(size=9)[units] + rng.normal(size=45)
    groups = [values[units == g] for g in range(9)]
    f = stats.f_oneway(*groups).statistic  # the ratio of the mean squares
    typical = (45 - sum(len(g) ** 2 for g in groups) / 45) / 8
    assert Layout(45, units).intraclass_correlation(values) == pytest.approx((f - 1) / (f - 1 + typical), rel=1e-12)
    assert Layout(45, units).intraclass_correlation(1e200 * values) == pytest.approx((f - 1) / (f - 1 + typical))
    assert Layout(45).intraclass_correlation(values) == 0
    assert Layout(45, np.arange(45, dtype=np.int32)).intraclass_correlation(values) == 0
    assert Layout(45, units).intraclass_correlation(np.ones(45)) == 0
    assert Layout(45, units).intraclass_correlation(1.0 * units) == 1


@pytest.mark.slow
def test_a_check_draws_clusters_as_alike_and_as_large_as_those_of_the_data():
    y, guess, groups = correlated(0.5)
    kept = (groups >= 20) | (np.arange(len(y)) % 6 < 3)
    y, guess, groups = y[kept], guess[kept], groups[kept]
    layout = Layout(len(y), groups)
    alike = layout.intraclass_correlation(1.0 * (y == guess))
    assert 0.3 < alike < 0.7
    sample = Sample(y_true=y, y_pred=guess, n_classes=2)
    law = fitted([METRICS["accuracy"]], sample, layout)
    assert law.correlation == pytest.approx(alike, rel=1e-9)  # what a row does to accuracy is whether it is right
    np.testing.assert_array_equal(np.bincount(law.layout(len(y)).units), np.bincount(groups))
    both = fitted([METRICS["accuracy"], METRICS["recall"].settled(2)], sample, layout)
    assert both.correlation >= law.correlation


@pytest.mark.slow
def test_a_check_tells_that_rows_in_clusters_are_fewer_than_they_look():
    y, guess, groups = correlated(0.6, clusters=60, size=10)
    methods = ["percentile", "wilson_cluster"]
    found = jaxci.check_coverage("accuracy", y, guess, groups=groups, methods=methods, **QUICKLY)
    assert found.nearby == {}
    assert "60 clusters (correlation 0." in str(found)
    alone = jaxci.check_coverage("accuracy", y, guess, methods=["wilson"], **QUICKLY)
    assert found["wilson_cluster"].mean_width > 1.5 * alone["wilson"].mean_width
    assert found["wilson_cluster"].coverage > 0.85
    default = jaxci.check_coverage("accuracy", y, guess, groups=groups, **QUICKLY)
    assert {"proper_bayesian", "wilson_cluster", "bca"} <= {j.label for j in default.judgements}
    assert {"wilson", "exact", "jeffreys"}.isdisjoint({j.label for j in default.judgements})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": np.arange(20) // 4, "methods": ["wilson"]}, "'wilson' cannot use groups"),
        ({"strata": np.arange(20) // 10, "methods": ["t"]}, "'t' cannot use strata"),
        ({"methods": ["wilson_cluster"]}, "'wilson_cluster' is for rows in clusters, and these are independent"),
        ({"groups": np.zeros(20)}, "groups must name at least 2 clusters; all 20 rows belong to 0.0"),
        ({"groups": np.zeros(3)}, "groups"),
    ],
)
def test_checks_refuse_what_does_not_go_with_the_rows(options, message):
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        jaxci.check_coverage("accuracy", y, 1 - y * (np.arange(20) > 4), **options, **QUICKLY)


@pytest.mark.slow
def test_a_check_of_strata_draws_a_law_for_each():
    y, guess, groups = correlated(0.3)
    sample = Sample(y_true=y, y_pred=guess, n_classes=2)
    law = fitted([METRICS["f1"].settled(2)], sample, Layout(len(y), strata=y.astype(np.int32)))
    drawn = law.sample(jax.random.key(0), len(y))
    np.testing.assert_array_equal(np.bincount(drawn["y_true"]), np.bincount(y))  # as many of each class in every sample
    both = fitted([METRICS["f1"].settled(2)], sample, Layout(len(y), groups, (np.arange(40) >= 10).astype(np.int32)))
    assert np.bincount(both.layout(len(y)).strata).tolist() == [10, 30]
    found = jaxci.check_coverage("f1", y, guess, strata=y, methods=["percentile", "delta"], **QUICKLY)
    assert found["percentile"].coverage > 0.8


@pytest.mark.slow
def test_every_row_of_a_table_of_clusters_is_checked():
    y, guess, groups = correlated(0.3)
    rows = jaxci.evaluate(y, guess, groups=groups, metrics=["accuracy", "f1"], check=True, n_resamples=199, rng=0)
    assert all(0.8 < row.coverage <= 1 for row in rows)
    with pytest.raises(ValueError, match="check=True needs rows without weights"):
        jaxci.evaluate(y, guess, sample_weight=1 + y, check=True)


def test_a_study_of_clusters_is_run_from_its_file(tmp_path):
    law = Clustered(TABLE, 6, 0.3)
    study = Study({"six": law}, ["accuracy"], ["wilson_cluster"], [30], n_replications=40, n_resamples=19, n_groups=4)
    study.save(tmp_path / "study.toml")
    rows = load_study(tmp_path / "study.toml").run(tmp_path / "out").records()
    assert [row["method"] for row in rows] == ["wilson_cluster"]
    assert rows[0]["coverage"] > 0.7
    with pytest.raises(ValueError, match="is for rows in clusters"):
        Study({"rows": TABLE}, ["accuracy"], ["wilson_cluster"], [30])
    with pytest.raises(ValueError, match="n must be at least the number of clusters, 6; got 5"):
        Study({"six": law}, ["accuracy"], ["wilson_cluster"], [5, 30])


@pytest.mark.slow
def test_strata_of_scores_keep_one_scale_and_clusters_of_one_class_their_likeness():
    """A stratum alone does not tell how its scores rank among the others', nor what its rows do to the statistic."""
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1], 200).astype(np.int32)
    y = (rng.random(400) < np.where(strata == 0, 0.1, 0.9)).astype(np.int32)
    score = np.where(strata == 0, -5, 5) + rng.normal(size=400) + 0.5 * y
    sample = Sample(y_true=y, y_score=score, n_classes=2)
    law = fitted([METRICS["roc_auc"]], sample, Layout(400, strata=strata))
    area = jaxci.interval("roc_auc", y, score, method="delong").estimate
    assert truth(law, METRICS["roc_auc"], jax.random.key(0)).value == pytest.approx(area, abs=0.01)

    groups = np.repeat(np.arange(40), 5).astype(np.int32)
    y = (groups >= 20).astype(np.int32)
    alike = np.repeat(rng.normal(size=40), 5) + y
    sample = Sample(y_true=y, y_score=alike, n_classes=2)
    law = fitted([METRICS["roc_auc"]], sample, Layout(200, groups, (np.arange(40) >= 20).astype(np.int32)))
    assert [part.correlation for part in law.laws] == pytest.approx([1, 1])


def test_the_likeness_of_scores_is_not_that_of_their_classes():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 5).astype(np.int32)
    y = groups % 2
    score = np.clip(np.where(y, 0.7, 0.3) + 0.1 * rng.normal(size=200), 0.01, 0.99)
    layout, area = Layout(200, groups), METRICS["roc_auc"]
    for sample in (
        Sample(y_true=y, y_score=score, n_classes=2),
        Sample(y_true=y, y_pred=y, y_score=score, n_classes=2),
    ):
        assert layout.intraclass_correlation(natural_values(area, sample)) < 0.15


@pytest.mark.slow
def test_a_users_function_in_strata_and_clusters():
    def mean(x, weights):
        return (x * weights).sum() / weights.sum()

    x, groups = np.random.default_rng(2).gamma(2, size=60), np.repeat(np.arange(10), 6)
    methods = {"methods": ["percentile"], **QUICKLY}
    found = jaxci.check_coverage(WeightedFunction(mean), x, strata=[0] * 5 + [1] * 55, **methods)
    assert found["percentile"].coverage > 0.7
    host = WeightedFunction(mean, differentiable=False)
    found = jaxci.check_coverage(host, x[groups] + 0.01 * x, groups=groups, **methods)
    assert "10 clusters (correlation 0.9" in found.distribution
    pair = WeightedFunction(lambda a, b, w: mean(a * b, w), differentiable=False)
    with pytest.raises(ValueError, match="how alike rows are is unknown"):
        jaxci.check_coverage(pair, x, x, groups=groups, **methods)


def test_laws_of_scipy_are_rows_and_strata():
    normal = Parametric("norm", {})
    assert Clustered(stats.norm(), 3, 0.3).law.label == normal.label
    assert [law.label for law in Stratified((stats.norm(), normal), [2, 1]).laws] == [normal.label] * 2
    for refused in (lambda: Clustered(3, 3), lambda: Stratified((normal, 3), [1, 1])):
        with pytest.raises(ValueError, match="a distribution must have a method sample"):
            refused()
