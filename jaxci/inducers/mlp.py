"""Neural networks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxci.inducers.base import Fitted, Inducer
from jaxci.inducers.fields import check_count, check_field, check_not_negative, check_positive
from jaxci.inducers.logistic import shares_of_rows
from jaxci.records import record, static

Layers = tuple[tuple[jax.Array, jax.Array], ...]
"""Weights (out, in) and offsets (out,) of each layer."""


class _Training(NamedTuple):
    """Where the training of a network is: ``best`` has the lowest loss yet, ``idle`` epochs ago."""

    layers: Layers
    moments: optax.OptState
    best: Layers
    lowest: jax.Array
    idle: jax.Array
    epoch: jax.Array


@record
class MLP(Inducer):
    """Network of rectified linear units: squared error, or log loss of a softmax.

    Columns, and the targets of a regression, are scaled by the weighted means and standard deviations of
    the training rows. The defaults train for a fixed time, which keeps probabilities of classes that a plane
    separates from going to 0 and 1, as scikit-learn's networks do by smaller steps. With a
    ``validation_share`` that part of the distinct training rows, drawn at random, is set aside; after
    ``patience`` epochs without a lower loss there the training ends, and the parameters of the lowest loss
    are kept.

    Parameters
    ----------
    hidden : tuple of int
        Units of the hidden layers.
    learning_rate : float
        Of Adam. An epoch is one step of all training rows.
    weight_decay : float
        Decoupled: parameters shrink by ``learning_rate * weight_decay`` a step.
    max_epochs : int
    validation_share : float
        0: the training loss decides.
    patience : int

    Notes
    -----
    A fit has converged if its loss is finite. Memory: some ``24 n sum(hidden)`` bytes a fit.
    """

    hidden: tuple[int, ...] = static(default=(100,))
    learning_rate: float = 0.003
    weight_decay: float = 1e-3
    max_epochs: int = static(default=200)
    validation_share: float = static(default=0.0)
    patience: int = static(default=20)

    task: ClassVar[str] = "any"
    pads_rows: ClassVar[bool] = True
    in_threads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for units in self.hidden:
            check_count("hidden", units, 1)
        check_positive("learning_rate", self.learning_rate)
        check_not_negative("weight_decay", self.weight_decay)
        check_count("max_epochs", self.max_epochs, 1)
        check_field("validation_share", self.validation_share, "be in [0, 1)", lambda x: 0 <= x < 1)
        check_count("patience", self.patience, 1)

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Count the activations of the layers and their gradients too."""
        return 8 * n * (d + max(n_classes, 1) + 4 + 3 * sum(self.hidden))

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Train by Adam from Glorot's uniform start."""
        sizes = (X.shape[1], *self.hidden, n_classes or 1)
        parameters = sum(a * b for a, b in itertools.pairwise(sizes))
        to_start, to_set_aside = jax.random.split(key)
        total = weights.sum()
        x_mean, x_scale = _moments(X, weights / total)
        if n_classes:
            targets = jax.nn.one_hot(y, n_classes, dtype=X.dtype, axis=0)
            y_mean, y_scale = jnp.zeros(n_classes, X.dtype), jnp.ones(n_classes, X.dtype)
        else:
            y_mean, y_scale = _moments(y[:, None], weights / total)
            targets = ((y - y_mean) / y_scale)[None]
        aside = self._aside(jax.random.uniform(to_set_aside, y.shape, X.dtype), weights)
        learn, judge = jnp.where(aside, 0.0, weights), jnp.where(aside, weights, 0.0)
        judge = jnp.where(judge.sum() > 0, judge, learn)
        learn, judge = learn / learn.sum(), judge / judge.sum()
        rows = X.T

        def scaled(layers: Layers) -> Layers:
            # The scaling of the columns goes into the first layer: rows stay shared by all fits.
            (first, offset), *others = layers
            return ((first / x_scale, offset - (first / x_scale) @ x_mean), *others)

        def losses(layers: Layers) -> tuple[jax.Array, jax.Array]:
            found = forward(scaled(layers), rows)
            if n_classes:
                each = -jnp.sum(targets * jax.nn.log_softmax(found, axis=0), axis=0)
            else:
                each = (found - targets)[0] ** 2 / 2
            return learn @ each, judge @ each

        optimiser = optax.adamw(self.learning_rate, weight_decay=self.weight_decay)

        def going(state: _Training) -> jax.Array:
            return (state.epoch < self.max_epochs) & (state.idle < self.patience)

        def train(state: _Training) -> _Training:
            (_, judged), slope = jax.value_and_grad(losses, has_aux=True)(state.layers)
            steps, moments = optimiser.update(slope, state.moments, state.layers)
            better = judged < state.lowest
            return _Training(
                optax.apply_updates(state.layers, steps),
                moments,
                jax.tree.map(lambda new, old: jnp.where(better, new, old), state.layers, state.best),
                jnp.where(better, judged, state.lowest),
                jnp.where(better, 0, state.idle + 1),
                state.epoch + 1,
            )

        first = start(jax.random.uniform(to_start, (parameters,), X.dtype), sizes)
        none = jnp.int32(0)
        state = _Training(first, optimiser.init(first), first, jnp.asarray(jnp.inf, X.dtype), none, none)
        state = jax.lax.while_loop(going, train, state)
        *layers, (last, offset) = scaled(state.best)
        found = (*layers, (last * y_scale[:, None], offset * y_scale + y_mean))
        return Fitted(found, jnp.isfinite(state.lowest))

    def _aside(self, draws: jax.Array, weights: jax.Array) -> jax.Array:
        """Mark the rows that are set aside."""
        draws = jnp.where(weights > 0, draws, 2.0)
        many = jnp.round(self.validation_share * jnp.sum(weights > 0)).astype(jnp.int32)
        return draws < jnp.sort(draws)[many]

    def predict(self, params: Layers, X: jax.Array) -> jax.Array:
        """Return values (n,), or class probabilities (n, K)."""
        *layers, (weights, offsets) = params
        found = hidden_units(layers, X.T).T @ weights.T + offsets
        return found[:, 0] if found.shape[1] == 1 else shares_of_rows(found)


def _moments(values: jax.Array, shares: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return means and standard deviations of columns; 1 for one that does not vary."""
    values, shift = values - values.mean(axis=0), values.mean(axis=0)
    mean = shares @ values
    square = shares @ values**2
    varies = square - mean**2 > 4 * len(values) * jnp.finfo(values.dtype).eps * square
    return mean + shift, jnp.sqrt(jnp.where(varies, square - mean**2, 1.0))


def start(draws: jax.Array, sizes: tuple[int, ...]) -> Layers:
    """Make weights by Glorot's rule of uniform draws from 0 to 1, as many as there are weights; offsets are 0."""
    layers, used = [], 0
    for wide, out in itertools.pairwise(sizes):
        drawn = draws[used : used + out * wide].reshape(out, wide)
        layers.append(((6 / (wide + out)) ** 0.5 * (2 * drawn - 1), jnp.zeros(out, draws.dtype)))
        used += out * wide
    return tuple(layers)


def hidden_units(layers: Sequence[tuple[jax.Array, jax.Array]], rows: jax.Array) -> jax.Array:
    """Return the values (units, n) of the last of hidden layers for rows (d, n)."""
    for weights, offsets in layers:
        rows = jax.nn.relu(weights @ rows + offsets[:, None])
    return rows


def forward(layers: Layers, rows: jax.Array) -> jax.Array:
    """Return the last layer's values (out, n) for rows (d, n)."""
    weights, offsets = layers[-1]
    return weights @ hidden_units(layers[:-1], rows) + offsets[:, None]
