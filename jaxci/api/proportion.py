"""Interval for a proportion from counts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxci.api.readers.arrays import unmasked
from jaxci.checks import check_alternative, check_choice, check_confidence_level, shown
from jaxci.intervals.base import Method, tails
from jaxci.intervals.proportion import PROPORTION_METHODS
from jaxci.printing import MOST_ROWS, ConfidenceInterval, JaxciWarning, Printable, left_out, stated_level

_METHODS = {cls.name: cls() for cls in PROPORTION_METHODS}


class ProportionInterval(Printable, ConfidenceInterval):
    """The pair (low, high) of a proportion, with what it was computed from.

    Attributes
    ----------
    low, high : float or array
        Also by position: the result unpacks as a pair.
    count, nobs : float or array
        Successes and trials, of the shape of the bounds.
    method : Method
    confidence_level : float
    alternative : str
    """

    count: Any
    nobs: Any
    method: Method | str
    confidence_level: float
    alternative: str

    def __new__(
        cls,
        low: Any,
        high: Any,
        count: Any = np.nan,
        nobs: Any = np.nan,
        method: Method | str = "",
        confidence_level: float = np.nan,
        alternative: str = "two-sided",
    ) -> ProportionInterval:
        """Make the pair; what JAX or pickle rebuild from two bounds alone lacks the rest."""
        found = super().__new__(cls, low, high)
        found.count, found.nobs, found.method = count, nobs, method
        found.confidence_level, found.alternative = confidence_level, alternative
        return found

    @property
    def confidence_interval(self) -> ConfidenceInterval:
        """The pair alone."""
        return ConfidenceInterval(self.low, self.high)

    @property
    def estimate(self) -> Any:
        """Share of successes."""
        return self.count / self.nobs

    @property
    def standard_error(self) -> Any:
        """Of the estimate: ``sqrt(p (1 - p) / nobs)``."""
        return np.sqrt(self.estimate * (1 - self.estimate) / self.nobs)[()]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds."""
        names = ("count", "nobs", "estimate", "confidence_interval", "standard_error", "method")
        return {name: getattr(self, name) for name in (*names, "confidence_level", "alternative")}

    def headline(self) -> str:
        """Return the line above the table."""
        return stated_level(self.confidence_level, self.alternative, "confidence intervals of a proportion")

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a proportion."""
        columns = {name: getattr(self, name) for name in ("count", "nobs", "estimate", "low", "high", "standard_error")}
        flat = {name: np.ravel(values).tolist() for name, values in columns.items()}
        rows = zip(*flat.values(), strict=True)
        return [{**dict(zip(flat, row, strict=True)), "method": str(self.method)} for row in rows]

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        rows = [
            [
                f"{r['count']:.0f} of {r['nobs']:.0f}",
                *(r[name] for name in ("estimate", "low", "high", "standard_error")),
                r["method"],
            ]
            for r in self.records()[:MOST_ROWS]
        ]
        return ["successes", "estimate", "low", "high", "std. error", "method"], rows

    def notes(self) -> list[str]:
        """Return the lines below the table: how many rows it leaves out."""
        return left_out(np.size(self.low))


def proportion_interval(
    count: ArrayLike,
    nobs: ArrayLike,
    *,
    method: str | Method = "mid_p",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> ProportionInterval:
    """Confidence interval for a proportion, such as an accuracy, from counts.

    The estimand is the probability p of success, ``count ~ Binomial(nobs, p)``.

    Parameters
    ----------
    count : int or array_like of int
        Successes.
    nobs : int or array_like of int
        Trials; broadcast against ``count``.
    method : str or Method
        "mid_p" (the default), "wilson", "wilson_cc" (with continuity correction),
        "clopper_pearson" (exact: never below the level, hence wide), "jeffreys",
        "agresti_coull" or "wald" (poor near 0 and 1). Formulas and sources are in
        :mod:`jaxci.intervals.proportion`, as are the methods as objects.
    confidence_level : float
        Between 0 and 1.
    alternative : {"two-sided", "less", "greater"}
        "less" gives an upper bound only (low is 0), "greater" a lower bound only (high is 1).

    Returns
    -------
    ProportionInterval
        The pair (low, high) of floats, or of arrays of the broadcast shape, within [0, 1].

    Raises
    ------
    ValueError
        If an argument breaks its rule; the message names the argument, the rule and the value.
    TypeError
        If ``confidence_level`` is no number.

    Warns
    -----
    JaxciWarning
        If a "wald" or "agresti_coull" bound had to be clipped to [0, 1], or an interval has no
        width.

    Notes
    -----
    Independent trials with one probability of success. "clopper_pearson" holds at every n; the
    others are asymptotic or hold on average.

    Examples
    --------
    >>> from jaxci.api.proportion import proportion_interval
    >>> low, high = proportion_interval(22, 23)
    >>> print(f"{low:.4f} {high:.4f}")
    0.8037 0.9978
    >>> proportion_interval([0, 5, 10], 10, method="clopper_pearson", alternative="less").high.round(4)
    array([0.2589, 0.7776, 1.    ])
    """
    asked = method if isinstance(method, PROPORTION_METHODS) else _METHODS[check_choice("method", method, _METHODS)]
    level = check_confidence_level(confidence_level)
    chosen = tails(level, check_alternative(alternative))
    x, n = _counts(count, nobs)
    low, high = asked.from_counts(x, n, chosen)
    clipped = np.clip((low, high), 0, 1)
    if np.any(clipped != (low, high)):
        warnings.warn(
            f"the {asked.name!r} interval left [0, 1] and was clipped; method='mid_p' never leaves it",
            JaxciWarning,
            stacklevel=2,
        )
        low, high = clipped
    if np.any(low == high):
        text = f"the {asked.name!r} interval has no width at 0 or nobs successes"
        hint = "; method='mid_p' has"
        warnings.warn(text + hint, JaxciWarning, stacklevel=2)
    settled = [value if np.ndim(value) else float(value) for value in (low, high, x, n)]
    return ProportionInterval(settled[0], settled[1], settled[2], settled[3], asked, level, alternative)


def _counts(count: ArrayLike, nobs: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Convert to float arrays of one shape, or say what is wrong with the first offender."""
    arrays = []
    for name, value in (("count", count), ("nobs", nobs)):
        given = unmasked(name, value)
        try:
            arrays.append(given.astype(float, casting="unsafe" if given.dtype.kind == "O" else "same_kind"))
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be an integer or an array of integers; got {shown(value)}") from None
    try:
        x, n = np.broadcast_arrays(*arrays)
    except ValueError:
        raise ValueError(
            f"count and nobs must broadcast together; got shapes {arrays[0].shape} and {arrays[1].shape}"
        ) from None
    wrong = ~((n >= 1) & (n == np.floor(n)) & np.isfinite(n))
    if wrong.any():
        raise ValueError(f"nobs must be an integer of at least 1; got {n[wrong][0]:g}")
    wrong = ~((x >= 0) & (x <= n) & (x == np.floor(x)))
    if wrong.any():
        raise ValueError(
            f"count must be an integer between 0 and nobs; got {x[wrong][0]:g} with nobs = {n[wrong][0]:g}"
        )
    return x, n
