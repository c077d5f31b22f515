"""Problems, learners, losses and splits of the simulation in ``generalization_reference.py``.

Plain NumPy that shares no code with the library.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

CUT = 0.9  # winsorized loss: quantile of a split's test losses
NEWTON_TOLERANCE = 1e-8


# Problems: (rng, n) -> X, y


def bates_regr_20(rng, n):
    X = rng.standard_normal((n, 20))
    return X, X[:, :5].sum(axis=1) + rng.standard_normal(n)


def bates_classif_20(rng, n):
    X = rng.standard_normal((n, 20))
    return X, (rng.random(n) < expit(X[:, :5].sum(axis=1))).astype(float)


def friedman1(rng, n):
    X = rng.random((n, 10))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, signal + rng.standard_normal(n)


def chen_10_null(rng, n):
    latent = rng.random((n, 6))
    scale = 0.01 + 0.5 * np.arange(10) / 10
    noise = rng.normal(0.0, 0.3, (n, 6, 10))
    X = (latent[:, :, None] + scale * noise).reshape(n, 60)
    a, b, c = rng.normal(0.0, math.sqrt(0.2), (3, n))
    y = 0.25 * np.exp(4 * a) + 4 * expit(20 * (b - 0.5)) + 3 * c + rng.normal(0.0, 0.2, n)
    return X, y


PROBLEMS = {f.__name__: f for f in (bates_regr_20, bates_classif_20, friedman1, chen_10_null)}


# Learners: all S training samples of one data set at once, given as counts (S, n)


class Design:
    """Rows with a leading one, their pairwise products, and the three fits."""

    def __init__(self, X, y):
        self.rows = np.column_stack([np.ones(len(X)), X])
        self.y = y
        self.n, self.d = self.rows.shape
        upper = np.triu_indices(self.d)
        self.products = self.rows[:, upper[0]] * self.rows[:, upper[1]]
        self.unfold = np.empty((self.d, self.d), dtype=int)
        self.unfold[upper] = self.unfold.T[upper] = np.arange(len(upper[0]))
        self.penalty = np.r_[0.0, np.ones(self.d - 1)]

    def gram(self, weights):
        """Return sum_i w_i z_i z_i' for every row of ``weights``."""
        return (weights @ self.products)[:, self.unfold]

    def linear(self, counts, start=None):
        """Return least-squares coefficients (S, d), the shortest slopes where they are not unique."""
        coefficients = np.empty((len(counts), self.d))
        few = (counts > 0).sum(axis=1) <= self.d + 5
        full = counts[~few]
        if len(full):
            coefficients[~few] = np.linalg.solve(self.gram(full), ((full * self.y) @ self.rows)[..., None])[..., 0]
        for s in np.flatnonzero(few):  # possibly rank deficient: least norm of the slopes, free intercept
            w = counts[s] / counts[s].sum()
            x_mean, y_mean = w @ self.rows[:, 1:], w @ self.y
            root = np.sqrt(w)[:, None]
            slopes = np.linalg.lstsq(root * (self.rows[:, 1:] - x_mean), root[:, 0] * (self.y - y_mean), rcond=None)[0]
            coefficients[s] = np.r_[y_mean - x_mean @ slopes, slopes]
        return coefficients

    def ridge(self, counts, start=None):
        """Return ridge coefficients (S, d)."""
        normal = self.gram(counts) + np.diag(self.penalty)
        return np.linalg.solve(normal, ((counts * self.y) @ self.rows)[..., None])[..., 0]

    def logistic(self, counts, start=None):
        """Return logistic coefficients (S, d), by Newton steps."""
        ones = counts @ self.y
        if np.any((ones == 0) | (ones == counts.sum(axis=1))):
            raise ValueError("a training sample has one class only")
        if start is None:
            start = np.zeros(self.d)
        found = np.broadcast_to(start, (len(counts), self.d)).copy()
        left, slow = np.arange(len(counts)), []
        for _ in range(15):
            step = self._newton_step(counts[left], found[left])
            size = np.abs(step).max(axis=1)
            slow.append(left[~(size <= 5)])
            found[left] -= step
            left = left[(size > NEWTON_TOLERANCE) & (size <= 5)]
            if not len(left):
                break
        for s in np.concatenate([*slow, left]):
            found[s] = self._damped(counts[s : s + 1])
        return found

    def _newton_step(self, counts, at):
        p = expit(at @ self.rows.T)
        slope = (counts * (p - self.y)) @ self.rows + self.penalty * at
        curvature = self.gram(counts * p * (1 - p)) + np.diag(self.penalty)
        return np.linalg.solve(curvature, slope[..., None])[..., 0]

    def _damped(self, counts):
        def objective(b):
            score = b[0] @ self.rows.T
            return counts[0] @ (np.logaddexp(0, score) - self.y * score) + self.penalty @ b[0] ** 2 / 2

        at = np.zeros((1, self.d))
        for _ in range(200):
            step = self._newton_step(counts, at)
            now, size = objective(at), 1.0
            while size > 1e-6 and not objective(at - size * step) <= now:
                size /= 2
            at = at - size * step
            if np.abs(step).max() <= NEWTON_TOLERANCE:
                return at[0]
        raise RuntimeError("the logistic fit did not converge")


# Losses: pointwise, then the cut that belongs to a split's test rows


def pointwise(loss, score, y):
    if loss == "zero_one":
        return ((score > 0) != (y > 0.5)).astype(float)
    return (score - y) ** 2


def count_quantile(values, counts, q):
    """Return, per row, the linearly interpolated quantile of ``values`` repeated ``counts`` times."""
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    upto = np.cumsum(np.take_along_axis(counts, order, axis=1), axis=1)
    h = q * np.maximum(upto[:, -1] - 1, 0)
    low = np.floor(h)
    high = np.minimum(low + 1, np.maximum(upto[:, -1] - 1, 0))
    at = [ranked[np.arange(len(values)), np.argmax(upto > k[:, None], axis=1)] for k in (low, high)]
    return at[0] + (h - low) * (at[1] - at[0])


def no_information(loss, y, score):
    """Return the mean loss over all pairs of an outcome and a prediction."""
    if loss == "squared":
        return np.mean(y**2) + np.mean(score**2) - 2 * np.mean(y) * np.mean(score)
    if loss == "zero_one":
        p, q = np.mean(y > 0.5), np.mean(score > 0)
        return p * (1 - q) + q * (1 - p)
    pairs = pointwise(loss, score[:, None], y[None, :])
    return np.minimum(pairs, np.quantile(pairs, CUT)).mean()


class Sample:
    """One replication's data with a learner and a loss."""

    def __init__(self, X, y, learner, loss):
        self.design = Design(X, y)
        self.fit = getattr(self.design, learner)
        self.y, self.n, self.loss = y, len(y), loss
        self.whole = self.fit(np.ones((1, self.n)))[0]
        self.chunk = max(1, int(4e6 / max(self.design.d**2, self.n)))

    def coefficients(self, counts, start=None):
        """Return the coefficients (S, d) of the learner."""
        counts = np.asarray(counts, dtype=float)
        start = np.broadcast_to(self.whole if start is None else start, (len(counts), self.design.d))
        parts = range(0, len(counts), self.chunk)
        return np.concatenate([self.fit(counts[s : s + self.chunk], start[s : s + self.chunk]) for s in parts])

    def losses(self, counts, tested, start=None):
        """Fit on ``counts`` (S, n), return each row's loss, cut where the loss asks for it by the ``tested`` counts."""
        raw = pointwise(self.loss, self.coefficients(counts, start) @ self.design.rows.T, self.y)
        return self.cut(raw, tested)

    def cut(self, raw, tested):
        """Cut winsorized losses (S, n) at the quantile of the rows that each split tests."""
        if self.loss != "winsorized":
            return raw
        return np.minimum(raw, count_quantile(raw, np.asarray(tested, dtype=int), CUT)[:, None])

    def insample(self):
        """Return the loss of the model of all rows on them, and its no-information rate."""
        score = self.design.rows @ self.whole
        e = self.cut(pointwise(self.loss, score, self.y)[None], np.ones((1, self.n)))[0]
        return e.mean(), no_information(self.loss, self.y, score)

    def risk(self, rows, y):
        """Return the mean loss of the model of all rows on fresh ones."""
        e = pointwise(self.loss, rows @ self.whole, y)
        if self.loss == "winsorized":
            e = np.minimum(e, np.quantile(e, CUT))
        return float(e.mean())


# Splits


def split_means(e, tested):
    return (e * tested).sum(axis=1) / tested.sum(axis=1)


def subsamples(rng, n, pool, n_test, times):
    """Draw ``times`` random test sets of ``n_test`` of the rows ``pool``; the rest of the pool trains."""
    shuffled = rng.permuted(np.tile(pool, (times, 1)), axis=1)
    train, test = np.zeros((times, n), dtype=bool), np.zeros((times, n), dtype=bool)
    np.put_along_axis(test, shuffled[:, :n_test], True, axis=1)
    np.put_along_axis(train, shuffled[:, n_test:], True, axis=1)
    return train, test


def fold_labels(rng, n, k):
    return rng.permutation(np.arange(n) % k)


def fold_masks(labels, k):
    test = labels == np.arange(k)[:, None]
    return ~test, test


def bootstrap_counts(rng, n, times):
    counts = rng.multinomial(n, np.full(n, 1 / n), size=times)
    while np.any(bad := (counts > 0).all(axis=1)):
        counts[bad] = rng.multinomial(n, np.full(n, 1 / n), size=bad.sum())
    return counts


def test_size(n):
    return n - round(0.9 * n)
