"""Runs that diverged count as the worst by rank; what needs values refuses them; results of run_seeds are read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import jaxci
from jaxci.cli import main
from jaxci.intervals.base import tails
from jaxci.intervals.order_laws import level_of_ranks
from jaxci.intervals.quantile import order_statistic_ranks

ALL = ("semiparametric", "semiparametric_resampled", "interpolated", "asymptotic", "harrell_davis", "noncentral_t")


def scores(n: int, *lost: int) -> np.ndarray:
    x = np.random.default_rng(n).normal(0.9, 0.01, n)
    x[list(lost)] = np.nan
    return x


@pytest.mark.parametrize("goal", ["higher", "lower"])
@pytest.mark.parametrize("method", ["order_statistic", "exact_randomized"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_diverged_run_is_the_worst_by_rank(goal, method, value):
    """Any value beyond all others in its place gives the same ends, but where they lie on it."""
    x, sign = scores(40), {"higher": -1, "lower": 1}[goal]
    x[[3, 17]] = value
    if value == -sign * math.inf:
        with pytest.raises(ValueError, match=rf"x must hold no {value:g} where goal='{goal}': .*row 3"):
            jaxci.quantile_interval(x, 0.5, goal=goal)
        return
    stand_in = np.where(np.isfinite(x), x, sign * 1e6 + np.arange(40))
    options = {"method": method, "rng": 0}
    with pytest.warns(jaxci.JaxciWarning, match="2 of 40 runs diverged or failed .* worst, (below|above) all others"):
        found = jaxci.quantile_interval(x, [0.1, 0.3, 0.5, 0.9], goal=goal, **options)
    expected = jaxci.quantile_interval(stand_in, [0.1, 0.3, 0.5, 0.9], **options)
    for ours, theirs in zip(found.confidence_interval, expected.confidence_interval, strict=True):
        np.testing.assert_array_equal(ours, np.where(np.abs(theirs) > 1e5, sign * math.inf, theirs))
    assert np.isinf(found.confidence_interval[sign > 0]).any()
    np.testing.assert_array_equal(found.actual_level, expected.actual_level)
    np.testing.assert_allclose(found.estimate, expected.estimate)
    assert found.n_lost == 2
    assert "n = 40 (2 without a result)" in str(found)
    end = {"higher": "q = 0.1: the lower end lies", "lower": "q = 0.9: the upper end lies"}[goal]
    assert any(text.startswith(end) for text in found.warnings)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_a_side_stays_open_where_no_pair_of_order_statistics_exists():
    x = scores(10, 4)
    ordered = np.sort(x)[:9]
    found = jaxci.quantile_interval(x, [0.1, 0.5, 0.9], goal="higher")
    low, high = found.confidence_interval
    _, l = order_statistic_ranks(10, 0.1, tails(0.95, "less"))
    k, _ = order_statistic_ranks(10, 0.9, tails(0.95, "greater"))
    assert (low[0], high[0]) == (-math.inf, ordered[l - 2])  # the diverged run is the first of the order
    assert (low[2], high[2]) == (ordered[k - 2], math.inf)
    assert np.isfinite([low[1], high[1]]).all()
    assert found.actual_level[0] == level_of_ranks(0, l, 10, 0.1) >= 0.95
    assert found.actual_level[2] == level_of_ranks(k, 11, 10, 0.9) >= 0.95
    assert found.estimate[0] == -math.inf
    assert "needs n >= 29; other methods cannot count runs" in found.reason[0]
    nothing = jaxci.quantile_interval(x[2:6], 0.5, goal="higher")
    assert nothing.confidence_interval == (-math.inf, math.inf)
    assert nothing.actual_level == 1
    inside = jaxci.quantile_interval(x, [0.1, 0.9], goal="higher", bounds=(0, 1))
    assert inside.confidence_interval.low[0] == inside.estimate[0] == 0
    assert inside.confidence_interval.high[1] == 1
    one = jaxci.quantile_interval(x, 0.9, goal="higher", alternative="less")
    assert one.confidence_interval == (-math.inf, math.inf)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_rows_and_several_quantiles_at_once():
    x = scores(30, 4)
    both = jaxci.quantile_interval(np.stack([x, x + 1, scores(30)]), [0.1, 0.5], goal="lower").confidence_interval
    for row, values in enumerate((x, x + 1, scores(30))):
        one = jaxci.quantile_interval(values, [0.1, 0.5], goal="lower").confidence_interval
        np.testing.assert_array_equal([both.low[row], both.high[row]], one)
    held = jaxci.simultaneous_quantile_intervals(x, [0.1, 0.5], confidence_level=0.9, goal="higher")
    full = jaxci.simultaneous_quantile_intervals(np.where(np.isnan(x), 0.0, x), [0.1, 0.5], confidence_level=0.9)
    assert (held.confidence_interval.low[0], full.confidence_interval.low[0]) == (-math.inf, 0)
    np.testing.assert_array_equal(held.confidence_interval.high, full.confidence_interval.high)
    assert any("q = 0.1: the lower end lies on runs without a result" in text for text in held.warnings)


@pytest.mark.parametrize("method", ALL)
def test_what_needs_values_refuses_diverged_runs(method):
    rule = "method must be one of auto, order_statistic, exact_randomized where runs have no result"
    with pytest.raises(ValueError, match=f"{rule}.*got '{method}', which needs values, and 1 of 60"):
        jaxci.quantile_interval(scores(60, 3), 0.5, method=method, goal="higher")


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (
            lambda x: jaxci.quantile_interval(x, 0.5),
            "1 of 12 .* row 5: say goal='higher' or goal='lower'",
        ),
        (lambda x: jaxci.summarize_runs(x), "x must be finite; 1 of 12 .* say goal="),
        (lambda x: jaxci.simultaneous_quantile_intervals(x, [0.5]), "x must be finite; .* say goal="),
        (lambda x: jaxci.quantile_estimate(x, 0.5), "x must be finite; 1 of 12 values .* row 5$"),
        (lambda x: jaxci.runs_interval(x), "scores must be finite; 1 of 12 .* summarize_runs with goal="),
        (lambda x: jaxci.welch_interval(x[:5], x), "scores_b must be finite; 1 of 12 .* mean has no value"),
        (lambda x: jaxci.quantile_interval(x, 0.5, goal="up"), "goal must be one of higher, lower; got 'up'"),
        (lambda x: jaxci.quantile_interval(x * np.nan, 0.5, goal="lower"), "a finite result; all 12 runs diverged"),
        (lambda x: jaxci.quantile_interval(x, 0.5, goal="lower", bounds=(0, 0.5)), "x must lie within bounds"),
    ],
)
def test_the_direction_of_the_worst_is_asked_for(verb, message):
    with pytest.raises(ValueError, match=message):
        verb(scores(12, 5))


def test_a_summary_says_that_a_run_diverged():
    with pytest.warns(jaxci.JaxciWarning, match="1 of 30 runs diverged"):
        found = jaxci.summarize_runs(scores(30, 2), goal="higher")
    assert math.isnan(found.mean)
    assert np.isnan(found.mean_interval).all()
    text = str(found)
    assert text.startswith("30 runs (1 without a result), 95% confidence intervals, higher is better")
    assert "t: the mean is not defined where a run has no result" in text
    assert "warning: q = 0.1: the lower end lies on runs without a result" in text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    def train(seed: int) -> dict[str, float]:
        if seed == 7:
            raise RuntimeError("out of memory")
        return {"accuracy": math.nan if seed == 3 else 0.9 + seed / 1000, "loss": 1 - seed / 100}

    path = tmp_path / "runs.jsonl"
    with pytest.warns(jaxci.JaxciWarning):
        jaxci.run_seeds(train, 40, file=path, on_error="record")
    return path


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_the_result_of_run_seeds_is_summarized(file):
    runs = jaxci.read_runs(file)
    found = jaxci.summarize_runs(runs, metric="accuracy", goal="higher")
    assert found.to_dict() == jaxci.summarize_runs(runs["accuracy"], goal="higher").to_dict()
    assert (found.n, found.quantiles.n_lost) == (40, 2)
    one = jaxci.quantile_interval(runs, 0.5, metric="loss", goal="lower")
    assert one.n_lost == 1
    single = jaxci.run_seeds(lambda seed: seed / 8, 8, repeat=2)
    assert jaxci.summarize_runs(single, qs=[0.5]).n == 8
    with pytest.raises(ValueError, match="metric must say which results to take: one of accuracy, loss"):
        jaxci.summarize_runs(runs)
    with pytest.raises(ValueError, match="metric must be one of accuracy, loss; got 'acuracy': did you mean"):
        jaxci.summarize_runs(runs, metric="acuracy")
    with pytest.raises(TypeError, match="metric is for what run_seeds returned; x is ndarray, metric 'accuracy'"):
        jaxci.summarize_runs(runs["accuracy"], metric="accuracy")


@pytest.mark.slow
def test_the_command_reads_the_file_that_run_seeds_writes(file, capsys, tmp_path):
    assert main(["quantile", str(file), "--column", "accuracy", "--goal", "higher"]) == 0
    out = capsys.readouterr().out
    assert "all (n = 40)" in out
    assert "2 of 40 runs diverged or failed" in out
    assert main(["quantile", str(file), "--column", "accuracy"]) == 2
    assert "--column must be finite; 2 of 40 values" in capsys.readouterr().err
    assert main(["quantile", str(file), "--column", "acuracy"]) == 2
    assert "has no column 'acuracy'; did you mean 'accuracy'?" in capsys.readouterr().err
    plot = tmp_path / "runs.png"
    assert main(["quantile", str(file), "--column", "loss", "--goal", "lower", "--plot", str(plot)]) == 0
    assert plot.stat().st_size > 3_000
    (tmp_path / "other.jsonl").write_text("a,b\n1,2\n")
    assert main(["quantile", str(tmp_path / "other.jsonl"), "--column", "a"]) == 2
    assert "other.jsonl, row 0 cannot be read as JSON" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
def test_infinite_ends_are_drawn_as_arrows():
    pytest.importorskip("matplotlib")
    from jaxci.plots.quantiles import interval_bars

    found = {"a": jaxci.quantile_interval(scores(10, 4), [0.1, 0.5, 0.9], goal="higher")}
    for axes, markers in zip(interval_bars(found).axes, (["<"], ["o"], [">", "o"]), strict=True):
        assert [line.get_marker() for line in axes.lines] == markers
        assert all(np.isfinite(line.get_xdata()).all() for line in axes.lines)
    lost = {"a": jaxci.quantile_interval(scores(10, 9), [0.1], goal="higher")}
    assert {line.get_marker() for line in interval_bars(lost).axes[0].lines} == {"<"}


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("n", [2, 5, 10, 20, 50])
@pytest.mark.parametrize("q", [0.01, 0.1, 0.25, 0.3, 0.5])
def test_semiparametric_intervals_mirror_when_values_do(n, q):
    x = np.random.default_rng(n).standard_t(3, (40, n))
    cases = [(None, None, "two-sided", "two-sided"), (None, None, "less", "greater")]
    cases += [((-99, 99), (-99, 99), "two-sided", "two-sided"), ((-99, math.inf), (-math.inf, 99), "greater", "less")]
    for bounds, mirrored_bounds, alternative, mirrored_alternative in cases:
        low, high = jaxci.quantile_interval(
            x, q, method="semiparametric", bounds=bounds, alternative=alternative
        ).confidence_interval
        mirrored = jaxci.quantile_interval(
            -x, 1 - q, method="semiparametric", bounds=mirrored_bounds, alternative=mirrored_alternative
        ).confidence_interval
        np.testing.assert_allclose(mirrored.low, -high, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(mirrored.high, -low, rtol=1e-12, atol=1e-12)
    middle = jaxci.quantile_estimate(x, q, method="semiparametric_median")
    np.testing.assert_allclose(
        jaxci.quantile_estimate(-x, 1 - q, method="semiparametric_median"), -middle, rtol=1e-12, atol=1e-12
    )


@pytest.mark.filterwarnings("ignore:the estimate lies outside:jaxci.JaxciWarning")
@pytest.mark.parametrize("name", ["semiparametric", "semiparametric_resampled"])
def test_a_warning_says_what_semiparametric_intervals_cover_where_none_is_exact(name):
    x = scores(28)
    for q, level, text in (
        (0.1, 0.95, r"n = 28 \(an exact one needs n >= 29\): where there is none, 95% intervals covered 70% to 96%"),
        (0.99, 0.95, "98% in simulations with fewer than 0.5 values expected beyond the quantile"),
        (0.001, 0.95, "with fewer than 0.1 values expected"),
        (0.05, 0.9, "90% intervals covered"),
        (0.05, 0.995, "99% intervals covered"),
    ):
        with pytest.warns(jaxci.JaxciWarning, match=text):
            jaxci.quantile_interval(x, q, method=name, confidence_level=level, rng=0)
    with pytest.warns(jaxci.JaxciWarning, match="may cover less than its level"):
        jaxci.interval("quantile", x, q=0.1, method=name, rng=0)
    assert jaxci.quantile_interval(scores(29), 0.1, method=name, rng=0).warnings == ()
