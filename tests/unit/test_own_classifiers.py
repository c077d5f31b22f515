"""Classifiers of users' own: what they predict is read by the labels of y, or refused."""

import numpy as np
import pytest

import jaxci

pytest.importorskip("sklearn")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 2))
LABEL = X[:, 0] + RNG.normal(size=120) > 0
WORDS = np.where(LABEL, "yes", "no")
FOLDS = [(np.flatnonzero(np.arange(120) % 4 != k), np.flatnonzero(np.arange(120) % 4 == k)) for k in range(4)]


class Own:
    """Least squares on the second label."""

    def fit(self, X, y):
        self.labels = np.unique(y)
        self.slopes = np.linalg.lstsq(X, y == self.labels[1], rcond=None)[0]
        return self

    def positive(self, X):
        return np.clip(0.5 + X @ self.slopes, 0.01, 0.99)

    def predict_proba(self, X):
        p = self.positive(X)
        return np.stack([1 - p, p], axis=1)

    def predict(self, X):
        return self.labels[(self.positive(X) > 0.5).astype(int)]


class OfThePositive(Own):
    def predict_proba(self, X):
        return self.positive(X)


class AsColumn(Own):
    def predict_proba(self, X):
        return self.positive(X)[:, None]


class Codes(Own):
    def predict(self, X):
        return super().predict_proba(X).argmax(axis=1)


class Number(Own):
    predict_proba = property()  # it has none

    def predict(self, X):
        return self.positive(X)


class Logits(Own):
    def predict_proba(self, X):
        return 5 * super().predict_proba(X)


class Wide(Own):
    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


class OfEveryLabel(Own):
    """Knows three labels, also where it was not fitted to all."""

    def predict_proba(self, X):
        return np.tile([0.1, 0.2, 0.7], (len(X), 1))


def interval(model, y, **arguments):
    return jaxci.generalization_interval(model, X, y, cv=FOLDS, n_jobs=1, progress=False, **arguments)


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize("model", [OfThePositive(), AsColumn()])
def test_one_column_of_probabilities_is_of_the_second_label(model):
    for loss in ("log", "brier", "roc_auc"):
        found, both = (interval(one, WORDS, loss=loss, pos_label="no") for one in (model, Own()))
        np.testing.assert_allclose(found.confidence_interval, both.confidence_interval)


def test_a_column_for_every_label_is_read_where_a_label_was_not_seen():
    y = np.where(np.arange(120) == 4, 1, 2 * LABEL)  # the only row of label 1 is in the first fold
    found = interval(OfEveryLabel(), y, loss="log")
    by_row = -np.log(np.array([0.1, 0.2, 0.7])[y])
    assert found.estimate == pytest.approx(by_row.mean())


def test_predictions_that_are_no_labels_are_refused():
    with pytest.raises(ValueError, match=r"inducer must predict labels of y, which are 'no', 'yes'; got [01]$"):
        interval(Codes(), WORDS)
    with pytest.raises(ValueError, match=r"of y, which are 0, 1; got 0\.\d+ \(a regressor needs a loss of targets"):
        interval(Number(), LABEL.astype(int))


def test_what_are_no_probabilities_of_the_labels_is_refused():
    with pytest.raises(ValueError, match="predict_proba must return probabilities, which sum to 1; got"):
        interval(Logits(), WORDS, loss="log")
    with pytest.raises(ValueError, match=r"predict_proba must return a column for each of 2 labels; got shape \(30, 3"):
        interval(Wide(), WORDS, loss="log")
