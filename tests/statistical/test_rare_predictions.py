"""Precision over classes, one of which is predicted rarely or never, by the verb's own default."""

import warnings

import numpy as np
import pytest
from scipy import stats

import jaxci

SETS, N, LEAST = 60, 300, 0.85
LAWS = {
    "never predicted": [[0.665, 0.035, 0.0], [0.04, 0.16, 0.0], [0.05, 0.05, 0.0]],
    "one of two always predicted": [[0.7, 0.0], [0.3, 0.0]],
    "one of five always predicted": [[0.25, 0, 0, 0, 0], *([[0.1875, 0, 0, 0, 0]] * 4)],
    "predicted rarely, never right": [[0.6636, 0.035, 0.0014], [0.0396, 0.16, 0.0004], [0.05, 0.05, 0.0]],
}


@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize("name", LAWS)
def test_the_default_covers_and_is_told(name, false_alarm):
    law = np.array(LAWS[name])
    k, taken = len(law), law.sum(axis=0)
    precision = np.where(taken > 0, np.diag(law) / np.where(taken > 0, taken, 1.0), 0.0)
    true = {"precision_macro": precision.mean(), "precision_weighted": law.sum(axis=1) @ precision}
    held, rng = dict.fromkeys(true, 0), np.random.default_rng(8)
    for number in range(SETS):
        y, guess = np.divmod(np.repeat(np.arange(k * k), rng.multinomial(N, law.ravel())), k)
        with warnings.catch_warnings(action="ignore", category=jaxci.JaxciWarning):
            table = jaxci.evaluate(y, guess, metrics=[*true], labels=list(range(k)), n_resamples=999, rng=number)
        for row in table:
            low, high = row.confidence_interval
            held[row.statistic] += low <= true[row.statistic] <= high
            assert low < row.estimate < high
            assert any("95% intervals covered" in text for text in row.warnings)
    for metric, many in held.items():
        assert stats.binom.cdf(many, SETS, LEAST) > false_alarm, (metric, many)
