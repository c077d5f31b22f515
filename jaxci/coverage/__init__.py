"""Whether an interval can be trusted: simulated, or enumerated, coverage."""

from jaxci.coverage.cell import Cell, run_cell
from jaxci.coverage.check import CoverageCheck, check
from jaxci.coverage.enumeration import proportion_coverage
from jaxci.coverage.tally import Behaviour, CellResult, Judgement

__all__ = [
    "Behaviour",
    "Cell",
    "CellResult",
    "CoverageCheck",
    "Judgement",
    "check",
    "proportion_coverage",
    "run_cell",
]
