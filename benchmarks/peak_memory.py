"""Peak memory of the bootstrap of a ROC AUC with n = 10^6 cases and B = 999: to stay under 3 GiB.

Run ``python benchmarks/peak_memory.py``; exits with 1 if the limit is passed.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import jaxci

LIMIT = 3.0


def main() -> int:
    rng = np.random.default_rng(0)
    n, resamples = 1_000_000, 999
    y = (rng.random(n) < 0.4).astype(int)
    score = rng.normal(size=n) + y
    start = time.perf_counter()
    result = jaxci.interval("roc_auc", y, score, method="percentile", n_resamples=resamples, rng=0)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(result)
    print(f"n = {n:,}, B = {resamples}: {seconds:.1f} s, peak memory {peak:.2f} GiB (limit {LIMIT:g})")
    return int(peak > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
