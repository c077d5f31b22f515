"""Laws of rows that are not independent draws: clusters of like rows, and strata of fixed size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import check_count, check_number, shown
from jaxci.distributions.base import Distribution, OfLaw
from jaxci.distributions.tables import float_type
from jaxci.distributions.user import as_distribution
from jaxci.records import record, static
from jaxci.statistics.base import Statistic, has_fixed_trials
from jaxci.statistics.layout import Layout
from jaxci.statistics.summary import is_mean_of_values


def apportioned(name: str, n: int, shares: Sequence[float]) -> np.ndarray:
    """Divide ``n`` rows in proportion to ``shares``, largest remainders first; the largest part gives to empty ones."""
    if n < len(shares):
        raise ValueError(f"n must be at least the number of {name}, {len(shares)}; got {n}")
    exact = n * np.asarray(shares) / sum(shares)
    rows = np.floor(exact).astype(np.int64)
    rows[np.argsort(rows - exact, kind="stable")[: n - rows.sum()]] += 1
    for empty in np.flatnonzero(rows == 0):
        rows[np.argmax(rows)] -= 1
        rows[empty] = 1
    return rows


def _positive(name: str, given: Any) -> tuple[float, ...]:
    try:
        found = tuple(float(x) for x in given)
    except (TypeError, ValueError):
        found = ()
    if not found or not all(0 < x < math.inf for x in found):
        raise ValueError(f"{name} must be positive finite numbers; got {shown(given)}")
    return found


@record
class Clustered(OfLaw):
    """Rows of a law in clusters, those of one cluster alike.

    Every row by itself has the law that is given; two rows of a cluster are the same draw with probability
    ``correlation``, which is therefore the correlation of whatever is computed of them (the intraclass correlation).
    With m rows of a cluster drawn, the next is a copy of one of them with probability ``m r / (1 - r + m r)``, else a
    draw of its own (the urn of Blackwell and MacQueen): numbers of successes in a cluster are beta-binomial.

    The truth of a statistic is that of independent rows.

    Parameters
    ----------
    law : Distribution or frozen law of ``scipy.stats``
        Of one row.
    clusters : int or sequence of float
        Number of equal clusters, or their relative sizes: n rows are divided in proportion, at least one each.
    correlation : float
        r, in [0, 1].

    References
    ----------
    Blackwell & MacQueen (1973), Ferguson distributions via Polya urn schemes, Annals of Statistics 1, 353-355.

    Examples
    --------
    >>> from jaxci.distributions import Cells
    >>> Clustered(Cells([[40, 2], [3, 15]]), 10, correlation=0.3).label
    '10 clusters (correlation 0.3) of cells(2 x 2)'
    """

    law: Distribution
    clusters: Any = static()
    correlation: Any = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.correlation, jax.Array):
            return
        object.__setattr__(self, "law", as_distribution(self.law))
        if not self.law.layout(1_000).plain:
            raise ValueError(f"law must be a distribution of independent rows; got {shown(self.law)}")
        if isinstance(self.clusters, int | np.integer):
            object.__setattr__(self, "clusters", (1.0,) * check_count("clusters", self.clusters, 1))
        object.__setattr__(self, "clusters", _positive("clusters", self.clusters))
        within = check_number("correlation", self.correlation, "lie in [0, 1]", lambda x: 0 <= x <= 1)
        object.__setattr__(self, "correlation", within)

    @property
    def label(self) -> str:
        """Number of clusters, correlation and the law of a row."""
        return f"{len(self.clusters)} clusters (correlation {self.correlation:g}) of {self.law.label}"

    @property
    def of_rows(self) -> Distribution:
        """The law of independent rows that has the same truth."""
        return self.law

    @property
    def sharing(self) -> Distribution:
        """The same draws, by programs that laws of similar size share."""
        return type(self)(self.law.sharing, self.clusters, self.correlation)

    def sizes(self, n: int) -> np.ndarray:
        """Return how many of ``n`` rows each cluster holds."""
        return apportioned("clusters", n, self.clusters)

    def layout(self, n: int) -> Layout:
        """Return which of ``n`` rows is in which cluster: those of a cluster follow each other."""
        sizes = self.sizes(n)
        return Layout(n, np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))

    def sample(self, key: jax.Array, n: int) -> dict[str, Any]:
        """Draw ``n`` rows."""
        of_rows, of_copies, of_sources = jax.random.split(key, 3)
        units = self.layout(n).units
        assert units is not None
        first = np.searchsorted(units, units)
        before = np.arange(n) - first
        r = jnp.asarray(self.correlation, float_type())
        copied = jnp.where(before > 0, before * r / jnp.where(before > 0, 1 - r + before * r, 1.0), 0.0)
        uniform = jax.random.uniform(of_sources, (n,), float_type())
        earlier = first + jnp.minimum((uniform * before).astype(jnp.int32), np.maximum(before - 1, 0))
        source = jnp.where(jax.random.uniform(of_copies, (n,), float_type()) < copied, earlier, np.arange(n))
        for _ in range(int(before.max()).bit_length()):  # copies of copies: each round halves what is left of a chain
            source = source[source]
        return jax.tree.map(lambda x: x[source], self.law.sample(of_rows, n))

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the value of ``statistic`` under the law of a row."""
        return self.law.analytic(statistic)


@record
class Stratified(Distribution):
    """Rows of several laws in strata, each of a fixed share of the rows.

    The truth of a statistic is its value under the mixture of the laws with these shares: choose n that they divide.

    Parameters
    ----------
    laws : sequence of Distribution or frozen law of ``scipy.stats``
        Of the rows of each stratum, all of one kind; :class:`Clustered` ones have their clusters within strata.
    shares : sequence of float
        Relative sizes: n rows are divided in proportion, at least one each.

    Examples
    --------
    >>> from jaxci.distributions import Parametric
    >>> Stratified((Parametric("norm"), Parametric("expon")), [3, 1]).label
    'strata (0.75 norm(); 0.25 expon())'
    """

    laws: tuple[Any, ...]
    shares: Any = static()

    def __post_init__(self) -> None:
        laws = tuple(as_distribution(law) for law in self.laws)
        if not laws:
            raise ValueError(f"laws must be distributions; got {shown(self.laws)}")
        kinds = {(law.kind, law.n_classes) for law in laws}
        if len(kinds) > 1:
            raise ValueError(f"laws must draw one kind of rows; got {', '.join(law.label for law in laws)}")
        shares = _positive("shares", self.shares)
        if len(shares) != len(laws):
            raise ValueError(f"shares must be one for each of {len(laws)} laws; got {shown(self.shares)}")
        object.__setattr__(self, "laws", laws)
        object.__setattr__(self, "shares", tuple(share / sum(shares) for share in shares))

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What is drawn."""
        return self.laws[0].kind

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K, 0 where there are no classes."""
        return self.laws[0].n_classes

    @property
    def bounds(self) -> tuple[float, float]:
        """Interval that no draw of any stratum leaves."""
        ends = [law.bounds for law in self.laws]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def label(self) -> str:
        """Shares and laws."""
        parts = (f"{share:.3g} {law.label}" for share, law in zip(self.shares, self.laws, strict=True))
        return f"strata ({'; '.join(parts)})"

    @property
    def of_rows(self) -> Distribution:
        """The law whose truth it has: without the clusters."""
        return type(self)(tuple(law.of_rows for law in self.laws), self.shares)

    @property
    def sharing(self) -> Distribution:
        """The same draws, by programs that laws of similar size share."""
        return type(self)(tuple(law.sharing for law in self.laws), self.shares)

    def sizes(self, n: int) -> list[int]:
        """Return how many of ``n`` rows each stratum has."""
        return [int(size) for size in apportioned("strata", n, self.shares)]

    def layout(self, n: int) -> Layout:
        """Return which of ``n`` rows is in which cluster, and which cluster or row in which stratum."""
        parts = [law.layout(size) for law, size in zip(self.laws, self.sizes(n), strict=True)]
        strata = np.repeat(np.arange(len(parts), dtype=np.int32), [part.n_units for part in parts])
        if all(part.units is None for part in parts):
            return Layout(n, strata=strata)
        units = [np.arange(part.n, dtype=np.int32) if part.units is None else part.units for part in parts]
        starts = np.cumsum([0, *(part.n_units for part in parts[:-1])])
        joined = np.concatenate([start + codes for start, codes in zip(starts, units, strict=True)])
        return Layout(n, joined.astype(np.int32), strata)

    def sample(self, key: jax.Array, n: int) -> dict[str, Any]:
        """Draw ``n`` rows, stratum by stratum."""
        keys = jax.random.split(key, len(self.laws))
        drawn = [law.sample(k, size) for law, k, size in zip(self.laws, keys, self.sizes(n), strict=True)]
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *drawn)

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the mean over the strata of a mean or of a share of all rows; None for other statistics."""
        if not (is_mean_of_values(statistic) or has_fixed_trials(statistic)):
            return None
        means = [law.analytic(statistic) for law in self.laws]
        if None in means:
            return None
        return float(np.dot(self.shares, means))
