"""Pictures of results and of coverage studies, by matplotlib; needs the ``plot`` extra."""

from jaxci.plots.against_n import coverage_against_n, width_against_n
from jaxci.plots.coverage import coverage_boxes, pace_by_statistic, saw_tooth
from jaxci.plots.generalization import cost_against_n, coverage_against_width, target_coverage
from jaxci.plots.quantiles import interval_bars, quantile_panels
from jaxci.plots.results import draw, forest

__all__ = [
    "cost_against_n",
    "coverage_against_n",
    "coverage_against_width",
    "coverage_boxes",
    "draw",
    "forest",
    "interval_bars",
    "pace_by_statistic",
    "quantile_panels",
    "saw_tooth",
    "target_coverage",
    "width_against_n",
]
