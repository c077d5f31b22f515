"""Columns of a categorical type, of pandas or Polars: which categories there are, and their order."""

from __future__ import annotations

from typing import Any


def is_categorical(data: Any) -> bool:
    """Whether a column says that its values are categories: by its type in pandas or Polars."""
    return str(getattr(data, "dtype", "")).lower().startswith(("category", "categorical", "enum"))
