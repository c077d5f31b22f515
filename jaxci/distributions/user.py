"""Users' own distributions: any object that draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.distributions.base import COLUMNS, Distribution
from jaxci.distributions.tables import float_type
from jaxci.records import record, static
from jaxci.statistics.base import Statistic


@record
class UserDistribution(Distribution):
    """An object with ``sample(key, n)``, written in JAX, as a distribution.

    The object may return one array (n,) of values, the two columns of labels or scores as a tuple,
    or a dictionary of columns (see :meth:`Distribution.sample`). Its ``analytic(statistic)``, a
    number or None, and ``bounds`` are used where it has them.

    Parameters
    ----------
    source : object
        Hashable; programs are compiled anew for each object.
    kind : {"values", "labels", "scores"}
        What it draws.
    n_classes : int
        K; at least 2 for labels and scores.
    """

    source: Any = static()
    kind: str = static(default="values")
    n_classes: int = static(default=0)

    def __post_init__(self) -> None:
        if not callable(getattr(self.source, "sample", None)):
            raise ValueError(f"a distribution must have a method sample(key, n); got {type(self.source).__name__}")
        if self.kind not in COLUMNS:
            raise ValueError(f"kind must be one of {', '.join(COLUMNS)}; got {self.kind!r}")
        if self.n_classes != 0 if self.kind == "values" else self.n_classes < 2:
            raise ValueError(
                f"n_classes must be 0 for values and at least 2 for labels and scores; got {self.n_classes} "
                f"for {self.kind}"
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

    def sample(self, key: jax.Array, n: int) -> dict[str, jax.Array]:
        """Draw ``n`` rows.

        Raises
        ------
        ValueError
            If the object draws other columns or shapes than its kind has.
        """
        names = COLUMNS[self.kind]
        drawn = self.source.sample(key, n)
        if not isinstance(drawn, Mapping):
            drawn = dict(zip(names, drawn if isinstance(drawn, tuple | list) else (drawn,), strict=False))
        missing = [name for name in names if name not in drawn]
        if missing:
            raise ValueError(f"{self.label}.sample must draw {' and '.join(names)}; {missing[0]} is missing")
        columns = {}
        for name in names:
            shape = (n, self.n_classes) if name == "y_score" and self.n_classes > 2 else (n,)
            type_ = float_type() if name in ("values", "y_score") else jnp.int32
            columns[name] = jnp.asarray(drawn[name]).astype(type_)
            if columns[name].shape != shape:
                raise ValueError(f"{self.label}.sample must draw {name} of shape {shape}; got {columns[name].shape}")
        return columns

    def analytic(self, statistic: Statistic) -> float | None:
        """Return what the object knows."""
        known = getattr(self.source, "analytic", None)
        value = known(statistic) if callable(known) else None
        return None if value is None else float(value)


def as_distribution(source: Any, kind: str = "values", n_classes: int = 0) -> Distribution:
    """Return ``source`` if it is a distribution, else wrap an object that has ``sample(key, n)``."""
    return source if isinstance(source, Distribution) else UserDistribution(source, kind, n_classes)
