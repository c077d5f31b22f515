"""One cell of a study of learners: a problem, a sample size, a learner and a loss, for every method.

Replications are split into groups, each with its own plans: rows are exchangeable, so a plan serves
any number of data sets, and the fits of all of them are one program.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.coverage.tally import judged_row
from jaxci.distributions import FileProblem, Problem
from jaxci.generalization.base import IncompleteFits, Resampled
from jaxci.generalization.fits import Outcome, distinct_samples, fit_plans, tested_on_themselves
from jaxci.generalization.losses import CUT, Loss
from jaxci.generalization.registry import METHODS
from jaxci.inducers.base import FIT_BUDGET, Inducer, room, with_room
from jaxci.inference.sharding import Spread
from jaxci.resampling.plan import Plan
from jaxci.resampling.splits import insample

PROXIES = ("holdout", "kfold")
"""Plans whose models' own mean risk is a target: the proxy of their method."""
VALIDATION_ROWS = 2**14
"""Rows of the validation set that are predicted at a time."""


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


def _own(rows: Any, shared: Any, *, n_classes: int) -> tuple[jax.Array, jax.Array]:
    """Return predictions (R, F, n[, K]) of the data by fits to each of the counts, and which converged (R, F)."""
    keys, X, y = rows
    learner, counts = shared

    def fit(key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        fitted = learner.fit(key, X, y, weights, n_classes)
        return learner.predict(fitted.params, X), fitted.converged

    return jax.vmap(jax.vmap(fit, (0, None, None, 0)), (0, 0, 0, None))(keys, X, y, counts)


def _fresh(rows: Any, shared: Any, *, n_classes: int) -> jax.Array:
    """Return predictions (R, F, m[, K]) of other rows by fits to each of the counts."""
    keys, X, y = rows
    learner, counts, fresh = shared
    blocks = fresh.reshape(-1, min(VALIDATION_ROWS, fresh.shape[0]), fresh.shape[1])

    def fit(key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array) -> jax.Array:
        params = learner.fit(key, X, y, weights, n_classes).params
        found = jax.lax.map(lambda block: learner.predict(params, block), blocks)
        return found.reshape(fresh.shape[0], *found.shape[2:])

    return jax.vmap(jax.vmap(fit, (0, None, None, 0)), (0, 0, 0, None))(keys, X, y, counts)


@dataclasses.dataclass(frozen=True, eq=False)
class LearningCell:
    """A problem, a sample size, a learner and a loss.

    Attributes
    ----------
    problem : Problem or FileProblem
    n : int
    learner : Inducer
    loss : Loss
    configurations : sequence of Configuration
    n_replications, n_groups, n_validation : int
    level : float
    """

    problem: Problem | FileProblem
    n: int
    learner: Inducer
    loss: Loss
    configurations: Sequence[Configuration]
    n_replications: int
    n_groups: int
    n_validation: int
    level: float

    def group_sizes(self) -> list[int]:
        """Replications of every group."""
        groups = min(self.n_groups, self.n_replications)
        return [self.n_replications // groups + (g < self.n_replications % groups) for g in range(groups)]

    def data(self, key: jax.Array, replications: Sequence[int]) -> tuple[Any, Any]:
        """Return X (R, n, d) and y (R, n) of some replications, each by its own key or subset."""
        if isinstance(self.problem, FileProblem):
            pairs = [self.problem.subset(r, self.n) for r in replications]
            return np.stack([X for X, _ in pairs]), np.stack([y for _, y in pairs])
        return _drawn(self.problem, jax.random.fold_in(key, 1), np.array(replications, np.int32), n=self.n)

    def validation(self, key: jax.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows on which true risks are measured: the same for all replications."""
        if isinstance(self.problem, FileProblem):
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
    and ``seconds`` (C,) are of one replication; ``lost`` counts fits that did not converge.
    """

    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    proxies: np.ndarray
    risks: np.ndarray
    groups: np.ndarray
    fits: np.ndarray
    seconds: np.ndarray
    lost: int = 0

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
        return cls(**found, lost=sum(p.lost for p in parts))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the fields as arrays."""
        return {f.name: np.asarray(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Found:
        """Return what :meth:`to_arrays` took apart."""
        found: dict[str, Any] = {**arrays, "lost": int(arrays["lost"])}
        return cls(**found)


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
    with jax.enable_x64(True):
        fresh = cell.validation(key)
    for g in groups:
        runner = _Group(cell, key, g, spread, fresh, memory_limit or FIT_BUDGET)
        for start in range(first[g], first[g + 1], runner.at_once):
            parts.append(runner.found(range(start, min(start + runner.at_once, first[g + 1]))))
            done += len(parts[-1].risks)
            progress(done, total)
    return Found.merged(parts)


class _Group:
    """Plans of one group of replications, and their fits."""

    def __init__(
        self, cell: LearningCell, key: jax.Array, g: int, spread: Spread, fresh: tuple[Any, Any], budget: int
    ) -> None:
        self.cell, self.key, self.number, self.spread, self.fresh = cell, key, g, spread, fresh
        self.budget = budget
        self.seed = int(jax.random.bits(jax.random.fold_in(jax.random.fold_in(key, 3), g)))
        self.plans = [[] if c.stratify else c.plans(cell.n, self.seed) for c in cell.configurations]
        flat = [plan for plans in self.plans for plan in plans]
        self.counts, places = distinct_samples(flat or [insample(cell.n)])
        rest = iter(places)
        self.places = [[next(rest) for _ in plans] for plans in self.plans]
        self.n_classes = cell.problem.n_classes
        rows = room(cell.n) if cell.learner.pads_rows else cell.n
        self.per_fit = cell.learner.bytes_of_fit(rows, cell.problem.n_features, self.n_classes)
        # Losses and predictions of all fits of a data set are held at once.
        held = 8 * cell.n * len(self.counts) * (2 + max(self.n_classes, 1))
        self.at_once = int(np.clip(budget // held, 1, 64))

    def found(self, replications: range) -> Found:
        """Return estimates, bounds and truths of some replications."""
        cell = self.cell
        with jax.enable_x64(True):
            X, y = cell.data(self.key, replications)
            keys = jax.vmap(lambda r: jax.random.fold_in(jax.random.fold_in(self.key, 4), r))(
                jnp.asarray(list(replications), jnp.int32)
            )
            started = time.perf_counter()
            predictions, lost = self._predictions(keys, X, y)
            spent = (time.perf_counter() - started) / (len(replications) * len(self.counts))
            risks, proxies = self._truths(keys, X, y)
        shape = (len(replications), len(cell.configurations))
        estimates, low, high = np.full((3, *shape), np.nan)
        seconds = np.zeros(shape)
        fits_each = np.array([len(np.unique(np.concatenate(p))) if p else 0 for p in self.places], float)
        targets = np.asarray(y)
        for r, held in enumerate(predictions):
            losses = cell.loss.rows(targets[r], held)
            for c, configuration in enumerate(cell.configurations):
                began = time.perf_counter()
                try:
                    if configuration.stratify:
                        outcome = self._within_classes(configuration, keys[r], np.asarray(X[r]), targets[r])
                        fits, fits_each[c] = outcome.plans, outcome.n_fits
                    else:
                        fits = dict(self._resampled(c, targets[r], held, losses))
                    interval = METHODS[configuration.method].interval(fits, cell.level, configuration.options)
                    estimates[r, c], low[r, c], high[r, c] = interval[:3]
                except IncompleteFits:
                    pass
                seconds[r, c] = time.perf_counter() - began
        cost = seconds.mean(axis=0) + spent * fits_each
        groups = np.full(len(replications), self.number)
        return Found(estimates, low, high, proxies, risks, groups, fits_each, cost, lost)

    def _within_classes(self, configuration: Configuration, key: jax.Array, X: np.ndarray, y: np.ndarray) -> Outcome:
        """Return the fits of one data set by splits within its classes; a class too rare for them is no fit."""
        try:
            plans = configuration.plans(self.cell.n, self.seed, y)
        except ValueError as error:
            raise IncompleteFits(str(error)) from None
        return fit_plans(self.cell.learner, X, y, plans, self.cell.loss, np.arange(self.n_classes), key)

    def _keys(self, keys: jax.Array, numbers: np.ndarray) -> jax.Array:
        fold = jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))
        return fold(keys, jnp.asarray(numbers, jnp.int32))

    def _predictions(self, keys: jax.Array, X: Any, y: Any) -> tuple[np.ndarray, int]:
        """Return predictions (R, F, n[, K]) in batches of fits, and how many fits did not converge."""
        size = int(np.clip(self.budget // (self.per_fit * len(keys)), 1, len(self.counts)))
        parts, lost = [], 0
        X, y, counts = with_room(self.cell.learner, X, y, self.counts)
        for start in range(0, len(counts), size):
            numbers = np.minimum(np.arange(start, start + size), len(counts) - 1)
            kept = min(size, len(counts) - start)
            shared = (self.cell.learner, jnp.asarray(counts[numbers], jnp.float64))
            found, converged = self.spread(_own, (self._keys(keys, numbers), X, y), shared, n_classes=self.n_classes)
            parts.append(np.asarray(found)[:, :kept, : self.cell.n])
            lost += int((~np.asarray(converged)[:, :kept]).sum())
        return np.concatenate(parts, axis=1), lost

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

    def _truths(self, keys: jax.Array, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the risk (R,) of the model of all rows, and the proxies (R, C), on the validation rows."""
        whole = np.ones((1, self.cell.n), np.int32)
        risks = self._risks(keys, X, y, whole, len(self.counts))[:, 0]
        proxies = np.full((len(risks), len(self.plans)), np.nan)
        for c, (plans, places) in enumerate(zip(self.plans, self.places, strict=True)):
            if plans and plans[0].name in PROXIES:
                fits, first = np.unique(places[0], return_index=True)
                proxies[:, c] = self._risks(keys, X, y, plans[0].train_counts[first], fits).mean(axis=1)
        return risks, proxies

    def _risks(self, keys: jax.Array, X: Any, y: Any, counts: np.ndarray, numbers: Any) -> np.ndarray:
        """Return mean validation losses (R, F) of fits to ``counts`` (F, n)."""
        cell, loss = self.cell, self.cell.loss
        rows, targets = self.fresh
        block = min(VALIDATION_ROWS, len(rows))
        padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % block, axis=0)])
        per = 8 * len(padded) * max(self.n_classes, 1)
        at_once = max(1, self.budget // (per * len(counts)))
        number = np.broadcast_to(np.asarray(numbers, np.int32), len(counts))
        X, filled, weights = with_room(cell.learner, X, y, counts)
        found = []
        for start in range(0, len(keys), at_once):
            part = slice(start, start + at_once)
            shared = (cell.learner, jnp.asarray(weights, jnp.float64), jnp.asarray(padded))
            inputs = (self._keys(keys[part], number), X[part], filled[part])
            predictions = np.asarray(self.spread(_fresh, inputs, shared, n_classes=self.n_classes))
            for r, held in enumerate(predictions[:, :, : len(rows)]):
                losses = loss.rows(targets, held)
                if loss.name == "winsorized":
                    losses = np.minimum(losses, np.quantile(losses, CUT, axis=1, keepdims=True))
                elif loss.adjusted is not None:
                    own = np.asarray(y[start + r])
                    losses = loss.adjusted(losses, losses >= 0, np.broadcast_to(counts, (len(counts), cell.n)), own)
                found.append(losses.mean(axis=1))
        return np.array(found)


def rows_of(cell: LearningCell, found: Found, label: str) -> list[dict[str, Any]]:
    """Judge the intervals: one row a configuration, as every study has it, with columns of its own.

    ``coverage``, ``bias`` and the like are about the risk of the model fitted on all rows of the
    replication; of the expected risk, its mean over replications, and of the proxy there are columns
    of their own. Errors are those between groups, which share plans. ``estimate`` and ``estimate_sd``
    are mean and standard deviation of the estimates, and ``width_over_sd`` is the median width over
    the latter: about 4 is perfect at 95% (Schulz-Kuempel et al. 2024, section 5.3).
    """
    sizes = np.unique(found.groups, return_counts=True)[1]
    expected = np.full(len(found.risks), found.risks.mean())
    truth_error = float(found.risks.std(ddof=1)) / len(found.risks) ** 0.5
    rows = []
    for c, configuration in enumerate(cell.configurations):
        estimates = found.estimates[:, c]

        def about(truths: np.ndarray, c: int = c, name: str = configuration.label) -> dict[str, Any]:
            return judged_row(
                cell.loss.name,
                name,
                cell.level,
                cell.n,
                sizes.tolist(),
                estimates=found.estimates[:, c],
                low=found.low[:, c],
                high=found.high[:, c],
                truths=truths,
                truth_error=truth_error,
            )

        row, of_expected = about(found.risks), about(expected)
        proxies = found.proxies[:, c]
        of_proxy = {} if np.isnan(proxies).any() else about(proxies)
        defined = estimates[np.isfinite(estimates)]
        spread = float(defined.std(ddof=1)) if defined.size > 1 else np.nan
        flags = [row["flags"], f"{found.lost} fits did not converge" if found.lost else ""]
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
