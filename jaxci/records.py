"""Frozen dataclasses that are pytrees, print, and survive a round trip through plain dictionaries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

import jax
import numpy as np

from jaxci.checks import check_keys, read_kind, shown
from jaxci.importing import arguments, import_path, imported, is_import_path, portable, restored

T = TypeVar("T")
MARK = "_computes"
"""Attribute of a record of users' code: a digest of what the code computed when it was traced last."""


def static(default: Any = dataclasses.MISSING) -> Any:
    """Declare a field that is part of a record's type for tracing: a shape, a name, a switch."""
    return dataclasses.field(default=default, metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static, dataclasses.field))
def record(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen dataclass and a JAX pytree.

    Fields declared with :func:`static` become pytree metadata (a change retraces), as does the
    mark of :func:`jaxci.tracing.computing`; all others are leaves (traced). Records neither hash
    nor compare, since leaves may be arrays.
    """
    cls = dataclasses.dataclass(frozen=True, eq=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    meta = [MARK, *(f.name for f in fields if f.metadata.get("static"))]
    data = [f.name for f in fields if not f.metadata.get("static")]
    setattr(cls, MARK, None)

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


class Form(NamedTuple):
    """How a file holds a record whose fields are not what a user writes: by keys of its own.

    ``read`` takes the keys and returns the record, ``write`` does the opposite; ``needs`` are keys
    that must be there, ``allows`` the others (None: any, which ``read`` checks).
    """

    cls: type[Any]
    read: Callable[..., Any]
    write: Callable[[Any], dict[str, Any]]
    needs: tuple[str, ...] = ()
    allows: tuple[str, ...] | None = ()


Kinds = Mapping[str, type[Any] | Form]
"""A family of records as files hold it: a class, or its :class:`Form`, for every word."""


def written(value: Any) -> Any:
    """Return ``value`` as plain numbers, strings, lists and tables; infinities and NaN stay floats.

    Raises
    ------
    ValueError
        If no file can hold it: a function, or an object that is no record.
    """
    if isinstance(value, Named):
        return value.written()
    if isinstance(value, Mapping):
        return {str(name): written(x) for name, x in value.items()}
    if isinstance(value, tuple | list):
        return [written(x) for x in value]
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    if value is None or isinstance(value, str | int | float):
        return value
    raise ValueError(f"{value!r} cannot be written to a file: it is a user's own object")


def written_fields(record: Any, *, defaults: bool = False) -> dict[str, Any]:
    """Return the fields of a record that differ from their default, or with ``defaults`` all, as plain values."""
    found = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if value is None and field.default is None:
            continue
        plain = written(value)
        if defaults or field.default is dataclasses.MISSING or not _alike(plain, written(field.default)):
            found[field.name] = plain
    return found


def _alike(one: Any, other: Any) -> bool:
    """Whether two plain values are equal; NaN equals NaN, and a truth value no number."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def encode(
    record: Any, kinds: Kinds, *, key: str = "kind", defaults: bool = False, base: type[Any] | None = None
) -> dict[str, Any]:
    """Return a table of plain values that describes a record: its word in ``kinds`` under ``key``, and its fields.

    Parameters
    ----------
    record : object
    kinds : mapping of str to class or Form
    key : str
    defaults : bool
        Whether fields at their default are written, too.
    base : type, optional
        What a user's own record may derive from; its word is then ``module:class``, and ``fields`` are a table.

    Raises
    ------
    ValueError
        If it is of none of these classes, or holds what no file can, or cannot be made again.
    """
    for kind, entry in kinds.items():
        cls = entry.cls if isinstance(entry, Form) else entry
        if type(record) is cls:
            if isinstance(entry, Form):
                return {key: kind, **written(entry.write(record))}
            return {key: kind, **written_fields(record, defaults=defaults)}
    if base is not None and isinstance(record, base) and dataclasses.is_dataclass(record):
        fields = arguments(record)
        table = {key: import_path(type(record)), "fields": fields}
        again = {
            name: portable(restored(value)) for name, value in arguments(decode(table, {}, key=key, base=base)).items()
        }
        if changed := [name for name, value in fields.items() if repr(again.get(name)) != repr(value)]:
            raise ValueError(
                f"{type(record).__name__} cannot be written to a file: made again, its {changed[0]!r} is another"
            )
        return table
    raise ValueError(f"{type(record).__name__} cannot be written to a file: it is a user's own object")


def decode(
    description: Any, kinds: Kinds, *, key: str = "kind", what: str = "a record", base: type[Any] | None = None
) -> Any:
    """Return the record that a word of ``kinds``, or the table that :func:`encode` writes, describes.

    Lists become tuples, which a record's static fields need. With a ``base``, ``module:class`` is imported if it
    derives from it.

    Raises
    ------
    ValueError
        If the word or a key is unknown or missing, or a value is not what the record takes.
    """
    table: Any = {key: description} if isinstance(description, str) else description
    word = table.get(key) if isinstance(table, Mapping) else None
    if base is not None and is_import_path(word):
        cls = imported(str(word))
        if not (isinstance(cls, type) and issubclass(cls, base) and dataclasses.is_dataclass(cls)):
            raise ValueError(f"{key} of {what} must be a record that derives from {base.__name__}; got {shown(cls)}")
        plain = {name: value for name, value in table.items() if name not in (key, "fields")}
        own = {str(name): restored(value) for name, value in {**plain, **table.get("fields", {})}.items()}
        taken = [field for field in dataclasses.fields(cls) if field.init]
        lacking = [field.name for field in taken if _required(field)]
        check_keys(f"{what} of {key} {word!r}", own, lacking, [field.name for field in taken])
        return cls(**own)
    kind, given = read_kind(what, table, kinds, key)
    rest = {name: _read(value) for name, value in given.items()}
    entry = kinds[kind]
    if isinstance(entry, Form):
        make, needs = entry.read, entry.needs
        known = tuple(rest) if entry.allows is None else (*entry.needs, *entry.allows)
    else:
        fields = [field for field in dataclasses.fields(entry) if field.init]
        make, known = entry, tuple(field.name for field in fields)
        needs = tuple(field.name for field in fields if _required(field))
    check_keys(f"{what} of {key} {kind!r}", rest, needs, known)
    return make(**rest)


def _required(field: Any) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _read(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_read, value))
    return value


class Named:
    """A record that one word names: it prints as ``name``, and equals its like with the same settings.

    It equals a string that is its name, whatever the settings; its hash is that of the name. Written
    as the word, or as a table of the word and the settings that differ from their defaults.
    """

    name: ClassVar[str]

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.name == other
        if isinstance(other, Named):
            return type(self) is type(other) and _alike(written_fields(self), written_fields(other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def written(self) -> str | dict[str, Any]:
        """Return the name, or a table of it and the settings that differ from their defaults."""
        changed = written_fields(self)
        return {"name": self.name, **changed} if changed else self.name

    @property
    def label(self) -> str:
        """The name, with the settings that differ from their defaults in brackets."""
        changed = ", ".join(f"{name}={value}" for name, value in written_fields(self).items())
        return f"{self.name}({changed})" if changed else self.name
