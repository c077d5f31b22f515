"""Simulate intervals of ranks and means of which samples may show no error of a kind, by ``interval``.

Run ``python benchmarks/unseen_rows.py``; ``--json FILE`` keeps the numbers, ``--sets N`` sets how many data sets a
design has. So many rows of a kind are expected; ``cards`` is ``proper_bayesian`` with their mass. Widths are over those
that a normal interval needs, ``told`` is the share of rows with a remark on their coverage. Nominal 95%.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from simulated import over_needed, simulate

import jaxci
from jaxci.intervals.bayesian import ProperBayesian

MANY = 400_000


class Design(NamedTuple):
    """What varies: the metric, rows, classes, the share of the rarest, and how many errors of which kind are expected.

    Of two classes the scores do not overlap but for rows of a kind at the "far" end, or "near", among the others; of
    several a row has "another" class on top, or is predicted "uniformly" wrong, or as the "rarest". Values (of no
    classes) lie near .9, by a beta law with so many times 100 as its sum of parameters, but for some at 0.
    """

    metric: str
    n: int
    classes: int
    rarest: float
    expected: float
    kind: str


DESIGNS = (
    Design("roc_auc", 30, 2, 0.5, 2, "far positives"),
    Design("roc_auc", 100, 2, 0.5, 2, "far"),
    Design("roc_auc", 200, 2, 0.5, 2, "far"),
    Design("roc_auc", 500, 2, 0.1, 2, "far positives"),
    Design("roc_auc", 100, 2, 0.5, 2, "near"),
    Design("roc_auc", 100, 2, 0.1, 2, "far positives"),
    Design("roc_auc", 100, 2, 0.1, 3, "far positives"),
    Design("roc_auc", 60, 2, 0.2, 2, "far positives"),
    Design("average_precision", 100, 2, 0.5, 2, "far"),
    Design("average_precision", 100, 2, 0.5, 2, "near"),
    Design("roc_auc_ovr", 500, 3, 1 / 3, 1, "another"),
    Design("roc_auc_ovr", 500, 3, 1 / 3, 2, "another"),
    Design("roc_auc_ovr", 500, 3, 1 / 3, 4, "another"),
    Design("average_precision_macro", 500, 3, 1 / 3, 1, "another"),
    Design("average_precision_macro", 500, 3, 1 / 3, 4, "another"),
    Design("f1_macro", 500, 3, 0.06, 3, "uniformly"),
    Design("f1_macro", 500, 3, 0.06, 2, "rarest"),
    Design("f1_macro", 500, 5, 0.06, 2, "rarest"),
    Design("f1_macro", 200, 3, 0.1, 2, "rarest"),
    Design("f1_macro", 400, 4, 0.05, 6, "uniformly"),
    Design("f1_macro", 300, 3, 0.15, 6, "uniformly"),
    Design("mean", 150, 0, 0.0, 2, "0.6"),
    Design("mean", 200, 0, 0.0, 1, "2"),
    Design("mean", 200, 0, 0.0, 2, "2"),
    Design("mean", 1_000, 0, 0.0, 2, "3"),
    Design("mean", 200, 0, 0.0, 0, "2"),
)


def scored(design: Design, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (n,) and scores of a model that ranks all rows right but a few."""
    if design.classes > 2:
        y = rng.integers(design.classes, size=n)
        wrong = rng.random(n) < design.expected / design.n
        top = np.where(wrong, (y + rng.integers(1, design.classes, size=n)) % design.classes, y)
        logits = 0.5 * rng.normal(size=(n, design.classes))
        logits[np.arange(n), top] += 6
        scores = np.exp(logits)
        return y, scores / scores.sum(axis=1, keepdims=True)
    y = (rng.random(n) < design.rarest).astype(int)
    y[:4] = (0, 0, 1, 1)
    share = design.expected / design.n / (design.rarest if "positives" in design.kind else 1.0)
    wrong = (rng.random(n) < share) & ((y == 1) | ("positives" not in design.kind))
    elsewhere = 1 - y if design.kind == "near" else np.where(y == 1, -2, 3)
    return y, np.where(wrong, elsewhere, y) + rng.random(n)


def true_area(y: np.ndarray, score: np.ndarray, *, precision: bool) -> float:
    """Return the area, or average precision, of many rows."""
    positive = y == 1
    if precision:
        order = np.argsort(-score)
        hits = positive[order]
        return float((np.cumsum(hits) / np.arange(1, len(y) + 1))[hits].mean())
    ranks = stats.rankdata(score)
    m = positive.sum()
    return float((ranks[positive].mean() - (m + 1) / 2) / (len(y) - m))


def table(design: Design) -> np.ndarray:
    """Return the law (K, K) of true and predicted classes, the last of which is the rarest."""
    k, share = design.classes, design.expected / design.n
    law = np.diag(np.r_[np.full(k - 1, (1 - design.rarest) / (k - 1)), design.rarest])
    if design.kind == "rarest":
        law[0, [0, -1, 1]] += (-share - 0.01, share, 0.01)
        return law
    return (1 - share) * law + share * np.diag(law)[:, None] * (1 - np.eye(k)) / (k - 1)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, relative width and the share told, of the default and of the mass of the cards."""
    rng, k = np.random.default_rng(5), design.classes
    methods: dict[str, Any] = {"auto": "auto", "cards": "proper_bayesian"}
    if design.metric == "mean":
        true = 0.9 * (1 - design.expected / design.n)
        methods["at 0"] = ProperBayesian(mass=0.75, bounded_reach=50)
    elif design.metric == "f1_macro":
        law = table(design)
        true = float(np.mean(2 * np.diag(law) / (law.sum(axis=0) + law.sum(axis=1))))
    else:
        y, scores = scored(design, MANY, rng)
        columns = [(y, scores)] if k == 2 else [(y == c, scores[:, c]) for c in range(k)]
        true = float(np.mean([true_area(*one, precision="precision" in design.metric) for one in columns]))
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {design.metric: {name: [] for name in methods}}
    estimates: dict[str, list[float]] = {design.metric: []}
    options: dict[str, Any] = {"labels": list(range(k))} if k else {"bounds": (0, 1)}
    for number in range(sets):
        if design.metric == "mean":
            size = 100 * float(design.kind)
            values = rng.beta(0.9 * size, 0.1 * size, size=design.n)
            data = (np.where(rng.random(design.n) < design.expected / design.n, 0.0, values),)
        elif design.metric == "f1_macro":
            data = np.divmod(np.repeat(np.arange(k * k), rng.multinomial(design.n, law.ravel())), k)
        else:
            data = scored(design, design.n, rng)
        for name, method in methods.items():
            found = jaxci.interval(design.metric, *data, method=method, n_resamples=999, rng=number, **options)
            low, high = found.confidence_interval
            told = any("covered" in text for text in found.warnings)
            held[design.metric][name].append((low <= true <= high, high - low, told))
        estimates[design.metric].append(found.estimate)
    return over_needed(held, estimates)


if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 300, simulated, "coverage, width over needed, told")
