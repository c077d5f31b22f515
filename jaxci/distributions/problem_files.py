"""Supervised learning problems whose law is not known: large files, cut into disjoint data sets."""

from __future__ import annotations

import functools
import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.checks import hint
from jaxci.distributions.empirical import checked_floats
from jaxci.distributions.problems import check_whole
from jaxci.index_columns import is_index, of_left_out, of_numbered_rows
from jaxci.printing import JaxciWarning
from jaxci.records import record, static


@record
class FileProblem:
    """Rows of a large CSV or Parquet (``.parquet``, ``.pq``) file, whose disjoint subsets serve as replications.

    It takes the place of a :class:`Problem` where no law is known (Higgs in the paper), but cannot
    draw by a key: a permutation by ``seed`` puts ``n_validation`` rows aside, and those that follow
    are cut into subsets of n. Features are all columns of numbers or booleans but the target, and but an index that was
    written without a name.

    Parameters
    ----------
    path : str or Path
        Read at first use, whole, in double precision. CSV needs pandas, Parquet pyarrow besides.
    target : str
        Name of its column; numbers for a regression, anything for classes, which are coded in
        sorted order.
    task : {"regression", "classification"}
    n_validation : int
        Rows for the true risk.
    seed : int
    """

    path: str = static()
    target: str = static()
    task: str = static()
    n_validation: int = static(default=100_000)
    seed: int = static(default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(self.path))
        if self.task not in ("regression", "classification"):
            raise ValueError(f"task must be 'regression' or 'classification'; got {self.task!r}")
        check_whole("n_validation", self.n_validation, 0)
        check_whole("seed", self.seed, 0)

    @functools.cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], tuple[Any, ...], np.ndarray, str | None]:
        """Features, target, names of features, classes, the order of the rows, and the digest of the file."""
        digest = self.digest()
        X, y, names = _read(Path(self.path), self.target)
        if self.n_validation > len(y):
            raise ValueError(f"n_validation must be at most the {len(y)} rows of {self.path}; got {self.n_validation}")
        classes: tuple[Any, ...] = ()
        if self.task == "classification":
            found, codes = np.unique(y, return_inverse=True)
            classes, y = tuple(found.tolist()), codes.astype(np.int32)
        else:
            y = checked_floats(f"column {self.target!r} of {self.path}", y)
        return X, y, names, classes, np.random.default_rng(self.seed).permutation(len(y)), digest

    def digest(self) -> str | None:
        """Return a digest of the file as it is now; None if it cannot be read."""
        try:
            with open(self.path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None

    @property
    def digest_read(self) -> str:
        """Digest of the file as it was when its rows were read."""
        return self._table[5] or ""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X."""
        return self._table[2]

    @property
    def classes(self) -> tuple[Any, ...]:
        """Values of the target, in the order of their codes; empty for a regression."""
        return self._table[3]

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return len(self.feature_names)

    @property
    def n_classes(self) -> int:
        """Number of classes, K; 0 for a regression."""
        return len(self.classes)

    def _rows(self, start: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        rows = self._table[4][start : start + n]
        return self._table[0][rows], self._table[1][rows]

    def validation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return X (n_validation, d) and y (n_validation,) that no subset has."""
        return self._rows(0, self.n_validation)

    def replications(self, n: int) -> int:
        """Return how many disjoint subsets of size ``n`` there are."""
        check_whole("n", n, 1)
        return (len(self._table[1]) - self.n_validation) // n

    def subset(self, replication: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return X (n, d) and y (n,) of one replication, counted from 0.

        Subsets of one size are disjoint; those of different sizes are not.

        Raises
        ------
        ValueError
            If the file has too few rows; it says how many replications are possible.
        """
        check_whole("replication", replication, 0)
        possible = self.replications(n)
        if replication >= possible:
            raise ValueError(
                f"{self.path} has {len(self._table[1])} rows, {self.n_validation} of them for validation: enough for "
                f"{possible} replications of size {n}, numbered from 0; got replication {replication}"
            )
        return self._rows(self.n_validation + replication * n, n)


def _read(path: Path, target: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Read features (N, d), the target (N,) and names of the features."""
    parquet = path.suffix in (".parquet", ".pq")
    try:
        import pandas as pd

        table = pd.read_parquet(path) if parquet else _read_csv(pd, path)
    except ImportError as error:
        raise ImportError(f"reading {path} needs pandas{' and pyarrow' * parquet}: install jaxci[data]") from error
    if target not in table.columns:
        raise ValueError(f"{path} has no column {target!r}{hint(target, [str(name) for name in table.columns])}")
    y = table.pop(target)
    features = table.select_dtypes(["number", "bool"])
    names = [str(name) for name in features.columns]
    said = of_left_out(path, names, "feature")
    features = features.loc[:, [not is_index(name) for name in names]]
    if not features.shape[1]:
        raise ValueError(f"{path} has no columns of numbers besides {target!r}")
    X = features.to_numpy(np.float64, na_value=np.nan)
    missing = {target: y.isna().sum(), **dict(zip(features.columns, (~np.isfinite(X)).sum(axis=0), strict=True))}
    for name, count in missing.items():
        if count:
            raise ValueError(f"column {name!r} of {path} has {count} missing or infinite values")
    said += of_numbered_rows(dict(zip(features.columns, X.T, strict=True)))
    for remark in said:
        warnings.warn(remark, JaxciWarning, stacklevel=2)
    return X, y.to_numpy(), tuple(str(name) for name in features.columns)


def _read_csv(pd: Any, path: Path) -> Any:
    """Return the frame of a CSV file, no row of which is longer than its header: pandas would shift or drop values."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, index_col=False)
        except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
            raise ValueError(f"{path} must be a CSV file, no row of it longer than its header: {error}") from error
