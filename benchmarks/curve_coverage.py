"""How often bands of curves, and the intervals of what is read off them, hold the truth.

Run ``python benchmarks/curve_coverage.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Binormal scores, whose curves are known; in clusters of ten rows scores correlate by .3. Nominal 95%.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, special, stats
from simulated import averaged, simulate

from jaxci import curves
from jaxci.curves import CurveResult

RESAMPLES = 1999
CLUSTER, ALIKE = 10, 0.3
"""Rows of a cluster, and how their scores correlate."""
DECIDED = (0.2, 0.5)
"""Threshold probabilities whose net benefits have intervals of their own."""


class Design(NamedTuple):
    """A curve, or the difference of two of equal areas; rows, share of positives, area; clusters, and weights."""

    kind: str
    n: int
    share: float
    area: float
    models: int = 1
    clustered: bool = False
    weights: str = ""

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray], dict[str, Any]]:
        """Return labels (n,), scores of each model (n,), and the clusters or the weights of rows."""
        y = np.zeros(self.n, int)
        while min(y.sum(), self.n - y.sum()) < 3:
            y = (rng.random(self.n) < self.share).astype(int)
        groups = np.arange(self.n) // CLUSTER
        scores = []
        for _ in range(self.models):
            noise = rng.normal(size=self.n)
            if self.clustered:
                noise = np.sqrt(1 - ALIKE) * noise + np.sqrt(ALIKE) * rng.normal(size=groups[-1] + 1)[groups]
            scores.append(noise + self.apart * y)
        told: dict[str, Any] = {"groups": groups} if self.clustered else {}
        if self.weights:
            told["sample_weight"] = getattr(rng, self.weights)(size=self.n)
        return y, scores, told

    @property
    def apart(self) -> float:
        """Distance of the means of the classes."""
        return float(np.sqrt(2) * stats.norm.ppf(self.area))

    @property
    def prior(self) -> float:
        """Log odds of a positive."""
        return float(special.logit(self.share))

    def odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log odds that a row of these scores is positive."""
        return self.apart * scores - self.apart**2 / 2 + self.prior

    def curve(self, x: Any) -> np.ndarray:
        """Return the true curve at ``x``: of calibrated probabilities the diagonal."""
        if self.kind == "calibration":
            return np.asarray(x)
        if self.kind == "roc":
            return stats.norm.sf(stats.norm.ppf(x) - self.apart)
        if self.kind == "precision_recall":
            hits = self.share * x
            return hits / (hits + (1 - self.share) * stats.norm.sf(self.apart + stats.norm.isf(x)))
        cut = (special.logit(x) - self.prior + self.apart**2 / 2) / self.apart
        alarms = (1 - self.share) * stats.norm.sf(cut)
        return self.share * stats.norm.sf(cut - self.apart) - alarms * x / (1 - x)

    def read_off(self) -> Mapping[str, float]:
        """Return true values of what is read off, by name."""
        if self.kind == "roc":
            at = float(self.curve(0.9))
            return {"sensitivity at specificity 0.9": at, "specificity at sensitivity 0.9": at, "area": self.area}
        if self.kind == "precision_recall":
            average = integrate.quad(self.curve, 0, 1)[0]
            return {"precision at recall 0.9": float(self.curve(0.9)), "average precision": average}
        if self.kind == "calibration":
            return {"slope": 1.0, "intercept": 0.0}
        return {f"net benefit at {x:g}": float(self.curve(x)) for x in DECIDED}


def drawn(design: Design, rng: np.random.Generator, seed: int) -> tuple[CurveResult, np.ndarray]:
    """Return the curve of one data set, or the difference of two, and the true values of its points."""
    y, scores, told = design.drawn(rng)
    given = scores if design.kind in ("roc", "precision_recall") else [special.expit(design.odds(x)) for x in scores]
    options: dict[str, Any] = {"n_resamples": RESAMPLES, "rng": seed, **told}
    if design.kind == "decision":
        options["thresholds"] = DECIDED
    if design.models == 2:
        found = curves.compare(design.kind, y, *given, **options)
        return found, np.zeros(len(found.x))
    verb: Callable[..., CurveResult] = getattr(curves, design.kind)
    found = verb(y, given[0], **options)
    return found, design.curve(found.x)


def simulated(design: Design, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage and mean width of the band, and of what is read off, and how often there was a warning."""
    held: dict[str, dict[str, list[tuple[bool, float, bool]]]] = {}
    for number in range(sets):
        found, true = drawn(design, np.random.default_rng([number, design.n]), number)

        def judge(name: str, true: Any, bounds: Any, warned: bool = bool(found.warnings)) -> None:
            low, high = bounds
            one = bool(np.all((low <= true) & (true <= high))), float(np.mean(high - low)), warned
            held.setdefault(name, {}).setdefault("95%", []).append(one)

        judge("curve", true, found.simultaneous)
        for name, value in design.read_off().items():
            (row,) = (row for row in found if row.statistic.startswith(name))
            judge(name, 0.0 if design.models == 2 else value, np.array(row.confidence_interval))
    return averaged(held)


DESIGNS = (
    Design("roc", 60, 0.1, 0.8),
    Design("roc", 200, 0.1, 0.8),
    Design("roc", 100, 0.5, 0.9),
    Design("roc", 100, 0.5, 0.98),
    Design("roc", 200, 0.2, 0.95),
    Design("roc", 300, 0.3, 0.9, clustered=True),
    Design("precision_recall", 60, 0.1, 0.8),
    Design("precision_recall", 200, 0.1, 0.8),
    Design("precision_recall", 100, 0.3, 0.7),
    Design("precision_recall", 200, 0.2, 0.95),
    Design("calibration", 200, 0.2, 0.95),
    Design("decision", 100, 0.5, 0.9),
    Design("decision", 100, 0.5, 0.98),
    Design("decision", 200, 0.2, 0.95),
    Design("decision", 300, 0.3, 0.9, clustered=True),
    Design("decision", 100, 0.3, 0.9, weights="lognormal"),
    Design("decision", 300, 0.1, 0.9, weights="exponential"),
    Design("roc", 200, 0.2, 0.95, models=2),
    Design("roc", 150, 0.3, 0.9, models=2, clustered=True),
    Design("precision_recall", 200, 0.1, 0.8, models=2),
    Design("decision", 150, 0.3, 0.9, models=2, clustered=True),
    Design("decision", 400, 0.1, 0.9, models=2, clustered=True),
)

if __name__ == "__main__":
    simulate(__doc__, DESIGNS, 200, simulated, "coverage, width, warned")
