"""Formulas of the bootstrap intervals against slow loops that are written independently."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from jaxci import generalization as m
from jaxci.generalization import Resampled
from jaxci.generalization.base import IncompleteFits
from jaxci.generalization.bootstrapping import OutOfBag, weight_plus
from jaxci.resampling import splits

N, K = 14, 60
Z, LEVEL = stats.norm.ppf(0.95), 0.9


def losses_for(plan, seed=0):
    return np.random.default_rng(seed).exponential(size=plan.test_mask.shape) + 0.1 * np.arange(plan.n)


def resampled(plan, seed=0, **more):
    return Resampled(plan, losses_for(plan, seed), **more)


def slow_oob(plan, losses, splits_used):
    """Estimate and D_i of every row, by the printed sums."""
    n, used = plan.n, list(splits_used)
    out = [[not plan.train_counts[k, i] for k in used] for i in range(n)]
    rows = [i for i in range(n) if any(out[i])]
    by_row = {i: np.mean([losses[k, i] for j, k in enumerate(used) if out[i][j]]) for i in rows}
    point = sum(by_row.values()) / len(rows)
    q = [sum(losses[k, i] for i in range(n) if out[i][j]) / n for j, k in enumerate(used)]
    influence = {}
    for i in rows:
        mean_count = sum(plan.train_counts[k, i] for k in used) / len(used)
        tail = sum((plan.train_counts[k, i] - mean_count) * q[j] for j, k in enumerate(used)) / sum(out[i])
        influence[i] = (2 + 1 / (n - 1)) * (by_row[i] - point) / n + tail
    return point, influence


def slow_oob_error(plan, losses):
    point, influence = slow_oob(plan, losses, range(len(plan)))
    return point, math.sqrt(plan.n / len(influence) * sum(d**2 for d in influence.values()))


def test_out_of_bag():
    plan = splits.bootstrap(N, K, 0)
    point, error = slow_oob_error(plan, losses_for(plan))
    found = m.oob(resampled(plan), level=LEVEL)
    np.testing.assert_allclose(found[:4], (point, point - Z * error, point + Z * error, error), rtol=1e-10)


def test_the_internal_error_is_a_jackknife_over_resamples():
    plan = splits.bootstrap(N, K, 1)
    losses = losses_for(plan)
    left = [slow_oob(plan, losses, [k for k in range(K) if k != drop])[1] for drop in range(K)]
    internal = 0.0
    for i in range(N):
        values = [one[i] for one in left if i in one]
        internal += sum((v - np.mean(values)) ** 2 for v in values)
    internal *= (K - 1) / K
    bag = OutOfBag.of(resampled(plan), "oob")
    np.testing.assert_allclose(bag.internal(), internal, rtol=1e-10)
    _, error = slow_oob_error(plan, losses)
    found = m.oob(resampled(plan), level=LEVEL, internal_error="remove")
    np.testing.assert_allclose(found.standard_error, math.sqrt(max(0, error**2 - internal)), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.false_alarm(6e-4)
def test_the_internal_error_is_removed_on_average():
    """With the losses of fixed models the error of many resamples is the same; few give more, less the internal one."""
    rng = np.random.default_rng(5)
    by_row, slope = rng.exponential(size=40), rng.normal(size=40)

    def squared(resamples, seed):
        plan = splits.bootstrap(40, resamples, seed)
        losses = by_row + 0.02 * (plan.train_counts @ slope)[:, None] + 0 * plan.train_counts
        bag = OutOfBag.of(Resampled(plan, losses), "oob")
        return bag.squared_error()[1], bag.internal()

    whole, _ = squared(20_000, 0)
    few = np.array([squared(80, seed) for seed in range(1, 80)])
    assert few[:, 0].mean() > 1.15 * whole
    corrected = few[:, 0] - few[:, 1]
    assert abs(corrected.mean() - whole) < 4 * corrected.std(ddof=1) / math.sqrt(len(few))


def test_too_few_resamples_are_remarked_on():
    assert "are too few" in m.oob(resampled(splits.bootstrap(N, 5 * N - 1, 0))).remarks[0]
    assert m.oob(resampled(splits.bootstrap(N, 5 * N, 0))).remarks == ()
    found = m.oob(resampled(splits.bootstrap(N, 30, 0)), internal_error="remove")
    assert not any("are too few" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("out", "inside", "gamma"), [(0.5, 0.1, 0.7), (0.9, 0.1, 0.7), (0.05, 0.1, 0.7), (0.5, 0.8, 0.7), (0.3, 0.0, 0.3)]
)
def test_the_weight_of_the_632_plus_estimator(out, inside, gamma):
    used = min(out, gamma)
    rate = (used - inside) / (gamma - inside) if min(out, gamma) > inside else 0.0
    weight, entered = weight_plus(out, inside, gamma)
    assert entered == used
    np.testing.assert_allclose(weight, 0.632 / (1 - 0.368 * rate))
    assert 0.632 <= weight <= 1
    weight, entered = weight_plus(out, inside, gamma, clip=False)
    assert entered == out
    np.testing.assert_allclose(weight, 0.632 / (1 - 0.368 * (out - inside) / (gamma - inside)))


@pytest.mark.parametrize("gamma", [1.0, 4.0])
def test_632_and_632_plus(gamma):
    plan, whole = splits.bootstrap(N, K, 0), splits.insample(N)
    point, error = slow_oob_error(plan, losses_for(plan))
    inside = losses_for(whole, 1)[0].mean() / 2
    insample = Resampled(whole, losses_for(whole, 1) / 2, no_information=np.array([gamma]))
    estimate = 0.632 * point + 0.368 * inside
    found = m.bootstrap_632(resampled(plan), insample, level=LEVEL)
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-12)
    np.testing.assert_allclose(found.high - found.estimate, Z * error * estimate / point, rtol=1e-10)
    weight, used = weight_plus(point, inside, gamma)
    estimate = weight * used + (1 - weight) * inside
    found = m.bootstrap_632_plus(resampled(plan), insample, level=LEVEL)
    np.testing.assert_allclose(found.estimate, estimate, rtol=1e-12)
    np.testing.assert_allclose(found.standard_error, error * estimate / point, rtol=1e-10)


def test_no_loss_at_all_has_no_width():
    plan, whole = splits.bootstrap(N, K, 0), splits.insample(N)
    none = Resampled(whole, np.zeros((1, N)), no_information=np.array([0.5]))
    found = m.bootstrap_632_plus(Resampled(plan, np.zeros((K, N))), none)
    assert found[:4] == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("corrected", [True, False])
def test_bootstrap_case_cv(corrected):
    plan, loo = splits.bootstrap_case_cv(N, 9, 0), splits.leave_one_out(N)
    losses, single = losses_for(plan), losses_for(loo, 1)
    values = []
    for r in range(9):
        total = 0.0
        for s in np.flatnonzero(plan.repetition == r):
            (case,) = np.flatnonzero(plan.test_mask[s])
            total += (N - plan.train_counts[s].sum()) * losses[s, case]
        values.append(total / N)
    bias = np.mean(values) - np.mean([single[i, i] for i in range(N)]) if corrected else 0.0
    ends = np.quantile(values, [0.05, 0.95]) - bias
    found = m.bootstrap_case_cv(resampled(plan), resampled(loo, 1), level=LEVEL, bias_correction=corrected)
    np.testing.assert_allclose(found[:3], (np.mean(values) - bias, *ends), rtol=1e-12)
    upper = m.bootstrap_case_cv(
        resampled(plan), resampled(loo, 1), level=LEVEL, bias_correction=corrected, one_sided=True
    )
    np.testing.assert_allclose(upper[1:3], (0.0, np.quantile(values, 0.9) - bias), rtol=1e-12)


def test_bootstrap_case_cv_without_leave_one_out_is_refused_only_where_it_needs_it():
    of = resampled(splits.bootstrap_case_cv(N, 3, 0))
    assert np.isfinite(m.bootstrap_case_cv(of, bias_correction=False).high)
    with pytest.raises(ValueError, match="needs a plan leave_one_out too"):
        m.bootstrap_case_cv(of)


def test_two_stage_bootstrap():
    plan, bag, whole = splits.two_stage_bootstrap(N, 8, 12, 0), splits.bootstrap(N, K, 1), splits.insample(N)
    losses = losses_for(plan)
    gammas = np.where(plan.inner < 0, 2.0 + 0.1 * plan.outer, np.nan)
    values = []
    for r in range(8):
        (first,) = np.flatnonzero((plan.outer == r) & (plan.inner < 0))
        rows = np.repeat(np.arange(N), plan.train_counts[first])  # the copies, one by one
        inside = np.mean([losses[first, i] for i in rows])
        stages = np.flatnonzero((plan.outer == r) & (plan.inner >= 0))
        out = []
        for i in rows:
            seen = [losses[k, i] for k in stages if plan.train_counts[k, i] == 0]
            if seen:
                out.append(np.mean(seen))
        weight, used = weight_plus(np.mean(out), inside, 2.0 + 0.1 * r)
        values.append(weight * used + (1 - weight) * inside)
    insample = Resampled(whole, losses_for(whole, 3), no_information=np.array([3.0]))
    found = m.two_stage_bootstrap(
        Resampled(plan, losses, no_information=gammas), resampled(bag, 2), insample, level=LEVEL
    )
    np.testing.assert_allclose(found[1:3], np.quantile(values, [0.05, 0.95]), rtol=1e-12)
    assert found.estimate == m.bootstrap_632_plus(resampled(bag, 2), insample).estimate


def test_location_shifted_bootstrap():
    plan, bag, whole = splits.insample_bootstrap(N, 20, 0), splits.bootstrap(N, K, 1), splits.insample(N)
    losses = losses_for(plan)
    values = [np.mean(np.repeat(losses[k], plan.train_counts[k])) for k in range(20)]
    insample = Resampled(whole, losses_for(whole, 3), no_information=np.array([3.0]))
    point = m.bootstrap_632_plus(resampled(bag, 2), insample).estimate
    shift = losses_for(whole, 3).mean() - point
    found = m.location_shifted_bootstrap(resampled(plan), resampled(bag, 2), insample, level=LEVEL)
    np.testing.assert_allclose(found[:3], (point, *(np.quantile(values, [0.05, 0.95]) - shift)), rtol=1e-12)


@pytest.mark.parametrize("method", [m.oob, m.oob_t, m.oob_percentile])
def test_resamples_whose_fit_failed_are_left_out(method):
    plan = splits.bootstrap(N, K, 0)
    failed = np.arange(K) % 7 == 0
    losses = np.where(failed[:, None], np.nan, losses_for(plan))
    found = method(Resampled(plan, losses, failed))
    rest = method(Resampled(plan.subset(~failed), losses_for(plan)[~failed]))
    np.testing.assert_allclose(found[:4], rest[:4], rtol=1e-12)
    with pytest.raises(IncompleteFits, match="needs at least 2 resamples; got 1"):
        method(Resampled(plan, losses_for(plan), np.arange(K) > 0))


def test_methods_that_need_every_split_say_so():
    plan = splits.kfold(N, 4, 0)
    with pytest.raises(IncompleteFits, match="cv_wald needs the losses of every split; 1 of 4 fits"):
        m.cv_wald(resampled(plan, failed=np.arange(4) == 2))
    plan = splits.subsampling(N, 0.7, 6, 0)
    found = m.corrected_t(resampled(plan, failed=np.arange(6) == 2))
    rest = m.corrected_t(Resampled(plan.subset(np.arange(6) != 2), losses_for(plan)[np.arange(6) != 2]))
    assert found[:4] == rest[:4]


def test_a_failed_subsample_of_a_half_leaves_the_others():
    plan, paired = splits.subsampling(N, 0.8, 3, 0), splits.paired_subsampling(N, 0.8, 3, 4, 0)
    losses = losses_for(paired)
    whole = m.conservative_z(resampled(plan), Resampled(paired, losses))
    spoilt = losses.copy()
    spoilt[0] = np.nan
    failed = np.arange(len(paired)) == 0
    found = m.conservative_z(resampled(plan), Resampled(paired, spoilt, failed))
    means = np.where(failed, np.nan, Resampled(paired, losses).means).reshape(4, 2, 3)
    error = math.sqrt(np.mean(np.diff(np.nanmean(means, axis=2), axis=1) ** 2) / 2)
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-12)
    assert found.estimate == whole.estimate
    with pytest.raises(IncompleteFits):
        m.conservative_z(resampled(plan), dataclasses.replace(Resampled(paired, losses), failed=paired.extra == 1))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("combine", ["632", "632_plus"])
def test_632_resample_by_resample(combine, swapped):
    plan, whole = splits.bootstrap(N, 20, 4), splits.bootstrap_apparent(N, 20, 4)
    out, inside, rates = resampled(plan).means, losses_for(whole, 1).mean(axis=1) / 2, np.linspace(1.5, 4, 20)
    values = []
    for k in range(20):
        weight, used = weight_plus(out[k], inside[k], rates[k]) if combine == "632_plus" else (0.632, out[k])
        weight = 1 - weight if swapped else weight
        values.append(weight * used + (1 - weight) * inside[k])
    apparent = Resampled(whole, losses_for(whole, 1) / 2, no_information=rates)
    found = m.oob_percentile(resampled(plan), apparent, level=LEVEL, combine=combine, swapped=swapped)
    np.testing.assert_allclose(found[:3], (np.mean(values), *np.quantile(values, [0.05, 0.95])), rtol=1e-12)
    with pytest.raises(ValueError, match="needs a plan bootstrap_apparent too"):
        m.oob_percentile(resampled(plan), combine=combine)
    other = Resampled(splits.bootstrap_apparent(N, 20, 5), losses_for(whole), no_information=rates)
    with pytest.raises(ValueError, match="must have the same resamples"):
        m.oob_percentile(resampled(plan), other, combine=combine)
