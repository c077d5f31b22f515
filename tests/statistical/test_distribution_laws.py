"""Draws follow the laws they are named after (fixed keys)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from jaxci.distributions import (
    AdaptiveKDE,
    Cells,
    Empirical,
    EmpiricalRows,
    LogitKDE,
    Mixture,
    Parametric,
    UserDistribution,
    truth,
)
from jaxci.statistics.class_ranking import RocAucMulticlass
from jaxci.statistics.classification import Accuracy, BalancedAccuracy
from jaxci.statistics.order import IQR, Median, Quantile, TrimmedMean
from jaxci.statistics.ranking import RocAuc
from jaxci.statistics.summary import Mean, Std

DRAWS = 200_000
KEY = jax.random.key(2024)

CONTINUOUS = {
    "norm": {"loc": -3, "scale": 0.1},
    "uniform": {"loc": 2},
    "expon": {"scale": 3},
    "laplace": {},
    "logistic": {},
    "cauchy": {"loc": 1},
    "lognorm": {"s": 1.5},
    "pareto": {"b": 1.5, "scale": 2},
    "beta": {"a": 8, "b": 2},
    "arcsine": {},
    "gamma": {"a": 0.1},
    "t": {"df": 2.5},
    "dweibull": {"c": 2},
    "genpareto": {"c": 0.5},
    "skewnorm": {"a": 4},
    "truncnorm": {"a": -1, "b": 2},
}
DISCRETE = {
    "poisson": {"mu": 3.3},
    "binom": {"n": 20, "p": 0.3, "loc": 5},
    "bernoulli": {"p": 0.2},
    "geom": {"p": 0.1},
    "nbinom": {"n": 2.5, "p": 0.4},
    "randint": {"low": -3, "high": 9},
}

_draw = jax.jit(lambda d, key, n: d.sample(key, n), static_argnums=2)


def drawn(d, n=DRAWS, key=KEY, x64=True):
    """Columns of ``n`` draws on the host."""
    with jax.enable_x64(x64):
        return {name: np.asarray(x) for name, x in _draw(d, key, n).items()}


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_laws(name, x64, false_alarm):
    x = drawn(Parametric(name, CONTINUOUS[name]), x64=x64)["values"]
    assert stats.kstest(x, getattr(stats, name)(**CONTINUOUS[name]).cdf).pvalue > false_alarm


@pytest.mark.false_alarm(6e-6)
@pytest.mark.parametrize("name", ["beta", "t"])
def test_a_million_draws_from_a_table(name, false_alarm):
    law = getattr(stats, name)(**CONTINUOUS[name])
    x = drawn(Parametric(name, CONTINUOUS[name]), 1_000_000)["values"]
    assert stats.kstest(x, law.cdf).pvalue > false_alarm
    assert stats.ttest_1samp(x, law.mean()).pvalue > false_alarm
    for tail in (1e-3, 1e-4):  # the far tails have their own say, which Kolmogorov-Smirnov hardly hears
        for beyond in (x < law.ppf(tail), x > law.isf(tail)):
            assert stats.binomtest(int(beyond.sum()), len(x), tail).pvalue > false_alarm


def test_tails_reach_beyond_single_precision():
    table = Parametric("t", {"df": 2.5}).table
    assert stats.t(2.5).sf(table.values[-1]) == pytest.approx(1e-13, rel=1e-3)
    lower, upper = table.values[[0, -1]]
    assert -lower == pytest.approx(upper)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_laws(name, false_alarm):
    law = getattr(stats, name)(**DISCRETE[name])
    x = drawn(Parametric(name, DISCRETE[name]), x64=False)["values"]
    points, counts = np.unique(x, return_counts=True)
    expected = law.pmf(points) * len(x)
    keep = expected >= 5
    rest = len(x) - expected[keep].sum()
    found, wanted = np.append(counts[keep], counts[~keep].sum()), np.append(expected[keep], rest)
    used = wanted > 1e-9
    assert np.all(found[~used] == 0)
    assert stats.chisquare(found[used], wanted[used] * found.sum() / wanted[used].sum()).pvalue > false_alarm


@pytest.mark.false_alarm(1e-6)
def test_mixtures(false_alarm):
    d = Mixture((Parametric("norm", {"loc": -1}), Parametric("beta", {"a": 0.5, "b": 0.5})), [0.7, 0.3])
    assert stats.kstest(drawn(d)["values"], d.law().cdf).pvalue > false_alarm


SCORES = np.random.default_rng(7).beta(8, 2, 60).round(3)
ON_THE_BOUND = np.concatenate([np.zeros(3), np.ones(9), SCORES])


def slow_draws(x, low, high, count, rng):
    """The adaptive estimate as it is written down, one draw after the other."""
    n = len(x)
    h = 1.06 * np.std(x) * n ** (-1 / 5)
    pilot = np.array([np.mean(0.75 * np.clip(1 - ((a - x) / h) ** 2, 0, None) / h) for a in x])
    modifiers = (pilot / np.exp(np.mean(np.log(pilot)))) ** -0.5
    out = []
    for _ in range(count):
        i = rng.integers(n)
        width = min(h * modifiers[i], x[i] - low, high - x[i])
        a, b, c = rng.uniform(-1, 1, 3)
        out.append(x[i] + width * (b if abs(c) >= abs(b) and abs(c) >= abs(a) else c))
    return np.array(out)


@pytest.mark.false_alarm(5e-6)
@pytest.mark.parametrize("x", [SCORES, ON_THE_BOUND], ids=["inside", "on the bound"])
def test_kernel_estimate_draws_what_a_slow_program_draws(x, false_alarm):
    d = AdaptiveKDE.fit(x, (0, 1))
    fast, slow = drawn(d)["values"], slow_draws(x, 0, 1, 20_000, np.random.default_rng(1))
    assert fast.min() >= 0
    assert fast.max() <= 1
    assert stats.ks_2samp(fast, slow).pvalue > false_alarm
    for bound in (0, 1):
        assert stats.binomtest(int(np.sum(fast == bound)), DRAWS, np.mean(x == bound)).pvalue > false_alarm
    inner = fast[(fast > 0) & (fast < 1)]
    law, atoms = d.law(), np.mean(x == 0)
    share = 1 - atoms - np.mean(x == 1)
    assert stats.kstest(inner, lambda t: (law.cdf(t) - atoms) / share).pvalue > false_alarm
    assert stats.ttest_1samp(fast, x.mean()).pvalue > false_alarm


@pytest.mark.false_alarm(1e-9)
def test_the_comparison_sees_wrong_kernels(false_alarm):
    x = np.random.default_rng(7).beta(3, 0.5, 60)
    right = slow_draws(x, 0, 1, 20_000, np.random.default_rng(1))
    uncapped = AdaptiveKDE.fit(x)
    fixed = AdaptiveKDE(x, np.full(60, 1.06 * x.std() * 60**-0.2))
    for wrong in (uncapped, fixed, Empirical(x)):
        assert stats.ks_2samp(drawn(wrong)["values"], right).pvalue < false_alarm


def logits():
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 80)
    x = rng.normal(size=(80, 3)) @ [[1.5, 0.4, 0], [0, 1, 0.3], [0, 0, 0.6]]
    x[np.arange(80), labels] += 1.5
    return x, labels


def slow_logits(x, labels, count, rng):
    """Rows of (label, logits), one draw after the other; the kernel by rejection from the cube."""
    n, d = x.shape
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    width = 1.06 * n ** (-1 / (d + 4)) * vectors @ np.diag(np.sqrt(values)) @ vectors.T
    inverse = np.linalg.inv(width)
    pilot = np.array([np.mean(np.clip(1 - np.sum(((a - x) @ inverse) ** 2, axis=1), 0, None)) for a in x])
    modifiers = (pilot / np.exp(np.mean(np.log(pilot)))) ** -0.5
    rows, shifted = np.empty(count, int), np.empty((count, d))
    for k in range(count):
        while True:
            e = rng.uniform(-1, 1, d)
            if rng.uniform() < 1 - e @ e:
                break
        rows[k] = rng.integers(n)
        shifted[k] = x[rows[k]] + modifiers[rows[k]] * width @ e
    return labels[rows], shifted


@pytest.mark.false_alarm(9e-6)
def test_logit_estimate_draws_what_a_slow_program_draws(false_alarm):
    x, labels = logits()
    true, shifted = slow_logits(x, labels, 20_000, np.random.default_rng(5))
    columns = drawn(LogitKDE.fit(x, labels))
    fast, slow = columns["y_score"], special.softmax(shifted, axis=1)
    for k in range(3):
        for draw in (lambda y, s, k=k: s[:, k], lambda y, s, k=k: s[y == k].max(axis=1)):
            assert stats.ks_2samp(draw(columns["y_true"], fast), draw(true, slow)).pvalue > false_alarm
    contrast = [np.log(s[:, 0] * s[:, 1]) - 2 * np.log(s[:, 2]) for s in (fast, slow)]
    assert stats.ks_2samp(*contrast).pvalue > false_alarm
    assert stats.chisquare(np.bincount(columns["y_true"]), np.bincount(labels) * DRAWS / 80).pvalue > false_alarm
    hits = [np.sum(s.argmax(axis=1) == y) for y, s in ((columns["y_true"], fast), (true, slow))]
    table = [hits, [DRAWS - hits[0], len(true) - hits[1]]]
    assert stats.chi2_contingency(table).pvalue > false_alarm


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("dim", [1, 2, 7])
def test_kernels_of_logits_are_epanechnikov_in_d_dimensions(dim, false_alarm):
    classes = max(2, dim)
    d = LogitKDE(np.zeros((1, dim)), np.zeros(1, int), np.ones(1), np.eye(dim), classes)
    score = drawn(d)["y_score"]
    if dim == 1:
        e = special.logit(score)[:, None]
    else:  # softmax keeps contrasts of the logits only: one direction after the other
        e = np.log(score[:, :1] / score[:, 1:]) if dim > 2 else special.logit(score)[:, None]
        e = e[:, :1] / np.sqrt(2)
    assert np.abs(e).max() <= 1
    # one coordinate u of the variate has density proportional to (1 - u**2)**((d + 1) / 2)
    marginal = stats.beta((dim + 3) / 2, (dim + 3) / 2, loc=-1, scale=2)
    assert stats.kstest(e[:, 0], marginal.cdf).pvalue > false_alarm


@pytest.mark.false_alarm(2e-6)
def test_tables_and_rows(false_alarm):
    table = np.array([[40, 3, 0], [2, 20, 1], [0, 4, 30]])
    columns = drawn(Cells(table), x64=False)
    counts = np.bincount(columns["y_true"] * 3 + columns["y_pred"], minlength=9)
    seen = table.ravel() > 0
    assert np.all(counts[~seen] == 0)
    assert stats.chisquare(counts[seen], table.ravel()[seen] * DRAWS / 100).pvalue > false_alarm
    x, labels = logits()
    rows = drawn(EmpiricalRows(labels, y_score=x))
    order = np.argsort(x[:, 0])
    place = order[np.searchsorted(x[order, 0], rows["y_score"][:, 0])]
    assert np.array_equal(rows["y_true"], labels[place])
    assert stats.chisquare(np.bincount(place, minlength=80)).pvalue > false_alarm


class Plain:
    """The draws of a distribution, its knowledge forgotten."""

    bounds = (0.0, 1.0)

    def __init__(self, inner):
        self.inner = inner

    def sample(self, key, n):
        return self.inner.sample(key, n)


VALUE_LAWS = {
    "beta": Parametric("beta", {"a": 8, "b": 2}),
    "kde": AdaptiveKDE.fit(ON_THE_BOUND, (0, 1)),
}


@pytest.mark.false_alarm(7e-6)
@pytest.mark.parametrize("name", VALUE_LAWS)
def test_simulated_truths_agree_with_analytic_ones(name, false_alarm):
    d, forgotten = VALUE_LAWS[name], UserDistribution(Plain(VALUE_LAWS[name]))
    for i, statistic in enumerate((Mean(), Std(), Median(), IQR(), Quantile(0.1), TrimmedMean())):
        known = truth(d, statistic, KEY)
        found = truth(forgotten, statistic, jax.random.fold_in(KEY, i), size=100_000)
        assert (known.how, found.how) == ("analytic", "Monte Carlo, 100000 draws")
        assert 2 * stats.t.sf(abs(found.value - known.value) / found.error, 19) > false_alarm
        if isinstance(statistic, Mean):
            ratio = 19 * found.error**2 / (truth(d, Std(), KEY).value ** 2 / 100_000)
            assert false_alarm / 2 < stats.chi2.sf(ratio, 19) < 1 - false_alarm / 2


@pytest.mark.false_alarm(3e-6)
def test_simulated_truths_of_labels_and_scores(false_alarm):
    cells = Cells([[40, 3, 1], [2, 20, 0], [0, 4, 30]])
    x, labels = logits()
    rows = EmpiricalRows(labels, y_score=special.softmax(x, axis=1))
    cases = [
        (cells, UserDistribution(Plain(cells), "labels", 3), BalancedAccuracy()),
        (rows, UserDistribution(Plain(rows), "scores", 3), Accuracy()),
        (rows, UserDistribution(Plain(rows), "scores", 3), RocAucMulticlass()),
    ]
    for d, forgotten, statistic in cases:
        known, found = truth(d, statistic, KEY), truth(forgotten, statistic, KEY, size=50_000)
        assert 2 * stats.t.sf(abs(found.value - known.value) / found.error, 19) > false_alarm


@pytest.mark.false_alarm(1e-6)
def test_simulated_area_of_two_normal_laws(false_alarm):
    class Binormal:
        def sample(self, key, n):
            first, second = jax.random.split(key)
            y = jax.random.bernoulli(first, 0.3, (n,))
            return y, jax.random.normal(second, (n,)) + jnp.where(y, 1.0, 0.0)

    found = truth(UserDistribution(Binormal(), "scores", 2), RocAuc(), KEY, size=200_000)
    assert 2 * stats.t.sf(abs(found.value - stats.norm.cdf(np.sqrt(0.5))) / found.error, 19) > false_alarm
