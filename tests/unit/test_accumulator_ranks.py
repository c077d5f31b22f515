"""Ranks and calibration of rows that are too many to keep: weights by score and class in Poisson resamples."""

from __future__ import annotations

import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxci
from jaxci.api.counted_rows import PURPOSE_POISSON
from jaxci.api.rank_replicates import RankReplicates
from jaxci.inference.randomness import randomness
from jaxci.resampling.poisson import name_words, poisson_counts
from jaxci.statistics.ranking import RocAuc
from jaxci.statistics.registry import METRICS
from jaxci.statistics.sample import Sample

N, B, SEED = 150, 99, 11
CALIBRATION = ["expected_calibration_error", "root_mean_squared_calibration_error"]
SEVERAL = [
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "roc_auc_ovo",
    "roc_auc_ovo_weighted",
    "roc_auc_micro",
    "average_precision_macro",
    "average_precision_micro",
]
TWO = ["roc_auc", "average_precision"]

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Let accumulators keep 20 rows at most."""
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 20)


@functools.cache
def scored(n_classes: int, given: str, n: int = N) -> dict[str, np.ndarray]:
    """Return rows whose scores tie here and there, with ids, clusters or weights."""
    rng = np.random.default_rng(8)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    scores = np.exp(rng.normal(size=(n, n_classes)) + 1.5 * (y[:, None] == np.arange(n_classes)))
    scores = np.round(scores / scores.sum(axis=1, keepdims=True), 3)
    scores[:, -1] = 1 - scores[:, :-1].sum(axis=1)
    found = {"y_true": y, "y_score": np.clip(scores, 0, 1) if n_classes > 2 else np.clip(scores[:, 1], 0, 1)}
    extra = {"ids": np.arange(n)[::-1]}
    if given == "clusters":
        extra = {"groups": rng.integers(0, n // 5, n)}
    if given == "weights":
        extra["sample_weight"] = rng.gamma(2.0, size=n) * (np.arange(n) % 15 > 0)
    return {**found, **extra}


def accumulated(rows, metrics, parts, **options) -> list[jaxci.Accumulator]:
    """Return an accumulator for each of ``parts``."""
    options = {"n_resamples": B, "rng": SEED, "max_rows": 20, **options}
    made = functools.partial(jaxci.Accumulator, metrics, groups="groups" in rows, **options)
    return [made().update(**{name: x[part] for name, x in rows.items()}) for part in parts]


def replicates(statistic, rows, n_resamples=B) -> np.ndarray:
    """Return a statistic of all rows, and of all rows as often as Poisson weights keyed by their names say."""
    n_classes = len(np.unique(rows["y_true"]))
    sample = Sample(y_true=rows["y_true"].astype(np.int32), y_score=rows["y_score"], n_classes=n_classes)
    names = rows["groups"] if "groups" in rows else rows["ids"]
    weights = rows.get("sample_weight", np.ones(sample.n))
    with jax.enable_x64(True):
        key = jax.random.fold_in(randomness(SEED).key, PURPOSE_POISSON)
        counts = np.asarray(poisson_counts(key, name_words(names), n_resamples))
        drawn = np.column_stack([np.ones(sample.n), counts]) * weights[:, None]
        read = statistic.settled(n_classes)
        weighted = "sample_weight" in rows
        prepared = read.prepare_weighted(sample, weights) if weighted else read.prepare(sample)
        return np.asarray(jax.lax.map(lambda one: statistic.value(prepared, one), jnp.asarray(drawn.T)))


@pytest.mark.slow
@pytest.mark.parametrize("given_", ["ids", "clusters", "weights"])
@pytest.mark.parametrize(("n_classes", "metrics"), [(3, SEVERAL), (2, TWO), (2, ["roc_auc_ovr", "roc_auc_micro"])])
def test_resamples_are_those_of_all_rows_under_weights_keyed_by_their_names(n_classes, metrics, given_):
    rows = scored(n_classes, given_)
    if n_classes == 2 and given_ == "ids" and metrics is TWO:
        pytest.skip("two classes of independent rows are counted, not resampled")
    asked = [*metrics, *CALIBRATION, *([RocAuc(max_fpr=0.3)] if metrics is TWO else [])]
    if n_classes == 2 and given_ == "ids":
        asked = metrics
    (found,) = accumulated(rows, asked, [np.arange(N)])
    for row, asked_for in zip(found.finalize("percentile"), asked, strict=True):
        statistic = METRICS[asked_for] if isinstance(asked_for, str) else asked_for
        expected = replicates(statistic, rows)
        assert "Poisson bootstrap" in row.reason or row.reason == "asked for"
        assert not any("cells of scores" in text or "bins" in text for text in row.warnings)
        np.testing.assert_allclose(row.estimate, expected[0], rtol=1e-10)
        np.testing.assert_allclose(row.bootstrap_distribution, expected[1:], rtol=1e-9, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("given_", ["ids", "clusters", "weights"])
@pytest.mark.parametrize("fine", [True, False])
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_batches_their_order_and_merging_change_nothing(given_, fine, data):
    rows, metrics = scored(3, given_), ["roc_auc_ovo", "average_precision_micro", *CALIBRATION]
    with pytest.MonkeyPatch.context() as patch:
        if not fine:
            patch.setattr("jaxci.api.rank_replicates.MOST_SUMS", 100 * 100)
            patch.setattr("jaxci.api.rank_replicates.MOST_BINS", 200)
        (expected,) = accumulated(rows, metrics, [np.arange(N)])
        order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(np.arange(24, N))
        order = np.concatenate([np.arange(24), order])
        borders = data.draw(st.sets(st.integers(25, N - 1), min_size=1, max_size=5))
        parts = accumulated(rows, metrics, np.split(order, sorted(borders)))
        while len(parts) > 1:
            first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
            parts[data.draw(st.integers(0, len(parts) - 1))].merge(first)
        one, two = parts[0].finalize(), expected.finalize()
    assert (one.n, one.warnings) == (two.n, two.warnings)
    assert any("cells of scores" in text for row in one for text in row.warnings) == (not fine)
    for mine, other in zip(one, two, strict=True):
        assert (mine.bootstrap_distribution is None) == (mine.statistic == CALIBRATION[1])
        if mine.bootstrap_distribution is None:
            np.testing.assert_allclose(mine.confidence_interval, other.confidence_interval, rtol=1e-9, atol=1e-11)
        else:
            np.testing.assert_allclose(mine.bootstrap_distribution, other.bootstrap_distribution, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(mine.estimate, other.estimate, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("given_", ["ids", "clusters", "weights", "weighted clusters"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_debiased_calibration_errors_are_those_of_all_rows(n_classes, given_):
    rows = scored(n_classes, given_.removeprefix("weighted "))
    if given_ == "weighted clusters":
        rows = {**rows, "sample_weight": scored(n_classes, "weights")["sample_weight"]}
    first, second = accumulated(rows, CALIBRATION[1:], np.split(np.arange(N), [70]))
    found = first.merge(second).finalize()[CALIBRATION[1]]
    asked = {name: column for name, column in rows.items() if name != "ids"}
    (expected,) = jaxci.evaluate(**asked, metrics=CALIBRATION[1:])
    assert (found.method.name, found.n, found.n_rows) == ("squared_gaps", expected.n, expected.n_rows)
    assert found.confidence_interval.high > 0.01
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-10, abs=1e-12)
    if given_ == "weights":  # of which sums over all rows are kept, that Student's quantiles cannot be read off
        assert "the normal interval" in found.reason
        weights = rows["sample_weight"]
        sample = Sample(y_true=rows["y_true"].astype(np.int32), y_score=rows["y_score"], n_classes=n_classes)
        statistic = METRICS[CALIBRATION[1]]
        gaps = statistic.gaps(np.concatenate([[0.0], weights @ statistic.prepare_weighted(sample, weights).design]))
        ends = gaps.square + 1.959963984540054 * np.sqrt(gaps.square_variance) * np.array([-1, 1])
        np.testing.assert_allclose(found.confidence_interval, np.sqrt(np.clip(ends, 0, 1)), rtol=1e-10)
        return
    for name in ("confidence_interval", "standard_error"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-12)
    assert any("calibration errors covered" in said for said in found.warnings) == ("clusters" in given_)


@pytest.mark.slow
@pytest.mark.parametrize("given_", ["clusters", "weights"])
@pytest.mark.parametrize(("n_classes", "metrics"), [(3, SEVERAL), (2, TWO)])
def test_few_bins_bound_what_is_lost(monkeypatch, n_classes, metrics, given_):
    n = 3000
    tables = 7 if n_classes == 3 else 1
    monkeypatch.setattr("jaxci.api.rank_replicates.MOST_BINS", 400 * tables)
    monkeypatch.setattr("jaxci.api.rank_replicates.MOST_SUMS", 100 * (1 + B) * tables)
    rows = scored(n_classes, given_, n)
    rows = {**rows, "y_score": rows["y_score"] ** 1.01}
    (found,) = accumulated(rows, metrics, np.array_split(np.arange(n), 1))
    for row in found.finalize():
        expected = replicates(METRICS[row.statistic], rows)
        (text,) = [text for text in row.warnings if "bins" in text]
        bound = float(text.split("at most ")[1].split(";")[0])
        assert abs(row.estimate - expected[0]) <= bound < 0.02
        lost = float(text.split("at most ")[2].split(" ")[0])
        apart = (row.bootstrap_distribution - row.estimate) - (expected[1:] - expected[0])
        assert np.sqrt(np.mean(apart**2)) / row.standard_error <= lost < 0.7
        assert abs(row.standard_error / expected[1:].std(ddof=1) - 1) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("given_", ["ids", "clusters", "weights"])
def test_state_is_saved_and_loaded(given_):
    rows, metrics = scored(3, given_), ["roc_auc_ovr", "accuracy", "log_loss", *CALIBRATION]
    (expected,) = accumulated(rows, metrics, [np.arange(N)])
    halves = accumulated(rows, metrics, np.split(np.arange(N), 2))
    state = pickle.loads(pickle.dumps(halves[0].state_dict()))
    (again,) = accumulated(rows, metrics, [slice(0, 1)], rng=5)
    again.load(state).merge(halves[1])
    for one, two in zip(again.finalize(), expected.finalize(), strict=True):
        assert (one.statistic, one.n, one.n_rows, one.method) == (two.statistic, two.n, two.n_rows, two.method)
        got, wanted = ((x.estimate, *x.confidence_interval, x.standard_error) for x in (one, two))
        np.testing.assert_allclose(got, wanted, rtol=1e-10)
    assert np.isfinite(again.state_dict()["poisson"]["ranks"]["classes"][2]["sums"]).all()


@pytest.mark.slow
def test_other_metrics_of_unweighted_clusters_are_those_of_all_rows():
    rows = scored(3, "clusters")
    (found,) = accumulated(rows, ["accuracy", "roc_auc_ovr", "log_loss"], [np.arange(N)], n_resamples=999)
    table = found.finalize()
    alone = accumulated(rows, ["accuracy", "log_loss"], [np.arange(N)], n_resamples=999)[0].finalize()
    assert [row.statistic for row in table] == ["accuracy", "roc_auc_ovr", "log_loss"]
    for row in alone:
        assert row.confidence_interval == table[row.statistic].confidence_interval
    area = table["roc_auc_ovr"]
    assert (area.n, area.n_rows, area.method.name) == (30, N, "expanded_percentile")
    assert area.reason.startswith("the Poisson bootstrap of clusters, by weights")
    expected = jaxci.evaluate(**rows, metrics=["roc_auc_ovr"], method="expanded_percentile", n_resamples=999, rng=0)
    assert abs(area.standard_error / expected["roc_auc_ovr"].standard_error - 1) < 0.15


def test_state_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr("jaxci.api.rank_replicates.MOST_BINS", 300)
    rng = np.random.default_rng(0)
    found = jaxci.Accumulator(["roc_auc_ovr"], n_resamples=49, rng=0, max_rows=20)
    sizes = []
    for batch in range(8):
        y, ids = np.arange(1000) % 3, np.arange(1000) + 1000 * batch
        found.update(y, y_score=rng.random((1000, 3)) + (y[:, None] == np.arange(3)), ids=ids)
        sizes.append(len(pickle.dumps(found.state_dict())))
    assert max(sizes[1:]) <= 3 * (100 * 8 * (1 + 2 + 3 + 50 + 2) + 2000)
    assert found.n == 8000
    assert "bins of scores" in found.kept


@pytest.mark.parametrize(
    ("metrics", "rows", "options", "message"),
    [
        (["roc_auc_ovr"], {}, {}, "for roc_auc_ovr need all rows; got 20, and ids=None"),
        (["expected_calibration_error"], {}, {}, "for expected_calibration_error need all rows; got 20, and ids=None"),
        (["roc_auc_ovo"], {"ids": np.arange(400)}, {"n_resamples": 9_999}, r"of 40 classes.*fewer n_resamples"),
    ],
)
def test_what_is_not_kept_is_refused_and_leaves_no_trace(metrics, rows, options, message):
    y = np.arange(400) % 40
    data = {"y_true": y, "y_score": np.eye(40)[y], **rows}
    found = jaxci.Accumulator(metrics, rng=0, max_rows=20, labels=range(40), **options)
    found.update(**{name: x[:10] for name, x in data.items()})
    with pytest.raises(ValueError, match=message):
        found.update(**{name: x[10:] for name, x in data.items()})
    assert found.kept == "10 rows"


def test_rankings_of_pairs_serve_those_of_classes():
    kept = RankReplicates([METRICS["roc_auc_ovr"], METRICS["roc_auc_ovo"]], 4, 9)
    assert {by: len(tables) for by, tables in kept.tables.items()} == {"pairs": 4}


def test_a_class_that_is_still_to_come_is_asked_for_by_name():
    score = np.random.default_rng(0).random(3000)
    first = jaxci.Accumulator(["roc_auc"], max_rows=1000, rng=0)
    with pytest.raises(ValueError, match="pass labels to name classes that are still to come"):
        first.update(np.zeros(3000, int), y_score=score)
