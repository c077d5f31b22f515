"""Coverage of semiparametric intervals for quantiles of few runs: on symmetric laws, and where nothing exact exists.

Run ``python benchmarks/quantile_few_runs.py``; ``--json FILE`` keeps the numbers. The first table has the quantiles
q and 1 - q side by side. The second has the least and greatest coverage over all laws, sizes and quantiles at which no
pair of order statistics reaches the level, by the number (n + 1) min(q, 1 - q) of runs that are expected beyond the
quantile; the warning of ``jaxci.quantile_interval`` cites it. 10,000 replications, about two minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from pathlib import Path

import numpy as np
from scipy import stats

import jaxci

LAWS = {
    "normal": stats.norm(),
    "exponential": stats.expon(),
    "t3": stats.t(3),
    "uniform": stats.uniform(),
    "beta(8,2)": stats.beta(8, 2),
    "lognormal(0.5)": stats.lognorm(0.5),
    "lognormal(1)": stats.lognorm(1),
    "lognormal(2)": stats.lognorm(2),
    "beta(.5,.5)": stats.beta(0.5, 0.5),
}
R = 10_000
SIDES = (0.05, 0.1, 0.25, 0.5)
QUANTILES = (0.001, 0.005, 0.01, 0.02, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 28, 35, 40, 50)
LEVELS = (0.90, 0.95, 0.99)
BANDS = (0.0, 0.1, 0.25, 0.5, np.inf)


def coverage(law: object, x: np.ndarray, q: float, level: float) -> tuple[float, float]:
    """Return coverage and median width of the intervals for samples (R, n)."""
    truth = law.ppf(q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        found = jaxci.quantile_interval(x, q, method="semiparametric", confidence_level=level)
    low, high = found.confidence_interval
    return float(np.mean((low <= truth) & (truth <= high))), float(np.median(high - low))


def reflected() -> list[dict]:
    rng = np.random.default_rng(0)
    rows = []
    for name in ("normal", "exponential", "t3"):
        for n in (5, 10, 20, 50):
            x = LAWS[name].rvs((R, n), random_state=rng)
            for q in SIDES:
                (low, width), (high, _) = (coverage(LAWS[name], x, u, 0.95) for u in (q, 1 - q))
                rows.append({"law": name, "n": n, "q": q, "coverage": low, "coverage_of_1-q": high, "width": width})
    return rows


def without_exact() -> list[dict]:
    rng = np.random.default_rng(1)
    rows = []
    for name, law in LAWS.items():
        for n in SIZES:
            x = law.rvs((R, n), random_state=rng)
            for level in LEVELS:
                for q in sorted({*QUANTILES, *(1 - q for q in QUANTILES)}):
                    if jaxci.minimum_sample_size(q, confidence_level=level) > n:
                        covered, _ = coverage(law, x, q, level)
                        beyond = (n + 1) * min(q, 1 - q)
                        rows.append(
                            {"law": name, "n": n, "q": q, "level": level, "beyond": beyond, "coverage": covered}
                        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    both, alone = reflected(), without_exact()
    print("95% intervals\nlaw            n     q   coverage  at 1 - q  median width")
    for r in both:
        print(
            f"{r['law']:12s} {r['n']:3d} {r['q']:5.2f} {r['coverage']:10.3f} {r['coverage_of_1-q']:9.3f} "
            f"{r['width']:13.2f}"
        )
    print("\nno pair of order statistics reaches the level\nlevel  runs beyond   least  greatest  settings  least at")
    for level in LEVELS:
        for low, high in itertools.pairwise(BANDS):
            band = [r for r in alone if r["level"] == level and low <= r["beyond"] < high]
            least = min(band, key=lambda r: r["coverage"])
            where = f"{least['law']}, n = {least['n']}, q = {least['q']:g}"
            greatest = max(r["coverage"] for r in band)
            print(
                f"{level:5.2f}  {low:4g} to {high:4g} {least['coverage']:7.3f} {greatest:9.3f} {len(band):9d}  {where}"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps({"replications": R, "reflected": both, "without_exact": alone}, indent=1))


if __name__ == "__main__":
    main()
