"""Segmentation masks: overlaps, surface distances and volume differences of every case and label."""

from jaxci.segmentation.measuring import cases
from jaxci.segmentation.surfaces import SURFACES
from jaxci.segmentation.table import METRICS, CaseTable, joined

__all__ = ["METRICS", "SURFACES", "CaseTable", "cases", "joined"]
