"""What a study says, in sentences: which method to use from which sample size on, and which misses by how much.

A coverage that was simulated has a Monte-Carlo error, and a sentence says only what that error can tell: a method
holds, or misses, where it does so anywhere within bounds that hold for all cells of the statistic together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxci.coverage.analysis import KIND, Columns, groups, levels_of, take
from jaxci.coverage.tally import simulation_error
from jaxci.inference.choice import ALIKE
from jaxci.inference.standings import TYPICAL_LOSS, shortfall
from jaxci.intervals.cards import Standing, standing

NOTABLE = 0.015
"""Coverage that falls below its level by less is not told."""
TOLD = 3
"""Methods that miss which a sentence names."""
SURE = 0.95
"""Probability with which the bounds of all cells of a statistic hold together."""
UNTOLD, NONE = "whether a method holds cannot be told", "no method holds"
"""What stands in the place of a method where none is to be named."""
NO_TRUTH = "The true value does not exist: there is nothing that intervals could hold."
"""The whole verdict on a statistic that no distribution of a study gives a value."""


class Judged(NamedTuple):
    """How a method did at one size: as simulated, and at both ends of what the Monte-Carlo error allows."""

    seen: Standing
    least: Standing
    most: Standing

    def holds(self, level: float) -> bool:
        """Whether it holds for sure."""
        return self.seen.designs > 0 and shortfall(self.least, level) <= 0

    def misses(self, level: float) -> bool:
        """Whether it misses for sure."""
        return self.seen.designs > 0 and shortfall(self.most, level) > 0

    def typical(self) -> str:
        """Return the median coverage, with its bound where it was simulated."""
        apart = max(self.most.typical - self.seen.typical, self.seen.typical - self.least.typical)
        return f"{100 * self.seen.typical:.1f}{f' ± {100 * apart:.1f}' if apart > 0 else ''}%"


Found = Mapping[str, Judged]


def verdicts(columns: Columns, level: float) -> dict[str, str]:
    """Return a verdict in sentences for every statistic (and metric), at one level.

    A method holds at a size where the median of its coverages over the distributions falls below the level by at most
    one point, and their worst tenth by at most three: the rule of ``method="auto"``. Of those that hold, the narrowest
    is named, or of those at most 5% wider the one that goes on to hold the longest.

    A method holds, or misses, only where every coverage within the bounds of :func:`error_bounds` says so.
    """
    rows = take(columns, columns["level"] == level)
    by = (KIND, "statistic") if KIND in rows else ("statistic",)
    out = {}
    for key, found in groups(rows, by).items():
        mine = take(rows, found)
        name = " of ".join(map(str, key[::-1]))
        if "truth" in mine and np.isnan(np.asarray(mine["truth"], float)).all():
            out[name] = NO_TRUTH
            continue
        mine |= {"bound": error_bounds(mine)}
        at = {n: _judged(mine, n) for n in sorted(levels_of(mine["n"]))}
        spent = _replications(mine)
        told = [_use(at, level, spent), *_misses(at, level), *_worst(at, level), *_untold(at, level, spent), *_none(at)]
        out[name] = " ".join(filter(None, told))
    return out


def error_bounds(columns: Columns) -> np.ndarray:
    """Return how far every coverage may lie from the true one, so that all together hold with 95% probability.

    By :func:`~jaxci.coverage.tally.simulation_error`, at the error probability over the number of cells (Bonferroni).
    """
    errors = np.nan_to_num(np.asarray(columns.get("coverage_error", np.zeros(len(columns["n"]))), float))
    texts = columns.get("covered_by_group", np.full(len(errors), "")).tolist()
    fractions = [[[int(x) for x in part.split("/")] for part in text.split()] for text in texts]
    known = [np.transpose(one) if one else None for one in fractions]
    drawn = np.isfinite(columns["coverage"])
    drawn &= np.array([error > 0 or groups is not None for error, groups in zip(errors, known, strict=True)], bool)
    alpha = (1 - SURE) / 2 / max(1, int(drawn.sum()))
    found = [simulation_error(error, groups, alpha) for error, groups in zip(errors, known, strict=True)]
    return np.where(drawn, found, 0.0)


def _judged(rows: Columns, n: int) -> Found:
    here = take(rows, rows["n"] == n)
    out = {}
    for (method,), part in groups(here, ("method",)).items():
        coverage, bound, width = (here[name][part] for name in ("coverage", "bound", "mean_width"))
        ends = (coverage, np.maximum(coverage - bound, 0.0), np.minimum(coverage + bound, 1.0))
        out[method] = Judged(*(standing(method, end, width) for end in ends))
    return out


def _replications(rows: Columns) -> str:
    """Say how many data sets were simulated; empty where that is not known, or none was."""
    texts = [text for text in rows.get("covered_by_group", np.empty(0)).tolist() if text]
    sizes = sorted({sum(int(part.split("/")[1]) for part in text.split()) for text in texts})
    if not sizes:
        return ""
    return f"with {sizes[0]:,}{f' to {sizes[-1]:,}' if len(sizes) > 1 else ''} replications"


def _fit(found: Found, level: float) -> list[str]:
    """Return the methods that hold and are about as narrow as the narrowest of them, the narrowest first."""
    held = sorted((one.seen for one in found.values() if one.holds(level)), key=lambda s: s.width)
    return [s.method for s in held if s.width <= ALIKE * held[0].width]


def _runs(at: Mapping[int, Found], level: float) -> list[tuple[str, int]]:
    """Return the method to use, or why there is none, and the size from which it is used."""
    sizes = list(at)
    fit = [_fit(at[n], level) or [_reason(at[n], level)] for n in sizes]
    runs: list[tuple[str, int]] = []
    for i, n in enumerate(sizes):
        if runs and runs[-1][0] in fit[i]:
            continue
        lasts = {
            method: next((j for j in range(i, len(sizes)) if method not in fit[j]), len(sizes)) for method in fit[i]
        }
        runs.append((max(lasts, key=lasts.__getitem__), n))
    return runs


def _reason(found: Found, level: float) -> str:
    known = [one for one in found.values() if one.seen.designs]
    return NONE if all(one.misses(level) for one in known) else UNTOLD


def _use(at: Mapping[int, Found], level: float, spent: str) -> str:
    runs, sizes = _runs(at, level), list(at)
    parts = []
    for i, (method, start) in enumerate(runs):
        end = runs[i + 1][1] if i + 1 < len(runs) else None
        where = _range(start, end, sizes)
        if method in (NONE, UNTOLD):
            how = f" {spent}" if method == UNTOLD and spent else ""
            place = where.replace("every", "any")
            parts.append(f"{method} {place}{how}{_nearest(at[start], level)}")
        else:
            follows = parts and runs[i - 1][0] not in (NONE, UNTOLD)
            parts.append(f"{'' if follows else 'use '}{method} {where}")
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}."


def _nearest(found: Found, level: float) -> str:
    """Say which method comes nearest, and how near."""
    known = [one for one in found.values() if one.seen.designs]
    if not known:
        return ""
    one = min(known, key=lambda s: shortfall(s.seen, level))
    low = "" if level - one.seen.typical >= NOTABLE else f", {_percent(one.seen.worst)} in the worst tenth"
    return f" (nearest: {one.seen.method}, {one.typical()}{low})"


def _range(start: int, end: int | None, sizes: Sequence[int]) -> str:
    if len(sizes) == 1:
        return f"at n = {start:,}"
    if start == sizes[0]:
        return f"at every n from {start:,} to {sizes[-1]:,}" if end is None else f"below n = {end:,}"
    return f"from n = {start:,} on" if end is None else f"from n = {start:,} to below {end:,}"


def _misses(at: Mapping[int, Found], level: float) -> list[str]:
    """Name the methods whose median coverage misses the level most, each at the size where it is worst."""
    worst: dict[str, tuple[float, float, int]] = {}
    for n, found in at.items():
        for method, one in found.items():
            miss, sure = level - one.seen.typical, level - one.most.typical
            if miss >= NOTABLE and sure > TYPICAL_LOSS and miss > worst.get(method, (0.0,))[0]:
                worst[method] = miss, miss - sure, n
    most = sorted(worst.items(), key=lambda item: -item[1][0])
    if not most:
        return []
    told = [f"{method} misses {_points(miss, bound)} at n = {n:,}" for method, (miss, bound, n) in most[:TOLD]]
    others = len(most) - TOLD
    more = [f"{others} other{'s miss' if others > 1 else ' misses'} by less"] if others > 0 else []
    return ["; ".join([*told, *more]) + "."]


def _points(miss: float, bound: float) -> str:
    return f"{100 * miss:.1f} ± {100 * bound:.1f} points" if bound > 0 else f"{100 * miss:.0f} points"


def _worst(at: Mapping[int, Found], level: float) -> list[str]:
    """Name the method that holds in the median, but least in the worst tenth of the distributions."""
    found = [
        (one.seen.worst, one.most.worst - one.seen.worst, method, n)
        for n, all_of in at.items()
        for method, one in all_of.items()
        if level - one.seen.typical < NOTABLE and one.misses(level) and level - one.seen.worst > 2 * NOTABLE
    ]
    if not found:
        return []
    worst, bound, method, n = min(found)
    covers = f"{100 * worst:.1f} ± {100 * bound:.1f}%" if bound > 0 else _percent(worst)
    return [f"In the worst tenth of the distributions {method} covers only {covers} at n = {n:,}."]


def _untold(at: Mapping[int, Found], level: float, spent: str) -> list[str]:
    """Name the methods of which the Monte-Carlo error leaves open whether they hold, where another one does."""
    open_at: dict[str, list[int]] = {}
    for n, found in at.items():
        for method, one in found.items():
            if _fit(found, level) and one.seen.designs and not one.holds(level) and not one.misses(level):
                open_at.setdefault(method, []).append(n)
    if not open_at:
        return []
    sizes = {method: ", ".join(f"{n:,}" for n in ns) for method, ns in open_at.items()}
    told = [f"{method} (n = {ns})" for method, ns in list(sizes.items())[:TOLD]]
    more = [f"{len(sizes) - TOLD} more"] if len(sizes) > TOLD else []
    how = spent or "within the Monte-Carlo error"
    return [f"Whether they hold cannot be told {how}: {', '.join([*told, *more])}."]


def _none(at: Mapping[int, Found]) -> list[str]:
    """Name the methods without an interval, and where."""
    gone: dict[str, list[int]] = {}
    for n, found in at.items():
        for method, one in found.items():
            if one.seen.designs == 0:
                gone.setdefault(method, []).append(n)
    alike: dict[tuple[int, ...], list[str]] = {}
    for method, sizes in gone.items():
        alike.setdefault(tuple(sizes), []).append(method)
    told = [f"{', '.join(methods)} at n = {', '.join(f'{n:,}' for n in ns)}" for ns, methods in alike.items()]
    return [f"No interval: {'; '.join(told)}."] if told else []


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
