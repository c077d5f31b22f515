"""Differences ``a - b`` of one statistic between two models on the same observations."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.records import record, static
from jaxci.special import namespace
from jaxci.statistics.base import MomentStatistic, OpposedStatistic, Statistic, TableStatistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import MeanStatistic, is_mean
from jaxci.statistics.sums import Bank, Cells, CellsOfUnits, Features


def _other(sample: Sample) -> Sample:
    assert sample.other is not None
    return sample.other


class Paired(Statistic):
    """The difference of ``statistic`` between two models: what it is, is known of the statistic."""

    statistic: Any
    inputs = ()

    @property
    def task(self) -> str:  # type: ignore[override]
        """Kind of target."""
        return self.statistic.task

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the statistic is differentiable."""
        return self.statistic.smooth

    @property
    def absent_class(self) -> str | None:
        """What an absent class counts."""
        return self.statistic.absent_class

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Range of the difference."""
        low, high = self.statistic.bounds
        return low - high, high - low

    def opposed_rows(self, sample: Sample) -> tuple[Sample, np.ndarray]:
        """Return rows on which the models differ most, and what they weigh."""
        assert isinstance(self.statistic, OpposedStatistic)
        return self.statistic.opposed_rows(sample)


@record
class PairedFeatures:
    """Features of ``both`` models side by side; the first ``split`` columns belong to the first."""

    both: Any
    first: Features
    second: Features
    split: int = static()

    def without_rows(self) -> PairedFeatures:
        """Keep only what ``from_sums`` reads."""
        return PairedFeatures(None, self.first, self.second, self.split)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Total weight and weighted sums (1 + k,) for ``weights`` (n,)."""
        return self.both.sums(weights)

    def sums_without(self, weights: jax.Array, units: jax.Array) -> jax.Array:
        """Return :meth:`sums` of ``weights`` (n,) with each row of ``units`` (m, d) left out once: (1 + k, m)."""
        return self.both.sums_without(weights, units)

    def bank_sums(self, bank: Bank) -> jax.Array:
        """Total weights and weighted sums (1 + k, B) of every resample."""
        return self.both.bank_sums(bank)

    def by_unit(self, layout: Layout, capacity: int) -> PairedFeatures:
        """Return the features of units."""
        return dataclasses.replace(self, both=self.both.by_unit(layout, capacity))


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

    @property
    def whole(self) -> int:
        """Cells of the tables that a resample takes at its widest: the joint one, or that of each model."""
        return max(self.joint.whole, 2 * self.first.whole)

    def weights_of(self, layout: Layout) -> np.ndarray:
        """Weight per joint cell of the rows of ``layout``."""
        return self.joint.weights_of(layout)

    def without_rows(self) -> PairedCells:
        """Keep only what ``from_sums`` reads."""
        return PairedCells(self.joint.without_rows(), self.first, self.second)

    def of_each(self, sums: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the weight per cell of each model from that of the joint cells."""
        table = self.joint.table(sums)
        return table.sum(axis=1), table.sum(axis=0)

    def sums(self, weights: jax.Array) -> jax.Array:
        """Weight per joint cell for ``weights`` (n,)."""
        return self.joint.sums(weights)

    def sums_without(self, weights: jax.Array, units: jax.Array) -> jax.Array:
        """Return :meth:`sums` of ``weights`` (n,) with each row of ``units`` (m, d) left out once: (C, m)."""
        return self.joint.sums_without(weights, units)

    def bank_sums(self, bank: Bank) -> jax.Array:
        """Weight per joint cell (C, B) of every resample."""
        return self.joint.bank_sums(bank)

    def by_unit(self, layout: Layout, capacity: int) -> CellsOfUnits:
        """Return the joint cells of units."""
        known = dataclasses.replace(self, joint=self.joint.padded_for(capacity))
        return CellsOfUnits(layout.count_codes(known.codes, known.size, capacity), known.without_rows())


@record
class PairedMoments(Paired, MomentStatistic):
    """Difference of a moment statistic between two models."""

    statistic: Any

    def prepare(self, sample: Sample) -> PairedFeatures:
        """Join the features of both models."""
        return self._joined(self.statistic.prepare(sample), self.statistic.prepare(_other(sample)))

    def prepare_weighted(self, sample: Sample, weights: np.ndarray) -> PairedFeatures:
        """Join the features of both models of rows of importance weights."""
        return self._joined(*(self.statistic.prepare_weighted(one, weights) for one in (sample, _other(sample))))

    @staticmethod
    def _joined(first: Features, second: Features) -> PairedFeatures:
        design = namespace(first.design).concatenate([first.design, second.design], axis=1)
        return PairedFeatures(Features(design), first.without_rows(), second.without_rows(), first.size)

    def core(self, prepared: PairedFeatures, sums: jax.Array) -> jax.Array:
        """Return the difference from the total weight and the sums of both."""
        split = 1 + prepared.split
        other = jnp.concatenate([sums[:1], sums[split:]])
        a = self.statistic.from_sums(prepared.first, sums[:split])
        return a - self.statistic.from_sums(prepared.second, other)


@record
class PairedTable(Paired, TableStatistic):
    """Difference of a statistic of a table between two models."""

    statistic: Any

    def prepare(self, sample: Sample) -> PairedCells:
        """Join the cells of both models."""
        first, second = self.statistic.prepare(sample), self.statistic.prepare(_other(sample))
        shape = (first.size, second.size)
        if namespace(first.codes) is jnp:
            flat = first.codes * second.size + second.codes
            joint = Cells(flat, np.arange(first.size * second.size, dtype=np.int32), shape)
        else:
            joint = Cells.observed(first.codes.astype(np.int64) * second.size + second.codes, shape)
        return PairedCells(joint, first.without_rows(), second.without_rows())

    def core(self, prepared: PairedCells, sums: jax.Array) -> jax.Array:
        """Return the difference from the joint counts."""
        a, b = prepared.of_each(sums)
        return self.statistic.from_sums(prepared.first, a) - self.statistic.from_sums(prepared.second, b)

    def outcomes(self, prepared: PairedCells, counts: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return on how many rows both models, only a, only b, neither succeed, and weights in the mean (5, K) (host).

        From joint counts. The statistic must be a proportion whose trials do not depend on predictions, which has
        K = 1, or the mean recall, which has one for each class.
        """
        if self.statistic.averages_proportions:
            cells_a, cells_b, inside = self._cells(prepared)
            (true, guess_a), guess_b = np.divmod(cells_a, prepared.first.shape[1]), cells_b % prepared.second.shape[1]
            a, b, kind = guess_a == true, guess_b == true, true
            weights = np.asarray(_weights(self.statistic, prepared.first, prepared.of_each(jnp.asarray(counts))[0]))
        else:
            a, b, inside = self._successes_in_cells(prepared)
            kind, weights = np.zeros(len(a), int), np.ones(1)
        rows = counts * inside

        def counted(chosen: np.ndarray) -> np.ndarray:
            return np.bincount(kind, rows * chosen, len(weights))

        both, only_a, only_b = counted(a * b), counted(a * (1 - b)), counted((1 - a) * b)
        return both, only_a, only_b, counted(np.ones(len(a))) - both - only_a - only_b, weights

    def counted_in_cells(self, prepared: PairedCells) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        """Return the difference of the models' successes on a row of each joint cell (C,), and if it is a trial."""
        a, b, row = self._successes_in_cells(prepared)
        return a - b, row

    def kinds(self, prepared: PairedCells, counts: np.ndarray) -> np.ndarray:
        """Return how many rows are hits, misses and neither for the first model by what they are for the second (3, 3).

        From joint counts (host). The statistic must be a ratio of counts.
        """
        inside, cells = self._cells_of_models(prepared)
        kinds = []
        for model, cell in zip((prepared.first, prepared.second), cells, strict=True):
            hits, misses = self.statistic.ratio_in_cells(model)
            kinds.append(np.where(hits > 0, 0, np.where(misses > 0, 1, 2))[cell])
        return np.bincount(3 * kinds[0] + kinds[1], counts * inside, 9).reshape(3, 3)

    @staticmethod
    def _cells_of_models(prepared: PairedCells) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Whether joint cells (C,) are any, and which observed cell of each model they are."""
        inside = prepared.joint.cells < prepared.first.size * prepared.second.size
        return inside, np.divmod(np.where(inside, prepared.joint.cells, 0), prepared.second.size)

    def _cells(self, prepared: PairedCells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cells of each model's table that make up the joint ones (C,), and whether these are any."""
        inside, (a, b) = self._cells_of_models(prepared)
        whole = int(np.prod(prepared.first.shape))
        first, second = prepared.first.cells[a], prepared.second.cells[b]
        return (
            np.minimum(first, whole - 1),
            np.minimum(second, whole - 1),
            1 * inside * (np.maximum(first, second) < whole),
        )

    def _successes_in_cells(self, prepared: PairedCells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Whether rows of each joint cell (C,) are successes of the first and the second model, and are trials."""
        inside, cells = self._cells_of_models(prepared)
        (a, row), (b, _) = (
            [inside * of_model[cell] for of_model in self.statistic.counted_in_cells(model)]
            for model, cell in zip((prepared.first, prepared.second), cells, strict=True)
        )
        return a, b, row

    def absent_in_sums(self, prepared: PairedCells, sums: jax.Array) -> jax.Array:
        """Whether a class of the sample is absent for either model."""
        a, b = prepared.of_each(sums)
        return self.statistic.absent_in_sums(prepared.first, a) | self.statistic.absent_in_sums(prepared.second, b)


@jax.jit
def _weights(statistic: Any, cells: Cells, sums: jax.Array) -> jax.Array:
    """Return the weights (K,) of averaged proportions."""
    return statistic.shares(cells.table(sums)).weights


@record
class PairedMean(Paired, MeanStatistic):
    """Difference of a mean of per-observation values: itself the mean of their differences."""

    has_extremes = False

    statistic: Any

    def row_values(self, sample: Sample) -> Any:
        """Differences of the per-observation values (n,)."""
        return self.statistic.averaged_values(sample) - self.statistic.averaged_values(_other(sample))


@record
class PairedGeneral(Paired):
    """Difference of any other statistic between two models."""

    statistic: Any

    def prepare(self, sample: Sample) -> tuple[Any, Any]:
        """Prepare both models."""
        return self.statistic.prepare(sample), self.statistic.prepare(_other(sample))

    def value(self, prepared: tuple[Any, Any], weights: jax.Array) -> jax.Array:
        """Return the difference under ``weights`` (n,)."""
        a = self.statistic.value(prepared[0], weights)
        return a - self.statistic.value(prepared[1], weights)

    def absent(self, prepared: tuple[Any, Any], weights: jax.Array) -> jax.Array:
        """Whether a class of the sample is absent for either model."""
        return self.statistic.absent(prepared[0], weights) | self.statistic.absent(prepared[1], weights)

    def sort_keys(self, sample: Sample) -> np.ndarray | None:
        """Order of the first model."""
        return self.statistic.sort_keys(sample)


def paired_difference(statistic: Statistic) -> Paired:
    """Return the statistic ``a - b`` for two models' predictions of the same observations."""
    if is_mean(statistic):
        return PairedMean(statistic)
    if isinstance(statistic, MomentStatistic):
        return PairedMoments(statistic)
    if isinstance(statistic, TableStatistic):
        return PairedTable(statistic)
    return PairedGeneral(statistic)
