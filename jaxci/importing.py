"""Classes and functions of users' own, named in files by where they are imported from."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any


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
    """Return what :func:`import_path` named.

    Raises
    ------
    ValueError
        If the module cannot be imported or has no such name.
    """
    home, _, name = path.partition(":")
    try:
        module = importlib.import_module(home)
    except ImportError as error:
        raise ValueError(f"{path!r} cannot be imported: {error}") from error
    found = _found(module, name)
    if found is None:
        where = "this program defines no such name" if home == "__main__" else f"the module {home} has no such name"
        raise ValueError(f"{path!r} cannot be imported: {where}")
    return found
