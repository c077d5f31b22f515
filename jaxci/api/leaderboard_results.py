"""Competitors in order, with what can be said of their ranks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jaxci.printing import ConfidenceInterval, Printable, number


class Pair(NamedTuple):
    """The difference of two competitors: ``a - b``, its simultaneous interval, p-value and adjusted p-value."""

    a: str
    b: str
    estimate: float
    low: float
    high: float
    pvalue: float
    adjusted: float


class Entry(NamedTuple):
    """One competitor: its estimate and interval, the ranks that it may have, and whether it is tied with the best.

    Where competitors share resamples there are more: an interval that holds together with those of all others, the
    share of resamples in which it is the best, and the p-value of being among the best.
    """

    name: str
    estimate: float
    confidence_interval: ConfidenceInterval
    standard_error: float
    rank: int
    rank_low: int
    rank_high: int
    tied_with_best: bool
    simultaneous_interval: ConfidenceInterval = ConfidenceInterval(math.nan, math.nan)
    probability_best: float = math.nan
    pvalue_best: float = math.nan


@dataclasses.dataclass(frozen=True, eq=False)
class Leaderboard(Printable):
    """Competitors from the best to the worst.

    Attributes
    ----------
    statistic : str
        The loss or metric.
    entries : tuple of Entry
        By rank. ``rank_low`` to ``rank_high`` is a confidence set of the rank: all sets together hold all true ranks
        with probability ``confidence_level``.
    pairs : tuple of Pair
        All differences, or those to the reference; ``low`` and ``high`` hold all true ones together with probability
        ``confidence_level``, ``adjusted`` is the p-value adjusted for all by ``adjust``.
    method : str
    adjust : str
    confidence_level : float
    n : int
    reason : str
    rng
        Repeats the result when passed as ``rng``.
    warnings : tuple of str
    reference : str
        With whom competitors are said to be tied: the best, or one of them by name.
    """

    statistic: str
    entries: tuple[Entry, ...]
    pairs: tuple[Pair, ...]
    method: str
    adjust: str
    confidence_level: float
    n: int
    reason: str = ""
    rng: Any = None
    warnings: tuple[str, ...] = ()
    reference: str = "best"

    def headline(self) -> str:
        """Return the line above the table."""
        share = f"{100 * self.confidence_level:g}%"
        return f"{self.statistic} of {len(self.entries)} competitors, {share} intervals and ranks, n = {self.n}"

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table."""
        drawn = not all(math.isnan(entry.probability_best) for entry in self.entries)
        rows = [
            [
                str(entry.rank),
                f"{entry.rank_low} to {entry.rank_high}" if entry.rank_low < entry.rank_high else str(entry.rank_low),
                entry.name,
                number(entry.estimate),
                number(entry.confidence_interval.low),
                number(entry.confidence_interval.high),
                *([f"{entry.probability_best:.3f}"] if drawn else []),
                "yes" if entry.tied_with_best else "no",
            ]
            for entry in self.entries
        ]
        best = ["P(best)"] if drawn else []
        return ["rank", "ranks", "name", "estimate", "low", "high", *best, f"tied with {self.reference}"], rows

    def notes(self) -> list[str]:
        """Return the lines below the table: what is told apart, the method and warnings."""
        apart = [pair for pair in self.pairs if pair.adjusted <= 1 - self.confidence_level]
        how = {"none": "no adjustment", "max_t": "adjusted by the step-down max-t test"}.get(
            self.adjust, f"p-values adjusted by {self.adjust.capitalize()}"
        )
        told = f"{len(apart)} of {len(self.pairs)} pairs are told apart ({self.method}, {how})"
        return [told, *filter(None, [self.reason]), *(f"warning: {text}" for text in self.warnings)]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a competitor."""
        return [
            {
                "name": entry.name,
                "rank": entry.rank,
                "rank_low": entry.rank_low,
                "rank_high": entry.rank_high,
                "estimate": entry.estimate,
                "low": entry.confidence_interval.low,
                "high": entry.confidence_interval.high,
                "standard_error": entry.standard_error,
                "tied_with_best": entry.tied_with_best,
                "simultaneous_low": entry.simultaneous_interval.low,
                "simultaneous_high": entry.simultaneous_interval.high,
                "probability_best": entry.probability_best,
                "pvalue_best": entry.pvalue_best,
            }
            for entry in self.entries
        ]

    def contents(self) -> dict[str, Any]:
        """Return what the dictionary holds: the fields, entries and pairs as flat rows."""
        return {**super().contents(), "entries": self.records(), "pairs": [pair._asdict() for pair in self.pairs]}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"there is no competitor {name!r}; known are {', '.join(entry.name for entry in self.entries)}")


def ranked(
    names: Sequence[str],
    estimates: Sequence[float],
    ends: Sequence[ConfidenceInterval],
    errors: Sequence[float],
    pairs: Sequence[Pair],
    alpha: float,
    less_is_better: bool,
) -> tuple[Entry, ...]:
    """Return competitors by rank, with confidence sets of their ranks.

    A competitor's rank is no better than one more than the number of those that are shown to be better, and no worse
    than the number of those not shown to be worse (Mogstad, Romano, Shaikh and Wilhelm, 2024, section 3): where no
    pair is told apart wrongly, all sets hold the true ranks.
    """
    sign = 1 if less_is_better else -1
    better: dict[str, int] = dict.fromkeys(names, 0)
    worse: dict[str, int] = dict.fromkeys(names, 0)
    beats: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair.adjusted <= alpha and pair.estimate != 0:
            winner, loser = (pair.a, pair.b) if sign * pair.estimate < 0 else (pair.b, pair.a)
            better[loser] += 1
            worse[winner] += 1
            beats.add((winner, loser))
    order = sorted(range(len(names)), key=lambda i: math.inf if math.isnan(estimates[i]) else sign * estimates[i])
    best = names[order[0]]
    ranks = {i: 1 + sum(sign * estimates[j] < sign * estimates[i] for j in order) for i in order}
    return tuple(
        Entry(
            names[i],
            estimates[i],
            ends[i],
            errors[i],
            ranks[i],
            1 + better[names[i]],
            len(names) - worse[names[i]],
            (best, names[i]) not in beats,
        )
        for i in order
    )
