"""Draw the picture of the README, kept in ``docs/_static``; run by hand: ``python docs/pictures.py``."""

from __future__ import annotations

from pathlib import Path

import jaxci
from jaxci.data import load_demo

METRICS = (
    "accuracy", "balanced_accuracy", "f1_macro", "f1_weighted", "matthews_corrcoef", "cohen_kappa_score", "roc_auc_ovr",
    "average_precision_macro",
)  # fmt: skip

if __name__ == "__main__":
    demo = load_demo()
    table = jaxci.evaluate(demo["target"], demo["prediction"], demo["score"], metrics=list(METRICS), rng=0)
    drawn = table.plot().figure
    drawn.savefig(Path(__file__).parent / "_static" / "forest.png", dpi=140, facecolor="white", bbox_inches="tight")
