"""A bank too large for the memory is read piece by piece, and nothing is another for it."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from jaxci.coverage import Cell
from jaxci.coverage.banks import BLOCK, Banks, pieces_of
from jaxci.coverage.running import simulate
from jaxci.distributions import Cells, Clustered, GaussianClasses, Parametric, Truth
from jaxci.inference.sharding import Spread
from jaxci.intervals.registry import method_by_name
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import METRICS

VALUES, SCORES = Parametric("beta", {"a": 8, "b": 2}), GaussianClasses([0.6, 0.4], 0.85)
TABLES = Cells(np.array([[0.5, 0.1], [0.15, 0.25]]))
CASES = {
    "values": (VALUES, {"mean": 0.8, "std": 0.12, "median": 0.82, "trimmed_mean": 0.8}),
    "scores": (SCORES, {"roc_auc": 0.85, "average_precision": 0.8, "log_loss": 0.5}),
    "tables": (TABLES, {"f1": 0.6, "balanced_accuracy": 0.7}),
    "scores in clusters": (Clustered(SCORES, 20, 0.1), {"roc_auc": 0.85, "log_loss": 0.5}),
}
METHODS = ("percentile", "bca", "studentized", "proper_bayesian")
B = 250


@pytest.mark.parametrize(("n", "budget"), [(10, 2**20), (250, 2**20), (5_000, 2**24), (200_000, 2**26), (10**6, 1)])
def test_pieces_are_all_of_a_bank_and_fit_the_memory(n, budget):
    pieces = pieces_of(n, 9_999, budget)
    rows = max(1, BLOCK // n)
    assert [0, *(stop for _, stop in pieces)] == [*(start for start, _ in pieces), 9_999]
    assert all(start % rows == 0 for start, _ in pieces)  # blocks of draws stay whole
    sizes = [stop - start for start, stop in pieces]
    assert len(set(sizes[:-1])) <= 1
    assert max(sizes) <= max(rows, budget // (12 * n))


@pytest.mark.slow
def test_pieces_joined_are_the_bank():
    layout, spread = Layout(4_000), Spread.over()
    pieces = pieces_of(4_000, B, 12 * 4_000 * 100)
    assert len(pieces) == 3
    banks = Banks(jax.random.key(1))
    with jax.enable_x64(True):
        for kind in ("counts", "weights"):
            parts = [np.asarray(banks.bank(kind, 2, layout, B, spread, piece)) for piece in pieces]
            np.testing.assert_array_equal(np.concatenate(parts, axis=1), banks.bank(kind, 2, layout, B, spread))
        parts = [np.asarray(banks.unseen(2, (0.25, 0.5), B, piece)) for piece in pieces]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), banks.unseen(2, (0.25, 0.5), B))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_a_cell_does_not_depend_on_the_pieces_of_its_banks(kind, monkeypatch):
    law, truths = CASES[kind]
    methods = {
        name: [
            m for m in map(method_by_name, METHODS) if m.refusal_of_rows(METRICS[name], law.layout(60).given) is None
        ]
        for name in truths
    }
    cell = Cell(law, 60, {name: METRICS[name].settled(2) for name in truths}, methods, (0.8,), 24, B, 2)
    known = {name: Truth(value, 0.0, "assumed") for name, value in truths.items()}
    whole = simulate(cell, jax.random.key(3), known)
    monkeypatch.setattr("jaxci.coverage.banks.BLOCK", 30 * cell.layout.n_units)  # 30 resamples are drawn together
    monkeypatch.setattr("jaxci.coverage.dispatch.pieces_of", lambda n, b, _: pieces_of(n, b, 12 * n * 100))
    read = []
    monkeypatch.setattr(Banks, "bank", _noting(Banks.bank, read))
    pieced = simulate(cell, jax.random.key(3), known)
    assert set(read) == {(0, 90), (90, 180), (180, 250)}
    assert whole.counts.keys() == pieced.counts.keys()
    for series, groups in whole.counts.items():
        for group, counts in groups.items():
            np.testing.assert_array_equal(pieced.counts[series][group], counts, str(series))
            widths = whole.widths[series][group]
            np.testing.assert_allclose(pieced.widths[series][group], widths, rtol=1e-5, err_msg=str(series))


LARGE = """
import jax
from jaxci.coverage import Cell
from jaxci.coverage.running import run_cell
from jaxci.distributions import Cells
from jaxci.statistics import F1
law = Cells([[0.8, 0.05], [0.05, 0.1]])
result = run_cell(Cell(law, 100_000, {"f1": F1()}, ["percentile", "bca"], (0.95,), 4, 1_999, 1), jax.random.key(0))
assert all(0 <= one.coverage <= 1 for one in result.judgements)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 2**20)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read as Linux tells it")
def test_a_cell_of_many_rows_takes_less_than_two_gibibytes():
    """The bank alone, as numbers and in the sums that statistics read, would take as much."""
    compiled_well = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", LARGE], env=compiled_well, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 2


def _noting(bank, read):
    def noted(self, kind, group, layout, n_resamples, spread, piece=None):
        read.append(piece)
        return bank(self, kind, group, layout, n_resamples, spread, piece)

    return noted
