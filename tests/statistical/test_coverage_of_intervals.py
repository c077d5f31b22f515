"""Simulated coverage against theory, and against a plain NumPy simulation of the same design."""

import dataclasses
import functools
import warnings

import jax
import numpy as np
import pytest
from scipy import stats

import jaxci
from jaxci.coverage import Cell, run_cell
from jaxci.distributions import Parametric, Truth
from jaxci.printing import JaxciWarning
from jaxci.statistics import Mean, Median

ZERO = Truth(0.0, 0.0, "known")


@dataclasses.dataclass(frozen=True)
class Band:
    """Acceptance band of a coverage from ``replications`` independent intervals."""

    replications: int
    false_alarm: float

    def holds(self, coverage, level):
        hits = round(coverage * self.replications)
        return stats.binomtest(hits, self.replications, level).pvalue > self.false_alarm


def t_cell(levels):
    return Cell(Parametric("norm", {}), 12, {"mean": Mean()}, ["t"], levels, n_replications=20_000, n_groups=20)


@pytest.mark.false_alarm(5e-4)
def test_student_intervals_cover_normal_means_as_they_say(false_alarm):
    result = run_cell(t_cell((0.9, 0.95)), jax.random.key(11), truths={"mean": ZERO})
    band = Band(20_000, false_alarm)
    for judgement in result.judgements:
        assert band.holds(judgement.coverage, judgement.level)
        assert judgement.coverage_error == pytest.approx(
            np.sqrt(judgement.level * (1 - judgement.level) / 20_000), rel=0.6
        )


@pytest.mark.false_alarm(1e-9)
def test_a_ninety_percent_interval_called_ninety_five_is_caught(false_alarm):
    result = run_cell(t_cell((0.9,)), jax.random.key(11), truths={"mean": ZERO})
    assert not Band(20_000, false_alarm).holds(result.judgements[0].coverage, 0.95)


@pytest.mark.false_alarm(1e-6)
def test_the_exact_law_of_a_median_covers_as_its_order_statistics_say(false_alarm):
    n, replications = 21, 20_000
    cell = Cell(Parametric("norm", {}), n, {"median": Median()}, ["percentile"], (0.95,), replications, 99, 20)
    result = run_cell(cell, jax.random.key(12), truths={"median": ZERO})
    ranks = np.arange(1, n + 1)
    law = stats.binom.sf(10, n, ranks / n)  # P(X*(11) <= x_(i))
    k, l = np.searchsorted(law, 0.025) + 1, np.searchsorted(law, 0.975) + 1
    covered = stats.binom.cdf(l - 1, n, 0.5) - stats.binom.cdf(k - 1, n, 0.5)
    assert Band(replications, false_alarm).holds(result.judgements[0].coverage, covered)


@pytest.mark.false_alarm(2e-6)
def test_bootstrap_coverage_equals_a_plain_simulation(false_alarm):
    n, replications, resamples = 15, 3_000, 399
    cell = Cell(
        Parametric("expon", {}), n, {"mean": Mean()}, ["percentile", "basic"], (0.9,), replications, resamples, 60
    )
    result = run_cell(cell, jax.random.key(13), truths={"mean": Truth(1.0, 0.0, "known")})
    rng = np.random.default_rng(14)
    x = rng.exponential(size=(replications, n))
    hits = {"percentile": 0, "basic": 0}
    for row in x:
        means = row[rng.integers(0, n, (resamples, n))].mean(axis=1)
        low, high = np.quantile(means, [0.05, 0.95])
        hits["percentile"] += low <= 1 <= high
        hits["basic"] += 2 * row.mean() - high <= 1 <= 2 * row.mean() - low
    for judgement in result.judgements:
        plain = hits[judgement.method] / replications
        spread = np.hypot(judgement.coverage_error, np.sqrt(plain * (1 - plain) / replications))
        assert abs(judgement.coverage - plain) < stats.norm.isf(false_alarm / 2) * spread


@pytest.mark.false_alarm(4e-6)
@pytest.mark.parametrize("n", [30, 100, 300])
def test_two_good_models_are_compared_by_default_at_the_level_or_above(n, false_alarm):
    """Through the verb: error rates of 3% and 5% whose errors come together, a class of 10%."""
    replications, rng = 500, np.random.default_rng(n)
    hits = {"error_rate": 0, "f1_micro": 0}
    for _ in range(replications):
        y = (rng.random(n) < 0.1).astype(int)
        y[:2] = 0, 1
        common, own = rng.random((2, n))
        wrong_a, wrong_b = common < 0.03, np.where(rng.random(n) < 0.5, common, own) < 0.05
        for metric, truth in (("error_rate", -0.02), ("f1_micro", 0.02)):
            found = jaxci.compare(metric, y, np.where(wrong_a, 1 - y, y), np.where(wrong_b, 1 - y, y))
            low, high = found.confidence_interval
            hits[metric] += low <= truth <= high
    for covered in hits.values():
        assert stats.binomtest(covered, replications, 0.95, alternative="less").pvalue > false_alarm


GOOD = {"rare, .95, .995": (0.1, 0.95, 0.995), "rare, .6, .98": (0.05, 0.6, 0.98), "even, .98": (0.5, 0.98, 0.98)}
"""Models by the prevalence of class 1, their sensitivity and their specificity."""


def covers_by_default(samples, truths, least, false_alarm):
    """Whether defaults hold the truths often enough: ``samples`` are calls of the verb, one a data set, by metric."""
    for metric, calls in samples.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", JaxciWarning)  # of rare classes and estimates at the end of their range
            ends = np.array([call(n_resamples=499, rng=0).confidence_interval for call in calls])
        covered = int(np.sum((ends[:, 0] <= truths[metric]) & (truths[metric] <= ends[:, 1])))
        assert stats.binomtest(covered, len(calls), least, alternative="less").pvalue > false_alarm, (metric, covered)


@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("model", GOOD)
def test_metrics_of_good_models_cover_by_default(model, n, false_alarm):
    """Through the verb. No resample holds an error that the data have not: percentile intervals cover .25 to .7."""
    prevalence, sensitivity, specificity = GOOD[model]
    table = np.array([[specificity, 1 - specificity], [1 - sensitivity, sensitivity]])
    table *= np.array([[1 - prevalence], [prevalence]])
    hits, true, taken = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    f1 = 2 * hits / (true + taken)
    truths = {
        "f1": f1[1],
        "balanced_accuracy": np.mean(hits / true),
        "f1_macro": np.mean(f1),
        "matthews_corrcoef": np.linalg.det(table) / np.sqrt(np.prod(true) * np.prod(taken)),
    }
    rng, samples = np.random.default_rng(n), {metric: [] for metric in truths}
    for _ in range(300):
        y = np.zeros(n, int)
        while not 0 < y.sum() < n:
            y = (rng.random(n) < prevalence).astype(int)
        p = np.where(y == 1, rng.random(n) < sensitivity, rng.random(n) > specificity).astype(int)
        for metric, calls in samples.items():
            calls.append(functools.partial(jaxci.interval, metric, y, p))
    covers_by_default(samples, truths, 0.9, false_alarm)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("n", "clusters"), [(30, 0), (100, 0), (200, 20)])
def test_weighted_kappa_of_a_good_model_covers_by_default(n, clusters, false_alarm):
    """Through the verb: grades of which the last has 2%, right in 95%; percentile intervals cover .6 at n = 30."""
    shares, steps = np.array([0.7, 0.15, 0.08, 0.05, 0.02]), np.array([-1, 0, 1])
    moved = np.array([0.025, 0.95, 0.025])
    table = np.zeros((5, 5))
    for grade, share in enumerate(shares):
        np.add.at(table[grade], np.clip(grade + steps, 0, 4), share * moved)
    apart = np.subtract.outer(np.arange(5), np.arange(5)) ** 2
    truth = 1 - np.sum(apart * table) / np.sum(apart * np.outer(table.sum(axis=1), table.sum(axis=0)))
    groups = np.arange(n) % clusters if clusters else None
    rng, given = np.random.default_rng(n), {"weights": "quadratic", "labels": list(range(5)), "groups": groups}
    calls = []
    for _ in range(300):
        y, p = np.divmod(rng.choice(25, n, p=table.ravel()), 5)
        calls.append(functools.partial(jaxci.interval, "cohen_kappa_score", y, p, **given))
    covers_by_default({"kappa": calls}, {"kappa": truth}, 0.9, false_alarm)


@pytest.mark.false_alarm(2e-6)
@pytest.mark.parametrize(("area", "positives", "negatives", "precision"), [(0.9, 5, 95, 0.461), (0.99, 15, 15, 0.9902)])
def test_areas_of_good_rankings_cover_by_default(area, positives, negatives, precision, false_alarm):
    """Through the verb: percentile intervals of the area cover .80 and .54."""
    y, apart = np.repeat([1, 0], [positives, negatives]), np.sqrt(2) * stats.norm.ppf(area)
    scores = np.random.default_rng(positives).normal(size=(400, len(y))) + apart * y
    metrics = ("roc_auc", "average_precision")
    samples = {metric: [functools.partial(jaxci.interval, metric, y, s) for s in scores] for metric in metrics}
    covers_by_default(samples, {"roc_auc": area, "average_precision": precision}, 0.9, false_alarm)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("clusters", [5, 10, 20])
def test_an_accuracy_in_few_clusters_covers_by_default(clusters, false_alarm):
    """Through the verb: share .95, intraclass correlation .3; percentile intervals cover .53, .73 and .84."""
    groups, rng = np.repeat(np.arange(clusters), 15), np.random.default_rng(clusters)
    mass = 1 / 0.3 - 1
    calls = []
    for _ in range(400):
        right = rng.random(groups.size) < rng.beta(0.95 * mass, 0.05 * mass, clusters)[groups]
        calls.append(functools.partial(jaxci.interval, "accuracy", 1 * right, np.ones(groups.size, int), groups=groups))
    covers_by_default({"accuracy": calls}, {"accuracy": 0.95}, 0.9, false_alarm)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("n", [30, 100, 300])
def test_an_accuracy_of_weighted_rows_covers_by_default(n, false_alarm):
    """Through the verb: share .95, exponential weights; percentile intervals cover .69, .84 and .91."""
    rng, calls = np.random.default_rng(n), []
    for _ in range(400):
        right, weights = 1 * (rng.random(n) < 0.95), rng.exponential(size=n) + 0.1
        calls.append(functools.partial(jaxci.interval, "accuracy", right, np.ones(n, int), sample_weight=weights))
    covers_by_default({"accuracy": calls}, {"accuracy": 0.95}, 0.92, false_alarm)


@pytest.mark.false_alarm(3e-5)
@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("of_classes", [None, (1.8, 0.2), (0.2, 1.8)], ids=["exponential", "light", "heavy"])
def test_metrics_of_labels_of_weighted_rows_cover_by_default(of_classes, n, false_alarm):
    """Through the verb: a rare class, missed by 10%; the rows of a class weigh the same, or weights tell nothing."""
    shares, right = np.array([0.95, 0.05]), np.array([0.99, 0.9])
    table = np.array([[0.99, 0.01], [0.1, 0.9]]) * (shares * (of_classes or (1.0, 1.0)))[:, None]
    hits, true, taken = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    f1, precision = 2 * hits / (true + taken), hits / taken
    truths = {"accuracy": hits.sum() / table.sum(), "precision": precision[1], "f1": f1[1], "f1_macro": f1.mean()}
    rng, samples = np.random.default_rng(n), {metric: [] for metric in truths}
    for _ in range(200):
        y = 1 * (rng.random(n) < shares[1])
        y[0] |= not y.any()
        guess = np.where(rng.random(n) < right[y], y, 1 - y)
        weights = rng.exponential(size=n) if of_classes is None else np.array(of_classes)[y]
        for metric, calls in samples.items():
            calls.append(functools.partial(jaxci.interval, metric, y, guess, sample_weight=weights))
    covers_by_default(samples, truths, 0.9, false_alarm)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize(("a", "b", "n"), [(20, 1, 10), (8, 2, 10), (0.3, 3, 30)])
def test_means_of_bounded_values_cover_by_default(a, b, n, false_alarm):
    """Through the verb: percentile intervals cover .89, .88 and .90."""
    values = np.random.default_rng(n).beta(a, b, (400, n))
    calls = [functools.partial(jaxci.interval, "mean", x, bounds=(0, 1)) for x in values]
    covers_by_default({"mean": calls}, {"mean": a / (a + b)}, 0.92, false_alarm)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize(("law", "least"), [("norm", 0.94), ("expon", 0.87)])
def test_standard_deviations_cover_by_default(law, least, n, false_alarm):
    """Through the verb: 1,000 samples, the truth of both laws is 1; percentiles cover .74 of exponential ones at 10."""
    replications, rng = 1_000, np.random.default_rng(n)
    draw = {"norm": rng.normal, "expon": rng.exponential}[law]
    ends = np.array([jaxci.interval("std", draw(size=n)).confidence_interval for _ in range(replications)])
    covered = int(np.sum((ends[:, 0] <= 1) & (ends[:, 1] >= 1)))
    assert stats.binomtest(covered, replications, least, alternative="less").pvalue > false_alarm


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("clusters", [6, 20])
def test_two_equal_models_in_few_clusters_of_unequal_sizes_are_told_apart_by_chance_alone(clusters, false_alarm):
    """Through the verb: the cluster bootstrap tells accuracies apart in .17 and .11 of such data sets."""
    replications, rng = 300, np.random.default_rng(clusters)
    wide = np.exp(stats.norm.ppf((np.arange(clusters) + 0.5) / clusters))
    groups = np.repeat(np.arange(clusters), np.maximum(1, np.round(15 * wide / wide.mean())).astype(int))
    wrong = dict.fromkeys(("accuracy", "balanced_accuracy", "log_loss"), 0)
    for _ in range(replications):
        y = rng.integers(0, 2, groups.size)
        shared, *own = rng.normal(size=(3, clusters))[:, groups]
        noise = [np.sqrt(0.2) * (shared + x) + np.sqrt(0.6) * rng.normal(size=groups.size) for x in own]
        guesses = [np.where(x < stats.norm.ppf(0.9), y, 1 - y) for x in noise]
        chances = [stats.norm.cdf(np.where(y == 1, 1.3 - x, x - 1.3)) for x in noise]
        for metric in wrong:
            given = chances if metric == "log_loss" else guesses
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JaxciWarning)
                result = jaxci.compare(metric, y, *given, groups=groups, rng=0)
            wrong[metric] += result.conclusion != "no difference shown"
    for metric, found in wrong.items():
        assert stats.binomtest(found, replications, 0.06, alternative="greater").pvalue > false_alarm, (metric, found)


@pytest.mark.false_alarm(1e-6)
@pytest.mark.parametrize("clusters", [8, 20])
def test_standard_deviations_in_clusters_cover_by_default(clusters, false_alarm):
    """Through the verb: normal values, intraclass correlation .5, the truth is 1; percentiles cover .72 and .87."""
    groups, rng, calls = np.repeat(np.arange(clusters), 3), np.random.default_rng(clusters), []
    for _ in range(300):
        values = (rng.normal(size=clusters)[groups] + rng.normal(size=groups.size)) / np.sqrt(2)
        calls.append(functools.partial(jaxci.interval, "std", values, groups=groups))
    covers_by_default({"std": calls}, {"std": 1.0}, 0.92, false_alarm)


@pytest.mark.false_alarm(3e-6)
def test_means_of_class_scores_cover_where_a_class_has_no_right_prediction(false_alarm):
    """Through the verb, of such data sets alone; BCa intervals cover 0, 0 and .67: no resample has a hit either."""
    shares, n = np.array([0.6, 0.34, 0.06]), 60

    def drawn(rng, n):
        y = rng.choice(3, n, p=shares)
        logits = rng.normal(size=(n, 3)) + np.log(shares)
        logits[np.arange(n), y] += 1.6
        return y, logits.argmax(axis=1)

    y, p = drawn(np.random.default_rng(0), 1_000_000)
    table = np.histogram2d(y, p, bins=3)[0]
    hits, true, taken = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    truths = {"f1_macro": 2 * hits / (true + taken), "precision_macro": hits / taken, "balanced_accuracy": hits / true}
    rng, samples = np.random.default_rng(1), {metric: [] for metric in truths}
    while len(samples["f1_macro"]) < 150:
        y, p = drawn(rng, n)
        if np.bincount(y, minlength=3).min() > 0 and np.bincount(y[y == p], minlength=3).min() == 0:
            for metric, calls in samples.items():
                calls.append(functools.partial(jaxci.interval, metric, y, p, labels=[0, 1, 2]))
    for (metric, values), least in zip(truths.items(), (0.75, 0.93, 0.95), strict=True):
        covers_by_default({metric: samples[metric]}, {metric: np.mean(values)}, least, false_alarm)


@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("explained", [0.0, 0.02, 0.97])
def test_explained_variances_of_useless_weak_and_good_models_cover_by_default(explained, n, false_alarm):
    """Through the verb: percentile intervals of the true mean as a prediction hold 0 in none of 200 data sets."""
    rng, calls = np.random.default_rng(n), []
    for _ in range(300):
        signal, noise = rng.normal(size=(2, n))
        predicted = np.sqrt(explained) * signal
        calls.append(functools.partial(jaxci.interval, "r2", predicted + np.sqrt(1 - explained) * noise, predicted))
    covers_by_default({"r2": calls}, {"r2": explained}, 0.93, false_alarm)


@pytest.mark.false_alarm(1e-7)
@pytest.mark.parametrize("clusters", [5, 20])
def test_quantiles_in_few_clusters_cover_by_default(clusters, false_alarm):
    """Through the verb: normal values, correlation .2; of five clusters percentiles, further out, cover .91 and .74."""
    rng, groups = np.random.default_rng(clusters), np.repeat(np.arange(clusters), 400 // clusters)
    truths = {"median": 0.0, "iqr": 2 * stats.norm.ppf(0.75)}
    samples = {metric: [] for metric in truths}
    for _ in range(300):
        shared, own = rng.normal(size=clusters)[groups], rng.normal(size=400)
        x = np.sqrt(0.2) * shared + np.sqrt(0.8) * own
        for metric, calls in samples.items():
            calls.append(functools.partial(jaxci.interval, metric, x, groups=groups))
    for metric, least in (("median", 0.94), ("iqr", 0.83)):
        covers_by_default({metric: samples[metric]}, truths, least, false_alarm)


@pytest.mark.false_alarm(1e-7)
def test_the_score_of_a_rare_class_of_several_in_clusters_covers_by_default(false_alarm):
    """Through the verb: a class of 4%; weights of all cells of the table cover .89 of its recall."""
    groups, truths = np.repeat(np.arange(20), 20), {"recall": 0.7975, "f1": 0.5331}
    rng, samples = np.random.default_rng(0), {metric: [] for metric in truths}
    for _ in range(200):
        y = rng.choice(5, 400, p=[0.04, *[0.24] * 4])
        wrong = 0.6 * rng.normal(size=20)[groups] + 0.8 * rng.normal(size=400) > 0.84
        guess = np.where(wrong, (y + rng.integers(1, 5, 400)) % 5, y)
        for metric, calls in samples.items():
            one = {"average": "class", "class_index": 0, "labels": range(5), "groups": groups}
            calls.append(functools.partial(jaxci.interval, metric, y, guess, **one))
    covers_by_default(samples, truths, 0.93, false_alarm)
