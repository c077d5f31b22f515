"""Programs that compile quickly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxci import quick as module
from jaxci.inference import slopes
from jaxci.quick import MOST_ROWS, Quick


@pytest.fixture
def asked(monkeypatch):
    """Options that functions were compiled with, those that ran."""
    found, jit = [], jax.jit

    def told(function, compiler_options=None, **others):
        compiled = jit(function, compiler_options=compiler_options, **others)

        def run(*arguments):
            found.append(compiler_options)
            return compiled(*arguments)

        return run

    monkeypatch.setattr(module.jax, "jit", told)
    monkeypatch.setattr(module, "_known", lambda: True)
    monkeypatch.setattr(module, "_on_cpu", lambda: True)
    return found


def test_few_rows_are_computed_by_a_program_that_compiles_quickly_and_many_by_an_optimized_one(asked):
    total = Quick(lambda data: jnp.sum(data["x"]) + data["y"])
    for rows in (1, MOST_ROWS, MOST_ROWS + 1):
        assert total({"x": np.ones((2, rows)), "y": 1.0}) == 2 * rows + 1
    assert asked == [module.OPTIONS, module.OPTIONS, None]


@pytest.mark.parametrize("name", ["_known", "_on_cpu"])
def test_what_xla_or_the_device_does_not_know_is_not_asked_for(asked, monkeypatch, name):
    monkeypatch.setattr(module, name, lambda: False)
    assert Quick(jnp.sum)(np.ones(3)) == 3
    assert asked == [None]


def test_options_that_xla_does_not_know_are_told(monkeypatch):
    module._known.cache_clear()
    if jax.default_backend() == "cpu":
        assert module._known()
    module._known.cache_clear()
    monkeypatch.setitem(module.OPTIONS, "xla_of_another_time", True)
    assert not module._known()
    module._known.cache_clear()


def test_a_kept_name_and_text_are_those_of_the_function():
    assert slopes.slopes.__name__ == "slopes"
    assert slopes.estimates.__doc__
