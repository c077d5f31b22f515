"""Studies that come with the package, and studies of the user's own values or logits."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.checks import check_choice, check_keys, check_table, nearest, shown
from jaxci.coverage.entries import naming_lines, read_statistics, read_toml, size_tables
from jaxci.coverage.instance_files import read_instances
from jaxci.coverage.store import Store
from jaxci.coverage.study import Study
from jaxci.coverage.unjudged import serves
from jaxci.distributions import AdaptiveKDE, Distribution, Empirical, LogitKDE
from jaxci.distributions.kde import checked_within
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


def bundled_summaries() -> dict[str, str]:
    """Return what each study that comes with the package is about: the first sentence of its file."""
    found = {}
    for name in bundled_names():
        lines = itertools.takewhile(lambda line: line.startswith("#"), _path(name).read_text("utf-8").splitlines())
        text = " ".join(line.lstrip("# ").strip() for line in lines)
        found[name] = re.split(r"(?<=[a-z0-9)])\. (?=[A-Z])", text)[0].rstrip(".")
    return found


def study_path(source: str | Path) -> Path:
    """Return the file of a study: that named, or that of a study which comes with the package."""
    return Path(source) if Path(source).suffix == ".toml" or Path(source).is_file() else _path(str(source))


def _path(name: str) -> Path:
    if name not in bundled_names():
        raise ValueError(f"unknown study {name!r}: {nearest(name, bundled_names())}")
    return Path(str(resources.files("jaxci.coverage") / "studies" / f"{name}.toml"))


def load_study(
    source: str | Path,
    data: Mapping[str, Any] | None = None,
    bounds: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    discrete: Sequence[str] | None = None,
    **changes: Any,
) -> Any:
    """Return a study from a TOML file, or one that comes with the package.

    Parameters
    ----------
    source : str or path
        A file, or the name of a study of :func:`bundled_names`.
    data : dict, optional
        By default that in ``data.file``, a file beside the study file which ``jaxci study new`` writes.
        For "segmentation" and "classification", the user's instances by name: per-case values (n,),
        or a pair of logits (n, K) and class codes (n,). A distribution is fitted to each.
    bounds : (low, high), or dict of str to such a pair, optional
        Range that the values can have, of all instances or by metric: distributions keep within it, and means are of
        values with these bounds. The metric of an instance is its tag "metric", or its name; case and punctuation do
        not count. By default, and for metrics that are not named, those of the file (``data.bounds``: "segmentation"
        knows Dice, IoU, NSD, ASSD, MASD, HD, HD95 and others); without any, distributions of values that all lie within
        [0, 1] keep within that.
    discrete : sequence of str, optional
        Metrics whose values are drawn as they were seen, with replacement, instead of from a kernel estimate; by
        default those of the file (``data.discrete``: "segmentation" has HD and HD95).
    **changes
        Fields to replace (``n_replications``, ``sample_sizes``, ``tags`` ...). Given sample sizes are all sizes, and
        given numbers of replications and resamples are those of all sizes, also where the file has ``more_sizes``.

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
    path = study_path(source)
    content = read_toml(path)
    with naming_lines(path):
        if data is None and isinstance(content.get("data"), Mapping) and "file" in content["data"]:
            data = read_instances(path.parent / content["data"]["file"])
        return _made(source, content, data, {"bounds": bounds, "discrete": discrete}, changes)


def _made(
    source: str | Path,
    content: dict[str, Any],
    data: Mapping[str, Any] | None,
    told: Mapping[str, Any],
    changes: Mapping[str, Any],
) -> Any:
    if "classifier" in content:
        from jaxci.coverage.classifier import ClassifierStudy

        _refuse_data(f"{source} makes its own data", data, told)
        check_keys("a study of a classifier", content, (), ("name", "classifier"))
        fields = [f.name for f in dataclasses.fields(ClassifierStudy)]
        given = {**check_table("classifier", content["classifier"]), **changes}
        check_keys("classifier", given, (), fields)
        return ClassifierStudy(**given)
    if "generalization" in content:
        from jaxci.coverage.learner_study import GeneralizationStudy

        _refuse_data(f"{source} names its own problems", data, told)
        check_keys("a study of learners", content, (), ("name", "generalization"))
        return GeneralizationStudy.from_dict(content, **changes)
    described = check_table("data", content.pop("data", {}))
    check_keys("data", described, (), ("kind", "file", "bounds", "discrete"))
    kind = described.get("kind")
    content = _changed(content, changes)
    if kind is None:
        _refuse_data(f"{source} names its own distributions", data, told)
        return Study.from_dict(content)
    if not data:
        raise ValueError(
            f"the study {content.get('name', source)!r} needs data: {kind} of instances by name, or a file "
            "that 'jaxci study new' writes"
        )
    check_choice("data.kind", kind, DATA_KINDS)
    if kind == "logits":
        _refuse_told("bounds and kinds are those of values, and the study reads logits", told)
        content["distributions"] = {name: _named(name, LogitKDE.fit, *given) for name, given in data.items()}
    else:
        metrics = {name: content.get("tags", {}).get(name, {}).get("metric", name) for name in data}
        kinds = MetricKinds.of(described, told, metrics.values())
        content["distributions"] = {name: _named(name, kinds.law, metrics[name], data[name]) for name in data}
        if kinds.everywhere is None or kinds.ranges:
            known = {name: kinds.bounds_of(metric) for name, metric in metrics.items()}
            content["bounds"] = {name: ends for name, ends in known.items() if ends is not None}
        elif "statistics" not in changes:
            mean = Mean(bounds=kinds.everywhere)
            named = read_statistics(content["statistics"])
            content["statistics"] = [(name, mean if name_of(one) == "mean" else one) for name, one in named]
    if "statistics" not in changes:
        laws = content["distributions"].values()
        named = read_statistics(content["statistics"])
        content["statistics"] = [(name, one) for name, one in named if any(serves(law, one) for law in laws)]
    Study.check_fields(content)
    return Study(**content)


def _changed(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a design with ``changes``, which are of all sample sizes."""
    further = [
        {key: value for key, value in entry.items() if key not in changes}
        for entry in size_tables(content.get("more_sizes", ()))
    ]
    kept = [] if "sample_sizes" in changes else further
    return {**content, **({"more_sizes": kept} if "more_sizes" in content else {}), **changes}


@dataclasses.dataclass(frozen=True)
class MetricKinds:
    """Range and kind of per-case values by the name of their metric.

    Attributes
    ----------
    ranges : dict of str to (low, high)
        By :func:`plain_name`.
    everywhere : (low, high) or None
        Range of all metrics, whatever their names.
    discrete : frozenset of str
        Metrics whose values are drawn as they were seen, by :func:`plain_name`.
    """

    ranges: Mapping[str, tuple[float, float]]
    everywhere: tuple[float, float] | None
    discrete: frozenset[str]

    @classmethod
    def of(cls, described: Mapping[str, Any], told: Mapping[str, Any], metrics: Iterable[str]) -> MetricKinds:
        """Return the kinds of a design's table ``data``, and what the user says beside it of ``metrics``."""
        known = list(dict.fromkeys(metrics))
        ranges: dict[str, tuple[float, float]] = {}
        everywhere = None
        for given, own in ((described.get("bounds"), False), (told["bounds"], True)):
            if given is None:
                continue
            if not isinstance(given, Mapping):
                everywhere, ranges = Mean(bounds=given).bounds, {}
                continue
            if own:
                _check_metrics("bounds", given, known)
            ranges |= {plain_name(name): Mean(bounds=ends).bounds for name, ends in given.items()}
        discrete = described.get("discrete", ())
        if told["discrete"] is not None:
            discrete = told["discrete"]
            _check_metrics("discrete", discrete, known)
        return cls(ranges, everywhere, frozenset(map(plain_name, discrete)))

    def bounds_of(self, metric: str) -> tuple[float, float] | None:
        """Return the range of a metric; None if it is not known."""
        return self.ranges.get(plain_name(metric), self.everywhere)

    def law(self, metric: str, values: Any) -> Distribution:
        """Return the distribution that is fitted to values of a metric."""
        ends = self.bounds_of(metric)
        if plain_name(metric) in self.discrete:
            return Empirical(values if ends is None else checked_within(values, ends))
        return AdaptiveKDE.of_cases(values) if ends is None else AdaptiveKDE.of_cases(values, ends)


def plain_name(metric: str) -> str:
    """Return the letters and digits of a name, in small letters: "HD 95" and "hd_95" are one metric."""
    return "".join(filter(str.isalnum, metric.lower()))


def _check_metrics(argument: str, given: Iterable[str], metrics: Sequence[str]) -> None:
    for name in given:
        if plain_name(name) not in map(plain_name, metrics):
            raise ValueError(f"{argument} must name metrics of the data; {name!r} is none: {nearest(name, metrics)}")


def _named(name: str, fit: Callable[..., Distribution], *given: Any) -> Distribution:
    try:
        return fit(*given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


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


def _refuse_data(why: str, data: Mapping[str, Any] | None, told: Mapping[str, Any]) -> None:
    if data is not None:
        raise ValueError(f"{why}; got data for {shown(list(data))}")
    _refuse_told(why, told)


def _refuse_told(why: str, told: Mapping[str, Any]) -> None:
    for name, value in told.items():
        if value is not None:
            raise ValueError(f"{why}; got {name} {shown(value)}")


def instances(
    columns: Mapping[str, np.ndarray], by: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, str]]]:
    """Return the rows (indices) of every instance by its name, and its tags, from the columns ``by``.

    Raises
    ------
    ValueError
        If a label is missing, or two instances have one name, their labels joined by commas.
    """
    size = len(next(iter(columns.values())))
    if not by:
        return {"all": np.arange(size)}, {}
    rows: dict[tuple[str, ...], list[int]] = {}
    for i, parts in enumerate(zip(*(_labels(name, columns[name]) for name in by), strict=True)):
        rows.setdefault(parts, []).append(i)
    named: dict[str, tuple[str, ...]] = {}
    for parts in rows:
        name = ", ".join(parts)
        if named.setdefault(name, parts) != parts:
            raise ValueError(
                f"by must name instances by labels that differ when they are joined; got {name!r} of {named[name]} and "
                f"of {parts}"
            )
    found = {name: np.array(rows[parts]) for name, parts in named.items()}
    return found, {name: dict(zip(by, parts, strict=True)) for name, parts in named.items()}


def _labels(name: str, column: np.ndarray) -> list[str]:
    """Return the labels of a column as texts, none of them missing."""
    lost = [x is None or x != x or x in (-math.inf, math.inf) for x in column]
    if any(lost):
        raise ValueError(
            f"by[{name!r}] must have no missing labels; {sum(lost)} of {len(lost)} values are missing, NaN or "
            f"infinite, the first in row {lost.index(True)}"
        )
    return [str(x) for x in column]
