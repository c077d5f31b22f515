"""The constant of replace-one cross-validation: experiment A.1 of Schulz-Kuempel et al. (2024).

Run ``python benchmarks/replace_one_constant.py``. One feature ``X ~ N(0, 1)``, ``y = X + N(0, 0.04)``, a
linear model: the standard error that replace-one CV gives over the true standard deviation of 5-fold
CV on as many rows, which is about sqrt(2) with the original constant and 1 with the corrected one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jax
import numpy as np
from scipy import special

from jaxci.coverage.learner_cell import Configuration, LearningCell, run_cell
from jaxci.distributions import Problem
from jaxci.generalization import LOSSES
from jaxci.inducers import Linear
from jaxci.inference.sharding import Spread
from jaxci.records import record


@record
class OneFeature(Problem):
    """``y = X + N(0, 0.04)``."""

    task = "regression"
    n_features = 1

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows."""
        for_x, for_y = jax.random.split(key)
        x = jax.random.normal(for_x, (n,))
        return x[:, None], x + 0.2 * jax.random.normal(for_y, (n,))


def cell(n: int, configurations: list[Configuration], replications: int) -> LearningCell:
    return LearningCell(
        OneFeature(),
        n,
        Linear(),
        LOSSES["squared"],
        configurations,
        n_replications=replications,
        n_groups=20,
        n_validation=1000,
        level=0.95,
    )


def ratios(n: int, replications: int, seed: int = 0) -> dict[str, float]:
    """Return the mean standard error over the true standard deviation, by constant, with its relative error.

    The true one is of 20 times as many replications, since they need 5 fits each.
    """
    key = jax.random.key(seed)
    configurations = [
        Configuration("original", "replace_one_cv", {}, {"constant": "original"}),
        Configuration("corrected", "replace_one_cv"),
    ]
    found = run_cell(cell(n, configurations, replications), key, range(20), Spread.over())
    errors = (found.high - found.low) / (2 * special.ndtri(0.975))
    plain = [Configuration("cv", "cv_wald", {"n_folds": 5})]
    truth = run_cell(cell(n, plain, 20 * replications), key, range(20), Spread.over()).estimates.std(ddof=1)
    noise = errors[:, 1].std(ddof=1) / errors[:, 1].mean() / np.sqrt(replications)
    return {
        "n": n,
        "original": float(errors[:, 0].mean() / truth),
        "corrected": float(errors[:, 1].mean() / truth),
        "error": float(np.hypot(noise, 1 / np.sqrt(2 * 20 * replications))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [ratios(n, options.replications) for n in (500, 1000)]
    for row in rows:
        print(
            f"n = {row['n']:5.0f}: original {row['original']:.3f} (sqrt 2 = 1.414), corrected "
            f"{row['corrected']:.3f} (1); relative Monte-Carlo error {row['error']:.3f}"
        )
    if options.json:
        options.json.write_text(json.dumps({"replications": options.replications, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
