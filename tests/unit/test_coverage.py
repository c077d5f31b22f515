import jax
import numpy as np
import pytest
from scipy import special, stats
from sklearn import metrics

import jaxci
from jaxci.coverage import Cell, check, enumeration, proportion_coverage, run_cell
from jaxci.coverage.cell import PURPOSE_DATA, draw
from jaxci.coverage.check import calibrated_level
from jaxci.coverage.fitting import law_of_rows
from jaxci.coverage.running import simulate
from jaxci.coverage.tally import group_error
from jaxci.distributions import AdaptiveKDE, Cells, Empirical, LogitKDE, Parametric, Truth
from jaxci.intervals.proportion import Wald
from jaxci.intervals.registry import applicable_methods
from jaxci.resampling.laws import Drawn, RankLaw
from jaxci.statistics import F1, Accuracy, Mean, Median, Sample
from jaxci.statistics.registry import statistic_by_name


@pytest.mark.parametrize(
    ("p", "n", "method", "expected"),
    [
        (0.05, 10, "wald", 0.4002),
        (0.05, 10, "wilson", 0.9139),
        (0.05, 10, "clopper_pearson", 0.9885),
        (0.106, 100, "wald", 0.9522),
    ],
)
def test_published_coverage_of_proportion_intervals(p, n, method, expected):
    assert proportion_coverage(p, n, method) == pytest.approx(expected, abs=5e-5)


def test_percentile_coverage_of_a_proportion_is_that_of_binomial_quantiles():
    n, p = 30, 0.8
    k = np.arange(n + 1)
    low, high = stats.binom.ppf(0.025, n, k / n) / n, stats.binom.ppf(0.975, n, k / n) / n
    expected = stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum()
    assert proportion_coverage(p, n, "percentile") == pytest.approx(expected, abs=1e-12)


def test_quantiles_and_shares_of_drawn_rows_are_numpys():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 30, (4, 101)) / 10
    rows[2, :40] = np.nan
    rows[3] = np.nan
    found = Drawn.of(rows)
    for r in range(3):
        kept = rows[r][~np.isnan(rows[r])]
        assert found.quantile(0.3)[r] == pytest.approx(np.quantile(kept, 0.3), rel=1e-14)
        assert found.share_below(np.full(4, 1.5))[r] == pytest.approx(np.mean(kept < 1.5) + np.mean(kept == 1.5) / 2)
        assert found.standard_error[r] == pytest.approx(kept.std(ddof=1), rel=1e-12)
    assert np.isnan(found.quantile(0.3)[3])
    assert np.isnan(found.share_below(np.full(4, 1.5))[3])


def test_quantiles_of_an_exact_law_are_its_steps():
    law = RankLaw(np.array([[1.0, 2.0, 4.0]]), np.array([0.2, 0.7, 1.0]))
    assert [float(law.quantile(p)[0]) for p in (0.1, 0.2, 0.21, 0.7, 0.99)] == [1.0, 1.0, 2.0, 2.0, 4.0]
    assert law.share_below(np.array([2.0]))[0] == pytest.approx(0.45)
    assert law.mean[0] == pytest.approx(0.2 + 1.0 + 1.2)


def test_group_error_is_the_between_group_standard_error():
    covered, sizes = np.array([9, 8, 10, 9]), np.array([10, 10, 10, 10])
    assert group_error(covered, sizes) == pytest.approx(np.std(covered / 10, ddof=1) / 2)


def small_cell(**changes):
    settings = {"n_replications": 60, "n_resamples": 199, "n_groups": 4}
    arguments = {
        "statistics": {"mean": Mean(), "median": Median()},
        "methods": ["t", "percentile", "bca"],
        "levels": (0.8, 0.95),
    }
    return Cell(**({"distribution": Parametric("norm", {}), "n": 11} | arguments | settings | changes))


@pytest.mark.slow
def test_a_cell_judges_every_method_that_serves_and_counts_add_up():
    truths = {"mean": Truth(0.0, 0.0, "known"), "median": Truth(0.0, 0.0, "known")}
    result = run_cell(small_cell(), jax.random.key(0), truths=truths)
    found = {(j.statistic, j.method, j.level): j for j in result.judgements}
    assert len(found) == 2 * (3 + 2)  # t serves the mean only
    for judgement in result.judgements:
        assert judgement.coverage + judgement.below + judgement.above + judgement.invalid == pytest.approx(1)
    for statistic, method in (("mean", "t"), ("mean", "bca"), ("median", "percentile")):
        assert found[statistic, method, 0.8].mean_width < found[statistic, method, 0.95].mean_width
    assert len(result.rows()) == len(result.judgements)


@pytest.mark.slow
def test_more_replications_keep_the_draws_of_the_first():
    truths = {"mean": Truth(0.0, 0.0, "known")}
    statistics = {"mean": Mean()}
    few = run_cell(small_cell(statistics=statistics, n_groups=60), jax.random.key(1), truths=truths)
    again = run_cell(small_cell(statistics=statistics, n_groups=60), jax.random.key(1), truths=truths)
    assert few.judgements[0].mean_width == again.judgements[0].mean_width
    assert few.behaviours[0].bias == again.behaviours[0].bias


@pytest.mark.slow
def test_data_of_similar_size_share_the_programs_of_a_cell():
    compiled = []
    listen = compiled.append
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: listen(event) if event.endswith("backend_compile_duration") else None
    )
    rng, truths = np.random.default_rng(0), {"mean": Truth(0.0, 0.0, "known")}
    for size, compiles in ((61, True), (64, False), (62, False), (65, True)):
        law = AdaptiveKDE.fit(rng.random(size), (0, 1))
        compiled.clear()
        run_cell(small_cell(distribution=law, statistics={"mean": Mean()}), jax.random.key(1), truths=truths)
        assert bool(compiled) == compiles


@pytest.mark.slow
def test_the_fitted_distribution_suits_the_data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50).astype(np.int32)
    labels = Sample(y_true=y, y_pred=y, n_classes=2)
    assert isinstance(law_of_rows(Accuracy(), labels), Cells)
    assert isinstance(law_of_rows(Mean(), Sample(values=rng.random(50))), AdaptiveKDE)
    from jaxci.statistics import RocAuc

    assert isinstance(law_of_rows(RocAuc(), Sample(y_true=y, y_score=rng.random(50), n_classes=2)), LogitKDE)
    log_odds = law_of_rows(RocAuc(), Sample(y_true=y, y_score=-30 + 9 * rng.normal(size=50), n_classes=2))
    assert isinstance(log_odds, LogitKDE)
    drawn = log_odds.sample(jax.random.key(0), 200)["y_score"]
    assert len(np.unique(drawn)) == 200


def drawn_scores(y, scores, n_classes=2, metric="roc_auc"):
    law = law_of_rows(statistic_by_name(metric), Sample(y_true=y, y_score=scores, n_classes=n_classes))
    drawn = law.sample(jax.random.key(1), 100_000)
    return np.asarray(drawn["y_true"]), np.asarray(drawn["y_score"], float)


def two_classes(n=200):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.4).astype(np.int32)
    return y, 2 * y - 1 + 1.2 * rng.normal(size=n)


@pytest.mark.parametrize(
    "changed",
    [
        lambda p: np.where(p == p.min(), 0, p),
        lambda p: np.where(p == p.max(), 1, p),
        lambda p: np.where(p < np.sort(p)[10], 0, p),
        lambda p: np.round(p, 1),
        lambda p: np.round(p, 2),
        lambda p: np.where(p == p.min(), 1e-30, p),
        lambda p: np.round(p),
    ],
    ids=["one 0", "one 1", "ten 0", "tenths", "hundredths", "one of 1e-30", "all 0 or 1"],
)
def test_scores_of_exactly_0_or_1_do_not_decide_what_is_drawn(changed):
    """Before, a logit of -708 set the kernels' width: one 0 made an area of .573 of one of .900."""
    y, z = two_classes()
    p = changed(special.expit(z))
    codes, scores = drawn_scores(y, p)
    assert metrics.roc_auc_score(codes, scores) == pytest.approx(metrics.roc_auc_score(y, p), abs=0.015)
    assert np.mean((scores - codes) ** 2) == pytest.approx(np.mean((p - y) ** 2), abs=0.01)
    assert np.mean(np.isin(scores, (0, 1))) == pytest.approx(np.mean(np.isin(p, (0, 1))), abs=0.01)


def test_a_probability_of_0_of_several_classes_does_not_decide_what_is_drawn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300).astype(np.int32)
    p = special.softmax(rng.normal(size=(300, 3)) + 1.8 * np.eye(3)[y], axis=1)
    p[p == p.min()] = 0
    p /= p.sum(axis=1, keepdims=True)
    codes, scores = drawn_scores(y, p, 3, "log_loss")
    scores /= scores.sum(axis=1, keepdims=True)
    assert metrics.log_loss(codes, scores) == pytest.approx(metrics.log_loss(y, p), abs=0.02)


def test_what_is_drawn_does_not_depend_on_the_scale_of_scores_that_are_ranked():
    y, z = two_classes()
    codes, scores = drawn_scores(y, 9 * z)
    assert metrics.roc_auc_score(codes, scores) == pytest.approx(metrics.roc_auc_score(y, z), abs=0.015)
    for same in (np.exp(5 * z), np.where(z == z.max(), 1e4, z)):
        other = drawn_scores(y, same)
        assert np.array_equal(other[0], codes)
        np.testing.assert_allclose(other[1], scores)


def test_check_of_an_accuracy_is_enumerated_and_recommends_one_that_reaches_its_level():
    cells = Cells(np.array([[0.4, 0.1], [0.1, 0.4]]))
    result = check(
        Accuracy(), "accuracy", cells, 20, ["wald", "wilson", "percentile"], jax.random.key(0), calibrate=True
    )
    assert result["wald"].coverage == pytest.approx(float(proportion_coverage(0.8, 20, "wald")))
    assert result["wald"].coverage_error == 0
    assert result.recommended == "wilson"
    around = stats.beta.ppf((np.arange(64) + 0.5) / 64, 16.5, 4.5)
    assert result.nearby["wald"] == pytest.approx(proportion_coverage(around, 20, "wald").mean())
    assert result.calibrated_levels["wald"] > 0.95
    assert "wilson" in str(result)
    assert "wilson" in result._repr_html_()


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_check_simulates_what_cannot_be_enumerated():
    cells = Cells(np.array([[0.4, 0.1], [0.1, 0.4]]))
    result = check(F1(), "f1", cells, 20, ["percentile", "bca"], jax.random.key(0), n_replications=200, n_resamples=199)
    assert 0.8 < result["percentile"].coverage <= 1
    assert result["percentile"].coverage_error > 0


def test_calibrated_level_is_interpolated():
    assert calibrated_level({0.9: 0.85, 0.95: 0.91, 0.99: 0.97}, 0.94) == pytest.approx(0.97)
    assert np.isnan(calibrated_level({0.9: 0.85}, 0.95))


@pytest.mark.slow
def test_the_unit_of_gridded_values_changes_no_coverage():
    grid = np.round(np.random.default_rng(0).beta(8, 2, 500), 2)
    found = []
    for unit in (1, 100):
        values = np.round(grid * 100) / (100 / unit)
        cell = Cell(Empirical(values), 10, {"median": Median()}, ["percentile", "bca"], [0.9], 200, 199, 4)
        truths = {"median": Truth(float(np.median(values)), 0.0, "known")}
        found.append(
            [(j.coverage, j.below, j.above) for j in run_cell(cell, jax.random.key(0), truths=truths).judgements]
        )
    assert found[0] == found[1]


@pytest.mark.slow
def test_every_batched_method_agrees_with_the_verb_on_single_data_sets():
    cell = Cell(Parametric("beta", {"a": 8, "b": 2}), 30, {"mean": Mean()}, applicable_methods(Mean()), [0.9], 4, 99, 2)
    truths = {"mean": Truth(0.8, 0.0, "known")}
    tally = simulate(cell, jax.random.key(0), truths)
    data_key = jax.random.fold_in(jax.random.key(0), PURPOSE_DATA)
    with jax.enable_x64(True):
        data = draw(cell.distribution, data_key, 0, 4, 30)["values"]
    for method in ("z", "t", "delta", "abc", "exact"):
        direct = [jaxci.interval("mean", x, method=method, confidence_level=0.9).confidence_interval for x in data]
        widths = np.concatenate([tally.widths["mean", method, 0.9][g] for g in (0, 1)])
        np.testing.assert_allclose(widths, [high - low for low, high in direct], rtol=1e-5)


@pytest.mark.slow
def test_a_value_far_out_does_not_flatten_a_median():
    """Replicates of a cell are differences in units of the largest one, which may be 10^8 times their own size."""
    law = Parametric("pareto", {"b": 0.25})
    cell = Cell(law, 100, {"median": Median()}, ["percentile"], (0.95,), 400, 199, 4)
    (found,) = run_cell(cell, jax.random.key(0), truths={"median": Truth(16.0, 0.0, "known")}).judgements
    assert found.coverage > 0.85
    assert found.median_width > 1


def test_an_enumerated_coverage_errs_as_its_truth_does():
    known = enumeration.enumerated("accuracy", Wald(), Truth(0.3, 0.0, ""), 25, 0.95, "wald", n_resamples=99)
    assert (known.coverage_error, known.how) == (0.0, "enumerated")
    told = enumeration.enumerated("accuracy", Wald(), Truth(0.3, 0.01, ""), 25, 0.95, "wald", n_resamples=99)
    draws = np.clip(stats.norm(0.3, 0.01).rvs(20_000, random_state=0), 0, 1)
    apart = proportion_coverage(draws, 25, "wald") - proportion_coverage(0.3, 25, "wald")
    assert told.coverage == known.coverage
    assert told.coverage_error == pytest.approx(np.sqrt(np.mean(apart**2)), rel=0.03)
    assert told.coverage_error > 0.001


def test_what_is_enumerated_for_infinitely_many_resamples_says_so():
    law = Cells(np.array([[0.4, 0.1], [0.1, 0.4]]))
    methods = ["wilson", "percentile", "bca", "delta"]
    cell = Cell(law, 20, {"accuracy": Accuracy()}, methods, n_replications=20, n_resamples=19, n_groups=2)
    how = {j.label: j.how for j in run_cell(cell, jax.random.key(0)).judgements}
    infinite = "enumerated, B = infinity"
    assert how == {"wilson": "enumerated", "percentile": infinite, "bca": infinite, "delta": "simulated"}
