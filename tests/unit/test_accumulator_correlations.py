"""Rank correlations of more rows than are kept: cells of ranks give those of all rows, to a bound that is stated."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import jaxci
from jaxci.api.rank_cells import RankCells
from jaxci.api.value_bins import value_keys

N = 240

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@contextlib.contextmanager
def few(bins: int = 64, wide: int = 8) -> Iterator[None]:
    """Keep 20 rows at most, and as few bins of values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxci.api.accumulator.LARGEST", 20)
        patch.setattr("jaxci.api.rank_cells.MOST_BINS", bins)
        patch.setattr("jaxci.api.rank_cells.MOST_WIDE_BINS", wide)
        yield


def pairs(kind: str, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Return targets and predictions of correlated ranks."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=n)
    p = 0.7 * y + 0.7 * rng.normal(size=n)
    if kind == "of unlike scales":
        return np.exp(3 * y), 1000 + p
    if kind == "with outliers":
        return rng.standard_cauchy(n), 1e6 * p**3
    if kind == "rounded":
        return np.round(y, 1), np.round(100 * p)
    if kind == "ratings":
        return np.clip(np.round(y + 3), 1, 5), np.clip(np.round(p + 3), 1, 5)
    return y, p


KINDS = ["smooth", "of unlike scales", "with outliers", "rounded", "ratings"]


def accumulated(y, p, parts, **options) -> list[jaxci.Accumulator]:
    """Return an accumulator for each of ``parts``."""
    made = functools.partial(jaxci.Accumulator, ["spearmanr"], n_resamples=99, rng=0, **options)
    return [made().update(y[part], p[part]) for part in parts]


def as_lists(found: jaxci.Accumulator) -> str:
    return json.dumps(found.state_dict()["ranks"], default=np.ndarray.tolist)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(kind=st.sampled_from(KINDS), data=st.data())
def test_any_batches_merged_in_any_tree_leave_the_same_cells(kind, data):
    y, p = pairs(kind)
    order = np.random.default_rng(data.draw(st.integers(0, 1000))).permutation(N)
    borders = data.draw(st.sets(st.integers(1, N - 1), min_size=1, max_size=8))
    with few():
        (expected,) = accumulated(y, p, [np.arange(N)], max_rows=20)
        parts = accumulated(y, p, np.split(order, sorted(borders)), max_rows=20)
        while len(parts) > 1:
            first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
            parts[data.draw(st.integers(0, len(parts) - 1))].merge(first)
    assert as_lists(parts[0]) == as_lists(expected)
    assert parts[0].kept == expected.kept


def rearranged(y: np.ndarray, p: np.ndarray, cells: RankCells, sign: int) -> np.ndarray:
    """Return predictions that rise, or fall, with the targets within every wide bin of predictions."""
    wide = value_keys(p) >> np.uint64(cells.margins[1].wide)
    found = np.empty_like(p)
    found[np.lexsort((sign * y, wide))] = np.sort(p)
    return found


def cells_of(rows: np.ndarray) -> RankCells:
    found = RankCells()
    for part in np.array_split(rows, 3):
        found.add(part)
    return found


@settings(max_examples=200, deadline=None, derandomize=True)
@given(data=st.data())
def test_the_correlation_of_all_rows_lies_between_the_ends(data):
    kind, n = data.draw(st.sampled_from(KINDS)), data.draw(st.integers(20, 300))
    seed = data.draw(st.integers(0, 10_000))
    y, p = (x[np.random.default_rng(seed).permutation(len(x))[:n]] for x in pairs(kind, 400))
    if data.draw(st.booleans()):
        p = np.random.default_rng(seed).permutation(p)
    bins = data.draw(st.sampled_from([8, 32, 4096]))
    with few(bins, data.draw(st.sampled_from([2, 4, 8]))):
        for _ in range(2):  # the worst within bins of predictions, then of targets
            cells = cells_of(np.column_stack([y, p]))
            sign = data.draw(st.sampled_from([-1, 0, 1]))
            if sign:
                p = rearranged(y, p, cells, sign)
                cells = cells_of(np.column_stack([y, p]))
            low, high = cells.ends()
            assert low - 1e-12 <= spearmanr(y, p).statistic <= high + 1e-12
            y, p = p, y


@given(
    rows=st.lists(
        st.tuples(*[st.floats(-1e6, 1e6) | st.integers(-9, 9).map(float)] * 2), min_size=5, max_size=40, unique=True
    )
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_so_it_does_of_any_rows(rows):
    y, p = np.array(rows).T
    if len(np.unique(y)) < 2 or len(np.unique(p)) < 2:
        return
    with few(6, 2):
        low, high = cells_of(np.column_stack([y, p])).ends()
    assert low - 1e-12 <= spearmanr(y, p).statistic <= high + 1e-12


def test_the_ends_allow_for_how_ranks_spread_within_bins():
    y = np.repeat([0.0, 1.0], 120)
    p = np.concatenate([np.linspace(1, 1.99, 120), np.linspace(2, 3.99, 120)])
    with few(4, 2):
        low, high = cells_of(np.column_stack([y, p])).ends()
    assert low <= spearmanr(y, p).statistic + 1e-12
    assert low < high


def test_where_no_bin_holds_values_that_differ_the_ends_are_the_correlation():
    y, p = pairs("rounded")
    cells = cells_of(np.column_stack([y, p]))
    assert cells.exact
    np.testing.assert_allclose(cells.ends(), spearmanr(y, p).statistic, rtol=1e-12)


def bound(row: jaxci.IntervalResult) -> float:
    (text,) = (text for text in row.warnings if "cells of ranks" in text)
    return float(re.search(r"at most (\S+), which is \S+ standard errors$", text)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_estimate_and_interval_are_those_of_all_rows_within_the_bound(kind):
    n = 200_000
    y, p = pairs(kind, n)
    found = accumulated(y, p, np.array_split(np.arange(n), 4), max_rows=20_000)
    table = functools.reduce(lambda one, two: one.merge(two), found).finalize()
    (row,), (expected,) = table, jaxci.evaluate(y, p, metrics=["spearmanr"], n_resamples=99, rng=0)
    assert (row.method, row.reason, row.n) == (expected.method, expected.reason, n)
    got, wanted = ((x.estimate, *x.confidence_interval) for x in (row, expected))
    if kind in ("ratings", "rounded"):
        np.testing.assert_allclose(got, wanted, atol=1e-12)
        assert row.warnings == expected.warnings
        return
    assert bound(row) < 4e-4
    np.testing.assert_allclose(got, wanted, atol=bound(row))
    np.testing.assert_allclose(row.standard_error, expected.standard_error, rtol=1e-3)


@pytest.mark.parametrize("near_one", [False, True])
def test_rows_that_are_too_many_to_repeat_have_the_interval_of_the_delta_method(monkeypatch, near_one):
    y, p = pairs("ratings")
    if near_one:
        y = p.copy()
        y[np.argmax(y == 3)] = 4
    monkeypatch.setattr("jaxci.inference.choice.LARGEST", 20)
    monkeypatch.setattr("jaxci.inference.choice.NEAR_ONE_OF_MANY", 0.99)
    monkeypatch.setattr("jaxci.api.readers.layout.MOST_REPEATED", 100)
    with few():
        (found,) = accumulated(y, p, [np.arange(N)], max_rows=20)
        (row,) = found.finalize()
    assert (row.estimate > 0.99) == near_one
    assert row.method.name == "delta"
    (whole,) = jaxci.evaluate(y, p, metrics=["spearmanr"], method=row.method, n_resamples=99, rng=0)
    got, wanted = ((x.estimate, *x.confidence_interval, x.standard_error) for x in (row, whole))
    np.testing.assert_allclose(got, wanted, rtol=1e-9)


def test_what_is_kept_is_said():
    y, p = pairs("ratings")
    with few():
        (found,) = accumulated(y, p, [np.arange(N)], max_rows=20)
        assert found.kept == "19 cells of ranks"


def test_a_state_goes_through_json_and_takes_in_more():
    y, p = pairs("with outliers")
    with few():
        one, two = accumulated(y, p, np.split(np.arange(N), 2), max_rows=20)
        (expected,) = accumulated(y, p, [np.arange(N)], max_rows=20)
        (again,) = accumulated(y, p, [np.arange(2)], max_rows=20)
        again.load(json.loads(json.dumps(one.state_dict(), default=np.ndarray.tolist))).merge(two)
        assert as_lists(again) == as_lists(expected)
        assert str(again.finalize("delta")) == str(expected.finalize("delta"))


def test_predictions_equal_to_targets_are_told_of_with_the_bound():
    y, _ = pairs("smooth")
    with few():
        (found,) = accumulated(y, y, [np.arange(N)], max_rows=20)
        (row,) = found.finalize("delta")
    assert row.estimate == 1
    assert any(re.search(r"differs from that of all rows by at most \S+$", text) for text in row.warnings)


def test_a_column_that_does_not_vary_has_no_correlation():
    y, _ = pairs("smooth")
    with few():
        (found,) = accumulated(y, np.ones(N), [np.arange(N)], max_rows=20)
        assert np.isnan(found.finalize("delta").rows[0].estimate)
