"""Hand values, identities and edges of the closed-form intervals."""

import itertools
import math
import warnings
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from delong import plain_delong
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

import jaxci
from jaxci.api.proportion import proportion_interval
from jaxci.intervals import (
    auc,
    auc_difference,
    concentration,
    delta,
    kurtosis,
    parametric,
    proportion,
    proportion_difference,
)
from jaxci.intervals.base import Bounds, Evidence, NoInterval, Tails, tails
from jaxci.printing import ConfidenceInterval, JaxciWarning
from jaxci.statistics import (
    F1,
    IQR,
    R2,
    Accuracy,
    BrierScoreLoss,
    CohenKappa,
    Mean,
    Precision,
    RocAuc,
    RootMeanSquaredError,
    Std,
    Variance,
)
from jaxci.statistics.paired import paired_difference

TWO = tails(0.95)
FORMULAS = {method.name: method().from_counts for method in proportion.PROPORTION_METHODS}
LEVELS = (0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9999)


MEAN = Mean()
UNIT_MEAN = BrierScoreLoss()
ACCURACY = Accuracy()
AUC = RocAuc()
KAPPA = CohenKappa()


# proportions ------------------------------------------------------------------------------------


def coverage(formula, n, p, level=0.95):
    x = np.arange(n + 1)
    low, high = formula(x, n, tails(level))
    return float(np.sum(stats.binom.pmf(x, n, p) * ((low <= p) & (p <= high))))


@pytest.mark.parametrize(
    ("name", "n", "p", "expected"),
    [
        ("wald", 10, 0.05, 0.4002),
        ("wilson", 10, 0.05, 0.9139),
        ("wilson", 10, 0.9822, 0.8356),
        ("clopper_pearson", 10, 0.05, 0.9885),
        ("wald", 100, 0.106, 0.9522),
    ],
)
def test_coverage_by_enumeration(name, n, p, expected):
    assert coverage(FORMULAS[name], n, p) == pytest.approx(expected, abs=5e-5)


def test_published_wald_intervals():
    np.testing.assert_allclose(FORMULAS["wald"](22, 23, TWO), (0.873179017733963, 1.0398644605269067), rtol=1e-15)
    np.testing.assert_allclose(FORMULAS["wald"](17, 20, TWO), (0.6935, 1.0065), atol=5e-5)


@pytest.mark.parametrize(("n", "p"), [(7, 0.13), (20, 0.5), (35, 0.97)])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_clopper_pearson_never_undercovers(n, p, alternative):
    x = np.arange(n + 1)
    low, high = FORMULAS["clopper_pearson"](x, n, tails(0.9, alternative))
    assert np.sum(stats.binom.pmf(x, n, p) * ((low <= p) & (p <= high))) >= 0.9


def test_mid_p_solves_its_equation():
    n = 17
    x = np.arange(1, n + 1)
    low, _ = FORMULAS["mid_p"](x, n, TWO)
    half = stats.binom.sf(x, n, low) + stats.binom.pmf(x, n, low) / 2
    np.testing.assert_allclose(half, TWO.lower, rtol=1e-11)
    _, high = FORMULAS["mid_p"](x - 1, n, TWO)
    half = stats.binom.cdf(x - 2, n, high) + stats.binom.pmf(x - 1, n, high) / 2
    np.testing.assert_allclose(half, TWO.upper, rtol=1e-11)
    assert low[-1] == pytest.approx(0.05 ** (1 / n), rel=1e-14)


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 3000), share=st.floats(0, 1))
def test_order_symmetry_and_nesting(name, n, share):
    x, formula = round(share * n), FORMULAS[name]
    previous = None
    for level in LEVELS:
        low, high = formula(x, n, tails(level))
        assert low <= high
        if name != "agresti_coull":  # which is centred between p and 1/2
            assert low - 1e-15 <= x / n <= high + 1e-15
        if name not in ("wald", "agresti_coull"):
            assert low >= 0
            assert high <= 1
        other_low, other_high = formula(n - x, n, tails(level))
        assert 1 - other_low == pytest.approx(high, abs=1e-13)
        assert 1 - other_high == pytest.approx(low, abs=1e-13)
        if previous is not None and name != "agresti_coull":
            assert low <= previous[0] + 1e-15
            assert high >= previous[1] - 1e-15
        previous = low, high


@pytest.mark.parametrize("name", FORMULAS)
def test_one_sided_is_a_side_of_a_wider_two_sided(name):
    x = np.arange(13)
    low, high = FORMULAS[name](x, 12, tails(0.9))
    only_low, ones = FORMULAS[name](x, 12, tails(0.95, "greater"))
    zeros, only_high = FORMULAS[name](x, 12, tails(0.95, "less"))
    np.testing.assert_allclose(only_low, low, atol=1e-14)
    np.testing.assert_allclose(only_high, high, atol=1e-14)
    assert np.all(ones == 1)
    assert np.all(zeros == 0)


@pytest.mark.parametrize("name", ["wilson", "wilson_cc", "clopper_pearson", "jeffreys", "mid_p"])
def test_ends_of_the_range(name):
    low, high = FORMULAS[name]([0, 9], 9, TWO)
    assert low[0] == 0
    assert high[1] == 1
    assert 0 < high[0] < 1
    assert 0 < low[1] < 1


@pytest.mark.parametrize("name", FORMULAS)
def test_broadcasts_and_keeps_precision_at_large_n(name):
    low, high = FORMULAS[name](np.array([[3], [10**8]]), np.array([10**9, 2 * 10**9]), TWO)
    assert low.shape == high.shape == (2, 2)
    p = np.array([[3 / 10**9, 1.5e-9], [0.1, 0.05]])
    assert np.all((low < p) & (p < high))
    if name == "clopper_pearson":  # the Poisson limit: chi-square quantiles
        poisson = stats.chi2.ppf(0.025, 6) / 2, stats.chi2.ppf(0.975, 8) / 2
        np.testing.assert_allclose((low[0, 0] * 1e9, high[0, 0] * 1e9), poisson, rtol=1e-7)


def test_agresti_coull_contains_wilson_and_mid_p_lies_within_clopper_pearson():
    x = np.arange(31)
    wilson, adjusted = FORMULAS["wilson"](x, 30, TWO), FORMULAS["agresti_coull"](x, 30, TWO)
    assert np.all(adjusted[0] <= wilson[0] + 1e-15)
    assert np.all(adjusted[1] >= wilson[1] - 1e-15)
    exact, mid = FORMULAS["clopper_pearson"](x, 30, TWO), FORMULAS["mid_p"](x, 30, TWO)
    assert np.all(exact[0] <= mid[0])
    assert np.all(exact[1] >= mid[1])


# differences of proportions ---------------------------------------------------------------------


def outcomes(*counts):
    return proportion_difference.PairedOutcomes(*(np.asarray(x)[..., None] for x in counts), 1.0)


def newcombe(*counts_and_tails):
    return proportion_difference.Newcombe().from_outcomes(outcomes(*counts_and_tails[:-1]), counts_and_tails[-1])


def test_published_differences():
    # Newcombe (1998), paired data, and a study in Fagerland, Lydersen & Laake (2017), chapter 8
    np.testing.assert_allclose(newcombe(36, 12, 2, 0, TWO), (0.0569, 0.3404), atol=5e-5)
    np.testing.assert_allclose(newcombe(59, 6, 16, 80, TWO), (-0.1186, -0.0046), atol=5e-5)


def test_differences_are_antisymmetric_and_sided():
    low, high = newcombe(30, 8, 3, 9, TWO)
    np.testing.assert_allclose(newcombe(30, 3, 8, 9, TWO), (-high, -low), atol=1e-15)
    # so does swapping success and failure
    np.testing.assert_allclose(newcombe(9, 3, 8, 30, TWO), (-high, -low), atol=1e-15)
    one = newcombe(30, 8, 3, 9, tails(0.975, "greater"))
    np.testing.assert_allclose(one, (low, 1.0), atol=1e-15)
    one = newcombe([30, 1], 8, 3, 9, tails(0.9, "less"))
    assert np.all(one[0] == -1)


@pytest.mark.parametrize("table", [(0, 0, 0, 9), (9, 0, 0, 0), (0, 9, 0, 0), (5, 0, 0, 5), (0, 5, 5, 0)])
def test_paired_difference_of_empty_margins(table):
    low, high = newcombe(*table, TWO)
    p = (table[1] - table[2]) / sum(table)
    assert -1 <= low <= p <= high <= 1
    assert low < high


@pytest.mark.parametrize(("only_a", "only_b"), [(1, 5), (4, 4), (0, 0), (10, 20), (30, 2)])
def test_mcnemar(only_a, only_b):
    evidence = SimpleNamespace(outcomes=outcomes([3], [only_a], [only_b], [4]))
    found = proportion_difference.Newcombe().pvalue(evidence, math.nan, "two-sided").value
    tail = stats.binom.cdf(min(only_a, only_b), only_a + only_b, 0.5)
    assert found == pytest.approx(min(1, 2 * tail), rel=1e-12)


# the verb ---------------------------------------------------------------------------------------


def test_proportion_interval():
    interval = proportion_interval(22, 23, method="wilson")
    assert isinstance(interval, ConfidenceInterval)
    assert isinstance(interval.low, float)
    np.testing.assert_allclose(interval, FORMULAS["wilson"](22, 23, TWO))
    many = proportion_interval([1, 2], [[10], [20], [30]], method="jeffreys", alternative="less")
    assert many.low.shape == many.high.shape == (3, 2)
    with pytest.warns(JaxciWarning, match="clipped"):
        assert proportion_interval(22, 23, method="wald").high == 1
    with pytest.warns(JaxciWarning, match="no width"):
        assert proportion_interval(0, 23, method="wald") == (0, 0)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"count": 12}, "count must be an integer between 0 and nobs; got 12 with nobs = 10"),
        ({"count": [3, -1]}, "got -1 with nobs = 10"),
        ({"count": 2.5}, "count must be an integer between 0 and nobs; got 2.5"),
        ({"count": math.nan}, "count must be an integer between 0 and nobs; got nan"),
        ({"count": "many"}, "count must be an integer"),
        ({"nobs": 0, "count": 0}, "nobs must be an integer of at least 1; got 0"),
        ({"nobs": math.inf}, "nobs must be an integer of at least 1; got inf"),
        ({"count": [1, 2, 3], "nobs": [5, 5]}, "must broadcast"),
        ({"confidence_level": 95}, "confidence_level must .* 95.* 0.95"),
        ({"confidence_level": 1.0}, "confidence_level must .* got 1.0"),
        ({"confidence_level": math.nan}, "confidence_level must .* got nan"),
        ({"method": "wilsn"}, "did you mean 'wilson'"),
        ({"method": 3}, "method must be .* got 3"),
        ({"alternative": "larger"}, "alternative must be one of"),
    ],
)
def test_proportion_interval_refuses(kwargs, message):
    arguments = {"count": 3, "nobs": 10} | kwargs
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        proportion_interval(arguments.pop("count"), arguments.pop("nobs"), **arguments)


# methods ----------------------------------------------------------------------------------------

METHODS = [
    *(cls() for cls in proportion.PROPORTION_METHODS),
    parametric.Z(),
    parametric.Z(sigma=0.3),
    parametric.T(),
    delta.Delta(),
    delta.Delta(scale="logit"),
    concentration.Hoeffding(),
    concentration.EmpiricalBernstein(),
    concentration.Betting(),
    auc.DeLong(),
    auc.DeLongLogit(),
    auc.HanleyMcNeil(),
]


def evidence_for(method):
    rng = np.random.default_rng(5)
    if "auc" in method.needs:
        y = rng.random(60) < 0.4
        found = auc.auc_evidence(y, y + rng.normal(size=60))
        return Evidence(AUC, found.auc, 60, auc=found)
    values = (rng.random(40) < 0.8).astype(float)
    statistic = UNIT_MEAN if "values" in method.needs else ACCURACY
    return Evidence(statistic, values.mean(), 40, count=values.sum(), nobs=40, values=values, standard_error=0.06)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_methods_are_ordered_nested_and_sided(method):
    evidence = evidence_for(method)
    assert method.refusal(evidence.statistic) is None
    assert all(getattr(evidence, field) is not None for field in method.needs)
    previous = (math.inf, -math.inf)
    for level in (0.5, 0.8, 0.95, 0.99):
        (low, high), remarks = method.interval(evidence, tails(level))
        assert low <= evidence.estimate <= high
        assert remarks == ()
        assert low <= previous[0]
        assert high >= previous[1]
        previous = low, high
    low, high = method.interval(evidence, tails(0.95))[0]
    upper = method.interval(evidence, tails(0.975, "less"))[0]
    lower = method.interval(evidence, tails(0.975, "greater"))[0]
    assert upper.low == evidence.statistic.bounds[0]
    assert lower.high == evidence.statistic.bounds[1]
    assert upper.high == pytest.approx(high, rel=1e-12)
    assert lower.low == pytest.approx(low, rel=1e-12)


def test_refusals():
    for cls in proportion.PROPORTION_METHODS:
        assert cls().refusal(ACCURACY) is None
        assert "needs a proportion" in cls().refusal(F1(average="macro"))
    for method in (parametric.T(), parametric.Z()):
        assert method.refusal(MEAN) is None
        assert "plain mean" in method.refusal(F1())
        assert "plain mean" in method.refusal(RootMeanSquaredError())
    assert "range" in concentration.Betting().refusal(MEAN)
    assert concentration.Betting(low=0, high=5).refusal(MEAN) is None
    assert "range" in concentration.Hoeffding(low=0).refusal(MEAN)
    assert "plain mean" in concentration.Hoeffding(low=0, high=1).refusal(F1())
    assert delta.Delta(scale="logit").refusal(F1()) is None
    assert "between 0 and 1" in delta.Delta(scale="logit").refusal(KAPPA)
    assert delta.Delta(scale="fisher").refusal(KAPPA) is None
    assert "differentiable" in delta.Delta().refusal(IQR())
    assert auc.DeLong().refusal(AUC) is None
    assert "max_fpr=0.1" in auc.DeLong().refusal(RocAuc(max_fpr=0.1))
    assert "ROC" in auc.HanleyMcNeil().refusal(F1())
    for method in (delta.Delta, kurtosis.KurtosisT):
        assert method(scale="log").refusal(RootMeanSquaredError()) is None
        assert "between 0 and inf" in method(scale="log").refusal(F1())
        assert method(scale="log_complement").refusal(R2()) is None
        assert "between -inf and 1" in method(scale="log_complement").refusal(MEAN)
        assert "differentiable" in method().refusal(IQR())
        with pytest.raises(ValueError, match=r"scale must be one of natural, logit, .*got 'log10'"):
            method(scale="log10")
    assert "for the metric of one model" in kurtosis.KurtosisT(scale="fisher").refusal(paired_difference(KAPPA))


def test_closed_forms_for_dependent_rows_are_the_delta_method_and_students_for_clusters():
    """Formulas of shares take strata too, in which a share varies less, and Wilson's weights."""
    known = {"delta": {"groups", "strata", "sample_weight"}, "t": {"groups"}, "wilson": {"strata", "sample_weight"}}
    for method in METHODS:
        shares = {"strata"} if isinstance(method, proportion.ProportionMethod) else set()
        assert method.takes == known.get(method.name, shares)


# means ------------------------------------------------------------------------------------------


def test_mean_intervals_by_hand():
    def z_interval(values, method):
        return method.bounds(Evidence(MEAN, values.mean(), len(values), values=values), TWO, ())

    x = np.array([1.0, 2.0, 3.0, 6.0])  # mean 3, s^2 = 14/3
    half = 3.18244630528371 * math.sqrt(14 / 12)
    # Student's quantile of SciPy 1.15 is right to 2e-13, of later ones to rounding
    np.testing.assert_allclose(parametric.t_interval(x, TWO), (3 - half, 3 + half), rtol=2e-12)
    half = 1.959963984540054 * math.sqrt(14 / 12)
    np.testing.assert_allclose(z_interval(x, parametric.Z()), (3 - half, 3 + half), rtol=1e-14)
    half = 1.959963984540054
    np.testing.assert_allclose(z_interval(x, parametric.Z(sigma=2.0)), (3 - half, 3 + half), rtol=1e-14)
    assert parametric.t_interval(x, tails(0.9, "less"))[0] == -math.inf
    assert parametric.t_interval([2.0, 2.0], tails(0.9, "greater")) == (2.0, math.inf)
    assert z_interval(np.array([2.0]), parametric.Z(sigma=1.0))[0] == pytest.approx(2 - half)
    with pytest.raises(ValueError, match="at least 2"):
        parametric.t_interval([1.0], TWO)


def test_a_large_offset_does_not_matter():
    x = np.random.default_rng(0).normal(size=500)
    moved = np.array(parametric.t_interval(x + 1e9, TWO)) - 1e9
    np.testing.assert_allclose(moved, parametric.t_interval(x, TWO), atol=1e-6)


@pytest.mark.parametrize(("statistic", "word"), [(ACCURACY, "wilson"), (UNIT_MEAN, "betting"), (MEAN, "betting")])
@pytest.mark.parametrize("method", [parametric.T(), parametric.Z(), delta.Delta()], ids=lambda m: m.name)
def test_no_width_is_remarked(method, statistic, word):
    evidence = Evidence(statistic, 1.0, 5, values=np.ones(5), standard_error=0.0)
    (low, high), remarks = method.interval(evidence, TWO)
    assert low == high == 1
    assert f"method='{word}'" in remarks[0]


def test_no_width_of_wald_is_remarked():
    _, remarks = proportion.Wald().interval(Evidence(ACCURACY, 1.0, 5, count=5, nobs=5), TWO)
    assert "method='mid_p'" in remarks[0]


def test_welch_by_hand():
    a, b = [1.0, 3.0], [10.0, 14.0, 12.0]  # variances 2 and 4
    se2 = 1 + 4 / 3
    df = se2**2 / (1 + (4 / 3) ** 2 / 2)
    half = stats.t.ppf(0.975, df) * math.sqrt(se2)
    np.testing.assert_allclose(parametric.welch(a, b, TWO), (-10 - half, -10 + half), rtol=1e-13)
    assert parametric.welch([1, 1], [0, 0, 0], TWO) == (1, 1)
    assert parametric.welch(a, b, tails(0.9, "less"))[0] == -math.inf


# the delta method -------------------------------------------------------------------------------


def test_delta_scales_by_hand():
    z = 1.959963984540054
    natural = delta.delta_interval(0.8, 0.05, TWO)
    np.testing.assert_allclose(natural, (0.8 - z * 0.05, 0.8 + z * 0.05))
    centre, step = math.log(4), z * 0.05 / 0.16
    logit = [1 / (1 + math.exp(-(centre + sign * step))) for sign in (-1, 1)]
    np.testing.assert_allclose(delta.delta_interval(0.8, 0.05, TWO, "logit"), logit)
    centre, step = math.atanh(0.8), z * 0.05 / 0.36
    fisher = [math.tanh(centre + sign * step) for sign in (-1, 1)]
    np.testing.assert_allclose(delta.delta_interval(0.8, 0.05, TWO, "fisher"), fisher)
    assert delta.delta_interval(0.8, 0.05, tails(0.9, "less"), "logit")[0] == 0
    assert delta.delta_interval(0.8, 0.05, tails(0.9, "greater"), "fisher")[1] == 1


def test_delta_at_the_end_of_the_range():
    bounds, remarks = delta.Delta(scale="logit").interval(
        Evidence(F1(average="weighted"), 1.0, 9, standard_error=0.0), TWO
    )
    assert bounds == (1, 1)
    assert "clopper_pearson" in remarks[0]
    _, remarks = delta.Delta().interval(Evidence(F1(average="macro"), 1.0, 9, standard_error=0.0), TWO)
    assert "square_and_add" in remarks[0]
    _, remarks = delta.Delta().interval(Evidence(AUC, 1.0, 9, standard_error=0.0), TWO)
    assert "delong_logit" in remarks[0]
    bounds, remarks = delta.Delta().interval(Evidence(F1(), 0.9, 9, standard_error=0.1), tails(0.9, "less"))
    assert bounds.low == 0
    assert remarks == ()


@pytest.mark.parametrize(
    ("scale", "estimate"), [("logit", 0.3), ("fisher", -0.4), ("log", 2.5), ("log_complement", -0.7)]
)
def test_scales_are_what_they_say(scale, estimate):
    """Symmetric there, of the slope of the scale at the estimate, and no further than the range."""
    to = {
        "logit": lambda p: np.log(p / (1 - p)),
        "fisher": np.arctanh,
        "log": np.log,
        "log_complement": lambda x: -np.log(1 - x),
    }[scale]
    error, step = 0.02, stats.norm.ppf(0.975)
    low, high = map(to, delta.delta_interval(estimate, error, TWO, scale))
    slope = (to(estimate + 1e-6) - to(estimate - 1e-6)) / 2e-6
    np.testing.assert_allclose([low, high], to(estimate) + step * error * slope * np.array([-1, 1]), rtol=1e-8)
    (bottom, top), far = delta.SCALES[scale].bounds, delta.delta_interval(estimate, 1e6, TWO, scale)
    assert bottom <= far.low < far.high <= top
    assert np.all(np.isnan(delta.delta_interval(math.nan, 0.1, TWO, scale)))


def test_delta_keeps_nan():
    for scale in delta.SCALES:
        assert np.all(np.isnan(delta.delta_interval(math.nan, 0.1, TWO, scale)))


# concentration ----------------------------------------------------------------------------------


def test_concentration_by_hand():
    x = np.array([0.0, 4.0, 2.0, 2.0])  # mean 2, s^2 = 8/3, range 5
    half = 5 * math.sqrt(math.log(40) / 8)
    np.testing.assert_allclose(concentration.Hoeffding.of_values(x, (0, 5), TWO), (2 - half, 2 + half), rtol=1e-14)
    half = math.sqrt(8 / 3 * 2 * math.log(80) / 4) + 7 * 5 * math.log(80) / 9
    np.testing.assert_allclose(
        concentration.EmpiricalBernstein.of_values(x, (0, 5), TWO), (2 - half, 2 + half), rtol=1e-14
    )
    one = concentration.Hoeffding.of_values(x, (0, 5), tails(0.95, "greater"))
    assert one == (pytest.approx(2 - 5 * math.sqrt(math.log(20) / 8)), 5)


def test_width_ratios_to_student_at_large_n():
    rng = np.random.default_rng(1)
    n = 400_000
    x = rng.beta(8, 2, n)
    width = {"t": np.ptp(parametric.t_interval(x, TWO))}
    for method in (concentration.Hoeffding, concentration.EmpiricalBernstein, concentration.Betting):
        width[method.name] = np.ptp(method.of_values(x, (0, 1), TWO))
    ratio = {name: value / width["t"] for name, value in width.items()}
    assert ratio["hoeffding"] * x.std() == pytest.approx(0.6929, abs=5e-5)
    # without the term of order 1/n
    lower_order = 2 * 7 * math.log(80) / (3 * (n - 1)) / width["t"]
    assert ratio["empirical_bernstein"] - lower_order == pytest.approx(1.5104, abs=5e-5)
    assert ratio["betting"] == pytest.approx(math.sqrt(2 * math.log(40)) / stats.norm.ppf(0.975), abs=2e-3)


def betting_by_grid(x, tails, size=4001):
    """The capital of every mean on a grid, bet by bet."""
    found = []
    for side, tail in ((x, tails.lower), (1 - x, tails.upper)):
        m = np.linspace(0, side.mean(), size)[1:]
        log_capital, seen = np.zeros(size - 1), []
        for t, now in enumerate(side):
            past = np.array(seen)
            means = (0.5 + np.cumsum(past)) / (np.arange(t) + 2)
            variance = (0.25 + np.sum((past - means) ** 2)) / (t + 1)
            bet = np.minimum(math.sqrt(2 * math.log(1 / tail) / (len(x) * variance)), 0.5 / m)
            log_capital += np.log(1 + bet * (now - m))
            seen.append(now)
        rich = m[log_capital >= math.log(1 / tail)]
        found.append(rich.max() if rich.size else 0.0)
    return found[0], 1 - found[1]


@pytest.mark.parametrize("n", [2, 7, 64, 65, 150])
def test_betting_is_the_grid_search(n):
    x = np.random.default_rng(n).beta(3, 1, n)
    for chosen in (TWO, Tails(0.01, 0.2)):
        got, expected = concentration.Betting.of_values(x, (0, 1), chosen), betting_by_grid(x, chosen)
        np.testing.assert_allclose(got, expected, atol=2 / 4000)


def test_betting_scales_with_the_range_and_mirrors():
    x = np.random.default_rng(3).random(80)
    low, high = concentration.Betting.of_values(x, (0, 1), TWO)
    np.testing.assert_allclose(
        concentration.Betting.of_values(10 * x - 4, (-4, 6), TWO), (10 * low - 4, 10 * high - 4), rtol=1e-12
    )
    np.testing.assert_allclose(concentration.Betting.of_values(1 - x, (0, 1), TWO), (1 - high, 1 - low), rtol=1e-12)


@pytest.mark.parametrize("x", [np.ones(30), np.zeros(30), np.full(30, 0.4), np.ones(1), np.arange(300) / 299])
def test_betting_edges(x):
    low, high = concentration.Betting.of_values(x, (0, 1), TWO)
    assert 0 <= low <= x.mean() <= high <= 1
    assert low < high
    assert concentration.Betting.of_values(x, (0, 1), tails(0.9, "less"))[0] == 0
    assert concentration.Betting.of_values(x, (0, 1), tails(0.9, "greater"))[1] == 1


def test_betting_compiles_once_per_padded_size():
    rng = np.random.default_rng(0)
    concentration.Betting.of_values(rng.random(130), (0, 1), TWO)
    before = concentration._betting_lower._cache_size()
    for n, level in ((129, 0.9), (140, 0.99), (144, 0.5)):
        concentration.Betting.of_values(rng.random(n), (0, 1), tails(level))
    assert concentration._betting_lower._cache_size() == before


@pytest.mark.parametrize("law", ["bernoulli", "beta"])
def test_betting_covers(law):
    # one-sided 90 % bounds on 600 data sets: a miss rate of .1 exceeds 90 with probability 1e-4
    rng = np.random.default_rng(11)
    n, reps = 60, 600
    data = rng.random((reps, n)) < 0.15 if law == "bernoulli" else rng.beta(0.4, 1.6, (reps, n))
    truth = 0.15 if law == "bernoulli" else 0.2
    found = np.array([concentration.Betting.of_values(row, (0, 1), Tails(0.1, 0.1)) for row in data.astype(float)])
    assert np.sum(found[:, 0] > truth) <= 90
    assert np.sum(found[:, 1] < truth) <= 90
    hoeffding = np.ptp([concentration.Hoeffding.of_values(row, (0, 1), Tails(0.1, 0.1)) for row in data], axis=1)
    assert np.mean(np.ptp(found, axis=1)) < np.mean(hoeffding)


def test_concentration_refuses_bad_values():
    def interval_of(kind, values, **ends):
        return kind(**ends).interval(Evidence(MEAN, np.mean(values), len(values), values=np.array([values])), TWO)

    for kind in (concentration.Hoeffding, concentration.EmpiricalBernstein, concentration.Betting):
        with pytest.raises(ValueError, match=r"within bounds = \(0, 1\); got 1.5 \(1 of 3 outside\)"):
            interval_of(kind, [0.5, 1.5, 0.2], low=0, high=1)
        with pytest.raises(ValueError, match="outside"):
            interval_of(kind, [0.5, math.nan], low=0, high=1)
        with pytest.raises(ValueError, match="finite with low < high"):
            interval_of(kind, [0.5, 0.2], low=1, high=0)
        with pytest.raises(ValueError, match="finite with low < high"):
            interval_of(kind, [0.5, 0.2], low=0, high=math.inf)
    with pytest.raises(NoInterval, match="at least 2"):
        concentration.EmpiricalBernstein(low=0, high=1).critical(MEAN, 1, TWO)


def test_an_explicit_range_clips_with_a_remark():
    evidence = Evidence(MEAN, 1.5, 4, values=np.array([1.0, 2.0, 1.0, 2.0]))
    bounds, remarks = concentration.Hoeffding(low=0.0, high=2.0).interval(evidence, TWO)
    assert bounds == (pytest.approx(1.5 - 2 * math.sqrt(math.log(40) / 8)), 2)
    assert "clipped to the range given, 0 to 2" in remarks[0]
    bounds, remarks = concentration.Hoeffding(low=0.0, high=20.0).interval(evidence, tails(0.95))
    assert bounds.low == 0
    assert "clipped to the range given, 0 to 20" in remarks[0]
    bounds, remarks = concentration.Hoeffding(low=-40.0, high=40.0).interval(evidence, tails(0.7, "less"))
    assert bounds.low == -40
    assert remarks == ()


def test_values_outside_the_range_have_no_interval():
    rows = np.array([[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 3.0]])
    for method in (concentration.Hoeffding(0.0, 2.0), concentration.Betting(0.0, 2.0)):
        low, high = method.bounds(Evidence(MEAN, rows.mean(axis=1), 4, values=rows), TWO, ())
        assert np.isnan(low).tolist() == np.isnan(high).tolist() == [False, True]
        with pytest.raises(ValueError, match=r"within bounds = \(0, 2\); got 3 \(1 of 4 outside\)"):
            method.interval(Evidence(MEAN, 1.75, 4, values=rows[1]), TWO)


# areas under ROC curves -------------------------------------------------------------------------


def auc_bounds(method, y, score, chosen=TWO):
    found = auc.auc_evidence(y, score)
    (low, high), remarks = method.interval(Evidence(AUC, found.auc, len(y), auc=found), chosen)
    return low, high, remarks


AUC_METHODS = [auc.DeLong(), auc.DeLongLogit(), auc.HanleyMcNeil()]


def test_auc_by_hand():
    # positives 3, 1, 2; negatives 0, 2: placements 1, 1/2, 3/4 and 1, 1/2
    found = auc.auc_evidence([1, 0, 1, 0, 1], [3.0, 0.0, 1.0, 2.0, 2.0])
    assert found.auc == 0.75
    assert (found.n_pos, found.n_neg) == (3, 2)
    assert found.placement_variance_pos == 0.0625
    assert found.placement_variance_neg == 0.125
    assert found.variance == pytest.approx(0.0625 / 3 + 0.0625)
    q1, q2 = 0.75 / 1.25, 2 * 0.5625 / 1.75
    variance = (0.1875 + 2 * (q1 - 0.5625) + (q2 - 0.5625)) / 6
    low, high, _ = auc_bounds(auc.HanleyMcNeil(), [1, 0, 1, 0, 1], [3.0, 0.0, 1.0, 2.0, 2.0])
    assert high - low == pytest.approx(2 * 1.959963984540054 * math.sqrt(variance))


@pytest.mark.parametrize("method", AUC_METHODS, ids=lambda m: m.name)
def test_perfect_separation(method):
    y = np.repeat([0, 1], [8, 5])
    low, high, remarks = auc_bounds(method, y, np.arange(13))
    assert (low, high) == (pytest.approx(0.025 ** (1 / 5)), 1)
    assert "perfectly separated" in remarks[0]
    assert "clopper_pearson" in remarks[0]
    low, high, _ = auc_bounds(method, y, -np.arange(13))
    assert (low, high) == (0, pytest.approx(1 - 0.025 ** (1 / 5)))
    assert auc_bounds(method, y, np.arange(13), tails(0.9, "less"))[:2] == (0, 1)
    assert auc_bounds(method, [0, 1], [0, 1], tails(0.9, "greater"))[:2] == (pytest.approx(0.1), 1)


@pytest.mark.parametrize("method", AUC_METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("y", "score"),
    [
        ([1, 0, 0, 0], [2.0, 1.0, 3.0, 0.0]),  # one positive
        ([1, 1, 0, 1], [2.0, 1.0, 1.5, 0.0]),  # one negative
        ([1, 0], [1.0, 1.0]),
        ([1, 1, 0, 0], [1.0, 1.0, 1.0, 1.0]),  # all tied
    ],
)
def test_degenerate_auc_has_width_and_a_remark(method, y, score):
    low, high, remarks = auc_bounds(method, y, score)
    assert np.isfinite([low, high]).all()
    assert low < high
    if min(sum(y), len(y) - sum(y)) == 1 or method.name != "hanley_mcneil":
        assert "method='" in remarks[0]


@pytest.mark.parametrize(("m", "n"), [(20, 30), (5, 95), (1, 4)])
@pytest.mark.parametrize("area", [0.0, 0.3, 0.5, 0.87, 0.99, 1.0])
def test_the_score_interval_of_an_auc_ends_where_its_test_rejects(area, m, n):
    found = auc.AucEvidence(np.float64(area), m, n, np.nan, np.nan)
    low, high = auc.NewcombeAuc().bounds(Evidence(AUC, area, m + n, auc=found), TWO, ())
    both = (m + n) / 2 - 1

    def excess(t):
        pairs = t * (1 - t) * (1 + both * (1 - t) / (2 - t) + both * t / (1 + t)) / (m * n)
        return (area - t) ** 2 - stats.norm.isf(0.025) ** 2 * pairs

    assert low == (0 if area == 0 else pytest.approx(optimize.brentq(excess, 1e-12, area - 1e-9, xtol=1e-14)))
    assert high == (1 if area == 1 else pytest.approx(optimize.brentq(excess, area + 1e-9, 1 - 1e-12, xtol=1e-14)))
    one = auc.NewcombeAuc().bounds(Evidence(AUC, area, m + n, auc=found), tails(0.975, "greater"), ())
    assert one == (pytest.approx(low, abs=1e-12), 1)


def bonett_by_loops(x, z):
    n = len(x)
    inner = stats.trim_mean(x, 1 / (2 * math.sqrt(n - 4)))
    fourth, squares = sum((v - inner) ** 4 for v in x), sum((v - np.mean(x)) ** 2 for v in x)
    kurtosis, c = n * fourth / squares**2, n / (n - z)
    error = c * math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    middle = math.log(c * np.var(x, ddof=1))
    return np.exp([middle - z * error, middle + z * error])


@pytest.mark.parametrize("n", [5, 6, 12, 40])
@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e150])
def test_bonetts_interval_against_loops(n, scale):
    x = np.random.default_rng(n).gamma(2, size=n)
    expected = bonett_by_loops(x, stats.norm.isf(0.025))
    for statistic, power in ((Variance(), 1), (Std(), 0.5)):
        if power == 1 and scale != 1:
            continue
        row = jaxci.interval(statistic, 3 * scale + x * scale, method="bonett")
        np.testing.assert_allclose(row.confidence_interval, scale * expected**power, rtol=1e-9)
        assert row.estimate == pytest.approx(scale * np.var(x) ** power, rel=1e-9)


@pytest.mark.parametrize("constant", [1.0, 0.9, 0.1, 1e9 / 3, -1e-9 / 7])
@pytest.mark.parametrize("name", ["std", "var"])
def test_bonetts_interval_of_constants_is_zero(name, constant):
    for n in (9, 30, 10_000):
        with pytest.warns(JaxciWarning, match="the values do not vary, so the 'bonett' interval has no width$"):
            row = jaxci.interval(name, np.full(n, constant), method="bonett")
        assert row.confidence_interval == (0, 0)


def test_bonetts_interval_needs_values_that_vary():
    with pytest.raises(ValueError, match="confidence_level is too high for 'bonett' at n = 5"):
        jaxci.interval("std", np.arange(5.0), method="bonett", confidence_level=0.9999999)
    with pytest.raises(ValueError, match="at least 5 numbers"):
        jaxci.interval("std", [1.0, 2.0, 3.0, 5.0], method="bonett")
    with pytest.raises(ValueError, match="needs a standard deviation or a variance; Mean is neither"):
        jaxci.interval("mean", np.arange(9.0), method="bonett")


def test_proportion_methods_give_f1_from_the_jaccard_index():
    rng = np.random.default_rng(4)
    y, p = rng.integers(0, 2, (2, 60))
    hits, either = int(np.sum(y & p)), int(np.sum(y | p))
    for method in ("wilson", "clopper_pearson", "jeffreys"):
        ends = np.array(proportion_interval(hits, either, method=method).confidence_interval)
        jaccard, f1 = (jaxci.interval(metric, y, p, method=method) for metric in ("jaccard", "f1"))
        np.testing.assert_allclose(jaccard.confidence_interval, ends, rtol=1e-12)
        np.testing.assert_allclose(f1.confidence_interval, 2 * ends / (1 + ends), rtol=1e-12)
    share = hits / either
    error = 2 / (1 + share) ** 2 * math.sqrt(share * (1 - share) / either)
    assert f1.standard_error == pytest.approx(error, rel=1e-12)
    delta = jaxci.interval("f1", y, p, method="delta")
    assert f1.standard_error == pytest.approx(delta.standard_error, rel=1e-9)
    assert (f1.estimate, f1.estimate) == (pytest.approx(delta.estimate), pytest.approx(2 * share / (1 + share)))


def test_walds_interval_of_f1_does_not_pass_the_pole():
    y, p = np.r_[1, 1, np.zeros(8, int)], np.r_[1, np.zeros(9, int)]
    with pytest.warns(JaxciWarning, match="left the range"):
        row = jaxci.interval("f1", y, p, method="wald", confidence_level=0.99999)
    assert row.confidence_interval == (0, 1)


def joined_by_loops(scores, weights, successes, trials, level, score=lambda share: share, correlations=None):
    """Distances of a class that nothing is known of add up, those of others by their squares and correlations."""
    ends = [
        proportion_interval(x, n, method="wilson", confidence_level=level) if n else (0, 1)
        for x, n in zip(successes, trials, strict=True)
    ]
    found = []
    for side, end in enumerate(zip(*ends, strict=True)):
        apart = [w * (score(e) - s) for w, s, e in zip(weights, scores, end, strict=True)]
        unknown = sum(d for d, n in zip(apart, trials, strict=True) if not n)
        square = 0.0
        for i, j in itertools.product(range(len(apart)), repeat=2):
            if trials[i] and trials[j]:
                square += apart[i] * apart[j] * ((i == j) if correlations is None else correlations[i][j])
        found.append(np.dot(weights, scores) + unknown + (math.sqrt(square) if side else -math.sqrt(square)))
    return tuple(found)


ROWS = np.array([[9, 1, 0, 0], [2, 5, 1, 0], [0, 0, 7, 0], [0, 0, 0, 0]])
"""Rows of four classes by truth and prediction: the last class is never true and never predicted."""


def labels_of(table):
    codes = np.repeat(np.arange(table.size), table.ravel())
    return codes // len(table), codes % len(table)


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilsons_intervals_of_classes_are_joined(level):
    y, p = labels_of(ROWS[:3, :3])
    hits = np.diag(ROWS)[:3]
    for metric, axis in (("balanced_accuracy", 1), ("recall_macro", 1), ("precision_macro", 0)):
        trials = ROWS.sum(axis=axis)[:3]
        expected = joined_by_loops(hits / trials, [1 / 3] * 3, hits, trials, level)
        row = jaxci.interval(metric, y, p, confidence_level=level, method="square_and_add")
        assert row.method == "square_and_add"
        np.testing.assert_allclose(row.confidence_interval, expected, rtol=1e-12)
        delta = jaxci.interval(metric, y, p, method="delta")
        assert row.standard_error == pytest.approx(delta.standard_error, rel=1e-9)
        upper = jaxci.interval(
            metric, y, p, confidence_level=(1 + level) / 2, alternative="less", method="square_and_add"
        )
        assert upper.confidence_interval == (0, pytest.approx(expected[1], rel=1e-12))


@pytest.mark.parametrize(("metric", "score"), [("f1_macro", lambda x: 2 * x / (1 + x)), ("jaccard_macro", lambda x: x)])
def test_classes_that_share_rows_are_joined_with_their_correlations(metric, score):
    table = np.array([[9, 1, 0, 2], [2, 5, 1, 1], [0, 3, 7, 0], [1, 0, 2, 0]])
    y, p = labels_of(table)
    hits, trials = np.diag(table), table.sum(axis=0) + table.sum(axis=1) - np.diag(table)

    rng = np.random.default_rng(0)
    near = rng.multinomial(10**9, table.ravel() / table.sum(), size=40_000).reshape(-1, 4, 4)
    found = np.diagonal(near, axis1=1, axis2=2)
    of_each = found / (near.sum(axis=1) + near.sum(axis=2) - found)
    correlations = np.eye(4)
    correlations[:3, :3] = np.corrcoef(of_each[:, :3].T)

    expected = joined_by_loops(score(hits / trials), [1 / 4] * 4, hits, trials, 0.95, score, correlations)
    row = jaxci.interval(metric, y, p, method="square_and_add")
    np.testing.assert_allclose(row.confidence_interval, expected, atol=1e-3)
    assert row.standard_error == pytest.approx(jaxci.interval(metric, y, p, method="delta").standard_error, rel=1e-9)
    assert (
        row.confidence_interval.high > joined_by_loops(score(hits / trials), [1 / 4] * 4, hits, trials, 0.95, score)[1]
    )


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_a_class_that_nothing_is_known_of_may_have_any_share(zero_division):
    y = np.repeat([0, 1], [90, 10])
    with pytest.warns(JaxciWarning, match="no row tells of the share of 1 of the classes"):
        row = jaxci.interval(
            Precision(average="macro", zero_division=zero_division), y, np.zeros(100, int), method="square_and_add"
        )
    expected = joined_by_loops([0.9, zero_division], [0.5, 0.5], [90, 0], [100, 0], 0.95)
    np.testing.assert_allclose(row.confidence_interval, np.clip(expected, 0, 1), rtol=1e-12)


@pytest.mark.parametrize("rule", ["sklearn", "zero", "skip"])
def test_a_class_that_is_absent_counts_as_it_is_said(rule):
    y, p = labels_of(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JaxciWarning)
        known = {"labels": [0, 1, 2, 3], "absent_class": rule}
        row = jaxci.interval("balanced_accuracy", y, p, **known, method="square_and_add")
        skipped = jaxci.interval(F1(average="class", class_index=3, absent_class="skip"), y, p, labels=[0, 1, 2, 3])
    hits, trials = np.diag(ROWS), ROWS.sum(axis=1)
    kept = 4 if rule == "zero" else 3
    scores = hits[:kept] / np.maximum(trials[:kept], 1)
    expected = joined_by_loops(scores, [1 / kept] * kept, hits[:kept], trials[:kept], 0.95)
    np.testing.assert_allclose(row.confidence_interval, expected, rtol=1e-12)
    assert row.method == "square_and_add"
    assert np.isnan(skipped.estimate)


def test_auc_evidence_refuses():
    with pytest.raises(ValueError, match="both classes, 0 and 1; got 3 positives and 0 negatives"):
        auc.auc_evidence([1, 1, 1], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="scores must be finite"):
        auc.auc_evidence([1, 0], [1.0, math.nan])
    with pytest.raises(ValueError, match="one value per row"):
        auc.auc_evidence([1, 0], [1.0, 2.0, 3.0])


def delong_difference(y_true, score_a, score_b, sides):
    """Difference, bounds, two-sided p-value and remarks of two scores of the same rows."""
    method, seen = auc_difference.DeLongDifference(), auc_difference.auc_difference_evidence(y_true, score_a, score_b)
    stacked = jax.tree.map(lambda x: x[None], seen)
    pair = paired_difference(RocAuc())
    evidence = Evidence(statistic=pair, estimate=stacked.difference, n=len(y_true), auc_difference=stacked)
    (low, high), remarks = method.interval(evidence, sides)
    pvalue = method.pvalue(evidence, math.nan, "two-sided").value
    return SimpleNamespace(
        difference=float(seen.difference), bounds=Bounds(low[0], high[0]), pvalue=pvalue, remarks=remarks
    )


def test_delong_difference_agrees_with_the_covariance():
    rng = np.random.default_rng(2)
    y = rng.random(90) < 0.5
    a, b = y + rng.normal(size=90), y + rng.normal(size=90).round(1)
    areas, covariance = plain_delong(y, np.stack([a, b]))
    found = delong_difference(y, a, b, TWO)
    assert found.difference == pytest.approx(areas[0] - areas[1], abs=1e-15)
    se = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    z = stats.norm.ppf(0.975)
    np.testing.assert_allclose(found.bounds[:2], found.difference + np.array([-z, z]) * se, rtol=1e-12)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(found.difference) / se))
    assert found.remarks == ()
    mirrored = delong_difference(y, b, a, TWO)
    assert mirrored.bounds.low == pytest.approx(-found.bounds.high)
    assert delong_difference(y, a, b, tails(0.9, "less")).bounds.low == -1
    assert delong_difference(y, a, b, tails(0.9, "greater")).bounds.high == 1


def test_delong_difference_of_equal_orders():
    y = [1, 0, 1, 0, 0, 1]
    a = np.array([3.0, 0.0, 1.0, 2.0, 2.0, 2.0])
    found = delong_difference(y, a, np.exp(a), TWO)
    assert found.difference == 0
    assert found.pvalue == 1
    np.testing.assert_allclose(found.bounds[:2], (0.025 ** (1 / 3) - 1, 1 - 0.025 ** (1 / 3)))
    assert "order every pair" in found.remarks[0]


@pytest.mark.parametrize(
    ("y", "a", "b"),
    [
        ([1, 0, 0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0]),  # one positive
        ([1, 1, 0, 0], [2.0, 3.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]),  # perfect against constant
        ([1, 1, 0, 0], [2.0, 3.0, 0.0, 1.0], [0.0, 1.0, 2.0, 3.0]),  # perfect against reversed
    ],
)
def test_delong_difference_without_a_variance(y, a, b):
    found = delong_difference(y, a, b, TWO)
    assert -1 <= found.bounds.low < found.bounds.high <= 1
    assert 0 < found.pvalue <= 1
    assert found.remarks


def test_placement_counts_determine_the_order_of_every_pair():
    # equal counts imply equal comparisons, ties included: the ground of the bound for equal orders
    rng = np.random.default_rng(8)
    y = np.repeat([1, 0], [3, 3])
    seen = {}
    for score in rng.integers(0, 5, (4000, 6)).astype(float):
        below, above = auc.placements(y, score[None])
        order = np.sign(score[:3, None] - score[None, 3:]).tobytes()
        assert seen.setdefault((below.tobytes(), above.tobytes()), order) == order
