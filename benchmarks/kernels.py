"""CPU time of the kernels, each beside the plain form of the same computation, in one run.

Run ``JAX_PLATFORMS=cpu python benchmarks/kernels.py``; ``--json FILE`` keeps the numbers. n = 250 and
B = 9,999. What is done for every data set is measured on 20 of them and given for 10,000; what is done
once for a bank is given for 80 banks. The plain form of a ranked statistic is its ``value`` mapped over
the resamples in batches of 256, that of a table the product with indicators, that of an order statistic the
product with the coefficients of every resample.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxci
from jaxci.resampling import kernels
from jaxci.statistics import class_ranking
from jaxci.statistics.order import IQR, Median, OrderStatistic
from jaxci.statistics.ranking import METRICS, RankedStatistic, RocAuc
from jaxci.statistics.sample import Sample

N, B = 250, 9_999
DATA_SETS, MEASURED, BANKS = 10_000, 20, 80
RNG = np.random.default_rng(0)
RANKED: dict[str, RankedStatistic] = {**METRICS, **class_ranking.METRICS, "roc_auc, max_fpr=0.3": RocAuc(max_fpr=0.3)}


def seconds(function: Callable[..., Any], *args: Any, repeats: int = 3) -> float:
    """CPU seconds of one call, the least of a few; compiled before."""
    jax.block_until_ready(function(*args))
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        jax.block_until_ready(function(*args))
        taken.append(time.process_time() - start)
    return min(taken)


def ranked(bank_t: jax.Array) -> dict[str, tuple[float, float]]:
    times = {}
    for name, statistic in RANKED.items():
        k = 2 if statistic.task == "binary" else 4
        labels = RNG.integers(0, k, (MEASURED, N)).astype(np.int32)
        scores = RNG.normal(size=(MEASURED, N, k)) + np.eye(k)[labels]
        data = (jnp.asarray(labels), jnp.asarray(scores[..., 1] if k == 2 else scores, jnp.float32))

        def prepared(one: tuple[jax.Array, jax.Array], statistic: RankedStatistic = statistic, k: int = k) -> Any:
            return statistic.prepare(Sample(y_true=one[0], y_score=one[1], n_classes=k))

        def scanned(data: Any, bank_t: jax.Array, statistic: RankedStatistic = statistic) -> jax.Array:
            return jax.lax.map(lambda one: statistic.replicates(prepared(one), bank_t), data)

        def valued(data: Any, bank_t: jax.Array, statistic: RankedStatistic = statistic) -> jax.Array:
            def one(data: Any) -> jax.Array:
                ready = prepared(data)
                return jax.lax.map(lambda w: statistic.value(ready, w), bank_t.T, batch_size=256)

            return jax.lax.map(one, data)

        few = jax.tree.map(lambda x: x[:2], data)
        plain = seconds(jax.jit(valued), few, bank_t, repeats=1) / 2
        times[f"{name} (K = {k})"] = (
            DATA_SETS * seconds(jax.jit(scanned), data, bank_t) / MEASURED,
            DATA_SETS * plain,
        )
    return times


def tables(bank_t: jax.Array) -> dict[str, tuple[float, float]]:
    cumulative = jax.jit(kernels.cumulative_counts)(bank_t)
    times = {}
    for cells in (4, 16):
        codes = jnp.asarray(RNG.integers(0, cells, (MEASURED, N)).astype(np.int32))

        def differences(codes: jax.Array, cells: int = cells) -> jax.Array:
            return jax.lax.map(lambda x: kernels.cell_counts(cumulative, jnp.bincount(x, length=cells)), codes)

        def products(codes: jax.Array, cells: int = cells) -> jax.Array:
            return jax.lax.map(lambda x: bank_t.T @ jax.nn.one_hot(x, cells, dtype=bank_t.dtype), codes)

        pair = (seconds(jax.jit(form), codes) * DATA_SETS / MEASURED for form in (differences, products))
        times[f"tables of {cells} cells"] = tuple(pair)
    return times


def ranks(bank_t: jax.Array) -> dict[str, tuple[float, float]]:
    per_bank = DATA_SETS // BANKS
    values = jnp.asarray(np.sort(RNG.normal(size=(per_bank, N)), axis=1), jnp.float32)
    times = {}
    ends: tuple[tuple[str, OrderStatistic, tuple[float, ...]], ...] = (
        ("median", Median(), (0.5,)),
        ("iqr", IQR(), (0.25, 0.75)),
    )
    for name, statistic, probabilities in ends:

        def picked(bank_t: jax.Array, values: jax.Array, qs: tuple[float, ...] = probabilities) -> list[jax.Array]:
            cumulative = kernels.cumulative_counts(bank_t)
            picks = [kernels.rank_picks(cumulative, q) for q in qs]
            return jax.vmap(lambda x: [pick.of(x) for pick in picks])(values)

        def product(bank_t: jax.Array, values: jax.Array, statistic: OrderStatistic = statistic) -> jax.Array:
            return values @ statistic.coefficients(kernels.cumulative_counts(bank_t)[1:])

        times[f"{name}, banks included"] = (
            BANKS * seconds(jax.jit(picked), bank_t, values),
            BANKS * seconds(jax.jit(product), bank_t, values),
        )
    return times


def banks() -> dict[str, tuple[float, float]]:
    index = jnp.asarray(RNG.integers(0, N, (B, N)).astype(np.int32))

    def scattered(index: jax.Array) -> jax.Array:
        place = index + (jnp.arange(B, dtype=jnp.int32) * N)[:, None]
        counts = jnp.zeros(B * N).at[place.ravel()].add(1.0, mode="promise_in_bounds")
        return counts.reshape(B, N)

    def rows(index: jax.Array) -> jax.Array:
        return kernels.count_rows(index, N)

    return {
        "counting draws into rows": (
            BANKS * seconds(jax.jit(rows), index),
            BANKS * seconds(jax.jit(scattered), index),
        ),
    }


def sorting() -> dict[str, tuple[float, float]]:
    x = jnp.asarray(RNG.normal(size=(MEASURED, B)), jnp.float32)
    scale = DATA_SETS / MEASURED
    plain = scale * seconds(lambda: jnp.sort(x, axis=-1), repeats=1)
    return {"sorting replicates": (scale * seconds(lambda: kernels.sorted_rows(x)), plain)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="file for the numbers")
    args = parser.parse_args()
    bank_t = jnp.asarray(RNG.multinomial(N, np.full(N, 1 / N), size=B).T, jnp.float32)
    times = {**ranked(bank_t), **tables(bank_t), **ranks(bank_t), **banks(), **sorting()}
    print(f"CPU seconds for {DATA_SETS:,} data sets, {BANKS} banks; n = {N}, B = {B:,}")
    print(f"{'':42s}{'kernel':>10s}{'plain':>10s}{'times':>8s}")
    for name, (kernel, plain) in times.items():
        print(f"{name:42s}{kernel:10.2f}{plain:10.2f}{plain / kernel:8.1f}")
    if args.json:
        record = {
            "date": time.strftime("%Y-%m-%d"),
            "processor": platform.processor() or platform.machine(),
            "device": str(jax.devices()[0]),
            "versions": {"jaxci": jaxci.__version__, "jax": jax.__version__, "numpy": np.__version__},
            "n": N,
            "n_resamples": B,
            "data_sets": DATA_SETS,
            "banks": BANKS,
            "cpu_seconds": {name: {"kernel": k, "plain": p} for name, (k, p) in times.items()},
        }
        args.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
