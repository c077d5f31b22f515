"""States of an accumulator that were written as JSON, whose arrays are lists without a type."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jaxci

N = 240
METRICS = {
    "labels": ["accuracy", "roc_auc", "log_loss", "root_mean_squared_calibration_error"],
    "targets": ["mean_absolute_error", "r2"],
}

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")


def rows_of(kind: str, given: set[str]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, N)
    rows = {"y_true": y, "y_score": np.clip(0.6 * y + 0.6 * rng.random(N), 0, 1).astype(np.float32)}
    if kind == "targets":
        rows = {"y_true": -1.0 - rng.random(N), "y_pred": -1.0 - rng.random(N)}
    more = {"groups": rng.integers(0, 9, N), "sample_weight": rng.random(N), "ids": np.arange(N)}
    return rows | {name: more[name] for name in {"ids", *given}}


def part(rows: dict[str, np.ndarray], where: slice) -> dict[str, np.ndarray]:
    return {name: x[where] for name, x in rows.items()}


@pytest.mark.slow
@pytest.mark.parametrize("most", [20, 20_000])
@pytest.mark.parametrize("given", [set(), {"groups"}, {"sample_weight"}, {"groups", "sample_weight"}])
@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_a_state_goes_through_json(monkeypatch, kind, given, most):
    monkeypatch.setattr("jaxci.api.accumulator.LARGEST", 20)
    rows = rows_of(kind, given)

    def made() -> jaxci.Accumulator:
        return jaxci.Accumulator(METRICS[kind], n_resamples=99, groups="groups" in given, rng=0, max_rows=most)

    first = made().update(**part(rows, slice(0, 99)))
    again = made().load(json.loads(json.dumps(first.state_dict(), default=np.ndarray.tolist)))
    again.merge(made().update(**part(rows, slice(99, 150)))).update(**part(rows, slice(150, N)))
    expected = made().update(**rows).finalize()
    assert [row.statistic for row in expected] == METRICS[kind]
    for one, two in zip(again.finalize(), expected, strict=True):
        found, wanted = ((x.estimate, *x.confidence_interval) for x in (one, two))
        np.testing.assert_allclose(found, wanted, rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("n", -1, r"state\['n'\] must be a number of rows; got -1"),
        ("n", "many", r"state\['n'\] must be a number of rows; got 'many'"),
        ("given", "y_true", r"state\['given'\] must be None or names of arguments; got 'y_true'"),
        ("values", None, "state must be what state_dict\\(\\) returned; a part of it is not"),
        ("table", 5, "state must be what state_dict\\(\\) returned; a part of it is not"),
        ("rows", 3, "state must be what state_dict\\(\\) returned; a part of it is not"),
    ],
)
def test_a_damaged_part_of_a_state_is_refused_and_changes_nothing(name, value, said):
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 60), rng.random(60)
    kept = jaxci.Accumulator(["accuracy", "roc_auc"], rng=0)
    kept.update(y, 1 * (score > 0.5), score)
    state = kept.state_dict()
    with pytest.raises(ValueError, match=said):
        kept.load({**state, name: value})
    again = jaxci.Accumulator(["accuracy", "roc_auc"], rng=0).load({**state, "n": np.array(60)})
    assert [row.confidence_interval for row in again.finalize().rows] == [
        row.confidence_interval for row in kept.finalize().rows
    ]
