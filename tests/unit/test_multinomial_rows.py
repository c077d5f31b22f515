"""Counts of many draws: Poisson counts, topped up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from programs import unit_program
from scipy import stats
from sklearn import metrics

from jaxci.inference.replicate import replicate
from jaxci.resampling.bank import Bootstrap, replicate_keys
from jaxci.resampling.multinomial_rows import BOUNDS, LEAST, SPARED, multinomial_rows, poisson_bounds
from jaxci.statistics.layout import Layout
from jaxci.statistics.probability import BrierScoreLoss
from jaxci.statistics.ranking import AveragePrecision, RocAuc
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded

N, DRAWN = 5000, 400
KEYS = replicate_keys(jax.random.key(11), jnp.arange(DRAWN, dtype=jnp.int32))
_rows = jax.jit(multinomial_rows, static_argnames=("capacity", "form"))


@pytest.fixture(scope="module")
def rows():
    return np.asarray(_rows(KEYS, poisson_bounds(N), np.int32(N), padded(N))).astype(int)


@pytest.mark.parametrize("n", [LEAST + 1, 10**5, 10**7, 2**31 - 1])
def test_bounds_are_those_of_poisson_counts(n):
    law = stats.poisson(1 - SPARED / np.sqrt(n))
    exceeded = 1 - poisson_bounds(n) / 2.0**32
    np.testing.assert_allclose(exceeded, law.sf(np.arange(BOUNDS)), rtol=0, atol=2.0**-32)
    assert law.sf(BOUNDS) < 2.0**-33
    assert stats.poisson(n - SPARED * np.sqrt(n)).sf(n) < 1e-14  # more than n at once


@pytest.mark.slow
def test_every_row_of_counts_sums_to_n(rows):
    assert rows.shape == (DRAWN, padded(N))
    assert np.all(rows.sum(axis=1) == N)
    assert np.all(rows[:, N:] == 0)


def test_both_forms_draw_the_same(rows):
    accelerated = _rows(KEYS[:20], poisson_bounds(N), np.int32(N), padded(N), "accelerator")
    np.testing.assert_array_equal(accelerated, rows[:20])


@pytest.mark.false_alarm(4e-9)
def test_counts_are_multinomial(rows):
    counted = np.bincount(rows[:, :N].ravel(), minlength=6)
    counted = np.append(counted[:5], counted[5:].sum())
    law = stats.binom(N, 1 / N)
    expected = np.append(law.pmf(np.arange(5)), law.sf(4)) * rows[:, :N].size
    assert stats.chisquare(counted, expected).pvalue > 1e-9
    for chosen in (slice(0, N // 2), slice(0, N // 10), slice(3, N, 7)):  # draws of a part are binomial, not Poisson
        part = rows[:, :N][:, chosen]
        of_part = stats.binom(N, part.shape[1] / N)
        jittered = of_part.cdf(part.sum(axis=1) - 1) + np.random.default_rng(0).random(DRAWN) * of_part.pmf(
            part.sum(axis=1)
        )
        assert stats.kstest(jittered, "uniform").pvalue > 1e-9


@pytest.mark.false_alarm(1e-9)
def test_no_row_is_drawn_more_often_than_another(rows):
    of_row = rows[:, :N].sum(axis=0)
    scaled = ((of_row - DRAWN) ** 2).sum() / (DRAWN * (1 - 1 / N))  # chi-square of N - 1 degrees of freedom
    assert 5e-10 < stats.chi2(N - 1).cdf(scaled) < 1 - 5e-10


def test_few_rows_and_other_sizes_are_drawn_one_by_one():
    assert Bootstrap.of(LEAST).bounds is None
    assert Bootstrap.of(10_000, 5_000).bounds is None
    assert Bootstrap.of(LEAST + 1).bounds is not None


def test_too_many_counts_at_once_are_refused():
    with pytest.raises(ValueError, match="below 2\\*\\*31 counts; got 400 rows of 10000000"):
        multinomial_rows(KEYS, poisson_bounds(10**7), np.int32(10**7), 10**7)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [16, 2])
def test_rankings_of_many_rows_are_those_of_their_counts(decimals):
    """Also where scores are equal: counts of 8 bits are walked along as they were drawn."""
    n = LEAST + 900
    rng = np.random.default_rng(n)
    y, score = rng.integers(0, 2, n), rng.random(n).round(decimals)
    sample, statistics = Sample(y_true=y, y_score=score, n_classes=2), [RocAuc(), AveragePrecision()]
    scheme, key = Bootstrap.of(n), jax.random.key(6)
    with jax.enable_x64(True):
        kept = Layout(n, strata=np.zeros(n, np.int32))  # rows stay in their order
        found = replicate(unit_program(statistics, sample, kept), scheme, key, 12)
        counts = np.asarray(scheme.counts(jax.random.fold_in(key, 0), jnp.arange(12, dtype=jnp.int32)))[:, :n]
    for values, of_scores in zip(found.values, (metrics.roc_auc_score, metrics.average_precision_score), strict=True):
        expected = [of_scores(y, score, sample_weight=row) for row in counts]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n", [LEAST + 1, 10_000, 40_000])
def test_resamples_of_many_rows_are_sums_of_their_counts(n):
    """Also of a bank of 8 bits that is read part by part, and in chunks of any size."""
    rng = np.random.default_rng(n)
    y, score = rng.integers(0, 2, n), rng.random(n)
    sample, statistics = Sample(y_true=y, y_score=score, n_classes=2), [BrierScoreLoss(), RocAuc()]
    scheme, key = Bootstrap.of(n), jax.random.key(5)
    with jax.enable_x64(True):
        kept = Layout(n, strata=np.zeros(n, np.int32))  # rows stay in their order
        program = unit_program(statistics, sample, kept)
        found = replicate(program, scheme, key, 12)
        single = replicate(program, scheme, key, 12, memory_limit=1)
        counts = np.asarray(scheme.counts(jax.random.fold_in(key, 0), jnp.arange(12, dtype=jnp.int32)))[:, :n]
        sums = replicate(unit_program(statistics[:1], sample, kept), scheme, key, 12)
    expected = counts @ (score - y) ** 2 / n
    np.testing.assert_allclose(found.values[0], expected, rtol=1e-12)
    np.testing.assert_allclose(sums.values[0], expected, rtol=1e-12)
    areas = [metrics.roc_auc_score(y, score, sample_weight=row) for row in counts]
    np.testing.assert_allclose(found.values[1], areas, rtol=1e-12)
    np.testing.assert_allclose(single.values, found.values, rtol=1e-12)
    np.testing.assert_allclose(
        found.estimates, [((score - y) ** 2).mean(), metrics.roc_auc_score(y, score)], rtol=1e-12
    )
