"""How many cases a width takes, or a difference between two models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxci.api.planning_results import Plan
from jaxci.api.power_plans import plan_power
from jaxci.api.power_tests import PowerAsked
from jaxci.api.readers.expected import Clusters, read_expected
from jaxci.api.readers.samples import is_function
from jaxci.api.width_plans import WidthAsked, plan_width
from jaxci.checks import check_confidence_level, check_count, check_number, shown
from jaxci.inference.randomness import randomness
from jaxci.inference.remarks import announce
from jaxci.intervals.base import Method
from jaxci.statistics.registry import configured, name_of, statistic_by_name


def plan(
    metric: Any,
    *,
    expected: Any,
    width: float | None = None,
    difference: float | None = None,
    power: float | None = None,
    assurance: float | None = None,
    confidence_level: float = 0.95,
    method: str | Method = "auto",
    icc: float | None = None,
    cluster_size: int | None = None,
    n_replications: int = 1_000,
    n_resamples: int = 1_999,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    rng: Any = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Plan:
    """Return how many cases an interval of a given width takes, or a difference to be seen with given power.

    Parameters
    ----------
    metric : str or Statistic
        A metric's name, or an object of ``jaxci.statistics``.
    expected : float, tuple, table, dict, distribution or law of scipy.stats
        What is expected of the data. Of one model, for a width:

        - the value of a share of all cases (accuracy, error rate);
        - a table of true against predicted classes (K, K), counts or shares;
        - (prevalence, sensitivity, specificity), or a dictionary of these;
        - ``{"auc": a, "prevalence": p}``: normal scores of equal variances; the likelier class is predicted;
        - ``{"mean": m, "sd": s}``, or a law of scipy.stats, or any distribution of the rows;
        - pilot data: ``{"values": x}``, ``{"y_true": y, "y_pred": g}``, ``{"y_true": y, "y_score": s}``; with
          ``"groups"`` where rows come in clusters.

        Of two models, for ``power``:

        - shares of cases, ``{"a": .85, "b": .82, "discordant": .09}``, the last of those of which one model alone is
          right; of a recall also ``"prevalence"``;
        - areas, ``{"a": .85, "b": .8, "prevalence": .3, "correlation": .6}``, the last of the scores within a class;
        - ``{"sd": s}`` of the differences by case, or ``{"sd_a": s, "sd_b": t, "correlation": r}``;
        - pilot data, ``{"y_true": y, "prediction_a": a, "prediction_b": b}``, as :func:`jaxci.compare` reads them.
    width : float, optional
        Wanted width of the interval, low to high.
    difference : float, optional
        Difference a - b of two models to be seen; that of ``expected`` by default.
    power : float, optional
        Probability with which the interval of the difference is to exclude 0.
    assurance : float, optional
        Share of samples in which the interval must be no wider than ``width``; by default the width holds for the
        expected sample (closed forms) or in the mean (simulations). Pilot data of a share of independent rows leave
        open what it is: the assurance is then that of samples of all the shares that they allow. Everything else that
        is expected is taken for the truth.
    confidence_level : float
        Between 0 and 1.
    method : str or Method
        As in :func:`jaxci.interval`, with ``power`` as in :func:`jaxci.compare`. "auto" is what these would take at the
        number of cases planned, of a share at every count: where samples get different methods, the method of the plan
        is "auto". Of values in independent rows of which only the standard deviation is known it is Student's, and of
        two models the test whose power is known.
    icc, cluster_size : float and int, optional
        Intraclass correlation, and rows of a cluster, where rows come in clusters of equal size; both or none. For
        uneven ones pass ``sum size^2 / sum size``: ``n`` is then right, of ``n / mean size`` clusters.
    n_replications, n_resamples : int
        Simulated data sets of each size that is tried, and resamples of each, where there is no closed form.
    labels, pos_label, rng, progress
        As in :func:`jaxci.check_coverage`.
    **options
        Fields of the statistic (``bounds`` of a mean ...).

    Returns
    -------
    Plan
        Cases, positives and clusters; the width expected with its assurance, or the power; how they were found.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Notes
    -----
    Closed forms: Student's interval (the width at the expected deviation), intervals for proportions (the width at the
    expected counts; the assurance of a pilot's share is averaged over its posterior from Jeffreys' prior). Powers: of
    Tango's score test and McNemar's exact one, summed over all counts; of Student's test from the noncentral t law; of
    DeLong's, and from pilot data of other smooth metrics, by the normal law with the variance that these estimate.
    Everything else is simulated by the program that checks coverage, so the widths are those of the intervals
    themselves. Clusters are simulated, of a pilot with sizes at its quantiles; with ``method="t"``, and in powers, they
    enter by the design effect ``1 + (m - 1) icc``, with ``m = sum size^2 / sum size`` [4]_. Powers in clusters are
    those of Student's test, of one degree of freedom less than clusters of like size that tell as much: of shares with
    its quantile in place of the normal one, of smooth metrics by the noncentral t law. Of few clusters they are rough.

    A plan from pilot data has a remark that says how many cases would be planned at the ends of an interval of what the
    pilot estimates: of a share, of the difference of two models, or of the variance of a smooth metric (Bonett's).

    References
    ----------
    .. [1] Kupper & Hafner (1989), How appropriate are popular sample size formulas?, The American Statistician 43,
       101-105 (assurance).
    .. [2] Connor (1987), Biometrics 43, 207-211; Miettinen (1968), Biometrics 24, 339-352 (McNemar's test).
    .. [3] Obuchowski & McClish (1997), Statistics in Medicine 16, 1529-1542 (correlated areas).
    .. [4] Kish (1965), Survey Sampling (design effect).

    Examples
    --------
    >>> import jaxci
    >>> jaxci.plan("accuracy", expected=0.8, width=0.1).n
    246
    >>> jaxci.plan("mean", expected={"mean": 0.8, "sd": 0.22}, width=0.1).n
    77
    """
    name = name_of(metric)
    if is_function(metric):
        raise TypeError(f"metric must be a metric's name or an object of jaxci.statistics; got {shown(metric)}")
    statistic, rest = configured(statistic_by_name(metric), options)
    for option in rest:
        raise TypeError(f"{name} has no option {option!r}")
    level = check_confidence_level(confidence_level)
    replications = check_count("n_replications", n_replications, 100)
    resamples = check_count("n_resamples", n_resamples, 1)
    source = randomness(rng)
    clusters = _clusters(icc, cluster_size)
    if clusters is not None and isinstance(expected, Mapping) and expected.get("groups") is not None:
        raise ValueError("icc and cluster_size must be left out where groups of the pilot tell of clusters; got both")
    if width is not None:
        for other, value in (("difference", difference), ("power", power)):
            if value is not None:
                raise ValueError(f"width plans one interval, {other} a comparison of two models: give one of them")
        limit = check_number("width", width, "be positive and finite", lambda x: 0 < x < math.inf)
        if assurance is not None:
            assurance = check_number("assurance", assurance, "lie in (0, 1)", lambda x: 0 < x < 1)
        known = read_expected(statistic, name, expected, labels, pos_label)
        asked = WidthAsked(name, limit, assurance, level, method, clusters or known.clusters, replications, resamples)
        found = plan_width(asked, known, source, progress)
    elif power is not None:
        if assurance is not None:
            raise ValueError(f"assurance goes with width, and power with a difference; got assurance = {assurance!r}")
        wanted = check_number("power", power, "lie in (0, 1)", lambda x: 0 < x < 1)
        if wanted <= 1 - level:
            raise ValueError(f"power must exceed the error probability {1 - level:g} of the test; got {wanted:g}")
        apart = None
        if difference is not None:
            apart = check_number("difference", difference, "be finite and not 0", lambda x: 0 < abs(x) < math.inf)
        found = plan_power(
            PowerAsked(name, statistic, apart, wanted, level, method, clusters, labels, pos_label), expected
        )
    elif difference is not None:
        raise ValueError("power must be given with difference: the probability of seeing it; got None")
    else:
        raise ValueError("width, or power with a difference, must be given; got neither")
    announce(found.warnings)
    return found


def _clusters(icc: Any, cluster_size: Any) -> Clusters | None:
    if icc is None and cluster_size is None:
        return None
    for one, other, missing in (("icc", "cluster_size", icc), ("cluster_size", "icc", cluster_size)):
        if missing is None:
            raise ValueError(f"{one} must be given with {other}; got None")
    within = check_number("icc", icc, "lie in [0, 1]", lambda x: 0 <= x <= 1)
    return Clusters.equal(within, check_count("cluster_size", cluster_size, 1))
