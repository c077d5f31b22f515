"""Row values, pairs and clusters of more rows than are kept: what is counted gives the result of all rows."""

from __future__ import annotations

import functools
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxci
from jaxci.api.value_bins import ValueBins, spread, value_keys

N, SEED = 240, 11
REGRESSION = ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2", "pearsonr"]
CLASSES = ["accuracy", "log_loss", "brier_score_loss"]

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Let accumulators keep 20 rows at most."""
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 20)


@functools.cache
def regression(clusters: int | None = None) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    y = 1000 + rng.normal(size=N)
    found = {"y_true": y, "y_pred": y + rng.normal(size=N) * np.abs(y - 999)}
    return found if clusters is None else {**found, "groups": rng.integers(0, clusters, N)}


@functools.cache
def classes(clusters: int | None = None) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, N - 3)])
    scores = np.exp(rng.normal(size=(N, 3)) + 2.0 * (y[:, None] == np.arange(3)))
    found = {"y_true": y, "y_score": scores / scores.sum(axis=1, keepdims=True)}
    return found if clusters is None else {**found, "groups": rng.integers(0, clusters, N).astype(str)}


def accumulated(rows, metrics, parts, **options) -> list[jaxci.Accumulator]:
    """Return an accumulator for each of ``parts``."""
    made = functools.partial(
        jaxci.Accumulator, metrics, n_resamples=199, groups="groups" in rows, rng=SEED, max_rows=20
    )
    return [made(**options).update(**{name: x[part] for name, x in rows.items()}) for part in parts]


@pytest.mark.parametrize(
    ("metric", "scale", "what"),
    [
        ("mean_squared_error", 1e75, "the values of mean_squared_error"),
        ("mean_absolute_error", 1e150, "the values of mean_absolute_error"),
        ("r2", 1e150, "y_true"),
    ],
)
def test_values_whose_squares_cannot_be_summed_are_refused(monkeypatch, metric, scale, what):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", 50)
    rows = {name: scale * (x - 1000) for name, x in regression().items()}
    counting = jaxci.Accumulator([metric], max_rows=20)
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        counting.update(**{name: x[:20] for name, x in rows.items()})
        with pytest.raises(ValueError, match=rf"^{what} must lie within \+-1e\+145 where rows are counted"):
            counting.update(**{name: x[20:] for name, x in rows.items()})
    assert (counting.n, counting.kept) == (20, "20 rows")


def merged(parts: list[jaxci.Accumulator]) -> jaxci.Accumulator:
    return functools.reduce(lambda one, two: one.merge(two), parts)


def check_close(found, expected, rtol: float = 1e-8) -> None:
    assert [row.statistic for row in found] == [row.statistic for row in expected]
    for one, two in zip(found, expected, strict=True):
        assert (one.method, one.n, one.n_rows) == (two.method, two.n, two.n_rows)
        got, wanted = ((x.estimate, *x.confidence_interval, x.standard_error) for x in (one, two))
        np.testing.assert_allclose(got, wanted, rtol=rtol, err_msg=one.statistic)
        assert one.design_effect_of == two.design_effect_of
        np.testing.assert_allclose(one.design_effect, two.design_effect, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 30])
@settings(max_examples=6, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_batches_merged_in_any_tree_give_the_result_of_all_rows(clusters, data):
    rows = regression(clusters)
    order = np.random.default_rng(data.draw(st.integers(0, 1000))).permutation(N)
    borders = data.draw(st.sets(st.integers(1, N - 1), min_size=1, max_size=8))
    parts = accumulated(rows, REGRESSION, np.split(order, sorted(borders)))
    while len(parts) > 1:
        first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(first)
    method = "delta" if clusters is None else "percentile"  # clusters are resampled in one order, rows in any
    check_close(parts[0].finalize(method), whole(clusters, method))


@functools.cache
def whole(clusters: int | None, method: str) -> jaxci.EvaluationTable:
    return jaxci.evaluate(**regression(clusters), metrics=REGRESSION, method=method, n_resamples=199, rng=SEED)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [regression, classes])
@pytest.mark.parametrize("method", ["auto", "delta"])
def test_clusters_in_one_cell_each_give_the_result_of_all_rows(monkeypatch, rows, method):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", 10)
    monkeypatch.setattr("jaxci.inference.choice.LARGEST", 20)
    data, metrics = rows(30), REGRESSION if rows is regression else CLASSES
    if method == "delta":
        metrics = metrics[1:]
    found = merged(accumulated(data, metrics, np.array_split(np.arange(N), 4)))
    assert not any(" cells;" in text for text in found.finalize(method).remarks)
    expected = jaxci.evaluate(**data, metrics=metrics, method=method, n_resamples=199, rng=SEED)
    check_close(found.finalize(method), expected)
    monkeypatch.setattr("jaxci.api.readers.layout.MOST_REPEATED", 100)
    check_close(found.finalize(method), expected)


def in_few_clusters(kind: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return rows of clusters that lie apart, for which the cards tell methods apart, and metrics."""
    rng, n = np.random.default_rng(5), 4_800
    clusters = 12 if kind in ("errors", "two classes") else 8
    groups = np.arange(n) * clusters // n
    apart = rng.normal(size=(clusters, 3))[groups]
    if "errors" in kind:
        y = rng.normal(5, 1, n)
        errors = rng.lognormal(0, 1.5, n) if "heavy" in kind else rng.standard_t(3, n)
        rows = {"y_true": y, "y_pred": y + errors * np.exp(apart[:, 0] / 2), "groups": groups}
        return rows, ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "median_absolute_error"]
    n_classes = 3 if kind == "three classes" else 2
    y = rng.integers(0, n_classes, n)
    scores = (apart + rng.normal(size=(n, 3)))[:, :n_classes]
    scores[np.arange(n), y] += 8 if "few" in kind else 1
    scores = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return {"y_true": y, "y_score": scores if n_classes > 2 else scores[:, 1], "groups": groups}, CLASSES[1:]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["errors", "heavy errors", "two classes", "two classes, few wrong", "three classes"])
def test_the_interval_that_is_chosen_in_few_clusters_is_that_of_all_rows(kind):
    rows, metrics = in_few_clusters(kind)
    parts = np.array_split(np.random.default_rng(0).permutation(len(rows["y_true"])), 3)
    found = merged(accumulated(rows, metrics, parts))
    state = pickle.loads(pickle.dumps(found.state_dict()))
    loaded = jaxci.Accumulator(metrics, n_resamples=199, groups=True, rng=SEED, max_rows=20).load(state)
    expected = jaxci.evaluate(**rows, metrics=metrics, n_resamples=199, rng=SEED)
    for one in (found, loaded):
        table = one.finalize()
        check_close(table, expected, rtol=1e-8)
        assert [row.reason for row in table] == [row.reason for row in expected]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_reach_as_far_as_mistakes_that_were_not_seen(n_classes):
    rng = np.random.default_rng(3)
    y = rng.integers(0, n_classes, N)
    scores = np.exp(rng.normal(size=(N, n_classes)) + 6.0 * (y[:, None] == np.arange(n_classes)))
    scores /= scores.sum(axis=1, keepdims=True)
    rows = {"y_true": y, "y_score": scores[:, 1] if n_classes == 2 else scores, "groups": rng.integers(0, 8, N)}
    expected = jaxci.evaluate(**rows, metrics=CLASSES[1:], n_resamples=199, rng=SEED)
    parts = accumulated(rows, CLASSES[1:], [slice(0, 99), slice(99, 100), slice(100, N)])
    parts[0] = jaxci.Accumulator(CLASSES[1:], n_resamples=199, groups=True).load(parts[0].state_dict())
    check_close(merged(parts).finalize(), expected)


@pytest.mark.false_alarm(1e-8)
def test_row_values_of_several_classes():
    found = merged(accumulated(classes(), CLASSES, np.array_split(np.arange(N), 4)))
    assert re.fullmatch(r"\d+ counts of labels, 480 cells of values", found.kept)
    expected = jaxci.evaluate(**classes(), metrics=CLASSES[1:], method="delta", rng=SEED)
    table = found.finalize("percentile")
    for row in expected:
        np.testing.assert_allclose(table[row.statistic].estimate, row.estimate, rtol=1e-12)
        assert abs(table[row.statistic].standard_error / row.standard_error - 1) < 0.3  # of 199 resamples


@pytest.mark.slow
def test_few_cells_keep_estimates_and_errors_of_means_and_bound_the_rest(monkeypatch):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", 16)
    found = merged(accumulated(regression(), REGRESSION, np.array_split(np.arange(N), 4)))
    assert sum(int(x) for x in re.findall(r"(\d+) cells", found.kept)) <= 4 * 16
    table, expected = found.finalize("delta"), whole(None, "delta")
    for one, two in zip(table, expected, strict=True):
        np.testing.assert_allclose(one.estimate, two.estimate, rtol=1e-9)
        bound = float(re.search(r"by at most (\S+) standard errors", one.warnings[-1])[1])
        assert 0 < bound < 1
        off = abs(one.standard_error / two.standard_error - 1)
        assert off <= (1e-9 if one.statistic in REGRESSION[:3] else bound)


@pytest.mark.slow
def test_counts_of_values_serve_where_rows_are_too_many_to_repeat(monkeypatch):
    found = merged(accumulated(regression(), REGRESSION, np.array_split(np.arange(N), 4)))
    monkeypatch.setattr("jaxci.api.readers.layout.MOST_REPEATED", 100)
    check_close(found.finalize("delta"), whole(None, "delta"))
    monkeypatch.setattr("jaxci.inference.choice.LARGEST", 20)
    methods = {row.statistic: row.method.name for row in found.finalize()}
    assert (methods["mean_absolute_error"], methods["r2"]) == ("proper_bayesian", "delta")


@pytest.mark.parametrize("cells", [2**16, 32])
def test_quantiles_of_row_values(monkeypatch, cells):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", cells)
    metric = ["median_absolute_error"]
    found = merged(accumulated(regression(), metric, np.array_split(np.arange(N), 4)))
    expected = jaxci.evaluate(**regression(), metrics=metric, method="order_statistic")["median_absolute_error"]
    for most in (2**20, 100):
        monkeypatch.setattr("jaxci.api.readers.layout.MOST_REPEATED", most)
        (row,) = found.finalize("order_statistic")
        got, wanted = (np.array([x.estimate, *x.confidence_interval]) for x in (row, expected))
        bound = float(row.warnings[-1].rsplit(" ", 1)[1]) if cells == 32 else 1e-15
        assert np.abs(got - wanted).max() <= bound
        assert bound < 0.5
    with pytest.raises(ValueError, match=r"more than two order statistics .* use 'order_statistic', or"):
        found.finalize("percentile")


@pytest.mark.parametrize("clusters", [None, 9])
@pytest.mark.parametrize("cells", [2**16, 100])
def test_quantiles_of_rows_with_weights_or_in_clusters(monkeypatch, clusters, cells):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", cells)
    monkeypatch.setattr("jaxci.api.counted_rows.MOST_OF_CLUSTERS", cells)
    rows = regression(clusters)
    if cells > 100:  # values that tie
        rows = rows | {"y_pred": rows["y_true"] + np.round(rows["y_pred"] - rows["y_true"], 1)}
    weights = np.random.default_rng(3).exponential(size=N) * (np.arange(N) % 11 > 0)
    for given_ in [{"sample_weight": weights}, *([{}] if clusters else [])]:
        found = merged(accumulated(rows | given_, ["median_absolute_error"], np.array_split(np.arange(N), 4)))
        expected = jaxci.evaluate(**rows, **given_, metrics=["median_absolute_error"])["median_absolute_error"]
        (row,) = found.finalize()
        assert row.method == expected.method
        assert row.n == expected.n
        got, wanted = (np.array([x.estimate, *x.confidence_interval, x.standard_error]) for x in (row, expected))
        bound = 1e-15
        if cells == 100:
            (told,) = (text for text in row.warnings if "rows were counted in" in text)
            bound = float(told.rsplit(" ", 1)[1])
            assert bound <= 0.5
        assert np.abs(got - wanted)[:3].max() <= bound
        again = jaxci.Accumulator(["median_absolute_error"], groups=clusters is not None, max_rows=20)
        again.load(pickle.loads(pickle.dumps(found.state_dict())))
        assert again.finalize()["median_absolute_error"].confidence_interval == row.confidence_interval


@pytest.mark.slow
def test_state_of_cells_is_saved_and_loaded():
    rows = regression(9)
    halves = accumulated(rows, REGRESSION, np.array_split(np.arange(N), 2))
    state = pickle.loads(pickle.dumps(halves[0].state_dict()))
    (again,) = accumulated(rows, REGRESSION, [slice(0, 1)])
    again.load(state).merge(halves[1])
    check_close(again.finalize("delta"), whole(9, "delta"))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
def test_keys_of_values_are_in_their_order(values):
    ordered = np.unique(np.array([*values, 0.0, 1.0, np.nextafter(1, 2), -1.0, np.nextafter(0, -1)]))
    keys = value_keys(ordered)
    assert np.all(keys[1:] > keys[:-1])
    assert value_keys(np.array([-0.0])) == value_keys(np.array([0.0]))


@pytest.mark.parametrize("width", [1, 2])
def test_points_of_cells_have_the_moments_of_their_rows(monkeypatch, width):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", 12)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(500, width)), np.ones((7, width)), -np.ones((1, width))])
    bins = ValueBins(width)
    for part in np.array_split(x, 5):
        bins.add(part, None)
    rows = bins.rows()
    assert rows.counts.sum() == len(x)
    assert np.all(rows.counts > 0)
    centre = x.mean(axis=0)
    np.testing.assert_allclose(np.average(rows.values, axis=0, weights=rows.counts), centre, rtol=1e-12)
    apart = rows.values - centre
    np.testing.assert_allclose((apart.T * rows.counts) @ apart, (x - centre).T @ (x - centre), rtol=1e-12)


def test_points_of_pairs_that_lie_on_a_line():
    shares = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [0.5, 0.5, 0.0]])
    lines = np.array([[1.0, -2.0], [0.0, 3.0], [0.0, 3.0]])
    covariance = lines[:, :, None] * lines[:, None, :]
    points = spread(shares, covariance)
    np.testing.assert_allclose(np.einsum("mk,mki,mkj->mij", shares, points, points), covariance, atol=1e-12)
    np.testing.assert_allclose(np.einsum("mk,mki->mi", shares, points), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("metrics", "rows", "message"),
    [
        (
            ["spearmanr"],
            regression(9),
            "be at least 120, for spearmanr need all rows with groups; got 20",
        ),
        (["mean_absolute_error"], {"y_true": np.full(N, 1.7e308), "y_pred": np.full(N, -1e308)}, "be finite in every"),
        (["mean_squared_error"], {"y_true": np.full(N, 1e200), "y_pred": np.zeros(N)}, "metrics of squared errors"),
        (["log_loss"], {"y_true": np.zeros(N, int), "y_score": np.full(N, 0.5)}, "rows of 1 classes must be kept"),
    ],
)
def test_what_cannot_be_counted_is_refused_and_leaves_no_trace(metrics, rows, message):
    (found,) = accumulated(rows, metrics, [np.arange(10)])
    with pytest.raises(ValueError, match=message):
        found.update(**{name: x[10:120] for name, x in rows.items()})
    assert found.kept == "10 rows"
