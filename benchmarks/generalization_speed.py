"""Time fits for generalization intervals against scikit-learn, and a coverage cell, in one run.

Run ``python benchmarks/generalization_speed.py``; ``--json FILE`` keeps the numbers. Nested
cross-validation (R = 25, K = 5: 625 splits, of which 375 training sets are distinct) for ridge and
logistic regression at n = 500, d = 20, against a loop over scikit-learn with joblib on all cores that
fits each of the 625; a coverage cell of the corrected t interval (K = 25, 500 replications); fits a
second of a forest and an MLP; and the peak memory of .632+ with log loss at n = 20,000.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
from joblib import Parallel, delayed
from sklearn import linear_model

import jaxci
from jaxci.coverage.learner_cell import Configuration, LearningCell, run_cell
from jaxci.distributions import BatesRegression
from jaxci.generalization import LOSSES, nested_cv
from jaxci.generalization.base import Resampled
from jaxci.inducers import MLP, Forest, Inducer, Logistic, Ridge
from jaxci.inducers.base import fit_predict
from jaxci.inference.sharding import Spread
from jaxci.resampling import splits

N, D = 500, 20
MEMORY = """
import numpy as np, jaxci
from jaxci.inducers import Logistic
from jaxci.resampling import splits
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
y = (X[:, :3].sum(axis=1) + rng.logistic(size=20_000) > 0).astype(int)
plan = splits.bootstrap(20_000, 100, 0)
jaxci.generalization_interval(
    Logistic(), X, y, loss="log", method="bootstrap_632_plus", cv=plan, rng=0, progress=False
)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def data(classes: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    signal = X[:, :5].sum(axis=1)
    return X, (signal + rng.logistic(size=N) > 0).astype(int) if classes else signal + rng.normal(size=N)


def median_seconds(function: Callable[[], object], rounds: int) -> float:
    function()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def one_fit(model: object, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    fitted = model.fit(X[train], y[train])  # type: ignore[attr-defined]
    return np.abs(fitted.predict(X[test]) - y[test]) ** 2


def against_scikit_learn(learner: Inducer, model: object, classes: bool) -> dict[str, float]:
    X, y = data(classes)
    plan = splits.nested_cv(N, 5, 25, 0)
    pairs = [(np.flatnonzero(t), np.flatnonzero(m)) for t, m in zip(plan.train_counts, plan.test_mask, strict=True)]
    loss = "zero_one" if classes else "squared"

    def ours() -> object:
        return jaxci.generalization_interval(
            learner, X, y, loss=loss, method="nested_cv", cv=plan, rng=0, progress=False
        )

    def theirs() -> object:
        with Parallel(n_jobs=-1) as pool:
            found = pool(delayed(one_fit)(model, X, y, train, test) for train, test in pairs)
        losses = np.full(plan.test_mask.shape, np.nan)
        for s, (_, test) in enumerate(pairs):
            losses[s, test] = found[s]
        return nested_cv(Resampled(plan, losses))

    mine, other = median_seconds(ours, 7), median_seconds(theirs, 3)
    return {"ours_s": mine, "scikit_learn_s": other, "ratio": other / mine, "aim": 5.0}


def cell_seconds() -> dict[str, float]:
    cell = LearningCell(
        BatesRegression(), N, Ridge(), LOSSES["squared"], [Configuration("corrected_t", "corrected_t")],
        n_replications=500, n_groups=20, n_validation=100_000, level=0.95,
    )  # fmt: skip
    start = time.perf_counter()
    run_cell(cell, jax.random.key(0), range(20), Spread.over())
    return {"cold_s": time.perf_counter() - start, "fits": 12_500.0, "limit_s": 60.0}


def fits_a_second(learner: Inducer, fits: int) -> float:
    X, y = data(False)
    counts = splits.bootstrap(N, fits, 0).train_counts
    key = jax.random.key(0)
    return fits / median_seconds(lambda: fit_predict(learner, key, X, y, counts), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fits", type=int, default=64, help="fits of a forest and an MLP that are timed together")
    options = parser.parse_args()
    device = jax.devices()[0]
    print(f"{device.platform} ({device.device_kind}), {platform.machine()}, jax {jax.__version__}")
    found: dict[str, object] = {}
    for name, learner, model, classes in (
        ("nested CV, ridge", Ridge(), linear_model.Ridge(), False),
        ("nested CV, logistic", Logistic(), linear_model.LogisticRegression(), True),
    ):
        numbers = against_scikit_learn(learner, model, classes)
        found[name] = numbers
        print(
            f"{name:24s} {1e3 * numbers['ours_s']:9.1f} ms | scikit-learn, joblib "
            f"{1e3 * numbers['scikit_learn_s']:9.1f} ms | ratio {numbers['ratio']:6.1f} | aim >= {numbers['aim']:g}x"
        )
    cell = cell_seconds()
    found["corrected t cell"] = cell
    print(
        f"{'corrected t cell':24s} {cell['cold_s']:9.1f} s for {cell['fits']:,.0f} fits | aim <= {cell['limit_s']:g} s"
    )
    for name, made in (("forest", Forest()), ("mlp", MLP())):
        rate = fits_a_second(made, options.fits)
        found[f"{name}, fits a second"] = rate
        print(f"{name:24s} {rate:9.1f} fits a second (n = {N}, d = {D})")
    child = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    peak = float(child.stdout) / 2**20  # the peak of that process alone: a child's ru_maxrss starts at its parent's
    found[".632+ at n = 20,000, GiB"] = peak
    print(f"{'.632+, n = 20,000':24s} {peak:9.2f} GiB at its peak | aim <= 1 GiB")
    if options.json:
        machine = {"device": f"{device.platform} ({device.device_kind})", "processor": platform.machine()}
        versions = {"jaxci": jaxci.__version__, "jax": jax.__version__, "numpy": np.__version__}
        peak_here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        options.json.write_text(json.dumps({**machine, **versions, "peak_gib": peak_here, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
