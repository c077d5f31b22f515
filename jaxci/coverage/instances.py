"""Instances of a study: the shape of their values, how well laws fit them, and what it has to do with coverage.

Every function reads a study or the columns of its results, and returns a column table. An instance is a distribution
that was fitted to data: values (a kernel estimate, or the values themselves), or logits.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from jaxci.checks import check_number, shown
from jaxci.coverage.analysis import SERIES, Columns, convergence_pace, groups, names_in, require, summarized_by, take
from jaxci.distributions import AdaptiveKDE, Empirical, LogitKDE

FAMILIES = {
    "normal": "norm",
    "student": "t",
    "skewnorm": "skewnorm",
    "lognormal": "lognorm",
    "logistic": "logistic",
    "exponential": "expon",
    "chi2": "chi2",
    "beta": "beta",
    "gamma": "gamma",
    "pareto": "pareto",
    "weibull": "weibull_min",
}
"""Parametric families of the reference, and their names in scipy.stats."""


def instances_of(study: Any) -> dict[str, AdaptiveKDE | Empirical | LogitKDE]:
    """Return the distributions of a study, or of studies that were joined, that were fitted to data."""
    joined = getattr(study, "studies", None)
    if joined is not None:
        return {f"{name}: {k}": law for name, one in joined.items() for k, law in instances_of(one).items()}
    laws = getattr(study, "distributions", {})
    return {name: law for name, law in laws.items() if isinstance(law, AdaptiveKDE | Empirical | LogitKDE)}


def shapes(study: Any) -> Columns:
    """Return mean, standard deviation, skewness and kurtosis of the data of every instance.

    With Y the data less its mean, times the inverse symmetric root of its covariance matrix (divisor n), skewness is
    ``E[(Y_1 + ... + Y_d)**3]`` and kurtosis ``E[|Y|**4]``: of values ``E[Y**3]`` and ``E[Y**4]``, 0 and 3 for a normal
    law, of logits of d classes 0 and d (d + 2).

    Parameters
    ----------
    study : Study, or the ``study`` of results

    Returns
    -------
    dict of str to (instances,) array
        ``distribution``, ``size`` (rows of the data), ``dimensions``, ``mean`` and ``deviation`` (of values; NaN for
        logits), ``skewness`` and ``kurtosis`` (NaN where the data do not vary).

    References
    ----------
    Andre et al. (2026), supplements S3.2 and S6.2; Mori, Rohatgi & Szekely (1994).
    """
    rows = []
    for name, law in instances_of(study).items():
        x = _rows(law)
        centred = x - x.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred / len(x))
        kept = values > 1e-12 * max(float(values[-1]), 0.0)
        y = (centred @ vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        varies = bool(kept.any()) and values[-1] > 0
        skewness = float(np.mean(y.sum(axis=1) ** 3)) if varies else np.nan
        kurtosis = float(np.mean((y**2).sum(axis=1) ** 2)) if varies else np.nan
        single = x.shape[1] == 1 and not isinstance(law, LogitKDE)
        location = (float(x.mean()), float(np.sqrt(values[0].clip(0)))) if single else (np.nan, np.nan)
        rows.append((name, len(x), x.shape[1], *location, skewness, kurtosis))
    return _columns(("distribution", "size", "dimensions", "mean", "deviation", "skewness", "kurtosis"), rows)


def _rows(law: AdaptiveKDE | Empirical | LogitKDE) -> np.ndarray:
    """Return the data of an instance, one row an observation."""
    found = np.asarray(law.logits if isinstance(law, LogitKDE) else law.values, np.float64)
    return found.reshape(len(found), -1)


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Columns:
    parts = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: np.array(part) for name, part in zip(names, parts, strict=True)}


def ks_distances(study: Any, families: str | Sequence[str] = ()) -> Columns:
    """Return how far the values of every instance are from the law they are drawn from, and from parametric families.

    The distance is Kolmogorov's and Smirnov's, the largest difference of two distribution functions. Families are
    fitted by maximum likelihood. The p-value is that of a law that was known before: a fitted law is rejected too
    rarely.

    Parameters
    ----------
    study : Study, or the ``study`` of results
        Instances of values; those of logits are left out.
    families : str or sequence of str
        Of :data:`FAMILIES`, besides the law of the instance; "beta" only where the values have two finite bounds. A fit
        takes up to a second.

    Returns
    -------
    dict of str to (rows,) array
        ``distribution``, ``law`` ("fitted", or a family), ``distance``, ``pvalue``, and ``pvalue_bonferroni`` (times
        the number of instances with this law, at most 1). NaN where a family cannot be fitted.

    Raises
    ------
    ValueError
        If a family is unknown.

    References
    ----------
    Andre et al. (2026), supplement S3.3.
    """
    families = names_in(families)
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"families must be of {', '.join(FAMILIES)}; got {shown(family)}")
    rows = []
    for name, law in instances_of(study).items():
        if isinstance(law, LogitKDE):
            continue
        values = np.asarray(law.values, np.float64)
        rows.append((name, "fitted", *_ks(values, law.law().cdf)))
        for family in families:
            if family == "beta" and not (isinstance(law, AdaptiveKDE) and np.isfinite(law.bounds).all()):
                continue
            rows.append((name, family, *_ks_of_family(values, family)))
    found = _columns(("distribution", "law", "distance", "pvalue"), rows)
    counts = np.array([np.sum(found["law"] == one) for one in found["law"].tolist()])
    return found | {"pvalue_bonferroni": np.minimum(found["pvalue"] * counts, 1.0)}


def _ks(values: np.ndarray, cdf: Any) -> tuple[float, float]:
    """Return the distance of the values from a law with jumps or without, and its p-value."""
    points, counts = np.unique(values, return_counts=True)
    upto = np.cumsum(counts) / len(values)
    at, before = np.asarray(cdf(points)), np.asarray(cdf(np.nextafter(points, -np.inf)))
    distance = float(max(np.abs(upto - at).max(), np.abs(upto - counts / len(values) - before).max()))
    return distance, float(stats.kstwo.sf(distance, len(values)))


def _ks_of_family(values: np.ndarray, family: str) -> tuple[float, float]:
    law = getattr(stats, FAMILIES[family])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            fitted = law(*law.fit(values))
            found = _ks(values, fitted.cdf)
        except (ValueError, RuntimeError, stats.FitError):
            return np.nan, np.nan
    return found if np.isfinite(found[0]) else (np.nan, np.nan)


def extrapolated_widths(columns: Columns, sizes: Sequence[int]) -> Columns:
    """Return mean widths at sizes beyond those simulated: they fall as ``1 / sqrt(n)``.

    From the largest simulated size N, ``width(n) = width(N) sqrt(N / n)``. How far this can be trusted is told by the
    same rule within what was simulated: from the largest size of at most N / 2 to N.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    sizes : sequence of int
        Larger than the largest simulated size of a curve, or left out for it.

    Returns
    -------
    dict of str to (rows,) array
        The series, ``n``, ``mean_width``, ``from_n`` (N) and ``error_within``, the relative error of the rule where it
        can be checked (NaN with one size).

    Raises
    ------
    ValueError
        If a column is missing, or no size is beyond those simulated.

    References
    ----------
    Andre et al. (2026), section 4.5 and supplement S9.2.
    """
    require(columns, (*SERIES, "n", "mean_width"))
    rows = []
    for key, mine in groups(columns, SERIES).items():
        known = mine[~np.isnan(columns["mean_width"][mine])]
        if not known.size:
            continue
        known = known[np.argsort(columns["n"][known], kind="stable")]
        n, width = columns["n"][known].astype(float), columns["mean_width"][known]
        half = np.flatnonzero(n <= n[-1] / 2)
        error = (
            width[half[-1]] * np.sqrt(n[half[-1]] / n[-1]) / width[-1] - 1 if half.size and width[-1] > 0 else np.nan
        )
        last = int(n[-1])
        rows += [(*key, int(size), width[-1] * np.sqrt(n[-1] / size), last, error) for size in sizes if size > n[-1]]
    if not rows:
        raise ValueError(f"sizes must be beyond those simulated; got {shown(list(sizes))}")
    return _columns((*SERIES, "n", "mean_width", "from_n", "error_within"), rows)


FEATURES = ("mean", "deviation", "skewness", "kurtosis")
"""Features of instances; the first two are of values only."""


def with_shapes(columns: Columns, tags: Sequence[str], study: Any, value: str = "pace") -> Columns:
    """Return a column beside the shapes of instances.

    The column is numeric, or "pace" (:func:`~jaxci.coverage.analysis.convergence_pace`). Instances without data, or
    whose data do not vary, and rows without the value are left out.
    """
    given, found = convergence_pace(columns, tags) if value == "pace" else columns, shapes(study)
    places = {name: i for i, name in enumerate(found["distribution"].tolist())}
    rows = [i for i, name in enumerate(given["distribution"].tolist()) if name in places]
    mine = np.array([places[given["distribution"][i]] for i in rows], int)
    table = {name: values[rows] for name, values in given.items()}
    table |= {name: found[name][mine] for name in FEATURES}
    kept = ~(np.isnan(table[value]) | np.isnan(table["skewness"])) if rows else np.zeros(0, bool)
    return {name: values[kept] for name, values in table.items()}


def shape_and_pace(columns: Columns, tags: Sequence[str], study: Any) -> Columns:
    """Return how the pace of convergence goes with skewness and kurtosis over instances: rank correlations.

    Returns
    -------
    dict of str to (rows,) array
        The metric where that is a tag, ``statistic``, ``method``, ``level``, ``instances``, ``skewness_rho``,
        ``kurtosis_rho`` (Spearman's) and their p-values; rows of fewer than three instances are left out.

    References
    ----------
    Andre et al. (2026), section 4.4 and figure 9.
    """
    table = with_shapes(columns, tags, study)
    by = tuple(name for name in summarized_by(table) if name != "n")
    rows = []
    for key, mine in groups(table, by).items():
        varied = all(np.ptp(table[name][mine]) > 0 for name in ("pace", "skewness", "kurtosis"))
        if len(mine) >= 3 and varied:
            tests = [stats.spearmanr(table["pace"][mine], table[name][mine]) for name in ("skewness", "kurtosis")]
            rows.append((*key, len(mine), *(float(x) for test in tests for x in test)))
    named = ("instances", "skewness_rho", "skewness_pvalue", "kurtosis_rho", "kurtosis_pvalue")
    return _columns((*by, *named), rows)


GROUPED = ("task", "metric")
"""Tags whose combinations are the groups of the reference."""


def regression_on_shape(
    columns: Columns,
    tags: Sequence[str],
    study: Any,
    *,
    features: str | Sequence[str] = ("skewness",),
    groups_by: str | Sequence[str] | None = None,
    value: str = "pace",
    confidence_level: float = 0.95,
) -> Columns:
    """Regress the pace of convergence, or coverage, on features of instances, with a random intercept for their groups.

    ``value = a + b' features + u_group + e``, by restricted maximum likelihood. Instances of one task, say, are alike;
    without the random intercept they would count as independent. The marginal R2 is
    ``V_f / (V_f + V_u + V_e)``, V_f the variance of the fitted fixed part; the conditional one has V_u above, too.

    Parameters
    ----------
    columns : dict of str to (rows,) array
        Of one statistic, method and level (:meth:`~jaxci.coverage.StudyResults.where`), and but for the pace of one n.
    tags : sequence of str
    study : Study, or the ``study`` of results
    features : str or sequence of str
        Of "mean", "deviation", "skewness", "kurtosis".
    groups_by : str or sequence of str, optional
        Tags whose combinations are the groups, at least two; by default "task" and "metric", where they are tags.
    value : str
        "pace", or a numeric column ("coverage", say).
    confidence_level : float
        Of the intervals of coefficients, which are normal.

    Returns
    -------
    dict of str to (features + 1,) array
        ``term``, ``coefficient``, ``standard_error``, ``low``, ``high``, ``pvalue``; in all rows the same
        ``marginal_r2``, ``conditional_r2``, ``instances``, ``groups`` and ``converged``, whether the fit did.

    Raises
    ------
    ValueError
        If rows are of several statistics, methods, levels or (but for the pace) sizes, a name is unknown, there are
        too few instances or groups, or the model cannot be fitted.
    ImportError
        Without statsmodels (the ``mixed`` extra).

    References
    ----------
    Andre et al. (2026), section 4.4; Nakagawa & Schielzeth (2013), equations 26 and 30.
    """
    check_number("confidence_level", confidence_level, "lie in (0, 1)", lambda x: 0 < x < 1)
    require(columns, (*SERIES, "n"))
    if value != "pace":
        require(columns, (value,), "value")
    for name in SERIES[1:] if value == "pace" else (*SERIES[1:], "n"):
        if len(set(columns[name].tolist())) != 1:
            raise ValueError(f"columns must be of one {name}; got {shown(sorted(set(columns[name].tolist())))}")
    features = names_in(features)
    for name in features:
        if name not in FEATURES:
            raise ValueError(f"features must be of {', '.join(FEATURES)}; got {shown(name)}")
    if groups_by is None:
        groups_by = [name for name in GROUPED if name in tags]
        if not groups_by:
            raise ValueError(f"groups_by must name tags; none of {', '.join(GROUPED)} is one of {shown(list(tags))}")
    groups_by = names_in(groups_by)
    require({tag: columns[tag] for tag in tags}, groups_by, "groups_by")
    table = with_shapes(columns, tags, study, value)
    labels = np.array(["\t".join(parts) for parts in zip(*(table[tag].tolist() for tag in groups_by), strict=True)])
    distinct, size = len(set(labels.tolist())), len(labels)
    if distinct < 2 or size < distinct + len(features) + 2:
        raise ValueError(f"groups_by must make two groups or more, of several instances; got {distinct} of {size}")
    try:
        from statsmodels.regression.mixed_linear_model import MixedLM
    except ImportError as error:
        raise ImportError("a mixed model needs statsmodels: pip install 'jaxci[mixed]'") from error
    design = np.column_stack([np.ones(size), *(table[name] for name in features)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an intercept whose variance is 0 is no trouble
        try:
            found = MixedLM(table[value], design, groups=labels).fit(reml=True)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"the model of {value} on {', '.join(features)} cannot be fitted: {error}") from None
    fixed = float(np.var(design @ found.fe_params))
    between, within = float(np.asarray(found.cov_re)[0, 0]), float(found.scale)
    total = fixed + between + within
    reach = stats.norm.ppf((1 + confidence_level) / 2) * found.bse_fe
    width = len(features) + 1
    return {
        "term": np.array(["intercept", *features]),
        "coefficient": np.asarray(found.fe_params),
        "standard_error": np.asarray(found.bse_fe),
        "low": found.fe_params - reach,
        "high": found.fe_params + reach,
        "pvalue": np.asarray(2 * stats.norm.sf(np.abs(found.fe_params / found.bse_fe))),
        "marginal_r2": np.full(width, fixed / total),
        "conditional_r2": np.full(width, (fixed + between) / total),
        "instances": np.full(width, size),
        "groups": np.full(width, distinct),
        "converged": np.full(width, bool(found.converged)),
    }


def regressions(columns: Columns, tags: Sequence[str], study: Any, level: float) -> Columns:
    """Return the slope of the pace on skewness for every statistic and method, by :func:`regression_on_shape`.

    Returns
    -------
    dict of str to (rows,) array
        ``statistic``, ``method``, ``level``, ``slope``, ``low``, ``high``, ``pvalue``, ``marginal_r2``,
        ``conditional_r2``, ``instances`` and ``groups``; without the pairs of which there are too few instances.

    Raises
    ------
    ImportError
        Without statsmodels (the ``mixed`` extra), where there is something to fit.
    """
    rows = []
    for key, mine in groups(columns, SERIES[1:]).items():
        if key[-1] != level:
            continue
        try:
            found = regression_on_shape(take(columns, mine), tags, study)
        except ValueError:
            continue
        told = ("coefficient", "low", "high", "pvalue", "marginal_r2", "conditional_r2", "instances", "groups")
        rows.append((*key, *(found[name][1] for name in told)))
    named = ("slope", "low", "high", "pvalue", "marginal_r2", "conditional_r2", "instances", "groups")
    return _columns((*SERIES[1:], *named), rows)
