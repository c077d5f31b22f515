"""Whether a law is that of known values and masses, up to the errors that it states."""

import numpy as np


def assert_law_is(law, values, masses, levels, slack):
    """Compare shares below and quantiles; ``slack`` is allowed in probability, the law's own error in values."""
    near = float(np.squeeze(law.error)) + 1e-12
    for value in [*np.unique(values.round(12)), -0.1, 0.123]:
        found = law.share_below(value)
        assert masses[values < value - near].sum() - slack <= found <= masses[values < value + near].sum() + slack
    for p in levels:
        found = law.quantile(p)
        assert masses[values < found - near].sum() - slack <= p <= masses[values < found + near].sum() + slack
