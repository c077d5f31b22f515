"""Frozen dataclasses that are pytrees, print, and survive a round trip through plain dictionaries."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, dataclass_transform

import jax

T = TypeVar("T")


def static(default: Any = dataclasses.MISSING) -> Any:
    """Declare a field that is part of a record's type for tracing: a shape, a name, a switch."""
    return dataclasses.field(default=default, metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static, dataclasses.field))
def record(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen dataclass and a JAX pytree.

    Fields declared with :func:`static` become pytree metadata (a change retraces); all
    others are leaves (traced). Records neither hash nor compare, since leaves may be arrays.
    """
    cls = dataclasses.dataclass(frozen=True, eq=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    meta = [f.name for f in fields if f.metadata.get("static")]
    data = [f.name for f in fields if not f.metadata.get("static")]

    def children(record: T) -> tuple[Any, ...]:
        return tuple(getattr(record, name) for name in data)

    def flatten(record: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return children(record), tuple(getattr(record, name) for name in meta)

    def flatten_with_keys(record: T) -> tuple[Any, tuple[Any, ...]]:
        leaves, static_values = flatten(record)
        return tuple(zip(map(jax.tree_util.GetAttrKey, data), leaves, strict=True)), static_values

    def unflatten(static_values: tuple[Any, ...], leaves: Any) -> T:
        record = object.__new__(cls)
        for name, value in (*zip(meta, static_values, strict=True), *zip(data, leaves, strict=True)):
            object.__setattr__(record, name, value)
        return record

    # Not jax.tree_util.register_dataclass: structures of its nodes compare equal for different classes
    # with equal fields (jax 0.10), so jit could serve the program of one statistic for another.
    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def settings(obj: Any) -> dict[str, Any]:
    """Return the fields of a record by name."""
    return {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj)}
