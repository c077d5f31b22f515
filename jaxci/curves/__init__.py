"""Curves of scores with bands: of rates, of precision, of calibration, of net benefit; and comparisons of two."""

from jaxci.curves.results import CurveComparison, CurveResult
from jaxci.curves.verbs import calibration, compare, decision, precision_recall, roc

__all__ = ["CurveComparison", "CurveResult", "calibration", "compare", "decision", "precision_recall", "roc"]
