"""DeLong's covariance of areas, from all pairs: what the package's are held against."""

import numpy as np


def plain_delong(y, scores):
    """Return the areas (s,) of scores (s, rows) of the same rows, and DeLong's covariance of them (s, s)."""
    pos, neg = scores[:, y == 1], scores[:, y == 0]
    kernel = (pos[:, :, None] > neg[:, None, :]) + 0.5 * (pos[:, :, None] == neg[:, None, :])
    covariance = np.cov(kernel.mean(axis=2)) / pos.shape[1] + np.cov(kernel.mean(axis=1)) / neg.shape[1]
    return kernel.mean(axis=(1, 2)), covariance
