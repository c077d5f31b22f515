"""SciPy's own tests of ``bootstrap``, as they ship in its wheel, with :func:`jaxci.bootstrap` in its place.

Not run are the tests of SciPy's private helpers, which do not call ``bootstrap``, and:

- ``bootstrap_iv``: our errors name argument, rule and value, and a wrong type is a ``TypeError``;
- ``bootstrap_iv_other``: of other array libraries; SciPy skips it too where there is NumPy alone;
- ``against_itself_1samp`` and ``2samp``: counts that one stream of SciPy's generator gave;
- ``against_theory`` and ``multisample_BCa_against_R``: tolerances near one Monte-Carlo error, which SciPy's own
  function meets with 30 (of the standard error alone) and 16 of 40 other seeds;
- ``re_bootstrap``: SciPy's generator goes on where the first call left it. Here replicate i belongs to the seed;
  ``test_a_result_is_extended_as_if_by_one_longer_call`` is the same test in these terms.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from scipy import stats

import jaxci

theirs = pytest.importorskip("scipy.stats.tests.test_resampling", reason="SciPy was installed without its tests")
if not hasattr(theirs, "TestBootstrap"):
    pytest.skip("this SciPy's tests of bootstrap are no class yet", allow_module_level=True)

pytestmark = pytest.mark.slow


def bootstrap(data: Any, statistic: Any, *, random_state: Any = None, **options: Any) -> Any:
    """Read ``random_state``, a seed or a ``RandomState``, as a generator of its bits."""
    if isinstance(random_state, int):
        random_state = np.random.RandomState(random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = np.random.Generator(random_state._bit_generator)
    return jaxci.bootstrap(data, statistic, **({} if random_state is None else {"rng": random_state}), **options)


def raises(expected: Any, match: str) -> Any:
    """Expect the class of an error; its words are ours."""
    return pytest.raises(expected)


@pytest.fixture(autouse=True)
def in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give SciPy's module our function under both names it uses."""
    monkeypatch.setattr(theirs, "bootstrap", bootstrap)
    monkeypatch.setattr(theirs, "stats", types.SimpleNamespace(**{**vars(stats), "bootstrap": bootstrap}))
    monkeypatch.setattr(theirs, "pytest", types.SimpleNamespace(**{**vars(pytest), "raises": raises}))


@pytest.fixture
def xp() -> types.ModuleType:
    """The array library that SciPy's tests are written for."""
    return np


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
class TestBootstrap(theirs.TestBootstrap):
    """SciPy's class less what the head of this file names."""

    test_bootstrap_iv = None
    test_bootstrap_iv_other = None
    test_bootstrap_against_itself_1samp = None
    test_bootstrap_against_itself_2samp = None
    test_bootstrap_against_theory = None
    test_multisample_BCa_against_R = None
    test_re_bootstrap = None
    test_jackknife_resample = None
    test_bootstrap_resample = None
    test_percentile_of_score = None
    test_vectorize_statistic = None
