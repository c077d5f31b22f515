"""The proper Bayesian bootstrap: its weights, its pseudo-units, and what verbs make of them."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats
from sklearn import metrics as sk

import jaxci
from jaxci.coverage.banks import Banks
from jaxci.coverage.cell import PURPOSE_DATA, Cell, Simulation, _evidence, draw
from jaxci.distributions import Cells, Truth
from jaxci.inference.posterior import going_along, sizes
from jaxci.inference.program import RowReader, of_units
from jaxci.inference.sharding import Spread
from jaxci.intervals.bayesian import ProperBayesian
from jaxci.records import record
from jaxci.resampling.posterior import GammaTables, PosteriorWeights
from jaxci.statistics import CohenKappa, Mean
from jaxci.statistics.layout import Layout
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import PseudoUnits, Sample
from jaxci.statistics.sums import Bank, padded

N, B = 40, 6
RNG = np.random.default_rng(3)
WEIGHTS = RNG.exponential(size=(B, N))
BINARY = ("f1", "balanced_accuracy", "f1_macro", "precision_macro", "matthews_corrcoef", "cohen_kappa_score")


def classes(k):
    """Labels, predictions and scores of k classes."""
    rng = np.random.default_rng(k)
    codes = rng.integers(0, k, N).astype(np.int32)
    scores = rng.normal(size=(N, k)).round(1) + np.eye(k)[codes]
    return codes, scores.argmax(axis=1).astype(np.int32), scores


def sample_of(k):
    codes, predicted, scores = classes(k)
    return Sample(y_true=codes, y_pred=predicted, y_score=scores[:, 1] if k == 2 else scores, n_classes=k)


def posterior(statistic, sample, unseen, layout=None, reach=(1.0, 2.0)):
    """Values (B,) under WEIGHTS of the units and ``unseen`` (P, B) of the pseudo-units, as a program computes them."""
    layout = layout or Layout(N)
    with jax.enable_x64(True):
        prepared = [RowReader(sample, layout, exchangeable=False).prepared(statistic)]
        program = of_units([statistic], prepared, layout, padded(layout.n_units))
        units = layout.n_units
        bank = Bank.of(jnp.asarray(np.pad(WEIGHTS[:, :units], ((0, 0), (0, padded(units) - units)))))
        joined = PseudoUnits(jnp.asarray(unseen), sizes(sample, layout), np.array(reach), going_along(sample, layout))
        (core,) = program.posterior_cores(program.shared(bank), joined, [0])
        return np.asarray(statistic.scaling(program.sources[0])(core))


def of_rows(statistic, sample, rows, weights):
    """Values (B,) of the statistic on the sample with more ``rows``, under WEIGHTS and ``weights`` (B, rows)."""
    more = Sample(**rows, n_classes=sample.n_classes)
    names = [name for name in ("values", "y_true", "y_pred", "y_score") if getattr(more, name) is not None]
    both = {name: np.concatenate([getattr(sample, name), getattr(more, name)]) for name in names}
    with jax.enable_x64(True):
        prepared = statistic.prepare(Sample(**both, n_classes=sample.n_classes))
        value = jax.jit(lambda w: statistic.value(prepared, w))
        return np.array([float(value(w)) for w in np.concatenate([WEIGHTS, weights], axis=1)])


def test_tabulated_variates_are_quantiles_of_gamma_laws():
    shapes = np.array([0.125, 0.25, 1.0, 3.0, 40.0, 5000.0, 0.0])
    exponential = np.random.default_rng(0).exponential(size=(4000, len(shapes)))
    with jax.enable_x64(True):
        found = np.asarray(GammaTables.of(shapes).variates(jnp.asarray(exponential)))
    np.testing.assert_array_equal(found[:, -1], 0.0)
    expected = stats.gamma(shapes[:-1]).isf(np.exp(-exponential[:, :-1]))
    np.testing.assert_allclose(found[:, :-1], expected, rtol=5e-5)


@pytest.mark.false_alarm(7e-6)
def test_weights_have_their_laws():
    present = np.array([1.0, 1.0, 3.0, 0.0])
    scheme = PosteriorWeights.of(present, [(0.25, 0.25), (0.25, 0.125)], GammaTables.of(present))
    rows = np.asarray(jax.jit(scheme.counts)(jax.random.key(0), jnp.arange(20_000)))
    np.testing.assert_array_equal(rows[:, 3], 0.0)
    np.testing.assert_array_equal(rows[:, 4], rows[:, 6])  # the same number and mass: the same weight
    kept = {0: 1.0, 1: 1.0, 2: 3.0, 4: 0.25, 5: 0.25, 7: 0.125}
    for column, shape in kept.items():
        assert stats.kstest(rows[:, column], stats.gamma(shape).cdf).pvalue > 1e-6, column
    apart = np.corrcoef(rows[:, list(kept)].T) - np.eye(len(kept))
    apart[-2:, -2:] = 0.0  # number 1 of both statistics comes from one exponential variate
    assert np.abs(apart).max() < 6 / np.sqrt(20_000)


def test_weights_do_not_depend_on_the_chunk_or_the_other_statistics():
    key, ids = jax.random.key(1), jnp.arange(50)
    alone = PosteriorWeights.of(np.ones(5), [(0.25,) * 2])
    among = PosteriorWeights.of(np.ones(5), [(0.5,) * 3, (0.25,) * 2])
    draw = jax.jit(lambda scheme, ids: scheme.counts(key, ids))
    whole = np.asarray(draw(alone, ids))
    np.testing.assert_array_equal(np.asarray(draw(alone, ids[20:30])), whole[20:30])
    np.testing.assert_array_equal(np.asarray(draw(among, ids))[:, [0, 1, 2, 3, 4, 8, 9]], whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", BINARY)
def test_a_table_of_two_classes_gains_a_row_in_each_cell(name):
    sample, unseen = sample_of(2), RNG.gamma(0.25, size=(4, B))
    one, other = np.array([0, 1, 0, 1], np.int32), np.array([0, 1, 1, 0], np.int32)
    by_prediction = name == "precision_macro"  # whose rows are of predicted classes
    rows = {"y_true": other, "y_pred": one} if by_prediction else {"y_true": one, "y_pred": other}
    expected = of_rows(METRICS[name], sample, rows, unseen.T)
    np.testing.assert_allclose(posterior(METRICS[name], sample, unseen), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["balanced_accuracy", "f1_macro", "cohen_kappa_score", "accuracy"])
def test_wrong_rows_of_a_class_are_spread_as_predictions_are(name):
    sample, k = sample_of(3), 3
    unseen = RNG.gamma(0.125, size=(2 * k, B))
    taken = np.bincount(sample.y_pred, minlength=k)
    rows, weights = {"y_true": [], "y_pred": []}, []
    for true in range(k):
        rows["y_true"].append(true)
        rows["y_pred"].append(true)
        weights.append(unseen[true])
        for other in set(range(k)) - {true}:
            rows["y_true"].append(true)
            rows["y_pred"].append(other)
            weights.append(unseen[k + true] * taken[other] / (taken.sum() - taken[true]))
    rows = {key: np.array(column, np.int32) for key, column in rows.items()}
    expected = of_rows(METRICS[name], sample, rows, np.array(weights).T)
    np.testing.assert_allclose(posterior(METRICS[name], sample, unseen), expected, rtol=1e-12)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_wrong_rows_of_classes_in_an_order_are_taken_for_the_farthest(weights):
    kappa = CohenKappa(weights=weights)
    table = np.diag([4.0, 3.0, 2.0])
    assert kappa.mistaken_for(table).tolist() == [[0, 0, 1], [1, 0, 1], [1, 0, 0]]
    absent = np.zeros((4, 4))
    absent[:3, :3] = table
    assert kappa.mistaken_for(absent)[:3, 3].tolist() == [0, 0, 0]
    rows = np.repeat(np.arange(3), [40, 30, 5])
    guess = np.where(np.arange(75) == 0, 1, rows)  # no row is two classes away
    (low, _), (plain, _) = (
        jaxci.interval(one, rows, guess, method="proper_bayesian", rng=0).confidence_interval
        for one in (kappa, _SpreadKappa(weights=weights))
    )
    assert low < plain - 0.01


@record
class _SpreadKappa(CohenKappa):
    def mistaken_for(self, table):
        return CohenKappa().mistaken_for(table)


@pytest.mark.parametrize("name", ["precision_macro", "precision_weighted"])
@pytest.mark.parametrize("never", [False, True])
def test_rows_of_precision_are_of_predicted_classes_and_alike_where_these_are_never_predicted(name, never):
    sample, k = sample_of(3), 3
    if never:
        sample = dataclasses.replace(sample, y_pred=np.zeros_like(sample.y_pred))
    unseen = RNG.gamma(0.125, size=(2 * k, B))
    held, rows, weights = np.bincount(sample.y_true, minlength=k), {"y_true": [], "y_pred": []}, []
    right, wrong = np.array(unseen[:k]), np.array(unseen[k:])
    if never:
        whole = right[1:] + wrong[1:]
        right[1:], wrong[1:] = (np.where(kind, whole, 0.0) for kind in (right[1] > wrong[1], right[1] <= wrong[1]))
    for taken in range(k):
        for true in range(k):
            rows["y_true"].append(true)
            rows["y_pred"].append(taken)
            share = held[true] / (held.sum() - held[taken])
            weights.append(right[taken] if true == taken else wrong[taken] * share)
    rows = {key: np.array(column, np.int32) for key, column in rows.items()}
    expected = of_rows(METRICS[name], sample, rows, np.array(weights).T)
    np.testing.assert_allclose(posterior(METRICS[name], sample, unseen), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reference"), [("roc_auc", sk.roc_auc_score), ("average_precision", sk.average_precision_score)]
)
def test_ranks_of_two_classes_gain_the_worst_rows(name, reference):
    sample, unseen = sample_of(2), RNG.gamma(0.25, size=(2, B))
    truth, scores = np.append(sample.y_true, [0, 1]), np.append(sample.y_score, [99.0, -99.0])
    expected = [reference(truth, scores, sample_weight=np.append(w, u)) for w, u in zip(WEIGHTS, unseen.T, strict=True)]
    np.testing.assert_allclose(posterior(METRICS[name], sample, unseen), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METRICS if name.startswith(("roc_auc_", "average_precision_"))])
def test_ranks_of_several_classes_gain_the_worst_row_of_each(name):
    sample, unseen = sample_of(3), RNG.gamma(0.25, size=(3, B))
    rows = {"y_true": np.arange(3, dtype=np.int32), "y_score": 99.0 - 198.0 * np.eye(3)}
    expected = of_rows(METRICS[name], sample, rows, unseen.T)
    np.testing.assert_allclose(posterior(METRICS[name], sample, unseen), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "ends"),
    [
        ((-np.inf, np.inf), (2.0 - 5.0, 7.0 + 5.0)),
        ((0.0, np.inf), (0.0, 7.0 + 10.0)),
        ((0.0, 10.0), (0.0, 10.0)),
        ((-100.0, 100.0), (2.0 - 10.0, 7.0 + 10.0)),
    ],
)
def test_a_mean_gains_a_row_beyond_either_end_within_its_bounds(bounds, ends):
    values = np.linspace(2.0, 7.0, N)
    unseen = RNG.gamma(0.25, size=(2, B))
    total = WEIGHTS.sum(axis=1) + unseen.sum(axis=0)
    expected = (WEIGHTS @ values + ends @ unseen) / total
    found = posterior(Mean(bounds=bounds), Sample(values=values), unseen)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.slow
def test_the_extremes_of_constant_values_are_the_bounds():
    unseen = RNG.gamma(0.25, size=(2, B))
    share = unseen / (WEIGHTS.sum(axis=1) + unseen.sum(axis=0))
    sample = Sample(values=np.full(N, 0.75))
    found = posterior(Mean(bounds=(0.0, 1.0)), sample, unseen)
    np.testing.assert_allclose(found, 0.75 - 0.75 * share[0] + 0.25 * share[1], rtol=1e-12)
    np.testing.assert_allclose(posterior(Mean(), sample, unseen), 0.75)


def test_the_root_of_a_mean_square_gains_squares():
    y = np.linspace(0.0, 3.0, N)
    sample = Sample(y_true=np.zeros(N), y_pred=y)
    unseen = RNG.gamma(0.25, size=(2, B))
    mean = (WEIGHTS @ y**2 + 27.0 * unseen[1]) / (WEIGHTS.sum(axis=1) + unseen.sum(axis=0))
    np.testing.assert_allclose(posterior(METRICS["root_mean_squared_error"], sample, unseen), np.sqrt(mean), rtol=1e-12)


@pytest.mark.slow
def test_a_cluster_that_was_not_seen_is_of_mean_size():
    sample, units = sample_of(2), np.arange(N) % 9
    size, of_class, of_rest, of_true = sizes(sample, Layout(N, units.astype(np.int32)))
    assert size == N / 9
    assert of_true is None
    for k in (0, 1):
        mine = sample.y_true == k
        assert of_class[k] == of_rest[1 - k] == mine.sum() / len(set(units[mine]))
    size, of_class, of_rest, of_true = sizes(sample, Layout(N, row_weights=np.arange(N) * 1.0))
    assert of_true is of_class
    np.testing.assert_allclose(of_rest, of_class[::-1], rtol=1e-14)
    assert size == pytest.approx((np.arange(N) ** 2).sum() / np.arange(N).sum(), rel=1e-14)
    mine = np.flatnonzero(sample.y_true == 1)
    assert of_class[1] == pytest.approx((mine**2).sum() / mine.sum(), rel=1e-14)
    layout = Layout(N, units.astype(np.int32))
    unseen = RNG.gamma(0.25, size=(4, B))
    right, wrong = (unseen[:2].sum(axis=0), unseen[2:].sum(axis=0))
    weights = WEIGHTS[:, units]
    hits = weights @ (sample.y_true == sample.y_pred) + right * N / 9
    expected = hits / (weights.sum(axis=1) + (right + wrong) * N / 9)
    np.testing.assert_allclose(posterior(METRICS["accuracy"], sample, unseen, layout), expected, rtol=1e-12)


def clustered(k, m):
    """Labels and predictions of 12 clusters of m rows, which err more and more, and the clusters."""
    rng, units = np.random.default_rng([k, m]), np.repeat(np.arange(12), m).astype(np.int32)
    codes = rng.integers(0, k, 12 * m).astype(np.int32)
    wrong = rng.random(12 * m) < np.linspace(0.04, 0.1, 12)[units]
    return codes, np.where(wrong, (codes + 1) % k, codes).astype(np.int32), units


def share_of(wrong, units, rows):
    """2.25 times at most, at 90%, the deviation of what clusters contribute over that of a row, of some ``rows``."""
    held, errors = np.bincount(units[rows]), np.bincount(units[rows], wrong[rows])
    rate = errors.sum() / held.sum()
    apart = (errors - held * rate) / held.mean()
    found = max(apart @ apart / (len(held) - 1) / rate / (1 - rate), 1 / held.mean())
    degrees = held.sum() ** 2 / np.sum(held**2) - 1
    tenth = degrees * (1 - 2 / 9 / degrees + stats.norm.ppf(0.1) * np.sqrt(2 / 9 / degrees)) ** 3
    assert tenth == pytest.approx(stats.chi2.ppf(0.1, degrees), rel=2e-3)
    return min(1.0, 2.25 * np.sqrt(found * degrees / tenth))


@pytest.mark.parametrize(("name", "k"), [("f1", 2), ("accuracy", 3), ("f1_macro", 3), ("recall", 3)])
def test_rows_of_an_unseen_cluster_go_along_as_those_of_the_others_do(name, k):
    m = 100
    codes, predicted, units = clustered(k, m)
    wrong, every = codes != predicted, np.ones(len(codes), bool)
    table = np.zeros((k, k))
    np.add.at(table, (codes, predicted), 1.0)
    statistic = METRICS[name].settled(k)
    of_class = k == 3 and name == "recall"
    if of_class:  # as of two classes, the last and the rest
        statistic = dataclasses.replace(METRICS[name], average="class", class_index=2)
        both = (1 * (codes == 2), 1 * (predicted == 2))
        two = np.zeros((2, 2))
        np.add.at(two, both, 1.0)
        shares = [share_of(both[0] != both[1], units, both[0] == one) for one in (0, 1)]
        sizes, spread, seen = [(both[0] == one).sum() / 12 for one in (0, 1)], 1 - np.eye(2), two
    else:
        shares = [share_of(wrong, units, every if name == "accuracy" else codes == one) for one in range(k)]
        sizes = [m if name == "accuracy" else (codes == one).sum() / 12 for one in range(k)]
        spread = np.where(np.eye(k), 0.0, table.sum(axis=0))
        spread, seen = spread / spread.sum(axis=1, keepdims=True), table
    assert max(shares) < 1
    unseen = RNG.gamma(0.25, size=(2 * len(seen), B))
    tables = []
    for weights, extra in zip(WEIGHTS[:, :12], unseen.T, strict=True):
        found = np.zeros(seen.shape)
        rows = both if of_class else (codes, predicted)
        np.add.at(found, rows, weights[units])
        for place, weight in enumerate(extra):
            one = place % len(seen)
            alike = (np.eye(len(seen)) if place < len(seen) else spread)[one]
            others = seen / seen.sum() if name == "accuracy" else np.zeros(seen.shape)
            if name != "accuracy":
                others[one] = seen[one] / seen[one].sum()
            found += weight * sizes[one] * (1 - shares[one]) * others
            found[one] += weight * sizes[one] * shares[one] * alike
        tables.append(found)
    read = dataclasses.replace(statistic, average="binary", class_index=1) if of_class else statistic
    expected = [float(read.score(jnp.asarray(one))) for one in tables]
    sample = Sample(y_true=codes, y_pred=predicted, n_classes=k)
    got = posterior(statistic, sample, unseen, Layout(12 * m, units))
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_nothing_tells_how_rows_without_an_error_go_along():
    codes, _, units = clustered(2, 40)
    found = going_along(Sample(y_true=codes, y_pred=codes, n_classes=2), Layout(480, units))
    assert [float(found.all), *found.of_class, *found.of_rest] == [1.0] * 5
    assert going_along(Sample(y_true=codes, y_pred=codes, n_classes=2), Layout(480)) is None
    assert (
        going_along(Sample(y_true=codes, y_pred=codes, n_classes=2), Layout(480, units, row_weights=codes + 1.0))
        is None
    )


@pytest.mark.slow
def test_a_cell_gives_what_the_program_of_one_data_set_gives():
    """The same weights: rows in the order of a data set whose rows stand by cell, as tables of cells take them."""
    n, statistic, prior = 20, METRICS["f1_macro"], ProperBayesian(mass=0.5)
    law = Cells(np.array([[0.5, 0.1], [0.15, 0.25]]))
    cell = Cell(law, n, {"f1_macro": statistic, "roc_auc": METRICS["roc_auc"]}, [prior], (0.9,), 6, 99, 1)
    truths = {name: Truth(0.5, 0.0, "assumed") for name in cell.statistics}
    truths["roc_auc"] = Truth(np.nan, 0.0, "of no scores")
    simulation, key = Simulation.of(cell, truths), jax.random.key(3)
    with jax.enable_x64(True):
        banked = Banks(key).of(0, simulation.asked, cell.layout, 99, Spread.over())
        fixed = simulation.fixed(key, simulation.read(banked))
        ((evidence, variants),) = jax.jit(functools.partial(_evidence, **simulation.static))(jnp.arange(6), fixed)
        found = np.asarray(variants.given_to(prior, evidence).posterior.replicates)
        weights = np.asarray(Banks(key).bank("weights", 0, cell.layout, 99, Spread.over()))[:, :-1].T
        others = np.asarray(Banks(key).unseen(0, (0.5,) * 4, 99))[:, :-1]
        data = draw(law, jax.random.fold_in(key, PURPOSE_DATA), 0, 6, n)
    for mine, truth, predicted in zip(found, data["y_true"], data["y_pred"], strict=True):
        order = np.argsort(2 * truth + predicted, kind="stable")
        table = np.zeros((99, 2, 2))
        for row, weight in zip(order, weights.T, strict=True):
            table[:, truth[row], predicted[row]] += weight
        table += np.moveaxis(np.array([[others[0], others[2]], [others[3], others[1]]]), -1, 0)
        hits = np.einsum("bkk->bk", table)
        expected = np.mean(2 * hits / (table.sum(axis=1) + table.sum(axis=2)), axis=1)
        np.testing.assert_allclose(mine, expected, rtol=1e-5)


def test_clusters_of_one_row_and_equal_weights_change_nothing():
    sample = sample_of(2)
    sample = sample.take(np.argsort(sample.y_score, kind="stable"))
    rows = [
        jaxci.interval(
            "roc_auc", sample.y_true, sample.y_score, method="proper_bayesian", n_resamples=499, rng=0, **more
        )
        for more in ({}, {"groups": np.arange(N)}, {"sample_weight": np.full(N, 3.0)})
    ]
    for row in rows[1:]:
        np.testing.assert_allclose(row.confidence_interval, rows[0].confidence_interval, rtol=1e-12)


@pytest.mark.parametrize(("name", "mass"), [("accuracy", 0.25), ("error_rate", 0.5), ("recall", 0.25)])
def test_a_proportion_of_independent_rows_has_a_beta_law(name, mass):
    codes, predicted, _ = classes(2)
    row = jaxci.interval(name, codes, predicted, method=ProperBayesian(mass=mass), confidence_level=0.9)
    right = codes == predicted
    kept = codes == 1 if name == "recall" else np.ones(N, bool)
    wins = np.sum((right if name != "error_rate" else ~right) & kept)
    law = stats.beta(wins + mass, kept.sum() - wins + mass)
    np.testing.assert_allclose(row.confidence_interval, law.ppf([0.05, 0.95]), rtol=1e-9)
    np.testing.assert_allclose(row.standard_error, law.std(), rtol=1e-9)
    assert row.n_resamples == 0
    assert row.rng is None


@pytest.mark.slow
def test_an_interval_has_width_where_nothing_went_wrong_and_holds_the_estimate():
    truth = np.r_[np.zeros(20), np.ones(10)].astype(int)
    table = jaxci.evaluate(
        truth, truth, truth * 0.8 + 0.1, metrics=["balanced_accuracy", "roc_auc", "average_precision", "accuracy"],
        method="proper_bayesian", n_resamples=999, rng=0,
    )  # fmt: skip
    for row in table:
        low, high = row.confidence_interval
        assert row.estimate == high == 1.0
        assert 0.6 < low < 0.95
    row = jaxci.interval("mean", np.zeros(30), method="proper_bayesian", bounds=(0, 1), n_resamples=999, rng=0)
    assert row.confidence_interval.low == 0.0
    assert 0.03 < row.confidence_interval.high < 0.15


def test_bounds_of_a_mean_are_checked():
    x = [0.1, 0.5, 0.9]
    with pytest.raises(ValueError, match=r"bounds must hold all values; got \(0.0, 0.8\) for values from 0.1 to 0.9"):
        jaxci.interval("mean", x, bounds=(0, 0.8))
    with pytest.raises(ValueError, match="bounds must be the lowest and the highest value"):
        jaxci.interval("mean", x, bounds=(1, 0))
    with pytest.raises(ValueError, match="bounds must be two numbers"):
        jaxci.interval("mean", x, bounds=3)


@pytest.mark.parametrize("field", ["mass", "reach", "bounded_reach"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_settings_are_checked(field, value):
    with pytest.raises(ValueError, match=f"{field} must be a finite number"):
        ProperBayesian(**{field: value})


def test_statistics_without_extremes_are_refused():
    for name in ("median", "std", "r2", "expected_calibration_error"):
        assert "known extremes" in ProperBayesian().refusal(METRICS[name])
    assert "known extremes" in ProperBayesian().refusal(dataclasses.replace(METRICS["roc_auc"], max_fpr=0.2))
    with pytest.raises(ValueError, match="method must be one for a difference"):
        jaxci.compare("f1", *classes(2)[:2], classes(2)[0], method=ProperBayesian())


ABSENT = {"labels": range(10), "n_resamples": 499, "rng": 0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1_macro", "recall_macro", "precision_macro", "balanced_accuracy"])
def test_classes_without_a_row_gain_none(name):
    codes, predicted, _ = classes(5)
    with pytest.warns(jaxci.JaxciWarning, match="5 of 10 classes have no row in y_true"):
        jaxci.interval(name, codes, predicted, **ABSENT)
    row = jaxci.interval(name, codes, predicted, method="proper_bayesian", **ABSENT)
    plain = jaxci.interval(name, codes, predicted, method="percentile", **ABSENT)
    width = plain.confidence_interval.high - plain.confidence_interval.low
    assert row.confidence_interval.low < row.estimate < row.confidence_interval.high
    np.testing.assert_allclose(row.confidence_interval, plain.confidence_interval, atol=0.5 * width)


@pytest.mark.slow
def test_labels_without_a_row_leave_rankings_alone():
    codes, _, scores = classes(3)
    wide = np.column_stack([scores, scores[:, 0] - 9])
    known = {"n_resamples": 499, "rng": 0}
    for name in ("roc_auc_ovo", "average_precision_macro"):
        options = {"absent_class": "skip"}
        row = jaxci.interval(name, codes, wide, labels=range(4), **options, **known)
        plain = jaxci.interval(name, codes, scores, **options, **known)
        assert row.estimate == pytest.approx(plain.estimate, rel=1e-12)
        np.testing.assert_allclose(row.confidence_interval, plain.confidence_interval, atol=0.03)


@pytest.mark.parametrize(
    ("values", "bounds", "ends"),
    [
        (np.tile([0.3, np.nextafter(0.3, 1)], 15), (0, 1), (0.0, 1.0)),
        (np.full(30, 0.9), (0, 1), (0.0, 1.0)),
        (np.full(30, 0.2), (0, np.inf), (0.0, 0.4)),
    ],
)
def test_values_that_vary_by_rounding_do_not_vary(values, bounds, ends):
    unseen = RNG.gamma(0.25, size=(2, B))
    known = Sample(values=np.concatenate([values, values[:10]]))
    expected = (WEIGHTS.sum(axis=1) * values.mean() + ends @ unseen) / (WEIGHTS.sum(axis=1) + unseen.sum(axis=0))
    np.testing.assert_allclose(posterior(Mean(bounds=bounds), known, unseen), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["roc_auc", "log_loss", "brier_score_loss", "average_precision"])
def test_a_level_that_needs_more_resamples_is_left_to_formulas(name):
    codes, _, scores = classes(2)
    row = jaxci.interval(name, codes, 1 / (1 + np.exp(-scores[:, 1])), confidence_level=0.9999)
    assert row.n_resamples == 0
    assert row.confidence_interval.low < row.estimate < row.confidence_interval.high


# Losses of scores


def test_the_unseen_row_of_a_loss_is_one_of_another_class():
    codes, _, scores = classes(3)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    sample = Sample(y_true=codes, y_score=p, n_classes=3)
    for name, loss in (
        ("log_loss", lambda p, k: -np.log(p[k])),
        ("brier_score_loss", lambda p, k: np.sum((np.arange(3) == k) * (1 - 2 * p)) + p @ p),
    ):
        seen = np.array([loss(row, code) for row, code in zip(p, codes, strict=True)])
        mistaken = [
            sum(row[k] * loss(row, k) for k in range(3) if k != code) / (1 - row[code])
            for row, code in zip(p, codes, strict=True)
        ]
        unseen = np.random.default_rng(0).gamma(0.25, size=(2, B))
        low = max(0, seen.min() - 2 * np.ptp(seen))
        top = 2.0 if name == "brier_score_loss" else np.inf
        high = max(np.mean(mistaken), min(seen.max() + 2 * np.ptp(seen), top))
        expected = (WEIGHTS @ seen + unseen[0] * low + unseen[1] * high) / (WEIGHTS.sum(axis=1) + unseen.sum(axis=0))
        found = posterior(METRICS[name].settled(3), sample, unseen)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_the_unseen_cluster_of_a_loss_goes_along_as_clusters_do(alike):
    """Its mean lies as far from the whole as a mistaken row's, times how much clusters vary beside rows."""
    rng, units = np.random.default_rng(0), np.arange(N) % 6
    codes, p = np.arange(N, dtype=np.int32) // 6 % 2, 0.5 + 0.49 * rng.random(N)
    p = np.where(rng.random(N) < alike, p[units], p)
    p = np.where(codes == 1, p, 1 - p)
    seen, mistaken = (-np.log(np.where(codes == one, p, 1 - p)) for one in (1, 0))
    sums, sizes = np.bincount(units, seen), np.bincount(units)
    means, whole = sums / sizes, seen.mean()
    between = np.sqrt(np.sum((sums - sizes * whole) ** 2) / (len(sums) - 1)) / sizes.mean()
    share = max(between / seen.std(), np.sqrt(1 / sizes.mean()))
    share = min(share + 3 * (share**2 - 1 / sizes.mean()), 1.0)
    assert (share == 1) == (alike > 0)
    low = max(0, means.min() - 2 * np.ptp(means))
    high = whole + (mistaken.mean() - whole) * share
    assert high > means.max() + 2 * np.ptp(means) or alike > 0
    high = max(high, means.max() + 2 * np.ptp(means))
    unseen = np.random.default_rng(0).gamma(0.25, size=(2, B))
    weights, size = WEIGHTS[:, : len(sums)], sizes.mean()
    expected = weights @ sums + size * (unseen[0] * low + unseen[1] * high)
    expected /= weights @ sizes + size * unseen.sum(axis=0)
    sample = Sample(y_true=codes, y_score=p, n_classes=2)
    found = posterior(METRICS["log_loss"].settled(2), sample, unseen, Layout(N, units))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_certain_model_without_a_mistake_may_make_one():
    y = np.arange(30) % 2
    low, high = jaxci.interval("brier_score_loss", y, y.astype(float), rng=0, n_resamples=9999).confidence_interval
    assert low == 0
    assert high == pytest.approx(stats.beta.ppf(0.975, 0.75, 30.75), rel=0.05)
    assert high >= 1 - 0.05 ** (1 / 30)  # where 30 rows show no mistake with a chance of 5%


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("metric", ["log_loss", "brier_score_loss"])
def test_losses_of_nearly_perfect_models_are_covered(metric):
    """With pseudo-rows two ranges beyond the losses .69 and .68 of 150 such data sets were covered, of area .999."""
    rng = np.random.default_rng(0)

    def drawn(n):
        y = (rng.random(n) < 0.5).astype(int)
        return y, special.expit(4.4 * (rng.normal(size=n) + 4.4 * (y - 0.5)))

    truth = jaxci.interval(metric, *drawn(10**6), method="delta").estimate
    found = [jaxci.interval(metric, *drawn(50), n_resamples=999, rng=seed) for seed in range(200)]
    held = [low <= truth <= high for low, high in (one.confidence_interval for one in found)]
    assert np.mean(held) > 0.87  # in the long run .95 to .97


@pytest.mark.slow
@pytest.mark.parametrize("scale", [(0.0, 1.0), (-3.0, 5.0)])
def test_means_of_values_at_an_end_reach_as_far_as_mid_p(scale):
    bottom, top = scale
    units = np.arange(60) // 3
    for given, trials in (({}, 60), ({"groups": units}, 20)):
        for end, count in ((bottom, 0), (top, trials)):
            row = jaxci.interval("mean", np.full(60, end), bounds=scale, rng=0, **given)
            expected = jaxci.proportion_interval(count, trials, method="mid_p")
            assert row.method == "proper_bayesian"
            assert np.isnan(row.simulated_coverage)  # of no law in particular
            np.testing.assert_allclose(
                row.confidence_interval, bottom + (top - bottom) * np.array(expected), atol=1e-12
            )
            assert any("rests on n alone" in said for said in row.warnings)
    one_sided = jaxci.interval("mean", np.full(60, top), bounds=scale, rng=0, alternative="greater")
    lower = jaxci.proportion_interval(60, 60, method="mid_p", alternative="greater").low
    assert one_sided.confidence_interval.low == pytest.approx(bottom + (top - bottom) * lower, abs=1e-12)


def test_intervals_of_rare_failures_hold():
    """Exact coverage of every share of 0/1 values: without the end of the mid-p interval .86 at a share of .96."""
    n = 50
    ends = [
        jaxci.interval("mean", np.repeat([0.0, 1.0], [failed, n - failed]), bounds=(0, 1), rng=0).confidence_interval
        for failed in range(16)
    ]
    for share in np.linspace(0.9, 0.999, 100):
        held = [low <= share <= high for low, high in ends]
        assert stats.binom.pmf(np.arange(16), n, 1 - share) @ held > 0.9  # as that of accuracy


def test_values_that_do_not_vary_are_like_no_simulated_design():
    for metric, given in (("mean", {}), ("std", {}), ("mean", {"bounds": (0, 1)}), ("median", {})):
        assert np.isnan(jaxci.interval(metric, np.full(40, 0.9), rng=0, n_resamples=999, **given).simulated_coverage)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("metric", ["roc_auc_ovr", "roc_auc_ovo", "average_precision_macro"])
def test_areas_of_one_have_width_though_a_row_has_another_class_on_top(metric):
    """The score of each class sets it apart, while one row scores higher for a class that is easier to score for."""
    y = np.arange(90) % 3
    scores = np.where(np.eye(3)[y] == 1, 0.5, 0.2) + 0.1 * np.random.default_rng(0).random((90, 3))
    scores[:, 2] = np.where(y == 2, 0.9, 0.6)
    assert np.mean(scores.argmax(axis=1) != y) > 0.3
    found = jaxci.interval(metric, y, scores, rng=0, n_resamples=999)
    assert (found.estimate, found.method) == (1.0, ProperBayesian(mass=0.75))
    assert 0.8 < found.confidence_interval.low < 0.999
