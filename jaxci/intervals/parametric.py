"""Normal-theory intervals: z and t for a mean, Welch for two means, the delta method for the rest."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from jaxci.intervals.base import Bounds, Evidence, Method, Tails
from jaxci.intervals.proportion import is_proportion
from jaxci.records import record, static
from jaxci.statistics.base import Statistic

SCALES: dict[str, tuple[float, float]] = {
    "natural": (-math.inf, math.inf),
    "logit": (0.0, 1.0),
    "fisher": (-1.0, 1.0),
}


def is_mean(statistic: Statistic) -> bool:
    """Whether the statistic is the plain mean of per-row values (``row_values``, identity link)."""
    return hasattr(statistic, "row_values") and getattr(statistic, "link", "identity") == "identity"


def mean_refusal(name: str, statistic: Statistic) -> str | None:
    """Return the sentence with which a method for means refuses other statistics."""
    if is_mean(statistic):
        return None
    return (
        f"{name!r} needs the plain mean of one value per row; {type(statistic).__name__} is not one "
        "(method='delta' serves smooth functions of means)"
    )


def _around(centre: Any, error: Any, steps: tuple[float, float]) -> tuple[Any, Any]:
    """Step down and up from ``centre``; a step of infinity goes there whatever the error."""
    down, up = (step if math.isinf(step) else step * error for step in steps)
    return centre - down, centre + up


def _normal_steps(tails: Tails) -> tuple[float, float]:
    return float(-special.ndtri(tails.lower)), float(-special.ndtri(tails.upper))


def _student_steps(df: float, tails: Tails) -> tuple[float, float]:
    lower, upper = (-float(special.stdtrit(df, tail)) if tail > 0 else math.inf for tail in tails)
    return lower, upper


def _moments(values: ArrayLike, least: int = 2) -> tuple[Any, Any, int]:
    """Mean, standard deviation (ddof 1) and size of samples along the last axis."""
    x = np.asarray(values, float)
    if x.ndim == 0 or x.shape[-1] < least:
        raise ValueError(f"values must be rows of at least {least} numbers; got shape {x.shape}")
    n = x.shape[-1]
    return x.mean(axis=-1), x.std(axis=-1, ddof=1) if n > 1 else math.nan, n


def z_interval(values: ArrayLike, tails: Tails, sigma: float | None = None) -> tuple[Any, Any]:
    """Gaussian interval for a mean, ``xbar +- z s / sqrt(n)``.

    Parameters
    ----------
    values : (..., n) array_like
        Observations, n >= 2 (n >= 1 with ``sigma``).
    tails : Tails
        Error probability of each side.
    sigma : float, optional
        Known standard deviation, in place of ``s`` (ddof 1).

    Returns
    -------
    low, high : float
        Bounds; infinite on a side whose tail is zero.

    Raises
    ------
    ValueError
        If there are too few values, or they are not one row.

    Notes
    -----
    Rows independent and identically distributed. Asymptotic; exact for normal observations with
    known ``sigma``.
    """
    mean, sd, n = _moments(values, least=2 if sigma is None else 1)
    return _around(mean, (sd if sigma is None else float(sigma)) / math.sqrt(n), _normal_steps(tails))


def t_interval(values: ArrayLike, tails: Tails) -> tuple[Any, Any]:
    """Student interval for a mean, ``xbar +- t_{n-1} s / sqrt(n)``.

    Parameters
    ----------
    values : (..., n) array_like
        Observations, n >= 2.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float
        Bounds; infinite on a side whose tail is zero.

    Raises
    ------
    ValueError
        If there are fewer than two values, or they are not one row.

    Notes
    -----
    Rows independent and identically distributed. Exact for normal observations, asymptotic
    otherwise.

    References
    ----------
    .. [1] Student (1908), The probable error of a mean, Biometrika 6, 1-25.
    """
    mean, sd, n = _moments(values)
    return _around(mean, sd / math.sqrt(n), _student_steps(n - 1, tails))


def welch(a: ArrayLike, b: ArrayLike, tails: Tails) -> tuple[float, float]:
    """Interval for the difference of two independent means, ``mean(a) - mean(b)``.

    ``d +- t_v sqrt(s_a^2/n_a + s_b^2/n_b)`` with Satterthwaite's degrees of freedom
    ``v = (s_a^2/n_a + s_b^2/n_b)^2 / ((s_a^2/n_a)^2/(n_a-1) + (s_b^2/n_b)^2/(n_b-1))``.

    Parameters
    ----------
    a, b : (n_a,), (n_b,) array_like
        Observations of each group, at least two each; variances may differ.
    tails : Tails
        Error probability of each side.

    Returns
    -------
    low, high : float
        Bounds; infinite on a side whose tail is zero. Both equal the difference where neither
        group varies.

    Raises
    ------
    ValueError
        If a group has fewer than two values, or is not one row.

    Notes
    -----
    Groups independent, rows independent within each. Approximate for normal observations,
    asymptotic otherwise.

    References
    ----------
    .. [1] Welch (1947), Biometrika 34, 28-35.
    .. [2] Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
    """
    mean_a, sd_a, n_a = _moments(a)
    mean_b, sd_b, n_b = _moments(b)
    error = math.hypot(sd_a / math.sqrt(n_a), sd_b / math.sqrt(n_b))
    if error == 0:
        return _around(mean_a - mean_b, 0.0, _normal_steps(tails))
    share_a, share_b = sd_a**2 / n_a / error**2, sd_b**2 / n_b / error**2
    df = 1 / (share_a**2 / (n_a - 1) + share_b**2 / (n_b - 1))
    return _around(mean_a - mean_b, error, _student_steps(df, tails))


def within_range(low: Any, high: Any, statistic: Statistic) -> tuple[Any, Any]:
    """Put the end of the estimand's range where a bound is infinite."""
    bottom, top = statistic.bounds
    return np.where(low == -math.inf, bottom, low)[()], np.where(high == math.inf, top, high)[()]


def _width_remarks(low: Any, high: Any, name: str, advice: str) -> tuple[str, ...]:
    if np.all(low != high):
        return ()
    return (f"the values do not vary, so the {name!r} interval has no width; {advice}",)


def _mean_advice(statistic: Statistic) -> str:
    """Which method still has width when a sample does not vary."""
    if is_proportion(statistic):
        return "use method='wilson'"
    if np.all(np.isfinite(statistic.bounds)):
        return "use method='betting', which needs the range of the values only"
    return "only a method that is told the range of the values, such as method='betting', has any"


@record
class Z(Method):
    """Normal interval of a mean; see :func:`z_interval`.

    Attributes
    ----------
    sigma : float or None
        Known standard deviation of one observation; None estimates it.
    """

    sigma: Any = None

    name: ClassVar[str] = "z"
    needs: ClassVar[frozenset[str]] = frozenset({"values"})
    assumes_iid: ClassVar[bool] = True
    leaves_range: ClassVar[bool] = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a plain mean."""
        return mean_refusal(self.name, statistic)

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Bounds from ``evidence.values``."""
        assert evidence.values is not None
        low, high = within_range(*z_interval(evidence.values, tails, self.sigma), evidence.statistic)
        return Bounds(low, high, _width_remarks(low, high, self.name, _mean_advice(evidence.statistic)))


@record
class T(Method):
    """Student interval of a mean; see :func:`t_interval`."""

    name: ClassVar[str] = "t"
    needs: ClassVar[frozenset[str]] = frozenset({"values"})
    assumes_iid: ClassVar[bool] = True
    leaves_range: ClassVar[bool] = True

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what is not a plain mean."""
        return mean_refusal(self.name, statistic)

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Bounds from ``evidence.values``."""
        assert evidence.values is not None
        low, high = within_range(*t_interval(evidence.values, tails), evidence.statistic)
        return Bounds(low, high, _width_remarks(low, high, self.name, _mean_advice(evidence.statistic)))


def delta_interval(estimate: float, standard_error: float, tails: Tails, scale: str = "natural") -> tuple[float, float]:
    """Delta-method interval ``g^-1(g(theta) +- z SE g'(theta))``.

    ``g`` is the identity ("natural"), ``log(p / (1 - p))`` ("logit") or ``atanh`` ("fisher").

    Parameters
    ----------
    estimate, standard_error : float
        The estimate and its standard error on the natural scale. With influence values L the
        latter is ``sqrt(sum L_i^2) / n``.
    tails : Tails
        Error probability of each side.
    scale : {"natural", "logit", "fisher"}
        Scale on which the interval is symmetric.

    Returns
    -------
    low, high : float
        Bounds. A side whose tail is zero is infinite, or the end of the scale's range. An
        estimate at the end of that range is returned as both bounds.

    Notes
    -----
    Asymptotic.
    """
    steps = _normal_steps(tails)
    bottom, top = SCALES[scale]
    if scale == "natural":
        return _around(estimate, standard_error, steps)
    if not bottom < estimate < top:  # at the end, or NaN
        return (bottom if tails.lower == 0 else estimate), (top if tails.upper == 0 else estimate)
    if scale == "logit":
        low, high = _around(float(special.logit(estimate)), standard_error / (estimate * (1 - estimate)), steps)
        return float(special.expit(low)), float(special.expit(high))
    low, high = _around(math.atanh(estimate), standard_error / (1 - estimate**2), steps)
    return math.tanh(low), math.tanh(high)


@record
class Delta(Method):
    """Delta-method interval of any smooth statistic; see :func:`delta_interval`.

    With clusters or strata the standard error in the evidence accounts for them.

    Attributes
    ----------
    scale : {"natural", "logit", "fisher"}
        Scale on which the interval is symmetric. "logit" needs a range of (0, 1) and "fisher"
        one of (-1, 1); they never leave it.
    """

    scale: str = static(default="natural")

    name: ClassVar[str] = "delta"
    needs: ClassVar[frozenset[str]] = frozenset({"standard_error"})
    leaves_range: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {tuple(SCALES)}; got {self.scale!r}")

    def refusal(self, statistic: Statistic) -> str | None:
        """Refuse what has no influence values, or not the range of the scale."""
        if not statistic.smooth:
            return (
                f"{self.name!r} needs a statistic that is differentiable in the weights; "
                f"{type(statistic).__name__} is not"
            )
        if self.scale != "natural" and tuple(statistic.bounds) != SCALES[self.scale]:
            low, high = SCALES[self.scale]
            return (
                f"scale={self.scale!r} needs a statistic between {low:g} and {high:g}; "
                f"{type(statistic).__name__} lies between {statistic.bounds[0]:g} and {statistic.bounds[1]:g}"
            )
        return None

    def bounds(self, evidence: Evidence, tails: Tails) -> Bounds:
        """Bounds from ``evidence.estimate`` and ``evidence.standard_error``."""
        assert evidence.standard_error is not None
        estimate, statistic = float(evidence.estimate), evidence.statistic
        low, high = delta_interval(estimate, float(evidence.standard_error), tails, self.scale)
        low, high = within_range(low, high, statistic)
        at_the_end = self.scale != "natural" and estimate in statistic.bounds
        if evidence.standard_error != 0 and not at_the_end:
            return Bounds(low, high)
        if is_proportion(statistic):
            advice = "use method='wilson'"
        elif type(statistic).__name__ == "RocAuc":
            advice = "use method='delong_logit'"
        elif is_mean(statistic):
            advice = _mean_advice(statistic)
        else:
            advice = (
                "no interval read from this sample has any; give method='clopper_pearson' for the accuracy beside it"
            )
        remark = (
            f"the estimate {estimate:g} has no estimated variance, so the {self.name!r} interval has no width; {advice}"
        )
        return Bounds(low, high, (remark,))
