"""Odd files and arguments on the command line: one error that names the argument, or the right numbers."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import jaxci

pytest.importorskip("typer")
pytest.importorskip("rich")

from jaxci.api.readers.tables import MISSING, read_columns
from jaxci.cli import batches, main
from jaxci.cli.batches import read_batches
from jaxci.cli.words import Flags, in_flags

N = 60
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, N)
SCORES = np.eye(3)[CODES] + RNG.random((N, 3))
SCORES /= SCORES.sum(axis=1, keepdims=True)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write a problem of three classes, and go where it is."""
    monkeypatch.chdir(tmp_path)
    lines = ["y,guess,a,b,c,two,h,k"]
    for code, scores in zip(CODES, SCORES, strict=True):
        letter = "abc"[code]
        two = int(code == 1)
        lines.append(",".join(map(str, [letter, letter, *scores, two, two, int(RNG.random() < 0.5)])))
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "rows.csv"


def refusal(capsys, *arguments):
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    return err.removeprefix("error: ").strip()


@pytest.fixture(autouse=True)
def arguments(monkeypatch):
    """Let arguments be those of the call alone."""
    monkeypatch.setattr("sys.argv", ["jaxci"])


@pytest.mark.parametrize(
    ("command", "option", "text"),
    [
        (["evaluate", "--target", "y", "--pred", "guess"], "--metrics", ","),
        (["evaluate", "--target", "y", "--pred", "guess"], "--by", "h,,k"),
        (["evaluate", "--target", "y", "--pred", "guess"], "--labels", ""),
        (["evaluate", "--target", "y"], "--score", "a,b,c,"),
        (["check", "--metric", "accuracy", "--target", "y", "--pred", "guess"], "--methods", "wilson, "),
    ],
)
def test_lists_with_an_empty_place_are_refused(capsys, file, command, option, text):
    told = refusal(capsys, *command, file, option, text)
    assert told == f"{option} must have no empty place between commas; got {text!r}"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--whole", "--stream"])
@pytest.mark.parametrize("order", ["a,b,c", "a,c,b", "c,a,b"])
def test_scores_that_labels_name_are_in_their_order(capsys, file, way, order):
    pytest.importorskip("pandas")
    out = file.with_name("out.json")
    options = ["--metrics", "accuracy,log_loss", "--seed", "0", "--json", str(out)]
    assert main(["evaluate", str(file), "--target", "y", "--score", order, way, *options]) == 0
    found = {row["statistic"]: row["estimate"] for row in json.loads(out.read_text())["rows"]}
    assert found["accuracy"] == 1
    assert found["log_loss"] == pytest.approx(-np.log(SCORES[np.arange(N), CODES]).mean(), rel=1e-12)


@pytest.mark.slow
def test_scores_of_a_file_that_is_a_model(capsys, file, tmp_path):
    for name, order in (("first", "abc"), ("second", "cab")):
        rows = [order.replace("", ",")[1:-1]]
        rows += [",".join(str(one["abc".index(letter)]) for letter in order) for one in SCORES]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    out = tmp_path / "board.json"
    arguments = ["leaderboard", str(file), "--target", "y", "--models", "first.csv,second.csv", "--metric", "log_loss"]
    assert main([*arguments, "--resamples", "999", "--seed", "0", "--json", str(out)]) == 0
    first, second = (entry["estimate"] for entry in json.loads(out.read_text())["entries"])
    assert first == second == pytest.approx(-np.log(SCORES[np.arange(N), CODES]).mean(), rel=1e-12)


def test_hard_labels_as_scores_have_a_remark_in_the_words_of_options(capsys, file):
    arguments = ["compare", str(file), "--target", "two", "--score-a", "h", "--score-b", "k", "--metric", "roc_auc"]
    assert main([*arguments, "--seed", "0"]) == 0
    assert "--score-a, --score-b take only two values" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--whole", "--stream"])
@pytest.mark.parametrize("word", MISSING)
def test_missing_words_are_missing_however_a_file_is_read(capsys, tmp_path, way, word):
    pytest.importorskip("pandas")
    path = tmp_path / "rows.csv"
    path.write_text("y,guess\n" + "a,a\nb,b\n" * 5 + f"a,{word}\n")
    said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "guess", way)
    assert "missing" in said
    assert "row 10" in said


class TestArgumentsAreNamed:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                ["leaderboard", "rows.csv", "--target", "y", "--models", "guess,guess", "--metric", "accuracy"],
                "--models must be distinct; 'guess' is given 2 times",
            ),
            (
                ["leaderboard", "rows.csv", "--target", "y", "--models", "guess,y", "--metric", "accuracy,accuracy"],
                "--metric must be distinct; 'accuracy' is given 2 times",
            ),
            (
                ["evaluate", "none.csv", "--target", "y", "--pred", "guess"],
                "FILE must be a file that exists; got 'none.csv'",
            ),
            (
                ["evaluate", "--whole", "none.csv", "--target", "y", "--pred", "guess"],
                "FILE must be a file that exists; got 'none.csv'",
            ),
            (
                ["leaderboard", "rows.csv", "--target", "y", "--models", "guess", "--metric", "accuracy"],
                "--models must name at least two models; got 1",
            ),
            (["study", "status", "none.toml"], "FILE must be a file that exists; got 'none.toml'"),
            (
                ["study", "new", "x.toml", "--data=none.csv", "--value", "a"],
                "--data must be a file that exists; got 'none.csv'",
            ),
            (
                ["plan", "accuracy", "--pilot", "none.csv", "--target", "y", "--pred", "guess", "--width", "0.1"],
                "--pilot must be a file that exists; got 'none.csv'",
            ),
            (
                ["compare", "folder", "--target", "y", "--pred-a", "y", "--pred-b", "y", "--metric", "accuracy"],
                "FILE must be a file; got the folder 'folder'",
            ),
            (["plan", "mean", "--sd", "-1", "--width", "0.1"], "--sd must be positive and finite; got -1.0"),
            (
                ["plan", "roc_auc", "--auc", "3", "--prevalence", "0.2", "--width", "0.1"],
                "--auc must lie in (0.5, 1); got 3.0",
            ),
            (
                ["plan", "accuracy", "-a", "0.8", "-b", "0.9", "--discordant", "3", "--power", "0.8"],
                "--discordant must lie between the difference, 0.1, and 0.3; got 3.0",
            ),
            (
                ["evaluate", "empty.csv", "--target", "y", "--pred", "guess", "--whole"],
                "empty.csv cannot be read as CSV: the file is empty",
            ),
            (["generalization", "empty.csv", "--target", "y", "--model", "ridge"], "the file is empty"),
        ],
    )
    def test_by_their_options(self, capsys, monkeypatch, file, arguments, said):
        monkeypatch.setattr("sys.argv", ["jaxci", *arguments])
        file.with_name("empty.csv").write_text("")
        file.with_name("folder").mkdir()
        assert refusal(capsys, *arguments).endswith(said)

    def test_an_empty_file_in_batches(self, capsys, file):
        pytest.importorskip("pandas")
        file.with_name("empty.csv").write_text("")
        said = refusal(capsys, "evaluate", "empty.csv", "--target", "y", "--pred", "guess", "--stream")
        assert said == "empty.csv cannot be read as CSV: the file is empty"

    @pytest.mark.parametrize("option", ["--json", "--csv"])
    def test_where_to_write_is_looked_at_first(self, capsys, monkeypatch, file, option):
        monkeypatch.setattr("jaxci.evaluate", None)  # nothing is computed
        arguments = ["evaluate", file, "--target", "y", "--pred", "guess"]
        assert refusal(capsys, *arguments, option, "no/out").startswith(
            f"{option} must be a file in a folder that exists; got 'no/out'"
        )
        assert refusal(capsys, *arguments, option, ".") == f"{option} must be a file; got the folder '.'"

    def test_files_that_no_argument_names(self):
        from jaxci.cli.words import of_no_file

        missing, folder = FileNotFoundError(2, "", "x.csv"), IsADirectoryError(21, "", "x")
        assert of_no_file(missing, Flags()) == "there is no file 'x.csv'"
        assert of_no_file(folder, Flags()) == "'x' is a folder, no file"

    def test_an_item_of_what_is_expected_is_an_option_or_what_it_is(self):
        flags = Flags()
        flags.known = {"sd": "--sd"}
        assert in_flags("expected['sd'] must be positive", flags) == "--sd must be positive"
        assert in_flags("expected['sd_a'] must be positive", flags) == "expected['sd_a'] must be positive"


def test_empty_lines_may_stand_above_the_header(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("\n\ny,guess\n" + "a,a\nb,b\n" * 5)
    assert main(["evaluate", str(path), "--target", "y", "--pred", "guess", "--metrics", "accuracy"]) == 0


def test_logits_of_a_study_are_in_the_order_of_the_labels_that_name_them(file):
    from jaxci.cli.study import _data

    found = [_data(file, [], "y", scores, [], [], None)["data"] for scores in (["a", "b", "c"], ["c", "a", "b"])]
    for one, other in zip(*(next(iter(each.values())) for each in found), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_what_was_drawn_can_be_drawn_again(capsys, tmp_path):
    """Also by methods that flip signs and do not resample."""
    file = tmp_path / "values.csv"
    a, b = np.random.default_rng(0).random((2, 40)).round(2).tolist()
    rows = [f"{x},{y},{row // 2}" for row, (x, y) in enumerate(zip(a, b, strict=True))]
    file.write_text("\n".join(["a,b,group", *rows]) + "\n")
    flips = ["compare", file, "--metric", "mean", "--pred-a", "a", "--pred-b", "b", "--groups", "group"]
    board = ["leaderboard", file, "--metric", "mean", "--models", "a,b"]
    for arguments in (flips, board):
        main(list(map(str, arguments)))
        first = capsys.readouterr().out
        assert "repeat with --seed " in first
        seed = first.split("repeat with --seed ")[1].split()[0]
        main([*map(str, arguments), "--seed", seed])
        assert capsys.readouterr().out == first


class TestFilesOfText:
    @pytest.mark.parametrize("size", [1, 2**21])
    def test_what_holds_an_underscore_is_no_number(self, tmp_path, size):
        path = tmp_path / "rows.csv"
        names = ["1_12", "11_2", "1_1"]
        path.write_text("patient,more\n" + "".join(f"{name},{'x' * (size // 3)}\n" for name in names))
        assert read_columns(path, ["patient"])["patient"].tolist() == names

    def test_clusters_of_two_parts_stay_apart(self, capsys, tmp_path):
        path, out = tmp_path / "rows.csv", tmp_path / "out.json"
        names = [f"{site}_{case}" for site in range(1, 13) for case in range(1, 13)]
        path.write_text("y,guess,patient\n" + "".join(f"1,1,{name}\n0,1,{name}\n" for name in names))
        options = ["--target", "y", "--pred", "guess", "--groups", "patient", "--metrics", "accuracy", "--seed", "0"]
        assert main(["evaluate", str(path), *options, "--json", str(out)]) == 0
        assert json.loads(out.read_text())["rows"][0]["n"] == len(names)

    def test_numbers_have_no_underscores(self, capsys, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text("x\n1_000\n" + "2000\n" * 20)
        said = refusal(capsys, "check", path, "--metric", "mean", "--pred", "x")
        assert said.endswith("must hold numbers; got dtype object, the text '1_000' in row 0")

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [10, 2**20])
    def test_an_empty_line_of_a_single_column_is_a_missing_value(self, tmp_path, size):
        path = tmp_path / "rows.csv"
        path.write_text("x\n1\n\n" + "2\n" * size + "\n\n")
        found = read_columns(path, ["x"])["x"]
        assert len(found) == size + 2
        np.testing.assert_array_equal(found[:3], [1, np.nan, 2])

    @pytest.mark.parametrize("size", [1, 2**20])
    def test_a_line_of_blanks_is_no_row_among_several_columns(self, tmp_path, size):
        path = tmp_path / "rows.csv"
        path.write_text(f"x,note\n1,{'x' * size}\n   \n2,\n \t\n")
        assert read_columns(path, ["x"])["x"].tolist() == [1, 2]

    def test_other_empty_lines_are_none(self, capsys, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text("x,y\n\n1,2\n\n3,4,5\n")
        said = refusal(capsys, "check", path, "--metric", "mean", "--pred", "x")
        assert said.endswith("row 1 has 3 values, the header has 2")

    @pytest.mark.parametrize("way", ["--whole", "--stream"])
    def test_json_that_is_not_in_lines(self, capsys, tmp_path, way):
        pytest.importorskip("pandas")
        path = tmp_path / "rows.json"
        path.write_text('[{"y": 0, "p": 0}, {"y": 1, "p": 1}]')
        said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "p", way)
        assert said.endswith("must end in .jsonl, and hold an object of JSON in each line, to be read as JSON")

    def test_a_text_among_numbers_is_told(self, capsys, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text("y,guess\n" + "1,1\n0,0\n" * 5 + "-,1\n")
        said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "guess", "--whole")
        assert said.endswith("the text '-' in row 10 of --target")

    def test_types_among_labels_are_told(self, capsys, tmp_path):
        path = tmp_path / "rows.jsonl"
        path.write_text('{"y": 1, "p": 1}\n{"y": 0, "p": 0}\n{"y": 1, "p": "1"}\n')
        said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "p", "--whole")
        told = "got ['int', 'str'], such as 1 in row 0 and '1' in row 2"
        assert said == f"--pred must hold labels of one type; {told}"

    def test_a_gap_in_groups_is_told_by_its_option(self, capsys, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text("y,guess,site\n" + "1,1,a\n0,0,b\n" * 5 + "1,1,\n")
        said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "guess", "--by", "site", "--whole")
        assert said.startswith("'site' of --by must have no missing labels; 1 of 11 values")
        assert said.endswith("(fields that are empty, NA, N/A, NaN, null or None are taken for missing)")

    def test_models_of_another_length_are_told_by_their_option(self, capsys, tmp_path):
        (tmp_path / "rows.csv").write_text("y\n" + "1\n0\n" * 10)
        for name in "ab":
            (tmp_path / f"{name}.csv").write_text("p\n" + "1\n0\n" * 9)
        models = ",".join(str(tmp_path / f"{name}.csv") for name in "ab")
        arguments = ["--target", "y", "--models", models, "--metric", "accuracy"]
        said = refusal(capsys, "leaderboard", tmp_path / "rows.csv", *arguments)
        assert said.endswith("--target has 20, 'a' of --models has 18, 'b' of --models has 18")


def test_bounds_of_values_on_a_leaderboard(capsys, tmp_path):
    path, out = tmp_path / "rows.csv", tmp_path / "board.json"
    path.write_text("a,b\n" + "1,1\n" * 30 + "1,0\n" * 5)
    arguments = ["leaderboard", str(path), "--models", "a,b", "--metric", "mean", "--seed", "0", "--resamples", "999"]
    assert main([*arguments, "--bounds", "0,1", "--json", str(out)]) == 0
    first = json.loads(out.read_text())["entries"][0]
    assert (first["name"], first["high"]) == ("a", 1)
    assert first["low"] < 0.97  # all passed, and others may not
    capsys.readouterr()
    assert refusal(capsys, *arguments, "--bounds", "0,0.5").startswith("--bounds must hold all values")


@pytest.mark.slow
def test_bounds_of_the_mean_of_values(capsys, tmp_path):
    file, out = tmp_path / "a.csv", tmp_path / "out.json"
    file.write_text("\n".join(["pass", *["1"] * 29, "0"]) + "\n")
    arguments = ["evaluate", str(file), "--target", "pass", "--seed", "0"]
    assert main([*arguments, "--metrics", "mean,std", "--bounds", "0,1", "--json", str(out)]) == 0
    capsys.readouterr()
    first, second = json.loads(out.read_text())["rows"]
    assert first["statistic"] == "mean within [0, 1]"
    expected = jaxci.interval("mean", [1.0] * 29 + [0.0], bounds=(0, 1), rng=0)
    assert first["confidence_interval"]["high"] == pytest.approx(expected.confidence_interval.high)
    assert second["statistic"] == "std"
    told = refusal(capsys, *arguments, "--metrics", "median", "--bounds", "0,1")
    assert told == "--bounds goes with the metric mean, of values; got median"
    assert refusal(capsys, *arguments, "--metrics", "mean", "--bounds", "0,1", "--stream").startswith(
        "--strata, --by, "
    )


class TestWhatIsReadAsItStands:
    @pytest.mark.parametrize("way", ["--whole", "--stream"])
    @pytest.mark.parametrize(("scores", "shown"), [("[0.3, 0.7]", "[0.3, 0.7]"), ('{"a": 1}', "{'a': 1}")])
    def test_several_values_in_one_are_refused(self, capsys, tmp_path, way, scores, shown):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(f'{{"y": {row % 2}, "s": {scores}}}\n' for row in range(20)))
        said = refusal(capsys, "evaluate", path, "--target", "y", "--score", "s", "--metrics", "roc_auc", way)
        assert "row 0" in said
        assert f"one value; got {shown}" in said

    @pytest.mark.parametrize("ways", [["--whole"], ["--stream"]])
    def test_a_quote_that_is_never_closed_loses_no_rows(self, capsys, tmp_path, ways):
        pytest.importorskip("pandas")
        path = tmp_path / "rows.csv"
        path.write_text("y,p,note\n" + "1,1,\n" * 10 + '1,0,"he said\n' + "1,0,\n" * 50)
        said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "p", "--metrics", "accuracy", *ways)
        assert "row 10" in said
        path.write_text('y,p,"note\n1,1,\n')
        if ways == ["--whole"]:
            said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "p", "--metrics", "accuracy", *ways)
            assert said.endswith("the header opens a quote that is never closed")

    def test_two_columns_of_one_name_are_refused_in_every_way(self, capsys, tmp_path):
        pytest.importorskip("pandas")
        path = tmp_path / "rows.csv"
        path.write_text("y,p,y\n" + "1,1,0\n0,0,1\n" * 10)
        columns = ["--target", "y", "--pred", "p", "--metrics", "accuracy"]
        again = tmp_path / "again.csv"
        again.write_text(path.read_text())
        for files in ([path], [path, again], [path, "--stream"]):
            assert "has 2 columns with the name 'y'" in refusal(capsys, "evaluate", *files, *columns)

    def test_rows_longer_than_the_header_are_told_in_batches(self, capsys, tmp_path):
        pytest.importorskip("pandas")
        path = tmp_path / "rows.csv"
        path.write_text("y,p\n" + "1,1,5\n" * 10)
        said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "p", "--metrics", "accuracy", "--stream")
        assert said.endswith("row 0 has 3 values, the header has 2")

    @pytest.mark.parametrize("way", ["small", "large", "batches"])
    @pytest.mark.parametrize(("early", "late"), [("", ""), ("", ","), (",", ""), (",", ",NA"), (",, \t", ",")])
    def test_what_is_beyond_the_header_holds_no_value_or_is_refused(self, monkeypatch, tmp_path, way, early, late):
        pytest.importorskip("pandas")
        path, names = tmp_path / "rows.csv", ["y", "site"]
        if way == "large":
            monkeypatch.setattr("jaxci.api.readers.tables.SMALL", 0)

        def read():
            if way == "batches":
                return next(read_batches([path], names, ["y"], texts=["site"])).columns
            return read_columns(path, names, texts=["site"])

        lines = f"y,note,site\n1,,a{early}\n0,,2{early}\n1,,b{late}\n"
        path.write_text(lines)
        assert {name: column.tolist() for name, column in read().items()} == {"y": [1, 0, 1], "site": ["a", "2", "b"]}
        path.write_text(lines + "1,,a,,7\n")
        with pytest.raises(ValueError, match="row 3 has 5 values, the header has 3"):
            read()

    def test_rows_that_become_longer_between_batches(self, monkeypatch, tmp_path):
        pytest.importorskip("pandas")
        path = tmp_path / "rows.csv"
        monkeypatch.setattr(batches, "_rows_at_a_time", lambda _: 4)
        path.write_text("y,p\n" + "".join(f"{row},0{',' * (row == 6)}\n" for row in range(10)))
        read = [batch.columns["y"].tolist() for batch in read_batches([path], ["y"], ["y"])]
        assert read == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]

    def test_summaries_of_values_of_several_files(self, capsys, tmp_path):
        pytest.importorskip("pandas")
        values = np.random.default_rng(0).random(60)
        for name, part in zip("ab", np.split(values, 2), strict=True):
            (tmp_path / f"{name}.csv").write_text("v\n" + "".join(f"{x!r}\n" for x in part.tolist()))
        out = tmp_path / "out.json"
        assert main(["evaluate", str(tmp_path), "--target", "v", "--metrics", "mean", "--json", str(out)]) == 0
        (row,) = json.loads(out.read_text())["rows"]
        assert (row["n"], row["estimate"]) == (60, pytest.approx(values.mean()))
        (tmp_path / "b.csv").write_text("v\n1\n\n3\n\n")
        capsys.readouterr()
        said = refusal(capsys, "evaluate", tmp_path, "--target", "v", "--metrics", "mean")
        assert said.endswith("b.csv, row 1, column 'v': the value is missing")

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [0, 2**21])
    def test_names_of_clusters_are_told_apart_as_they_are_written(self, tmp_path, size):
        pytest.importorskip("pandas")
        path, note = tmp_path / "rows.csv", "x" * (size // 60)
        names = [f"1.{row % 10 + 1}" for row in range(60)]
        path.write_text(
            "y,p,g,note\n" + "".join(f"{row % 2},{row % 2},{name},{note}\n" for row, name in enumerate(names))
        )
        assert read_columns(path, ["g"], texts=["g"])["g"].tolist() == names
        assert len(set(read_columns(path, ["g"])["g"].tolist())) == 9
        for way in ("--whole", "--stream"):
            out = tmp_path / "out.json"
            columns = ["--target", "y", "--pred", "p", "--groups", "g", "--metrics", "accuracy"]
            assert main(["evaluate", str(path), *columns, way, "--json", str(out)]) == 0
            assert json.loads(out.read_text())["rows"][0]["n"] == 10

    @pytest.mark.parametrize("way", ["--whole", "--stream"])
    @pytest.mark.parametrize("size", [0, 2**21])
    @pytest.mark.parametrize("labels", [("1.1", "1.10", "1.2"), ("07", "7", "8"), ("1e2", "100", "x1")])
    def test_labels_that_are_one_number_in_two_texts_are_refused_or_told_apart(
        self, tmp_path, capsys, labels, size, way
    ):
        pytest.importorskip("pandas")
        path, note, out = tmp_path / "rows.csv", "x" * (size // 60), tmp_path / "out.json"
        rows = [(labels[row % 3], labels[row % 4 % 3]) for row in range(60)]
        path.write_text("y,p,note\n" + "".join(f"{y},{p},{note}\n" for y, p in rows))
        asked = ["evaluate", path, "--target", "y", "--pred", "p", "--metrics", "accuracy", way]
        if "x1" not in labels:  # a word among them tells that all are texts
            said = refusal(capsys, *asked)
            assert f"column 'y', must write a label in one way; got {labels[0]!r} and {labels[1]!r}" in said
            assert f"--labels {labels[0]},{labels[1]},..." in said
            asked += ["--labels", ",".join(labels)]
        assert main([*map(str, asked), "--json", str(out)]) == 0
        assert json.loads(out.read_text())["rows"][0]["estimate"] == np.mean([y == p for y, p in rows])

    @pytest.mark.parametrize("way", ["--whole", "--stream"])
    def test_labels_are_told_apart_in_all_files_and_where_they_are_named(self, tmp_path, capsys, way):
        pytest.importorskip("pandas")
        for name, text in (("a", "1.1"), ("b", "1.10")):
            (tmp_path / f"{name}.csv").write_text("y,p\n" + f"{text},{text}\n2,2\n" * 20)
        asked = ["evaluate", tmp_path, "--target", "y", "--pred", "p", way]
        for more in (["--metrics", "accuracy"], ["--labels", "1.1,2"]):
            assert "b.csv, column 'y', must write a label in one way; got '1.1' and '1.10'" in refusal(
                capsys, *asked, *more
            )
        assert main([*map(str, asked), "--labels", "1.1,1.10,2", "--metrics", "accuracy"]) == 0

    def test_labels_are_told_apart_in_files_of_models_and_pilots(self, tmp_path, capsys):
        rows = {"t": ["07", "8", "8"], "a": ["07", "7", "8"], "b": ["7", "8", "8"]}
        for name, texts in rows.items():
            (tmp_path / f"{name}.csv").write_text("y\n" + "".join(f"{text}\n" for text in texts * 30))
        files, out = [tmp_path / f"{name}.csv" for name in "tab"], tmp_path / "out.json"
        asked = ["leaderboard", files[0], "--target", "y", "--models", f"{files[1]},{files[2]}", "--metric", "accuracy"]
        assert "must write a label in one way; got '07' and '7'" in refusal(capsys, *asked)
        assert main([*map(str, asked), "--labels", "07,7,8", "--json", str(out)]) == 0
        found = {entry["name"]: entry["estimate"] for entry in json.loads(out.read_text())["entries"]}
        assert found == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3)}
        capsys.readouterr()
        pilot = tmp_path / "pilot.csv"
        pilot.write_text("y,p\n" + "07,7\n7,7\n8,8\n" * 30)
        asked = ["plan", "accuracy", "--pilot", pilot, "--target", "y", "--pred", "p", "--width", ".1"]
        assert "must write a label in one way; got '07' and '7'" in refusal(capsys, *asked)

    @pytest.mark.parametrize("labels", [("01", "02", "10"), ("1.10", "1.20", "3"), ("1e5", "2e5", "3e5")])
    def test_scores_are_named_by_labels_as_they_are_written(self, tmp_path, labels):
        columns, out = [labels[1], labels[0], labels[2]], tmp_path / "out.json"
        rows = [",".join([own, *(".8" if own == column else ".1" for column in columns)]) for own in labels]
        path = tmp_path / "rows.csv"
        path.write_text("\n".join([",".join(["y", *columns]), *rows * 20]) + "\n")
        asked = ["evaluate", str(path), "--target", "y", "--score", ",".join(columns), "--metrics", "accuracy"]
        for more in ([], ["--labels", ",".join(labels)]):
            assert main([*asked, *more, "--json", str(out)]) == 0
            assert json.loads(out.read_text())["rows"][0]["estimate"] == 1

    def test_numbers_may_be_written_in_two_ways_where_they_are_no_labels(self, tmp_path):
        path, out = tmp_path / "rows.csv", tmp_path / "out.json"
        path.write_text("y,p,s\n" + "1.0,1,.5\n1,2.50,.50\n2.5,2.5,0.5\n" * 10)
        asked = ["evaluate", str(path), "--target", "y", "--pred", "p", "--json", str(out)]
        assert main(asked) == 0
        assert main([*asked, "--metrics", "mean_absolute_error"]) == 0
        assert json.loads(out.read_text())["rows"][0]["estimate"] == 0.5
        path.write_text("y,p,s\n" + "0.12,-0.0,.5\n1.5,2.0,.50\n1.75,0.0,0.75\n" * 10)  # predictions look like labels
        assert main(asked) == 0
        assert main(["leaderboard", str(path), *asked[2:4], "--models", "p,s", "--metric", "r2", "--seed", "1"]) == 0
        path.write_text("y,p,s\n" + "1,1.0,.5\n0,1,.50\n1,0.0,0.75\n" * 10)
        both = ["--models", "p,y", "--metric", "accuracy,mean_absolute_error", "--seed", "1"]
        assert main(["leaderboard", str(path), *asked[2:4], *both]) == 0
        assert main([*asked, "--score", "s", "--metrics", "accuracy,brier_score_loss"]) == 0

    def test_names_of_clusters_may_be_numbers_in_one_file_and_words_in_another(self, tmp_path):
        pytest.importorskip("pandas")
        for name, groups in (("a", "0123456789"), ("b", "01234567AB")):
            lines = [f"{row % 2},{row % 2},{groups[row % 10]}\n" for row in range(60)]
            (tmp_path / f"{name}.csv").write_text("y,p,g\n" + "".join(lines))
        out = tmp_path / "out.json"
        columns = ["--target", "y", "--pred", "p", "--groups", "g", "--metrics", "accuracy"]
        assert main(["evaluate", str(tmp_path), *columns, "--json", str(out)]) == 0
        assert json.loads(out.read_text())["rows"][0]["n"] == 12

    def test_integers_beyond_eight_bytes_are_told_apart(self, tmp_path):
        names = [2**64 - 1, 2**64 - 2, -1]
        path = tmp_path / "rows.csv"
        path.write_text("g\n" + "".join(f"{name}\n" for name in names))
        assert read_columns(path, ["g"])["g"].tolist() == names
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(f'{{"g": {name}}}\n' for name in names))
        assert read_columns(path, ["g"])["g"].tolist() == names


def test_dates_and_numbers_are_no_labels_of_one_type():
    dates = np.array(["2026-01-01", "2026-01-02"] * 10, "datetime64[D]")
    with pytest.raises(
        TypeError, match=r"y_true must hold labels of the type of the others; got dtype datetime64\[D\]"
    ):
        jaxci.evaluate(dates, np.arange(20) % 2, metrics=["accuracy"])


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("y , p\n1,1\n0,0\n", ["evaluate", "--target", "y", "--pred", "p"], "one with blanks around its name, 'y '"),
        (
            "y,p\n1,1\n0,0\n",
            ["evaluate", "--target", "y", "--pred", "p", "--threshold", ".5"],
            "--threshold makes labels",
        ),
        (
            "loss,fold\n.1,0\n.2,0\n",
            ["losses", "--loss", "loss", "--fold", "fold"],
            "--fold must name at least two folds",
        ),
        (
            "loss,fold\n.1,0\n.2,1\n.3,2\n",
            ["losses", "--loss", "loss", "--fold", "fold", "--method", "five_by_two_cv"],
            "--fold must give pairs of halves that test each other for five_by_two_cv",
        ),
        (
            "loss,fold,row\n.1,0,a\n.2,0,a\n.3,1,b\n",
            ["losses", "--loss", "loss", "--fold", "fold", "--row", "row"],
            "--row must name a row once a fold; got 'a' again in fold 0",
        ),
        (
            "loss,fold,row,again\n.1,0,a,0\n.2,0,b,0\n.3,0,a,1\n.4,1,b,1\n",
            ["losses", "--loss", "loss", "--fold", "fold", "--row", "row", "--repeat", "again"],
            "--fold must leave rows to train on; fold 0 tests all 2",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_file_and_the_options(capsys, tmp_path, text, arguments, said):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    assert said in refusal(capsys, arguments[0], path, *arguments[1:])


def test_a_file_that_is_cut_short_is_named_once(capsys, tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"y,p\n" + b"1,1\n" * 100)[:-8])
    said = refusal(capsys, "evaluate", path, "--target", "y", "--pred", "p")
    assert said.count("rows.csv.gz") == 1


@pytest.mark.parametrize("way", [[], ["--stream"]])
def test_decimal_commas_are_told_of(capsys, file, way):
    file.write_text("y;s\n" + "1;0,75\n0;0,25\n" * 10)
    said = refusal(capsys, "evaluate", file, "--target", "y", "--score", "s", "--sep", ";", *way)
    assert "got '0,75'" in said
    assert said.endswith(" (numbers are written with decimal points, and without commas)")
    file.write_text("y;s\n" + "1;0,75x\n0;0,25\n" * 10)
    assert "decimal points" not in refusal(
        capsys, "evaluate", file, "--target", "y", "--score", "s", "--sep", ";", *way
    )


def test_the_length_of_blocks_may_be_auto(capsys, file):
    arguments = ["evaluate", str(file), "--target", "two", "--pred", "h", "--metrics", "accuracy", "--resampling"]
    shown = []
    for more in ([], ["--block-length", "auto"], ["--block-length", "5"]):
        assert main([*arguments, "moving", "--seed", "1", *more]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2]
    said = refusal(capsys, *arguments, "moving", "--block-length", "long")
    assert said == "--block-length must be a number of rows, or auto; got 'long'"
