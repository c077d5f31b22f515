"""What benchmarks that simulate data sets have in common: their options, and how results are kept."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from jaxci import JaxciWarning
from jaxci.coverage.store import surroundings


def options(description: str | None, sets: int) -> argparse.Namespace:
    """Read ``--sets``, the number of data sets a design, and ``--json``, the file that keeps the results."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--sets", type=int, default=sets)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def keep(given: argparse.Namespace, designs: list[dict[str, Any]]) -> None:
    """Write the results of all designs, with what made them, where a file was named."""
    if given.json:
        kept = {"sets": given.sets, "designs": designs, "made with": surroundings()}
        given.json.write_text(json.dumps(kept, indent=1) + "\n")


def simulate(
    description: str | None, designs: Iterable[Any], sets: int, simulated: Callable[[Any, int], Any], what: str
) -> None:
    """Simulate all designs (named tuples) without warnings, print them and keep ``what`` was found."""
    given, found = options(description, sets), []
    warnings.simplefilter("ignore", JaxciWarning)
    for design in designs:
        one = simulated(design, given.sets)
        found.append(design._asdict() | {what: one})
        print(design)
        show(one)
    keep(given, found)


CLASS_MEANS = ("f1_macro", "jaccard_macro", "precision_macro", "balanced_accuracy")


def confusion(y: np.ndarray, guess: np.ndarray, classes: int) -> np.ndarray:
    """Return the table of true and predicted classes."""
    table: np.ndarray = np.histogram2d(y, guess, bins=classes)[0]
    return table


def class_means(table: np.ndarray) -> dict[str, float]:
    """Return the means over classes of F1, Jaccard, precision and recall of a table, by their metric."""
    hits, true, taken = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    scores = (2 * hits / (true + taken), hits / (true + taken - hits), hits / taken, hits / true)
    return {metric: float(np.mean(one)) for metric, one in zip(CLASS_MEANS, scores, strict=True)}


def averaged(held: dict[str, dict[str, list[tuple[float, ...]]]]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage and mean width, by metric and method, from whether each interval held and how wide it was."""
    return {
        metric: {name: tuple(np.round(np.mean(one, axis=0), 4).tolist()) for name, one in methods.items()}
        for metric, methods in held.items()
    }


def beside_spread(
    held: dict[str, dict[str, list[Any]]], estimates: dict[str, list[float]]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return means over data sets, of which the second is a width, and this in 3.92 deviations of the estimates."""
    return {
        metric: {
            name: (*one, round(one[1] / (3.92 * float(np.std(estimates[metric]))), 3))
            for name, one in of_metric.items()
        }
        for metric, of_metric in averaged(held).items()
    }


def of_differences(
    true: dict[str, float],
    names: Iterable[str],
    sets: int,
    drawn: Callable[[int], Any],
    compared: Callable[[str, str, Any, int], Any],
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width, share of p-values below .05 and width in 3.92 standard deviations, by metric.

    ``drawn`` returns the data set of a number, and ``compared`` the comparison of two models on it by a metric and one
    of the ``names``, whose first gives the estimate.
    """
    names = tuple(names)
    held: dict[str, dict[str, list[Any]]] = {metric: {name: [] for name in names} for metric in true}
    estimates: dict[str, list[float]] = {metric: [] for metric in true}
    for number in range(sets):
        data = drawn(number)
        for metric, difference in true.items():
            rows = [compared(metric, name, data, number) for name in names]
            for name, row in zip(names, rows, strict=True):
                low, high = row.confidence_interval
                held[metric][name].append((low <= difference <= high, high - low, row.pvalue < 0.05))
            estimates[metric].append(rows[0].estimate)
    return beside_spread(held, estimates)


NEEDED = 2 * 1.959964
"""Standard deviations of the estimates that a normal 95% interval is wide."""


def over_needed(
    held: dict[str, dict[str, list[tuple[float, ...]]]], estimates: dict[str, list[float]]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return coverage, mean width over the needed one and share of remarks, by metric and method.

    ``held`` has, of every data set, whether an interval held, how wide it was, and whether it was told of; the needed
    width is that of a normal interval with the standard deviation of the ``estimates`` of the metric.
    """
    return {
        metric: {
            method: (covered, round(width / (NEEDED * float(np.std(estimates[metric]))), 3), told)
            for method, (covered, width, told) in methods.items()
        }
        for metric, methods in averaged(held).items()
    }


def show(found: dict[str, dict[str, tuple[float, ...]]]) -> None:
    """Print coverage and mean width, a line a metric."""
    for metric, methods in found.items():
        print(f"  {metric:18s} " + "  ".join(f"{m} {c:.3f} ({w:.3f})" for m, (c, w, *_) in methods.items()), flush=True)
