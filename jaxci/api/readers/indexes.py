"""Series and frames of one data set that have indexes: rows are paired by position, whatever these say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxci.printing import first_few


def of_indexes(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Remark on columns of as many rows whose index is another than that of the first column that has one.

    What is ``given`` by name may be a mapping of columns itself.
    """
    columns: dict[str, Any] = {}
    for name, data in given.items():
        columns |= {f"{name}[{key!r}]": x for key, x in data.items()} if isinstance(data, Mapping) else {name: data}
    indexes = {name: x.index for name, x in columns.items() if hasattr(x, "iloc") and hasattr(x, "index")}
    if len(indexes) < 2:
        return ()
    (first, index), *others = indexes.items()
    apart = [name for name, one in others if len(one) == len(index) and not index.equals(one)]
    if not apart:
        return ()
    if len(apart) == 1:
        return (f"{apart[0]} and {first} have different indexes; rows are paired by position",)
    return (f"{first_few(apart)} have other indexes than {first}; rows are paired by position",)
