import jax
import numpy as np
import pytest

from jaxci.intervals.registry import METHODS
from jaxci.records import record, static
from jaxci.statistics import IQR, Median, Std, TrimmedMean, Variance
from jaxci.statistics.registry import METRICS as STATISTICS


@record
class First:
    x: float = 1.0
    name: str = static(default="a")


@record
class Second:
    x: float = 1.0
    name: str = static(default="a")


def test_structures_of_different_records_differ_although_their_fields_agree():
    assert jax.tree.structure(First()) != jax.tree.structure(Second())
    assert jax.tree.structure(First()) == jax.tree.structure(First(2.0))
    assert jax.tree.structure(First()) != jax.tree.structure(First(name="b"))


@pytest.mark.parametrize("family", [list(STATISTICS.values()), [method() for method in METHODS.values()]])
def test_no_two_classes_of_a_family_share_a_structure(family):
    for one in family:
        for other in family:
            if type(one) is not type(other):
                assert jax.tree.structure(one) != jax.tree.structure(other)


@pytest.mark.parametrize(("one", "other"), [(Std(), Variance()), (Median(), IQR())])
def test_jit_never_serves_one_statistic_for_another(one, other):
    traced = []

    @jax.jit
    def of(statistic):
        traced.append(type(statistic))
        return 0.0

    for _ in range(3):
        of(one)
        of(other)
    assert traced == [type(one), type(other)]


def test_a_record_survives_a_round_trip_and_names_its_leaves():
    found = jax.tree.map(lambda x: x + 1, TrimmedMean(0.1))
    assert isinstance(found, TrimmedMean)
    assert found.proportiontocut == pytest.approx(1.1)
    ((path, leaf),) = jax.tree_util.tree_leaves_with_path(First(np.float64(3.0)))
    assert (str(path[0]), leaf) == (".x", 3.0)
