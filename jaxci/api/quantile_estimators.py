"""Bias and error of point estimators of quantiles, on the draws of a study."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxci.api.quantile_points import ESTIMATES, quantile_estimate
from jaxci.coverage.cell import PURPOSE_DATA, draw
from jaxci.coverage.results import ColumnTable, as_columns
from jaxci.coverage.study import Study
from jaxci.statistics.order import Quantile


def quantile_estimators(study: Study, methods: tuple[str, ...] = ESTIMATES) -> ColumnTable:
    """Return relative bias and relative RMSE of estimators of the quantiles of a study.

    Both are divided by the true quantile, in every law and sample size of the study, on the data sets that
    its intervals are judged on.

    Parameters
    ----------
    study : Study
        Its statistics that are :class:`~jaxci.statistics.Quantile` with a probability inside (0, 1).
    methods : tuple of str
        Estimators of :func:`jaxci.quantile_estimate`.

    Returns
    -------
    ColumnTable
        One row a distribution, sample size, quantile and estimator.

    References
    ----------
    Lehmann and Paromau (2025), Figure 3.
    """
    quantiles = [float(s.q) for s in study.named_statistics.values() if isinstance(s, Quantile) and 0 < s.q < 1]
    rows: list[dict[str, Any]] = []
    for name in study.cell_names():
        cell = study.cell(name)
        if cell.distribution.kind != "values":
            continue
        with jax.enable_x64(True):
            key = jax.random.fold_in(study.key(name), PURPOSE_DATA)
            values = draw(cell.distribution, key, 0, cell.n_replications, cell.n)["values"]
        distribution = name.rsplit(", n=", 1)[0]
        for q in quantiles:
            truth = cell.distribution.analytic(Quantile(q))
            if truth is None:
                continue
            for method in methods:
                apart = (quantile_estimate(values, q, method=method) - truth) / truth
                rows.append(
                    {
                        "distribution": distribution,
                        "n": cell.n,
                        "q": q,
                        "estimator": method,
                        "relative_bias": float(apart.mean()),
                        "relative_rmse": float(np.sqrt(np.mean(apart**2))),
                    }
                )
    return ColumnTable(as_columns(rows))
