"""A study of intervals for the generalization error: problems, sizes, learners, losses and methods."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import jax
import numpy as np

from jaxci.checks import check_choice, check_confidence_level, check_count, check_distinct, check_table, shown
from jaxci.coverage.entries import check_names, check_seed, listed
from jaxci.coverage.learner_cell import ENDS, Configuration, Found, LearningCell, rows_of, run_cell
from jaxci.coverage.own import check_as_told, told_of_learner, told_of_problem
from jaxci.coverage.processes import Work
from jaxci.coverage.runner import Runnable
from jaxci.coverage.store import digest
from jaxci.distributions import FileProblem, Problem, problem, problem_from_dict, problem_to_dict
from jaxci.distributions.problem_registry import check_problem, problem_label
from jaxci.generalization.losses import LOSSES
from jaxci.generalization.registry import METHODS
from jaxci.inducers.base import Inducer
from jaxci.inducers.estimators import task_of
from jaxci.inducers.host import check_readable
from jaxci.inducers.registry import as_inducer, inducer_label, inducer_to_dict


@dataclasses.dataclass(frozen=True, eq=False)
class GeneralizationStudy(Runnable):
    """How often intervals for the generalization error hold the risk, its expectation, and their proxy.

    Every problem is paired with the learners and losses of its task, at every sample size; the
    methods of a cell share its data and, where their plans agree, its fits.

    Parameters
    ----------
    problems : sequence or dict
        Names of :data:`jaxci.distributions.PROBLEMS`, or objects (by name in a dict), also of classes of your own
        that derive from :class:`jaxci.distributions.Problem`.
    inducers : sequence or dict
        Names of learners, also with fields (``"ridge:alpha=0.1"``), tables of a name and fields, or
        objects (by name in a dict), also of classes of your own that derive from :class:`jaxci.inducers.Inducer`.
        Estimators of scikit-learn, or of classes of your own, are fitted on the host by joblib.
    losses : sequence of str
    methods : sequence
        Names, or tables of a ``method``, settings of its plans (``n_folds``, ``p`` ...), ``stratify``
        (whether splits keep the shares of classes), options of its formula, ``label`` and ``largest_n``
        (the sample size up to which it is run).
    sample_sizes : sequence of int
    n_replications : int
        Data sets a cell.
    n_groups : int
        Groups of data sets, each with its own splits.
    n_validation : int
        Fresh rows on which true risks are measured.
    level : float
    seed : int
        Below 2**32.
    name : str
    ends : str
        What is judged: "reported", the intervals that :func:`jaxci.generalization_interval` gives, within the range of
        the loss, and Clopper and Pearson's where errors do not vary; or "formula", what the formula of the method gives
        alone, as in published comparisons.

    Raises
    ------
    ValueError
        If a field breaks its rule, or a problem or learner could not be made again from a file: its class must be
        importable and its fields plain values. A file names it by module, class and fields.

    Notes
    -----
    Risks of linear models are exact where features are normal and the target depends on a line of them
    (:meth:`jaxci.distributions.Problem.normal_law`); others are means over ``n_validation`` fresh rows, and
    ``truth_error`` and the errors of coverages include that of the finite number of these rows.

    References
    ----------
    Schulz-Kuempel et al. (2024), section 5.

    Examples
    --------
    >>> study = GeneralizationStudy(["friedman1"], ["ridge"], ["squared"], ["corrected_t"], [100])
    >>> study.cell_names()
    ('friedman1, ridge, squared, n=100',)
    """

    problems: Any
    inducers: Any
    losses: Sequence[str]
    methods: Sequence[Any]
    sample_sizes: Sequence[int]
    n_replications: int = 500
    n_groups: int = 20
    n_validation: int = 100_000
    level: float = 0.95
    seed: int = 0
    name: str = "generalization"
    ends: str = "reported"

    called: ClassVar[str] = "a study of learners"
    grows: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **{f"generalization.{f}": "contains" for f in ("problems", "inducers", "losses", "methods")},
            "generalization.sample_sizes": "contains",
            "generalization.n_replications": "at least",
            "generalization.n_groups": "free",
        }
    )

    def __post_init__(self) -> None:
        def keep(field: str, value: Any) -> None:
            object.__setattr__(self, field, value)

        keep("problems", _by_label("problems", self.problems, _problem, problem_label))
        keep("inducers", _by_label("inducers", self.inducers, _inducer, inducer_label))
        check_names("problems", self.problems)
        check_names("inducers", self.inducers)
        losses = listed("losses", self.losses)
        check_distinct("losses", losses)
        for loss in losses:
            check_choice("losses", loss, LOSSES)
        keep("losses", tuple(losses))
        methods = [_configuration(entry) for entry in listed("methods", self.methods)]
        check_distinct("methods", [configuration.label for configuration in methods])
        check_names("labels of methods", [configuration.label for configuration in methods])
        keep("methods", tuple(methods))
        keep(
            "sample_sizes",
            tuple(sorted({check_count("sample_sizes", n, 4) for n in listed("sample_sizes", self.sample_sizes)})),
        )
        for field, least in (("n_replications", 2), ("n_groups", 1), ("n_validation", 2)):
            keep(field, check_count(field, getattr(self, field), least))
        keep("seed", check_seed(self.seed))
        keep("level", check_confidence_level(self.level, "level"))
        check_choice("ends", self.ends, ENDS)
        for configuration in methods:
            self._try(configuration)
        for made in self.problems.values():
            check_problem(made)
        self.to_dict()  # what no file can hold is refused now, too
        within = [c.label for c in methods if c.stratify]
        without = [name for name, law in self.problems.items() if law.task == "regression"]
        if within and without:
            raise ValueError(f"{within[0]}: stratify needs classes, which the problem {without[0]!r} has not")
        places = self._combinations()
        if not places:
            raise ValueError(
                "problems, inducers and losses must be for one task in at least one cell; got "
                f"{', '.join(self.problems)}; {', '.join(self.inducers)}; {', '.join(losses)}"
            )
        for number, (field, names) in enumerate(
            (("problems", self.problems), ("inducers", self.inducers), ("losses", losses))
        ):
            idle = [name for name in names if all(place[number] != name for place in places)]
            if idle:
                raise ValueError(f"{field}: {idle[0]!r} has no cell, as nothing else in the study is for its task")
        self._check_joined()
        for _, name, loss, _ in places:
            if not isinstance(self.inducers[name], Inducer) and LOSSES[loss].task == "classification":
                check_readable(self.inducers[name], LOSSES[loss].reads, loss)

    def _try(self, configuration: Configuration) -> None:
        """Refuse now, not after hours, plans that cannot be made and options that the formula does not take."""
        sizes = [n for n in self.sample_sizes if configuration.largest_n is None or n <= configuration.largest_n]
        if not sizes:
            raise ValueError(f"{configuration.label}: largest_n is below every sample size")
        n = min(sizes)
        try:
            plans = configuration.plans(n, 0, np.arange(n) % 2 if configuration.stratify else None)
            METHODS[configuration.method].rehearse(plans, self.level, configuration.options)
        except (TypeError, ValueError) as error:
            given = {**configuration.settings, **configuration.options}
            told = "".join(f", {name} = {shown(value)}" for name, value in given.items())
            raise ValueError(f"{configuration.label} at n = {n}{told}: {error}") from None

    def _combinations(self) -> list[tuple[str, str, str, int]]:
        return [
            (name, learner, loss, n)
            for name, law in self.problems.items()
            for learner, made in self.inducers.items()
            if task_of(made) in (law.task, "any")
            for loss in self.losses
            if LOSSES[loss].task == law.task
            for n in self.sample_sizes
        ]

    def _places(self) -> dict[str, tuple[str, str, str, int]]:
        return {
            f"{law}, {learner}, {loss}, n={n}": (law, learner, loss, n)
            for law, learner, loss, n in self._combinations()
        }

    def _check_joined(self) -> None:
        """Refuse problems and learners two pairs of which have one name."""
        named: dict[str, tuple[str, str]] = {}
        for pair in dict.fromkeys(place[:2] for place in self._combinations()):
            name = ", ".join(pair)
            if named.setdefault(name, pair) != pair:
                raise ValueError(
                    f"problems and inducers must have names that differ when they are joined; got {name!r} of "
                    f"{named[name]} and of {pair}"
                )

    @property
    def tags(self) -> dict[str, dict[str, str]]:  # type: ignore[override]
        """What describes each pair of a problem and a learner."""
        pairs = dict.fromkeys(place[:2] for place in self._combinations())
        return {f"{name}, {learner}": {"problem": name, "inducer": learner} for name, learner in pairs}

    def cell_names(self) -> tuple[str, ...]:
        """Names of the cells."""
        return tuple(self._places())

    def cell(self, name: str) -> LearningCell:
        """Return the cell called ``name``."""
        law, learner, loss, n = self._places()[name]
        chosen = [c for c in self.methods if c.largest_n is None or n <= c.largest_n]
        return LearningCell(
            self.problems[law],
            n,
            self.inducers[learner],
            LOSSES[loss],
            chosen,
            self.n_replications,
            self.n_groups,
            self.n_validation,
            self.level,
            self.ends,
        )

    @functools.cached_property
    def _design(self) -> dict[str, Any]:
        return self.to_dict()["generalization"]

    @functools.cached_property
    def _told_of_problems(self) -> dict[str, dict[str, str]]:
        """Fingerprints of files, and of problems of the user's own."""
        return {name: told_of_problem(law) for name, law in self.problems.items()}

    @functools.cached_property
    def _told_of_learners(self) -> dict[tuple[str, str], dict[str, str]]:
        """Fingerprints of learners of the user's own, for each task."""
        described, pairs = self._design["inducers"], {(x, self.problems[p].task) for p, x, _, _ in self._combinations()}
        return {(x, task): told_of_learner(self.inducers[x], described[x], task) for x, task in sorted(pairs)}

    def identity(self, name: str) -> dict[str, Any]:
        """Return what determines the content of a cell besides its name."""
        law, learner, loss, n = self._places()[name]
        design = self._design
        fields = ("methods", "n_replications", "n_groups", "n_validation", "level", "seed", "ends")
        made = {"problem": digest(design["problems"][law]), "inducer": digest(design["inducers"][learner])}
        made |= self._told_of_problems[law] | self._told_of_learners[learner, self.problems[law].task]
        return {"generalization": {**made, "loss": loss, "n": n, **{field: design[field] for field in fields}}}

    def to_dict(self) -> dict[str, Any]:
        """Return the design as plain values, as a study file holds it."""
        fields = ("sample_sizes", "n_replications", "n_groups", "n_validation", "level", "seed", "ends")
        plain = {field: getattr(self, field) for field in fields}
        return {
            "name": self.name,
            "generalization": {
                **plain,
                "sample_sizes": list(self.sample_sizes),
                "losses": list(self.losses),
                "problems": {name: problem_to_dict(law) for name, law in self.problems.items()},
                "inducers": {name: inducer_to_dict(made) for name, made in self.inducers.items()},
                "methods": [_plain(configuration) for configuration in self.methods],
            },
        }

    @classmethod
    def from_dict(cls, description: Mapping[str, Any], **changes: Any) -> GeneralizationStudy:
        """Return the study that :meth:`to_dict` described, with ``changes`` of its fields.

        Raises
        ------
        ValueError
            If a field is unknown or missing, or breaks its rule.
        """
        own = check_table("generalization", description["generalization"])
        given = {"name": description.get("name", "generalization"), **own, **changes}
        cls.check_fields(given, ("problems", "inducers", "losses", "methods", "sample_sizes"))
        return cls(**given)

    @property
    def n_blocks(self) -> int:
        """Number of groups of a cell."""
        return min(self.n_groups, self.n_replications)

    def shortened(self, n_blocks: int) -> GeneralizationStudy:
        """Return the study with fewer groups of the same size."""
        size = -(-self.n_replications // self.n_blocks)
        return dataclasses.replace(self, n_replications=max(2, n_blocks * size), n_groups=n_blocks)

    def cost(self, name: str) -> tuple[str, int]:
        """Return what the cost of a cell depends on: the learner and the task, and n."""
        law, learner, _, n = self._places()[name]
        return f"{learner}: {self.problems[law].task}", n

    def judged(self, name: str, work: Work, progress: Callable[[int, int], None]) -> dict[str, Any] | None:
        """Simulate one cell; the first of several processes returns its record, the others None."""
        started = time.perf_counter()
        processes, cell = work.processes, self.cell(name)
        law, learner, _, _ = self._places()[name]
        if not cell.configurations:
            return {"rows": [], "seconds": 0.0} if processes.index == 0 else None
        check_as_told(self.problems[law], self._told_of_problems[law])
        # The data of a problem are the same for all learners, losses and methods.
        key = jax.random.fold_in(self.key(law), cell.n)
        mine = processes.mine(range(len(cell.group_sizes())))
        mine_found = run_cell(cell, key, mine, work.spread, progress, work.memory_limit).to_arrays() if mine else None
        parts = work.gather(name, mine_found)
        if processes.index > 0:
            return None
        found = Found.merged([Found.from_arrays(part) for part in parts])
        tags = self.tags[f"{law}, {learner}"]
        rows = [{**row, **tags} for row in rows_of(cell, found, f"{law}, {learner}")]
        return {"rows": rows, "seconds": time.perf_counter() - started}


def _by_label(
    field: str, given: Any, read: Callable[[Any], Any], label: Callable[[Any, Any], str] | Callable[[Any], str]
) -> dict[str, Any]:
    if isinstance(given, Mapping):
        found = {str(name): read(entry) for name, entry in given.items()}
    else:
        entries = listed(field, given)
        made = [(entry if isinstance(entry, str) else label(read(entry)), read(entry)) for entry in entries]  # type: ignore[call-arg]
        check_distinct(field, [name for name, _ in made])
        found = dict(made)
    if not found:
        raise ValueError(f"{field} must not be empty")
    return found


def _problem(entry: Any) -> Problem | FileProblem:
    if isinstance(entry, Problem | FileProblem):
        return entry
    return problem(entry) if isinstance(entry, str) else problem_from_dict(entry)


def _inducer(entry: Any) -> Any:
    made = as_inducer(entry)
    try:
        task_of(made)
    except TypeError as error:
        raise ValueError(f"inducers: {error}") from None
    return made


def _configuration(entry: Any) -> Configuration:
    """Read a method: its name, or a table of the method, its settings and options."""
    if isinstance(entry, Configuration):
        return entry
    if not isinstance(entry, str) and not (isinstance(entry, Mapping) and "method" in entry):
        raise ValueError(f"a method must be a name or a table with a key 'method'; got {shown(entry)}")
    given = {"method": entry} if isinstance(entry, str) else dict(entry)
    method = METHODS[check_choice("methods", given.pop("method"), METHODS)]
    label, largest = given.pop("label", method.name), given.pop("largest_n", None)
    within = given.pop("stratify", False)
    if within not in (True, False) or (within and not method.stratified):
        able = ", ".join(name for name, one in METHODS.items() if one.stratified)
        raise ValueError(
            f"stratify must be true or false, and true for one of {able}; got {within!r} for {method.name}"
        )
    most = None if largest is None else check_count("largest_n", largest, 2)
    return Configuration(str(label), method.name, *method.told_apart(given), most, within)


def _plain(configuration: Configuration) -> dict[str, Any]:
    limit = {} if configuration.largest_n is None else {"largest_n": configuration.largest_n}
    named = {"method": configuration.method, "label": configuration.label}
    limit |= {"stratify": True} if configuration.stratify else {}
    return {**named, **configuration.settings, **configuration.options, **limit}
