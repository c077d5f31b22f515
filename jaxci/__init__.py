"""Trustworthy uncertainty for machine-learning results, computed on accelerators."""

__version__ = "0.1.0"
