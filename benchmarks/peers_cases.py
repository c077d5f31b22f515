"""Cases of ``peers.py``: their data, and the interval ends that a right answer has.

NumPy and SciPy alone, nothing of jaxci: ends of means and ratios come from the characteristic function of the bootstrap
law, those of tables of counts from millions of multinomial draws, those of areas from resamples of sorted scores.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

B = 9_999
SIX = ("accuracy", "balanced_accuracy", "f1", "precision", "recall", "matthews_corrcoef")
TWELVE = (
    *("accuracy", "balanced_accuracy", "f1_macro", "f1_weighted", "precision_macro", "recall_macro"),
    *("jaccard_macro", "matthews_corrcoef", "cohen_kappa_score", "roc_auc_ovr", "average_precision_macro", "log_loss"),
)
SURGERY = "lapgyn4_surgical_actions_test.csv"
SPOOFING = "cm_fused_dev2019.csv"
GAMES = "march_madness_in_game_men.csv"


@dataclass(frozen=True)
class Case:
    """What is asked: a statistic, a method and data, made up (n) or real (file)."""

    name: str
    title: str
    statistic: str
    method: str
    n: int
    file: str | None = None
    goal: float | None = None  # seconds of jaxci, of cases without peers

    @property
    def alone(self) -> bool:
        """Whether jaxci runs it alone."""
        return self.goal is not None


CASES = (
    Case("mean-bca-1e3", "mean, BCa, n = 1,000", "mean", "bca", 1_000),
    Case("mean-1e5", "mean, percentile, n = 10^5", "mean", "percentile", 10**5),
    Case("mean-1e6", "mean, percentile, n = 10^6", "mean", "percentile", 10**6),
    Case("brier-1e5", "Brier score, percentile, n = 10^5", "brier", "percentile", 10**5),
    Case("ratio-bca-1e5", "ratio of sums, BCa, n = 10^5", "ratio", "bca", 10**5),
    Case("cells-1e4", "six metrics of labels, one call, n = 10^4", "cells", "percentile", 10**4),
    Case("cells-1e6", "six metrics of labels, one call, n = 10^6", "cells", "percentile", 10**6),
    Case("auc-1e4", "ROC AUC, n = 10^4", "roc_auc", "percentile", 10**4),
    Case("ap-1e4", "average precision, n = 10^4", "average_precision", "percentile", 10**4),
    Case("auc-real", "ROC AUC, 24,844 real scores", "roc_auc", "percentile", 24_844, SPOOFING),
    Case("ap-real", "average precision, 24,844 real scores", "average_precision", "percentile", 24_844, SPOOFING),
    Case("f1-macro-real", "macro F1, 12,270 real rows, 8 classes", "f1_macro", "percentile", 12_270, SURGERY),
    Case("evaluate-clusters", "12 metrics, 12,270 x 8 scores, 69 clusters", "evaluate", "auto", 12_270, SURGERY, 8.0),
    Case("evaluate-games", "default metrics, 68,513 rows, 401 clusters", "evaluate", "auto", 68_513, GAMES, 8.0),
    Case("command-cold", "first `jaxci evaluate`, 200 rows, no cache", "command", "auto", 200, None, 4.0),
    Case("command-again", "the same again, the command's own cache", "command", "auto", 200, None, 2.0),
)
CURVES = {
    "curve-n": [(n, B) for n in (10**3, 10**4, 10**5, 10**6)],
    "curve-B": [(10**4, b) for b in (10**2, 10**3, 10**4, 10**5)],
}


# --- data -------------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: np.array([row[j] for row in rows[1:]]) for j, name in enumerate(rows[0])}


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def data_of(case: Case, refdata: Path) -> dict[str, np.ndarray]:
    """Columns of the case, the same in every process."""
    if case.file == SPOOFING:
        columns = read(refdata / case.file)
        return {"y": (columns["key"] == "bonafide").astype(np.int64), "score": columns["score"].astype(float)}
    if case.file == SURGERY:
        columns = read(refdata / case.file)
        logits = np.stack([columns[f"logit_{k}"].astype(float) for k in range(8)], axis=1)
        groups = np.array([name.split("_c_")[1].split("_")[0] for name in columns["sample_id"]])
        score = softmax(logits)
        return {"y": columns["target"].astype(np.int64), "p": score.argmax(axis=1), "score": score, "groups": groups}
    if case.file == GAMES:
        columns = read(refdata / case.file)
        groups = np.char.add(np.char.add(columns["season"], columns["team1"]), columns["team2"])
        score = columns["prob1"].astype(float)
        y = columns["prob1_outcome"].astype(np.int64)
        return {"y": y, "p": (score >= 0.5).astype(np.int64), "score": score, "groups": groups}
    rng = np.random.default_rng(0)
    if case.statistic == "mean":
        return {"x": rng.lognormal(size=case.n)}
    if case.statistic == "ratio":
        return {"x": rng.lognormal(size=case.n), "weight": rng.exponential(size=case.n)}
    y = (rng.random(case.n) < 0.4).astype(np.int64)
    score = 1 / (1 + np.exp(-rng.normal(2.0 * y - 1, 1.5)))
    return {"y": y, "p": (score > 0.5).astype(np.int64), "score": score}


def fingerprint(data: dict[str, np.ndarray]) -> str:
    whole = hashlib.sha256()
    for name in sorted(data):
        whole.update(name.encode() + np.ascontiguousarray(data[name]).tobytes())
    return whole.hexdigest()[:16]


# --- statistics -------------------------------------------------------------------------------------


def six_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return the six metrics from counts of (true, predicted) = 00, 01, 10, 11, which are the last axis."""
    tn, fp, fn, tp = np.moveaxis(counts.astype(float), -1, 0)
    recall, precision = tp / (tp + fn), tp / (tp + fp)
    mcc = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    f1 = 2 * tp / (2 * tp + fp + fn)
    return np.stack([(tp + tn) / (tp + tn + fp + fn), (recall + tn / (tn + fp)) / 2, f1, precision, recall, mcc])


def macro_f1_of_counts(counts: np.ndarray, classes: int = 8) -> np.ndarray:
    tables = counts.reshape(*counts.shape[:-1], classes, classes).astype(float)
    hits = np.diagonal(tables, axis1=-2, axis2=-1)
    return np.mean(2 * hits / (tables.sum(-1) + tables.sum(-2)), axis=-1)


def six_of_codes(codes: np.ndarray) -> np.ndarray:
    return six_of_counts(np.bincount(codes, minlength=4))


def macro_f1_of_codes(codes: np.ndarray) -> float:
    return float(macro_f1_of_counts(np.bincount(codes, minlength=64)))


def six_of_columns(y: np.ndarray, p: np.ndarray, axis: int = -1) -> np.ndarray:
    pairs = [(a, b) for a in (0, 1) for b in (0, 1)]
    return six_of_counts(np.stack([np.sum((y == a) & (p == b), axis=axis) for a, b in pairs], axis=-1))


def macro_f1_of_columns(y: np.ndarray, p: np.ndarray, axis: int = -1, classes: int = 8) -> np.ndarray:
    def f1(k: int) -> np.ndarray:
        true, taken = y == k, p == k
        return 2 * np.sum(true & taken, axis=axis) / (np.sum(true, axis=axis) + np.sum(taken, axis=axis))

    return np.mean([f1(k) for k in range(classes)], axis=0)


# --- right answers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """Ends of the 95% interval of infinitely many resamples, or of ``draws`` of them, and the standard error."""

    ends: dict[str, tuple[float, float]]
    errors: dict[str, float]
    draws: int | None
    step: float  # between values that the statistic can have
    source: str


class LawOfMean:
    """Distribution function of the mean of a resample, by inversion of its characteristic function."""

    WIDTH = 24.0  # standard errors from which on the law is taken for nothing
    FREQUENCIES = 48

    def __init__(self, values: np.ndarray) -> None:
        n, self.center = len(values), float(values.mean())
        self.error = float(values.std()) / np.sqrt(n)
        self.t = (np.arange(self.FREQUENCIES) + 0.5) * 2 * np.pi / self.WIDTH
        steps = (values - self.center) / (n * self.error)
        self.phi = np.array([np.mean(np.exp(1j * t * steps)) ** n for t in self.t])

    def below(self, value: float) -> float:
        """Return the probability of at most this value."""
        turned = np.exp(-1j * self.t * (value - self.center) / self.error) * self.phi
        return float(0.5 - np.sum(turned.imag / self.t) * 2 / self.WIDTH)


def adjusted(below: float, acceleration: float) -> np.ndarray:
    """Probabilities at which BCa reads a law of which a share lies below the estimate."""
    from scipy.stats import norm

    z0, z = norm.ppf(below), norm.ppf([0.025, 0.975])
    return norm.cdf(z0 + (z0 + z) / (1 - acceleration * (z0 + z)))


def acceleration_of(jackknifed: np.ndarray) -> float:
    away = jackknifed.mean() - jackknifed
    return float(np.sum(away**3) / (6 * np.sum(away**2) ** 1.5))


def solved(below: Callable[[float], float], levels: np.ndarray, estimate: float, error: float) -> tuple[float, float]:
    from scipy.optimize import brentq

    low, high = (
        float(brentq(lambda r, a=a: below(r) - a, estimate - 8 * error, estimate + 8 * error, xtol=1e-8 * error))
        for a in levels
    )
    return low, high


def of_mean(values: np.ndarray, method: str, name: str) -> Reference:
    law, n, levels = LawOfMean(values), len(values), np.array([0.025, 0.975])
    if method == "bca":
        levels = adjusted(law.below(law.center), acceleration_of((values.sum() - values) / (n - 1)))
    ends = solved(law.below, levels, law.center, law.error)
    return Reference({name: ends}, {name: law.error}, None, 0.0, "characteristic function")


def of_ratio(top: np.ndarray, bottom: np.ndarray) -> Reference:
    """Use that a ratio is at most r where the sum of top - r bottom is at most 0."""
    estimate = float(top.sum() / bottom.sum())
    error = float(np.sqrt(np.sum((top - estimate * bottom) ** 2)) / bottom.sum())

    def below(r: float) -> float:
        return LawOfMean(top - r * bottom).below(0.0)

    jackknifed = (top.sum() - top) / (bottom.sum() - bottom)
    ends = solved(below, adjusted(below(estimate), acceleration_of(jackknifed)), estimate, error)
    return Reference({"ratio": ends}, {"ratio": error}, None, 0.0, "characteristic function")


def of_draws(values: dict[str, np.ndarray], step: float, source: str) -> Reference:
    ends = {name: tuple(float(end) for end in np.quantile(v, [0.025, 0.975])) for name, v in values.items()}
    errors = {name: float(v.std()) for name, v in values.items()}
    return Reference(ends, errors, len(next(iter(values.values()))), step, source)


def of_counts(codes: np.ndarray, cells: int, function: Callable, names: tuple[str, ...], draws: int) -> Reference:
    rng, counts = np.random.default_rng(12), np.bincount(codes, minlength=cells)
    parts = []
    for start in range(0, draws, 50_000):
        tables = rng.multinomial(len(codes), counts / len(codes), size=min(50_000, draws - start))
        parts.append(np.atleast_2d(function(tables)))
    found = dict(zip(names, np.concatenate(parts, axis=1), strict=True))
    return of_draws(found, 1 / len(codes), f"{draws:,} multinomial tables")


def of_scores(y: np.ndarray, score: np.ndarray, draws: int) -> dict[str, Reference]:
    """Areas of resamples from how often each pair of label and distinct score was drawn."""
    distinct, place = np.unique(-score, return_inverse=True)
    m, n, rng = len(distinct), len(y), np.random.default_rng(11)
    codes = (y * m + place).astype(np.intp)
    areas, precisions = np.empty(draws), np.empty(draws)
    for i in range(draws):
        drawn = np.bincount(codes[rng.integers(0, n, n, dtype=np.int32)], minlength=2 * m)
        wrong, right = drawn[:m], drawn[m:]
        fp, tp = np.cumsum(wrong), np.cumsum(right)
        areas[i] = np.sum(right * (fp[-1] - fp + 0.5 * wrong)) / (float(fp[-1]) * tp[-1])
        precisions[i] = np.sum(right * (tp / np.maximum(tp + fp, 1))) / tp[-1]
    source = f"{draws:,} resamples"
    both = {"roc_auc": areas, "average_precision": precisions}
    return {name: of_draws({name: values}, 0.0, source) for name, values in both.items()}


AREAS: dict[tuple[str, int], dict[str, Reference]] = {}
"""Right answers of scores that were found before: two cases ask for the same."""


def reference_of(case: Case, data: dict[str, np.ndarray], draws: int) -> Reference:
    """Return the right answer: exact where its law is known, else from ``draws`` resamples or many more tables."""
    if case.statistic == "mean":
        return of_mean(data["x"], case.method, "mean")
    if case.statistic == "brier":
        return of_mean((data["score"] - data["y"]) ** 2, case.method, "brier")
    if case.statistic == "ratio":
        return of_ratio(data["x"] * data["weight"], data["weight"])
    if case.statistic == "cells":
        return of_counts(2 * data["y"] + data["p"], 4, six_of_counts, SIX, 100 * draws)
    if case.statistic == "f1_macro":
        return of_counts(8 * data["y"] + data["p"], 64, macro_f1_of_counts, ("f1_macro",), 10 * draws)
    key = (fingerprint(data), draws)
    if key not in AREAS:
        AREAS[key] = of_scores(data["y"], data["score"], draws)
    return AREAS[key][case.statistic]


def verdict(
    ends: dict[str, tuple[float, float]], reference: Reference, method: str, draws: int | None
) -> tuple[float, float, str]:
    """Return the largest distance of an end in standard errors, four times its Monte-Carlo error, and what follows.

    An end is a quantile of ``draws`` values with an error of sqrt(p (1 - p) / draws) over the density there; BCa's
    moves by twice its bias correction besides, whose own error is sqrt(pi / 2 / draws).
    """
    variance = 0.025 * 0.975 / 0.058445**2 + (4 * np.pi / 2 if method == "bca" else 0.0)
    chance = 4 * np.sqrt(variance * ((1 / draws if draws else 0) + (1 / reference.draws if reference.draws else 0)))
    far, step = 0.0, 0.0
    for name, found in ends.items():
        error = reference.errors[name]
        away = max(abs(a - b) for a, b in zip(found, reference.ends[name], strict=True)) / error
        if not away <= far:
            far, step = away, reference.step / error
    if far <= 0.01 + step:
        return far, chance, "right"
    return far, chance, "within Monte-Carlo error" if far <= chance + step else "wrong"
