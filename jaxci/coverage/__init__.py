"""Whether an interval can be trusted: simulated, or enumerated, coverage."""

from jaxci.coverage.cell import Behaviour, Cell, CellResult, Judgement, run_cell
from jaxci.coverage.check import CoverageCheck, check
from jaxci.coverage.enumeration import proportion_coverage

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
