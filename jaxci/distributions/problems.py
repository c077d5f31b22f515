"""Supervised learning problems: processes that generate features and a target.

Those of Schulz-Kuempel et al. (2024), "Constructing confidence intervals for 'the' generalization
error", Appendix B, and such as users make of a covariance or a large file of their own.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.distributions.empirical import checked_floats
from jaxci.distributions.tables import float_type
from jaxci.records import record, static


class NormalLaw(NamedTuple):
    """Normal features of mean 0 whose target depends on one line of them.

    ``theta`` (d,) are its slopes; ``times`` multiplies vectors (..., d) by the covariance of the features. ``noise`` is
    the standard deviation of the normal error of a target ``X @ theta + error``; None for two classes, the second with
    probability ``1 / (1 + exp(-X @ theta))``.
    """

    theta: jax.Array
    times: Callable[[jax.Array], jax.Array]
    noise: float | None


class Problem(abc.ABC):
    """A law of independent rows of features and a target; classes are decorated with :func:`jaxci.records.record`.

    ``task`` is "regression" or "classification", ``n_classes`` K or 0, ``n_features`` d.
    """

    task: str
    n_features: int
    n_classes: int = 0

    @abc.abstractmethod
    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` independent rows; ``n`` is static, ``key`` may be batched by ``vmap``.

        Returns
        -------
        X : (n, d) array
            Floats of JAX's default type.
        y : (n,) array
            Floats of the same type, or class codes 0..K-1 as int32.
        """

    def normal_law(self) -> NormalLaw | None:
        """Return the law where features are normal and the target depends on a line of them; None elsewhere.

        The risk of a linear model is then known without new rows.
        """
        return None


def _normal(key: jax.Array, *shape: int) -> jax.Array:
    return jax.random.normal(key, shape, float_type())


def _first(many: int, of: int) -> jax.Array:
    return (jnp.arange(of) < many).astype(float_type())


def _bernoulli(key: jax.Array, log_odds: jax.Array) -> jax.Array:
    """Draw class 1 with probability ``1 / (1 + exp(-log_odds))``, by logistic noise."""
    return (log_odds + jax.random.logistic(key, log_odds.shape, log_odds.dtype) > 0).astype(jnp.int32)


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is no integer from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be an integer {limits}; got {value!r}")


@record
class BatesClassification(Problem):
    """Two classes: ``X ~ N(0, I_d)``, ``P(y = 1 | X) = 1 / (1 + exp(-(x1 + x2 + x3 + x4 + x5)))``.

    ``n_features``, d, is 20 and 100 in the paper. Source: Appendix B.2, after Bates et al. (2024).
    """

    n_features: int = static(default=20)

    task = "classification"
    n_classes = 2

    def __post_init__(self) -> None:
        check_whole("n_features", self.n_features, 5)

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows."""
        for_x, for_y = jax.random.split(key)
        X = _normal(for_x, n, self.n_features)
        return X, _bernoulli(for_y, X[:, :5].sum(axis=1))

    def normal_law(self) -> NormalLaw:
        """Return the law."""
        return NormalLaw(_first(5, self.n_features), lambda b: b, None)


@record
class BatesRegression(Problem):
    """Linear regression: ``X ~ N(0, I_d)``, ``y = x1 + x2 + x3 + x4 + x5 + e``, ``e ~ N(0, 1)``.

    ``n_features``, d, is 20 and 100 in the paper. Source: Appendix B.2, after Bates et al. (2024).
    """

    n_features: int = static(default=20)

    task = "regression"

    def __post_init__(self) -> None:
        check_whole("n_features", self.n_features, 5)

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows."""
        for_x, for_y = jax.random.split(key)
        X = _normal(for_x, n, self.n_features)
        return X, X[:, :5].sum(axis=1) + _normal(for_y, n)

    def normal_law(self) -> NormalLaw:
        """Return the law."""
        return NormalLaw(_first(5, self.n_features), lambda b: b, 1.0)


@record
class Friedman1(Problem):
    """Regression on five of ten features ``X ~ U(0, 1)^10``.

    ``y = 10 sin(pi x1 x2) + 20 (x3 - .5)^2 + 10 x4 + 5 x5 + e``, ``e ~ N(0, 1)``. Source: Appendix
    B.2, after Friedman (1991).
    """

    task = "regression"
    n_features = 10

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows."""
        for_x, for_y = jax.random.split(key)
        X = jax.random.uniform(for_x, (n, 10), float_type())
        a, b, c, d, e = X.T[:5]
        mean = 10 * jnp.sin(jnp.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
        return X, mean + _normal(for_y, n)


@record
class Chen10(Problem):
    """Regression on three of six latent variables, each seen through ten noisy features.

    Latents ``a, ..., f ~ U(0, 1)``;
    ``y = .25 exp(4 a) + 4 / (1 + exp(-20 (b - .5))) + 3 c + e``, ``e ~ N(0, .2^2)``;
    ten features of each latent l in turn, ``l + (.01 + .5 (j - 1) / 10) Z``, j = 1..10, ``Z ~ N(0, .3^2)``.
    Source: Appendix B.2, after Chen & Zhang (2013) and Degenhardt et al. (2019).

    Parameters
    ----------
    null : bool
        Whether a, b, c in y are other latents, ``N(0, .2)`` (a variance), so that no feature tells
        anything of a target with a heavy tail.
    variant : {"paper", "code"}
        "code" draws what the authors' program does: ``(j - 1) / 9``, ``Z ~ N(.3, 1)``, and null
        latents ``N(.2, 1)``.
    """

    null: bool = static(default=False)
    variant: str = static(default="paper")

    task = "regression"
    n_features = 60

    def __post_init__(self) -> None:
        if not isinstance(self.null, bool):
            raise ValueError(f"null must be True or False; got {self.null!r}")
        if self.variant not in ("paper", "code"):
            raise ValueError(f"variant must be 'paper' or 'code'; got {self.variant!r}")

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows."""
        for_latents, for_noise, for_null, for_y = jax.random.split(key, 4)
        paper = self.variant == "paper"
        latents = jax.random.uniform(for_latents, (n, 6), float_type())
        scale = 0.01 + 0.5 * jnp.arange(10, dtype=latents.dtype) / (10 if paper else 9)
        noise = (0.0 if paper else 0.3) + (0.3 if paper else 1.0) * _normal(for_noise, n, 6, 10)
        X = (latents[:, :, None] + scale * noise).reshape(n, 60)
        if self.null:
            latents = (0.0 if paper else 0.2) + (0.2**0.5 if paper else 1.0) * _normal(for_null, n, 3)
        a, b, c = latents.T[:3]
        mean = 0.25 * jnp.exp(4 * a) + 4 * jax.nn.sigmoid(20 * (b - 0.5)) + 3 * c
        return X, mean + 0.2 * _normal(for_y, n)


@record
class HighDimensional(Problem):
    """Two classes and ``d = 100 * 2^exponent`` features, ``exponent`` 0 to 6.

    Features ``N(0, 1)`` in 25 blocks of d / 25, correlated .8 within a block and independent
    between blocks; ``P(y = 1 | X) = 1 / (1 + exp(-X theta))``, ``theta_j`` 1 for the first feature
    of each block and 0 for others, so ``X theta ~ N(0, 25)`` at every d. Source: Appendix B.2, after
    Waldron et al. (2011); it states the coefficient 1 and, by its formula, no intercept, and the
    authors' program agrees (pensim: associations 1, intercept 0).

    100,000 rows at d = 6,400 take 2.4 GiB in single precision.
    """

    exponent: int = static(default=0)

    task = "classification"
    n_classes = 2

    def __post_init__(self) -> None:
        check_whole("exponent", self.exponent, 0, 6)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """``100 * 2^exponent``."""
        return 100 * 2**self.exponent

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows."""
        for_block, for_own, for_y = jax.random.split(key, 3)
        own = _normal(for_own, n, 25, self.n_features // 25)
        X = 0.8**0.5 * _normal(for_block, n, 25, 1) + 0.2**0.5 * own
        return X.reshape(n, -1), _bernoulli(for_y, X[:, :, 0].sum(axis=1))

    def normal_law(self) -> NormalLaw:
        """Return the law, its covariance block by block."""
        size = self.n_features // 25

        def times(b: jax.Array) -> jax.Array:
            blocks = b.reshape(*b.shape[:-1], 25, size)
            return (0.2 * blocks + 0.8 * blocks.sum(axis=-1, keepdims=True)).reshape(b.shape)

        return NormalLaw((jnp.arange(self.n_features) % size == 0).astype(float_type()), times, None)


@record
class Covariance(Problem):
    """Two classes: ``X ~ N(0, covariance)``, ``P(y = 1 | X) = 1 / (1 + exp(-X theta))``.

    Source: Appendix B.3, after Janitza & Hornung (2018), where the covariances (d, d) are those of
    three sets of gene expressions, and theta (d,) of features in units of their standard deviations is
    uniform on {-3, -2, -1, -.5, 0, .5, 1, 2, 3}. Singular covariances will do.
    """

    covariance: Any
    theta: Any

    task = "classification"
    n_classes = 2

    def __post_init__(self) -> None:
        if isinstance(self.covariance, jax.core.Tracer):
            return
        covariance, theta = checked_floats("covariance", self.covariance, (2,)), checked_floats("theta", self.theta)
        if covariance.shape != (len(theta),) * 2:
            raise ValueError(f"covariance must be (d, d) for theta (d,); got {covariance.shape} and {theta.shape}")
        _check_covariance(covariance)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "theta", theta)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Order of the covariance."""
        return int(self.theta.shape[0])

    def sample(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        """Draw ``n`` rows, by the symmetric root of the correlation matrix."""
        for_x, for_y = jax.random.split(key)
        covariance = jnp.asarray(self.covariance, float_type())
        sd = jnp.sqrt(jnp.diagonal(covariance))
        values, vectors = jnp.linalg.eigh(covariance / sd / sd[:, None])
        times = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
        root = times(vectors * jnp.sqrt(jnp.maximum(values, 0)), vectors.T)
        X = times(_normal(for_x, n, self.n_features), root) * sd
        return X, _bernoulli(for_y, times(X, jnp.asarray(self.theta, X.dtype)))

    def normal_law(self) -> NormalLaw:
        """Return the law."""
        covariance = jnp.asarray(self.covariance, float_type())
        times = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
        return NormalLaw(jnp.asarray(self.theta, float_type()), lambda b: times(b, covariance), None)


def _check_covariance(covariance: np.ndarray) -> None:
    """Refuse what is no covariance matrix of features that vary."""
    constant = np.flatnonzero(~(np.diagonal(covariance) > 0))
    if len(constant):
        raise ValueError(f"every feature must vary; the variance of feature {constant[0]} is not positive")
    sd = np.sqrt(np.diagonal(covariance))
    correlation = covariance / sd / sd[:, None]
    if np.abs(correlation - correlation.T).max() > 1e-8 or np.linalg.eigvalsh(correlation)[0] < -1e-8 * len(sd):
        raise ValueError("covariance must be symmetric and have no negative eigenvalue")
