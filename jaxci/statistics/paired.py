"""Differences ``a - b`` of one statistic between two models on the same observations."""

from __future__ import annotations

from typing import Any, Protocol

import jax
import numpy as np

from jaxci.records import record, static
from jaxci.statistics.base import Cells, Features, LinearStatistic, Sample, Statistic


def _other(sample: Sample) -> Sample:
    assert sample.other is not None
    return sample.other


class _HasRowValues(Protocol):
    def row_values(self, sample: Sample) -> np.ndarray: ...


def _difference_bounds(statistic: Statistic) -> tuple[float, float]:
    low, high = statistic.bounds
    return low - high, high - low


@record
class PairedFeatures:
    """Features of both models side by side; the first ``split`` columns belong to the first."""

    design: Any
    first: Features
    second: Features
    split: int = static()

    def without_rows(self) -> PairedFeatures:
        """Keep only what ``from_sums`` reads."""
        return PairedFeatures(None, self.first, self.second, self.split)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weighted sums (k,) for ``weights`` (n,)."""
        return weights @ self.design


@record
class PairedCells:
    """Joint cells of both models: a table of the first model's cells by the second's."""

    joint: Cells
    first: Cells
    second: Cells

    @property
    def codes(self) -> Any:
        """Joint cell of every observation (n,)."""
        return self.joint.codes

    @property
    def size(self) -> int:
        """Number of joint cells."""
        return self.joint.size

    def weights_of(self, n: int, row_weights: np.ndarray | None) -> np.ndarray:
        """Weight per joint cell of the first ``n`` rows."""
        return self.joint.weights_of(n, row_weights)

    def without_rows(self) -> PairedCells:
        """Keep only what ``from_sums`` reads."""
        return PairedCells(self.joint.without_rows(), self.first, self.second)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weight per joint cell for ``weights`` (n,)."""
        return self.joint.sums(weights)


@record
class PairedLinear(LinearStatistic):
    """Difference of a linear statistic (moments or cells) between two models."""

    statistic: Any

    inputs = ()
    task = "paired"

    @property
    def road(self) -> str:  # type: ignore[override]
        """Road of the statistic."""
        return self.statistic.road

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the difference."""
        return _difference_bounds(self.statistic)

    def prepare(self, sample: Sample) -> PairedFeatures | PairedCells:
        """Join what both models need."""
        first, second = self.statistic.prepare(sample), self.statistic.prepare(_other(sample))
        if isinstance(first, Features):
            design = np.concatenate([first.design, second.design], axis=1)
            return PairedFeatures(design, first.without_rows(), second.without_rows(), first.size)
        flat = first.codes.astype(np.int64) * second.size + second.codes
        joint = Cells.observed(flat, (first.size, second.size))
        return PairedCells(joint, first.without_rows(), second.without_rows())

    def from_sums(self, prepared: PairedFeatures | PairedCells, sums: jax.Array) -> jax.Array:
        """Return the difference from joint sums."""
        if isinstance(prepared, PairedFeatures):
            first, second = sums[: prepared.split], sums[prepared.split :]
        else:
            table = prepared.joint.table(sums)
            first, second = table.sum(axis=1), table.sum(axis=0)
        a = self.statistic.from_sums(prepared.first, first)
        return a - self.statistic.from_sums(prepared.second, second)


@record
class PairedMean(LinearStatistic):
    """Difference of a mean of per-observation values: itself the mean of their differences."""

    statistic: Any

    inputs = ()
    task = "paired"
    road = "moments"
    link = "identity"

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the difference."""
        return _difference_bounds(self.statistic)

    def row_values(self, sample: Sample) -> np.ndarray:
        """Differences of the per-observation values (n,)."""
        inner: _HasRowValues = self.statistic
        return inner.row_values(sample) - inner.row_values(_other(sample))

    def prepare(self, sample: Sample) -> Features:
        """Centre the differences."""
        values = self.row_values(sample)
        centre = float(np.mean(values))
        return Features(np.stack([np.ones_like(values), values - centre], axis=1), (centre,))

    def from_sums(self, prepared: Features, sums: jax.Array) -> jax.Array:
        """Return the mean difference."""
        return prepared.constants[0] + sums[1] / sums[0]


@record
class PairedGeneral(Statistic):
    """Difference of any other statistic between two models."""

    statistic: Any

    inputs = ()
    task = "paired"

    @property
    def road(self) -> str:  # type: ignore[override]
        """Road of the statistic."""
        return self.statistic.road

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the statistic is differentiable."""
        return self.statistic.smooth

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the difference."""
        return _difference_bounds(self.statistic)

    def prepare(self, sample: Sample) -> tuple[Any, Any]:
        """Prepare both models."""
        return self.statistic.prepare(sample), self.statistic.prepare(_other(sample))

    def value(self, prepared: tuple[Any, Any], weights: jax.Array) -> jax.Array:
        """Return the difference under ``weights`` (n,)."""
        a = self.statistic.value(prepared[0], weights)
        return a - self.statistic.value(prepared[1], weights)

    def sort_keys(self, sample: Sample) -> np.ndarray | None:
        """Order of the first model."""
        return self.statistic.sort_keys(sample)


def paired_difference(statistic: Statistic) -> Statistic:
    """Return the statistic ``a - b`` for two models' predictions of the same observations."""
    if hasattr(statistic, "row_values") and getattr(statistic, "link", "identity") == "identity":
        return PairedMean(statistic)
    if isinstance(statistic, LinearStatistic):
        return PairedLinear(statistic)
    return PairedGeneral(statistic)
