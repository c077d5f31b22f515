"""The folder of a study: files that are not what they should be, studies that grow, and processes that share it."""

import dataclasses
import errno
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

pytest.importorskip("typer")

from jaxci.cli import main
from jaxci.coverage import GeneralizationStudy, Study, StudyResults, claims, load_study, planning
from jaxci.coverage.claims import Claims
from jaxci.coverage.status import state_of
from jaxci.coverage.store import DamagedFile, difference, file_name
from jaxci.distributions import Parametric
from jaxci.statistics import WeightedFunction

LAWS = {"beta": Parametric("beta", {"a": 8, "b": 2}), "gamma": Parametric("gamma", {"a": 2})}
CELLS = ("beta, n=10", "gamma, n=10")


def small(**changes):
    arguments = {
        "distributions": LAWS,
        "statistics": ["mean"],
        "methods": ["t", "percentile"],
        "sample_sizes": [10],
        "n_replications": 20,
        "n_resamples": 19,
        "n_groups": 2,
        "seed": 5,
    }
    return Study(**(arguments | changes))


def same(found, expected, within=0.0):
    assert list(found) == list(expected)
    for name, column in expected.items():
        if within and name not in ("coverage", "coverage_error", "below", "above") and column.dtype.kind == "f":
            np.testing.assert_allclose(found[name], column, rtol=within, err_msg=name)
            continue
        np.testing.assert_array_equal(found[name], column, err_msg=name)


def stamps(folder):
    return {p.name: p.stat().st_mtime_ns for p in (folder / "cells").iterdir()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder and table of the finished study; tests copy it."""
    folder = tmp_path_factory.mktemp("finished") / "results"
    return folder, small().run(folder).columns


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished[0], tmp_path / "results")


def cell(folder, name="beta, n=10"):
    return folder / "cells" / file_name(name)


def cut(path):
    path.write_bytes(path.read_bytes()[:-40])


def without_identity(path):
    record = json.loads(path.read_text())
    del record["of"]
    path.write_text(json.dumps(record))


def of_another_seed(path):
    record = json.loads(path.read_text())
    record["of"]["seed"] = 6
    path.write_text(json.dumps(record))


def edited(path):
    path.write_text(re.sub(r'"coverage": [0-9.]+', '"coverage": "high"', path.read_text(), count=1))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (cut, "is damaged or cut short"),
        (edited, "was changed since it was written"),
        (lambda path: path.write_text("[]"), "it holds no record"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is damaged or cut short"),
        (lambda path: shutil.copy(cell(path.parent.parent, "gamma, n=10"), path), "is not of 'beta, n=10' but of 'gam"),
        (of_another_seed, "is of another study: seed is 6 there and 5 here"),
        (without_identity, "does not say what it is of"),
    ],
)
def test_a_file_of_a_cell_that_is_none_is_named_refused_and_recomputed(folder, finished, spoil, why):
    path, kept = cell(folder), cell(folder, "gamma, n=10")
    spoil(path)
    before = kept.stat().st_mtime_ns
    for use in (small().run, small().results):
        with pytest.raises(DamagedFile, match=why) as refused:
            use(folder)
        assert str(refused.value).startswith(f"{path} ")
        assert "--recompute" in str(refused.value)
    state = state_of(small(), folder)
    assert (state.done, state.to_do, list(state.damaged)) == (["gamma, n=10"], [], ["beta, n=10"])
    same(small().run(folder, recompute=True).columns, finished[1])
    assert kept.stat().st_mtime_ns == before


def edited_truth(path):
    path.write_text(path.read_text().replace('"value": 2.0', '"value": 7.5'))


@pytest.mark.slow
def test_damaged_true_values_are_named_refused_and_recomputed(folder, finished):
    path = folder / "truths" / file_name("gamma")
    for spoil, why in ((edited_truth, "was changed since it was written"), (cut, "is damaged or cut short")):
        spoil(path)
        with pytest.raises(DamagedFile, match=rf"truths.gamma.* {why}"):
            small().run(folder)
    assert list(state_of(small(), folder).damaged) == ["true values of gamma"]
    before = stamps(folder)
    same(small().run(folder, recompute=True).columns, finished[1])
    assert stamps(folder) == before
    assert not path.exists()  # no cell that is done asks for it
    small(sample_sizes=[10, 12]).run(folder)
    assert set(json.loads(path.read_text())["truths"]) == {"mean"}


def changed_manifest(path):
    path.write_text(path.read_text().replace('"seed": 5', '"seed": 6'))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (cut, "is damaged or cut short"),
        (lambda path: path.write_text("{}"), "is damaged or cut short"),
        (changed_manifest, "is not the one that its hash was taken of"),
        (lambda path: path.unlink(), "is not there, and the folder holds cells"),
    ],
)
def test_a_manifest_that_is_none_is_named_refused_and_written_again(folder, finished, spoil, why):
    path, before = folder / "manifest.json", stamps(folder)
    spoil(path)
    for use in (small().run, small().results, lambda where: state_of(small(), where)):
        with pytest.raises(DamagedFile, match=why) as refused:
            use(folder)
        assert str(refused.value).startswith(f"{path} ")
    same(small().run(folder, recompute=True).columns, finished[1])
    assert stamps(folder) == before  # the cells say what they are of, and are kept
    small().results(folder)


def test_cells_of_another_seed_without_their_manifest_are_computed_anew(folder, tmp_path):
    (folder / "manifest.json").unlink()
    other = small(seed=6)
    found = other.run(folder, recompute=True).columns
    same(found, other.run(tmp_path / "fresh").columns)


@dataclasses.dataclass(eq=False, frozen=True)
class Coins:
    """A law of the user's own, of shares."""

    share: float

    def sample(self, key, n):
        return jax.random.bernoulli(key, self.share, (n,)).astype(float)


def weighed(scale):
    def level(x, weights):
        return scale * jnp.sum(weights * x) / jnp.sum(weights)

    return {"level": WeightedFunction(level)}


def faces(*masses):
    return stats.rv_discrete(values=([0, 1], masses))()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({"distributions": {"own": Coins(0.1)}}, {"distributions": {"own": Coins(0.5)}}, r"own\.draws is"),
        ({"distributions": {"own": faces(0.9, 0.1)}}, {"distributions": {"own": faces(0.5, 0.5)}}, r"own\.draws is"),
        ({"statistics": weighed(1.0)}, {"statistics": weighed(2.0)}, "statistics is .*'?value"),
    ],
    ids=["object", "frozen law", "function"],
)
def test_what_is_of_the_users_own_is_told_from_what_it_was(tmp_path, before, after, why):
    """A name is all that a file holds of it: the folder gave the numbers of the one before."""
    asked = {"methods": ["percentile"], "distributions": {"gamma": LAWS["gamma"]}}
    first = small(**(asked | before)).run(tmp_path / "own")
    with pytest.raises(ValueError, match=why):
        small(**(asked | after)).run(tmp_path / "own")
    again = small(**(asked | before)).run(tmp_path / "own")
    assert again.columns["truth"].tolist() == first.columns["truth"].tolist()
    assert state_of(small(**(asked | before)), tmp_path / "own").done == [
        f"{next(iter(first.study.distributions))}, n=10"
    ]


def test_files_that_are_of_no_cell_are_listed(folder):
    stranger = cell(folder, "delta, n=10")
    stranger.write_text("{}")
    assert state_of(small(), folder).strangers == [stranger]


GROWN = {
    "sizes": {"sample_sizes": [10, 12]},
    "distributions": {"distributions": {**LAWS, "norm": Parametric("norm", {})}},
    "statistics": {"statistics": ["median", "mean"]},
    "methods": {"methods": ["bca", "t", "percentile"]},
    "replications": {"n_replications": 30, "n_groups": 3},
    "groups of another size": {"n_replications": 30},
    "all at once": {
        "statistics": ["mean", "std"],
        "methods": ["t", "bca", "percentile"],
        "n_replications": 40,
        "n_groups": 4,
    },
}

SEVERAL = ("statistics", "distributions", "groups of another size")
"""Growths that slow tests make: the others have their parts."""


@pytest.mark.slow
@pytest.mark.parametrize("what", [pytest.param(k, marks=[pytest.mark.slow] * (k in SEVERAL)) for k in GROWN])
def test_a_grown_study_has_the_results_of_a_fresh_one(folder, tmp_path, what, monkeypatch):
    import jaxci.coverage.study as room

    simulated = []

    def counting(part, *rest, groups, simulate=room.simulate, **options):
        simulated.append((part.n, sorted(part.statistics), len(groups)))
        return simulate(part, *rest, groups=groups, **options)

    monkeypatch.setattr(room, "simulate", counting)
    grown, before = small(**GROWN[what]), stamps(folder)
    unchanged = what in ("sizes", "distributions")
    state = state_of(grown, folder)
    assert state.done == (list(CELLS) if unchanged else [])
    assert state.to_grow == ([] if unchanged else list(CELLS))
    found = grown.run(folder).columns
    expected = {
        "sizes": [(12, ["mean"], 2)] * 2,
        "distributions": [(10, ["mean"], 2)],
        "statistics": [(10, ["median"], 2)] * 2,
        "methods": [(10, ["mean"], 2)] * 2,
        "replications": [(10, ["mean"], 1)] * 2,
        "groups of another size": [(10, ["mean"], 2)] * 2,
        "all at once": [(10, ["mean", "std"], 2), (10, ["mean", "std"], 2)] * 2,
    }
    assert simulated == expected[what]
    if unchanged:
        assert before.items() <= stamps(folder).items()
    # Replicates are products in single precision, which round by how many statistics share one; of more methods another
    # program is compiled, which may round a width once more in double precision (as JAX 0.12 does).
    within = {"statistics": 1e-6, "all at once": 1e-6, "methods": 1e-14}.get(what, 0.0)
    same(found, grown.run(tmp_path / "fresh").columns, within)
    same(grown.results(folder).columns, found)
    with pytest.raises(ValueError, match=r"holds another study: .* \(it may only grow, in distributions, "):
        small().run(folder)


def test_a_cell_whose_tally_is_gone_or_damaged_grows_too(folder, tmp_path):
    grown = small(n_replications=30, n_groups=3)
    first, second = (folder / "tallies" / f"{file_name(name)[:-5]}.npz" for name in CELLS)
    first.unlink()
    cut(second)
    state = state_of(grown, folder)
    assert (state.to_grow, list(state.damaged)) == ([CELLS[0]], [CELLS[1]])
    with pytest.raises(DamagedFile, match=r"tallies.gamma.* is damaged or cut short"):
        grown.run(folder)
    found = grown.run(folder, recompute=True, keep_tallies=False)
    assert not second.exists()
    same(found.columns, grown.run(tmp_path / "fresh").columns)


def test_tags_may_change_and_are_read_anew(folder, finished):
    before = stamps(folder)
    tagged = small(tags={"beta": {"family": "bounded"}}).run(folder).columns
    assert set(tagged["family"]) == {"bounded", ""}
    assert stamps(folder) == before
    same({name: column for name, column in tagged.items() if name != "family"}, finished[1])


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": [1, 2]}, {"a": [2, 3, 1]}, None),
        ({"a": [1, 2]}, {"a": [2, 3]}, ("a", [1, 2], [2, 3])),
        ({"a": {"x": 1}}, {"a": {"y": 2, "x": 1}}, None),
        ({"a": {"x": 1}}, {"a": {"y": 2, "x": 2}}, ("a.x", 1, 2)),
        ({"b": 3}, {"b": 4}, None),
        ({"b": 3}, {"b": 2}, ("b", 3, 2)),
        ({"c": 3}, {"c": "x"}, None),
        ({"d": [1]}, {"d": [1, 2]}, ("d", [1], [1, 2])),
    ],
)
def test_how_fields_may_grow(old, new, found):
    assert difference(old, new, grows={"a": "contains", "b": "at least", "c": "free"}) == found


@pytest.mark.slow
def test_a_study_of_learners_grows_by_cells(tmp_path):
    fixed = {"n_replications": 4, "n_groups": 2, "n_validation": 100}
    GeneralizationStudy(["friedman1"], ["constant"], ["squared"], ["cv_wald"], [20], **fixed).run(tmp_path / "a")
    before = stamps(tmp_path / "a")
    more = GeneralizationStudy(["friedman1"], ["constant"], ["squared"], ["cv_wald"], [20, 24], **fixed)
    found = more.run(tmp_path / "a").columns
    assert before.items() <= stamps(tmp_path / "a").items()
    fresh = more.run(tmp_path / "b").columns
    same({k: v for k, v in found.items() if k != "seconds"}, {k: v for k, v in fresh.items() if k != "seconds"})
    with pytest.raises(ValueError, match=r"generalization\.n_validation is 100 there and 90 here"):
        GeneralizationStudy(["friedman1"], ["constant"], ["squared"], ["cv_wald"], [20, 24], 4, 2, 90).run(
            tmp_path / "a"
        )


def ended():
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_one_process_has_a_claim_until_it_ends_or_is_silent(tmp_path):
    holder = {"host": socket.gethostname(), "pid": os.getpid(), "time": time.time()}
    with Claims(tmp_path) as first, Claims(tmp_path) as second:
        assert first.take("cell")
        assert first.take("cell")
        assert not second.take("cell")
        assert second.others("cell") == f"process {os.getpid()} on {socket.gethostname()}"
        assert first.others("cell") == ""
        first.drop("cell")
        assert second.take("cell")
        assert not first.take("cell")
        path = first.path("dead")
        path.write_text(json.dumps(holder | {"pid": ended()}))
        assert first.others("dead") == ""
        assert first.take("dead")
        assert not second.take("dead")
        elsewhere = json.dumps(holder | {"host": "elsewhere"})
        for name, content, silence in (("elsewhere", elsewhere, claims.STALE), ("unwritten", "", claims.BLANK)):
            path = first.path(name)
            path.write_text(content)
            assert not first.take(name)
            os.utime(path, (0, time.time() - silence + 5))
            assert not first.take(name)
            os.utime(path, (0, time.time() - silence - 1))
            assert first.take(name)
            assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not list(tmp_path.iterdir())


def test_a_claim_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "BEAT", 0.01)
    with Claims(tmp_path) as mine:
        mine.take("cell")
        os.utime(mine.path("cell"), (0, 0))
        deadline = time.monotonic() + 10
        while mine.path("cell").stat().st_mtime == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_run_leaves_a_cell_to_another_until_that_gives_it_up(tmp_path, finished, monkeypatch):
    monkeypatch.setattr("jaxci.coverage.runner.POLL", 0.01)
    judged = []
    with Claims(tmp_path / "results" / "claims") as other:
        other.take("beta, n=10")

        def judging(self, name, *rest, judge=Study.judged):
            judged.append(name)
            if len(judged) == 1:  # while this cell is computed the other process stops
                other.drop("beta, n=10")
            return judge(self, name, *rest)

        monkeypatch.setattr(Study, "judged", judging)
        same(small().run(tmp_path / "results").columns, finished[1])
    assert judged == ["gamma, n=10", "beta, n=10"]
    assert not list((tmp_path / "results" / "claims").iterdir())


def test_results_of_several_studies_are_one_table(folder, finished, tmp_path):
    first = small().results(folder)
    other = small(name="other", seed=6, tags={"beta": {"family": "bounded"}}).run(tmp_path / "other")
    joined = StudyResults.concat([first, other])
    assert (len(joined.table), joined.n_cells, joined.n_done, joined.tags) == (8, 4, 4, ("study", "family"))
    assert list(dict.fromkeys(joined.columns["study"])) == ["study", "other"]
    assert list(dict.fromkeys(joined.columns["distribution"]))[1:3] == ["study: gamma", "other: beta"]
    assert list(joined.columns["family"]) == [""] * 4 + ["bounded"] * 2 + [""] * 2
    np.testing.assert_array_equal(joined.columns["coverage"][:4], finished[1]["coverage"])
    across = joined.compare(by="study", paired=False)
    assert (across["first_units"].tolist(), across["test"].size) == ([2], 1)
    assert joined.averages()["instances"].tolist() == [4, 4]
    with pytest.raises(ValueError, match="must be distinct, give others as names; got study, study"):
        StudyResults.concat([first, first])
    assert set(StudyResults.concat([first, first], ["a", "b"]).columns["study"]) == {"a", "b"}
    with pytest.raises(ValueError, match="must be one for each of the 2 studies; got a"):
        StudyResults.concat([first, first], ["a"])
    lacking = dataclasses.replace(first, columns={k: v for k, v in first.columns.items() if k != "bias"})
    assert np.isnan(StudyResults.concat([other, lacking], ["a", "b"]).columns["bias"][4:]).all()


def test_folders_are_merged_by_the_command(folder, tmp_path, capsys):
    copy = shutil.copytree(folder, tmp_path / "again")
    table, file = tmp_path / "all.csv", tmp_path / "all.json"
    merge = ["study", "merge", str(folder), str(copy)]
    assert main([*merge, "--names", "a,b", "--csv", str(table), "--json", str(file)]) == 0
    assert capsys.readouterr().out.strip() == f"{table} and {file}: 8 rows of 2 studies, 4 of 4 cells"
    assert table.read_text().startswith("study,distribution,")
    assert len(json.loads(file.read_text())["rows"]) == 8
    assert main([*merge, "--csv", str(table)]) == 0  # two of one name have those of their folders
    names = {line.split(",")[0] for line in table.read_text().splitlines()[1:]}
    assert names == {folder.name, "again"}
    capsys.readouterr()
    for arguments, message in (
        (merge, "needs a file to write"),
        (
            [*merge, "--csv", "all.xlsx"],
            "--csv must end in .parquet, .pq, .csv or .csv.gz, or have no ending; got 'all",
        ),
        (["study", "merge", str(folder), str(folder), "--csv", str(table)], "names of studies must be distinct"),
        (["study", "merge", str(tmp_path), "--csv", str(table)], "holds no study: there is no manifest.json"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err


def test_status_lists_what_a_folder_holds(folder, tmp_path, capsys):
    small(sample_sizes=[10, 12], n_replications=30, n_groups=3).save(tmp_path / "mine.toml")
    cut(cell(folder))
    cell(folder, "delta, n=10").write_text("{}")
    with Claims(folder / "claims") as other:
        other.path("beta, n=12").write_text(json.dumps({"host": "elsewhere", "pid": 3}))
        assert main(["study", "status", str(tmp_path / "mine.toml"), "--out", str(folder)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == f"0 of 4 cells are done in {folder}"
    assert lines[0].startswith(f"  damaged: {cell(folder)} is damaged or cut short")
    assert lines[1:] == [
        f"  of no cell of this study: {cell(folder, 'delta, n=10')}",
        "  under way: beta, n=12 (process 3 on elsewhere)",
        "  to grow: gamma, n=10",
        "  to do: gamma, n=12",
    ]
    assert main(["study", "run", str(tmp_path / "mine.toml"), "--out", str(folder)]) == 2
    assert f"error: {cell(folder)} is damaged" in capsys.readouterr().err


def test_an_estimate_adds_up_what_was_timed(folder, monkeypatch):
    named = []

    def timing(study, name):
        named.append(name)
        return planning.Timing(start=100.0, bank=10.0, group=study.cost(name)[1] / 10)

    monkeypatch.setattr(planning, "_timing", timing)
    found = planning.estimate(small(sample_sizes=[10, 20, 30]), folder)
    assert named == ["beta, n=20", "beta, n=30"]  # n = 10 is done
    # two sizes compiled, their banks of two groups, and two groups of each of four cells
    assert found.seconds == pytest.approx(2 * 100 + 2 * (2 * 10 + 2 * (3 + 2)))
    assert (found.n_cells, found.n_timed) == (4, 2)
    apart = planning.estimate(small(sample_sizes=[10, 30], share_banks=False), folder.with_name("none"))
    assert apart.seconds == pytest.approx(2 * 100 + 2 * (4 * 10 + 2 * (3 + 1)))
    quick = planning.estimate(small(sample_sizes=[10, 20, 30]), folder.with_name("none"), budget=0)
    assert quick.n_timed == 2
    # 20 lies between both; three banks of two groups, and two groups of each of six cells
    assert quick.seconds == pytest.approx(3 * 100 + 2 * (3 * 10 + 2 * (3 + 2 + 1)))
    assert planning.duration(5.04) == "5 s"
    assert planning.duration(7200) == "2 h"


def test_cells_of_much_work_are_timed_with_fewer_resamples_and_data_sets(tmp_path, monkeypatch):
    """Costs that are straight lines in the resamples, and go with the data sets, are found again."""
    seen = []

    def timing(study, name):
        resamples, size = study.numbers(name)
        seen.append((study.n_blocks, resamples, size))
        return planning.Timing(start=5.0, bank=1 + resamples / 100, group=size * (2 + resamples / 1000))

    monkeypatch.setattr(planning, "_timing", timing)
    large = small(sample_sizes=[100_000], n_replications=10_000, n_resamples=9_999, n_groups=80)
    found = planning.estimate(large, tmp_path / "none")
    assert seen == [(3, 125, 16), (3, 375, 16)]
    assert found.seconds == pytest.approx(5 + 80 * (100.99 + 2 * 125 * 11.999))
    assert (found.n_timed, found.n_extrapolated) == (1, 1)
    assert str(found).endswith("(1 timed, 1 of them extrapolated from fewer resamples and data sets)")
    further = small(more_sizes=[{"sample_sizes": [100_000], "n_replications": 400, "n_resamples": 9_999}], n_groups=4)
    thinned = further.thinned("beta, n=100000", 3, 1e9)
    assert thinned.numbers("beta, n=100000") == (625, 16)
    assert further.work("beta, n=10") < planning.MUCH < further.work("beta, n=100000")


def test_kinds_that_were_not_timed_grow_with_n_as_the_first_does():
    """What is timed at n = 5,000 alone does not make n = 10 as dear."""
    one = planning.Timing
    timed = {("a", 10): one(5.0, 1.0, 0.1), ("a", 5000): one(9.0, 3.0, 20.0), ("b", 5000): one(18.0, 3.0, 10.0)}
    assert planning._interpolated(("a", 10), timed) == one(5.0, 1.0, 0.1)
    half = planning._interpolated(("a", 2505), timed)
    assert (half.start, half.bank, half.group) == pytest.approx((7.0, 2.0, 10.05))
    assert planning._interpolated(("b", 10), timed) == one(10.0, 1.0, 0.05)
    assert planning._interpolated(("b", 5000), timed) == timed["b", 5000]
    assert planning._interpolated(("c", 10), timed) == timed["a", 10]


def test_a_cell_without_groups_to_simulate_costs_the_same_whatever_their_number(tmp_path):
    """Coverages of shares are enumerated: their time is that of a cell, not that of each of 80 groups."""
    law = load_study("proportions").distributions["p=0.30"]
    shares = Study({"p": law}, ["accuracy"], ["wald", "wilson"], [10])
    timed = planning._timing(shares.shortened(planning.TIMED), "p, n=10")
    assert (timed.bank, timed.group) == (0.0, 0.0)
    assert timed.cell > 0
    drawn = planning._timing(small(sample_sizes=[10]).shortened(planning.TIMED), "beta, n=10")
    assert drawn.group > 0


@pytest.mark.slow
def test_the_command_estimates_and_writes_nothing(folder, tmp_path, capsys):
    small(sample_sizes=[10, 11]).save(tmp_path / "mine.toml")
    before = stamps(folder)
    assert main(["study", "estimate", str(tmp_path / "mine.toml"), "--out", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("2 cells to do, about ")
    assert stamps(folder) == before


@pytest.mark.slow
def test_metrics_of_two_domains_are_compared(tmp_path):
    rng = np.random.default_rng(2)
    dice = {f"dice, {i}": rng.beta(8, 2, 40) for i in range(3)}
    sizes = {"sample_sizes": [10, 20], "n_replications": 40, "n_resamples": 39, "n_groups": 2}
    tags = {name: {"metric": "dice"} for name in dice}
    first = load_study("segmentation", dice, tags=tags, statistics=["mean", "std"], **sizes)
    logits = {
        str(i): (rng.normal(size=(30, 3)) + 2 * np.eye(3)[np.arange(30) % 3], np.arange(30) % 3) for i in range(2)
    }
    second = load_study("classification", logits, statistics=["accuracy", "balanced_accuracy"], **sizes)
    joined = StudyResults.concat([first.run(tmp_path / "a"), second.run(tmp_path / "b")])
    assert set(joined.columns["metric"].tolist()) == {"dice", "accuracy", "balanced_accuracy"}
    some = joined.where(method="percentile", statistic=["mean", "accuracy", "balanced_accuracy"])
    found = some.compare(
        by="metric",
        value="pace",
        paired=False,
        pairs=[("dice", "accuracy"), ("dice", "balanced_accuracy")],
        family="level",
        n_permutations=99,
    )
    assert found["first_units"].tolist() == [3, 3]
    assert found["second_units"].tolist() == [2, 2]
    assert found["comparisons"].tolist() == [2, 2]
    paces = some.convergence_pace()
    means = {m: paces["pace"][paces["metric"] == m].mean() for m in ("dice", "accuracy")}
    assert found["difference"][0] == pytest.approx(means["dice"] - means["accuracy"])
    with pytest.raises(ValueError, match="no row has method='bc'"):
        joined.where(method="bc")
    with pytest.raises(ValueError, match="columns must name columns of the table"):
        joined.where(methods="t")


WRITES = 7
"""Files of a run of the small study: a manifest, and true values, tallies and cells of two distributions."""


@pytest.mark.parametrize("after", range(WRITES))
def test_a_full_disk_at_any_write_leaves_whole_files(finished, tmp_path, monkeypatch, after):
    written, fsync = [], os.fsync

    def sync(descriptor):
        if len(written) == after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(descriptor)
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            small().run(tmp_path / "r")
    assert len(written) == after
    assert not list((tmp_path / "r").rglob(".*"))
    assert state_of(small(), tmp_path / "r").damaged == {}
    same(small().run(tmp_path / "r").columns, finished[1])


def test_the_writes_of_a_run_are_all_tried(tmp_path, monkeypatch):
    written, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (written.append(descriptor), fsync(descriptor)))
    small().run(tmp_path / "r")
    assert len(written) == WRITES
