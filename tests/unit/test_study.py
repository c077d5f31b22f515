import errno
import json
import math
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxci
from jaxci import statistics as S
from jaxci.coverage import GeneralizationStudy, Study, banks, bundled_names, load_study, run_cell, runner
from jaxci.coverage.results import ColumnTable
from jaxci.coverage.store import difference, file_name
from jaxci.coverage.tally import NO_INTERVAL, judged_row
from jaxci.distributions import (
    AdaptiveKDE,
    Cells,
    Clustered,
    EmpiricalColumns,
    EmpiricalRows,
    GaussianClasses,
    LogitKDE,
    Mixture,
    Parametric,
)
from jaxci.inference import held
from jaxci.intervals.bootstrap import BCa, Percentile
from jaxci.intervals.parametric import T
from jaxci.statistics import Quantile
from jaxci.whole_files import write_whole

LAWS = {"beta(8,2)": Parametric("beta", {"a": 8, "b": 2}), "table": Cells(np.array([[0.4, 0.1], [0.1, 0.4]]))}


def small(**changes):
    arguments = {
        "distributions": LAWS,
        "statistics": ["mean", "accuracy"],
        "methods": ["t", "wilson", "percentile"],
        "sample_sizes": [10, 20],
        "levels": [0.9, 0.95],
        "n_replications": 40,
        "n_resamples": 49,
        "n_groups": 4,
        "seed": 5,
    }
    return Study(**(arguments | changes))


def test_a_study_survives_its_file(tmp_path):
    rng = np.random.default_rng(0)
    laws = LAWS | {
        "mixed": Mixture((LAWS["beta(8,2)"], Parametric("norm", {})), (0.5, 0.5)),
        "dice": AdaptiveKDE.fit(rng.random(8), (0, 1)),
        "free": AdaptiveKDE.fit(rng.normal(size=8)),
        "logits": LogitKDE.fit(rng.normal(size=(9, 3)), np.arange(9) % 3),
    }
    tags = {"dice": {"metric": "dice", "task": "liver"}}
    study = small(distributions=laws, statistics=["mean", S.Quantile(q=0.9), "f1_macro"], tags=tags)
    study.save(tmp_path / "study.toml")
    again = load_study(tmp_path / "study.toml")
    assert again.to_dict() == study.to_dict()
    assert again.cell_names() == study.cell_names()
    for name in laws:
        first, second = (s.distributions[name] for s in (study, again))
        assert first.label == second.label


@pytest.mark.slow
def test_methods_keep_their_settings_in_a_study_its_file_and_its_rows(tmp_path):
    tables = ["t", {"name": "bca", "acceleration": "jackknife"}, BCa(), "percentile"]
    study = small(methods=tables, statistics=["mean", "accuracy"])
    assert study.methods == (T(), BCa(acceleration="jackknife"), BCa(), Percentile())
    study.save(tmp_path / "study.toml")
    assert study.to_dict()["methods"] == ["t", {"name": "bca", "acceleration": "jackknife"}, "bca", "percentile"]
    assert load_study(tmp_path / "study.toml").methods == study.methods
    results = study.run(tmp_path / "out")
    names = set(results.columns["method"].tolist())
    assert names == {"t", "bca(acceleration=jackknife)", "bca", "percentile"}
    both = [results.columns["mean_width"][results.columns["method"] == name] for name in sorted(names)[:2]]
    np.testing.assert_allclose(both[0], both[1], rtol=1e-5)  # of a mean both accelerations are the same
    with pytest.raises(ValueError, match=r"methods is .* there"):
        small(methods=["t", "bca", "percentile"]).run(tmp_path / "out")


def test_a_setting_reaches_the_cell():
    cell = small(methods=[BCa(degenerate="nan"), BCa()], statistics=["mean"]).cell("beta(8,2), n=10")
    assert cell.served("mean") == {"bca(degenerate=nan)": BCa(degenerate="nan"), "bca": BCa()}
    judged = run_cell(cell, jax.random.key(0)).judgements
    assert [(j.label, j.method) for j in judged[::2]] == list(cell.served("mean").items())
    assert judged[0].method != judged[2].method


@pytest.mark.slow
def test_run_writes_cells_once_and_resumes(tmp_path, monkeypatch):
    study = small()
    whole = study.run(tmp_path / "whole")
    assert whole.n_done == whole.n_cells == 4
    calls = []
    halfway = {"beta(8,2), n=10", "beta(8,2), n=20"}
    original = Study.judged

    def dying(self, name, work, progress):
        calls.append(name)
        if name not in halfway:
            raise KeyboardInterrupt
        return original(self, name, work, progress)

    monkeypatch.setattr(Study, "judged", dying)
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "broken")
    assert calls == ["beta(8,2), n=10", "table, n=10"]
    monkeypatch.setattr(Study, "judged", original)
    resumed = study.run(tmp_path / "broken")
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(column, resumed.columns[name])
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "broken" / "cells").iterdir()}
    study.run(tmp_path / "broken")
    assert stamps == {p: p.stat().st_mtime_ns for p in (tmp_path / "broken" / "cells").iterdir()}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"n_resamples": 50}, "n_resamples is 49 there and 50 here"),
        ({"levels": [0.9]}, "levels"),
        ({"seed": 6}, "seed is 5 there and 6 here"),
        (
            {"distributions": {**LAWS, "beta(8,2)": Parametric("beta", {"a": 7, "b": 2})}},
            r"distributions.beta\(8,2\).a",
        ),
        ({"statistics": ["mean", "f1"]}, "statistics"),
    ],
)
def test_a_folder_of_another_study_is_refused(tmp_path, changes, field):
    small(sample_sizes=[10]).run(tmp_path)
    with pytest.raises(ValueError, match=field):
        small(sample_sizes=[10], **changes).run(tmp_path)


def test_results_are_one_table(tmp_path):
    study = small(tags={"beta(8,2)": {"family": "bounded"}})
    with pytest.raises(ValueError, match="no finished cell"):
        study.results(tmp_path)
    results = study.run(tmp_path)
    frame = results.to_frame()
    assert len(frame) == 2 * 2 * (2 + 2)  # sizes x levels x (t, percentile for the mean; wilson, percentile)
    assert set(frame["family"]) == {"bounded", ""}
    results.save(tmp_path / "all.csv")
    results.save(tmp_path / "all.parquet")
    for name in ("all.xlsx", "all.tsv", "all.gz", "all.parquet.gz"):
        with pytest.raises(ValueError, match=r"path must end in .parquet, .pq, .csv or .csv.gz, .*; got '.*all"):
            results.save(tmp_path / name)
    for name in ("all.csv.gz", "all"):
        results.save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.glob("all*")) == ["all", "all.csv", "all.csv.gz", "all.parquet"]
    assert (tmp_path / "all").read_text() == (tmp_path / "all.csv").read_text()
    assert "4 of 4 cells" in str(results)
    sums = frame["coverage"] + frame["below"] + frame["above"] + frame["invalid"]
    np.testing.assert_allclose(sums, 1)


def test_a_cell_depends_on_its_name_alone(tmp_path):
    both = small().run(tmp_path / "both").to_frame()
    one = small(distributions={"beta(8,2)": LAWS["beta(8,2)"]}, statistics=["mean"]).run(tmp_path / "one").to_frame()
    same = both[both["distribution"] == "beta(8,2)"].reset_index(drop=True)
    np.testing.assert_array_equal(same["coverage"], one["coverage"])
    np.testing.assert_array_equal(same["mean_width"], one["mean_width"])


@pytest.mark.slow
def test_cells_of_one_n_read_the_same_banks_whatever_is_run_before(tmp_path, monkeypatch):
    """Banks belong to the study: a cell that is run again alone, or with none of them kept, has the same row."""
    twins = {"one": LAWS["beta(8,2)"], "two": LAWS["beta(8,2)"]}
    study = small(distributions=twins, statistics=["median"], methods=["percentile"])
    drawn = []
    monkeypatch.setattr(banks, "_closed", lambda *a, closed=banks._closed, **k: drawn.append(k["n"]) or closed(*a, **k))
    all_cells = study.run(tmp_path / "all")
    assert drawn == [10] * 4 + [20] * 4  # by n, four groups each, for both distributions
    next((tmp_path / "all" / "cells").glob("two_n=10-*")).unlink()
    again = study.run(tmp_path / "all")
    monkeypatch.setattr("jaxci.coverage.study.KEPT", 0)
    unkept = study.run(tmp_path / "unkept")
    apart = small(distributions=twins, statistics=["median"], methods=["percentile"], share_banks=False).run(
        tmp_path / "apart"
    )
    for found in (again, unkept):
        for name in all_cells.columns:
            np.testing.assert_array_equal(all_cells.columns[name], found.columns[name])
    np.testing.assert_array_equal(all_cells.columns["bias"], apart.columns["bias"])  # the same data
    assert (all_cells.columns["covered_by_group"] != apart.columns["covered_by_group"]).any()


def test_rows_hold_what_every_group_counted(tmp_path):
    columns = small(sample_sizes=[10]).run(tmp_path).columns
    wanted = ("covered_by_group", "coverage", "coverage_error", "statistic")
    for text, coverage, error, statistic in zip(*(columns[name].tolist() for name in wanted), strict=True):
        assert (text == "") == (statistic == "accuracy")  # enumerated
        if text:
            counts = np.array([part.split("/") for part in text.split()], int)
            assert counts.shape == (4, 2)
            assert counts[:, 1].tolist() == [10] * 4
            assert counts[:, 0].sum() / 40 == pytest.approx(coverage, rel=1e-12)
            assert np.std(counts[:, 0] / 10, ddof=1) / 2 == pytest.approx(error, rel=1e-12, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "error"), [(10, ValueError), (2**20 - 1, ValueError), ("2GB", TypeError)])
def test_a_memory_limit_that_no_run_can_keep_is_refused(tmp_path, limit, error):
    with pytest.raises(error, match=rf"memory_limit must be .*; got '?{limit}"):
        small().run(tmp_path / "r", memory_limit=limit)


@pytest.mark.slow
def test_memory_limit_does_not_change_a_result(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "LEAST_MEMORY", 1)
    free = small(n_groups=2).run(tmp_path / "free").columns
    tight = small(n_groups=2).run(tmp_path / "tight", memory_limit=10_000).columns
    for name in free:
        np.testing.assert_array_equal(free[name], tight[name])


def test_a_row_of_varying_truths_counts_each_about_its_own():
    truths = np.array([0.0, 1.0, 2.0, 3.0])
    low, high = np.array([-1.0, 0.0, 3.0, np.nan]), np.array([1.0, 0.5, 4.0, 4.0])
    row = judged_row(
        "risk", "m", 0.9, 7, [2, 2], estimates=2 * truths, low=low, high=high, truths=truths, truth_error=0.0
    )
    assert [row[name] for name in ("coverage", "below", "above", "invalid")] == [0.25] * 4
    assert row["coverage_error"] == pytest.approx(np.std([0.5, 0.0], ddof=1) / np.sqrt(2))
    assert (row["truth"], row["bias"], row["n"], row["level"], row["method"]) == (1.5, 1.5, 7, 0.9, "m")
    assert row["relative_width"] == pytest.approx((2 + 0.5 + 1) / 3 / np.ptp(np.quantile([0, 1, 2, 3], [0.1, 0.9])))


def test_a_table_shows_what_does_not_exist_as_an_empty_cell():
    table = ColumnTable({"method": np.array(["t"]), "coverage": np.array([np.nan]), "n": np.array([3])})
    assert str(table).splitlines()[-1].split() == ["t", "3"]
    assert "<td></td>" in table._repr_html_()


def test_a_study_that_cannot_limit_its_memory_says_so(tmp_path):
    study = load_study("classifier-ci", n_repeats=2)
    with pytest.raises(ValueError, match="memory_limit must be None for a ClassifierStudy"):
        study.run(tmp_path, memory_limit=10**9)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_study_has_the_same_columns(tmp_path):
    pytest.importorskip("sklearn")
    tree = load_study("classifier-ci", n_train=30, n_test=20, n_resamples=5, n_repeats=3)
    learner = GeneralizationStudy(["friedman1"], ["constant"], ["squared"], ["cv_wald"], [20], 4, 2, 100)
    schema = list(small(sample_sizes=[10]).run(tmp_path / "s").columns)
    assert list(tree.run(tmp_path / "t").columns) == schema
    assert list(learner.run(tmp_path / "l").columns)[: len(schema)] == schema


def test_progress_is_reported(tmp_path):
    seen = []
    small(sample_sizes=[10]).run(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2000, 2000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


class Coin:
    """A user's own law of values."""

    bounds = (0.0, 1.0)

    def sample(self, key, n):
        import jax

        return jax.random.bernoulli(key, 0.5, (n,)).astype(float)


@pytest.mark.slow
def test_a_users_own_distribution_runs_but_has_no_file(tmp_path):
    study = small(distributions={"coin": Coin()}, statistics=["mean"], sample_sizes=[10])
    assert study.run(tmp_path / "r").n_done == 1
    with pytest.raises(ValueError, match="user's own"):
        study.save(tmp_path / "coin.toml")


@pytest.mark.slow
def test_a_users_own_function_runs_but_has_no_file(tmp_path):
    spread = S.WeightedFunction(lambda values, weights: (weights * values**2).sum() / weights.sum())
    study = small(distributions={"beta": LAWS["beta(8,2)"]}, statistics=[("spread", spread)], methods=["t", "bca"])
    assert study.to_dict()["statistics"] == [{"name": "spread", "class": "WeightedFunction", "label": "<lambda>"}]
    with pytest.raises(ValueError, match="user's own"):
        study.save(tmp_path / "spread.toml")


def weighted_mean(x, w):
    return (w * x).sum() / w.sum()


@pytest.mark.parametrize("first", ["beta(8,2)", "table"])
def test_a_function_is_not_judged_under_laws_whose_columns_it_does_not_take(first):
    laws = {first: LAWS[first], **LAWS, "pairs": EmpiricalColumns(([1.0, 2, 3], [3, 2, 4.0]))}
    study = small(distributions=laws, statistics=[("own", S.WeightedFunction(weighted_mean))], methods=["percentile"])
    told = study.left_out()
    assert [line.partition(" (")[0] for line in told if "own" in line] == [
        f"own is not judged under {name}" for name in laws if name != "beta(8,2)"
    ]
    assert "weighted_mean cannot be called on y_true, y_pred, weights" in " ".join(told)
    assert study.served("table") == {}
    assert list(study.served("beta(8,2)")) == ["own"]


def test_a_function_that_no_distribution_serves_is_refused():
    with pytest.raises(ValueError, match=r"no distribution serves own: weighted_mean cannot be called on y_true"):
        small(distributions={"table": LAWS["table"]}, statistics=[("own", S.WeightedFunction(weighted_mean))])


@pytest.mark.parametrize(("raised", "kind"), [(TypeError, TypeError), (KeyError, ValueError)])
def test_a_function_that_fails_under_a_later_law_is_named_with_it(raised, kind):
    def own(x, y, w):
        if y.ndim > 1:
            raise raised("no matrices")
        return (w * (x == y)).sum() / w.sum()

    laws = {"table": LAWS["table"], "scores": GaussianClasses([1, 1, 1], auc=0.8)}
    with pytest.raises(kind, match=r"under 'scores': 'own' fails: .*no matrices"):
        small(distributions=laws, statistics=[("own", S.WeightedFunction(own))], methods=["percentile"])


@pytest.mark.slow
def test_trouble_is_flagged_and_never_a_number(tmp_path):
    laws = {
        "cauchy": Parametric("cauchy", {}),
        "pareto": Parametric("pareto", {"b": 1.5}),
        "constant": AdaptiveKDE.fit(np.full(5, 0.3)),
        "rare": EmpiricalRows(np.arange(40) == 0, y_score=np.linspace(0, 1, 40) ** 2),
    }
    study = small(
        distributions=laws,
        statistics=["mean", "roc_auc"],
        sample_sizes=[2],
        n_resamples=19,
        methods=["t", "percentile", "delong_logit"],
    )
    frame = study.run(tmp_path).to_frame()
    flags = {name: " ".join(part["flags"]) for name, part in frame.groupby("distribution")}
    assert "does not exist" in flags["cauchy"]
    assert frame[frame["distribution"] == "cauchy"]["coverage"].isna().all()
    assert "infinite" in flags["pareto"]
    assert "the same in all samples" in flags["constant"]
    assert "undefined in" in flags["rare"]
    rare = frame[frame["distribution"] == "rare"]
    assert (rare["invalid"] > 0.5).any()
    none = frame[frame["invalid"] == 1]
    assert set(none["status"]) == {NO_INTERVAL}
    assert none[["coverage", "coverage_error", "below", "above", "mean_width"]].isna().all(axis=None)
    assert set(frame.loc[frame["invalid"] != 1, "status"]) == {""}
    np.testing.assert_allclose(rare[["coverage", "below", "above", "invalid"]].sum(axis=1), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distributions": {}}, "distributions must name at least one"),
        ({"statistics": []}, "statistics must not be empty"),
        ({"statistics": "mean"}, "statistics must be a list of metrics; got the text 'mean'"),
        ({"statistics": ["mean", "mean"]}, "'mean' is given 2 times"),
        ({"statistics": ["roc_auc"]}, "no distribution serves roc_auc"),
        ({"methods": ["percentil"]}, "did you mean 'percentile'"),
        ({"methods": ["bca", BCa()]}, "methods must be distinct; 'bca' is given 2 times"),
        ({"methods": [{"name": "bca", "accelerate": 1}]}, "has no key 'accelerate': did you mean 'acceleration'"),
        ({"methods": [{"name": "bca", "acceleration": "jack"}]}, "acceleration must be one of influence, jackknife"),
        ({"methods": [{"method": "bca"}]}, "must be a table with a key 'name'"),
        ({"methods": ["wilson"]}, "methods: none of wilson serves mean"),
        ({"statistics": [("q", Quantile(3))]}, r"q must lie in \[0, 1\]; got 3"),
        ({"sample_sizes": [1]}, "sample_sizes must be at least 2; got 1"),
        ({"levels": [95]}, r"^levels must lie in \(0, 1\); got 95: for 95% pass 0.95"),
        ({"n_replications": 1}, "n_replications must be at least 2"),
        ({"tags": {"beta": {"a": "b"}}}, "tags must belong to distributions"),
        ({"tags": ["n"]}, "tags must be a table of values by name; got"),
        ({"tags": {"n": 5}}, "tags of 'n' must be a table of values by name; got 5"),
        ({"tags": {"n": {"mean_width": "wide"}}}, "names that no column of the results has; got 'mean_width'"),
        ({"distributions": {"n": 3}}, r"distributions: 'n': a distribution must have .* as beta\(8, 2\); got 3"),
        ({"bounds": (0, 1)}, r"bounds must be a table of values by name; got \(0, 1\)"),
        (
            {"distributions": {"few": Parametric("norm"), "many": Clustered(Parametric("norm"), 20)}},
            "sample_sizes must suit every distribution; 'many': n must be at least the number of clusters, 20; got 10",
        ),
    ],
)
def test_bad_designs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


@pytest.mark.parametrize("field", ["statistics", "methods", "sample_sizes", "levels"])
def test_a_field_that_is_no_list_is_named(field):
    with pytest.raises(TypeError, match=f"{field} must be a list; got None"):
        small(**{field: None})


def test_further_sizes_suit_every_distribution_before_a_run():
    """A run stopped at the first of them, after all cells before it."""
    asked = ["mean"], ["percentile"], [50]
    with pytest.raises(ValueError, match="'c': n must be at least the number of clusters, 20; got 10"):
        Study({"c": Clustered(Parametric("norm"), 20)}, *asked, more_sizes=[{"sample_sizes": [10]}])


def test_a_distribution_of_a_file_that_breaks_a_rule_is_named():
    design = small().to_dict()
    laws = design["distributions"] | {"my scores": {"kind": "parametric", "name": "betaa", "a": 8, "b": 2}}
    with pytest.raises(ValueError, match=r"distributions: 'my scores': name must be a law of .* got 'betaa'"):
        Study.from_dict(design | {"distributions": laws})


def test_files_whose_tables_are_none_are_refused():
    """They stopped with an error of Python's own."""
    design = small().to_dict()
    with pytest.raises(ValueError, match="distributions must be a table of values by name; got 'norm'"):
        Study.from_dict(design | {"distributions": "norm"})
    with pytest.raises(ValueError, match="generalization must be a table of values by name; got 5"):
        GeneralizationStudy.from_dict({"generalization": 5})


def test_a_support_is_no_known_range_and_it_is_said_how_to_tell_one():
    laws = {"ln": Parametric("lognorm", {"s": 1}), "beta": Parametric("beta", {"a": 8, "b": 2})}
    asked = ["mean"], ["t", "hoeffding"], [5]
    (said,) = Study(laws, *asked).left_out()
    assert said.startswith("hoeffding is not judged for mean (")
    assert said.endswith("; bounds={'beta': (0, 1)} tells the range of the values")
    (said,) = Study(laws, *asked, bounds={"beta": (0, 1)}).left_out()
    assert said.startswith("hoeffding is not judged for mean under ln (")
    assert "bounds=" not in said


def test_bad_files_are_refused(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("statistics = [")
    with pytest.raises(ValueError, match=r"study\.toml is no TOML file"):
        load_study(path)
    path.write_text('statistics = ["mean"]\nstatistic = 1')
    with pytest.raises(ValueError, match=r"no field 'statistic'.*did you mean 'statistics'"):
        load_study(path)
    path.write_text('statistics = ["mean"]')
    with pytest.raises(ValueError, match="needs the field 'distributions'"):
        load_study(path)
    with pytest.raises(ValueError, match=r"unknown study 'summary'.*'summaries'"):
        load_study("summary")


def test_bundled_studies_load():
    rng = np.random.default_rng(0)
    data = {
        "segmentation": {"a": rng.random(12), "b": rng.random(15)},
        "classification": {"two": (rng.normal(size=(30, 2)), np.arange(30) % 2)},
    }
    for name in bundled_names():
        study = load_study(name, data.get(name))
        assert study.cell_names()
    assert "roc_auc" in load_study("classification", data["classification"]).named_statistics
    three = {"three": (rng.normal(size=(30, 3)), np.arange(30) % 3)}
    assert "roc_auc" not in load_study("classification", three).named_statistics
    with pytest.raises(ValueError, match="needs data"):
        load_study("segmentation")
    with pytest.raises(ValueError, match="names its own distributions"):
        load_study("summaries", {"a": [1.0]})


def test_a_folder_named_like_a_bundled_study_does_not_hide_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "proportions").mkdir()
    assert load_study("proportions").name == "proportions"


@pytest.mark.parametrize("bounds", [(0.0, 5.0), (0.0, math.inf)])
def test_bounds_of_a_users_values(tmp_path, bounds):
    """Given to the function or by the file they hold for distributions and for the mean, also in the file written."""
    values = {"a": 5 * np.random.default_rng(0).beta(8, 2, 20)}
    path = tmp_path / "design.toml"
    path.write_text(f"""
        statistics = ["mean", {{ name = "q", class = "Quantile", q = 0.9 }}, "std"]
        methods = ["t", "percentile"]
        sample_sizes = [10]
        [data]
        kind = "values"
        bounds = [{bounds[0]}, {bounds[1]}]
    """)
    for study in (load_study("segmentation", values, bounds, sample_sizes=[10]), load_study(path, values)):
        assert study.distributions["a"].bounds == bounds
        assert study.named_statistics["mean"].bounds == bounds
        study.save(tmp_path / "study.toml")
        again = load_study(tmp_path / "study.toml")
        assert again.named_statistics["mean"].bounds == again.distributions["a"].bounds == bounds
        assert list(again.cell("a, n=10").statistics) == list(study.named_statistics)
    assert study.named_statistics["q"].q == 0.9
    assert load_study(path, values, bounds=(-1, 9)).distributions["a"].bounds == (-1, 9)


@pytest.mark.parametrize(
    ("source", "given", "message"),
    [
        (
            "segmentation",
            {"data": {"liver": [0.5, 3.5, 2.0]}, "bounds": (0, 3)},
            r"liver: .* within bounds .*; got 3.5",
        ),
        ("segmentation", {"data": {"liver": [0.5, 0.2]}, "bounds": (1, 0)}, r"bounds must be the lowest .*\(1, 0\)"),
        ("segmentation", {"data": {"liver": [0.5, 0.2]}, "bounds": 1}, "bounds must be two numbers; got 1"),
        ("classification", {"data": {"a": (np.eye(2), [0, 1])}, "bounds": (0, 1)}, "reads logits; got bounds .0, 1"),
        ("summaries", {"bounds": (0, 1)}, "names its own distributions; got bounds"),
        ("classifier-ci", {"bounds": (0, 1)}, "makes its own data; got bounds"),
        ("generalization", {"bounds": (0, 1)}, "names its own problems; got bounds"),
    ],
)
def test_bounds_that_cannot_be_are_refused(source, given, message):
    with pytest.raises(ValueError, match=message):
        load_study(source, **given)


def test_a_mean_whose_bounds_no_distribution_keeps_is_refused():
    told = r"no distribution serves low: bounds must hold all values; got \(0.0, 0.5\) for beta.* within \[0, 1\]"
    with pytest.raises(ValueError, match=told):
        small(statistics=[("low", S.Mean(bounds=(0, 0.5))), "mean", "accuracy"])


def test_a_write_that_fails_names_the_file_and_what_is_kept(tmp_path, monkeypatch):
    def full(draft, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    study = small(distributions={"table": LAWS["table"]}, statistics=["accuracy"], methods=["wilson"])
    study.run(tmp_path / "r", keep_tallies=False)
    (tmp_path / "r" / "cells" / file_name("table, n=20")).unlink()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device; finished cells are kept in .*r, run .*n=20") as caught:
        study.run(tmp_path / "r", keep_tallies=False)
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match=r"No space left on device: .*table.toml"):
        study.save(tmp_path / "table.toml")


def test_files_are_whole_or_absent(tmp_path):
    write_whole(tmp_path / "deep" / "x.json", b"{}")
    assert json.loads((tmp_path / "deep" / "x.json").read_text()) == {}
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["x.json"]
    assert file_name("a/b") != file_name("a_b")


def test_the_first_difference_is_named():
    assert difference({"a": 1, "b": {"c": [1, 2]}}, {"a": 1, "b": {"c": [1, 3]}}) == ("b.c", [1, 2], [1, 3])
    assert difference({"a": 1}, {"a": 1, "z": 2}) == ("z", "nothing", 2)
    assert difference({"a": 1}, {"a": 1}) is None


def test_names_of_the_rooms_are_public():
    assert jaxci.coverage.Study is Study
    assert jaxci.distributions.Parametric is Parametric


def test_a_long_study_drops_programs_and_goes_on(tmp_path, monkeypatch):
    free = small(n_groups=2).run(tmp_path / "free").columns
    cleared = []
    monkeypatch.setattr(held, "mappings", lambda: (40_000, 65_530))
    monkeypatch.setattr(held.jax, "clear_caches", lambda: cleared.append(True))
    pressed = small(n_groups=2).run(tmp_path / "pressed").columns
    assert len(cleared) == len(small().cell_names())
    for name in ("coverage", "mean_width"):
        np.testing.assert_array_equal(free[name], pressed[name])


def test_a_loop_of_verbs_drops_programs_too(monkeypatch):
    cleared, x = [], np.arange(20.0)
    monkeypatch.setattr(held.jax, "clear_caches", lambda: cleared.append(True))
    for used, least in ((20_000, 0), (40_000, 2)):
        monkeypatch.setattr(held, "mappings", lambda used=used: (used, 65_530))
        cleared.clear()
        for _ in range(held.EVERY):
            jaxci.interval("mean", x, method="t")
            jaxci.compare("mean_absolute_error", x, x + 1, 2 * x, method="t")
        assert least <= len(cleared) <= 3 * least


@pytest.mark.slow
def test_large_samples_have_numbers_of_their_own(tmp_path):
    laws = {"beta": Parametric("beta", {"a": 8, "b": 2})}
    sizes = {"n_replications": 40, "n_resamples": 99, "n_groups": 4}
    more = [
        {"sample_sizes": [50, 100], "n_replications": 20, "n_resamples": 49},
        {"sample_sizes": 200, "n_resamples": 19},
    ]
    study = Study(laws, ["mean"], ["percentile"], [10, 20], more_sizes=more, **sizes)
    study.save(tmp_path / "mine.toml")
    again = load_study(tmp_path / "mine.toml")
    assert again.to_dict() == study.to_dict()
    wanted = {10: (40, 99), 20: (40, 99), 50: (20, 49), 100: (20, 49), 200: (40, 19)}
    cells = {cell.n: (cell.n_replications, cell.n_resamples) for cell in map(again.cell, again.cell_names())}
    assert cells == wanted
    rows = again.run(tmp_path / "r").records()
    judged = {row["n"]: sum(int(part.split("/")[1]) for part in row["covered_by_group"].split()) for row in rows}
    assert judged == {n: replications for n, (replications, _) in wanted.items()}
    alone = Study(laws, ["mean"], ["percentile"], [100], n_replications=20, n_resamples=49, n_groups=4)
    (row,) = alone.run(tmp_path / "alone").records()
    assert row["covered_by_group"] == next(r["covered_by_group"] for r in rows if r["n"] == 100)
    with pytest.raises(ValueError, match="those of more_sizes must be distinct; '20' is given 2 times"):
        Study(laws, ["mean"], ["percentile"], [10, 20], more_sizes=[{"sample_sizes": [20]}], **sizes)
    with pytest.raises(ValueError, match="more_sizes has no key 'n_resample'"):
        Study(laws, ["mean"], ["percentile"], [10], more_sizes=[{"sample_sizes": [20], "n_resample": 9}], **sizes)


def test_changes_of_a_design_are_of_all_its_sizes():
    logits = {"a": (np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2)}
    whole = load_study("classification", logits)
    assert whole.all_sizes[-3:] == (500, 1000, 5000)
    assert whole.counts_at(5000) == {"n_replications": 3500, "n_resamples": 3499}
    assert load_study("classification", logits, n_resamples=99).counts_at(5000) == {
        "n_replications": 3500,
        "n_resamples": 99,
    }
    assert load_study("classification", logits, sample_sizes=[10]).all_sizes == (10,)


@pytest.mark.parametrize("metric", ["brier_score_loss", S.BrierScoreLoss()])
@pytest.mark.slow
def test_a_brier_score_has_the_scale_of_the_classes_of_each_distribution(tmp_path, metric):
    """Before, that of two classes was twice what ``interval`` gives: .18 instead of .09."""
    laws = {"two": GaussianClasses([0.8, 0.2], 0.9), "three": GaussianClasses([0.5, 0.3, 0.2], 0.9)}
    study = Study(laws, [metric], ["t"], [30], n_replications=40, n_resamples=19, n_groups=2)
    assert Study.from_dict(study.to_dict()).to_dict() == study.to_dict()
    of = {name: study.identity(f"{name}, n=30")["statistics"] for name in laws}
    assert of["three"] == ["brier_score_loss"]  # as in folders of earlier versions, which hold this scale
    assert not set(map(str, of["two"])) & set(of["three"])
    found = study.run(tmp_path).columns
    for name, law in laws.items():
        drawn = law.sample(jax.random.key(0), 50_000)
        y, p = (np.asarray(drawn[column]) for column in ("y_true", "y_score"))
        truth = found["truth"][found["distribution"] == name]
        assert truth == pytest.approx(jaxci.interval("brier_score_loss", y, p, method="t").estimate, abs=0.005)


def test_a_folder_of_the_other_scale_of_a_brier_score_is_refused(tmp_path):
    laws = {"two": GaussianClasses([0.8, 0.2], 0.9)}
    quick = {"methods": ["t"], "sample_sizes": [30], "n_replications": 40, "n_resamples": 19, "n_groups": 2}
    Study(laws, [("brier_score_loss", S.BrierScoreLoss(scale_by_half=False))], **quick).run(tmp_path)
    with pytest.raises(ValueError, match="another study: statistics"):
        Study(laws, ["brier_score_loss"], **quick).run(tmp_path)
