"""Users' own statistics."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.statistics.base import Statistic
from jaxci.statistics.sample import Sample
from jaxci.tracing import computing, traced


@record
class Columns:
    """Data of a user's statistic: padded arrays (N, ...) and the real number of rows."""

    arrays: tuple[Any, ...]
    n: int = static()


def called(function: Any) -> str:
    """Return the name of a user's function, or of its class."""
    return getattr(function, "__name__", type(function).__name__)


class FunctionStatistic(Statistic):
    """A statistic that is a user's function of the columns."""

    task = "custom"
    inputs = ("columns",)

    function: Callable[..., Any]

    @property
    def described(self) -> str:
        """Name of the function."""
        return called(self.function)

    def n_arguments(self, n_columns: int) -> int:
        """Return how many arguments the function gets of rows of so many columns."""
        return n_columns

    def takes(self, n_columns: int) -> bool:
        """Whether the function can be called on rows of so many columns; True of one that does not tell."""
        try:
            known = inspect.signature(self.function)
        except (TypeError, ValueError):
            return True
        try:
            known.bind(*[None] * self.n_arguments(n_columns))
        except TypeError:
            return False
        return True


@record
class WeightedFunction(FunctionStatistic):
    """A user's JAX function ``f(*data, weights)``: the fast road, with influence values.

    ``weights`` (N,) are non-negative and sum to the number of observations; N may exceed the
    number of rows, the surplus having zero weight. ``f`` must return a scalar, must not
    depend on the scale of the weights but for corrections for degrees of freedom, and must be
    differentiable in them unless ``differentiable`` is False. Numbers among the data reach it in 64 bits.
    """

    function: Callable[..., Any] = static()
    differentiable: bool = static(default=True)

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the user declares the function differentiable."""
        return self.differentiable

    def n_arguments(self, n_columns: int) -> int:
        """Return how many arguments the function gets of rows of so many columns: these and the weights."""
        return n_columns + 1

    def prepare(self, sample: Sample) -> tuple[Any, ...]:
        """Keep the columns."""
        return sample.columns

    def value(self, prepared: tuple[Any, ...], weights: jax.Array) -> jax.Array:
        """Return ``f(*data, weights)``."""
        return jnp.asarray(self.function(*prepared, weights), float)


def as_scalar(value: Any) -> float:
    """Return what a user's function gave as a float, if it is one number."""
    found = np.asarray(value)
    if found.ndim or found.dtype.kind not in "biuf":
        what = f"shape {found.shape}" if found.ndim else type(value).__name__
        raise TypeError(f"the statistic must return a scalar number; got {what}")
    return float(found)


@record
class SampleFunction(FunctionStatistic):
    """A user's JAX function ``f(*sample)`` of resampled data: rows are gathered, counts only.

    Weights must sum to the prepared number of rows. ``dtype`` is what the function computes: means of booleans are of
    single precision in JAX.
    """

    function: Callable[..., Any] = static()
    dtype: str = static(default="float64")

    smooth = False
    of_law = False

    def prepare(self, sample: Sample) -> Columns:
        """Keep the columns."""
        return Columns(sample.columns, sample.n)

    def value(self, prepared: Columns, weights: jax.Array) -> jax.Array:
        """Return ``f`` of the rows repeated by their counts."""
        rows = jnp.repeat(jnp.arange(weights.shape[0]), weights.astype(jnp.int32), total_repeat_length=prepared.n)
        return jnp.asarray(self.function(*(jnp.asarray(x)[rows] for x in prepared.arrays)), float)


@record
class HostFunction(FunctionStatistic):
    """A user's NumPy function ``f(*sample)``, called once a resample on the host; ``reason`` says why."""

    function: Callable[..., Any] = static()
    reason: str = static(default="the statistic cannot be traced by JAX")

    smooth = False
    of_law = False

    @property
    def remark(self) -> str:
        """What a user should know of the road, and how to take the fast one."""
        return (
            f"{self.reason} and was called on the host once a resample; for the fast road write it with jax.numpy, "
            "best as jaxci.statistics.WeightedFunction(f) with f(*data, weights)"
        )

    def prepare(self, sample: Sample) -> Columns:
        """Keep the columns, without padding."""
        return Columns(tuple(x[: sample.n] for x in sample.columns), sample.n)

    def value(self, prepared: Columns, weights: Any) -> Any:
        """Return ``f`` of the rows repeated by their counts (host arrays)."""
        rows = np.repeat(np.arange(prepared.n), np.asarray(weights[: prepared.n]).astype(np.int64))
        try:
            return as_scalar(self.function(*(x[rows] for x in prepared.arrays)))
        except Exception as error:
            error.add_note("jaxci called the statistic on the data or a resample; NaN would say that it is undefined")
            raise


def from_callable(function: Callable[..., Any], columns: tuple[np.ndarray, ...], *, one_length: bool) -> Statistic:
    """Wrap ``function(*sample) -> scalar``: on the device if JAX can trace it, else on the host.

    ``one_length`` says whether all resamples have as many rows as the data, as compiled programs need.

    Raises
    ------
    TypeError
        If the function can be traced and returns no real scalar.
    IndexError
        If it reads rows that the data do not have.
    """
    if any(x.dtype.kind not in "biufc" for x in columns):
        return HostFunction(function, "the statistic reads data that are no numbers")
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in columns]
    try:
        steps, value = traced(function, *shapes)
    except Exception:
        return HostFunction(function)
    shape = getattr(value, "shape", None)
    if shape != ():
        what = type(value).__name__ if shape is None else f"shape {shape}"
        raise TypeError(f"the statistic must return a scalar number; got {what}")
    if jnp.iscomplexobj(value):
        raise TypeError(f"the statistic must return a real number; got {value.dtype}")
    if not one_length:
        return HostFunction(function, "clusters differ in size, and so do resamples: the statistic was not compiled")
    _check_rows(function, columns)
    dtype = str(value.dtype) if jnp.issubdtype(value.dtype, jnp.floating) else "float64"
    return computing(SampleFunction(function, dtype), steps)


def _check_rows(function: Callable[..., Any], columns: tuple[np.ndarray, ...]) -> None:
    """Refuse a function that reads rows which are not there: JAX would give it the last one."""
    try:
        with warnings.catch_warnings(action="ignore"):
            function(*(x.copy() for x in columns))
    except IndexError as error:
        error.add_note(f"jaxci called the statistic on the data, of {len(columns[0])} rows")
        raise
    except Exception:  # of a function that is one of JAX's arrays alone
        return


OF_ERROR, OF_VALUE, OF_DATA = 0.01, 1e-5, 1e-12
"""Differences that rounding may make: of a standard error, of a value where there is none, and of the largest datum."""


def order_remark(statistic: Statistic, columns: tuple[np.ndarray, ...], error: float) -> str | None:
    """Remark on a function of :func:`from_callable` whose value depends on the order of the rows.

    ``error`` is its standard error. A function that fails on rows in another order tells nothing.
    """
    assert isinstance(statistic, SampleFunction | HostFunction)
    turned = np.random.default_rng(0).permutation(len(columns[0]))
    call = _compiled if isinstance(statistic, SampleFunction) else _called
    try:
        with jax.enable_x64(True):
            both = columns, tuple(x[turned] for x in columns)
            here, there = (as_scalar(call(statistic, data)) for data in both)
    except Exception:
        return None
    allowed = OF_ERROR * error if error > 0 else OF_VALUE * max(abs(here), abs(there))
    largest = max((np.abs(x).max() for x in columns if x.dtype.kind in "iuf"), default=0.0)
    if not abs(here - there) > max(allowed, OF_DATA * largest):
        return None
    return (
        f"the statistic is {here:.4g} of the rows and {there:.4g} of the same rows in another order, which resamples "
        "do not keep: the interval does not hold for it"
    )


def _called(statistic: SampleFunction | HostFunction, data: tuple[Any, ...]) -> Any:
    """Return the function of copies of ``data``, which it may change."""
    return statistic.function(*(x.copy() for x in data))


_compiled = jax.jit(_called)
