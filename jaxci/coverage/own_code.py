"""What tells classes of a user's own from what they were before they were changed: the code that they run."""

from __future__ import annotations
import __future__

import ast
import contextlib
import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxci.coverage.store import digest
from jaxci.records import settings

KEPT = 16
"""Digits of a fingerprint."""
HOLDING = ("fget", "func", "args", "keywords", "__wrapped__", "__func__")
"""Where properties, partial functions, programs and methods hold what they call, and with what."""
GENERATED = "<string>"
"""File of the functions that :mod:`dataclasses` makes."""


def is_users(home: str) -> bool:
    """Whether a module is of neither the library, the language, nor an installed package."""
    if home == "__main__":
        return True
    if home.partition(".")[0] in ("jaxci", *sys.stdlib_module_names):
        return False
    file = getattr(sys.modules.get(home), "__file__", None)
    return file is None or not {"site-packages", "dist-packages"} & set(Path(file).parts)


def own_parts(value: Any) -> Iterator[Any]:
    """Yield what is of a class of the user's own: a record, and what its fields hold."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from own_parts(part)
        return
    if is_users(type(value).__module__):
        yield value
    if dataclasses.is_dataclass(value):
        yield from own_parts(list(settings(value).values()))


def told_of_code(value: Any) -> dict[str, str]:
    """Return a fingerprint of the code of the user's own classes in a record; nothing if there are none.

    It is of the text without comments, docstrings and layout, with what of the user's own modules it calls and reads.
    """
    classes = dict.fromkeys(type(part) for part in own_parts(value))
    if not classes:
        return {}
    reader = _Reader()
    return {"code": digest([reader.told(cls) for cls in classes])[:KEPT]}


class _Reader:
    """Reads classes, functions and values into plain lists, each class and function once."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def told(self, value: Any) -> Any:
        """Return what tells a value from another one: of the user's own classes and functions their code."""
        if isinstance(value, type | FunctionType):
            return self._code(value)
        if isinstance(value, np.ndarray | np.generic | jax.Array):
            return np.asarray(value).tolist()
        if isinstance(value, dict):
            return [[self.told(key), self.told(value[key])] for key in sorted(value, key=_name)]
        if isinstance(value, list | tuple):
            return [self.told(part) for part in value]
        if isinstance(value, set | frozenset):
            return [self.told(part) for part in sorted(value, key=_name)]
        if value is None or isinstance(value, str | bytes | int | float | complex):
            return repr(value)
        held = settings(value) if dataclasses.is_dataclass(value) else {}
        held |= {name: getattr(value, name) for name in HOLDING if hasattr(value, name)}
        return [self.told(type(value)), self.told(held)]

    def _code(self, value: Any) -> Any:
        name = f"{value.__module__}:{value.__qualname__}"
        if not is_users(str(value.__module__)) or value in self.seen:
            return name.rpartition(":")[2]
        self.seen.add(value)
        return self._class(value) if isinstance(value, type) else self._function(value)

    def _class(self, cls: type[Any]) -> list[Any]:
        own = {name: value for name, value in vars(cls).items() if _is_written(name, value)}
        return [cls.__qualname__, [self.told(base) for base in cls.__bases__], self.told(own)]

    def _function(self, function: FunctionType) -> list[Any]:
        given = [function.__defaults__, function.__kwdefaults__]
        return [_text(function), self.told(given), self.told(_reads(function))]


def _name(value: Any) -> str:
    """Return by what values are sorted, the same in every program."""
    return str(getattr(value, "__qualname__", repr(value)))


def _is_written(name: str, value: Any) -> bool:
    """Whether an attribute of a class stands in its text, and is not made by Python or :mod:`dataclasses`."""
    if not name.startswith("__"):
        return name != "_abc_impl"
    return isinstance(value, FunctionType) and value.__code__.co_filename != GENERATED and is_users(value.__module__)


def _text(function: FunctionType) -> Any:
    """Return the text of a function without comments and docstrings.

    Where there is no text, or it was changed after it was read, these are the instructions.
    """
    code = _instructions(function.__code__)
    try:
        text = textwrap.dedent(inspect.getsource(function))
        future = function.__code__.co_flags & __future__.annotations.compiler_flag
        whole = compile(text, "text", "exec", flags=future, dont_inherit=True)
    except (OSError, TypeError, SyntaxError):
        return code
    if all(_instructions(part) != code for part in _within(whole)):
        return code
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _instructions(code: CodeType) -> list[Any]:
    """Return what a function does as Python runs it, and its docstring."""
    return [code.co_code.hex(), list(map(_constant, code.co_consts)), list(code.co_names)]


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _instructions(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _within(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of all functions and classes within some code, and itself."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _within(part)


def _reads(function: FunctionType) -> dict[str, Any]:
    """Return what a function reads of what surrounds it, and of other modules of the user's, by name."""
    names = {name for code in _within(function.__code__) for name in code.co_names}
    found = {name: function.__globals__[name] for name in names & function.__globals__.keys()} | _closed(function)
    for home, module in [pair for pair in found.items() if isinstance(pair[1], ModuleType)]:
        del found[home]
        if is_users(module.__name__):
            found |= {f"{home}.{name}": getattr(module, name) for name in names if hasattr(module, name)}
    return found


def _closed(function: FunctionType) -> dict[str, Any]:
    """Return what a function reads of the functions around it, by name."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # of a name that has no value yet
            found[name] = cell.cell_contents
    return found
