"""Learners whose fit is a JAX program of observation weights."""

from jaxci.inducers.base import Fitted, Inducer, fit_predict
from jaxci.inducers.lasso import ElasticNet, Lasso
from jaxci.inducers.linear import Constant, Linear, Ridge
from jaxci.inducers.logistic import Logistic
from jaxci.inducers.mlp import MLP
from jaxci.inducers.tuned import Tuned

__all__ = [
    "MLP",
    "Constant",
    "ElasticNet",
    "Fitted",
    "Inducer",
    "Lasso",
    "Linear",
    "Logistic",
    "Ridge",
    "Tuned",
    "fit_predict",
]
