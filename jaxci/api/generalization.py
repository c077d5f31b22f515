"""Intervals for the generalization error of a learner."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxci.api.arrays import as_array, as_floats, check_lengths
from jaxci.api.labels import encode_labels, is_classification
from jaxci.api.randomness import randomness
from jaxci.api.remarks import announce
from jaxci.api.validation import check_choice, check_confidence_level, shown
from jaxci.generalization import methods as formulas
from jaxci.generalization.losses import CLASSIFICATION, REGRESSION, split_losses
from jaxci.generalization.methods import LossInterval
from jaxci.inducers.base import Inducer
from jaxci.inducers.host import host_fit_predict
from jaxci.resampling import splits
from jaxci.resampling.plan import Plan
from jaxci.results import ConfidenceInterval, aligned, html_table, number

TARGETS = {
    "holdout": "risk of the model fitted on the training part",
    "cv_wald": "mean risk of the models of the folds",
    "corrected_t": "expected risk at the training size of the subsamples",
    "conservative_z": "expected risk at the training size of the subsamples",
    "five_by_two_cv": "expected risk at half the rows",
    "nested_cv": "risk of the model fitted on all rows",
    "replace_one_cv": "expected risk at half the rows",
    "oob_t": "risk of the models of the resamples",
    "oob_percentile": "risk of the models of the resamples",
}
SMALL = 100
"""Up to so many rows "auto" takes nested cross-validation."""


def default_plans(method: str, n: int, seed: int, classes: np.ndarray | None) -> list[Plan]:
    """Return the plans that a method needs, at its usual settings, stratified by ``classes`` where there are any."""
    rng = np.random.default_rng(seed)
    by: dict[str, Any] = {"stratify": classes}
    if method == "holdout":
        return [splits.holdout(n, 0.9, rng, **by)]
    if method == "cv_wald":
        return [splits.kfold(n, 10, rng, **by)]
    if method == "corrected_t":
        return [splits.subsampling(n, 0.9, 25, rng, **by)]
    if method == "conservative_z":
        return [splits.subsampling(n, 0.9, 10, rng, **by), splits.paired_subsampling(n, 0.9, 10, 10, rng, **by)]
    if method == "five_by_two_cv":
        return [splits.repeated_kfold(n, 2, 5, rng, **by)]
    if method == "nested_cv":
        return [splits.nested_cv(n, 5, 25, rng, **by)]
    if method == "replace_one_cv":
        return [splits.replace_one_cv(n, 5, rng, **by)]
    return [splits.bootstrap(n, 200, rng, **by)]


@dataclasses.dataclass(frozen=True, eq=False)
class GeneralizationResult:
    """An estimated generalization error with its interval.

    Attributes
    ----------
    estimate : float
    confidence_interval : ConfidenceInterval
    standard_error : float
    method, loss, target : str
        ``target`` says which risk the interval is for.
    confidence_level : float
    n, n_fits : int
        Rows, and models fitted.
    losses : (S, n) array
        Of the first plan; NaN where a split does not test a row.
    plan : Plan
    warnings : tuple of str
    """

    estimate: float
    confidence_interval: ConfidenceInterval
    standard_error: float
    method: str
    loss: str
    target: str
    confidence_level: float
    n: int
    n_fits: int
    losses: np.ndarray = dataclasses.field(repr=False)
    plan: Plan = dataclasses.field(repr=False)
    rng: Any = None
    warnings: tuple[str, ...] = ()

    def layout(self) -> tuple[list[str], list[list[str]]]:
        """Return header and cells of the printed table."""
        numbers = [self.estimate, *self.confidence_interval, self.standard_error]
        row = [self.loss, *(number(x) for x in numbers), str(self.n_fits), self.method]
        return ["loss", "estimate", "low", "high", "std. error", "fits", "method"], [row]

    def headline(self) -> str:
        """Return the line above the table."""
        return f"{100 * self.confidence_level:g}% confidence interval for the {self.target}, n = {self.n}"

    def __str__(self) -> str:
        return "\n".join([self.headline(), aligned(*self.layout()), *(f"warning: {w}" for w in self.warnings)])

    def _repr_html_(self) -> str:
        notes = "".join(f"<div>warning: {html.escape(text)}</div>" for text in self.warnings)
        return f"<div>{html.escape(self.headline())}</div>{html_table(*self.layout())}{notes}"


@dataclasses.dataclass(frozen=True, eq=False)
class ResampledFits:
    """Losses of all splits of some plans: fitted once, read by every method that knows one of the plans."""

    plans: Mapping[str, Plan]
    losses: Mapping[str, np.ndarray]
    loss: str
    n_fits: int
    rng: Any = None
    warnings: tuple[str, ...] = ()

    def interval(self, method: str, *, confidence_level: float = 0.95, **options: Any) -> GeneralizationResult:
        """Return the interval of one method; ``options`` are those of its formula.

        Raises
        ------
        ValueError
            If the method is unknown, or its plan was not fitted.
        """
        check_choice("method", method, TARGETS)
        level = check_confidence_level(confidence_level)
        wanted = [plan.name for plan in default_plans(method, 40, 0, None)]
        also = {"cv_wald": ["leave_one_out"], "replace_one_cv": ["repeated_replace_one_cv"]}.get(method, [])
        names = [next((n for n in (name, *also) if n in self.plans), name) for name in wanted]
        for name in names:
            if name not in self.plans:
                raise ValueError(f"{method} needs a plan {name!r}; there are {', '.join(self.plans)}")
        pairs = [part for name in names for part in (self.losses[name], self.plans[name])]
        found: LossInterval = getattr(formulas, method)(*pairs, level=level, **options)
        plan = self.plans[names[0]]
        return GeneralizationResult(
            found.estimate,
            ConfidenceInterval(found.low, found.high),
            found.standard_error,
            method,
            self.loss,
            TARGETS[method],
            level,
            plan.n,
            self.n_fits,
            self.losses[names[0]],
            plan,
            self.rng,
            self.warnings,
        )


def fit_resamples(
    inducer: Any, X: Any, y: Any, *, plans: Sequence[Plan], loss: str | None = None, rng: Any = None
) -> ResampledFits:
    """Fit a learner on every split of ``plans`` once, and keep the losses.

    Parameters
    ----------
    inducer : Inducer or scikit-learn estimator
        A learner of :mod:`jaxci.inducers` (all fits are one JAX program), or an estimator or
        pipeline of scikit-learn (fitted on the host, in parallel).
    X : (n, d) array_like
    y : (n,) array_like
        Targets or class labels.
    plans : sequence of Plan
        Of :mod:`jaxci.resampling.splits`, each with another name.
    loss : str, optional
        "zero_one", "log" or "brier" for classes; "squared" or "absolute" for targets. By default the
        first that suits.
    rng : int, numpy.random.Generator, JAX key or None

    Returns
    -------
    ResampledFits

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names it.
    """
    source = randomness(rng)
    features, targets, n_classes = _read(inducer, X, y)
    loss = loss or ("zero_one" if n_classes else "squared")
    check_choice("loss", loss, CLASSIFICATION if n_classes else REGRESSION)
    if not plans:
        raise ValueError("plans must hold at least one plan; got none")
    losses: dict[str, np.ndarray] = {}
    remarks: list[str] = []
    fits = 0
    for i, plan in enumerate(plans):
        if plan.n != len(targets):
            raise ValueError(f"plans must be for the {len(targets)} rows of y; {plan.name!r} has {plan.n}")
        if plan.name in losses:
            raise ValueError(f"plans must have different names; got {plan.name!r} twice")
        key = jax.random.fold_in(source.key, i)
        if isinstance(inducer, Inducer):
            found, good = split_losses(inducer, np.asarray(features), targets, plan, loss, key, n_classes)
        else:
            found, good = _host_losses(inducer, features, targets, plan, loss, int(jax.random.bits(key)), n_classes)
        if not good.all():
            remarks.append(f"{int((~good).sum())} of {len(good)} fits of the plan {plan.name!r} did not converge")
        losses[plan.name] = found
        fits += plan.n_fits
    announce(tuple(remarks))
    return ResampledFits({p.name: p for p in plans}, losses, loss, fits, source.record, tuple(remarks))


def _read(inducer: Any, X: Any, y: Any) -> tuple[Any, np.ndarray, int]:
    features = X if hasattr(X, "iloc") and not isinstance(inducer, Inducer) else as_floats("X", X, (2,))
    if isinstance(inducer, Inducer):
        task = inducer.task
    elif hasattr(inducer, "fit") and hasattr(inducer, "predict"):
        from sklearn.base import is_classifier

        task = "classification" if is_classifier(inducer) else "regression"
    else:
        raise TypeError(f"inducer must be of jaxci.inducers or scikit-learn; got {shown(inducer)}")
    by_label = task == "classification" or (task == "any" and is_classification(y))
    check_lengths({"X": len(features), "y": len(as_array("y", y))})
    if not by_label:
        return features, as_floats("y", y), 0
    codes, classes, _ = encode_labels({"y_true": y}, None, 1)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least 2 classes; got {classes.tolist()}")
    return features, codes["y_true"], len(classes)


def _host_losses(
    estimator: Any, X: Any, y: np.ndarray, plan: Plan, loss: str, seed: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    first, place = plan.fits
    predictions = host_fit_predict(estimator, X, y, plan.train_counts[first], n_classes, seed=seed)
    known = CLASSIFICATION if n_classes else REGRESSION
    return np.where(plan.test_mask, known[loss](y, predictions)[place], np.nan), np.ones(len(plan), bool)


def generalization_interval(
    inducer: Any,
    X: Any,
    y: Any,
    *,
    loss: str | None = None,
    method: str = "auto",
    plan: Plan | Sequence[Plan] | None = None,
    confidence_level: float = 0.95,
    rng: Any = None,
    **options: Any,
) -> GeneralizationResult:
    """Confidence interval for the generalization error of a learner.

    Parameters
    ----------
    inducer, X, y, loss, rng
        As in :func:`fit_resamples`.
    method : str
        "holdout", "cv_wald", "corrected_t", "conservative_z", "five_by_two_cv", "nested_cv",
        "replace_one_cv", "oob_t", "oob_percentile", or "auto": nested cross-validation up to 100
        rows, the corrected t interval above.
    plan : Plan or sequence of Plan, optional
        The plans of the method; by default at its usual settings, stratified by class.
    confidence_level : float
    **options
        Of the method's formula (``variance``, ``correction``, ``constant``).

    Returns
    -------
    GeneralizationResult

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names it.

    References
    ----------
    Schulz-Kuempel et al. (2024).

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> from jaxci.inducers import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 3))
    >>> y = X @ [1.0, 2.0, 0.0] + rng.normal(size=150)
    >>> result = jaxci.generalization_interval(Ridge(), X, y, rng=0)
    >>> result.method, result.n_fits, result.confidence_interval.low < 1 < result.confidence_interval.high
    ('corrected_t', 25, True)
    """
    check_choice("method", method, ("auto", *TARGETS))
    source = randomness(rng)
    _, targets, n_classes = _read(inducer, X, y)
    if method == "auto":
        method = "nested_cv" if len(targets) <= SMALL else "corrected_t"
    seed = int(jax.random.bits(jax.random.fold_in(source.key, len(TARGETS))))
    if plan is None:
        plans: Sequence[Plan] = default_plans(method, len(targets), seed, targets if n_classes else None)
    else:
        plans = [plan] if isinstance(plan, Plan) else list(plan)
    fits = fit_resamples(inducer, X, y, plans=plans, loss=loss, rng=source.record)
    return fits.interval(method, confidence_level=confidence_level, **options)
