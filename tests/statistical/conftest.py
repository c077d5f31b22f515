"""The false-alarm budget of the statistical tests.

Every test here draws with a fixed key, so it either always passes or always fails: a p-value is
the chance that a correct program would have drawn its numbers beyond the bound when the key was
written down. Each comparison may raise a false alarm with probability ``FALSE_ALARM``; with at
most ``MOST_COMPARISONS`` comparisons the whole suite stays below one in a thousand.
"""

from pathlib import Path

import pytest

FALSE_ALARM = 1e-6
"""Probability with which one comparison rejects a correct program."""

MOST_COMPARISONS = 1000
"""Comparisons in the suite, generously: 0.001 in all."""


@pytest.fixture(scope="session")
def false_alarm():
    """Level of one comparison: a p-value below it fails."""
    return FALSE_ALARM


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what is in this folder: it simulates for many seconds, and runs in a step of its own."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.statistical)
