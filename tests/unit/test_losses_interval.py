"""Intervals from losses and scores that loops of users' own computed: in Python, from scikit-learn, from a file."""

import json

import numpy as np
import pytest

import jaxci
from jaxci.inducers import Ridge
from jaxci.resampling import splits

N = 60
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 3))
Y = X @ [1.0, -1.0, 0.5] + RNG.normal(size=N)
FOLDS = np.array_split(RNG.permutation(N), 6)


def fitted(train, test):
    """Squared errors of least squares by hand."""
    design = np.c_[np.ones(N), X]
    slopes = np.linalg.lstsq(design[train], Y[train], rcond=None)[0]
    return (Y[test] - design[test] @ slopes) ** 2


def rest(fold):
    return np.setdiff1d(np.arange(N), fold)


LOSSES = [fitted(rest(fold), fold) for fold in FOLDS]
VERB = {"cv": [(rest(fold), fold) for fold in FOLDS], "progress": False}


@pytest.mark.parametrize("method", ["corrected_t", "cv_wald"])
def test_losses_of_folds_give_the_verbs_interval(method):
    named = {"method": method, "loss": "squared"}
    verb = jaxci.generalization_interval("linear", X, Y, method=method, **VERB)
    found = jaxci.losses_interval(LOSSES, test=FOLDS, **named)
    np.testing.assert_allclose(found.confidence_interval, verb.confidence_interval, rtol=1e-6)
    table = np.full((6, N), 9e9)
    for split, (fold, losses) in enumerate(zip(FOLDS, LOSSES, strict=True)):
        table[split, fold] = losses
    again = jaxci.losses_interval(table, [rest(fold) for fold in FOLDS], FOLDS, **named)
    assert again.confidence_interval == found.confidence_interval
    assert jaxci.losses_interval(LOSSES, test=iter(FOLDS), **named).estimate == found.estimate
    counts = np.stack([np.bincount(rest(fold), minlength=N) for fold in FOLDS])
    by_counts = jaxci.losses_interval(LOSSES, counts, FOLDS, **named)
    assert by_counts.confidence_interval == found.confidence_interval
    assert (found.n, found.statistic, found.n_fits) == (N, "squared", 6)


def test_plans_of_ours_serve_any_loop():
    plan = splits.nested_cv(N, 4, 3, 0)
    pairs = zip(plan.train_counts, plan.test_mask, strict=True)
    losses = [fitted(np.flatnonzero(train), np.flatnonzero(test)) for train, test in pairs]
    found = jaxci.losses_interval(losses, plan, loss="squared")
    verb = jaxci.generalization_interval("linear", X, Y, method="nested_cv", cv=plan, progress=False)
    assert found.method == "nested_cv"
    assert found.reason.startswith("the method for such splits; ends on the scale of cube roots")
    np.testing.assert_allclose(found.confidence_interval, verb.confidence_interval, rtol=1e-6)


def test_folds_of_several_sizes_have_the_mean_over_rows_by_either_door():
    tests = np.split(np.arange(N), [3, 8, 20, 35])
    wrong = (np.random.default_rng(2).random(N) < np.linspace(0.1, 0.6, N)).astype(float)
    found = jaxci.losses_interval([wrong[rows] for rows in tests], test=tests, loss="zero_one")
    assert found.estimate == pytest.approx(wrong.mean(), rel=1e-12)
    indices = {"train": [rest(rows) for rows in tests], "test": tests}
    right = np.array([1 - wrong[rows].mean() for rows in tests])
    named = jaxci.from_cross_validate({"test_accuracy": right, "indices": indices}, np.arange(N) % 2)
    assert named.estimate == pytest.approx(1 - wrong.mean(), rel=1e-12)
    ends = found.confidence_interval
    np.testing.assert_allclose(named.confidence_interval, (1 - ends.high, 1 - ends.low), rtol=1e-12)
    other = jaxci.from_cross_validate({"test_f1": right, "indices": indices}, np.arange(N) % 2)
    assert other.estimate == pytest.approx(right.mean(), rel=1e-12)


def test_classes_whose_shares_splits_keep_and_groups():
    wrong = RNG.random(N) < 0.3
    shares = np.arange(N) % 3
    plain = jaxci.losses_interval([wrong[f] for f in FOLDS], test=FOLDS, loss="zero_one")
    kept = jaxci.losses_interval([wrong[f] for f in FOLDS], test=FOLDS, loss="zero_one", strata=shares)
    assert kept.standard_error > plain.standard_error
    groups = np.empty(N, int)
    for number, fold in enumerate(FOLDS):
        groups[fold] = number // 2
    with pytest.raises(ValueError, match="splits must keep groups together"):
        jaxci.losses_interval(LOSSES, test=FOLDS, groups=groups)
    nothing = jaxci.losses_interval([np.zeros(len(f)) for f in FOLDS], test=FOLDS, loss="zero_one")
    assert nothing.confidence_interval.high == pytest.approx(1 - 0.025 ** (1 / N))


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
def test_losses_that_do_not_vary_tell_nothing_of_others(value):
    losses = [np.full(len(f), value) for f in FOLDS]
    hint = "" if value == 0.3 else "; losses named 'zero_one' have an interval that allows for them"
    with pytest.warns(jaxci.JaxciWarning, match=f"nothing is known of losses that were not seen{hint}$"):
        found = jaxci.losses_interval(losses, test=FOLDS)
    assert found.confidence_interval == (value, value)
    named = jaxci.losses_interval(losses, test=FOLDS, loss="zero_one")
    assert np.diff(named.confidence_interval) > 0.05
    assert named.warnings == ()


@pytest.mark.parametrize(("right", "share"), [(True, (0.025 ** (1 / 60), 1.0)), (False, (0.0, 1 - 0.025 ** (1 / 60)))])
def test_an_accuracy_that_is_one_or_zero_throughout_has_clopper_and_pearsons_interval(right, share):
    pairs = [np.setdiff1d(np.arange(60), f) for f in np.array_split(np.arange(60), 5)]
    indices = {"train": pairs, "test": np.array_split(np.arange(60), 5)}
    scores, y = np.full(5, float(right)), np.arange(60) % 2
    named = jaxci.from_cross_validate({"test_accuracy": scores, "indices": indices}, y)
    assert named.confidence_interval == pytest.approx(share, rel=1e-9)
    assert f"no row is predicted {'wrong' if right else 'right'}: Clopper" in named.reason
    assert named.warnings == ()
    failed = {"test_accuracy": np.where(np.arange(5) == 2, np.nan, scores), "indices": indices}
    with pytest.warns(jaxci.JaxciWarning, match="fit failed"):
        found = jaxci.from_cross_validate(failed, y)
    assert "for 48 rows" in found.reason
    for name, hint in (("test_score", r"; an accuracy that scoring=\['accuracy'\] names"), ("test_f1", "$")):
        with pytest.warns(jaxci.JaxciWarning, match=f"nothing is known of scores that were not seen{hint}"):
            found = jaxci.from_cross_validate({name: scores, "indices": indices})
        assert found.confidence_interval == (right, right)


def test_five_by_two_and_holdout_by_pairs():
    halves = [RNG.permutation(N).reshape(2, -1) for _ in range(5)]
    tests = [half for pair in halves for half in pair]
    losses = [fitted(rest(half), half) for half in tests]
    found = jaxci.losses_interval(losses, test=tests, method="five_by_two_cv")
    assert found.estimate == pytest.approx(losses[0].mean())
    single = jaxci.losses_interval(LOSSES[:1], test=FOLDS[:1], method="holdout", n=N)
    assert single.estimate == pytest.approx(LOSSES[0].mean())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, r"test must hold the row numbers that each split tests, unless .*; got None \(of scores by"),
        ({"test": 3}, TypeError, "test must be a sequence of row numbers a split; got 3"),
        ({"test": [[0.5]]}, TypeError, "test must be a sequence of row numbers a split"),
        ({"test": FOLDS[:5]}, ValueError, "all arrays must have one length.*losses has 6, the splits has 5"),
        ({"test": [f[:9] for f in FOLDS]}, ValueError, r"losses\[0\] has 10, the rows that split 0 tests has 9"),
        ({"test": FOLDS, "method": "nested_cv"}, ValueError, "nested_cv needs a plan of jaxci"),
        ({"test": FOLDS, "method": "oob"}, ValueError, "test must give resamples of 60 rows for oob"),
        ({"test": FOLDS, "method": "best"}, ValueError, "method must be one of auto, holdout"),
        ({"test": FOLDS, "n": 20}, ValueError, "n must be at least 60; got 20"),
        ({"test": FOLDS, "train": np.ones((6, 20), int)}, ValueError, "n must be|train must count"),
        ({"test": FOLDS, "strata": np.zeros(3)}, ValueError, "strata has 3"),
        ({"train": splits.kfold(N, 6, 0), "test": FOLDS}, ValueError, "test and n must not be given beside a plan"),
        ({"test": FOLDS, "n_folds": 3}, ValueError, "corrected_t has no option 'n_folds'"),
        ({"test": FOLDS, "n": 10**10}, ValueError, "a plan must take at most 4 GiB"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        jaxci.losses_interval(LOSSES, **arguments)


def test_losses_that_are_no_numbers_are_named():
    with pytest.raises(ValueError, match=r"losses\[1\] must be finite"):
        jaxci.losses_interval([LOSSES[0], np.full(10, np.nan), *LOSSES[2:]], test=FOLDS)
    table = np.zeros((6, N))
    table[2, FOLDS[2][3]] = np.nan
    with pytest.raises(
        ValueError, match=f"losses must be finite where rows are tested; 1 are not, first of row {FOLDS[2][3]}"
    ):
        jaxci.losses_interval(table, test=FOLDS)


@pytest.mark.parametrize("losses", [None, 3, np.array(0.5)])
def test_losses_that_are_no_sequence_are_named(losses):
    with pytest.raises(TypeError, match="losses must hold the losses of the rows that each split tests; got "):
        jaxci.losses_interval(losses, test=[[0], [1]])


def test_row_numbers_that_can_be_none_are_refused_before_there_is_a_table_of_them():
    rule = "must hold row numbers from 0 to n - 1, of n rows of the data; got row 200000000 where the splits name"
    with pytest.raises(ValueError, match=rf"test {rule} 2 rows in all \(give n = 200000001 if that is meant\)"):
        jaxci.losses_interval([[1.0], [2.0]], test=[[0], [2 * 10**8]])
    with pytest.raises(ValueError, match=f"train {rule} 4 rows"):
        jaxci.losses_interval([[1.0], [2.0]], [[1, 2], [0, 2 * 10**8]], [[0], [1]])


def test_few_rows_of_many_may_be_tested():
    last = np.array_split(np.arange(49_990, 50_000), 2)
    found = jaxci.losses_interval([np.arange(5.0), np.arange(5.0) + 1], test=last)
    assert (found.n, found.estimate) == (50_000, 2.5)


@pytest.mark.parametrize(
    ("loss", "value", "said"),
    [
        ("zero_one", 3.0, r"lie in \[0, 1\] where the loss is 'zero_one'; 1 do not, first 3"),
        ("brier", 2.5, r"lie in \[0, 2\] where the loss is 'brier'; 1 do not, first 2.5"),
        ("squared", -1.0, "not be below 0 where the loss is 'squared'; 1 do not, first -1"),
        ("log", -0.01, "not be below 0 where the loss is 'log'; 1 do not, first -0.01"),
        ("log_loss", -0.01, "not be below 0 where the loss is 'log_loss'; 1 do not, first -0.01"),
        ("accuracy", 3.0, r"lie in \[0, 1\] where the loss is 'accuracy'; 1 do not, first 3"),
    ],
)
def test_losses_that_the_loss_cannot_have_are_refused(loss, value, said):
    losses = [np.resize([0.0, 1.0], len(fold)) for fold in FOLDS]
    losses[2][3] = value
    table = np.full((6, N), 9.0)
    for split, (fold, own) in enumerate(zip(FOLDS, losses, strict=True)):
        table[split, fold] = own
    for given in (losses, table):
        with pytest.raises(ValueError, match=f"losses must {said} of row {FOLDS[2][3]}, split 2"):
            jaxci.losses_interval(given, test=FOLDS, loss=loss)
        assert jaxci.losses_interval(given, test=FOLDS, loss="my_own").n == N


@pytest.mark.parametrize(
    ("metric", "loss"),
    [
        ("mean_squared_error", "squared"),
        ("mean_absolute_error", "absolute"),
        ("log_loss", "log"),
        ("error_rate", "zero_one"),
        ("accuracy", "zero_one"),
    ],
)
def test_the_name_of_a_metric_tells_what_that_of_its_loss_does(metric, loss):
    losses = [np.zeros(len(fold)) for fold in FOLDS]
    losses[0][0] = 1.0
    low, high = jaxci.losses_interval(losses, test=FOLDS, loss=loss).confidence_interval
    turned = metric == "accuracy"
    found = jaxci.losses_interval([1 - one if turned else one for one in losses], test=FOLDS, loss=metric)
    assert found.statistic == metric
    expected = (1 - high, 1 - low) if turned else (low, high)
    np.testing.assert_allclose(found.confidence_interval, expected, rtol=0, atol=1e-12)
    negated = jaxci.losses_interval([-one for one in losses], test=FOLDS, loss=f"neg_{metric}") if not turned else found
    assert turned or np.allclose(negated.confidence_interval, (-high, -low), rtol=0, atol=1e-12)


def test_the_name_of_a_metric_that_is_no_mean_over_rows_is_refused():
    with pytest.raises(ValueError, match="loss must be a mean over rows where it is the name of a metric; 'f1' is"):
        jaxci.losses_interval([np.zeros(len(fold)) for fold in FOLDS], test=FOLDS, loss="f1")


def test_losses_may_leave_their_range_by_rounding():
    losses = [np.resize([-1e-7, number], len(fold)) for number, fold in enumerate(FOLDS)]
    assert jaxci.losses_interval(losses, test=FOLDS, loss="log").estimate == pytest.approx(1.25)


class TestCrossValidate:
    sklearn = pytest.importorskip("sklearn")

    def found(self, y=Y, **arguments):
        from sklearn import linear_model, model_selection

        model = linear_model.LinearRegression() if y.dtype.kind == "f" else linear_model.LogisticRegression()
        arguments = {"cv": 6, "return_indices": True} | arguments
        return model_selection.cross_validate(model, X, y, **arguments)

    def test_few_rows_of_a_class_are_told_as_by_the_verb(self):
        from sklearn import linear_model, model_selection

        y = np.array(["no", "yes"])[1 * (np.arange(N) < 9)]
        cv = model_selection.StratifiedKFold(3)
        found = self.found(1 * (y == "yes"), cv=cv, scoring=["roc_auc", "accuracy"])
        verb = jaxci.generalization_interval(
            linear_model.LogisticRegression(), X, y, cv=cv, scoring="roc_auc", progress=False
        )
        for name, told in (("roc_auc", True), ("accuracy", False)):
            result = jaxci.from_cross_validate(found, y, score=name)
            few = [said for said in result.warnings if said.startswith("splits test about 3 rows of class 'yes'")]
            assert bool(few) == told
            assert not told or few[0] in verb.warnings
        unknown = jaxci.from_cross_validate(self.found(cv=6, scoring=["r2"]))
        assert any(said.startswith("splits test about 10 rows: means") for said in unknown.warnings)

    @pytest.mark.slow
    def test_scores_give_the_interval_of_the_verb(self):
        from sklearn import linear_model, model_selection

        cv = model_selection.KFold(6)
        result = jaxci.from_cross_validate(self.found(cv=cv, scoring="r2"), Y)
        verb = jaxci.generalization_interval(linear_model.LinearRegression(), X, Y, cv=cv, scoring="r2", progress=False)
        np.testing.assert_allclose(result.confidence_interval, verb.confidence_interval, rtol=1e-9)
        assert result.statistic == "score"
        assert result.n == N

    @pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss", "neg_mean_squared_error"])
    @pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
    def test_names_have_the_range_and_the_ends_of_the_verb(self, scoring):
        from sklearn import linear_model, model_selection

        of_targets = scoring == "neg_mean_squared_error"
        y = Y if of_targets else (np.random.default_rng(1).normal(size=N) > 3 * X[:, 0]).astype(int)
        model = linear_model.LinearRegression() if of_targets else linear_model.LogisticRegression()
        cv = model_selection.KFold(6)
        result = jaxci.from_cross_validate(self.found(y, cv=cv, scoring=[scoring]), y)
        verb = jaxci.generalization_interval(model, X, y, cv=cv, scoring=scoring, n_jobs=1, progress=False)
        np.testing.assert_allclose(result.confidence_interval, verb.confidence_interval, rtol=1e-9)
        assert result.estimate == pytest.approx(verb.estimate)
        assert result.statistic == scoring

    def test_scores_that_leave_the_range_of_their_name_are_another_metric(self):
        found = self.found(scoring={"log_loss": "neg_mean_squared_error"})
        assert jaxci.from_cross_validate(found, Y).confidence_interval.low < 0

    def test_one_of_several_metrics(self):
        both = self.found(scoring=["r2", "neg_max_error"])
        with pytest.raises(
            ValueError, match="score must be one of test_r2, test_neg_max_error where there are several"
        ):
            jaxci.from_cross_validate(both, Y)
        assert jaxci.from_cross_validate(both, Y, score="test_r2").statistic == "r2"
        assert jaxci.from_cross_validate(both, Y, score="r2").statistic == "r2"

    def test_classes_in_proportion_are_told(self):
        label = np.arange(N) % 2
        with pytest.warns(jaxci.JaxciWarning, match="every split keeps the shares of the classes, as stratified"):
            jaxci.from_cross_validate(self.found(label), label)
        with pytest.warns(jaxci.JaxciWarning, match="whether the splits keep the shares of classes is not known"):
            jaxci.from_cross_validate(self.found(label))

    def test_splits_that_hold_few_rows_of_a_class_are_not_taken_for_stratified(self):
        from sklearn import model_selection

        rare = np.arange(N) < 2
        found = self.found(Y, cv=model_selection.LeaveOneOut(), scoring="neg_mean_squared_error")
        assert not jaxci.from_cross_validate(found, rare).warnings

    def test_bad_input_is_refused(self):
        with pytest.raises(ValueError, match="y must hold all rows that were split; it has 30, and"):
            jaxci.from_cross_validate(self.found(), Y[:30])
        with pytest.raises(TypeError, match="result must be what scikit-learn's cross_validate returned; got 3"):
            jaxci.from_cross_validate(3)
        with pytest.raises(ValueError, match=r"call cross_validate\(\.\.\., return_indices=True\)"):
            jaxci.from_cross_validate(self.found(return_indices=False))
        with pytest.raises(
            ValueError, match="method must be one of corrected_t, conservative_z where the loss, 'score'"
        ):
            jaxci.from_cross_validate(self.found(), Y, method="cv_wald")

    def test_failed_fits_are_left_out(self):
        scores = self.found()
        scores["test_score"] = np.r_[np.nan, np.inf, scores["test_score"][2:]]
        with pytest.warns(jaxci.JaxciWarning, match="2 of 6 splits"):
            assert np.isfinite(jaxci.from_cross_validate(scores, Y).confidence_interval).all()


class TestCommand:
    pytest.importorskip("typer")

    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "losses.csv"
        lines = [
            f"{loss},{name},{row},{row % 3},{row // 10}"
            for name, (fold, losses) in enumerate(zip(FOLDS, LOSSES, strict=True))
            for row, loss in zip(fold, losses, strict=True)
        ]
        path.write_text("\n".join(["loss,fold,row,class,group", *lines]) + "\n", encoding="utf-8")
        return path

    def run(self, capsys, *arguments):
        from jaxci.cli import main

        return main(["losses", *map(str, arguments)]), *capsys.readouterr()

    def test_losses_of_a_file(self, capsys, file, tmp_path):
        out = tmp_path / "out.json"
        code, text, _ = self.run(capsys, file, "--loss", "loss", "--fold", "fold", "--row", "row", "--json", out)
        expected = jaxci.losses_interval(LOSSES, test=FOLDS)
        assert code == 0
        assert "corrected_t" in text
        np.testing.assert_allclose(json.loads(out.read_text())["estimate"], expected.estimate)
        more = ("--strata", "class", "--method", "cv_wald")
        code, text, _ = self.run(capsys, file, "--loss", "loss", "--fold", "fold", *more)
        assert code == 0
        assert "cv_wald" in text

    @pytest.mark.slow
    def test_what_is_wrong_is_said(self, capsys, file):
        code, _, said = self.run(capsys, file, "--loss", "loss", "--fold", "fold", "--repeat", "class")
        assert code == 2
        assert "--repeat needs --row" in said
        holed = file.with_name("holed.csv")
        holed.write_text(file.read_text(encoding="utf-8").replace(",0,", ",,", 1), encoding="utf-8")
        code, _, said = self.run(capsys, holed, "--loss", "loss", "--fold", "fold")
        assert code == 2
        assert "fold must have no missing labels; 1 of 60" in said
        lines = file.read_text(encoding="utf-8").split("\n")
        for text, got in (("", "none"), ("large", "'large'"), ("inf", "inf")):
            lines[2] = ",".join([text, *lines[2].split(",")[1:]])
            holed.write_text("\n".join(lines), encoding="utf-8")
            code, _, said = self.run(capsys, holed, "--loss", "loss", "--fold", "fold")
            assert code == 2
            assert f"holed.csv, line 3: column 'loss' must hold numbers; got {got}" in said.replace("\n", " ")
        code, _, said = self.run(capsys, file, "--loss", "lost", "--fold", "fold")
        assert code == 2
        assert "lost" in said


def test_ridge_by_hand_and_by_the_verb_agree():
    plan = splits.subsampling(N, 0.8, 8, 0)
    of_rows = jaxci.fit_resamples(Ridge(), X, Y, plans=[plan]).interval("corrected_t")
    again = jaxci.losses_interval(of_rows.losses, plan, loss="squared")
    np.testing.assert_allclose(again.confidence_interval, of_rows.confidence_interval, rtol=1e-12)


def test_strata_whose_shares_splits_do_not_keep_are_told():
    """What losses vary by the shares is in the losses of random folds already."""
    classes = (np.arange(N) % 10 < 3).astype(int)
    kept = [np.concatenate(parts) for parts in zip(*_apart(classes), strict=True)]
    assert jaxci.losses_interval(_losses_on(kept, classes), test=kept, strata=classes).warnings == ()
    random = np.array_split(np.argsort(classes, kind="stable"), 6)
    with pytest.warns(jaxci.JaxciWarning, match="strata must be classes whose shares every split keeps; split . tests"):
        jaxci.losses_interval(_losses_on(random, classes), test=random, strata=classes)


def _apart(classes):
    return [np.array_split(np.flatnonzero(classes == k), 6) for k in (0, 1)]


def _losses_on(folds, classes):
    return [classes[fold] + Y[fold] ** 2 for fold in folds]


def test_row_numbers_that_seem_to_count_from_1_are_told():
    folds = [fold + 1 for fold in FOLDS]
    with pytest.warns(jaxci.JaxciWarning, match="row 0 is tested by no split, and the other 60 of 61 rows"):
        assert jaxci.losses_interval(LOSSES, test=folds).n == N + 1
    assert jaxci.losses_interval(LOSSES, test=FOLDS).warnings == ()
