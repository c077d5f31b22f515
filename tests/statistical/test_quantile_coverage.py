"""Coverage of quantile intervals, by the bundled study in a small version."""

import re

import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.coverage import load_study

SIZES, R = [15, 50], 2_000


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    study = load_study("quantile-paper", sample_sizes=SIZES, n_groups=4)
    return study.run(tmp_path_factory.mktemp("quantiles"))


def coverage(results, method, level=0.95):
    frame = results.to_frame()
    chosen = frame[(frame["method"] == method) & (frame["level"] == level) & (frame["invalid"] < 1)]
    assert len(chosen) >= 6
    return chosen["coverage"].to_numpy()


@pytest.mark.false_alarm(6e-5)
@pytest.mark.parametrize("level", [0.90, 0.95])
def test_randomized_intervals_have_exactly_their_level(results, level, false_alarm):
    for found in coverage(results, "exact_randomized", level):
        assert stats.binomtest(round(found * R), R, level).pvalue > false_alarm


@pytest.mark.false_alarm(5e-5)
def test_single_intervals_have_at_least_their_level(results, false_alarm):
    for found in coverage(results, "order_statistic"):
        assert stats.binomtest(round(found * R), R, 0.95, alternative="less").pvalue > false_alarm


@pytest.mark.false_alarm(1e-4)
def test_interpolated_intervals_are_near_their_level(results):
    assert np.abs(coverage(results, "interpolated") - 0.95).max() < 0.03


@pytest.mark.false_alarm(1e-4)
def test_the_bootstrap_falls_where_no_other_interval_exists(results):
    frame = results.to_frame()
    extreme = frame[frame["statistic"].isin(["q05", "q95"]) & (frame["n"] == 15) & (frame["level"] == 0.95)]
    exact = extreme[extreme["method"] == "order_statistic"]
    assert (exact["invalid"] == 1).all()
    assert exact["flags"].str.contains("there is no interval here by").all()
    found = extreme[extreme["method"] == "semiparametric"]["coverage"]
    assert found.between(0.82, 0.94).all()


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("n", [5, 10, 20, 50])
@pytest.mark.parametrize("law", [stats.norm(), stats.t(3)], ids=["normal", "t3"])
def test_semiparametric_intervals_cover_alike_on_both_sides_of_a_symmetric_law(law, n):
    """Samples of their own for the two sides; at n = 10, q = .1 covered 87% and q = .9 82% by whole ranks."""
    draws, rng = 8_000, np.random.default_rng(n)
    for q in (0.1, 0.25):
        covered = []
        for u in (q, 1 - q):
            x = law.rvs((draws, n), random_state=rng)
            low, high = jaxci.quantile_interval(x, u, method="semiparametric").confidence_interval
            covered.append(int(np.sum((low <= law.ppf(u)) & (law.ppf(u) <= high))))
        assert abs(covered[0] - covered[1]) / draws < 5.5 * np.sqrt(2 * 0.15 * 0.85 / draws)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(
    ("law", "n", "q", "level"),
    [
        (stats.norm(), 10, 0.1, 0.95),
        (stats.expon(), 10, 0.95, 0.95),
        (stats.t(3), 28, 0.005, 0.95),
        (stats.uniform(), 5, 0.5, 0.95),
        (stats.expon(), 3, 0.025, 0.9),
        (stats.t(3), 50, 0.01, 0.9),
        (stats.t(3), 20, 0.99, 0.99),
        (stats.expon(), 3, 0.001, 0.99),
    ],
)
def test_semiparametric_intervals_cover_what_their_warning_says(law, n, q, level):
    draws = 8_000
    x = law.rvs((draws, n), random_state=np.random.default_rng(n))
    with pytest.warns(jaxci.JaxciWarning) as told:
        found = jaxci.quantile_interval(x, q, method="semiparametric", confidence_level=level)
    said = " ".join(str(one.message) for one in told)
    least, most = (float(share) / 100 for share in re.findall(r"covered (\d+)% to (\d+)%", said)[0])
    low, high = found.confidence_interval
    covered = float(np.mean((low <= law.ppf(q)) & (law.ppf(q) <= high)))
    slack = 5 * np.sqrt(covered * (1 - covered) / draws)
    assert least - slack <= covered <= most + slack


@pytest.mark.false_alarm(7e-6)
def test_the_normal_interval_is_exact_for_normal_values_only(results, false_alarm):
    frame = results.to_frame()
    mine = frame[(frame["method"] == "noncentral_t") & (frame["level"] == 0.95) & (frame["n"] == 50)]
    normal = mine[mine["distribution"] == "normal(0.5,0.15)"]
    for found in normal["coverage"]:
        assert stats.binomtest(round(found * R), R, 0.95).pvalue > false_alarm
    mixture = mine[mine["distribution"] == "normal mixture"]
    assert mixture["coverage"].min() < 0.8


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("method", ["interpolated", "harrell_davis"])
def test_the_median_of_a_symmetric_law_is_estimated_without_bias(method):
    """Figure 3 of Lehmann and Paromau (2025)."""
    x = np.random.default_rng(10).beta(5, 5, (8_000, 10))
    assert jaxci.quantile_estimate(x, 0.5, method=method).mean() == pytest.approx(0.5, abs=0.005)


def test_pictures(results):
    pytest.importorskip("matplotlib")
    from jaxci.plots.quantiles import quantile_panels

    for value in ("coverage", "mean_width"):
        figure = quantile_panels(results, value=value, n=50)
        assert len(figure.axes) == 6
    with pytest.raises(ValueError, match="n must be a simulated"):
        quantile_panels(results, n=11)


def test_the_report_of_a_study_of_quantiles_has_their_pictures(results, tmp_path):
    pytest.importorskip("matplotlib")
    results.report(tmp_path / "report.html")
    assert "Coverage of quantile intervals, n = 15" in (tmp_path / "report.html").read_text()
