"""Every result that has a picture is drawn: on axes of its own or given ones, with what it tells in it."""

import functools
import io
import warnings

import numpy as np
import pytest
from pictures import check_texts

import jaxci
from jaxci import curves, plots
from jaxci.coverage import Study, card
from jaxci.coverage.results import ColumnTable
from jaxci.distributions import Parametric
from jaxci.inducers import Constant
from jaxci.plots.forest import Bar, draw_bars
from jaxci.plots.style import shortened
from jaxci.resampling import splits

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

N = 60
RNG = np.random.default_rng(1)
Y = np.arange(N) % 2
A = np.where(RNG.random(N) < 0.85, Y, 1 - Y)
B = np.where(RNG.random(N) < 0.75, Y, 1 - Y)
PROB = np.clip(0.7 * A + 0.3 * RNG.random(N), 0.02, 0.98)
X = RNG.beta(8, 2, 40)
MASK = np.arange(36).reshape(6, 6) % 5 == 0
KW = {"n_resamples": 99, "rng": 0}


def a_study(folder):
    study = Study({"beta": Parametric("beta", {"a": 8, "b": 2})}, ["mean"], ["t", "percentile"], [5], [0.9], 8, 19, 2)
    return study.run(folder)


MADE = {
    "evaluation": lambda _: jaxci.evaluate(Y, A, metrics=["accuracy", "f1"], **KW),
    "groups": lambda _: jaxci.evaluate(Y, A, metrics=["accuracy"], by={"site": np.arange(N) % 3}, **KW),
    "leaderboard": lambda _: jaxci.leaderboard("accuracy", Y, {"a": A, "b": B}, n_resamples=999, rng=0),
    "mean ranks": lambda _: jaxci.mean_ranks(
        {name: jaxci.leaderboard(name, Y, {"a": A, "b": B}, n_resamples=999, rng=0) for name in ("accuracy", "f1")}
    ),
    "drawn interval": lambda _: jaxci.interval("mean", X, method="percentile", **KW),
    "interval": lambda _: jaxci.interval("mean", X, method="t"),
    "comparison": lambda _: jaxci.compare("accuracy", Y, A, B, margin=0.05),
    "drawn comparison": lambda _: jaxci.compare("mean", None, X, X[::-1], method="percentile", **KW),
    "bootstrap": lambda _: jaxci.bootstrap((X,), np.mean, method="percentile", **KW),
    "bootstrap of several": lambda _: jaxci.bootstrap(
        (RNG.normal(size=(3, 12)),), np.mean, axis=1, method="percentile", **KW
    ),
    "jackknife": lambda _: jaxci.jackknife(X, "std"),
    "proportion": lambda _: jaxci.proportion_interval(22, 23),
    "proportions": lambda _: jaxci.proportion_interval([[0, 5], [7, 10]], 10, alternative="less"),
    "quantiles": lambda _: jaxci.quantile_interval(X, [0.25, 0.5]),
    "runs": lambda _: jaxci.summarize_runs(X[:12]),
    "seeds": lambda _: jaxci.run_seeds(lambda seed: seed % 7 / 10, 12),
    "check": lambda _: jaxci.check_coverage("accuracy", Y, A, methods=["wald", "wilson"], rng=0),
    "cases": lambda _: jaxci.evaluate_cases({"dice": X}, rng=0),
    "masks": lambda _: jaxci.segmentation.cases([MASK, MASK], [MASK, ~MASK], spacing=(1.0, 1.0), tolerance=1.0),
    "profiles": lambda _: jaxci.performance_profiles({"a": RNG.normal(size=(5, 4))}, n_resamples=99, rng=0),
    "card": lambda _: card("f1"),
    "study": a_study,
    "roc": lambda _: curves.roc(Y, PROB, **KW),
    "precision recall": lambda _: curves.precision_recall(Y, PROB, **KW),
    "calibration": lambda _: curves.calibration(Y, PROB, n_bins=5, **KW),
    "decision": lambda _: curves.decision(Y, PROB, **KW),
    "difference of curves": lambda _: curves.compare("roc", Y, PROB, PROB[::-1], **KW),
    "plan of quantiles": lambda _: jaxci.plan_quantile(0.5, width=0.2),
    "plan of a width": lambda _: jaxci.plan("accuracy", expected=0.8, width=0.1),
    "plan of an assurance": lambda _: jaxci.plan("accuracy", expected=0.8, width=0.1, assurance=0.9),
    "plan of a power": lambda _: jaxci.plan("accuracy", expected={"a": 0.9, "b": 0.8, "discordant": 0.2}, power=0.8),
    "simulated plan": lambda _: jaxci.plan(
        "f1", expected=(0.3, 0.9, 0.9), width=0.2, method="percentile", n_replications=100, n_resamples=99, rng=0
    ),
    "fits": lambda _: jaxci.fit_resamples(
        Constant(),
        X[:30, None],
        X[:30],
        plans=[splits.kfold(30, 5, 0), splits.bootstrap(30, 3, 0)],
        progress=False,
        rng=0,
    ),
    "table": lambda folder: a_study(folder).table,
    "table of paces": lambda folder: a_study(folder).convergence_pace(),
}
"""Results with a picture."""

SLOW = (
    "roc",
    "difference of curves",
    "masks",
    "groups",
    "mean ranks",
    "leaderboard",
    "study",
    "check",
    "precision recall",
    "calibration",
    "cases",
    "simulated plan",
    "fits",
    "table",
    "table of paces",
)


@functools.cache
def made(name, folder=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MADE[name](folder)


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def texts(axes):
    """What stands in a picture, beside it too."""
    found = []
    for one in axes.figure.axes:
        found += [one.get_title(loc="left"), one.get_xlabel(), one.get_ylabel(), *(t.get_text() for t in one.texts)]
        found += [label.get_text() for label in (*one.get_yticklabels(), *one.get_xticklabels())]
        legend = one.get_legend()
        found += [] if legend is None else [t.get_text() for t in legend.get_texts()]
    return " | ".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.slow) if one in SLOW else one for one in MADE])
def test_a_result_is_drawn_on_axes_of_its_own_and_on_given_ones(name, tmp_path):
    result = made(name, tmp_path if name in ("study", "table", "table of paces") else None)
    axes = result.plot()
    assert isinstance(axes, matplotlib.axes.Axes)
    assert axes.get_title(loc="left")
    image = io.BytesIO()
    axes.figure.savefig(image, dpi=60)
    assert image.getbuffer().nbytes > 2000
    width, height = axes.figure.get_size_inches() * axes.figure.dpi
    least, most = sorted(axes.get_ylim())
    for label in [one for one in axes.get_yticklabels() if least <= one.get_position()[1] <= most]:
        box = label.get_window_extent()
        assert box.x0 >= -1
        assert box.x1 <= width
        assert box.y1 <= height + 1
    check_texts(axes.figure)
    mine = pyplot.subplots()[1]
    assert result.plot(ax=mine) is mine


def test_a_forest_tells_every_interval():
    table = made("evaluation")
    said = texts(table.plot())
    for row in table:
        low, high = row.confidence_interval
        assert row.statistic in said
        assert f"{row.estimate:.3f} [{low:.3f}, {high:.3f}]" in said
    assert "f1" not in texts(table.plot(metrics=["accuracy"]))


def test_methods_for_one_metric():
    found = [jaxci.interval("mean", X, method=method) for method in ("t", "percentile")]
    said = texts(plots.forest(found))
    assert "percentile" in said
    assert " | t | " in said
    assert "new" in texts(plots.forest({"old": found[0], "new": found[1]}))
    other = jaxci.interval("mean", X[:-5], method="t")
    least, most = sorted((other.n, len(X)))
    several = plots.forest([found[0], other], labels=["x", "y"]).get_title(loc="left")
    assert several == f"95% confidence intervals, n = {least} to {most}"
    apart = plots.forest([found[0], jaxci.interval("mean", X, method="t", confidence_level=0.9)])
    assert apart.get_title(loc="left").startswith("confidence intervals of several levels")
    sides = [jaxci.interval("mean", X, method="t", alternative=side) for side in ("less", "greater", "two-sided")]
    title = f"95% confidence intervals, one-sided (less, greater) and\ntwo-sided, n = {len(X)}"
    assert plots.forest(sides).get_title(loc="left") == title
    one = f"95% confidence intervals, one-sided (less, greater), n = {len(X)}"
    assert plots.forest(sides[:2]).get_title(loc="left") == one
    assert plots.forest(found, title="Mine").get_title(loc="left") == "Mine"
    with pytest.raises(ValueError, match="labels must be one for each of the 2 results; got 1"):
        plots.forest(found, labels=["a"])
    with pytest.raises(TypeError, match="results must be intervals"):
        plots.forest([1.0])


@pytest.mark.slow
def test_a_leaderboard_tells_ranks_and_ties():
    board = made("leaderboard")
    axes = board.plot()
    said = texts(axes)
    assert all(one.name in said for one in board)
    assert "ranks" in said
    faces = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert [face != "white" for face in faces] == [one.tied for one in board]
    assert "(thin: all together)" in axes.get_title(loc="left")


def test_thin_intervals_are_named_where_there_are_any():
    """Learners have ranks that hold together, but no such intervals."""
    learners = {"low": Constant(), "ridge": "ridge"}
    board = jaxci.rank_inducers(learners, X[:30, None], X[:30], loss="squared", progress=False, rng=0)
    title = board.plot().get_title(loc="left").replace("\n", " ")
    assert title == "squared, 95% intervals and ranks; filled: tied with best"


@pytest.mark.slow
def test_groups_of_another_metric():
    table = jaxci.evaluate(Y, A, metrics=["accuracy", "f1"], by={"site": np.arange(N) % 3}, **KW)
    assert texts(table.plot(metric="f1")).count("site = ") == 3
    with pytest.raises(ValueError, match="metric must be one of accuracy, f1; got 'f2'"):
        table.plot(metric="f2")


@pytest.mark.slow
def test_a_picture_of_one_metric_of_several_names_it():
    table = jaxci.evaluate_cases({"dice": X, "iou": X**2}, rng=0)
    assert table.plot().get_title(loc="left") == "dice (one of 2 metrics), 95% confidence intervals"
    assert table.plot(metric="iou").get_title(loc="left").startswith("iou (one of 2 metrics), ")
    assert made("cases").plot().get_title(loc="left") == "dice, 95% confidence intervals"


LONG = [
    f"a model whose name begins as that of all others do, {'and so on, ' * k}{end}"
    for k, end in ((1, "seed 1"), (4, "seed 2"), (8, "seed 3"), (8, "seed 4"))
]


def test_long_labels_lack_their_middle():
    axes = draw_bars([Bar(name, 0.5, 0.4, 0.6, beside="x") for name in LONG], ax=None, title="t", x="x", beside="y")
    check_texts(axes.figure)
    found = [label.get_text() for label in axes.get_yticklabels()]
    for name, label in zip(LONG, found, strict=True):
        begin, end = label.split("…")
        assert len(label) == 48
        assert name.startswith(begin)
        assert name.endswith(end)
    interval = jaxci.interval("mean", X, method="t")
    check_texts(plots.forest(dict.fromkeys(LONG, interval)).figure)


def test_labels_that_would_be_the_same_keep_more_of_their_ends():
    names = [f"{'a' * 30}{x}{'b' * 40}" for x in "xyz"]
    found = shortened([*names, "short"])
    assert found == [*(f"{'a' * 8}…{x}{'b' * 40}" for x in "xyz"), "short"]
    assert shortened([names[0], "short"]) == [f"{'a' * 24}…{'b' * 23}", "short"]
    assert shortened(["a" * 48, "a" * 48]) == ["a" * 48] * 2
    assert shortened([]) == []


def test_the_label_of_a_long_statistic_is_wrapped():
    names = np.array(LONG)[np.arange(N) % 2]
    rows = jaxci.evaluate(names, np.where(Y == A, names, LONG[0]), metrics=["f1_per_class"], **KW)
    check_texts(plots.forest(list(rows)[:1]).figure)


def test_both_margins_lie_within_the_picture():
    narrow = jaxci.compare("accuracy", Y, A, B, margin=0.4)
    assert min(narrow.confidence_interval) > -0.4
    for result in (narrow, jaxci.compare("accuracy", Y, A, B, margin=0.4, method="percentile", n_resamples=99, rng=0)):
        low, high = result.plot().get_xlim()
        assert low < -0.4
        assert high > 0.4


@pytest.mark.parametrize("margin", [0.02, 0.2, 0.9])
@pytest.mark.parametrize("drawn", [False, True])
def test_margins_are_named_where_no_other_text_is(drawn, margin):
    options = {"method": "percentile", **KW} if drawn else {"method": "tango"}
    result = jaxci.compare("accuracy", Y, A, B, margin=margin, **options)
    assert (result.bootstrap_distribution is not None) == drawn
    axes = result.plot()
    check_texts(axes.figure)
    names = [text for text in axes.texts if text.get_text() == "margin"]
    assert len(names) == 2
    frame = axes.get_window_extent()
    assert all(frame.x0 < name.get_window_extent().x0 < name.get_window_extent().x1 < frame.x1 for name in names)


def test_a_distribution_has_estimate_and_interval():
    result = made("bootstrap")
    low, high = result.confidence_interval
    assert f"estimate {X.mean():.3f} [{low:.3f}, {high:.3f}]" in texts(result.plot())


def bars_of(axes):
    """Ends of the lines across, from top to bottom."""
    found = [one for one in axes.collections if isinstance(one, matplotlib.collections.LineCollection)]
    ends = [[tuple(point) for point in path] for one in found for path in one.get_segments()]
    return [(a[0], b[0]) for a, b in ends if a[1] == b[1] and a[0] != b[0]]


def markers_of(axes):
    return [line.get_marker() for line in axes.lines if line.get_marker() in "<>"]


def test_an_interval_beyond_the_resamples_is_drawn_to_its_ends():
    values = np.random.default_rng(3).lognormal(size=8)
    result = jaxci.interval("mean", values, method="studentized", n_resamples=999, rng=0)
    assert result.confidence_interval.high > result.bootstrap_distribution.max()
    axes = result.plot()
    assert bars_of(axes) == [pytest.approx(tuple(result.confidence_interval))]
    assert axes.get_xlim()[1] > result.confidence_interval.high
    assert not markers_of(axes)
    below = jaxci.interval("mean", X, method="percentile", alternative="less", **KW).plot()
    assert markers_of(below) == ["<"]
    assert below.get_xlim()[0] < bars_of(below)[0][0] < below.get_xlim()[0] + 0.1 * np.ptp(below.get_xlim())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("method", ["t", "percentile"])
def test_panels_that_share_x_hold_the_intervals_of_all(order, method):
    results = [jaxci.interval("mean", shift + X, method=method, **KW) for shift in (0, 3)]
    panels = pyplot.subplots(2, 1, sharex=True)[1]
    for axes, place in zip(panels, order, strict=True):
        results[place].plot(ax=axes)
    for axes, place in zip(panels, order, strict=True):
        assert bars_of(axes) == [pytest.approx(tuple(results[place].confidence_interval))]
        assert axes.get_xlim()[0] < results[0].confidence_interval.low
        assert axes.get_xlim()[1] > results[1].confidence_interval.high
    mine = pyplot.subplots()[1]
    mine.set_xlim(0, 10)
    assert results[0].plot(ax=mine).get_xlim() == (0, 10)


def test_few_distinct_replicates_are_bars_of_their_own():
    result = jaxci.bootstrap((np.array([0.0, 1.0, 1.0]),), np.mean, method="percentile", **KW)
    axes = result.plot()
    heights = [bar.get_height() for bar in axes.patches]
    assert len(heights) == 4
    assert sum(heights) == pytest.approx(1)


def test_runs_in_order_with_the_interval_of_a_quantile():
    axes = made("seeds").plot(q=0.25, confidence_level=0.9)
    assert "25% quantile, 90% interval" in texts(axes)
    assert axes.lines[0].get_ydata() == pytest.approx(made("seeds")["value"])


def test_failed_runs_are_marked_and_count_as_the_worst():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jaxci.JaxciWarning)
        runs = jaxci.run_seeds(lambda seed: np.nan if seed in (3, 7) else float(seed), 30)
    with pytest.raises(ValueError, match="say goal='higher'"):
        runs.plot(q=0.2)
    said = texts(runs.plot(goal="higher")).replace("\n", " ")
    assert "x: no result (2)" in said
    assert said.count(" | x | x") == 1


@pytest.mark.slow
def test_curves_of_two_models_on_one_picture():
    found = made("difference of curves")
    axes = found.a.plot(label="a")
    assert found.b.plot(ax=axes, label="b", colour=plots.style.PALETTE[1]) is axes
    assert " | a | " in texts(axes)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["chance", "95% band of the curve", "95% band of each point", "a", "b"]
    x, y = next(line.get_data() for line in axes.lines if line.get_label() == "a")
    assert x == pytest.approx(1 - found.a.x)
    assert y == pytest.approx(found.a.estimate)


@pytest.mark.slow
def test_titles_of_curves_say_how_many_rows_the_clusters_hold():
    groups = np.arange(N) // 2
    one = curves.roc(Y, PROB, groups=groups, n_resamples=99, rng=0)
    two = curves.compare("roc", Y, PROB, 1 - PROB, groups=groups, n_resamples=99, rng=0)
    assert one.plot().get_title(loc="left") == "ROC curve, n = 60 in 30 clusters"
    assert "n = 60 in 30 clusters, p" in two.plot().get_title(loc="left").replace("\n", " ")
    assert curves.roc(Y, PROB, n_resamples=99, rng=0).plot().get_title(loc="left") == "ROC curve, n = 60"


def test_what_is_infinite_or_does_not_exist():
    bars = [Bar("open", 1.0, -np.inf, 2.0), Bar("none", 1.5, np.nan, np.nan)]
    axes = draw_bars(bars, ax=None, title="t", x="x")
    axes.figure.draw_without_rendering()
    assert "no interval" in texts(axes)
    assert [line.get_marker() for line in axes.lines].count("<") == 1


@pytest.mark.filterwarnings("ignore::jaxci.JaxciWarning")
@pytest.mark.parametrize(("goal", "arrow"), [("higher", "<"), ("lower", ">")])
def test_an_arrow_goes_by_the_sign_of_an_infinite_end(goal, arrow):
    values = np.r_[X[:20], np.full(20, np.nan)]
    q = 0.1 if goal == "higher" else 0.9
    axes = jaxci.quantile_interval(values, [q], goal=goal).plot()
    assert set(markers_of(axes)) == {arrow}


def test_bad_arguments():
    with pytest.raises(TypeError, match="ax must be axes of matplotlib, or None"):
        made("interval").plot(ax=3)
    with pytest.raises(TypeError, match="there is no picture of a object"):
        plots.draw(object(), foo=1)
    message = "the picture of a EvaluationTable has no option 'foo'; it has ax, metrics$"
    with pytest.raises(TypeError, match=message):
        made("evaluation").plot(foo=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "what", "wanted"),
    [
        ("plan of quantiles", "width", 0.2),
        ("plan of a width", "width", 0.1),
        ("plan of an assurance", "assurance", 0.9),
        ("plan of a power", "power", 0.8),
    ],
)
def test_a_plan_shows_what_other_numbers_of_cases_give(name, what, wanted):
    plan = made(name)
    axes = plan.plot()
    check_texts(axes.figure)
    assert axes.get_ylabel() == what
    x, y = axes.lines[0].get_data()
    found = dict(zip(x.tolist(), y.tolist(), strict=True))
    enough = [n for n in found if (found[n] <= wanted * (1 + 1e-9) if what == "width" else found[n] >= wanted)]
    assert plan.n in enough
    assert plan.n - 1 not in enough
    assert len(found) > 5
    names = {"power": "reached_power", "assurance": "assurance", "width": "expected_width"}
    assert found[plan.n] == getattr(plan, names[what])
    assert any(np.allclose(line.get_ydata(), wanted) for line in axes.lines)
    assert f"{plan.n:,}" in texts(axes)
    assert "tried" not in plan.to_dict()


@pytest.mark.slow
def test_a_simulated_plan_shows_the_sizes_simulated():
    plan = made("simulated plan")
    x, _ = plan.plot().lines[0].get_data()
    assert plan.n in x
    assert f"{plan.n_replications} data sets at each of {len(plan.tried.found)} sizes" in plan.found_by


@pytest.mark.slow
def test_fits_show_the_loss_of_every_split():
    fits = made("fits")
    axes = fits.plot()
    check_texts(axes.figure)
    dots = [line.get_xdata() for line in axes.lines]
    assert [len(one) for one in dots] == [5, 3]
    for one, row in zip(dots, fits.records(), strict=True):
        tested = fits.fits[row["plan"]].plan.test_mask.sum(axis=1)
        assert np.average(one, weights=tested) == pytest.approx(row["mean"])


def test_a_column_of_a_table_by_what_tells_rows_apart():
    columns = {
        "distribution": np.repeat(["a", "b"], 4),
        "method": np.array(["t", "z"] * 4),
        "n": np.tile([5, 5, 10, 10], 2),
        "level": np.full(8, 0.95),
        "coverage": np.linspace(0.8, 0.95, 8),
        "mean_width": np.linspace(1, 2, 8),
    }
    table = ColumnTable(columns)
    axes = table.plot()
    check_texts(axes.figure)
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["t, a, n = 5", "z, a, n = 5"]
    assert [float(line.get_xdata()[0]) for line in axes.lines] == pytest.approx(columns["coverage"].tolist())
    axes = table.plot(value="mean_width", by=["method"])
    assert [len(line.get_xdata()) for line in axes.lines] == [4, 4]
    assert axes.get_xlabel() == "mean width"
    counted = columns | {"covered_by_group": np.array([f"{i}/9" for i in range(8)]), "level": np.tile([0.9, 0.95], 4)}
    said = [label.get_text() for label in ColumnTable(counted).plot().get_yticklabels()]
    assert said[:2] == ["t, a, level = 0.9, n = 5", "z, a, level = 0.95, n = 5"]
    with pytest.raises(ValueError, match="value must be one of n, level, coverage, mean_width; got 'width'"):
        table.plot(value="width")
    with pytest.raises(ValueError, match="by must be one of distribution"):
        table.plot(by=["law"])
    with pytest.raises(ValueError, match="a picture needs rows and a column of numbers"):
        ColumnTable({"a": np.array(["b"])}).plot()


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: jaxci.leaderboard("accuracy", Y, {"$0-$50k": A, "$50%_$": B}, rng=0).plot(),
        lambda: plots.forest({"$a_1$": jaxci.interval("mean", X, **KW), "$}": jaxci.interval("mean", X, **KW)}),
    ],
)
def test_dollars_in_names_are_no_mathematics(drawn):
    """Names of incomes lost their dollars and were set in italics, or could not be drawn at all."""
    axes = drawn()
    axes.figure.savefig(io.BytesIO())
    labels = [label for label in axes.get_yticklabels() if "$" in label.get_text()]
    assert len(labels) == 2
    assert not any(label.get_parse_math() for label in labels)


def test_a_title_that_is_passed_may_hold_mathematics():
    axes = plots.forest([jaxci.interval("mean", X, **KW)], title="$R^2$")
    assert axes.get_title(loc="left") == "$R^2$"
    assert all(one.get_parse_math() for one in axes.figure.findobj(matplotlib.text.Text) if one.get_text() == "$R^2$")
