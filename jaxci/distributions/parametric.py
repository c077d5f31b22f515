"""Parametric laws by their scipy.stats name, and mixtures of any laws of one value."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats.distributions import rv_frozen

from jaxci.checks import hint, shown
from jaxci.distributions.laws import LEVEL_NOISE, Law, MixtureLaw, ValueDistribution
from jaxci.distributions.newer_scipy import Continuous, from_newer, is_newer
from jaxci.distributions.tables import TAIL, AliasTable, Lattice, QuantileTable, Table, float_type
from jaxci.records import record, static

_WIDEST_LATTICE = 1 << 20

_DIRECT: dict[str, Callable[..., jax.Array]] = {
    "norm": jax.random.normal,
    "uniform": jax.random.uniform,
    "expon": jax.random.exponential,
    "laplace": jax.random.laplace,
    "logistic": jax.random.logistic,
    "cauchy": jax.random.cauchy,
    "lognorm": lambda key, shape, dtype, s: jnp.exp(s * jax.random.normal(key, shape, dtype)),
    "pareto": lambda key, shape, dtype, b: jax.random.pareto(key, b, shape, dtype),
}
"""Standard laws that ``jax.random`` draws in closed form, as functions of (key, shape, dtype, shapes)."""


@functools.cache
def _names() -> tuple[str, ...]:
    """Names of the laws of one variable in scipy.stats."""
    from scipy import stats

    kinds = (stats.rv_continuous, stats.rv_discrete)
    return tuple(name for name in dir(stats) if isinstance(getattr(stats, name), kinds))


def _family(name: Any) -> Any:
    from scipy import stats

    if not isinstance(name, str) or name not in _names():
        raise ValueError(f"name must be a law of scipy.stats; got {name!r}{hint(str(name), _names())}")
    return getattr(stats, name)


def _shape_names(family: Any) -> tuple[str, ...]:
    return tuple(family.shapes.split(", ")) if family.shapes else ()


def _is_discrete(family: Any) -> bool:
    return hasattr(family, "pmf")


@functools.lru_cache(maxsize=256)
def _checked(name: str, parameters: tuple[tuple[str, float], ...]) -> Any:
    """Return the frozen scipy.stats law, its parameters checked."""
    family = _family(name)
    shapes = _shape_names(family)
    known = (*shapes, "loc") if _is_discrete(family) else (*shapes, "loc", "scale")
    given = dict(parameters)
    for key, value in parameters:
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}{hint(key, known)}")
        if not np.isfinite(value):
            raise ValueError(f"parameter {key} of {name} must be finite; got {value}")
    missing = [key for key in shapes if key not in given]
    if missing:
        raise ValueError(f"{name} needs its parameter {missing[0]!r}; got {', '.join(given) or 'none'}")
    if given.get("scale", 1.0) <= 0:
        raise ValueError(f"scale of {name} must be positive; got {given['scale']}")
    if not np.all(family._argcheck(*(given[key] for key in shapes))):
        listed = ", ".join(f"{key}={given[key]:g}" for key in shapes)
        raise ValueError(f"parameters of {name} must lie in its domain; got {listed}")
    return family(**given)


@functools.lru_cache(maxsize=256)
def _table(name: str, shapes: tuple[tuple[str, float], ...]) -> Table | None:
    """Table of the standard law; None where ``jax.random`` draws it."""
    return None if name in _DIRECT else _tabulated(_checked(name, shapes), name)


def _tabulated(law: Any, name: str) -> Table:
    """Tabulate a frozen law of scipy.stats."""
    if not _is_discrete(law.dist):
        return QuantileTable.of(law, name)
    low = max(law.ppf(TAIL), law.support()[0])
    if not law.sf(low + _WIDEST_LATTICE) <= 10 * TAIL:
        raise ValueError(f"{name} cannot be drawn from: its values from {low:g} on are too many to list")
    high = min(law.isf(TAIL), law.support()[1], low + _WIDEST_LATTICE)
    masses = law.pmf(np.arange(low, high + 1))
    if not masses.sum() > 1 - 1e-9:
        raise ValueError(f"{name} cannot be drawn from: its values must be whole numbers from {low:g} on")
    return Lattice(float(low), AliasTable.of(masses))


class ScipyLaw(Law):
    """A frozen law of scipy.stats."""

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen

    def cdf(self, x: Any) -> np.ndarray:
        """Return ``F(x)``."""
        return self.frozen.cdf(x)

    def quantile(self, q: float) -> float:
        """Return ``inf{x: F(x) >= q}``."""
        return float(self.frozen.ppf(q))

    def support(self) -> tuple[float, float]:
        """Return the ends of the support."""
        low, high = self.frozen.support()
        return float(low), float(high)

    def mean(self) -> float | None:
        """Return the mean."""
        return self._moment("m", 1)

    def deviation(self) -> float | None:
        """Return the standard deviation."""
        variance = self._moment("v", 2)
        return None if variance is None else math.sqrt(variance)

    def _moment(self, which: str, order: int) -> float | None:
        """Return a moment unless the tails contradict it: formulas may be continued where it is infinite."""
        with np.errstate(all="ignore"):
            value = float(self.frozen.stats(moments=which))
            index = self._tail_index()
        if np.isnan(value):
            return None if index > 1.005 * order else np.nan
        return np.inf if index < 0.995 * order else value

    def _tail_index(self) -> float:
        """Exponent of the heavier tail if it falls like a power, else infinity."""
        found = [np.inf]
        centre = self.frozen.median()
        for side in (self.frozen.ppf, self.frozen.isf):
            near, middle, far = np.abs(np.asarray(side([1e-7, 1e-9, 1e-11])) - centre)
            if 0 < near < middle < far < np.inf:
                inner, outer = np.log(middle / near), np.log(far / middle)
                if abs(inner / outer - 1) < 0.1:
                    found.append(float(np.log(100) / outer))
        return min(found)

    def partial_mean(self, a: float, b: float) -> float:
        """Return ``E[X; a < X <= b]``: a sum, or the integral of the quantile function."""
        if _is_discrete(self.frozen.dist):
            start = max(a, float(self.frozen.ppf(TAIL)) - 1)
            steps = np.arange(1, min(b, float(self.frozen.isf(TAIL))) - start + 0.5)
            return float(np.sum(self.frozen.pmf(start + steps) * (start + steps)))
        from scipy import integrate

        low, high = float(self.frozen.cdf(a)), float(self.frozen.cdf(b))
        if high - low <= LEVEL_NOISE:
            return (high - low) * (a + b) / 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", integrate.IntegrationWarning)
            near = 1e-12 * max(abs(a), abs(b))
            return integrate.quad(self.frozen.ppf, low, high, epsabs=near, epsrel=1e-11, limit=200)[0]


@record
class Parametric(ValueDistribution):
    """A law of scipy.stats, continuous or discrete, by name.

    Drawn by ``jax.random`` where that has a closed form, and through a table of the quantile
    function otherwise (:mod:`~jaxci.distributions.tables`; error in probability 1e-7 mostly, at most 1e-4),
    which is built on the host, once for each set of shape parameters, so these cannot be traced.
    Beta, gamma, Student, Poisson and binomial laws come from tables too: much faster than by
    rejection, with tails that single precision does not cut at 1e-7.

    Parameters
    ----------
    name : str
        Name in scipy.stats, such as "beta".
    parameters : mapping of str to float
        Shape parameters, ``loc`` and ``scale`` by their names in scipy.stats.

    Raises
    ------
    ValueError
        If the law or a parameter is unknown, missing or out of range, or the law cannot be tabulated.

    Examples
    --------
    >>> Parametric("beta", {"a": 8, "b": 2}).law().mean()
    0.8
    """

    name: str = static()
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    table: Any = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        numbers = all(isinstance(value, int | float | np.number) for value in self.parameters.values())
        new = self.table is None and self.name not in _DIRECT
        if not new and not (numbers and self.parameters):
            return
        given = {str(key): float(value) for key, value in self.parameters.items()}
        _checked(self.name, tuple(given.items()))
        shapes = tuple((key, value) for key, value in given.items() if key not in ("loc", "scale"))
        object.__setattr__(self, "parameters", given)
        object.__setattr__(self, "table", _table(self.name, shapes))

    @property
    def label(self) -> str:
        """Name and parameters."""
        return f"{self.name}({', '.join(f'{key}={value:g}' for key, value in self.parameters.items())})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the support."""
        return self.law().support()

    def law(self) -> ScipyLaw:
        """Return the law, in double precision on the host."""
        return ScipyLaw(_checked(self.name, tuple((key, float(value)) for key, value in self.parameters.items())))

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` values (n,)."""
        dtype = float_type()
        given = {name: jnp.asarray(value, dtype) for name, value in self.parameters.items()}
        loc, scale = given.pop("loc", 0.0), given.pop("scale", 1.0)
        standard = self.table.draw(key, n) if self.table is not None else _DIRECT[self.name](key, (n,), dtype, **given)
        return jnp.asarray(loc + scale * standard, dtype)


@record
class FrozenLaw(ValueDistribution):
    """A frozen law whose family is no member of scipy.stats: of a user's own subclass, or of given masses.

    Laws of SciPy's newer classes are such, too: ``scipy.stats.Normal(mu=0, sigma=1)``, and what ``make_distribution``
    makes. Drawn through a table with the error of :class:`Parametric`'s; no file can hold it. A law whose density jumps
    within the support, as a histogram's, is refused: the table would miss the jumps.

    Parameters
    ----------
    frozen : scipy.stats.rv_frozen or jaxci.distributions.newer_scipy.Continuous
    """

    frozen: Any = static()
    table: Any = dataclasses.field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.table is None:
            object.__setattr__(self, "table", _tabulated(self.frozen, self.label))

    @property
    def label(self) -> str:
        """Name of the family's class; of a law of the newer classes with its parameters."""
        return self.frozen.name if isinstance(self.frozen, Continuous) else type(self.frozen.dist).__name__

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the support."""
        return self.law().support()

    def law(self) -> ScipyLaw:
        """Return the law, in double precision on the host."""
        return ScipyLaw(self.frozen)

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` values (n,)."""
        return jnp.asarray(self.table.draw(key, n), float_type())


def from_frozen(frozen: Any) -> Parametric | FrozenLaw:
    """Return a frozen law of scipy.stats as a distribution.

    Raises
    ------
    ValueError
        If its parameters are arrays, or it cannot be drawn from.
    """
    family = frozen.dist
    known = (*_shape_names(family), "loc") if _is_discrete(family) else (*_shape_names(family), "loc", "scale")
    parameters = {**dict(zip(known, frozen.args, strict=False)), **frozen.kwds}
    for key, value in parameters.items():
        if np.ndim(value):
            raise ValueError(f"parameters of a frozen distribution must be numbers; got {key}={shown(value)}")
    if family.name in _names() and type(family) is type(_family(family.name)):
        return Parametric(family.name, parameters)
    return FrozenLaw(frozen)


def read_scipy(source: Any) -> Any:
    """Return a law of scipy.stats, frozen or of the newer classes, as a distribution; anything else as it is."""
    if is_newer(source):
        return FrozenLaw(from_newer(source))
    return from_frozen(source) if isinstance(source, rv_frozen) else source


@record
class Mixture(ValueDistribution):
    """Draws from one of several laws, chosen with given probabilities.

    Parameters
    ----------
    components : sequence of distributions of one value, or of laws of ``scipy.stats``
    weights : sequence of float
        Probabilities of the components, non-negative; divided by their sum.

    Raises
    ------
    ValueError
        If there are no components, or the weights do not fit them.
    """

    components: tuple[Any, ...]
    weights: Any

    def __post_init__(self) -> None:
        if not isinstance(self.weights, list | tuple | np.ndarray):
            return
        given = self.components if isinstance(self.components, Iterable) else [self.components]
        components = tuple(read_scipy(x) for x in given)
        wrong = [x for x in components if not isinstance(x, ValueDistribution)]
        if not components or wrong:
            got = shown(wrong[0]) if wrong else "none"
            raise ValueError(f"components must be distributions of one value, and weights numbers; got {got}")
        try:
            weights = np.asarray(self.weights, np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"weights must be numbers; got {shown(self.weights)}") from None
        if weights.shape != (len(components),):
            raise ValueError(f"weights must be one for each of {len(components)} components; got shape {weights.shape}")
        if not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
            raise ValueError(f"weights must be non-negative and not all 0; got {weights.tolist()}")
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "weights", weights / weights.sum())

    @property
    def label(self) -> str:
        """Weights and components."""
        parts = (f"{w:.3g} {x.label}" for w, x in zip(np.asarray(self.weights), self.components, strict=True))
        return f"mixture({' + '.join(parts)})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Ends of the union of the components' bounds."""
        ends = [component.bounds for component in self.components]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def law(self) -> MixtureLaw:
        """Return the law, in double precision on the host."""
        return MixtureLaw([component.law() for component in self.components], self.weights)

    def draw(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` values (n,): from every component, one of which is kept."""
        which, *keys = jax.random.split(key, len(self.components) + 1)
        edges = jnp.cumsum(jnp.asarray(self.weights, float_type()))
        u = edges[-1] * jax.random.uniform(which, (n,), float_type())
        index = jnp.sum(u[:, None] >= edges[:-1], axis=1)
        draws = [component.draw(k, n) for component, k in zip(self.components, keys, strict=True)]
        return jnp.select([index == i for i in range(len(draws))], draws)
