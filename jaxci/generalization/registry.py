"""The methods by name: the plans they need, what their interval is for, and what they permit."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from jaxci.checks import nearest, shown
from jaxci.generalization import bootstrapping, splitting
from jaxci.generalization.base import LossInterval, Resampled
from jaxci.resampling.plan import Plan
from jaxci.resampling.split_units import units_of
from jaxci.resampling.splits import PLANS

SMALL = 100
"""Up to so many rows "auto" takes nested cross-validation."""
FEW_GROUPS = 100
"""Up to so many groups the corrected t interval of a mean loss leaves each out once, and draws no subsamples: those of
25 subsamples count too many degrees of freedom (they cover 74% with 5 groups and 89 to 90% with 20 to 80)."""
FOLDS = 25
"""Folds of a mean loss where rows have weights that differ: subsamples test heavy rows several times or never (with 6
to 30 such rows of 30 to 1,000 they cover 75 to 91%, as many folds 86 to 97%)."""
FEWER_FOLDS = 10
"""Folds of a difference of two learners. Of such as follow single rows, as nearest neighbours and full trees, 25
subsamples cover 85 to 95% and folds 94 to 99%; of many folds each has few rows of which a majority is told."""
FEWEST_FOLDS = 5
"""Rows of the rarest class below which subsamples are drawn where folds keep the shares of classes."""


@dataclasses.dataclass(frozen=True)
class Role:
    """A plan that a method needs.

    Attributes
    ----------
    names : tuple of str
        Plans of :data:`jaxci.resampling.splits.PLANS` that serve; the first is the usual one.
    settings : dict or callable
        Of its builder, beside n and the source of randomness; a function of n where they depend on it.
    optional : callable
        Whether options of the formula make the plan needless.
    of_few_groups : str, optional
        The usual plan of a mean loss where rows come in at most :data:`FEW_GROUPS` groups.
    in_folds : str, optional
        The same where the number of folds is given.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any] | Callable[[int], Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    optional: Callable[[Mapping[str, Any]], bool] = lambda options: False
    of_few_groups: str | None = None
    in_folds: str | None = None

    @property
    def build(self) -> Callable[..., Plan]:
        """Builder of the usual plan."""
        return PLANS[self.names[0]]

    def plan(
        self,
        n: int,
        seed: int,
        changes: Mapping[str, Any],
        by: Mapping[str, Any],
        metric: bool,
        folds: int = 0,
    ) -> Plan:
        """Return the plan for n rows; of ``changes`` and ``by`` (classes, groups) what its builder knows.

        ``folds``, or as many as there are rows, take the place of the usual plan.
        """
        known = inspect.signature(self.build).parameters
        mine = {name: value for name, value in changes.items() if name in known}
        groups = by.get("groups")
        if self.of_few_groups and not (metric or mine or groups is None) and len(np.unique(groups)) <= FEW_GROUPS:
            return PLANS[self.of_few_groups](n, groups=groups)
        if self.in_folds and folds and not mine:
            most = units_of(n, **by).smallest(halved=False)
            if "stratify" not in by or most >= FEWEST_FOLDS:
                return PLANS[self.in_folds](n, n_folds=min(folds, most), rng=seed, **by)
        usual = self.settings(n) if callable(self.settings) else self.settings
        more = {**mine, **{name: value for name, value in by.items() if name in known}}
        source = {"rng": seed} if "rng" in known else {}
        return self.build(n, **{**usual, **source, **more})

    @property
    def changeable(self) -> set[str]:
        """Names of the settings."""
        return set(inspect.signature(self.build).parameters) - {"n", "rng", "stratify", "groups"}


@dataclasses.dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    formula : callable
        Of the fits of each role's plan, ``level`` and options.
    target : str
        What the interval is for.
    metrics : bool
        Whether metrics that are no mean of losses are permitted.
    groups : bool
        Whether rows may come in groups: it reads one number a split, and takes no row for independent.
    paired : bool
        Whether differences of two learners' losses can take the place of losses.
    stratified : bool
        Whether its formula heeds that splits keep the shares of classes.
    """

    name: str
    formula: Callable[..., LossInterval]
    roles: tuple[Role, ...]
    target: str
    metrics: bool = False
    groups: bool = False
    paired: bool = True
    stratified: bool = False

    @property
    def aim(self) -> str:
        """Return "risk", "expected_risk", or "proxy"."""
        return "risk" if self.target == MODEL else "expected_risk" if self.target.startswith("expected") else "proxy"

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse options that the formula does not have, and flags that are neither true nor false."""
        usual = inspect.signature(self.formula).parameters
        for option, value in options.items():
            if option not in self.options:
                known = ", ".join(sorted(self.options)) or "none"
                raise ValueError(f"{self.name} has no option {option!r}; its options: {known}")
            if isinstance(usual[option].default, bool) and not isinstance(value, bool | np.bool_):
                raise ValueError(f"{option} of {self.name} must be True or False; got {shown(value)}")

    def told_apart(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of its plans and the options of its formula.

        Raises
        ------
        ValueError
            If one is neither.
        """
        settings, options = self.plan_settings, self.options
        for key in given:
            if key not in settings | options:
                raise ValueError(f"{self.name} has no setting {key!r}; {nearest(key, sorted(settings | options))}")
        mine = {key: value for key, value in given.items() if key in settings}
        return mine, {key: value for key, value in given.items() if key in options}

    def refuse_strata(self, what: str) -> NoReturn:
        """Say that the formula has no place for splits that keep the shares of classes, which ``what`` asks for."""
        able = ", ".join(name for name, method in METHODS.items() if method.stratified)
        raise ValueError(
            f"{self.name} takes rows for drawn whatever their class; {what} keeps the shares of classes, which {able} "
            "heed"
        )

    @property
    def plan_settings(self) -> set[str]:
        """Names of the settings of its plans."""
        return set().union(*(role.changeable for role in self.roles))

    @property
    def options(self) -> set[str]:
        """Names of the options of its formula."""
        parameters = inspect.signature(self.formula).parameters.values()
        return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"level"}

    def plans(
        self,
        n: int,
        seed: int,
        *,
        changes: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        metric: bool = False,
        folds: int = 0,
        **by: np.ndarray | None,
    ) -> list[Plan]:
        """Return the usual plans with ``changes``, from one seed, so that plans of the same resamples share fits.

        ``by`` may give ``stratify`` and ``groups``; ``options`` are those of the formula; ``metric`` says that
        it reads no mean of losses; ``folds`` is :meth:`Role.plan`'s.
        """
        given = {name: value for name, value in by.items() if value is not None}
        needed = [role for role in self.roles if not role.optional(options or {})]
        return [role.plan(n, seed, changes or {}, given, metric, folds) for role in needed]

    def rehearse(self, plans: Iterable[Plan], level: float, options: Mapping[str, Any]) -> None:
        """Read an interval from made-up losses, so that what cannot be read is refused before models are fitted."""
        fits, (low, high) = {}, options.get("bounds", (0.0, 1.0))
        for plan in plans:
            by_row = low + (high - low) * np.random.default_rng(0).random(plan.n)
            losses = np.broadcast_to(by_row, plan.test_mask.shape)
            fits[plan.name] = Resampled(plan, losses, no_information=np.full(len(plan), 4.0))
        self.interval(fits, level, options)

    def interval(self, fits: Mapping[str, Resampled], level: float, options: Mapping[str, Any]) -> LossInterval:
        """Return the interval from fits by the name of their plan.

        Raises
        ------
        ValueError
            If a plan is missing, or an option breaks its rule.
        """
        self.check_options(options)
        within = [name for name, of in fits.items() if of.plan.strata is not None]
        if within and not self.stratified:
            self.refuse_strata(f"the plan {within[0]!r}")
        found = []
        for role in self.roles:
            name = next((name for name in role.names if name in fits), None)
            if name is None and not role.optional(options):
                raise ValueError(f"{self.name} needs a plan {role.names[0]!r}; there are {', '.join(fits)}")
            found.append(None if name is None else fits[name])
        return self.formula(*found, level=level, **options)


def _few(n: int) -> dict[str, Any]:
    """Return subsamples and pairs of the conservative z method."""
    return {"p": 0.9, "n_subsamples": 10, "n_pairs": 25} if n <= SMALL else {"p": 0.9, "n_subsamples": 5, "n_pairs": 10}


def _only(settings: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: settings[name] for name in names}


def _many(n: int) -> dict[str, Any]:
    return {"n_resamples": min(max(200, bootstrapping.ENOUGH * n), 2500)}


INSAMPLE = Role(("insample",))
MANY = Role(("bootstrap",), _many)
HUNDRED = Role(("bootstrap",), {"n_resamples": 100})
TWO_HUNDRED = Role(("bootstrap",), {"n_resamples": 200})
EXPECTED, MODEL = "expected risk of models fitted on n rows", "risk of the model fitted on all rows"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "holdout",
            splitting.holdout,
            (Role(("holdout",), {"p": 0.9}),),
            "risk of the model fitted on the training part",
            stratified=True,
        ),
        Method(
            "replace_one_cv",
            splitting.replace_one_cv,
            (
                Role(("replace_one_cv",), {"n_folds": 5}),
                Role(("kfold",), {"n_folds": 5}),
            ),
            "expected risk at the training size of the folds",
        ),
        Method(
            "repeated_replace_one_cv",
            splitting.replace_one_cv,
            (
                Role(
                    ("repeated_replace_one_cv",),
                    {"n_folds": 5, "n_repeats": 5},
                ),
                Role(("repeated_kfold",), {"n_folds": 5, "n_repeats": 5}),
            ),
            "expected risk at the training size of the folds",
        ),
        Method(
            "cv_wald",
            splitting.cv_wald,
            (Role(("kfold", "leave_one_out"), {"n_folds": 10}),),
            "mean risk of the models of the folds",
            stratified=True,
        ),
        Method(
            "corrected_t",
            splitting.corrected_t,
            (
                Role(
                    splitting.RESAMPLED,
                    {"p": 0.9, "n_subsamples": 25},
                    of_few_groups="leave_one_out",
                    in_folds="kfold",
                ),
            ),
            "expected risk at the training size of the splits",
            metrics=True,
            groups=True,
            stratified=True,
        ),
        Method(
            "conservative_z",
            splitting.conservative_z,
            (
                Role(("subsampling",), lambda n: _only(_few(n), "p", "n_subsamples")),
                Role(("paired_subsampling",), _few),
            ),
            "expected risk at the training size of the subsamples",
            metrics=True,
            groups=True,
            stratified=True,
        ),
        Method(
            "five_by_two_cv",
            splitting.five_by_two_cv,
            (Role(("repeated_kfold",), {"n_folds": 2, "n_repeats": 5}),),
            "expected risk of models fitted on half the rows",
            groups=True,
            stratified=True,
        ),
        Method(
            "combined_five_by_two_cv",
            splitting.combined_five_by_two_cv,
            (Role(("repeated_kfold",), {"n_folds": 2, "n_repeats": 5}),),
            "expected risk of models fitted on half the rows",
            groups=True,
            stratified=True,
        ),
        Method(
            "nested_cv",
            splitting.nested_cv,
            (Role(("nested_cv",), {"n_folds": 5, "n_repeats": 25}),),
            MODEL,
            stratified=True,
        ),
        Method("oob", bootstrapping.oob, (MANY,), EXPECTED),
        Method("bootstrap_632", bootstrapping.bootstrap_632, (MANY, INSAMPLE), EXPECTED, paired=False),
        Method(
            "bootstrap_632_plus",
            bootstrapping.bootstrap_632_plus,
            (MANY, INSAMPLE),
            EXPECTED,
            paired=False,
        ),
        Method(
            "bootstrap_case_cv",
            bootstrapping.bootstrap_case_cv,
            (
                Role(("bootstrap_case_cv",), {"n_resamples": 100}),
                Role(
                    ("leave_one_out",),
                    optional=lambda given: not given.get("bias_correction", True),
                ),
            ),
            EXPECTED,
            paired=False,
        ),
        Method(
            "two_stage_bootstrap",
            bootstrapping.two_stage_bootstrap,
            (
                Role(("two_stage_bootstrap",), {"n_outer": 200, "n_inner": 10}),
                HUNDRED,
                INSAMPLE,
            ),
            EXPECTED,
            paired=False,
        ),
        Method(
            "location_shifted_bootstrap",
            bootstrapping.location_shifted_bootstrap,
            (
                Role(("insample_bootstrap",), {"n_resamples": 100}),
                HUNDRED,
                INSAMPLE,
            ),
            EXPECTED,
            paired=False,
        ),
        Method(
            "oob_t",
            bootstrapping.oob_t,
            (TWO_HUNDRED,),
            "risk of the models of the resamples",
            groups=True,
        ),
        Method(
            "oob_percentile",
            bootstrapping.oob_percentile,
            (
                TWO_HUNDRED,
                Role(
                    ("bootstrap_apparent",),
                    {"n_resamples": 200},
                    optional=lambda given: given.get("combine", "oob") == "oob",
                ),
            ),
            "risk of the models of the resamples",
            groups=True,
        ),
    )
}


def usual_scale(
    method: str, bounds: tuple[float, float], n_groups: int | None, share: bool, is_mean: bool = True
) -> tuple[str, str]:
    """Return the scale of the ends of an interval for the mean of a loss, or of a metric, and why, by every door.

    Means of losses without a bound are skewed: of squared t5 errors plain ends covered 91% of 95 at n = 50 to 300. So
    are shares of few errors: plain ends covered 79% where 5% of 60 rows were wrong, 85% where 3% of 100 were; and Brier
    scores near 0: plain ends covered 86% to 89% of logistic regressions of which 3% of 120 or 300 rows were wrong; and
    areas near 1, of which plain ends covered 82% to 88% (``benchmarks/metrics_of_learners.py``).
    """
    if not is_mean:
        if method == "corrected_t" and np.isfinite(bounds).all():
            why = "since metrics near an end of their range are skewed"
            return "nearer_end", f"ends on the scale of cube roots of the distance from the nearer end, {why}"
        return "plain", ""
    if share and method in ("corrected_t", "nested_cv"):
        return "wilson", "ends also as far as Wilson's, since shares of few errors are skewed"
    unbounded = bounds == (0.0, math.inf)
    if unbounded and method == "corrected_t" and n_groups is not None and n_groups <= FEW_GROUPS:
        return "log", "ends on the log scale, since means of few groups are skewed"
    if bounds[0] == 0.0 and bounds[1] < math.inf and n_groups is None and method in ("corrected_t", "nested_cv"):
        return "cube_root", "ends on the scale of cube roots, since means of losses near 0 are skewed"
    if unbounded and method in ("corrected_t", "nested_cv"):
        return "cube_root", "ends on the scale of cube roots, since means of losses without a bound are skewed"
    return "plain", ""


NO_MEAN = "a metric that is no mean of losses"


def recommended(n: int, loss_is_mean: bool, n_groups: int | None, weighted: bool = False) -> tuple[str, str]:
    """Return the method that "auto" stands for, and why (Schulz-Kuempel et al. 2024, section 6)."""
    if n_groups is not None and loss_is_mean and n_groups <= FEW_GROUPS:
        return "corrected_t", f"{n_groups} groups of rows: each left out once"
    if n_groups is not None or not loss_is_mean or weighted:
        why = "groups of rows" if n_groups is not None else "case weights" if weighted else NO_MEAN
        return "corrected_t", f"{why}: needs one number a split only"
    if n <= SMALL:
        return "nested_cv", f"n = {n} is at most {SMALL}: widest range of problems with right coverage"
    return "corrected_t", f"n = {n} is above {SMALL}: right coverage for few fits"
