"""What every distribution promises: its columns, one sample a key, its truth, and a file that gives it back."""

import functools
import json
import tomllib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tomli_w
from distribution_members import MEMBERS

from jaxci.distributions import (
    GaussianClasses,
    LogitKDE,
    distribution_from_dict,
    distribution_to_dict,
    observations,
    truth,
)
from jaxci.distributions.base import COLUMNS, Distribution, RowDistribution
from jaxci.distributions.files import KINDS
from jaxci.statistics import Accuracy, Mean, MeanSquaredError
from jaxci.statistics.sums import padded

KEY = jax.random.key(3)
SIZE = 3_000
walk = pytest.mark.parametrize("name", MEMBERS)
MEANS = {"values": Mean(), "labels": Accuracy(), "scores": Accuracy(), "targets": MeanSquaredError()}
"""A mean of rows for every kind of columns."""


def columns_of(draws):
    """Return drawn columns by name: those of a user's own statistic by number."""
    return dict(enumerate(draws["columns"])) if "columns" in draws else draws


@functools.partial(jax.jit, static_argnums=2)
def _sample(d, key, n):
    return columns_of(d.sample(key, n))


@functools.cache
def drawn(name, x64):
    with jax.enable_x64(x64):
        return {column: np.asarray(x) for column, x in _sample(MEMBERS[name], KEY, SIZE).items()}


def test_every_kind_that_a_file_holds_is_walked():
    assert {distribution_to_dict(d)["kind"] for d in MEMBERS.values()} == set(KINDS)


@pytest.mark.slow
@walk
@pytest.mark.parametrize("x64", [False, True])
def test_draws_have_their_shape_type_and_range(name, x64):
    d, found = MEMBERS[name], drawn(name, x64)
    real = np.float64 if x64 else np.float32
    if d.kind == "columns":
        assert [(x.shape, x.dtype) for x in found.values()] == [((SIZE, 3), real), ((SIZE,), np.int32)]
        return
    assert tuple(sorted(found)) == tuple(sorted(COLUMNS[d.kind]))
    coded = {"labels": ("y_true", "y_pred"), "scores": ("y_true",)}.get(d.kind, ())
    low, high = d.bounds
    for column, x in found.items():
        assert x.shape == ((SIZE, d.n_classes) if column == "y_score" and d.n_classes > 2 else (SIZE,))
        assert x.dtype == (np.int32 if column in coded else real)
        if column in coded:
            assert x.min() >= 0
            assert x.max() < d.n_classes
        else:
            assert np.all(x >= real(low))
            assert np.all(x <= real(high))
        if x.ndim == 2 and isinstance(d, LogitKDE | GaussianClasses):
            np.testing.assert_allclose(x.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.slow
@walk
def test_a_key_draws_one_sample_alone_and_in_a_batch(name):
    d = MEMBERS[name]
    keys = jax.random.split(KEY, 3)
    batch = jax.jit(jax.vmap(lambda k: columns_of(d.sample(k, SIZE))))(keys)
    for i in range(3):
        again = _sample(d, keys[i], SIZE)
        for column, x in _sample(d, keys[i], SIZE).items():
            np.testing.assert_array_equal(x, again[column])
            np.testing.assert_allclose(x, batch[column][i], rtol=1e-5, atol=1e-6)
    assert any(not np.array_equal(x[0], x[1]) for x in batch.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, d in MEMBERS.items()
        if d.kind in MEANS and not isinstance(d, LogitKDE | GaussianClasses) and d.layout(SIZE).units is None
    ],
)
@pytest.mark.false_alarm(1e-6)
def test_the_truth_is_near_the_mean_of_many_rows(name):
    """Five standard errors."""
    d = MEMBERS[name]
    known, sample = truth(d, MEANS[d.kind], KEY), observations(d, drawn(name, True))
    rows = {
        "values": lambda: sample.values,
        "labels": lambda: sample.y_true == sample.y_pred,
        "scores": lambda: sample.y_true == sample.y_pred,
        "targets": lambda: (sample.y_true - sample.y_pred) ** 2,
    }[d.kind]()
    assert known.how == "analytic"
    assert abs(rows.mean() - known.value) < 5 * rows.std() / np.sqrt(SIZE) + known.error


@pytest.mark.slow
@walk
def test_a_file_gives_back_the_same_draws(name):
    described = distribution_to_dict(MEMBERS[name])
    for read in (json.loads(json.dumps(described)), tomllib.loads(tomli_w.dumps(described))):
        again = distribution_from_dict(read)
        assert distribution_to_dict(again) == described
        second = _sample(again, KEY, SIZE)
        for column, x in _sample(MEMBERS[name], KEY, SIZE).items():
            np.testing.assert_array_equal(x, second[column])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, d in MEMBERS.items() if isinstance(d, RowDistribution)])
def test_filling_up_the_data_changes_no_draw(name):
    d = MEMBERS[name]
    filled = d.sharing
    lengths = {len(x) for field in d.row_fields for x in jax.tree.leaves(getattr(filled.law, field))}
    assert lengths == {padded(d.n_rows)}
    for column, x in _sample(d, KEY, SIZE).items():
        np.testing.assert_allclose(
            _sample(filled, KEY, SIZE)[column], x, rtol=1e-6
        )  # one draw, rounded by two programs


@pytest.mark.slow
@walk
def test_every_distribution_is_a_pytree(name):
    d = MEMBERS[name]
    leaves, tree = jax.tree.flatten(d)
    assert isinstance(jax.tree.unflatten(tree, leaves), Distribution)
    on_device = jax.tree.map(jnp.asarray, d)
    for column, x in _sample(d, KEY, SIZE).items():
        np.testing.assert_allclose(_sample(on_device, KEY, SIZE)[column], x, rtol=1e-6)
