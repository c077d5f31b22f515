"""The cards against short runs of the studies that they were made from, and ``auto`` through the verb."""

import dataclasses

import jax
import numpy as np
import pytest

from jaxci.coverage import load_study, run_cell
from jaxci.intervals.cards import CLUSTERED, cards

REPLICATIONS = 400
CELLS = {
    "cards-tables": ("2 classes, .1 / .95 / .995, n=50", ("balanced_accuracy", "f1", "matthews_corrcoef")),
    "cards-scores": ("AUC 0.99, prevalence 0.1, n=100", ("roc_auc", "log_loss")),
    "cards-classes": ("3 classes, 50 to 20%, AUC 0.9, n=50", ("roc_auc_ovr",)),
    "cards-values": ("exponential, n=20", ("mean", "std", "median")),
    "cards-targets": ("t(5) errors, n=20", ("root_mean_squared_error", "r2")),
    "cards-clusters-tables": (
        "2 classes, .5 / .8 / .8; 10 uneven clusters, correlation 0.3, n=240",
        ("accuracy", "balanced_accuracy", "f1"),
    ),
    "cards-clusters-scores": ("AUC 0.8, prevalence 0.5; 10 even clusters, correlation 0.3, n=60", ("roc_auc",)),
    "cards-clusters-values": ("beta(8, 2); 5 uneven clusters, correlation 0.05, n=60", ("mean",)),
    "cards-calibration": ("AUC 0.9, prevalence 0.1, n=100", ("root_mean_squared_calibration_error",)),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.false_alarm(6e-5)
def test_a_short_run_of_a_study_finds_what_its_card_says(name):
    """Five standard errors of both, for some 90 coverages in all; data sets of another seed."""
    place, statistics = CELLS[name]
    law, n = place.rsplit(", n=", 1)
    whole = load_study(name).cell(place)
    short = dataclasses.replace(
        whole,
        statistics={name: whole.statistics[name] for name in statistics},
        n_replications=REPLICATIONS,
        n_groups=40,
    )
    found = run_cell(short, jax.random.key(5))
    table, compared = cards().columns, 0
    card = "{}" if whole.layout.plain else CLUSTERED
    for judgement in found.judgements:
        rows = (table["study"] == name) & (table["distribution"] == law) & (table["n"] == int(n))
        (row,) = np.flatnonzero(
            rows
            & (table["statistic"] == card.format(judgement.statistic))
            & (table["method"] == judgement.method.label)
        )
        known = table["coverage"][row]
        if np.isnan(known):
            assert judgement.invalid == 1
            continue
        coverage = judgement.coverage / (1 - judgement.invalid)
        spread = np.sqrt(max(known * (1 - known), 0.01) * (1 / REPLICATIONS + 1 / 2_000))
        assert abs(coverage - known) < 5 * 1.2 * spread, (judgement.statistic, judgement.method.label, coverage, known)
        compared += 1
    assert compared >= 4
