"""The report: what it says in sentences, what it tells once, and how it looks in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import types

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("matplotlib")

from jaxci.coverage import Study, estimate, load_study
from jaxci.coverage.tally import group_error
from jaxci.coverage.verdict import error_bounds, verdicts
from jaxci.report.study import report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SIZES = (10, 50, 100)


def table(coverage, *, width=None, distributions=("a", "b"), statistic="mean"):
    """Rows of methods with these coverages at 10, 50 and 100, the same for every distribution."""
    rows = [
        (d, method, n, c, (width or {}).get(method, 1.0) / np.sqrt(n))
        for d in distributions
        for method, values in coverage.items()
        for n, c in zip(SIZES, values, strict=True)
    ]
    distribution, method, n, covered, wide = map(np.array, zip(*rows, strict=True))
    size = len(rows)
    return {
        "distribution": distribution,
        "statistic": np.full(size, statistic),
        "method": method,
        "level": np.full(size, 0.95),
        "n": n,
        "coverage": covered,
        "coverage_error": np.zeros(size),
        "invalid": np.isnan(covered).astype(float),
        "mean_width": np.where(np.isnan(covered), np.nan, wide),
    }


def test_the_verdict_names_the_narrowest_that_holds_and_what_misses():
    found = table(
        {"t": (0.95, 0.95, 0.95), "percentile": (0.90, 0.95, 0.95), "bca": (0.91, 0.94, 0.95)},
        width={"percentile": 0.9, "bca": 0.93},
    )
    assert verdicts(found, 0.95) == {
        "mean": "Use t below n = 50; percentile from n = 50 on. "
        "percentile misses 5 points at n = 10; bca misses 4 points at n = 10."
    }


def test_three_that_miss_are_named_and_others_counted():
    found = table(
        {name: (0.95 - miss, 0.95, 0.95) for name, miss in zip("abcde", (0, 0.02, 0.03, 0.04, 0.05), strict=True)}
    )
    assert verdicts(found, 0.95)["mean"].endswith(
        "e misses 5 points at n = 10; d misses 4 points at n = 10; c misses 3 points at n = 10; 1 other misses by less."
    )


def test_a_method_is_kept_while_it_is_about_as_narrow():
    found = table({"t": (0.95, 0.95, 0.95), "z": (0.90, 0.95, 0.95)}, width={"z": 0.98})
    assert verdicts(found, 0.95)["mean"].startswith("Use t at every n from 10 to 100.")


def test_where_none_holds_the_nearest_is_named_and_what_does_not_exist():
    nothing = np.nan
    found = table({"t": (0.90, 0.92, 0.95), "exact": (nothing, nothing, 0.95)}, width={"exact": 2.0})
    assert verdicts(found, 0.95)["mean"] == (
        "No method holds below n = 100 (nearest: t, 90.0%); use t from n = 100 on. "
        "t misses 5 points at n = 10. No interval: exact at n = 10, 50."
    )


@pytest.mark.slow
def test_a_value_that_does_not_exist_has_a_verdict_of_its_own(tmp_path):
    study = Study(
        {"heavy": stats.cauchy()},
        sample_sizes=[10],
        statistics=["mean", "median"],
        methods=["percentile"],
        n_replications=40,
        n_resamples=99,
        n_groups=4,
    )
    said = study.run(tmp_path).verdicts()
    assert said["mean"] == "The true value does not exist: there is nothing that intervals could hold."
    assert "percentile" in said["median"]


def test_the_worst_tenth_is_told_where_the_median_holds():
    good, bad = table({"t": (0.95,) * 3}), table({"t": (0.80,) * 3}, distributions=("c",))
    found = {name: np.concatenate([good[name], good[name], bad[name]]) for name in good}
    assert verdicts(found, 0.95)["mean"] == (
        "No method holds at any n from 10 to 100 (nearest: t, 95.0%, 86.0% in the worst tenth). "
        "In the worst tenth of the distributions t covers only 86.0% at n = 10."
    )


def simulated(coverage, replications, *, n_groups=10, **options):
    """The same rows, as if that many data sets in groups had been simulated, with hardly any error between groups."""
    found = table(coverage, **options)
    size = replications // n_groups
    texts, errors = [], []
    for share in found["coverage"].tolist():
        each, more = divmod(round(share * replications), n_groups)
        counts = np.array([each + (g < more) for g in range(n_groups)])
        texts.append(" ".join(f"{count}/{size}" for count in counts))
        errors.append(group_error(counts, np.full(n_groups, size)))
    return found | {"covered_by_group": np.array(texts), "coverage_error": np.array(errors)}


FIRST = {"t": (0.95, 0.95, 0.95), "percentile": (0.90, 0.95, 0.95), "bca": (0.91, 0.94, 0.95)}


def test_many_replications_tell_what_a_computation_tells():
    width = {"percentile": 0.9, "bca": 0.93}
    found = verdicts(simulated(FIRST, 4_000_000, width=width), 0.95)["mean"]
    assert "percentile misses 5.0 ± 0.1 points at n = 10" in found
    assert found.replace(".0 ± 0.1", "") == verdicts(table(FIRST, width=width), 0.95)["mean"]


def test_few_replications_tell_nothing():
    found = verdicts(simulated(FIRST, 200), 0.95)["mean"]
    assert found.startswith("Whether a method holds cannot be told at any n from 10 to 100 with 200 replications")
    assert "misses" not in found
    assert re.search(r"\(nearest: t, 95\.0 ± \d\.\d%", found)


def test_what_misses_far_is_told_with_few_replications():
    found = verdicts(simulated({"t": (0.95,) * 3, "z": (0.5,) * 3}, 200), 0.95)["mean"]
    assert re.search(r"z misses 45\.0 ± 1\d\.\d points at n = 10\.", found)


def test_ten_of_ten_do_not_hold():
    found = verdicts(simulated({"t": (1.0,) * 3}, 10), 0.95)["mean"]
    assert found.startswith("Whether a method holds cannot be told")


def test_bounds_hold_for_all_cells_together():
    few = simulated({"t": (0.9,) * 3}, 1_000, distributions=("a",))
    share = 902 / 1_004  # the binomial error is the larger one here
    expected = stats.t.isf(0.025 / 3, 9) * np.sqrt(share * (1 - share) / 1_004)
    assert error_bounds(few) == pytest.approx([expected] * 3)
    computed = table({"t": (0.9,) * 3})
    assert not error_bounds(computed).any()


def test_results_and_designs_have_verdicts_and_an_estimate(tmp_path):
    laws = {"p=0.20": load_study("proportions").distributions["p=0.20"]}
    study = Study(laws, ["accuracy"], ["wald", "wilson"], [10, 25], [0.9, 0.95], n_replications=100)
    assert estimate(study, tmp_path).n_cells == 2
    with pytest.raises(TypeError, match=r"study must be a study, which .* reads by name; got 'p"):
        estimate("proportions", tmp_path)
    results = study.run(tmp_path)
    assert estimate(study, tmp_path).n_cells == 0
    assert results.verdicts() == verdicts(results.columns, 0.95)
    assert results.verdicts(level=0.9) == verdicts(results.columns, 0.9)
    assert list(results.verdicts()) == ["accuracy"]
    with pytest.raises(ValueError, match=r"level must be a simulated level \(0.9, 0.95\); got 0.8"):
        results.verdicts(level=0.8)


@pytest.mark.statistical
@pytest.mark.false_alarm(1e-8)
def test_few_verdicts_are_wrong():
    """Methods exactly at the edge neither hold nor miss by much: at most one study in 20 may say either of any cell."""
    rng = np.random.default_rng(20260101)
    wrong, studies, groups, size = 0, 400, 20, 50
    for _ in range(studies):
        found = table({"t": (0.94,) * 3, "z": (0.94,) * 3}, distributions=("a", "b", "c"))
        counts = rng.binomial(size, 0.94, (len(found["n"]), groups))
        found["coverage"] = counts.sum(axis=1) / (groups * size)
        found["coverage_error"] = np.array([group_error(one, np.full(groups, size)) for one in counts])
        found["covered_by_group"] = np.array([" ".join(f"{c}/{size}" for c in one) for one in counts.tolist()])
        bounds = error_bounds(found)
        wrong += bool(np.any(np.abs(found["coverage"] - 0.94) > bounds))
    assert stats.binom.sf(wrong - 1, studies, 0.05) > 1e-8


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of some of the bundled study's proportions."""
    folder = tmp_path_factory.mktemp("report")
    laws = load_study("proportions").distributions
    few = {f"p={p:.2f}": laws[f"p={p:.2f}"] for p in (0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99)}
    study = Study(few, ["accuracy"], ["wald", "wilson", "clopper_pearson"], [10, 25])
    return report(study.run(folder / "cells"), folder / "report.html")


@pytest.mark.slow
def test_the_verdict_comes_first_the_design_is_folded_and_1_less_p_is_told_once(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall("<h2>(.*?)</h2>", text)
    assert (headings[0], headings[-1]) == ("Verdict", "Design")
    assert "<details><summary>9 distributions, 3 methods, 54 rows judged</summary>" in text
    assert text.count("clopper_pearson, ") + text.count(", clopper_pearson") == 1
    shifts = text[text.index("<h2>Shift of intervals") :].split("</table>")[0]
    assert "Of p and 1 - p the smaller one" in shifts
    assert "<td>5</td>" in shifts  # instances: the 9 are 5 of which p is at most one half
    assert not re.search(r"\de-\d", shifts)
    assert "p=0.01 or 0.99" in text
    assert "<td>p=0.99</td>" not in text
    shown = re.sub(r"base64,[^\"]*", "", text)
    assert not re.search(r"\bnan\b", shown)
    assert shown.index('<ul class="verdict">') < shown.index("<figure")


@pytest.mark.parametrize("n_groups", [1, 4])
def test_the_error_of_a_mean_is_said_to_come_from_groups_where_there_are_several(tmp_path, n_groups):
    laws = {"a": stats.norm(), "b": stats.uniform()}
    study = Study(laws, ["mean"], ["z"], [10], n_replications=40, n_resamples=99, n_groups=n_groups)
    page = report(study.run(tmp_path / "cells"), tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("it comes from the variance between groups" in page) == (n_groups > 1)


@pytest.fixture(scope="module")
def wide_page(tmp_path_factory):
    """The report of eight statistics by eight methods, of which some have no interval: its pictures are wide."""
    folder = tmp_path_factory.mktemp("wide")
    study = load_study("quantile-paper", sample_sizes=[10, 25], n_replications=40, n_groups=2)
    return report(study.run(folder / "cells"), folder / "report.html")


@pytest.mark.slow
def test_what_does_not_exist_is_said_and_few_replications_tell_little(wide_page):
    text = re.sub(r"base64,[^\"]*", "", wide_page.read_text(encoding="utf-8"))
    assert not re.search(r"\bnan\b", text)
    assert "<td>no interval</td>" in text
    verdict = html.unescape(re.search('<ul class="verdict">(.*?)</ul>', text)[1])
    assert "cannot be told at any n from 10 to 25 with 40 replications" in verdict
    assert "Use " not in verdict
    assert "No interval: exact_randomized, order_statistic, interpolated, asymptotic at n = 10, 25." in verdict
    assert text.index("after ±") < text.index("<figure")


MEASURE = """
const inner = frame.contentDocument, root = inner.documentElement;
const cut = [...inner.querySelectorAll('.scroll, figure')].filter(x => x.scrollWidth > x.clientWidth + 1);
const blank = [...inner.images].filter(x => !x.naturalWidth);
const tops = [...inner.querySelectorAll('.pictures')][0].children;
const abreast = tops[0].offsetTop === tops[1].offsetTop;
const over = root.scrollWidth - root.clientWidth;
const found = {over, cut: cut.length, blank: blank.length, images: inner.images.length, abreast};
document.getElementById('found').textContent = JSON.stringify(found);
"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="there is no headless browser (chromium)")
@pytest.mark.parametrize(
    ("which", "width", "abreast"),
    [("page", 1200, True), ("page", 400, False), ("wide_page", 1200, False), ("wide_page", 400, False)],
)
def test_the_report_fits_a_browser(request, tmp_path, which, width, abreast):
    page = request.getfixturevalue(which)
    inner = html.escape(page.read_text(encoding="utf-8"), quote=True)
    (tmp_path / "frame.html").write_text(
        f'<!doctype html><meta charset="utf-8"><pre id="found"></pre><iframe id="frame" width="{width}" height="900" '
        f'frameborder="0" srcdoc="{inner}"></iframe><script>frame.onload = () => {{{MEASURE}}};</script>',
        encoding="utf-8",
    )
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--window-size=1400,1000", "--virtual-time-budget=10000", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*command, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, timeout=300, check=True
    )
    assert ":CONSOLE" not in done.stderr
    found = types.SimpleNamespace(**json.loads(re.search(r'<pre id="found">(.*?)</pre>', done.stdout)[1]))
    assert found.images >= 4
    assert (found.blank, found.over, found.abreast) == (0, 0, abreast)
    assert found.cut == 0 or width < 700
