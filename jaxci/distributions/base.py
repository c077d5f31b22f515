"""What every distribution promises: draws by a JAX program, and the true value of a statistic."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.statistics.base import Sample, Statistic
from jaxci.statistics.custom import HostFunction
from jaxci.statistics.ranking import MulticlassRanking
from jaxci.statistics.summary import OrderStatistic, Quantile

COLUMNS = {
    "values": ("values",),
    "labels": ("y_true", "y_pred"),
    "scores": ("y_true", "y_score"),
    "targets": ("y_true", "y_pred"),
}
"""Names of the columns that a distribution of each kind draws."""

TOLERANCE = 1e-8
"""Error of root finding and quadrature, relative to the interdecile range of the distribution."""

_BATCHES = 20
_DRAWS = 1_000_000
_DRAWS_HEAVY = 100_000


class Distribution(abc.ABC):
    """A data-generating process: independent rows with a known law.

    Leaves are frozen :func:`~jaxci.records.record` dataclasses. Attributes:

    - ``kind``: ``"values"`` (one value a row), ``"labels"`` (true and predicted class),
      ``"scores"`` (true class and scores) or ``"targets"`` (true and predicted value);
    - ``n_classes``: K, 0 where there are no classes;
    - ``bounds``: an interval that no draw leaves;
    - ``label``: a short description.
    """

    kind: str
    n_classes: int = 0

    @abc.abstractmethod
    def sample(self, key: jax.Array, n: int) -> dict[str, jax.Array]:
        """Draw ``n`` independent rows; ``n`` is static, ``key`` may be batched by ``vmap``.

        Returns
        -------
        dict
            Kind "values": ``values`` (n,). Kind "labels": ``y_true`` and ``y_pred`` (n,) int32.
            Kind "scores": ``y_true`` (n,) int32 and ``y_score``, the score of class 1 (n,) if
            K = 2 and of every class (n, K) otherwise. Kind "targets": ``y_true`` and ``y_pred``
            (n,) floats. Floats have JAX's default type.
        """

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Interval that no value, class code or score leaves."""

    @property
    def label(self) -> str:
        """Short description of the distribution."""
        return type(self).__name__

    @abc.abstractmethod
    def analytic(self, statistic: Statistic) -> float | None:
        """Return the value of ``statistic`` under this law; None if it is not known in closed form.

        Infinite or NaN means that the value does not exist.
        """


@record
class Truth:
    """The value of a statistic under a distribution.

    Attributes
    ----------
    value : float
        The estimand.
    error : float
        Standard error of a Monte-Carlo value; tolerance of an analytic one, 0 if in closed form.
    how : str
        "analytic" or "Monte Carlo, <size> draws".
    """

    value: float
    error: float
    how: str = static()


def predictions(y_score: Any) -> Any:
    """Return the class (n,) int32 that scores predict: the highest, or 1 from a score of 0.5 on.

    Scores are those of every class (n, K), or probabilities of class 1 (n,).
    """
    if y_score.ndim == 1:
        return (y_score >= 0.5).astype(np.int32)
    return y_score.argmax(axis=1).astype(np.int32)


def predicts(distribution: Distribution) -> bool:
    """Whether predicted classes can be derived from what is drawn: scores of K classes, or probabilities."""
    low, high = distribution.bounds
    return distribution.kind == "scores" and (distribution.n_classes > 2 or (low >= 0 and high <= 1))


def observations(distribution: Distribution, draws: Mapping[str, Any]) -> Sample:
    """Return drawn columns, NumPy arrays or traced ones, as a :class:`Sample` in double precision.

    Columns of a user's own statistic are the drawn ones in their order. Predicted classes are
    derived from scores (:func:`predictions`) where these are drawn without them and, for two
    classes, lie between 0 and 1.
    """
    found = dict(draws)
    for name in COLUMNS["targets"] if distribution.kind == "targets" else ("values", "y_score"):
        if name in found:
            found[name] = found[name].astype(np.float64)
    columns = tuple(found[name] for name in COLUMNS[distribution.kind])
    if predicts(distribution):
        found["y_pred"] = predictions(found["y_score"])
    return Sample(**found, columns=columns, n_classes=distribution.n_classes)


def check_readable(distribution: Distribution, statistic: Statistic) -> None:
    """Raise ``ValueError`` if the distribution does not draw what the statistic reads."""
    drawn = COLUMNS[distribution.kind]
    offered = {*drawn, "columns", *(("y_pred",) if distribution.kind == "scores" else ())}
    name = type(statistic).__name__
    needed = statistic.inputs
    regression = (statistic.task == "regression") != (distribution.kind == "targets") and statistic.task != "custom"
    if not needed or not offered.issuperset(needed) or regression:
        wanted = " and ".join(needed) or "paired predictions"
        kind = "regression targets" if statistic.task == "regression" else wanted
        raise ValueError(
            f"{name} reads {kind}; {distribution.label} is a distribution of {distribution.kind} "
            f"and draws {' and '.join(drawn)}"
        )
    if statistic.task == "binary" and distribution.n_classes != 2:
        raise ValueError(f"{name} is for 2 classes; {distribution.label} has {distribution.n_classes}")
    derives = "y_pred" in needed and distribution.n_classes == 2
    if distribution.kind == "scores" and (statistic.needs_probabilities or derives):
        low, high = distribution.bounds
        if low < 0 or high > 1:
            raise ValueError(f"{name} needs probabilities; bounds of {distribution.label} are [{low:g}, {high:g}]")


def weighted_value(statistic: Statistic, sample: Sample, weights: np.ndarray) -> float | None:
    """Value of ``statistic`` under the law that draws row i of ``sample`` in proportion to ``weights[i]``.

    Exact for statistics that are functions of the weighted distribution alone (moments, tables,
    ranks, a user's weighted function); None for others.
    """
    if not statistic.of_law:
        return None
    with jax.enable_x64(True):
        scaled = weights * (len(weights) / weights.sum())
        return float(statistic.value(statistic.prepare(sample), jnp.asarray(scaled, jnp.float64)))


def truth(distribution: Distribution, statistic: Statistic, key: jax.Array, size: int | None = None) -> Truth:
    """Return the value of ``statistic`` under ``distribution``, with its error.

    Analytic where the distribution knows it: error 0, or the tolerance of root finding and
    quadrature for quantiles and trimmed means. Otherwise the statistic of one sample of ``size``
    draws in double precision. Its standard error is the standard deviation of the statistic over
    20 batches of ``size / 20``, divided by the root of 20. A statistic that is no mean has a bias
    of order 1/size besides; the difference of the batch mean from the value shows 19 times that
    bias, and a nineteenth of it is added to the error in quadrature. Where batches leave a
    statistic undefined (a rare class), the others give the error. The error is not to be trusted
    where the statistic's own sampling variance is infinite.

    Where a distribution function is flat at level q the sample quantile does not settle, but lies
    with probability one half at either end; the quantile is then the middle of the flat, as is the
    limit of its mean.

    Parameters
    ----------
    distribution : Distribution
    statistic : Statistic
    key : JAX key
        For the Monte-Carlo draws; not used by an analytic value.
    size : int, optional
        Number of Monte-Carlo draws, at least 40: by default a million, and a hundred thousand for
        the ranking of several classes and functions called on the host.

    Raises
    ------
    ValueError
        If the value does not exist (a moment that is infinite, a NaN), or the statistic reads what
        the distribution does not draw.
    """
    check_readable(distribution, statistic)
    name = f"{type(statistic).__name__} of {distribution.label}"
    known = distribution.analytic(statistic)
    if known is not None:
        if not math.isfinite(known):
            raise ValueError(
                f"the true value of {name} does not exist (it is {known}): the moment it needs is infinite or undefined"
            )
        return Truth(float(known), _tolerance(distribution, statistic), "analytic")
    if size is None:
        heavy = isinstance(statistic, MulticlassRanking | HostFunction)
        size = _DRAWS_HEAVY if heavy else _DRAWS
    if size < 2 * _BATCHES:
        raise ValueError(f"size must be at least {2 * _BATCHES}; got {size}")
    value, error = _simulate(distribution, statistic, key, -(-size // _BATCHES))
    if not math.isfinite(value) or not math.isfinite(error):
        raise ValueError(
            f"the true value of {name} cannot be computed: a sample of {size} draws gave {value} "
            f"with standard error {error}"
        )
    return Truth(value, error, f"Monte Carlo, {-(-size // _BATCHES) * _BATCHES} draws")


def _tolerance(distribution: Distribution, statistic: Statistic) -> float:
    """Error of an analytic value."""
    if not isinstance(statistic, OrderStatistic):
        return 0.0
    low, high = (distribution.analytic(Quantile(q)) for q in (0.1, 0.9))
    return 0.0 if low is None or high is None else TOLERANCE * (high - low)


def _simulate(distribution: Distribution, statistic: Statistic, key: jax.Array, batch: int) -> tuple[float, float]:
    """Value of the statistic for all batches together, and its standard error."""
    with jax.enable_x64(True):
        parts = [jax.device_get(_draw(distribution, k, batch)) for k in jax.random.split(key, _BATCHES)]
        whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        value = _evaluate(statistic, observations(distribution, whole))
        by_batch = np.array([_evaluate(statistic, observations(distribution, part)) for part in parts])
    by_batch = by_batch[np.isfinite(by_batch)]
    if len(by_batch) < _BATCHES // 2:
        return value, math.nan
    bias = (by_batch.mean() - value) / (_BATCHES - 1)
    return value, math.hypot(by_batch.std(ddof=1) / math.sqrt(_BATCHES), bias)


@functools.partial(jax.jit, static_argnums=2)
def _draw(distribution: Distribution, key: jax.Array, n: int) -> dict[str, jax.Array]:
    return distribution.sample(key, n)


def _evaluate(statistic: Statistic, sample: Sample) -> float:
    """Statistic of a sample, every row once."""
    prepared = statistic.prepare(sample)
    if isinstance(statistic, HostFunction):
        return float(statistic.value(prepared, np.ones(sample.n)))
    return float(_value(statistic, prepared, jnp.ones(sample.n, jnp.float64)))


@jax.jit
def _value(statistic: Statistic, prepared: Any, weights: jax.Array) -> jax.Array:
    return statistic.value(prepared, weights)
