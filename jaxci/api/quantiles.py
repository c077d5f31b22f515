"""Intervals and estimates for quantiles of small samples, such as the results of training runs."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special, stats

from jaxci.api.arrays import as_floats
from jaxci.api.randomness import randomness
from jaxci.api.remarks import announce
from jaxci.api.validation import check_alternative, check_choice, check_confidence_level, check_count, shown
from jaxci.intervals.base import Evidence, Tails, tails
from jaxci.intervals.order_laws import (
    TailedEnd,
    interpolated_quantile,
    joint_level,
    level_of_ranks,
    randomized_ranks,
    sample_rank,
    semiparametric_level,
    simultaneous_ranks,
    unit,
)
from jaxci.intervals.quantile import (
    Asymptotic,
    ExactRandomized,
    HarrellDavis,
    Interpolated,
    NoncentralT,
    OrderStatistic,
    QuantileMethod,
    Semiparametric,
    SemiparametricResampled,
    linear_ends,
    needs_rows,
    order_statistic_ranks,
)
from jaxci.results import ConfidenceInterval, aligned, frame, html_table, number, plain
from jaxci.statistics.summary import Mean, Quantile

METHODS: dict[str, type[QuantileMethod]] = {
    "exact_randomized": ExactRandomized,
    "exact": OrderStatistic,
    "interpolated": Interpolated,
    "asymptotic": Asymptotic,
    "semiparametric": Semiparametric,
    "semiparametric_resampled": SemiparametricResampled,
    "harrell_davis": HarrellDavis,
    "normal": NoncentralT,
}
ALIASES = {"order_statistic": "exact", "noncentral_t": "normal"}
"""Names of two methods in :func:`jaxci.interval` and coverage tables, where shorter ones mean others."""
DRAWN = ("exact_randomized", "semiparametric_resampled", "harrell_davis")
ESTIMATES = ("sample", "interpolated", "linear", "semiparametric_median", "harrell_davis")


@dataclasses.dataclass(frozen=True, eq=False)
class QuantileInterval:
    """An interval for a quantile, or several of them.

    Arrays have the shape of ``q``, after that of a batch of samples where there is one; scalars
    for one quantile of one sample.

    Attributes
    ----------
    q : float or array
        Probabilities of the quantiles.
    estimate : float or array
        Sample quantiles of type 6 (see :func:`quantile_estimate`, "interpolated").
    confidence_interval : ConfidenceInterval
    method, reason : str or tuple of str
        One for every quantile.
    confidence_level : float
    actual_level : float or array
        Level for a continuous law: exact for "exact" and "exact_randomized", NaN where it is only
        approximate.
    n : int
    candidate_indices : (2, 2) array or None
        Order statistics (k, l), 1-based, of the two intervals that "exact_randomized" draws from;
        a rank 0 or n + 1 is an open side. With several quantiles, a list of them.
    candidate_probabilities : (2,) array or None
    shapiro_pvalue, lilliefors_pvalue : float
        For "normal": tests of the normality that it assumes; NaN otherwise and for batches.
    rng : int, JAX key or None
    warnings : tuple of str
    """

    q: Any
    estimate: Any
    confidence_interval: ConfidenceInterval
    method: Any
    reason: Any
    confidence_level: float
    alternative: str
    actual_level: Any
    n: int
    candidate_indices: Any = None
    candidate_probabilities: Any = None
    shapiro_pvalue: float = math.nan
    lilliefors_pvalue: float = math.nan
    rng: Any = None
    warnings: tuple[str, ...] = ()

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a quantile; a batch of samples has none."""
        qs, methods, reasons = (np.atleast_1d(x) for x in (self.q, self.method, self.reason))
        low, high = self.confidence_interval
        columns = [np.atleast_1d(x) for x in (self.estimate, low, high, self.actual_level)]
        if columns[0].shape != qs.shape:
            raise ValueError("a batch of samples has no table: read .confidence_interval")
        names = ("estimate", "low", "high", "actual_level")
        return [
            {
                "q": float(q),
                **{k: float(c[i]) for k, c in zip(names, columns, strict=True)},
                "method": str(methods[i]),
                "reason": str(reasons[i]),
            }
            for i, q in enumerate(qs)
        ]

    def to_frame(self) -> Any:
        """Return a pandas frame, one row a quantile."""
        return frame(self.records())

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, ready for JSON."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table."""
        header = ["quantile", "estimate", "low", "high", "level", "method"]
        return header, [
            [f"{r['q']:g}", *(number(r[k]) for k in ("estimate", "low", "high", "actual_level")), r["method"]]
            for r in self.records()
        ]

    def notes(self) -> list[str]:
        """Return the lines below the table."""
        reasons = dict.fromkeys(f"{r['method']}: {r['reason']}" for r in self.records())
        return [*reasons, *(f"warning: {text}" for text in self.warnings)]

    def headline(self) -> str:
        """Return the line above the table."""
        return f"{100 * self.confidence_level:g}% confidence intervals for quantiles, n = {self.n}"

    def _batch(self) -> str:
        """Say how many samples there are, if there is more than one; the table is for one."""
        if np.shape(self.estimate) == np.shape(self.q):
            return ""
        return f"{np.shape(self.estimate)[0]} samples: see .confidence_interval, arrays {np.shape(self.estimate)}"

    def __str__(self) -> str:
        if batch := self._batch():
            return f"{self.headline()}\n{batch}"
        return "\n".join([self.headline(), aligned(*self.layout()), *self.notes()])

    def _repr_html_(self) -> str:
        if batch := self._batch():
            return f"<div>{html.escape(self.headline())}</div><div>{html.escape(batch)}</div>"
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.notes())
        return f"<div>{html.escape(self.headline())}</div>{html_table(*self.layout())}{notes}"


def _probabilities(name: str, q: Any) -> np.ndarray:
    values = as_floats(name, np.atleast_1d(q))
    if np.any((values <= 0) | (values >= 1)):
        raise ValueError(f"{name} must lie in (0, 1); got {shown(q)}")
    return values


def _samples(x: Any, bounds: tuple[float, float] | None, least: int = 2) -> np.ndarray:
    values = as_floats("x", x, (1, 2))
    if values.shape[-1] < least:
        raise ValueError(f"x must hold at least {least} values; got n = {values.shape[-1]}")
    if bounds is not None:
        outside = (values < bounds[0]) | (values > bounds[1])
        if outside.any():
            raise ValueError(f"x must lie within bounds {bounds}; got {shown(values[outside][0])}")
    return values


def _bounds(bounds: Any) -> tuple[tuple[float, float] | None, str]:
    """Return the range of the values, and what happens to ends outside it."""
    if bounds is None:
        return None, "clip"
    if isinstance(bounds, str):
        check_choice("bounds", bounds, ("clip",))
        return (0.0, 1.0), "clip"
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be (low, high), 'clip' for [0, 1] or None; got {shown(bounds)}") from None
    if not low < high:
        raise ValueError(f"bounds must be a lower and a higher number; got {shown(bounds)}")
    return (low, high), "transform"


def _tie_remarks(values: np.ndarray) -> list[str]:
    ordered = np.sort(values, axis=-1)
    same = np.diff(ordered, axis=-1) == 0
    pad = [(0, 0)] * (values.ndim - 1)
    tied = int(np.sum(np.pad(same, [*pad, (0, 1)]) | np.pad(same, [*pad, (1, 0)])))
    return [f"{tied} of {values.size} values are tied: the intervals assume a continuous law"] if tied else []


def quantile_interval(
    x: Any,
    q: Any,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    bounds: Any = None,
    n_resamples: int = 2_000,
    rng: Any = None,
) -> QuantileInterval:
    """Confidence interval for a quantile of a continuous law, from a small sample.

    Parameters
    ----------
    x : (n,) or (R, n) array_like
        Independent values, such as the results of n training runs; or R samples of n.
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    method : str
        - "exact": two order statistics, at least the level;
        - "exact_randomized": one of two such intervals, drawn so that the level is exact and the
          expected length least (Zielinski and Zielinski 2005);
        - "interpolated": between order statistics (Nyblom 1992), approximate;
        - "asymptotic": order statistics at normal ranks (eq. 10);
        - "semiparametric": the bootstrap of Hutson (2002), in closed form, for every n; its level
          falls to about 0.85 where no exact interval exists;
        - "semiparametric_resampled": the same with ``n_resamples`` drawn resamples;
        - "harrell_davis": percentile bootstrap of the Harrell-Davis estimator;
        - "normal": exact for normal values (noncentral t);
        - "auto": "exact" where it exists at this n, else "semiparametric".

        In :func:`jaxci.interval` and in coverage tables "exact" is called "order_statistic" and
        "normal" is called "noncentral_t"; both names serve here, too.
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
        "less" gives upper bounds, "greater" lower bounds.
    bounds : (low, high), "clip" or None
        Range of the values. Semiparametric ends stay inside: by extrapolation on a transformed scale
        (logit; log with one infinite bound), or cut off at [0, 1] with "clip".
    n_resamples : int
        B of the two methods that draw resamples.
    rng : int, numpy.random.Generator, JAX key or None
        For what is drawn.

    Returns
    -------
    QuantileInterval

    Raises
    ------
    ValueError
        If the method has no interval at this n (the message names the smallest n), or an argument
        breaks its rule.

    Warns
    -----
    JaxciWarning
        For tied values, and where "auto" had no exact interval.

    References
    ----------
    Lehmann and Paromau (2025), eqs. 7 to 11.

    Examples
    --------
    >>> import jaxci
    >>> result = jaxci.quantile_interval(range(1, 13), 0.5)
    >>> result.confidence_interval.low, result.confidence_interval.high, round(result.actual_level, 8)
    (3.0, 10.0, 0.96142578)
    """
    probabilities = _probabilities("q", q)
    method = ALIASES.get(method, method)
    check_choice("method", method, ("auto", *METHODS))
    level = check_confidence_level(confidence_level)
    sides = tails(level, check_alternative(alternative))
    count = check_count("n_resamples", n_resamples, 2)
    limits, outside = _bounds(bounds)
    values = _samples(x, limits)
    source = randomness(rng)
    found = [
        _one(values, float(u), method, sides, limits, outside, count, jax.random.fold_in(source.key, i))
        for i, u in enumerate(probabilities)
    ]
    remarks = dict.fromkeys([*_tie_remarks(values), *(text for one in found for text in one["warnings"])])
    single = np.ndim(q) == 0
    stacked = {
        k: (_scalar(found[0][k]) if single else np.stack([one[k] for one in found], axis=-1))
        for k in ("estimate", "low", "high", "actual_level")
    }
    candidates = [one["candidates"] for one in found]
    drawn = any(name in DRAWN for name in _column(found))
    announce(tuple(remarks))
    return QuantileInterval(
        q=float(probabilities[0]) if single else probabilities,
        estimate=stacked["estimate"],
        confidence_interval=ConfidenceInterval(stacked["low"], stacked["high"]),
        method=found[0]["method"] if single else tuple(one["method"] for one in found),
        reason=found[0]["reason"] if single else tuple(one["reason"] for one in found),
        confidence_level=level,
        alternative=alternative,
        actual_level=stacked["actual_level"],
        n=values.shape[-1],
        candidate_indices=_picked(candidates, 0, single),
        candidate_probabilities=_picked(candidates, 1, single),
        rng=source.record if drawn else None,
        warnings=tuple(remarks),
        **_normality(values, _column(found), source.key),
    )


def _scalar(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _column(found: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["method"] for one in found]


def _picked(candidates: list[Any], part: int, single: bool) -> Any:
    if all(c is None for c in candidates):
        return None
    arrays = [None if c is None else np.array(c[part]) for c in candidates]
    return arrays[0] if single else arrays


def _normality(values: np.ndarray, methods: list[str], key: jax.Array) -> dict[str, float]:
    """Return p-values of Shapiro-Wilk and Lilliefors beside an interval that assumes a normal law."""
    if "normal" not in methods or values.ndim > 1 or values.size < 3 or np.ptp(values) == 0:
        return {}
    seed = int(jax.random.bits(key))
    test = stats.goodness_of_fit(stats.norm, values, statistic="ks", n_mc_samples=999, rng=np.random.default_rng(seed))
    return {"shapiro_pvalue": float(stats.shapiro(values).pvalue), "lilliefors_pvalue": float(test.pvalue)}


def _one(
    values: np.ndarray,
    u: float,
    method: str,
    sides: Tails,
    limits: tuple[float, float] | None,
    outside: str,
    n_resamples: int,
    key: jax.Array,
) -> dict[str, Any]:
    """Return estimate, bounds and what goes with them for one quantile of one sample or a batch."""
    n = values.shape[-1]
    chosen, reason, remarks = method, "asked for", []
    if method == "auto":
        least = OrderStatistic().least_n(u, sides)
        chosen, reason = "exact", "two order statistics hold the level at every n and law"
        if least is None or n < least:
            chosen = "semiparametric"
            reason = f"no pair of order statistics reaches the level at n = {n}: that {needs_rows(least)}"
            remarks = [f"q = {u:g}: the semiparametric interval may cover less than its level at n = {n}"]
    estimate = quantile_estimate(values, u, method="interpolated")
    low, high = _enclosed(_settled(chosen, limits, outside, n_resamples), chosen, values, u, sides, key)
    if limits is not None:
        low, high = np.clip(low, *limits), np.clip(high, *limits)
    actual, candidates = math.nan, None
    if chosen == "exact":
        ranks = order_statistic_ranks(n, u, sides)
        assert ranks is not None
        actual = level_of_ranks(*ranks, n, u)
    elif chosen == "exact_randomized":
        mixture = randomized_ranks(n, u, sides)
        assert mixture is not None
        actual, candidates = 1 - sides.lower - sides.upper, (mixture.ranks, mixture.probabilities)
    return {
        "estimate": estimate,
        "low": low[()],
        "high": high[()],
        "actual_level": np.full(np.shape(low), actual)[()],
        "candidates": candidates,
        "method": chosen,
        "reason": reason,
        "warnings": remarks,
    }


def _settled(name: str, limits: tuple[float, float] | None, outside: str, n_resamples: int) -> QuantileMethod:
    lowest, highest = limits or (-math.inf, math.inf)
    if name == "semiparametric":
        return Semiparametric(outside, lowest, highest)
    if name == "semiparametric_resampled":
        return SemiparametricResampled(outside, lowest, highest, n_resamples)
    if name == "harrell_davis":
        return HarrellDavis(n_resamples)
    return METHODS[name]()


def _enclosed(
    method: QuantileMethod, called: str, values: np.ndarray, u: float, sides: Tails, key: jax.Array
) -> tuple[np.ndarray, np.ndarray]:
    n = values.shape[-1]
    least = method.least_n(u, sides)
    if least is None or n < least:
        there = [m for m in METHODS if (k := METHODS[m]().least_n(u, sides)) is not None and k <= n]
        raise ValueError(
            f"method {called!r} for q = {u:g} {needs_rows(least)} at this level; got n = {n}; "
            f"methods that exist at this n: {', '.join(there)}"
        )
    uniform = np.asarray(jax.random.uniform(key, values.shape[:-1]), np.float64)
    evidence = Evidence(statistic=Quantile(u), estimate=None, n=n, values=values, uniform=uniform)
    low, high, _ = method.bounds(evidence, sides)
    return np.asarray(low), np.asarray(high)


def harrell_davis_weights(n: int, u: float) -> np.ndarray:
    """Return the weights (n,) of the order statistics in the Harrell-Davis estimator (Harrell and Davis 1982)."""
    return np.diff(special.betainc((n + 1) * u, (n + 1) * (1 - u), np.arange(n + 1) / n))


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
    probabilities = _probabilities("q", q)
    values = _samples(x, None, 1)
    n = values.shape[-1]
    if method == "semiparametric_median" and n > 1:
        with jax.enable_x64(True):
            ordered, tailed = jnp.asarray(np.sort(values, axis=-1)), Semiparametric()
            ends = [tailed.end(ordered, TailedEnd.at(semiparametric_level(n, u, 0.5), n)) for u in probabilities]
        found = np.stack(ends, axis=-1)
    else:
        coefficients: dict[str, Callable[[float], np.ndarray]] = {
            "sample": lambda u: unit(sample_rank(n, u), n),
            "interpolated": lambda u: interpolated_quantile(u, n),
            "linear": lambda u: unit(1 + (n - 1) * u, n),
            "semiparametric_median": lambda u: np.ones(1),
            "harrell_davis": lambda u: harrell_davis_weights(n, u),
        }
        with jax.enable_x64(True):
            ordered = jnp.asarray(np.sort(values, axis=-1))
            found = linear_ends(ordered, [coefficients[method](u) for u in probabilities])
    return found[..., 0][()] if np.ndim(q) == 0 else found


def simultaneous_quantile_intervals(x: Any, qs: Any, *, confidence_level: float = 0.95) -> QuantileInterval:
    """Intervals that enclose several quantiles at once with at least the level.

    The joint law of the numbers of observations below the quantiles is multinomial; ranks are
    chosen with equal tails and then moved inwards as far as the joint level allows.

    Parameters
    ----------
    x : (n,) array_like
    qs : (m,) array_like
        Distinct probabilities strictly between 0 and 1.
    confidence_level : float
        Family-wise.

    Returns
    -------
    QuantileInterval
        ``actual_level`` (m,) repeats the joint level.

    Raises
    ------
    ValueError
        If n is too small for any such intervals.

    References
    ----------
    Hayter (2014), Simultaneous confidence intervals for several quantiles of an unknown distribution.

    Examples
    --------
    >>> import jaxci
    >>> found = jaxci.simultaneous_quantile_intervals(range(1, 26), [0.25, 0.5, 0.75], confidence_level=0.9)
    >>> found.confidence_interval.low.tolist(), found.confidence_interval.high.tolist()
    ([2.0, 8.0, 15.0], [11.0, 18.0, 24.0])
    """
    probabilities = _probabilities("qs", qs)
    level = check_confidence_level(confidence_level)
    if len(set(probabilities.tolist())) < len(probabilities):
        raise ValueError(f"qs must be distinct; got {shown(qs)}")
    values = np.sort(_samples(x, None))
    if values.ndim > 1:
        raise ValueError(f"x must have shape (n,); got {values.shape}")
    order = np.argsort(probabilities)
    us, n = probabilities[order].tolist(), len(values)
    ranks = simultaneous_ranks(n, us, level)
    if ranks is None:
        least = next((m for m in range(n, 20_000) if joint_level([(1, m)] * len(us), m, us) >= level), None)
        raise ValueError(
            f"simultaneous intervals for qs = {shown(qs)} at level {level:g} {needs_rows(least)}; got n = {n}"
        )
    back = np.argsort(order)
    k, l = np.array(ranks)[back].T
    joint = joint_level(ranks, n, us)
    remarks = tuple(_tie_remarks(values))
    announce(remarks)
    return QuantileInterval(
        q=probabilities,
        estimate=quantile_estimate(values, probabilities, method="interpolated"),
        confidence_interval=ConfidenceInterval(values[k - 1], values[l - 1]),
        method=("simultaneous",) * len(us),
        reason=("order statistics with the joint multinomial law (Hayter 2014)",) * len(us),
        confidence_level=level,
        alternative="two-sided",
        actual_level=np.full(len(us), joint),
        n=n,
        warnings=remarks,
    )


def minimum_sample_size(q: Any, *, confidence_level: float = 0.95, method: str = "exact") -> Any:
    """Return the smallest n at which a two-sided interval for a quantile exists (Tables 1 and 2).

    Parameters
    ----------
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    confidence_level : float
    method : str
        A method of :func:`quantile_interval`.

    References
    ----------
    Lehmann and Paromau (2025), eqs. 8 and 10.

    Examples
    --------
    >>> import jaxci
    >>> jaxci.minimum_sample_size(0.1), jaxci.minimum_sample_size(0.1, method="asymptotic")
    (29, 53)
    """
    method = ALIASES.get(method, method)
    check_choice("method", method, METHODS)
    sides = tails(check_confidence_level(confidence_level))
    found = [METHODS[method]().least_n(float(u), sides) for u in _probabilities("q", q)]
    return found[0] if np.ndim(q) == 0 else np.array(found)


@dataclasses.dataclass(frozen=True)
class QuantilePlan:
    """How many values an interval of a given width takes.

    ``expected_width`` is that of the exact interval at ``n``: in probability, or in units of the
    values where a distribution was given; ``ranks`` are its order statistics.
    """

    q: float
    n: int
    expected_width: float
    ranks: tuple[int, int]
    confidence_level: float


MOST_PLANNED = 1_000_000
"""The largest sample size that :func:`plan_quantile` considers."""


def plan_quantile(q: float, *, width: float, confidence_level: float = 0.95, distribution: Any = None) -> QuantilePlan:
    """Return the sample size at which the exact interval for a quantile is as narrow as asked for.

    Parameters
    ----------
    q : float
        Probability strictly between 0 and 1.
    width : float
        Wanted width: in probability (0.1: from the 5% to the 15% quantile, say), or in the units of
        ``distribution``.
    confidence_level : float
    distribution : object with ``ppf``, optional
        A law of scipy.stats, frozen. The width is then that between its quantiles at the expected
        levels of the two order statistics.

    Raises
    ------
    ValueError
        If no n up to a million is enough.

    References
    ----------
    Lehmann and Paromau (2025), section 6, an open question there.

    Examples
    --------
    >>> import jaxci
    >>> jaxci.plan_quantile(0.5, width=0.2).n
    99
    """
    if np.ndim(q):
        raise TypeError(f"q must be one number; got {shown(q)}")
    u = float(_probabilities("q", q)[0])
    level = check_confidence_level(confidence_level)
    if not width > 0:
        raise ValueError(f"width must be positive; got {shown(width)}")
    if distribution is not None and not hasattr(distribution, "ppf"):
        raise TypeError(
            f"distribution must have a method ppf, as frozen laws of scipy.stats do; got {shown(distribution)}"
        )
    sides = tails(level)

    def at(n: int) -> QuantilePlan:
        ranks = order_statistic_ranks(n, u, sides)
        assert ranks is not None
        levels = np.array(ranks) / (n + 1)
        ends = levels if distribution is None else np.asarray(distribution.ppf(levels), float)
        return QuantilePlan(u, n, float(ends[1] - ends[0]), ranks, level)

    low = OrderStatistic().least_n(u, sides)
    assert low is not None
    high = low
    while at(high).expected_width > width:
        low, high = high, 2 * high
        if high > MOST_PLANNED:
            raise ValueError(f"width = {width:g} needs more than {MOST_PLANNED} values at q = {u:g}")
    while high - low > 1:  # widths fall with n but for steps of one rank
        middle = (low + high) // 2
        low, high = (low, middle) if at(middle).expected_width <= width else (middle, high)
    return at(high)


@dataclasses.dataclass(frozen=True, eq=False)
class RunSummary:
    """What n runs say: the mean with its t-interval, and quantiles with theirs.

    Attributes
    ----------
    n : int
    mean : float
    mean_interval : ConfidenceInterval
    quantiles : QuantileInterval
    goal : {"higher", "lower"}
    """

    n: int
    mean: float
    mean_interval: ConfidenceInterval
    quantiles: QuantileInterval
    goal: str

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table: the mean, then the quantiles from bad to good."""
        header, rows = self.quantiles.layout()
        header[0] = "of the runs"
        if self.goal == "lower":
            rows = rows[::-1]
        words = {True: "worst", False: "best"}
        for row in rows:
            q = float(row[0])
            share = q if self.goal == "higher" else 1 - q
            side = "below" if q < 0.5 else "above"
            row[0] = "median" if q == 0.5 else f"{words[share < 0.5]} {100 * min(q, 1 - q):g}% lie {side}"
        level = number(self.quantiles.confidence_level)
        mean = ["mean", number(self.mean), *(number(x) for x in self.mean_interval), level, "t"]
        return header, [mean, *rows]

    def to_frame(self) -> Any:
        """Return a pandas frame: the mean, and one row a quantile."""
        low, high = self.mean_interval
        mean = {"q": math.nan, "estimate": self.mean, "low": float(low), "high": float(high), "method": "t"}
        return frame([mean, *self.quantiles.records()])

    def headline(self) -> str:
        """Return the line above the table."""
        better = "higher is better" if self.goal == "higher" else "lower is better"
        return f"{self.n} runs, {100 * self.quantiles.confidence_level:g}% confidence intervals, {better}"

    def __str__(self) -> str:
        return "\n".join([self.headline(), aligned(*self.layout()), *self.quantiles.notes()])

    def _repr_html_(self) -> str:
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self.quantiles.notes())
        return f"<div>{html.escape(self.headline())}</div>{html_table(*self.layout())}{notes}"


def summarize_runs(
    x: Any,
    *,
    qs: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9),
    goal: str = "higher",
    bounds: Any = None,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> RunSummary:
    """Summarize the results of n training runs: the mean, and how bad or good a run can turn out.

    Parameters
    ----------
    x : (n,) array_like
        One result a run.
    qs : sequence of float
    goal : {"higher", "lower"}
        Which results are good.
    bounds, confidence_level, rng
        As in :func:`quantile_interval`, which gives the quantiles by ``method="auto"``.

    Returns
    -------
    RunSummary

    References
    ----------
    Lehmann and Paromau (2025), section 5.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> summary = jaxci.summarize_runs(np.linspace(0.8, 0.9, 30), qs=[0.5])
    >>> round(summary.mean, 3), summary.quantiles.method
    (0.85, ('exact',))
    """
    check_choice("goal", goal, ("higher", "lower"))
    values = _samples(x, None)
    if values.ndim > 1:
        raise ValueError(f"x must have shape (n,); got {values.shape}")
    quantiles = quantile_interval(
        values, np.sort(np.atleast_1d(qs)), bounds=bounds, confidence_level=confidence_level, rng=rng
    )
    from jaxci.intervals.parametric import T

    evidence = Evidence(statistic=Mean(), estimate=values.mean(), n=len(values), values=values)
    low, high, _ = T().bounds(evidence, tails(quantiles.confidence_level))
    limits = _bounds(bounds)[0] or (-math.inf, math.inf)
    mean = ConfidenceInterval(float(np.clip(low, *limits)), float(np.clip(high, *limits)))
    return RunSummary(len(values), float(values.mean()), mean, quantiles, goal)
