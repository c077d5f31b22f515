"""How each library of ``peers.py`` is asked: what a user of it would type, in its fastest form that we know.

A library that takes functions gets the same NumPy functions as every other one (the mean of the losses for the Brier
score, counts of one code a row for metrics of labels), and scikit-learn's areas and precisions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from peers_cases import SIX, TWELVE, Case, macro_f1_of_codes, macro_f1_of_columns, six_of_codes, six_of_columns

Ends = dict[str, tuple[float, float]]
Data = dict[str, np.ndarray]
LEVELS = [0.025, 0.975]


@dataclass(frozen=True)
class Call:
    """Forms of one request, called with the number of resamples; ``fixed``: that number changes nothing."""

    forms: list[Callable[[int], Ends]]
    fixed: bool = False
    draws: bool = True  # whether ends have a Monte-Carlo error
    compiles: bool = False  # whether another number of resamples is another program
    note: str = ""


@dataclass(frozen=True)
class Peer:
    """A library: its module, the package that has it, and what it does for a case (nothing: it has no such thing)."""

    module: str
    package: str
    call: Callable[[Case, Data], Call | None]
    options: dict[str, Any] = field(default_factory=dict)


def one(function: Callable[[int], Ends], **options: Any) -> Call:
    return Call([function], **options)


def named(case: Case, low: Any, high: Any) -> Ends:
    names = SIX if case.statistic == "cells" else (case.statistic,)
    return {
        name: (float(a), float(b))
        for name, a, b in zip(names, np.atleast_1d(np.asarray(low)), np.atleast_1d(np.asarray(high)), strict=True)
    }


def column(case: Case, data: Data) -> tuple[np.ndarray, Callable] | None:
    """One array to be resampled and a function of it, for libraries that take any; none for two columns."""
    if case.statistic == "mean":
        return data["x"], np.mean
    if case.statistic == "brier":
        return (data["score"] - data["y"]) ** 2, np.mean
    if case.statistic == "cells":
        return (2 * data["y"] + data["p"]).astype(np.uint8), six_of_codes
    if case.statistic == "f1_macro":
        return (8 * data["y"] + data["p"]).astype(np.uint8), macro_f1_of_codes
    return None


def area(case: Case) -> Callable[[np.ndarray, np.ndarray], float]:
    metrics = importlib.import_module("sklearn.metrics")
    return {"roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score}[case.statistic]


def quotient(top: np.ndarray, bottom: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.sum(top, axis=axis) / np.sum(bottom, axis=axis)


# --- jaxci ------------------------------------------------------------------------------------------

KNOWN_LAWS = ("mean", "brier", "ratio", "cells")


def jaxci(case: Case, data: Data, drawn: bool) -> Call | None:
    import jaxci

    def resamples(b: int) -> dict[str, Any]:
        return {"n_resamples": b, "rng": 1} if drawn else {"rng": 1}

    def table(rows: Any) -> Ends:
        return {row.statistic: tuple(float(end) for end in row.confidence_interval) for row in rows}

    if case.statistic == "evaluate":
        metrics = list(TWELVE) if data["score"].ndim == 2 else None
        columns = (data["y"], data["p"], data["score"])
        given = {"metrics": metrics, "groups": data["groups"], "rng": 1}
        return None if drawn else one(lambda b: table(jaxci.evaluate(*columns, **given)), fixed=True)
    if not drawn and case.statistic not in KNOWN_LAWS:
        return None

    def ends(b: int) -> Ends:
        given = {"method": case.method, **resamples(b)}
        if case.statistic == "cells":
            return table(jaxci.evaluate(data["y"], data["p"], metrics=list(SIX), **given))
        if case.statistic == "mean":
            row = jaxci.interval("mean", data["x"], **given)
        elif case.statistic == "ratio":
            row = jaxci.interval("mean", data["x"], sample_weight=data["weight"], **given)
        elif case.statistic == "f1_macro":
            row = jaxci.interval("f1_macro", data["y"], data["p"], **given)
        else:
            name = "brier_score_loss" if case.statistic == "brier" else case.statistic
            row = jaxci.interval(name, data["y"], data["score"], **given)
        return named(case, row.confidence_interval.low, row.confidence_interval.high)

    some = case.statistic == "cells" and not drawn
    known = "exact where the law is known: accuracy, F1, precision, recall, balanced accuracy of 10^4 rows"
    note = f"{known}; drawn: the others" if some else ""
    return one(ends, fixed=not drawn, draws=drawn or some, compiles=True, note=note)


# --- SciPy, scikit-learn, confidenceinterval --------------------------------------------------------


def scipy(case: Case, data: Data) -> Call | None:
    from scipy import stats

    method = "BCa" if case.method == "bca" else "percentile"

    def form(sample: tuple, statistic: Callable, batch: int, **options: Any) -> Callable[[int], Ends]:
        def ends(b: int) -> Ends:
            given = {"n_resamples": b, "batch": batch, "method": method, "rng": 1, **options}
            found = stats.bootstrap(sample, statistic, **given).confidence_interval
            return named(case, found.low, found.high)

        return ends

    def counted(codes: np.ndarray, axis: int = -1) -> np.ndarray:
        from peers_cases import six_of_counts

        return six_of_counts(np.stack([np.sum(codes == k, axis=axis) for k in range(4)], axis=-1))

    batches = sorted({max(1, size // case.n) for size in (2 * 10**4, 10**6, 10**7)})
    note = "the fastest of batches of " + ", ".join(f"{batch:,}" for batch in batches)
    if case.statistic in ("roc_auc", "average_precision"):
        metric = area(case)

        def score(rows: np.ndarray) -> float:
            return metric(data["y"][rows], data["score"][rows])

        return one(form((np.arange(case.n),), score, 100, vectorized=False), note="scikit-learn's metric")
    if case.statistic == "ratio":
        sample = (data["x"] * data["weight"], data["weight"])
        return Call([form(sample, quotient, batch, paired=True, vectorized=True) for batch in batches], note=note)
    found = column(case, data)
    assert found is not None
    if case.statistic == "f1_macro":
        return one(form((found[0],), found[1], 100, vectorized=False))
    function = counted if case.statistic == "cells" else np.mean
    return Call([form((found[0],), function, batch, vectorized=True) for batch in batches], note=note)


def scipy_columns(case: Case, data: Data) -> Call | None:
    """SciPy with vectorised NumPy on the two columns, as its documentation has functions of several samples."""
    from scipy import stats

    if case.statistic not in ("cells", "f1_macro"):
        return None
    function, columns = (
        {"cells": six_of_columns, "f1_macro": macro_f1_of_columns}[case.statistic],
        (data["y"], data["p"]),
    )

    def form(batch: int) -> Callable[[int], Ends]:
        def ends(b: int) -> Ends:
            given = {"n_resamples": b, "batch": batch, "method": "percentile", "rng": 1}
            found = stats.bootstrap(columns, function, paired=True, vectorized=True, **given).confidence_interval
            return named(case, found.low, found.high)

        return ends

    batches = sorted({max(1, size // case.n) for size in (2 * 10**4, 10**6, 10**7)})
    note = "functions of two columns; the fastest of batches of " + ", ".join(f"{batch:,}" for batch in batches)
    return Call([form(batch) for batch in batches], note=note)


def sklearn(case: Case, data: Data) -> Call | None:
    metrics = importlib.import_module("sklearn.metrics")
    functions = {
        "brier": [metrics.brier_score_loss],
        "roc_auc": [metrics.roc_auc_score],
        "average_precision": [metrics.average_precision_score],
        "f1_macro": [lambda y, p: metrics.f1_score(y, p, average="macro")],
        "cells": [
            *(metrics.accuracy_score, metrics.balanced_accuracy_score, metrics.f1_score),
            *(metrics.precision_score, metrics.recall_score, metrics.matthews_corrcoef),
        ],
    }
    if case.statistic not in functions:
        return None
    chosen, y = functions[case.statistic], data["y"]
    other = data["p"] if case.statistic in ("cells", "f1_macro") else data["score"]

    def ends(b: int) -> Ends:
        rng, values = np.random.default_rng(1), np.empty((b, len(chosen)))
        for i in range(b):
            rows = rng.integers(0, case.n, case.n)
            values[i] = [function(y[rows], other[rows]) for function in chosen]
        return named(case, *np.quantile(values, LEVELS, axis=0))

    return one(ends)


def confidenceinterval(case: Case, data: Data) -> Call | None:
    import confidenceinterval as library

    if case.statistic not in ("cells", "roc_auc", "f1_macro"):
        return None

    def ends(b: int) -> Ends:
        given = {"method": "bootstrap_percentile", "n_resamples": b}
        if case.statistic == "roc_auc":
            return {"roc_auc": library.roc_auc_score(data["y"], data["score"], **given)[1]}
        labels = (data["y"], data["p"])
        if case.statistic == "f1_macro":
            return {"f1_macro": library.f1_score(*labels, average="macro", **given)[1]}
        return {
            "accuracy": library.accuracy_score(*labels, **given)[1],
            "f1": library.f1_score(*labels, average="binary", **given)[1],
            "precision": library.precision_score(*labels, average="binary", **given)[1],
            "recall": library.recall_score(*labels, average="binary", **given)[1],
        }

    return one(ends, note="four of the six, in four calls" if case.statistic == "cells" else "")


# --- arch, foostrap, bootstrapx ---------------------------------------------------------------------


def arch(case: Case, data: Data) -> Call | None:
    from arch.bootstrap import IIDBootstrap

    if case.statistic in ("roc_auc", "average_precision"):
        sample, function = (data["y"], data["score"]), area(case)
    elif case.statistic == "ratio":
        sample, function = (data["x"] * data["weight"], data["weight"]), quotient
    else:
        found = column(case, data)
        assert found is not None
        sample, function = (found[0],), found[1]

    def ends(b: int) -> Ends:
        low, high = IIDBootstrap(*sample, seed=1).conf_int(function, reps=b, method=case.method, size=0.95)
        return named(case, low, high)

    return one(ends)


def foostrap(case: Case, data: Data) -> Call | None:
    from foostrap import foostrap as bootstrap

    if case.statistic in ("mean", "brier"):
        found = column(case, data)
        assert found is not None
        sample, statistic = found[0], "mean"
    elif case.statistic == "ratio":
        sample, statistic = np.column_stack([data["x"] * data["weight"], data["weight"]]), "ratio"
    else:
        return None
    method = "BCa" if case.method == "bca" else "percentile"

    def ends(b: int) -> Ends:
        given = {"statistic": statistic, "boot_samples": b, "ci_method": method, "random_state": 1}
        return named(case, *bootstrap(sample, **given).ci)

    return one(ends)


def bootstrapx(case: Case, data: Data) -> Call | None:
    from bootstrapx import bootstrap

    rows = np.arange(case.n)  # come back as floats
    vectorized = case.statistic in ("mean", "brier")
    if case.statistic in ("roc_auc", "average_precision"):
        metric = area(case)
        sample, functions = rows, [lambda i: metric(data["y"][i.astype(np.intp)], data["score"][i.astype(np.intp)])]
    elif case.statistic == "ratio":
        top, bottom = data["x"] * data["weight"], data["weight"]
        sample, functions = rows, [lambda i: top[i.astype(np.intp)].sum() / bottom[i.astype(np.intp)].sum()]
    else:
        found = column(case, data)
        assert found is not None
        sample, functions = found[0], [found[1]]
        if case.statistic == "cells":  # takes functions of one value alone
            functions = [lambda codes, j=j: six_of_codes(codes.astype(np.uint8))[j] for j in range(6)]
        elif case.statistic == "f1_macro":
            functions = [lambda codes: macro_f1_of_codes(codes.astype(np.uint8))]

    def ends(b: int, vectorized: bool) -> Ends:
        given = {"method": case.method, "n_resamples": b, "random_state": 1, "vectorized": vectorized}
        found = [bootstrap(sample, function, **given).confidence_interval for function in functions]
        return named(case, [interval.low for interval in found], [interval.high for interval in found])

    forms = [lambda b, v=v: ends(b, v) for v in ((False, True) if vectorized else (False,))]
    return Call(forms, note="six calls" if len(functions) == 6 else "")


# --- rapidstats, torchmetrics -----------------------------------------------------------------------


def rapidstats(case: Case, data: Data, poisson: bool) -> Call | None:
    import rapidstats as library

    method = "BCa" if case.method == "bca" else "percentile"
    if poisson and case.statistic in ("ratio", "f1_macro", "average_precision"):
        return None  # drawn the other way or not at all

    def ends(b: int) -> Ends:
        sampling = "poisson" if poisson else "multinomial"
        asked = library.Bootstrap(iterations=b, method=method, seed=1, sampling_method=sampling)
        if case.statistic == "mean":
            found = asked.mean(data["x"])
        elif case.statistic == "brier":
            found = asked.brier_loss(data["y"], data["score"])
        elif case.statistic == "roc_auc":
            found = asked.roc_auc(data["y"], data["score"])
        elif case.statistic == "average_precision":
            found = asked.average_precision(data["y"], data["score"])
        elif case.statistic == "cells":
            all_of = asked.confusion_matrix(data["y"], data["p"])
            names = ("acc", "balanced_accuracy", "fbeta", "precision", "tpr", "mcc")
            low, _, high = zip(*(getattr(all_of, name) for name in names), strict=True)
            return named(case, low, high)
        else:
            import polars

            if case.statistic == "ratio":
                frame = polars.DataFrame({"top": data["x"] * data["weight"], "bottom": data["weight"]})
                found = asked.run(frame, lambda rows: rows["top"].sum() / rows["bottom"].sum())
            else:
                frame = polars.DataFrame({"code": (8 * data["y"] + data["p"]).astype(np.uint8)})
                found = asked.run(frame, lambda rows: macro_f1_of_codes(rows["code"].to_numpy()))
        return named(case, found[0], found[2])

    return one(ends)


def torchmetrics(case: Case, data: Data) -> Call | None:
    import torch
    import torchmetrics as library
    from torchmetrics import classification
    from torchmetrics.wrappers import BootStrapper

    if case.method == "bca" or case.statistic == "ratio":
        return None
    tensors = {name: torch.as_tensor(values) for name, values in data.items() if values.dtype.kind in "fi"}
    made: dict[str, tuple[Callable[[], Any], tuple]] = {
        "mean": (library.MeanMetric, ("x",)),
        "brier": (library.MeanSquaredError, ("score", "y")),
        "cells": (classification.BinaryConfusionMatrix, ("p", "y")),
        "roc_auc": (classification.BinaryAUROC, ("score", "y")),
        "average_precision": (classification.BinaryAveragePrecision, ("score", "y")),
        "f1_macro": (lambda: classification.MulticlassF1Score(8, average="macro"), ("p", "y")),
    }
    metric, names = made[case.statistic]

    def ends(b: int) -> Ends:
        from peers_cases import six_of_counts

        torch.manual_seed(1)
        base = metric().set_dtype(torch.float64)
        asked = BootStrapper(base, num_bootstraps=b, mean=False, std=False, raw=True, sampling_strategy="multinomial")
        asked.update(*(tensors[name] for name in names))
        raw = asked.compute()["raw"].numpy()
        if case.statistic == "cells":
            raw = six_of_counts(raw.reshape(b, 4)).T
        return named(case, *np.quantile(raw, LEVELS, axis=0))

    return one(ends)


PEERS = {
    "jaxci (exact)": Peer("jaxci", "jaxci", lambda case, data: jaxci(case, data, drawn=False)),
    "jaxci (drawn)": Peer("jaxci", "jaxci", lambda case, data: jaxci(case, data, drawn=True)),
    "SciPy": Peer("scipy", "scipy", scipy),
    "SciPy (columns)": Peer("scipy", "scipy", scipy_columns),
    "scikit-learn loop": Peer("sklearn", "scikit-learn", sklearn),
    "confidenceinterval": Peer("confidenceinterval", "confidenceinterval", confidenceinterval),
    "arch": Peer("arch", "arch", arch),
    "foostrap": Peer("foostrap", "foostrap", foostrap),
    "bootstrapx": Peer("bootstrapx", "bootstrapx-lib", bootstrapx),
    "rapidstats": Peer("rapidstats", "rapidstats", lambda case, data: rapidstats(case, data, poisson=False)),
    "rapidstats (Poisson)": Peer("rapidstats", "rapidstats", lambda case, data: rapidstats(case, data, poisson=True)),
    "torchmetrics": Peer("torchmetrics", "torchmetrics", torchmetrics),
}
"""Peers by the name they have in the table."""
