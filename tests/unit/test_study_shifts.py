"""Where intervals lie about the truth: what a cell counts of it, and the table and the section of the report."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxci.coverage import Cell, Study, enumeration, run_cell
from jaxci.coverage.running import cell_truths, simulate
from jaxci.coverage.shifts import interval_shifts
from jaxci.coverage.tally import outcomes
from jaxci.distributions import Parametric, Truth
from jaxci.intervals.bootstrap import Basic
from jaxci.intervals.proportion import Wilson
from jaxci.statistics.summary import Mean, Std

LAW = Parametric("lognorm", {"s": 1.0})
SMALL = {"n_replications": 40, "n_resamples": 99, "n_groups": 4}


def cell(**changes):
    arguments = {"methods": ["t", "percentile", "basic"], **SMALL, **changes}
    return Cell(LAW, 12, {"mean": Mean(), "std": Std()}, **arguments)


def test_middles_of_symmetric_intervals_are_shifted_by_the_bias():
    found = run_cell(cell(), jax.random.key(0))
    bias = {one.statistic: one.bias for one in found.behaviours}
    shift = {(one.statistic, one.label): one.mean_shift for one in found.judgements}
    assert shift["mean", "t"] == pytest.approx(bias["mean"])
    # basic: twice the estimate less the percentile interval
    assert (shift["mean", "basic"] + shift["mean", "percentile"]) / 2 == pytest.approx(bias["mean"], abs=1e-6)
    assert shift["std", "percentile"] < bias["std"] < 0


@pytest.mark.false_alarm(1e-7)
def test_the_error_of_a_shift_is_that_between_groups():
    law = Parametric("norm", {})
    small = Cell(law, 10, {"mean": Mean()}, ["t"], n_replications=600, n_resamples=1, n_groups=60)
    (found,) = run_cell(small, jax.random.key(1)).judgements
    expected = 1 / np.sqrt(10 * 600)
    assert found.shift_error == pytest.approx(expected, rel=0.5)
    assert abs(found.mean_shift) < 6 * expected
    alone = Cell(law, 10, {"mean": Mean()}, ["t"], n_replications=20, n_resamples=1, n_groups=1)
    (found,) = run_cell(alone, jax.random.key(1)).judgements
    assert np.isnan(found.shift_error)


def test_sums_do_not_depend_on_how_many_data_sets_are_held_at_a_time():
    one, key = cell(), jax.random.key(2)
    truths = cell_truths(one.distribution, one.statistics, key)
    whole = simulate(one, key, truths)
    parts = simulate(one, key, truths, memory_limit=1)
    for table, other in zip(whole._tables(), parts._tables(), strict=True):
        assert table.keys() == other.keys()
        for name, groups in table.items():
            for group, values in groups.items():
                np.testing.assert_array_equal(other[name][group], values)


def test_infinite_and_missing_intervals_have_no_shift():
    low, high = np.array([0.0, -np.inf, np.nan, 1.0]), np.array([1.0, np.inf, np.nan, np.inf])
    shift = outcomes(low, high, 0.25).shift
    assert shift[0] == 0.25
    assert not np.isfinite(shift[1:]).any()


@pytest.mark.slow
def test_a_grown_cell_keeps_its_shifts(tmp_path):
    def study(statistics, **changes):
        return Study({"a": LAW}, statistics, ["t", "percentile"], [10], seed=3, **{**SMALL, **changes})

    study(["mean"]).run(tmp_path / "grown")
    more = study(["mean", "std"], n_replications=60, n_groups=6)
    grown = more.run(tmp_path / "grown").columns
    fresh = more.run(tmp_path / "fresh").columns
    for name in ("mean_shift", "shift_error"):
        np.testing.assert_allclose(grown[name], fresh[name], rtol=1e-6, atol=1e-9)
    assert np.isfinite(grown["mean_shift"]).all()
    (kept,) = (tmp_path / "fresh" / "tallies").iterdir()  # one of a time before shifts is computed anew
    with np.load(kept) as file:
        old = {name: array for name, array in file.items() if name != "shifts"}
    np.savez(kept, **old)
    anew = study(["mean", "std"], n_replications=80, n_groups=8).run(tmp_path / "fresh").columns
    assert np.isfinite(anew["mean_shift"]).all()
    with np.load(kept) as file:
        assert file["shifts"].shape == (3, 8, 2)


def test_shifts_of_a_share_are_sums_over_counts():
    n, p = 12, 0.2
    k = np.arange(n + 1)
    mass = stats.binom.pmf(k, n, p)
    z = stats.norm.isf(0.025)
    middle = (k + z**2 / 2) / (n + z**2)
    found = enumeration.enumerated("accuracy", Wilson(), Truth(p, 0.0, ""), n, 0.95, "wilson", n_resamples=9)
    assert found.mean_shift == pytest.approx(mass @ middle - p)
    assert found.shift_error == 0
    basic = enumeration.enumerated("accuracy", Basic(), Truth(p, 0.0, ""), n, 0.95, "basic", n_resamples=9)
    ends = [np.clip(2 * k / n - stats.binom.ppf(q, n, k / n) / n, 0, 1) for q in (0.975, 0.025)]
    assert basic.mean_shift == pytest.approx(mass @ np.mean(ends, axis=0) - p)


def table(shift, coverage, *, distribution="a", width=0.5):
    """One row a method, in the order of the arguments."""
    size = len(shift)
    same = {"distribution": distribution, "statistic": "mean", "level": 0.95, "n": 10, "mean_width": width}
    found = {name: np.array([value] * size) for name, value in same.items()}
    missed = (1 - np.array(list(coverage.values()))) / 4
    return found | {
        "method": np.array(list(shift)),
        "mean_shift": np.array(list(shift.values())),
        "coverage": np.array(list(coverage.values())),
        "below": 3 * missed,
        "above": missed,
    }


def joined(*tables):
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}


def test_the_table_of_shifts():
    first = table({"percentile": 0.01, "basic": 0.04, "t": 0.0}, {"percentile": 0.9, "basic": 0.88, "t": 0.94})
    second = table({"percentile": 0.03, "basic": 0.04}, {"percentile": 0.92, "basic": 0.9}, distribution="b", width=1.0)
    found = interval_shifts(joined(first, second))
    assert found["method"].tolist() == ["percentile", "basic", "t"]
    assert found["instances"].tolist() == [2, 2, 1]
    np.testing.assert_allclose(found["shift"], [0.02, 0.04, 0.0])
    np.testing.assert_allclose(found["relative_shift"], [(0.02 + 0.03) / 2, (0.08 + 0.04) / 2, 0])
    np.testing.assert_allclose(found["shift_apart"], [0, 0.02, -0.01], atol=1e-12)
    np.testing.assert_allclose(found["coverage_apart"], [0, -0.02, 0.04])
    np.testing.assert_allclose(found["below"] / found["above"], 3)
    everywhere = interval_shifts(joined(first, second), by=["level"])
    assert everywhere["shift"][0] == pytest.approx((0.01 + 0.04 + 0.0 + 0.03 + 0.04) / 5)
    assert "shift_apart" not in interval_shifts(first, against=None)
    with pytest.raises(ValueError, match=r"against must be one of the methods .*; got 'bca'"):
        interval_shifts(first, against="bca")
    nothing = table({"percentile": np.nan}, {"percentile": np.nan})
    assert np.isnan(interval_shifts(nothing)["shift"]).all()


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
def test_basic_intervals_of_a_skewed_mean_are_shifted_from_those_of_the_percentile_bootstrap(tmp_path):
    """Figure S20: basic intervals lie lower than percentile ones under a long upper tail, and cover less."""
    pytest.importorskip("matplotlib")
    study = Study(
        {"lognormal": LAW}, ["mean"], ["percentile", "basic"], [10], n_replications=2000, n_resamples=199, n_groups=20
    )
    results = study.run(tmp_path)
    found = results.interval_shifts()
    percentile, basic = 0, 1
    assert found["shift_apart"][basic] < -0.1
    assert found["shift"][basic] < 0 < found["shift"][percentile]
    assert found["coverage_apart"][basic] < 0
    results.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<h2>Shift of intervals</h2>" in page
    assert "Apart: less the same of the percentile bootstrap." in page
