"""The command ``jaxci``: intervals for files of predictions."""

from __future__ import annotations

import contextlib
import dis
import gc
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from jaxci import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        0, or 2 after an error of usage or data, or 1 after a bug, with a word on stderr.
    """
    if (sys.argv[1:] if argv is None else list(argv)) == ["--version"]:  # also where the extra is not installed
        print(f"jaxci {__version__}")
        return 0
    try:
        import rich
        import typer
    except ImportError as error:
        return _fail(f"the command line needs {error.name}: install jaxci[cli]")
    del rich
    if not {"", str(Path.cwd())} & set(sys.path):
        sys.path.append(str(Path.cwd()))  # study files and --model name classes in modules of the user
    from jaxci.cli.app import app
    from jaxci.cli.words import FLAGS, in_flags, of_no_file

    FLAGS.of(typer.main.get_command(app), sys.argv[1:] if argv is None else list(argv))
    try:
        with _seldom_collected():
            return app(args=argv, prog_name="jaxci", standalone_mode=False) or 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if hasattr(error, "format_message"):  # what the parser of the command line raises
            return _fail(error.format_message() or type(error).__name__)
        if isinstance(error, FileNotFoundError | IsADirectoryError) and error.filename is not None:
            return _fail(of_no_file(error))
        if isinstance(error, OSError | ImportError) or _deliberate(error):
            said = in_flags(str(error.args[0]) if isinstance(error, KeyError) else str(error))
            hint = TAKEN_FOR_MISSING if NO_LABELS in said else POINTS if DECIMAL_COMMA.search(said) else ""
            return _fail(f"{said}{hint}")
        place = _innermost(error.__traceback__, inside=True)
        where = f" ({place.tb_frame.f_code.co_filename}:{place.tb_lineno})" if place else ""
        print(f"{type(error).__name__}: {error}".strip(), file=sys.stderr)
        print(f"this is a bug in jaxci{where}: please report it with the command", file=sys.stderr)
        return 1


NO_LABELS = "must have no missing labels"
"""What the library says of missing labels, which may have been words of the file."""
TAKEN_FOR_MISSING = " (fields that are empty, NA, N/A, NaN, null or None are taken for missing)"

DECIMAL_COMMA = re.compile(r"must (?:hold numbers|be a number).*'[-+]?\d*,\d+'")
"""What is said of a number with a comma."""
POINTS = " (numbers are written with decimal points, and without commas)"


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage seldom: imports make objects by the hundred thousand that stay, and a look goes over all."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _fail(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _innermost(trace: TracebackType | None, *, inside: bool = False) -> TracebackType | None:
    """Return the frame an error came from: the last of all, or the last in this package."""
    package = str(Path(__file__).parent.parent)
    found = None
    while trace is not None:
        if not inside or trace.tb_frame.f_code.co_filename.startswith(package):
            found = trace
        trace = trace.tb_next
    return found


def _deliberate(error: Exception) -> bool:
    """Whether a ``raise`` statement of this package made the error, as a check on input does.

    A TypeError or ValueError that arises in a library, or by a wrong call, is a bug instead.
    """
    last = _innermost(error.__traceback__)
    if not isinstance(error, ValueError | TypeError | KeyError) or last is None:
        return False
    if last is not _innermost(error.__traceback__, inside=True):
        return False
    return dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
