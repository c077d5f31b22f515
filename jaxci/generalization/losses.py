"""Losses of predictions row by row, and what they would be if predictions knew nothing of their row."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

CUT = 0.9
"""Quantile of a split's test losses at which winsorized losses are cut."""

Rows = Callable[[np.ndarray, np.ndarray], np.ndarray]
Rate = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


@dataclasses.dataclass(frozen=True)
class Loss:
    """A loss that is averaged over rows.

    Attributes
    ----------
    name : str
    task : {"classification", "regression"}
    rows : callable
        From targets (n,) and predictions (..., n), or class codes (n,) and probabilities
        (..., n, K), to losses (..., n).
    no_information : callable
        From targets, the predictions of one model and weights of rows (n,) to the mean over all pairs
        of a target and a prediction of another row (Efron and Tibshirani 1997, eq. 27), in
        O(n K) or O(n log n).
    adjusted : callable, optional
        From losses (S, n), test masks (S, n), training counts (S, n) and targets to the losses that
        depend on the split.
    share : bool
        Whether it is 0 or 1, so that its mean is a share of rows.
    reads : {"labels", "probabilities"}
        What it reads off a classifier; labels come as indicators.
    bounds : (float, float)
        Range of a mean loss.
    offset, sign : float
        What users see is ``offset + sign * loss``, for scores of which more is better: formulas read losses.
    of_user : bool
        Whether it is a user's function, which is given rows that are tested and nothing else.
    cut : bool
        Whether losses are cut at a quantile of those of the rows that their split tests.
    """

    name: str
    task: str
    rows: Rows
    no_information: Rate
    adjusted: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None
    share: bool = False
    reads: str = "probabilities"
    bounds: tuple[float, float] = (0.0, math.inf)
    offset: float = 0.0
    sign: float = 1.0
    of_user: bool = False
    cut: bool = False

    def check(self, y: np.ndarray) -> None:
        """Refuse targets for which the loss is not defined."""
        if self.no_information is LOSSES["percentual"].no_information and np.any(y == 0):
            row = int(np.argmax(y == 0))
            raise ValueError(
                f"y must not be 0 where the loss is {self.name!r}; {int(np.sum(y == 0))} are, the first in row {row}"
            )

    def turned(self, name: str, offset: float = 0.0) -> Loss:
        """Return ``offset`` less the loss, under another name: a score, of which more is better."""
        return dataclasses.replace(self, name=name, offset=offset, sign=-1.0)

    @property
    def less_is_better(self) -> bool:
        """Whether smaller values are better."""
        return self.sign > 0

    def of_outputs(self) -> Loss:
        """Return the loss of several outputs (n, q): its mean over them."""
        rows, rate = self.rows, self.no_information
        return dataclasses.replace(
            self,
            rows=lambda y, f: rows(y, f).mean(axis=-1),
            no_information=lambda y, f, w: float(np.mean([rate(y[:, j], f[:, j], w) for j in range(y.shape[1])])),
        )

    def scaled(self, name: str, by: float) -> Loss:
        """Return ``by`` times the loss, under another name."""
        rows, rate, (low, high) = self.rows, self.no_information, self.bounds
        return dataclasses.replace(
            self,
            name=name,
            rows=lambda y, f: by * rows(y, f),
            no_information=lambda y, f, w: by * rate(y, f, w),
            bounds=(by * low, by * high),
        )


def _chosen(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    places = np.broadcast_to(y, prediction.shape[:-1])[..., None]
    return np.take_along_axis(prediction, places, axis=-1)[..., 0]


def _logs(prediction: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(prediction, np.finfo(float).eps))  # as the metric log_loss, so never infinite


def _by_class(y: np.ndarray, table: np.ndarray, weights: np.ndarray) -> float:
    """Mean over pairs of the loss ``table[i, k]`` of row i's prediction where the class is k."""
    shares = np.bincount(y, weights, table.shape[1]) / weights.sum()
    return float(weights @ table @ shares / weights.sum())


def _zero_one_table(prediction: np.ndarray) -> np.ndarray:
    return (prediction.argmax(axis=-1)[:, None] != np.arange(prediction.shape[-1])).astype(np.float64)


def _brier_table(prediction: np.ndarray) -> np.ndarray:
    return np.sum(prediction**2, axis=-1, keepdims=True) - 2 * prediction + 1


def _squared_rate(y: np.ndarray, prediction: np.ndarray, weights: np.ndarray) -> float:
    p = weights / weights.sum()
    centre = p @ y
    apart = prediction - centre
    return float(p @ (y - centre) ** 2 + p @ apart**2)


def _moments_below(y: np.ndarray, p: np.ndarray, at: np.ndarray) -> list[np.ndarray]:
    """Weighted moments 0, 1 and 2 of the targets not above each of ``at`` (m,)."""
    order = np.argsort(y, kind="stable")
    place = np.searchsorted(y[order], at, side="right")
    return [np.concatenate([[0.0], np.cumsum(p[order] * y[order] ** k)])[place] for k in range(3)]


def absolute_rate(y: np.ndarray, prediction: np.ndarray, weights: np.ndarray, scale: np.ndarray | float = 1.0) -> float:
    """Mean over pairs of ``|y - prediction| scale``, ``scale`` (n,) being of the target's row."""
    p = weights / weights.sum()
    of_target = p * scale
    mass, first, _ = _moments_below(y, of_target, prediction)
    found = prediction * mass - first + (of_target @ y - first) - prediction * (of_target.sum() - mass)
    return float(p @ found)


def winsorized_rate(y: np.ndarray, prediction: np.ndarray, weights: np.ndarray, cut: float) -> float:
    """Mean over pairs of ``min((y - prediction)**2, cut)``."""
    p = weights / weights.sum()
    centre = float(p @ y)
    y, prediction = y - centre, prediction - centre
    reach = np.sqrt(cut)
    low = _moments_below(y, p, np.nextafter(prediction - reach, -np.inf))
    high = _moments_below(y, p, prediction + reach)
    mass, first, second = (above - below for above, below in zip(high, low, strict=True))
    return float(p @ (second - 2 * prediction * first + prediction**2 * mass + cut * (1 - mass)))


def _cuts(losses: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Quantile :data:`CUT` of the losses that each split tests (S, 1)."""
    return np.nanquantile(np.where(mask, losses, np.nan), CUT, axis=1, keepdims=True)


def _winsorized(losses: np.ndarray, mask: np.ndarray, counts: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(losses, _cuts(losses, mask))


def _winsorized_model_rate(y: np.ndarray, prediction: np.ndarray, weights: np.ndarray) -> float:
    inside = weights > 0
    cut = float(np.quantile((prediction - y)[inside] ** 2, CUT))
    return winsorized_rate(y, prediction, weights, cut)


def _spread(y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the standard deviation (n - 1) of the training targets of each split (S,)."""
    total = counts.sum(axis=-1)
    mean = counts @ y / total
    squares = np.sum(counts * (y - mean[..., None]) ** 2, axis=-1)
    return np.sqrt(squares / (total - 1))


def _standardized(losses: np.ndarray, mask: np.ndarray, counts: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return losses / _spread(y, counts)[:, None]


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "zero_one",
            "classification",
            lambda y, f: (f.argmax(axis=-1) != y).astype(np.float64),
            lambda y, f, w: _by_class(y, _zero_one_table(f), w),
            share=True,
            reads="labels",
            bounds=(0.0, 1.0),
        ),
        Loss(
            "log",
            "classification",
            lambda y, f: _logs(_chosen(y, f)),
            lambda y, f, w: _by_class(y, _logs(f), w),
        ),
        Loss(
            "brier",
            "classification",
            lambda y, f: np.sum(f**2, axis=-1) - 2 * _chosen(y, f) + 1,
            lambda y, f, w: _by_class(y, _brier_table(f), w),
            bounds=(0.0, 2.0),
        ),
        Loss("squared", "regression", lambda y, f: (f - y) ** 2, _squared_rate),
        Loss("absolute", "regression", lambda y, f: np.abs(f - y), absolute_rate),
        Loss("winsorized", "regression", lambda y, f: (f - y) ** 2, _winsorized_model_rate, _winsorized, cut=True),
        Loss(
            "standardized",
            "regression",
            lambda y, f: np.abs(f - y),
            lambda y, f, w: absolute_rate(y, f, w) / float(_spread(y, w)),
            _standardized,
        ),
        Loss(
            "percentual",
            "regression",
            lambda y, f: np.abs(f - y) / np.abs(y),
            lambda y, f, w: absolute_rate(y, f, w, 1 / np.abs(y)),
        ),
    )
}
"""By name. Brier sums over classes; "winsorized" is squared error cut at the 90% quantile of the split's
test losses; "standardized" absolute error over the standard deviation of the training targets;
"percentual" absolute error over the absolute target."""


def losses_of(task: str) -> list[str]:
    """Return the names of the losses of a task."""
    return [name for name, loss in LOSSES.items() if loss.task == task]


def _renamed(loss: str, name: str) -> Loss:
    return dataclasses.replace(LOSSES[loss], name=name)


METRICS_OF_ROWS: dict[str, Callable[[int], Loss]] = {
    "accuracy": lambda n_classes: LOSSES["zero_one"].turned("accuracy", 1.0),
    "error_rate": lambda n_classes: _renamed("zero_one", "error_rate"),
    "log_loss": lambda n_classes: _renamed("log", "log_loss"),
    "brier_score_loss": lambda n_classes: LOSSES["brier"].scaled("brier_score_loss", 0.5 if n_classes == 2 else 1.0),
    "mean_squared_error": lambda n_classes: _renamed("squared", "mean_squared_error"),
    "mean_absolute_error": lambda n_classes: _renamed("absolute", "mean_absolute_error"),
    "mean_absolute_percentage_error": lambda n_classes: _renamed("percentual", "mean_absolute_percentage_error"),
}
"""Metrics that are means over rows, as losses, by the number of classes."""


def loss_of_function(function: Callable[..., Any], classes: np.ndarray | None) -> Loss:
    """Return the loss of a user's function of targets and predictions (m,), or labels, that gives a number a row."""
    name = getattr(function, "__name__", type(function).__name__)

    def one(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        if classes is not None:
            y, prediction = classes[y], classes[prediction.argmax(axis=-1)]
        found = np.asarray(function(y, prediction))
        if found.shape != (len(y),) or found.dtype.kind not in "biuf":
            raise TypeError(
                f"loss={name!r} must return one number a row, an array of shape ({len(y)},); got shape {found.shape} "
                f"of {found.dtype} (a function that returns one number is a metric: pass scoring=make_scorer({name}))"
            )
        return found.astype(np.float64)

    def rows(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        ends = 1 if classes is None else 2
        flat = predictions.reshape(-1, *predictions.shape[-ends:])
        return np.stack([one(y, each) for each in flat]).reshape(*predictions.shape[:-ends], len(y))

    def rate(y: np.ndarray, prediction: np.ndarray, weights: np.ndarray) -> float:
        pairs = (weights * np.roll(weights, k) @ one(y, np.roll(prediction, k, axis=0)) for k in range(len(y)))
        return float(sum(pairs) / weights.sum() ** 2)

    task = "regression" if classes is None else "classification"
    return Loss(name, task, rows, rate, reads="labels", bounds=(-math.inf, math.inf), of_user=True)
