"""Point estimates of quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxci.api.readers.arrays import as_floats
from jaxci.checks import check_choice, shown
from jaxci.intervals.order_laws import Place, TailedEnd, sample_rank
from jaxci.intervals.quantile import harrell_davis_shares
from jaxci.intervals.semiparametric import Semiparametric

ESTIMATES = ("sample", "interpolated", "linear", "semiparametric_median", "harrell_davis")
SHARE = 1e-9
"""The share of an order statistic in an estimate up to which it is rounding."""


def probabilities_of(name: str, q: Any) -> np.ndarray:
    """Return probabilities (m,) strictly between 0 and 1."""
    values = as_floats(name, np.atleast_1d(q))
    if np.any((values <= 0) | (values >= 1)):
        raise ValueError(f"{name} must lie in (0, 1); got {shown(q)}")
    return values


def type_6(ordered: np.ndarray, u: float) -> np.ndarray:
    """Return the estimate at rank (n + 1) u of ascending values (..., n); infinite where such a one has a share."""
    place = Place.at((ordered.shape[-1] + 1) * u, ordered.shape[-1])
    lost = np.isinf(ordered)
    share = place.of(np.where(lost, np.sign(ordered), 0.0))
    found = place.of(np.where(lost, 0.0, ordered))
    return np.where(np.abs(share) > SHARE, np.copysign(np.inf, share), found)


def quantile_estimate(x: Any, q: Any, *, method: str = "sample") -> Any:
    """Point estimate of a quantile.

    Parameters
    ----------
    x : (n,) or (R, n) array_like
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    method : str
        "sample": the ceil(n q)-th order statistic; "interpolated": type 6 of Hyndman and Fan, at rank
        (n + 1) q; "linear": type 7, NumPy's default; "semiparametric_median": the median of the
        semiparametric bootstrap, in closed form; "harrell_davis".

    Returns
    -------
    float or array
        (m,), (R,) or (R, m).

    References
    ----------
    Lehmann and Paromau (2025), section 3.

    Examples
    --------
    >>> import jaxci
    >>> [round(float(jaxci.quantile_estimate([1, 2, 4, 8], 0.7, method=m)), 3) for m in ("sample", "interpolated")]
    [4.0, 6.0]
    """
    check_choice("method", method, ESTIMATES)
    probabilities = probabilities_of("q", q)
    ordered = np.sort(as_floats("x", x, (1, 2)), axis=-1)
    n = ordered.shape[-1]
    if n < 1:
        raise ValueError("x must hold at least 1 value; got n = 0")
    if method == "semiparametric_median" and n > 1:
        ends = [Semiparametric().end(ordered, TailedEnd.at(n, u, 0.5, 0.5)) for u in probabilities]
    elif method == "harrell_davis":
        middle = ordered[..., n // 2]
        weights = [np.diff(harrell_davis_shares(n, u)) for u in probabilities]
        ends = [middle + (ordered - middle[..., None]) @ own for own in weights]
    else:
        positions: dict[str, Callable[[float], float]] = {
            "sample": lambda u: sample_rank(n, u),
            "interpolated": lambda u: (n + 1) * u,
            "linear": lambda u: 1 + (n - 1) * u,
            "semiparametric_median": lambda u: 1,
        }
        ends = [Place.at(positions[method](u), n).of(ordered) for u in probabilities]
    found = np.stack(ends, axis=-1)
    return found[..., 0][()] if np.ndim(q) == 0 else found
