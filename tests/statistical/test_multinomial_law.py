"""Multinomial and bootstrap counts follow their laws (fixed keys)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxci.resampling.bank import BalancedBootstrap, Bootstrap, CellBootstrap, StratifiedBootstrap, replicate_keys
from jaxci.resampling.multinomial import multinomial

pytestmark = pytest.mark.usefixtures("float64")

ROWS = 20_000
CELLS = 6

# Trials and cell probabilities. Binomials with a mean (of the rarer side) of 100 or more are drawn
# by rejection, the others by inversion; every cell but the last is drawn given those before it.
LAWS = {
    "small mean": (50, [0.02, 0.1, 0.88]),
    "large mean": (1000, [0.3, 0.5, 0.2]),
    "p above one half": (2_000, [0.9, 0.07, 0.03]),
    "p above one half, small mean": (12, [0.8, 0.15, 0.05]),
    "just below the switch": (333, [0.3, 0.3, 0.4]),
    "just above the switch": (334, [0.3, 0.3, 0.4]),
    "even and at one half": (640, [0.5, 0.25, 0.125, 0.125]),
    "six cells": (250, [0.05, 0.35, 0.1, 0.3, 0.15, 0.05]),
    "a million": (1_000_000, [0.1, 0.0001, 0.8999]),
    "ten million": (10_000_000, [0.2, 0.3, 0.5]),
    "ten million, one rare": (10_000_000, [2e-7, 0.7, 0.3 - 2e-7]),
}

_draw = jax.jit(multinomial)


def draw(name, seed=20240):
    trials, probabilities = LAWS[name]
    keys = replicate_keys(jax.random.key(seed), jnp.arange(ROWS, dtype=jnp.int32))
    padded = np.pad(np.asarray(probabilities), (0, CELLS - len(probabilities)))
    rows = np.asarray(_draw(keys, jnp.float64(trials), jnp.asarray(padded)))
    return rows[:, : len(probabilities)], trials, np.asarray(probabilities)


def binomial_pvalue(counts, trials, p, most_bins=60):
    """Chi-square p-value of ``counts`` against Binomial(trials, p), in bins of about equal probability."""
    shares = np.linspace(0, 1, most_bins + 1)[1:-1]
    edges = np.unique(stats.binom.ppf(shares, trials, p))  # bins (edge[j-1], edge[j]]
    mass = np.diff(np.concatenate([[0.0], stats.binom.cdf(edges, trials, p), [1.0]]))
    found = np.bincount(np.searchsorted(edges, counts), minlength=len(mass)).astype(float)
    keep = mass * len(counts) >= 5
    mass, found = np.append(mass[keep], mass[~keep].sum()), np.append(found[keep], found[~keep].sum())
    used = mass > 1e-12
    return stats.chisquare(found[used], mass[used] / mass[used].sum() * len(counts)).pvalue


@pytest.mark.false_alarm(6e-6)
@pytest.mark.parametrize("name", LAWS)
def test_marginals_are_binomial(name, false_alarm):
    rows, trials, probabilities = draw(name)
    assert np.all(rows.sum(axis=1) == trials)
    for cell, p in enumerate(probabilities):
        assert binomial_pvalue(rows[:, cell], trials, p) > false_alarm, f"cell {cell}"


@pytest.mark.false_alarm(22e-6)
@pytest.mark.parametrize("name", LAWS)
def test_moments_are_multinomial(name, false_alarm):
    rows, trials, p = draw(name)
    covariance = trials * (np.diag(p) - np.outer(p, p))
    free = slice(0, len(p) - 1)  # the last cell is fixed by the others
    deviation = rows - trials * p
    mean = deviation[:, free].mean(axis=0)
    wald = ROWS * mean @ np.linalg.solve(covariance[free, free], mean)
    assert stats.chi2.sf(wald, len(p) - 1) > false_alarm
    for i in range(len(p)):
        for j in range(i + 1):
            product = deviation[:, i] * deviation[:, j]
            score = (product.mean() - covariance[i, j]) / (product.std() / np.sqrt(ROWS))
            assert 2 * stats.norm.sf(abs(score)) > false_alarm, f"cells {i}, {j}"


@pytest.mark.false_alarm(9e-6)
@pytest.mark.parametrize("name", ["a million", "ten million", "ten million, one rare"])
def test_large_counts_fill_every_residue(name, false_alarm):
    # Numbers computed in single precision crowd on a lattice, which bins of the marginal do not show.
    rows, _, probabilities = draw(name)
    for cell in range(len(probabilities)):
        if rows[:, cell].std() < 100:
            continue
        for modulus in (2, 10, 32):
            found = np.bincount(rows[:, cell].astype(np.int64) % modulus, minlength=modulus)
            assert stats.chisquare(found).pvalue > false_alarm, f"cell {cell} modulo {modulus}"


@pytest.mark.false_alarm(12e-6)
def test_tails_of_a_large_binomial_are_not_cut_off(false_alarm):
    rows, trials, probabilities = draw("ten million")
    for cell, p in enumerate(probabilities):
        for tail in (1e-2, 1e-3):
            low, high = stats.binom.ppf([tail, 1 - tail], trials, p)
            below, above = np.sum(rows[:, cell] <= low), np.sum(rows[:, cell] > high)
            assert stats.binomtest(int(below), ROWS, stats.binom.cdf(low, trials, p)).pvalue > false_alarm
            assert stats.binomtest(int(above), ROWS, stats.binom.sf(high, trials, p)).pvalue > false_alarm


@pytest.mark.false_alarm(1e-6)
def test_the_marginal_test_sees_wrong_samplers(false_alarm):
    rng = np.random.default_rng(0)
    trials, p = 10_000_000, 0.3
    right = rng.binomial(trials, p, ROWS)
    spread = np.sqrt(trials * p * (1 - p))
    assert binomial_pvalue(right, trials, p) > false_alarm
    assert binomial_pvalue(np.round(trials * p + 1.04 * (right - trials * p)), trials, p) < false_alarm
    assert binomial_pvalue(right + 0.1 * spread, trials, p) < false_alarm
    assert binomial_pvalue(rng.poisson(15, ROWS), 50, 0.3) < false_alarm


def _bank(scheme, count=ROWS):
    draws = jax.jit(lambda s, ids: s.counts(jax.random.key(99), ids))
    return np.asarray(draws(scheme, jnp.arange(count, dtype=jnp.int32)))


@pytest.mark.false_alarm(6e-6)
@pytest.mark.parametrize(("n", "size"), [(12, 12), (33, 33), (33, 20)])
def test_bootstrap_counts_are_multinomial(n, size, false_alarm):
    rows = _bank(Bootstrap.of(n, size))[:, :n]
    for unit in (0, 1, n // 2, n - 1):
        assert binomial_pvalue(rows[:, unit], size, 1 / n) > false_alarm
    totals = rows.sum(axis=0)
    assert stats.chisquare(totals).pvalue > false_alarm
    assert binomial_pvalue(rows[:, : n // 3].sum(axis=1), size, (n // 3) / n) > false_alarm


@pytest.mark.false_alarm(9e-6)
def test_stratified_counts_are_multinomial_within_strata(false_alarm):
    strata = np.repeat([1, 0, 2], [4, 9, 20])
    rows = _bank(StratifiedBootstrap.of(strata))[:, : len(strata)]
    for stratum in range(3):
        inside = rows[:, strata == stratum]
        size = inside.shape[1]
        inside = np.round(inside * (size - 1) / size)
        for unit in (0, size - 1):
            assert binomial_pvalue(inside[:, unit], size - 1, 1 / size) > false_alarm
        assert stats.chisquare(inside.sum(axis=0)).pvalue > false_alarm


@pytest.mark.false_alarm(7e-6)
def test_balanced_counts_have_the_marginals_of_their_permutation(false_alarm):
    # One row takes n of the 100 n copies: hypergeometric, with 100 copies of each unit.
    n = 7
    rows = _bank(BalancedBootstrap(n))[::100, :n]  # one row a block: independent
    law = stats.hypergeom(100 * n, 100, n)
    expected = law.pmf(np.arange(5)) * len(rows)
    for unit in range(n):
        found = np.bincount(np.minimum(rows[:, unit], 4).astype(int), minlength=5)
        expected[4] = law.sf(3) * len(rows)
        merged = np.append(found[:3], found[3:].sum()), np.append(expected[:3], expected[3:].sum())
        assert stats.chisquare(*merged).pvalue > false_alarm


@pytest.mark.false_alarm(5e-6)
def test_cells_in_strata_follow_their_observed_shares(false_alarm):
    observed = np.array([[30.0, 10.0, 0.0], [5.0, 200.0, 95.0]])
    rows = _bank(CellBootstrap(observed)).reshape(ROWS, 2, 3)
    for stratum, row in enumerate(observed):
        for cell, count in enumerate(row):
            if count:
                share, draws = count / row.sum(), int(row.sum()) - 1
                found = np.round(rows[:, stratum, cell] * draws / row.sum())
                assert binomial_pvalue(found, draws, share) > false_alarm
