"""Users' arrays (NumPy, pandas, JAX, PyTorch, lists) as NumPy arrays: types, shapes, lengths and missing values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxci.checks import check_unmasked, counted, shown


def as_array(name: str, data: Any) -> np.ndarray:
    """Return ``data`` as a non-empty NumPy array."""
    if data is None:
        raise TypeError(f"{name} must be an array; got None")
    array = unmasked(name, data)
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array of observations; got {_of_no_array(data, array)}")
    if len(array) == 0:
        raise ValueError(f"{name} must not be empty; it has 0 observations")
    return array


def unmasked(name: str, data: Any) -> np.ndarray:
    """Return ``data``, which may be a number, as a NumPy array; refuse masked values and rows of several lengths."""
    check_unmasked(name, data)
    try:
        return in_numpy(data)
    except jax.errors.TracerArrayConversionError:
        raise TypeError(
            f"{name} must be an array of values; got {shown(data)}, which has none while JAX traces a function: call "
            "jaxci outside of it, or in it through jax.debug.callback"
        ) from None
    except ValueError:
        raise ValueError(f"{name} must be an array with rows of one length; got {shown(data)}") from None


def in_numpy(data: Any) -> np.ndarray:
    """Return ``data`` as a NumPy array, of PyTorch also from other devices and without gradients.

    Numbers of 16 bits that NumPy does not have become float32. Lists of texts and other things become objects: NumPy
    would make texts of them all, and "nan" of NaN.
    """
    if isinstance(data, list | tuple) and any(_is_tensor(part) for part in data[:1]):
        data = [in_numpy(part) for part in data]
    if _is_tensor(data):
        data = data.detach().cpu()
        data = data.float() if str(data.dtype) == "torch.bfloat16" else data
    array = np.asarray(data)
    if array.dtype.kind == "T":  # texts of any length
        data = array.tolist()
        array = np.asarray(data)
    if array.dtype.kind in "SU" and not hasattr(data, "__array__"):
        return _as_they_are(data, array)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _is_tensor(data: Any) -> bool:
    """Whether something is an array of PyTorch, which may have gradients and lie on another device."""
    return hasattr(data, "detach") and hasattr(data, "cpu")


def _as_they_are(data: Any, texts: np.ndarray) -> np.ndarray:
    """Return ``texts``, which NumPy made of a list, or objects where the list holds more than texts."""
    try:
        "".join(data)  # much quicker than to ask for every type
    except TypeError:  # something is no text, or the list is one of lists or of bytes
        objects = np.asarray(data, object)
        kinds = {type(x.item() if isinstance(x, np.ndarray) else x) for x in objects.flat}
        return texts if len(kinds) == 1 or all(issubclass(kind, str) for kind in kinds) else objects
    return texts


def _of_no_array(data: Any, array: np.ndarray) -> str:
    """Say what was given in the place of an array; of what NumPy cannot take apart the type alone."""
    if array.dtype.kind != "O":
        return f"the scalar {shown(data)}"
    if callable(getattr(data, "toarray", None)):
        return f"a {type(data).__name__} (pass its toarray())"
    if isinstance(values := getattr(data, "values", None), dict) and values:
        return f"a {type(data).__name__} (pass one of its metrics, as by [{next(iter(values))!r}])"
    return f"a {type(data).__name__}"


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _missing(array: np.ndarray) -> np.ndarray:
    """Return which entries are NaN, infinite, None, NaT or pandas.NA."""
    if array.dtype.kind in "fc":
        return ~np.isfinite(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind == "O":
        return np.array([is_missing(x) for x in array.flat], bool).reshape(array.shape)
    return np.zeros(array.shape, bool)


def missing_values(array: np.ndarray) -> str:
    """Say how many values are missing and where the first is; empty where none is."""
    if array.dtype.kind in "biuUS":
        return ""
    bad = _missing(array)
    return counted(bad, "missing, NaN or infinite") if bad.any() else ""


def as_floats(name: str, data: Any, ndim: tuple[int, ...] = (1,), *, finite: bool = True) -> np.ndarray:
    """Return ``data`` as float64 of one of the dimensions ``ndim``; NaN or infinite only if ``finite`` is False."""
    array = as_array(name, data)
    if array.dtype.kind not in "biufOSU":
        raise TypeError(f"{name} must hold numbers; got dtype {array.dtype}")
    _refuse_texts(name, array)
    try:
        array = (np.where(_missing(array), np.nan, array) if array.dtype.kind == "O" else array).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"{name} must hold numbers; got dtype {array.dtype}, first value {shown(array.flat[0])}"
        ) from None
    if array.ndim == 2 and array.shape[1] == 1 and 1 in ndim:
        array = array[:, 0]
    if array.ndim not in ndim:
        shape = " or ".join({1: "(n,)", 2: "(n, K)"}[d] for d in ndim)
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    if finite and (lost := missing_values(array)):
        raise ValueError(f"{name} must be finite; {lost}")
    return array


def _refuse_texts(name: str, array: np.ndarray) -> None:
    """Refuse texts, also those that read like numbers: the first that does not is named."""
    if array.dtype.kind not in "OSU" or not any(issubclass(kind, str | bytes) for kind in set(map(type, array.flat))):
        return
    texts = [(place, x) for place, x in enumerate(array.flat) if isinstance(x, str | bytes)]
    place, first = next(((place, x) for place, x in texts if not is_number(x)), texts[0])
    row = place // (array.size // len(array))
    raise TypeError(f"{name} must hold numbers; got dtype {array.dtype}, the text {shown(first)} in row {row}")


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a text that reads like one: "1_000", which Python takes, does not."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not (isinstance(value, str) and "_" in value)


def check_lengths(lengths: Mapping[str, int]) -> None:
    """Refuse arrays that differ in length."""
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"all arrays must have one length (one entry per observation); {found}")
