"""Learners that are equally good are seldom told apart, and sets of ranks hold the true ranks."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxci
from jaxci.inducers import Fitted, Inducer
from jaxci.records import record


@record
class OneColumn(Inducer):
    """Least squares on one column: of columns that count alike, all are equally good."""

    column: int = 0

    task = "regression"

    def fit(self, key, X, y, weights, n_classes):
        x = X[:, self.column]
        mean, level = weights @ x / weights.sum(), weights @ y / weights.sum()
        slope = (weights * (x - mean)) @ (y - level) / ((weights * (x - mean)) @ (x - mean))
        return Fitted((slope, level - slope * mean), jnp.asarray(True))

    def predict(self, params, X):
        slope, level = params
        return slope * X[:, self.column] + level


@pytest.mark.false_alarm(1e-4)
@pytest.mark.parametrize("n", [40, 150])
def test_equal_learners(n):
    """Five of six learners are equal: any pair of the five told apart is an error (none of 300 data sets each)."""
    rng = np.random.default_rng(n)
    names = {f"x{j}": OneColumn(j) for j in range(6)}
    wrong = held = 0
    rounds = 150
    for _ in range(rounds):
        X = rng.normal(size=(n, 6))
        y = X @ [1.0, 1.0, 1.0, 1.0, 1.0, 0.0] + rng.normal(size=n)
        board = jaxci.rank_inducers(names, X, y, rng=0, progress=False)
        wrong += any(pair.adjusted <= 0.05 and "x5" not in (pair.a, pair.b) for pair in board.pairs)
        held += all(entry.rank_low == 1 for entry in board.entries if entry.name != "x5") and board["x5"].rank_high == 6
    # At 6%, more than 22 of 150 have probability below 1e-4.
    assert wrong <= 22
    assert held >= rounds - 22
