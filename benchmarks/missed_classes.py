"""Simulate intervals for means of class scores where a class has no right prediction, through ``jaxci.interval``.

Run ``python benchmarks/missed_classes.py``; ``--json FILE`` keeps the numbers, ``--sets N`` changes the number of data
sets a design. Only such data sets count; the true values are those of the law they are drawn from. Nominal 95%.
"""

from __future__ import annotations

import warnings

import numpy as np
from simulated import CLASS_MEANS, averaged, class_means, confusion, keep, options, show

import jaxci

RESAMPLES = 999
DESIGNS = {
    "5 classes, 3% rarest, n = 200": ((0.37, 0.25, 0.2, 0.15, 0.03), 2.2, 200),
    "3 classes, 6% rarest, n = 60": ((0.6, 0.34, 0.06), 1.6, 60),
    "10 classes, 2% rarest, n = 200": ((0.19, 0.17, 0.15, 0.12, 0.1, 0.09, 0.07, 0.05, 0.04, 0.02), 2.5, 200),
    "8 classes, 2% rarest, n = 300": ((0.3, 0.25, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02), 2.2, 300),
}
"""Shares of classes, how far the logit of the true one is raised, and rows."""
METHODS = ("auto", "proper_bayesian", "square_and_add", "percentile", "bca")
MANY = 1_000_000


def drawn(rng: np.random.Generator, shares: tuple[float, ...], raised: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return classes and predictions (n,)."""
    y = rng.choice(len(shares), n, p=shares)
    logits = rng.normal(size=(n, len(shares))) + np.log(shares)
    logits[np.arange(n), y] += raised
    return y, logits.argmax(axis=1)


def design(shares: tuple[float, ...], raised: float, n: int, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage and mean width of the methods that serve, by metric."""
    k, rng = len(shares), np.random.default_rng(5)
    true = class_means(confusion(*drawn(np.random.default_rng(0), shares, raised, MANY), k))
    held: dict[str, dict[str, list[tuple[bool, float]]]] = {metric: {} for metric in CLASS_MEANS}
    number = 0
    while number < sets:
        y, guess = drawn(rng, shares, raised, n)
        if np.bincount(y, minlength=k).min() == 0 or np.bincount(y[y == guess], minlength=k).min() > 0:
            continue
        number += 1
        for metric, methods in held.items():
            for method in METHODS:
                options = {"method": method, "labels": list(range(k)), "n_resamples": RESAMPLES, "rng": number}
                low, high = jaxci.interval(metric, y, guess, **options).confidence_interval
                methods.setdefault(method, []).append((low <= true[metric] <= high, high - low))
    return averaged(held)


def main() -> None:
    given = options(__doc__, sets=150)
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for name, of in DESIGNS.items():
        one = design(*of, given.sets)
        found.append({"design": name, "coverage, width": one})
        print(name)
        show(one)
    keep(given, found)


if __name__ == "__main__":
    main()
