"""Competitors in order, with what can be said of their ranks."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxci.checks import shown
from jaxci.printing import ConfidenceInterval, Printable


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
    """One competitor: its estimate and interval, the ranks that it may have, and whether it is tied with the reference.

    The reference is that of the board: the best, or one of the competitors.
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
    tied: bool
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
        What was used: of few rows, clusters or runs "holm" where "max_t" was asked for.
    confidence_level : float
    n : int
    reason : str
    rng
        Repeats the result when passed as ``rng``.
    warnings : tuple of str
    reference : str
        With whom competitors are said to be tied: the best, or one of them by name.
    less_is_better : bool
    n_clusters : int
        Clusters that the n rows come in, 0 where they are independent.
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
    less_is_better: bool = False
    n_clusters: int = 0

    def headline(self) -> str:
        """Return the line above the table."""
        share = f"{100 * self.confidence_level:g}%"
        size = f"{self.n:,} rows in {self.n_clusters:,} clusters" if self.n_clusters else f"n = {self.n}"
        return f"{self.statistic} of {len(self.entries)} competitors, {share} intervals and ranks, {size}"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        drawn = not all(math.isnan(entry.probability_best) for entry in self.entries)
        rows = [
            [
                str(entry.rank),
                f"{entry.rank_low} to {entry.rank_high}" if entry.rank_low < entry.rank_high else str(entry.rank_low),
                entry.name,
                entry.estimate,
                float(entry.confidence_interval.low),
                float(entry.confidence_interval.high),
                *([f"{entry.probability_best:.3f}"] if drawn else []),
                "yes" if entry.tied else "no",
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
        return [told, *filter(None, [self.reason, self._apart()]), *super().notes()]

    def _apart(self) -> str:
        """Say why competitors may have rank 1 and yet not be tied with the best; empty where none has."""
        if self.reference != "best":
            return ""
        known = [entry for entry in self.entries if not math.isnan(entry.estimate)]
        names = [entry.name for entry in known if entry.rank_low == 1 and not entry.tied]
        told = "ranks hold for all at once; tied with best asks only who can be the best, and may leave out more"
        return f"{told}: {', '.join(names)}" if names else ""

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
                "tied": entry.tied,
                "tied_with": self.reference,
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


class RankSet(NamedTuple):
    """The least and the largest rank that a competitor may have, and the names of those that it beats."""

    low: int
    high: int
    beats: frozenset[str]


def rank_sets(names: Sequence[str], pairs: Sequence[Pair], alpha: float, less_is_better: bool) -> dict[str, RankSet]:
    """Return confidence sets of ranks.

    A competitor's rank is no better than one more than the number of those that are shown to be better, and no worse
    than the number of those not shown to be worse (Mogstad, Romano, Shaikh and Wilhelm, 2024, section 3): where no
    pair is told apart wrongly, all sets hold the true ranks.
    """
    sign = 1 if less_is_better else -1
    beaten: dict[str, set[str]] = {name: set() for name in names}
    for pair in pairs:
        if pair.adjusted <= alpha and pair.estimate != 0:
            winner, loser = (pair.a, pair.b) if sign * pair.estimate < 0 else (pair.b, pair.a)
            beaten[winner].add(loser)
    return {
        name: RankSet(
            1 + sum(name in losers for losers in beaten.values()),
            len(names) - len(beaten[name]),
            frozenset(beaten[name]),
        )
        for name in names
    }


def ranked(
    names: Sequence[str],
    estimates: Sequence[float],
    ends: Sequence[ConfidenceInterval],
    errors: Sequence[float],
    pairs: Sequence[Pair],
    alpha: float,
    less_is_better: bool,
) -> tuple[Entry, ...]:
    """Return competitors by rank, with :func:`rank_sets`; those without an estimate are last, and tied with none."""
    sign = 1 if less_is_better else -1
    sets = rank_sets(names, pairs, alpha, less_is_better)
    losses = [(True, 0.0) if math.isnan(x) else (False, sign * x) for x in estimates]
    order = sorted(range(len(names)), key=losses.__getitem__)
    best = sets[names[order[0]]]
    ranks = {i: 1 + sum(losses[j] < losses[i] for j in order) for i in order}
    return tuple(
        Entry(
            names[i],
            estimates[i],
            ends[i],
            errors[i],
            ranks[i],
            sets[names[i]].low,
            sets[names[i]].high,
            names[i] not in best.beats and not math.isnan(estimates[i]),
        )
        for i in order
    )


class MeanRank(NamedTuple):
    """One competitor: its mean rank, the interval of that, and its rank on each board.

    Those of equal estimates share the mean of the ranks that they take, as in Friedman's test.
    """

    name: str
    mean_rank: float
    low: float
    high: float
    ranks: tuple[float, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class MeanRanks(Printable):
    """Competitors by their mean rank over several metrics or tasks.

    Attributes
    ----------
    boards : dict of Leaderboard
        By metric or task.
    entries : tuple of MeanRank
        From the best to the worst.
    confidence_level : float
    """

    boards: Mapping[str, Leaderboard] = dataclasses.field(repr=False)
    entries: tuple[MeanRank, ...]
    confidence_level: float

    def headline(self) -> str:
        """Return the line above the table."""
        return f"mean rank over {len(self.boards)}, {100 * self.confidence_level:g}% intervals"

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        rows = [[one.name, *(f"{x:.2f}" for x in one[1:4]), *(f"{x:g}" for x in one.ranks), ""] for one in self.entries]
        return ["name", "mean rank", "low", "high", *self.boards, ""], rows

    def notes(self) -> list[str]:
        """Return the line below the table."""
        return ["from the least to the largest ranks that hold on all together"]

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a competitor."""
        return [
            {
                **dict(zip(("name", "mean_rank", "low", "high"), one, strict=False)),
                **{f"rank_{name}": rank for name, rank in zip(self.boards, one.ranks, strict=True)},
            }
            for one in self.entries
        ]


def mean_ranks(boards: Mapping[str, Leaderboard]) -> MeanRanks:
    """Mean ranks of competitors over several metrics or tasks, with intervals.

    Parameters
    ----------
    boards : dict of Leaderboard
        By the name of the metric or task: of the same competitors, at one confidence level, all pairs compared and
        adjusted for their number (not ``adjust="none"``).

    Returns
    -------
    MeanRanks
        Those of equal estimates share the mean of the ranks that they take, as in Friedman's test (two first ones have
        1.5). An interval goes from the mean of the least to that of the largest ranks. The sets of ranks of all boards
        hold together (Bonferroni over boards), so all intervals do.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two boards, or they are not of the same competitors, or not adjusted.
    """
    if not isinstance(boards, Mapping) or not all(isinstance(board, Leaderboard) for board in boards.values()):
        raise TypeError(f"boards must be a dict of Leaderboard; got {shown(boards)}")
    if len(boards) < 2:
        raise ValueError(f"boards must hold at least two leaderboards; got {len(boards)}")
    first = next(iter(boards.values()))
    names = sorted(entry.name for entry in first)
    for called, board in boards.items():
        if sorted(entry.name for entry in board) != names:
            raise ValueError(
                f"boards must be of the same competitors; {called!r} has others than {next(iter(boards))!r}"
            )
        if board.reference != "best":
            raise ValueError(f"boards must compare all pairs; {called!r} has reference={board.reference!r}")
        if board.confidence_level != first.confidence_level:
            raise ValueError(
                f"boards must have one confidence_level; {called!r} has {board.confidence_level:g}, others "
                f"{first.confidence_level:g}"
            )
        if board.adjust == "none":
            raise ValueError(
                f"boards must be adjusted for the number of their pairs; {called!r} has adjust='none', and its ranks "
                "do not hold together"
            )
    alpha = (1 - first.confidence_level) / len(boards)
    sets = [rank_sets(names, board.pairs, alpha, board.less_is_better) for board in boards.values()]
    ranks = [_mid_ranks(board) for board in boards.values()]
    entries = [
        MeanRank(
            name,
            _mean([one[name] for one in ranks]),
            _mean([one[name].low for one in sets]),
            _mean([one[name].high for one in sets]),
            tuple(one[name] for one in ranks),
        )
        for name in names
    ]
    entries.sort(key=lambda one: one.mean_rank)
    return MeanRanks(dict(boards), tuple(entries), first.confidence_level)


def _mid_ranks(board: Leaderboard) -> dict[str, float]:
    """Return the ranks, those of equal estimates as the mean of the ranks that they take."""
    sharing = Counter(entry.rank for entry in board)
    return {entry.name: entry.rank + (sharing[entry.rank] - 1) / 2 for entry in board}


def _mean(ranks: Sequence[float]) -> float:
    return sum(ranks) / len(ranks)
