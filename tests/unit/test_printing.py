"""Text tables: one number format a column, words to the left and numbers to the right."""

import math

import pytest

from jaxci.printing import aligned, in_columns, is_text, number, one_format, p_cell, p_said


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.89, 0.0], ["0.8900", "0.0000"]),
        ([0.89, 0.00045, math.nan, -math.inf, ""], ["0.89000", "0.00045", "nan", "-inf", ""]),
        ([41233.2, 0.8], ["41233.2000", "0.8000"]),
        ([1e-9, 0.5], ["1.000e-09", "0.5000"]),
        ([12345678.4, 0.5], ["12345678", "0.5000"]),
        ([2.5e17, 0.5], ["2.500e+17", "0.5000"]),
        ([math.nan, math.inf], ["nan", "inf"]),
        (["wilson", 3, 0.5], ["wilson", "3", "0.5000"]),
    ],
)
def test_a_column_has_one_number_format(values, texts):
    assert one_format(values) == texts


def test_a_cell_has_one_line():
    assert in_columns([["a\nb", 0.5], ["\r\tc", 1]]) == [["a\\nb", "0.5000"], ["\\r\\tc", "1"]]


def test_a_number_that_stands_alone():
    assert [number(x) for x in (None, 0.05, 2e-5, 1e-12)] == ["", "0.0500", "0.000020", "1.000e-12"]


@pytest.mark.parametrize(
    ("value", "least", "cell", "said"),
    [
        (0.03125, 0.0, "0.0312", "p = 0.0312"),
        (0.0002, 2 / 10_000, "< 0.0002", "p < 0.0002"),
        (1 / 2_000, 1 / 2_000, "< 0.0005", "p < 0.0005"),
        (1e-9, 1 / 100_001, "< 0.00001", "p < 0.00001"),
        (0.002, 0.002, "< 0.0020", "p < 0.0020"),
        (0.0003, 0.00025, "0.00030", "p = 0.00030"),
        (9.142e-7, 0.0, "9.142e-07", "p = 9.142e-07"),
        (0.0, 0.0, "< 1e-300", "p < 1e-300"),
        (math.nan, 0.001, "", "p = nan"),
    ],
)
def test_a_p_value_is_said_down_to_what_resamples_can_show(value, least, cell, said):
    assert (p_cell(value, least), p_said(value, least)) == (cell, said)


def test_words_are_left_and_numbers_right():
    rows = in_columns([["a", 0.5, "wilson", "< 0.001"], ["abc", 12.5, "t", "0.250"]])
    assert aligned(["metric", "estimate", "method", "adjusted p"], rows).splitlines() == [
        "metric  estimate  method  adjusted p",
        "------  --------  ------  ----------",
        "a         0.5000  wilson     < 0.001",
        "abc      12.5000  t            0.250",
    ]


def test_what_counts_as_a_number():
    assert not is_text(["0.1", "nan", "", "< 0.0002", "-inf", "95.3%", "12,000", "9.1e-05"])
    assert all(is_text([cell]) for cell in ("1 to 2", "wilson", "n", "95.3% (worst 94.9%)"))
