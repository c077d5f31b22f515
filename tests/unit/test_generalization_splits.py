"""How verbs split rows: whatever the class or within classes, few groups, folds by number, and nothing wrong."""

import math

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.coverage.learner_study import GeneralizationStudy
from jaxci.generalization import Resampled
from jaxci.generalization import splitting as m
from jaxci.generalization.base import LossInterval, on_scale
from jaxci.generalization.registry import METHODS
from jaxci.inducers import Ridge
from jaxci.intervals.base import Bounds, tails
from jaxci.intervals.proportion import Wald, Wilson
from jaxci.resampling import splits

selection = pytest.importorskip("sklearn.model_selection")


def rows(n=120, rare=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.argsort(np.argsort(-X[:, 0] - rng.normal(size=n))) < rare * n


def apart():
    """Two classes that no learner confuses."""
    X = np.r_[np.linspace(-3, -2, 30), np.linspace(2, 3, 30)][:, None]
    return X, X[:, 0] > 0


def share_of_tests(result, y):
    """Rows of class True that each split tests."""
    return (result.plan.test_mask & y).sum(axis=1)


def test_splits_take_no_heed_of_classes_unless_asked():
    X, y = rows()
    plain = jaxci.generalization_interval("logistic", X, y, rng=0)
    assert plain.plan.strata is None
    assert np.ptp(share_of_tests(plain, y)) > 1
    assert not plain.warnings
    with pytest.warns(jaxci.JaxciWarning, match="splits keep the shares of classes; what the loss varies by"):
        kept = jaxci.generalization_interval("logistic", X, y, rng=0, stratify=True)
    assert np.ptp(share_of_tests(kept, y)) <= 1
    np.testing.assert_array_equal(kept.plan.strata, y)


def test_a_rare_class_is_in_every_split():
    X, y = rows(rare=0.07)
    result = jaxci.generalization_interval("logistic", X, y, rng=0)
    assert "class True has 9 rows: so that no split lacks it, splits keep the shares" in result.reason
    assert result.plan.strata is not None
    with pytest.warns(jaxci.JaxciWarning, match="class True has 36 rows.*\n?.*") as told:
        found = jaxci.generalization_interval("logistic", *rows(), loss="f1", rng=0)
    assert found.plan.strata is not None
    assert any("splits test about 3.6 rows of class True: means of a metric" in str(one.message) for one in told)


def test_the_variance_between_classes_by_hand():
    y = np.repeat([0, 1], [18, 6])
    plan = splits.subsampling(24, 0.75, 30, 0, stratify=y)
    losses = np.random.default_rng(1).exponential(size=plan.test_mask.shape) + 3 * y
    of = Resampled(plan, losses)
    by_row = np.array([losses[plan.test_mask[:, i], i].mean() for i in range(24)])
    first, second = by_row[:18].mean(), by_row[18:].mean()
    assert of.between == pytest.approx(0.75 * 0.25 * (first - second) ** 2, rel=1e-12)
    means = np.array([losses[s, plan.test_mask[s]].mean() for s in range(30)])
    error = math.sqrt((1 / 30 + 6 / 18) * (means.var(ddof=1) + of.between * (1 / 6 - 1 / 24)))
    assert m.corrected_t(of).standard_error == pytest.approx(error, rel=1e-12)
    plain = splits.subsampling(24, 0.75, 30, 0)
    assert Resampled(plain, losses).between == 0


@pytest.mark.parametrize("method", ["corrected_t", "conservative_z", "five_by_two_cv", "nested_cv"])
def test_shares_that_splits_keep_widen_intervals(method):
    """With losses that are one number a class, splits within classes do not vary, and data sets do."""
    y = np.arange(200) < 60
    losses = np.where(y, 5.0, 1.0)

    def squared_error(seed, **by):
        plans = METHODS[method].plans(200, seed, **by)
        fits = {plan.name: Resampled(plan, np.broadcast_to(losses, plan.test_mask.shape)) for plan in plans}
        return METHODS[method].interval(fits, 0.95, {}).standard_error ** 2

    within = np.mean([squared_error(seed, stratify=y) for seed in range(5)])
    whatever = np.mean([squared_error(seed) for seed in range(40)])
    assert 0.9 * losses.var() / 200 <= within <= 1.3 * whatever


def test_methods_without_a_term_for_classes_refuse_their_splits():
    X, y = rows(60)
    plan = splits.bootstrap(60, 200, 0, stratify=y)
    with pytest.raises(ValueError, match="oob takes rows for drawn whatever their class; the plan 'bootstrap' in cv"):
        jaxci.generalization_interval("logistic", X, y, method="oob", cv=plan)
    with pytest.raises(ValueError, match="stratify must not be True for a regression"):
        jaxci.generalization_interval(Ridge(), X, X[:, 0], stratify=True)
    with pytest.raises(TypeError, match="stratify must be True, False or None; got 'class'"):
        jaxci.generalization_interval("logistic", X, y, stratify="class")
    with pytest.raises(ValueError, match="stratify must be given to the builders of plans"):
        jaxci.generalization_interval("logistic", X, y, stratify=True, cv=splits.kfold(60, 5, 0))


@pytest.mark.parametrize("form", ["splitter", "pairs"])
def test_splits_that_keep_shares_are_known(form):
    X, y = rows(200)
    splitter = selection.StratifiedKFold(5)
    cv = splitter if form == "splitter" else list(splitter.split(X, y))
    with pytest.warns(jaxci.JaxciWarning, match="splits keep the shares of classes"):
        kept = jaxci.generalization_interval("logistic", X, y, cv=cv)
    assert kept.reason.startswith("the method that reads whatever splits are given; ends also as far as Wilson's")
    np.testing.assert_array_equal(kept.plan.strata, y)
    with pytest.raises(ValueError, match="stratify=False is not what cv does: its splits keep the shares"):
        jaxci.generalization_interval("logistic", X, y, cv=cv, stratify=False)
    plain = selection.KFold(5)
    assert jaxci.generalization_interval("logistic", X, y, cv=plain).plan.strata is None
    with pytest.raises(ValueError, match="stratify=True is not what cv does: its splits do not keep the shares"):
        jaxci.generalization_interval("logistic", X, y, cv=plain, stratify=True)


def test_classes_that_groups_hold_are_no_shares_to_keep():
    X, y = rows(80)
    groups = np.argsort(np.argsort(y, kind="stable")) // 4  # of one class each
    with pytest.raises(ValueError, match="stratify must not be True where each group is left out once"):
        jaxci.generalization_interval("logistic", X, y, groups=groups, stratify=True)


def test_folds_by_number_do_not_lack_a_rare_class():
    X, y = rows(60, rare=0.04)
    found = jaxci.generalization_interval("logistic", X, y, cv=2, rng=0)
    assert "class True has 3 rows: so that no split lacks it" in found.reason
    assert np.isfinite(found.confidence_interval).all()


@pytest.mark.slow
def test_subsets_of_the_rows_hide_less_than_as_many_other_rows():
    """Losses of one number a class: the error within classes is that of splits that take no heed, on average."""
    y = np.arange(60) < 18
    losses = np.where(y, 5.0, 1.0)
    for p in (0.5, 5 / 6):  # parts that test hold whole shares of the classes

        def squared(seed, p=p, **by):
            plan = splits.subsampling(60, p, 25, seed, **by)
            return m.corrected_t(Resampled(plan, np.broadcast_to(losses, plan.test_mask.shape))).standard_error ** 2

        whatever = np.mean([squared(seed) for seed in range(300)])
        assert np.mean([squared(seed, stratify=y) for seed in range(20)]) == pytest.approx(whatever, rel=0.08)


def test_splitters_see_the_users_data():
    X, y = rows(60)
    words = np.where(y, "yes", "no")

    class Spy(selection.KFold):
        def split(self, X, y=None, groups=None):
            Spy.seen = X, y
            return super().split(X, y, groups)

    jaxci.generalization_interval("logistic", X, words, cv=Spy(4))
    np.testing.assert_array_equal(Spy.seen[0], X)
    np.testing.assert_array_equal(Spy.seen[1], words)
    with pytest.raises(ValueError, match=r"cv: KFold.* gives no splits of these data: Cannot have number of splits"):
        jaxci.generalization_interval("logistic", X, words, cv=selection.KFold(61))


@pytest.mark.slow
def test_pairs_are_read_by_the_corrected_t_interval():
    X, y = rows(40)
    pairs = list(selection.KFold(5).split(X))
    found = [jaxci.generalization_interval("logistic", X, y, cv=cv) for cv in (pairs, iter(pairs), selection.KFold(5))]
    assert {one.method for one in found} == {"corrected_t"}
    assert len({one.confidence_interval for one in found}) == 1
    groups = np.arange(40) // 5
    grouped = list(selection.GroupKFold(4).split(X, y, groups))
    with pytest.warns(jaxci.JaxciWarning, match="8 groups: 95% intervals by corrected_t of fewer than 20"):
        found = jaxci.generalization_interval("logistic", X, y, cv=grouped, groups=groups)
    assert "left out once" not in found.reason
    alone = jaxci.generalization_interval("logistic", X, y, cv=selection.LeaveOneGroupOut(), groups=groups)
    assert not any("groups" in text for text in alone.warnings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "oob", "stratify": True}, "oob takes rows for drawn whatever their class; stratify=True keeps"),
        (
            {"scale": "lgo", "method": "corrected_t"},
            "scale must be one of 'plain', 'log', 'cube_root', 'wilson', 'nearer_end'; got 'lgo'",
        ),
        ({"method": "five_by_two_cv", "n_folds": 3}, "five_by_two_cv needs 5 repetitions of 2 folds; got 5 of 3"),
        ({"method": "nested_cv", "cv": 2}, "cv, which is n_folds: n_folds must be an integer of at least 3; got 2"),
    ],
)
def test_what_no_interval_can_be_read_from_is_refused_before_any_fit(arguments, message):
    X, y = rows(60)
    told = []
    with pytest.raises(ValueError, match=message):
        jaxci.generalization_interval("logistic", X, y, progress=lambda *done: told.append(done), **arguments)
    assert not told


@pytest.mark.slow
def test_a_number_of_folds():
    X, y = rows(60)
    found = jaxci.generalization_interval("logistic", X, y, cv=5, rng=0, scale="plain")
    assert found.method == "corrected_t"
    assert found.n_fits == 5
    np.testing.assert_array_equal(found.plan.test_mask.sum(axis=0), 1)
    means = np.nanmean(found.losses, axis=1)
    low, high = stats.t.interval(0.95, 4, means.mean(), math.sqrt((1 / 5 + 1 / 4) * means.var(ddof=1)))
    np.testing.assert_allclose(found.confidence_interval, (max(low, 0), high), rtol=1e-12)
    assert len(jaxci.generalization_interval("logistic", X, y, method="nested_cv", cv=3, rng=0).plan) == 25 * 9
    assert len(jaxci.generalization_interval("logistic", X, y, method="cv_wald", n_folds=4, rng=0).plan) == 4
    with pytest.raises(ValueError, match="n_folds must not be given beside cv"):
        jaxci.generalization_interval("logistic", X, y, method="cv_wald", n_folds=4, cv=3)
    with pytest.raises(TypeError, match=r"cv must be plans of jaxci\.resampling\.splits for oob; got 5"):
        jaxci.generalization_interval("logistic", X, y, method="oob", cv=5)
    with pytest.raises(ValueError, match="n_folds must be at most n, which is 60; got n_folds = 61"):
        jaxci.generalization_interval("logistic", X, y, cv=61)


def test_training_parts_that_are_no_complement_count_as_they_are():
    X, y = rows(60)
    splitter = selection.ShuffleSplit(6, train_size=0.5, test_size=0.2, random_state=0)
    found = jaxci.generalization_interval(Ridge(), X, X[:, 0] + y, cv=splitter)
    means = np.nanmean(found.losses, axis=1)
    assert found.standard_error == pytest.approx(math.sqrt((1 / 6 + 12 / 30) * means.var(ddof=1)), rel=1e-12)


@pytest.mark.slow
def test_few_groups_are_left_out_once_each():
    X, y = rows(80)
    groups = np.arange(80) // 10
    found = jaxci.generalization_interval("logistic", X, y, groups=groups, rng=0, scale="plain")
    assert found.n_fits == 8
    assert "each left out once" in found.reason
    means = np.nanmean(found.losses, axis=1)
    low, high = stats.t.interval(0.95, 7, means.mean(), math.sqrt((1 / 8 + 1 / 7) * means.var(ddof=1)))
    np.testing.assert_allclose(found.confidence_interval, (max(low, 0), high), rtol=1e-12)
    many = jaxci.generalization_interval("logistic", *rows(202), groups=np.arange(202) // 2, rng=0)
    assert many.n_fits == 25
    with pytest.warns(jaxci.JaxciWarning, match="8 groups: .* conservative_z .* fewer than 20"):
        jaxci.generalization_interval("logistic", X, y, groups=groups, method="conservative_z", rng=0)


def test_splits_that_test_the_same_rows_count_once():
    plan = splits.subsampling(4, 0.75, 40, 0)
    by_row = np.array([1.0, 2.0, 4.0, 9.0])
    found = m.corrected_t(Resampled(plan, np.broadcast_to(by_row, plan.test_mask.shape)))
    assert found.df == 3
    assert found.standard_error == pytest.approx(math.sqrt((1 / 4 + 1 / 3) * by_row.var(ddof=1)), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["holdout", "cv_wald", "corrected_t", "nested_cv", "oob", "oob_percentile"])
def test_nothing_wrong_is_no_certainty(method):
    X, y = apart()
    result = jaxci.generalization_interval("logistic", X, y, method=method, rng=3, progress=False)
    assert result.confidence_interval.low == 0 == result.estimate
    n = int(result.plan.test_mask.any(axis=0).sum())
    assert result.confidence_interval.high == pytest.approx(1 - 0.025 ** (1 / n), rel=1e-9)
    assert f"no row is predicted wrong: Clopper and Pearson's interval for {n} rows" in result.reason


def test_everything_wrong_is_no_certainty():
    X, y = apart()
    plan = splits.from_indices(60, [(np.r_[:20], np.r_[40:60])], name="holdout")  # trained on the other class alone
    result = jaxci.generalization_interval("constant", X, y.astype(str), method="holdout", cv=plan)
    np.testing.assert_allclose(result.confidence_interval, [0.025 ** (1 / 20), 1])
    assert "no row is predicted right" in result.reason


def test_equal_means_of_splits_are_no_certainty():
    losses = np.zeros((5, 10))
    losses[:, :6] = 1
    found = jaxci.losses_interval(list(losses), test=list(np.arange(50).reshape(5, 10)), loss="zero_one")
    expected = stats.binomtest(30, 50).proportion_ci(method="exact")
    np.testing.assert_allclose(found.confidence_interval, (expected.low, expected.high), rtol=1e-9)
    assert "nothing varies between splits (30 wrong): Clopper and Pearson's interval for 50 rows" in found.reason


def test_only_groups_that_are_tested_count():
    X, y = apart()
    groups = np.arange(60) // 3
    splitter = selection.GroupShuffleSplit(2, test_size=0.05, random_state=0)
    found = jaxci.generalization_interval("logistic", X, y, groups=groups, cv=splitter)
    assert found.confidence_interval.high == pytest.approx(1 - 0.025 ** (1 / 2), rel=1e-9)


def test_nothing_wrong_in_groups_counts_groups():
    result = jaxci.generalization_interval("logistic", *apart(), groups=np.arange(60) % 6, rng=0)
    assert result.confidence_interval.high == pytest.approx(1 - 0.025 ** (1 / 6), rel=1e-9)


@pytest.mark.slow
def test_studies_split_within_classes_as_the_verb_does(tmp_path):
    methods = ["corrected_t", {"method": "corrected_t", "label": "within classes", "stratify": True}]
    study = GeneralizationStudy(
        ["bates_classif_20"], ["logistic"], ["zero_one"], methods, [60], n_replications=4, n_groups=2, n_validation=500
    )
    again = GeneralizationStudy.from_dict(study.to_dict())
    assert again.to_dict() == study.to_dict()
    results = study.run(tmp_path)
    assert [row["method"] for row in results.table.records()] == ["corrected_t", "within classes"]


def test_means_of_few_groups_have_their_ends_on_the_log_scale():
    X, y = rows(80)
    target, groups = X[:, 0] + 3 * y, np.arange(80) // 10
    found = jaxci.generalization_interval("ridge", X, target, groups=groups, rng=0)
    means = np.nanmean(found.losses, axis=1)
    error = math.sqrt((1 / 8 + 1 / 7) * means.var(ddof=1))
    ratio = math.exp(stats.t.ppf(0.975, 7) * error / means.mean())
    np.testing.assert_allclose(found.confidence_interval, (means.mean() / ratio, means.mean() * ratio), rtol=1e-12)
    assert "ends on the log scale" in found.reason
    plain = jaxci.generalization_interval("ridge", X, target, groups=groups, rng=0, scale="plain")
    assert plain.confidence_interval.low < found.confidence_interval.low
    of = Resampled(found.plan, -found.losses)
    with pytest.raises(ValueError, match="scale='log' needs a positive mean loss; got -"):
        m.corrected_t(of, scale="log")
    with pytest.raises(
        ValueError, match="scale must be one of 'plain', 'log', 'cube_root', 'wilson', 'nearer_end'; got 'root'"
    ):
        m.corrected_t(of, scale="root")


@pytest.mark.parametrize("method", ["nested_cv", "corrected_t"])
def test_means_without_a_bound_have_their_ends_on_the_scale_of_cube_roots(method):
    X, y = rows(60)
    target = X[:, 0] + 3 * y
    found, plain, score = (
        jaxci.generalization_interval("ridge", X, target, method=method, loss=loss, rng=0, progress=False, **given)
        for loss, given in (("squared", {}), ("squared", {"scale": "plain"}), ("winsorized", {}))
    )
    half, low, high = plain.confidence_interval.high - plain.estimate, *found.confidence_interval
    mean = found.estimate
    if method == "nested_cv":  # that before the correction, of models of fewer rows
        mean = 2 * half**2 / 3 / (low + high - 2 * found.estimate)
        assert found.estimate < mean < 1.2 * found.estimate
    roots = 1 - half / (3 * mean), 1 + half / (3 * mean)
    ends = [found.estimate + mean * (root**3 - 1) for root in roots]
    np.testing.assert_allclose((low, high), ends, rtol=1e-9)
    assert "ends on the scale of cube roots" in found.reason
    assert found.estimate == plain.estimate
    assert "cube roots" not in plain.reason
    of_classes = jaxci.generalization_interval("logistic", X, y, method=method, rng=0, progress=False)
    assert "cube roots" not in of_classes.reason
    assert score.confidence_interval.low > 0


def test_scales_by_their_definition():
    found = LossInterval(2.0, 1.0, 3.0, 0.5, 9.0)
    assert on_scale(found, "plain") is found
    assert on_scale(found, "log")[1:3] == pytest.approx((2 * math.exp(-0.5), 2 * math.exp(0.5)))
    assert on_scale(found, "cube_root")[1:3] == pytest.approx((2 * (5 / 6) ** 3, 2 * (7 / 6) ** 3))
    assert on_scale(LossInterval(1.0, -4.0, 6.0, 2.0), "cube_root").low == 0.0
    alike = LossInterval(1.0, 1.0, 1.0, 0.0)
    assert on_scale(alike, "log") is alike
    for estimate in (-0.01, 0.0, 0.01):  # a correction may take it anywhere: its own size is no scale
        corrected = LossInterval(estimate, estimate - 0.3, estimate + 0.3, 0.15)
        ends = min(estimate, 0.0), estimate + 0.2 * (1.5**3 - 1)  # the low one, 0.2 (0.5^3 - 1) away, is cut
        assert on_scale(corrected, "cube_root", 0.2)[1:3] == pytest.approx(ends)
    high = 0.3 + 0.2 * (1.5**3 - 1)
    assert on_scale(LossInterval(0.3, 0.0, 0.6, 0.15), "cube_root", 0.2)[1:3] == pytest.approx((0.125, high))
    with pytest.raises(ValueError, match="scale='cube_root' needs a positive mean loss; got -1"):
        on_scale(LossInterval(-1.0, -2.0, 0.0, 0.5), "cube_root")


def test_wilsons_ends_are_his_where_they_are_further_out():
    for count, n in ((1, 60), (12, 50), (49, 50)):
        p, two = count / n, tails(0.95)
        plain, score = (Bounds(*map(float, method.from_counts(count, n, two))) for method in (Wald(), Wilson()))
        error = (plain.high - p) / stats.norm.ppf(0.975)
        found = on_scale(LossInterval(p, *plain, error), "wilson")
        assert found[1:3] == pytest.approx((min(plain.low, score.low), max(plain.high, score.high)))
    corrected = on_scale(LossInterval(-0.01, -0.05, 0.03, 0.02), "wilson", 0.02)  # below 0 by a correction
    k = 0.04**2 / (0.02 * 0.98)
    assert corrected[1:3] == pytest.approx((-0.05, k / (1 + k)))
    with pytest.raises(ValueError, match="scale='wilson' needs a mean loss between 0 and 1; got 2"):
        on_scale(LossInterval(2.0, 1.0, 3.0, 0.5), "wilson")


@pytest.mark.parametrize("method", ["nested_cv", "corrected_t"])
def test_shares_of_few_errors_reach_as_far_as_wilsons_interval(method):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), (np.arange(60) == 7).astype(int)
    found, plain = (
        jaxci.generalization_interval("constant", X, y, method=method, stratify=False, rng=0, progress=False, **scale)
        for scale in ({}, {"scale": "plain"})
    )
    assert 1.3 < found.confidence_interval.high / plain.confidence_interval.high < 2.5
    assert found.confidence_interval.low == plain.confidence_interval.low
    assert "ends also as far as Wilson's" in found.reason
    right = jaxci.generalization_interval(
        "constant", X, y, method=method, stratify=False, rng=0, progress=False, scoring="accuracy"
    )
    assert right.confidence_interval.low == pytest.approx(1 - found.confidence_interval.high)
    run = jaxci.losses_interval(found.losses, found.plan, method=method, loss="zero_one")
    assert run.confidence_interval == pytest.approx(found.confidence_interval)


def test_metrics_of_few_targets_a_split_are_told():
    X, y = np.random.default_rng(0).normal(size=(2, 120, 1))
    with pytest.warns(jaxci.JaxciWarning, match="splits test about 12 rows: means of a metric over so few"):
        jaxci.generalization_interval("ridge", X, y[:, 0], loss="r2", rng=0)
    assert not jaxci.generalization_interval("ridge", X, y[:, 0], loss="r2", p=0.5, rng=0).warnings
    assert not jaxci.generalization_interval("ridge", X, y[:, 0], loss="squared", rng=0).warnings


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(
    ("cv", "warned"),
    [
        (selection.TimeSeriesSplit(5), True),
        (list(selection.TimeSeriesSplit(5).split(np.zeros(120))), True),
        (selection.KFold(5), False),
        (selection.ShuffleSplit(5, random_state=0), False),
    ],
)
def test_splits_in_the_order_of_time_are_told_by_every_verb(cv, warned):
    X, y = np.random.default_rng(0).normal(size=(120, 2)), np.arange(120) % 7 + 0.5
    pairs = cv if isinstance(cv, list) else list(cv.split(X))
    trains, tests = zip(*pairs, strict=True)
    scores = {"test_score": np.arange(len(tests)), "indices": {"train": trains, "test": tests}}
    results = [
        jaxci.generalization_interval("constant", X, y, cv=cv, rng=0),
        jaxci.compare_inducers("constant", "ridge", X, y, cv=cv, rng=0),
        jaxci.rank_inducers(["constant", "ridge", "lasso"], X, y, cv=cv, rng=0),
        jaxci.fit_resamples("constant", X, y, plans=[splits.from_indices(120, pairs)], rng=0),
        jaxci.losses_interval([y[rows] for rows in tests], trains, tests),
        jaxci.from_cross_validate(scores, y),
    ]
    told = "as TimeSeriesSplit does: 20 of 120 rows are never tested, and 20 to 100 train a split"
    assert [any(told in said for said in result.warnings) for result in results] == [warned] * 6
