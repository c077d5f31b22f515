"""A plan of splits: how often each row trains, and which rows test."""

from __future__ import annotations

import dataclasses
import functools
import hashlib

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """S splits of n rows. Ids are -1 where they do not apply.

    Parameters
    ----------
    name : str
        Name of the builder.
    train_counts : (S, n) int32
        How often each row is in the training sample; 0 is out.
    test_mask : (S, n) bool
        Rows that are tested.
    repetition : (S,) int32
        Independent repeat of the whole scheme: repeat of a CV, pair of halves, or resample of a
        bootstrap case CV.
    outer : (S,) int32
        Number of the split within its repetition: fold, subsample, case, resample, or first
        stage of a two-stage bootstrap.
    inner : (S,) int32
        Number of the split inside the outer training sample: the inner fold of a nested CV, the
        second stage of a two-stage bootstrap; -1 is the outer sample itself.
    extra : (S,) int32
        Replace-one CV: the row that is replaced (-1 in the base CV). Paired subsampling: the
        half, 0 or 1. Bootstrap case CV: the row that is left out and tested. Else -1.
    strata : (n,) array, optional
        Classes whose shares every split keeps; none where rows are split whatever their class.

    Raises
    ------
    ValueError
        If the shapes do not agree, a count is negative, or a split trains on or tests no row.
    """

    name: str
    train_counts: np.ndarray
    test_mask: np.ndarray
    repetition: np.ndarray
    outer: np.ndarray
    inner: np.ndarray
    extra: np.ndarray
    strata: np.ndarray | None = None

    def __post_init__(self) -> None:
        shape = self.train_counts.shape
        if len(shape) != 2 or 0 in shape or self.test_mask.shape != shape:
            raise ValueError(
                f"train_counts and test_mask must have one shape (S, n), not empty; got {shape}, {self.test_mask.shape}"
            )
        if self.test_mask.dtype != np.bool_ or self.train_counts.dtype != np.int32:
            found = f"{self.train_counts.dtype}, {self.test_mask.dtype}"
            raise ValueError(f"train_counts must be int32 and test_mask bool; got {found}")
        for name in ("repetition", "outer", "inner", "extra"):
            if getattr(self, name).shape != shape[:1]:
                raise ValueError(f"{name} must have shape {shape[:1]}; got {getattr(self, name).shape}")
        if self.strata is not None and self.strata.shape != shape[1:]:
            raise ValueError(f"strata must have shape {shape[1:]}; got {self.strata.shape}")
        if self.train_counts.min() < 0:
            raise ValueError(f"train_counts must not be negative; got {self.train_counts.min()}")
        for part, used in (("train on", self.train_counts), ("test", self.test_mask)):
            empty = np.flatnonzero(~used.any(axis=1))
            if len(empty):
                raise ValueError(f"every split must {part} at least 1 row; {len(empty)} do not, first split {empty[0]}")

    def __len__(self) -> int:
        return self.train_counts.shape[0]

    @property
    def n(self) -> int:
        """Number of rows of the data."""
        return self.train_counts.shape[1]

    @functools.cached_property
    def fits(self) -> tuple[np.ndarray, np.ndarray]:
        """Splits ``first`` (F,) with distinct training counts, and for every split (S,) its place in ``first``.

        Fitting ``train_counts[first]`` serves the whole plan: each inner training set of a nested
        CV occurs twice, and replacing a tested row leaves the training set as it was.
        """
        numbers: dict[bytes, int] = {}
        first: list[int] = []
        place = np.empty(len(self), np.int32)
        for split, row in enumerate(np.ascontiguousarray(self.train_counts)):
            digest = hashlib.blake2b(row.data, digest_size=16).digest()
            place[split] = numbers.setdefault(digest, len(first))
            if place[split] == len(first):
                first.append(split)
        return np.asarray(first, np.int32), place

    @property
    def n_fits(self) -> int:
        """Number of distinct training samples, which is the number of models to fit."""
        return len(self.fits[0])

    def subset(self, mask: npt.ArrayLike) -> Plan:
        """Return the plan of the splits where ``mask`` (S,) is true; at least one.

        Raises
        ------
        ValueError
            If ``mask`` is not boolean of shape (S,), or nowhere true.
        """
        keep = np.asarray(mask)
        if keep.dtype != np.bool_ or keep.shape != (len(self),) or not keep.any():
            raise ValueError(
                f"mask must be boolean of shape ({len(self)},) and true somewhere; got {keep.dtype} {keep.shape}"
            )
        arrays = (f.name for f in dataclasses.fields(self) if f.name not in ("name", "strata"))
        return dataclasses.replace(self, **{name: getattr(self, name)[keep] for name in arrays})
