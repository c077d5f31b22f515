"""A coverage study: a design as an object and as a file, run cell by cell into a folder."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import numpy as np

from jaxci.checks import check_confidence_level, check_count, check_distinct, check_table, nearest, shown
from jaxci.coverage.banks import KEPT, Banks
from jaxci.coverage.cell import Cell
from jaxci.coverage.entries import (
    STATISTICS,
    check_names,
    check_seed,
    described,
    further_sizes,
    identified,
    listed,
    named_laws,
    named_statistics,
    read_method,
    read_statistics,
    size_tables,
    told_of_law,
    told_of_method,
    written,
)
from jaxci.coverage.growth import as_printed, fully_labelled, keep, kept, merged, what_is_new
from jaxci.coverage.processes import Work
from jaxci.coverage.runner import Runnable
from jaxci.coverage.running import PURPOSE_BANK, cell_truths, judge, simulate
from jaxci.coverage.store import DamagedFile, digest
from jaxci.coverage.tally import RESULTS, Tally
from jaxci.coverage.unjudged import check_functions, check_judged, check_served, check_sizes, served_under, unjudged
from jaxci.distributions import Distribution, Truth, distribution_from_dict, distribution_to_dict
from jaxci.records import encode
from jaxci.statistics.base import Statistic
from jaxci.statistics.summary import Mean

DEFAULT_LEVELS = (0.95,)
FEW_RESAMPLES, FEW_SETS = 49, 16
"""Resamples, at least, and data sets a group, at most, of a study that is thinned to be timed."""


@dataclasses.dataclass(frozen=True, eq=False)
class Study(Runnable):
    """A coverage study: every distribution at every sample size, all statistics and methods on the same draws.

    Parameters
    ----------
    distributions : dict of str to Distribution, or to what ``as_distribution`` reads (laws of scipy.stats), or to dict
        Instances by name; a dictionary as ``distribution_from_dict`` reads it. Any object with ``sample(key, n)``
        serves, but only those of :mod:`jaxci.distributions` can be saved to a file.
    statistics : sequence of str or Statistic
        Metrics; each is judged for the distributions that draw what it reads.
    methods : sequence of str, Method or dict
        Interval methods, with settings as objects (``BCa(acceleration="jackknife")``) or as tables
        (``{"name": "bca", "acceleration": "jackknife"}``); each is judged for the statistics that it
        serves. One name may stand for several settings: results tell them apart.
    sample_sizes : sequence of int
    levels : sequence of float
    n_replications, n_resamples : int
        Simulated data sets R a cell, and resamples B of each.
    n_groups : int
        Groups G of data sets, each with its own bank of resamples. Fewer groups cost less, and
        leave coverage unbiased; they add variance that means do not show, the trimmed mean shows
        at G = 1 (1.8 times) and medians show strongly (14 to 18 times); at 64 groups it is about
        1.2 times. The Monte-Carlo error reported comes from the groups, so it includes this.
    share_banks : bool
        All cells of one n read the banks of the study, drawn once and kept as far as they fit: banks
        depend on n and the group alone. Cells of one n are then not independent, as their rows
        ``covered_by_group`` tell; :meth:`StudyResults.averages` heeds it. Otherwise every cell draws its own.
    seed : int
        Below 2**32.
    name : str
    tags : dict of str to dict, optional
        For each distribution what describes it (``{"task": ..., "model": ...}``), for comparisons.
    bounds : dict of str to (low, high), optional
        For distributions of values the range that their values are known to have. The mean of these values has these
        bounds, unless the statistic has bounds of its own: methods that need a range then serve it, and intervals
        are clipped to it. The support of a law is not taken for such a range, since who has a sample may not know it;
        :meth:`left_out` names what would be judged.
    more_sizes : sequence of dict, optional
        Further lists of ``sample_sizes`` that have numbers of their own (``n_replications``, ``n_resamples``), as
        large samples may: ``{"sample_sizes": [1000, 5000], "n_replications": 3500, "n_resamples": 3499}``.

    Examples
    --------
    >>> from jaxci.distributions import Parametric
    >>> study = Study({"beta": Parametric("beta", {"a": 8, "b": 2})}, ["mean"], ["t", "bca"], [10, 25])
    >>> study.cell_names()
    ('beta, n=10', 'beta, n=25')
    """

    distributions: Mapping[str, Any]
    statistics: Sequence[Any]
    methods: Sequence[Any]
    sample_sizes: Sequence[int]
    levels: Sequence[float] = DEFAULT_LEVELS
    n_replications: int = 10_000
    n_resamples: int = 9_999
    n_groups: int = 80
    share_banks: bool = True
    seed: int = 0
    name: str = "study"
    tags: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    bounds: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    more_sizes: Sequence[Mapping[str, Any]] = ()

    grows: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **dict.fromkeys(("distributions", "sample_sizes", "statistics", "methods"), "contains"),
            "n_replications": "at least",
            "n_groups": "at least",
            "bounds": "contains",
            "more_sizes": "free",
            "tags": "free",
        }
    )

    def __post_init__(self) -> None:
        def keep(field: str, value: Any) -> None:
            object.__setattr__(self, field, value)

        keep("distributions", named_laws(self.distributions))
        keep("statistics", named_statistics(self.statistics))
        check_names("distributions", self.distributions)
        methods = [read_method(entry) for entry in listed("methods", self.methods)]
        check_distinct("methods", [method.label for method in methods])
        keep("methods", tuple(methods))
        sizes = {check_count("sample_sizes", n, 2) for n in listed("sample_sizes", self.sample_sizes)}
        keep("sample_sizes", tuple(sorted(sizes)))
        levels = {check_confidence_level(level, "levels") for level in listed("levels", self.levels)}
        keep("levels", tuple(sorted(levels)))
        for field, least in (("n_replications", 2), ("n_resamples", 1), ("n_groups", 1)):
            keep(field, check_count(field, getattr(self, field), least))
        keep("seed", check_seed(self.seed))
        if not isinstance(self.share_banks, bool):
            raise ValueError(f"share_banks must be True or False; got {shown(self.share_banks)}")
        tags = check_table("tags", self.tags)
        keep("tags", {str(k): dict(check_table(f"tags of {k!r}", v)) for k, v in tags.items()})
        for tag, value in (pair for named in self.tags.values() for pair in named.items()):
            if not isinstance(value, str | int | float | np.integer | np.floating):
                raise ValueError(f"tags must be texts or numbers; got {shown(value)} for {tag!r}")
        for tag in dict.fromkeys(tag for named in self.tags.values() for tag in named):
            if tag in (*RESULTS, "study"):  # which joined tables have
                raise ValueError(f"tags must have names that no column of the results has; got {tag!r}")
        for tagged in self.tags:
            if tagged not in self.distributions:
                known = nearest(tagged, list(self.distributions))
                raise ValueError(f"tags must belong to distributions; {tagged!r} is none: {known}")
        keep("bounds", {str(k): self._range(str(k), ends) for k, ends in check_table("bounds", self.bounds).items()})
        counts = {name: getattr(self, name) for name in ("n_replications", "n_resamples")}
        keep("more_sizes", tuple(further_sizes(entry, counts) for entry in size_tables(self.more_sizes)))
        check_distinct("sample_sizes and those of more_sizes", list(map(str, self.all_sizes)))
        check_sizes(self.distributions, self.all_sizes)
        check_functions(self.distributions, self.statistics, self.sample_sizes[0])
        check_judged(self._laid_out(), self.statistics, self.methods, self.bounds)

    def _range(self, name: str, ends: Any) -> tuple[float, float]:
        """Return the bounds of a distribution's values, checked."""
        if name not in self.distributions:
            raise ValueError(
                f"bounds must belong to distributions; {name!r} is none: {nearest(name, list(self.distributions))}"
            )
        law = self.distributions[name]
        if law.kind != "values":
            raise ValueError(f"bounds are those of values; {name!r} is a distribution of {law.kind}")
        try:
            found = Mean(bounds=ends).bounds
            check_served(law, Mean(bounds=found))
        except (TypeError, ValueError) as error:
            raise ValueError(f"bounds of {name!r}: {error}") from None
        return found

    @property
    def named_statistics(self) -> dict[str, Statistic]:
        """Statistics by name."""
        return dict(self.statistics)

    @property
    def all_sizes(self) -> tuple[int, ...]:
        """Sample sizes, those with numbers of their own last."""
        return (*self.sample_sizes, *(n for entry in self.more_sizes for n in entry["sample_sizes"]))

    def counts_at(self, n: int) -> dict[str, int]:
        """Return the numbers of replications and resamples at a sample size."""
        own: Mapping[str, Any] = next((entry for entry in self.more_sizes if n in entry["sample_sizes"]), {})
        return {name: own.get(name, getattr(self, name)) for name in ("n_replications", "n_resamples")}

    def served(self, distribution: str) -> dict[str, Statistic]:
        """Return the statistics that are judged under a distribution, with the bounds that its values have."""
        return served_under(self.distributions[distribution], self.statistics, self.bounds.get(distribution))

    def _places(self) -> dict[str, tuple[str, int]]:
        """Return distribution and sample size of every cell, by the cell's name."""
        return {f"{name}, n={n}": (name, n) for name in self.distributions for n in self.all_sizes}

    def cell_names(self) -> tuple[str, ...]:
        """Names of the cells, distribution by distribution."""
        return tuple(self._places())

    def cell(self, name: str) -> Cell:
        """Return the cell called ``name``."""
        distribution, n = self._places()[name]
        served = self.served(distribution)
        counts = self.counts_at(n)
        return Cell(
            self.distributions[distribution], n, served, self.methods, self.levels, n_groups=self.n_groups, **counts
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain numbers, strings, lists and dictionaries.

        Distributions and functions of the user's own are written as their label, and cannot be read back; what they
        draw and give tells them from others of that name in a folder.
        """
        return {
            "name": self.name,
            "statistics": [written(name, statistic) for name, statistic in self.statistics],
            "methods": [method.written() for method in self.methods],
            "sample_sizes": list(self.sample_sizes),
            "levels": list(self.levels),
            "n_replications": self.n_replications,
            "n_resamples": self.n_resamples,
            "n_groups": self.n_groups,
            "share_banks": self.share_banks,
            "seed": self.seed,
            "tags": {k: dict(v) for k, v in self.tags.items()},
            "more_sizes": [dict(entry) for entry in self.more_sizes],
            "bounds": {k: list(ends) for k, ends in self.bounds.items()},
            "distributions": dict(self._described),
        }

    @functools.cached_property
    def _described(self) -> dict[str, dict[str, Any]]:
        """The distributions as a file holds them."""
        return {name: described(law) for name, law in self.distributions.items()}

    @functools.cached_property
    def _laws(self) -> dict[str, str]:
        """Fingerprints of the distributions."""
        return {name: digest(told_of_law(self.distributions[name], told)) for name, told in self._described.items()}

    @functools.cached_property
    def _told_of_methods(self) -> list[Any]:
        """What identifies the methods."""
        return [told_of_method(method) for method in self.methods]

    @functools.cached_property
    def _estimands(self) -> dict[str, list[Any]]:
        """What identifies the statistics that are judged under each distribution."""
        return {
            called: [identified(name, statistic, law) for name, statistic in self.served(called).items()]
            for called, law in self.distributions.items()
        }

    def _note(self, distribution: str) -> dict[str, Any]:
        """Return what determines the true values under a distribution."""
        told = {"distribution": self._laws[distribution], "statistics": self._estimands[distribution]}
        return {**told, "seed": self.seed}

    def identity(self, name: str) -> dict[str, Any]:
        """Return what determines the content of a cell besides its name."""
        distribution, n = self._places()[name]
        return {
            **self._note(distribution),
            "n": n,
            "methods": self._told_of_methods,
            **self.counts_at(n),
            **{f: getattr(self, f) for f in ("levels", "n_groups", "share_banks")},
        }

    def left_out(self) -> list[str]:
        """Return which methods are not judged for which statistic, and which statistics not under which distribution.

        Distributions of one value are named, too.
        """
        return unjudged(self._laid_out(), self.statistics, self.methods, self.bounds)

    def _laid_out(self) -> dict[str, tuple[Distribution, frozenset[str]]]:
        """Return the distributions, and what rows of each come in, by name."""
        return {name: (law, law.layout(self.sample_sizes[0]).given) for name, law in self.distributions.items()}

    def notes(self) -> dict[str, dict[str, Any]]:
        """Return what determines the true values under each distribution."""
        return {name: self._note(name) for name in self.distributions}

    def cell_tags(self, name: str) -> Mapping[str, str]:
        """Return what describes the distribution of a cell."""
        return self.tags.get(self._places()[name][0], {})

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> Study:
        """Return the study that :meth:`to_dict` described.

        Raises
        ------
        ValueError
            If a field is unknown or missing, or breaks its rule.
        """
        given = dict(description)
        cls.check_fields(given, ("distributions", "statistics", "methods", "sample_sizes"))
        laws = named_laws(given.pop("distributions"), distribution_from_dict)
        measured = read_statistics(given.pop("statistics"))
        return cls(laws, measured, **given)

    def save(self, path: str | Path) -> None:
        """Write the study to a TOML file; a distribution or function of the user's own is refused."""
        for law in self.distributions.values():
            distribution_to_dict(law)
        for _, statistic in self.statistics:
            encode(statistic, STATISTICS, key="class")
        super().save(path)

    def banks(self) -> Banks | None:
        """Return the banks that all cells of one n share, if they do."""
        return Banks(jax.random.fold_in(self.key("banks"), PURPOSE_BANK), KEPT) if self.share_banks else None

    @property
    def n_blocks(self) -> int:
        """Number of groups of a cell."""
        return min(self.n_groups, self.n_replications)

    def shortened(self, n_blocks: int) -> Study:
        """Return the study with fewer groups of the same size."""
        size = max(2, -(-self.n_replications // self.n_blocks))
        further = [
            {**entry, "n_replications": n_blocks * max(2, -(-entry["n_replications"] // self.n_blocks))}
            for entry in self.more_sizes
        ]
        return dataclasses.replace(self, n_replications=n_blocks * size, n_groups=n_blocks, more_sizes=further)

    def numbers(self, name: str) -> tuple[int, int]:
        """Return the resamples of a cell, and its data sets a group."""
        counts = self.counts_at(self._places()[name][1])
        return counts["n_resamples"], max(2, -(-counts["n_replications"] // self.n_blocks))

    def work(self, name: str) -> float:
        """Return rows times resamples times data sets of a group of a cell."""
        return float(math.prod((self._places()[name][1], *self.numbers(name))))

    def thinned(self, name: str, n_blocks: int, work: float) -> Study:
        """Return the study with fewer groups, of resamples and data sets so few that a cell has ``work`` to do."""
        resamples, size = self.numbers(name)
        size = min(size, FEW_SETS)
        resamples = min(resamples, max(FEW_RESAMPLES, round(work / (self._places()[name][1] * size))))
        counts: dict[str, Any] = {"n_replications": n_blocks * size, "n_resamples": resamples}
        return dataclasses.replace(
            self, **counts, n_groups=n_blocks, more_sizes=[{**entry, **counts} for entry in self.more_sizes]
        )

    def cost(self, name: str) -> tuple[str, int]:
        """Return what the cost of a cell depends on: the class of its distribution and its statistics, and n."""
        distribution, n = self._places()[name]
        served = ", ".join(self.cell(name).statistics)
        return f"{type(self.distributions[distribution]).__name__}: {served}", n

    def bank_bytes(self, n: int) -> int:
        """Return the bytes of the banks that cells of sample size ``n`` share."""
        return min(KEPT, self.n_blocks * n * (self.counts_at(n)["n_resamples"] + 1)) if self.share_banks else 0

    def in_order(self, names: Sequence[str]) -> list[str]:
        """Return cells by their n: those of one n share banks."""
        places = self._places()
        return sorted(names, key=lambda name: places[name][1])

    def judged(self, name: str, work: Work, progress: Callable[[int, int], None]) -> dict[str, Any] | None:
        """Simulate one cell; the first of several processes returns its record, the others None."""
        started = time.perf_counter()
        distribution, _ = self._places()[name]
        cell, of = self.cell(name), self.identity(name)
        truths = self._truths(distribution, work)
        try:
            held = kept(work.store, name, of, cell)
        except DamagedFile:
            if not work.recompute:
                raise
            held = None
        new, mine = what_is_new(cell, held), []
        for number, (part, groups) in enumerate(new):

            def advance(done: int, total: int, before: int = number) -> None:
                progress(before * total + done, len(new) * total)

            tally = simulate(
                part,
                self.key(name),
                truths,
                banks=work.banks,
                groups=work.processes.mine(groups),
                spread=work.spread,
                memory_limit=work.memory_limit,
                progress=advance,
            )
            mine.append(fully_labelled(part, tally))
        parts = work.gather(name, Tally.merged(mine).to_arrays()) if new else []
        if work.processes.index > 0:
            return None
        whole = merged([*([] if held is None else [held.tally]), *map(Tally.from_arrays, parts)])
        if work.keep_tallies and new:
            keep(work.store, name, of, cell, whole)
        elif held is None:  # what is left of an earlier one is damaged, or has groups of another size
            work.store.tally(name).unlink(missing_ok=True)
        result = judge(cell, truths, as_printed(cell, whole), time.perf_counter() - started)
        rows = [{"distribution": distribution, **row, "flags": "; ".join(row["flags"])} for row in result.rows()]
        return {"rows": rows, "seconds": result.seconds}

    def _truths(self, distribution: str, work: Work) -> dict[str, Truth]:
        """Return the true values under a distribution: each is computed once a study, by one process."""
        law, of = self.distributions[distribution], self._note(distribution)
        served = self.served(distribution)
        if work.processes.index == 0:
            claim = f"true values of {distribution}"
            work.claims.wait(claim)
            held = work.store.note(distribution, of) or {}
            if lacking := {k: s for k, s in served.items() if k not in held}:
                found = cell_truths(law, lacking, self.key(distribution))
                held |= {k: {"value": t.value, "error": t.error, "how": t.how} for k, t in found.items()}
                work.store.keep_note(distribution, of, held)
            work.claims.drop(claim)
        work.processes.wait(f"true values of {distribution}")
        held = work.store.note(distribution, of) or {}
        return {k: Truth(held[k]["value"], held[k]["error"], held[k]["how"]) for k in served}
