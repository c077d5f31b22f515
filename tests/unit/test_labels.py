"""Labels: read once, encoded the same whatever integers hold them."""

import numpy as np
import pytest

from jaxci.api.readers import labels
from jaxci.api.readers.labels import CACHED_ROWS, encode_labels, in_bytes

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
