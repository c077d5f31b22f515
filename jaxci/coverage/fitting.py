"""Distributions fitted to a user's data: what a check of coverage draws from."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from jaxci.distributions import (
    AdaptiveKDE,
    Cells,
    Clustered,
    Distribution,
    Empirical,
    EmpiricalColumns,
    EmpiricalRows,
    EmpiricalTargets,
    LogitKDE,
    Stratified,
)
from jaxci.inference.design import row_influence
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import is_mean_of_values

FEW = 10
"""Strata of fewer rows are drawn from as they are: a density estimated from so few tells nothing."""


def fitted(statistics: Sequence[Statistic], sample: Sample, layout: Layout, n: int | None = None) -> Distribution:
    """Return the distribution that suits what ``statistics`` read of ``sample``, all of them the same.

    Clusters keep their relative sizes, and their rows are as alike as the statistics feel it: the intraclass
    correlation is the largest of those of their influence values (:meth:`~jaxci.statistics.layout.Layout.
    intraclass_correlation`). Strata have a law each, and of ``n`` rows, by default as many
    as the data have, as many as their shares give: the truth is that of such rows.
    """
    influence = [] if layout.units is None else [row_influence(statistic, sample) for statistic in statistics]
    if layout.strata is None:
        return _in_clusters(law_of_rows(statistics[0], sample), influence, layout)
    if "y_score" not in statistics[0].inputs and sample.y_score is not None:  # of labels every stratum draws these
        sample = dataclasses.replace(sample, y_score=None)
    scores = sample.y_score
    one_scale = scores is None or (scores.min() >= 0 and scores.max() <= 1)  # others are fitted up to their scale
    of_rows = layout.strata if layout.units is None else layout.strata[layout.units]
    members = [np.flatnonzero(of_rows == stratum) for stratum in range(layout.n_strata)]
    laws = []
    for rows in members:
        own = sample.take(rows)
        lacking = own.n_classes > 0 and np.any(own.class_sizes == 0)
        law = law_of_rows(statistics[0], own) if one_scale and own.n >= FEW and not lacking else _observed(own)
        laws.append(_in_clusters(law, [values[rows] for values in influence], _within(layout, rows)))
    law = Stratified(tuple(laws), [len(rows) for rows in members])
    return dataclasses.replace(law, shares=law.sizes(layout.n if n is None else n))


def _within(layout: Layout, rows: np.ndarray) -> Layout:
    """Return the clusters of the rows of one stratum."""
    if layout.units is None:
        return Layout(len(rows))
    return Layout(len(rows), np.unique(layout.units[rows], return_inverse=True)[1].astype(np.int32))


def _in_clusters(law: Distribution, influence: Sequence[np.ndarray], layout: Layout) -> Distribution:
    if layout.units is None:
        return law
    return Clustered(law, np.bincount(layout.units), max(map(layout.intraclass_correlation, influence)))


def _values_of(sample: Sample) -> np.ndarray | None:
    """Return the values, or a user's own column of real numbers; None where there are none, or other columns."""
    if sample.values is not None:
        return np.asarray(sample.values)
    alone = sample.columns[0] if len(sample.columns) == 1 and sample.y_true is None else None
    return alone if alone is not None and alone.ndim == 1 and alone.dtype.kind == "f" else None


def _observed(sample: Sample) -> Distribution:
    """Return the distribution that draws the rows themselves."""
    if (values := _values_of(sample)) is not None:
        return Empirical(values)
    if sample.columns and sample.y_true is None:
        return EmpiricalColumns(sample.columns)
    if sample.n_classes == 0:
        return EmpiricalTargets(sample.y_true, sample.y_pred)
    if sample.y_score is not None:
        return EmpiricalRows(sample.y_true, y_score=sample.y_score, n_classes=sample.n_classes)
    return EmpiricalRows(sample.y_true, sample.y_pred, n_classes=sample.n_classes)


def law_of_rows(statistic: Statistic, sample: Sample) -> Distribution:
    """Return the distribution of independent rows that suits what ``statistic`` reads of ``sample``.

    Labels: their table. Per-case values: an adaptive kernel estimate, within the bounds that a mean
    declares, or within [0, 1] or from 0 on where all values are, as for a user's own statistic of one column of
    real numbers. Probabilities: a kernel estimate of their logits, with labels, those of exactly 0 or 1 as they are;
    other scores of two classes, of which only ranks are read: of their normal scores, whatever their scale.
    Otherwise the rows: of a regression, of a user's own statistic of other columns.
    """
    if statistic.task == "custom":
        values = _values_of(sample)
        if values is None:
            return EmpiricalColumns(sample.columns)
        sample = dataclasses.replace(sample, values=values)
    if sample.values is not None:
        if is_mean_of_values(statistic):
            return AdaptiveKDE.like(statistic.averaged_values(sample), statistic.bounds)
        return AdaptiveKDE.like(sample.values)
    if statistic.task == "regression":
        return EmpiricalTargets(sample.y_true, sample.y_pred)
    if "y_score" not in statistic.inputs:
        return Cells.fit(sample.y_true, sample.y_pred, sample.n_classes)
    scores = sample.y_score
    if scores.min() < 0 or scores.max() > 1:
        if scores.ndim == 1 and np.ptp(scores) > 0:  # ranks are all that is read of such scores
            return LogitKDE.fit(_normal_scores(scores), sample.y_true)
        return EmpiricalRows(sample.y_true, y_score=scores, n_classes=sample.n_classes)
    return _of_probabilities(scores, sample.y_true)


def _normal_scores(x: np.ndarray) -> np.ndarray:
    """Return the standard normal quantiles of the ranks of numbers (n,), equal ones at their middle rank."""
    return ndtri((rankdata(x) - 0.5) / len(x))


def _of_probabilities(p: np.ndarray, labels: np.ndarray) -> LogitKDE:
    """Return the kernel estimate of the logits of probabilities (n, K), or (n,) of class 1 of two, with their labels.

    Rows with a probability that rounding does not tell from 0 or 1 are point masses, and the width of the other
    kernels is that of the other rows: such logits have no bound, and one of them would decide it.
    """
    eps, tiny = np.finfo(float).eps, np.finfo(float).tiny
    logits = np.log(np.maximum(p, tiny))
    if p.ndim == 1:
        logits -= np.log(np.maximum(1 - p, tiny))
    inner = ((p >= eps) & (p <= 1 - eps)).reshape(len(p), -1).all(axis=1)
    whole = LogitKDE.fit(logits, labels)
    if inner.all():
        return whole
    modifiers, width = np.zeros(len(p)), np.zeros_like(whole.width)
    if inner.any():
        kernels = LogitKDE.fit(logits[inner], labels[inner])
        modifiers[inner], width = kernels.modifiers, kernels.width
    return dataclasses.replace(whole, modifiers=modifiers, width=width)
