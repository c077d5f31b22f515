import itertools
import types

import numpy as np
import pytest

from jaxci.coverage.analysis import averages, convergence_pace, failures, quartiles, required_n
from jaxci.coverage.comparisons import compare
from jaxci.coverage.permutation import label_test, sign_flip_test
from jaxci.coverage.results import ColumnTable, StudyResults


def table(coverage, *, method="t", statistic="mean", level=0.95, width=None, **tags):
    """Columns of a curve a distribution: ``coverage`` maps a distribution to {n: coverage}."""
    rows = [(d, n, c) for d, curve in coverage.items() for n, c in curve.items()]
    size = len(rows)
    n = np.array([row[1] for row in rows])
    return {
        "distribution": np.array([row[0] for row in rows]),
        "statistic": np.full(size, statistic),
        "method": np.full(size, method),
        "level": np.full(size, level),
        "n": n,
        "coverage": np.array([row[2] for row in rows], float),
        "mean_width": 1 / np.sqrt(n) if width is None else np.array(width, float),
        **{name: np.full(size, value) for name, value in tags.items()},
    }


def stacked(*tables):
    return {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}


def test_pace_is_the_least_squares_slope_through_the_origin():
    rng = np.random.default_rng(0)
    sizes = [10, 25, 50, 100, 250]
    columns = table({d: dict(zip(sizes, rng.uniform(0.8, 0.97, 5), strict=True)) for d in "ab"}, metric="dice")
    found = convergence_pace(columns, ("metric",))
    assert found["distribution"].tolist() == ["a", "b"]
    assert found["metric"].tolist() == ["dice", "dice"]
    for j, d in enumerate("ab"):
        y = columns["coverage"][columns["distribution"] == d]
        x = 1 / np.array(sizes, float)
        (beta,), *_ = np.linalg.lstsq(x[:, None], y - 0.95, rcond=None)
        assert found["pace"][j] == pytest.approx(beta, rel=1e-12)
        assert found["relative_error"][j] == pytest.approx(np.linalg.norm(y - 0.95 - beta * x) / np.linalg.norm(y))


def test_pace_of_a_curve_that_follows_the_model_is_exact():
    found = convergence_pace(table({"a": {10: 0.9 - 0.07, 20: 0.9 - 0.035}}, level=0.9))
    assert found["pace"][0] == pytest.approx(-0.7)
    assert found["relative_error"][0] == pytest.approx(0, abs=1e-12)
    assert found["sizes"][0] == 2


def test_sizes_without_intervals_are_left_out_of_a_pace():
    found = convergence_pace(table({"a": {5: np.nan, 10: 0.83, 20: 0.865}, "b": {5: np.nan}}, level=0.9))
    np.testing.assert_allclose(found["pace"], [-0.7, np.nan])
    assert found["sizes"].tolist() == [2, 0]


def test_required_n_interpolates_between_sizes():
    columns = stacked(
        table({"rises": {10: 0.90, 20: 0.92, 40: 0.94}}),
        table({"early": {10: 0.94, 20: 0.95, 40: 0.95}}),
        table({"never": {10: 0.90, 20: 0.91, 40: 0.92}}),
        table({"falls": {40: 0.91, 20: 0.94, 10: 0.90}}),
    )
    found = required_n(columns, coverage=0.93)
    x = (1 / 20 + 1 / 40) / 2
    x_falls = 1 / 10 - (1 / 10 - 1 / 20) * 0.03 / 0.04
    assert found["required_n"] == pytest.approx([1 / x, 10, np.nan, 1 / x_falls], nan_ok=True)
    assert found["reached"].tolist() == [True, True, False, True]
    assert found["at_smallest"].tolist() == [False, True, False, False]
    assert found["kept"].tolist() == [True, True, False, False]


def test_required_n_for_a_width_and_for_both():
    columns = table({"a": {10: 0.90, 40: 0.94, 160: 0.95}})
    assert required_n(columns, width=0.125)["required_n"] == pytest.approx([64.0])
    by_coverage = 1 / (1 / 10 + (1 / 40 - 1 / 10) / 2)
    assert required_n(columns, coverage=0.92)["required_n"] == pytest.approx([by_coverage])
    assert required_n(columns, coverage=0.92, width=0.125)["required_n"] == pytest.approx([64.0])
    assert np.isnan(required_n(columns, coverage=0.92, width=0.01)["required_n"][0])


def test_levels_below_the_coverage_that_is_asked_for_are_left_out():
    one = table({"a": {10: 0.88, 20: 0.93}})
    low = {**one, "level": np.full(2, 0.9)}
    both = {name: np.concatenate([one[name], low[name]]) for name in one}
    results = StudyResults(both, None, 1, 1)
    assert results.required_n(coverage=0.925)["level"].tolist() == [0.95]
    assert sorted(results.required_n(coverage=0.9)["level"].tolist()) == [0.9, 0.95]
    assert len(results.required_n(width=2)["level"]) == 2
    with pytest.raises(ValueError, match=r"coverage must be at most the highest level, of 0\.9; got 0\.925"):
        StudyResults(low, None, 1, 1).required_n(coverage=0.925)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({}, "coverage or width"), ({"coverage": 1.5}, "coverage must lie"), ({"width": 0.0}, "width must be positive")],
)
def test_required_n_refuses_bad_targets(arguments, message):
    with pytest.raises(ValueError, match=message):
        required_n(table({"a": {10: 0.9}}), **arguments)


def test_required_n_refuses_mixed_curves():
    with pytest.raises(ValueError, match="by must identify one row a size"):
        required_n(table({"a": {10: 0.9}, "b": {10: 0.9}}), coverage=0.9, by=("statistic", "method", "level"))


def exact_p(differences):
    sums = [abs(np.dot(s, differences)) for s in itertools.product([1, -1], repeat=len(differences))]
    return np.mean(np.array(sums) >= abs(sum(differences)) - 1e-12)


def test_few_units_give_the_p_value_of_all_sign_flips():
    differences = np.random.default_rng(1).normal(0.4, 1, 9)
    p, total, exact = sign_flip_test(differences)
    assert exact
    assert total == 512
    assert p == exact_p(differences)
    assert sign_flip_test(np.full(4, 0.1))[0] == 2 / 16


@pytest.mark.false_alarm(1.1e-5)  # of the binomial law of the count, computed
def test_drawn_sign_flips_agree_with_all_whatever_the_chunk(monkeypatch):
    differences = np.random.default_rng(2).normal(0.4, 1, 12)
    p, total, exact = sign_flip_test(differences, n_permutations=4000, seed=3)
    expected = exact_p(differences)
    assert not exact
    assert total == 4000
    assert p == pytest.approx(expected, abs=4 * np.sqrt(expected / 4000))
    monkeypatch.setattr("jaxci.coverage.permutation.BLOCK", 97 * 16)
    assert sign_flip_test(differences, n_permutations=4000, seed=3)[0] == p


def test_a_table_of_comparisons_says_what_its_permutations_can_show():
    laws = [f"d{i}" for i in range(40)]
    rows = {
        "distribution": np.array(laws * 2),
        "method": np.repeat(["a", "b"], 40),
        "coverage": np.repeat([0.9, 0.8], 40) + np.tile(np.linspace(0, 0.01, 40), 2),
    }
    rows |= {"statistic": np.full(80, "mean"), "level": np.full(80, 0.95), "n": np.full(80, 10)}
    study = types.SimpleNamespace(tags={})
    drawn = StudyResults(rows, study, 1, 1).compare(by="method", n_permutations=999)
    assert drawn["pvalue"].tolist() == [0.001]
    assert str(drawn).count("< 0.0010") == 2
    few = {name: column[np.r_[:8, 40:48]] for name, column in rows.items()}
    assert "<" not in str(StudyResults(few, study, 1, 1).compare(by="method", n_permutations=999))
    assert drawn.to_frame()["pvalue"].tolist() == [0.001]


@pytest.mark.false_alarm(7e-5)
def test_label_permutations_agree_with_all_whatever_the_chunk(monkeypatch):
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.8, 1, 5), rng.normal(0, 1, 6)
    both = np.concatenate([first, second])
    found = []
    for chosen in itertools.combinations(range(11), 5):
        mask = np.isin(np.arange(11), chosen)
        found.append(abs(both[mask].mean() - both[~mask].mean()))
    expected = np.mean(np.array(found) >= abs(first.mean() - second.mean()) - 1e-12)
    p = label_test(first, second, n_permutations=8000)
    assert p == pytest.approx(expected, abs=4 * np.sqrt(expected / 8000))
    assert label_test(first, second, n_permutations=8000, seed=1) != p
    monkeypatch.setattr("jaxci.coverage.permutation.BLOCK", 301 * 16)
    assert label_test(first, second, n_permutations=8000) == p


@pytest.mark.slow
@pytest.mark.false_alarm(1e-5)
def test_p_values_are_uniform_without_a_difference():
    rng = np.random.default_rng(5)
    paired = np.array([sign_flip_test(rng.normal(size=14), n_permutations=500, seed=i)[0] for i in range(480)])
    labels = np.array([label_test(rng.normal(size=7), rng.normal(size=9), n_permutations=500) for _ in range(480)])
    for p in (paired, labels):
        assert np.mean(p <= 0.1) == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / 480))
        assert p.mean() == pytest.approx(0.5, abs=5 / np.sqrt(12 * 480))


def two_methods():
    rng = np.random.default_rng(6)
    base = {f"d{i}": {10: c, 20: c + 0.01} for i, c in enumerate(rng.uniform(0.85, 0.9, 8))}
    better = {d: {n: c + 0.03 for n, c in curve.items()} for d, curve in base.items()}
    return stacked(table(better, method="t"), table(base, method="basic"))


def test_compare_counts_distributions_as_units_and_corrects_for_pairs():
    columns = stacked(two_methods(), table({"d0": {10: 0.9}, "d9": {10: 0.8}}, method="bca"))
    found = compare(columns, by="method")
    pairs = list(zip(found["first"].tolist(), found["second"].tolist(), strict=True))
    assert pairs == [("t", "basic"), ("t", "bca"), ("basic", "bca")]
    assert found["first_units"].tolist() == [8, 1, 1]
    assert found["difference"][0] == pytest.approx(0.03)
    assert found["pvalue"][0] == 2 / 256
    assert found["pvalue_bonferroni"][0] == 3 * 2 / 256
    assert found["permutations"][0] == 256
    assert found["test"][0] == "all sign flips"


def test_compare_within_a_size_and_by_pace():
    found = compare(two_methods(), by="method", within=("n",))
    assert found["n"].tolist() == [10, 20]
    assert found["pvalue_bonferroni"] == pytest.approx(np.full(2, 4 / 256))
    pace = compare(two_methods(), by="method", value="pace")
    x = 1 / np.array([10, 20])
    assert pace["difference"][0] == pytest.approx(0.03 * x.sum() / (x @ x))


def test_compare_by_a_tag_pairs_over_the_other_tags():
    rng = np.random.default_rng(7)
    tables = [
        table({f"{metric} of {model}": {10: rng.uniform(0.8, 0.9) + shift}}, metric=metric, model=model)
        for metric, shift in (("dice", 0.05), ("hd", 0.0))
        for model in "abcdef"
    ]
    columns = stacked(*tables)
    dice, hd = (columns["coverage"][columns["metric"] == m] for m in ("dice", "hd"))
    found = compare(columns, ("metric", "model"), by="metric")
    assert found["pvalue"][0] == exact_p(dice - hd)
    unpaired = compare(columns, ("metric", "model"), by="metric", paired=False, n_permutations=999)
    assert unpaired["first_units"][0] == unpaired["second_units"][0] == 6
    assert unpaired["difference"][0] == pytest.approx(dice.mean() - hd.mean())
    with pytest.raises(ValueError, match="paired=True needs one distribution a unit"):
        compare(columns, ("metric",), by="metric")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "mehtod"}, "by must be one of"),
        ({"by": "statistic"}, "two or more levels; 'statistic' has"),
        ({"by": "method", "n_permutations": 0}, "n_permutations must be at least 1; got 0"),
        ({"by": "method", "value": "cover"}, "value must name columns"),
        ({"by": "method", "within": ("method",)}, "within must be one of"),
    ],
)
def test_compare_refuses_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare(two_methods(), **arguments)


def test_compare_refuses_levels_without_common_units():
    columns = stacked(table({"a": {10: 0.9}}, method="t"), table({"b": {10: 0.9}}, method="bca"))
    with pytest.raises(ValueError, match="no two levels of 'method' do"):
        compare(columns, by="method")


def test_quartiles_over_instances():
    columns = table({d: {10: c} for d, c in zip("abcde", [0.8, 0.9, 0.91, 0.92, 0.95], strict=True)})
    columns["mean_width"] = np.array([1, 2, 3, 4, np.nan])
    found = quartiles(columns)
    assert found["instances"].tolist() == [5]
    assert [found[f"coverage_{q}"][0] for q in ("q1", "median", "q3")] == [0.9, 0.91, 0.92]
    assert [found[f"mean_width_{q}"][0] for q in ("q1", "median", "q3")] == [1.75, 2.5, 3.25]
    with pytest.raises(ValueError, match="by must name columns of the table"):
        quartiles(columns, by=("task",))


def test_one_column_is_named_by_its_word():
    columns = stacked(*(table({"a": {10: 0.9}, "b": {10: c}}, method=m) for m, c in (("t", 0.8), ("bca", 0.7))))
    columns |= {"coverage_error": np.zeros(4), "covered_by_group": np.full(4, "")}
    for summary in (averages, quartiles, failures):
        one, several = summary(columns, by="method"), summary(columns, by=("method",))
        assert {k: v.tolist() for k, v in one.items()} == {k: v.tolist() for k, v in several.items()}
    assert averages(columns, by="method")["method"].tolist() == ["t", "bca"]
    found = compare(columns, by="distribution", within="method", n_permutations=9)
    assert found["method"].tolist() == ["t", "bca"]
    with pytest.raises(ValueError, match=r"by must name columns of the table .*; got 'methods'"):
        averages(columns, by="methods")


def test_a_table_of_no_rows_is_a_frame_with_its_columns():
    columns = table({d: {10: 0.9} for d in "abc"})
    empty = ColumnTable(failures(columns)).to_frame()
    assert (len(empty), list(empty)) == (0, [*columns, "fence"])
    full = ColumnTable(columns)
    assert full.to_frame().to_dict("records") == full.records()


def test_failures_lie_below_the_lower_fence_of_their_group():
    values = [0.90, 0.91, 0.92, 0.93, 0.94, 0.85, 0.60]
    columns = stacked(
        table({f"d{i}": {10: c} for i, c in enumerate(values)}),
        table({f"d{i}": {10: 0.6} for i in range(7)}, method="bca"),
    )
    found = failures(columns)
    q1, q3 = np.quantile(values, [0.25, 0.75])
    assert found["distribution"].tolist() == ["d6"]
    assert found["fence"][0] == pytest.approx(q1 - 1.5 * (q3 - q1))


def test_averages_err_as_groups_that_share_banks_do():
    """Two instances that err together have the error of one; two that err against each other have none."""
    columns = table({"a": {10: 0.9}, "b": {10: 0.8}, "c": {10: 0.8}, "d": {20: 0.7}, "e": {30: np.nan}})
    columns["covered_by_group"] = np.array(["10/10 8/10", "9/10 7/10", "7/10 9/10", "", ""])
    columns["coverage_error"] = np.array([0.1, 0.1, 0.1, 0.0, np.nan])
    together, against = (averages({k: v[rows] for k, v in columns.items()}) for rows in ([0, 1], [0, 2]))
    assert together["coverage"] == pytest.approx([0.85])
    assert together["coverage_error"] == pytest.approx([0.1])
    assert against["coverage_error"] == pytest.approx([0.0])
    found = averages(columns)
    assert found["instances"].tolist() == [3, 1, 0]
    np.testing.assert_allclose(found["coverage"], [2.5 / 3, 0.7, np.nan])
    means = np.array([10 + 9 + 7, 8 + 7 + 9]) / 30
    np.testing.assert_allclose(found["coverage_error"], [np.std(means, ddof=1) / np.sqrt(2), 0.0, np.nan])


def test_what_is_computed_adds_no_error_to_an_average():
    columns = table({"a": {10: 0.9}, "b": {10: 0.95}})
    columns |= {"covered_by_group": np.array(["10/10 8/10", ""]), "coverage_error": np.array([0.1, 0.0])}
    assert averages(columns)["coverage_error"] == pytest.approx([0.05])


def test_one_group_gives_the_bound_of_errors_that_go_together():
    columns = table({"a": {10: 0.9}, "b": {10: 0.8}})
    columns |= {"covered_by_group": np.array(["9/10", "8/10"]), "coverage_error": np.array([0.1, 0.2])}
    assert averages(columns)["coverage_error"] == pytest.approx([0.15])


def test_averages_of_other_groups_are_refused():
    columns = table({"a": {10: 0.9}, "b": {10: 0.8}})
    columns |= {"covered_by_group": np.array(["9/10 9/10", "8/10 4/5"]), "coverage_error": np.array([0.1, 0.2])}
    with pytest.raises(ValueError, match="covered_by_group must have the same groups"):
        averages(columns)


def two_metrics():
    curves = {d: {10: 0.85 + j / 100, 50: 0.9 + j / 100} for j, d in enumerate("abcdef")}
    far = {d: {n: c - 0.2 for n, c in curve.items()} for d, curve in curves.items()}
    named = [{f"{metric}, {d}": curve for d, curve in some.items()} for metric, some in (("dice", curves), ("hd", far))]
    return stacked(*(table(some, metric=metric) for some, metric in zip(named, ("dice", "hd"), strict=True)))


def test_summaries_do_not_pool_metrics():
    columns = two_metrics()
    found = quartiles(columns)
    assert found["instances"].tolist() == [6] * 4
    assert sorted(zip(found["metric"].tolist(), found["n"].tolist(), strict=True)) == [
        ("dice", 10),
        ("dice", 50),
        ("hd", 10),
        ("hd", 50),
    ]
    assert quartiles(columns, by=("statistic", "method", "level", "n"))["instances"].tolist() == [12, 12]
    columns["coverage"][0] = 0.75  # low among Dice, not among HD
    assert failures(columns)["distribution"].tolist() == ["dice, a"]
    assert failures(columns, by=("statistic", "method", "level", "n"))["distribution"].tolist() == []


@pytest.mark.parametrize(
    ("family", "counted"), [("all", [6] * 6), ("stratum", [3] * 6), ("level", [2] * 6), (8, [8] * 6)]
)
def test_the_correction_counts_the_comparisons_that_are_asked_for(family, counted):
    tables = []
    for j, metric in enumerate(("dice", "iou", "hd")):
        curves = {f"{metric}, {d}": {10: 0.9 - 0.01 * j - 0.001 * i} for i, d in enumerate("abcdefgh")}
        tables += [table(curves, metric=metric, method=method) for method in ("t", "z")]
        for one in tables[-2:]:
            one["model"] = np.array([name[-1] for name in one["distribution"]])
    found = compare(stacked(*tables), ("metric", "model"), by="metric", within=("method",), family=family)
    assert found["comparisons"].tolist() == counted
    assert set(found["family"].tolist()) == {family if isinstance(family, str) else "given"}
    np.testing.assert_allclose(found["pvalue"], 2 / 2**8)
    np.testing.assert_allclose(found["pvalue_bonferroni"], 2 / 2**8 * np.array(counted))


def test_only_the_pairs_that_are_asked_for_are_compared():
    columns = two_metrics()
    found = compare(columns, ("metric",), by="metric", paired=False, pairs=[("hd", "dice")], n_permutations=99)
    assert (found["first"].tolist(), found["second"].tolist()) == (["hd"], ["dice"])
    assert found["difference"][0] == pytest.approx(-0.2)
    with pytest.raises(ValueError, match=r"pairs must be of levels of 'metric', \['dice', 'hd'\]; got 'iou'"):
        compare(columns, ("metric",), by="metric", pairs=[("hd", "iou")])
    with pytest.raises(ValueError, match="family must be one of all, stratum, level; got 'each'"):
        compare(columns, ("metric",), by="metric", family="each")


def test_pace_and_required_n_of_cases_by_hand():
    # 1/n = .1 and .02, coverage less level -.06 and -.01: (.006 + .0002) / (.01 + .0004) below the level
    columns = table({"a": {10: 0.89, 50: 0.94}}, width=[0.4, 0.2])
    found = convergence_pace(columns)
    assert found["pace"][0] == pytest.approx(-0.0062 / 0.0104)
    beta = -0.0062 / 0.0104
    residual = (-0.06 - 0.1 * beta) ** 2 + (-0.01 - 0.02 * beta) ** 2
    assert found["relative_error"][0] == pytest.approx((residual / (0.89**2 + 0.94**2)) ** 0.5)
    # .925 is .7 of the way from .89 to .94, at 1/n = .1 - .7 * .08 = .044
    assert required_n(columns, coverage=0.925)["required_n"][0] == pytest.approx(1 / 0.044)
    # .3 is half the way from .4 to .2, at 1/sqrt(n) between those of 10 and 50
    middle = (10**-0.5 + 50**-0.5) / 2
    assert required_n(columns, width=0.3)["required_n"][0] == pytest.approx(middle**-2)
    assert np.isnan(required_n(columns, width=0.1)["required_n"][0])
