"""What ``auto`` takes at every design of the cards: its coverage there, and its width against honest methods.

    python benchmarks/card_choices.py [--json OUT]

A method is honest at a design where its 95% intervals covered at least 93%, rounded to a tenth of a percent; the width
is compared with the narrowest of these. Designs are those with at least 10 rows of the rarest class and, where wrong
predictions are counted, 10 of them (others are for the warning); in clusters those with at least 10 clusters. "warned":
no method held near the design, or what is taken covered less than 93% in one of those near, which the row says.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from jaxci.inference.choice import ALIKE, ALIKE_IN_CLUSTERS, TRIED_IN_CLUSTERS
from jaxci.inference.choice import tried as tried_of
from jaxci.inference.standings import best_of, held, lowest
from jaxci.intervals.base import Method
from jaxci.intervals.cards import BOUNDED_MEAN, Designs, Features, cards
from jaxci.statistics import Mean
from jaxci.statistics.registry import statistic_by_name

HONEST, EVENTS, WIDE = 0.93, 10, 1.5


def tried(name: str) -> tuple[tuple[Method, ...], float]:
    """Return the methods that the default tries for a card, and what counts as alike."""
    if name.endswith(" in clusters"):
        return TRIED_IN_CLUSTERS, ALIKE_IN_CLUSTERS
    return tried_of(Mean(bounds=(0.0, 1.0)) if name == BOUNDED_MEAN else statistic_by_name(name)), ALIKE


def choices(name: str) -> list[dict[str, Any]]:
    """Judge the choice at every design of a card."""
    card = cards().of(name)
    designs = Designs.of(card)
    methods, alike = tried(name)
    labels = [method.label for method in methods]
    found = []
    for place, logs in enumerate(designs.logs):
        features = Features(*np.expm1(logs))
        events = [x for x in (features.rarest, features.errors) if not math.isnan(x)]
        few = any(x < EVENTS for x in events) or features.clusters < EVENTS
        ranks = name.startswith(("roc_auc", "average_precision"))
        little = features.clusters > 0 and features.differ_little(round(features.clusters), ranks=ranks)
        served = {method.label for method in methods if not (little and method.prior)}
        standings = [one for one in cards().near(name, features, alike=little) if one.method in served and one.designs]
        if not standings:
            continue
        best = best_of(sorted(standings, key=lambda one: labels.index(one.method)), alike)
        row = designs.methods.index(best.method)
        if np.isnan(designs.coverage[row, place]):
            continue
        honest = {
            method: float(designs.width[m, place])
            for m, method in enumerate(designs.methods)
            if designs.coverage[m, place] >= HONEST and np.isfinite(designs.width[m, place])
        }
        narrowest = min(honest, key=lambda method: honest[method]) if honest else None
        width = float(designs.width[row, place])
        found.append(
            {
                "card": name,
                "method": best.method,
                "coverage": round(float(designs.coverage[row, place]), 3),
                "warned": not held(best) or lowest(best) is not None,
                "few": bool(few),
                "width_ratio": width / honest[narrowest] if narrowest else math.nan,
                "narrowest": narrowest,
                **{field: float(value) for field, value in features._asdict().items() if not math.isnan(value)},
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [row for name in cards().names for row in choices(name) if not row["few"]]
    print(f"{'card':45s} designs  warned  median  lowest  below .93  widest ratio")
    summaries = []
    for name in cards().names:
        mine = [row for row in rows if row["card"] == name]
        quiet = [row for row in mine if not row["warned"]]
        if not quiet:
            continue
        coverage = np.array([row["coverage"] for row in quiet])
        one = {
            "card": name,
            "designs": len(mine),
            "warned": len(mine) - len(quiet),
            "median": float(np.median(coverage)),
            "lowest": float(coverage.min()),
            "below": float(np.mean(coverage < HONEST)),
            "widest": max(
                (row["width_ratio"] for row in quiet if not math.isnan(row["width_ratio"])), default=math.nan
            ),
        }
        summaries.append(one)
        print(
            f"{name:45s} {one['designs']:7d} {one['warned']:7d} {one['median']:7.3f} {one['lowest']:7.3f} "
            f"{one['below']:10.3f} {one['widest']:13.2f}"
        )
    told = [row for row in rows if not row["warned"] and (row["coverage"] < HONEST or row["width_ratio"] > WIDE)]
    quiet = [row for row in rows if not row["warned"]]
    low = sum(row["coverage"] < HONEST for row in quiet)
    print(f"{len(quiet)} designs without a warning: {low} below {HONEST}, {len(told) - low} wider than {WIDE} times")
    if options.json:
        options.json.write_text(json.dumps({"honest": HONEST, "cards": summaries, "outside": told}, indent=1) + "\n")


if __name__ == "__main__":
    main()
