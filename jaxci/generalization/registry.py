"""The methods by name: the plans they need, what their interval is for, and what they permit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxci.generalization import bootstrapping, splitting
from jaxci.generalization.base import LossInterval, Resampled
from jaxci.resampling import splits
from jaxci.resampling.plan import Plan

Build = Callable[..., Plan]

SMALL = 100
"""Up to so many rows "auto" takes nested cross-validation."""


@dataclasses.dataclass(frozen=True)
class Role:
    """A plan that a method needs: the names that serve, and how to make the usual one.

    ``build`` takes n, a seed and ``stratify`` or ``groups`` where the plan knows them. ``optional``
    plans are used where they are there.
    """

    names: tuple[str, ...]
    build: Build
    optional: Callable[[Mapping[str, Any]], bool] = lambda options: False


@dataclasses.dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    formula : callable
        Of the fits of each role's plan, ``level`` and options.
    target : str
        What the interval is for.
    cost : str
        Fits, as the literature counts them.
    metrics : bool
        Whether metrics that are no mean of losses are permitted.
    groups : bool
        Whether rows may come in groups: it reads one number a split, and takes no row for independent.
    paired : bool
        Whether differences of two learners' losses can take the place of losses.
    """

    name: str
    formula: Callable[..., LossInterval]
    roles: tuple[Role, ...]
    target: str
    cost: str
    metrics: bool = False
    groups: bool = False
    paired: bool = True

    def plans(
        self,
        n: int,
        seed: int,
        *,
        stratify: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> list[Plan]:
        """Return the usual plans, from one seed, so that plans of the same resamples share their fits."""
        by: dict[str, Any] = {} if stratify is None else {"stratify": stratify}
        if groups is not None:
            by["groups"] = groups
        needed = [role for role in self.roles if not role.optional(options or {})]
        return [role.build(n, seed, **by) for role in needed]

    def interval(self, fits: Mapping[str, Resampled], level: float, options: Mapping[str, Any]) -> LossInterval:
        """Return the interval from fits by the name of their plan.

        Raises
        ------
        ValueError
            If a plan is missing, or an option breaks its rule.
        """
        found = []
        for role in self.roles:
            name = next((name for name in role.names if name in fits), None)
            if name is None and not role.optional(options):
                raise ValueError(f"{self.name} needs a plan {role.names[0]!r}; there are {', '.join(fits)}")
            found.append(None if name is None else fits[name])
        return self.formula(*found, level=level, **options)


def _insample(n: int, seed: int, **_: Any) -> Plan:
    return splits.insample(n)


def _leave_one_out(n: int, seed: int, **_: Any) -> Plan:
    return splits.leave_one_out(n)


def _many_resamples(n: int, seed: int, **by: Any) -> Plan:
    return splits.bootstrap(n, min(max(200, bootstrapping.ENOUGH * n), 2500), seed, **by)


def _few(n: int) -> tuple[int, int]:
    """Return subsamples and pairs of the conservative z method."""
    return (10, 25) if n <= SMALL else (5, 10)


INSAMPLE = Role(("insample",), _insample)
MANY = Role(("bootstrap",), _many_resamples)
SUBSAMPLES = Role(("subsampling",), lambda n, seed, **by: splits.subsampling(n, 0.9, 25, seed, **by))
EXPECTED, MODEL = "expected risk of models fitted on n rows", "risk of the model fitted on all rows"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "holdout",
            splitting.holdout,
            (Role(("holdout",), lambda n, seed, **by: splits.holdout(n, 0.9, seed, **by)),),
            "risk of the model fitted on the training part",
            "1",
        ),
        Method(
            "replace_one_cv",
            splitting.replace_one_cv,
            (Role(("replace_one_cv",), lambda n, seed, **by: splits.replace_one_cv(n, 5, seed, **by)),),
            "expected risk of models fitted on half the rows",
            "(n/2 + 1) K",
        ),
        Method(
            "repeated_replace_one_cv",
            splitting.replace_one_cv,
            (
                Role(
                    ("repeated_replace_one_cv",),
                    lambda n, seed, **by: splits.repeated_replace_one_cv(n, 5, 5, seed, **by),
                ),
            ),
            "expected risk of models fitted on half the rows",
            "(n/2 + 1) R K",
        ),
        Method(
            "cv_wald",
            splitting.cv_wald,
            (Role(("kfold", "leave_one_out"), lambda n, seed, **by: splits.kfold(n, 10, seed, **by)),),
            "mean risk of the models of the folds",
            "K",
        ),
        Method(
            "corrected_t",
            splitting.corrected_t,
            (SUBSAMPLES,),
            "expected risk at the training size of the subsamples",
            "K",
            metrics=True,
            groups=True,
        ),
        Method(
            "conservative_z",
            splitting.conservative_z,
            (
                Role(("subsampling",), lambda n, seed, **by: splits.subsampling(n, 0.9, _few(n)[0], seed, **by)),
                Role(
                    ("paired_subsampling",),
                    lambda n, seed, **by: splits.paired_subsampling(n, 0.9, *_few(n), seed, **by),
                ),
            ),
            "expected risk at the training size of the subsamples",
            "(2 R + 1) K",
            metrics=True,
            groups=True,
        ),
        Method(
            "five_by_two_cv",
            splitting.five_by_two_cv,
            (Role(("repeated_kfold",), lambda n, seed, **by: splits.repeated_kfold(n, 2, 5, seed, **by)),),
            "expected risk of models fitted on half the rows",
            "10",
            groups=True,
        ),
        Method(
            "nested_cv",
            splitting.nested_cv,
            (Role(("nested_cv",), lambda n, seed, **by: splits.nested_cv(n, 5, 25, seed, **by)),),
            MODEL,
            "R K^2",
        ),
        Method("oob", bootstrapping.oob, (MANY,), EXPECTED, "R"),
        Method("bootstrap_632", bootstrapping.bootstrap_632, (MANY, INSAMPLE), EXPECTED, "R + 1", paired=False),
        Method(
            "bootstrap_632_plus",
            bootstrapping.bootstrap_632_plus,
            (MANY, INSAMPLE),
            EXPECTED,
            "R + 1",
            paired=False,
        ),
        Method(
            "bootstrap_case_cv",
            bootstrapping.bootstrap_case_cv,
            (
                Role(("bootstrap_case_cv",), lambda n, seed, **by: splits.bootstrap_case_cv(n, 100, seed, **by)),
                Role(("leave_one_out",), _leave_one_out, optional=lambda given: not given.get("bias_correction", True)),
            ),
            EXPECTED,
            "(.632 R + 1) n",
            paired=False,
        ),
        Method(
            "two_stage_bootstrap",
            bootstrapping.two_stage_bootstrap,
            (
                Role(
                    ("two_stage_bootstrap",),
                    lambda n, seed, **by: splits.two_stage_bootstrap(n, 200, 10, seed, **by),
                ),
                Role(("bootstrap",), lambda n, seed, **by: splits.bootstrap(n, 100, seed, **by)),
                INSAMPLE,
            ),
            EXPECTED,
            "(R + 1) (K + 1)",
            paired=False,
        ),
        Method(
            "location_shifted_bootstrap",
            bootstrapping.location_shifted_bootstrap,
            (
                Role(("insample_bootstrap",), lambda n, seed, **by: splits.insample_bootstrap(n, 100, seed, **by)),
                Role(("bootstrap",), lambda n, seed, **by: splits.bootstrap(n, 100, seed, **by)),
                INSAMPLE,
            ),
            EXPECTED,
            "1 + 2 K; K + 1 where the resamples are shared",
            paired=False,
        ),
        Method(
            "oob_t",
            bootstrapping.oob_t,
            (Role(("bootstrap",), lambda n, seed, **by: splits.bootstrap(n, 200, seed, **by)),),
            "risk of the models of the resamples",
            "R",
            groups=True,
        ),
        Method(
            "oob_percentile",
            bootstrapping.oob_percentile,
            (Role(("bootstrap",), lambda n, seed, **by: splits.bootstrap(n, 200, seed, **by)),),
            "risk of the models of the resamples",
            "R",
            groups=True,
        ),
    )
}


def recommended(n: int, loss_is_mean: bool, groups: bool) -> tuple[str, str]:
    """Return the method that "auto" stands for, and why (Schulz-Kuempel et al. 2024, section 6)."""
    if groups or not loss_is_mean:
        why = "groups of rows" if groups else "a metric that is no mean of losses"
        return "corrected_t", f"{why}: needs one number a split only"
    if n <= SMALL:
        return "nested_cv", f"n = {n} is at most {SMALL}: widest range of problems with right coverage"
    return "corrected_t", f"n = {n} is above {SMALL}: right coverage for few fits"
