"""Adaptive kernel density estimate of logits with their labels."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.distributions.base import RowDistribution
from jaxci.distributions.empirical import checked_codes, checked_floats
from jaxci.distributions.kde import BLOCK, local_modifiers
from jaxci.distributions.tables import float_type
from jaxci.records import record, static
from jaxci.statistics.base import Statistic

VARIANTS = ("spec", "printed", "code")

_EIGENVALUE_FLOOR = 1e-10


def pilot_density(z: np.ndarray) -> np.ndarray:
    """Return the kernel estimate of unit width at each of its points (n, d), times a constant; O(n^2 d)."""
    z = z - z.mean(axis=0)
    squares = np.sum(z * z, axis=1)
    density = np.empty(len(z))
    step = max(1, BLOCK // len(z))
    for rows in (slice(i, i + step) for i in range(0, len(z), step)):
        distances = squares[rows, None] + squares - 2 * z[rows] @ z.T
        density[rows] = np.clip(1 - distances, 0, 1).sum(axis=1)
    return np.maximum(density, 1.0)


@record
class LogitKDE(RowDistribution):
    """Adaptive kernel density estimate of logits with their labels; :meth:`fit` builds it from data.

    A draw takes a row i at random, keeps its label and adds ``(f_i / g)**(-1/2) H e`` to its
    logits, e an Epanechnikov variate in d dimensions; scores are the softmax, that of class 1 for
    two classes. S is the covariance matrix (divisor n); symmetric roots, with eigenvalues of at
    least 1e-10 times the largest. Variants:

    - ``"spec"``: ``H = 1.06 S**(1/2) n**(-1/(d+4))``, pilot estimate with the same H;
    - ``"printed"``: the same with ``n**(-1/5)``, as Algorithm 2 has it;
    - ``"code"``: ``H = (1.06 n**(-1/(d+4)) S)**(1/2)`` and a pilot of width 1 in every direction,
      as the published program has it.

    The variate is the first d coordinates of a uniform point on the sphere in d + 4 dimensions:
    its direction is uniform and ``|e|**2`` follows Beta(d/2, 2).

    Parameters
    ----------
    logits : (n, d) array
        One logit for every class; d = 1: the log odds of class 1 of two.
    labels : (n,) int32
        True class codes.
    modifiers : (n,) array
        Factors of the kernels' widths.
    width : (d, d) array
        H.
    n_classes : int
        K.
    variant : {"spec", "printed", "code"}

    References
    ----------
    Andre et al. (2026), supplement S4, Algorithm 2.
    """

    logits: Any
    labels: Any
    modifiers: Any
    width: Any
    n_classes: int = static(default=2)
    variant: str = static(default="spec")

    kind = "scores"
    row_fields = ("logits", "labels", "modifiers")

    @classmethod
    def fit(cls, logits: Any, labels: Any, variant: str = "spec") -> LogitKDE:
        """Estimate from ``logits`` (n, K), or log odds (n,) of class 1 of two, and class codes (n,); O(n^2 K).

        Raises
        ------
        ValueError
            If a logit is not finite, labels do not fit them, or the variant is unknown.
        """
        if variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}; got {variant!r}")
        x = checked_floats("logits", logits, (1, 2))
        x = x.reshape(len(x), -1)
        n, d = x.shape
        n_classes = max(2, d)
        codes = checked_codes("labels", labels, n_classes, n)
        centred = x - x.mean(axis=0)
        eigenvalues, axes = np.linalg.eigh(centred.T @ centred / n)
        roots = np.sqrt(np.maximum(eigenvalues, _EIGENVALUE_FLOOR * eigenvalues[-1]))
        if not roots[-1] > 0 or np.all(np.ptp(x, axis=0) == 0):
            return cls(x, codes, np.ones(n), np.zeros((d, d)), n_classes, variant)
        factor = n ** (-0.2 if variant == "printed" else -1 / (d + 4))
        scales = np.sqrt(1.06 * factor) * roots if variant == "code" else 1.06 * factor * roots
        pilot = centred if variant == "code" else centred @ (axes / scales)
        modifiers = local_modifiers(pilot_density(pilot))
        return cls(x, codes, modifiers, (axes * scales) @ axes.T, n_classes, variant)

    @property
    def label(self) -> str:
        """Numbers of rows and classes."""
        return f"logit kde({len(self.labels)} rows, {self.n_classes} classes)"

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the scores."""
        return 0.0, 1.0

    def drawn(self, key: jax.Array, n: int, size: Any) -> dict[str, jax.Array]:
        """Draw ``n`` rows of labels and scores from the kernels at the first ``size`` rows."""
        dtype = float_type()
        which, direction, radius = jax.random.split(key, 3)
        logits = jnp.asarray(self.logits, dtype)
        rows = jax.random.randint(which, (n,), 0, size, jnp.int32)
        z = jax.random.normal(direction, (n, logits.shape[1]), dtype)
        rest = 2 * jax.random.exponential(radius, (2, n), dtype).sum(axis=0)
        e = z / jnp.sqrt(jnp.sum(z * z, axis=1) + rest)[:, None]
        shift = jnp.matmul(e, jnp.asarray(self.width, dtype), precision=jax.lax.Precision.HIGHEST)
        x = logits[rows] + jnp.asarray(self.modifiers, dtype)[rows, None] * shift
        if x.shape[1] > 2:
            score = jax.nn.softmax(x, axis=1)
        else:
            score = jax.nn.sigmoid(x[:, -1] if x.shape[1] == 1 else x[:, 1] - x[:, 0])
        return {"y_true": jnp.asarray(self.labels, jnp.int32)[rows], "y_score": score}

    def analytic(self, statistic: Statistic) -> float | None:
        """Return None: no statistic of the scores is known in closed form."""
        return None
