"""Intervals for the generalization error of a learner, from the losses of resampled fits."""

from jaxci.generalization.methods import (
    LossInterval,
    conservative_z,
    corrected_t,
    cv_wald,
    five_by_two_cv,
    holdout,
    nested_cv,
    oob_percentile,
    oob_t,
    replace_one_cv,
)

__all__ = [
    "LossInterval",
    "conservative_z",
    "corrected_t",
    "cv_wald",
    "five_by_two_cv",
    "holdout",
    "nested_cv",
    "oob_percentile",
    "oob_t",
    "replace_one_cv",
]
