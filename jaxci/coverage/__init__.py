"""Whether an interval can be trusted: simulated, or enumerated, coverage."""

from jaxci.coverage.bundled import bundled_names, load_study
from jaxci.coverage.cards import Card, card
from jaxci.coverage.cell import Cell
from jaxci.coverage.check import CoverageCheck, check
from jaxci.coverage.enumeration import proportion_coverage
from jaxci.coverage.learner_study import GeneralizationStudy
from jaxci.coverage.planning import Estimate, estimate
from jaxci.coverage.results import StudyResults
from jaxci.coverage.running import run_cell
from jaxci.coverage.study import Study
from jaxci.coverage.tally import Behaviour, CellResult, Judgement

__all__ = [
    "Behaviour",
    "Card",
    "Cell",
    "CellResult",
    "CoverageCheck",
    "Estimate",
    "GeneralizationStudy",
    "Judgement",
    "Study",
    "StudyResults",
    "bundled_names",
    "card",
    "check",
    "estimate",
    "load_study",
    "proportion_coverage",
    "run_cell",
]
