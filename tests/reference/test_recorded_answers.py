"""Answers of all verbs against those recorded earlier: a change of the machinery must not change them.

recording.py holds the cases and renews recorded_answers.json.gz. A deterministic answer has to stay as it is. So has a
drawn one, unless its group is named in ``STREAM_CHANGED``.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import pytest

STREAM_CHANGED: frozenset[str] = frozenset()
"""Beginnings of names of groups, or of "group: case", whose stream of draws was changed on purpose after the recording.

Their drawn answers may differ from the recorded mean over other seeds by Monte-Carlo error (see ``_within_error``);
what no seed changes, and deterministic cases, are held as tightly as ever. Renew the record, and empty this, when
the new stream is settled.
"""

DETERMINISTIC, DRAWN = 1e-8, 1e-6
"""Largest relative differences, where the stream is unchanged."""
ROUNDING = 1e-12
"""Absolute difference that is none: of answers that are zero but for rounding."""
DEVIATIONS, ERRORS, BINOMIAL = 6.0, 0.35, 5.0
"""After a change of stream: deviations over seeds; shares of a standard error (bounds); binomial errors (shares)."""
SHARES = ("coverage", "below", "above", "invalid", "undefined")


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("recording", Path(__file__).with_name("recording.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recording = _load()
RECORD = recording.read()


def _same(new: Any, old: Any, tolerance: float) -> bool:
    if not (recording.is_number(new) and recording.is_number(old)):
        return type(new) is type(old) and new == old
    if not (math.isfinite(new) and math.isfinite(old)):
        return repr(float(new)) == repr(float(old))
    return math.isclose(new, old, rel_tol=tolerance, abs_tol=ROUNDING)


def _within_error(key: str, new: Any, kept: dict[str, Any]) -> bool:
    """Whether an answer of a drawn case agrees with those of other seeds; one that is not always finite always does."""
    old = kept["answer"][key]
    spread = kept["others"].get(key, [old, 0.0])
    if spread is None or _same(new, old, DRAWN):
        return True
    if not recording.is_number(new) or not recording.is_number(old) or not math.isfinite(old):
        return False
    mean, deviation = spread
    allowed = DEVIATIONS * deviation
    error = kept["answer"].get("standard_error", math.nan)
    if key.startswith(("low", "high")) and math.isfinite(error):
        allowed = max(allowed, ERRORS * error)
    elif key in SHARES:
        allowed = max(allowed, BINOMIAL * math.sqrt(max(mean * (1 - mean), 1 / recording.R) / recording.R))
    elif key == "warnings":
        allowed = max(allowed, 1.0)
    return math.isfinite(new) and abs(new - mean) <= allowed


def _differences(name: str, found: dict[str, Any], changed: frozenset[str]) -> list[str]:
    """Say what differs from the record of a group, answer by answer."""
    record = RECORD[name]
    texts = [f"{case}: no longer there" for case in record if case not in found]
    texts += [f"{case}: not recorded" for case in found if case not in record]
    for case in record:
        if case not in found:
            continue
        kept = record[case]
        free = kept["drawn"] and any(f"{name}: {case}".startswith(start) for start in changed)
        tolerance = DRAWN if kept["drawn"] else DETERMINISTIC
        for key, old in kept["answer"].items():
            new = found[case].get(key, "missing")
            if free:
                if not _within_error(key, new, kept):
                    spread = kept["others"].get(key, "the same")
                    texts.append(f"{case}: {key} is {new}, was {old}; mean and deviation of other seeds: {spread}")
            elif not _same(new, old, tolerance):
                texts.append(f"{case}: {key} is {new}, was {old}")
    return texts


def test_every_group_is_recorded() -> None:
    assert list(RECORD) == list(recording.GROUPS)


def test_prefixes_of_changed_streams_name_something() -> None:
    names = [f"{name}: {case}" for name, cases in RECORD.items() for case, kept in cases.items() if kept["drawn"]]
    assert all(any(name.startswith(start) for name in names) for start in STREAM_CHANGED)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(recording.GROUPS))
def test_answers_are_as_recorded(name: str) -> None:
    texts = _differences(name, recording.answers(name), STREAM_CHANGED)
    assert not texts, f"{len(texts)} answers differ:\n" + "\n".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interval: mean", "bootstrap", "quantile_interval"])
def test_another_seed_agrees_within_error_and_not_exactly(name: str) -> None:
    found = recording.answers(name, recording.SEED + 1)
    assert _differences(name, found, frozenset())
    assert not _differences(name, found, frozenset({name}))
