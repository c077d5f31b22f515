"""What a study says, in sentences: which method to use from which sample size on, and which misses by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxci.coverage.analysis import KIND, Columns, groups, levels_of, take
from jaxci.inference.choice import ALIKE, shortfall
from jaxci.intervals.cards import Standing, standing

Standings = Mapping[str, Standing]

NOTABLE = 0.015
"""Coverage that falls below its level by less is not told."""
TOLD = 3
"""Methods that miss which a sentence names."""


def verdicts(columns: Columns, level: float) -> dict[str, str]:
    """Return a verdict in sentences for every statistic (and metric), at one level.

    A method holds at a size where the median of its coverages over the distributions falls below the level by at most
    one point, and their worst tenth by at most three: the rule of ``method="auto"``. Of those that hold, the narrowest
    is named, or of those at most 5% wider the one that goes on to hold the longest.
    """
    rows = take(columns, columns["level"] == level)
    by = (KIND, "statistic") if KIND in rows else ("statistic",)
    out = {}
    for key, found in groups(rows, by).items():
        mine = take(rows, found)
        at = {n: _standings(mine, n) for n in sorted(levels_of(mine["n"]))}
        sentences = [_use(at, level), *_misses(at, level), *_worst(at, level), *_none(at)]
        out[" of ".join(map(str, key[::-1]))] = " ".join(filter(None, sentences))
    return out


def _standings(rows: Columns, n: int) -> Standings:
    here = take(rows, rows["n"] == n)
    found = groups(here, ("method",))
    return {
        method: standing(method, here["coverage"][part], here["mean_width"][part]) for (method,), part in found.items()
    }


def _fit(found: Standings, level: float) -> list[str]:
    """Return the methods that hold and are about as narrow as the narrowest of them, the narrowest first."""
    held = sorted((s for s in found.values() if shortfall(s, level) <= 0), key=lambda s: s.width)
    return [s.method for s in held if s.width <= ALIKE * held[0].width]


def _runs(at: Mapping[int, Standings], level: float) -> list[tuple[str | None, int]]:
    """Return the method to use, or None where none holds, and the size from which it is used."""
    sizes = list(at)
    fit = [_fit(at[n], level) for n in sizes]
    runs: list[tuple[str | None, int]] = []
    for i, n in enumerate(sizes):
        if runs and (runs[-1][0] in fit[i] or (runs[-1][0] is None and not fit[i])):
            continue
        lasts = {
            method: next((j for j in range(i, len(sizes)) if method not in fit[j]), len(sizes)) for method in fit[i]
        }
        runs.append((max(lasts, key=lasts.__getitem__) if lasts else None, n))
    return runs


def _use(at: Mapping[int, Standings], level: float) -> str:
    runs, sizes = _runs(at, level), list(at)
    parts = []
    for i, (method, start) in enumerate(runs):
        end = runs[i + 1][1] if i + 1 < len(runs) else None
        where = _range(start, end, sizes)
        if method is None:
            parts.append(f"no method holds {where.replace('every', 'any')}{_nearest(at[start], level)}")
        else:
            parts.append(f"{'' if parts and runs[i - 1][0] else 'use '}{method} {where}")
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def _nearest(found: Standings, level: float) -> str:
    """Say which method comes nearest, and how near."""
    known = [one for one in found.values() if one.designs]
    if not known:
        return ""
    one = min(known, key=lambda s: shortfall(s, level))
    low = "" if level - one.typical >= NOTABLE else f", {_percent(one.worst)} in the worst tenth"
    return f" (nearest: {one.method}, {_percent(one.typical)}{low})"


def _range(start: int, end: int | None, sizes: Sequence[int]) -> str:
    if len(sizes) == 1:
        return f"at n = {start:,}"
    if start == sizes[0]:
        return f"at every n from {start:,} to {sizes[-1]:,}" if end is None else f"below n = {end:,}"
    return f"from n = {start:,} on" if end is None else f"from n = {start:,} to below {end:,}"


def _misses(at: Mapping[int, Standings], level: float) -> list[str]:
    """Name the methods whose median coverage misses the level most, each at the size where it is worst."""
    worst: dict[str, tuple[float, int]] = {}
    for n, found in at.items():
        for method, one in found.items():
            miss = level - one.typical
            if miss >= NOTABLE and miss > worst.get(method, (0.0, 0))[0]:
                worst[method] = (miss, n)
    most = sorted(worst.items(), key=lambda item: -item[1][0])
    if not most:
        return []
    told = [f"{method} misses {100 * miss:.0f} points at n = {n:,}" for method, (miss, n) in most[:TOLD]]
    others = len(most) - TOLD
    more = [f"{others} other{'s miss' if others > 1 else ' misses'} by less"] if others > 0 else []
    return ["; ".join([*told, *more]) + "."]


def _worst(at: Mapping[int, Standings], level: float) -> list[str]:
    """Name the method that holds in the median, but least in the worst tenth of the distributions."""
    found = [
        (one.worst, method, n)
        for n, all_of in at.items()
        for method, one in all_of.items()
        if level - one.typical < NOTABLE and shortfall(one, level) > 0 and level - one.worst > 2 * NOTABLE
    ]
    if not found:
        return []
    worst, method, n = min(found)
    return [f"In the worst tenth of the distributions {method} covers only {_percent(worst)} at n = {n:,}."]


def _none(at: Mapping[int, Standings]) -> list[str]:
    """Name the methods without an interval, and where."""
    gone: dict[str, list[int]] = {}
    for n, found in at.items():
        for method, one in found.items():
            if one.designs == 0:
                gone.setdefault(method, []).append(n)
    alike: dict[tuple[int, ...], list[str]] = {}
    for method, sizes in gone.items():
        alike.setdefault(tuple(sizes), []).append(method)
    told = [f"{', '.join(methods)} at n = {', '.join(f'{n:,}' for n in ns)}" for ns, methods in alike.items()]
    return [f"No interval: {'; '.join(told)}."] if told else []


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
