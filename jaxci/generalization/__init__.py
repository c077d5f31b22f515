"""Intervals for the generalization error of a learner, from the losses of resampled fits."""

from jaxci.generalization.base import LossInterval, Resampled
from jaxci.generalization.bootstrapping import (
    bootstrap_632,
    bootstrap_632_plus,
    bootstrap_case_cv,
    location_shifted_bootstrap,
    oob,
    oob_percentile,
    oob_t,
    two_stage_bootstrap,
)
from jaxci.generalization.losses import LOSSES
from jaxci.generalization.registry import METHODS
from jaxci.generalization.splitting import (
    combined_five_by_two_cv,
    conservative_z,
    corrected_t,
    cv_wald,
    five_by_two_cv,
    holdout,
    nested_cv,
    replace_one_cv,
)

__all__ = [
    "LOSSES",
    "METHODS",
    "LossInterval",
    "Resampled",
    "bootstrap_632",
    "bootstrap_632_plus",
    "bootstrap_case_cv",
    "combined_five_by_two_cv",
    "conservative_z",
    "corrected_t",
    "cv_wald",
    "five_by_two_cv",
    "holdout",
    "location_shifted_bootstrap",
    "nested_cv",
    "oob",
    "oob_percentile",
    "oob_t",
    "replace_one_cv",
    "two_stage_bootstrap",
]
