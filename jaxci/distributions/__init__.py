"""Data-generating processes: what a coverage study draws its samples from, and the truth about it.

Every distribution draws by a JAX program, ``sample(key, n)``, and :func:`truth` gives the value of
a statistic under it. A :class:`Problem` draws features and a target for a learner.
"""

from jaxci.distributions.base import Distribution, Truth, observations, predictions
from jaxci.distributions.designs import Clustered, Stratified
from jaxci.distributions.empirical import Cells, Empirical, EmpiricalColumns, EmpiricalRows, EmpiricalTargets
from jaxci.distributions.files import distribution_from_dict, distribution_to_dict
from jaxci.distributions.kde import AdaptiveKDE
from jaxci.distributions.logit_kde import LogitKDE
from jaxci.distributions.models import GaussianClasses, RegressionErrors
from jaxci.distributions.parametric import FrozenLaw, Mixture, Parametric
from jaxci.distributions.problem_files import FileProblem
from jaxci.distributions.problem_registry import PROBLEMS, problem, problem_from_dict, problem_to_dict
from jaxci.distributions.problems import (
    BatesClassification,
    BatesRegression,
    Chen10,
    Covariance,
    Friedman1,
    HighDimensional,
    Problem,
)
from jaxci.distributions.truths import truth
from jaxci.distributions.user import UserDistribution, as_distribution

__all__ = [
    "PROBLEMS",
    "AdaptiveKDE",
    "BatesClassification",
    "BatesRegression",
    "Cells",
    "Chen10",
    "Clustered",
    "Covariance",
    "Distribution",
    "Empirical",
    "EmpiricalColumns",
    "EmpiricalRows",
    "EmpiricalTargets",
    "FileProblem",
    "Friedman1",
    "FrozenLaw",
    "GaussianClasses",
    "HighDimensional",
    "LogitKDE",
    "Mixture",
    "Parametric",
    "Problem",
    "RegressionErrors",
    "Stratified",
    "Truth",
    "UserDistribution",
    "as_distribution",
    "distribution_from_dict",
    "distribution_to_dict",
    "observations",
    "predictions",
    "problem",
    "problem_from_dict",
    "problem_to_dict",
    "truth",
]
