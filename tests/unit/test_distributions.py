"""Distributions: what they draw, what they know of themselves, what they refuse."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from distribution_members import LABELS, LOGITS, MEMBERS, SCORES
from scipy import integrate, optimize, special, stats

from jaxci.coverage import Study
from jaxci.coverage.cell import Cell
from jaxci.coverage.running import run_cell
from jaxci.distributions import (
    AdaptiveKDE,
    Cells,
    Empirical,
    EmpiricalRows,
    GaussianClasses,
    LogitKDE,
    Mixture,
    Parametric,
    RegressionErrors,
    UserDistribution,
    as_distribution,
    distribution_from_dict,
    distribution_to_dict,
    observations,
    truth,
)
from jaxci.statistics.averaged import F1
from jaxci.statistics.class_ranking import RocAucMulticlass
from jaxci.statistics.classification import Accuracy, BalancedAccuracy
from jaxci.statistics.custom import HostFunction, SampleFunction, WeightedFunction
from jaxci.statistics.order import IQR, Median, Quantile, TrimmedMean
from jaxci.statistics.probability import LogLoss
from jaxci.statistics.ranking import AveragePrecision, RocAuc
from jaxci.statistics.regression import MeanSquaredError, RootMeanSquaredError
from jaxci.statistics.summary import Mean, Std, Variance

KEY = jax.random.key(3)


class Rolls:
    """A user's object: dice from one to six."""

    bounds = (1, 6)

    def sample(self, key, n):
        return jax.random.randint(key, (n,), 1, 7)


_sample = jax.jit(lambda d, key, n: d.sample(key, n), static_argnums=2)


def test_new_parameters_of_one_law_do_not_compile_again():
    traced = []

    @jax.jit
    def draw(d, key):
        traced.append(d.name)
        return d.sample(key, 5)["values"]

    for sd in (1.0, 2.0):
        draw(Parametric("norm", {"scale": sd}), KEY)
    for a in (8.0, 8.5):
        draw(Parametric("beta", {"a": a, "b": 2.0}), KEY)
    assert traced == ["norm", "beta"]
    replaced = dataclasses.replace(MEMBERS["tabulated"], parameters={"a": 2, "b": 8})
    np.testing.assert_array_equal(replaced.table.values, Parametric("beta", {"a": 2, "b": 8}).table.values)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("beta", {"a": 8, "b": 2}), ("norm", {"loc": 3, "scale": 2}), ("t", {"df": 3}), ("gamma", {"a": 0.3, "scale": 5})],
)
def test_values_of_a_continuous_law(name, parameters):
    d, law = Parametric(name, parameters), getattr(stats, name)(**parameters)
    trimmed = integrate.quad(law.ppf, 0.1, 0.9, epsrel=1e-12)[0] / 0.8
    expected = {
        Mean(): law.mean(),
        Variance(): law.var(),
        Std(): law.std(),
        Median(): law.median(),
        Quantile(0.9): law.ppf(0.9),
        IQR(): law.ppf(0.75) - law.ppf(0.25),
        TrimmedMean(0.1): trimmed,
        TrimmedMean(0.0): law.mean(),
    }
    for statistic, value in expected.items():
        found = truth(d, statistic, KEY)
        assert found.how == "analytic"
        assert found.value == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert found.error <= 1e-7 * law.std()
    assert d.bounds == law.support()


def test_values_of_a_discrete_law_equal_those_of_its_table():
    law = stats.binom(4, 0.5)
    d = Parametric("binom", {"n": 4, "p": 0.5, "loc": 10})
    counts = np.repeat(np.arange(5), (16 * law.pmf(np.arange(5))).round().astype(int))
    listed = Empirical(10.0 + counts)
    for statistic in (Mean(), Std(), Median(), IQR(), Quantile(0.3), TrimmedMean(0.2), TrimmedMean(0.25)):
        assert d.analytic(statistic) == pytest.approx(listed.analytic(statistic), abs=1e-9)
    # the 5/16 quantile is flat: F(1) = 5/16 exactly
    assert d.analytic(Quantile(5 / 16)) == pytest.approx(11.5)
    assert Parametric("bernoulli", {"p": 0.5}).analytic(Median()) == 0.5


@pytest.mark.slow
def test_values_of_a_mixture():
    parts = [stats.norm(-1, 1), stats.beta(2, 5)]
    d = Mixture((Parametric("norm", {"loc": -1}), Parametric("beta", {"a": 2, "b": 5})), [0.3, 0.7])

    def cdf(x):
        return 0.3 * parts[0].cdf(x) + 0.7 * parts[1].cdf(x)

    mean = -0.3 + 0.7 * parts[1].mean()
    second = 0.3 * 2 + 0.7 * (parts[1].var() + parts[1].mean() ** 2)
    assert d.analytic(Mean()) == pytest.approx(mean)
    assert d.analytic(Std()) == pytest.approx(np.sqrt(second - mean**2))
    for q in (0.01, 0.25, 0.5, 0.99):
        root = optimize.brentq(lambda x, q=q: cdf(x) - q, -10, 2, xtol=1e-14)
        assert d.analytic(Quantile(q)) == pytest.approx(root, abs=1e-10)
    levels = (np.arange(200) + 0.5) / 400 + 0.25
    assert d.analytic(TrimmedMean()) == pytest.approx(np.mean([d.law().quantile(q) for q in levels]), abs=1e-5)
    gap = Mixture((Parametric("uniform"), Parametric("uniform", {"loc": 3})), [1, 1])
    assert gap.analytic(Median()) == pytest.approx(2.0)
    assert gap.bounds == (0, 4)


def test_values_of_observed_values():
    x = np.array([3.0, 1.0, 2.0, 10.0])
    d = Empirical(x)
    assert d.analytic(Mean()) == 4
    assert d.analytic(Std()) == pytest.approx(np.std(x))
    assert d.analytic(Median()) == 2.5
    assert d.analytic(Quantile(0.25)) == 1.5
    assert d.analytic(Quantile(0.3)) == 2
    assert d.analytic(Quantile(0.0)) == 1
    assert d.analytic(Quantile(1.0)) == 10
    assert d.analytic(TrimmedMean(0.25)) == 2.5
    assert d.analytic(TrimmedMean(0.125)) == pytest.approx((0.5 + 2 + 3 + 5) / 3)
    weighted = WeightedFunction(lambda x, w: jnp.sum(w * x**2) / jnp.sum(w))
    assert d.analytic(weighted) == pytest.approx(np.mean(x**2))
    assert d.analytic(SampleFunction(jnp.mean)) is None
    one = Empirical([0.7])
    assert [one.analytic(s) for s in (Mean(), Std(), Median(), TrimmedMean())] == [0.7, 0, 0.7, 0.7]


@pytest.mark.slow
def test_values_of_rows_and_cells_are_those_of_the_metrics():
    metrics = pytest.importorskip("sklearn.metrics")
    predicted = LOGITS.argmax(axis=1)
    rows, cells = MEMBERS["rows of labels"], Cells.fit(LABELS, predicted, 3)
    for d in (rows, cells, MEMBERS["rows of scores"]):
        assert d.analytic(Accuracy()) == pytest.approx(metrics.accuracy_score(LABELS, predicted))
        assert d.analytic(F1(average="macro")) == pytest.approx(metrics.f1_score(LABELS, predicted, average="macro"))
        assert truth(d, BalancedAccuracy(), KEY).how == "analytic"
    score = np.asarray(MEMBERS["rows of binary scores"].y_score)
    assert MEMBERS["rows of binary scores"].analytic(RocAuc()) == pytest.approx(
        metrics.roc_auc_score(LABELS > 0, score)
    )
    sharp = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    found = EmpiricalRows(LABELS, y_score=sharp).analytic(RocAucMulticlass())
    assert found == pytest.approx(metrics.roc_auc_score(LABELS, sharp, multi_class="ovr"))
    assert MEMBERS["logits"].analytic(RocAucMulticlass()) is None


def slow_bandwidths(x, low, high):
    """Widths of the kernels, observation by observation."""
    n = len(x)
    h = 1.06 * np.std(x) * n ** (-1 / 5)
    pilot = np.array([sum(0.75 * max(0.0, 1 - ((a - b) / h) ** 2) for b in x) / (n * h) for a in x])
    modifiers = (pilot / np.exp(np.mean(np.log(pilot)))) ** -0.5
    return np.array([min(h * m, a - low, high - a) for a, m in zip(x, modifiers, strict=True)])


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_kernels_are_as_wide_as_a_slow_program_makes_them(scale):
    x = scale * np.concatenate([SCORES, [0.01, 0.0101, 0.5, 0.5]])
    d = AdaptiveKDE.fit(x, (0, scale))
    np.testing.assert_allclose(d.bandwidths, slow_bandwidths(x, 0, scale), rtol=1e-10, atol=1e-12 * scale)
    assert np.all(d.bandwidths[(x == 0) | (x == scale)] == 0)
    offset = AdaptiveKDE.fit(x / scale + 1e6)
    np.testing.assert_allclose(offset.bandwidths, slow_bandwidths(x / scale, -np.inf, np.inf), rtol=1e-7)


@pytest.mark.slow
def test_values_of_a_kernel_estimate():
    d = MEMBERS["kde"]
    law, h, x = d.law(), np.asarray(d.bandwidths), SCORES
    wide = h > 0

    def density(t):
        u = (t - x[wide]) / h[wide]
        return np.sum(0.75 * np.clip(1 - u**2, 0, None) / h[wide]) / len(x)

    grid = np.linspace(0, 1, 200_001)
    mass = np.array([density(t) for t in grid[::100]])
    assert np.mean(x == 0) == law.cdf(0)
    assert 1 - law.cdf(np.nextafter(1, 0)) == pytest.approx(np.mean(x == 1))
    for t in (0.3, 0.77, 0.95):
        below = np.trapezoid(np.where(grid[::100] <= t, mass, 0), grid[::100])
        assert law.cdf(t) == pytest.approx(below + np.mean(x == 0), abs=2e-3)
    assert d.analytic(Mean()) == pytest.approx(x.mean())
    assert d.analytic(Variance()) == pytest.approx(x.var() + np.mean(h**2) / 5)
    assert law.cdf(d.analytic(Median())) == pytest.approx(0.5)
    levels = (np.arange(400) + 0.5) / 800 + 0.25
    assert d.analytic(TrimmedMean()) == pytest.approx(np.mean([law.quantile(q) for q in levels]), abs=1e-5)
    assert law.partial_mean(-1, 2) == pytest.approx(x.mean())
    assert d.analytic(Quantile(0.001)) == 0
    assert MEMBERS["grid"].analytic(Mean()) == pytest.approx(x.mean(), abs=1e-5)
    assert MEMBERS["grid"].analytic(Median()) == pytest.approx(d.analytic(Median()), abs=1e-3)


@pytest.mark.slow
def test_a_grid_makes_ties_and_equal_values_a_point_mass():
    drawn = np.asarray(_sample(MEMBERS["grid"], KEY, 20_000)["values"], float)
    np.testing.assert_allclose(drawn * 999, np.round(drawn * 999), atol=1e-3)
    assert len(np.unique(drawn)) <= 1000
    assert len(np.unique(_sample(MEMBERS["kde"], KEY, 1000)["values"])) > 800
    for x in ([0.4], [0.4, 0.4, 0.4], [0.1] * 3):
        constant = AdaptiveKDE.fit(x, (0, 1))
        assert np.all(np.asarray(constant.sample(KEY, 50)["values"]) == np.float32(x[0]))
        assert truth(constant, Std(), KEY).value == 0
    free = AdaptiveKDE.fit(SCORES, grid=50)
    low, high = AdaptiveKDE.fit(SCORES).law().support()
    assert free.law().support() == pytest.approx((low, high))
    steps = (np.asarray(free.sample(KEY, 500)["values"]) - low) / ((high - low) / 49)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-4)


@pytest.mark.parametrize("variant", ["spec", "printed", "code"])
def test_kernels_of_logits_are_as_wide_as_a_slow_program_makes_them(variant):
    n, dim = LOGITS.shape
    covariance = np.cov(LOGITS.T, bias=True)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    power = n ** (-1 / 5) if variant == "printed" else n ** (-1 / (dim + 4))
    width = np.sqrt(1.06 * power) * root if variant == "code" else 1.06 * power * root
    inverse = np.eye(dim) if variant == "code" else np.linalg.inv(width)
    pilot = [sum(max(0.0, 1 - np.sum((inverse @ (a - b)) ** 2)) for b in LOGITS) for a in LOGITS]
    d = LogitKDE.fit(LOGITS, LABELS, variant)
    np.testing.assert_allclose(d.width, width, atol=1e-12)
    np.testing.assert_allclose(d.modifiers, (pilot / np.exp(np.mean(np.log(pilot)))) ** -0.5, rtol=1e-10)


@pytest.mark.slow
def test_logits_of_deficient_rank_or_no_spread():
    centred = LOGITS - LOGITS.mean(axis=1, keepdims=True)
    d = LogitKDE.fit(centred, LABELS)
    assert np.all(np.isfinite(d.modifiers))
    assert np.abs(d.width.sum(axis=1)).max() < 1e-4
    constant = LogitKDE.fit(np.zeros((5, 2)), [0, 1, 0, 1, 1])
    assert np.all(np.asarray(constant.sample(KEY, 20)["y_score"]) == 0.5)


@pytest.mark.false_alarm(1e-5)
def test_user_distributions():
    dice = as_distribution(Rolls())
    assert as_distribution(dice) is dice
    assert dice.bounds == (1, 6)
    assert dice.label == "Rolls"
    found = truth(dice, Mean(), KEY, size=20_000)
    assert found.how == "Monte Carlo, 20000 draws"
    assert abs(found.value - 3.5) < 6 * found.error
    assert truth(dice, HostFunction(lambda x: x.max()), KEY, size=2000).value == 6

    class Pairs:
        def sample(self, key, n):
            return jnp.zeros(n), jnp.ones(n)

        def analytic(self, statistic):
            return 0.0 if isinstance(statistic, Accuracy) else None

    pairs = UserDistribution(Pairs(), "labels", 2)
    assert pairs.sample(KEY, 4)["y_pred"].dtype == jnp.int32
    assert truth(pairs, Accuracy(), KEY).how == "analytic"


@pytest.mark.slow
def test_users_targets_are_real_numbers_and_have_no_classes():
    class Predictions:
        def sample(self, key, n):
            y_true = jax.random.normal(key, (n,))
            return y_true, y_true + 0.5

    targets = UserDistribution(Predictions(), "targets")
    assert targets.n_classes == 0
    assert targets.bounds == (-np.inf, np.inf)
    drawn = targets.sample(KEY, 50)
    np.testing.assert_allclose(drawn["y_pred"] - drawn["y_true"], 0.5, rtol=1e-5)
    assert truth(targets, MeanSquaredError(), KEY, size=200).value == pytest.approx(0.25, rel=1e-9)
    result = run_cell(Cell(targets, 20, {"mse": MeanSquaredError()}, ["percentile"], [0.9], 50, 99, 2), KEY)
    assert result.judgements[0].coverage == 1


FROZEN = {
    "norm by position": (stats.norm(1, 2), Parametric("norm", {"loc": 1, "scale": 2})),
    "beta by name": (stats.beta(b=2, a=8, scale=3), Parametric("beta", {"a": 8, "b": 2, "scale": 3})),
    "mixed": (stats.gamma(2.5, scale=0.5), Parametric("gamma", {"a": 2.5, "scale": 0.5})),
    "discrete": (stats.binom(12, 0.3, 4), Parametric("binom", {"n": 12, "p": 0.3, "loc": 4})),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FROZEN)
def test_frozen_laws_of_scipy_are_parametric_ones(name):
    frozen, same = FROZEN[name]
    found = as_distribution(frozen)
    assert distribution_to_dict(found) == distribution_to_dict(same)
    np.testing.assert_array_equal(found.sample(KEY, 100)["values"], same.sample(KEY, 100)["values"])
    for statistic, value in ((Mean(), frozen.mean()), (Variance(), frozen.var()), (Std(), frozen.std())):
        known = truth(frozen, statistic, KEY)
        assert known.how == "analytic"
        assert known.value == pytest.approx(value, rel=1e-12)
    if name != "discrete":
        assert truth(frozen, Quantile(0.9), KEY).value == pytest.approx(frozen.ppf(0.9), rel=1e-9)


class Triangle(stats.rv_continuous):
    """Density 2 x on [0, 1]."""

    def _cdf(self, x):
        return x**2


OWN_FAMILIES = {
    "own": Triangle(a=0, b=1, name="triangle")(loc=1, scale=2),
    "values": stats.rv_discrete(values=([2, 3, 7], [0.5, 0.2, 0.3]))(),
}


@pytest.mark.slow
@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize("name", OWN_FAMILIES)
def test_frozen_laws_of_other_families_are_tabulated(name):
    """Kolmogorov-Smirnov's distance of 20,000 draws stays below its 1e-6 point, .019."""
    frozen = OWN_FAMILIES[name]
    found = as_distribution(frozen)
    drawn = np.sort(np.asarray(jax.jit(lambda key: found.sample(key, 20_000))(KEY)["values"], float))
    levels = (np.arange(20_000) + 0.5) / 20_000
    if name == "values":
        share = np.searchsorted(drawn, [2, 3, 7], side="right") / 20_000
        np.testing.assert_allclose(share, frozen.cdf([2, 3, 7]), atol=0.019)
        assert set(drawn) == {2, 3, 7}
    else:
        assert np.abs(frozen.cdf(drawn) - levels).max() < 0.019
        assert truth(frozen, Median(), KEY).value == pytest.approx(frozen.median(), rel=1e-6)
    assert truth(frozen, Mean(), KEY).value == pytest.approx(frozen.mean(), rel=1e-6)
    assert found.bounds == pytest.approx(frozen.support())


NORMAL = stats.Normal(mu=1, sigma=2)
NEWER = {
    "normal": (NORMAL, stats.norm(1, 2)),
    "made": (stats.make_distribution(stats.gamma)(a=2.0), stats.gamma(2)),
    "shifted": (0.5 * stats.Normal(mu=0, sigma=1) + 1, stats.norm(1, 0.5)),
}
if hasattr(stats, "Binomial"):  # from SciPy 1.16 on
    NEWER["discrete"] = (stats.Binomial(n=10, p=0.2), stats.binom(10, 0.2))


@pytest.mark.parametrize("name", NEWER)
def test_laws_of_scipys_newer_classes_are_those_of_the_frozen_ones(name):
    newer, frozen = NEWER[name]
    found, same = as_distribution(newer), as_distribution(frozen)
    assert found.label == str(newer)
    assert found.bounds == frozen.support()
    for statistic in (Mean(), Std(), Median(), TrimmedMean(0.1)):
        known, wanted = truth(newer, statistic, KEY), truth(same, statistic, KEY)
        assert known.how == "analytic"
        assert known.value == pytest.approx(wanted.value, rel=1e-9)
    if same.table is not None:  # the same quantiles, from the same draws
        np.testing.assert_allclose(found.sample(KEY, 100)["values"], same.sample(KEY, 100)["values"], rtol=1e-5)


def test_a_mixture_of_a_newer_class_has_a_label_of_one_line():
    found = as_distribution(stats.Mixture([NORMAL, stats.Normal(mu=3, sigma=1)], weights=[0.5, 0.5]))
    assert found.label.startswith("Mixture( [ Normal(mu=1.0, sigma=2.0), ")
    assert truth(found, Mean(), KEY).value == pytest.approx(2)


def test_mixtures_take_laws_of_scipy():
    found = Mixture([stats.norm(0, 1), stats.Normal(mu=0, sigma=10)], [0.9, 0.1])
    assert found.label == "mixture(0.9 norm(loc=0, scale=1) + 0.1 Normal(mu=0.0, sigma=10.0))"
    assert truth(found, Std(), KEY).value == pytest.approx(np.sqrt(0.9 + 10))
    same = Mixture([Parametric("norm", {"loc": 0, "scale": 1}), found.components[1]], [0.9, 0.1])
    np.testing.assert_array_equal(found.sample(KEY, 20)["values"], same.sample(KEY, 20)["values"])


def test_studies_read_the_dictionaries_of_files():
    given = {"kind": "parametric", "name": "beta", "a": 8, "b": 2}
    study = Study({"beta": given, "newer": NORMAL}, ["mean"], ["t"], [10])
    assert study.distributions["beta"].label == "beta(a=8, b=2)"
    with pytest.raises(ValueError, match=r"distributions: 'beta': beta needs its parameter 'b'"):
        Study({"beta": {"kind": "parametric", "name": "beta", "a": 8}}, ["mean"], ["t"], [10])


def test_studies_and_cells_take_frozen_laws():
    study = Study(
        distributions={"normal": stats.norm(1, 2), "counts": stats.poisson(4)},
        statistics=["mean"],
        methods=["t"],
        sample_sizes=[10],
        n_replications=200,
        n_resamples=99,
    )
    assert study.distributions["counts"].label == "poisson(mu=4)"
    options = ({"mean": Mean()}, ["t"], [0.9], 200, 99, 4)
    ours = run_cell(Cell(Parametric("norm", {"loc": 1, "scale": 2}), 10, *options), KEY)
    theirs = run_cell(Cell(stats.norm(1, 2), 10, *options), KEY)
    assert repr(theirs.judgements) == repr(ours.judgements)


@pytest.mark.slow
def test_observations_derive_predictions_and_keep_columns_in_order():
    d = MEMBERS["binary logits"]
    sample = observations(d, jax.jit(lambda k: d.sample(k, 30))(KEY))
    np.testing.assert_array_equal(sample.y_pred, sample.y_score >= 0.5)
    assert sample.columns[0] is sample.y_true
    rows = observations(MEMBERS["rows of scores"], MEMBERS["rows of scores"].sample(KEY, 9))
    np.testing.assert_array_equal(rows.y_pred, np.argmax(rows.y_score, axis=1))
    assert truth(d, WeightedFunction(lambda y, s, w: jnp.sum(w * (y + s)) / jnp.sum(w)), KEY, 4000).value > 0


def test_arrays_of_jax_are_taken_too():
    assert Cells(jnp.eye(2)).analytic(Accuracy()) == 1
    assert EmpiricalRows(jnp.array([0, 2]), jnp.array([1, 2])).n_classes == 3
    assert Parametric("beta", {"a": jnp.float32(8), "b": 2}).label == "beta(a=8, b=2)"
    assert Empirical(jnp.array([1.0, 3.0])).analytic(Mean()) == 2


REFUSED = {
    "unknown law": (lambda: Parametric("betta", {"a": 1}), "did you mean 'beta'"),
    "unknown parameter": (lambda: Parametric("norm", {"sigma": 1}), "no parameter 'sigma'"),
    "scale of a discrete law": (lambda: Parametric("poisson", {"mu": 1, "scale": 2}), "no parameter 'scale'"),
    "missing parameter": (lambda: Parametric("beta", {"a": 1}), "needs its parameter 'b'"),
    "bad parameter": (lambda: Parametric("beta", {"a": -1, "b": 2}), "a=-1"),
    "scale": (lambda: Parametric("norm", {"scale": 0}), "scale of norm must be positive"),
    "NaN parameter": (lambda: Parametric("norm", {"loc": np.nan}), "must be finite; got nan"),
    "too wide": (lambda: Parametric("zipf", {"a": 1.5}), "too many to list"),
    "no components": (lambda: Mixture((), []), "got none"),
    "weights": (lambda: Mixture((Parametric("norm"),), [-1]), "non-negative"),
    "number of weights": (lambda: Mixture((Parametric("norm"),), [1, 1]), "one for each of 1"),
    "mixture of labels": (lambda: Mixture((MEMBERS["cells"],), [1]), "of one value"),
    "NaN value": (lambda: Empirical([0.1, np.nan]), "values must be finite; got nan"),
    "no values": (lambda: Empirical([]), "at least one row"),
    "text": (lambda: Empirical(["a"]), "array of numbers"),
    "outside": (lambda: AdaptiveKDE.fit([0.2, 1.2], (0, 1)), r"within bounds \[0, 1\]; got 1.2"),
    "bounds": (lambda: AdaptiveKDE.fit([0.2], (1, 0)), "lower and a higher"),
    "grid": (lambda: AdaptiveKDE.fit([0.2], (0, 1), grid=1), "at least 2 points"),
    "both": (lambda: EmpiricalRows([0, 1], [0, 1], [0.1, 0.2]), "either y_pred or y_score"),
    "lengths": (lambda: EmpiricalRows([0, 1], [0, 1, 1]), r"as many rows as the rest \(2\); got 3"),
    "codes": (lambda: EmpiricalRows([0, 3], y_score=[0.1, 0.2]), "from 0 to 1; got 0 to 3"),
    "score shape": (lambda: EmpiricalRows([0, 1], y_score=[[0.1, 0.2, 0.3]] * 2, n_classes=4), "y_score must be"),
    "table shape": (lambda: Cells([[1, 2]]), "square"),
    "table": (lambda: Cells([[1, -2], [1, 1]]), "probabilities"),
    "labels": (lambda: LogitKDE.fit(LOGITS, LABELS + 1), "from 0 to 2"),
    "variant": (lambda: LogitKDE.fit(LOGITS, LABELS, "seed"), "one of spec, printed, code"),
    "not a sampler": (lambda: UserDistribution(3), r"sample\(key, n\), as .* or be a frozen law .*; got 3"),
    "user kind": (lambda: UserDistribution(Rolls(), "value"), "kind must be one of"),
    "user classes": (lambda: UserDistribution(Rolls(), "labels"), "at least 2"),
    "user columns": (lambda: UserDistribution(Rolls(), "labels", 2).sample(KEY, 3), "y_pred is missing"),
    "classes of targets": (lambda: UserDistribution(Rolls(), "targets", 2), "0 for values, targets and columns; got 2"),
    "frozen arrays": (lambda: as_distribution(stats.norm([0, 1])), r"must be numbers; got loc=\[0, 1\]"),
    "frozen histogram": (
        lambda: as_distribution(stats.rv_histogram(np.histogram(SCORES, 7), density=False)()),
        "rv_histogram cannot be drawn from: its quantile function is not accurate .* give a Mixture of uniform laws",
    ),
    "newer arrays": (lambda: as_distribution(stats.Normal(mu=[0, 1], sigma=1)), r"must be numbers; got Normal\(mu=\[0"),
    "swapped mixture": (lambda: Mixture([0.9, 0.1], [stats.norm(), stats.norm()]), r"components must be .*; got 0\.9"),
    "weights of a mixture": (lambda: Mixture([stats.norm()], ["a"]), r"weights must be numbers; got \['a'\]"),
    "frozen fractions": (
        lambda: as_distribution(stats.rv_discrete(values=([0.5, 1], [0.5, 0.5]))()),
        "must be whole numbers from 0.5 on",
    ),
    "user in a file": (lambda: distribution_to_dict(as_distribution(Rolls())), "cannot be written"),
    "kind in a file": (lambda: distribution_from_dict({"kind": "parametrc"}), "did you mean 'parametric'"),
    "no kind": (lambda: distribution_from_dict({"name": "beta"}), "key 'kind'"),
    "key": (lambda: distribution_from_dict({"kind": "kde", "values": [1], "bound": [0, 1]}), "did you mean 'bounds'"),
    "missing key": (lambda: distribution_from_dict({"kind": "cells"}), "needs 'table'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_distribution_is_refused(name):
    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        make()


def undefined(x):
    return jnp.mean(x) * jnp.nan


NO_TRUTH = {
    "mean of a Cauchy law": (Parametric("cauchy"), Mean(), "true value of Mean of cauchy"),
    "variance of a heavy law": (Parametric("pareto", {"b": 1.5}), Std(), r"Std of pareto\(b=1.5\) does not exist"),
    # scipy.stats gives this law a variance of -11
    "variance continued by formula": (Parametric("invweibull", {"c": 1.5}), Variance(), "does not exist"),
    "mean continued by formula": (Parametric("invweibull", {"c": 0.8}), Mean(), "does not exist"),
    "mixture": (Mixture((Parametric("norm"), Parametric("t", {"df": 2})), [1, 1]), Std(), "does not exist"),
    "end of an unbounded law": (Parametric("norm"), Quantile(1.0), "does not exist"),
    "NaN": (Empirical(SCORES), SampleFunction(undefined), "cannot be computed.*gave nan"),
    "values for labels": (Empirical(SCORES), Accuracy(), "reads y_true and y_pred; empirical"),
    "labels for scores": (MEMBERS["cells"], RocAuc(), "distribution of labels"),
    "classes": (MEMBERS["logits"], AveragePrecision(), "for 2 classes; .* has 3"),
    "regression": (MEMBERS["cells"], MeanSquaredError(), "reads regression targets"),
    "no probabilities": (EmpiricalRows(LABELS > 0, y_score=LOGITS[:, 0]), LogLoss(), "needs probabilities"),
    "no predictions": (EmpiricalRows(LABELS > 0, y_score=LOGITS[:, 0]), Accuracy(), "needs probabilities"),
}


@pytest.mark.parametrize("name", NO_TRUTH)
def test_truths_that_do_not_exist_are_refused(name):
    distribution, statistic, message = NO_TRUTH[name]
    with pytest.raises(ValueError, match=message):
        truth(distribution, statistic, KEY, size=400)


def test_moments_that_exist_are_not_refused():
    assert truth(Parametric("pareto", {"b": 1.5}), Mean(), KEY).value == pytest.approx(3)
    assert truth(Parametric("cauchy", {"loc": 2}), Median(), KEY).value == pytest.approx(2)
    assert truth(Parametric("cauchy"), TrimmedMean(), KEY).value == pytest.approx(0, abs=1e-9)
    assert truth(Parametric("t", {"df": 2.1}), Std(), KEY).value == pytest.approx(np.sqrt(21))
    assert truth(Parametric("lognorm", {"s": 4}), Std(), KEY).value == pytest.approx(stats.lognorm(4).std())
    assert truth(Parametric("invweibull", {"c": 2.5}), Std(), KEY).value == pytest.approx(stats.invweibull(2.5).std())
    with pytest.raises(ValueError, match="size must be at least 40"):
        truth(as_distribution(Rolls()), Mean(), KEY, size=10)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-6)
def test_gaussian_classes_have_the_areas_precisions_and_calibration_they_claim():
    """Five standard errors of 200,000 rows; the precision by the integral against the rows' own."""
    d = GaussianClasses([0.8, 0.2], auc=0.9)
    drawn = observations(d, _sample(d, KEY, 200_000))
    area = truth(d, RocAuc(), KEY)
    assert (area.value, area.error) == (0.9, 0.0)
    weights = jnp.ones(drawn.n)
    for statistic, error in ((RocAuc(), 0.001), (AveragePrecision(), 0.003)):
        value = float(statistic.value(statistic.prepare(drawn), weights))
        assert abs(value - truth(d, statistic, KEY).value) < 5 * error
    apart = drawn.y_true - drawn.y_score
    assert abs(apart.mean()) < 5 * apart.std() / np.sqrt(drawn.n)
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        inside = apart[(drawn.y_score >= low) & (drawn.y_score < high)]
        assert abs(inside.mean()) < 5 * inside.std() / np.sqrt(len(inside))
    sharp = observations(d, _sample(dataclasses.replace(d, temperature=0.5), KEY, 2_000))
    soft = observations(d, _sample(d, KEY, 2_000))
    np.testing.assert_allclose(special.logit(sharp.y_score), 2 * special.logit(soft.y_score), rtol=2e-3, atol=1e-3)


def test_three_gaussian_classes_rank_two_of_them_by_their_log_odds_as_claimed():
    d = GaussianClasses([0.5, 0.3, 0.2], auc=0.8)
    drawn = observations(d, _sample(d, KEY, 100_000))
    rows = drawn.y_true < 2
    odds = np.log(drawn.y_score[rows, 1]) - np.log(drawn.y_score[rows, 0])
    found = stats.mannwhitneyu(odds[drawn.y_true[rows] == 1], odds[drawn.y_true[rows] == 0]).statistic
    sizes = np.bincount(drawn.y_true)
    assert found / (sizes[0] * sizes[1]) == pytest.approx(0.8, abs=0.005)
    np.testing.assert_allclose(sizes / drawn.n, [0.5, 0.3, 0.2], atol=0.006)


def test_tables_by_what_a_model_can_do():
    table = Cells.binary(0.1, 0.95, 0.995).table
    np.testing.assert_allclose(table, [[0.8955, 0.0045], [0.005, 0.095]])
    several = Cells.multiclass([5, 3, 2], 0.9).table
    np.testing.assert_allclose(several.sum(axis=1), [0.5, 0.3, 0.2])
    np.testing.assert_allclose(np.diag(several), [0.45, 0.27, 0.18])
    assert several[0, 1] / several[0, 2] == pytest.approx(1.5)


def test_regressions_know_their_mean_square():
    d = RegressionErrors(Parametric("expon", {"loc": -1}), spread=2.0, centre=5.0)
    drawn = observations(d, _sample(d, KEY, 50_000))
    assert truth(d, MeanSquaredError(), KEY).value == pytest.approx(1.0, rel=1e-9)
    assert truth(d, RootMeanSquaredError(), KEY).value == pytest.approx(1.0, rel=1e-9)
    assert (drawn.y_true - drawn.y_pred).min() >= -1 - 1e-5
    assert drawn.y_pred.mean() == pytest.approx(5, abs=0.05)
    assert drawn.y_pred.std() == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussianClasses([1.0], 0.9), "shares"),
        (lambda: GaussianClasses([0.5, 0.0], 0.9), "shares"),
        (lambda: GaussianClasses([0.5, 0.5], 1.0), r"auc must lie in \(0.5, 1\); got 1.0"),
        (lambda: GaussianClasses([0.5, 0.5], 0.9, 0), "temperature"),
        (lambda: GaussianClasses("ab", 0.9), "shares must be an array of numbers; got str"),
        (lambda: Cells.binary(1.2, 0.9, 0.9), r"prevalence must lie in \[0, 1\]; got 1.2"),
        (lambda: Cells.multiclass([1, 2], 1.5), r"accuracy must lie in \[0, 1\]; got 1.5"),
        (lambda: RegressionErrors(Mean()), "errors"),
        (lambda: RegressionErrors(Parametric("norm"), spread=0), "spread"),
    ],
)
def test_models_that_cannot_be_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_mean_with_bounds_is_judged_for_the_laws_within_them():
    laws = {"beta": Parametric("beta", {"a": 8, "b": 2}), "normal": Parametric("norm")}
    study = Study(laws, [("bounded", Mean(bounds=(0, 1))), "mean"], ["t"], [10])
    assert [list(study.cell(name).statistics) for name in study.cell_names()] == [["bounded", "mean"], ["mean"]]
