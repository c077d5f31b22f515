"""BCa for the median loses coverage to ties, not to the median: SciPy's and jaxci's, on the same laws.

M. Andre et al. (2026), Figure 5, saw the coverage of BCa for the median fall as n grows, with
scores that a file or a grid has rounded. Here scores follow Beta(8, 2), as they are or rounded to
0.01; the truth is the median of that law, after rounding a point of the grid.

Among ties all leave-one-out medians are equal, and the acceleration is 0/0. SciPy returns NaN
there whenever their floating-point mean is exactly their value, which depends on n, on the unit and
on the order of summation: the same scores as hundredths (0.82) and as whole numbers (82) give other
intervals. jaxci takes the acceleration as 0, with a warning, in every unit.

    python benchmarks/bca_for_the_median.py --json benchmarks/results/bca_for_the_median.json \
        --picture benchmarks/results/bca_for_the_median.png
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from scipy import stats

import jaxci
from jaxci.coverage import Cell, run_cell
from jaxci.distributions import Distribution, Parametric, Truth, UserDistribution
from jaxci.statistics import Median

LAW = stats.beta(8, 2)
SIZES = (10, 25, 50, 100, 250)
LEVEL = 0.95
MARGIN = 1e-9
"""Rounding allowed to SciPy's ends: those that are meant to be a point of the grid may miss it by a last digit."""


class RoundedBeta:
    """Beta(8, 2) rounded to 0.01, in units of 0.01: whole numbers, which float32 products keep exact."""

    bounds = (0.0, 100.0)

    def sample(self, key: jax.Array, n: int) -> jax.Array:
        """Draw ``n`` scores (n,)."""
        return jnp.round(100 * jax.random.beta(key, 8.0, 2.0, (n,)))


def rounded_median() -> int:
    """Return the median of the rounded law, in units of 0.01: the first k with F((k + 1/2) / 100) >= 1/2."""
    return int(np.searchsorted(LAW.cdf((np.arange(101) + 0.5) / 100), 0.5))


def ours(rounded: bool, n: int, replications: int, resamples: int) -> dict[str, float]:
    """Coverage of jaxci's BCa."""
    law: Distribution = UserDistribution(RoundedBeta()) if rounded else Parametric("beta", {"a": 8, "b": 2})
    target = float(rounded_median()) if rounded else float(LAW.median())
    cell = Cell(law, n, {"median": Median()}, ["bca"], (LEVEL,), replications, resamples)
    judged = run_cell(cell, jax.random.key(n), truths={"median": Truth(target, 0.0, "analytic")}).judgements[0]
    return {"coverage": judged.coverage, "error": judged.coverage_error, "invalid": judged.invalid}


def of_scipy(rounded: bool, n: int, replications: int, resamples: int, whole: bool = False) -> dict[str, float]:
    """Coverage of SciPy's BCa; rounded scores are hundredths, or ``whole`` numbers."""
    rng = np.random.default_rng(n)
    target = float(LAW.median())
    if rounded:
        target = rounded_median() / (1 if whole else 100)
    covered = invalid = 0
    for _ in range(replications):
        x = LAW.rvs(n, random_state=rng)
        if rounded:
            x = np.round(100 * x) / (1 if whole else 100)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            low, high = stats.bootstrap(
                (x,),
                np.median,
                vectorized=True,
                confidence_level=LEVEL,
                method="BCa",
                n_resamples=resamples,
                rng=rng,
            ).confidence_interval
        covered += bool(low <= target + MARGIN and target - MARGIN <= high)
        invalid += bool(np.isnan(low) or np.isnan(high))
    share = covered / replications
    error = math.sqrt(share * (1 - share) / replications)
    return {"coverage": share, "error": error, "invalid": invalid / replications}


def picture(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Draw coverage against n with two standard errors on each side."""
    import matplotlib.pyplot as plt

    looks = {
        ("jaxci", "continuous"): ("#56B4E9", "--", "s", "jaxci, continuous"),
        ("jaxci", "rounded"): ("#0072B2", "-", "s", "jaxci, rounded to 0.01"),
        ("scipy", "continuous"): ("#E69F00", "--", "o", "SciPy, continuous"),
        ("scipy", "rounded"): ("#D55E00", "-", "o", "SciPy, rounded to 0.01"),
        ("scipy", "rounded, times 100"): ("#CC79A7", "-", "^", "SciPy, the same × 100"),
    }
    figure, axes = plt.subplots(figsize=(9, 5), dpi=100, layout="constrained")
    axes.hlines(LEVEL, -0.4, len(SIZES) - 0.85, color="0.35", linewidth=1, linestyle=":")
    ends = []
    for place, ((source, scores), (color, line, marker, label)) in enumerate(looks.items()):
        mine = [row for row in rows if (row["source"], row["scores"]) == (source, scores)]
        x = np.arange(len(mine)) + 0.05 * (place - 2)
        y = [row["coverage"] for row in mine]
        spread = [2 * row["error"] for row in mine]
        axes.errorbar(x, y, spread, color=color, linestyle=line, marker=marker, markersize=5, capsize=3)
        ends.append((y[-1], label, color))
    height = math.inf
    for y, label, color in sorted(ends, reverse=True):
        height = min(y + 0.02, height - 0.045)
        axes.text(len(SIZES) - 0.8, height, label, color=color, va="center", fontsize=11)
    axes.text(-0.35, LEVEL + 0.012, "nominal .95", color="0.35", va="bottom", fontsize=10)
    axes.set_xticks(range(len(SIZES)), [str(n) for n in SIZES])
    axes.set_xlim(-0.4, len(SIZES) + 0.35)
    axes.set_ylim(0, 1.06)
    axes.set_yticks(np.arange(0, 1.01, 0.2))
    axes.set_xlabel("sample size n")
    axes.set_ylabel("coverage of 95% intervals")
    axes.set_title("BCa for the median: ties break it where 0/0 is left to stand", loc="left", fontsize=13)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=4000, help="of jaxci's intervals")
    parser.add_argument("--scipy-replications", type=int, default=2000)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--picture", type=Path, default=None)
    args = parser.parse_args()
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        few, many = args.scipy_replications, args.replications
        for scores in ("continuous", "rounded"):
            rounded = scores == "rounded"
            rows.append({"source": "jaxci", "scores": scores, "n": n, **ours(rounded, n, many, 9_999)})
            rows.append({"source": "scipy", "scores": scores, "n": n, **of_scipy(rounded, n, few, 999)})
        whole = of_scipy(True, n, few, 999, whole=True)
        rows.append({"source": "scipy", "scores": "rounded, times 100", "n": n, **whole})
    for row in rows:
        print(
            f"n = {row['n']:3d} {row['source']:6s} {row['scores']:18s} {row['coverage']:.3f} +- {row['error']:.3f}, "
            f"no interval in {row['invalid']:.3f}"
        )
    if args.json:
        record = {
            "truth": {"continuous": float(LAW.median()), "rounded": rounded_median() / 100},
            "replications": {"jaxci": args.replications, "scipy": args.scipy_replications},
            "resamples": {"jaxci": 9_999, "scipy": 999},
            "rows": rows,
            "seconds": time.perf_counter() - started,
            "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
            "versions": {module.__name__: module.__version__ for module in (jaxci, jax, np, scipy)},
            "date": datetime.date.today().isoformat(),
        }
        args.json.write_text(json.dumps(record, indent=1) + "\n")
    if args.picture:
        picture(args.picture, rows)


if __name__ == "__main__":
    main()
