"""What is chosen, and how methods stand on the cards: whether they held, which of them is best, what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jaxci.intervals.base import Method
from jaxci.intervals.cards import CARD_LEVEL, Features, Standing

TYPICAL_LOSS, WORST_LOSS = 0.01, 0.03
"""How far the median and the worst tenth of coverages on the cards may fall below their level."""

LEAST_LOSS = 0.02
"""How far any of these coverages may fall below it unsaid."""

MORE = (2, 3, 5, 10, 20, 50)
"""Multiples of the data tried where no method holds, to say how many would do."""


class Choice(NamedTuple):
    """A method with the reason it was chosen; how it stands on the cards, and what a reader should know."""

    method: Method
    reason: str
    standing: Standing | None = None
    remark: str | None = None


def held(standing: Standing) -> bool:
    """Whether a method held its level in the designs like the data."""
    return shortfall(standing) <= 0


def shortfall(standing: Standing, level: float = CARD_LEVEL) -> float:
    """Return by how many percent a method misses what is asked of it, as printed; at most 0 where it holds."""
    typical = percent(level - TYPICAL_LOSS) - percent(standing.typical)
    return max(typical, percent(level - WORST_LOSS) - percent(standing.worst))


def percent(share: float) -> float:
    """Return a share in percent, rounded to a tenth: what is printed, and what the rule reads."""
    return round(100 * share, 1)


def best_of(found: Sequence[Standing], alike: float) -> Standing:
    """Return the first method that held and is as good as the narrowest, or the one that came nearest to it."""
    holding = [one for one in found if held(one)]
    if not holding:
        return min(found, key=shortfall)
    narrowest = min(one.width for one in holding)
    return next(one for one in holding if one.width <= alike * narrowest)


def figures(standing: Standing) -> str:
    """Say how much a method covered."""
    return f"95% intervals covered {percent(standing.typical):.1f}% (worst tenth {percent(standing.worst):.1f}%)"


def described(features: Features) -> str:
    """Say what the data are like."""
    text = f"n about {features.n:.0f}"
    if features.clusters > 0:
        text += f" in {features.clusters:.0f} clusters, design effect {features.design_effect:.1f}"
    if features.classes > 0:
        return f"{text}, {features.rarest:.0f} in the rarest class, {features.errors:.0f} wrong"
    return f"{text}, skewness about {features.skewness:.1f}, kurtosis about {features.kurtosis:.1f}"


def lowest(best: Standing) -> str | None:
    """Say where a method that held covered least, if that is notably too little."""
    if percent(best.lowest) >= percent(CARD_LEVEL - LEAST_LOSS):
        return None
    least = f"{best.method}'s 95% intervals covered only {percent(best.lowest):.1f}%"
    return f"{least} in the worst of the {best.designs} simulated designs like these data"


def refused(best: Standing, features: Features, standings: Callable[[Features], list[Standing]]) -> str:
    """Say that no method is known to hold, and how many rows or clusters would do."""
    text = f"no method is known to hold its level in data like these ({described(features)}): {best.method}'s "
    text += figures(best)
    for times in MORE:
        rarest, errors = times * features.rarest, times * features.errors
        more = features._replace(n=times * features.n, rarest=rarest, errors=errors, clusters=times * features.clusters)
        if any(map(held, standings(more))):
            return f"{text}; {times} times as many {_counted(more)} would do"
    return text


def _counted(features: Features) -> str:
    """Say how many rows or clusters there are and, of classes, how many rows of the rarest, which often decide."""
    rarest = f", {features.rarest:.0f} rows in the rarest class" if features.rarest > 0 else ""
    if features.clusters > 0:
        return f"clusters (about {features.clusters:.0f} of equal size{rarest})"
    return f"rows (about {features.n:.0f}{rarest})"
