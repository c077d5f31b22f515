"""The few frequencies of a smooth law of a mean: found only where all others are nothing, and the law they give."""

import jax
import numpy as np
import pytest

from jaxci.resampling.exact_mean import COARSE, PROBABILITY_ERROR, _Scaled, mean_distribution
from jaxci.resampling.mean_band import MOST, band_of

OUTSIDE = 0.01 * PROBABILITY_ERROR


def both_ways(x, counts=None, points=COARSE):
    """The band, if any, and ``|phi|`` (J,) at all frequencies of the grid by the fast transform."""
    n = x.size if counts is None else int(counts.sum())
    at = _Scaled.of(x, counts, n)
    band = band_of(at.d, counts, n, at.deviation**2 / n, at.window, points, OUTSIDE)
    with jax.enable_x64(True):
        phi, modulus, _ = at.spectrum(points)
    return band, np.asarray(phi), np.asarray(modulus)


@pytest.mark.parametrize("n", [30, 200, 5000])
@pytest.mark.parametrize("shape", ["normal", "lognormal", "mixture", "half ties"])
def test_what_is_left_out_of_a_band_is_nothing_and_what_is_kept_is_the_transform(n, shape):
    rng = np.random.default_rng(n)
    x = {
        "normal": lambda: rng.normal(size=n),
        "lognormal": lambda: rng.lognormal(size=n),
        "mixture": lambda: rng.normal(size=n) * 1e-3 + rng.integers(0, 3, size=n),
        "half ties": lambda: np.where(np.arange(n) % 2 == 0, 0.0, rng.normal(size=n)),
    }[shape]()
    band, phi, modulus = both_ways(x)
    if band is None:
        assert n == 30 or shape == "mixture"
        return
    last = band.waves.size
    assert last <= MOST
    assert modulus[last:].sum() <= OUTSIDE
    expected = phi[:last] ** n / (2j * np.pi * np.arange(1, last + 1))
    np.testing.assert_allclose(band.waves, expected, atol=1e-11 * n)


def test_rows_that_are_counted_have_the_band_of_rows_that_are_listed():
    rng = np.random.default_rng(0)
    x, counts = rng.normal(size=300), rng.integers(1, 4, size=300)
    counted, listed = both_ways(x, counts.astype(float))[0], both_ways(np.repeat(x, counts))[0]
    np.testing.assert_allclose(counted.waves, listed.waves, atol=1e-13)


def test_values_on_a_lattice_have_no_band_however_fine_it_is():
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    assert both_ways(x)[0] is not None
    at = _Scaled.of(x, None, x.size)
    for steps in (300.0, 3000.0, 0.49 * COARSE):  # so many to the window: phi comes back to 1 at that frequency
        step = at.window / steps
        assert both_ways(np.rint(at.x / step) * step)[0] is None


def test_quantiles_of_a_band_undo_its_distribution_function():
    law = mean_distribution(np.random.default_rng(2).lognormal(size=1000))
    assert law.cubic
    assert law.rest.size < COARSE
    p = np.linspace(1e-3, 1 - 1e-3, 501)
    np.testing.assert_allclose(law.share_below(law.quantile(p)), p, rtol=0, atol=1e-12)


def test_a_coarser_grid_has_the_law_of_a_finer_one():
    x = np.random.default_rng(3).exponential(size=500)
    band, *_ = both_ways(x)
    size = band.points(COARSE)
    fine, turn = band.inverted(COARSE), COARSE // size
    np.testing.assert_allclose(band.inverted(size), fine[::turn], atol=1e-14)
    assert size < COARSE
    padded = np.concatenate([fine[-turn:], fine, fine[: 2 * turn]])
    before, left, right, after = (padded[k * turn :][:COARSE:turn] for k in range(4))
    middle = 9 * (left + right) / 16 - (before + after) / 16  # the cubic amid the four
    np.testing.assert_allclose(middle, padded[turn + turn // 2 :][:COARSE:turn], rtol=0, atol=1e-10)
