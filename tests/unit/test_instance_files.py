"""Instances of a study in a file of their own."""

import numpy as np
import pytest

from jaxci.coverage.instance_files import read_instances, write_instances


def test_values_come_back_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    data = {"dice, a": rng.normal(size=7) / 3, 'with "quotes"': np.array([np.pi])}
    write_instances(tmp_path / "x.csv", data)
    found = read_instances(tmp_path / "x.csv")
    assert list(found) == list(data)
    for name, values in data.items():
        np.testing.assert_array_equal(found[name], values)


def test_logits_of_different_numbers_of_classes_come_back(tmp_path):
    rng = np.random.default_rng(1)
    data = {
        "two": (rng.normal(size=(5, 2)), np.array([0, 1, 1, 0, 1])),
        "three": (rng.normal(size=(6, 3)) / 7, np.array([0, 1, 2, 0, 1, 2])),
        "one": (rng.normal(size=4), np.array([1, 0, 1, 0])),
    }
    write_instances(tmp_path / "x.csv", data)
    for name, (logits, labels) in read_instances(tmp_path / "x.csv").items():
        np.testing.assert_array_equal(logits, data[name][0])
        np.testing.assert_array_equal(labels, data[name][1])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must have the columns"),
        ("a,b\n", "must have the columns"),
        ("instance,value\nx,1\nx,high\n", "line 3: could not convert"),
        ("instance,value\nx,1\nx,\n", "every row of 'x' must have 1 numbers"),
        ("instance,label,logit_0,logit_1\nx,0,1,2\nx,1,1,\n", "every row of 'x' must have 3 numbers"),
    ],
)
def test_another_file_is_refused(tmp_path, text, told):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=told):
        read_instances(tmp_path / "x.csv")
