"""Learners whose fit is a JAX program of observation weights."""

from jaxci.inducers.base import Fitted, Inducer, fit_predict
from jaxci.inducers.linear import Constant, Linear, Logistic, Ridge

__all__ = ["Constant", "Fitted", "Inducer", "Linear", "Logistic", "Ridge", "fit_predict"]
