"""Banks of resamples: sums, padding, and rows that belong to their replicate alone."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.resampling.bank import (
    BalancedBootstrap,
    BayesianBootstrap,
    Bootstrap,
    CellBootstrap,
    StratifiedBootstrap,
    replicate_keys,
)
from jaxci.statistics.sums import padded

COUNT = 200
"""Replicates drawn in most tests: one compiled shape a scheme, and two blocks of the balanced one."""

SIZES = (2, 16, 17, 100)
STRATA = np.array([2, 0, 1, 0, 2, 2, 0, 3, 2, 0, 0, 1, 2, 2, 0, 1, 2, 0, 2, 1, 2, 2, 0])

_counts = jax.jit(lambda scheme, key, ids: scheme.counts(key, ids))


def draw(scheme, ids, seed=7, x64=True):
    with jax.enable_x64(x64):
        ids = jnp.asarray(np.asarray(ids), jnp.int32)
        return np.asarray(_counts(scheme, jax.random.key(seed), ids))


def schemes():
    observed = np.array([[7.0, 0.0, 60.0, 1.0, 0.0, 22.0]])
    stratified = np.array([[40.0, 0.0, 60.0], [40.0, 0.0, 60.0], [0.0, 30.0, 900.0]])
    return {
        "bootstrap": Bootstrap.of(37),
        "bootstrap of 12": Bootstrap.of(12),
        "bootstrap of many": Bootstrap.of(4500),
        "m out of n": Bootstrap.of(37, 21),
        "stratified": StratifiedBootstrap.of(STRATA),
        "bayesian": BayesianBootstrap.of(23),
        "cells": CellBootstrap(observed),
        "cells in strata": CellBootstrap(stratified),
    }


SCHEMES = schemes()


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_bootstrap_rows_are_counts_of_n_draws_and_padding_gets_none(n):
    scheme = Bootstrap.of(n)
    rows = draw(scheme, range(COUNT))
    assert rows.shape == (COUNT, padded(n))
    assert scheme.n_units == padded(n)
    assert np.all(rows == np.round(rows))
    assert np.all(rows >= 0)
    assert np.all(rows.sum(axis=1) == n)
    assert np.all(rows[:, n:] == 0)
    assert np.all(rows[:, :n].sum(axis=0) > 0)


@pytest.mark.parametrize(("n", "size"), [(37, 1), (37, 12), (10, 45), (200, 17)])
def test_m_out_of_n_rows_sum_to_m(n, size):
    rows = draw(Bootstrap.of(n, size), range(COUNT))
    assert rows.shape == (COUNT, padded(n))
    assert np.all(rows.sum(axis=1) == size)
    assert np.all(rows[:, n:] == 0)
    assert np.all(rows >= 0)


def test_bootstrap_of_whole_blocks_of_one_unit():
    assert np.all(draw(Bootstrap.of(1), range(20)) == 1)


@pytest.mark.parametrize("strata", [STRATA, np.zeros(9, int), np.arange(20), np.arange(40) % 3 * 5])
def test_stratified_rows_keep_the_size_of_every_stratum(strata):
    n = len(strata)
    rows = draw(StratifiedBootstrap.of(strata), range(COUNT))
    assert rows.shape == (COUNT, padded(n))
    assert np.all(rows[:, n:] == 0)
    for stratum in np.unique(strata):
        inside = rows[:, :n][:, strata == stratum]
        np.testing.assert_allclose(inside.sum(axis=1), inside.shape[1], rtol=1e-14)
        draws = max(inside.shape[1] - 1, 1)
        np.testing.assert_allclose(np.round(inside * draws / inside.shape[1]) * inside.shape[1] / draws, inside)
    crowded = np.isin(strata, np.flatnonzero(np.bincount(strata) > 1))
    assert np.all((rows[:, :n].std(axis=0) > 0) == crowded)


def test_balanced_blocks_hold_every_unit_a_hundred_times():
    n = 23
    rows = draw(BalancedBootstrap(n), range(500))
    assert rows.shape == (500, padded(n))
    assert np.all(rows[:, n:] == 0)
    assert np.all(rows.sum(axis=1) == n)
    blocks = rows.reshape(5, 100, padded(n))
    assert np.all(blocks.sum(axis=1)[:, :n] == 100)
    assert len({block.tobytes() for block in blocks}) == 5
    assert not np.all(blocks[0] == blocks[0][0])


@pytest.mark.false_alarm(1e-6)
def test_bayesian_weights_are_a_scaled_dirichlet():
    n, count = 23, 20_000
    rows = draw(BayesianBootstrap.of(n), range(count))
    assert rows.shape == (count, padded(n))
    assert np.all(rows[:, n:] == 0)
    assert np.all(rows[:, :n] > 0)
    np.testing.assert_allclose(rows.sum(axis=1), n, rtol=1e-13)
    # n Beta(1, n - 1) has mean 1, variance (n - 1) / (n + 1); pairs have correlation -1 / (n - 1).
    weights, variance = rows[:, :n], (n - 1) / (n + 1)
    assert np.all(np.abs(weights.mean(axis=0) - 1) < 6 * np.sqrt(variance / count))
    np.testing.assert_allclose(weights.var(axis=0), variance, rtol=0.15)
    correlation = np.corrcoef(weights.T)[~np.eye(n, dtype=bool)]
    assert np.abs(correlation + 1 / (n - 1)).max() < 6 / np.sqrt(count)


@pytest.mark.parametrize("name", ["cells", "cells in strata"])
def test_cell_rows_keep_every_stratum_and_leave_empty_cells_empty(name):
    scheme = SCHEMES[name]
    observed = np.asarray(scheme.observed)
    rows = draw(scheme, range(COUNT))
    assert rows.shape == (COUNT, observed.size)
    assert scheme.n_units == observed.size
    assert np.all(rows >= 0)
    table = rows.reshape(COUNT, *observed.shape)
    held = observed.sum(axis=1)
    np.testing.assert_allclose(table.sum(axis=2), np.broadcast_to(held, (COUNT, len(held))), rtol=1e-14)
    drawn = table if len(held) == 1 else table * ((held - 1) / held)[:, None]
    np.testing.assert_allclose(drawn, np.round(drawn), atol=1e-10)
    assert np.all(table[:, observed == 0] == 0)
    assert np.all(table[:, observed > 1].std(axis=0) > 0)


@pytest.mark.false_alarm(2e-6)
def test_strata_of_cells_are_drawn_independently():
    rows = draw(SCHEMES["cells in strata"], range(COUNT))
    assert not np.array_equal(rows[:, 0], rows[:, 3])  # two strata with the same counts
    for first, second in ((0, 3), (0, 7), (3, 7)):
        assert abs(np.corrcoef(rows[:, first], rows[:, second])[0, 1]) < 5 / np.sqrt(COUNT)


def _stretched(scheme, extra):
    """Return the scheme with ``extra`` more units of padding."""
    if isinstance(scheme, Bootstrap):
        return dataclasses.replace(scheme, capacity=scheme.capacity + extra, draws=scheme.draws + 2 * extra)
    if isinstance(scheme, BayesianBootstrap):
        return dataclasses.replace(scheme, capacity=scheme.capacity + extra)
    if isinstance(scheme, CellBootstrap):
        return CellBootstrap(np.pad(scheme.observed, ((0, 0), (0, extra))))
    fields = {
        name: np.pad(getattr(scheme, name), (0, extra), mode="edge") for name in ("members", "start", "size", "counted")
    }
    return dataclasses.replace(scheme, **fields)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["bootstrap", "bootstrap of 12", "bootstrap of many", "m out of n", "stratified", "bayesian", "cells"]
)
def test_rows_do_not_depend_on_the_padded_capacity(name):
    scheme = SCHEMES[name]
    rows, stretched = draw(scheme, range(COUNT)), draw(_stretched(scheme, 30), range(COUNT))
    if name == "bayesian":  # a sum of more terms may round differently
        np.testing.assert_allclose(stretched[:, : rows.shape[1]], rows, rtol=1e-14)
    else:
        np.testing.assert_array_equal(stretched[:, : rows.shape[1]], rows)
    assert np.all(stretched[:, rows.shape[1] :] == 0)


def test_replicate_keys_are_folded_from_the_global_number():
    key = jax.random.key(3)
    keys = replicate_keys(key, jnp.asarray([5, 0, 9], jnp.int32))
    expected = [jax.random.key_data(jax.random.fold_in(key, i)) for i in (5, 0, 9)]
    np.testing.assert_array_equal(jax.random.key_data(keys), expected)
