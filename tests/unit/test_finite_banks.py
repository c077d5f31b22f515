"""Coverage of bootstrap intervals for a share from as many resamples as are drawn."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxci.coverage import Cell, Study, enumeration, proportion_coverage, run_cell
from jaxci.coverage.finite_banks import is_known, misses
from jaxci.distributions import Cells, Empirical, Truth
from jaxci.intervals.bootstrap import BC, Basic, BCa, Percentile
from jaxci.intervals.exact import Exact
from jaxci.statistics import Accuracy, Mean

METHODS = {"percentile": Percentile(), "basic": Basic(), "bca": BCa()}


def drawn_intervals(method, n, n_resamples, draws, rng):
    """Draw ends (K, draws) of 95% intervals for each count of n rows: tables of resamples, and their quantiles."""
    grid = np.arange(n + 1)
    for k in grid:
        share = k / n
        table = rng.multinomial(n_resamples, stats.binom.pmf(grid, n, share), size=draws)
        upto = table.cumsum(axis=1)

        def quantile(p, upto=upto):
            place = np.broadcast_to(np.clip(p, 0, 1) * (n_resamples - 1), draws)
            before = np.floor(place)
            ends = [(upto <= np.minimum(at, n_resamples - 1)[:, None]).sum(axis=1) for at in (before, before + 1)]
            return (ends[0] + (place - before) * (ends[1] - ends[0])) / n

        p = np.array([0.025, 0.975])
        if method == "bca" and 0 < k < n:
            bias = stats.norm.ppf((upto[:, k - 1] + upto[:, k]) / 2 / n_resamples)
            acceleration = (1 - 2 * share) / (6 * np.sqrt(n * share * (1 - share)))
            shifted = bias + stats.norm.ppf(p)[:, None]
            p = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
        low, high = quantile(p[0]), quantile(p[1])
        yield k, (2 * share - high, 2 * share - low) if method == "basic" else (low, high)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "n_resamples"), [(25, 9999), (25, 999), (10, 499), (40, 499)])
def test_coverage_equals_that_of_drawn_tables_of_resamples(method, n, n_resamples):
    rng, draws = np.random.default_rng(0), 2000
    shares = np.array([0.8833, 0.8, 0.7, 0.31, 0.95])
    mass = stats.binom.pmf(np.arange(n + 1)[:, None], n, shares)
    covered, variance, width = np.zeros(5), np.zeros(5), np.zeros(5)
    for k, (low, high) in drawn_intervals(method, n, n_resamples, draws, rng):
        holds = (low[:, None] <= shares + 1e-9) & (shares - 1e-9 <= high[:, None])
        covered += mass[k] * holds.mean(axis=0)
        variance += mass[k] ** 2 * holds.var(axis=0) / draws
        width += mass[k] * (np.clip(high, 0, 1) - np.clip(low, 0, 1)).mean()
    found = proportion_coverage(shares, n, method, n_resamples=n_resamples)
    allowed = 6 * np.sqrt(variance) + (5e-4 if method == "bca" else 5e-5)
    assert np.all(np.abs(found - covered) < allowed), (found, covered, allowed)
    for p, wide in zip(shares, width, strict=True):
        one = enumeration.enumerated(
            "accuracy", METHODS[method], Truth(p, 0.0, ""), n, 0.95, method, n_resamples=n_resamples
        )
        assert one.mean_width == pytest.approx(wide, rel=0.006, abs=2e-4)
        assert one.how == "enumerated"
        assert one.below + one.coverage + one.above == pytest.approx(1, abs=1e-9)


def test_bca_of_few_rows_covers_what_it_does_with_the_resamples_that_it_has():
    """Accuracy, K = 4, n = 25: .934 of infinitely many resamples, .9155 simulated with 9,999. The second is right."""
    p, n = 0.8833, 25
    assert proportion_coverage(p, n, "bca") == pytest.approx(0.9339, abs=1e-4)
    assert proportion_coverage(p, n, "bca", n_resamples=9999) == pytest.approx(0.9134, abs=2e-4)
    # Of 19 right ones of 25 the upper end is at probability .95945, and the law reaches .95933 at 22: below the share.
    # Which of 22 and 23 is read of 9,999 resamples is nearly a matter of chance; the count has a mass of .042.
    below, above = misses(BCa(), np.array([19, 18, 20]), np.full(3, p), n, 9999, 0.95)
    assert below[0] == pytest.approx(0.485, abs=5e-3)
    assert np.concatenate([below[1:], above]) == pytest.approx([1, 0, 0, 0, 0], abs=1e-9)
    many = proportion_coverage(p, n, "bca", n_resamples=10**9)
    assert many == pytest.approx(proportion_coverage(p, n, "bca"), abs=1e-6)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
def test_coverage_equals_that_of_means_of_zeros_and_ones():
    """The same share as a mean of values, which is simulated."""
    law = Empirical(np.repeat([0.0, 1.0], [3, 22]))
    cell = Cell(law, 25, {"mean": Mean()}, list(METHODS), n_replications=4000, n_resamples=999, n_groups=80)
    for judgement in run_cell(cell, jax.random.key(0)).judgements:
        known = enumeration.enumerated(
            "accuracy", judgement.method, Truth(0.88, 0.0, ""), 25, 0.95, "", n_resamples=999
        )
        assert abs(judgement.coverage - known.coverage) < 5.5 * judgement.coverage_error, judgement.label
        assert abs(judgement.mean_shift - known.mean_shift) < 0.02, judgement.label
        if judgement.label != "basic":  # whose ends are clipped to [0, 1] for a share
            assert judgement.mean_width == pytest.approx(known.mean_width, rel=0.03)


def test_shares_of_nothing_and_of_all_and_shares_that_are_a_count():
    for method in METHODS:
        assert proportion_coverage(np.array([0.0, 1.0]), 10, method, n_resamples=999).tolist() == [1, 1]
        for p in (0.6, 1 - 0.4, 0.2 + 0.4):  # one share, but for rounding
            for draws in (None, 999):
                assert proportion_coverage(p, 25, method, n_resamples=draws) == pytest.approx(
                    proportion_coverage(0.6, 25, method, n_resamples=draws), abs=1e-7
                )
    table = proportion_coverage(np.full((2, 3), 0.7), 25, "basic", n_resamples=999)
    assert table.shape == (2, 3)
    assert np.ptp(table) == 0


def test_too_few_resamples_are_refused_or_named():
    with pytest.raises(ValueError, match="n_resamples must be 499 or more of 'bca', 99 or more of others; got 199"):
        proportion_coverage(0.7, 25, "bca", n_resamples=199)
    assert [is_known(BCa(), 498), is_known(BCa(), 499), is_known(Percentile(), 99), is_known(BC(), 9999)] == [
        False,
        True,
        True,
        False,
    ]
    with pytest.raises(ValueError, match="method must be a proportion method or one of percentile"):
        proportion_coverage(0.7, 25, "bc", n_resamples=999)
    told = enumeration.enumerated("accuracy", BCa(), Truth(0.7, 0.0, ""), 25, 0.95, "bca", n_resamples=199)
    assert told.how == "enumerated, B = infinity"
    assert told.coverage == pytest.approx(float(proportion_coverage(0.7, 25, "bca")))
    exact = enumeration.enumerated("accuracy", Exact(), Truth(0.7, 0.0, ""), 25, 0.95, "exact", n_resamples=199)
    assert exact.how == "enumerated"


def test_a_cell_enumerates_with_its_own_resamples():
    law = Cells(np.array([[0.4, 0.1], [0.1, 0.4]]))
    found = {}
    for draws in (199, 999):
        cell = Cell(law, 20, {"accuracy": Accuracy()}, ["percentile", "bca"], n_replications=4, n_resamples=draws)
        found[draws] = {j.label: j for j in run_cell(cell, jax.random.key(0)).judgements}
    for draws, label in ((199, "percentile"), (999, "percentile"), (999, "bca")):
        assert found[draws][label].how == "enumerated"
        assert found[draws][label].coverage == pytest.approx(
            float(proportion_coverage(0.8, 20, label, n_resamples=draws))
        )
    assert found[199]["percentile"].coverage != pytest.approx(found[999]["percentile"].coverage, abs=1e-4)
    assert found[199]["bca"].how == "enumerated, B = infinity"


@pytest.mark.slow
def test_table_and_report_name_what_is_of_infinitely_many_resamples(tmp_path):
    pytest.importorskip("matplotlib")
    law = Cells(np.array([[0.4, 0.1], [0.1, 0.4]]))
    design = {"statistics": ["accuracy"], "methods": ["wilson", "percentile", "bca"], "sample_sizes": [10, 20]}
    pages = {}
    for draws in (199, 499):
        results = Study({"law": law}, **design, n_replications=4, n_resamples=draws).run(tmp_path / str(draws))
        results.report(tmp_path / "report.html")
        pages[draws] = str(results), (tmp_path / "report.html").read_text("utf-8")
    assert "enumerated for B = infinity: bca" in pages[199][0]
    assert "The coverage of bca for a share is that of infinitely many resamples" in pages[199][1]
    assert "infinit" not in pages[499][0] + pages[499][1]
