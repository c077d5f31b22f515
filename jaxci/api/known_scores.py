"""What the name of a score of splits tells: its range, and of which losses it is a mean."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from jaxci.generalization.losses import LOSSES, METRICS_OF_ROWS
from jaxci.statistics.base import has_fixed_trials
from jaxci.statistics.registry import METRICS

ROUNDING = 1e-12
"""How far scores may leave their range: scikit-learn's average precision of rows ranked all right may be above 1."""


class KnownScore(NamedTuple):
    """A score as ``turn[0] + turn[1] * loss``: the range of the loss, whether it is a mean of rows, of 0 or 1."""

    bounds: tuple[float, float] = (-math.inf, math.inf)
    turn: tuple[float, float] = (0.0, 1.0)
    is_mean: bool = False
    share: bool = False

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """Return the losses of scores, which may leave their range by rounding."""
        return np.clip(self.turn[1] * (scores - self.turn[0]), *self.bounds)


def averages_rows(metric: str) -> bool:
    """Whether a metric is a mean of losses over rows."""
    return metric in METRICS_OF_ROWS or has_fixed_trials(METRICS[metric])


def score_named(name: str) -> KnownScore | None:
    """Return what the name of a metric tells, with or without ``neg_``; None of another name."""
    bare = name.removeprefix("neg_")
    if bare not in METRICS:
        return None
    statistic, sign = METRICS[bare], 1.0 if bare == name else -1.0
    share = has_fixed_trials(statistic)
    turn = (sign, -sign) if share and not statistic.loss else (0.0, sign)
    return KnownScore(statistic.bounds, turn, averages_rows(bare), share)


def known_score(name: str, scores: np.ndarray) -> KnownScore:
    """Return what is known of ``scores`` of a name, with or without ``neg_``: nothing where they leave its range."""
    known = score_named(name)
    if known is None:
        return KnownScore()
    losses = known.turn[1] * (scores[np.isfinite(scores)] - known.turn[0])
    return known if np.allclose(losses, np.clip(losses, *known.bounds), rtol=0, atol=ROUNDING) else KnownScore()


def losses_named(name: str) -> KnownScore | None:
    """Return what the name of a loss of rows tells, or of a metric that is their mean; None of another name.

    Raises
    ------
    ValueError
        If it is a metric that is no mean over rows.
    """
    if name in LOSSES:
        return KnownScore(LOSSES[name].bounds, is_mean=True, share=LOSSES[name].share)
    known = score_named(name)
    if known is not None and not known.is_mean:
        raise ValueError(f"loss must be a mean over rows where it is the name of a metric; {name!r} is none")
    return known
