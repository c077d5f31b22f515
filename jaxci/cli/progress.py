"""A progress bar that only shows itself on work that takes long."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@contextlib.contextmanager
def progress(label: str, *, delay: float = 2.0, console: Console | None = None) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with the time left on stderr once the block has run for ``delay`` seconds.

    Parameters
    ----------
    label : str
        What is being done.
    delay : float
        Seconds before the bar appears; it never does where stderr is not a terminal.
    console : rich.console.Console, optional
        Where to draw; stderr by default.

    Yields
    ------
    callable
        ``(done, total) -> None``, to be called as the work goes on. Until the first call the
        bar only says that there is work.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console or Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    bar = Progress(*columns, console=screen, transient=True)
    task = bar.add_task(label, total=None)
    lock, over, shown = threading.Lock(), False, False

    def appear() -> None:
        nonlocal shown
        with lock:
            if not over:
                bar.start()
                shown = True

    def advance(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)

    timer = threading.Timer(delay, appear)
    timer.daemon = True
    if screen.is_terminal:
        timer.start()
    try:
        yield advance
    finally:
        with lock:
            over = True
        timer.cancel()
        if shown:
            bar.stop()
