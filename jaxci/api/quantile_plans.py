"""Several quantiles at once, and how many values an interval takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaln, expit, log_expit

from jaxci.api.planning_results import Tried
from jaxci.api.quantile_points import probabilities_of, type_6
from jaxci.api.quantile_results import QuantileInterval, QuantilePlan
from jaxci.api.quantiles import METHODS, method_named
from jaxci.api.readers.runs import results_of
from jaxci.checks import check_confidence_level, check_number, shown
from jaxci.inference.remarks import announce
from jaxci.intervals.base import tails
from jaxci.intervals.order_laws import joint_level, least_simultaneous_n, simultaneous_ranks
from jaxci.intervals.quantile import OrderStatistic, needs_rows, order_statistic_ranks
from jaxci.intervals.sample_size import smallest
from jaxci.printing import ConfidenceInterval


def simultaneous_quantile_intervals(
    x: Any, qs: Any, *, confidence_level: float = 0.95, goal: str | None = None, metric: str | None = None
) -> QuantileInterval:
    """Intervals that enclose several quantiles at once with at least the level.

    The joint law of the numbers of observations below the quantiles is multinomial; ranks are
    chosen with equal tails and then moved inwards as far as the joint level allows.

    Parameters
    ----------
    x : (n,) array_like or SeedRuns
    qs : (m,) array_like
        Distinct probabilities strictly between 0 and 1.
    confidence_level : float
        Family-wise.
    goal, metric
        As in :func:`jaxci.quantile_interval`.

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
    probabilities = probabilities_of("qs", qs)
    level = check_confidence_level(confidence_level)
    if len(set(probabilities.tolist())) < len(probabilities):
        raise ValueError(f"qs must be distinct; got {shown(qs)}")
    results = results_of(x, goal=goal, metric=metric, ndim=(1,))
    values = np.sort(results.values)
    order = np.argsort(probabilities)
    us, n = probabilities[order].tolist(), len(values)
    ranks = simultaneous_ranks(n, us, level)
    if ranks is None:
        needs = needs_rows(least_simultaneous_n(us, level))
        raise ValueError(f"the simultaneous interval for qs = {shown(qs)} at level {level:g} {needs}; got n = {n}")
    back = np.argsort(order)
    k, l = np.array(ranks)[back].T
    joint = joint_level(ranks, n, us)
    estimate = np.array([type_6(values, u) for u in probabilities])
    ends = zip(probabilities, estimate, values[k - 1], values[l - 1], strict=True)
    remarks = (*results.remarks(), *(text for at in ends for text in results.fallen(*at)))
    announce(remarks)
    return QuantileInterval(
        q=probabilities,
        estimate=estimate,
        confidence_interval=ConfidenceInterval(values[k - 1], values[l - 1]),
        method=("simultaneous",) * len(us),
        reason=("order statistics with the joint multinomial law (Hayter 2014)",) * len(us),
        confidence_level=level,
        alternative="two-sided",
        actual_level=np.full(len(us), joint),
        n=n,
        n_lost=results.n_lost,
        warnings=remarks,
    )


def minimum_sample_size(q: Any, *, confidence_level: float = 0.95, method: str = "order_statistic") -> Any:
    """Return the smallest n at which a two-sided interval for a quantile exists (Tables 1 and 2).

    Parameters
    ----------
    q : float or (m,) array_like
        Probabilities strictly between 0 and 1.
    confidence_level : float
    method : str
        A method of :func:`quantile_interval` but "auto", which has an interval of any two values.

    Returns
    -------
    int or (m,) array of int

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    References
    ----------
    Lehmann and Paromau (2025), eqs. 8 and 10.

    Examples
    --------
    >>> import jaxci
    >>> jaxci.minimum_sample_size(0.1), jaxci.minimum_sample_size(0.1, method="asymptotic")
    (29, 53)
    """
    method = method_named(method)
    sides = tails(check_confidence_level(confidence_level))
    found = [METHODS[method]().least_n(float(u), sides) for u in probabilities_of("q", q)]
    return found[0] if np.ndim(q) == 0 else np.array(found)


NODES, LAST_NODE = 257, 8.0
"""Points of an integral over all levels, which lie evenly up to that on either side of 0 before they are spread."""
FARTHEST, FARTHEST_BELOW_ONE = 100.0, 30.0
"""Log odds of the farthest levels; of those near 1 that are read off the lower tail, where they have digits yet."""
LEAST_FALL = 1e-3
"""Rate of an integrand's exponential tail, over log odds, up to which the integral is taken for infinite."""


def expected_order_statistic(law: Any, rank: int, n: int) -> float:
    """Return the expectation of the order statistic of a rank among n values of a law; infinite if there is none.

    The integral of its quantile function over the Beta(k, n - k + 1) law of the level, by the trapezoidal rule over the
    log odds of the level, which are spread around their middle by a hyperbolic sine (double exponential formula).
    Levels above a half are read off the upper tail, where the law has ``isf``. Beyond the farthest levels the integrand
    falls as it does there.

    Parameters
    ----------
    law : object with ``ppf``
    rank, n : int
        1 <= rank <= n.
    """
    a, b, has_tail = rank, n - rank + 1, hasattr(law, "isf")
    spread, x = math.sqrt(1 / a + 1 / b), np.linspace(-LAST_NODE, LAST_NODE, NODES)
    logits, steps = math.log(a / b) + spread * np.sinh(x), spread * np.cosh(x) * (x[1] - x[0])
    inside = (logits >= -FARTHEST) & (logits <= (FARTHEST if has_tail else FARTHEST_BELOW_ONE))
    logits, steps = logits[inside], steps[inside]
    upper, values = (logits > 0) & has_tail, np.empty(len(logits))
    with np.errstate(over="ignore"):
        values[~upper] = law.ppf(expit(logits[~upper]))
        if upper.any():
            values[upper] = law.isf(expit(-logits[upper]))
    density = np.exp(a * log_expit(logits) + b * log_expit(-logits) - betaln(a, b))
    known = (density > 0) & ~np.isnan(values)
    logits, steps, density, values = logits[known], steps[known], density[known], values[known]
    parts, total = density * values, float(density @ steps)
    found = float(parts @ steps)
    for end, before in ((0, 1), (-1, -2)):
        if parts[end] == 0 or parts[before] == 0:
            continue
        fall = math.log(abs(parts[before] / parts[end])) / abs(logits[before] - logits[end])
        if fall <= LEAST_FALL:
            return math.copysign(math.inf, parts[end])
        found += float(parts[end]) * (1 / fall - float(steps[end]) / 2)
    return found / total


MOST_PLANNED = 1_000_000
"""The largest sample size that :func:`plan_quantile` considers."""
ROUNDING = 1e-12
"""Widths this close to the wanted one, relative to it, are equal to it."""
STEPS = 2
"""Ranks by which each end may lie further out at one n than at a smaller one."""


def plan_quantile(q: float, *, width: float, confidence_level: float = 0.95, distribution: Any = None) -> QuantilePlan:
    """Return the smallest sample size at which the exact interval for a quantile is as narrow as asked for.

    Parameters
    ----------
    q : float
        Probability strictly between 0 and 1.
    width : float
        Wanted width: in probability (0.1: from the 5% to the 15% quantile, say), or in the units of
        ``distribution``.
    confidence_level : float
    distribution : object with ``ppf``, optional
        A law of scipy.stats, frozen. The width is then the mean over its samples: the difference of the expectations of
        the two order statistics, infinite where the tails are too heavy for one of them.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, or no n up to a million is enough.

    References
    ----------
    Lehmann and Paromau (2025), section 6, an open question there.

    Examples
    --------
    >>> import jaxci
    >>> jaxci.plan_quantile(0.5, width=0.2).n
    94
    """
    u = check_number("q", q, "lie in (0, 1)", lambda x: 0 < x < 1)
    level = check_confidence_level(confidence_level)
    width = check_number("width", width, "be positive and finite", lambda x: 0 < x < math.inf)
    if distribution is not None and not hasattr(distribution, "ppf"):
        raise TypeError(
            f"distribution must have a method ppf, as frozen laws of scipy.stats do; got {shown(distribution)}"
        )
    sides, width = tails(level), width * (1 + ROUNDING)

    def between(ranks: tuple[int, int], n: int) -> float:
        low, high = (min(max(rank, 1), n) for rank in ranks)
        if distribution is None:
            return (high - low) / (n + 1)
        first, last = (expected_order_statistic(distribution, rank, n) for rank in (low, high))
        return last - first if math.isfinite(last - first) else math.inf

    tried = Tried("width", width, {})

    def at(n: int) -> QuantilePlan:
        ranks = order_statistic_ranks(n, u, sides)
        assert ranks is not None
        tried.found[n] = between(ranks, n)
        return QuantilePlan(u, n, tried.found[n], ranks, level, tried)

    least = OrderStatistic().least_n(u, sides)
    if least is None or least > MOST_PLANNED:
        raise ValueError(
            f"q = {u:g} needs more than {MOST_PLANNED} values for any interval at confidence_level = {level:g}"
        )
    enough = smallest(lambda n: at(n).expected_width <= width, least, MOST_PLANNED)
    if enough is None:
        raise ValueError(f"width = {width:g} needs more than {MOST_PLANNED} values at q = {u:g}")
    # widths fall with n but for steps of one rank on each side: go on as long as ranks two further in would do
    best = plan = at(enough)
    while plan.n > least and between((plan.ranks[0] + STEPS, plan.ranks[1] - STEPS), plan.n) <= width:
        plan = at(plan.n - 1)
        best = plan if plan.expected_width <= width else best
    return best
