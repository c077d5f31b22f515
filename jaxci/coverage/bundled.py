"""Studies that come with the package, and studies of the user's own values or logits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.checks import check_choice, check_keys, nearest, shown
from jaxci.coverage.entries import naming_lines, read_statistic, read_toml
from jaxci.coverage.store import Store
from jaxci.coverage.study import Study
from jaxci.distributions import AdaptiveKDE, Distribution, LogitKDE
from jaxci.statistics.base import Statistic
from jaxci.statistics.registry import name_of
from jaxci.statistics.summary import Mean

DATA_KINDS = ("values", "logits")


def bundled_names() -> list[str]:
    """Return the names of the studies that come with the package.

    Examples
    --------
    >>> bundled_names()  # doctest: +NORMALIZE_WHITESPACE
    ['cards-calibration', 'cards-classes', 'cards-clusters-scores', 'cards-clusters-tables', 'cards-clusters-values',
     'cards-scores', 'cards-tables', 'cards-targets', 'cards-values', 'classification', 'classifier-ci',
     'generalization', 'generalization-paper', 'proportions', 'quantile-paper', 'segmentation', 'summaries']
    """
    folder = resources.files("jaxci.coverage") / "studies"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _path(name: str) -> Path:
    if name not in bundled_names():
        raise ValueError(f"unknown study {name!r}: {nearest(name, bundled_names())}")
    return Path(str(resources.files("jaxci.coverage") / "studies" / f"{name}.toml"))


def load_study(
    source: str | Path,
    data: Mapping[str, Any] | None = None,
    bounds: Sequence[float] | None = None,
    **changes: Any,
) -> Any:
    """Return a study from a TOML file, or one that comes with the package.

    Parameters
    ----------
    source : str or path
        A file, or the name of a study of :func:`bundled_names`.
    data : dict, optional
        For "segmentation" and "classification", the user's instances by name: per-case values (n,),
        or a pair of logits (n, K) and class codes (n,). A distribution is fitted to each.
    bounds : (low, high), optional
        Range that the values can have, of all instances: distributions keep within it, and means are of values with
        these bounds. By default that of the file (``data.bounds``); without any, distributions of values that all lie
        within [0, 1] keep within that.
    **changes
        Fields to replace (``n_replications``, ``sample_sizes``, ``tags`` ...).

    Returns
    -------
    Study, ClassifierStudy or GeneralizationStudy

    Raises
    ------
    ValueError
        If there is no such study, it needs ``data`` and has none, a value lies beyond the bounds, or a field breaks its
        rule.

    Examples
    --------
    >>> import numpy as np
    >>> dice = np.random.default_rng(0).beta(8, 2, 100)
    >>> study = load_study("segmentation", {"model a": dice}, sample_sizes=[10], n_replications=100)
    >>> study.cell_names()
    ('model a, n=10',)
    """
    path = Path(source) if Path(source).suffix == ".toml" or Path(source).exists() else _path(str(source))
    content = read_toml(path)
    with naming_lines(path):
        return _made(source, content, data, bounds, changes)


def _made(
    source: str | Path,
    content: dict[str, Any],
    data: Mapping[str, Any] | None,
    bounds: Sequence[float] | None,
    changes: Mapping[str, Any],
) -> Any:
    if "classifier" in content:
        from jaxci.coverage.classifier import ClassifierStudy

        _refuse_data(f"{source} makes its own data", data, bounds)
        check_keys("a study of a classifier", content, (), ("name", "classifier"))
        fields = [f.name for f in dataclasses.fields(ClassifierStudy)]
        check_keys("classifier", {**content["classifier"], **changes}, (), fields)
        return ClassifierStudy(**{**content["classifier"], **changes})
    if "generalization" in content:
        from jaxci.coverage.learner_study import GeneralizationStudy

        _refuse_data(f"{source} names its own problems", data, bounds)
        check_keys("a study of learners", content, (), ("name", "generalization"))
        return GeneralizationStudy.from_dict(content, **changes)
    described = content.pop("data", {})
    check_keys("data", described, (), ("kind", "bounds"))
    wanted = described.get("kind")
    if wanted is not None:
        if not data:
            raise ValueError(f"the study {content.get('name', source)!r} needs data: {wanted} of instances by name")
        mean = _mean(wanted, described.get("bounds") if bounds is None else bounds)
        laws = _fitted(wanted, data, mean.bounds)
        content["distributions"] = laws
        named = [read_statistic(entry) for entry in content["statistics"]]
        named = [(name, mean if name_of(statistic) == "mean" else statistic) for name, statistic in named]
        content["statistics"] = [(name, statistic) for name, statistic in named if _any_serves(laws, statistic)]
    else:
        _refuse_data(f"{source} names its own distributions", data, bounds)
    content.update(changes)
    if wanted is None:
        return Study.from_dict(content)
    Study.check_fields(content)
    return Study(**content)


def study_in(folder: str | Path) -> Any:
    """Return the study whose results a folder holds, as its manifest describes it.

    Raises
    ------
    ValueError
        If there is no manifest or it is damaged, or the study has a distribution or function of the user's own.
    """
    content = Store(Path(folder)).description()
    if "classifier" in content:
        from jaxci.coverage.classifier import ClassifierStudy

        return ClassifierStudy(**content["classifier"])
    if "generalization" in content:
        from jaxci.coverage.learner_study import GeneralizationStudy

        return GeneralizationStudy.from_dict(content)
    try:
        return Study.from_dict(content)
    except ValueError as error:
        raise ValueError(f"{folder}: the study cannot be made again from its manifest: {error}") from None


def _refuse_data(why: str, data: Mapping[str, Any] | None, bounds: Any) -> None:
    if data is not None:
        raise ValueError(f"{why}; got data for {shown(list(data))}")
    if bounds is not None:
        raise ValueError(f"{why}; got bounds {shown(bounds)}")


def _any_serves(laws: Mapping[str, Distribution], statistic: Statistic) -> bool:
    return any(Study.serves(law, statistic) for law in laws.values())


def _mean(kind: str, bounds: Any) -> Mean:
    """Return the mean of values with ``bounds``, if there are any."""
    if bounds is None:
        return Mean()
    if kind != "values":
        raise ValueError(f"bounds are those of values, and the study reads {kind}; got {shown(bounds)}")
    return Mean(bounds=bounds)


def _fitted(kind: str, data: Mapping[str, Any], bounds: tuple[float, float]) -> dict[str, Distribution]:
    check_choice("data.kind", kind, DATA_KINDS)
    found: dict[str, Distribution] = {}
    for name, given in data.items():
        try:
            found[name] = LogitKDE.fit(*given) if kind == "logits" else AdaptiveKDE.of_cases(given, bounds)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def instances(
    columns: Mapping[str, np.ndarray], by: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, str]]]:
    """Return the rows (indices) of every instance by its name, and its tags, from the columns ``by``."""
    size = len(next(iter(columns.values())))
    if not by:
        return {"all": np.arange(size)}, {}
    labels = [np.asarray([str(x) for x in columns[name]]) for name in by]
    rows: dict[str, list[int]] = {}
    tags: dict[str, dict[str, str]] = {}
    for i, parts in enumerate(zip(*labels, strict=True)):
        name = ", ".join(parts)
        rows.setdefault(name, []).append(i)
        tags.setdefault(name, dict(zip(by, parts, strict=True)))
    return {name: np.array(found) for name, found in rows.items()}, tags
