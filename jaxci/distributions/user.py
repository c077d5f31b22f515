"""Users' own distributions: any object that draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import shown
from jaxci.distributions.base import COLUMNS, Distribution
from jaxci.distributions.parametric import read_scipy
from jaxci.distributions.tables import float_type
from jaxci.records import record, static
from jaxci.statistics.base import Statistic

_CLASSES = {"labels": ("y_true", "y_pred"), "scores": ("y_true",)}
"""Columns of class codes, by kind."""


@record
class UserDistribution(Distribution):
    """An object with ``sample(key, n)``, written in JAX, as a distribution.

    The object may return one array (n,) of values, the two columns of labels or scores as a tuple,
    or a dictionary of columns (see :meth:`Distribution.sample`); of kind "columns"
    one array or a tuple. Its ``analytic(statistic)``, a
    number or None, and ``bounds`` are used where it has them.

    Parameters
    ----------
    source : object
        Hashable; programs are compiled anew for each object.
    kind : {"values", "labels", "scores", "targets", "columns"}
        What it draws; targets are real numbers, true and predicted.
    n_classes : int
        K; at least 2 for labels and scores, which alone have classes.
    """

    source: Any = static()
    kind: str = static(default="values")
    n_classes: int = static(default=0)

    def __post_init__(self) -> None:
        if not callable(getattr(self.source, "sample", None)):
            raise ValueError(
                "a distribution must have a method sample(key, n), as those of jaxci.distributions, or be a frozen law "
                f"of scipy.stats, as beta(8, 2); got {shown(self.source)}"
            )
        if self.kind not in COLUMNS:
            raise ValueError(f"kind must be one of {', '.join(COLUMNS)}; got {self.kind!r}")
        if self.n_classes < 2 if self.kind in _CLASSES else self.n_classes != 0:
            raise ValueError(
                f"n_classes must be at least 2 for labels and scores and 0 for values, targets and columns; "
                f"got {self.n_classes} for {self.kind}"
            )
        try:
            hash(self.source)
        except TypeError:
            raise ValueError(f"{type(self.source).__name__} must be hashable (a dataclass: eq=False)") from None

    @property
    def label(self) -> str:
        """Name of the object's type."""
        return type(self.source).__name__

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds that the object states, or those of its kind."""
        default = (-np.inf, np.inf) if self.kind != "labels" else (0.0, self.n_classes - 1.0)
        low, high = getattr(self.source, "bounds", default)
        return float(low), float(high)

    def sample(self, key: jax.Array, n: int) -> dict[str, Any]:
        """Draw ``n`` rows.

        Raises
        ------
        ValueError
            If the object draws other columns or shapes than its kind has.
        """
        names = COLUMNS[self.kind]
        drawn = self.source.sample(key, n)
        if self.kind == "columns":
            return {"columns": self._columns(drawn, n)}
        if not isinstance(drawn, Mapping):
            drawn = dict(zip(names, drawn if isinstance(drawn, tuple | list) else (drawn,), strict=False))
        missing = [name for name in names if name not in drawn]
        if missing:
            raise ValueError(f"{self.label}.sample must draw {' and '.join(names)}; {missing[0]} is missing")
        columns = {}
        for name in names:
            shape = (n, self.n_classes) if name == "y_score" and self.n_classes > 2 else (n,)
            type_ = jnp.int32 if name in _CLASSES.get(self.kind, ()) else float_type()
            columns[name] = jnp.asarray(drawn[name]).astype(type_)
            if columns[name].shape != shape:
                raise ValueError(f"{self.label}.sample must draw {name} of shape {shape}; got {columns[name].shape}")
        return columns

    def _columns(self, drawn: Any, n: int) -> tuple[jax.Array, ...]:
        found = tuple(map(jnp.asarray, drawn if isinstance(drawn, tuple | list) else (drawn,)))
        for x in found:
            if x.shape[:1] != (n,):
                raise ValueError(f"{self.label}.sample must draw columns of {n} rows; got shape {x.shape}")
        return found

    def analytic(self, statistic: Statistic) -> float | None:
        """Return what the object knows."""
        known = getattr(self.source, "analytic", None)
        value = known(statistic) if callable(known) else None
        return None if value is None else float(value)


def as_distribution(source: Any, kind: str = "values", n_classes: int = 0) -> Distribution:
    """Return what is meant by ``source`` where a distribution is asked for.

    Parameters
    ----------
    source : object
        A distribution of :mod:`jaxci.distributions`; a frozen law of ``scipy.stats``, such as
        ``scipy.stats.beta(8, 2)``: :class:`Parametric` of its name and parameters, or
        :class:`FrozenLaw` where its family is no member of ``scipy.stats``; a law of SciPy's newer classes, such as
        ``scipy.stats.Normal(mu=0, sigma=1)``: :class:`FrozenLaw`; or an object that has ``sample(key, n)``:
        :class:`UserDistribution`.
    kind : {"values", "labels", "scores", "targets", "columns"}
        What such an object draws.
    n_classes : int
        K of such an object.

    Examples
    --------
    >>> import scipy.stats
    >>> as_distribution(scipy.stats.beta(8, b=2, scale=3)).label
    'beta(a=8, b=2, scale=3)'
    """
    found = read_scipy(source)
    return found if isinstance(found, Distribution) else UserDistribution(found, kind, n_classes)
