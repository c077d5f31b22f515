"""Runs of a training function in several processes."""

from __future__ import annotations

import dataclasses
import importlib
import os
import pickle
import sys
import traceback
from collections import deque
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any

import jax

from jaxci.runs.training import Outcome, Trainer

CARRIED = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_disable_jit",
    "jax_debug_nans",
)
"""Settings of JAX that change results or errors: every process takes those of the caller."""
IDLE_SECONDS = 5
"""How long a process without work holds its memory."""
THREADS = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"))
"""What numerical libraries read the number of their threads from, where the caller has not set it."""


def joblib_needed() -> Any:
    """Return joblib, or say what installs it."""
    try:
        import joblib
    except ImportError as error:
        raise ImportError("n_jobs other than 1 needs joblib: install jaxci[sklearn]") from error
    return joblib


def number_of_processes(n_jobs: int) -> int:
    """Return how many processes ``n_jobs`` asks for; negative ones count from the CPUs, as joblib has it."""
    return 1 if n_jobs == 1 else int(joblib_needed().effective_n_jobs(n_jobs))


def outcomes(trainer: Trainer, waiting: deque[tuple[int, int]], n_processes: int) -> Generator[Outcome, None, None]:
    """Make the runs that wait in processes, and give every outcome as soon as it is there.

    Emptying ``waiting`` starts no further run; those under way are finished.

    Raises
    ------
    TypeError
        If the training function cannot be sent to another process, or not be loaded there.
    RuntimeError
        If a process ends before its run does.
    """
    packed = _packed(trainer)
    settings = {name: getattr(jax.config, name) for name in CARRIED}
    executor = _executor(n_processes)
    under_way: dict[Future[bytes | str], int] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < n_processes:
                pair = waiting.popleft()
                under_way[executor.submit(_attempt, packed, settings, "torch" in sys.modules, *pair)] = pair[0]
            seeds = sorted(set(under_way.values()))
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                del under_way[future]
                try:
                    sent = future.result()
                except BrokenExecutor as error:
                    raise RuntimeError(
                        f"a process ended while seeds {', '.join(map(str, seeds))} were under way, by train itself, "
                        "for want of memory or from outside: see its output, or run these seeds with n_jobs=1"
                    ) from error
                if isinstance(sent, str):
                    raise TypeError(
                        f"train must be loadable in other processes for n_jobs other than 1; got {sent} there"
                    )
                yield pickle.loads(sent)
    finally:
        executor.shutdown(kill_workers=bool(under_way))


def _executor(n_processes: int) -> Any:
    """Return ``n_processes`` processes, which share the cores in the threads of their numerical libraries."""
    joblib = joblib_needed()
    threads = str(max(1, joblib.cpu_count() // n_processes))
    shared = {name: os.environ.get(name, threads) for name in THREADS}
    return joblib.externals.loky.ProcessPoolExecutor(n_processes, timeout=IDLE_SECONDS, env=shared)


def _packed(trainer: Trainer) -> bytes:
    """Return the trainer as bytes: functions of scripts, notebooks and closures by value, others by name."""
    try:
        return _dumps(trainer)
    except Exception as error:  # pickling runs the code of whatever train refers to
        raise TypeError(
            f"train must be picklable for n_jobs other than 1: {type(error).__name__}: {error}; make what it refers "
            "to (files, locks, generators, devices) inside train, or run with n_jobs=1"
        ) from error


def _dumps(what: Any) -> bytes:
    """Return bytes that ``pickle`` reads, by what joblib itself packs functions with."""
    from joblib.externals.loky.cloudpickle_wrapper import dumps

    return dumps(what)


def _attempt(packed: bytes, settings: dict[str, Any], with_torch: bool, seed: int, repetition: int) -> bytes | str:
    """Make one run in this process; return its outcome as bytes, or why ``train`` does not load here."""
    for name, value in settings.items():
        jax.config.update(name, value)
    try:
        if with_torch:
            importlib.import_module("torch")
        trainer = pickle.loads(packed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    outcome = trainer.attempt(seed, repetition)
    if outcome.error is None:
        return _dumps(outcome)
    trace = "".join(traceback.format_exception(outcome.error))
    try:
        outcome.error.add_note(f"in the process of seed {seed}:\n{trace}")
        sent = _dumps(outcome)
        pickle.loads(sent)
    except Exception:  # an error that cannot travel: its type and message do
        travels = RuntimeError(outcome.run.error)
        travels.add_note(f"in the process of seed {seed}:\n{trace}")
        return _dumps(dataclasses.replace(outcome, error=travels))
    return sent
