"""Who is drawn together: rows or groups, by class, dealt into folds and drawn into resamples."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

MOST_BYTES = 4 * 2**30
"""Plans that would take more memory are refused."""

Seed = int | np.random.Generator
Labels = npt.ArrayLike | None


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """What is drawn, rows or groups: ``of`` (n,) is the unit of a row, ``strata`` (U,) the class of a unit."""

    of: np.ndarray
    strata: np.ndarray
    grouped: bool

    def __len__(self) -> int:
        return len(self.strata)

    @property
    def classes(self) -> np.ndarray | None:
        """Class of every row (n,); None where there is one."""
        return self.strata[self.of] if self.strata.any() else None

    @property
    def word(self) -> str:
        """Their number, as messages name it."""
        return "the number of groups" if self.grouped else "n"

    def smallest(self, halved: bool) -> int:
        """Units in the smallest class, or the fewest of a class that :func:`halves` may give a half."""
        size = int(np.bincount(self.strata).min())
        return (size - len(self) % 2) // 2 if halved else size


def units_of(n: int, stratify: Labels = None, groups: Labels = None) -> Units:
    """Read who is drawn together: every row by itself, or groups, with the class of each."""
    at_least("n", n, 2)
    of = np.arange(n) if groups is None else codes_of("groups", groups, n)
    codes = np.zeros(n, np.intp) if stratify is None else codes_of("stratify", stratify, n)
    if stratify is not None and codes.max() == 0:
        raise ValueError("stratify must hold at least 2 classes; got 1")
    strata = np.empty(of.max() + 1, np.intp)
    strata[of] = codes
    if len(strata) < 2:
        raise ValueError("groups must hold at least 2 groups; got 1")
    mixed = np.unique(of[strata[of] != codes])
    if len(mixed):
        raise ValueError(f"every group must lie in one class of stratify; {len(mixed)} groups do not")
    return Units(of, strata, groups is not None)


def codes_of(name: str, labels: npt.ArrayLike, n: int) -> np.ndarray:
    """Return codes 0..C-1 (n,) of labels (n,)."""
    array = np.asarray(labels)
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), one entry a row; got {array.shape}")
    return np.unique(array, return_inverse=True)[1]


def at_least(name: str, value: int, low: int) -> None:
    """Refuse a count below ``low``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}; got {value!r}")


def check_folds(units: Units, n_folds: int, least: int = 2, halved: bool = False) -> None:
    """Raise unless the units, or half of them, and of each class, fill ``n_folds`` folds."""
    at_least("n_folds", n_folds, least)
    share, size, smallest = (" // 2" if halved else ""), len(units) // (1 + halved), units.smallest(halved)
    if size < n_folds:
        raise ValueError(f"n_folds must be at most {units.word}{share}, which is {size}; got n_folds = {n_folds}")
    if units.strata.any() and smallest < n_folds:
        place = " in a half" if halved else ""
        raise ValueError(
            f"n_folds must be at most the size of the smallest class of stratify{place}, which is {smallest}; "
            f"got n_folds = {n_folds}"
        )


def n_tested(units: Units, p: float, halved: bool = False) -> int:
    """Return how many units are tested; raise unless all of them, or each half, can give as many."""
    if not 0 < p < 1:
        raise ValueError(f"p, the share that trains, must lie in (0, 1); got {p!r}")
    size = len(units) - round(p * len(units))
    whole = len(units) // 2 if halved else len(units)
    place = " in each half" if halved else ""
    if not 0 < size < whole:
        raise ValueError(
            f"p must leave at least 1 to train on and 1 to test{place}; p = {p!r} tests {size} of {whole} "
            f"({units.word} = {len(units)})"
        )
    least = units.smallest(halved)
    if units.strata.any() and -(-least * size // whole) >= least:
        raise ValueError(
            f"p must leave every class of stratify in the training set{place}; p = {p!r} may test all {least} "
            "of the smallest class"
        )
    return size


def check_memory(splits: int, n: int) -> None:
    """Refuse a plan of too many splits."""
    if 5 * splits * n > MOST_BYTES:
        raise ValueError(
            f"a plan must take at most {MOST_BYTES / 2**30:g} GiB; {splits:,} splits of n = {n:,} rows take "
            f"{5 * splits * n / 2**30:.1f} GiB; use fewer splits"
        )


def shuffled(rng: np.random.Generator, strata: np.ndarray) -> np.ndarray:
    """Return the places of ``strata`` in random order, class by class, the classes in random order."""
    rank = rng.permutation(strata.max() + 1)[strata]
    return np.lexsort((rng.random(len(strata)), rank))


def dealt(rng: np.random.Generator, strata: np.ndarray, n_folds: int) -> np.ndarray:
    """Return a random fold (U,); sizes of folds, and of each class in them, differ by at most one."""
    fold = np.empty(len(strata), np.int32)
    fold[shuffled(rng, strata)] = np.arange(len(strata)) % n_folds
    return fold


def picked(rng: np.random.Generator, strata: np.ndarray, size: int) -> np.ndarray:
    """Return ``size`` random places of ``strata``, all equally likely, of each class its share rounded up or down.

    Systematic sampling with a random start along :func:`shuffled`.
    """
    steps = (np.arange(len(strata) + 1) * size + rng.integers(len(strata))) // len(strata)
    return shuffled(rng, strata)[steps[1:] > steps[:-1]]


def halves(rng: np.random.Generator, strata: np.ndarray) -> np.ndarray:
    """Return places (2, U // 2) of two random halves with like shares of each class; a random place is left over."""
    order = shuffled(rng, strata)
    if len(order) % 2:
        order = np.delete(order, rng.integers(len(order)))
    return order.reshape(-1, 2).T


def resample(rng: np.random.Generator, strata: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return counts (U,) of draws with replacement from ``weights`` (U,) copies, as many in each class as it has."""
    members = np.argsort(strata, kind="stable")
    pool = members if weights is None else np.repeat(members, weights[members])
    ends = np.searchsorted(strata[pool], strata[pool], side="right")
    starts = np.searchsorted(strata[pool], strata[pool], side="left")
    return np.bincount(pool[rng.integers(starts, ends)], minlength=len(strata)).astype(np.int32)


def incomplete_resample(rng: np.random.Generator, strata: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return a resample that leaves out at least one unit that could be drawn; others are drawn again."""
    present = np.ones(len(strata), bool) if weights is None else weights > 0
    while True:
        counts = resample(rng, strata, weights)
        if np.any(present & (counts == 0)):
            return counts


def bootstraps(units: Units, n_resamples: int, rng: Seed) -> np.ndarray:
    """Return counts (S, U) of resamples, each of which leaves something out."""
    at_least("n_resamples", n_resamples, 1)
    check_resampled(units)
    check_memory(n_resamples, len(units.of))
    generator = np.random.default_rng(rng)
    return np.stack([incomplete_resample(generator, units.strata) for _ in range(n_resamples)])


def check_resampled(units: Units) -> None:
    """Refuse data of which no resample can leave a unit out."""
    if np.bincount(units.strata).max() < 2:
        raise ValueError("stratify must have a class of at least 2 to leave one out of a resample; the largest has 1")
