"""Semiparametric intervals on bounded metrics: ends cut off at [0, 1] against ends extrapolated on the logit scale.

Run ``python benchmarks/quantile_bounds.py``; ``--json FILE`` keeps the numbers. Laws, sizes and levels of the
study "quantile-paper"; 4,000 replications.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from scipy import stats

import jaxci

LAWS = {
    "beta(2,8)": stats.beta(2, 8),
    "beta(8,2)": stats.beta(8, 2),
    "beta(5,5)": stats.beta(5, 5),
    "uniform": stats.uniform(),
}
R = 4_000


def rows() -> list[dict]:
    rng = np.random.default_rng(0)
    found = []
    for name, law in LAWS.items():
        for n in (10, 15, 25, 50):
            x = law.rvs((R, n), random_state=rng)
            for q in (0.05, 0.1, 0.9, 0.95):
                truth = law.ppf(q)
                free = jaxci.quantile_interval(x, q, method="semiparametric").confidence_interval
                outside = float(np.mean((free.low < 0) | (free.high > 1)))
                row = {"law": name, "n": n, "q": q, "leaves_range": outside}
                for called, bounds in (("clip", "clip"), ("transform", (0.0, 1.0))):
                    low, high = jaxci.quantile_interval(
                        x, q, method="semiparametric", bounds=bounds
                    ).confidence_interval
                    row[f"{called}_coverage"] = float(np.mean((low <= truth) & (truth <= high)))
                    row[f"{called}_width"] = float(np.mean(high - low))
                found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jaxci.JaxciWarning)  # of sample sizes without an exact interval
    found = rows()
    print("law          n     q  outside  coverage: clip  transform  width: clip  transform")
    for r in found:
        coverage = f"{r['clip_coverage']:15.3f} {r['transform_coverage']:10.3f}"
        width = f"{r['clip_width']:12.3f} {r['transform_width']:10.3f}"
        print(f"{r['law']:10s} {r['n']:3d} {r['q']:5.2f} {r['leaves_range']:8.3f} {coverage} {width}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"replications": R, "rows": found}, indent=1))


if __name__ == "__main__":
    main()
