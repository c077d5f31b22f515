"""Input that is odd: what may be read in two ways is refused or remarked on, and what is clear gives right numbers."""

from __future__ import annotations

import collections
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

import jaxci
from jaxci.api.readers.arrays import in_numpy
from jaxci.api.readers.label_remarks import ALIKE
from jaxci.api.readers.scores import in_label_order, in_name_order
from jaxci.api.readers.tables import NamedScores
from jaxci.api.readers.texts import MISSING
from jaxci.statistics.registry import ABBREVIATIONS, COMPLEMENTS, METRICS, OF_HITS, OF_LOSSES, RELATED

N = 60
NAN = float("nan")
RNG = np.random.default_rng(0)
WORDS = ["a", "b", "a"] * 20
GUESS = ["a", "b", "b"] * 20
CODES = RNG.integers(0, 3, N)
LETTERS = np.array(list("abc"))[CODES]
SCORES = np.eye(3)[CODES] + RNG.random((N, 3))
SCORES /= SCORES.sum(axis=1, keepdims=True)
BINARY = CODES % 2


def remarks(call) -> list[str]:
    """Return what is said; nothing of it comes from NumPy."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert all(issubclass(one.category, jaxci.JaxciWarning) for one in caught), [str(one.message) for one in caught]
    return [str(one.message) for one in caught]


def refused(error, message, call):
    with warnings.catch_warnings(action="ignore"), pytest.raises(error, match=message):
        call()


class TestListsOfTextsAndOtherThings:
    @pytest.mark.parametrize("hole", [NAN, None])
    @pytest.mark.parametrize("kind", [list, tuple, collections.deque])
    @pytest.mark.parametrize(
        ("name", "call"),
        [
            ("y_true", lambda x: jaxci.evaluate(x, GUESS)),
            ("y_pred", lambda x: jaxci.evaluate(WORDS, x)),
            ("prediction_a", lambda x: jaxci.compare("accuracy", WORDS, x, GUESS)),
            ("predictions['a']", lambda x: jaxci.leaderboard("accuracy", WORDS, {"a": x, "b": GUESS})),
            ("groups", lambda x: jaxci.evaluate(WORDS, GUESS, groups=x)),
            ("strata", lambda x: jaxci.evaluate(WORDS, GUESS, strata=x)),
            ("by['site']", lambda x: jaxci.evaluate(WORDS, GUESS, by={"site": x})),
            ("site", lambda x: jaxci.evaluate_cases({"dice": RNG.random(N), "site": x}, by="site")),
            ("y_true", lambda x: jaxci.Accumulator("accuracy").update(x, GUESS)),
        ],
    )
    def test_what_is_missing_is_no_label(self, name, call, kind, hole):
        message = f"^{re.escape(name)} must have no missing labels; 20 of 60 values are missing.*row 2$"
        refused(ValueError, message, lambda: call(kind(["a", "b", hole] * 20)))

    @pytest.mark.parametrize("name", ["y_true", "y_pred", "groups"])
    def test_a_number_is_no_text(self, name):
        mixed = {"y_true": WORDS, "y_pred": GUESS, name: [1, "1"] * 30}
        refused(
            TypeError, rf"{name} must hold labels of one type; got \['int', 'str'\]", lambda: jaxci.evaluate(**mixed)
        )

    @pytest.mark.parametrize("name", ["y_true", "y_pred", "groups"])
    def test_what_is_neither_number_nor_text_is_refused(self, name):
        """It stopped without a word where all were of one type."""
        mixed = {"y_true": WORDS, "y_pred": GUESS, name: [Fraction(1, 3), Fraction(2, 3)] * 30}
        refused(
            TypeError,
            rf"{name} must hold labels that are numbers, texts or booleans; got Fraction, such as .*1.* in row 0",
            lambda: jaxci.evaluate(**mixed),
        )

    @pytest.mark.parametrize("data", [WORDS, [np.str_("a"), "b"], [b"a", b"b"], [["a"], ["b"]], [np.array("a"), "b"]])
    def test_texts_alone_stay_texts(self, data):
        assert in_numpy(data).dtype.kind in "US"
        np.testing.assert_array_equal(in_numpy(data), np.asarray(data))

    def test_a_column_of_texts_with_a_hole(self):
        refused(ValueError, "y_true must have no missing labels; 1 of 2", lambda: jaxci.evaluate([["a"], [NAN]], GUESS))


class TestNamedScores:
    @pytest.fixture
    def frame(self):
        return pytest.importorskip("pandas").DataFrame(SCORES, columns=list("abc"))

    @pytest.mark.slow
    @pytest.mark.parametrize("order", ["abc", "cab", "bca"])
    def test_columns_are_those_of_the_labels_that_name_them(self, frame, order):
        metrics = ["accuracy", "roc_auc_ovr", "log_loss"]
        with warnings.catch_warnings(action="ignore"):
            wanted = jaxci.evaluate(LETTERS, y_score=SCORES, metrics=metrics, rng=0)
            found = jaxci.evaluate(LETTERS, y_score=frame[list(order)], metrics=metrics, rng=0)
            labels = jaxci.evaluate(LETTERS, y_score=frame[list(order)], metrics=metrics, labels=list("bca"), rng=0)
        assert wanted["accuracy"].estimate == 1
        assert found.to_dict() == wanted.to_dict()
        for name in metrics:
            assert labels[name].estimate == pytest.approx(wanted[name].estimate, rel=1e-12)

    @pytest.mark.parametrize(
        ("labels", "names"),
        [
            ([0, 10, 20], ["20", "0", "10"]),
            ([0, 10, 20], [20, 0, 10]),
            ([0.0, 1.0, 2.0], ["2", "0", "1"]),
            ([0.5, 1.0, 2.0], ["2.0", "0.5", "1.0"]),
        ],
    )
    def test_names_of_numbers_are_numbers_or_texts(self, labels, names):
        given = NamedScores(tuple(names), SCORES)
        np.testing.assert_array_equal(in_label_order(given, SCORES, labels), SCORES[:, [1, 2, 0]])
        np.testing.assert_array_equal(in_name_order(given, SCORES, labels[1:]), SCORES[:, [1, 2, 0]])

    @pytest.mark.parametrize("names", ["abx", "aab"])
    def test_labels_in_the_place_of_others_are_refused_where_not_all_are_named(self, names):
        """They were read by position without a word: an area of .98 became .02."""
        given = NamedScores(tuple(names), SCORES)
        with pytest.raises(ValueError, match=r"named by all labels, or by none of them; got 'a' in the place of 'c'"):
            in_label_order(given, SCORES, list("cab"))

    @pytest.mark.parametrize("names", ["cyx", "ab", "xyz"])
    def test_other_names_say_nothing_of_the_order(self, names):
        given = NamedScores(tuple(names), SCORES)
        assert in_label_order(given, SCORES, list("cab")) is SCORES
        assert in_label_order(SCORES, SCORES, list("cab")) is SCORES
        assert in_name_order(given, SCORES, list("cab")) is SCORES

    @pytest.mark.parametrize("pos_label", [None, "no", "yes"])
    def test_of_two_columns_the_positive_class_has_its_own(self, pos_label):
        pd = pytest.importorskip("pandas")
        truth = np.where(BINARY == 1, "yes", "no")
        score = np.where(BINARY == 1, 0.9, 0.2) - RNG.random(N) / 100
        frame = pd.DataFrame({"yes": score, "no": 1 - score})
        with warnings.catch_warnings(action="ignore"):
            found = jaxci.evaluate(truth, y_score=frame, metrics=["accuracy", "roc_auc"], pos_label=pos_label, rng=0)
        assert [row.estimate for row in found] == [1, 1]

    @pytest.mark.parametrize("library", ["pyarrow", "polars"])
    def test_tables_of_other_libraries(self, library):
        columns = {name: SCORES[:, "abc".index(name)] for name in "cab"}
        table = getattr(pytest.importorskip(library), {"pyarrow": "table", "polars": "DataFrame"}[library])(columns)
        np.testing.assert_array_equal(in_label_order(table, np.asarray(table), list("abc")), SCORES)

    @pytest.mark.slow
    def test_in_the_other_verbs(self, frame):
        turned, worse = frame[list("cab")], np.roll(SCORES, 1, axis=0)
        with warnings.catch_warnings(action="ignore"):
            compared = jaxci.compare("roc_auc_ovr", LETTERS, turned, worse, rng=0)
            same = jaxci.compare("roc_auc_ovr", LETTERS, SCORES, worse, rng=0)
            alone = jaxci.interval("log_loss", LETTERS, turned, rng=0)
            board = jaxci.leaderboard("log_loss", LETTERS, {"a": turned, "b": SCORES}, n_resamples=999, rng=0)
        assert compared.to_dict() == same.to_dict()
        assert alone.estimate == pytest.approx(-np.log(SCORES[np.arange(N), CODES]).mean(), rel=1e-12)
        assert board["a"].estimate == board["b"].estimate

    @pytest.mark.parametrize("labels", [None, ["b", "a", "c"]])
    def test_in_batches_that_lack_labels(self, frame, labels):
        accumulator = jaxci.Accumulator("log_loss", labels=labels, rng=0)
        for row in range(0, N, 2):
            accumulator.update(LETTERS[row : row + 2], y_score=frame[list("cab")][row : row + 2])
        with warnings.catch_warnings(action="ignore"):
            found = accumulator.finalize()["log_loss"].estimate
        assert found == pytest.approx(-np.log(SCORES[np.arange(N), CODES]).mean(), rel=1e-12)


class TestHardLabelsAsScores:
    OTHER = np.where(RNG.random(N) < 0.2, 1 - BINARY, BINARY)
    SAID = "only two values, as hard labels do: an area tells little of these; pass probabilities or scores"

    @pytest.mark.slow
    def test_rankings_have_a_remark(self):
        assert f"y_score takes {self.SAID}" in remarks(lambda: jaxci.interval("roc_auc", BINARY, self.OTHER, rng=0))
        assert f"y_score takes {self.SAID}" in remarks(
            lambda: jaxci.interval("roc_auc_ovr", CODES, np.eye(3)[(CODES + self.OTHER) % 3], rng=0)
        )
        said = remarks(lambda: jaxci.compare("roc_auc", BINARY, self.OTHER, RNG.random(N), rng=0))
        assert f"prediction_a takes {self.SAID}" in said
        boards = {"x": self.OTHER, "y": BINARY}
        said = remarks(lambda: jaxci.leaderboard("average_precision", BINARY, boards, n_resamples=999, rng=0))
        assert f"predictions['x'], predictions['y'] take {self.SAID}" in said

    @pytest.mark.parametrize(
        ("metric", "scores"),
        [
            ("roc_auc", np.ones(N)),
            ("roc_auc", np.arange(N) % 3),
            ("log_loss", np.where(OTHER, 0.9, 0.1)),
            ("brier_score_loss", OTHER),
        ],
    )
    def test_others_have_none(self, metric, scores):
        assert not any("hard labels" in text for text in remarks(lambda: jaxci.interval(metric, BINARY, scores, rng=0)))


class TestPredictedLabelsThatAreNoTrueOnes:
    def test_three_are_named(self):
        for odd, named in ((["?"], "'?'"), (["?", "a ", "A", "-", ""], "'', '-', '?' and 2 more")):
            guess = np.array(LETTERS, object)
            guess[: len(odd)] = odd
            said = remarks(lambda guess=guess: jaxci.evaluate(LETTERS, guess, metrics="accuracy", rng=0))
            assert said[0] == (
                f"y_pred in {len(odd)} of 60 rows has a label that y_true never has: {named}; each counts as a class "
                "(pass labels to say which classes there are)"
            )
            alike = f"labels 'A' and 'a' and 'a ' {ALIKE}"
            assert said[1:] == ([alike] if "A" in odd else [])

    def test_models_are_named(self):
        guess = np.where(np.arange(N) < 4, -1, CODES)
        said = remarks(lambda: jaxci.compare("accuracy", CODES, guess, CODES, rng=0))
        assert any(
            text.startswith("prediction_a in 4 of 60 rows has a label that y_true never has: -1;") for text in said
        )

    def test_labels_that_are_listed_are_known(self):
        guess = np.where(np.arange(N) < 4, "d", LETTERS)
        assert not remarks(lambda: jaxci.evaluate(LETTERS, guess, metrics="accuracy", labels=list("abcd"), rng=0))

    @pytest.mark.parametrize(
        ("truth", "guess", "options"),
        [
            (np.zeros(N, int), BINARY, {}),
            (np.zeros(N, bool), BINARY == 1, {}),
            (np.full(N, "no"), np.where(BINARY, "yes", "no"), {"pos_label": "yes"}),
            (LETTERS, np.full(N, "a"), {}),
        ],
    )
    def test_two_classes_of_which_one_does_not_occur_are_no_slip(self, truth, guess, options):
        said = remarks(lambda: jaxci.evaluate(truth, guess, metrics="accuracy", rng=0, **options))
        assert not any("never has" in text for text in said)


class TestNumbers:
    def test_large_weights_are_equal_weights(self):
        table = {}
        for weight in (1.0, 1e307, 5e-324):
            assert remarks(lambda weight=weight: table.update({weight: self.weighted(np.full(N, weight))})) == []
        assert table[1e307] == table[1.0] == table[5e-324]

    def weighted(self, weights):
        return jaxci.evaluate(LETTERS, LETTERS[::-1], metrics="accuracy", sample_weight=weights, rng=0).to_dict()

    def test_frequencies_that_no_sum_holds(self):
        refused(
            ValueError,
            r"^sample_weight must count at most .* rows with weight_type='frequency'; got 1e\+307$",
            lambda: jaxci.interval("mean", RNG.random(N), sample_weight=np.full(N, 1e307), weight_type="frequency"),
        )

    @pytest.mark.parametrize(
        ("texts", "named"), [(["1", "2"] * 30, "'1' in row 0"), ([1.0, "2", "x"] * 20, "'x' in row 2")]
    )
    @pytest.mark.parametrize("kind", [list, lambda x: np.array(x, object)])
    def test_texts_are_no_numbers(self, texts, named, kind):
        given = kind(texts)
        message = f"must hold numbers; got dtype .*, the text {named}$"
        refused(TypeError, f"^sample_weight {message}", lambda: jaxci.evaluate(WORDS, GUESS, sample_weight=given))
        refused(TypeError, f"^y_score {message}", lambda: jaxci.evaluate(WORDS, y_score=given))
        refused(TypeError, f"^values {message}", lambda: jaxci.interval("mean", given))

    @pytest.mark.parametrize("data", [CODES + 1j, [1j, 2.0] * 30])
    def test_complex_numbers_are_no_labels(self, data):
        message = "^y_true must hold labels that are real numbers, texts or booleans; got dtype complex128$"
        refused(TypeError, message, lambda: jaxci.evaluate(data, CODES, metrics="accuracy"))

    @pytest.mark.parametrize(
        ("data", "said"),
        [({"a": CODES}, "a dict"), ((x for x in CODES), "a generator"), ({1, 2}, "a set"), (3, "the scalar 3")],
    )
    def test_what_is_no_array_is_told_by_its_type(self, data, said):
        refused(
            ValueError, f"^y_true must be an array of observations; got {said}$", lambda: jaxci.evaluate(data, CODES)
        )

    def test_a_sparse_matrix_has_a_way_out(self):
        sparse = pytest.importorskip("scipy.sparse").csr_matrix(CODES)
        refused(ValueError, r"got a csr_matrix \(pass its toarray\(\)\)$", lambda: jaxci.evaluate(sparse, CODES))


class TestNamesOfMetrics:
    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ("rmse", "root_mean_squared_error"),
            ("MCC", "matthews_corrcoef"),
            ("PR-AUC", "average_precision"),
            ("fpr", "specificity"),
            ("tpr", "recall"),
            ("r2_score", "r2"),
            ("f1_score", "f1"),
            ("precision_score", "precision"),
            ("roc_auc_score", "roc_auc"),
            ("neg_brier_score", "brier_score_loss"),
            ("matthews_correlation_coefficient", "matthews_corrcoef"),
            ("acuracy_score", "accuracy"),
            ("macro F1", "f1_macro"),
        ],
    )
    def test_abbreviations_lead_to_metrics(self, said, meant):
        refused(
            ValueError, f"unknown metric '{said}': .*did you mean '{meant}'\\?$", lambda: jaxci.interval(said, [1, 2])
        )

    @pytest.mark.parametrize("said", ["f2", "f2_macro", "f0.5", "fbeta_score"])
    def test_other_f_scores_are_objects(self, said):
        refused(
            ValueError,
            f"'{said}': did you mean 'f1', or the object jaxci.statistics.FBeta\\(beta=2\\)\\?$",
            lambda: jaxci.interval(said, [1, 2]),
        )

    @pytest.mark.parametrize(
        ("said", "hint"),
        [
            ("QWK", "did you mean 'cohen_kappa_score' with weights='quadratic'?"),
            ("weighted_kappa", "did you mean 'cohen_kappa_score' with weights='quadratic' or 'linear'?"),
            ("hamming_loss", "of one label a row it is 'error_rate'"),
            ("kendalltau", "there is none; another correlation of ranks is 'spearmanr'"),
            ("mean_pinball_loss", OF_LOSSES),
            ("top_k_accuracy_score", OF_HITS),
        ],
    )
    def test_names_of_like_metrics_lead_to_these(self, said, hint):
        refused(ValueError, re.escape(f"unknown metric '{said}': {hint}"), lambda: jaxci.interval(said, [1, 2]))

    @pytest.mark.parametrize("said", ["ccc", "d2", "psnr", "rouge", "concordance", "max_error"])
    def test_names_that_share_letters_alone_lead_to_none(self, said):
        refused(ValueError, f"unknown metric '{said}': known are: accuracy, ", lambda: jaxci.interval(said, [1, 2]))

    def test_they_stand_for_metrics_that_there_are_and_are_none(self):
        assert {*ABBREVIATIONS.values(), *COMPLEMENTS.values()} <= METRICS.keys()
        assert not {*ABBREVIATIONS, *COMPLEMENTS, *RELATED} & METRICS.keys()
        assert not (ABBREVIATIONS.keys() | COMPLEMENTS.keys()) & RELATED.keys()


def test_missing_words_are_those_of_pandas():
    pytest.importorskip("pandas")
    from pandas._libs.parsers import STR_NA_VALUES

    assert set(MISSING) == STR_NA_VALUES


def test_the_numbers_that_columns_of_a_frame_have_without_names_are_no_labels():
    pd = pytest.importorskip("pandas")
    y = np.array([0, 1, 2] * 20)
    np.testing.assert_array_equal(in_label_order(pd.DataFrame(SCORES), SCORES, [2, 1, 0]), SCORES)
    scores = np.random.default_rng(0).dirichlet(np.ones(3), len(y))
    ends = [jaxci.interval("log_loss", y, x, labels=[2, 1, 0], rng=0) for x in (scores, pd.DataFrame(scores))]
    assert ends[0].estimate == ends[1].estimate


@pytest.mark.parametrize(
    ("names", "label", "options"),
    [
        ((1, 0), 0, {}),
        ((1, 0), 1, {}),
        (("yes", "no"), "no", {"pos_label": "yes"}),
        (("yes", "no"), "no", {"pos_label": "no"}),
        (("yes", "no"), "yes", {"pos_label": "yes"}),
    ],
)
def test_named_scores_of_rows_of_one_class_are_read_by_their_names(names, label, options):
    pd = pytest.importorskip("pandas")
    p = np.random.default_rng(0).uniform(0.7, 1, 50)
    frame = pd.DataFrame({names[0]: 1 - p, names[1]: p})
    with pytest.warns(jaxci.JaxciWarning, match="only one class"):
        found = jaxci.interval("log_loss", np.full(50, label), frame, rng=0, **options)
    assert found.estimate == pytest.approx(-np.mean(np.log(frame[label])), rel=1e-12)


@pytest.mark.slow
def test_labels_and_names_that_differ_in_case_or_blanks_are_told():
    truth = np.resize(["cat", "dog"], 40)
    told = f"^labels 'Cat' and 'cat', ' dog' and 'dog' {ALIKE}"
    with pytest.warns(jaxci.JaxciWarning, match=told):
        jaxci.interval("accuracy", truth, np.resize(["Cat", " dog"], 40))
    assert not any("only in case" in text for text in remarks(lambda: jaxci.interval("accuracy", truth, truth[::-1])))
    with pytest.warns(jaxci.JaxciWarning, match=ALIKE):
        jaxci.interval("accuracy", np.resize(["caf\u00e9", "bar"], 40), np.resize(["cafe\u0301", "bar"], 40))
    spelt = np.resize(["cat", "Cat", "dog"], 60)
    table = jaxci.evaluate(spelt, spelt, metrics="accuracy", rng=0)  # true labels, each of which is predicted
    assert "labels 'Cat' and 'cat' differ only in case" in " ".join(table.warnings)
    site = np.resize(["A", "B ", "B", " b", "C"], 60)
    table = jaxci.evaluate(CODES, CODES, metrics="accuracy", by={"site": site, "sex": CODES}, groups=site, rng=0)
    alike = f"' b' and 'B' and 'B ', which {ALIKE}"
    assert [text for text in table.warnings if "only in case" in text] == [
        f"groups has {alike}", f"by['site'] has {alike}"
    ]  # fmt: skip
    for found in (
        jaxci.interval("accuracy", CODES, CODES, groups=site, rng=0),
        jaxci.compare("accuracy", CODES, CODES, CODES, strata=site, rng=0),
        jaxci.leaderboard("accuracy", CODES, {"a": CODES, "b": BINARY}, groups=site, n_resamples=99, rng=0),
    ):
        assert any(text.endswith(alike) for text in found.warnings)


def test_texts_of_numpy_of_any_length_are_texts():
    fixed = np.array(["yes", "no", "yes", "no", "yes"] * 4)
    texts = fixed.astype(np.dtypes.StringDType())
    assert jaxci.interval("accuracy", texts, np.roll(fixed, 1)).estimate == pytest.approx(0.2)
    missing = np.array(["yes", np.nan], dtype=np.dtypes.StringDType(na_object=np.nan))[[0, 1, 0, 0]]
    with pytest.raises(ValueError, match="y_true must have no missing labels"):
        jaxci.interval("accuracy", missing, ["yes"] * 4)
