"""The bootstrap of any function of samples, with SciPy's interface and meaning."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxci.api.readers.arrays import missing_values, unmasked
from jaxci.api.readers.functions import Function
from jaxci.checks import ALTERNATIVES, check_alternative, check_choice, check_confidence_level, check_count, shown
from jaxci.inference.randomness import randomness
from jaxci.inference.replicate import chunk_workers
from jaxci.inference.slopes import first_order
from jaxci.intervals.base import Evidence, Method, tails
from jaxci.intervals.bootstrap import Basic, BCa, Percentile
from jaxci.printing import MOST_ROWS, ConfidenceInterval, JaxciWarning, Printable, left_out, stated_level
from jaxci.resampling.bank import replicate_keys
from jaxci.resampling.kernels import in_batches
from jaxci.resampling.laws import Drawn
from jaxci.resampling.threads import each
from jaxci.resampling.words import random_words, scaled_words
from jaxci.special import deviation
from jaxci.statistics.summary import Mean
from jaxci.statistics.sums import padded

INTERVALS: dict[str, Method] = {"percentile": Percentile(), "basic": Basic(), "BCa": BCa(degenerate="nan")}
"""Methods by SciPy's names; a 0/0 acceleration gives no interval there."""
CHUNK_ELEMENTS = 2**20
ROUNDING = 1e-6
"""Share of the largest replicate by which an estimate may differ from an earlier one of the same data."""

SLOW = (
    "JAX cannot trace this statistic, so it was called on the host; for the fast road write it with jax.numpy, "
    "taking samples and axis=-1"
)


@dataclasses.dataclass(frozen=True, eq=False)
class BootstrapResult(Printable):
    """What :func:`bootstrap` returns, with the attributes of SciPy's result.

    Attributes
    ----------
    confidence_interval : ConfidenceInterval
        ``.low`` and ``.high``, of the statistic's shape.
    bootstrap_distribution : (..., B) array
    standard_error : float or array
        Standard deviation (ddof 1) of the bootstrap distribution.
    rng : int or key
        Repeats the call when passed as ``rng``.
    method, confidence_level, alternative
        As they were asked for.
    estimate : float or array
        The statistic on the data.
    """

    confidence_interval: ConfidenceInterval
    bootstrap_distribution: np.ndarray = dataclasses.field(repr=False)
    standard_error: Any = None
    rng: Any = None
    method: str = "BCa"
    confidence_level: float = 0.95
    alternative: str = "two-sided"
    estimate: Any = None

    unlisted = frozenset({"bootstrap_distribution"})

    def headline(self) -> str:
        """Return the line above the table."""
        stated = stated_level(self.confidence_level, self.alternative, f"{self.method} bootstrap intervals")
        return f"{stated}, {np.shape(self.bootstrap_distribution)[-1]} resamples"

    def records(self) -> list[dict[str, Any]]:
        """Return one flat row a value of the statistic; ``index`` is empty for a single number."""
        ends = (self.estimate, *self.confidence_interval, self.standard_error)
        estimate, low, high, error = (np.asarray(x) for x in ends)
        return [
            {
                "index": ", ".join(map(str, at)),
                "estimate": float(estimate[at]),
                "low": float(low[at]),
                "high": float(high[at]),
                "standard_error": float(error[at]),
            }
            for at in np.ndindex(low.shape)
        ]

    def layout(self) -> tuple[list[str], list[list[Any]]]:
        """Return header and cells of the printed table."""
        rows = [[r[k] for k in ("index", "estimate", "low", "high", "standard_error")] for r in self.records()]
        header = ["index", "estimate", "low", "high", "std. error"]
        if np.ndim(self.standard_error) == 0:
            return header[1:], [row[1:] for row in rows]
        return header, rows[:MOST_ROWS]

    def notes(self) -> list[str]:
        """Return the lines below the table: how many rows it leaves out."""
        return left_out(np.size(self.standard_error))


def _respelled(name: Any, known: Sequence[str]) -> Any:
    """Return the known name that differs in case only, or else ``name``: SciPy does not mind the case."""
    return next((other for other in known if isinstance(name, str) and name.lower() == other.lower()), name)


def _samples(data: Any, axis: int, paired: bool) -> list[np.ndarray]:
    """Check samples and move the observations to the last axis."""
    try:
        samples = list(data)
    except TypeError:
        raise TypeError(f"data must be a sequence of samples; got {shown(data)}") from None
    given = [unmasked(f"data[{i}]", x) for i, x in enumerate(samples)]
    if not given:
        raise ValueError("data must hold at least one sample; got none")
    ndim = max(x.ndim for x in given)
    out = []
    for i, x in enumerate(given):
        if x.ndim == 0:
            raise ValueError(f"data must be a sequence of samples, such as (x,); data[{i}] is the scalar {shown(x)}")
        if x.dtype.kind not in "biuf":
            raise TypeError(f"data[{i}] must hold numbers; got dtype {x.dtype}")
        if not isinstance(axis, int | np.integer) or not -ndim <= axis < ndim:
            raise ValueError(f"axis must be an axis of every sample; got {axis} for data[{i}] of shape {x.shape}")
        x = np.moveaxis(x.reshape((1,) * (ndim - x.ndim) + x.shape), axis, -1)
        if x.shape[-1] < 2:
            raise ValueError(f"each sample must hold at least 2 observations along axis; data[{i}] has {x.shape[-1]}")
        # Shorter numbers lose digits: JAX averages such integers in single precision, too.
        wide = np.float64 if x.dtype.kind == "f" else np.int64
        out.append(x.astype(wide) if x.dtype.kind in "iuf" and x.dtype.itemsize < 8 else x)
    if paired and len({x.shape[-1] for x in out}) > 1:
        raise ValueError(f"paired samples must have one length along axis; got {[x.shape[-1] for x in out]}")
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in out))
    except ValueError:
        raise ValueError(f"samples must broadcast but for axis; got shapes {[x.shape for x in given]}") from None
    return [np.ascontiguousarray(np.broadcast_to(x, (*lead, x.shape[-1]))) for x in out]


def _indices(key: jax.Array, start: jax.Array, sizes: Sequence[int], paired: bool, chunk: int) -> list[jax.Array]:
    """Row numbers (chunk, n) for each sample: one set for paired samples."""
    ids = start + jnp.arange(chunk, dtype=jnp.int32)
    out = []
    for i, n in enumerate(sizes[:1] if paired else sizes):
        keys = replicate_keys(jax.random.fold_in(key, i), ids)
        out.append(scaled_words(random_words(keys, padded(n)), jnp.uint32(n))[:, :n])
    return out * len(sizes) if paired else out


_host_indices = jax.jit(_indices, static_argnames=("sizes", "paired", "chunk"))


@functools.partial(jax.jit, static_argnames=("function", "paired", "chunk"))
def _device_chunk(
    function: Function, key: jax.Array, start: jax.Array, samples: Sequence[jax.Array], paired: bool, chunk: int
) -> jax.Array:
    drawn = _indices(key, start, [x.shape[-1] for x in samples], paired, chunk)
    moved = (x.at[..., i].get(mode="promise_in_bounds") for x, i in zip(samples, drawn, strict=True))
    return function.on_device(*moved)


def _replicates(
    function: Function, samples: Sequence[np.ndarray], paired: bool, first: int, last: int, batch: int | None, key: Any
) -> np.ndarray:
    """Replicates (..., last - first) with the numbers ``first`` to ``last - 1``."""
    n_resamples = last - first
    per = sum(x.size for x in samples)
    chunk = max(1, min(n_resamples, batch or max(1, CHUNK_ELEMENTS // per)))
    chunk = -(-n_resamples // -(-n_resamples // chunk))
    starts = range(first, last, chunk)
    sizes = tuple(x.shape[-1] for x in samples)

    def on_host(start: int) -> np.ndarray:
        drawn = [np.asarray(i)[: last - start] for i in _host_indices(key, jnp.int32(start), sizes, paired, chunk)]
        return function.on_host(*(x[..., i] for x, i in zip(samples, drawn, strict=True)))

    parts: list[Any]
    if function.traceable:
        moved = [jnp.asarray(x) for x in samples]
        parts = [_device_chunk(function, key, jnp.int32(start), moved, paired, chunk) for start in starts]
    elif function.stays_on_host:
        parts = each(on_host, starts, chunk_workers())
    else:  # users' functions, in the thread and the contexts of the call
        parts = [on_host(start) for start in starts]
    if (got := np.shape(parts[0]))[-1:] not in ((chunk,), (n_resamples,)):
        raise ValueError(f"statistic must reduce axis, without keepdims; got shape {got} for {chunk} resamples")
    return np.concatenate([np.asarray(part) for part in parts], axis=-1)[..., :n_resamples]


@functools.partial(jax.jit, static_argnames=("function", "which"))
def _device_left_out(function: Function, samples: Sequence[jax.Array], which: tuple[int, ...]) -> jax.Array:
    n = samples[which[0]].shape[-1]

    def one(i: jax.Array) -> jax.Array:
        kept = jnp.arange(n - 1, dtype=jnp.int32)
        rows = kept + (kept >= i)
        return function.on_device(*(x[..., rows] if j in which else x for j, x in enumerate(samples)))

    batch = max(1, CHUNK_ELEMENTS // sum(samples[j].size for j in which))
    return in_batches(one, jnp.arange(n, dtype=jnp.int32), batch)


def _left_out(function: Function, samples: Sequence[np.ndarray], which: tuple[int, ...]) -> np.ndarray:
    """Statistic with each observation left out of the samples ``which``, together: (..., n)."""
    n = samples[which[0]].shape[-1]
    if function.is_mean and len(samples) == 1:
        return (samples[0].sum(axis=-1, keepdims=True) - samples[0]) / (n - 1)
    if function.traceable:
        return np.moveaxis(np.asarray(_device_left_out(function, [jnp.asarray(x) for x in samples], which)), 0, -1)
    if function.vectorized and len(samples) == 1:
        kept, several = np.arange(n - 1), max(1, CHUNK_ELEMENTS // samples[0].size)
        left = (np.arange(start, min(start + several, n)) for start in range(0, n, several))
        rows = (kept + (kept >= out[:, None]) for out in left)
        return np.concatenate([function.on_host(samples[0][..., one]) for one in rows], axis=-1)
    found = [
        function.on_host(*(np.delete(x, i, axis=-1) if j in which else x for j, x in enumerate(samples)))
        for i in range(n)
    ]
    return np.stack(found, axis=-1)


def _acceleration(function: Function, samples: Sequence[np.ndarray], paired: bool) -> np.ndarray:
    """Acceleration (...) by the jackknife over all samples (Efron 1987, sec. 7): NaN where nothing varies.

    Paired samples are one sample of pairs, which are left out whole.
    """
    slopes = []
    each = range(len(samples))
    for which in [tuple(each)] if paired else [(j,) for j in each]:
        left = _left_out(function, samples, which)
        n = left.shape[-1]
        with np.errstate(invalid="ignore"):  # of infinite values
            slopes.append((n - 1) / n * (left.mean(axis=-1, keepdims=True) - left))
    return first_order(np.concatenate(slopes, axis=-1), 1.0).acceleration


def _check_alike(earlier: Any, replicates: np.ndarray, theta: np.ndarray) -> None:
    """Refuse an earlier result whose estimate, if it has one, is not that of the present data, ``theta`` (...)."""
    if getattr(earlier, "estimate", None) is None:  # as of SciPy's results
        return
    before = np.asarray(earlier.estimate)
    largest = np.max(np.abs(replicates), axis=-1, where=np.isfinite(replicates), initial=0.0)
    apart = ~np.isclose(before, theta, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True)
    if apart.any():
        raise ValueError(
            "bootstrap_result must be of the same data and statistic; its estimate is "
            f"{float(before[apart][0])!r}, that of data is {float(theta[apart][0])!r}"
        )


def _undefined(samples: Sequence[np.ndarray], replicates: np.ndarray) -> str:
    """Say why an interval is NaN."""
    lost, endless = int(np.isnan(replicates).sum()), int(np.isinf(replicates).sum())
    if not lost and endless:
        return f"the interval is undefined (NaN): the statistic is infinite in {endless} of {replicates.size} resamples"
    if not lost:
        return (
            "The BCa confidence interval cannot be calculated (NaN): the leave-one-out values do not vary, or the "
            "replicates lie all on one side of the estimate; use method='percentile'"
        )
    data = "; ".join(f"data[{i}]: {text}" for i, x in enumerate(samples) if (text := missing_values(x)))
    return (
        f"the interval is undefined (NaN): the statistic is NaN in {lost} of {replicates.size} resamples"
        f"{f' ({data})' if data else ''}"
    )


def bootstrap(
    data: Any,
    statistic: Callable[..., Any],
    *,
    n_resamples: int = 9999,
    batch: int | None = None,
    vectorized: bool | None = None,
    paired: bool = False,
    axis: int = 0,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    method: str = "BCa",
    bootstrap_result: Any = None,
    rng: Any = None,
) -> BootstrapResult:
    """Bootstrap confidence interval of any statistic, as ``scipy.stats.bootstrap``.

    Parameters
    ----------
    data : sequence of array_like
        One or more samples; numbers reach the statistic in 64 bits, integers and booleans as what they are.
    statistic : callable
        ``statistic(*samples)`` of 1-D samples, or ``statistic(*samples, axis=-1)`` where it
        is vectorized. Where it returns several values, for one sample or for each, their axes
        come first. A function that JAX can trace runs on the device; another runs on the host,
        with a warning.
    n_resamples : int
        Resamples B; 0 is allowed with ``bootstrap_result``.
    batch : int, optional
        Resamples evaluated together.
    vectorized : bool, optional
        Whether ``statistic`` takes ``axis``; by default, whether it has such a parameter.
    paired : bool
        Whether corresponding observations of the samples are resampled together.
    axis : int
        The axis of the observations.
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
        "less" gives ``(-inf, high)``, "greater" ``(low, inf)``.
    method : {"percentile", "basic", "BCa"}
    bootstrap_result : BootstrapResult, optional
        An earlier result of the same data and statistic, whose replicates are extended: with the same ``rng``, an
        int or a key, to those of one longer call.
    rng : int, numpy.random.Generator, JAX key or None

    Returns
    -------
    BootstrapResult

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule.

    Warns
    -----
    scipy.stats.DegenerateDataWarning
        Where an interval is undefined: the statistic of a resample is NaN, or, for BCa, all
        leave-one-out values are equal.
    JaxciWarning
        Where the statistic runs on the host.

    Notes
    -----
    Independent observations; percentile and basic are first-order, BCa second-order
    accurate. Cost O(B n), and O(n^2) for BCa, except for a mean.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> x = np.random.default_rng(0).normal(size=50)
    >>> result = jaxci.bootstrap((x,), np.mean, rng=1)
    >>> bool(result.confidence_interval.low < x.mean() < result.confidence_interval.high)
    True
    """
    samples = _samples(data, axis, paired)
    level = check_confidence_level(confidence_level)
    alternative = check_alternative(_respelled(alternative, ALTERNATIVES))
    n_resamples = check_count("n_resamples", n_resamples, 0)
    if batch is not None:
        batch = check_count("batch", batch, 1)
    if not callable(statistic):
        raise TypeError(f"statistic must be callable (jaxci.interval takes metrics by name); got {shown(statistic)}")
    kind = check_choice("method", _respelled(method, tuple(INTERVALS)), INTERVALS)
    if vectorized not in (True, False, None):
        raise ValueError(f"vectorized must be True, False or None; got {shown(vectorized)}")
    if paired not in (True, False):
        raise ValueError(f"paired must be True or False; got {shown(paired)}")
    if bootstrap_result is not None and not hasattr(bootstrap_result, "bootstrap_distribution"):
        raise TypeError(f"bootstrap_result must be an earlier result of bootstrap; got {shown(bootstrap_result)}")
    if n_resamples == 0 and bootstrap_result is None:
        raise ValueError("n_resamples must be at least 1 without bootstrap_result; got 0")
    source = randomness(rng)
    with jax.enable_x64(True):
        function = Function.of(statistic, vectorized, samples)
        if not (function.traceable or function.stays_on_host):
            warnings.warn(SLOW, JaxciWarning, stacklevel=2)
        theta = np.asarray((function.on_device if function.traceable else function.on_host)(*samples))
        lead = samples[0].shape[:-1]
        if theta.shape[theta.ndim - len(lead) :] != lead:
            raise ValueError(
                f"statistic must reduce axis and keep the other axes, of shape {lead}, last; got shape {theta.shape}"
            )
        parts = [] if bootstrap_result is None else [np.asarray(bootstrap_result.bootstrap_distribution)]
        if parts and parts[0].shape[:-1] != theta.shape:
            raise ValueError(
                f"bootstrap_result must be of a statistic of the same shape {theta.shape}; got replicates of shape "
                f"{parts[0].shape}"
            )
        if parts:
            _check_alike(bootstrap_result, parts[0], theta)
        if n_resamples:
            known = parts[0].shape[-1] if parts else 0
            parts.append(_replicates(function, samples, paired, known, known + n_resamples, batch, source.key))
        replicates = np.concatenate(parts, axis=-1)
        acceleration = _acceleration(function, samples, paired) if kind == "BCa" else None
    evidence = Evidence(
        statistic=Mean(),  # a statistic without bounds
        estimate=theta,
        n=samples[0].shape[-1],
        acceleration=acceleration,
        distribution=Drawn.of(replicates),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        found = INTERVALS[kind].bounds(evidence, tails(level, alternative), ())
        error = deviation(replicates, ddof=1) if replicates.shape[-1] > 1 else np.full(theta.shape, np.nan)
    lost = np.isnan(replicates).any(axis=-1)
    low, high = (np.where(lost, np.nan, end) for end in found)
    if np.isnan(low).any() or np.isnan(high).any():
        from scipy.stats import DegenerateDataWarning

        warnings.warn(_undefined(samples, replicates), DegenerateDataWarning, stacklevel=2)
    if alternative == "less":
        low = np.full_like(low, -np.inf)
    elif alternative == "greater":
        high = np.full_like(high, np.inf)
    return BootstrapResult(
        ConfidenceInterval(low[()], high[()]), replicates, error[()], source.record, kind, level, alternative, theta[()]
    )
