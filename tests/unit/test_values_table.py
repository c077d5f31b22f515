"""A table of summaries of values: each row is the interval of that summary alone."""

import numpy as np
import pytest

import jaxci
from jaxci.cli import main
from jaxci.statistics import Mean

pytestmark = pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")

RNG = np.random.default_rng(8)
DICE = RNG.beta(8, 2, 60)
SITE = np.repeat(np.arange(12), 5)


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"groups": SITE}, {"sample_weight": RNG.uniform(0.5, 2, 60)}])
def test_rows_are_the_intervals_of_the_summaries(given):
    found = jaxci.evaluate(DICE, metrics=["mean", "median", Mean(bounds=(0, 1))], rng=0, **given)
    for row, statistic in zip(found, ["mean", "median", Mean(bounds=(0, 1))], strict=True):
        alone = jaxci.interval(statistic, DICE, rng=0, **given)
        assert (row.estimate, row.confidence_interval, row.method) == (
            alone.estimate,
            alone.confidence_interval,
            alone.method,
        )


def test_summaries_are_given_by_group():
    found = jaxci.evaluate(DICE, metrics=["mean"], by={"site": SITE % 2}, rng=0)
    assert [one.name for one in found.subgroups] == ["site = 0", "site = 1"]
    for number, one in enumerate(found.subgroups):
        assert one.result.estimate == pytest.approx(DICE[number == SITE % 2].mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("verb", "error", "message"),
    [
        (
            lambda: jaxci.evaluate(DICE, DICE, metrics=["mean"]),
            ValueError,
            "y_pred must not be given with metrics that summ",
        ),
        (
            lambda: jaxci.evaluate(DICE, metrics=["mean"], labels=[0, 1]),
            ValueError,
            "labels must not be given .*; got mean",
        ),
        (
            lambda: jaxci.evaluate(DICE, DICE, metrics=["r2"], pos_label=1),
            ValueError,
            "pos_label must not be given .*; got r2",
        ),
        (
            lambda: jaxci.evaluate(DICE, DICE, DICE, metrics=["r2"]),
            ValueError,
            "y_score must not be given .* are of a regression",
        ),
        (lambda: jaxci.evaluate(DICE, metrics=["mean", "accuracy"]), TypeError, "y_pred or y_score must be given"),
        (lambda: jaxci.evaluate(["a"] * 9, metrics=["mean"]), TypeError, "y_true must hold numbers"),
        (lambda: jaxci.evaluate(DICE, metrics=["mean"], threshold=0.5), ValueError, "y_score is not given"),
        (lambda: jaxci.Accumulator(["mean", "std"]), ValueError, "not summaries of values; got mean, std"),
    ],
)
def test_what_is_no_table_of_values_is_refused(verb, error, message):
    with pytest.raises(error, match=message):
        verb()


@pytest.mark.slow
def test_the_command_line_summarizes_a_column(tmp_path, capsys):
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(["dice", *map(repr, DICE.tolist())]))
    assert main(["evaluate", str(path), "--target", "dice", "--metrics", "mean,std"]) == 0
    assert f"{DICE.mean():.4f}" in capsys.readouterr().out
    assert main(["evaluate", str(path), "--target", "dice"]) == 2
    assert "--pred, --score" in capsys.readouterr().err
