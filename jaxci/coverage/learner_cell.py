"""One cell of a study of learners: a problem, a sample size, a learner and a loss, for every method.

Replications are split into groups, each with its own plans: rows are exchangeable, so a plan serves
any number of data sets, and the fits of all of them are one program.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.coverage.learner_fits import Fits
from jaxci.coverage.risks import is_exact
from jaxci.coverage.tally import even_sizes, judged_row
from jaxci.distributions import FileProblem, Problem
from jaxci.generalization.base import IncompleteFits, LossInterval, Resampled
from jaxci.generalization.fits import Outcome, distinct_samples, fit_plans, tested_on_themselves
from jaxci.generalization.losses import Loss
from jaxci.generalization.registry import METHODS
from jaxci.inducers.base import FIT_BUDGET, Inducer, current
from jaxci.inducers.contract import try_fit
from jaxci.inference.loss_intervals import KnownLosses
from jaxci.inference.sharding import Spread
from jaxci.resampling.plan import Plan
from jaxci.resampling.splits import insample
from jaxci.tracing import of_users

ENDS = ("reported", "formula")
"""What is judged: what :func:`jaxci.generalization_interval` gives, or what the formula of a method does."""
PROXIES = ("holdout", "kfold")
"""Plans whose models' own mean risk is a target: the proxy of their method."""


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A method at given settings.

    Attributes
    ----------
    label : str
    method : str
    settings : dict
        Changes of its plans' usual settings.
    options : dict
        Of its formula.
    largest_n : int or None
        Sample size up to which it is run.
    stratify : bool
        Whether splits keep the shares of classes; each data set then has its own, and its own program of fits.
    """

    label: str
    method: str
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    largest_n: int | None = None
    stratify: bool = False

    def plans(self, n: int, seed: int, classes: np.ndarray | None = None) -> list[Plan]:
        """Return its plans, for ``classes`` (n,) where splits keep their shares."""
        return METHODS[self.method].plans(n, seed, changes=self.settings, options=self.options, stratify=classes)


@dataclasses.dataclass(frozen=True, eq=False)
class LearningCell:
    """A problem, a sample size, a learner and a loss.

    Attributes
    ----------
    problem : Problem or FileProblem
    n : int
    learner : Inducer or estimator
    loss : Loss
    configurations : sequence of Configuration
    n_replications, n_groups, n_validation : int
    level : float
    ends : str
        One of :data:`ENDS`.
    """

    problem: Problem | FileProblem
    n: int
    learner: Any
    loss: Loss
    configurations: Sequence[Configuration]
    n_replications: int
    n_groups: int
    n_validation: int
    level: float
    ends: str = "reported"

    def interval(self, configuration: Configuration, fits: Mapping[str, Resampled]) -> LossInterval:
        """Return the interval that is judged of the fits of one data set."""
        method, options = configuration.method, configuration.options
        known = KnownLosses(self.loss.bounds, self.loss.share)
        if self.ends == "formula":
            return known.by_formula(method, fits, self.level, options)
        return known.interval(method, fits, self.level, options).interval

    def group_sizes(self) -> list[int]:
        """Replications of every group."""
        return even_sizes(self.n_replications, min(self.n_groups, self.n_replications))

    def data(self, key: jax.Array, replications: Sequence[int]) -> tuple[Any, Any]:
        """Return X (R, n, d) and y (R, n) of some replications, each by its own key or subset."""
        if isinstance(self.problem, FileProblem):
            pairs = [self.problem.subset(r, self.n) for r in replications]
            return np.stack([X for X, _ in pairs]), np.stack([y for _, y in pairs])
        return _drawn(self.problem, jax.random.fold_in(key, 1), np.array(replications, np.int32), n=self.n)

    def validation(self, key: jax.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows on which true risks are measured: the same for all replications."""
        if isinstance(self.problem, FileProblem):
            if self.problem.n_validation < 2:
                raise ValueError(
                    f"n_validation of {self.problem.path} must be at least 2; got {self.problem.n_validation}"
                )
            self.problem.subset(self.n_replications - 1, self.n)  # too few rows are told before the first fit
            return self.problem.validation()
        X, y = self.problem.sample(jax.random.fold_in(key, 2), self.n_validation)
        return np.asarray(X), np.asarray(y)


@functools.partial(jax.jit, static_argnames="n")
def _drawn(problem: Problem, key: jax.Array, numbers: np.ndarray, *, n: int) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(lambda r: problem.sample(jax.random.fold_in(key, r), n))(numbers)


@dataclasses.dataclass(eq=False)
class Found:
    """What replications gave: (R, C) for C configurations, (R,) for the truth; NaN where there is none.

    ``groups`` (R,) are the numbers of the groups that they belong to, whose plans they share. ``fits``
    and ``seconds`` (C,) are of one replication; ``lost`` counts fits that did not converge, ``failed`` those that
    ended in an error, ``error`` being what the first said. ``fresh`` (M,) sums the losses of each validation row over
    replications; it is empty where risks are exact.
    """

    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    proxies: np.ndarray
    risks: np.ndarray
    groups: np.ndarray
    fits: np.ndarray
    seconds: np.ndarray
    fresh: np.ndarray
    lost: int = 0
    failed: int = 0
    error: str = ""

    @property
    def validation_error(self) -> float:
        """Standard error that the finite validation set gives all risks alike; 0 where they are exact."""
        means = self.fresh / max(1, np.isfinite(self.risks).sum())
        return float(means.std(ddof=1)) / len(means) ** 0.5 if len(means) else 0.0

    @property
    def truth_error(self) -> float:
        """Standard error of the mean risk: of the replications, and of the validation set."""
        known = self.risks[np.isfinite(self.risks)]
        spread = float(known.std(ddof=1)) if len(known) > 1 else math.nan
        return math.hypot(spread / max(1, len(known)) ** 0.5, self.validation_error)

    @classmethod
    def merged(cls, parts: Sequence[Found]) -> Found:
        """Join replications, in the order of their groups; costs are weighted by them."""
        found: dict[str, Any] = {
            name: np.concatenate([getattr(p, name) for p in parts])
            for name in ("estimates", "low", "high", "proxies", "risks", "groups")
        }
        order = np.argsort(found["groups"], kind="stable")
        found = {name: values[order] for name, values in found.items()}
        sizes = [len(p.risks) for p in parts]
        for name in ("fits", "seconds"):
            found[name] = np.average([getattr(p, name) for p in parts], axis=0, weights=sizes)
        errors = [p.error for p in parts if p.error]
        return cls(
            **found,
            fresh=np.sum([p.fresh for p in parts], axis=0),
            lost=sum(p.lost for p in parts),
            failed=sum(p.failed for p in parts),
            error=errors[0] if errors else "",
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the fields as arrays."""
        return {f.name: np.asarray(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Found:
        """Return what :meth:`to_arrays` took apart."""
        found: dict[str, Any] = {**arrays, "error": str(arrays["error"])}
        return cls(**found | {name: int(arrays[name]) for name in ("lost", "failed")})


def run_cell(
    cell: LearningCell,
    key: jax.Array,
    groups: Sequence[int],
    spread: Spread,
    progress: Callable[[int, int], None] = lambda done, total: None,
    memory_limit: int | None = None,
) -> Found:
    """Simulate the replications of some groups.

    Draws of a replication depend on ``key`` and its number alone, plans on ``key`` and the group's. The
    fits and predictions that are held at a time take no more than ``memory_limit`` bytes, if one fits.
    """
    sizes = cell.group_sizes()
    first = np.concatenate([[0], np.cumsum(sizes)])
    total = sum(sizes[g] for g in groups)
    done, parts = 0, []
    of_own = isinstance(cell.learner, Inducer) and of_users(cell.learner)
    if isinstance(cell.learner, Inducer):
        own = current(cell.learner, cell.n, cell.problem.n_features, cell.problem.n_classes)
        cell = dataclasses.replace(cell, learner=own)
    with jax.enable_x64(True):
        fresh = None if is_exact(cell.problem, cell.learner, cell.loss, cell.n) else cell.validation(key)
    for g in groups:
        runner = _Group(cell, key, g, spread, fresh, memory_limit or FIT_BUDGET)
        if of_own and g == groups[0]:
            runner.try_learner(first[g])
        for start in range(first[g], first[g + 1], runner.at_once):
            parts.append(runner.found(range(start, min(start + runner.at_once, first[g + 1]))))
            done += len(parts[-1].risks)
            progress(done, total)
    return Found.merged(parts)


class _Group:
    """Plans of one group of replications, and their fits."""

    def __init__(
        self, cell: LearningCell, key: jax.Array, g: int, spread: Spread, fresh: tuple[Any, Any] | None, budget: int
    ) -> None:
        self.cell, self.key, self.number, self.fresh = cell, key, g, fresh
        self.fits = Fits(cell.learner, cell.problem, cell.loss, spread, budget)
        self.seed = int(jax.random.bits(jax.random.fold_in(jax.random.fold_in(key, 3), g)))
        self.plans = [[] if c.stratify else c.plans(cell.n, self.seed) for c in cell.configurations]
        flat = [plan for plans in self.plans for plan in plans]
        self.counts, places = distinct_samples(flat or [insample(cell.n)])
        rest = iter(places)
        self.places = [[next(rest) for _ in plans] for plans in self.plans]
        self.needed = np.zeros((len(self.counts), cell.n), bool)
        for plan, place in zip(flat, places, strict=False):
            np.logical_or.at(self.needed, place, plan.test_mask)
        self.n_classes = cell.problem.n_classes
        # Losses and predictions of all fits of a data set are held at once.
        held = 8 * cell.n * len(self.counts) * (2 + max(self.n_classes, 1))
        self.at_once = int(np.clip(budget // held, 1, 64))

    def try_learner(self, replication: int) -> None:
        """Raise where a learner of the user's own does not keep what it promises on a data set."""
        with jax.enable_x64(True):
            X, y = (np.asarray(rows[0]) for rows in self.cell.data(self.key, [replication]))
        reads = self.cell.loss.reads == "probabilities"
        try_fit(self.cell.learner, X, y, self.n_classes, probabilities=reads)

    def found(self, replications: range) -> Found:
        """Return estimates, bounds and truths of some replications."""
        cell = self.cell
        with jax.enable_x64(True):
            X, y = cell.data(self.key, replications)
            keys = jax.vmap(lambda r: jax.random.fold_in(jax.random.fold_in(self.key, 4), r))(
                jnp.asarray(list(replications), jnp.int32)
            )
            started = time.perf_counter()
            predictions, lost, failures = self.fits.predictions(keys, X, y, self.counts, self.needed)
            spent = (time.perf_counter() - started) / (len(replications) * len(self.counts))
            risks, proxies, fresh = self._truths(keys, X, y)
        shape = (len(replications), len(cell.configurations))
        estimates, low, high = np.full((3, *shape), np.nan)
        seconds = np.zeros(shape)
        fits_each = np.array([len(np.unique(np.concatenate(p))) if p else 0 for p in self.places], float)
        targets = np.asarray(y)
        for r, held in enumerate(predictions):
            losses = self.fits.losses(targets[r], held)
            for c, configuration in enumerate(cell.configurations):
                began = time.perf_counter()
                try:
                    if configuration.stratify:
                        outcome = self._within_classes(configuration, keys[r], np.asarray(X[r]), targets[r])
                        fits, fits_each[c] = outcome.plans, outcome.n_fits
                        lost, failures = lost + outcome.not_converged, (*failures, *outcome.errors)
                    else:
                        fits = dict(self._resampled(c, targets[r], held, losses))
                    estimates[r, c], low[r, c], high[r, c] = cell.interval(configuration, fits)[:3]
                except IncompleteFits:
                    pass
                seconds[r, c] = time.perf_counter() - began
        cost = seconds.mean(axis=0) + spent * fits_each
        groups = np.full(len(replications), self.number)
        said = len(failures), next(iter(failures), "")
        return Found(estimates, low, high, proxies, risks, groups, fits_each, cost, fresh, lost, *said)

    def _within_classes(self, configuration: Configuration, key: jax.Array, X: np.ndarray, y: np.ndarray) -> Outcome:
        """Return the fits of one data set by splits within its classes; a class too rare for them is no fit."""
        try:
            plans = configuration.plans(self.cell.n, self.seed, y)
        except ValueError as error:
            raise IncompleteFits(str(error)) from None
        return fit_plans(self.cell.learner, X, y, plans, self.cell.loss, np.arange(self.n_classes), key)

    def _resampled(
        self, c: int, y: np.ndarray, predictions: np.ndarray, losses: np.ndarray
    ) -> Iterator[tuple[str, Resampled]]:
        """Yield the fits of one configuration by plan."""
        loss = self.cell.loss
        for plan, place in zip(self.plans[c], self.places[c], strict=True):
            own = losses[place]
            if loss.adjusted is not None:
                own = loss.adjusted(own, plan.test_mask, plan.train_counts, y)
            failed = np.any(plan.test_mask & ~np.isfinite(own), axis=1)
            rates = np.full(len(plan), np.nan)
            for split in np.flatnonzero(tested_on_themselves(plan) & ~failed):
                weights = plan.train_counts[split] if plan.name == "two_stage_bootstrap" else np.ones(plan.n)
                rates[split] = loss.no_information(y, predictions[place[split]], weights)
            yield plan.name, Resampled(plan, own, failed, rates)

    def _truths(self, keys: jax.Array, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return risks (R,) of models of all rows, proxies (R, C), and the sums (M,) of losses of validation rows."""
        whole, number = np.ones((1, self.cell.n), np.int32), np.array([len(self.counts)])
        total = np.zeros(0 if self.fresh is None else len(self.fresh[1]))
        risks = self.fits.risks(keys, X, y, whole, number, self.fresh, lambda one: np.add(total, one, out=total))[:, 0]
        proxies = np.full((len(risks), len(self.plans)), np.nan)
        for c, (plans, places) in enumerate(zip(self.plans, self.places, strict=True)):
            if plans and plans[0].name in PROXIES:
                fits, first = np.unique(places[0], return_index=True)
                counts = plans[0].train_counts[first]
                proxies[:, c] = self.fits.risks(keys, X, y, counts, fits, self.fresh).mean(axis=1)
        return risks, proxies, total


def rows_of(cell: LearningCell, found: Found, label: str) -> list[dict[str, Any]]:
    """Judge the intervals: one row a configuration, as every study has it, with columns of its own.

    ``coverage``, ``bias`` and the like are about the risk of the model fitted on all rows of the
    replication; of the expected risk, its mean over replications, and of the proxy there are columns
    of their own. Errors are those between groups, which share plans, and what the coverage moves with the error of
    the truth. ``estimate`` and ``estimate_sd``
    are mean and standard deviation of the estimates, and ``width_over_sd`` is the median width over
    the latter: about 4 is perfect at 95% (Schulz-Kuempel et al. 2024, section 5.3).
    """
    sizes = np.unique(found.groups, return_counts=True)[1]
    known = np.isfinite(found.risks)
    expected = np.full(len(found.risks), found.risks[known].mean() if known.any() else np.nan)
    truth_error = found.truth_error
    lost = f"{found.lost} fits did not converge" if found.lost else ""
    failed = f"{found.failed} fits failed: {found.error}" if found.failed else ""
    unknown = f"{(~known).sum()} data sets have no risk, as the fit to all rows failed" if not known.all() else ""
    rows = []
    for c, configuration in enumerate(cell.configurations):
        estimates = found.estimates[:, c]

        def about(truths: np.ndarray, shift: float, c: int = c, name: str = configuration.label) -> dict[str, Any]:
            return judged_row(
                cell.loss.name,
                name,
                cell.level,
                cell.n,
                sizes.tolist(),
                estimates=found.estimates[:, c],
                low=np.where(np.isfinite(truths), found.low[:, c], np.nan),
                high=np.where(np.isfinite(truths), found.high[:, c], np.nan),
                truths=truths,
                truth_error=truth_error,
                shift=shift,
            )

        row, of_expected = about(found.risks, found.validation_error), about(expected, truth_error)
        proxies = found.proxies[:, c]
        of_proxy = {} if np.isnan(proxies).any() else about(proxies, found.validation_error)
        defined = estimates[np.isfinite(estimates)]
        spread = float(defined.std(ddof=1)) if defined.size > 1 else np.nan
        flags = [row["flags"], lost, failed, unknown]
        rows.append(
            {
                "distribution": label,
                **row,
                "flags": "; ".join(filter(None, flags)),
                "coverage_expected": of_expected["coverage"],
                "coverage_expected_error": of_expected["coverage_error"],
                "coverage_proxy": of_proxy.get("coverage", np.nan),
                "coverage_proxy_error": of_proxy.get("coverage_error", np.nan),
                "estimate": float(defined.mean()) if defined.size else np.nan,
                "estimate_sd": spread,
                "width_over_sd": row["median_width"] / spread if spread > 0 else np.nan,
                "fits": float(found.fits[c]),
                "seconds": float(found.seconds[c]),
                "target": METHODS[configuration.method].target,
            }
        )
    return rows
