"""One statistic of several models on the same resamples."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from jaxci.inference.engine import PURPOSE_UNITS, host_replicates
from jaxci.inference.program import RowReader
from jaxci.inference.randomness import Randomness
from jaxci.inference.replicate import replicate
from jaxci.inference.request import Entry, Request, unit_program
from jaxci.inference.settings import Settings
from jaxci.resampling.schemes import make_scheme
from jaxci.statistics.base import Statistic
from jaxci.statistics.layout import Layout
from jaxci.statistics.sample import Sample

TOGETHER = 8
"""Models of one program: programs of so many are shared, and of more take long to compile."""


def joint_replicates(
    statistic: Statistic,
    samples: Sequence[Sample],
    layout: Layout | Sequence[Layout],
    settings: Settings,
    rng: Randomness,
) -> np.ndarray:
    """Return replicates (m, B) of a statistic of m models; every resample takes the same units for all.

    ``samples`` hold the same rows with the predictions of each model. Rows keep their order, so that a unit of the
    bank is the same row for every model. Several ``layout`` of the same units differ in what their rows weigh.
    """
    layouts = [layout] * len(samples) if isinstance(layout, Layout) else list(layout)
    together = TOGETHER if isinstance(layout, Layout) else 1
    scheme = make_scheme(layouts[0], settings.resampling, settings.resample_size)
    with jax.enable_x64(True):
        entries = [
            Entry.of(Request("", statistic), RowReader(one, of, exchangeable=False))
            for one, of in zip(samples, layouts, strict=True)
        ]
        if entries[0].on_host:
            return np.stack(
                [host_replicates(one, of, scheme, settings, rng) for one, of in zip(entries, layouts, strict=True)]
            )
        parts = []
        for start in range(0, len(entries), together):
            program = unit_program(entries[start : start + together], layouts[start], exchangeable=False)
            found = replicate(
                program,
                scheme,
                rng.key,
                settings.n_resamples,
                purpose=PURPOSE_UNITS,
                memory_limit=settings.memory_limit,
            )
            parts.append(found.values)
    return np.concatenate(parts)
