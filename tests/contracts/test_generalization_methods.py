"""Contract of every method for generalization errors: walks the registry, so a new member is tested by being there."""

import dataclasses

import numpy as np
import pytest

from jaxci.generalization import Resampled
from jaxci.generalization.registry import METHODS
from jaxci.resampling.splits import PLANS

N = 24
FEWER = {"n_resamples": 60, "n_outer": 30, "n_inner": 5, "n_repeats": 3, "n_subsamples": 6}
"""Settings of plans, for those that have them: less than a verb takes, and enough for every formula."""

INTERNAL = {"oob", "bootstrap_632", "bootstrap_632_plus"}
"""Methods whose standard error holds the error of few resamples, which the level of the losses enlarges (eq. 43)."""

walk = pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))


def plans_of(method):
    return method.plans(N, 7, changes={} if method.name.endswith("five_by_two_cv") else FEWER)


def fits_of(method, change=lambda losses: losses, order=None):
    """Losses that depend on the row and on the split, of every plan that the method needs."""
    found = {}
    for number, plan in enumerate(plans_of(method)):
        rng = np.random.default_rng(number)
        losses = change(rng.exponential(size=plan.test_mask.shape) + 0.1 * np.arange(N))
        if order is not None:
            plan = dataclasses.replace(
                plan, train_counts=plan.train_counts[:, order], test_mask=plan.test_mask[:, order]
            )
            losses = losses[:, order]
        losses = np.where(plan.test_mask, losses, np.nan)
        found[plan.name] = Resampled(plan, losses, no_information=change(np.full(len(plan), 4.0)))
    return found


def numbers(method, fits, level=0.9):
    found = method.interval(fits, level, {})
    return np.array([found.estimate, found.low, found.high, found.standard_error])


@walk
def test_intervals_hold_their_estimate_and_grow_with_the_level(method):
    fits = fits_of(method)
    narrow, wide = (numbers(method, fits, level) for level in (0.8, 0.95))
    assert wide[0] == narrow[0]
    assert wide[1] < narrow[1] < narrow[0] < narrow[2] < wide[2]


@walk
def test_intervals_have_the_unit_of_the_losses(method):
    np.testing.assert_allclose(
        numbers(method, fits_of(method, lambda losses: 4 * losses)), 4 * numbers(method, fits_of(method)), rtol=1e-12
    )


@walk
def test_the_order_of_rows_is_of_no_account(method):
    order = np.random.default_rng(1).permutation(N)
    np.testing.assert_allclose(
        numbers(method, fits_of(method, order=order)), numbers(method, fits_of(method)), rtol=1e-9
    )


@pytest.mark.parametrize(
    "method", [m for m in METHODS.values() if m.paired and m.name not in INTERNAL], ids=lambda m: m.name
)
def test_differences_of_losses_may_take_their_place(method):
    """A constant that is taken from every loss moves the interval and nothing else: losses below 0 are read."""
    moved = numbers(method, fits_of(method, lambda losses: losses - 8))
    np.testing.assert_allclose(moved, numbers(method, fits_of(method)) - [8, 8, 8, 0], rtol=1e-9)


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.name not in INTERNAL], ids=lambda m: m.name)
def test_losses_that_do_not_vary_have_no_width(method):
    estimate, low, high, _ = numbers(method, fits_of(method, lambda losses: np.full_like(losses, 0.25)))
    assert estimate == pytest.approx(0.25, rel=1e-12)
    np.testing.assert_allclose([low, high], 0.25, rtol=1e-9)


@pytest.mark.parametrize("method", [m for m in METHODS.values() if m.metrics], ids=lambda m: m.name)
def test_a_metric_of_every_split_may_take_the_place_of_losses(method):
    fits = fits_of(method)
    scores = {
        name: Resampled(fit.plan, np.full(fit.losses.shape, np.nan), scores=fit.means) for name, fit in fits.items()
    }
    np.testing.assert_allclose(numbers(method, scores), numbers(method, fits), rtol=1e-12)


@walk
def test_what_a_method_does_not_know_is_refused(method):
    with pytest.raises(ValueError, match=rf"{method.name} has no option 'folds'; its options: "):
        method.interval(fits_of(method), 0.9, {"folds": 3})
    with pytest.raises(ValueError, match=rf"{method.name} needs a plan '\w+'; there are other"):
        method.interval({"other": next(iter(fits_of(method).values()))}, 0.9, {})


@walk
def test_plans_are_those_of_the_registry_and_depend_on_the_seed_alone(method):
    names = [name for role in method.roles for name in role.names]
    assert set(names) <= set(PLANS)
    for plan, same in zip(plans_of(method), plans_of(method), strict=True):
        assert plan.name in names
        np.testing.assert_array_equal(plan.train_counts, same.train_counts)
        np.testing.assert_array_equal(plan.test_mask, same.test_mask)
    assert method.aim in ("risk", "expected_risk", "proxy")
