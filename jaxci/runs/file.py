"""A file of runs, one line each: written as they finish, read to go on."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path

from jaxci.checks import shown

LINE_START = b'{"seed": '
"""How every line of a file of runs begins."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One finished run, as a line of the file holds it."""

    seed: int
    repetition: int
    values: dict[str, float]
    seconds: float
    varies: str
    seeded: list[str]
    versions: dict[str, str]

    def line(self) -> bytes:
        """Return the run as one line of JSON; numbers that JSON does not know become strings."""
        values = {name: x if math.isfinite(x) else repr(x) for name, x in self.values.items()}
        return json.dumps({**dataclasses.asdict(self), "values": values}).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Run | None:
        """Return the run that a line holds; None if it holds none."""
        try:
            run = cls(**json.loads(line))
            values = {name: float(x) for name, x in run.values.items()}
            return dataclasses.replace(run, values=values, seed=int(run.seed), repetition=int(run.repetition))
        except (ValueError, TypeError, AttributeError):
            return None


def recorded(path: Path, varies: str, seed_all: bool) -> dict[tuple[int, int], Run]:
    """Return the runs of a file, and leave the file ready for more lines.

    A last line that a killed process tore is cut off; one that lacks only its end gets it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes() if path.exists() else b""
    *lines, tail = content.split(b"\n")
    torn = Run.read(tail) is None
    if torn and tail.rstrip(b"\0")[: len(LINE_START)] != LINE_START[: len(tail.rstrip(b"\0"))]:
        raise ValueError(f"file must hold runs recorded by run_seeds; the last line of {path} is {shown(tail)}")
    runs: dict[tuple[int, int], Run] = {}
    for i, line in enumerate(lines if torn else [*lines, tail], 1):
        run = Run.read(line)
        if run is None:
            raise ValueError(f"file must hold runs recorded by run_seeds; line {i} of {path} is {shown(line)}")
        _check_alike(run, next(iter(runs.values()), run), path, varies, seed_all)
        if (run.seed, run.repetition) in runs:
            raise ValueError(
                f"file must hold every run once; {path} holds repetition {run.repetition} of seed {run.seed} twice: "
                "give every process a file of its own"
            )
        runs[run.seed, run.repetition] = run
    with path.open("ab") as out:
        if torn:
            out.truncate(len(content) - len(tail))
        else:
            out.write(b"\n")
    return runs


def _check_alike(run: Run, first: Run, path: Path, varies: str, seed_all: bool) -> None:
    """Refuse a file whose runs are not of this experiment, naming the field."""
    fields = {
        "varies": (run.varies, varies),
        "seed_all": (bool(run.seeded), seed_all),
        "values": (sorted(run.values), sorted(first.values)),
    }
    for name, (there, here) in fields.items():
        if there != here:
            raise ValueError(
                f"file must hold runs of one experiment; {name} of seed {run.seed} is {there!r} in {path} and "
                f"{here!r} here: give another file"
            )


def append(path: Path, line: bytes) -> None:
    """Add a line that is on the disk when this returns."""
    with path.open("ab") as out:
        out.write(line)
        out.flush()
        os.fsync(out.fileno())
