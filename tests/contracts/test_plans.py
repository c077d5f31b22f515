"""What every plan of splits promises: who trains and who tests, whichever builder made it."""

import inspect

import numpy as np
import pytest

from jaxci.records import settings
from jaxci.resampling.plan import Plan
from jaxci.resampling.splits import PLANS, from_indices

N = 31
CLASSES = np.array([0] * 13 + [1] * 18)
GROUPS = np.repeat(np.arange(16), 2)[:N] * 7
BY_GROUP_CLASSES = np.array([0] * 14 + [1] * 17)
SETTINGS = {
    "p": 0.75,
    "n_subsamples": 3,
    "n_pairs": 4,
    "n_folds": 3,
    "n_repeats": 2,
    "n_resamples": 9,
    "n_outer": 4,
    "n_inner": 3,
}
"""Settings of every builder, by name."""
IN_SAMPLE = ("insample", "insample_bootstrap", "bootstrap_apparent")
"""Plans that test the rows they train on."""


def parameters(name):
    return inspect.signature(PLANS[name]).parameters


def make(name, rng=5, **options):
    """Return the plan of a builder with the settings that it asks for."""
    asked = [x for x in parameters(name) if x not in ("n", "rng", "stratify", "groups")]
    source = {"rng": rng} if "rng" in parameters(name) else {}
    return PLANS[name](N, **{x: SETTINGS[x] for x in asked}, **source, **options)


def designs(name):
    """Options of a builder: none, classes, groups, and both."""
    allowed = parameters(name)
    yield {}
    if "stratify" in allowed:
        yield {"stratify": CLASSES}
    if "groups" in allowed:
        yield {"groups": GROUPS}
        if "stratify" in allowed:
            yield {"groups": GROUPS, "stratify": BY_GROUP_CLASSES}


walk = pytest.mark.parametrize("name", PLANS)
GROUPED = [name for name in PLANS if "groups" in parameters(name)]
RANDOM = [name for name in PLANS if "rng" in parameters(name)]


@walk
def test_a_plan_has_its_name_shapes_and_types_and_no_split_twice(name):
    for options in designs(name):
        plan = make(name, **options)
        assert plan.name == name
        assert plan.n == N
        assert plan.train_counts.shape == plan.test_mask.shape == (len(plan), N)
        assert plan.train_counts.dtype == plan.repetition.dtype == plan.extra.dtype == np.int32
        assert len(np.unique([plan.repetition, plan.outer, plan.inner, plan.extra], axis=1).T) == len(plan)


@walk
def test_rows_are_never_trained_and_tested_except_in_sample(name):
    for options in designs(name):
        plan = make(name, **options)
        overlap = ((plan.train_counts > 0) & plan.test_mask).any(axis=1)
        within = name in IN_SAMPLE or (name == "two_stage_bootstrap" and plan.inner == -1)
        assert (overlap == within).all()


@walk
def test_sizes_are_those_of_the_settings(name):
    plan = make(name)
    rows = plan.train_counts.sum(axis=1)
    assert rows.max() <= N
    if "p" in parameters(name):
        assert np.ptp(plan.test_mask.sum(axis=1)) == 0
        assert plan.test_mask[0].sum() == N - round(SETTINGS["p"] * N)
    if "n_resamples" in parameters(name) and name != "bootstrap_case_cv":
        assert len(plan) == SETTINGS["n_resamples"]
        assert (rows == N).all()
    if "n_folds" in parameters(name):
        of_folds = plan.subset((plan.inner == -1) & (plan.extra == -1))
        assert len(np.unique(of_folds.outer)) == SETTINGS["n_folds"]
        assert len(np.unique(of_folds.repetition)) == (SETTINGS["n_repeats"] if "n_repeats" in parameters(name) else 1)
        assert np.ptp(of_folds.test_mask.sum(axis=1)) <= 1


@walk
def test_fits_are_the_distinct_training_rows(name):
    for options in designs(name):
        plan = make(name, **options)
        first, place = plan.fits
        assert plan.n_fits == len(np.unique(plan.train_counts, axis=0)) == len(first)
        np.testing.assert_array_equal(plan.train_counts[first][place], plan.train_counts)


@pytest.mark.parametrize("name", GROUPED)
def test_groups_are_never_split(name):
    for options in designs(name):
        if "groups" not in options:
            continue
        plan = make(name, **options)
        for group in np.unique(GROUPS):
            rows = np.flatnonzero(np.equal(GROUPS, group))
            for part in (plan.train_counts[:, rows], plan.test_mask[:, rows]):
                assert (part == part[:, :1]).all()


@pytest.mark.parametrize("name", RANDOM)
def test_same_seed_same_plan(name):
    one, two, other = make(name), make(name, rng=np.random.default_rng(5)), make(name, rng=6)
    for field, array in settings(one).items():
        np.testing.assert_array_equal(array, getattr(two, field))
    assert not np.array_equal(one.train_counts, other.train_counts)
    assert (name == "bootstrap_apparent") == np.array_equal(one.test_mask, other.test_mask)


@walk
def test_a_plan_is_made_again_from_its_arrays_and_from_its_row_numbers(name):
    plan = make(name)
    again = Plan(**settings(plan))
    for field, array in settings(plan).items():
        np.testing.assert_array_equal(getattr(again, field), array)
    apart = plan.subset(~((plan.train_counts > 0) & plan.test_mask).any(axis=1)) if name not in IN_SAMPLE else None
    if apart is not None:
        rows = np.arange(N)
        pairs = [(np.repeat(rows, k), rows[m]) for k, m in zip(apart.train_counts, apart.test_mask, strict=True)]
        read = from_indices(N, pairs, name=name, repetition=apart.repetition)
        np.testing.assert_array_equal(read.train_counts, apart.train_counts)
        np.testing.assert_array_equal(read.test_mask, apart.test_mask)
