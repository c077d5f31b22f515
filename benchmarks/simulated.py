"""What benchmarks that simulate data sets have in common: their options, and how results are kept."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from jaxci.coverage.store import surroundings


def options(description: str | None, sets: int) -> argparse.Namespace:
    """Read ``--sets``, the number of data sets a design, and ``--json``, the file that keeps the results."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--sets", type=int, default=sets)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def keep(given: argparse.Namespace, designs: list[dict[str, Any]]) -> None:
    """Write the results of all designs, with what made them, where a file was named."""
    if given.json:
        kept = {"sets": given.sets, "designs": designs, "made with": surroundings()}
        given.json.write_text(json.dumps(kept, indent=1) + "\n")
