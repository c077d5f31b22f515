"""The command line: files in, tables out, exit codes."""

from __future__ import annotations

import csv
import dataclasses
import decimal
import functools
import gzip
import importlib.metadata
import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import jaxci
from jaxci import cli
from jaxci.api.readers import tables
from jaxci.cli import main
from jaxci.cli.app import COMMANDS
from jaxci.cli.progress import progress
from jaxci.cli.tables import as_label
from jaxci.data import load_demo
from jaxci.intervals.registry import DIFFERENCES, METHODS

QUICK = ["--resamples", "400", "--seed", "1"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a binary problem with string labels, scores, clusters and strata; one score is missing."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("cli") / "predictions.csv"
    lines = ["truth,guess,p,q,holed,patient,site,value"]
    for row in range(120):
        positive = rng.random() < 0.5
        p = np.clip(0.5 + (0.2 if positive else -0.2) + rng.normal(0, 0.2), 0.01, 0.99)
        q = np.clip(p + rng.normal(0, 0.1), 0.01, 0.99)
        guess = "yes" if p > 0.5 else "no"
        hole = "" if row == 7 else f"{p:.4f}"
        truth = "yes" if positive else "no"
        lines.append(f"{truth},{guess},{p:.4f},{q:.4f},{hole},P{row // 4},{row // 60},{rng.normal():.4f}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return the one line on stderr that comes with exit code 2."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err


class TestEvaluate:
    ARGUMENTS = ("--target", "truth", "--pred", "guess", "--score", "p", "--pos-label", "yes")

    @pytest.mark.slow
    def test_agrees_with_the_library(self, capsys, file, tmp_path):
        out_json, out_csv = tmp_path / "out.json", tmp_path / "out.csv"
        arguments = ["evaluate", file, *self.ARGUMENTS, *QUICK, "--metrics", "accuracy,f1_macro,roc_auc"]
        code, out, err = run(capsys, *arguments, "--json", out_json, "--csv", out_csv)
        assert (code, err) == (0, "")
        columns = tables.read_columns(file, ["truth", "guess", "p"])
        table = jaxci.evaluate(
            columns["truth"],
            columns["guess"],
            columns["p"],
            metrics=["accuracy", "f1_macro", "roc_auc"],
            pos_label="yes",
            n_resamples=400,
            rng=1,
        )
        content = json.loads(out_json.read_text())
        lines = list(csv.DictReader(io.StringIO(out_csv.read_text())))
        assert content["n"] == 120
        for row, record, line in zip(table, content["rows"], lines, strict=True):
            assert row.statistic == record["statistic"] == line["statistic"]
            assert record["confidence_interval"] == {
                "low": row.confidence_interval.low,
                "high": row.confidence_interval.high,
            }
            assert float(line["low"]) == row.confidence_interval.low
            assert f"{row.estimate:.4f}" in out
            assert row.statistic in out
        assert "--seed 1" in out

    def test_options_reach_the_library(self, capsys, file, tmp_path):
        out_json = tmp_path / "out.json"
        options = [
            "--method",
            "percentile",
            "--level",
            "0.9",
            "--alternative",
            "greater",
            "--metrics",
            "accuracy",
        ]
        options += ["--groups", "patient", "--strata", "site"]
        code, _, err = run(capsys, "evaluate", file, *self.ARGUMENTS, *QUICK, *options, "--json", out_json)
        assert (code, err) == (0, "")
        row = json.loads(out_json.read_text())["rows"][0]
        assert (row["method"], row["confidence_level"], row["alternative"]) == ("percentile", 0.9, "greater")
        assert (row["n"], row["n_resamples"]) == (30, 400)

    @pytest.mark.parametrize("method", ["auto", "wilson_cluster"])
    def test_a_kind_of_cluster_that_may_be_missing_is_told_once(self, capsys, tmp_path, file, method):
        few = tmp_path / "few.csv"
        few.write_text("".join(file.read_text().splitlines(keepends=True)[:81]))
        options = ["--groups", "patient", "--metrics", "accuracy,f1", "--method", method]
        code, out, _ = run(capsys, "evaluate", few, "--target", "truth", "--pred", "guess", *QUICK, *options)
        told = "a kind of cluster that makes up 14% of all is missing from 20 of them"
        assert (code, out.count(told)) == (0, 1)

    def test_several_scores_are_class_scores(self, capsys, tmp_path):
        demo = load_demo()
        names = [f"s{k}" for k in range(10)]
        path, out_json = tmp_path / "digits.csv", tmp_path / "out.json"
        table = np.column_stack([demo["target"], demo["score"]])[:300]
        np.savetxt(path, table, delimiter=",", header=",".join(["target", *names]), comments="", fmt="%.4f")
        arguments = ["evaluate", path, "--target", "target", "--score", ",".join(names), *QUICK]
        code, _, err = run(capsys, *arguments, "--metrics", "log_loss", "--json", out_json)
        assert (code, err) == (0, "")
        likelihood = demo["score"][np.arange(300), demo["target"][:300]]
        estimate = json.loads(out_json.read_text())["rows"][0]["estimate"]
        assert estimate == pytest.approx(-np.log(likelihood).mean(), rel=1e-9)

    def test_unbounded_side_is_null_in_json(self, capsys, file, tmp_path):
        out_json = tmp_path / "out.json"
        arguments = ["compare", file, "--metric", "mean", "--pred-a", "value", "--pred-b", "p"]
        code, _, err = run(capsys, *arguments, "--method", "t", "--alternative", "less", "--json", out_json)
        assert (code, err) == (0, "")
        assert json.loads(out_json.read_text(), parse_constant=pytest.fail)["confidence_interval"]["low"] is None


class TestCompare:
    def test_scores(self, capsys, file, tmp_path):
        out_json = tmp_path / "out.json"
        arguments = ["compare", file, "--target", "truth", "--metric", "roc_auc", "--pos-label", "yes"]
        arguments += ["--score-a", "p", "--score-b", "q", "--margin", "0.1"]
        code, out, err = run(capsys, *arguments, "--json", out_json)
        assert (code, err) == (0, "")
        content = json.loads(out_json.read_text())
        assert content["estimate"] == pytest.approx(content["estimate_a"] - content["estimate_b"])
        assert content["conclusion"] in out
        assert content["margin"] == 0.1

    def test_predictions(self, capsys, file):
        arguments = ["--target", "truth", "--metric", "accuracy", "--pred-a", "guess", "--pred-b", "truth"]
        code, out, err = run(capsys, "compare", file, *arguments)
        assert (code, err) == (0, "")
        assert "b is better than a" in " ".join(out.split())

    def test_one_kind_of_prediction(self, capsys, file):
        arguments = ["compare", file, "--target", "truth", "--metric", "accuracy"]
        assert "--pred-a and --pred-b" in refusal(capsys, *arguments, "--pred-a", "guess")
        assert "--score-a" in refusal(capsys, *arguments, "--pred-a", "guess", "--score-b", "p")


class TestRefusals:
    def test_missing_file(self, capsys, tmp_path):
        arguments = ["evaluate", tmp_path / "nowhere.csv", "--target", "a", "--pred", "b"]
        assert "nowhere.csv" in refusal(capsys, *arguments)

    def test_unknown_column_names_the_nearest(self, capsys, file):
        arguments = ["evaluate", file, "--target", "trut", "--pred", "guess"]
        assert "no column 'trut'; did you mean 'truth'?" in refusal(capsys, *arguments)

    def test_missing_score(self, capsys, file):
        arguments = ["evaluate", file, "--target", "truth", "--score", "holed", "--pos-label", "yes"]
        message = refusal(capsys, *arguments)
        assert "1 of 120" in message
        assert "row 7" in message

    def test_text_as_score(self, capsys, file):
        arguments = ["evaluate", file, "--target", "truth", "--score", "guess"]
        assert "column 'guess' must hold numbers" in refusal(capsys, *arguments)

    def test_nothing_to_evaluate(self, capsys, file):
        assert "--pred" in refusal(capsys, "evaluate", file, "--target", "truth")

    @pytest.mark.parametrize(
        ("option", "value", "word"),
        [
            ("--metrics", "acuracy", "accuracy"),
            ("--method", "wilsonn", "wilson"),
            ("--level", "95", "0.95"),
            ("--alternative", "both", "two-sided"),
            ("--pos-label", "maybe", "maybe"),
            ("--resamples", "many", "--resamples"),
        ],
    )
    def test_bad_option(self, capsys, file, option, value, word):
        assert word in refusal(capsys, "evaluate", file, "--target", "truth", "--pred", "guess", option, value)

    def test_usage(self, capsys):
        assert "evaluat" in refusal(capsys, "evaluat")
        assert "--target" in refusal(capsys, "evaluate", "file.csv")

    def test_unwritable_output(self, capsys, file, tmp_path):
        arguments = ["evaluate", file, "--target", "truth", "--pred", "guess", "--metrics", "accuracy"]
        code, _, err = run(capsys, *arguments, "--json", tmp_path / "no" / "out.json")
        assert code == 2
        assert err.startswith("error: ")

    def test_missing_extra(self, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "typer", None)
        assert "install jaxci[cli]" in refusal(capsys, "--help")

    def test_missing_pyarrow(self, capsys, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        arguments = ["evaluate", tmp_path / "x.parquet", "--target", "a", "--pred", "b"]
        assert "install jaxci[data]" in refusal(capsys, *arguments)


class TestBugs:
    """An error that no ``raise`` of ours made is a bug, whatever its type."""

    @pytest.mark.parametrize(
        "call", [lambda: {}["x"], lambda: int("x"), lambda: len(3), lambda: np.ones(2) @ np.ones(3)]
    )
    def test_exit_code_1(self, capsys, file, monkeypatch, call):
        monkeypatch.setattr(jaxci, "evaluate", lambda *args, **options: call())
        code, _, err = run(capsys, "evaluate", file, "--target", "truth", "--pred", "guess")
        assert code == 1
        assert "this is a bug in jaxci" in err
        assert "Error" in err.splitlines()[0]

    def test_our_own_raise_is_no_bug(self):
        with pytest.raises(ValueError, match="confidence_level") as caught:
            jaxci.evaluate([0, 1, 1], [0, 1, 0], confidence_level=2000)
        assert cli._deliberate(caught.value)


class TestReading:
    TEXT = '\ufeffwhole, part,truth,word,"a,b",gap\n1,1.5,True,x,0,1\n2,,false,NA,1,\n\n3,2e-3,TRUE,"y z",0\n'

    @pytest.fixture(params=["pandas", "plain"])
    def reader(self, request, monkeypatch):
        if request.param == "plain":
            monkeypatch.setitem(sys.modules, "pandas", None)
        else:
            pytest.importorskip("pandas")
            monkeypatch.setattr(tables, "SMALL", 0)
        return tables.read_columns

    def test_types(self, reader, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text(self.TEXT, encoding="utf-8")
        found = reader(path, ["gap", "truth", "word", "part", "whole", "a,b"])
        assert list(found) == ["gap", "truth", "word", "part", "whole", "a,b"]
        assert found["whole"].dtype.kind == found["a,b"].dtype.kind == "i"
        np.testing.assert_array_equal(found["whole"], [1, 2, 3])
        np.testing.assert_array_equal(found["part"], [1.5, np.nan, 2e-3])
        np.testing.assert_array_equal(found["gap"], [1, np.nan, np.nan])
        np.testing.assert_array_equal(found["truth"], [True, False, True])
        assert found["truth"].dtype == bool
        assert found["word"][0] == "x"
        assert found["word"][2] == "y z"
        assert not isinstance(found["word"][1], str)

    def test_blanks_around_a_text_are_no_part_of_it(self, reader, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text('a,b,c,d,e\nB , 1 , NA , 7 ,true \n B,2,3,07 , false\n"B ",x y ,4,8,True\n', encoding="utf-8")
        found = reader(path, list("abcde"), texts=["d"])
        assert found["a"].tolist() == ["B", "B", "B"]
        assert found["b"].tolist() == ["1", "2", "x y"]
        np.testing.assert_array_equal(found["c"], [np.nan, 3.0, 4.0])
        assert found["d"].tolist() == ["7", "07", "8"]
        assert found["e"].tolist() == [True, False, True]

    @pytest.mark.parametrize("text", ["", "a,b\n", "a,b\n1,2\n1,2,3\n"])
    def test_broken(self, reader, tmp_path, text):
        path = tmp_path / "x.csv"
        path.write_text(text, encoding="utf-8")
        with pytest.raises((ValueError, KeyError), match=r"x\.csv|rows"):
            reader(path, ["a", "b"])

    @pytest.mark.parametrize(
        ("name", "sep", "text"),
        [
            ("x.csv", ";", "a;b;c\n1;0,5;x\n2;;y\n"),
            ("x.csv", "tab", "a\tb\tc\n1\t0,5\tx\n2\t\ty\n"),
            ("x.tsv", None, "a\tb\tc\n1\t0,5\tx\n2\t\ty\n"),
            ("x.csv.gz", "|", "a|b|c\n1|0,5|x\n2||y\n"),
            ("x.jsonl", None, '{"a": 1, "b": "0,5", "c": "x"}\n\n{"a": 2, "b": null, "c": "y"}\n'),
            ("x.ndjson.gz", None, '{"a": 1, "b": "0,5", "c": "x"}\n{"a": 2, "c": "y"}\n'),
        ],
    )
    def test_separators_json_lines_and_packed_files(self, reader, tmp_path, name, sep, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        found = reader(path, ["c", "a", "b"], sep)
        np.testing.assert_array_equal(found["a"], [1, 2])
        assert list(found["c"]) == ["x", "y"]
        assert found["b"][0] == "0,5"
        assert not isinstance(found["b"][1], str)
        assert tables.column_names(path, sep) == ["a", "b", "c"]

    @pytest.mark.parametrize(("sign", "told"), [(";", "--sep ';'"), ("\t", "--sep tab"), ("|", "--sep '|'")])
    def test_a_file_that_is_read_as_one_column(self, reader, tmp_path, sign, told):
        path = tmp_path / "x.csv"
        path.write_text(f"a{sign}b\n1{sign}2\n")
        with pytest.raises(KeyError, match="read as one column") as caught:
            reader(path, ["a"])
        assert told in str(caught.value.args[0])

    def test_not_packed(self, reader, tmp_path):
        path = tmp_path / "x.csv.gz"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match=r"x\.csv\.gz cannot be (unpacked|read)"):
            reader(path, ["a"])

    def test_a_separator_is_one_character(self, reader, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match="--sep must be one character, or tab; got ', '"):
            reader(path, ["a"], ", ")

    def test_json_that_is_no_table(self, tmp_path):
        path = tmp_path / "x.jsonl"
        for text, told in (("[1]\n", "row 0 must be an object"), ("{\n", "cannot be read as JSON"), ("\n", "no rows")):
            path.write_text(text)
            with pytest.raises(ValueError, match=told):
                tables.read_columns(path, ["a"])
        path.write_text('{"a": 1}\n')
        with pytest.raises(KeyError, match="no column 'b'"):
            tables.read_columns(path, ["b"])

    def test_not_text(self, reader, tmp_path):
        path = tmp_path / "x.csv"
        path.write_bytes(b"a,b\n\xff\xfe,2\n")
        with pytest.raises(ValueError, match="cannot be read as CSV"):
            reader(path, ["a"])

    @pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
    @pytest.mark.parametrize("line", ["sep=;\n", "\ufeffsep=;\r\n", '"sep=;"\r\n'])
    def test_the_separator_of_excel(self, reader, tmp_path, name, line):
        path = tmp_path / name
        text = f"{line}a;b\n1;x\n2;y\n".encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        assert tables.column_names(path) == ["a", "b"]
        for sep in (None, ";"):
            found = reader(path, ["b", "a"], sep)
            assert (found["a"].tolist(), found["b"].tolist()) == ([1, 2], ["x", "y"])

    @pytest.mark.parametrize("name", ["x.zip", "x.csv.bz2", "x.csv.XZ", "x.npz", "x.npy", "x.feather", "x.xlsx"])
    def test_what_is_not_read_by_its_name(self, reader, tmp_path, name):
        path = tmp_path / name
        path.write_bytes(b"PK\xff\x00")
        told = (
            r"must be CSV, JSON lines \(\.jsonl, \.ndjson\) or Parquet \(\.parquet, \.pq\), text also packed as \.gz;"
        )
        for read in (lambda: reader(path, ["a"]), lambda: tables.column_names(path)):
            with pytest.raises(
                ValueError, match=rf"{name} {told} got a file that ends in \.{name.rpartition('.')[2]}$"
            ):
                read()

    def test_text_that_is_no_utf_8(self, reader, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("a,b\n1,2\n", encoding="utf-16")
        for read in (lambda: reader(path, ["a"]), lambda: tables.column_names(path)):
            with pytest.raises(ValueError, match=r"x\.csv must be text in UTF-8; it begins as UTF-16 does$"):
                read()

    def test_twice_the_same_name(self, reader, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("a,a\n1,2\n", encoding="utf-8")
        with pytest.raises(KeyError, match="2 columns"):
            reader(path, ["a"])

    def test_parquet(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "x.parquet"
        columns = {
            "n": pa.array([1, 2, 3]),
            "x": pa.array([0.5, None, 1.5]),
            "b": pa.array([True, False, True]),
            "s": pa.array(["u", "v", None]).dictionary_encode(),
            "d": pa.array([decimal.Decimal(x) for x in (0, 1, 1)], pa.decimal128(18, 0)),
            "e": pa.array([decimal.Decimal("0.25"), None, decimal.Decimal("1.5")], pa.decimal128(20, 2)),
        }
        pq.write_table(pa.table(columns), path)
        found = tables.read_columns(path, ["s", "n", "x", "b"])
        assert found["n"].dtype.kind == "i"
        assert found["b"].dtype == bool
        np.testing.assert_array_equal(found["x"], [0.5, np.nan, 1.5])
        assert list(found["s"]) == ["u", "v", None]
        decimals = tables.read_columns(path, ["d", "e"])
        assert decimals["d"].dtype.kind == "i"
        np.testing.assert_array_equal(decimals["d"], [0, 1, 1])
        np.testing.assert_array_equal(decimals["e"], [0.25, np.nan, 1.5])
        with pytest.raises(KeyError, match="no column 'z'"):
            tables.read_columns(path, ["z"])
        path.write_text("a,b\n1,2\n", encoding="utf-8")
        with pytest.raises(ValueError, match="cannot be read as Parquet"):
            tables.read_columns(path, ["a"])

    def test_parquet_gives_what_csv_gives(self, capsys, file, tmp_path):
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        path = tmp_path / "x.parquet"
        pd.read_csv(file).to_parquet(path)
        arguments = ["--target", "truth", "--pred", "guess", "--metrics", "accuracy,f1_macro", *QUICK]
        results = [run(capsys, "evaluate", source, *arguments) for source in (file, path)]
        assert results[0] == results[1]
        assert results[0][0] == 0

    @pytest.mark.parametrize(
        ("text", "target", "label"),
        [
            ("1", np.array([0, 1]), 1),
            ("2", np.array([0.0, 2.0]), 2.0),
            ("TRUE", np.array([True]), True),
            ("1", np.array(["1"]), "1"),
        ],
    )
    def test_label_has_the_type_of_the_target(self, text, target, label):
        found = as_label(text, target)
        assert found == label
        assert type(found) is type(label)


@pytest.mark.slow
def test_lists(capsys):
    code, out, _ = run(capsys, "metrics")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if re.match(r" ?\w", line)][1:] == jaxci.list_metrics()
    assert "--score" in out
    assert "Share of correct predictions" in out
    assert "``" not in out
    code, out, _ = run(capsys, "methods")
    assert code == 0
    assert "clopper_pearson" in out
    code, out, _ = run(capsys, "methods", "roc_auc")
    assert code == 0
    assert "delong" in out
    assert "clopper_pearson" not in out
    assert "roc_auc" in refusal(capsys, "methods", "roc_au")
    code, out, _ = run(capsys, "methods", "accuracy", "--difference")
    assert code == 0
    assert "tango" in out
    assert "wilson" not in out
    assert "--difference" in refusal(capsys, "methods", "accuracy", "--difference", "--n", "50")


@pytest.mark.slow
@pytest.mark.parametrize("method", {**METHODS, **DIFFERENCES})
def test_a_method_is_told_of(capsys, method):
    code, out, _ = run(capsys, "methods", method)
    assert code == 0
    told = dict(line.split(": ", 1) for line in re.sub(r"\s*\n(?!of|settings|more)", " ", out.strip()).split("\n"))
    assert told[method]
    assert not re.search(r"``|:\w+:", told[method])
    assert told["more in Python"].startswith("help(jaxci.intervals.")
    for rows, options in (("rows", {}), ("rows in the order of time", {"resampling": "moving"})):
        served = {metric for metric in jaxci.list_metrics() if method in jaxci.list_methods(metric, **options)}
        assert set(told[f"of one model, {rows}"].split(", ")) - {"no metric"} == served


def test_help_lists_commands_in_groups_in_the_order_of_need(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    words = re.findall(r"^│ (\w+)  ", out, re.MULTILINE)
    given = [command for group in COMMANDS.values() for command in group]
    assert words == [one.info.name if hasattr(one, "info") else one.__name__ for one in given]


def test_version_needs_no_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert run(capsys, "--version") == (0, f"jaxci {jaxci.__version__}\n", "")


def test_a_small_file_is_evaluated_without_what_takes_long_to_import(file):
    heavy = {*(f"scipy.{part}" for part in ("stats", "optimize", "ndimage", "sparse")), "pandas", "optax", "jax.extend"}
    columns = ["--target", "truth", "--pred", "guess", "--score", "p"]
    code = (
        "import sys; from jaxci.cli import main; code = main(sys.argv[1:]); "
        f"print(code, sorted({heavy} & sys.modules.keys()), file=sys.stderr)"
    )
    arguments = [sys.executable, "-c", code, "evaluate", file, *columns, *QUICK, "--pos-label", "yes"]
    found = subprocess.run(arguments, capture_output=True, text=True)
    assert found.stderr.splitlines()[-1:] == ["0 []"]


class TestDoctor:
    def test_sound(self, capsys, tmp_path, monkeypatch):
        monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
        (tmp_path / "program").write_bytes(bytes(2**20))
        code, out, err = run(capsys, "doctor")
        assert (code, err) == (0, "")
        assert f"{tmp_path}: 1 files, 1.0 MiB" in " ".join(out.split())
        assert "self-test" in out
        assert "passed in" in out
        assert importlib.metadata.version("jax") in out

    def test_wrong_numbers(self, capsys, monkeypatch):
        right = jaxci.interval

        def wrong(*arguments, **options):
            found = right(*arguments, **options)
            ends = [end + (found.n_resamples > 0) * 0.1 for end in found.confidence_interval]
            return dataclasses.replace(found, confidence_interval=jaxci.ConfidenceInterval(*ends))

        monkeypatch.setattr(jaxci, "interval", wrong)
        code, out, _ = run(capsys, "doctor")
        assert code == 1
        assert "failed in" in out

    def test_no_device(self, capsys, monkeypatch):
        def broken():
            raise RuntimeError("no backend")

        monkeypatch.setattr(jax, "devices", broken)
        code, out, _ = run(capsys, "doctor")
        assert code == 1
        assert "failed: no backend" in out


@pytest.mark.slow
def test_demo(capsys, monkeypatch):
    for verb in ("evaluate", "interval"):
        monkeypatch.setattr(jaxci, verb, functools.partial(getattr(jaxci, verb), n_resamples=199))
    code, out, err = run(capsys, "demo")
    assert (code, err) == (0, "")
    for name in ("accuracy", "log_loss", *jaxci.list_methods("accuracy")):
        assert name in out
    assert "--seed" not in out  # which demo does not have


def test_demo_predictions():
    demo = load_demo()
    for score, prediction in (("score", "prediction"), ("score_b", "prediction_b")):
        assert demo[score].shape == (1000, 10)
        np.testing.assert_allclose(demo[score].sum(axis=1), 1, atol=1e-12)
        np.testing.assert_array_equal(demo[score].argmax(axis=1), demo[prediction])
        assert demo[score].min() > 0
    assert 0.87 < np.mean(demo["target"] == demo["prediction"]) < 0.91
    assert np.mean(demo["prediction"] != demo["prediction_b"]) > 0.05


def test_process():
    """Start the program once as a user would."""
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=False)
    found = run([sys.executable, "-m", "jaxci", "--version"])
    assert (found.returncode, found.stdout, found.stderr) == (0, f"jaxci {jaxci.__version__}\n", "")
    found = run([sys.executable, "-m", "jaxci", "metric"])
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("error: No such command 'metric'")


class TestProgress:
    @staticmethod
    def screen() -> object:
        from rich.console import Console

        return Console(file=io.StringIO(), force_terminal=True, width=80)

    def test_silent_when_quick(self):
        console = self.screen()
        with progress("work", console=console) as advance:
            advance(1, 2)
        assert console.file.getvalue() == ""

    def test_shows_when_slow(self):
        console = self.screen()
        with progress("work", delay=0.05, console=console) as advance:
            advance(1, 4)
            time.sleep(0.3)
            advance(2, 4)
            time.sleep(0.3)
        assert "work" in console.file.getvalue()
        assert "left" in console.file.getvalue()

    def test_silent_where_there_is_no_terminal(self):
        from rich.console import Console

        console = Console(file=io.StringIO())
        with progress("work", delay=0, console=console) as advance:
            advance(1, 2)
            time.sleep(0.1)
        assert console.file.getvalue() == ""
