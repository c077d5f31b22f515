"""What results say of their data: that an interval has no width, that rows or cases are few, that labels disagree."""

import numpy as np
import pytest

import jaxci
from jaxci.statistics.registry import METRICS

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=30)
LABELS = np.arange(30) % 2
CLASSES = np.arange(30) % 3


def perfect(metric):
    """Return data on which a metric of classes has the best value that there is."""
    y = LABELS if METRICS[metric].task == "binary" else CLASSES
    if "y_pred" in METRICS[metric].inputs:
        return y, y
    return y, (y.astype(float) if METRICS[metric].task == "binary" else np.eye(3)[y])


# --- no estimated variance -------------------------------------------------------------------------


NO_WIDTH = "has no estimated variance, so the 'delta' interval has no width"


@pytest.mark.parametrize(
    "metric", ["f1_macro", "matthews_corrcoef", "jaccard_micro", "average_precision", "roc_auc_ovr"]
)
def test_where_delta_has_no_width_the_method_named_has_some(metric):
    (said,) = jaxci.interval(metric, *perfect(metric), method="delta").warnings
    assert f"{NO_WIDTH}; use method='proper_bayesian'" in said
    assert ("accuracy beside it" in said) == ("y_pred" in METRICS[metric].inputs)
    low, high = jaxci.interval(metric, *perfect(metric), method="proper_bayesian", n_resamples=199).confidence_interval
    assert low < high


@pytest.mark.parametrize("metric", ["r2", "pearsonr", "explained_variance", "root_mean_squared_error"])
def test_no_method_is_named_where_none_is_known_to_have_width(metric):
    (said,) = jaxci.interval(metric, X, X, method="delta").warnings
    assert said.endswith(NO_WIDTH)


@pytest.mark.parametrize(
    ("metric", "truth", "guess"),
    [("r2", X, X + 0.1), ("f1_macro", LABELS, 1 - LABELS), ("brier_score_loss", LABELS, np.full(30, 0.3))],
)
def test_no_method_is_named_for_a_difference_without_variance(metric, truth, guess):
    said = jaxci.compare(metric, truth, guess, guess, method="delta").warnings
    assert said[0].endswith(NO_WIDTH)
