"""Learners whose fit is a JAX program of observation weights."""

from jaxci.inducers.base import Fitted, Inducer, Plane, fit_predict
from jaxci.inducers.boosting import Boosting
from jaxci.inducers.contract import check_inducer
from jaxci.inducers.forest import Forest
from jaxci.inducers.lasso import ElasticNet, Lasso
from jaxci.inducers.linear import Constant, Linear, Ridge
from jaxci.inducers.logistic import Logistic
from jaxci.inducers.mlp import MLP
from jaxci.inducers.registry import INDUCERS, as_inducer, inducer
from jaxci.inducers.tree import Tree
from jaxci.inducers.tuned import Tuned

__all__ = [
    "INDUCERS",
    "MLP",
    "Boosting",
    "Constant",
    "ElasticNet",
    "Fitted",
    "Forest",
    "Inducer",
    "Lasso",
    "Linear",
    "Logistic",
    "Plane",
    "Ridge",
    "Tree",
    "Tuned",
    "as_inducer",
    "check_inducer",
    "fit_predict",
    "inducer",
]
