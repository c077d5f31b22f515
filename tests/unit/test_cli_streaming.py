"""``jaxci evaluate`` of files in batches: the result of the file read as a whole, and errors that name the place."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxci.api.accumulator import Accumulator
from jaxci.cli import main
from jaxci.cli.batches import available_memory, data_files, too_large

pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("typer")

ARGUMENTS = ["--target", "y", "--pred", "guess", "--score", "score", "--seed", "3", "--resamples", "199"]


def frame(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, n)
    score = 1 / (1 + np.exp(-rng.normal(2.0 * y - 1)))
    return pd.DataFrame({"y": y, "guess": (score > 0.5).astype(int), "score": score, "site": rng.integers(0, 9, n)})


def evaluated(tmp_path, *arguments) -> dict:
    out = tmp_path / "out.json"
    assert main(["evaluate", *map(str, arguments), "--json", str(out)]) == 0
    return json.loads(out.read_text())


def refusal(capsys, *arguments) -> str:
    assert main(["evaluate", *map(str, arguments)]) == 2
    return capsys.readouterr().err


WRITERS = {
    "rows.csv": lambda rows, path: rows.to_csv(path, index=False),
    "rows.parquet": lambda rows, path: rows.to_parquet(path, index=False),
    "rows.tsv.gz": lambda rows, path: rows.to_csv(path, index=False, sep="\t"),
    "rows.jsonl": lambda rows, path: path.write_text("\n".join(map(json.dumps, rows.to_dict("records")))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_batches_give_the_result_of_the_whole_file(tmp_path, monkeypatch, name):
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    WRITERS[name](frame(), tmp_path / name)
    arguments = [tmp_path / name, *ARGUMENTS, "--metrics", "accuracy,f1,roc_auc,log_loss"]
    assert evaluated(tmp_path, *arguments, "--stream") == evaluated(tmp_path, *arguments, "--whole")


@pytest.mark.slow
def test_a_threshold_makes_labels_of_scores_in_batches_as_in_the_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    rows = frame()
    rows["logit"] = 4 * rows["score"] - 2
    WRITERS["rows.csv"](rows, tmp_path / "rows.csv")
    arguments = [tmp_path / "rows.csv", "--target", "y", "--score", "logit", "--threshold", "0.5"]
    streamed, whole = (evaluated(tmp_path, *arguments, reading)["rows"] for reading in ("--stream", "--whole"))
    assert [row["statistic"] for row in streamed] == [row["statistic"] for row in whole]
    recall = {row["statistic"]: row["estimate"] for row in streamed}["recall"]
    assert recall == np.mean(rows["logit"][rows["y"] == 1] >= 0.5)
    assert recall == {row["statistic"]: row["estimate"] for row in whole}["recall"]


@pytest.mark.parametrize("words", [slice(1400, None), slice(0, 700)])
@pytest.mark.parametrize("names", [["rows.csv"], ["rows.jsonl", "rows.csv"]])
def test_clusters_with_numbers_and_words_for_names_are_texts_in_all_batches(tmp_path, monkeypatch, names, words):
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    rows = frame(2800)
    rows["site"] = rows["site"].astype(object)
    rows.loc[rows.index[words], "site"] = "A" + rows["site"][words].astype(str)
    files = [tmp_path / name for name in names]
    for file, part in zip(files, np.split(np.arange(2800), len(files)), strict=True):
        WRITERS[file.name](rows.iloc[part], file)
    arguments = [*ARGUMENTS[:4], "--groups", "site", "--metrics", "accuracy", "--seed", 3]
    found, whole = (evaluated(tmp_path, *files, *arguments, way)["rows"][0] for way in ("--stream", "--whole"))
    assert found["confidence_interval"] == pytest.approx(whole["confidence_interval"], rel=1e-9)
    assert found["design_effect"] == pytest.approx(whole["design_effect"], rel=1e-9)


@pytest.mark.slow
def test_a_folder_and_several_files_are_one_data_set(tmp_path):
    rows = frame()
    folder = tmp_path / "data" / "inner"
    folder.mkdir(parents=True)
    for number, (name, write) in enumerate(WRITERS.items()):
        write(rows[750 * number : 750 * (number + 1)], folder / f"{number}_{name}")
    WRITERS["rows.csv"](rows, tmp_path / "all.csv")
    arguments = [*ARGUMENTS, "--groups", "site", "--metrics", "accuracy,f1"]
    expected = evaluated(tmp_path, tmp_path / "all.csv", *arguments)
    for reading in ("--stream", "--whole"):
        for files in ([tmp_path / "data"], sorted(folder.iterdir())):
            found = evaluated(tmp_path, *files, *arguments, reading)
            for one, two in zip(found["rows"], expected["rows"], strict=True):
                np.testing.assert_allclose(one["design_effect"], two["design_effect"], rtol=1e-9)
                assert one["confidence_interval"] == two["confidence_interval"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("value", "text"), [(None, "the value is missing"), ("high", "must be a number; got 'high'")])
def test_a_malformed_row_names_file_row_and_column(tmp_path, capsys, monkeypatch, name, value, text):
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    rows = frame().astype({"score": object})
    rows.loc[1234, "score"] = value
    if name.endswith("parquet"):
        rows["score"] = rows["score"].astype(str if value else float)  # texts, of which the others are numbers
    WRITERS[name](rows, tmp_path / name)
    error = refusal(capsys, tmp_path / name, *ARGUMENTS, "--stream")
    assert f"{name}, row 1234, column 'score'" in error
    assert text in error


SLIPS = {
    "a word among the labels": ("y", "x", [], "must be a number, as other labels are; got 'x'"),
    "a word among the predictions": ("guess", "x", [], "must be a number, as other labels are; got 'x'"),
    "a word in a target": ("y", "x", ["--metrics", "r2"], "must be a number; got 'x'"),
    "an infinite target": ("y", np.inf, ["--metrics", "r2"], "must be finite; got inf"),
    "an infinite score": ("score", -np.inf, [], "must be finite; got -inf"),
    "a score that is none": ("score", np.nan, [], "is missing"),
    "a negative weight": ("weight", -2.0, ["--weights", "weight"], "must not be negative; got -2.0"),
    "an infinite weight": ("weight", np.inf, ["--weights", "weight"], "must be finite; got inf"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "slip"),
    [
        (name, slip)
        for name in ("rows.csv", "rows.jsonl", "rows.parquet")
        for slip in SLIPS
        if name != "rows.parquet" or "word" not in slip  # its columns have one type
    ],
)
def test_a_slip_in_the_second_file_names_that_file_row_and_column(tmp_path, capsys, monkeypatch, name, slip):
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    (column, value, options, rule), row = SLIPS[slip], 800
    rows = frame(1000).assign(weight=1.0)
    WRITERS[name](rows, tmp_path / f"1_{name}")
    rows[column] = rows[column].astype(object)
    rows.loc[row, column] = value
    WRITERS[name](rows if value == "x" else rows.astype({column: float}), tmp_path / f"2_{name}")
    arguments = [tmp_path, "--target", "y", "--pred", "guess", *options]
    arguments += ["--score", "score"] if column == "score" else []
    for reading in ("--stream", "--whole"):
        error = refusal(capsys, *arguments, reading)
        assert error == f"error: {tmp_path / f'2_{name}'}, row {row}, column {column!r}: the value {rule}\n"


@pytest.mark.parametrize("labels", [["cat", "dog"], ["1", "two"], [True, False]])
def test_labels_may_be_words_and_truths(tmp_path, labels):
    rows = frame(300)
    for column in ("y", "guess"):
        rows[column] = np.array(labels, object)[rows[column]]
    arguments = [*ARGUMENTS[:4], "--pos-label", labels[1], "--seed", "3", "--metrics", "accuracy,f1"]
    for name in ("rows.csv", "rows.jsonl"):
        WRITERS[name](rows, tmp_path / name)
        assert evaluated(tmp_path, tmp_path / name, *arguments, "--stream")["rows"]


def test_words_beside_numbers_in_the_other_column_are_no_slips(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    frame(50).assign(y=lambda rows: np.where(rows["y"], "dog", "cat")).to_csv(path, index=False)
    error = refusal(capsys, path, *ARGUMENTS[:4], "--stream")
    assert "rows 0 to 49: labels must be of one type; --target has dtype <U3" in error


def test_a_third_label_beside_one_score_names_its_first_row(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    rows = frame(50).astype({"y": object})
    rows.loc[17, "y"] = "x"
    rows.to_csv(path, index=False)
    error = refusal(capsys, path, "--target", "y", "--score", "score", "--stream")
    assert "the rarest is 'x', 1 of 50 rows, the first in row 17" in error


def test_a_broken_line_names_its_row(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"y": 1, "guess": 1}\n{"y": 1, "gue\n')
    error = refusal(capsys, path, "--target", "y", "--pred", "guess", "--stream")
    assert f"{path}, row 1 cannot be read as JSON" in error
    path.write_text('{"y": 1, "guess": 1}\n{"y": 1}\n')
    error = refusal(capsys, path, "--target", "y", "--pred", "guess", "--stream")
    assert f"{path}, row 1, column 'guess': the value is missing" in error


def test_rows_that_an_accumulator_refuses_name_the_file(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    frame(50).to_csv(path, index=False)
    arguments = ["--target", "y", "--pred", "guess", "--labels", "1,2", "--stream"]
    assert f"{path}, rows 0 to 49: --target must only hold values in labels" in refusal(capsys, path, *arguments)


@pytest.mark.parametrize("option", [["--strata", "site"], ["--check"], ["--weight-type", "frequency"]])
def test_options_that_need_the_whole_file(tmp_path, capsys, option):
    path = tmp_path / "rows.csv"
    frame(50).to_csv(path, index=False)
    assert "need --whole" in refusal(capsys, path, *ARGUMENTS, "--stream", *option)


def test_files_are_read_in_batches_where_they_would_fill_memory(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"0" * 1000)
    assert not too_large([path])
    monkeypatch.setattr("jaxci.cli.batches.available_memory", lambda: 15_000.0)
    assert too_large([path])
    assert available_memory() > 2**20


def test_a_folder_without_data_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("none")
    with pytest.raises(ValueError, match=r"must have files that end in one of \.csv"):
        data_files([tmp_path])


def test_hidden_files_of_a_folder_are_no_data(tmp_path):
    dataset = pytest.importorskip("pyarrow.dataset")
    root = tmp_path / "_run" / "data"  # only names within the folder count
    names = ["a.parquet", "in/b.parquet", ".c.parquet", "_d.parquet", ".checkpoints/e.parquet", "in/_old/f.parquet"]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        frame(20).to_parquet(root / name)
    assert data_files([root]) == [root / "a.parquet", root / "in" / "b.parquet"]
    assert data_files([root]) == sorted(map(Path, dataset.dataset(root, format="parquet").files))
    assert data_files([root / "_d.parquet"]) == [root / "_d.parquet"]  # a file that is named is meant
    for twice in (
        [root, root / "a.parquet"],
        [root / "a.parquet"] * 2,
        [root / "a.parquet", root / "in" / ".." / "a.parquet"],
    ):
        with pytest.raises(
            ValueError, match=r"FILE must name every file once, or rows count twice; got .*a\.parquet and .*a\.parquet"
        ):
            data_files(twice)


CHILD = """
import resource, sys
import jaxci.cli.app, jax, pyarrow.parquet, pandas
jax.numpy.zeros(3).block_until_ready()
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = size + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from jaxci.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited and read as Linux does")
def test_a_file_larger_than_the_memory_that_is_left_is_evaluated(tmp_path):
    rng = np.random.default_rng(0)
    path, batch, room = tmp_path / "rows.csv", 10_000, 384 * 2**20
    names = np.array(
        ["a label that is long enough to fill the disk with it", "another label as long as the first one is"]
    )
    with path.open("w") as file:
        file.write("y,guess,filler\n")
        rows = names[rng.integers(0, 2, (batch, 2))]
        text = "".join(f"{y},{guess},{'x' * 2000}\n" for y, guess in rows)
        while file.tell() < room + 2**24:
            file.write(text)
    arguments = ["evaluate", path, "--target", "y", "--pred", "guess", "--metrics", "accuracy,f1_macro", "--seed", "1"]
    out = tmp_path / "out.json"
    # Every thread would reserve a heap of 64 MiB of its own, of which it uses little, and as many as meet.
    heaps = {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    heaps["JAX_ENABLE_COMPILATION_CACHE"] = "0"  # the compiler's threads are there before memory is limited
    found = subprocess.run(
        [sys.executable, "-c", CHILD, str(room), *map(str, arguments), "--json", str(out)],
        capture_output=True,
        text=True,
        env=os.environ | heaps,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    result = json.loads(out.read_text())
    assert result["n"] == batch * ((room + 2**24) // len(text) + 1)
    assert result["rows"][0]["estimate"] == pytest.approx(float(np.mean(rows[:, 0] == rows[:, 1])))


@pytest.mark.slow
def test_a_small_text_file_is_read_without_pandas_and_pyarrow(tmp_path):
    path = tmp_path / "rows.csv"
    frame(60).to_csv(path, index=False)
    code = """
import sys
from jaxci.cli import main
assert main(["evaluate", sys.argv[1], *sys.argv[2:], "--metrics", "accuracy"]) == 0
print(sorted({"pandas", "pyarrow"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code, path, *ARGUMENTS], capture_output=True, text=True)
    assert found.stdout.splitlines()[-1:] == ["[]"], found.stderr


@pytest.mark.slow
def test_ranks_of_several_classes_in_clusters_are_streamed(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 1000)
    monkeypatch.setattr("jaxci.cli.streaming.Accumulator", functools.partial(Accumulator, max_rows=1000))
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 2000)
    scores = rng.random((2000, 3)) + 0.4 * (y[:, None] == np.arange(3))
    columns = {f"s{k}": scores[:, k] / scores.sum(axis=1) for k in range(3)}
    pd.DataFrame({"y": y, **columns, "site": rng.integers(0, 60, 2000)}).to_parquet(tmp_path / "rows.parquet")
    arguments = [tmp_path / "rows.parquet", "--target", "y", "--score", "s0,s1,s2", "--seed", "3", "--resamples", "399"]
    arguments += ["--metrics", "accuracy,roc_auc_ovr,average_precision_macro,expected_calibration_error"]
    for more in ([], ["--groups", "site"]):
        whole = evaluated(tmp_path, *arguments, *more, "--method", "percentile", "--whole")
        found = evaluated(tmp_path, *arguments, *more, "--method", "percentile", "--stream")
        for one, two in zip(found["rows"], whole["rows"], strict=True):
            np.testing.assert_allclose(one["estimate"], two["estimate"], rtol=1e-9)
            assert abs(one["standard_error"] / two["standard_error"] - 1) < 0.2


@pytest.mark.parametrize("way", ["--whole", "--stream"])
@pytest.mark.parametrize("header", ["y,guess,site", "y"])
def test_blanks_around_a_text_are_no_part_of_it(tmp_path, way, header):
    lines = ["a , a,B ", " b,b ,B", "b,a , B", "a,a,C"]
    lines = lines if "," in header else [line.split(",")[0] for line in lines]
    (tmp_path / "rows.csv").write_text("\n".join([header, *lines * 10]) + "\n")
    pred = "guess" if "," in header else "y"
    found = evaluated(tmp_path, tmp_path / "rows.csv", "--target", "y", "--pred", pred, "--metrics", "accuracy", way)
    assert found["rows"][0]["estimate"] == (0.75 if "," in header else 1.0)
    assert not any("never has" in text or "only in case" in text for text in found["warnings"])


@pytest.fixture
def few_rows_are_kept(monkeypatch):
    """Batches of 700 rows, of which 1,000 are kept."""
    monkeypatch.setattr("jaxci.cli.batches.BATCH_ROWS", 700)
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 1000)
    monkeypatch.setattr("jaxci.cli.streaming.Accumulator", functools.partial(Accumulator, max_rows=1000))


@pytest.mark.parametrize("more", ["--groups", "--weights"])
@pytest.mark.slow
def test_batches_have_the_default_metrics_of_the_whole_file(tmp_path, capsys, few_rows_are_kept, more):
    rng = np.random.default_rng(1)
    y = rng.normal(size=2000)
    rows = pd.DataFrame({"y": y, "guess": y + rng.normal(size=2000), "site": 1 + np.arange(2000) % 40})
    rows.to_parquet(tmp_path / "rows.parquet")
    arguments = [tmp_path / "rows.parquet", "--target", "y", "--pred", "guess", more, "site", "--resamples", 99]
    found, whole = (evaluated(tmp_path, *arguments, way)["rows"] for way in ("--stream", "--whole"))
    assert [row["statistic"] for row in found] == [row["statistic"] for row in whole]
    of_median = [{row["statistic"]: row for row in rows}["median_absolute_error"] for rows in (found, whole)]
    assert of_median[0]["confidence_interval"] == of_median[1]["confidence_interval"]
    said = refusal(capsys, *arguments, "--metrics", "spearmanr", "--stream")
    told = f"need all rows with {more}, which batches do not keep: name other --metrics, or pass --whole"
    assert told in said
    assert "max_rows" not in said


def test_rank_correlations_of_ratings_are_those_of_the_whole_file(tmp_path, few_rows_are_kept):
    rng = np.random.default_rng(2)
    y = rng.integers(1, 6, 2000)
    pd.DataFrame({"y": y, "guess": np.round(y + rng.normal(size=2000), 1)}).to_csv(tmp_path / "rows.csv")
    arguments = [tmp_path / "rows.csv", "--target", "y", "--pred", "guess", "--metrics", "spearmanr"]
    found, whole = (evaluated(tmp_path, *arguments, "--method", "delta", way) for way in ("--stream", "--whole"))
    (row,), (expected,) = found["rows"], whole["rows"]
    assert row["estimate"] == pytest.approx(expected["estimate"], rel=1e-12)
    assert row["confidence_interval"] == pytest.approx(expected["confidence_interval"], rel=1e-9)
    assert found["warnings"] == whole["warnings"]


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], ["a", "b", "c"]])
@pytest.mark.parametrize("pred", [[], ["--pred", "guess"]])
def test_rows_that_are_sorted_by_class_have_the_metrics_of_the_whole_file(tmp_path, few_rows_are_kept, labels, pred):
    rng = np.random.default_rng(1)
    codes = np.sort(rng.integers(0, len(labels), 3000))
    scores = rng.random((3000, len(labels))) + (codes[:, None] == np.arange(len(labels)))
    scores /= scores.sum(axis=1, keepdims=True)
    names = [f"s_{label}" for label in labels]
    rows = pd.DataFrame(scores, columns=names)
    rows["y"], rows["guess"] = np.array(labels)[codes], np.array(labels)[scores.argmax(axis=1)]
    rows.to_parquet(tmp_path / "rows.parquet")
    arguments = [tmp_path / "rows.parquet", "--target", "y", "--score", ",".join(names), *pred, "--resamples", 99]
    found, whole = (evaluated(tmp_path, *arguments, way) for way in ("--stream", "--whole"))
    assert [row["statistic"] for row in found["rows"]] == [row["statistic"] for row in whole["rows"]]
    for one, two in zip(found["rows"], whole["rows"], strict=True):
        assert one["estimate"] == pytest.approx(two["estimate"], rel=1e-3)


def test_all_rows_of_one_class_have_the_metrics_of_the_whole_file(tmp_path, few_rows_are_kept):
    rows = frame(2000).assign(y=1)
    rows.to_parquet(tmp_path / "rows.parquet")
    arguments = [tmp_path / "rows.parquet", "--target", "y", "--pred", "guess"]
    found, whole = (evaluated(tmp_path, *arguments, way) for way in ("--stream", "--whole"))
    assert [row["statistic"] for row in found["rows"]] == [row["statistic"] for row in whole["rows"]] == ["accuracy"]


@pytest.mark.parametrize("metrics", ["accuracy", "accuracy,cohen_kappa_score"])
@pytest.mark.parametrize("groups", [[], ["--groups", "site"]])
def test_remarks_on_labels_count_rows_and_not_their_kinds(tmp_path, few_rows_are_kept, metrics, groups):
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b", "c"], 2000)
    guess = np.where(np.arange(2000) < 105, "z", y)
    pd.DataFrame({"y": y, "guess": guess, "site": np.arange(2000) % 40}).to_csv(tmp_path / "rows.csv", index=False)
    arguments = [tmp_path / "rows.csv", "--target", "y", "--pred", "guess", "--metrics", metrics, *groups]
    found, whole = (evaluated(tmp_path, *arguments, way) for way in ("--stream", "--whole"))
    assert any(text.startswith("y_pred in 105 of 2000 rows has a label") for text in found["warnings"])
    assert sorted(found["warnings"]) == sorted(whole["warnings"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "y_pred was not given: scores of at least 0.5 count as positive"),
        (["--threshold", "0.3"], "y_pred was not given: scores of at least 0.3 count as positive"),
        (["--weights", "site"], "y_pred was not given: scores of at least 0.5 count as positive"),
    ],
)
def test_labels_that_follow_from_scores_are_told_of_in_batches(tmp_path, few_rows_are_kept, more, said):
    frame(3000).assign(site=lambda rows: rows["site"] + 1).to_parquet(tmp_path / "rows.parquet")
    arguments = [tmp_path / "rows.parquet", "--target", "y", "--score", "score", "--resamples", 99, "--stream"]
    assert said in evaluated(tmp_path, *arguments, "--metrics", "accuracy,roc_auc", *more)["warnings"]
    assert said not in evaluated(tmp_path, *arguments, "--metrics", "roc_auc", *more)["warnings"]


@pytest.mark.parametrize("metrics", ["accuracy", "r2", "mean_absolute_error", "roc_auc"])
def test_clusters_that_differ_in_case_are_told_of_in_batches(tmp_path, few_rows_are_kept, metrics):
    rows = frame(2000).assign(site=[f"{'sS'[i % 2]}{i % 40 // 2}" for i in range(2000)])
    rows.to_parquet(tmp_path / "rows.parquet")
    arguments = [*ARGUMENTS[:2], *(ARGUMENTS[4:6] if metrics == "roc_auc" else ARGUMENTS[2:4]), "--resamples", 99]
    arguments = [tmp_path / "rows.parquet", *arguments, "--groups", "site", "--metrics", metrics]
    for way in ("--stream", "--whole"):
        told = [text for text in evaluated(tmp_path, *arguments, way)["warnings"] if "only in case" in text]
        assert [text.partition(" and 17 more")[0] for text in told] == [
            "groups has 'S0' and 's0', 'S1' and 's1', 'S10' and 's10'"
        ]


@pytest.mark.parametrize("names", [["a.csv", "b.csv"], ["a.csv", "b.parquet"], ["a.jsonl", "b.csv"]])
def test_clusters_are_the_same_whether_their_numbers_are_written_as_floats(tmp_path, names):
    rows = frame(400).assign(site=np.arange(400) % 40)
    files = [tmp_path / name for name in names]
    for file, part in zip(files, [rows[:200], rows[200:].astype({"site": float})], strict=True):
        WRITERS[f"rows{file.suffix}"](part, file)
    arguments = [*ARGUMENTS[:4], "--groups", "site", "--metrics", "accuracy", "--seed", 3]
    found = [evaluated(tmp_path, *files, *arguments, way)["rows"][0] for way in ("--stream", "--whole")]
    rows.to_csv(tmp_path / "all.csv", index=False)
    expected = evaluated(tmp_path, tmp_path / "all.csv", *arguments)["rows"][0]
    for one in found:
        assert one["n"] == expected["n"]
        assert one["confidence_interval"] == pytest.approx(expected["confidence_interval"], rel=1e-9)


@pytest.mark.parametrize("more", [[], ["--groups", "site"]])
@pytest.mark.parametrize("way", ["--stream", "--whole"])
def test_a_file_with_a_header_alone_has_no_rows(tmp_path, capsys, way, more):
    path = tmp_path / "none.csv"
    frame(30).iloc[:0].to_csv(path, index=False)
    assert f"{path.name} has no rows" in refusal(capsys, path, *ARGUMENTS, *more, way)


@pytest.mark.parametrize("way", ["--stream", "--whole"])
def test_parts_of_a_data_set_may_have_no_rows_if_others_have(tmp_path, capsys, way):
    rows, folder = frame(60), tmp_path / "parts"
    folder.mkdir()
    for name, part in (("a", rows.iloc[:0]), ("b", rows), ("c", rows.iloc[:0])):
        part.to_parquet(folder / f"{name}.parquet", index=False)
    (row,) = evaluated(tmp_path, folder, *ARGUMENTS[:4], "--metrics", "accuracy", way)["rows"]
    assert row["n"] == 60
    (folder / "b.parquet").unlink()
    assert "c.parquet has no rows" in refusal(capsys, folder, *ARGUMENTS, way)
