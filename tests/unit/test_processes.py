"""Processes that work on one study together."""

import pytest
from jax.experimental import multihost_utils

from jaxci.coverage.processes import Processes


@pytest.mark.parametrize(
    ("name", "meet"),
    [
        ("sync_global_devices", lambda both: both.wait("counted a cell")),
        ("broadcast_one_to_all", lambda both: both.told(3)),
    ],
)
@pytest.mark.parametrize("kind", [ValueError, RuntimeError])
def test_a_process_that_has_ended_is_told_as_such(monkeypatch, name, meet, kind):
    def lost(_):
        raise kind("connection closed by peer")

    monkeypatch.setattr(multihost_utils, name, lost)
    with pytest.raises(ConnectionError, match=r"another process of this run has ended; start all again.*by peer"):
        meet(Processes(2, 0))
    meet(Processes(1, 0))
