"""Multinomial counts: sums, empty cells, edges, and rows that depend on their key alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci.resampling.bank import replicate_keys
from jaxci.resampling.multinomial import BUFFER, multinomial

pytestmark = pytest.mark.usefixtures("float64")

_draw = jax.jit(multinomial)

PROBABILITIES = {
    "even": [0.25, 0.25, 0.25, 0.25],
    "one rare": [1e-9, 0.4, 0.6 - 1e-9],
    "rising": [0.01, 0.04, 0.15, 0.3, 0.5],
    "thirds": [1 / 3, 1 / 3, 1 / 3],
    "tenths": [0.1] * 10,
}


WIDTH = 10
"""Cells that most tests are padded to, so that they share one compiled program."""


def draw(trials, probabilities, ids=300, seed=0, width=WIDTH):
    cells = len(probabilities)
    probabilities = np.pad(probabilities, (0, max(width - cells, 0)))
    numbers = jnp.arange(ids, dtype=jnp.int32) if isinstance(ids, int) else jnp.asarray(ids, jnp.int32)
    keys = replicate_keys(jax.random.key(seed), numbers)
    drawn = np.asarray(_draw(keys, jnp.float64(trials), jnp.asarray(probabilities, jnp.float64)))
    assert np.all(drawn[:, cells:] == 0)
    return drawn[:, :cells]


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize("trials", [1, 2, 15, 1000, 10_000_000, 2**45 + 1])
def test_rows_are_counts_that_sum_to_the_trials(name, trials):
    rows = draw(trials, PROBABILITIES[name])
    assert rows.dtype == np.float64
    assert rows.shape == (300, len(PROBABILITIES[name]))
    assert np.all(rows >= 0)
    assert np.all(rows == np.floor(rows))
    assert np.all(rows.sum(axis=1) == trials)


def test_cells_of_no_probability_get_nothing():
    for probabilities in ([0.0, 0.3, 0.0, 0.7, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]):
        for trials in (3, 50, 5000):
            rows = draw(trials, probabilities)
            assert np.all(rows[:, np.asarray(probabilities) == 0] == 0)
            assert np.all(rows.sum(axis=1) == trials)


def test_one_cell_gets_everything():
    for width in (1, WIDTH):
        assert np.all(draw(12, [1.0], width=width) == 12)
        assert np.all(draw(0, [1.0], width=width) == 0)


def test_no_trials_give_no_counts():
    assert np.all(draw(0, [0.2, 0.3, 0.5]) == 0)


def test_last_cell_takes_what_is_left_where_probabilities_do_not_quite_sum_to_one():
    for slack in (-1e-15, 1e-15):
        rows = draw(10_000, [0.2, 0.3, 0.5 + slack, 0.0])
        assert np.all(rows.sum(axis=1) == 10_000)
        assert np.all(rows[:, 3] == 0)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [40, 900])
def test_row_depends_on_its_key_alone(trials):
    probabilities = [0.3, 0.05, 0.4, 0.25]
    count = 2 * BUFFER + 500  # more lanes than are retried together
    whole = draw(trials, probabilities, count)
    some = np.arange(count)[::-8][:300]
    assert len(some) == 300
    np.testing.assert_array_equal(draw(trials, probabilities, some), whole[some])
    for lone in (0, 1, count - 1):
        np.testing.assert_array_equal(draw(trials, probabilities, [lone]), whole[[lone]])


def test_trailing_padding_changes_nothing():
    probabilities = [0.2, 0.5, 0.3]
    np.testing.assert_array_equal(draw(77, probabilities), draw(77, probabilities, width=3))


def test_keys_decide():
    np.testing.assert_array_equal(draw(500, [0.4, 0.6]), draw(500, [0.4, 0.6]))
    assert not np.array_equal(draw(500, [0.4, 0.6]), draw(500, [0.4, 0.6], seed=1))
