"""A share of no rows (0/0) could be anything, for a verb and in a cell of a coverage study, by every method."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jaxci
from jaxci.coverage import Cell, run_cell
from jaxci.distributions import Cells, Clustered
from jaxci.intervals.registry import METHODS
from jaxci.statistics.registry import METRICS

NEVER = 1e-9
NOBODY = Cells([[1 - 3 * NEVER, 2 * NEVER], [NEVER, NEVER]])
"""No row is of class 1 or predicted so, but for one in a thousand million; then one in three is right."""
SHARES = ("precision", "recall", "f1", "jaccard")
Y, NONE = (np.arange(30) % 3 == 0).astype(int), np.zeros(30, int)
LAWS = {"rows": NOBODY, "clusters": Clustered(NOBODY, 3, 0.3)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAWS)
def test_a_cell_answers_a_share_of_no_rows_as_the_verb_does(kind):
    statistics = {name: METRICS[name] for name in SHARES}
    cell = Cell(LAWS[kind], 12, statistics, list(METHODS), (0.95,), 8, 99, 1)
    judged = run_cell(cell, jax.random.key(0)).judgements
    assert {one.statistic for one in judged} == set(SHARES)
    assert {"percentile", "delta"} <= {one.method.name for one in judged}
    for one in judged:
        assert (one.coverage, one.invalid) == (1.0, 0.0), f"{one.statistic}, {one.method.name}"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(4), 3)], ids=LAWS)
@pytest.mark.parametrize("name", SHARES)
def test_the_verb_gives_the_whole_range(name, groups):
    nobody = np.zeros(12, int)
    for method in ("auto", "percentile", "delta", "proper_bayesian"):
        row = jaxci.interval(name, nobody, nobody, labels=[0, 1], groups=groups, method=method, n_resamples=99, rng=0)
        assert tuple(row.confidence_interval) == (0, 1)
        assert any("0/0" in text for text in row.warnings)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (Y, NONE, "precision of model b is a"),
        (NONE, Y, "precision of model a is a"),
        (NONE, NONE, "precision of both models is a"),
    ],
)
def test_a_comparison_says_of_which_model(a, b, said):
    result = jaxci.compare("precision", Y, a, b)
    assert next(one for one in result.warnings if "0/0" in one).startswith(f"{said} share of no rows at all (0/0)")
    assert not any("0/0" in one for one in jaxci.compare("recall", Y, a, b).warnings)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("groups", [None, np.arange(100) // 5])
def test_a_class_without_a_row_is_told_of_the_scores_that_it_enters(groups):
    rng = np.random.default_rng(0)
    y, guess = rng.choice(list("ABC"), 100), rng.choice(list("ABCD"), 100)
    named = ["f1_per_class", "f1_macro", "recall_macro", "precision_macro"]
    found = jaxci.evaluate(y, guess, metrics=named, groups=groups, n_resamples=999, rng=0)
    told = {row.statistic: [text for text in row.warnings if "no row in y_true" in text] for row in found}
    assert [name for name, texts in told.items() if texts] == ["f1[D]", *named[1:]]
    assert told["f1[D]"] == ["its class has no row in y_true: what it would score is unknown"]
    assert all(told[name][0].startswith("1 of 4 classes has no row in y_true: what it would") for name in named[1:])
