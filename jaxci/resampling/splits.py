"""Plans: which rows train and which rows test, for every scheme that estimates the generalization error.

A plan of S splits of n rows takes ``5 S n`` bytes: ``train_counts`` in int32 and ``test_mask`` in
bool. Examples: leave-one-out at n = 500 takes 1.3 MB and at n = 10,000 half a GB; replace-one CV
(5 folds, n = 500) 3 MB; bootstrap case CV at n = 500 about 0.8 MB a resample. A builder refuses a
plan over :data:`~jaxci.resampling.split_units.MOST_BYTES` before it allocates anything.

Builders take ``rng``, a seed or a NumPy generator, and give the same plan for the same seed. With
``stratify`` (a class for every row) each class is shared out in proportion; with ``groups`` (an id
for every row) whole groups are drawn, so that none is both trained and tested on, and counts and
shares are of groups, not of rows. With both, every group must lie in one class. Every plan is
checked when it is made: no split trains on nothing or tests nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from jaxci.resampling.plan import Plan
from jaxci.resampling.split_units import (
    Labels,
    Seed,
    Units,
    at_least,
    bootstraps,
    check_folds,
    check_memory,
    check_resampled,
    dealt,
    halves,
    incomplete_resample,
    n_tested,
    picked,
    resample,
    units_of,
)


def _plan(
    name: str, train: np.ndarray, test: np.ndarray, strata: np.ndarray | None = None, **ids: npt.ArrayLike
) -> Plan:
    given = {"repetition": 0, "outer": 0, "inner": -1, "extra": -1} | ids
    columns = {key: np.broadcast_to(np.asarray(x, np.int32), len(train)).copy() for key, x in given.items()}
    return Plan(name, train.astype(np.int32, copy=False), test, strata=strata, **columns)


def _folds_plan(
    name: str,
    folds: np.ndarray,
    n_folds: int,
    strata: np.ndarray | None,
    repetition: npt.ArrayLike,
    extra: npt.ArrayLike,
) -> Plan:
    """Return the plan of CVs with ``folds`` (B, n), -1 for rows not in use; ids are (B,) or scalars."""
    test = (folds[:, None, :] == np.arange(n_folds)[:, None]).reshape(-1, folds.shape[1])
    train = np.repeat(folds >= 0, n_folds, axis=0)
    train &= ~test
    outer = np.tile(np.arange(n_folds), len(folds))
    again, one = (np.repeat(np.broadcast_to(x, len(folds)), n_folds) for x in (repetition, extra))
    return _plan(name, train, test, strata, repetition=again, outer=outer, extra=one)


def holdout(n: int, p: float, rng: Seed, *, stratify: Labels = None, groups: Labels = None) -> Plan:
    """One random split: ``round(p n)`` rows train, the others test.

    Parameters
    ----------
    n : int
        Number of rows.
    p : float
        Share that trains, in (0, 1).
    rng : int or numpy.random.Generator
        Source of randomness.
    stratify, groups : (n,), optional
        Classes, each split in proportion (to within one); ids of groups that stay together.

    Raises
    ------
    ValueError
        If ``p`` is not in (0, 1), a side would be empty, or the training set could lack a class.
    """
    return dataclasses.replace(subsampling(n, p, 1, rng, stratify=stratify, groups=groups), name="holdout")


def subsampling(
    n: int, p: float, n_subsamples: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None
) -> Plan:
    """Repeat :func:`holdout` ``n_subsamples`` times independently (``outer``); it raises as that does."""
    at_least("n_subsamples", n_subsamples, 1)
    units = units_of(n, stratify, groups)
    size = n_tested(units, p)
    check_memory(n_subsamples, n)
    generator = np.random.default_rng(rng)
    tested = np.zeros((n_subsamples, len(units)), bool)
    for row in tested:
        row[picked(generator, units.strata, size)] = True
    test = tested[:, units.of]
    return _plan("subsampling", ~test, test, units.classes, outer=np.arange(n_subsamples))


def paired_subsampling(
    n: int, p: float, n_subsamples: int, n_pairs: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None
) -> Plan:
    """Subsample both of two disjoint halves of ``n // 2`` rows, ``n_pairs`` times (Nadeau & Bengio 2003).

    Every split tests as many rows as :func:`subsampling` with the same ``p`` of all n rows; the
    rest of its half trains. ``repetition`` is the pair, ``extra`` the half, ``outer`` the
    subsample. If n is odd, each pair leaves out one random row.

    Raises
    ------
    ValueError
        As :func:`holdout`, for each half.
    """
    at_least("n_subsamples", n_subsamples, 1)
    at_least("n_pairs", n_pairs, 1)
    units = units_of(n, stratify, groups)
    size = n_tested(units, p, halved=True)
    shape = (n_pairs, 2, n_subsamples)
    check_memory(int(np.prod(shape)), n)
    generator = np.random.default_rng(rng)
    train, test = np.zeros((2, *shape, len(units)), bool)
    for pair in range(n_pairs):
        for side, members in enumerate(halves(generator, units.strata)):
            train[pair, side][:, members] = True
            for row in test[pair, side]:
                row[members[picked(generator, units.strata[members], size)]] = True
    train &= ~test
    pairs, sides, numbers = (x.reshape(-1) for x in np.indices(shape))
    train, test = (x.reshape(-1, len(units))[:, units.of] for x in (train, test))
    return _plan("paired_subsampling", train, test, strata=units.classes, repetition=pairs, outer=numbers, extra=sides)


def kfold(n: int, n_folds: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None) -> Plan:
    """K-fold cross-validation: each row is tested once (``outer`` is its fold).

    Sizes of folds, and of each class in them, differ by at most one.

    Raises
    ------
    ValueError
        If ``n_folds`` is below 2, or above n, the number of groups or the size of a class.
    """
    plan = repeated_kfold(n, n_folds, 1, rng, stratify=stratify, groups=groups)
    return dataclasses.replace(plan, name="kfold")


def repeated_kfold(
    n: int, n_folds: int, n_repeats: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None
) -> Plan:
    """Repeat :func:`kfold` with independent folds (``repetition``); it raises as that does."""
    units = units_of(n, stratify, groups)
    folds = _repeated_folds(units, n_folds, n_repeats, n_repeats * n_folds, rng)
    return _folds_plan("repeated_kfold", folds, n_folds, units.classes, np.arange(n_repeats), -1)


def _repeated_folds(units: Units, n_folds: int, n_repeats: int, splits: int, rng: Seed, least: int = 2) -> np.ndarray:
    """Return the fold of each row (R, n) after checks of a plan with so many ``splits``."""
    at_least("n_repeats", n_repeats, 1)
    check_folds(units, n_folds, least)
    check_memory(splits, len(units.of))
    generator = np.random.default_rng(rng)
    return np.stack([dealt(generator, units.strata, n_folds)[units.of] for _ in range(n_repeats)])


def leave_one_out(n: int, *, groups: Labels = None) -> Plan:
    """Test each row (or group, in the order of sorted ids) once, trained on all others: ``5 n^2`` bytes."""
    units = units_of(n, None, groups)
    check_memory(len(units), n)
    return _folds_plan("leave_one_out", units.of[None], len(units), None, 0, -1)


def nested_cv(
    n: int, n_folds: int, n_repeats: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None
) -> Plan:
    """Nested cross-validation (Bates, Hastie & Tibshirani 2024): K^2 splits a repetition.

    The split of outer fold k (``inner`` -1) trains on the other folds. Each of those is an inner
    fold l (``inner`` is l): it is tested by what is trained on all folds but k and l. Folds k and
    l can change places, so only K (K + 1) / 2 of the K^2 training sets are distinct.

    Raises
    ------
    ValueError
        As :func:`kfold`, and if ``n_folds`` is below 3.
    """
    splits = n_repeats * n_folds**2
    units = units_of(n, stratify, groups)
    folds = _repeated_folds(units, n_folds, n_repeats, splits, rng, least=3)
    repetition, outer, inner = (x.reshape(-1) for x in np.indices((n_repeats, n_folds, n_folds)))
    test = folds[repetition] == inner[:, None]
    train = folds[repetition] != outer[:, None]
    train &= ~test
    inner = np.where(inner == outer, -1, inner)
    return _plan("nested_cv", train, test, units.classes, repetition=repetition, outer=outer, inner=inner)


def replace_one_cv(n: int, n_folds: int, rng: Seed, *, stratify: Labels = None) -> Plan:
    """Replace-one cross-validation (Austern & Zhou 2020): ``(n // 2 + 1) n_folds`` splits.

    Random halves D1 and D2 of ``n // 2`` rows (one row is left over if n is odd). K-fold CV on
    D1 comes first (``extra`` -1), then for each row of D1 (``extra``) the CV in which a row of D2
    takes its place, in its fold; each row of D2 does so once, whatever its class. ``outer`` is
    the fold. With ``stratify``, halves and folds of D1 keep the shares of the classes.

    Raises
    ------
    ValueError
        If ``n_folds`` is below 2, or above ``n // 2`` or half the size of a class.
    """
    return dataclasses.replace(repeated_replace_one_cv(n, n_folds, 1, rng, stratify=stratify), name="replace_one_cv")


def repeated_replace_one_cv(n: int, n_folds: int, n_repeats: int, rng: Seed, *, stratify: Labels = None) -> Plan:
    """Repeat :func:`replace_one_cv` with other folds of the same D1, each row with the same substitute."""
    at_least("n_repeats", n_repeats, 1)
    units = units_of(n, stratify)
    check_folds(units, n_folds, halved=True)
    half = n // 2
    check_memory(n_repeats * (half + 1) * n_folds, n)
    generator = np.random.default_rng(rng)
    ours, theirs = halves(generator, units.strata)
    theirs = generator.permutation(theirs)
    folds = np.full((n_repeats, half + 1, n), -1, np.int32)
    places = np.arange(half)
    for number in range(n_repeats):
        fold = dealt(generator, units.strata[ours], n_folds)
        folds[number][:, ours] = fold
        folds[number, places + 1, theirs] = fold
        folds[number, places + 1, ours] = -1
    repetition = np.repeat(np.arange(n_repeats), half + 1)
    replaced = np.tile(np.append(-1, ours), n_repeats)
    flat = folds.reshape(-1, n)
    return _folds_plan("repeated_replace_one_cv", flat, n_folds, units.classes, repetition, replaced)


def bootstrap(n: int, n_resamples: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None) -> Plan:
    """Train on n draws with replacement, test the rows that are out of the bag (``outer`` is the resample).

    A resample that leaves nothing out is drawn again. With ``groups``, as many groups are drawn as
    there are, so the counts need not sum to n.

    Raises
    ------
    ValueError
        If there are fewer than 2 rows or groups to draw from, or no class has 2.
    """
    units = units_of(n, stratify, groups)
    counts = bootstraps(units, n_resamples, rng)[:, units.of]
    return _plan("bootstrap", counts, counts == 0, units.classes, outer=np.arange(n_resamples))


def insample(n: int) -> Plan:
    """Train on every row once and test every row."""
    at_least("n", n, 1)
    return _plan("insample", np.ones((1, n), np.int32), np.ones((1, n), bool))


def insample_bootstrap(n: int, n_resamples: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None) -> Plan:
    """Train on the resamples of :func:`bootstrap` (the same ones for the same seed) and test the rows in them.

    A row's weight in the test error is its count in ``train_counts``. It raises as :func:`bootstrap`.
    """
    units = units_of(n, stratify, groups)
    counts = bootstraps(units, n_resamples, rng)[:, units.of]
    return _plan("insample_bootstrap", counts, counts > 0, units.classes, outer=np.arange(n_resamples))


def bootstrap_apparent(n: int, n_resamples: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None) -> Plan:
    """Train on the resamples of :func:`bootstrap` (the same ones for the same seed) and test every row."""
    plan = bootstrap(n, n_resamples, rng, stratify=stratify, groups=groups)
    return dataclasses.replace(plan, name="bootstrap_apparent", test_mask=np.ones_like(plan.test_mask))


def bootstrap_case_cv(n: int, n_resamples: int, rng: Seed, *, stratify: Labels = None) -> Plan:
    """Leave out, in each bootstrap resample, one distinct case with all its copies (Jiang et al. 2008).

    ``repetition`` is the resample, ``outer`` the number of the case in it, ``extra`` its row. It
    had ``n - train_counts.sum(axis=1)`` copies. About ``.632 n`` splits a resample: ``3.2 n^2``
    bytes (0.8 MB at n = 500). A resample of one distinct case is drawn again.
    """
    units = units_of(n, stratify)
    at_least("n_resamples", n_resamples, 1)
    check_memory(n_resamples, n)
    generator = np.random.default_rng(rng)
    samples: list[np.ndarray] = []
    while len(samples) < n_resamples:
        counts = resample(generator, units.strata)
        if np.count_nonzero(counts) > 1:
            samples.append(counts)
    resamples = np.stack(samples)
    repetition, case = np.nonzero(resamples)
    splits = np.arange(len(case))
    check_memory(len(case), n)
    train = resamples[repetition]
    train[splits, case] = 0
    test = np.zeros(train.shape, bool)
    test[splits, case] = True
    outer = splits - np.searchsorted(repetition, repetition)
    return _plan("bootstrap_case_cv", train, test, units.classes, repetition=repetition, outer=outer, extra=case)


def two_stage_bootstrap(
    n: int, n_outer: int, n_inner: int, rng: Seed, *, stratify: Labels = None, groups: Labels = None
) -> Plan:
    """Resample each of ``n_outer`` resamples ``n_inner`` times (Noma et al. 2021).

    Each first stage (``outer``) gives the split with ``inner`` -1, trained on that resample and
    tested on the rows in it, then second stages: draws from the copies in that resample, tested
    on the rows that are in it but not in the second stage. The copies of a tested row are its
    count in the first stage. A first stage of one distinct row and a second stage that leaves
    nothing out are drawn again. ``n_outer (n_inner + 1)`` splits; it raises as :func:`bootstrap`.
    """
    units = units_of(n, stratify, groups)
    at_least("n_outer", n_outer, 1)
    at_least("n_inner", n_inner, 1)
    check_resampled(units)
    check_memory(n_outer * (n_inner + 1), n)
    generator = np.random.default_rng(rng)
    train = np.empty((n_outer, n_inner + 1, len(units)), np.int32)
    for stages in train:
        counts = resample(generator, units.strata)
        while np.bincount(units.strata[counts > 0]).max() < 2:
            counts = resample(generator, units.strata)
        stages[0] = counts
        for k in range(n_inner):
            stages[k + 1] = incomplete_resample(generator, units.strata, counts)
    test = (train == 0) & (train[:, :1] > 0)
    test[:, 0] = train[:, 0] > 0
    outer, inner = (x.reshape(-1) for x in np.indices(train.shape[:2]))
    train, test = (x.reshape(-1, len(units))[:, units.of] for x in (train, test))
    return _plan("two_stage_bootstrap", train, test, strata=units.classes, outer=outer, inner=inner - 1)


PLANS: dict[str, Callable[..., Plan]] = {
    build.__name__: build
    for build in (
        holdout,
        subsampling,
        paired_subsampling,
        kfold,
        repeated_kfold,
        leave_one_out,
        nested_cv,
        replace_one_cv,
        repeated_replace_one_cv,
        bootstrap,
        insample,
        insample_bootstrap,
        bootstrap_apparent,
        bootstrap_case_cv,
        two_stage_bootstrap,
    )
}
"""Builders by the name of their plan."""


def from_indices(
    n: int,
    splits: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    name: str = "indices",
    repetition: npt.ArrayLike = 0,
) -> Plan:
    """Take the splits as they are: pairs of row numbers that train (repeats count) and that test.

    Parameters
    ----------
    n : int
        Number of rows.
    splits : iterable of (train, test)
        Integers in [0, n); ``outer`` numbers the pairs.
    name : str
        Name of the plan.
    repetition : int or (S,) array-like
        Repetition of each split.

    Raises
    ------
    ValueError
        If there is no split, an index is no integer in [0, n), a side is empty, or a row is
        tested twice in one split or tested where it trains.
    """
    at_least("n", n, 1)
    pairs = list(splits)
    if not pairs:
        raise ValueError("splits must hold at least one pair (train, test); got none")
    check_memory(len(pairs), n)
    train, test = np.zeros((len(pairs), n), np.int32), np.zeros((len(pairs), n), bool)
    for number, (trains, tests) in enumerate(pairs):
        train[number] = _index_counts(f"splits[{number}][0] (train)", trains, n)
        tested = _index_counts(f"splits[{number}][1] (test)", tests, n)
        for rule, broken in (
            ("once", tested > 1),
            ("only where it does not train", (tested > 0) & (train[number] > 0)),
        ):
            if broken.any():
                raise ValueError(
                    f"splits[{number}] must test a row {rule}; {broken.sum()} rows are not, first {broken.argmax()}"
                )
        test[number] = tested > 0
    ids = np.asarray(repetition)
    if ids.shape not in ((), (len(pairs),)):
        raise ValueError(f"repetition must be an integer or have shape ({len(pairs)},); got shape {ids.shape}")
    return _plan(name, train, test, repetition=ids, outer=np.arange(len(pairs)))


def _index_counts(name: str, rows: npt.ArrayLike, n: int) -> np.ndarray:
    index = np.asarray(rows)
    if index.ndim != 1 or len(index) == 0:
        raise ValueError(f"{name} must be a list of at least one row number; got shape {index.shape}")
    if index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= n:
        raise ValueError(
            f"{name} must hold integers in [0, {n}); got {index.dtype} from {index.min()!s} to {index.max()!s}"
        )
    return np.bincount(index.astype(np.intp), minlength=n)
