"""Laws of what models predict, by how good they are: scores of classes, and errors of a regression."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from jaxci.checks import check_number, shown
from jaxci.distributions.base import Distribution
from jaxci.distributions.empirical import checked_floats
from jaxci.distributions.laws import ValueDistribution
from jaxci.distributions.tables import float_type
from jaxci.records import record
from jaxci.statistics.base import Statistic
from jaxci.statistics.probability import Calibration
from jaxci.statistics.ranking import AveragePrecision, RocAuc
from jaxci.statistics.regression import MeanSquaredError, RootMeanSquaredError
from jaxci.statistics.summary import Mean, Std


def _plain(*fields: Any) -> bool:
    """Whether fields are what a user writes, not arrays that a program traces."""
    return all(isinstance(x, int | float | str | list | tuple | np.ndarray | np.generic) for x in fields)


@record
class GaussianClasses(Distribution):
    """Scores of K classes: posterior probabilities of normal features of unit variance, sharpened or not.

    Features of class k are normal around ``d e_k`` with unit covariance; the log odds of two classes given the
    features alone rank these two with an area under the ROC curve ``auc = Phi(d)``. Scores are the posterior
    probabilities with their logits divided by ``temperature``: calibrated at 1, too sure of themselves below, too
    modest above. For two classes this is the equal-variance binormal model.

    Parameters
    ----------
    shares : (K,) array
        Probabilities of the classes, positive; divided by their sum.
    auc : float
        Area between two classes, between 0.5 and 1.
    temperature : float
        Positive.

    Examples
    --------
    >>> GaussianClasses([0.9, 0.1], auc=0.95).label
    'gaussian classes(shares 0.9, 0.1; AUC 0.95)'
    """

    shares: Any
    auc: Any
    temperature: Any = 1.0

    kind = "scores"

    def __post_init__(self) -> None:
        if not _plain(self.shares, self.auc, self.temperature):
            return
        shares = checked_floats("shares", self.shares)
        if len(shares) < 2 or not shares.min() > 0:
            raise ValueError(f"shares must be positive numbers, one for each of 2 or more classes; got {self.shares}")
        whole = shares.sum()  # shares that a file gives back stay as they are
        object.__setattr__(self, "shares", shares if abs(whole - 1) < 1e-12 else shares / whole)
        object.__setattr__(self, "auc", check_number("auc", self.auc, "lie in (0.5, 1)", lambda x: 0.5 < x < 1))
        temperature = check_number(
            "temperature", self.temperature, "be positive and finite", lambda x: 0 < x < math.inf
        )
        object.__setattr__(self, "temperature", temperature)

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K."""
        return self.shares.shape[0]

    @property
    def label(self) -> str:
        """Shares of the classes, area, and temperature where it is not 1."""
        shares = ", ".join(f"{share:g}" for share in self.shares)
        sure = "" if self.temperature == 1 else f"; temperature {self.temperature:g}"
        return f"gaussian classes(shares {shares}; AUC {self.auc:g}{sure})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the scores."""
        return 0.0, 1.0

    def sample(self, key: jax.Array, n: int) -> dict[str, jax.Array]:
        """Draw ``n`` classes and scores."""
        dtype, (which, features) = float_type(), jax.random.split(key)
        shares = jnp.asarray(self.shares, dtype)
        apart = jax.scipy.special.ndtri(jnp.asarray(self.auc, dtype))
        u = jax.random.uniform(which, (n, 1), dtype)
        y = jnp.sum(u >= jnp.cumsum(shares)[:-1], axis=1, dtype=jnp.int32)
        x = jax.random.normal(features, (n, len(shares)), dtype) + apart * (y[:, None] == jnp.arange(len(shares)))
        logits = (apart * x + jnp.log(shares)) / jnp.asarray(self.temperature, dtype)
        if len(shares) == 2:
            return {"y_true": y, "y_score": jax.nn.sigmoid(logits[:, 1] - logits[:, 0])}
        return {"y_true": y, "y_score": jax.nn.softmax(logits, axis=1)}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return areas and average precisions of two classes, and the calibration error of calibrated scores."""
        if isinstance(statistic, Calibration) and self.temperature == 1:
            return 0.0
        if self.n_classes > 2:
            return None
        if isinstance(statistic, RocAuc) and statistic.is_whole_area:
            return float(self.auc)
        return self._average_precision() if isinstance(statistic, AveragePrecision) else None

    def _average_precision(self) -> float:
        """Integrate the precision over the scores of the positives: that of ``auc`` as the distance of two normals."""
        apart = math.sqrt(2) * scipy.stats.norm.ppf(self.auc)
        z = np.linspace(apart - 10, apart + 10, 200_001)
        found, others = self.shares[1] * scipy.stats.norm.sf(z - apart), self.shares[0] * scipy.stats.norm.sf(z)
        return float(np.trapezoid(scipy.stats.norm.pdf(z - apart) * found / (found + others), z))


@record
class RegressionErrors(Distribution):
    """Predictions of a regression, normal, and targets that differ from them by independent errors.

    Parameters
    ----------
    errors : ValueDistribution
        Law of ``y_true - y_pred``.
    spread : float
        Standard deviation of the predictions, positive.
    centre : float
        Their mean.

    Examples
    --------
    >>> from jaxci.distributions import Parametric
    >>> RegressionErrors(Parametric("norm"), spread=2.0).label
    'regression(errors norm(); predictions 0 +- 2)'
    """

    errors: ValueDistribution
    spread: Any = 1.0
    centre: Any = 0.0

    kind = "targets"

    def __post_init__(self) -> None:
        if not _plain(self.spread, self.centre):
            return
        if not isinstance(self.errors, ValueDistribution):
            raise ValueError(f"errors must be a distribution of values; got {shown(self.errors)}")
        spread = check_number("spread", self.spread, "be positive and finite", lambda x: 0 < x < math.inf)
        object.__setattr__(self, "spread", spread)
        object.__setattr__(self, "centre", check_number("centre", self.centre, "be finite", math.isfinite))

    @property
    def label(self) -> str:
        """Law of the errors, mean and deviation of the predictions."""
        return f"regression(errors {self.errors.label}; predictions {self.centre:g} +- {self.spread:g})"

    @property
    def bounds(self) -> tuple[float, float]:
        """Every number."""
        return -math.inf, math.inf

    def sample(self, key: jax.Array, n: int) -> dict[str, jax.Array]:
        """Draw ``n`` targets and predictions."""
        of_predictions, of_errors = jax.random.split(key)
        normal = jax.random.normal(of_predictions, (n,), float_type())
        predicted = jnp.asarray(self.centre, float_type()) + jnp.asarray(self.spread, float_type()) * normal
        return {"y_true": predicted + self.errors.draw(of_errors, n), "y_pred": predicted}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return the mean square of the errors, or its root."""
        if not isinstance(statistic, MeanSquaredError | RootMeanSquaredError):
            return None
        mean, deviation = self.errors.analytic(Mean()), self.errors.analytic(Std())
        if mean is None or deviation is None:
            return None
        square = mean**2 + deviation**2
        return math.sqrt(square) if isinstance(statistic, RootMeanSquaredError) else square
