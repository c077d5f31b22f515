"""Time forms of two inner loops on the device at hand: counting draws into rows, and walking along rankings.

Run ``python benchmarks/device_forms.py``. Milliseconds, medians of 5 calls, warm, for B = 9,999 resamples: of draws
that are added to their places, as on a CPU and on a GPU, and compared with all units, as on a TPU; and of walks (AUC
and average precision, n = 250, 1,000 data sets together) by the entries that a step takes.
"""

from __future__ import annotations

import argparse
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from device import seconds

from jaxci.resampling import kernels, ranked

RNG = np.random.default_rng(0)


def counts(size: int, draws: int, resamples: int) -> dict[str, float]:
    """Return the milliseconds of every form for ``draws`` of ``size`` units."""
    index = jnp.asarray(RNG.integers(0, size, (resamples, draws)).astype(np.int32))
    forms = {
        form: functools.partial(kernels.count_rows, size=size, form=form) for form in ("accelerator", "tpu", "cpu")
    }
    return {form: 1e3 * seconds(functools.partial(jax.jit(count), index), 5) for form, count in forms.items()}


def walks(entries: int, n: int, resamples: int, data_sets: int) -> float:
    """Return the milliseconds of a walk that takes so many entries a step."""
    bank = jnp.asarray(RNG.multinomial(n, np.full(n, 1 / n), resamples).T.astype(np.uint8))
    rows = jnp.asarray(np.argsort(RNG.random((data_sets, n)), axis=1).astype(np.int32))
    members = jnp.asarray(RNG.random((data_sets, n)) < 0.3)

    def sums(rows: jax.Array, members: jax.Array, bank: jax.Array) -> Any:
        def one(rows: jax.Array, members: jax.Array) -> Any:
            return ranked.scanned(bank, ranked.Descent.of(rows, members, None), ("wins", "precision"))

        return jax.vmap(one)(rows, members)

    ranked._UNROLLED.update(accelerator=entries, cpu=entries)
    return 1e3 * seconds(functools.partial(jax.jit(sums), rows, members, bank), 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=9_999)
    parser.add_argument("--data-sets", type=int, default=1_000)
    arguments = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}")
    for size in (4, 16, 32, 64, 256):
        for draws in (size, 2_048):
            found = counts(size, draws, arguments.resamples)
            print(f"{draws:5d} draws of {size:3d} units: " + ", ".join(f"{k} {v:.3f} ms" for k, v in found.items()))
    for entries in (2, 8, 16, 32, 64):
        print(
            f"walk, {entries:2d} entries a step: {walks(entries, 250, arguments.resamples, arguments.data_sets):.1f} ms"
        )


if __name__ == "__main__":
    main()
