"""The command ``jaxci generalization``."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import jaxci
from jaxci.cli import main
from jaxci.inducers import Ridge


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=60)
    return X, y, np.where(y > 0, "yes", "no"), np.arange(60) // 5


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "table.csv"
    X, y, label, group = table
    rows = [
        f"{a},{b},{c},{d},{e},{'' if i == 7 else a},{'oops' if i == 3 else b}"
        for i, ((a, b), c, d, e) in enumerate(zip(X.tolist(), y, label, group, strict=True))
    ]
    path.write_text("\n".join(["a,b,y,label,g,holed,dirty", *rows]) + "\n", encoding="utf-8")
    return path


def run(capsys, *arguments):
    code = main(["generalization", *map(str, arguments)])
    return code, *capsys.readouterr()


@pytest.mark.slow
def test_an_interval_from_a_file(capsys, file, table, tmp_path):
    out = tmp_path / "out.json"
    code, text, _ = run(
        capsys, file, "--target", "y", "--model", "ridge:alpha=2", "--features", "a,b", "--method", "corrected_t",
        "--seed", 3, "--json", out, "--csv", tmp_path / "out.csv",
    )  # fmt: skip
    assert code == 0
    assert "repeat with --seed 3" in text
    assert "25 fits" in text
    expected = jaxci.generalization_interval(Ridge(alpha=2), table[0], table[1], method="corrected_t", rng=3)
    found = json.loads(out.read_text())
    np.testing.assert_allclose(found["estimate"], expected.estimate, rtol=1e-12)
    assert found["target"] == expected.target
    assert "corrected_t" in (tmp_path / "out.csv").read_text()


@pytest.mark.slow
def test_two_learners_with_groups(capsys, file):
    code, text, _ = run(
        capsys, file, "--target", "label", "--model", "logistic", "--versus", "constant", "--features", "a,b",
        "--groups", "g", "--loss", "log", "--seed", 1,
    )  # fmt: skip
    assert code == 0
    assert "confidence intervals of the difference a - b, n = 60" in text
    assert "p = " in text


@pytest.mark.parametrize("others", [["constant"], ["constant", "linear"]])
def test_learners_are_compared_by_the_method_of_the_verb(capsys, file, table, tmp_path, others):
    out = tmp_path / "out.json"
    versus = [word for other in others for word in ("--versus", other)]
    code, _, _ = run(
        capsys, file, "--target", "y", "--model", "ridge", *versus, "--features", "a,b", "--seed", 1, "--json", out
    )
    assert code == 0
    found, data = json.loads(out.read_text()), {"X": table[0], "y": table[1], "rng": 1}
    if len(others) == 1:
        verb = jaxci.compare_inducers("ridge", *others, **data)
        assert found["pvalue"] == pytest.approx(verb.pvalue, rel=1e-9)
    else:
        verb = jaxci.rank_inducers(["ridge", *others], **data)
        assert found["pairs"][0]["pvalue"] == pytest.approx(verb.pairs[0].pvalue, rel=1e-9)
    assert found["method"] == verb.method == "corrected_t"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "y", "--model", "rigde"], "no learner 'rigde': did you mean 'ridge'?"),
        (
            ["--target", "y", "--model", "ridge:alpha"],
            "a learner must be written NAME or NAME:field=value",
        ),
        (["--target", "y", "--model", "ridge"], "features must be numbers; label, dirty are not"),
        (["--target", "z", "--model", "ridge", "--features", "a"], "no column 'z'"),
        (["--target", "y", "--model", "ridge", "--features", "a,label"], "column 'label' must hold numbers; got"),
        (["--target", "y", "--model", "ridge", "--features", "a", "--loss", "log"], "loss must be one of squared"),
        (["--target", "y"], "--model"),
        (
            ["--target", "y", "--model", "ridge", "--versus", "tree", "--versus", "tree", "--features", "a"],
            "--model and --versus must be distinct; 'tree' is given 2 times",
        ),
        (["--target", "y", "--model", "ridge", "--features", "a,y"], "--features must not name the target; got 'y'"),
        (["--target", "y", "--model", "ridge", "--features", "a,a"], "must be distinct; 'a' is given 2 times"),
        (["--target", "y", "--model", "ridge:alpha=abc", "--features", "a"], "alpha must be a number of at least 0"),
        (
            ["--target", "y", "--model", "ridge", "--features", "a,holed"],
            "column 'holed' must have no missing values; 1",
        ),
        (["--target", "y", "--model", "ridge", "--features", "a,dirty"], "must hold numbers; got 'oops' in row 3"),
    ],
)
def test_bad_input_is_one_line(capsys, file, arguments, message):
    code, out, err = run(capsys, file, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_help_names_every_learner(capsys):
    from jaxci.inducers.registry import INDUCERS

    _, text, _ = run(capsys, "--help")
    words = " ".join(text.replace("│", " ").split())
    for name in INDUCERS:
        assert name in words


@pytest.mark.slow
def test_a_field_can_be_tuned(capsys, file):
    code, text, _ = run(
        capsys, file, "--target", "y", "--model", "ridge:tune=alpha:values=0.1,1,10:n_folds=3", "--features", "a,b",
        "--method", "holdout", "--seed", 1,
    )  # fmt: skip
    assert code == 0
    assert "1 fits" in text


class TestAnIndex:
    """Rows sorted by class, whose number is the answer."""

    @pytest.fixture
    def rows(self):
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(2)
        y = np.repeat([0, 1], 40)
        return pd.DataFrame({"a": y + rng.normal(size=80), "b": rng.normal(size=80), "t": y})

    @pytest.mark.parametrize(
        ("name", "label"), [("plain.csv", ""), ("again.csv", "Unnamed: 0"), ("rows.parquet", "__index_level_0__")]
    )
    def test_that_has_no_name_is_no_feature(self, capsys, tmp_path, rows, name, label):
        path, out = tmp_path / name, [tmp_path / "out.json", tmp_path / "without.json"]
        shuffled = rows.set_axis(np.arange(80) * 2, axis=0)
        if name == "rows.parquet":
            pytest.importorskip("pyarrow")
            shuffled.to_parquet(path)
        else:
            shuffled.to_csv(path, index_label=label or None)
        shared = [path, "--target", "t", "--model", "logistic", "--seed", 1]
        code, text, _ = run(capsys, *shared, "--json", out[0])
        assert code == 0
        assert f"column {label!r} of {path} is an index of rows without a name, and no feature: left out" in " ".join(
            text.replace("\n", " ").split()
        )
        assert "features: a, b\n" in text
        assert run(capsys, *shared, "--features", "a,b", "--json", out[1])[0] == 0
        found, without = (json.loads(one.read_text()) for one in out)
        assert found["estimate"] == without["estimate"] > 0.1
        assert len(found["warnings"]) == len(without["warnings"]) + 1

    def test_that_has_a_name_is_remarked_on(self, capsys, tmp_path, rows):
        rows.assign(case=np.arange(80)[::-1] + 500).to_csv(tmp_path / "rows.csv", index=False)
        code, text, _ = run(capsys, tmp_path / "rows.csv", "--target", "t", "--model", "logistic", "--seed", 1)
        assert code == 0
        assert "feature 'case' is a whole number that only rises or falls over the rows" in " ".join(text.split())
        assert "features: a, b, case\n" in text

    def test_is_not_all_there_is(self, capsys, tmp_path, rows):
        rows[["t"]].to_csv(tmp_path / "rows.csv")
        code, _, err = run(capsys, tmp_path / "rows.csv", "--target", "t", "--model", "logistic")
        assert code == 2
        assert "has no columns but 't' and an index; a learner needs features" in err
