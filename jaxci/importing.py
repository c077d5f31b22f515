"""Objects of users' own as files hold them: where their class is imported from, and what it is called with."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import sys
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

MARKS = ("none", "tuple", "dict", "array", "slice", "import", "object")
"""Keys of the tables that stand for what TOML and JSON lack."""


def is_import_path(word: Any) -> bool:
    """Whether a word is ``module:name``."""
    home, colon, name = word.partition(":") if isinstance(word, str) else ("", "", "")
    return bool(colon) and all(part.isidentifier() for part in (*home.split("."), *name.split(".")))


def import_path(thing: Any) -> str:
    """Return ``module:name``, from which :func:`imported` gets a class or function again.

    The module is the highest package that offers the name. What stands in a script or a notebook is of the
    module ``__main__``, which only that program has.

    Raises
    ------
    ValueError
        If no module offers it: what is defined within a function, and a lambda, cannot be imported.
    """
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", getattr(thing, "__name__", ""))
    parts = (module or "numpy").split(".")  # functions of NumPy that broadcast do not say where they are from
    for length in range(1, len(parts) + 1):
        home = ".".join(parts[:length])
        if _found(sys.modules.get(home), name) is thing:
            return f"{home}:{name}"
    raise ValueError(
        f"{name.rpartition('.')[2] or repr(thing)} must be defined at the top level of a module, for a study file to "
        f"name it; {module!r} does not offer {name!r}"
    )


def _found(module: Any, name: str) -> Any:
    return functools.reduce(lambda owner, part: getattr(owner, part, None), name.split("."), module)


def imported(path: str) -> Any:
    """Return what :func:`import_path` named; its module is imported, which runs its code.

    Raises
    ------
    ValueError
        If the module cannot be imported or has no such name.
    ImportError
        If it is one of scikit-learn, which is not installed.
    """
    home, _, name = path.partition(":")
    try:
        module = importlib.import_module(home)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "sklearn":
            raise ImportError(f"{path!r} needs scikit-learn: install jaxci[sklearn]") from error
        raise ValueError(f"{path!r} cannot be imported: {type(error).__name__}: {error}") from error
    found = _found(module, name)
    if found is None:
        where = f"the module {home} has no such name"
        if home == "__main__":
            where = "it was defined in a script or notebook; move it to a module that both programs import"
        raise ValueError(f"{path!r} cannot be imported: {where}")
    return found


def arguments(thing: Any) -> dict[str, Any]:
    """Return what the class of ``thing`` is called with to make it again, as :func:`portable` values.

    Of a dataclass its fields; else the parameters that differ from their defaults, as ``get_params`` gives them or the
    attributes of the same names.

    Raises
    ------
    ValueError
        If a parameter is not known, or no file can hold it.
    """
    cls = type(thing)
    if dataclasses.is_dataclass(thing):
        return {f.name: _named(cls, f.name, getattr(thing, f.name)) for f in dataclasses.fields(thing) if f.init}
    known = inspect.signature(cls).parameters
    fixed = {name: p for name, p in known.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    if hasattr(thing, "get_params"):
        given = thing.get_params(deep=False)
        others = [name for name, value in given.items() if name not in fixed and value is not None]
        unread = others if len(fixed) == len(known) else []
    else:
        given = {name: getattr(thing, name) for name in fixed if hasattr(thing, name)}
        unread = [name for name in fixed if name not in given]
    if unread:
        raise ValueError(
            f"{cls.__name__} cannot be made again: it does not tell its argument {unread[0]!r} (get_params, as of "
            "scikit-learn's BaseEstimator, or an attribute of that name does)"
        )
    found = {}
    for name, value in given.items():
        if name not in fixed:
            if value is not None:
                found[name] = _named(cls, name, value)
            continue
        plain, default = _named(cls, name, value), fixed[name].default
        if default is inspect.Parameter.empty or repr(plain) != repr(_named(cls, name, default)):
            found[name] = plain
    return found


def _named(cls: type[Any], name: str, value: Any) -> Any:
    try:
        return portable(value)
    except ValueError as error:
        raise ValueError(f"{name} of {cls.__name__} cannot be written to a file: {error}") from None


def portable(value: Any) -> Any:
    """Return a value as numbers, texts, lists and marked tables (:data:`MARKS`), which :func:`restored` reads.

    Raises
    ------
    ValueError
        If it is an object that cannot be made again.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | str):
        return value
    if value is None:
        return {"none": True}
    if isinstance(value, list):
        return [portable(x) for x in value]
    if type(value) is tuple:
        return {"tuple": [portable(x) for x in value]}
    if isinstance(value, Mapping):
        return {"dict": [[portable(key), portable(x)] for key, x in value.items()]}
    if isinstance(value, np.ndarray | jax.Array) and value.dtype.kind in "biufU":
        return {"array": np.asarray(value).tolist(), "dtype": str(value.dtype)}
    if isinstance(value, slice):
        return {"slice": [portable(x) for x in (value.start, value.stop, value.step)]}
    if isinstance(value, type | np.ufunc) or inspect.isroutine(value):
        return {"import": import_path(value)}
    return {"object": import_path(type(value)), "fields": arguments(value)}


def restored(value: Any) -> Any:
    """Return the value that :func:`portable` described."""
    if isinstance(value, list | tuple):
        return [restored(x) for x in value]
    if not isinstance(value, Mapping):
        return value
    mark = next((key for key in MARKS if key in value), None)
    held: Any = None if mark is None else value[mark]
    if mark == "none":
        return None
    if mark == "tuple":
        return tuple(restored(held))
    if mark == "dict":
        return {restored(key): restored(x) for key, x in held}
    if mark == "array":
        return np.array(held, value.get("dtype"))
    if mark == "slice":
        return slice(*restored(held))
    if mark == "import":
        return imported(held)
    if mark == "object":
        return imported(held)(**{name: restored(x) for name, x in value.get("fields", {}).items()})
    raise ValueError(f"a value must be a number, a text, a list or a table of {', '.join(MARKS)}; got {dict(value)!r}")
