"""What every learner promises, and many fits in one program."""

from __future__ import annotations

import abc
import contextlib
import functools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.checks import shown
from jaxci.tracing import as_now


class Fitted(NamedTuple):
    """Parameters of a model, and whether its fit converged (a scalar boolean)."""

    params: Any
    converged: jax.Array


TASKS = ("regression", "classification", "any")


class Plane(NamedTuple):
    """A linear function of the features: its value at 0, and its slopes (d,)."""

    level: jax.Array
    slopes: jax.Array


class Inducer(abc.ABC):
    """A learner: ``fit`` and ``predict`` as JAX programs, and fields that are its settings.

    Classes are decorated with :func:`jaxci.records.record`; a field that is a shape, a count of steps or a name is
    declared with :func:`jaxci.records.static`, other fields are numbers that may be traced (and tuned).

    ``task`` is ``"regression"`` (targets and predictions (n,)), ``"classification"`` (codes (n,) int32,
    predictions (n, K) probabilities) or ``"any"``.

    ``pads_rows`` says that :func:`batches` fills up with rows of weight 0, so that samples of nearby sizes
    share a program: worth it where that takes long to compile, and possible where draws go to rows by their
    number. ``in_threads`` says that a CPU makes fits in several threads, of which each may use one core: not
    for programs that call LAPACK, which can block there.

    A page of examples is docs/extending.md; :func:`jaxci.inducers.check_inducer` tries what is promised here.
    """

    task: ClassVar[str]
    pads_rows: ClassVar[bool] = False
    in_threads: ClassVar[bool] = False

    @property
    def is_record(self) -> bool:
        """Whether its class is decorated, so that JAX programs take it."""
        return not jax.tree_util.all_leaves([self])

    def bytes_of_fit(self, n: int, d: int, n_classes: int) -> int:
        """Return about how many bytes one fit of a batch takes, with its predictions of n rows of d features."""
        return 8 * n * (d + max(n_classes, 1) + 4)

    @abc.abstractmethod
    def fit(self, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
        """Fit to rows ``X`` (n, d) and ``y`` (n,) that count ``weights`` (n,) times.

        A row of weight 0 has no influence; whole weights are the fit of the rows repeated.
        ``n_classes`` is 0 for a regression.
        """

    @abc.abstractmethod
    def predict(self, params: Any, X: jax.Array) -> jax.Array:
        """Return predictions (n,), or probabilities (n, K)."""

    def plane(self, params: Any, n_features: int) -> Plane | None:
        """Return the plane that predictions, or the log odds of the second of two classes, are; None if they are none.

        Studies then know the risk of a model without new rows, where the law of the data is known to be normal. A
        class that overrides ``predict`` says anew what its plane is.
        """
        return None


@contextlib.contextmanager
def _told(inducer: Inducer, step: str) -> Iterator[None]:
    """Tell what cannot be traced in the words of a learner."""
    try:
        yield
    except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
        problem = str(error).splitlines()[0]
        raise TypeError(
            f"{type(inducer).__name__}.{step} must be a JAX program: the values of its arrays are not known while it "
            "is compiled, so they decide no `if`, no shape and no NumPy call (jnp.where, jax.lax.cond and jax.lax.scan "
            f"read them; fields that give shapes are declared with jaxci.records.static). JAX says: {problem}"
        ) from error


def fitting(inducer: Inducer, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int) -> Fitted:
    """Return what ``inducer.fit`` returns, and tell what is wrong with it.

    Raises
    ------
    TypeError
        If it cannot be traced, or returns what no fit is.
    """
    with _told(inducer, "fit"):
        fitted = inducer.fit(key, X, y, weights, n_classes)
    name = type(inducer).__name__
    if not isinstance(fitted, tuple) or len(fitted) != 2:
        raise TypeError(f"{name}.fit must return Fitted(params, converged); got {shown(fitted)}")
    if jnp.shape(fitted[1]) != ():
        raise TypeError(f"converged of {name}.fit must be one truth value; got shape {jnp.shape(fitted[1])}")
    return Fitted(*fitted)


def predicting(inducer: Inducer, params: Any, X: jax.Array, n_classes: int) -> jax.Array:
    """Return predictions (n,), or probabilities (n, K), of ``inducer.predict``.

    Raises
    ------
    TypeError
        If it cannot be traced, or its shape is another.
    """
    with _told(inducer, "predict"):
        found = inducer.predict(params, X)
    shape = (X.shape[0], n_classes) if n_classes else (X.shape[0],)
    if jnp.shape(found) != shape:
        kind = "(n, K), probabilities of K classes" if n_classes else "(n,)"
        raise TypeError(
            f"{type(inducer).__name__}.predict must return the shape {kind}: {shape} for {X.shape[0]} rows; got "
            f"{jnp.shape(found)}"
        )
    return found


def _fit(
    inducer: Inducer, key: jax.Array, X: jax.Array, y: jax.Array, weights: jax.Array, n_classes: int
) -> tuple[jax.Array, jax.Array]:
    fitted = fitting(inducer, key, X, y, weights, n_classes)
    return predicting(inducer, fitted.params, X, n_classes), fitted.converged


def current(inducer: Inducer, n: int, d: int, n_classes: int) -> Inducer:
    """Return a learner as its code computes now of n rows of d features: programs of what it was do not serve."""
    X, weights = (jax.ShapeDtypeStruct(shape, np.float64) for shape in ((n, d), (n,)))
    y = jax.ShapeDtypeStruct((n,), np.int32 if n_classes else np.float64)
    fit = functools.partial(_fit, n_classes=n_classes)
    return as_now(inducer, fit, jax.random.key(0), X, y, weights) if inducer.is_record else inducer


def _fits(inducer: Inducer, keys: jax.Array, X: jax.Array, y: jax.Array, counts: jax.Array, n_classes: int) -> Any:
    return jax.vmap(lambda pair: _fit(inducer, pair[0], X, y, pair[1], n_classes))((keys, counts))


_compiled = jax.jit(_fits, static_argnums=5)


@jax.jit
def _numbered(key: jax.Array, numbers: jax.Array) -> jax.Array:
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(numbers)


FIT_BUDGET = 2**28
"""Bytes that the predictions and workspaces of fits made together may take, where no limit is given."""

FEW, MANY = 8, 64
"""More fits than these are made in two batches, and in eight, so that the time of the rest can be told."""


class Batch(NamedTuple):
    """Some of the fits: those from ``start`` on."""

    start: int
    predictions: np.ndarray
    converged: np.ndarray


def room(n: int) -> int:
    """Return the least size of a grid that holds n rows: multiples of 8, and four sizes between powers of two.

    Examples
    --------
    >>> [room(n) for n in (30, 500, 512, 513)]
    [32, 512, 512, 640]
    """
    step = max(8, 2 ** ((n - 1).bit_length() - 3))
    return -(-n // step) * step


THREADS = min(8, os.cpu_count() or 1)
"""Threads that make fits on a CPU."""


def rows_with_room(inducer: Inducer, n: int) -> int:
    """Return how many rows the programs of a learner take for n: :func:`room` where it wants it."""
    return room(n) if inducer.pads_rows else n


def with_room(inducer: Inducer, X: Any, y: Any, counts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows (..., n, d), targets (..., n) and counts (..., n) filled up to :func:`rows_with_room`.

    What is added is the last row, counted 0 times.
    """
    n = np.shape(X)[-2]
    more = rows_with_room(inducer, n) - n

    def last(x: Any, axis: int) -> np.ndarray:
        x = np.asarray(x)
        return np.pad(x, [(0, more if a == axis else 0) for a in range(-x.ndim, 0)], mode="edge")

    counts = last(counts, -1)
    counts[..., n:] = 0
    return last(X, -2), last(y, -1), counts


_started: set[Any] = set()
"""Programs that have run, by what they are compiled for: later calls of one may be made in several threads."""


def _at_once(fits: int, allowed: int, threads: int) -> tuple[int, int]:
    """Return how many fits a thread makes at a time, and in how many threads."""
    most = -(-fits // (8 if fits > MANY else 2 if fits > FEW else 1))
    size = min(max(allowed, 1), most)
    threads = min(threads, size)
    return (-(-size // threads) if size == most else size // threads), threads


def batches(
    inducer: Inducer,
    key: jax.Array,
    X: np.ndarray,
    y: np.ndarray,
    train_counts: np.ndarray,
    n_classes: int = 0,
) -> Iterator[Batch]:
    """Fit once for every row of ``train_counts`` and predict all rows of ``X``, batch by batch.

    Parameters
    ----------
    inducer : Inducer
    key : JAX key
        Folded with the number of the fit, so that batches change no draw.
    X : (n, d) array
    y : (n,) array
        Targets, or class codes 0..K-1.
    train_counts : (F, n) array
        How often each row is in the training sample.
    n_classes : int
        K; 0 for a regression.

    Yields
    ------
    Batch
        Predictions (b, n) or (b, n, K), and whether each fit converged (b,).

    Notes
    -----
    Double precision. Memory: :meth:`Inducer.bytes_of_fit` for each in a batch. More fits
    than :data:`FEW` are made in several batches, so that a caller sees how they go on.
    Neither batches nor threads nor filling up change a fit, up to the rounding of sums.
    """
    (n, d), fits = X.shape, len(train_counts)
    own, to_predict, train_counts = with_room(inducer, X, y, train_counts)
    inducer = current(inducer, len(own), d, n_classes)
    with jax.enable_x64(True):
        rows = jnp.asarray(own, jnp.float64)
        targets = jnp.asarray(to_predict, jnp.int32 if n_classes else jnp.float64)
    cores = THREADS if inducer.in_threads and jax.default_backend() == "cpu" else 1
    allowed = FIT_BUDGET // inducer.bytes_of_fit(len(own), d, n_classes)
    size, threads = _at_once(fits, allowed, cores)

    def some(start: int) -> tuple[np.ndarray, np.ndarray]:
        # The last fits are filled up with the very last, so that one program serves all.
        ids = np.minimum(np.arange(start, start + size), fits - 1)
        with jax.enable_x64(True):  # of this thread
            keys = _numbered(key, jnp.asarray(ids, jnp.int32))
            counts = jnp.asarray(train_counts[ids], jnp.float64)
            predictions, converged = map(np.asarray, _compiled(inducer, keys, rows, targets, counts, n_classes))
        return predictions[: fits - start, :n], converged[: fits - start]

    program = jax.tree.structure(inducer), size, rows.shape, n_classes
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, fits, size * threads):
            starts = range(start, min(start + size * threads, fits), size)
            found = list(map(some, starts[:1])) if program not in _started else []
            _started.add(program)
            found += pool.map(some, starts[len(found) :])
            yield Batch(start, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def fit_predict(
    inducer: Inducer,
    key: jax.Array,
    X: np.ndarray,
    y: np.ndarray,
    train_counts: np.ndarray,
    n_classes: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return all the :func:`batches` as one: predictions (F, n) or (F, n, K), and which converged (F,)."""
    found = list(batches(inducer, key, X, y, train_counts, n_classes))
    return np.concatenate([b.predictions for b in found]), np.concatenate([b.converged for b in found])
