"""Laws of SciPy's newer classes, as ``scipy.stats.Normal(mu=0, sigma=1)``, under the names that frozen laws have."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from scipy import stats

_ANY, _CONTINUOUS = stats.Normal.__mro__[-3], stats.Normal.__mro__[1]
"""The base of all these laws, which has ``abc.ABC`` and ``object`` above it, and that of the continuous ones."""


def is_newer(source: Any) -> bool:
    """Whether ``source`` is a law of these classes: one variable, a mixture or a transformed one among them."""
    return isinstance(source, _ANY)


@dataclasses.dataclass(frozen=True)
class Continuous:
    """A continuous law, with what :class:`~jaxci.distributions.parametric.ScipyLaw` asks of frozen laws.

    Parameters
    ----------
    source : object
        Of the newer classes.
    """

    source: Any

    @property
    def dist(self) -> Any:
        """The law itself: there is no family apart from it."""
        return self

    @property
    def name(self) -> str:
        """Class and parameters."""
        return " ".join(str(self.source).split())

    @functools.cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self.source.support()
        return float(low), float(high)

    def support(self) -> tuple[float, float]:
        """Return the ends of the support."""
        return self._ends

    def pdf(self, x: Any) -> Any:
        """Return the density."""
        return self.source.pdf(x)

    def cdf(self, x: Any) -> Any:
        """Return ``F(x)``."""
        return self.source.cdf(x)

    def sf(self, x: Any) -> Any:
        """Return ``1 - F(x)``."""
        return self.source.ccdf(x)

    def ppf(self, q: Any) -> Any:
        """Return the quantiles of levels ``q``."""
        return self.source.icdf(q)

    def isf(self, q: Any) -> Any:
        """Return the quantiles of levels ``1 - q``."""
        return self.source.iccdf(q)

    def median(self) -> Any:
        """Return the median."""
        return self.source.median()

    def stats(self, moments: str) -> Any:
        """Return the mean ("m") or the variance ("v")."""
        return self.source.mean() if moments == "m" else self.source.variance()


@dataclasses.dataclass(frozen=True)
class Discrete(Continuous):
    """A law of whole numbers."""

    def pmf(self, x: Any) -> Any:
        """Return the masses."""
        return self.source.pmf(x)


def from_newer(source: Any) -> Continuous:
    """Return a law of these classes under the names that frozen laws have.

    Raises
    ------
    ValueError
        If its parameters are arrays, or it mixes discrete laws.
    """
    if np.ndim(source.median()):
        raise ValueError(f"parameters of a distribution must be numbers; got {source}")
    if isinstance(source, stats.Mixture):
        if not all(isinstance(one, _CONTINUOUS) for one in source.components):
            raise ValueError(
                f"a mixture of scipy.stats must be of continuous laws, jaxci's Mixture mixes others; got {source}"
            )
        return Continuous(source)
    return (Continuous if isinstance(source, _CONTINUOUS) else Discrete)(source)
