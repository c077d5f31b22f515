"""Compare learners with the estimators they are named after: held-out losses, and seconds, in one run.

Run ``python benchmarks/learners.py``; ``--json FILE`` keeps the numbers. ``--only losses``, ``--only speed``
and ``--learners`` make a part, and renew that part of the file. Defaults of both sides, but for a network
behind a scaler and a lasso whose penalty is chosen. Losses: ten data sets, five splits into 70% training and
30% test rows, the same for both; each difference is judged by its mean over splits against its standard error
(paired, four degrees of freedom) and against 3% of the namesake's loss: *worse* where it exceeds 2 standard
errors and 3%, *better* where the other does. Speed: warm seconds a fit at n = 500, d = 20 in batches of 25
splits, both sides in turn, ratios of medians to the faster of OpenMP's default number of threads and one (a
forest has two jobs in either); and processor seconds of the first fits, and of those of another n beyond the
warm ones.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import sklearn
import sklearn.exceptions
import threadpoolctl
from sklearn import datasets, ensemble, linear_model, neural_network, pipeline, preprocessing, tree

import jaxci
from jaxci.inducers import MLP, Boosting, Forest, Lasso, Tree, Tuned, fit_predict

SPLITS = 5
SMALLEST = 1e-15
"""Least probability of a log loss."""
FAMILIES = ("forest", "boosting", "mlp", "tree", "lasso path")


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray, int]]:
    """Yield name, X, y and the number of classes, 0 for a regression."""
    for name, load in (("breast cancer", datasets.load_breast_cancer), ("wine", datasets.load_wine)):
        X, y = load(return_X_y=True)
        yield name, X, y, int(y.max()) + 1
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits, 600 rows", X[:600], y[:600], 10
    yield "diabetes", *datasets.load_diabetes(return_X_y=True), 0
    yield "iris", *datasets.load_iris(return_X_y=True), 3
    X, y = datasets.make_hastie_10_2(1000, random_state=0)
    yield "hastie", X, (y > 0).astype(int), 2
    yield "friedman1", *datasets.make_friedman1(500, noise=1.0, random_state=0), 0
    yield "friedman2", *datasets.make_friedman2(500, noise=100.0, random_state=0), 0
    yield "friedman3", *datasets.make_friedman3(500, noise=0.1, random_state=0), 0
    X, y = datasets.make_classification(1000, 20, n_informative=5, weights=[0.95], flip_y=0.0, random_state=0)
    yield "5% positives", X, y, 2


def namesake(family: str, classes: int, seed: int) -> Any:
    """Return scikit-learn's estimator at its defaults."""
    kind = "Classifier" if classes else "Regressor"
    if family == "forest":
        return getattr(ensemble, f"RandomForest{kind}")(random_state=seed, n_jobs=2)
    if family == "boosting":
        return getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=seed)
    if family == "tree":
        return getattr(tree, f"DecisionTree{kind}")(random_state=seed)
    if family == "mlp":
        network = getattr(neural_network, f"MLP{kind}")(random_state=seed)
        return pipeline.make_pipeline(preprocessing.StandardScaler(), network)
    return linear_model.LassoCV(cv=5)


def ours(family: str, X: np.ndarray, y: np.ndarray) -> Any:
    """Return the learner at its defaults; a Lasso tuned over 20 values from LassoCV's largest to a thousandth of it."""
    if family == "lasso path":
        largest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
        return Tuned(Lasso(), "alpha", tuple(float(a) for a in largest * np.logspace(-3, 0, 20)), 5)
    return {"forest": Forest, "boosting": Boosting, "mlp": MLP, "tree": Tree}[family]()


def losses(found: np.ndarray, y: np.ndarray, classes: int) -> dict[str, float]:
    if not classes:
        return {"squared": float(np.mean((found - y) ** 2))}
    own = np.maximum(found[np.arange(len(y)), y], SMALLEST)
    return {"log": float(-np.log(own).mean()), "zero_one": float(np.mean(found.argmax(axis=1) != y))}


def verdict(mine: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    difference = mine - theirs
    error = float(difference.std(ddof=1) / len(difference) ** 0.5)
    mean, base = float(difference.mean()), float(theirs.mean())
    judged = "worse" if mean > 2 * error and mean > 0.03 * base else "as good"
    if mean < -2 * error and mean < -0.03 * base:
        judged = "better"
    return {"ours": float(mine.mean()), "theirs": base, "difference_error": error, "verdict": judged}


def compare_losses(families: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = []
    for data, X, y, classes in problems():
        draws = np.random.default_rng(0)
        train = np.array([draws.permutation(len(y)) < 0.7 * len(y) for _ in range(SPLITS)])
        for family in families:
            if family == "lasso path" and classes:
                continue
            found, converged = fit_predict(ours(family, X, y), jax.random.key(0), X, y, train.astype(int), classes)
            pairs: dict[str, list[tuple[float, float]]] = {}
            for seed, inside in enumerate(train):
                model = namesake(family, classes, seed).fit(X[inside], y[inside])
                expected = model.predict_proba(X[~inside]) if classes else model.predict(X[~inside])
                mine, theirs = (losses(p, y[~inside], classes) for p in (found[seed][~inside], expected))
                for loss, value in mine.items():
                    pairs.setdefault(loss, []).append((value, theirs[loss]))
            for loss, values in pairs.items():
                rows.append({"data": data, "learner": family, "loss": loss, **verdict(*np.array(values).T)})
                row = rows[-1]
                print(
                    f"{data:18s} {family:11s} {loss:9s} {row['ours']:11.4f} | {row['theirs']:11.4f} "
                    f"(+- {row['difference_error']:.4f}) {row['verdict']}"
                    + ("" if converged.all() else f", {int((~converged).sum())} not converged"),
                    flush=True,
                )
    return rows


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare_speed(families: tuple[str, ...], rounds: int) -> dict[str, Any]:
    draws = np.random.default_rng(0)
    n, d, fits = 500, 20, 25
    X = draws.normal(size=(n, d))
    values = X[:, :5].sum(axis=1) + draws.normal(size=n)
    train = np.array([draws.permutation(n) < 0.8 * n for _ in range(fits)]).astype(int)
    found: dict[str, Any] = {}
    for family in families:
        if family == "lasso path":
            continue
        for classes in (0, 2):
            y = (values > 0).astype(int) if classes else values
            learner = ours(family, X, y)

            def mine(n: int = n, y: np.ndarray = y, classes: int = classes, learner: Any = learner) -> object:
                return fit_predict(learner, jax.random.key(0), X[:n], y[:n], train[:, :n], classes)

            def other(y: np.ndarray = y, classes: int = classes, family: str = family) -> object:
                for inside in train[:5] > 0:
                    model = namesake(family, classes, 0).fit(X[inside], y[inside])
                    (model.predict_proba if classes else model.predict)(X)
                return model

            first = [-time.process_time(), -time.process_time()]
            mine()
            first[0] += time.process_time()
            first[1] = -time.process_time()
            mine(n - 7)
            first[1] += time.process_time()
            warm = [-time.process_time(), 0.0]
            mine(n - 7)
            warm[0] += time.process_time()
            times = []
            for _ in range(rounds):
                together = seconds(other) / 5
                with threadpoolctl.threadpool_limits(1):  # OpenMP's threads wait for each other on shared cores
                    times.append((seconds(mine) / fits, together, seconds(other) / 5))
            own, both, one = (statistics.median(column) for column in zip(*times, strict=True))
            theirs = min(both, one)
            label = f"{family}, {'classes' if classes else 'regression'}"
            found[label] = {
                "ours_s": own, "theirs_s": both, "theirs_one_thread_s": one, "ratio": theirs / own,
                "first_cpu_s": first[0], "new_n_cpu_s": first[1] - warm[0],
            }  # fmt: skip
            print(
                f"{label:22s} {1e3 * own:8.1f} ms a fit | {1e3 * both:8.1f} ms, one thread "
                f"{1e3 * one:8.1f} ms | ratio {theirs / own:5.2f} | first "
                f"{first[0]:5.1f} CPU-s, a new n {first[1] - warm[0]:5.1f} more than warm",
                flush=True,
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("losses", "speed"))
    parser.add_argument("--learners", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--rounds", type=int, default=5, help="of timings")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=sklearn.exceptions.ConvergenceWarning)
    device = jax.devices()[0]
    cores = os.cpu_count()
    print(f"{device.platform} ({device.device_kind}), {cores} cores, jax {jax.__version__}, {sklearn.__version__}")
    found: dict[str, Any] = {
        "device": f"{device.platform} ({device.device_kind})", "processor": platform.machine(), "cores": cores,
        "date": datetime.date.today().isoformat(), "jaxci": jaxci.__version__, "jax": jax.__version__,
        "numpy": np.__version__, "scikit_learn": sklearn.__version__,
    }  # fmt: skip
    kept = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    if options.only != "speed":
        others = [row for row in kept.get("losses", []) if row["learner"] not in options.learners]
        kept["losses"] = others + compare_losses(tuple(options.learners))
    if options.only != "losses":
        kept["speed"] = kept.get("speed", {}) | compare_speed(tuple(options.learners), options.rounds)
    if options.json:
        options.json.write_text(json.dumps(kept | found, indent=1) + "\n")


if __name__ == "__main__":
    main()
