"""Checks on the fields of learners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def check_field(name: str, value: Any, rule: str, holds: Callable[[Any], bool]) -> None:
    """Refuse a number that breaks a rule; traced ones, which tuning sets, are let through."""
    if isinstance(value, jax.Array):
        return
    if isinstance(value, bool | str) or not hasattr(value, "__float__") or not holds(value):
        raise ValueError(f"{name} must {rule}; got {value!r}")


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is no integer of at least ``least``."""
    whole = isinstance(value, int | np.integer)
    check_field(name, value, f"be an integer of at least {least}", lambda x: whole and bool(x >= least))


def check_not_negative(name: str, value: Any) -> None:
    """Refuse what is no number of at least 0."""
    check_field(name, value, "be a number of at least 0", lambda x: 0 <= x < float("inf"))


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no number above 0."""
    check_field(name, value, "be a number above 0", lambda x: 0 < x < float("inf"))
