"""What a study does not judge, and why: methods of a statistic, and statistics under a distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.distributions import Distribution
from jaxci.distributions.base import COLUMNS, check_readable, observations
from jaxci.distributions.parametric import Parametric
from jaxci.intervals.base import Method
from jaxci.intervals.capabilities import is_binary_auc
from jaxci.statistics.base import Statistic
from jaxci.statistics.class_ranking import MulticlassRanking
from jaxci.statistics.custom import FunctionStatistic, WeightedFunction
from jaxci.statistics.summary import Mean, Std, is_mean_of_values
from jaxci.statistics.weighted_functions import check_weighted


def unjudged(
    laws: Mapping[str, tuple[Distribution, frozenset[str]]],
    statistics: Sequence[tuple[str, Statistic]],
    methods: Sequence[Method],
    bounds: Mapping[str, Any],
) -> list[str]:
    """Return which methods are not judged for which statistic, and which statistics not under which distribution.

    Distributions of one value are named, too.

    Parameters
    ----------
    laws : mapping
        Distributions, and what rows of each come in (clusters, strata), by name.
    statistics : sequence of (name, Statistic)
    methods : sequence of Method
    bounds : mapping
        Range of the values of a distribution, by its name.
    """
    found = []
    for name, statistic in statistics:
        for method in methods:
            under = {k: settled_under(law, statistic, bounds.get(k)) for k, (law, _) in laws.items()}
            why = {k: method.refusal_of_rows(under[k], given) for k, (_, given) in laws.items()}
            refusing = {law: reason for law, reason in why.items() if reason is not None}
            if refusing:
                where = "" if len(refusing) == len(why) else f" under {', '.join(refusing)}"
                reason = next(iter(refusing.values()))
                hint = _range_hint(method, statistic, {law: laws[law] for law in refusing})
                found.append(f"{method.label} is not judged for {name}{where} ({reason}){hint}")
    others = dict(statistics)
    for name, statistic in statistics:
        for called, (law, _) in laws.items():
            try:
                check_served(law, statistic)
            except ValueError as error:
                found.append(f"{name} is not judged under {called} ({error})")
            else:
                if twin := twin_of(statistic, law, others):
                    found.append(f"{name} is not judged under {called} (of two classes it is {twin})")
    single = [called for called, (law, _) in laws.items() if law.kind == "values" and law.analytic(Std()) == 0]
    return [*found, *(f"{called} draws one value only: every interval holds it" for called in single)]


def within(ends: Any, statistic: Statistic) -> Statistic:
    """Return a statistic with the bounds that the values of a distribution are known to have, if any."""
    if ends is not None and is_mean_of_values(statistic) and not np.isfinite(statistic.bounds).any():
        return Mean(bounds=tuple(ends))
    return statistic


def settled_under(distribution: Distribution, statistic: Statistic, ends: Any) -> Statistic:
    """Return a statistic with the bounds that values are known to have, and what the number of classes decides."""
    return within(ends, statistic).settled(distribution.n_classes)


def _range_hint(method: Method, statistic: Statistic, laws: Mapping[str, tuple[Distribution, frozenset[str]]]) -> str:
    """Say how the range of a law's values is told, where a method that was refused needs it."""
    if not is_mean_of_values(statistic):
        return ""
    for name, (law, given) in laws.items():
        known = isinstance(law, Parametric) and np.isfinite(law.bounds).all()
        if known and method.refusal_of_rows(Mean(bounds=law.bounds), given) is None:
            low, high = law.bounds
            return f"; bounds={{{name!r}: ({low:g}, {high:g})}} tells the range of the values"
    return ""


def twin_of(statistic: Statistic, distribution: Distribution, others: Mapping[str, Statistic]) -> str | None:
    """Return the name of another statistic that equals this one under a distribution: of two classes one AUC is all."""
    averages = isinstance(statistic, MulticlassRanking) and statistic.of_roc_curve and not statistic.micro
    if distribution.n_classes != 2 or not averages:
        return None
    return next((name for name, other in others.items() if is_binary_auc(other)), None)


def check_served(distribution: Distribution, statistic: Statistic) -> None:
    """Raise ``ValueError`` if a distribution does not draw what a statistic reads, or leaves the bounds of a mean."""
    check_readable(distribution, statistic)
    low, high = distribution.bounds
    if is_mean_of_values(statistic) and not (statistic.bounds[0] <= low and high <= statistic.bounds[1]):
        raise ValueError(
            f"bounds must hold all values; got {statistic.bounds} for {distribution.label} within [{low:g}, {high:g}]"
        )
    if isinstance(statistic, FunctionStatistic):
        given = _column_names(distribution)
        if not statistic.takes(len(given)):
            weights = [] if statistic.n_arguments(0) == 0 else ["weights"]
            raise ValueError(
                f"{statistic.described} cannot be called on {', '.join([*given, *weights])}, which it gets of "
                f"{distribution.label}, a distribution of {distribution.kind}"
            )


def _column_names(distribution: Distribution) -> tuple[str, ...]:
    """Return names of the columns that a user's function gets."""
    if distribution.kind != "columns":
        return COLUMNS[distribution.kind]
    drawn = jax.eval_shape(lambda: distribution.of_rows.sample(jax.random.key(0), 2))
    return tuple(f"column {i}" for i in range(1, 1 + len(drawn["columns"])))


def serves(distribution: Distribution, statistic: Statistic) -> bool:
    """Whether ``distribution`` draws what ``statistic`` reads, within the bounds that a mean declares."""
    try:
        check_served(distribution, statistic)
    except ValueError:
        return False
    return True


def check_judged(
    laws: Mapping[str, tuple[Distribution, frozenset[str]]],
    statistics: Sequence[tuple[str, Statistic]],
    methods: Sequence[Method],
    bounds: Mapping[str, Any],
) -> None:
    """Raise ``ValueError`` if no method serves a statistic, or no distribution draws it; see :func:`unjudged`."""
    for name, statistic in statistics:
        refusals = [
            method.refusal_of_rows(settled_under(law, statistic, bounds.get(called)), given)
            for called, (law, given) in laws.items()
            for method in methods
        ]
        if None not in refusals:
            raise ValueError(f"methods: none of {', '.join(map(str, methods))} serves {name}; {refusals[0]}")
        if not any(name in served_under(law, statistics, None) for law, _ in laws.values()):
            try:
                check_served(next(iter(laws.values()))[0], statistic)
            except ValueError as error:
                raise ValueError(f"statistics: no distribution serves {name}: {error}") from None


def check_sizes(laws: Mapping[str, Distribution], sizes: Iterable[int]) -> None:
    """Raise ``ValueError`` if a sample size is too small for the clusters or strata of a distribution."""
    for n in sizes:
        for name, law in laws.items():
            try:
                law.layout(n)
            except ValueError as error:
                raise ValueError(f"sample_sizes must suit every distribution; {name!r}: {error}") from None


def served_under(
    distribution: Distribution, statistics: Sequence[tuple[str, Statistic]], ends: Any
) -> dict[str, Statistic]:
    """Return the statistics that are judged under a distribution, with what it decides: see :func:`settled_under`."""
    found = {name: settled_under(distribution, one, ends) for name, one in statistics if serves(distribution, one)}
    return {name: one for name, one in found.items() if twin_of(one, distribution, found) is None}


def check_functions(laws: Mapping[str, Distribution], statistics: Sequence[tuple[str, Statistic]], n: int) -> None:
    """Refuse users' functions that do not weigh ``n`` rows of the laws that serve them, one law of each kind of rows.

    Raises
    ------
    ValueError, TypeError
        As :func:`~jaxci.statistics.weighted_functions.check_weighted` does, and where a function fails; the law and the
        function are named.
    """
    for name, statistic in statistics:
        if isinstance(statistic, WeightedFunction):
            for called, law in _of_each_kind({k: law for k, law in laws.items() if serves(law, statistic)}).items():
                drawn = jax.device_get(law.sample(jax.random.key(0), n))
                try:
                    check_weighted(statistic, name, observations(law, drawn))
                except (TypeError, ValueError) as error:
                    said = str(error) if str(error).startswith(repr(name)) else f"{name!r} fails: {error}"
                    raise type(error)(f"statistics: under {called!r}: {said}") from error
                except Exception as error:
                    why = f"{type(error).__name__}: {error}"
                    raise ValueError(f"statistics: under {called!r}: {name!r} fails: {why}") from error


def _of_each_kind(laws: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """Return the first law of each kind of rows and number of classes, and all whose rows are columns of any kind."""
    first: dict[Any, str] = {}
    for called, law in laws.items():
        first.setdefault(called if law.kind == "columns" else (law.kind, law.n_classes), called)
    return {called: laws[called] for called in first.values()}
