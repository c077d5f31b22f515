"""Areas and average precisions of rows in clusters hold by default, at widths that are needed."""

import functools

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

import jaxci

SETS = 100
LEAST = 0.93
"""Coverage that 95% intervals must not fall short of."""


def drawn(rng, clusters, rows, share, apart, differ):
    """Labels and scores; by so much scores of a cluster lie higher than others, and tell the classes apart better."""
    groups = np.repeat(np.arange(clusters), rows)
    level, more = differ * rng.normal(size=(2, clusters))[:, groups]
    y = (rng.random(len(groups)) < share).astype(int)
    return y, rng.normal(size=len(y)) + (apart + more) * y + level, groups


@functools.cache
def truths(share, apart, differ):
    """The metrics of two million clusters of one row."""
    y, scores, _ = drawn(np.random.default_rng(1), 2_000_000, 1, share, apart, differ)
    return {"roc_auc": roc_auc_score(y, scores), "average_precision": average_precision_score(y, scores)}


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-7)
@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
@pytest.mark.parametrize(
    ("clusters", "rows", "share", "apart", "differ"),
    [(50, 60, 0.5, 1.4, 0.0), (20, 100, 0.1, 3.0, 0.3), (10, 20, 0.3, 2.0, 0.7)],
)
def test_ranks_in_clusters_hold_at_the_width_that_is_needed(metric, clusters, rows, share, apart, differ, false_alarm):
    """With a whole cluster that was not seen, as bad as can be, they would be up to five times as wide."""
    rng, true, held, widths, estimates = np.random.default_rng(3), truths(share, apart, differ)[metric], 0, [], []
    for _ in range(SETS):
        y, scores, groups = drawn(rng, clusters, rows, share, apart, differ)
        found = jaxci.interval(metric, y, scores, groups=groups, n_resamples=499, rng=0)
        low, high = found.confidence_interval
        held += low <= true <= high
        widths.append(high - low)
        estimates.append(found.estimate)
    assert stats.binomtest(held, SETS, LEAST, alternative="less").pvalue > false_alarm
    assert np.mean(widths) < 2.2 * 3.92 * np.std(estimates)
