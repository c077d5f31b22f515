"""Of so many rows that resamples would take seconds, `auto` takes formulas that are as wide as resamples are."""

from __future__ import annotations

import numpy as np
import pytest

import jaxci
from jaxci.inference import choice, choice_by_rules, choice_of_many_rows
from jaxci.intervals.delta import Delta
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.intervals.woodruff import Woodruff

N, RESAMPLES = 600, 999
RNG = np.random.default_rng(20)
Y = RNG.normal(size=N)
P = 0.8 * Y + 0.6 * RNG.normal(size=N)
CLASS = np.arange(N) % 2
SCORE = RNG.normal(size=N) + CLASS
PROBABILITY = 1 / (1 + np.exp(-2 * SCORE + 1))

DATA = {
    "r2": (Y, P),
    "explained_variance": (Y, P),
    "pearsonr": (Y, P),
    "spearmanr": (Y, P),
    "trimmed_mean": (Y,),
    "mean_squared_error": (Y, P),
    "roc_auc": (CLASS, SCORE),
    "average_precision": (CLASS, SCORE),
    "log_loss": (CLASS, PROBABILITY),
    "brier_score_loss": (CLASS, PROBABILITY),
}
CORRELATIONS = {"pearsonr", "spearmanr"}
LAYOUTS = {
    "sample_weight": np.random.default_rng(21).gamma(3, size=N),
    "strata": np.arange(N) // 2 % 3,
}


@pytest.fixture
def few_draws(monkeypatch):
    """As many draws as are too many; no card tells of so many rows."""
    monkeypatch.setattr(choice_of_many_rows, "MOST_SMOOTH_DRAWS", 1e5)
    monkeypatch.setattr(choice_by_rules, "MOST_SMOOTH_DRAWS", 1e5)
    monkeypatch.setattr(choice_of_many_rows, "LARGE_ROWS", 100)
    monkeypatch.setattr(choice, "LARGEST", 100)


def check(found, drawn):
    """The same estimate; ends within a fifth of the width of those of resamples."""
    assert found.estimate == pytest.approx(drawn.estimate)
    width = np.ptp(drawn.confidence_interval)
    np.testing.assert_allclose(found.confidence_interval, drawn.confidence_interval, atol=width / 5)


@pytest.mark.parametrize("name", ["r2", "explained_variance", "pearsonr", "spearmanr", "trimmed_mean"])
def test_smooth_statistics_of_many_rows_are_not_resampled(name, few_draws):
    drawn = jaxci.interval(name, *DATA[name], method="percentile", n_resamples=RESAMPLES, rng=0)
    found = jaxci.interval(name, *DATA[name], n_resamples=RESAMPLES, rng=0)
    assert found.method == Delta(scale="fisher" if name in CORRELATIONS else "natural")
    assert "too large to resample" in found.reason
    check(found, drawn)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nor_are_those_of_rows_with_weights_or_strata(name, layout, few_draws):
    given = {layout: LAYOUTS[layout]}
    drawn = jaxci.interval(name, *DATA[name], method="percentile", n_resamples=RESAMPLES, rng=0, **given)
    found = jaxci.interval(name, *DATA[name], n_resamples=RESAMPLES, rng=0, **given)
    assert isinstance(found.method, KurtosisT)
    assert "too many to resample" in found.reason
    scale = found.method.scale
    assert found.reason.endswith("where few decide" + (scale != "natural") * f" on the {scale} scale")
    check(found, drawn)


def test_fewer_rows_in_effect_are_resampled(few_draws):
    heavy = np.where(np.arange(N) % 10 == 0, 1.0, 1e-3)
    found = jaxci.interval("trimmed_mean", Y, sample_weight=heavy, n_resamples=RESAMPLES, rng=0)
    assert found.method == "percentile"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_few_rows_are_resampled_however_many_resamples_are_asked_for(layout, monkeypatch):
    monkeypatch.setattr(choice_of_many_rows, "MOST_SMOOTH_DRAWS", 1e5)
    monkeypatch.setattr(choice, "LARGEST", 100)
    found = jaxci.interval("mean_squared_error", *DATA["r2"], n_resamples=RESAMPLES, rng=0, **{layout: LAYOUTS[layout]})
    assert found.method == "proper_bayesian"


@pytest.mark.parametrize("rarest", [20, 150])
def test_ranks_of_few_rows_of_a_class_are_resampled(rarest, few_draws):
    y = (np.arange(N) < rarest).astype(int)
    score = np.random.default_rng(3).normal(size=N) + y
    found = jaxci.interval("roc_auc", y, score, strata=LAYOUTS["strata"], n_resamples=RESAMPLES, rng=0)
    assert isinstance(found.method, KurtosisT) == (rarest == 150)


def test_rank_correlations_in_many_clusters_are_not_resampled(few_draws):
    drawn, found = (
        jaxci.interval("spearmanr", Y, P, groups=np.arange(N) % size, n_resamples=RESAMPLES, rng=0)
        for size in (99, 100)
    )
    assert drawn.method == "expanded_percentile"
    assert found.method == Delta(scale="fisher", use_t=True)
    np.testing.assert_allclose(found.confidence_interval, drawn.confidence_interval, atol=0.02)


def test_functions_of_users_are_resampled(few_draws):
    mean = jaxci.statistics.WeightedFunction(lambda x, weights: (x * weights).sum() / weights.sum())
    assert jaxci.interval(mean, Y, n_resamples=RESAMPLES, rng=0).method == "bca"


@pytest.mark.parametrize(("noise", "method"), [(0.1, "delta"), (0.01, "bc")])
def test_resamples_tell_more_of_rank_correlations_very_near_1(noise, method, few_draws):
    near = Y + noise * (np.arange(N) % 2) * np.random.default_rng(4).normal(size=N)
    found = jaxci.interval("spearmanr", Y, near, n_resamples=RESAMPLES, rng=0)
    assert found.estimate > choice.NEAR_ONE
    assert found.method.name == method


WEIGHTS, STRATA = LAYOUTS["sample_weight"], LAYOUTS["strata"]


@pytest.mark.parametrize("name", ["median", "iqr", "median_absolute_error"])
@pytest.mark.parametrize("layout", ["", *LAYOUTS])
def test_quantiles_of_many_rows_are_not_resampled(name, layout, few_draws):
    data, given = (Y, P) if name == "median_absolute_error" else (Y,), {layout: LAYOUTS[layout]} if layout else {}
    drawn = jaxci.interval(name, *data, method="percentile", n_resamples=RESAMPLES, rng=0, **given)
    found = jaxci.interval(name, *data, n_resamples=RESAMPLES, rng=0, **given)
    if layout or name == "iqr":
        assert found.method == Woodruff()
        assert "too many to resample" in found.reason
    else:
        assert found.method == "order_statistic"
    check(found, drawn)


@pytest.mark.parametrize("layout", ["", *LAYOUTS])
def test_median_errors_of_two_models_on_many_rows_are_not_resampled(layout, few_draws):
    given = {layout: LAYOUTS[layout]} if layout else {}
    other = P + 0.5 * np.random.default_rng(5).normal(size=N)
    drawn, found = (
        jaxci.compare("median_absolute_error", Y, P, other, method=method, n_resamples=RESAMPLES, rng=0, **given)
        for method in ("percentile", "auto")
    )
    assert found.method == Woodruff()
    assert found.estimate == pytest.approx(drawn.estimate)
    assert np.ptp(found.confidence_interval) == pytest.approx(np.ptp(drawn.confidence_interval), rel=0.3)  # it is even
    assert (found.pvalue < 0.05) == (found.confidence_interval.high < 0)
