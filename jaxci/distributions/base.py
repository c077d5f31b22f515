"""What every distribution promises: draws by a JAX program, and what it knows of a statistic."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import shown
from jaxci.records import record, static
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.sums import padded

COLUMNS = {
    "values": ("values",),
    "labels": ("y_true", "y_pred"),
    "scores": ("y_true", "y_score"),
    "targets": ("y_true", "y_pred"),
    "columns": ("columns",),
}
"""Names of the columns that a distribution of each kind draws."""


class Distribution(abc.ABC):
    """A data-generating process: rows with a known law, independent unless :meth:`layout` says otherwise.

    Leaves are frozen :func:`~jaxci.records.record` dataclasses. Attributes:

    - ``kind``: ``"values"`` (one value a row), ``"labels"`` (true and predicted class),
      ``"scores"`` (true class and scores), ``"targets"`` (true and predicted value) or
      ``"columns"`` (arrays of any kind, for users' own statistics);
    - ``n_classes``: K, 0 where there are no classes;
    - ``bounds``: an interval that no draw leaves;
    - ``label``: a short description.
    """

    kind: str
    n_classes: int = 0

    @abc.abstractmethod
    def sample(self, key: jax.Array, n: int) -> dict[str, Any]:
        """Draw ``n`` rows; ``n`` is static, ``key`` may be batched by ``vmap``.

        Returns
        -------
        dict
            Kind "values": ``values`` (n,). Kind "labels": ``y_true`` and ``y_pred`` (n,) int32.
            Kind "scores": ``y_true`` (n,) int32 and ``y_score``, the score of class 1 (n,) if
            K = 2 and of every class (n, K) otherwise. Kind "targets": ``y_true`` and ``y_pred``
            (n,) floats. Kind "columns": ``columns``, a tuple of arrays (n, ...). Floats have JAX's
            default type.
        """

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Interval that no value, class code or score leaves."""

    def layout(self, n: int) -> Layout:
        """Return how ``n`` rows are clustered and stratified, the same for every sample: by default not at all."""
        return Layout(n)

    @property
    def of_rows(self) -> Distribution:
        """The law of independent rows under which statistics have the same true values."""
        return self

    @property
    def sharing(self) -> Distribution:
        """A distribution with the same draws that shares its programs with those of similar size."""
        return self

    @property
    def label(self) -> str:
        """Short description of the distribution."""
        return type(self).__name__

    @abc.abstractmethod
    def analytic(self, statistic: Statistic) -> float | None:
        """Return the value of ``statistic`` under this law; None if it is not known in closed form.

        Infinite or NaN means that the value does not exist.
        """


class RowDistribution(Distribution):
    """A distribution that draws rows of its data; ``row_fields`` name the fields with an axis over those rows."""

    row_fields: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, Any]:
        """Draw ``n`` rows (see :meth:`sample`) from the first ``size`` rows of the data."""

    @property
    def n_rows(self) -> int:
        """Number of rows N of the data."""
        return len(jax.tree.leaves(getattr(self, self.row_fields[0]))[0])

    def sample(self, key: jax.Array, n: int) -> dict[str, Any]:
        """Draw ``n`` rows."""
        return self.drawn(key, n, self.n_rows)

    @property
    def sharing(self) -> Distribution:
        """A distribution with the same draws that shares its programs with those of similar size."""
        return PaddedRows.of(self)


class OfLaw(Distribution):
    """A distribution that draws what another one, ``law``, draws."""

    law: Distribution

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What is drawn."""
        return self.law.kind

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K, 0 where there are no classes."""
        return self.law.n_classes

    @property
    def bounds(self) -> tuple[float, float]:
        """Interval that no draw leaves."""
        return self.law.bounds


@record
class PaddedRows(OfLaw):
    """A distribution whose data are filled up to a padded size: those of similar size share a program.

    Attributes
    ----------
    law : RowDistribution
        With its last row repeated.
    size : int32
        Number of rows N before.
    """

    law: RowDistribution
    size: Any

    @classmethod
    def of(cls, law: RowDistribution) -> PaddedRows:
        """Fill up the rows of ``law``."""
        extra = padded(law.n_rows) - law.n_rows

        def filled(x: Any) -> np.ndarray:
            return np.pad(np.asarray(x), ((0, extra), *((0, 0),) * (np.ndim(x) - 1)), mode="edge")

        fields = {name: jax.tree.map(filled, getattr(law, name)) for name in law.row_fields}
        return cls(dataclasses.replace(law, **fields), np.int32(law.n_rows))  # type: ignore[type-var]

    def sample(self, key: jax.Array, n: int) -> dict[str, Any]:
        """Draw ``n`` rows: those that the distribution draws without the filling."""
        return self.law.drawn(key, n, self.size)

    def analytic(self, statistic: Statistic) -> float | None:
        """Return None: the repeated rows are no part of the law."""
        return None


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


def observations(distribution: Distribution, draws: Mapping[str, Any], derives: bool | None = None) -> Sample:
    """Return drawn columns, NumPy arrays or traced ones, as a :class:`Sample` in double precision.

    Columns of a user's own statistic are the drawn ones in their order. Predicted classes are
    derived from scores (:func:`predictions`) where these are drawn without them and, for two
    classes, lie between 0 and 1: where ``derives``, if given, which a traced distribution cannot tell.
    """
    needed = ("columns",) if distribution.kind == "columns" else COLUMNS[distribution.kind]
    if not isinstance(draws, Mapping) or not all(name in draws for name in needed):
        got = ", ".join(map(repr, draws)) if isinstance(draws, Mapping) else shown(draws)
        what = f"a dict with {' and '.join(map(repr, needed))}, as its kind is {distribution.kind!r}"
        raise ValueError(f"draws of {distribution.label} must be {what}; got {got}")
    found = dict(draws)
    for name in COLUMNS["targets"] if distribution.kind == "targets" else ("values", "y_score"):
        if name in found:
            found[name] = found[name].astype(np.float64)
    if distribution.kind == "columns":
        return Sample(columns=tuple(_in_double(x) for x in found["columns"]))
    columns = tuple(found[name] for name in COLUMNS[distribution.kind])
    if predicts(distribution) if derives is None else derives:
        found["y_pred"] = predictions(found["y_score"])
    return Sample(**found, columns=columns, n_classes=distribution.n_classes)


def _in_double(x: Any) -> Any:
    return x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x


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
