"""Weighted rows in clusters beyond those that are kept: weighted sums by cluster give the result of all rows."""

from __future__ import annotations

import functools
import json
import pickle

import numpy as np
import pytest

import jaxci

N, SEED = 240, 11
LABELS = ["accuracy", "f1", "balanced_accuracy"]
VALUES = ["log_loss", "brier_score_loss"]
REGRESSION = ["root_mean_squared_error", "mean_absolute_error", "r2", "explained_variance", "pearsonr"]

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Let accumulators keep 20 rows at most."""
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 20)


@functools.cache
def rows_of(kind: str, clusters: int, heaviest: float = 1.0) -> dict[str, np.ndarray]:
    """Return rows in clusters, some of no weight."""
    rng = np.random.default_rng(5)
    weights = rng.exponential(size=N) * (np.arange(N) % 15 > 0)
    weights[1] *= heaviest
    given = {"groups": rng.integers(0, clusters, N).astype(str), "sample_weight": weights}
    if kind == "regression":
        y = 1000 + rng.normal(size=N)
        return {"y_true": y, "y_pred": y + rng.normal(size=N), **given}
    many = 3 if kind == "classes" else 2
    y = np.where(rng.random(N) < 0.04, many - 1, rng.integers(0, many - 1, N)) if many == 3 else rng.integers(0, 2, N)
    guess = np.where(rng.random(N) < 0.1, (y + 1) % many, y)
    scores = rng.dirichlet(np.ones(many), N) + 2 * np.eye(many)[guess]
    scores /= scores.sum(axis=1, keepdims=True)
    return {"y_true": y, "y_pred": guess, "y_score": scores[:, 1] if many == 2 else scores, **given}


def labels_of(kind: str, heaviest: float = 1.0) -> dict[str, np.ndarray]:
    """Return rows without scores."""
    return {name: x for name, x in rows_of(kind, 12, heaviest).items() if name != "y_score"}


def accumulated(rows, metrics) -> jaxci.Accumulator:
    """Return an accumulator of rows that came in four batches of any order, through three others and JSON."""
    labels = None if rows["y_true"].dtype.kind == "f" else np.unique(rows["y_true"])
    made = functools.partial(
        jaxci.Accumulator, metrics, n_resamples=199, groups=True, rng=SEED, max_rows=20, labels=labels
    )
    order = np.random.default_rng(2).permutation(N)
    parts = [made().update(**{name: x[part] for name, x in rows.items()}) for part in np.split(order, [70, 71, 150])]
    again = made().load(json.loads(json.dumps(parts[0].state_dict(), default=np.ndarray.tolist)))
    return parts[1].merge(again.merge(parts[3])).merge(parts[2])


def check_alike(found, expected) -> None:
    assert found.n == expected.n
    for one, two in zip(found, expected, strict=True):
        assert (one.statistic, one.method, one.reason) == (two.statistic, two.method, two.reason)
        assert (one.n, one.n_rows, one.design_effect_of) == (two.n, two.n_rows, two.design_effect_of)
        got, wanted = ((x.estimate, *x.confidence_interval, x.standard_error, x.design_effect) for x in (one, two))
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-12, err_msg=one.statistic)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "proper_bayesian", "bca"])
@pytest.mark.parametrize("cells", [2**16, 10])
@pytest.mark.parametrize(
    ("kind", "metrics"),
    [("labels", LABELS), ("labels", VALUES), ("classes", ["f1_macro", *VALUES]), ("regression", REGRESSION)],
)
def test_clusters_give_the_result_of_all_rows(monkeypatch, kind, metrics, cells, method):
    monkeypatch.setattr("jaxci.api.value_bins.MOST_CELLS", cells)
    rows = labels_of(kind) if metrics == LABELS else rows_of(kind, 12)
    if method == "proper_bayesian":
        metrics = [one for one in metrics if one not in REGRESSION[2:]]
    found = accumulated(rows, metrics).finalize(method)
    check_alike(found, jaxci.evaluate(**rows, metrics=metrics, method=method, n_resamples=199, rng=SEED))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "heaviest", "told"), [("classes", 1.0, "9.72 cases in effect"), ("labels", 1e3, "one row holds 78% of")]
)
def test_remarks_are_those_of_all_rows(kind, heaviest, told):
    rows, metrics = labels_of(kind, heaviest), ["f1_macro", "balanced_accuracy"]
    found = accumulated(rows, metrics).finalize()
    expected = jaxci.evaluate(**rows, metrics=metrics, n_resamples=199, rng=SEED)
    check_alike(found, expected)
    assert found.remarks == expected.remarks
    assert [row.warnings for row in found] == [row.warnings for row in expected]
    assert told in " ".join([*found.remarks, *(text for row in found for text in row.warnings)])


def test_kept_sums_do_not_grow_with_rows():
    rows = rows_of("labels", 6)
    found = accumulated(rows, [*LABELS, "log_loss"])
    before = {name: found.state_dict()[name] for name in ("table", "poisson")}
    for _ in range(3):
        found.update(**rows)
    table = found.state_dict()["table"]
    assert before["poisson"] is found.state_dict()["poisson"] is None
    assert table["powers"].shape == (len(before["table"]["cells"]), 3)
    np.testing.assert_allclose(table["powers"], 4 * before["table"]["powers"])


@pytest.mark.parametrize("weight", [1e-60, 1e60])
def test_weights_whose_cubes_cannot_be_summed_are_refused(weight):
    rows = labels_of("labels")
    found = accumulated(rows, LABELS)
    with pytest.raises(
        ValueError,
        match=rf"^sample_weight must be 0 or lie within 1e-50 and 1e\+50 .* got {weight:g}".replace("+60", r"\+60"),
    ):
        found.update(**{**rows, "sample_weight": np.full(N, weight)})
    assert found.n == N


def test_a_batch_that_is_refused_leaves_no_trace():
    rows = labels_of("labels")
    found = accumulated(rows, LABELS)
    before = pickle.dumps(found.state_dict())
    with pytest.raises(TypeError, match="groups must hold labels of one type in every batch"):
        found.update(**{**rows, "groups": np.arange(N) % 12})
    assert pickle.dumps(found.state_dict()) == before


def test_weights_of_0_leave_nothing_to_tell():
    rows = labels_of("labels")
    with pytest.raises(ValueError, match=r"at least 2 observations of a weight above 0 are needed .* got 0"):
        accumulated({**rows, "sample_weight": np.zeros(N)}, LABELS).finalize()
