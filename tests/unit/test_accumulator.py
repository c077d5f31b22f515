"""An accumulator gives what the call on all rows gives, whatever the batches, their order and the merging."""

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
from jaxci.api.readers.layout import MOST_REPEATED
from jaxci.api.score_bins import score_keys

N, K, SEED = 60, 3, 11
METRICS = ["accuracy", "f1_macro", "cohen_kappa_score", "recall_per_class"]
SCORE_METRICS = ["roc_auc", "average_precision", "log_loss"]

pytestmark = [pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning"), pytest.mark.computes]


@functools.cache
def labelled(n: int = N, clusters: int | None = None) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, K, n)
    found = {"y_true": y, "y_pred": np.where(rng.random(n) < 0.7, y, rng.integers(0, K, n))}
    return found if clusters is None else {**found, "groups": rng.integers(0, clusters, n)}


@functools.cache
def scored(n: int = N) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, n)
    return {"y_true": y, "y_score": 1 / (1 + np.exp(-rng.normal(2.0 * y - 1)))}


def regression(n: int = N) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    y = rng.normal(size=n)
    return {"y_true": y, "y_pred": y + rng.normal(size=n)}


@functools.cache
def whole(clusters: int | None = None) -> jaxci.EvaluationTable:
    return jaxci.evaluate(
        **labelled(clusters=clusters), metrics=METRICS, method="percentile", n_resamples=199, rng=SEED
    )


def check_same(found: jaxci.EvaluationTable, expected: jaxci.EvaluationTable) -> None:
    """Whether two tables are the same to the last bit; a design effect is a sum in the order of the rows."""
    assert (found.n, found.rng, found.warnings) == (expected.n, expected.rng, expected.warnings)
    assert [row.statistic for row in found] == [row.statistic for row in expected]
    for one, two in zip(found, expected, strict=True):
        mine, other = one.to_dict(), two.to_dict()
        effects = mine.pop("design_effect"), other.pop("design_effect")
        np.testing.assert_allclose(*effects, rtol=1e-12)
        assert repr(mine) == repr(other)
        np.testing.assert_array_equal(one.bootstrap_distribution, two.bootstrap_distribution)


def rows_of(data: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: column[rows] for name, column in data.items()}


def accumulator(clusters: int | None = None, metrics=METRICS, **options) -> jaxci.Accumulator:
    return jaxci.Accumulator(metrics, n_resamples=199, groups=clusters is not None, rng=SEED, **options)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 9])
@settings(max_examples=12, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_batches_merged_in_any_tree_give_the_result_of_all_rows(clusters, data):
    rows = labelled(clusters=clusters)
    order = np.array(data.draw(st.permutations(range(N))))
    borders = data.draw(st.sets(st.integers(1, N - 1), max_size=8))
    parts = [accumulator(clusters).update(**rows_of(rows, part)) for part in np.split(order, sorted(borders))]
    while len(parts) > 1:
        first = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(first)
    check_same(parts[0].finalize("percentile"), whole(clusters))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bca"])
def test_methods_that_read_more_than_resamples(method):
    rows = labelled()
    found = accumulator()
    for part in np.array_split(np.arange(N), 4):
        found.update(**rows_of(rows, part))
    expected = jaxci.evaluate(**rows, metrics=METRICS, method=method, n_resamples=199, rng=SEED)
    check_same(found.finalize(method), expected)


def test_a_state_that_lacks_something_is_refused():
    state = accumulator(metrics=["accuracy"]).update(**scored()).state_dict()
    for name in ("n", "given", "rng", "rows"):
        with pytest.raises(ValueError, match=f"state must be what state_dict.. returned; it lacks '{name}'"):
            accumulator(metrics=["accuracy"]).load({key: value for key, value in state.items() if key != name})


@pytest.mark.parametrize("metrics", [["roc_auc"], ["accuracy"]])
def test_rows_do_not_count_twice(metrics):
    found = accumulator(metrics=metrics).update(**scored())
    with pytest.raises(ValueError, match="other must be another Accumulator"):
        found.merge(found)


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 40])
def test_counts_of_more_rows_than_are_repeated(clusters):
    rows = labelled(MOST_REPEATED + 1000, clusters)
    found = accumulator(clusters)
    for part in np.array_split(np.arange(len(rows["y_true"])), 9):
        found.update(**rows_of(rows, part))
    for method in ("auto", "percentile"):
        expected = jaxci.evaluate(**rows, metrics=METRICS, method=method, n_resamples=199, rng=SEED)
        check_same(found.finalize(method), expected)


@pytest.mark.parametrize(
    ("metrics", "rows"), [(SCORE_METRICS, scored), (["r2", "mean_absolute_error"], regression)], ids=["scores", "r2"]
)
def test_rows_that_are_kept_give_the_result_of_all_rows(metrics, rows):
    data = rows()
    parts = [accumulator(metrics=metrics).update(**rows_of(data, part)) for part in np.split(np.arange(N), [7, 40])]
    found = parts[0].merge(parts[1]).merge(parts[2])
    check_same(found.finalize(), jaxci.evaluate(**data, metrics=metrics, n_resamples=199, rng=SEED))


def test_ids_make_the_order_of_rows_that_are_kept():
    data, ids = scored(), np.arange(N)
    order = np.random.default_rng(0).permutation(N)
    found = accumulator(metrics=["roc_auc"])
    for part in np.array_split(order, 5):
        found.update(**rows_of(data, part), ids=ids[part])
    expected = jaxci.evaluate(**data, metrics=["roc_auc"], method="percentile", n_resamples=199, rng=SEED)
    check_same(found.finalize("percentile"), expected)


@pytest.mark.slow
def test_weights_keep_the_rows():
    rows, weights = labelled(), np.random.default_rng(1).random(N)
    found = accumulator().update(**rows, sample_weight=weights)
    assert found.kept == "60 rows"
    expected = jaxci.evaluate(**rows, sample_weight=weights, metrics=METRICS, n_resamples=199, rng=SEED)
    check_same(found.finalize(), expected)


def test_state_does_not_grow_with_the_rows():
    found = accumulator()
    for _ in range(50):
        found.update(**labelled())
    assert found.n == 50 * N
    assert found.kept == f"{len(set(zip(*labelled().values(), strict=True)))} counts of labels"
    assert len(pickle.dumps(found.state_dict())) < 2000


@pytest.mark.parametrize("clusters", [None, 9])
def test_state_is_saved_and_loaded(clusters):
    rows = labelled(clusters=clusters)
    halves = np.split(np.arange(N), 2)
    first = accumulator(clusters).update(**rows_of(rows, halves[0]))
    state = pickle.loads(pickle.dumps(first.state_dict()))
    first.update(**rows_of(rows, halves[0]))  # what was saved stays as it was
    again = jaxci.Accumulator(METRICS, n_resamples=199, groups=clusters is not None, rng=0).load(state)
    check_same(again.update(**rows_of(rows, halves[1])).finalize("percentile"), whole(clusters))


def test_rows_that_are_kept_are_saved_and_loaded():
    data = scored()
    state = pickle.loads(pickle.dumps(accumulator(metrics=["roc_auc"]).update(**data).state_dict()))
    found = accumulator(metrics=["roc_auc"]).load(state).finalize()
    check_same(found, jaxci.evaluate(**data, metrics=["roc_auc"], n_resamples=199, rng=SEED))


def test_labels_of_any_type_and_arrays_of_jax():
    rows = labelled()
    names = np.array(["cat", "dog", "a hen"])
    words = {name: names[column] for name, column in rows.items()}
    found = accumulator()
    for part in np.split(np.arange(N), [1, 2, 30]):
        found.update(**rows_of(words, part))
    check_same(
        found.finalize("percentile"),
        jaxci.evaluate(**words, metrics=METRICS, method="percentile", n_resamples=199, rng=SEED),
    )
    on_device = accumulator().update(jnp.asarray(rows["y_true"]), jnp.asarray(rows["y_pred"], jnp.int8))
    check_same(on_device.finalize("percentile"), whole())


class Tensor:
    """What PyTorch's tensors do when NumPy asks for their numbers, of a device and with a gradient or not."""

    def __init__(self, array, device="cpu", requires_grad=False, dtype=None):
        self.array, self.device, self.requires_grad = np.asarray(array), device, requires_grad
        self.dtype = f"torch.{self.array.dtype.name}" if dtype is None else dtype
        self.shape = self.array.shape

    def __len__(self):
        return len(self.array)

    def __array__(self, dtype=None, copy=None):
        if self.device != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy")
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array if dtype is None else self.array.astype(dtype)

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient")
        return self.array.__dlpack__(**options)

    def detach(self):
        return Tensor(self.array, self.device, False, self.dtype)

    def cpu(self):
        return Tensor(self.array, "cpu", self.requires_grad, self.dtype)

    def float(self):
        return Tensor(self.array.astype(np.float32), self.device, self.requires_grad)

    def numpy(self):
        return self.__array__()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"requires_grad": True}, {"device": "cuda:0"}, {"device": "cuda:0", "requires_grad": True}],
    ids=["plain", "gradient", "device", "both"],
)
def test_arrays_of_torch(options):
    rows, metrics = scored(), ["roc_auc", "log_loss", "accuracy"]
    given = {
        "y_true": Tensor(rows["y_true"], options.get("device", "cpu")),
        "y_score": Tensor(rows["y_score"], **options),
    }
    expected = jaxci.evaluate(**rows, metrics=metrics, n_resamples=199, rng=SEED)
    weights = Tensor(np.ones(N), **options)
    groups, ids = (Tensor(np.arange(N), options.get("device", "cpu")) for _ in range(2))
    check_same(accumulator(metrics=metrics).update(**given).finalize(), expected)
    check_same(jaxci.evaluate(**given, metrics=metrics, n_resamples=199, rng=SEED), expected)
    weighted = accumulator(N, metrics=metrics).update(**given, groups=groups, ids=ids, sample_weight=weights)
    np.testing.assert_allclose(weighted.finalize("percentile")["roc_auc"].estimate, expected["roc_auc"].estimate)
    listed = [Tensor(score, **options) for score in rows["y_score"]]
    assert jaxci.interval("roc_auc", given["y_true"], listed).estimate == expected["roc_auc"].estimate


def test_scores_of_16_bits():
    rows = scored()
    coarse = np.asarray(jnp.asarray(rows["y_score"], jnp.bfloat16).astype(jnp.float32))
    expected = jaxci.evaluate(rows["y_true"], y_score=coarse, metrics=["log_loss"], n_resamples=199, rng=SEED)
    for scores in (jnp.asarray(coarse, jnp.bfloat16), Tensor(coarse, requires_grad=True, dtype="torch.bfloat16")):
        check_same(accumulator(metrics=["log_loss"]).update(rows["y_true"], y_score=scores).finalize(), expected)


@pytest.mark.slow
def test_labels_that_are_given_need_not_occur():
    rows = labelled()
    options = {"labels": [2, 1, 0, 7]}
    expected = jaxci.evaluate(**rows, metrics=METRICS, n_resamples=199, rng=SEED, **options)
    check_same(accumulator(**options).update(**rows).finalize(), expected)


ROWS = labelled()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jaxci.Accumulator(["accuracy"]).finalize(), "at least 2 observations"),
        (lambda: jaxci.Accumulator(["accuracy"], groups=ROWS["y_true"]), "groups must be True or False"),
        (lambda: jaxci.Accumulator(["mean"]), "not summaries of values; got mean"),
        (lambda: jaxci.Accumulator(["acuracy"]), "did you mean 'accuracy'"),
        (lambda: jaxci.Accumulator(["roc_auc"], max_rows=5), "max_rows must be at least 20000; got 5"),
        (lambda: jaxci.Accumulator(["accuracy"]).update(ROWS["y_true"]), "y_pred or y_score must be given"),
        (lambda: jaxci.Accumulator(["accuracy"]).update([0, 1], [0, 1, 1]), "y_true has 2, y_pred has 3"),
        (lambda: jaxci.Accumulator(["accuracy"], groups=True).update([0], [0]), "groups must name the cluster"),
        (lambda: jaxci.Accumulator(["accuracy"]).update([0], [0], groups=[1]), "an Accumulator with groups=True"),
        (lambda: jaxci.Accumulator(["accuracy"], labels=[0, 1]).update([0, 2], [0, 1]), "y_true must only hold"),
        (lambda: jaxci.Accumulator(["accuracy"]).update([0], [0]).update(["a"], ["a"]), "one type in every batch"),
        (
            lambda: jaxci.Accumulator(["accuracy"]).update(["a"], ["a"]).update([b"a"], [b"a"]),
            "one type in every batch",
        ),
        (
            lambda: jaxci.Accumulator(["log_loss"]).update([0], [0], [0.5]).update([0], y_score=[0.5]),
            "every batch must have the same arrays; got y_score, y_true after y_pred, y_score, y_true",
        ),
        (
            lambda: jaxci.Accumulator(["accuracy"]).merge(jaxci.Accumulator(["f1"])),
            r"of the same metrics \['accuracy'\]; got \['f1'\]",
        ),
        (lambda: jaxci.Accumulator(["accuracy"]).merge(3), "other must be an Accumulator; got 3"),
        (lambda: jaxci.Accumulator(["accuracy"]).load(None), r"state must be a dict, as state_dict\(\) .*; got None"),
        (lambda: jaxci.Accumulator(["accuracy"]).load([1]), r"state must be a dict, as state_dict\(\) .*; got \[1\]"),
        (lambda: jaxci.Accumulator(["accuracy"]).load({}), "state must be that of an Accumulator of the same metrics"),
        (
            lambda: jaxci.Accumulator(["accuracy"]).update([0, 1], [0, 1], sample_weight=[1, -2.5]),
            r"sample_weight must not be negative; got -2\.5 in row 1",
        ),
        (
            lambda: jax.jit(jaxci.Accumulator(["accuracy"]).update)(jnp.arange(3), jnp.arange(3)),
            r"y_true must be an array of values; got JitTracer\(int\d+\[3\]\), .* through jax\.debug\.callback",
        ),
        (
            lambda: jax.jit(lambda p: jaxci.Accumulator(["accuracy"]).update([0, 1], [p, p]))(1),
            "y_pred must be an array of values; got .* call jaxci outside",
        ),
    ],
)
def test_bad_input_has_one_clear_error(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("names", [{"ids": np.arange(30_000)}, {"groups": np.arange(30_000) // 10}])
def test_negative_weights_are_refused_however_many_rows_have_passed(names):
    rows = {**regression(30_000), "sample_weight": np.ones(30_000), **names}
    bad = rows_of(rows, np.arange(3))
    bad["sample_weight"] = np.array([1.0, 0.0, -1.0])
    found = jaxci.Accumulator(["mean_squared_error"], n_resamples=19, groups="groups" in names, rng=0, max_rows=20_000)
    for part in np.array_split(np.arange(30_000), 3):
        found.update(**rows_of(rows, part))
        before = pickle.dumps(found.state_dict())
        with pytest.raises(ValueError, match=r"^sample_weight must not be negative; got -1 in row 2$"):
            found.update(**bad)
        assert pickle.dumps(found.state_dict()) == before
    assert found.kept.startswith("sums of 19 Poisson resamples" if "ids" in names else "90000 cells of values")


def test_batches_of_a_scan_come_through_a_callback():
    rows = labelled()

    def step(carry, batch):
        jax.debug.callback(lambda y, guess: found.update(y, guess), *batch)
        return carry + 1, None

    found = accumulator()
    batches = [jnp.asarray(rows[name]).reshape(4, -1) for name in ("y_true", "y_pred")]
    jax.jit(lambda *batches: jax.lax.scan(step, 0, batches))(*batches)
    jax.effects_barrier()
    check_same(found.finalize("percentile"), whole())


@functools.cache
def many_scores(n: int = 30_000) -> dict[str, np.ndarray]:
    rows = scored(n)
    return {**rows, "y_pred": (rows["y_score"] > 0.4).astype(int)}


BINNED = ["f1", *SCORE_METRICS, "brier_score_loss", "root_mean_squared_calibration_error"]


def counting(rows: dict[str, np.ndarray], parts, metrics=BINNED) -> jaxci.Accumulator:
    found = jaxci.Accumulator(metrics, rng=SEED, max_rows=20_000)
    for part in parts:
        found.update(**rows_of(rows, part))
    return found


@pytest.mark.slow
def test_scores_that_are_counted_give_the_result_of_all_rows():
    rows = many_scores()
    found = counting(rows, np.array_split(np.arange(30_000), 7)).finalize()
    expected = jaxci.evaluate(**rows, metrics=BINNED, n_resamples=999, rng=SEED)
    assert not any("scores were counted" in text for text in found.remarks)
    for one, two in zip(found, expected, strict=True):
        assert (one.statistic, one.method, one.n) == (two.statistic, two.method, 30_000)
        got, wanted = ((x.estimate, *x.confidence_interval) for x in (one, two))
        np.testing.assert_allclose(got, wanted, rtol=1e-9)


@pytest.mark.slow
def test_counted_rows_equal_the_rows_repeated(monkeypatch):
    rows = many_scores()
    coarse = {**rows, "y_score": np.round(rows["y_score"], 2)}
    found = counting(coarse, np.array_split(np.arange(30_000), 3))
    repeated = found.finalize("auto")
    monkeypatch.setattr("jaxci.api.readers.layout.MOST_REPEATED", 1000)
    by_counts = found.finalize("auto")
    for one, two in zip(by_counts, repeated, strict=True):
        np.testing.assert_allclose(one.estimate, two.estimate, rtol=1e-12)
        if one.method == two.method:
            np.testing.assert_allclose(one.confidence_interval, two.confidence_interval, rtol=1e-9)
    assert [row.statistic for row in by_counts if row.method == "delta"] == ["average_precision"]
    score = counting(coarse, np.array_split(np.arange(30_000), 3), SCORE_METRICS)
    by_counts = score.finalize("delta")
    monkeypatch.undo()
    for one, two in zip(by_counts, score.finalize("delta"), strict=True):
        np.testing.assert_allclose(one.confidence_interval, two.confidence_interval, rtol=1e-9)
        np.testing.assert_allclose(one.standard_error, two.standard_error, rtol=1e-9)


@pytest.mark.slow
def test_counts_of_scores_are_the_same_for_any_batches(monkeypatch):
    monkeypatch.setattr("jaxci.api.score_bins.MOST_BINS", 256)
    rows, order = many_scores(), np.random.default_rng(3).permutation(30_000)
    first = counting(rows, np.array_split(np.arange(30_000), 7))
    small = jaxci.Accumulator(BINNED, rng=SEED, max_rows=20_000).update(**rows_of(rows, order[:5000]))
    other = small.merge(counting(rows, [order[5000:29_000]])).merge(counting(rows, [order[29_000:]]))
    one, two = first.state_dict(), other.state_dict()
    assert one["bins"]["level"] == two["bins"]["level"] > 0
    for name in ("keys", "counts", "lowest", "highest"):
        np.testing.assert_array_equal(one["bins"][name], two["bins"][name])
    np.testing.assert_allclose(one["bins"]["sums"], two["bins"]["sums"], rtol=1e-12)
    again = jaxci.Accumulator(BINNED, rng=0, max_rows=20_000).load(pickle.loads(pickle.dumps(one)))
    check_same(again.finalize(), first.finalize())


@pytest.mark.slow
def test_the_error_of_counted_scores_is_within_its_bound(monkeypatch):
    monkeypatch.setattr("jaxci.api.score_bins.MOST_BINS", 64)
    rows = many_scores()
    found = counting(rows, np.array_split(np.arange(30_000), 7), SCORE_METRICS).finalize("delta")
    for row in found:
        expected = jaxci.interval(row.statistic, rows["y_true"], rows["y_score"], method="delta").estimate
        bound = float(row.warnings[-1].rsplit(" ", 1)[1])
        assert 0 < abs(row.estimate - expected) <= bound < 0.1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
def test_keys_of_scores_are_in_their_order(scores):
    ordered = np.sort(np.array([*scores, 0.0, -0.0, 0.5, 1.0, np.nextafter(1, 0), np.nextafter(1, 2)]))
    keys = score_keys(ordered)
    assert np.all(keys[1:] >= keys[:-1])
    inside = np.unique(ordered[(ordered >= 0) & (ordered <= 1)])
    assert len(np.unique(score_keys(inside))) == len(inside)


@pytest.mark.parametrize(
    ("metrics", "change", "message"),
    [
        (["roc_auc_ovr"], {}, "max_rows must be at least 30000, for roc_auc_ovr need all rows; got 20000"),
        (["roc_auc"], {"sample_weight": np.ones(30_000)}, r"unless ids \(or groups\) name them"),
        (["roc_auc_ovr"], {"y_true": np.arange(30_000) % 3, "y_score": np.full((30_000, 3), 1 / 3)}, "need all rows"),
    ],
)
def test_what_cannot_be_counted_is_refused_and_leaves_no_trace(metrics, change, message):
    rows = {**scored(30_000), **change}
    found = jaxci.Accumulator(metrics, max_rows=20_000).update(**rows_of(rows, np.arange(100)))
    with pytest.raises(ValueError, match=message):
        found.update(**rows_of(rows, slice(100, None)))
    assert found.kept == "100 rows"


@pytest.mark.parametrize("empty", [[], np.zeros(0, int), jnp.zeros(0, int)], ids=["list", "numpy", "jax"])
def test_a_batch_of_no_rows_changes_nothing(empty):
    found = (
        jaxci.Accumulator(["accuracy"], rng=0).update(empty, empty).update([0, 1, 1], [0, 1, 0]).update(empty, empty)
    )
    whole = jaxci.Accumulator(["accuracy"], rng=0).update([0, 1, 1], [0, 1, 0])
    assert found.finalize().to_dict() == whole.finalize().to_dict()
    with pytest.raises(ValueError, match="y_true must not be empty"):
        found.update(empty, [1])


def test_labels_may_be_bytes_in_every_batch():
    labels = np.array([b"a", b"b"])[ROWS["y_true"] % 2]
    found = jaxci.Accumulator(["accuracy"]).update(labels, labels).update(labels, labels[::-1]).finalize()
    assert found.rows[0].estimate == np.mean([np.ones(len(labels)), labels == labels[::-1]])
