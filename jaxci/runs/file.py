"""A file of runs, one line each: written as they finish, read to go on."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jaxci.checks import shown

LINE_START = b'{"seed": '
"""How every line of a file of runs begins."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run that ended, as a line of the file holds it.

    Either ``values`` holds its metrics, or ``error`` says what ended it: type and message.
    """

    seed: int
    repetition: int
    values: dict[str, float]
    seconds: float
    varies: str
    seeded: list[str]
    versions: dict[str, str]
    error: str | None = None

    def line(self) -> bytes:
        """Return the run as one line of JSON; numbers that JSON does not know become strings."""
        values = {name: x if math.isfinite(x) else repr(x) for name, x in self.values.items()}
        fields = {**dataclasses.asdict(self), "values": values}
        if self.error is None:
            del fields["error"]
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Run | None:
        """Return the run that a line holds; None if it holds none."""
        try:
            run = cls(**json.loads(line))
            if bool(run.values) == isinstance(run.error, str):
                return None
            values = {name: float(x) for name, x in run.values.items()}
            return dataclasses.replace(run, values=values, seed=int(run.seed), repetition=int(run.repetition))
        except (ValueError, TypeError, AttributeError):
            return None


Runs = dict[tuple[int, int], Run]
"""Runs by seed and repetition."""


def parsed(path: Path) -> tuple[Runs, int | None]:
    """Return the runs of a file, and where in it a last line starts that a killed process tore; None where none is.

    A run that failed may have been made again: the last line of it counts.
    """
    content = path.read_bytes() if path.exists() else b""
    *lines, tail = content.split(b"\n")
    torn = Run.read(tail) is None
    if torn and tail.rstrip(b"\0")[: len(LINE_START)] != LINE_START[: len(tail.rstrip(b"\0"))]:
        raise ValueError(f"file must hold runs recorded by run_seeds; the last line of {path} is {shown(tail)}")
    runs: Runs = {}
    for i, line in enumerate(lines if torn else [*lines, tail], 1):
        run = Run.read(line)
        if run is None:
            raise ValueError(f"file must hold runs recorded by run_seeds; line {i} of {path} is {shown(line)}")
        _check_alike(run, runs.values(), path)
        former = runs.get((run.seed, run.repetition))
        if former is not None and former.error is None:
            raise ValueError(
                f"file must hold every run once; {path} holds repetition {run.repetition} of seed {run.seed} twice: "
                "give every process a file of its own"
            )
        runs[run.seed, run.repetition] = run
    return runs, len(content) - len(tail) if torn else None


def recorded(path: Path, varies: str, seed_all: bool) -> Runs:
    """Return the runs of a file, and leave the file ready for more lines.

    A last line that a killed process tore is cut off; one that lacks only its end gets it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    runs, torn_at = parsed(path)
    for run in runs.values():
        _check_same("varies", run, run.varies, varies, path, "here")
        _check_same("seed_all", run, bool(run.seeded), seed_all, path, "here")
    with path.open("ab") as out:
        if torn_at is None:
            out.write(b"\n")
        else:
            out.truncate(torn_at)
    return runs


def metrics_of(runs: Iterable[Run]) -> Run | None:
    """Return the first run that has metrics; None where all failed."""
    return next((run for run in runs if run.error is None), None)


def _check_alike(run: Run, others: Iterable[Run], path: Path) -> None:
    """Refuse a file whose runs are not of one experiment, naming the field."""
    first = next(iter(others), run)
    _check_same("varies", run, run.varies, first.varies, path, f"for seed {first.seed}")
    _check_same("seed_all", run, bool(run.seeded), bool(first.seeded), path, f"for seed {first.seed}")
    measured = metrics_of(others)
    if run.error is None and measured is not None:
        there = f"for seed {measured.seed}"
        _check_same("values", run, sorted(run.values), sorted(measured.values), path, there)


def _check_same(name: str, run: Run, value: Any, expected: Any, path: Path, where: str) -> None:
    if value != expected:
        raise ValueError(
            f"file must hold runs of one experiment; {name} of seed {run.seed} is {value!r} in {path} and "
            f"{expected!r} {where}: give another file"
        )


def append(path: Path, line: bytes) -> None:
    """Add a line that is on the disk when this returns."""
    with path.open("ab") as out:
        out.write(line)
        out.flush()
        os.fsync(out.fileno())
