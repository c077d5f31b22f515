"""Files of the user's instances beside a study file: CSV, one row a case, so that the design stays short."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

INSTANCE, VALUE, LABEL, LOGIT = "instance", "value", "label", "logit"


def write_instances(path: str | Path, data: Mapping[str, Any]) -> None:
    """Write per-case values (n,), or pairs of logits (n, K) or (n,) and class codes (n,), by the name of the instance.

    Numbers are written in full: :func:`read_instances` returns the same.
    """
    pairs = any(isinstance(given, tuple) for given in data.values())
    width = max((np.shape(np.transpose(given[0]))[0] if np.ndim(given[0]) > 1 else 1) for given in data.values())
    header = [LABEL, *(f"{LOGIT}_{k}" for k in range(width))] if pairs else [VALUE]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([INSTANCE, *header])
        for name, given in data.items():
            if not pairs:
                writer.writerows([name, x] for x in np.asarray(given, np.float64).tolist())
                continue
            logits = np.asarray(given[0], np.float64).reshape(len(given[1]), -1).tolist()
            labels = np.asarray(given[1]).tolist()
            gaps = [""] * (width - len(logits[0]))
            writer.writerows([name, label, *row, *gaps] for label, row in zip(labels, logits, strict=True))


def read_instances(path: str | Path) -> dict[str, Any]:
    """Return the instances that :func:`write_instances` wrote, in their order.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it is none of these files; it names the line.
    """
    rows: dict[str, list[list[float]]] = {}
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if len(header) < 2 or header[0] != INSTANCE or header[1] not in (VALUE, LABEL):
            raise ValueError(f"{path} must have the columns {INSTANCE} and {VALUE}, or {INSTANCE}, {LABEL} and logits")
        for row in reader:
            try:
                name, *cells = row
                rows.setdefault(name, []).append([float(cell) for cell in cells if cell])
            except ValueError as error:
                raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    if header[1] == VALUE:
        return {name: np.array(_even(path, name, numbers, 1))[:, 0] for name, numbers in rows.items()}
    found: dict[str, Any] = {}
    for name, numbers in rows.items():
        table = np.array(_even(path, name, numbers, max(2, len(numbers[0]))))
        logits = table[:, 1:]
        found[name] = (logits[:, 0] if logits.shape[1] == 1 else logits, table[:, 0].astype(np.int64))
    return found


def _even(path: str | Path, name: str, numbers: list[list[float]], width: int) -> list[list[float]]:
    if any(len(row) != width for row in numbers):
        raise ValueError(f"{path}: every row of {name!r} must have {width} numbers")
    return numbers
