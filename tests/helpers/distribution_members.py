"""One distribution of every kind and form, for tests to walk."""

from __future__ import annotations

import numpy as np

from jaxci.distributions import (
    AdaptiveKDE,
    Cells,
    Clustered,
    Empirical,
    EmpiricalColumns,
    EmpiricalRows,
    EmpiricalTargets,
    GaussianClasses,
    LogitKDE,
    Mixture,
    Parametric,
    RegressionErrors,
    Stratified,
)

RNG = np.random.default_rng(0)
SCORES = np.concatenate([[0.0, 0.0, 1.0, 1.0, 1.0], RNG.beta(8, 2, 45).round(3)])
LOGITS = RNG.normal(size=(40, 3))
LABELS = np.argmax(LOGITS + RNG.normal(size=(40, 3)), axis=1)

MEMBERS = {
    "direct": Parametric("lognorm", {"s": 0.5, "scale": 2.0}),
    "tabulated": Parametric("beta", {"a": 8, "b": 2}),
    "discrete": Parametric("poisson", {"mu": 3.3, "loc": -1}),
    "mixture": Mixture((Parametric("norm", {"loc": -1}), Parametric("beta", {"a": 0.5, "b": 0.5})), [3, 1]),
    "empirical": Empirical(SCORES),
    "kde": AdaptiveKDE.fit(SCORES, (0, 1)),
    "unbounded kde": AdaptiveKDE.fit(SCORES),
    "grid": AdaptiveKDE.fit(SCORES, (0, 1), grid=1000),
    "rows of labels": EmpiricalRows(LABELS, LOGITS.argmax(axis=1), n_classes=3),
    "rows of scores": EmpiricalRows(LABELS, y_score=LOGITS),
    "rows of binary scores": EmpiricalRows(LABELS > 0, y_score=1 / (1 + np.exp(LOGITS[:, 0]))),
    "targets": EmpiricalTargets(LOGITS[:, 0], LOGITS[:, 0] + 0.3 * LOGITS[:, 1]),
    "columns": EmpiricalColumns((LOGITS, LABELS.astype(np.int32))),
    "cells": Cells([[40, 3, 1], [2, 20, 0], [0, 4, 30]]),
    "logits": LogitKDE.fit(LOGITS, LABELS),
    "binary logits": LogitKDE.fit(LOGITS[:, :2], LABELS > 0),
    "gaussian classes": GaussianClasses([0.6, 0.3, 0.1], auc=0.9, temperature=0.5),
    "binormal": GaussianClasses([0.9, 0.1], auc=0.95),
    "regression": RegressionErrors(Parametric("laplace", {"scale": 0.3}), spread=2.0, centre=5.0),
    "clustered": Clustered(Cells([[40, 3], [2, 20]]), [1, 2, 3], correlation=0.3),
    "clustered rows": Clustered(Empirical(SCORES), 20, correlation=0.1),
    "stratified": Stratified((Parametric("norm"), Clustered(Parametric("norm", {"loc": 3}), 4, 0.2)), [3, 1]),
    "log odds": LogitKDE.fit(LOGITS[:, 0], LABELS > 0, variant="code"),
}
