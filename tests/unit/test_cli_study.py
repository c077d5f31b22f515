"""The commands ``jaxci check`` and ``jaxci study``."""

import contextlib
import json
import math
import shlex
from types import SimpleNamespace

import jax
import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

import jaxci
from jaxci.api.readers.tables import read_columns
from jaxci.cli import main
from jaxci.coverage import Study
from jaxci.coverage.bundled import bundled_names, bundled_summaries, load_study, study_path
from jaxci.distributions import Parametric

SMALL = ["--sizes", "10", "--replications", "20", "--resamples", "29", "--groups", "2"]


MEANS = ["compare", "CASES", "--metric", "mean", "--pred-a", "dice", "--pred-b", "nsd"]
VALUES = ["study", "new", "x.toml", "--design", "segmentation", "--data", "CASES", "--value", "dice"]
CLASSIFICATION = ["study", "new", "x.toml", "--design", "classification", "--data", "CASES"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def cases(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "cases.csv"
    lines = ["model,dice,nsd,y,l0,l1,guess"]
    for row in range(60):
        label = row % 2
        a, b = rng.normal(), rng.normal() + 1.5 * label
        lines.append(
            f"{'ab'[row // 30]},{rng.beta(8, 2):.3f},{rng.beta(5, 2):.3f},{label},{a:.3f},{b:.3f},{int(b > a)}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_list_of_studies_says_what_each_is_about(capsys):
    code, out, _ = run(capsys, "study", "list")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines() if line.startswith(" ") and line.strip()[:1].isalpha()]
    assert set(bundled_names()) <= set(names)
    assert "Intervals for a proportion: coverage by enumeration, at every p and n" in out
    assert all(10 < len(text) < 180 for text in bundled_summaries().values())


@pytest.mark.slow
def test_check_prints_a_row_a_method(capsys, cases, tmp_path):
    out_file, csv_file = tmp_path / "check.json", tmp_path / "check.csv"
    quick = ["--replications", "50", "--resamples", "49", "--seed", "3"]
    files = ["--json", out_file, "--csv", csv_file]
    code, out, _ = run(
        capsys, "check", cases, "--metric", "mean", "--pred", "dice", "--methods", "t,bca", *quick, *files
    )
    assert code == 0
    assert "coverage" in out
    assert "--seed 3" in out
    assert [row["method"] for row in json.loads(out_file.read_text())["methods"]] == ["t", "bca"]
    assert len(csv_file.read_text().splitlines()) == 3
    code, out, _ = run(
        capsys, "check", cases, "--metric", "accuracy", "--target", "y", "--pred", "guess", "--calibrate"
    )
    assert code == 0
    assert "calibrated" in out


def test_evaluate_with_check_has_a_column_of_coverage(capsys, cases):
    code, out, _ = run(
        capsys, "evaluate", cases, "--target", "y", "--pred", "guess", "--metrics", "accuracy", "--check", "--seed", "1"
    )
    assert code == 0
    assert "coverage" in out


def cells(study):
    return {name: study.identity(name) for name in study.cell_names()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in bundled_names() if n not in ("segmentation", "classification")])
def test_a_new_study_is_the_bundled_one_with_its_comments(capsys, tmp_path, name):
    file = tmp_path / "mine.toml"
    assert run(capsys, "study", "new", file, "--design", name)[0] == 0
    assert file.read_text() == study_path(name).read_text()


def test_comments_stay_where_fields_change(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    assert run(capsys, "study", "new", file, "--design", "proportions", "--sizes", "10,20", "--seed", "7")[0] == 0
    assert "# Two classes of which the first is always true" in file.read_text()
    study = load_study(file)
    assert (study.sample_sizes, study.seed) == ((10, 20), 7)
    assert cells(study) == cells(load_study("proportions", sample_sizes=[10, 20], seed=7))


def test_own_values_are_in_a_file_beside_the_design(capsys, cases, tmp_path):
    file = tmp_path / "mine.toml"
    new = ["study", "new", file, "--design", "segmentation", "--data", cases, "--value", "dice,nsd", "--by", "model"]
    told = ["--bounds", "nsd=0:1.5", "--discrete", "dice"]
    assert run(capsys, *new, *SMALL, *told)[0] == 0
    assert len(file.read_bytes()) < 2_000
    assert "# Ranges by the name of the metric" in file.read_text()
    columns = read_columns(cases, ["model", "dice", "nsd"])
    data = {f"{c}, {m}": columns[c][columns["model"] == m] for c in ("dice", "nsd") for m in "ab"}
    tags = {name: dict(zip(("metric", "model"), name.split(", "), strict=True)) for name in data}
    options = {"sample_sizes": [10], "n_replications": 20, "n_resamples": 29, "n_groups": 2, "tags": tags}
    expected = load_study("segmentation", data, {"nsd": (0, 1.5)}, ["dice"], **options)
    study = load_study(file)
    assert cells(study) == cells(expected)
    assert study.tags == expected.tags
    assert "exists: give another name" in run(capsys, *new)[2]
    file.unlink()
    assert "mine-data.csv exists" in run(capsys, *new)[2]
    assert run(capsys, *new, *SMALL, "--force")[0] == 0


@pytest.mark.slow
def test_a_study_of_per_case_values_from_file_to_report(capsys, cases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = ["study", "new", "mine.toml", "--design", "segmentation", "--data", cases]
    code, out, _ = run(capsys, *new, "--value", "dice,nsd", "--by", "model", *SMALL)
    assert code == 0, out
    assert "4 cells" in out
    code, out, _ = run(capsys, "study", "status", "mine.toml")
    assert (code, out.splitlines()[0]) == (0, "0 of 4 cells are done in mine-results")
    code, out, _ = run(capsys, "study", "run", "mine.toml")
    assert (code, out) == (0, "4 of 4 cells in mine-results; see: jaxci study report mine.toml\n")
    (tmp_path / "my study.toml").write_text((tmp_path / "mine.toml").read_text())
    code, out, _ = run(capsys, "study", "run", "my study.toml", "--out", "mine-results")
    see = shlex.split(out.partition("; see: ")[2])
    assert (code, see) == (0, ["jaxci", "study", "report", "my study.toml", "--out", "mine-results"])
    assert run(capsys, *see[1:])[0] == 0
    code, out, _ = run(capsys, "study", "status", "mine.toml")
    assert out.startswith("4 of 4")
    code, out, _ = run(capsys, "study", "report", "mine.toml", "--csv", "all.csv")
    assert code == 0
    page = (tmp_path / "mine-results" / "report.html").read_text()
    assert "dice, a" in page
    assert "metric" in (tmp_path / "all.csv").read_text().splitlines()[0]


@pytest.mark.slow
def test_bounds_reach_the_library(capsys, cases, tmp_path):
    out_file, file = tmp_path / "out.json", tmp_path / "mine.toml"
    check = ["check", cases, "--metric", "mean", "--pred", "dice", "--bounds", "0,1.5", "--methods", "proper_bayesian"]
    assert run(capsys, *check, "--replications", 50, "--resamples", 199, "--seed", 3, "--json", out_file)[0] == 0
    options = {"methods": ["proper_bayesian"], "n_replications": 50, "n_resamples": 199, "rng": 3}
    narrow, wide = (
        jaxci.check_coverage("mean", read_columns(cases, ["dice"])["dice"], bounds=(0, high), **options)
        for high in (1, 1.5)
    )
    found = json.loads(out_file.read_text())["methods"][0]["mean_width"]
    assert found == wide["proper_bayesian"].mean_width > narrow["proper_bayesian"].mean_width
    new = ["study", "new", file, "--design", "segmentation", "--data", cases, "--value", "dice,nsd"]
    assert run(capsys, *new, "--bounds", "0,2", *SMALL)[0] == 0
    study = load_study(file)
    assert study.named_statistics["mean"].bounds == (0, 2)
    assert [law.bounds for law in study.distributions.values()] == [(0, 2), (0, 2)]


def test_a_study_of_logits(capsys, cases, tmp_path):
    file = tmp_path / "logits.toml"
    new = ["study", "new", file, "--design", "classification", "--data", cases]
    assert run(capsys, *new, "--target", "y", "--score", "l0,l1", "--by", "model", *SMALL)[0] == 0
    assert "roc_auc" in load_study(file).named_statistics


def test_probabilities_are_read_by_their_logits(capsys, tmp_path):
    rng = np.random.default_rng(0)
    codes, odds = np.arange(24) % 2, rng.normal(scale=4, size=24)
    p = 1 / (1 + np.exp(-odds))
    cases, file = tmp_path / "p.csv", tmp_path / "study.toml"
    columns = {"y": codes, "odds": odds, "p": p, "q": 1 - p, "half": p / 2, "hard": np.round(p)}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    cases.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n")
    new = ["study", "new", file, "--force", "--design", "classification", "--data", cases, "--target", "y", *SMALL]

    def read(score):
        code, _, err = run(capsys, *new, "--score", score)
        assert code == 0
        (law,) = load_study(file).distributions.values()
        return law.logits.T, err

    (one,), said = read("p")
    np.testing.assert_allclose(one, odds, rtol=1e-12)
    assert "all: scores lie in [0, 1], they are read as probabilities" in said
    (no, yes), said = read("q,p")
    np.testing.assert_allclose(yes - no, odds, rtol=1e-12)
    assert "they are read as probabilities" in said
    (plain,), said = read("odds")
    np.testing.assert_array_equal(plain, odds)
    assert not said
    assert "scores lie in [0, 1] and do not sum to 1 in a row, they are read as logits" in read("half,p")[1]
    code, _, err = run(capsys, *new, "--score", "hard")
    assert code == 2
    assert "--score must hold logits, or probabilities that are not 0 or 1; 24 rows of all have such, the first" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "run", "nothing.toml"], "nothing.toml"),
        (["study", "run", "summary"], "did you mean 'summaries'"),
        (["study", "report", "proportions", "--out", "empty"], "holds no finished cell"),
        (["study", "new", "x.toml", "--design", "segmentation"], "needs data"),
        (
            ["study", "new", "x.toml", "--design", "segmentation", "--data", "CASES"],
            "reads --value of --data; --value is not given",
        ),
        (["study", "new", "x.toml", "--sizes", "10,x"], "--sizes must be whole numbers"),
        (["study", "new", "CASES"], "exists: give another name"),
        ([*CLASSIFICATION, "--target", "model", "--score", "l0,l1,guess"], "3 columns, and model has 2 labels"),
        (["quantile", "CASES", "--column", "dice", "--plot", "x.foo"], "--plot x.foo"),
        (["check", "CASES", "--metric", "mean", "--pred", "dice", "--n", "1"], "n must be at least 2"),
        (["check", "CASES", "--metric", "mean", "--pred", "dice", "--bounds", "0,.5"], "bounds must hold all values"),
        (["check", "CASES", "--metric", "mean", "--pred", "dice", "--bounds", "0"], "bounds must be two numbers"),
        (["check", "CASES", "--metric", "median", "--pred", "dice", "--bounds", "0,1"], "has no option --bounds"),
        ([*MEANS, "--bounds", "0,.5"], "bounds must hold all values; got (0.0, 0.5)"),
        (
            [*MEANS, "--bounds", "0,x"],
            "--bounds must be numbers between commas; could not convert",
        ),
        ([*VALUES, "--bounds", "0,.5"], "dice: values must lie within bounds [0, 0.5]"),
        ([*VALUES, "--bounds", "1,0"], "bounds must be the lowest and the highest value"),
        (["quantile", "CASES", "--column", "dice", "--q", "a"], "--q must be numbers between commas"),
    ],
)
def test_trouble_is_one_line(capsys, cases, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *[cases if a == "CASES" else a for a in arguments])
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_what_is_said_of_quantiles_names_the_group(capsys, tmp_path):
    file, rng = tmp_path / "runs.csv", np.random.default_rng(0)
    rows = [f"{name},{x:.4f}" for name in ("adam", "sgd") for x in rng.normal(size=20)]
    file.write_text("\n".join(["opt,acc", *rows, "adam,nan"]))
    asked = ["quantile", file, "--column", "acc", "--by", "opt"]
    code, _, err = run(capsys, *asked)
    assert code == 2
    assert "; rows are those where opt is adam" in err
    _, out, _ = run(capsys, *asked, "--goal", "higher")
    told = " ".join(out.split())
    assert "each counts as the worst, below all others (adam)" in told
    assert "that needs n >= 29 (sgd)" in told


def test_quantiles_of_runs_by_group(capsys, cases, tmp_path):
    files = ["--plot", tmp_path / "q.png", "--csv", tmp_path / "q.csv", "--json", tmp_path / "q.json"]
    code, out, _ = run(capsys, "quantile", cases, "--column", "dice", "--by", "model", "--q", ".1,.5", *files)
    assert code == 0
    assert "a (n = 30)" in out
    assert "order_statistic" in "".join(out.split())
    assert len((tmp_path / "q.csv").read_text().splitlines()) == 5
    assert (tmp_path / "q.png").stat().st_size > 3_000
    assert set(json.loads((tmp_path / "q.json").read_text())) == {"a", "b"}
    code, _, err = run(capsys, "quantile", cases, "--column", "dice", "--q", "ten")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize("rows", ["x,.5\n,.6\ny,.7\n", "1,.5\nNaN,.6\n2,.7\n"], ids=["texts", "numbers"])
def test_a_missing_label_is_no_instance(capsys, tmp_path, rows):
    file = tmp_path / "cases.csv"
    file.write_text("site,dice\n" + rows)
    new = ["study", "new", tmp_path / "x.toml", "--design", "segmentation", "--data", file, "--value", "dice"]
    for command in (new, ["quantile", file, "--column", "dice"]):
        code, _, err = run(capsys, *command, "--by", "site")
        assert code == 2
        assert err.startswith("error: 'site' of --by must have no missing labels; 1 of 3 values are missing")


def test_instances_whose_joined_labels_coincide_are_not_merged(capsys, tmp_path):
    file = tmp_path / "cases.csv"
    file.write_text('task,model,dice\n"a, b",c,.5\n"a, b",c,.6\na,"b, c",.9\na,"b, c",.8\n')
    new = ["study", "new", tmp_path / "x.toml", "--design", "segmentation", "--data", file, "--value", "dice"]
    code, _, err = run(capsys, *new, "--by", "task,model")
    assert (code, err.count("\n")) == (2, 1)
    assert "--by must name instances by labels that differ when they are joined; got 'a, b, c' of ('a, b', 'c')" in err
    assert run(capsys, *new, "--by", "task", *SMALL)[0] == 0


def test_what_is_left_out_of_data_is_told(capsys, tmp_path):
    file, mine = tmp_path / "cases.csv", tmp_path / "mine.toml"
    rows = ["a,0.5", "a,", "a,0.7", "b,nan", "b,", "c,0.9"]
    file.write_text("\n".join(["model,dice", *rows]) + "\n")
    new = ["study", "new", mine, "--design", "segmentation", "--data", file, "--value", "dice"]
    code, _, err = run(capsys, *new, "--by", "model", *SMALL)
    assert (code, err.splitlines()) == (
        0,
        [
            "dice, a: 1 of 3 rows have no value and are left out",
            "dice, b: 2 of 2 rows have no value and are left out",
            "dice, b: no row has a value, the instance is left out",
            "dice, c: one case has no spread, every interval will hold its value",
        ],
    )
    study = load_study(mine)
    assert list(study.distributions) == ["dice, a", "dice, c"]
    code, out, _ = run(capsys, "study", "status", mine, "--out", tmp_path / "none")
    assert code == 0
    assert "  mind: dice, c draws one value only: every interval holds it" in out.splitlines()
    file.write_text("model,dice\n" + "\n".join([*rows, "c,high"]) + "\n")
    code, out, err = run(capsys, *new, "--force")
    assert (code, out) == (2, "")
    assert err == f"error: {file}, line 8: column 'dice' must hold numbers; got 'high'\n"
    file.write_text("model,dice\na,\nb,\n")
    code, _, err = run(capsys, *new, "--force")
    assert (code, err.splitlines()[-1]) == (2, f"error: {file}: no row has a value in dice")


def test_a_report_in_a_folder_that_cannot_be_written_names_the_option(capsys, tmp_path, monkeypatch):
    law = {"normal": Parametric("norm")}
    study, path = Study(law, ["mean"], ["t"], [10], n_replications=20, n_resamples=99, n_groups=2), tmp_path / "s.toml"
    study.save(path)
    study.run(tmp_path / "out")
    capsys.readouterr()

    @contextlib.contextmanager
    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))
        yield path

    monkeypatch.setattr("jaxci.whole_files.whole_file", refused)
    assert main(["study", "report", str(path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: --html must be a file that can be written; got ")
    assert said.rstrip().endswith("report.html' (Permission denied)")


@pytest.mark.slow
def test_status_and_report_tell_which_methods_are_not_judged(capsys, tmp_path):
    from jaxci.distributions import Cells, Parametric

    laws = {"beta": Parametric("beta", {"a": 8, "b": 2}), "table": Cells(np.full((2, 2), 0.25))}
    sizes = {"n_replications": 20, "n_resamples": 19, "n_groups": 2}
    study = Study(laws, ["mean", "accuracy"], ["t", "wilson", "percentile"], [10], **sizes)
    told = study.left_out()
    assert [line.partition(" (")[0] for line in told] == [
        "wilson is not judged for mean",
        "t is not judged for accuracy",
        "mean is not judged under table",
        "accuracy is not judged under beta",
    ]
    study.save(tmp_path / "mine.toml")
    code, out, _ = run(capsys, "study", "status", tmp_path / "mine.toml", "--out", tmp_path / "r")
    assert (code, [line[8:] for line in out.splitlines()[1:5]]) == (0, told)
    study.run(tmp_path / "r").report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "wilson is not judged for mean" in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\n# statistic = 1\nstatistic = 1\n', "line 3: a study has no field 'statistic'"),
        ("[generalization]\nlevel = 0.9\nn_validate = 3\n", "line 3: a study of learners has no field 'n_validate'"),
        ('name = "x"\n[classifier]\nn_tree = 3\n', "line 3: classifier has no key 'n_tree'"),
        ("seed = 3\n[classifier]\nn_train = 30\n", "line 1: a study of a classifier has no key 'seed'"),
        ('seed = 3\n[data]\nkind = "values"\nbound = [0, 1]\n', "line 4: data has no key 'bound'"),
        (
            'statistics = ["mean"]\nmethods = ["t",\n{ name = "bca", accelerate = 1 }]\nsample_sizes = [10]\n'
            '[distributions.beta]\nkind = "parametric"\nname = "beta"\na = 1\nb = 2\n',
            "line 3: methods: a method with settings",
        ),
    ],
)
def test_an_unknown_option_of_a_file_is_named_with_its_line(capsys, tmp_path, text, message):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    code, out, err = run(capsys, "study", "status", file)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {file}, {message}"), err


def test_a_parameter_of_a_law_that_is_no_number_is_named(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'statistics = ["mean"]\nmethods = ["t"]\nsample_sizes = [10]\n'
        '[distributions.beta]\nkind = "parametric"\nname = "beta"\nparams = { a = 1, b = 2 }\n'
    )
    code, out, err = run(capsys, "study", "status", file)
    assert (code, out) == (2, "")
    told = "params of the parametric distribution 'beta' must be a number; got {'a': 1, 'b': 2}"
    assert err.startswith(f"error: distributions: 'beta': {told}")


@pytest.mark.slow
def test_bounds_and_kinds_by_metric(capsys, tmp_path):
    from jaxci.distributions import AdaptiveKDE, Empirical

    file, mine = tmp_path / "cases.csv", tmp_path / "mine.toml"
    rng = np.random.default_rng(4)
    columns = {"Dice": rng.beta(8, 2, 30), "ASSD": rng.lognormal(size=30), "HD-95": rng.integers(1, 9, 30)}
    columns |= {"percent": 100 * columns["Dice"], "volume": rng.normal(size=30)}
    rows = zip(*columns.values(), strict=True)
    file.write_text("\n".join([",".join(columns), *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n")
    new = ["study", "new", mine, "--design", "segmentation", "--data", file, "--value", ",".join(columns), *SMALL]
    assert run(capsys, *new, "--bounds", "percent=0:100")[0] == 0
    study = load_study(mine)
    kinds = {name: type(law) for name, law in study.distributions.items()}
    assert kinds == {**dict.fromkeys(columns, AdaptiveKDE), "HD-95": Empirical}
    free = (-math.inf, math.inf)
    means = {name: study.served(name)["mean"].bounds for name in columns}
    ranges = {"Dice": (0, 1), "ASSD": (0, math.inf), "HD-95": (0, math.inf), "percent": (0, 100), "volume": free}
    assert means == ranges
    assert study.distributions["ASSD"].bounds == (0, math.inf)
    sample = study.distributions["ASSD"].draw(jax.random.key(0), 10_000)
    assert float(sample.min()) >= 0
    assert run(capsys, *new, "--force", "--discrete", "volume", "--bounds", "hd95=:20")[0] == 0
    study = load_study(mine)
    assert {name for name, law in study.distributions.items() if isinstance(law, Empirical)} == {"volume"}
    assert study.bounds["HD-95"] == (-math.inf, 20)
    for given, message in [
        ("dce=0:1", "bounds must name metrics of the data; 'dce' is none: did you mean 'Dice'?"),
        ("Dice=0,1", "--bounds must be LOW,HIGH once, or COL=LOW:HIGH for each column; got 'Dice=0,1'"),
        ("HD-95=0:3", "HD-95: values must lie within bounds [0, 3]; got"),
        ("Dice=1:0", "bounds must be the lowest and the highest value"),
    ]:
        code, _, err = run(capsys, *new, "--force", "--bounds", given)
        assert code == 2
        assert message in err


@pytest.mark.slow
def test_intervals_that_need_a_range_are_judged_where_the_design_knows_it(capsys, tmp_path):
    file, design, mine = tmp_path / "cases.csv", tmp_path / "design.toml", tmp_path / "mine.toml"
    rng = np.random.default_rng(5)
    rows = zip(rng.beta(8, 2, 30), rng.lognormal(size=30), strict=True)
    file.write_text("dice,assd\n" + "\n".join(f"{a},{b}" for a, b in rows) + "\n")
    design.write_text(
        'statistics = ["mean"]\nmethods = ["t", "hoeffding"]\nsample_sizes = [10]\nn_replications = 20\n'
        'n_resamples = 19\nn_groups = 2\n[data]\nkind = "values"\n[data.bounds]\ndice = [0, 1]\n'
    )
    new = ["study", "new", mine, "--design", design, "--data", file, "--value", "dice,assd"]
    assert run(capsys, *new)[0] == 0
    study = load_study(mine)
    (line,) = study.left_out()
    assert line.startswith("hoeffding is not judged for mean under assd ('hoeffding' needs the range")
    rows = study.run(tmp_path / "r").records()
    assert {(row["distribution"], row["method"]) for row in rows} == {
        ("dice", "t"),
        ("dice", "hoeffding"),
        ("assd", "t"),
    }
    assert run(capsys, *new, "--force", "--bounds", "assd=0:500")[0] == 0
    assert load_study(mine).left_out() == []


def test_tasks_with_different_numbers_of_classes_are_in_one_file(capsys, tmp_path):
    file, mine = tmp_path / "cases.csv", tmp_path / "mine.toml"
    rng = np.random.default_rng(6)
    lines, shown = ["task,label,l0,l1,l2"], {}
    for task, k in (("two", 2), ("three", 3)):
        codes, logits = np.arange(24) % k, rng.normal(size=(24, k))
        shown[task] = codes, logits
        for code, row in zip(codes, logits.tolist(), strict=True):
            lines.append(f"{task},{code}," + ",".join([*map(repr, row), *[""] * (3 - k)]))
    file.write_text("\n".join(lines) + "\n")
    new = ["study", "new", mine, "--design", "classification", "--data", file, "--target", "label"]
    new += ["--score", "l0,l1,l2", "--by", "task", *SMALL]
    assert run(capsys, *new)[0] == 0
    study = load_study(mine)
    for task, (codes, logits) in shown.items():
        law = study.distributions[task]
        assert law.n_classes == logits.shape[1]
        np.testing.assert_array_equal(law.labels, codes)
        np.testing.assert_array_equal(law.logits, logits)
    assert "roc_auc" in study.served("two")
    assert "roc_auc_ovr" not in study.served("two")
    assert "roc_auc_ovr" in study.served("three")
    assert "roc_auc_ovr is not judged under two (of two classes it is roc_auc)" in study.left_out()
    file.write_text(file.read_text().replace("two,1,", "two,2,"))
    code, _, err = run(capsys, *new, "--force")
    assert (code, err) == (
        2,
        "error: label of two must only hold values in labels [0, 1]; 12 do not, the first is 2 in row 1\n",
    )


@pytest.mark.parametrize(
    ("text", "bytes_"), [("2000000", 2_000_000), ("2GB", 2 * 10**9), ("1.5 gib", 3 * 2**29), ("512MiB", 2**29)]
)
def test_a_memory_limit_may_have_a_unit(tmp_path, monkeypatch, text, bytes_):
    seen = {}

    def ran(study, folder, **options):
        seen.update(options)
        return SimpleNamespace(n_done=0, n_cells=1)

    monkeypatch.setattr(Study, "run", ran)
    design = tmp_path / "one.toml"
    Study({"x": Parametric("norm")}, ["mean"], ["t"], [10], n_groups=2, n_replications=4).save(design)
    assert main(["study", "run", str(design), "--out", str(tmp_path / "r"), "--memory-limit", text]) == 0
    assert seen["memory_limit"] == bytes_


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10", "--memory-limit must be at least 1,048,576 bytes; got 10"),
        ("2XB", "--memory-limit must be a number of bytes, alone or with one of KB, MB, GB, KiB, MiB, GiB behind it; "),
        ("1.5", "--memory-limit must be a number of bytes, "),
        ("-5", "got '-5'"),
    ],
)
def test_a_memory_limit_that_is_none_is_refused_with_its_value(tmp_path, capsys, text, said):
    assert main(["study", "run", "proportions", "--out", str(tmp_path / "r"), f"--memory-limit={text}"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert f"got {text}" in told.replace("'", "")
