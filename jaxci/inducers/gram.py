"""Weighted sums of products of columns, for many weights at once."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np

WIDEST = 64
"""Columns up to which the products of all pairs are laid out."""

LARGEST = 2**23
"""Numbers that the products of all pairs may take."""


class Columns(NamedTuple):
    """Columns (n, d), and the products of all pairs (n, d (d + 1) / 2) where they are laid out."""

    values: jax.Array
    products: jax.Array | None


def columns(X: jax.Array) -> Columns:
    """Lay out products of all pairs of columns, if they are few.

    They do not depend on the weights: of fits mapped over weights with ``X`` shared, the Gram matrices
    are then one matrix product.
    """
    n, d = X.shape
    if d > WIDEST or n * d * (d + 1) // 2 > LARGEST:
        return Columns(X, None)
    rows, cols = np.triu_indices(d)
    return Columns(X, X[:, rows] * X[:, cols])


def gram(of: Columns, weights: jax.Array) -> jax.Array:
    """Return ``X.T @ diag(weights) @ X`` (d, d)."""
    X = of.values
    if of.products is None:
        return X.T @ (weights[:, None] * X)
    d = X.shape[1]
    place = np.zeros((d, d), np.int32)
    place[np.triu_indices(d)] = np.arange(of.products.shape[1])
    place = np.maximum(place, place.T)
    return (weights @ of.products)[place]
