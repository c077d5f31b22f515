"""Runs of a training function under many seeds: recorded one by one, resumed, and checked for repeatability."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.checks import check_choice, check_count, shown
from jaxci.inference.remarks import announce
from jaxci.runs import processes
from jaxci.runs.file import Run, Runs, append, metrics_of, parsed, recorded
from jaxci.runs.results import SeedRuns, collected, numbered
from jaxci.runs.training import Trainer, with_arguments

SEED_LIMIT = 2**32
"""Seeds lie below it: numpy.random.seed takes 32 bits."""

ON_ERROR = ("raise", "record")


def run_seeds(
    train: Callable[..., Any],
    seeds: int | Iterable[int],
    *,
    varies: str = "init",
    seed_all: bool = True,
    file: str | os.PathLike[str] | None = None,
    repeat: int = 1,
    n_jobs: int = 1,
    on_error: str = "raise",
    progress: Callable[[int, int], None] | None = None,
) -> SeedRuns:
    """Train once a seed, with the random states under control, and keep every result.

    Parameters
    ----------
    train : callable
        ``train(seed)`` returns a number, or a dictionary of metric names to numbers. Where it
        accepts a parameter called ``key``, it also gets ``jax.random.key(seed)``: JAX has no
        global random state, so ``train(seed, key)`` or ``train(key)`` must use the key itself.
    seeds : int or iterable of int
        ``n`` means 0 to n - 1. A seed that is given twice is run twice.
    varies : str
        What the seed controls: "init", "data order", "split", "all" ...; recorded with every run.
    seed_all : bool
        Whether to seed the global states of ``random`` and ``numpy.random`` before every run, and
        those of torch (``torch.manual_seed``: all devices) if torch has been imported by then.
    file : path, optional
        Where to record every run as soon as it ends, one line of JSON a run. Runs that the file
        already holds are not made again. Only one call at a time may use a file.
    repeat : int
        Runs of each seed. More than one shows whether the seed determines the result.
    n_jobs : int
        Processes of joblib that make runs side by side; -1 for as many as there are CPUs. 1 makes them
        here, one after the other. Results and their order are the same.
    on_error : {"raise", "record"}
        What becomes of an exception in ``train``. "raise" passes it on; with several processes the runs
        under way are finished and kept first. "record" keeps type and message, here and in ``file``, and
        the run has the score NaN. A later call with "record" does not make such a run again, one with
        "raise" does.
    progress : callable, optional
        Called with (runs done, runs in all) after every run; runs in the file count as done.

    Returns
    -------
    SeedRuns
        ``runs[metric]`` holds one value a seed; ``differing`` the seeds that gave two results; ``errors``
        what ended the runs that failed.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule, ``train`` returns something else or other metrics than
        before, cannot be sent to other processes, or fails under every seed, or ``file`` holds runs
        that vary something else, have other metrics, or were made under another ``seed_all``.
    ImportError
        If ``n_jobs`` is not 1 and there is no joblib, which comes with scikit-learn.
    Exception
        Whatever ``train`` raises, with a note that names the seed and how to go on. The runs
        before it stay in ``file``.

    Warns
    -----
    JaxciWarning
        If runs of one seed differ, compared exactly; if a run failed or its result is not finite; if runs
        were made under several versions of a package; or if torch was first imported within a run, which
        therefore drew from a state that nobody seeded.

    Notes
    -----
    Afterwards ``random`` and ``numpy.random`` are in the state in which they were before the
    call; torch stays as the last run left it. Not controlled are generators with a state of their
    own (``numpy.random.default_rng()`` without a seed, a ``torch.Generator``), other processes,
    and operations of accelerators that add in no fixed order: ``repeat=2`` reveals these. It cannot
    reveal what stays the same within a process, such as the order of sets of strings.

    With several processes every run gets a copy of ``train`` as it is at the call, the settings of JAX that
    change results, and seeded states of its own. What differs: runs cannot pass anything on to each other,
    states that ``seed_all=False`` leaves alone start anew in every process, and libraries may use fewer
    threads. Only the calling process writes ``file``; if it is killed, the runs under way are lost. Processes share
    an accelerator only if JAX does not reserve its memory (``XLA_PYTHON_CLIENT_PREALLOCATE=false``).

    After a change of ``train`` or its data give a new ``file``: such a change goes unnoticed. Source: Lehmann
    and Paromau (2025), who run a pipeline under controlled random states to see the distribution of
    its metric.

    Examples
    --------
    >>> import numpy as np
    >>> from jaxci import run_seeds
    >>> def train(seed):
    ...     noise = np.random.normal(size=50)
    ...     return {"accuracy": float(np.mean(noise > -1)), "loss": float(np.mean(noise**2))}
    >>> runs = run_seeds(train, 5, varies="noise", repeat=2)
    >>> runs["accuracy"].tolist(), len(runs), runs.differing
    ([0.84, 0.88, 0.82, 0.76, 0.8], 10, {})
    """
    if not callable(train):
        raise TypeError(f"train must be callable; got {shown(train)}")
    asked = numbered([seed for seed in _seeds(seeds) for _ in range(check_count("repeat", repeat, 1))])
    if not isinstance(varies, str):
        raise TypeError(f"varies must be a str; got {shown(varies)}")
    if not varies.strip():
        raise ValueError(f"varies must say what the seed controls; got {varies!r}")
    if not isinstance(seed_all, bool):
        raise TypeError(f"seed_all must be True or False; got {shown(seed_all)}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable or None; got {shown(progress)}")
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of processes, or -1 for as many as there are CPUs; got {n_jobs!r}")
    check_choice("on_error", on_error, ON_ERROR)
    path = _path(file)
    with_arguments(train)
    runs = {} if path is None else recorded(path, varies, seed_all)
    if on_error == "raise":
        runs = {pair: run for pair, run in runs.items() if run.error is None}
    _make(Trainer(train, varies, seed_all), asked, runs, path, int(n_jobs), on_error == "record", progress)
    made = [runs[pair] for pair in asked]
    if metrics_of(made) is None:
        raise ValueError(f"train failed under every seed; under seed {made[0].seed} with {made[0].error}")
    found = collected(made)
    announce(found.warnings)
    return found


def read_runs(file: str | os.PathLike[str]) -> SeedRuns:
    """Return the runs that :func:`run_seeds` recorded in a file, by seed.

    Parameters
    ----------
    file : path

    Returns
    -------
    SeedRuns

    Raises
    ------
    ValueError
        If the file holds no runs, or something else.
    OSError
        If it cannot be read.

    Warns
    -----
    JaxciWarning
        As :func:`run_seeds` does.
    """
    path = _path(file)
    if path is None:
        raise TypeError("file must be a path; got None")
    path.stat()
    runs, _ = parsed(path)
    if metrics_of(runs.values()) is None:
        raise ValueError(f"file must hold a run that did not fail; {path} has {len(runs)} runs, all failed")
    found = collected([runs[pair] for pair in sorted(runs)])
    announce(found.warnings)
    return found


def _make(
    trainer: Trainer,
    asked: list[tuple[int, int]],
    runs: Runs,
    path: Path | None,
    n_jobs: int,
    recording: bool,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Make the runs that are missing, add them to ``runs``, and to the file at once.

    After an error that is not recorded no run is started any more; those under way are kept.
    """
    waiting = deque(pair for pair in asked if pair not in runs)
    n_processes = min(processes.number_of_processes(n_jobs), len(waiting)) if waiting else 1
    made = trainer.outcomes(waiting) if n_processes == 1 else processes.outcomes(trainer, waiting, n_processes)
    failed: dict[tuple[int, int], Exception] = {}
    with contextlib.closing(made):
        try:
            for outcome in made:
                run, error = outcome.run, outcome.error
                if error is not None and not (recording and outcome.recordable):
                    failed[run.seed, run.repetition] = error
                    waiting.clear()
                    continue
                _check_metrics(run, runs, path)
                if path is not None:
                    append(path, run.line())
                runs[run.seed, run.repetition] = run
                if progress is not None:
                    progress(sum(pair in runs for pair in asked), len(asked))
            for pair in asked:
                if pair in failed:
                    raise failed[pair]
        except BaseException as error:
            left = [pair for pair in asked if pair not in runs]
            culprit = next((pair for pair in asked if pair in failed), left[0] if left and n_processes == 1 else None)
            what = "the call stopped" if culprit is None else f"seed {culprit[0]} failed"
            error.add_note(_how_to_go_on(what, len(asked) - len(left), len(asked), path))
            raise


def _seeds(seeds: Any) -> list[int]:
    """Return the seeds as a list of at least one int in [0, 2**32)."""
    if isinstance(seeds, int | np.integer):
        return list(range(check_count("seeds", seeds, 1)))
    try:
        given = list(seeds)
    except TypeError:
        raise TypeError(f"seeds must be an integer or an iterable of integers; got {shown(seeds)}") from None
    if not given:
        raise ValueError("seeds must hold at least one seed; got none")
    checked = [check_count(f"seeds[{i}]", seed, 0) for i, seed in enumerate(given)]
    for i, seed in enumerate(checked):
        if seed >= SEED_LIMIT:
            raise ValueError(f"seeds[{i}] must be below 2**32; got {seed}")
    return checked


def _path(file: Any) -> Path | None:
    """Return ``file`` as a path that stays the same wherever ``train`` moves to."""
    if file is None:
        return None
    if not isinstance(file, str | os.PathLike):
        raise TypeError(f"file must be a path or None; got {shown(file)}")
    path = Path(file).absolute()
    if path.is_dir():
        raise ValueError(f"file must be the path of a file; got the folder {path}")
    return path


def _check_metrics(run: Run, runs: Runs, path: Path | None) -> None:
    """Refuse a run whose metrics are not those of an earlier one."""
    other = metrics_of(runs.values())
    if run.error is None and other is not None and run.values.keys() != other.values.keys():
        hint = "" if path is None else f", which {path} may hold from another call: give another file"
        raise ValueError(
            f"train must return the same metric names in every run; got {sorted(run.values)} for seed {run.seed} "
            f"and {sorted(other.values)} for seed {other.seed}{hint}"
        )


def _how_to_go_on(what: str, done: int, total: int, path: Path | None) -> str:
    """Return the note on an error."""
    if path is None:
        return f"run_seeds: {what} after {done} of {total} runs, which are lost: pass file= to keep them"
    return (
        f"run_seeds: {what}; {done} of {total} runs are in {path}: "
        "call again with the same arguments to go on with the others"
    )
