"""Make the table of cards from finished studies: ``python benchmarks/make_cards.py DIR``.

DIR holds the folders of studies whose name begins with ``cards-``: ``jaxci study run cards-tables --out
DIR/cards-tables``, and so on. Of cells that are not finished, and of studies without a folder, the rows of the present
table stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from jaxci.coverage import bundled_names, load_study
from jaxci.coverage.cards import rows_of
from jaxci.coverage.results import as_columns
from jaxci.intervals.cards import Cards, cards

TARGET = Path(__file__).resolve().parents[1] / "jaxci" / "intervals" / "cards.npz"


def _designs(columns: dict[str, np.ndarray]) -> Iterable[tuple[str, str, float]]:
    """Return of every row its study, law and sample size."""
    return zip(*(columns[name].tolist() for name in ("study", "distribution", "n")), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()
    rows = []
    for name in bundled_names():
        if name.startswith("cards-") and (arguments.folder / name).exists():
            found = load_study(name).results(arguments.folder / name)
            print(f"{name}: {found.n_done} of {found.n_cells} cells")
            rows += rows_of(found)
    if not rows:
        raise SystemExit(f"no folder of a study cards-... in {arguments.folder}")
    columns, present = as_columns(rows), cards().columns
    made = set(_designs(columns))
    stay = np.array([design not in made for design in _designs(present)])
    table = Cards({name: np.concatenate([present[name][stay], columns[name]]) for name in present})
    table.save(arguments.out)
    print(f"{len(table.columns['n'])} rows, {arguments.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
