"""Distributions of observed rows and of tables: what was seen, drawn with replacement."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import check_number
from jaxci.distributions.base import COLUMNS, Distribution, RowDistribution, observations, weighted_value
from jaxci.distributions.laws import FiniteLaw, ValueDistribution
from jaxci.distributions.tables import AliasTable, float_type
from jaxci.records import record, static
from jaxci.statistics.base import Statistic
from jaxci.statistics.order import Quantile, QuantileStatistic
from jaxci.statistics.sample import Sample

_HOST = (list, tuple, np.ndarray)


def checked_floats(name: str, x: Any, dimensions: tuple[int, ...] = (1,)) -> np.ndarray:
    """Return finite float64 numbers, at least one row; raise ``ValueError`` naming the argument."""
    try:
        array = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers; got {type(x).__name__}") from None
    if array.ndim not in dimensions or array.size == 0:
        shapes = " or ".join(str(d) for d in dimensions)
        raise ValueError(f"{name} must have {shapes} dimension(s) and at least one row; got shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite; got {array[~np.isfinite(array)][0]}")
    return array


def checked_codes(name: str, x: Any, n_classes: int, n: int) -> np.ndarray:
    """Return n class codes int32; raise ``ValueError`` where they are not from 0 to K - 1."""
    array = checked_floats(name, x)
    if len(array) != n:
        raise ValueError(f"{name} must have as many rows as the rest ({n}); got {len(array)}")
    if np.any(array != np.round(array)) or array.min() < 0 or array.max() >= n_classes:
        raise ValueError(
            f"{name} must be class codes from 0 to {n_classes - 1}; got {array.min():g} to {array.max():g}"
        )
    return array.astype(np.int32)


@record
class Empirical(RowDistribution, ValueDistribution):
    """Observed values, drawn with replacement.

    The standard deviation has divisor N. Where N q is whole the quantile of level q is the middle
    of two observed values (see :func:`~jaxci.distributions.truth`).

    Parameters
    ----------
    values : (N,) array
        Finite values; their probabilities are 1/N each.
    """

    values: Any

    row_fields = ("values",)

    def __post_init__(self) -> None:
        if isinstance(self.values, _HOST):
            object.__setattr__(self, "values", checked_floats("values", self.values))

    @property
    def label(self) -> str:
        """Number of values."""
        return f"empirical({len(self.values)} values)"

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        values = np.asarray(self.values)
        return float(values.min()), float(values.max())

    def law(self) -> FiniteLaw:
        """Return the law, in double precision on the host."""
        return FiniteLaw(self.values)

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` values (n,)."""
        return self.sample(key, n)["values"]

    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, jax.Array]:
        """Draw ``n`` of the first ``size`` values."""
        rows = jax.random.randint(key, (n,), 0, size, jnp.int32)
        return {"values": jnp.asarray(self.values, float_type())[rows]}


@record
class EmpiricalRows(RowDistribution):
    """Observed rows of a classification, drawn with replacement.

    The truth of a statistic of the table or of the ranks is its value on the rows themselves.

    Parameters
    ----------
    y_true : (N,) int
        Class codes 0..K-1.
    y_pred : (N,) int, optional
        Predicted class codes; one of ``y_pred`` and ``y_score`` must be given, not both.
    y_score : (N,) or (N, K) float, optional
        Scores of class 1 of two, or of every class.
    n_classes : int, optional
        K; by default the largest code plus one and at least 2, or the number of columns of scores.
    """

    y_true: Any
    y_pred: Any = None
    y_score: Any = None
    n_classes: int = static(default=0)

    row_fields = ("y_true", "y_pred", "y_score")

    def __post_init__(self) -> None:
        if self.n_classes and not isinstance(self.y_true, _HOST):
            return
        if (self.y_pred is None) == (self.y_score is None):
            raise ValueError("give either y_pred or y_score")
        n = len(checked_floats("y_true", self.y_true))
        found = self.n_classes
        if self.y_score is not None:
            scores = checked_floats("y_score", self.y_score, (1, 2))
            columns = 2 if scores.ndim == 1 else scores.shape[1]
            if scores.ndim == 2 and columns == 2:
                scores = scores[:, 1]
            if len(scores) != n or (found and found != columns):
                raise ValueError(f"y_score must be ({n},) or ({n}, {found or 'K'}); got shape {np.shape(self.y_score)}")
            found = columns
            object.__setattr__(self, "y_score", scores)
        elif not found:
            found = max(2, int(max(np.max(self.y_true), np.max(self.y_pred))) + 1)
        object.__setattr__(self, "n_classes", found)
        object.__setattr__(self, "y_true", checked_codes("y_true", self.y_true, found, n))
        if self.y_pred is not None:
            object.__setattr__(self, "y_pred", checked_codes("y_pred", self.y_pred, found, n))

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whether labels or scores are drawn."""
        return "labels" if self.y_score is None else "scores"

    @property
    def label(self) -> str:
        """Number of rows."""
        return f"empirical({len(self.y_true)} rows of {self.kind})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the scores, or of the class codes."""
        if self.y_score is None:
            return 0.0, self.n_classes - 1.0
        return float(np.min(self.y_score)), float(np.max(self.y_score))

    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, jax.Array]:
        """Draw ``n`` of the first ``size`` rows."""
        rows = jax.random.randint(key, (n,), 0, size, jnp.int32)
        drawn = {"y_true": jnp.asarray(self.y_true, jnp.int32)[rows]}
        if self.y_score is None:
            return {**drawn, "y_pred": jnp.asarray(self.y_pred, jnp.int32)[rows]}
        return {**drawn, "y_score": jnp.asarray(self.y_score, float_type())[rows]}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the statistic of the rows, each once, if it is a function of their distribution."""
        names = COLUMNS[self.kind]
        rows = observations(self, {name: getattr(self, name) for name in names})
        return weighted_value(statistic, rows, np.ones(rows.n))


@record
class EmpiricalTargets(RowDistribution):
    """Observed rows of a regression, drawn with replacement.

    Parameters
    ----------
    y_true, y_pred : (N,) float
        True and predicted values.
    """

    y_true: Any
    y_pred: Any

    kind = "targets"
    row_fields = ("y_true", "y_pred")

    def __post_init__(self) -> None:
        if isinstance(self.y_true, _HOST):
            for name in COLUMNS["targets"]:
                object.__setattr__(self, name, checked_floats(name, getattr(self, name)))
            if len(self.y_true) != len(self.y_pred):
                raise ValueError(f"y_pred must be ({len(self.y_true)},) as y_true is; got ({len(self.y_pred)},)")

    @property
    def label(self) -> str:
        """Number of rows."""
        return f"empirical({len(self.y_true)} rows of targets)"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of all values."""
        both = np.concatenate([np.asarray(self.y_true), np.asarray(self.y_pred)])
        return float(both.min()), float(both.max())

    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, jax.Array]:
        """Draw ``n`` of the first ``size`` rows."""
        rows = jax.random.randint(key, (n,), 0, size, jnp.int32)
        return {name: jnp.asarray(getattr(self, name), float_type())[rows] for name in COLUMNS["targets"]}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the statistic of the rows, each once, if it is a function of their distribution."""
        rows = observations(self, {name: getattr(self, name) for name in COLUMNS["targets"]})
        if isinstance(statistic, QuantileStatistic) and statistic.task == "regression":
            return Empirical(np.asarray(statistic.ordered_values(rows))).analytic(Quantile(statistic.probability))
        return weighted_value(statistic, rows, np.ones(rows.n))


@record
class EmpiricalColumns(RowDistribution):
    """Observed rows of the columns that a user's own statistic reads, drawn with replacement.

    Parameters
    ----------
    columns : tuple of (N, ...) arrays
        Numbers or truth values; whole numbers and truth values stay what they are.
    """

    columns: Any

    kind = "columns"
    row_fields = ("columns",)

    def __post_init__(self) -> None:
        if isinstance(self.columns, np.ndarray):
            raise ValueError(f"columns must be a tuple of arrays, one a column; got an array {self.columns.shape}")
        if not all(isinstance(x, _HOST) for x in self.columns):
            return
        columns = tuple(map(np.asarray, self.columns))
        if not columns or any(x.ndim == 0 or x.dtype.kind not in "biuf" for x in columns):
            found = ", ".join(f"{x.dtype} {x.shape}" for x in columns) or "nothing"
            raise ValueError(f"columns must be arrays of numbers, one row an observation; got {found}")
        lengths = {len(x) for x in columns}
        if len(lengths) > 1 or 0 in lengths:
            raise ValueError(f"columns must have one length, at least 1; got {', '.join(map(str, sorted(lengths)))}")
        if not all(np.all(np.isfinite(x)) for x in columns):
            raise ValueError("columns must be finite; got NaN or infinity")
        object.__setattr__(self, "columns", columns)

    @property
    def label(self) -> str:
        """Number of rows and columns."""
        return f"empirical({len(self.columns[0])} rows of {len(self.columns)} columns)"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of all columns."""
        return min(float(np.min(x)) for x in self.columns), max(float(np.max(x)) for x in self.columns)

    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, tuple[jax.Array, ...]]:
        """Draw ``n`` of the first ``size`` rows."""
        rows = jax.random.randint(key, (n,), 0, size, jnp.int32)
        return {"columns": tuple(self._as_drawn(x)[rows] for x in self.columns)}

    @staticmethod
    def _as_drawn(x: Any) -> jax.Array:
        return jnp.asarray(x, float_type()) if jnp.issubdtype(x.dtype, jnp.floating) else jnp.asarray(x)

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the statistic of the rows, each once, if it is a function of their distribution."""
        rows = observations(self, {"columns": self.columns})
        return weighted_value(statistic, rows, np.ones(rows.n))


@record
class Cells(Distribution):
    """Independent pairs of true and predicted class from a table of probabilities.

    Parameters
    ----------
    table : (K, K) array
        Probability of true class i and predicted class j, non-negative; divided by their sum.
    """

    table: Any
    alias: Any = dataclasses.field(default=None, repr=False)

    kind = "labels"

    def __post_init__(self) -> None:
        if self.alias is not None and not isinstance(self.table, _HOST):
            return
        table = checked_floats("table", self.table, (2,))
        if table.shape[0] != table.shape[1] or len(table) < 2:
            raise ValueError(f"table must be square, with at least 2 classes; got shape {table.shape}")
        if table.min() < 0 or not table.sum() > 0:
            raise ValueError(f"table must hold probabilities, not all 0; got a minimum of {table.min():g}")
        object.__setattr__(self, "table", table / table.sum())
        object.__setattr__(self, "alias", AliasTable.of(table.ravel()))

    @classmethod
    def fit(cls, y_true: Any, y_pred: Any, n_classes: int) -> Cells:
        """Take the shares of the cells among observed class codes (n,)."""
        n = len(y_true)
        true, predicted = (checked_codes(name, x, n_classes, n) for name, x in (("y_true", y_true), ("y_pred", y_pred)))
        return cls(np.bincount(true * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes))

    @classmethod
    def binary(cls, prevalence: float, sensitivity: float, specificity: float) -> Cells:
        """Return the law of two classes by the share of class 1 and the recalls of both."""
        for name, share in (("prevalence", prevalence), ("sensitivity", sensitivity), ("specificity", specificity)):
            check_number(name, share, "lie in [0, 1]", lambda x: 0 <= x <= 1)
        positive = np.array([1 - sensitivity, sensitivity])
        negative = np.array([specificity, 1 - specificity])
        return cls(np.stack([(1 - prevalence) * negative, prevalence * positive]))

    @classmethod
    def multiclass(cls, shares: Any, accuracy: float) -> Cells:
        """Return the law of K classes with probabilities ``shares`` (K,), every class right with one chance.

        Errors go to the other classes in proportion to their shares.
        """
        check_number("accuracy", accuracy, "lie in [0, 1]", lambda x: 0 <= x <= 1)
        share = checked_floats("shares", shares)
        share = share / share.sum()
        errors = np.where(np.eye(len(share)) == 1, 0.0, share)
        errors *= (share * (1 - accuracy) / errors.sum(axis=1))[:, None]
        return cls(np.diag(share * accuracy) + errors)

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K."""
        return self.table.shape[0]

    @property
    def label(self) -> str:
        """Size of the table."""
        return f"cells({self.n_classes} x {self.n_classes})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the class codes."""
        return 0.0, self.n_classes - 1.0

    def sample(self, key: jax.Array, n: int) -> dict[str, jax.Array]:
        """Draw ``n`` pairs of classes: a cell each."""
        cell = self.alias.draw(key, n)
        return {"y_true": cell // self.n_classes, "y_pred": cell % self.n_classes}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the statistic of the table, if it is a function of it."""
        true, predicted = np.divmod(np.arange(self.n_classes**2, dtype=np.int32), np.int32(self.n_classes))
        cells = Sample(y_true=true, y_pred=predicted, columns=(true, predicted), n_classes=self.n_classes)
        return weighted_value(statistic, cells, np.asarray(self.table, np.float64).ravel())
