"""Make the predictions that ``jaxci demo`` and the notebook read.

Data: scikit-learn's 8 x 8 handwritten digits (1,797 images, ten classes). 1,000 images are held out
for the test, stratified by class; the models see some of the other 797. Both are kept modest on
purpose, so that intervals have something to say:

* model a: multinomial logistic regression on 8 principal components of all 797 training images;
* model b: a forest of 25 trees of depth 6, fitted to 200 of these images.

Scores are rounded to whole units of 1e-4, at least one unit each (so that the log loss is finite), and
the largest of a row takes up what is left, so that each row sums to 1. A prediction is the class of
the largest score *as written*. Everything is seeded; run ``python benchmarks/make_demo_predictions.py``
to write ``jaxci/data/demo_predictions.csv`` again. Another version of scikit-learn may fit slightly
different models; the file in the repository was written with scikit-learn 1.9.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

UNITS = 10_000
TEST_ROWS = 1_000
SEED = 0
TARGET = Path(__file__).resolve().parent.parent / "jaxci" / "data" / "demo_predictions.csv"


def whole_units(probability: np.ndarray) -> np.ndarray:
    """Round rows of probabilities (n, K) to positive integers that sum to ``UNITS``."""
    units = np.maximum(np.rint(probability * UNITS).astype(np.int64), 1)
    units[np.arange(len(units)), units.argmax(axis=1)] += UNITS - units.sum(axis=1)
    if not (np.all(units > 0) and np.all(units.sum(axis=1) == UNITS)):
        raise RuntimeError("a row of scores could not be rounded")
    return units


def short(units: int) -> str:
    """Write ``units`` of 1e-4 in few characters: ``3e-4``, ``.0125``, ``.9``."""
    if units < 10:
        return f"{units}e-4"
    return f".{units:04d}".rstrip("0") if units < UNITS else "1"


def main() -> None:
    """Fit both models and write the file."""
    pixels, digits = load_digits(return_X_y=True)
    train, test = train_test_split(np.arange(len(digits)), test_size=TEST_ROWS, stratify=digits, random_state=SEED)
    model_a = make_pipeline(PCA(8, random_state=SEED), StandardScaler(), LogisticRegression(max_iter=2000)).fit(
        pixels[train], digits[train]
    )
    model_b = RandomForestClassifier(25, max_depth=6, random_state=SEED).fit(pixels[train[:200]], digits[train[:200]])
    scores_a, scores_b = (whole_units(m.predict_proba(pixels[test])) for m in (model_a, model_b))
    header = ["target", "prediction", *(f"score_{k}" for k in range(10))]
    header += ["prediction_b", *(f"score_b_{k}" for k in range(10))]
    with TARGET.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for target, a, b in zip(digits[test], scores_a, scores_b, strict=True):
            row: list[object] = [target, a.argmax(), *map(short, a), b.argmax(), *map(short, b)]
            writer.writerow(row)
    for name, scores in (("a", scores_a), ("b", scores_b)):
        print(f"model {name}: accuracy {np.mean(scores.argmax(axis=1) == digits[test]):.3f}")
    print(f"{TARGET.name}: {TEST_ROWS} rows, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
