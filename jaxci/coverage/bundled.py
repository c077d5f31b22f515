"""Studies that come with the package, and studies of the user's own values or logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.checks import nearest, shown
from jaxci.coverage.study import Study, read_toml
from jaxci.distributions import AdaptiveKDE, Distribution, LogitKDE
from jaxci.statistics.registry import statistic_by_name

DATA_KINDS = ("values", "logits")


def bundled_names() -> list[str]:
    """Return the names of the studies that come with the package.

    Examples
    --------
    >>> bundled_names()  # doctest: +NORMALIZE_WHITESPACE
    ['cards-calibration', 'cards-classes', 'cards-scores', 'cards-tables', 'cards-targets', 'cards-values',
     'classification', 'classifier-ci', 'generalization', 'generalization-paper', 'proportions', 'quantile-paper',
     'segmentation', 'summaries']
    """
    folder = resources.files("jaxci.coverage") / "studies"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _path(name: str) -> Path:
    if name not in bundled_names():
        raise ValueError(f"unknown study {name!r}: {nearest(name, bundled_names())}")
    return Path(str(resources.files("jaxci.coverage") / "studies" / f"{name}.toml"))


def load_study(source: str | Path, data: Mapping[str, Any] | None = None, **changes: Any) -> Any:
    """Return a study from a TOML file, or one that comes with the package.

    Parameters
    ----------
    source : str or path
        A file, or the name of a study of :func:`bundled_names`.
    data : dict, optional
        For "segmentation" and "classification", the user's instances by name: per-case values (n,),
        or a pair of logits (n, K) and class codes (n,). A distribution is fitted to each.
    **changes
        Fields to replace (``n_replications``, ``sample_sizes``, ``tags`` ...).

    Returns
    -------
    Study, ClassifierStudy or GeneralizationStudy

    Raises
    ------
    ValueError
        If there is no such study, it needs ``data`` and has none, or a field breaks its rule.

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
    if "classifier" in content:
        from jaxci.coverage.classifier import ClassifierStudy

        if data is not None:
            raise ValueError(f"{source} makes its own data; got data for {shown(list(data))}")
        return ClassifierStudy(**{**content["classifier"], **changes})
    if "generalization" in content:
        from jaxci.coverage.learner_study import GeneralizationStudy

        if data is not None:
            raise ValueError(f"{source} names its own problems; got data for {shown(list(data))}")
        return GeneralizationStudy.from_dict(content, **changes)
    wanted = content.pop("data", {}).get("kind")
    if wanted is not None:
        if not data:
            raise ValueError(f"the study {content.get('name', source)!r} needs data: {wanted} of instances by name")
        laws = _fitted(wanted, data)
        content["distributions"] = laws
        content["statistics"] = [name for name in content["statistics"] if _any_serves(laws, name)]
    elif data is not None:
        raise ValueError(f"{source} names its own distributions; got data for {shown(list(data))}")
    content.update(changes)
    if wanted is None:
        return Study.from_dict(content)
    return Study(**content)


def _any_serves(laws: Mapping[str, Distribution], name: str) -> bool:
    return any(Study.serves(law, statistic_by_name(name)) for law in laws.values())


def _fitted(kind: str, data: Mapping[str, Any]) -> dict[str, Distribution]:
    if kind == "logits":
        return {name: LogitKDE.fit(*pair) for name, pair in data.items()}
    if kind != "values":
        raise ValueError(f"data.kind must be one of {', '.join(DATA_KINDS)}; got {kind!r}")
    return {name: _kde(np.asarray(values, float)) for name, values in data.items()}


def _kde(values: np.ndarray) -> AdaptiveKDE:
    inside = values.size > 0 and values.min() >= 0 and values.max() <= 1
    return AdaptiveKDE.fit(values, (0.0, 1.0) if inside else (-np.inf, np.inf))


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
