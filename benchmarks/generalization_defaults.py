"""Coverage of what ``generalization_interval`` gives by default: classes balanced and rare, targets, and groups.

    python benchmarks/generalization_defaults.py [--replications 300] [--json OUT] [--only TEXT]

Every data set goes through the verb, with no argument but the learner, the data and the loss, so that splits, methods
and remarks are those that users get. The truth is the risk of the model fitted to all rows: its mean loss on 20,000
fresh rows, each loss averaged over what the target may be; the expected risk is its mean over data sets. Intervals
without a warning are counted apart. Rows of designs that are not simulated again stay in OUT.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import optimize, special

import jaxci
from jaxci.generalization.losses import LOSSES
from jaxci.inducers.base import fit_predict
from jaxci.inducers.registry import as_inducer

FEATURES, FRESH = 5, 20_000
SIZES = (20, 50, 100, 300, 500, 2000)
FAR_SIZES = (50, 120, 300, 1000)
GROUPS = (5, 8, 10, 20, 40, 80)


class Data(NamedTuple):
    """Rows, targets, groups (or None), and what is known of the targets: their means, and their variance about them."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray | None
    mean: np.ndarray
    variance: float = 0.0


@dataclasses.dataclass(frozen=True)
class Design:
    """A law of data, a learner and a loss; ``size`` is of rows, or of groups of 20 on average."""

    law: str
    learner: str
    loss: str
    size: int
    draw: Callable[[np.random.Generator, int], Data]


def intercept(prevalence: float, slope: float) -> float:
    """Return the log odds at which so many of normal scores with that slope are positive."""
    scores = slope * special.ndtri((np.arange(4000) + 0.5) / 4000)
    return optimize.brentq(lambda b: special.expit(scores + b).mean() - prevalence, -60, 60)


def sizes_of(groups: int, uneven: bool) -> np.ndarray:
    """Rows of every group: 20 each, or from few to 20 times as many."""
    if not uneven:
        return np.full(groups, 20)
    sizes = np.geomspace(1, 20, groups)
    return np.maximum(1, np.round(sizes / sizes.mean() * 20)).astype(int)


def features(rng: np.random.Generator, n: int, group: np.ndarray | None) -> np.ndarray:
    X = rng.normal(size=(n, FEATURES))
    return X if group is None else 0.7 * rng.normal(size=(group.max() + 1, FEATURES))[group] + np.sqrt(0.51) * X


def classes(prevalence: float, slope: float, shift: float = 0.0, uneven: bool = False) -> Callable[..., Data]:
    """Return a law of two classes by logistic regression; groups are shifted by ``shift`` standard normals."""
    start = intercept(prevalence, float(np.hypot(slope, shift)))

    def draw(rng: np.random.Generator, size: int) -> Data:
        group = np.repeat(np.arange(size), sizes_of(size, uneven)) if shift else None
        n = size if group is None else len(group)
        X = features(rng, n, group)
        scores = slope * X.sum(axis=1) / np.sqrt(FEATURES) + start
        if group is not None:
            scores += shift * rng.normal(size=size)[group]
        shares = special.expit(scores)
        return Data(X, (rng.random(n) < shares).astype(int), group, shares)

    return draw


def apart(prevalence: float, distance: float) -> Callable[..., Data]:
    """Return a law of two classes of normal features, whose means lie so many standard deviations apart."""

    def draw(rng: np.random.Generator, size: int) -> Data:
        y = (rng.random(size) < prevalence).astype(int)
        X = features(rng, size, None)
        X[:, 0] += distance * y
        return Data(X, y, None, special.expit(distance * X[:, 0] - distance**2 / 2 + special.logit(prevalence)))

    return draw


ERRORS: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 1.0),
    "t5": (lambda rng, n: rng.standard_t(5, n), 5 / 3),
    "exponential": (lambda rng, n: rng.exponential(size=n) - 1, 1.0),
}
"""Errors of mean 0, and their variance."""


def targets(errors: str, shift: float = 0.0, uneven: bool = False) -> Callable[..., Data]:
    """Return a linear law with such errors."""
    drawn, variance = ERRORS[errors]

    def draw(rng: np.random.Generator, size: int) -> Data:
        group = np.repeat(np.arange(size), sizes_of(size, uneven)) if shift else None
        n = size if group is None else len(group)
        X = features(rng, n, group)
        mean = X.sum(axis=1) + (0.0 if group is None else shift * rng.normal(size=size)[group])
        return Data(X, mean + drawn(rng, n), group, mean, variance)

    return draw


def designs() -> Iterator[Design]:
    for prevalence, slope in ((0.5, 2.2), (0.2, 2.2), (0.1, 2.2), (0.05, 8.0)):
        law = f"two classes, {prevalence:g} positive, slope {slope:g}"
        for learner, loss in (
            ("logistic", "zero_one"),
            ("logistic", "brier"),
            ("constant", "zero_one"),
            ("tree", "zero_one"),
        ):
            for n in SIZES:
                yield Design(law, learner, loss, n, classes(prevalence, slope))
    for prevalence in (0.5, 0.2):
        for loss in ("brier", "log"):
            for n in FAR_SIZES:
                law = f"two classes 4 deviations apart, {prevalence:g} positive"
                yield Design(law, "logistic", loss, n, apart(prevalence, 4.0))
    for errors in ERRORS:
        for learner in ("ridge:alpha=0.1", "tree"):
            for n in SIZES:
                yield Design(f"linear, {errors} errors", learner, "squared", n, targets(errors))
    for uneven in (False, True):
        form = "uneven" if uneven else "even"
        for groups in GROUPS:
            name = f"{form} groups"
            yield Design(f"linear, {name}", "ridge:alpha=0.1", "squared", groups, targets("normal", 0.7, uneven))
            for prevalence, loss in ((0.5, "zero_one"), (0.15, "brier")):
                law = f"two classes, {prevalence:g} positive, {name}"
                yield Design(law, "logistic", loss, groups, classes(prevalence, 2.2, 1.0, uneven))


def risk(learner: Any, X: np.ndarray, y: np.ndarray, fresh: Data, loss: str, n_classes: int, seed: int) -> float:
    """Return the mean loss on fresh rows of the model fitted to all."""
    rows, all_y = np.concatenate([X, fresh.X]), np.concatenate([y, fresh.y])
    counts = np.zeros((1, len(rows)), np.int32)
    counts[0, : len(y)] = 1
    found, _ = fit_predict(learner, jax.random.key(seed), rows, all_y, counts, n_classes)
    predicted, losses = found[0, len(y) :], LOSSES[loss].rows
    if not n_classes:
        return float(losses(fresh.mean, predicted).mean()) + fresh.variance
    by_class = [losses(np.full(len(predicted), k), predicted) for k in (0, 1)]
    return float(np.mean((1 - fresh.mean) * by_class[0] + fresh.mean * by_class[1]))


def simulate(design: Design, replications: int) -> dict[str, Any]:
    learner = as_inducer(design.learner)
    n_classes = 2 if LOSSES[design.loss].task == "classification" else 0
    fresh = design.draw(
        np.random.default_rng(1), FRESH if design.size >= 12 and "groups" not in design.law else FRESH // 20
    )
    rng = np.random.default_rng([2, design.size])
    low, high, risks, warned, methods = [], [], [], [], set()
    for seed in range(replications):
        X, y, group, *_ = design.draw(rng, design.size)
        if n_classes and len(np.unique(y)) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = jaxci.generalization_interval(
                learner, X, y, loss=design.loss, groups=group, rng=seed, progress=False
            )
        low.append(found.confidence_interval.low)
        high.append(found.confidence_interval.high)
        warned.append(any("left the range" not in text for text in found.warnings))
        methods.add(found.method)
        risks.append(risk(learner, X, y, fresh, design.loss, n_classes, seed))
    ends, truth = (np.array(low), np.array(high)), np.array(risks)
    held, silent = (ends[0] <= truth) & (truth <= ends[1]), ~np.array(warned)
    expected = (ends[0] <= truth.mean()) & (truth.mean() <= ends[1])
    return {
        "law": design.law,
        "learner": design.learner,
        "loss": design.loss,
        "size": design.size,
        "methods": sorted(methods),
        "data_sets": len(risks),
        "risk": truth.mean(),
        "coverage": held.mean(),
        "coverage_expected": expected.mean(),
        "warned": 1 - silent.mean(),
        "coverage_unwarned": held[silent].mean() if silent.any() else None,
        "missed_unwarned": (silent & ~held).mean(),
        "width": float(np.mean(ends[1] - ends[0])),
    }


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["law"], row["learner"], row["loss"], row["size"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    kept = json.loads(options.json.read_text())["rows"] if options.json and options.json.exists() else []
    rows = {key_of(row): row for row in kept}
    for design in designs():
        if options.only not in f"{design.law}, {design.learner}, {design.loss}, {design.size}":
            continue
        started = time.perf_counter()
        row = simulate(design, options.replications)
        rows[key_of(row)] = row
        print(
            f"{row['law']:44s} {row['learner']:15s} {row['loss']:9s} {row['size']:5d} {','.join(row['methods']):12s} "
            f"risk {row['coverage']:.3f} expected {row['coverage_expected']:.3f} warned {row['warned']:.2f} "
            f"width {row['width']:.3f} ({time.perf_counter() - started:.0f} s)",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps({"level": 0.95, "rows": list(rows.values())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
