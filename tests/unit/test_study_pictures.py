"""Pictures of studies: what is compared stands on one scale, and every text is inside and readable."""

import types

import numpy as np
import pytest
from pictures import check_texts

from jaxci import plots
from jaxci.coverage import Study, load_study
from jaxci.coverage.results import StudyResults
from jaxci.distributions import Parametric
from jaxci.plots.style import FAINT, styles_of

figures = pytest.importorskip("matplotlib.figure")

SIZES = (10, 25, 100)


def table(methods, laws=("a", "b", "c"), *, statistics=("mean",), scale=None, coverage=None, sizes=SIZES):
    """Rows of made-up methods: widths fall with n, the j-th method's are 1 + j/10 times those of the first."""
    rows = [(d, s, m, n) for d in laws for s in statistics for m in methods for n in sizes]
    law, statistic, method, n = (np.array(column) for column in zip(*rows, strict=True))
    place = np.array([methods.index(m) for m in method.tolist()])
    size = np.array([(scale or {}).get(d, 1.0) for d in law.tolist()])
    covered = 0.95 - 0.02 * place / n * 10 if coverage is None else np.array([coverage[m] for m in method.tolist()])
    columns = {
        "distribution": law,
        "statistic": statistic,
        "method": method,
        "level": np.full(len(n), 0.95),
        "n": n,
        "coverage": covered,
        "coverage_error": np.full(len(n), 0.002),
        "mean_width": size * (1 + place / 10) / np.sqrt(n),
        "invalid": np.zeros(len(n)),
        "truth": np.array([list(laws).index(d) / len(laws) for d in law.tolist()]),
    }
    return types.SimpleNamespace(columns=columns, tags=(), study=None)


@pytest.fixture(scope="module")
def proportions(tmp_path_factory):
    """Eight methods for nine proportions, by enumeration."""
    laws = load_study("proportions").distributions
    few = {name: laws[name] for name in (f"p={p:.2f}" for p in (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99))}
    methods = ["wald", "wilson", "agresti_coull", "clopper_pearson", "jeffreys", "mid_p", "percentile", "bca"]
    return Study(few, ["accuracy"], methods, [10, 25, 50]).run(tmp_path_factory.mktemp("study"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "count"), [(plots.coverage_against_n, 8), (plots.width_against_n, 8), (plots.saw_tooth, 8 * 3)]
)
def test_more_than_four_methods_have_panels_of_their_own(proportions, draw, count):
    figure = draw(proportions)
    check_texts(figure)
    assert len(figure.axes) == count
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    methods = dict.fromkeys(proportions.columns["method"].tolist())
    titles = [f"{axes.get_title(loc='left').removeprefix('accuracy, ')}," for axes in figure.axes]
    assert [sum(title.startswith(f"{m},") for title in titles) for m in methods] == [count / 8] * 8
    for axes in figure.axes:
        assert len({line.get_color() for line in axes.lines if line.get_marker() != "None"}) <= 1


@pytest.mark.slow
def test_the_bundled_studies_are_drawn_on_shared_axes(proportions, tmp_path):
    laws = {"beta": Parametric("beta", {"a": 8, "b": 2}), "wide": Parametric("lognorm", {"s": 1, "scale": 1000})}
    sizes = {"n_replications": 40, "n_resamples": 49, "n_groups": 4}
    methods = ["t", "percentile", "bca"]
    summaries = Study(laws, ["mean", "median", "std"], methods, [5, 20], [0.95], **sizes).run(tmp_path)
    for results in (proportions, summaries):
        for draw in (plots.coverage_boxes, plots.pace_by_statistic):
            figure = draw(results)
            check_texts(figure)
            assert len({axes.get_xlim() for axes in figure.axes}) == 1
    figure = plots.coverage_against_n(summaries)
    check_texts(figure)
    assert len(figure.axes) == 3
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_the_other_methods_are_pale_behind_one():
    methods = ["z", "t", "basic", "bca", "percentile"]
    figure = plots.coverage_against_n(table(methods, statistics=("mean", "median")))
    check_texts(figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{statistic}, {method}" for statistic in ("mean", "median") for method in methods]
    for axes in figure.axes:
        assert [line.get_color() for line in axes.lines].count(FAINT) == len(methods) - 1
    assert "pale: the other methods" in figure.get_supxlabel()
    assert not figure.legends


def test_methods_of_one_kind_stand_below_each_other():
    both = table(["t", "basic", "bca", "percentile", "studentized"], statistics=("mean", "median"))
    keep = (both.columns["statistic"] == "mean") | np.isin(both.columns["method"], ["basic", "bca"])
    both.columns = {name: column[keep] for name, column in both.columns.items()}
    figure = plots.coverage_against_n(both)
    assert len(figure.axes) == 7
    places = {axes.get_title(loc="left"): axes.get_subplotspec().colspan.start for axes in figure.axes}
    assert places["mean, basic"] == places["median, basic"]
    assert places["mean, bca"] == places["median, bca"]
    drawn = [[tick.label1.get_visible() for tick in axes.xaxis.get_major_ticks()] for axes in figure.axes]
    assert all(any(found) for found in drawn[2:])


@pytest.mark.slow
def test_beyond_two_dozen_panels_methods_are_named_beside_their_curves():
    methods = ["z", "t", "basic", "bca", "percentile", "studentized"]
    statistics = ("mean", "median", "std", "iqr", "trimmed_mean")
    found = table(methods, laws=("a", "b"), statistics=statistics, sizes=(10, 25))
    gone = (found.columns["statistic"] == "iqr") & (found.columns["method"] == "bca")
    found.columns["coverage"][gone] = np.nan
    figure = plots.coverage_against_n(found)
    check_texts(figure)
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(statistics)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    for axes in figure.axes:
        named = {text.get_text() for text in axes.texts}
        assert named == set(methods) - ({"bca"} if axes.get_title(loc="left") == "iqr" else set())
    assert figure.get_supxlabel() == "Sample size n (median over 2 distributions)"
    alone = plots.coverage_against_n(table(methods, laws=("a",), statistics=statistics, sizes=(10, 25)))
    assert alone.get_supxlabel() == "Sample size n"


def test_panels_of_other_sizes_have_the_ticks_of_all():
    found = table(["t", "z"], statistics=("mean", "median"))
    keep = (found.columns["statistic"] == "mean") | (found.columns["n"] > 10)
    found.columns = {name: column[keep] for name, column in found.columns.items()}
    figure = plots.coverage_against_n(found)
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "25", "100"]


def test_laws_of_any_scale_have_one_relative_width():
    """Widths of laws whose scales differ by a million: the same line, and no spread between them."""
    found = table(["t", "z", "bca"], scale={"a": 1e-3, "b": 1.0, "c": 1e3})
    figure = plots.width_against_n(found)
    check_texts(figure)
    (axes,) = figure.axes
    lines = {line.get_color(): line.get_ydata() for line in axes.lines}
    for j, (colour, _, _) in enumerate(styles_of(found, "method").values()):
        assert lines[colour] == pytest.approx([(1 + j / 10) / 1.1] * 3)
    assert "over that of the median method" in figure.get_supylabel()
    for band in axes.collections:  # quartiles are equal: a band has no height
        (outline,) = (path.vertices for path in band.get_paths())
        assert np.ptp(outline[np.isclose(outline[:, 0], 25), 1]) < 1e-12
    some = plots.width_against_n(found, methods=["bca"]).axes[0]
    assert some.lines[0].get_ydata() == pytest.approx([1.2 / 1.1] * 3)


def test_the_width_of_a_single_method_falls_from_one():
    figure = plots.width_against_n(table(["t"], scale={"a": 5.0}))
    assert figure.axes[0].lines[0].get_ydata() == pytest.approx([1.0, np.sqrt(10 / 25), np.sqrt(10 / 100)])
    assert "at n = 10" in figure.get_supylabel()


def test_coverage_out_of_the_frame_is_a_triangle():
    figure = plots.coverage_against_n(table(["t", "z"], coverage={"t": 0.95, "z": 0.5}))
    check_texts(figure)
    (axes,) = figure.axes
    assert axes.get_ylim()[0] == 75
    marks = [line for line in axes.lines if line.get_marker() == "v" and line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in marks) == len(SIZES)
    assert "triangles: below 75%" in figure.get_supylabel()
    whole = plots.coverage_against_n(table(["t", "z"], coverage={"t": 0.95, "z": 0.9}))
    assert "triangles" not in whole.get_supylabel()


def learners(methods, sizes=(100, 500)):
    """A study of learners in which many methods are about as wide and cover about as much."""
    rows = [(m, n) for m in methods for n in sizes]
    method, n = map(np.array, zip(*rows, strict=True))
    place = np.arange(len(rows))
    columns = {
        "distribution": np.full(len(rows), "friedman1"),
        "inducer": np.full(len(rows), "linear"),
        "statistic": np.full(len(rows), "squared"),
        "method": method,
        "level": np.full(len(rows), 0.95),
        "n": n,
        "coverage": 0.95 - 1e-4 * (place % 3),
        "coverage_expected": np.full(len(rows), 0.94),
        "coverage_proxy": np.full(len(rows), 0.96),
        "width_over_sd": 4 + 0.01 * (place % 5),
        "fits": 10.0 + (place % 2),
        "seconds": 0.01 * (1 + place % 4),
    }
    return types.SimpleNamespace(columns=columns, tags=("inducer",), study=None)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("draw", [plots.coverage_against_width, plots.cost_against_n])
def test_names_beside_points_do_not_meet(draw, count):
    names = [f"conservative_z_10_{i}" for i in range(count)]
    figure = draw(learners(names))
    check_texts(figure)
    for axes in figure.axes:
        assert {text.get_text() for text in axes.texts} == set(names)
        edge = axes.get_window_extent().x1
        assert all(text.get_window_extent().x1 > edge for text in axes.texts)
    if draw is plots.coverage_against_width:
        assert len({(axes.get_xlim(), axes.get_ylim()) for axes in figure.axes}) == 1
    check_texts(plots.target_coverage(learners(names)))


@pytest.fixture(scope="module")
def quantiles(tmp_path_factory):
    sizes = {"sample_sizes": [10], "n_replications": 40, "n_groups": 2}
    return load_study("quantile-paper", **sizes).run(tmp_path_factory.mktemp("quantiles"))


@pytest.mark.slow
@pytest.mark.parametrize("value", ["coverage", "mean_width"])
def test_a_quantile_without_an_interval_is_a_cross(quantiles: StudyResults, value):
    figure = plots.quantile_panels(quantiles, value=value)
    check_texts(figure)
    assert len(figure.axes) == 6
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    columns = quantiles.columns
    of = (columns["level"] == 0.95) & (columns["statistic"] != "mean")
    of &= np.isin(columns["method"], plots.quantiles.PAPER)
    for axes in figure.axes:
        mine = of & (columns["distribution"] == axes.get_title(loc="left"))
        crosses = [line for line in axes.lines if line.get_marker() == "x"]
        points = [y for line in axes.lines if line.get_marker() not in ("x", "None") for y in line.get_ydata()]
        assert len(crosses) == int(np.sum(columns["invalid"][mine] == 1)) > 0
        assert np.isfinite(points).sum() == int(np.sum(columns["invalid"][mine] < 1))
        at = [round(float(x), 6) for line in axes.lines if line.get_marker() != "None" for x in line.get_xdata()]
        assert len(set(at)) == len(at) - len(crosses)  # side by side; a cross stands where its method would
    assert "x: no interval" in figure.get_supxlabel()


def test_methods_can_be_told_apart_without_colours():
    """In grey, markers and dashes say which of 24 methods a line is."""
    styles = styles_of(table([f"method {i}" for i in range(24)]), "method")
    assert len({(marker, str(dash)) for _, marker, dash in styles.values()}) == 24


@pytest.mark.parametrize(("second", "message"), [((0.52, 0.5), "one"), ((0.99, 0.1), "two")])
def test_texts_that_meet_or_leave_are_found(second, message):
    figure = figures.Figure()
    figure.text(0.5, 0.5, "one")
    figure.text(*second, "two")
    with pytest.raises(AssertionError, match=message):
        check_texts(figure)
