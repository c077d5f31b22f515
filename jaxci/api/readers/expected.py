"""What users expect of their data, for a plan: a law of its rows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats.distributions import rv_frozen

from jaxci.api.readers.layout import arranged
from jaxci.api.readers.samples import check_n, sample_for
from jaxci.checks import check_number, hint, shown
from jaxci.coverage.cell import draw
from jaxci.coverage.fitting import law_of_rows
from jaxci.distributions import Cells, Clustered, Distribution, GaussianClasses, Parametric, as_distribution
from jaxci.distributions.base import check_readable, observations
from jaxci.inference.design import row_influence
from jaxci.intervals.base import normal_steps, tails
from jaxci.intervals.cards import ROUNDING
from jaxci.intervals.sample_size import ShareLaw
from jaxci.intervals.spread import LEAST, bonett
from jaxci.statistics.base import Statistic, TableStatistic, has_fixed_trials, is_proportion
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import is_mean

RATES = ("prevalence", "sensitivity", "specificity")
FORMS = {
    "values": "{'mean': m, 'sd': s}, a law of scipy.stats, or pilot data {'values': x}",
    "labels": (
        "a table of counts, (prevalence, sensitivity, specificity), {'auc': a, 'prevalence': p}, "
        "or pilot data {'y_true': y, 'y_pred': g}"
    ),
    "scores": "{'auc': a, 'prevalence': p}, or pilot data {'y_true': y, 'y_score': s}",
    "targets": "a distribution of jaxci.distributions, or pilot data {'y_true': y, 'y_pred': g}",
}
"""What ``expected`` may be for metrics that read columns of each kind."""
TABULATED = 1_000_000
"""Rows of a law that are drawn for a table of its classes."""
UNEVEN = 0.02
"""Share by which the mean size of simulated clusters may be off."""
MOST_SPREAD = 1_000
"""Clusters, at most, whose sizes are written down for degrees of freedom: those of more grow with their number."""


class TooLittleExpected(ValueError):
    """``expected`` does not tell what a metric needs.

    Attributes
    ----------
    amiss : str
        What is wrong with it.
    kind : str
        Of the columns that the metric reads: a key of :data:`FORMS`. A door with words of its own says by it what would
        do.
    """

    def __init__(self, amiss: str, statistic: Statistic):
        self.amiss, self.kind = amiss, _kind(statistic)
        super().__init__(f"{amiss}{'' if amiss.endswith('?') else '.'} It may be {FORMS[self.kind]}")


@dataclasses.dataclass(frozen=True)
class Pilot:
    """Data that a plan is made from: their rows, and how these hang together."""

    sample: Sample
    layout: Layout

    def spread(self, statistic: Statistic, level: float) -> tuple[float, float] | None:
        """Return the ends of an interval for the variance of a smooth statistic, in shares of what the pilot has.

        Bonett's, of the influences of rows or clusters; None where there are too few, or they do not vary.
        """
        if not statistic.smooth:
            return None
        with jax.enable_x64(True):
            influence = row_influence(statistic, self.sample)
        if self.layout.units is not None:
            influence = np.bincount(self.layout.units, influence)
        sides, found = tails(level), np.var(influence, ddof=1)
        if len(influence) <= max(LEAST, *normal_steps(sides)) or not found > 0:
            return None
        low, high = (float(end) ** 2 / float(found) for end in bonett(np.sort(influence), sides))
        return low, high


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of rows that are alike.

    Attributes
    ----------
    correlation : float
        Of two rows of a cluster.
    sizes : array
        Rows of every cluster of a pilot, or the one size of all.
    """

    correlation: float
    sizes: np.ndarray

    @classmethod
    def equal(cls, correlation: float, size: int) -> Clusters:
        """Return clusters of one size."""
        return cls(correlation, np.array([size]))

    @classmethod
    def of(cls, statistic: Statistic, sample: Sample, layout: Layout) -> Clusters | None:
        """Return how alike rows of a cluster are in what a statistic reads; None of independent rows."""
        if layout.units is None:
            return None
        correlation = layout.intraclass_correlation(row_influence(statistic, sample))
        return cls(float(correlation), np.bincount(layout.units))

    @property
    def size(self) -> float:
        """Mean number of rows of a cluster."""
        return float(self.sizes.mean())

    @property
    def size_of_a_row(self) -> float:
        """Mean size of the cluster that a row is in, ``sum m^2 / sum m``: above ``size`` where sizes differ."""
        return float(np.sum(self.sizes.astype(float) ** 2) / self.sizes.sum())

    @property
    def design_effect(self) -> float:
        """Variance of a mean over that of as many independent rows, ``1 + (sum m^2 / sum m - 1) r`` (Kish 1965)."""
        return 1 + (self.size_of_a_row - 1) * self.correlation

    @property
    def described(self) -> str:
        """The design effect in words."""
        told = f"design effect 1 + (m - 1) icc = {self.design_effect:.3g}"
        if np.ptp(self.sizes) == 0:
            return told
        return f"{told}, m = sum of squared sizes / rows = {self.size_of_a_row:.3g} for a mean size of {self.size:.3g}"

    def rows(self, units: int) -> int:
        """Return how many rows so many clusters hold on average."""
        return round(units * self.size)

    def degrees(self, units: int, working_correlation: int) -> float:
        """Return the degrees of freedom of a robust variance of so many clusters.

        ``units (mean w)^2 / mean w^2 - 1``, at least 1, where w is the variance of the sum of a cluster: its size where
        rows are independent (``working_correlation`` 0), the square of that where they are copies (1). G - 1 for
        clusters of one size; for others Satterthwaite's but for terms that vanish with the largest share of the rows.
        """
        variances = self._spread(min(units, MOST_SPREAD)) ** (1 + working_correlation)
        return max(1.0, units * float(variances.mean() ** 2 / np.mean(variances**2)) - 1)

    @property
    def step(self) -> int:
        """The fewest clusters that hold a whole number of rows on average, to within :data:`UNEVEN`, or 5."""
        whole = (k for k in range(1, 5) if abs(self.rows(k) - k * self.size) <= UNEVEN * k * self.size)
        return next(whole, 5)

    def law(self, law: Distribution, units: int) -> Clustered:
        """Return so many clusters of rows of a law, of sizes that spread as those of the pilot do."""
        return Clustered(law, self._spread(units), self.correlation)

    def _spread(self, units: int) -> np.ndarray:
        """Return so many sizes: quantiles of the pilot's at equal steps."""
        return np.quantile(self.sizes, (np.arange(units) + 0.5) / units, method="inverted_cdf").astype(float)


@dataclasses.dataclass(frozen=True)
class Expected:
    """What is expected of the data of one model.

    Attributes
    ----------
    statistic : Statistic
        Settled for the number of classes.
    law : Distribution
        Of independent rows.
    described : str
    prevalence : float or None
        Share of positive rows where it is known.
    deviation : float or None
        Standard deviation, where it and the mean are all that is known of the values.
    located : bool
        Whether the mean of the values is known.
    clusters : Clusters or None
        Of pilot data.
    remarks : tuple of str
        How pilot data were read.
    pilot : Pilot or None
        These data.
    """

    statistic: Statistic
    law: Distribution
    described: str
    prevalence: float | None = None
    deviation: float | None = None
    located: bool = True
    clusters: Clusters | None = None
    remarks: tuple[str, ...] = ()
    pilot: Pilot | None = None

    def share(self) -> ShareLaw | None:
        """Return the proportion of rows that the statistic is, or increases with; None where it is none.

        Raises
        ------
        ValueError
            If no row counts.
        """
        statistic = self.statistic
        if not isinstance(self.law, Cells) or not isinstance(statistic, TableStatistic) or not is_proportion(statistic):
            return None
        with jax.enable_x64(True):
            found = statistic.successes(jnp.asarray(self.law.table, jnp.float64))
        assert found is not None
        successes, trials = map(float, found)
        if not trials > 0:
            table = np.asarray(self.law.table).tolist()
            raise ValueError(
                f"expected must hold rows that count: a share of no rows at all is 0/0; got the table {table}"
            )
        seen = None if self.pilot is None else self.pilot.sample.n
        return ShareLaw(statistic, min(trials, 1.0), min(successes / trials, 1.0), seen)


def read_expected(
    statistic: Statistic, name: str, expected: Any, labels: Any = None, pos_label: Any = None
) -> Expected:
    """Return the law that ``expected`` stands for, in any of the forms of :func:`jaxci.plan`.

    Raises
    ------
    ValueError, TypeError
        If it is none of the forms, or does not tell enough for the statistic.
    """
    if isinstance(expected, Mapping):
        found = _of_mapping(statistic, name, dict(expected), labels, pos_label)
    elif isinstance(expected, Distribution | rv_frozen):
        found = _of_law(statistic, as_distribution(expected))
    elif isinstance(expected, int | float | np.integer | np.floating) and not isinstance(expected, bool):
        found = _of_value(statistic, name, float(expected))
    else:
        found = _of_array(statistic, name, expected)
    if found.law.n_classes:
        found = dataclasses.replace(found, statistic=found.statistic.settled(found.law.n_classes))
    try:
        check_readable(found.law, found.statistic)
    except ValueError as error:
        raise TooLittleExpected(f"expected must tell of what {name} reads; {error}", statistic) from None
    return found


def _kind(statistic: Statistic) -> str:
    if statistic.task in ("values", "custom"):
        return "values"
    if statistic.task == "regression":
        return "targets"
    return "scores" if "y_score" in statistic.inputs else "labels"


def _of_law(statistic: Statistic, law: Distribution) -> Expected:
    """Read a law of rows; of a share of all independent rows of classes, by a table of what it draws."""
    described = f"draws from {law.label}"
    counted = law.n_classes > 0 and law.layout(TABULATED).plain and has_fixed_trials(statistic.settled(law.n_classes))
    if isinstance(law, Cells) or not counted:
        return Expected(statistic, law, described)
    rows = observations(law, {key: x[0] for key, x in draw(law, jax.random.key(0), 0, 1, TABULATED).items()})
    k = law.n_classes
    table = np.bincount(rows.y_true.astype(np.int64) * k + rows.y_pred, minlength=k * k).reshape(k, k)
    return Expected(statistic, Cells(table), f"{described}, the table of {TABULATED:,} of them")


def _of_value(statistic: Statistic, name: str, value: float) -> Expected:
    """Read the value of a share of all rows."""
    if not has_fixed_trials(statistic.settled(2)):
        raise TooLittleExpected(
            f"expected must tell more than its value for {name}, whose width depends on more; got {shown(value)}",
            statistic,
        )
    check_number("expected", value, f"lie in [0, 1] for {name}", lambda x: 0 <= x <= 1)
    right = 1 - value if statistic.loss else value
    return Expected(statistic, Cells.binary(0.5, right, right), f"{name} {value:g}")


def _of_array(statistic: Statistic, name: str, expected: Any) -> Expected:
    try:
        array = np.asarray(expected, float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape == (3,):
        return _of_rates(statistic, name, dict(zip(RATES, map(float, array), strict=True)))
    if array.ndim == 2 and array.size:
        law = _table(array)
        prevalence = float(law.table[1].sum()) if law.n_classes == 2 else None
        return Expected(statistic, law, f"a table of {law.n_classes} x {law.n_classes}", prevalence)
    raise TooLittleExpected(f"expected must be of a known form for {name}; got {shown(expected)}", statistic)


def _table(array: np.ndarray) -> Cells:
    try:
        return Cells(array)
    except ValueError as error:
        raise ValueError(f"expected, a table of true against predicted classes: {error}") from None


def _of_mapping(statistic: Statistic, name: str, given: dict[str, Any], labels: Any, pos_label: Any) -> Expected:
    keys = set(given)
    if keys == {"table"}:
        return _of_array(statistic, name, given["table"])
    if keys & {"values", "y_true"} or keys & {"y_pred", "y_score"} & {*statistic.inputs}:
        return _of_pilot(statistic, name, given, labels, pos_label)
    if "auc" in keys and not ("sd" in keys and statistic.task == "values"):
        return _of_area(statistic, given)
    if "sd" in keys:
        return _of_moments(statistic, given)
    if keys & set(RATES):
        return _of_rates(statistic, name, given)
    if not given:
        raise TooLittleExpected(f"expected must tell of the data for {name}; got {given}", statistic)
    known = ("table", "values", "y_true", "auc", "sd", *RATES)
    word = next(iter(map(str, given)))
    raise TooLittleExpected(f"expected has no key {word!r}{hint(word, known)}", statistic)


def known_keys(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a key of ``expected`` that is not ``known``."""
    for key in given:
        if key not in known:
            raise ValueError(f"expected must hold no key but {', '.join(map(repr, known))}; got {key!r}")


def _share_of(given: Mapping[str, Any], key: str) -> float:
    if key not in given:
        raise ValueError(f"expected needs {key!r}; got {', '.join(map(str, given))}")
    return check_number(f"expected[{key!r}]", given[key], "lie in [0, 1]", lambda x: 0 <= x <= 1)


def _of_rates(statistic: Statistic, name: str, given: Mapping[str, Any]) -> Expected:
    """Read prevalence, sensitivity and specificity; one of the last two may miss where the metric leaves it out."""
    known_keys(given, RATES)
    prevalence = _share_of(given, "prevalence")
    if statistic.task == "values":
        raise TooLittleExpected(f"expected must tell of the values for {name}; got {shown(dict(given))}", statistic)
    settled, missing = statistic.settled(2), [key for key in RATES[1:] if key not in given]
    rates = {key: _share_of(given, key) for key in RATES[1:] if key in given}
    if missing:
        tried = [{**rates, **dict.fromkeys(missing, rate)} for rate in (0.4, 0.8)]
        laws = [Cells.binary(prevalence, *(one[key] for key in RATES[1:])) for one in tried]
        values = [law.analytic(settled) for law in laws] if "y_pred" in settled.inputs else [None]
        if "y_pred" not in settled.inputs:
            raise ValueError(f"expected needs 'auc', on which {name} depends; got {', '.join(given)}")
        if len(missing) > 1 or not 0 < prevalence < 1 or values[0] is None or values[0] != values[-1]:
            raise ValueError(f"expected needs {missing[0]!r}, on which {name} depends; got {', '.join(given)}")
        rates |= dict.fromkeys(missing, 1.0)
    law = Cells.binary(prevalence, rates["sensitivity"], rates["specificity"])
    described = ", ".join(f"{key} {value:g}" for key, value in given.items())
    return Expected(statistic, law, described, prevalence)


def _of_area(statistic: Statistic, given: Mapping[str, Any]) -> Expected:
    """Read the area under a ROC curve and the share of positives: normal scores of equal variance."""
    known_keys(given, ("auc", "prevalence"))
    area = check_number("expected['auc']", given["auc"], "lie in (0.5, 1)", lambda x: 0.5 < x < 1)
    prevalence = _share_of(given, "prevalence")
    if not 0 < prevalence < 1:
        raise ValueError(f"expected['prevalence'] must lie in (0, 1) for scores of both classes; got {prevalence:g}")
    described = f"AUC {area:g}, prevalence {prevalence:g}"
    if not isinstance(statistic, TableStatistic):
        return Expected(statistic, GaussianClasses([1 - prevalence, prevalence], area), described, prevalence)
    # log odds of the scores are normal, of variance 2 d^2 around +-d^2 by class, and predict the likelier class
    apart, odds = float(ndtri(area)), math.log(prevalence / (1 - prevalence))
    sensitivity, specificity = (float(ndtr((apart**2 + sign * odds) / (math.sqrt(2) * apart))) for sign in (1, -1))
    described += f": sensitivity {sensitivity:.3g}, specificity {specificity:.3g} where the likelier class is predicted"
    return Expected(statistic, Cells.binary(prevalence, sensitivity, specificity), described, prevalence)


def _of_moments(statistic: Statistic, given: Mapping[str, Any]) -> Expected:
    """Read mean and standard deviation of values: a beta law where the statistic has both bounds, else a normal one."""
    known_keys(given, ("mean", "sd"))
    deviation = check_number("expected['sd']", given["sd"], "be positive and finite", lambda x: 0 < x < math.inf)
    low, high = statistic.bounds
    bounded = math.isfinite(low) and math.isfinite(high)
    middle = (low + high) / 2 if bounded else 0.0
    mean = check_number("expected['mean']", given.get("mean", middle), "be finite", math.isfinite)
    described = f"mean {mean:g}, sd {deviation:g}" if "mean" in given else f"sd {deviation:g}"
    law = Parametric("norm", {"loc": mean, "scale": deviation})
    if bounded:
        share = (mean - low) / (high - low)
        count = (mean - low) * (high - mean) / deviation**2 - 1
        if not 0 < share < 1 or not count > 0:
            raise ValueError(
                f"expected must be possible within bounds = [{low:g}, {high:g}]; got a mean of {mean:g} with an sd of "
                f"{deviation:g}"
            )
        law = Parametric("beta", {"a": share * count, "b": (1 - share) * count, "loc": low, "scale": high - low})
    known = deviation if is_mean(statistic) else None
    return Expected(statistic, law, described, deviation=known, located="mean" in given)


def _of_pilot(statistic: Statistic, name: str, given: dict[str, Any], labels: Any, pos_label: Any) -> Expected:
    """Fit a law to pilot data, as :func:`jaxci.check_coverage` does; with "groups", how alike rows of a cluster are."""
    known_keys(given, (*statistic.inputs, "groups"))
    for key in statistic.inputs:
        if key not in given:
            raise ValueError(f"expected needs {key!r}, pilot data that {name} reads; got {', '.join(given)}")
    data = [given[key] for key in statistic.inputs]
    sample, settled, remarks = sample_for(statistic, name, data, labels=labels, pos_label=pos_label)
    check_n(sample)
    if sample.y_score is not None and len(np.unique(sample.y_true)) < 2:
        raise ValueError("expected['y_true'] must hold at least 2 classes where scores are simulated; got 1")
    sample, layout = arranged(sample, given.get("groups"), None, None, "importance")
    with jax.enable_x64(True):
        if _without_width(settled, sample):
            raise ValueError(f"expected must be pilot data in which {name} varies; it does not")
        law = law_of_rows(settled, sample)
        clusters = Clusters.of(settled, sample, layout)
    prevalence = float(sample.class_sizes[1] / sample.n) if sample.n_classes == 2 else None
    return Expected(
        settled,
        law,
        f"as in {sample.n} pilot rows",
        prevalence,
        clusters=clusters,
        remarks=remarks,
        pilot=Pilot(sample, layout),
    )


def _without_width(statistic: Statistic, sample: Sample) -> bool:
    """Whether pilot values, or errors of a regression, do not vary: their intervals have no width but within bounds."""
    if statistic.task not in ("values", "regression") or np.isfinite(statistic.bounds).all():
        return False
    values = sample.values if statistic.task == "values" else sample.y_true - sample.y_pred
    values = values[: sample.n]
    return bool(np.ptp(values) <= ROUNDING * np.abs(values).max())
