"""What every scheme of resampling promises: rows that sum as they should, and belong to their replicate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.records import settings
from jaxci.resampling.bank import CellBootstrap
from jaxci.resampling.schemes import RESAMPLING, make_scheme
from jaxci.statistics.layout import Layout

N, SIZE = 23, 17
COUNT = 200
"""Replicates drawn: one compiled shape a scheme, and two blocks of the balanced one."""
STRATA = np.array([2, 0, 1, 0, 2, 2, 0, 3, 2, 0, 0, 1, 2, 2, 0, 1, 2, 0, 2, 1, 2, 2, 0])
TABLE = np.array([[7.0, 0.0, 60.0, 1.0, 0.0, 22.0]])
TABLES = np.array([[40.0, 0.0, 60.0], [40.0, 0.0, 60.0], [0.0, 30.0, 900.0]])

SCHEMES = {
    **{name: (make_scheme(Layout(N), name, block_length=4), N) for name in RESAMPLING},
    "bootstrap of few": (make_scheme(Layout(12)), 12),
    "bootstrap of many": (make_scheme(Layout(4200)), 4200),
    "m out of n": (make_scheme(Layout(N), resample_size=SIZE), SIZE),
    "stratified": (make_scheme(Layout(N, strata=STRATA)), N),
    "cells": (CellBootstrap(TABLE), TABLE.sum()),
    "cells in strata": (CellBootstrap(TABLES), TABLES.sum()),
}
"""Every way to resample a plain layout, others of the bootstrap, and its form for tables; the sum of their rows."""

REAL = ("bayesian", "stratified", "cells in strata")
"""Those whose weights are no whole numbers."""

walk = pytest.mark.parametrize("name", SCHEMES)
_counts = jax.jit(lambda scheme, key, ids: scheme.counts(key, ids))


def draw(name, ids=range(COUNT), seed=7, x64=True, scheme=None):
    with jax.enable_x64(x64):
        numbers = jnp.asarray(np.asarray(ids), jnp.int32)
        return np.asarray(_counts(SCHEMES[name][0] if scheme is None else scheme, jax.random.key(seed), numbers))


def assert_rows(name, found, expected):
    """Equal; real weights, whose sums may round differently from one program to another, to 1e-14."""
    if name in REAL:
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@walk
def test_rows_are_weights_that_sum_to_the_size_of_a_resample(name):
    scheme, size = SCHEMES[name]
    rows = draw(name)
    assert rows.shape == (COUNT, scheme.n_units)
    assert rows.dtype == np.float64
    assert np.all(rows >= 0)
    np.testing.assert_allclose(rows.sum(axis=1), size, rtol=1e-13)
    if name not in REAL:
        assert np.all(rows == np.round(rows))
        assert np.all(rows.sum(axis=1) == size)


@pytest.mark.slow
@walk
def test_row_belongs_to_its_replicate_not_to_its_chunk(name):
    scheme = SCHEMES[name][0]
    whole = draw(name)
    far = 100 * 2**20
    if scheme.block > 1:
        halves = [draw(name, range(100)), draw(name, range(100, 200))]
        np.testing.assert_array_equal(np.concatenate(halves), whole)
        assert not np.array_equal(draw(name, range(far, far + 100)), whole[:100])
        return
    backwards = np.arange(COUNT)[::-1]
    np.testing.assert_array_equal(draw(name, backwards), whole[backwards])
    assert not np.array_equal(draw(name, far + backwards), whole)
    if name.startswith("cells"):  # slow to compile; chunks of cells are compared with the engine's tests
        return
    assert_rows(name, draw(name, [150, 3, 77]), whole[[150, 3, 77]])


@pytest.mark.slow
@walk
def test_rows_differ_by_replicate_and_by_key_and_repeat_for_the_same_key(name):
    rows = draw(name)
    assert len({row.tobytes() for row in rows}) > COUNT / 2
    np.testing.assert_array_equal(rows, draw(name))
    assert not np.array_equal(rows, draw(name, seed=8))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCHEMES if name not in (*REAL, "cells")])
def test_counts_are_the_same_with_and_without_64_bit_types(name):
    narrow, wide = draw(name, x64=False), draw(name)
    assert narrow.dtype == np.float32
    np.testing.assert_array_equal(narrow, wide)


@walk
def test_a_scheme_is_a_pytree_and_is_made_again_from_its_settings(name):
    scheme = SCHEMES[name][0]
    leaves, structure = jax.tree.flatten(scheme)
    for again in (jax.tree.unflatten(structure, leaves), type(scheme)(**settings(scheme))):
        assert jax.tree.structure(again) == structure
        np.testing.assert_array_equal(draw(name, scheme=again), draw(name))


def test_an_unknown_way_to_resample_is_refused_where_schemes_are_made():
    with pytest.raises(ValueError, match=r"resampling must be one of bootstrap, balanced, bayesian.*; got 'balancd'"):
        make_scheme(Layout(5), "balancd")
