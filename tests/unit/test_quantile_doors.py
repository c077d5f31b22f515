"""Quantile methods that draw resamples of their own, by ``interval``."""

import numpy as np
import pytest

import jaxci
from jaxci.intervals.quantile import HarrellDavis

X = np.random.default_rng(1).gamma(2, size=25)


@pytest.mark.parametrize("method", ["harrell_davis", "semiparametric_resampled"])
def test_a_number_of_resamples_is_drawn_and_recorded(method):
    usual, few, many = (jaxci.interval("median", X, method=method, n_resamples=n, rng=0) for n in (None, 50, 20_000))
    assert (usual.n_resamples, few.n_resamples, many.n_resamples) == (2_000, 50, 20_000)
    assert len({usual.confidence_interval, few.confidence_interval, many.confidence_interval}) == 3
    with pytest.raises(ValueError, match=r"n_resamples must be .* 2; got 1"):
        jaxci.interval("median", X, method=method, n_resamples=1)


def test_a_method_with_its_settings_keeps_them():
    found = jaxci.interval("median", X, method=HarrellDavis(60), n_resamples=500, rng=0)
    assert found.n_resamples == 60
    assert jaxci.interval("median", X, method="order_statistic", n_resamples=500).n_resamples == 0
