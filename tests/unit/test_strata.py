"""Rows in strata of fixed size: what keeps them, what may ignore them, and what the default covers there."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.intervals.kurtosis import KurtosisT
from jaxci.resampling.bank import CellBootstrap, StratifiedBootstrap
from jaxci.resampling.posterior import MANY, PosteriorWeights, WeightsWithinStrata

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.mark.slow
def test_strata_keep_what_their_units_hold():
    rng = np.random.default_rng(0)
    strata, held = np.array([0, 1, 0, 2, 1, 0, 0]), np.array([1.0, 2, 3, 1, 0, 1, 0])
    with jax.enable_x64(True):
        found = np.asarray(WeightsWithinStrata.of(held, strata, 4).weights(jnp.asarray(rng.exponential(size=(40, 7)))))
    for stratum in range(3):
        np.testing.assert_allclose(found[:, strata == stratum].sum(axis=1), held[strata == stratum].sum(), rtol=1e-12)
    assert not found[:, held == 0].any()
    np.testing.assert_allclose(found[:, 3], 1.0, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("held", [1, 3])
@pytest.mark.parametrize("units", [2, 3, 5, 40, 120])
def test_sums_within_strata_vary_as_their_units_do(units, held):
    """Random weights and resamples of strata have the unbiased variance of a sum, whatever the units stand for."""
    values, size, draws = np.random.default_rng(units).normal(size=units), units * held, 40_000
    present, strata = np.repeat(float(held), units), np.zeros(units, int)
    of_sum = held * np.sum((values - values.mean()) ** 2) * size / (size - 1)
    with jax.enable_x64(True):
        within = WeightsWithinStrata.of(present, strata, 1)
        keys = jax.random.key(0), jnp.arange(draws)
        weights = PosteriorWeights.of(present, [(0.25,)], within).counts(*keys)[:, :units]
        drawn = [CellBootstrap(np.tile(present, (2, 1))).counts(*keys)[:, :units]]
        drawn += [StratifiedBootstrap.of(strata).counts(*keys)[:, :units]] if held == 1 else []
    for rows in (weights, *drawn):
        sums = np.asarray(rows) @ values
        assert sums.mean() == pytest.approx(size * values.mean(), abs=5 * np.sqrt(of_sum / draws))
        assert sums.var() == pytest.approx(of_sum, rel=0.06)


def test_derivatives_within_strata_have_the_variance_of_their_units():
    rng = np.random.default_rng(9)
    x = rng.normal(size=40)
    for size in (2, 5, 20):
        found = jaxci.interval("mean", x, strata=np.arange(40) // size, method="delta").standard_error
        parts = x.reshape(-1, size)
        expected = np.sqrt(size * parts.var(axis=1, ddof=1).sum()) / 40 * np.sqrt(39 / 40)
        assert found == pytest.approx(expected, rel=1e-12)
    alone = [jaxci.interval("mean", x, strata=one, method="delta").standard_error for one in (None, np.zeros(40, int))]
    assert alone[0] == pytest.approx(alone[1], rel=1e-12)


@pytest.mark.slow
def test_random_weights_of_a_mean_vary_within_strata_alone():
    rng, sizes = np.random.default_rng(1), np.array([200, 60, 140])
    strata = np.repeat([0, 1, 2], sizes)
    x = 5.0 * strata + rng.normal(size=400)
    given = {"method": "proper_bayesian", "n_resamples": 4_000, "rng": 0}
    found = jaxci.interval("mean", x, strata=strata, **given)
    within = [x[strata == stratum].var() for stratum in range(3)]
    rubin = np.where(sizes > MANY, sizes + 1, sizes - 1)
    expected = np.sqrt(np.sum(sizes**2 * within / rubin) / 400**2)
    whole = jaxci.interval("mean", x, **given)
    spread = found.bootstrap_distribution.std()
    assert expected < spread < 0.5 * whole.bootstrap_distribution.std()  # a little is added for what was not seen
    mild = jaxci.interval("mean", x, strata=strata, **given, mass=1e-6).bootstrap_distribution.std()
    assert mild == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_a_table_of_many_rows_is_weighted_by_the_cells_of_its_strata():
    rng, n = np.random.default_rng(2), 3_000
    strata = rng.integers(0, 3, n)
    y = 1 * (rng.random(n) < np.array([0.1, 0.5, 0.9])[strata])
    guess = np.where(rng.random(n) < 0.9, y, 1 - y)
    given = {"method": "proper_bayesian", "n_resamples": 4_000, "rng": 0}
    for metric in ("matthews_corrcoef", "f1"):
        plain, apart = (jaxci.interval(metric, y, guess, strata=one, **given) for one in (None, strata))
        drawn = jaxci.interval(metric, y, guess, strata=strata, method="percentile", n_resamples=4_000, rng=1)
        spread = apart.bootstrap_distribution.std()
        assert spread == pytest.approx(drawn.bootstrap_distribution.std(), rel=0.07)
        assert spread <= 1.05 * plain.bootstrap_distribution.std()


def test_shares_are_judged_as_if_rows_were_independent():
    y = np.repeat([0, 1], [60, 40])
    guess = np.where(np.arange(100) % 17 == 0, 1 - y, y)
    found = jaxci.interval("accuracy", y, guess, strata=y)
    plain = jaxci.interval("accuracy", y, guess)
    assert found.method == plain.method
    assert found.method.name in ("wilson", "mid_p", "clopper_pearson")
    assert found.confidence_interval == plain.confidence_interval
    assert "of independent rows, which vary more than those in strata" in found.reason


def test_differences_of_rows_in_strata_vary_within_them_alone():
    rng, sizes = np.random.default_rng(3), np.array([30, 1, 19])
    strata = np.repeat([0, 1, 2], sizes)
    apart = 3.0 * strata + rng.normal(size=50)
    found = jaxci.compare("mean", None, apart, np.zeros(50), strata=strata)
    assert found.method == KurtosisT()
    within = [
        sizes[k] / max(sizes[k] - 1, 1) * np.sum((x - x.mean()) ** 2) for k, x in enumerate(_parts(apart, strata))
    ]
    assert found.standard_error == pytest.approx(np.sqrt(np.sum(within)) / 50, rel=1e-9)
    with pytest.raises(ValueError, match="cannot use strata"):
        jaxci.compare("mean", None, apart, np.zeros(50), strata=strata, method=KurtosisT(error="jackknife"))


@pytest.mark.parametrize("metric", ["accuracy", "recall", "balanced_accuracy", "f1", "roc_auc", "average_precision"])
def test_differences_of_labels_and_ranks_are_judged_as_if_rows_were_independent(metric):
    rng, y = np.random.default_rng(7), np.repeat([0, 1], 30)
    given = {} if metric != "average_precision" else {"method": "adjusted_wald"}
    if metric in ("roc_auc", "average_precision"):
        a, b = (y + spread * rng.normal(size=60) for spread in (0.8, 1.2))
    else:
        a, b = (np.where(rng.random(60) < share, y, 1 - y) for share in (0.9, 0.7))
    found = jaxci.compare(metric, y, a, b, strata=y)
    plain = jaxci.compare(metric, y, a, b, **given)
    assert found.method == plain.method
    assert found.confidence_interval == plain.confidence_interval
    assert found.pvalue == plain.pvalue
    assert found.reason.endswith("; rows in strata vary less")


@pytest.mark.parametrize("metric", ["mean", "accuracy"])
def test_differences_of_weighted_rows_are_judged_by_what_these_contribute(metric):
    rng, n = np.random.default_rng(6), 60
    weights, y = rng.lognormal(0, 0.6, n), np.arange(n) % 2
    a, b = rng.normal(size=(2, n)) if metric == "mean" else (np.where(rng.random(n) < p, y, 1 - y) for p in (0.8, 0.7))
    apart = a - b if metric == "mean" else 1.0 * (a == y) - (b == y)
    method = "auto" if metric == "mean" else "kurtosis_t"
    found = jaxci.compare(metric, None if metric == "mean" else y, a, b, sample_weight=weights, method=method)
    assert found.method == KurtosisT()
    apart = weights * (apart - np.average(apart, weights=weights))
    assert found.standard_error == pytest.approx(np.sqrt(np.sum(apart**2) * n / (n - 1)) / weights.sum(), rel=1e-9)


def _parts(values, strata):
    return [values[strata == stratum] for stratum in range(strata.max() + 1)]


@pytest.mark.computes
@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "n", "law"),
    [
        ("accuracy", 60, (0.1, 0.95, 0.99)),
        ("balanced_accuracy", 60, (0.1, 0.95, 0.99)),
        ("f1", 60, (0.1, 0.95, 0.99)),
        ("matthews_corrcoef", 60, (0.5, 0.97, 0.97)),
        ("roc_auc", 200, (0.1, 0.97, None)),
        ("average_precision", 200, (0.1, 0.97, None)),
        ("brier_score_loss", 200, (0.1, 0.97, None)),
    ],
)
def test_the_default_covers_classes_of_fixed_size(metric, n, law):
    """Through the verb; percentile intervals of strata, the default before, held .37 to .91 here."""
    rng, data_sets = np.random.default_rng(4), 200
    prevalence, good, other = law
    positives = round(n * prevalence)
    best = np.sqrt(2) * stats.norm.ppf(good)

    def drawn(times):
        y = np.repeat([1, 0], [times * positives, times * (n - positives)])
        if other is not None:
            return y, np.where(rng.random(len(y)) < np.where(y == 1, good, other), y, 1 - y)
        score = best * y + rng.normal(size=len(y))
        return y, stats.logistic.cdf(best * (score - best / 2) + np.log(prevalence / (1 - prevalence)))

    def ends(data, **options):
        y, predicted = data
        given = (y, predicted) if other is not None else (y, None, predicted)
        return jaxci.evaluate(*given, metrics=[metric], **options)[metric]

    truth = ends(drawn(100_000 // n), method="percentile", n_resamples=99).estimate
    hits = 0
    for seed in range(data_sets):
        data = drawn(1)
        low, high = ends(data, strata=data[0], n_resamples=999, rng=seed).confidence_interval
        hits += low <= truth <= high
    assert hits / data_sets > 0.93 - 3 * np.sqrt(0.93 * 0.07 / data_sets)


@pytest.mark.slow
def test_equal_models_of_rows_in_strata_are_told_apart_by_chance_alone():
    rng, n, data_sets, wrong = np.random.default_rng(5), 80, 300, 0
    y = np.repeat([0, 1], n // 2)
    for _ in range(data_sets):
        a, b = (np.where(rng.random(n) < 0.95, y, 1 - y) for _ in range(2))
        wrong += jaxci.compare("accuracy", y, a, b, strata=y).conclusion != "no difference shown"
    assert wrong / data_sets <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / data_sets)


@pytest.mark.slow
def test_strata_of_one_row_or_class_are_judged_by_labels_where_these_are_asked_for():
    """Scores came with the labels: small strata drew them, large ones a table."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    guess = np.where(rng.random(200) < 0.85, y, 1 - y)
    strata = np.r_[[0], [1], [2, 2], [3, 3, 3], [4] * 50, [5] * 143]
    both = jaxci.evaluate(y, guess, guess * rng.random(200), metrics=["accuracy"], strata=strata, check=True, rng=0)
    alone = jaxci.evaluate(y, guess, metrics=["accuracy"], strata=strata, check=True, rng=0)
    assert both["accuracy"].coverage == alone["accuracy"].coverage


@pytest.mark.slow
@pytest.mark.parametrize("data", ["values", "errors", "clusters", "weights"])
@pytest.mark.parametrize("sizes", [(10, 10, 10), (4,) * 6])
def test_means_of_strata_that_differ_are_as_wide_as_needed(data, sizes):
    """Rows that were not seen lay beyond the range of all: intervals were 8 to 80 times too wide, without a word."""
    rng, strata = np.random.default_rng(7), np.repeat(np.arange(len(sizes)), sizes)
    n, levels = len(strata), np.linspace(40, 80, len(sizes))[strata]
    each = np.repeat(np.arange(n // 2), 2)
    more = {"clusters": {"groups": each}, "weights": {"sample_weight": 1.0 + strata}}.get(data, {})
    held, widths, truth = [], [], np.average(levels, weights=more.get("sample_weight"))
    for _ in range(60):
        values = levels + (rng.normal(size=n) if data != "clusters" else rng.normal(size=n // 2)[each])
        metric, given = ("mean_absolute_error", (np.zeros(n), values)) if data == "errors" else ("mean", (values,))
        found = jaxci.interval(metric, *given, strata=strata, n_resamples=199, rng=0, **more)
        low, high = found.confidence_interval
        held.append(low <= truth <= high)
        widths.append(high - low)
        assert found.method == KurtosisT()
    needed = 3.92 / np.sqrt(n / 2 if data == "clusters" else n)
    if data == "weights":
        needed *= np.sqrt(n * np.sum(more["sample_weight"] ** 2)) / np.sum(more["sample_weight"])
    assert np.mean(held) >= 0.85
    assert 0.8 * needed < np.median(widths) < 1.5 * needed


def test_strata_that_are_alike_are_judged_by_their_cards():
    x = np.random.default_rng(3).normal(size=60)
    assert jaxci.interval("mean", x, strata=np.arange(60) % 3, n_resamples=99, rng=0).method != KurtosisT()
    assert (
        jaxci.interval("mean", x, strata=np.argsort(np.argsort(x)) // 20, n_resamples=99, rng=0).method == KurtosisT()
    )


@pytest.mark.slow
def test_losses_of_a_rare_class_in_a_stratum_of_its_own_allow_for_rows_that_were_not_seen():
    """One stratum has nearly the range of all: as means of strata that differ they covered .91, and missed above."""
    rng, y, held = np.random.default_rng(7), np.repeat([1, 0], [3, 27]), []
    far = np.random.default_rng(8).normal(size=(2, 400_000))

    def chances(normal, label):  # of class 1, a tenth of the rows, whose scores lie 1.8 higher
        return 1 / (1 + 9 * np.exp(1.8**2 / 2 - 1.8 * (normal + 1.8 * label)))

    truth = np.mean(-np.log(chances(far[0], 1))) / 10 - 9 * np.mean(np.log1p(-chances(far[1], 0))) / 10
    for number in range(100):
        found = jaxci.interval("log_loss", y, chances(rng.normal(size=30), y), strata=y, n_resamples=999, rng=number)
        held.append(found.confidence_interval.low <= truth <= found.confidence_interval.high)
    assert np.mean(held) >= 0.93
