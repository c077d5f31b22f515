import dataclasses
import json
import math
import tomllib

import jax
import numpy as np
import pytest
import tomli_w

from jaxci.intervals.registry import METHODS
from jaxci.records import decode, encode, record, settings, static
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


def through_files(description):
    """Return a description as a study file (TOML) and a result file (JSON) give it back."""
    again = tomllib.loads(tomli_w.dumps({"it": description}))["it"]
    assert json.loads(json.dumps(description)) == description
    return again


def changed(method):
    """The method with every setting that can be changed without breaking a rule changed."""
    others = {
        "acceleration": "jackknife",
        "degenerate": "nan",
        "endpoints": "bca",
        "scale": "logit",
        "sigma": 2.5,
        "low": -1.5,
        "high": math.inf,
        "outside": "clip",
        "lowest": -math.inf,
        "highest": 7.0,
        "n_resamples": 99,
        "mass": 0.125,
        "reach": 0.0,
        "bounded_reach": 3.0,
        "at_least_normal": True,
        "variance": "CR1",
        "degrees_of_freedom": "groups",
        "working_correlation": 0.25,
        "use_t": True,
        "n_outer": 500,
        "n_inner": 499,
    }
    known = {field.name for field in dataclasses.fields(method)}
    return dataclasses.replace(method, **{name: value for name, value in others.items() if name in known})


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_a_value_that_survives_its_file(name):
    plain = METHODS[name]()
    assert plain.written() == str(plain) == f"{plain}" == name
    assert plain == name == decode(name, METHODS, key="name")
    assert hash(plain) == hash(name)
    for method in (plain, changed(plain)):
        again = decode(through_files(encode(method, METHODS, key="name")), METHODS, key="name")
        assert type(again) is type(method)
        assert again == method == decode(through_files(method.written()), METHODS, key="name")
        assert repr(again) == repr(method)
        assert again == name
    if dataclasses.fields(plain):
        other = changed(plain)
        assert other != plain
        assert set(other.written()) > {"name"}
        assert other.label.startswith(f"{name}(")
        assert other.label != plain.label == name
    assert all(plain != cls() for other, cls in METHODS.items() if other != name)


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_survives_its_file(name):
    statistic = STATISTICS[name]
    classes = {type(statistic).__name__: type(statistic)}
    for defaults in (False, True):
        described = through_files(encode(statistic, classes, key="class", defaults=defaults))
        again = decode(described, classes, key="class")
        assert type(again) is type(statistic)
        assert repr(settings(again)) == repr(settings(statistic))
        assert set(described) <= {"class", *settings(statistic)}


def test_the_codec_keeps_infinities_nan_tuples_and_records_in_records():
    @record
    class Outer:
        values: tuple = static(default=(1.0, 2.0))
        inner: object = static(default=None)
        at: float = static(default=math.nan)
        flag: bool = static(default=False)

    kinds = {"outer": Outer}
    assert encode(Outer(), kinds) == {"kind": "outer"}
    assert set(encode(Outer(), kinds, defaults=True)) == {"kind", "values", "at", "flag"}
    held = encode(Outer((math.inf, -math.inf), METHODS["bca"](acceleration="jackknife"), 0.0, flag=True), kinds)
    assert held == {
        "kind": "outer",
        "values": [math.inf, -math.inf],
        "inner": {"name": "bca", "acceleration": "jackknife"},
        "at": 0.0,
        "flag": True,
    }
    assert decode(through_files(held), kinds).values == (math.inf, -math.inf)
    assert encode(Outer(at=np.float32(0.5), values=np.arange(2)), kinds) == {
        "kind": "outer",
        "values": [0, 1],
        "at": 0.5,
    }


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("seconds", "kind of a thing must be one of second; got 'seconds': did you mean 'second'"),
        ({"x": 1}, "a thing must be a table with a key 'kind'"),
        ({"kind": "second", "nam": "b"}, "a thing of kind 'second' has no key 'nam': did you mean 'name'"),
        (3, "a thing must be a table"),
    ],
)
def test_what_the_codec_does_not_know_is_refused(description, message):
    with pytest.raises(ValueError, match=message):
        decode(description, {"second": Second}, what="a thing")


def test_what_no_file_can_hold_is_refused():
    with pytest.raises(ValueError, match="First cannot be written to a file: it is a user's own object"):
        encode(First(), {"second": Second})
    with pytest.raises(ValueError, match="cannot be written to a file"):
        encode(Second(lambda: 0), {"second": Second})
