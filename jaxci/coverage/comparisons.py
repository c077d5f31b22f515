"""Permutation tests of whether coverage differs between methods, metrics or instances of a study."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxci.checks import check_choice, check_count, shown
from jaxci.coverage.analysis import (
    GROUP,
    SERIES,
    Columns,
    convergence_pace,
    groups,
    levels_of,
    names_in,
    require,
    table_by,
    take,
)
from jaxci.coverage.permutation import label_test, sign_flip_test

FAMILIES = ("all", "stratum", "level")
"""Comparisons that a correction counts."""
DRAWN = "drawn"
"""Begins the name of a test that took some permutations, not all."""
Samples = dict[tuple[Any, ...], dict[tuple[Any, ...], list[float]]]
Test = tuple[int, int, float, float, int, str]


def compare(
    columns: Columns,
    tags: Sequence[str] = (),
    *,
    by: str,
    value: str = "coverage",
    paired: bool = True,
    within: str | Sequence[str] = (),
    pairs: Sequence[tuple[Any, Any]] | None = None,
    family: str | int = "all",
    n_permutations: int = 50_000,
    seed: int = 0,
) -> Columns:
    """Compare levels of one column by permutation tests.

    The units that are flipped or relabelled are instances: distributions; or, if ``by`` is a tag
    and the test is paired, combinations of the other tags; or, if ``by`` is ``"distribution"``,
    the settings. The settings (statistic, method, level, n) of one instance are simulated from
    one distribution, so they are averaged within the instance, not counted as units of their own;
    a paired test averages over the settings that both levels have.

    Parameters
    ----------
    columns : dict of str to (rows,) array
    tags : sequence of str
        Columns that describe the distribution.
    by : str
        A tag, ``"distribution"``, ``"statistic"``, ``"method"`` or ``"level"``.
    value : str
        A numeric column, or ``"pace"`` (see :func:`convergence_pace`).
    paired : bool
        Sign flips of the differences over common units, or permutations of the labels.
    within : str or sequence of str
        Columns (settings or tags) for each combination of which the tests are made apart.
    pairs : sequence of (first, second), optional
        Levels of ``by`` that are compared; by default all pairs.
    family : {"all", "stratum", "level"} or int
        Comparisons that Bonferroni's correction counts: all rows; those of the same combination of ``within``; of
        these, the most that any one level is in (with all pairs of 9 metrics 8, as the reference counts); or a number
        of the user's own.
    n_permutations : int
        Paired tests take all sign flips where these are not more.
    seed : int

    Returns
    -------
    dict of str to (pairs,) array
        The columns ``within``, ``first``, ``second``, ``first_units``, ``second_units``,
        ``difference`` (of the means, first minus second), ``pvalue`` (two-sided),
        ``pvalue_bonferroni`` (times ``comparisons``, at most 1), ``comparisons`` (how many the correction counts),
        ``family``, ``permutations`` and ``test``, which says whether the flips were all taken. Pairs without common
        units are left out.

    Raises
    ------
    ValueError
        If ``by``, ``value`` or ``within`` is not such a column, ``by`` has fewer than two levels or not those of
        ``pairs``, ``family`` is no such word or positive number,
        no pair has a common unit, a paired unit holds several distributions, or
        ``n_permutations`` is not positive.

    References
    ----------
    Andre et al. (2026), section 3.3 and supplement S7.2.
    """
    check_count("n_permutations", n_permutations, 1)
    family = check_choice("family", family, FAMILIES) if isinstance(family, str) else check_count("family", family, 1)
    require(columns, (*SERIES, "n"))
    require(columns, tags, "tags")
    check_choice("by", by, (*SERIES, *tags))
    if value != "pace":
        require(columns, (value,), "value")
    table = convergence_pace(columns, tags) if value == "pace" else columns
    settings = SERIES[1:] if value == "pace" else GROUP
    within = names_in(within)
    for name in within:
        check_choice("within", name, [x for x in (*settings, *tags) if x != by])
    if len(levels_of(table[by])) < 2:
        raise ValueError(f"by must name a column of two or more levels; {by!r} has {shown(levels_of(table[by]))}")
    for level in (level for pair in pairs or () for level in pair):
        if level not in levels_of(table[by]):
            raise ValueError(f"pairs must be of levels of {by!r}, {shown(levels_of(table[by]))}; got {shown(level)}")
    rest = tuple(x for x in settings if x not in (by, *within))
    if by == "distribution":
        unit, rest = rest, ()
    elif by in tags and paired:
        unit = tuple(tag for tag in tags if tag not in (by, *within))
    else:
        unit = ("distribution",)
    table = take(table, ~np.isnan(table[value]))
    keys, found = [], []
    for stratum, rows in groups(table, within).items():
        samples = _samples(take(table, rows), by, unit, rest, value, paired)
        wanted = itertools.combinations(samples, 2) if pairs is None else pairs
        for first, second in wanted:
            if not {first, second} <= samples.keys():
                continue
            if paired:
                test = _paired(samples[first], samples[second], n_permutations, seed)
            else:
                test = _unpaired(samples[first], samples[second], n_permutations, seed)
            if test is not None:
                keys.append((*stratum, first, second))
                found.append(test)
    if not found:
        raise ValueError(f"by must name a column whose levels share units; no two levels of {by!r} do")
    names = ("first_units", "second_units", "difference", "pvalue", "permutations", "test")
    computed = dict(zip(names, zip(*found, strict=True), strict=True))
    counted = _comparisons(keys, family)
    corrected = np.minimum(np.array(computed["pvalue"]) * counted, 1.0)
    named = np.full(len(found), str(family) if isinstance(family, str) else "given")
    out = table_by((*within, "first", "second"), keys, **computed)
    return out | {"pvalue_bonferroni": corrected, "comparisons": counted, "family": named}


def least_pvalues(compared: Columns) -> Columns:
    """Return the smallest p-values that the permutations of each row can show, by column: 0 where all were taken."""
    drawn = np.char.startswith(compared["test"], DRAWN)
    least = np.where(drawn, 1 / (1 + compared["permutations"]), 0.0)
    corrected = least * compared["comparisons"]
    return {"pvalue": least, "pvalue_bonferroni": np.where(corrected < 1, corrected, 0.0)}


def _comparisons(keys: Sequence[tuple[Any, ...]], family: str | int) -> np.ndarray:
    """Return how many comparisons the correction of each row counts; a key ends with the two levels."""
    if not isinstance(family, str):
        return np.full(len(keys), family)
    if family == "all":
        return np.full(len(keys), len(keys))
    strata = [key[:-2] for key in keys]
    if family == "stratum":
        return np.array([strata.count(stratum) for stratum in strata])
    each = [(stratum, level) for stratum, key in zip(strata, keys, strict=True) for level in key[-2:]]
    most = {stratum: max(each.count(one) for one in each if one[0] == stratum) for stratum in dict.fromkeys(strata)}
    return np.array([most[stratum] for stratum in strata])


def _samples(
    table: Columns, by: str, unit: Sequence[str], rest: Sequence[str], value: str, paired: bool
) -> dict[Any, Samples]:
    """Return the values of every setting of every unit of every level of ``by``."""
    out: dict[Any, Samples] = {}
    for key, rows in groups(table, (by, *unit, *rest)).items():
        own, setting = key[1 : 1 + len(unit)], key[1 + len(unit) :]
        if paired and len(rows) > 1:
            raise ValueError(
                f"paired=True needs one distribution a unit ({', '.join(unit) or 'no other tag'}); "
                f"{shown(key)} has {len(rows)}: name more tags, or pass paired=False"
            )
        out.setdefault(key[0], {}).setdefault(own, {})[setting] = table[value][rows].tolist()
    return out


def _paired(first: Samples, second: Samples, n_permutations: int, seed: int) -> Test | None:
    found = []
    for unit in first.keys() & second.keys():
        shared = first[unit].keys() & second[unit].keys()
        if shared:
            found.append((unit, np.mean([first[unit][s][0] - second[unit][s][0] for s in sorted(shared)])))
    if not found:
        return None
    differences = np.array([difference for _, difference in sorted(found)])
    p, total, exact = sign_flip_test(differences, n_permutations=n_permutations, seed=seed)
    name = "all sign flips" if exact else f"{DRAWN} sign flips"
    return len(found), len(found), float(differences.mean()), p, total, name


def _unpaired(first: Samples, second: Samples, n_permutations: int, seed: int) -> Test:
    a, b = (
        np.array([np.mean([v for vs in s.values() for v in vs]) for s in side.values()]) for side in (first, second)
    )
    p = label_test(a, b, n_permutations=n_permutations, seed=seed)
    return len(a), len(b), float(a.mean() - b.mean()), p, n_permutations, f"{DRAWN} label permutations"
