"""What judges predictions: losses of rows, metrics of all rows that a split tests, and scorers of scikit-learn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.generalization.losses import Loss
from jaxci.statistics.base import Statistic
from jaxci.statistics.current import current, valued
from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.sample import Sample


@dataclasses.dataclass(frozen=True)
class Metric:
    """A statistic of the rows that a split tests, times ``sign``; ``loss``: less of the statistic is better.

    Of two classes it reads the code ``positive`` as the positive one.
    """

    name: str
    statistic: Statistic
    sign: float = 1.0
    loss: bool = False
    positive: int = 1

    @property
    def reads(self) -> str:
        """What it reads off a classifier."""
        if isinstance(self.statistic, WeightedFunction) or self.statistic.needs_probabilities:
            return "probabilities"
        return "scores" if "y_score" in self.statistic.inputs else "labels"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of its values."""
        low, high = sorted(self.sign * end for end in self.statistic.bounds)
        return low, high

    @property
    def less_is_better(self) -> bool:
        """Whether smaller values are better."""
        return (self.loss or self.statistic.loss) == (self.sign > 0)

    def of(self, y: np.ndarray, prediction: np.ndarray, n_classes: int, weights: np.ndarray) -> float:
        """Return its value for predictions (m,), or probabilities (m, K), of targets or class codes (m,)."""
        labels = prediction.argmax(axis=1) if n_classes else prediction
        score = prediction[:, self.positive] if n_classes == 2 else prediction
        if n_classes == 2 and self.positive == 0:
            y, labels = 1 - y, 1 - labels
        if isinstance(self.statistic, WeightedFunction):
            sample = Sample(columns=(y, score if n_classes else prediction))
        elif n_classes:
            truth, told = (codes.astype(np.int32) for codes in (y, labels))
            sample = Sample(y_true=truth, y_pred=told, y_score=score, n_classes=n_classes)
        else:
            sample = Sample(y_true=y, y_pred=prediction)
        with jax.enable_x64(True):
            whole = sample.padded()
            padded = np.concatenate([weights, np.zeros(whole.padding)])
            prepared = self.statistic.prepare(whole)
            now = current(self.statistic, prepared, len(padded))
            return self.sign * float(_compiled(now, prepared, jnp.asarray(padded)))


_compiled = jax.jit(valued)


@dataclasses.dataclass(frozen=True)
class Scorer:
    """A function ``f(estimator, X, y)`` of a fitted estimator and rows that it did not see, as scikit-learn's are."""

    name: str
    call: Callable[..., Any]
    reads: str = "labels"
    bounds: tuple[float, float] = (-np.inf, np.inf)
    less_is_better: bool = False

    def of(self, model: Any, X: Any, y: Any, weights: np.ndarray | None) -> float:
        """Return the score, if it is one number."""
        more = {} if weights is None else {"sample_weight": weights}
        found = np.asarray(self.call(model, X, y, **more))
        if found.ndim or found.dtype.kind not in "biuf":
            raise TypeError(f"scoring={self.name!r} must return one number; got shape {found.shape} of {found.dtype}")
        return float(found)


Score = Loss | Metric | Scorer
