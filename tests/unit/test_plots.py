import builtins
import html.parser
import itertools
import re
import types

import matplotlib
import matplotlib.figure
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection
from pictures import check_texts

from jaxci import plots
from jaxci.coverage.analysis import take
from jaxci.plots.style import PALETTE
from jaxci.report.study import report

SIZES = (10, 30, 100)
METHODS = ("t", "percentile", "bca")


def made_up(distributions, *, statistics=("mean", "median"), metric=False, study=None):
    rng = np.random.default_rng(0)
    rows = list(itertools.product(distributions, statistics, METHODS, (0.9, 0.95), SIZES))
    distribution, statistic, method, level, n = (np.array(values) for values in zip(*rows, strict=True))
    coverage = level - rng.gamma(2, 0.3, len(rows)) / n
    columns = {
        "distribution": distribution,
        "statistic": statistic,
        "method": method,
        "level": level,
        "n": n,
        "coverage": coverage,
        "coverage_error": np.full(len(rows), 0.002),
        "below": (1 - coverage) / 2,
        "above": (1 - coverage) / 2,
        "invalid": np.zeros(len(rows)),
        "mean_width": rng.uniform(0.5, 1.5, len(rows)) / np.sqrt(n),
        "truth": np.array([len(distributions) - list(distributions).index(d) for d in distribution]) / 50,
        "truth_error": np.zeros(len(rows)),
        "undefined": np.zeros(len(rows)),
    }
    tags = ()
    if metric:
        columns["metric"] = np.array(["dice" if d.endswith("0") else "hd" for d in distribution])
        tags = ("metric",)
    return types.SimpleNamespace(columns=columns, tags=tags, study=study)


MANY = made_up([f"beta number {i}" for i in range(30)])
SINGLE = made_up(["normal"], statistics=("mean",))
TAGGED = made_up([f"d{i}" for i in range(20)], metric=True)


def panels(figure):
    assert isinstance(figure, matplotlib.figure.Figure)
    figure.draw_without_rendering()
    return figure.axes


def titles(figure):
    return [axes.get_title(loc="left") for axes in panels(figure)]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_coverage_against_n_draws_medians_and_the_level():
    figure = plots.coverage_against_n(MANY, level=0.9)
    assert titles(figure) == ["mean", "median"]
    assert legend(figure) == list(METHODS)
    axes = figure.axes[0]
    mine = (MANY.columns["statistic"] == "mean") & (MANY.columns["method"] == "t") & (MANY.columns["level"] == 0.9)
    expected = [100 * np.median(MANY.columns["coverage"][mine & (MANY.columns["n"] == n)]) for n in SIZES]
    curve = next(line for line in axes.lines if line.get_color() == PALETTE[0])
    assert curve.get_xdata() == pytest.approx(SIZES)
    assert curve.get_ydata() == pytest.approx(expected)
    assert any(np.all(np.asarray(line.get_ydata()) == 90) for line in axes.lines)
    assert len(axes.collections) == len(METHODS)
    assert "30 distributions" in figure.get_supxlabel()


def test_a_method_keeps_its_colour_when_others_are_left_out():
    figure = plots.coverage_against_n(MANY, methods=["bca"], statistics=["median"])
    assert titles(figure) == ["median"]
    assert legend(figure) == ["bca"]
    assert PALETTE[2] in [line.get_color() for line in figure.axes[0].lines]


def test_one_instance_has_error_bars():
    figure = plots.coverage_against_n(SINGLE)
    assert len(panels(figure)[0].containers) == len(METHODS)
    assert "standard errors" in figure.get_supxlabel()


def test_metrics_have_panels_of_their_own():
    assert titles(plots.width_against_n(TAGGED)) == ["dice, mean", "dice, median", "hd, mean", "hd, median"]
    assert plots.width_against_n(SINGLE).axes[0].get_yscale() == "log"


@pytest.mark.parametrize(
    ("results", "by", "rows", "across"),
    [
        (MANY, "method", list(METHODS), ["mean", "median"]),
        (MANY, "statistic", ["mean", "median"], list(METHODS)),
        (TAGGED, "metric", ["dice", "hd"], ["mean", "median"]),
        (SINGLE, "method", list(METHODS), ["mean"]),
    ],
)
def test_boxes(results, by, rows, across):
    figure = plots.coverage_boxes(results, by=by, n=30)
    assert titles(figure) == across
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == rows
    assert "n = 30" in figure.get_supxlabel()


def test_instances_far_below_are_counted():
    low = made_up([f"d{i}" for i in range(8)], statistics=("mean",))
    hit = (low.columns["method"] == "bca") & np.isin(low.columns["distribution"], ["d1", "d2"])
    low.columns["coverage"][hit] = 0.2
    (axes,) = panels(plots.coverage_boxes(low, n=30))
    assert [text.get_text() for text in axes.texts] == ["2"]
    assert axes.get_xlim()[0] > 40


def test_pace_by_statistic():
    figure = plots.pace_by_statistic(TAGGED)
    assert titles(figure) == list(METHODS)
    assert [x.get_text() for x in figure.axes[0].get_yticklabels()][:2] == ["mean of dice", "median of dice"]


def test_saw_tooth_runs_along_the_true_value():
    figure = plots.saw_tooth(MANY, methods=["t"])
    assert titles(figure) == [f"n = {n}" for n in SIZES]
    x = figure.axes[0].lines[0].get_xdata()
    assert x == pytest.approx(np.arange(1, 31) / 50)
    assert "mean" in figure.get_supxlabel()


def test_only_shares_are_joined_by_lines_along_the_true_value():
    (unlike, *_), *_ = (axes.lines for axes in plots.saw_tooth(MANY, methods=["t"]).axes)
    assert (unlike.get_linestyle(), unlike.get_marker() not in ("", "None")) == ("None", True)
    for how in ("enumerated", "enumerated, B = infinity"):
        columns = MANY.columns | {"how": np.full(len(MANY.columns["n"]), how)}
        shares = types.SimpleNamespace(columns=columns, tags=MANY.tags)
        assert plots.saw_tooth(shares, methods=["t"]).axes[0].lines[0].get_linestyle() == "-"


@pytest.mark.parametrize("draw", [plots.coverage_boxes, plots.pace_by_statistic])
def test_points_of_few_instances_are_large(draw):
    few, many = (draw(made_up([f"d{i}" for i in range(count)], statistics=("mean",))) for count in (4, 8))
    dots = [next(x for x in panels(one)[0].collections if isinstance(x, PathCollection)) for one in (few, many)]
    assert dots[0].get_sizes()[0] > 3 * dots[1].get_sizes()[0]


def test_texts_of_one_saw_tooth_do_not_meet():
    many = made_up([f"d{i}" for i in range(30)], statistics=("mean",))
    one = types.SimpleNamespace(columns=take(many.columns, many.columns["n"] == 30), tags=())
    one.columns["coverage"][:] -= 0.3
    figure = plots.saw_tooth(one)
    assert "not drawn below" in figure.get_supylabel()
    check_texts(figure)


@pytest.mark.slow
def test_labels_of_rows_do_not_overlap():
    figure = plots.coverage_boxes(
        made_up([f"d{i}" for i in range(4)], statistics=[f"statistic {i}" for i in range(30)])
    )
    many = made_up([f"d{i}" for i in range(4)], statistics=[f"a statistic, number {i}" for i in range(30)])
    figure = plots.coverage_boxes(many, by="statistic")
    boxes = [x.get_window_extent() for x in panels(figure)[0].get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.coverage_against_n(MANY, level=0.8), r"level must be a simulated level \(0.9, 0.95\); got 0.8"),
        (lambda: plots.coverage_against_n(MANY, methods=["bcb"]), "methods must be one of"),
        (lambda: plots.saw_tooth(MANY, statistic="mode"), "statistics must be one of"),
        (lambda: plots.coverage_boxes(MANY, by="metric"), "by must be one of"),
        (lambda: plots.coverage_boxes(MANY, n=31), r"n must be a simulated size \(10, 30, 100\); got 31"),
    ],
)
def test_bad_arguments(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.parametrize(
    "draw",
    [
        plots.coverage_against_n,
        plots.width_against_n,
        plots.coverage_boxes,
        plots.pace_by_statistic,
        plots.saw_tooth,
    ],
)
def test_figures_of_a_study_are_not_pyplots_and_say_so(draw):
    before = pyplot.get_fignums()
    assert isinstance(draw(SINGLE), matplotlib.figure.Figure)
    assert pyplot.get_fignums() == before
    assert "Not one of pyplot's: ``figure.savefig`` saves it" in draw.__doc__


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"jaxci\[plot\]"):
        plots.width_against_n(SINGLE)


class Page(html.parser.HTMLParser):
    """Collects tags that were opened and not closed, headings, cells and pictures."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.images = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs)["src"])
        elif tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.slow
def test_report_is_one_page_that_needs_nothing_else(tmp_path):
    name = "beta <a & b>"
    study = types.SimpleNamespace(to_dict=lambda: {"name": "A <study>", "n_replications": 10_000, "levels": [0.9]})
    results = made_up([name, *(f"bernoulli(p={i})" for i in range(9))], statistics=("accuracy",), study=study)
    results.columns["coverage"][0] = 0.1
    results.columns["invalid"][0] = 0.25
    results.columns["flags"] = np.where(np.arange(len(results.columns["n"])) == 0, "a <flag>", "")
    path = report(results, tmp_path / "study.html")
    assert list(tmp_path.iterdir()) == [path]
    text = path.read_text(encoding="utf-8")
    assert "http" not in re.sub(r"base64,[^\"]*", "", text)
    assert "<study>" not in text
    assert name not in text
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(page.images) == 5
    assert all(image.startswith("data:image/png;base64,") for image in page.images)
    for expected in ("A <study>", name, "n_replications", "10000", "Failure cases", "coverage 0.925"):
        assert expected in page.text
    assert "a <flag>; 25% of the intervals do not exist" in page.text


@pytest.mark.slow
def test_what_has_no_interval_is_drawn_nowhere_and_empty_in_tables(tmp_path, recwarn):
    results = made_up([f"bernoulli(p={i})" for i in range(9)], statistics=("accuracy",))
    gone = (results.columns["method"] == "bca") & (results.columns["n"] == 10)
    for name in ("coverage", "mean_width"):
        results.columns[name][gone] = np.nan
    results.columns["invalid"][gone] = 1.0
    line = next(x for x in plots.coverage_against_n(results).axes[0].lines if x.get_color() == PALETTE[2])
    assert np.isnan(line.get_ydata()).tolist() == [True, False, False]
    assert not panels(plots.coverage_boxes(results, n=10))[0].texts
    assert np.isfinite(plots.saw_tooth(results).axes[0].get_ylim()).all()
    text = report(results, tmp_path / "gone.html").read_text(encoding="utf-8")
    assert "<td>no interval</td>" in text
    assert "<td>nan</td>" not in text
    assert not [str(w.message) for w in recwarn if issubclass(w.category, RuntimeWarning)]


@pytest.mark.slow
def test_report_of_a_single_distribution_without_a_study(tmp_path):
    text = report(SINGLE, tmp_path / "one.html").read_text(encoding="utf-8")
    assert "Coverage study" in text
    assert text.count("<img") == 4
    empty = types.SimpleNamespace(columns={k: v[:0] for k, v in SINGLE.columns.items()}, tags=())
    with pytest.raises(ValueError, match="at least one row"):
        report(empty, tmp_path / "none.html")
