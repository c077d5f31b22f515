"""Compiled programs that are kept on disk between runs."""

from __future__ import annotations

import os
from pathlib import Path

SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}
"""JAX's settings with which every program is kept: by default it keeps those that take a second to compile."""


def default_folder() -> Path:
    """Return the user's folder for compiled programs: ``jaxci`` in ``$XDG_CACHE_HOME``, or in ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "jaxci"


def keep_compiled(folder: str | os.PathLike[str] | None = None) -> Path:
    """Keep compiled programs on disk, so that later processes need not compile them again.

    Parameters
    ----------
    folder : path, optional
        Created where it is missing; by default ``jaxci`` in the user's cache folder. It may be deleted at any time.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    OSError
        If it cannot be created.

    Notes
    -----
    Call it before anything is computed. The command line does so, but for ``--no-cache``, and unless
    ``JAX_COMPILATION_CACHE_DIR`` names a folder of the user's.
    """
    import jax

    found = default_folder() if folder is None else Path(folder)
    found.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(found))
    for name, value in SETTINGS.items():
        jax.config.update(name, value)
    return found


def keep_by_environment() -> None:
    """Ask JAX, which is not imported yet, to keep programs, unless the user has said where; nothing where it cannot."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = default_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name.upper(), str(value))
