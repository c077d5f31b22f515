"""Simulate intervals for precision averaged over classes, one of which is predicted rarely or never, by ``evaluate``.

Run ``python benchmarks/rare_predictions.py``; ``--json FILE`` keeps the numbers, ``--sets N`` sets how many data
sets a design has. True values are those of the law, where a class that is never predicted scores 0. Widths are over
those that a normal interval needs, ``told`` is the share of rows with a remark on their coverage. Nominal 95%.
"""

from __future__ import annotations

import warnings

import numpy as np
from simulated import keep, options, over_needed, show

import jaxci

THREE = ((0.7, 0.2, 0.1), ((0.95, 0.05, 0.0), (0.2, 0.8, 0.0), (0.5, 0.5, 0.0)))
FIVE = (
    (0.6, 0.2, 0.1, 0.06, 0.04),
    ((0.9, 0.1, 0, 0, 0), (0.2, 0.75, 0.05, 0, 0), (0.1, 0.2, 0.7, 0, 0), (0.5, 0.3, 0.2, 0, 0), (0.4, 0.4, 0.2, 0, 0)),
)
ALWAYS_ONE = ((0.25, 0.2, 0.2, 0.2, 0.15), ((1.0, 0, 0, 0, 0),) * 5)
TWO = ((0.7, 0.3), ((1.0, 0.0), (1.0, 0.0)))
RARE = ((0.6, 0.35, 0.05), ((0.8, 0.175, 0.025), (0.185, 0.8, 0.015), (0.126, 0.074, 0.8)))


def often(times: float, n: int = 400) -> tuple[tuple[float, ...], np.ndarray]:
    """Return the law of three classes: of n rows so many are predicted as the third, half of them rightly."""
    shares, table = THREE[0], np.array(THREE[1])
    right, wrong = times / n / 2 / shares[2], times / n / 2 / (1 - shares[2])
    for true, share in enumerate((wrong, wrong, right)):
        table[true] = (1 - share) * table[true]
        table[true, 2] = share
    return shares, table


DESIGNS = {
    "3 classes, 5% rarest, n = 30": (*RARE, 30),
    "one of 3 never predicted, n = 50": (*THREE, 50),
    "one of 3 never predicted, n = 300": (*THREE, 300),
    "one of 3 never predicted, n = 1,000": (*THREE, 1_000),
    "two of 5 never predicted, n = 400": (*FIVE, 400),
    "two of 5 never predicted, n = 2,000": (*FIVE, 2_000),
    "one of 5 always predicted, n = 300": (*ALWAYS_ONE, 300),
    "one of 5 always predicted, n = 2,000": (*ALWAYS_ONE, 2_000),
    "one of 2 always predicted, n = 300": (*TWO, 300),
    "one of 2 always predicted, n = 2,000": (*TWO, 2_000),
    "one of 3 predicted once, n = 400": (*often(1), 400),
    "one of 3 predicted twice, n = 400": (*often(2), 400),
    "one of 3 predicted 5 times, n = 400": (*often(5), 400),
    "one of 3 predicted 10 times, n = 400": (*often(10), 400),
    "one of 3 predicted 20 times, n = 400": (*often(20), 400),
}
"""Shares of classes, shares of predictions of each, and rows."""
METRICS = ("precision_macro", "precision_weighted")


def design(shares: tuple[float, ...], table: object, n: int, sets: int) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, relative width and the share told of the default, by metric."""
    law = np.array(shares)[:, None] * np.asarray(table, float)
    taken, k, rng = law.sum(axis=0), len(shares), np.random.default_rng(3)
    precision = np.where(taken > 0, np.diag(law) / np.where(taken > 0, taken, 1.0), 0.0)
    true = dict(zip(METRICS, (precision.mean(), float(np.array(shares) @ precision)), strict=True))
    held: dict[str, dict[str, list[tuple[float, ...]]]] = {metric: {"auto": []} for metric in METRICS}
    estimates: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for number in range(sets):
        y, guess = np.divmod(np.repeat(np.arange(k * k), rng.multinomial(n, law.ravel())), k)
        for row in jaxci.evaluate(y, guess, metrics=METRICS, labels=list(range(k)), n_resamples=999, rng=number):
            low, high = row.confidence_interval
            told = any("covered" in text for text in row.warnings)
            held[row.statistic]["auto"].append((low <= true[row.statistic] <= high, high - low, told))
            estimates[row.statistic].append(row.estimate)
    return over_needed(held, estimates)


def main() -> None:
    given = options(__doc__, sets=400)
    warnings.simplefilter("ignore", jaxci.JaxciWarning)
    found = []
    for name, of in DESIGNS.items():
        one = design(*of, given.sets)
        found.append({"design": name, "coverage, width over needed, told": one})
        print(name)
        show(one)
    keep(given, found)


if __name__ == "__main__":
    main()
