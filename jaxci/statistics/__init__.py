"""What is estimated: metrics and summaries as functions of observation weights."""

from jaxci.statistics.averaged import F1, FBeta, Jaccard, NegativePredictiveValue, Precision, Recall, Specificity
from jaxci.statistics.base import LinearStatistic, Statistic
from jaxci.statistics.class_ranking import AveragePrecisionMulticlass, RocAucMulticlass
from jaxci.statistics.classification import Accuracy, BalancedAccuracy, CohenKappa, ErrorRate, MatthewsCorrcoef
from jaxci.statistics.custom import WeightedFunction
from jaxci.statistics.order import IQR, Median, Quantile, TrimmedMean
from jaxci.statistics.probability import BrierScoreLoss, CalibrationError, LogLoss, RootMeanSquaredCalibrationError
from jaxci.statistics.ranking import AveragePrecision, RocAuc
from jaxci.statistics.regression import (
    R2,
    ExplainedVariance,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanSquaredError,
    MedianAbsoluteError,
    PearsonR,
    RootMeanSquaredError,
    SpearmanR,
)
from jaxci.statistics.sample import Sample
from jaxci.statistics.summary import Mean, Std, Variance
from jaxci.statistics.sums import Cells, Features

__all__ = [
    "F1",
    "IQR",
    "R2",
    "Accuracy",
    "AveragePrecision",
    "AveragePrecisionMulticlass",
    "BalancedAccuracy",
    "BrierScoreLoss",
    "CalibrationError",
    "Cells",
    "CohenKappa",
    "ErrorRate",
    "ExplainedVariance",
    "FBeta",
    "Features",
    "Jaccard",
    "LinearStatistic",
    "LogLoss",
    "MatthewsCorrcoef",
    "Mean",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "Median",
    "MedianAbsoluteError",
    "NegativePredictiveValue",
    "PearsonR",
    "Precision",
    "Quantile",
    "Recall",
    "RocAuc",
    "RocAucMulticlass",
    "RootMeanSquaredCalibrationError",
    "RootMeanSquaredError",
    "Sample",
    "SpearmanR",
    "Specificity",
    "Statistic",
    "Std",
    "TrimmedMean",
    "Variance",
    "WeightedFunction",
]
