"""Data-generating processes: what a coverage study draws its samples from, and the truth about it.

Every distribution draws by a JAX program, ``sample(key, n)``, and :func:`truth` gives the value of
a statistic under it.
"""

from jaxci.distributions.base import Distribution, Truth, observations, predictions, truth
from jaxci.distributions.empirical import Cells, Empirical, EmpiricalRows, EmpiricalTargets
from jaxci.distributions.files import distribution_from_dict, distribution_to_dict
from jaxci.distributions.kde import AdaptiveKDE
from jaxci.distributions.logit_kde import LogitKDE
from jaxci.distributions.parametric import Mixture, Parametric
from jaxci.distributions.user import UserDistribution, as_distribution

__all__ = [
    "AdaptiveKDE",
    "Cells",
    "Distribution",
    "Empirical",
    "EmpiricalRows",
    "EmpiricalTargets",
    "LogitKDE",
    "Mixture",
    "Parametric",
    "Truth",
    "UserDistribution",
    "as_distribution",
    "distribution_from_dict",
    "distribution_to_dict",
    "observations",
    "predictions",
    "truth",
]
