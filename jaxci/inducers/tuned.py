"""A learner whose setting is chosen by cross-validation within the training rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.inducers.base import Fitted, Inducer, Plane
from jaxci.inducers.fields import check_count, check_field
from jaxci.records import record, static


@record
class Tuned(Inducer):
    """``base`` with its ``field`` set to that of ``values`` which predicts best in cross-validation.

    The training rows are dealt at random to ``n_folds`` folds of equal numbers of distinct rows, all copies
    of a row to one. The error of a value is the mean over the training rows, with their weights, of the
    squared error or the log loss when their fold is left out; of equal values the first wins. The base
    is then fitted to all training rows. A fit has converged if that one did and those that chose it.

    Parameters
    ----------
    base : Inducer
    field : str
        A field of the base that is a number and shapes no arrays, such as ``alpha`` of a ridge regression; not the
        depth of a tree or the number of trees.
    values : tuple of float
        What to try.
    n_folds : int

    Notes
    -----
    Cost: ``n_folds * len(values) + 1`` fits, made together but the last.
    """

    base: Inducer
    field: str = static()
    values: tuple[float, ...] = ()
    n_folds: int = static(default=5)

    def __post_init__(self) -> None:
        fields = dataclasses.fields(self.base)  # type: ignore[arg-type]
        known = [field.name for field in fields if not field.metadata.get("static")]
        if self.field not in known:
            amount = f"a number of {type(self.base).__name__} that shapes no arrays"
            raise ValueError(f"field must be {amount} ({', '.join(known) or 'it has none'}); got {self.field!r}")
        if len(self.values) == 0:
            raise ValueError("values must hold at least one value; got none")
        for value in self.values:
            check_field("values", value, "be numbers", np.isfinite)
            self._with(value)  # by the rule of the field
        check_count("n_folds", self.n_folds, 2)

    @property
    def task(self) -> str:  # type: ignore[override]
        """The task of the base."""
        return self.base.task

    @property
    def pads_rows(self) -> bool:  # type: ignore[override]
        """As the base."""
        return self.base.pads_rows

    @property
    def in_threads(self) -> bool:  # type: ignore[override]
        """As the base."""
        return self.base.in_threads

    def _with(self, value: jax.Array | float) -> Inducer:
        return dataclasses.replace(self.base, **{self.field: value})  # type: ignore[type-var]

    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Choose the value by cross-validation and fit with it."""
        to_deal, to_fit, to_refit = jax.random.split(key, 3)
        folds = deal(to_deal, weights, self.n_folds)
        keys = jax.random.split(to_fit, self.n_folds)
        values = jnp.asarray(self.values, X.dtype)

        def held_out(value: jax.Array, key: jax.Array, fold: jax.Array) -> tuple[jax.Array, jax.Array]:
            out = folds == fold
            learner = self._with(value)
            fitted = learner.fit(key, X, y, jnp.where(out, 0.0, weights), n_classes)
            losses = _losses(learner.predict(fitted.params, X), y, n_classes)
            return jnp.sum(jnp.where(out & (weights > 0), weights * losses, 0.0)), fitted.converged

        each_fold = jax.vmap(held_out, (None, 0, 0))
        losses, converged = jax.vmap(each_fold, (0, None, None))(values, keys, jnp.arange(self.n_folds))
        losses = losses.sum(axis=1)
        best = jnp.argmin(jnp.where(jnp.isnan(losses), jnp.inf, losses))
        fitted = self._with(values[best]).fit(to_refit, X, y, weights, n_classes)
        return Fitted((values[best], fitted.params), fitted.converged & jnp.all(converged[best]))

    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Predict as the base does."""
        value, of_base = params
        return self._with(value).predict(of_base, X)

    def plane(self, params: Any, n_features: int) -> Plane | None:
        """Return that of the base."""
        value, of_base = params
        return self._with(value).plane(of_base, n_features)


def deal(key: jax.Array, weights: jax.Array, n_folds: int) -> jax.Array:
    """Return a fold 0..n_folds-1 for each row (n,), at random: rows of weight 0 are dealt last."""
    draws = jax.random.uniform(key, weights.shape, weights.dtype)
    order = jnp.argsort(jnp.where(weights > 0, draws, 2.0))
    return jnp.zeros(len(order), jnp.int32).at[order].set(jnp.arange(len(order), dtype=jnp.int32) % n_folds)


def _losses(predictions: jax.Array, y: jax.Array, n_classes: int) -> jax.Array:
    """Return squared errors (n,), or log losses (n,)."""
    if not n_classes:
        return (predictions - y) ** 2
    chosen = jnp.take_along_axis(predictions, y[:, None], axis=1)[:, 0]
    return -jnp.log(jnp.maximum(chosen, jnp.finfo(chosen.dtype).eps))
