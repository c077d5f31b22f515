"""Labels: read once, encoded the same whatever integers hold them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxci
from jaxci.api.readers import labels
from jaxci.api.readers.labels import CACHED_ROWS, encode_labels, in_bytes
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.learning import read_learning
from jaxci.inducers import Ridge
from jaxci.statistics.sample import Sample

ROWS = CACHED_ROWS + 17


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint64])
def test_small_integers_become_bytes_and_keep_their_values(dtype):
    array = (np.arange(ROWS) % 100).astype(dtype)
    narrow = in_bytes(array)
    assert narrow.dtype.itemsize == 1
    np.testing.assert_array_equal(narrow, array)


@pytest.mark.parametrize("odd", [256, -1, 2**40])
@pytest.mark.parametrize("row", [0, CACHED_ROWS - 1, CACHED_ROWS, ROWS - 1])
def test_integers_that_fit_no_byte_are_left_alone(odd, row):
    array = np.arange(ROWS) % 3
    array[row] = odd
    assert in_bytes(array) is array


@pytest.mark.parametrize("shift", [-4, 0, 5, 250, 300, 10**6])
def test_codes_are_positions_among_the_sorted_labels(shift):
    rng = np.random.default_rng(3)
    y_true, y_pred = (rng.choice([0, 2, 3, 9], ROWS) + shift for _ in range(2))
    codes, classes, _ = encode_labels({"y_true": y_true, "y_pred": y_pred}, None, 1)
    np.testing.assert_array_equal(classes, np.array([0, 2, 3, 9]) + shift)
    for name, column in (("y_true", y_true), ("y_pred", y_pred)):
        assert codes[name].dtype == np.int32
        np.testing.assert_array_equal(classes[codes[name]], column)


def test_columns_of_different_width_share_their_classes():
    y_true = np.array([0, 1, 2, 1], np.int64)
    codes, classes, _ = encode_labels({"y_true": y_true, "y_pred": np.array([300, 1, -2, 0])}, None, 1)
    assert classes.tolist() == [-2, 0, 1, 2, 300]
    assert codes["y_true"].tolist() == [1, 2, 3, 2]
    assert codes["y_pred"].tolist() == [4, 2, 0, 1]


def test_an_unknown_label_is_named_with_its_row():
    with pytest.raises(ValueError, match=r"y_pred must only hold values in labels \[0, 1\]; 1 do not, .* 7 in row 2"):
        encode_labels({"y_true": [0, 1, 1], "y_pred": [0, 1, 7]}, [0, 1], 1)


def test_a_range_below_the_table_is_looked_up_not_sorted(monkeypatch):
    monkeypatch.setattr(labels.np, "argsort", None)
    monkeypatch.setattr(labels.np, "searchsorted", None)
    codes, classes, _ = encode_labels({"y_true": np.array([5, 5000, 17, 5])}, None, 1)
    assert classes[codes["y_true"]].tolist() == [5, 5000, 17, 5]


# --- every integer is told apart ---------------------------------------------------------------------

CENTRES = [sign * 2**power for power in (0, 7, 8, 15, 16, 31, 32, 53, 62, 63, 64, 80) for sign in (-1, 1)]
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i8", object, list]


def held(values: list[int], kind: object) -> object:
    """Values as users hold them."""
    return list(values) if kind is list else np.array(values, kind)


@st.composite
def integer_columns(draw):
    """Two columns of integers, each in some type that holds them exactly."""
    columns = []
    near = st.sampled_from(CENTRES).flatmap(lambda centre: st.integers(centre - 2, centre + 2))
    shared = draw(st.lists(near, min_size=4, max_size=8))
    for _ in range(2):
        kind = draw(st.sampled_from(TYPES))
        values = st.one_of(st.sampled_from(shared), near)
        if kind not in (object, list):
            low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
            inside = [value for value in shared if low <= value <= high]
            values = st.sampled_from([low, high, *inside]) | st.integers(low, high)
        columns.append((draw(st.lists(values, min_size=2, max_size=12)), kind))
    return columns


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(integer_columns())
def test_codes_of_integers_are_those_of_a_dict(columns):
    given_ = {name: held(*column) for name, column in zip(("y_true", "y_pred"), columns, strict=True)}
    codes, classes, _ = encode_labels(given_, None, 1)
    known = sorted({value for values, _ in columns for value in values})
    if len(known) == 2 and known[0] == 1:
        known.reverse()  # label 1 is the positive class, and that is the second
    assert classes.tolist() == known
    code = {value: i for i, value in enumerate(known)}
    for name, (values, _) in zip(codes, columns, strict=True):
        assert codes[name].dtype == np.int32
        assert codes[name].tolist() == [code[value] for value in values]


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(integer_columns())
def test_labels_that_are_named_in_any_order_are_those_of_a_dict(columns):
    (values, kind), (others, their_kind) = columns
    named = list(dict.fromkeys(others))[::-1]
    code = {value: i for i, value in enumerate(named)}
    missing = [value for value in values if value not in code]
    given_ = {"y_true": held(values, kind)}, held(named, their_kind), named[0]
    if missing:
        said = f"{len(missing)} do not, the first is {missing[0]} in row {values.index(missing[0])}"
        with pytest.raises(ValueError, match=said):
            encode_labels(*given_)
        return
    codes, classes, positive = encode_labels(*given_)
    if len(named) == 2:
        assert positive == 0
        named.reverse()  # the positive class is the second
        code = {value: i for i, value in enumerate(named)}
    assert classes.tolist() == named
    assert codes["y_true"].tolist() == [code[value] for value in values]


def layout_of(values, groups=None, strata=None):
    rows = Sample(values=np.zeros(len(values)))
    return arranged(rows, groups, strata, None, "importance")[1]


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(integer_columns())
def test_clusters_and_strata_of_integers_are_those_of_a_dict(columns):
    for values, kind in columns:
        distinct = sorted(set(values))
        code = [distinct.index(value) for value in values]
        strata = layout_of(values, strata=held(values, kind)).strata
        assert strata is not None
        assert strata.tolist() == code
        if len(distinct) > 1:
            assert layout_of(values, groups=held(values, kind)).units.tolist() == code
            assert np.unique(read_groups(held(values, kind)), return_inverse=True)[1].tolist() == code


def read_groups(groups):
    n = len(groups)
    return read_learning([Ridge()], np.ones((n, 1)), np.arange(n) + 0.5, groups).groups


def test_a_float_is_the_integer_it_equals():
    y_true, y_pred = np.array([2**53 - 1, 2**53 - 2, 3]), np.array([2.0**53 - 2, 2.0**53 - 2, 3.0])
    codes, classes, _ = encode_labels({"y_true": y_true, "y_pred": y_pred}, None, 1)
    assert classes.tolist() == [3, 2**53 - 2, 2**53 - 1]
    assert codes["y_true"].tolist() == [2, 1, 0]
    assert codes["y_pred"].tolist() == [1, 1, 0]


@pytest.mark.parametrize("whole", [np.array([3, 2**53 + 1]), np.array([-(2**53) - 1, 0]), [2**70 + 1, 3]])
def test_floats_that_may_be_rounded_integers_are_refused(whole):
    rounded = np.array([float(x) for x in whole])
    with pytest.raises(
        ValueError, match=r"^y_pred must hold integers, .* 2\*\*53: dtype float64 rounds them; got -?\d"
    ):
        encode_labels({"y_true": whole, "y_pred": rounded}, None, 1)
    encode_labels({"y_true": rounded, "y_pred": rounded}, None, 1)


def test_verbs_tell_large_identifiers_apart():
    ids = np.array([2**53, 2**53 + 1, 2**62, 2**62 + 1] * 5)
    wrong = np.array([2**53 + 1, 2**53 + 1, 2**62, 2**62] * 5)
    for kind in (np.int64, np.uint64, object):
        found = jaxci.evaluate(ids.astype(kind), wrong.astype(kind), metrics="accuracy", rng=0)
        assert found["accuracy"].estimate == 0.5
        assert found["accuracy"].n == 20
    clustered = jaxci.interval("mean", np.arange(20.0), groups=ids.astype(object), n_resamples=99, rng=0)
    small = jaxci.interval("mean", np.arange(20.0), groups=np.array([0, 1, 2, 3] * 5), n_resamples=99, rng=0)
    np.testing.assert_array_equal(clustered.confidence_interval, small.confidence_interval)
