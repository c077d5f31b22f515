"""Claims of processes on parts of the work in a folder: whoever makes the file does the part."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from pathlib import Path
from types import TracebackType

from jaxci.coverage.store import file_name

BEAT = 20.0
"""Seconds between signs of life of a process that holds claims."""
STALE = 300.0
"""Seconds without a sign of life after which a claim is void."""
BLANK = 10.0
"""The same for a claim that does not say whose it is: one killed between making the file and writing it."""
POLL = 0.5
"""Seconds between two looks at the claim of another process."""


class Claims:
    """Claims of this process in one folder, each a file with host, process and time.

    Making the file is atomic, so one process gets it. Its time of change is set anew every :data:`BEAT` seconds. A
    claim is void if its process has ended on this host, or if it gave no sign of life for :data:`STALE` seconds,
    :data:`BLANK` where it does not say whose it is; then the next who asks takes it over. Work whose claim is taken by
    mistake, as where clocks of hosts differ by minutes, is done twice, with the same result.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._mine: set[Path] = set()
        self._over = threading.Event()
        self._beats = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Claims:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._beats.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._beats.join()
        for path in list(self._mine):
            path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            for path in list(self._mine):
                try:
                    os.utime(path)
                except OSError:  # taken over, or dropped between the two lines
                    continue

    def path(self, name: str) -> Path:
        """Path of the claim on ``name``."""
        return self.folder / file_name(name)

    def take(self, name: str) -> bool:
        """Claim ``name``; return whether it is this process's own."""
        path = self.path(name)
        if path in self._mine:
            return True
        return self._made(path) or (_void(path) and _removed(path) and self._made(path))

    def _made(self, path: Path) -> bool:
        holder = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "time": time.time()})
        try:
            with path.open("x") as file:
                file.write(holder)
        except FileExistsError:
            return False
        self._mine.add(path)
        return True

    def wait(self, name: str) -> None:
        """Claim ``name``, once no other process has it."""
        while not self.take(name):
            time.sleep(POLL)

    def drop(self, name: str) -> None:
        """Give up a claim."""
        path = self.path(name)
        self._mine.discard(path)
        path.unlink(missing_ok=True)

    def others(self, name: str) -> str:
        """Return who works on ``name``, a host and the number of a process; nothing if no one does."""
        path = self.path(name)
        if path in self._mine or not path.exists() or _void(path):
            return ""
        holder = _holder(path)
        return f"process {holder.get('pid', '?')} on {holder.get('host', '?')}"


def _holder(path: Path) -> dict[str, object]:
    """Return what a claim says; nothing where it is not written yet, or cut short."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _void(path: Path) -> bool:
    holder = _holder(path)
    if holder.get("host") == socket.gethostname() and not _lives(holder.get("pid")):
        return True
    try:
        return time.time() - path.stat().st_mtime > (STALE if holder else BLANK)
    except OSError:  # dropped by its process just now
        return True


def _lives(pid: object) -> bool:
    """Whether a process of this host is at work; where the system does not say, it is."""
    if not isinstance(pid, int) or os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    try:  # one that has ended, and that its parent has not asked about yet
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


def _removed(path: Path) -> bool:
    """Move a void claim away; return whether it was one, and no other process's new claim."""
    away = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.rename(away)
    except OSError:
        return True
    void = _void(away)
    if not void and not path.exists():
        away.rename(path)
    else:
        away.unlink(missing_ok=True)
    return void
