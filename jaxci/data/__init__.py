"""Predictions that come with the package, for the demonstration and the notebook."""

from __future__ import annotations

from importlib import resources

import numpy as np

__all__ = ["load_demo"]


def load_demo() -> dict[str, np.ndarray]:
    """Return the predictions of two modest classifiers of handwritten digits on 1,000 test images.

    Model a is a logistic regression on eight principal components, model b a small forest fitted to
    fewer images. ``benchmarks/make_demo_predictions.py`` made the file from scikit-learn's digits.

    Returns
    -------
    dict of str to array
        ``target`` (n,), ``prediction`` (n,) and ``prediction_b`` (n,) as integers 0 to 9; ``score``
        (n, 10) and ``score_b`` (n, 10), class probabilities whose rows sum to 1.

    Examples
    --------
    >>> demo = load_demo()
    >>> demo["score"].shape
    (1000, 10)
    """
    with resources.files(__name__).joinpath("demo_predictions.csv").open(encoding="utf-8") as file:
        header = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    place = {name: column for column, name in enumerate(header)}
    classes = range(10)
    return {
        "target": table[:, place["target"]].astype(np.int64),
        "prediction": table[:, place["prediction"]].astype(np.int64),
        "score": table[:, [place[f"score_{k}"] for k in classes]],
        "prediction_b": table[:, place["prediction_b"]].astype(np.int64),
        "score_b": table[:, [place[f"score_b_{k}"] for k in classes]],
    }
