"""Learners that know nothing of scikit-learn."""

import numpy as np


class LeastSquares:
    """A regressor of one output or several, without an intercept."""

    def fit(self, X, y):
        self.slopes = np.linalg.lstsq(X, y, rcond=None)[0]
        return self

    def predict(self, X):
        return X @ self.slopes
