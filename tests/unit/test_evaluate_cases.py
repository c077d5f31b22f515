"""Summaries of per-case metrics: what is summarized apart, clusters, values that are missing, what is refused."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import jaxci
from jaxci.statistics import Mean

N = 40
RNG = np.random.default_rng(5)
FRAME = {
    "dice": RNG.beta(8, 2, N),
    "hd": RNG.gamma(2, 3, N),
    "patient": np.arange(N) // 2,
    "model": np.tile(["a", "b"], N // 2),
}
pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def test_rows_are_those_of_interval():
    found = jaxci.evaluate_cases(FRAME, metrics="dice", summaries=["mean", "median", "std"], method="percentile", rng=0)
    assert [row.result.statistic for row in found] == ["mean", "median", "std"]
    for row in found:
        one = jaxci.interval(row.result.statistic, FRAME["dice"], method="percentile", rng=0)
        assert row.result.confidence_interval == pytest.approx(one.confidence_interval, rel=1e-12)
    mean = jaxci.evaluate_cases(FRAME, metrics="dice", summaries=["mean"], rng=0).result("dice")
    bounded = jaxci.interval("mean", FRAME["dice"], bounds=(0, 1), rng=0)
    assert mean.confidence_interval == bounded.confidence_interval  # a Dice lies between 0 and 1
    assert mean.method == bounded.method


@pytest.mark.slow
@pytest.mark.parametrize(("alternative", "side", "ends"), [("less", "low", (0, 0)), ("greater", "high", (1, np.inf))])
def test_open_ends_of_what_lies_among_the_values_are_those_of_their_range(alternative, side, ends):
    summaries = ["mean", "median", "trimmed_mean", "quantile"]
    found = jaxci.evaluate_cases(
        {"dice": FRAME["dice"], "hd": FRAME["hd"], "own": FRAME["hd"]},
        summaries=[*summaries, "std"],
        bounds={"hd": (0, np.inf)},
        alternative=alternative,
        n_resamples=199,
        rng=0,
    )
    for metric, end in zip(("dice", "hd"), ends, strict=True):
        for name in summaries:
            assert getattr(found.result(metric, name).confidence_interval, side) == end
    assert np.isinf(getattr(found.result("own", "median").confidence_interval, side))
    assert getattr(found.result("dice", "std").confidence_interval, side) == (0 if side == "low" else 0.5)
    with pytest.raises(ValueError, match="bounds must hold all values"):
        jaxci.evaluate_cases(FRAME, metrics="dice", summaries="median", bounds=(0, 0.5))


@pytest.mark.slow
def test_measures_of_spread_end_where_the_range_of_the_values_ends_them():
    values = np.array([0.0, 0.1, 0.9, 1.0, 0.05, 0.95, 0.3, 0.8, 0.1, 0.05, 0.0, 0.2])
    frame = {"dice": values, "x": 3 * values, "patient": np.repeat(np.arange(4), 3)}
    found = jaxci.evaluate_cases(frame, bounds={"x": (0, 3)}, metrics=["dice", "x"], groups="patient", rng=0)
    for metric, width in (("dice", 1.0), ("x", 3.0)):
        spread = found.result(metric, "std")
        assert spread.confidence_interval.high == width / 2
        assert f"values from 0 to {width:g} have at most {width / 2:g}, where the interval ends" in spread.warnings
        assert found.result(metric, "iqr").confidence_interval.high <= width
    one_sided = jaxci.evaluate_cases({"dice": values}, alternative="greater", rng=0)
    assert one_sided.result("dice", "std").confidence_interval.high == 0.5
    assert one_sided.result("dice", "iqr").confidence_interval.high == 1
    assert not any("where the interval ends" in text for text in one_sided.warnings)
    with pytest.raises(ValueError, match="bounds must hold all values"):
        jaxci.evaluate_cases({"x": 3 * values}, bounds=(0, 1), metrics=["x"], summaries=["std"], rng=0)


@pytest.mark.slow
def test_the_five_summaries_by_model_of_patients():
    found = jaxci.evaluate_cases(FRAME, groups="patient", metrics=["dice"], method="percentile", n_resamples=200, rng=0)
    assert len(found) == 5
    assert {row.result.n for row in found} == {N // 2}
    assert {row.result.n_rows for row in found} == {N}
    apart = jaxci.evaluate_cases(FRAME, by="model", groups="patient", method="percentile", n_resamples=200, rng=0)
    assert len(apart) == 2 * 2 * 5
    assert {row.result.n_rows for row in apart} == {0}  # a row a patient
    one = apart.result("hd", "median", model="b")
    # A compiled program may fuse a product with a sum, which rounds once less.
    assert one.estimate == pytest.approx(np.median(FRAME["hd"][1::2]), rel=1e-15)
    assert [row.by for row in apart.select(metric="hd", statistic="mean")] == [{"model": "a"}, {"model": "b"}]
    assert apart.select(summary="mean").rows == apart.select(statistic="mean").rows  # the column is printed so
    frame = apart.to_frame()
    assert frame.columns[:3].tolist() == ["model", "metric", "statistic"]
    assert json.loads(json.dumps(apart.to_dict()))["rows"][0]["model"] == "a"
    assert "model  metric" in str(apart)
    with pytest.raises(KeyError, match="name a value of model"):
        apart.result("hd", "median")
    with pytest.raises(KeyError, match="no row with model 'c'; there are"):
        apart.select(model="c")
    with pytest.raises(KeyError, match="no column 'site'"):
        apart.select(site=1)


@pytest.mark.slow
def test_a_table_of_cases():
    """Labels apart; a label that is empty in both masks of a case has no value there, which is said."""
    rng = np.random.default_rng(0)
    maps = rng.integers(0, 3, (6, 8, 8))
    maps[0][maps[0] == 2] = 0
    guess = np.where(rng.random(maps.shape) < 0.1, 0, maps)
    table = jaxci.segmentation.cases(guess, maps, spacing=(1, 1), tolerance=1).with_columns(patient=[0, 0, 1, 1, 2, 2])
    with pytest.warns(jaxci.JaxciWarning, match="dice, .*: 1 of 12 rows have no value and are left out"):
        found = jaxci.evaluate_cases(table, groups="patient", summaries=["median"], method="percentile", n_resamples=50)
    assert found.by == ("label",)
    assert found.result("dice", "median", label=2).n_rows == 5
    assert {row.metric for row in found} == set(jaxci.segmentation.METRICS)
    pd = pytest.importorskip("pandas")
    same = jaxci.evaluate_cases(pd.DataFrame(dict(table.columns)), metrics="dice", by="label", summaries=["mean"])
    assert same.result("dice", label=1).estimate == pytest.approx(table["dice"][::2].mean())


def test_few_values():
    frame = {"x": np.array([1.0, 2.0, 3.0, 4.0]), "site": ["a", "a", "a", "b"]}
    with pytest.warns(jaxci.JaxciWarning, match=r"'x' \(site 'b'\) has 1 values: no interval"):
        found = jaxci.evaluate_cases(frame, by="site", summaries=["mean"], method="t")
    assert [row.by for row in found] == [{"site": "a"}]


def test_columns_of_whole_numbers_are_summarized_where_they_are_named():
    frame = {"x": np.array([1.0, 2.0, 3.0]), "lesions": np.array([4, 0, 2]), "sure": np.ones(3, bool)}
    with pytest.warns(jaxci.JaxciWarning, match="lesions, sure: whole numbers and booleans may be names and are left"):
        found = jaxci.evaluate_cases(frame, summaries=["mean"], method="t")
    assert [row.metric for row in found] == ["x"]
    with warnings.catch_warnings(action="error"):
        named = jaxci.evaluate_cases(frame, metrics="lesions", summaries=["mean"], method="t")
    assert named.result("lesions", "mean").estimate == 2.0


def test_numbers_with_none_for_a_missing_value():
    """A list with None is a column of objects, which was left out without a word beside a column of floats."""
    frame = {"dice": [0.9, None, 1, 0.8], "hd": np.array([1.0, 2.0, 3.0, 4.0]), "note": ["a", None, 0.5, "b"]}
    with pytest.warns(jaxci.JaxciWarning, match="dice: 1 of 4 rows have no value and are left out"):
        found = jaxci.evaluate_cases(frame, summaries=["mean"], method="t")
    assert [row.metric for row in found] == ["dice", "hd"]
    assert found.result("dice", "mean").estimate == pytest.approx(0.9)
    frame = {"lesions": [1, None, 3, 4], "hd": frame["hd"]}
    with pytest.warns(jaxci.JaxciWarning, match="lesions: whole numbers and booleans may be names and are left"):
        jaxci.evaluate_cases(frame, summaries=["mean"], method="t")


def test_numbers_that_are_text_are_told():
    """Such a column was left out without a word beside one of floats; names and whole numbers still are."""
    frame = {"dice": ["0.9", "0.8", "n/a"], "site": ["a", "b", "a"], "id": ["01", "02", "03"], "x": np.arange(3) / 2}
    with pytest.warns(jaxci.JaxciWarning, match="^dice: numbers written as text are left out; make them numbers$"):
        found = jaxci.evaluate_cases(frame, summaries=["mean"], method="t")
    assert found.warnings == ("dice: numbers written as text are left out; make them numbers",)
    with pytest.raises(ValueError, match=r"it has dice, site; numbers in dice are text$"):
        jaxci.evaluate_cases({name: frame[name] for name in ("dice", "site")})


def test_values_of_one_cluster():
    """A lesion of which one patient alone has any leaves the other lesions their intervals."""
    frame = {"x": np.array([1.0, 2.0, 3.0, 4.0, 5.0]), "lesion": [1, 1, 1, 2, 2], "patient": [0, 0, 1, 2, 2]}
    given = {"summaries": ["mean"], "method": "t", "groups": "patient"}
    with pytest.warns(
        jaxci.JaxciWarning, match=r"'x' \(lesion 2\) has the values of 1 cluster of groups, 2: no interval"
    ):
        found = jaxci.evaluate_cases(frame, by="lesion", **given)
    assert [row.by for row in found] == [{"lesion": 1}]
    with pytest.raises(ValueError, match="at least 2 values of a metric in 2 clusters"):
        jaxci.evaluate_cases(frame | {"patient": [0, 0, 0, 2, 2]}, by="lesion", **given)
    with pytest.raises(ValueError, match="groups must name at least 2 clusters; all 3 rows belong to 7"):
        jaxci.evaluate_cases(frame | {"patient": [7] * 5}, by="lesion", **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"by": "modle"}, "by 'modle' must be a column of frame; did you mean 'model'"),
        ({"groups": "patients"}, "groups must be a column of frame; did you mean 'patient'"),
        ({"metrics": ["nsd"]}, "metrics 'nsd' must be a column of frame"),
        ({"metrics": []}, "must have a column of real numbers, or metrics must name one; it has"),
        ({"summaries": []}, "summaries must hold at least one"),
        ({"summaries": ["accuracy"]}, "summaries must be of values .*; got 'accuracy'"),
        ({"summaries": ["mean", "mean"]}, "summaries must be distinct"),
        ({"bounds": {"dcie": (0, 1)}}, "bounds must name metrics; 'dcie' is none"),
        ({"bounds": 5}, "bounds must be two numbers; got 5"),
        ({"bounds": {"dice": 5}}, "bounds must be two numbers; got 5"),
        ({"bounds": (0, 0.5)}, "bounds must hold all values"),
        ({"frame": {"x": [1.0, np.inf]}}, "'x' must be finite or NaN .*; got inf in row 1"),
        ({"frame": {"x": [1.0, np.nan]}}, "frame must have at least 2 values of a metric; got none: x: 1 of 2 rows"),
        ({"groups": np.arange(3)}, "groups"),
    ],
)
def test_bad_input(change, message):
    given = {"frame": FRAME, "n_resamples": 50, "method": "percentile"} | change
    with pytest.raises(ValueError, match=message) as told:
        jaxci.evaluate_cases(given.pop("frame"), **given)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("one", ["mean", Mean()])
def test_a_single_summary(one):
    frame = {"v": np.array([0.1, 0.2, 0.3])}
    found, listed = (jaxci.evaluate_cases(frame, summaries=asked, method="t") for asked in (one, [one]))
    assert [row.result.statistic for row in found] == ["mean"]
    assert found.result("v", "mean").confidence_interval == listed.result("v", "mean").confidence_interval


@pytest.mark.parametrize("name", ["by", "metrics", "summaries"])
def test_names_that_are_none(name):
    with pytest.raises(TypeError, match=f"{name} must be a name or a sequence of names; got 5"):
        jaxci.evaluate_cases({"v": np.array([0.1, 0.2, 0.3])}, **{name: 5})


def test_a_frame_of_something_else():
    with pytest.raises(TypeError, match="frame must be a CaseTable, a dict of columns or a frame; got 3"):
        jaxci.evaluate_cases(3)


@pytest.mark.slow
def test_cases_that_repeat_in_a_frame_are_told():
    """A frame knows less than a table of cases: an organ and its lesion would be two independent rows."""
    frame = {"case": [*range(8), *range(8)], "label": [1] * 8 + [2] * 8, "dice": np.linspace(0.5, 0.9, 16)}
    told = "rows of one case are taken for independent ones; groups='case' says that they are not"
    found = jaxci.evaluate_cases(frame, summaries="mean", rng=0)
    assert f"{told}, or by='label'" in found.warnings
    for given in ({"by": "label"}, {"groups": "case"}):
        kept = jaxci.evaluate_cases(frame, **{"summaries": "mean", "rng": 0} | given)
        assert not any(told in text for text in kept.warnings)
    frame["label"] = [1] * 16
    assert told in " ".join(jaxci.evaluate_cases(frame, by="label", summaries="mean", rng=0).warnings)


def test_few_cases_may_hold_no_mask_that_failed():
    """Of 30 cases with 5% failures a fifth of all data sets shows none, and nothing in the values tells of them."""
    rng = np.random.default_rng(0)
    dice = rng.beta(18, 2, 60)
    told = "'dice': a kind of case that makes up 9.5% of all is missing from 30 of them with a chance of 5%"
    few = jaxci.evaluate_cases({"dice": dice[:30]}, summaries=["mean", "median"], method="percentile", rng=0)
    assert [text.startswith(f"mean of {told}") for text in few.warnings].count(True) == 1
    assert not any("median" in text and "a kind of" in text for text in few.warnings)
    for other in ({"dice": dice}, {"score": dice[:30]}):
        found = jaxci.evaluate_cases(other, summaries="mean", method="percentile", rng=0)
        assert not any("a kind of case" in text for text in found.warnings)


def test_models_and_labels_that_are_summarized_together_are_told():
    mask = np.zeros((8, 8), int)
    mask[2:5, 2:6], mask[6, 2:6] = 1, 2
    made = jaxci.segmentation.cases([mask] * 3, [mask] * 3, spacing=1.0, tolerance=1.0)
    both = jaxci.segmentation.joined([made.with_columns(model=name, patient=np.arange(3)) for name in "ab"])
    given = {"groups": "patient", "summaries": "mean", "metrics": "dice", "method": "percentile", "rng": 0}
    told = "rows of one case, of several labels or models, are summarized together; by= tells them apart"
    for by, pooled in ((None, True), ("model", True), (["model", "label"], False)):
        assert (told in jaxci.evaluate_cases(both, by=by, **given).warnings) == pooled


def test_columns_of_a_frame_that_share_a_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.ones((3, 2)), columns=["dice", "dice"])
    with pytest.raises(ValueError, match="frame must have each column once; it has 'dice' again"):
        jaxci.evaluate_cases(frame)
