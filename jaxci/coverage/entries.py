"""How a file of a study holds its statistics, methods and distributions, and how they are read."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxci import statistics as statistics_room
from jaxci.checks import check_count, check_distinct, check_keys, check_table, shown
from jaxci.coverage.own_code import KEPT, told_of_code
from jaxci.coverage.store import digest
from jaxci.distributions import (
    Distribution,
    UserDistribution,
    as_distribution,
    distribution_from_dict,
    distribution_to_dict,
    observations,
)
from jaxci.distributions.truths import value_of_rows
from jaxci.intervals.base import Method
from jaxci.intervals.registry import METHODS, method_by_name
from jaxci.records import Kinds, decode, encode, settings
from jaxci.statistics.base import Statistic
from jaxci.statistics.custom import FunctionStatistic
from jaxci.statistics.registry import name_of, statistic_by_name

SEVERAL = 3
TELLING = 256
"""Rows that tell a distribution, or a function, of a user's own from another one of that name."""
STATISTICS: Kinds = {
    name: cls
    for name, cls in vars(statistics_room).items()
    if isinstance(cls, type) and issubclass(cls, Statistic) and dataclasses.is_dataclass(cls)
}
"""Classes of statistics by name, as files hold those that are no metric of the registry."""


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the content of a TOML file; a ``ValueError`` names the file if it is none."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML file: {error}") from error


@contextlib.contextmanager
def naming_lines(path: str | Path) -> Iterator[None]:
    """Name the file and the line in errors about a key that nothing reads, where the key stands in the file."""
    try:
        yield
    except ValueError as error:
        key = re.search(r" has no (?:key|field|option) '([^']+)'", str(error))
        at = [] if key is None else _lines_of(Path(path), key[1])
        if not at:
            raise
        raise ValueError(f"{path}, line {' or '.join(map(str, at))}: {error}") from error


def _lines_of(path: Path, key: str) -> list[int]:
    pattern = re.compile(rf"(^|[\[{{,.\s\"']){re.escape(key)}[\"']?\s*[=\]]")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if pattern.search(line.partition("#")[0])]


def listed(name: str, value: Any) -> list[Any]:
    """Return the entries of a field, or the one it holds."""
    single = isinstance(value, str | int | float | Method | Mapping)
    if not single and not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list; got {shown(value)}")
    found = [value] if single else list(value)
    if not found:
        raise ValueError(f"{name} must not be empty")
    return found


def read_law(given: Any) -> Distribution:
    """Return a distribution from what :func:`as_distribution` reads, or from its dictionary, as files hold it."""
    return distribution_from_dict(given) if isinstance(given, Mapping) else as_distribution(given)


def named_laws(given: Any, read: Callable[[Any], Distribution] = read_law) -> dict[str, Distribution]:
    """Return distributions by name, each as ``read`` reads it; an error names the one that it is about."""
    found = {}
    for name, law in check_table("distributions", given).items():
        try:
            found[str(name)] = read(law)
        except (TypeError, ValueError) as error:
            raise type(error)(f"distributions: {name!r}: {error}") from None
    if not found:
        raise ValueError("distributions must name at least one distribution; got none")
    for name, law in found.items():
        if isinstance(law, UserDistribution):
            _check_keyed(name, law)
    return found


def _check_keyed(name: str, law: UserDistribution) -> None:
    """Refuse a distribution of the user's own that draws the same rows whatever the key, as NumPy's do in a program."""
    with jax.enable_x64(True):
        draw = jax.jit(lambda key: law.sample(key, TELLING))
        one, other = (jax.tree.leaves(jax.device_get(draw(jax.random.key(seed)))) for seed in (0, 1))
    varied = any(np.any(x != x[:1]) for x in one)
    if varied and all(np.array_equal(x, y) for x, y in zip(one, other, strict=True)):
        raise ValueError(
            f"distributions: {name!r}: {law.label}.sample must draw by its key, with jax.random; two keys gave the "
            f"same {TELLING} rows"
        )


def check_names(field: str, names: Iterable[str]) -> None:
    """Refuse names that are empty, or are numbers in files of results."""
    for name in names:
        if name in ("nan", "inf", "-inf"):
            raise ValueError(f"{field} must not be named as a number is; got {name!r}")
        if not name:
            raise ValueError(f"{field} must have names that are not empty; got {name!r}")


def check_seed(seed: Any) -> int:
    """Return the seed of a study: keys have 32 bits, and greater ones would draw what others do."""
    if check_count("seed", seed, 0) >= 2**32:
        raise ValueError(f"seed must be below 2**32; got {seed}")
    return int(seed)


def named_statistics(statistics: Any) -> tuple[tuple[str, Statistic], ...]:
    """Return names and statistics of a field, which may be a dictionary or hold names."""
    if isinstance(statistics, Mapping):
        pairs = [(str(name), statistic_by_name(s)) for name, s in statistics.items()]
    else:
        if isinstance(statistics, str):
            raise ValueError(f"statistics must be a list of metrics; got the text {statistics!r}")
        entries = [statistics] if isinstance(statistics, Statistic) else listed("statistics", statistics)
        named = [s if isinstance(s, tuple) else (name_of(s), s) for s in entries]
        pairs = [(name, statistic_by_name(s)) for name, s in named]
    if not pairs:
        raise ValueError("statistics must not be empty")
    check_distinct("statistics", [name for name, _ in pairs])
    check_names("statistics", [name for name, _ in pairs])
    for name, _ in pairs:
        if "\t" in name:  # which parts names in files of tallies
            raise ValueError(f"statistics must have names without tabs; got {name!r}")
    return tuple(pairs)


def written(name: str, statistic: Statistic, n_classes: int | None = None) -> Any:
    """Return a metric's name, or a table of its class and settings; those that ``n_classes`` decide, where given."""
    from jaxci.statistics.registry import METRICS

    known = METRICS.get(name)
    if known is not None and n_classes is not None:
        known = known.settled(n_classes)
    if known is not None and repr(settings(known)) == repr(settings(statistic)):
        return name
    try:
        return {"name": name, **encode(statistic, STATISTICS, key="class", defaults=True)}
    except ValueError:
        return {"name": name, "class": type(statistic).__name__, "label": name_of(statistic)}


def read_statistics(given: Any) -> list[tuple[str, Statistic]]:
    """Return names and statistics of the list that a file has."""
    if not isinstance(given, list | tuple):
        raise ValueError(f"statistics must be a list of metrics; got {shown(given)}")
    return [entry if isinstance(entry, tuple) else read_statistic(entry) for entry in given]


def read_statistic(entry: Any) -> tuple[str, Statistic]:
    """Return name and statistic of an entry of a file: a metric's name, or a table of its class and settings."""
    if not isinstance(entry, Mapping):
        return name_of(entry), statistic_by_name(entry)
    given = {key: value for key, value in entry.items() if key != "name"}
    statistic = decode(given, STATISTICS, key="class", what="statistics: a metric with settings")
    return (entry.get("name") or name_of(statistic), statistic)


def size_tables(given: Any) -> list[Mapping[str, Any]]:
    """Return the tables of the field ``more_sizes``."""
    if not isinstance(given, list | tuple):
        raise ValueError(f"more_sizes must be a list of tables; got {shown(given)}")
    return [check_table("an entry of more_sizes", entry) for entry in given]


def further_sizes(given: Mapping[str, Any], counts: Mapping[str, int]) -> dict[str, Any]:
    """Return sample sizes with numbers of their own, checked; those that are not given are ``counts``."""
    check_keys("more_sizes", given, ("sample_sizes",), ("sample_sizes", *counts))
    sizes = sorted({check_count("sample_sizes", n, 2) for n in listed("sample_sizes", given["sample_sizes"])})
    least = {"n_replications": 2, "n_resamples": 1}
    own = {name: check_count(name, given.get(name, number), least[name]) for name, number in counts.items()}
    return {"sample_sizes": sizes, **own}


def read_method(entry: Any) -> Method:
    """Return a method from its name, its table or itself."""
    if isinstance(entry, Mapping):
        entry = decode(entry, METHODS, key="name", what="methods: a method with settings")
    return method_by_name(entry)


def described(law: Distribution) -> dict[str, Any]:
    """Return a distribution as a file holds it; one that no file can hold by its label, and what it draws."""
    try:
        return distribution_to_dict(law)
    except ValueError:
        return {"kind": "user", "label": law.label, "draws": _draws(law)}


def told_of_law(law: Distribution, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file holds of a distribution, and of one of the user's own what it draws, and its code."""
    code = told_of_code(law)
    return {"law": described, "draws": _draws(law), **code} if code else dict(described)


def told_of_method(method: Method) -> Any:
    """Return what a file holds of a method, and of one of the user's own its code."""
    code = told_of_code(method)
    return {"method": method.written(), **code} if code else method.written()


def identified(name: str, statistic: Statistic, law: Distribution) -> Any:
    """Return what :func:`written` does, and of a user's own its value for rows of a distribution, and its code.

    A name alone does not tell a function, or a class, from what it was before it was changed. It stands for what
    several classes decide of a metric.
    """
    found, code = written(name, statistic, SEVERAL), told_of_code(statistic)
    if not code and not isinstance(statistic, FunctionStatistic):
        return found
    with jax.enable_x64(True):
        value = value_of_rows(statistic, observations(law, _drawn(law)))
    return {**({"statistic": found} if code else found), "value": rounded(value)[0], **code}


def _draws(law: Distribution) -> str:
    """Return a fingerprint of the rows that a distribution draws."""
    return digest([rounded(x) for x in jax.tree.leaves(_drawn(law))])[:KEPT]


def _drawn(law: Distribution) -> dict[str, Any]:
    """Return the rows, always the same, that tell what is a user's own from another of that name."""
    with jax.enable_x64(True):
        return jax.device_get(law.of_rows.sample(jax.random.key(0, impl="threefry2x32"), TELLING))


def rounded(numbers: Any) -> list[str]:
    """Return numbers to four digits: last ones differ between processors."""
    return [format(x, ".4g") for x in (np.ravel(numbers) + 0.0).tolist()]
