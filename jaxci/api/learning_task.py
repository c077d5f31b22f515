"""What learners are fitted to and judged by, how rows are split for it, and what is said of the fits."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.all_right import AllRight
from jaxci.api.generalization_results import ResampledFits, check_permitted
from jaxci.api.readers.learning import of_undecided_task, read_learning, read_score
from jaxci.checks import check_choice, shown
from jaxci.generalization.base import Resampled, check_bounds
from jaxci.generalization.fits import Outcome, Pace, distinct_samples, fit_plans
from jaxci.generalization.losses import Loss
from jaxci.generalization.plans import (
    TESTED_FOR_METRICS,
    Learning,
    Planned,
    Splitting,
    read_plans,
)
from jaxci.generalization.registry import FEWER_FOLDS, FOLDS, METHODS, SMALL, recommended
from jaxci.generalization.scores import Metric, Score
from jaxci.inducers.base import Inducer
from jaxci.inducers.registry import as_inducer
from jaxci.inference.loss_intervals import check_scale
from jaxci.inference.randomness import Randomness, randomness
from jaxci.resampling.plan import Plan

Progress = bool | Callable[[int, int], None]
PURPOSE_PLANS, PURPOSE_FITS = 101, 102
FEW_DECIDE, OF_FEW_DECIDING = 25, "covered 83% to 98% in simulations"
"""Means of losses of classes get a remark where fewer rows decide than this, and what it says
(``benchmarks/generalization_defaults.py``).
"""
MOST_OF_LOSS = 0.5
"""Share of the mean loss that the twentieth of the rows with the largest losses may make."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What learners are fitted to and judged by.

    Attributes
    ----------
    learners : tuple
    data : Learning
    score : Loss, Metric or Scorer
    said : tuple of str
        What is to be said of the data and the score.
    source : Randomness
    params : dict
        Further arguments of an estimator's ``fit``.
    n_jobs : int
        Processes that fit estimators.
    """

    learners: tuple[Any, ...]
    data: Learning
    score: Score
    said: tuple[str, ...]
    source: Randomness
    params: Mapping[str, Any]
    n_jobs: int

    @property
    def is_mean(self) -> bool:
        """Whether learners are judged by a mean of losses."""
        return isinstance(self.score, Loss)

    def planned(
        self, method: str, options: Mapping[str, Any], cv: Any, stratify: bool | None, level: float
    ) -> tuple[Planned, dict[str, Any]]:
        """Return the plans of a method, of which its interval can be made, and the options of its formula."""
        data = self.data
        check_permitted(method, not self.is_mean, self.score.name, data.groups is not None, data.weighted)
        seed = int(jax.random.bits(jax.random.fold_in(self.source.key, PURPOSE_PLANS)))
        known, paired = METHODS[method].told_apart(options), len(self.learners) > 1
        check_scale(known[1], self.share, paired)
        folds = FOLDS if data.weighted and self.is_mean else FEWER_FOLDS if paired else 0
        how = Splitting(method, seed, not self.is_mean, *known, cv, stratify, folds)
        found, left = read_plans(how, data), dict(how.options)
        if left.get("scale") == "nearer_end":
            left.setdefault("bounds", self.score.bounds)
            check_bounds(left["bounds"])
        METHODS[method].rehearse(found.plans, level, left)
        return found._replace(remarks=[*found.remarks, *_cut_remark(self.score, found.plans[0])]), left

    def fitted(self, plans: Sequence[Plan], progress: Progress) -> list[Outcome]:
        """Fit every learner on the same plans.

        Raises
        ------
        ValueError
            If all fits of a learner fail.
        """
        if not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress must be True, False or a function of (done, total); got {shown(progress)}")
        self._check_weights(plans)
        total = len(self.learners) * len(distinct_samples(plans)[0])
        call = progress if callable(progress) else None
        key, found = jax.random.fold_in(self.source.key, PURPOSE_FITS), []
        with Pace(total, progress is True, call) as pace:
            for learner in self.learners:
                found.append(
                    fit_plans(
                        learner,
                        self.data.X,
                        self.data.y,
                        plans,
                        self.score,
                        self.data.classes,
                        key,
                        pace,
                        weights=self.data.weights,
                        params=self.params,
                        n_jobs=self.n_jobs,
                    )
                )
                _check_fits(found[-1])
                pace.next_learner()
        return found

    def _check_weights(self, plans: Sequence[Plan]) -> None:
        weights = self.data.weights
        for plan in plans if weights is not None else ():
            for what, used in (("tests", plan.test_mask), ("trains on", plan.train_counts)):
                empty = np.flatnonzero(used @ weights == 0)
                if len(empty):
                    raise ValueError(
                        f"sample_weight must not be 0 for all rows that a split {what}; it is for {len(empty)} of "
                        f"{len(plan)} splits (leave out rows of weight 0)"
                    )

    def kept(self, found: Outcome, remarks: Sequence[str] = ()) -> ResampledFits:
        """Return the fits of one learner with what intervals of them need."""
        score, groups = self.score, self.data.groups
        said = (*self.said, *remarks, *self.remarks_of(found))
        fits, record = found.n_fits, self.source.record
        return ResampledFits(
            found.plans, score.name, fits, record, said, groups, score.bounds, self.share, self.turn, self.all_right
        )

    @property
    def all_right(self) -> AllRight | None:
        """The rows and the metric, where it is known what an interval of them would be if none were predicted wrong."""
        score, codes = self.score, self.data.codes
        if codes is None or not isinstance(score, Metric) or score.less_is_better:
            return None
        return AllRight.of(score.statistic, codes, score.positive, self.data.groups, self.data.weights)

    @property
    def share(self) -> bool:
        """Whether losses are 0 or 1."""
        return isinstance(self.score, Loss) and self.score.share

    def remarks_of(self, found: Outcome) -> tuple[str, ...]:
        """Say what befell the fits, and where chance decides which of two classes models name."""
        remarks, codes = [], self.data.codes if self.share else None
        if codes is not None and _are_tied(codes) and any(of.says_one_class(codes) for of in found.plans.values()):
            remarks.append(
                "every model gives one class to all rows that it tests, and two classes are about equally frequent: "
                "single rows decide which class that is, and 95% intervals covered 77 to 90% of such data sets"
            )
        if found.not_converged:
            remarks.append(
                f"{found.not_converged} of {found.n_fits} fits did not converge; their predictions were used"
            )
        if found.errors:
            remarks.append(
                f"the estimator failed in {len(found.errors)} of {found.n_fits} fits; the first said: {found.errors[0]}"
            )
        if isinstance(self.score, Loss) and not self.share:
            first = next(iter(found.plans.values()))
            if self.data.codes is not None:
                remarks += _few_decide_remark(first)
            elif self.score.bounds[1] == math.inf:
                remarks += _tail_remark(first)
        return tuple(remarks)

    @property
    def turn(self) -> tuple[float, float]:
        """Offset and sign of what is shown."""
        return (self.score.offset, self.score.sign) if isinstance(self.score, Loss) else (0.0, 1.0)


def _are_tied(codes: np.ndarray) -> bool:
    """Whether the two most frequent classes differ by no more than chance, three standard errors."""
    second, first = np.sort(np.bincount(codes, minlength=2))[-2:]
    return bool(first - second <= 3 * math.sqrt(first + second))


def _cut_remark(score: Score, plan: Plan) -> list[str]:
    """Say where splits test too few rows for a quantile of their losses."""
    tested = float(plan.test_mask.sum(axis=1).mean())
    if not (isinstance(score, Loss) and score.cut and tested < TESTED_FOR_METRICS):
        return []
    return [
        f"splits test about {tested:.2g} rows, and {score.name} losses are cut at a quantile of those: of fewer than "
        f"{TESTED_FOR_METRICS} hardly any are, and means lie nearer to that of uncut losses (groups of 2 rows: 3.0 for "
        "1.5); test more rows (cv=5)"
    ]


def _losses_by_row(of: Resampled) -> np.ndarray:
    """Return the mean loss of every row that is tested, ascending."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rows that no split tests
        by_row = np.nanmean(of.tested, axis=0)
    return np.sort(by_row[np.isfinite(by_row)])


def _few_decide_remark(of: Resampled) -> list[str]:
    """Say where the mean loss of classes is that of few rows, effectively: ``(sum l)^2 / sum l^2``."""
    by_row = _losses_by_row(of)
    whole = float(by_row.sum())
    if not (len(by_row) >= 20 and whole > 0 and by_row[0] >= 0):
        return []
    rows = whole**2 / float((by_row**2).sum())
    if rows >= min(FEW_DECIDE, len(by_row) / 5):
        return []
    return [
        f"{rows:.0f} of {len(by_row)} rows decide the mean loss, effectively: 95% intervals of such means "
        f"{OF_FEW_DECIDING}, most misses below the risk, as rows that would be as wrong are not seen"
    ]


def _tail_remark(of: Resampled) -> list[str]:
    """Say where few rows make most of the mean loss."""
    by_row = _losses_by_row(of)
    most, whole = math.ceil(len(by_row) / 20), float(by_row.sum())
    if not (len(by_row) >= 20 and by_row[0] >= 0 and by_row[-most:].sum() >= MOST_OF_LOSS * whole > 0):
        return []
    return [
        f"{most} of {len(by_row)} rows make {by_row[-most:].sum() / whole:.0%} of the mean loss: 95% intervals of such "
        "means covered 73 to 86%, as what other outliers would add is not seen; loss='winsorized' bounds it"
    ]


def _check_fits(found: Outcome) -> None:
    if len(found.errors) == found.n_fits:
        raise ValueError(f"the estimator failed in all of {found.n_fits} fits; the first said: {found.errors[0]}")
    if not any(of.kept.any() for of in found.plans.values()):
        raise ValueError(f"none of {found.n_fits} fits gave a finite loss, or a metric that is defined")


def read_task(
    inducers: Sequence[Any],
    X: Any,
    y: Any,
    loss: Any,
    scoring: Any,
    groups: Any,
    sample_weight: Any,
    pos_label: Any,
    params: Mapping[str, Any] | None,
    n_jobs: int,
    rng: Any,
) -> Task:
    """Read what verbs are given."""
    source = randomness(rng)
    learners = tuple(as_inducer(inducer) for inducer in inducers)
    data = read_learning(learners, X, y, groups, loss, scoring, pos_label=pos_label, sample_weight=sample_weight)
    score, said = read_score(loss, scoring, data, pos_label)
    said = [*of_undecided_task(learners, y, loss, scoring, data), *said]
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict of arguments of an estimator's fit; got {shown(params)}")
    if params and any(isinstance(learner, Inducer) for learner in learners):
        raise TypeError("params are arguments of an estimator's fit, which learners of jaxci.inducers do not take")
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of processes, or -1 for as many as there are CPUs; got {n_jobs!r}")
    return Task(learners, data, score, tuple(said), source, params or {}, int(n_jobs))


def _are_plans(cv: Any) -> bool:
    given = cv if isinstance(cv, list | tuple) else [cv]
    return len(given) > 0 and all(isinstance(one, Plan) for one in given)


def settled(method: str, target: str | None, task: Task, cv: Any = None, default: str = "") -> tuple[str, str]:
    """Return the method and why."""
    check_choice("method", method, ("auto", *METHODS))
    if target is not None:
        check_choice("target", target, ("risk", "expected_risk"))
    data = task.data
    if method != "auto":
        chosen, reason = method, "the default" if method == default else "asked for"
    elif target == "risk" and data.groups is None and task.is_mean and not data.weighted:
        chosen, reason = "nested_cv", "the method whose interval is for the risk of the model fitted on all rows"
    elif cv is not None and not _are_plans(cv):
        chosen, reason = "corrected_t", "the method that reads whatever splits are given"
    elif target == "expected_risk" and len(data.y) <= SMALL:
        chosen, reason = "conservative_z", "few rows, and the expected risk as the target"
    else:
        chosen, reason = recommended(len(data.y), task.is_mean, data.n_groups, data.weighted)
    if target is not None and METHODS[chosen].aim != target:
        able = ", ".join(name for name, one in METHODS.items() if one.aim == target)
        raise ValueError(
            f"target={target!r} is that of {able}; {chosen} is for the {METHODS[chosen].target}"
            + ("" if method != "auto" else ", and serves these data")
        )
    return chosen, reason
