"""Coverage of intervals for the generalization error, simulated in plain NumPy as a check on the library.

Shares no code with the library: data, splits, learners and losses are written out in
``generalization_reference_fits.py``, intervals and truths here.
Targets are the risk of the model fitted on all rows of a replication and its mean over replications.

    python benchmarks/generalization_reference.py --problem bates_regr_20 --n 100 --learner ridge --loss squared \
        --replications 500 --seed 1 --json OUT

``--problem``, ``--n``, ``--learner``, ``--loss`` and ``--methods`` take comma lists. The numbers in the JSON depend
only on the arguments; a method's plan does not depend on which other methods run.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from generalization_reference_fits import (
    PROBLEMS,
    Sample,
    bootstrap_counts,
    fold_labels,
    fold_masks,
    no_information,
    pointwise,
    split_means,
    subsamples,
    test_size,
)
from scipy.special import ndtri, stdtrit

ALPHA = 0.05
Z = float(ndtri(1 - ALPHA / 2))
TAILS = (ALPHA / 2, 1 - ALPHA / 2)

Interval = tuple[float, float, float, float]  # point, low, high, fits


# Methods. A family draws one plan and answers every method that is read from it.


def around(point, half, fits):
    return point, point - half, point + half, fits


def holdout(sample, rng):
    train, test = subsamples(rng, sample.n, np.arange(sample.n), test_size(sample.n), 1)
    e = sample.losses(train, test)[test]
    return {"holdout": around(e.mean(), Z * e.std(ddof=1) / math.sqrt(len(e)), 1)}


def replace_one(sample, rng, repetitions, k=5):
    n, half = sample.n, sample.n // 2
    shuffled = rng.permutation(n)
    first, second = shuffled[:half], shuffled[half : 2 * half]
    cv_means, base, replaced = [], 0.0, np.zeros(half)
    for _ in range(repetitions):
        train, test = fold_masks(fold_labels(rng, n, k), k)
        cv_means.append(sample.losses(train, test)[test].mean())
        labels = fold_labels(rng, half, k)
        train, test = np.zeros((k, n), dtype=bool), np.zeros((k, n), dtype=bool)
        train[:, first], test[:, first] = fold_masks(labels, k)
        start = sample.coefficients(train)
        base += sample.losses(train, test, start)[test].mean() / repetitions
        train, test = np.tile(train, (half, 1, 1)), np.tile(test, (half, 1, 1))
        each = np.arange(half)
        for mask in (train, test):
            mask[each, :, second] = mask[each, :, first]
            mask[each, :, first] = False
        train, test = train.reshape(-1, n), test.reshape(-1, n)
        e = sample.losses(train, test, np.tile(start, (half, 1)))
        replaced += (e * test).sum(axis=1).reshape(half, k).sum(axis=1) / half / repetitions
    variance = n / 4 * np.sum((base - replaced) ** 2)
    return around(np.mean(cv_means), Z * math.sqrt(variance / n), (half + 2) * repetitions * k)


def replace_one_cv(sample, rng):
    return {"replace_one_cv": replace_one(sample, rng, 1)}


def repeated_replace_one_cv(sample, rng):
    return {"repeated_replace_one_cv": replace_one(sample, rng, 5)}


def cv_wald(sample, rng, k=10):
    train, test = fold_masks(fold_labels(rng, sample.n, k), k)
    e = sample.losses(train, test)[test]
    return {"cv_wald": around(e.mean(), Z * e.std() / math.sqrt(sample.n), k)}


def corrected_t(sample, rng, k=25):
    n, n2 = sample.n, test_size(sample.n)
    train, test = subsamples(rng, n, np.arange(n), n2, k)
    means = split_means(sample.losses(train, test), test)
    se = math.sqrt((1 / k + n2 / (n - n2)) * means.var(ddof=1))
    return {"corrected_t": around(means.mean(), stdtrit(k - 1, 1 - ALPHA / 2) * se, k)}


def conservative_z(sample, rng):
    n, n2 = sample.n, test_size(sample.n)
    k, pairs = (10, 25) if n <= 100 else (5, 10)
    plans = [subsamples(rng, n, np.arange(n), n2, k)]
    for _ in range(pairs):
        shuffled = rng.permutation(n)
        plans += [subsamples(rng, n, part, n2, k) for part in (shuffled[: n // 2], shuffled[n // 2 : 2 * (n // 2)])]
    train, test = (np.concatenate(masks) for masks in zip(*plans, strict=True))
    means = split_means(sample.losses(train, test), test)
    estimates = means.reshape(2 * pairs + 1, k).mean(axis=1)
    se = math.sqrt(np.mean((estimates[1::2] - estimates[2::2]) ** 2) / 2)
    return {"conservative_z": around(estimates[0], Z * se, (2 * pairs + 1) * k)}


def five_by_two_cv(sample, rng):
    plans = [fold_masks(fold_labels(rng, sample.n, 2), 2) for _ in range(5)]
    train, test = (np.concatenate(masks) for masks in zip(*plans, strict=True))
    m = split_means(sample.losses(train, test), test).reshape(5, 2)
    se = math.sqrt(np.sum((m[:, 0] - m[:, 1]) ** 2) / 10)
    return {"five_by_two_cv": around(m[0, 0], stdtrit(5, 1 - ALPHA / 2) * se, 10)}


def nested_cv(sample, rng, repetitions=25, k=5):
    n, splits = sample.n, repetitions * k
    outer_train, outer_test = np.zeros((splits, n), dtype=bool), np.zeros((splits, n), dtype=bool)
    inner_train, inner_test = np.zeros((splits, k - 1, n), dtype=bool), np.zeros((splits, k - 1, n), dtype=bool)
    for r in range(repetitions):
        outer_train[r * k : (r + 1) * k], outer_test[r * k : (r + 1) * k] = fold_masks(fold_labels(rng, n, k), k)
    for s in range(splits):
        inside = np.flatnonzero(outer_train[s])
        trains, tests = fold_masks(fold_labels(rng, len(inside), k - 1), k - 1)
        inner_train[s][:, inside], inner_test[s][:, inside] = trains, tests
    e_out = sample.losses(outer_train, outer_test)
    e_in = sample.losses(inner_train.reshape(-1, n), inner_test.reshape(-1, n)).reshape(splits, k - 1, n)
    n_out = outer_test.sum(axis=1)
    out_mean = split_means(e_out, outer_test)
    out_var = (((e_out - out_mean[:, None]) ** 2) * outer_test).sum(axis=1) / (n_out - 1)
    in_mean = (e_in * inner_test).sum(axis=(1, 2)) / outer_train.sum(axis=1)
    mse = np.mean((in_mean - out_mean) ** 2 - out_var / n_out)
    pooled = e_in[inner_test]
    p_ncv, p_cv = pooled.mean(), e_out[outer_test].mean()
    floor = pooled.std(ddof=1) / math.sqrt(n)
    se = max(floor, min(math.sqrt(max(0.0, (k - 1) / k * mse)), floor * math.sqrt(k)))
    bias = (1 + (k - 2) / k) * (p_ncv - p_cv)
    return {"nested_cv": around(p_ncv - bias, Z * se, repetitions * k * k)}


def out_of_bag_mean(e, out, copies=1.0):
    """Return the mean over rows seen out of bag of their mean loss over the resamples; the axes end in (K, n)."""
    times = out.sum(axis=-2)
    row = (e * out).sum(axis=-2) / np.maximum(times, 1)
    seen = (times > 0) * copies
    return (row * seen).sum(axis=-1) / seen.sum(axis=-1)


def plus_point(oob, insample, gamma):
    """Return the .632+ estimate with R in [0, 1] and oob at most gamma."""
    oob = np.minimum(oob, gamma)
    gap = gamma - insample
    rate = np.clip(np.divide(oob - insample, gap, out=np.zeros_like(gap), where=gap > 0), 0, 1)
    w = 0.632 / (1 - 0.368 * rate)
    return w * oob + (1 - w) * insample


def out_of_bag(sample, rng):
    n = sample.n
    k = min(max(200, 5 * n), 2500)
    counts = bootstrap_counts(rng, n, k)
    out = counts == 0
    e = sample.losses(counts, out) * out
    times = out.sum(axis=0)
    seen = times > 0
    point = float(out_of_bag_mean(e, out))
    q = e.sum(axis=1) / n
    times, row = times[seen], e.sum(axis=0)[seen] / times[seen]
    spread = q @ (counts - counts.mean(axis=0))[:, seen]
    influence = (2 + 1 / (n - 1)) * (row - point) / n + spread / times
    se = math.sqrt(n / seen.sum() * np.sum(influence**2))
    insample, gamma = sample.insample()
    found = {"oob": around(point, Z * se, k)}
    fixed = 0.632 * point + 0.368 * insample
    for name, value in (
        ("bootstrap_632", fixed),
        ("bootstrap_632_plus", float(plus_point(point, np.asarray(insample), gamma))),
    ):
        found[name] = around(value, Z * se * value / point if point > 0 else 0.0, k + 1)
    return found


def bootstrap_case_cv(sample, rng, resamples=100):
    n = sample.n
    counts = bootstrap_counts(rng, n, resamples)
    r, i = np.nonzero(counts)
    train, test = counts[r], np.zeros((len(r), n), dtype=bool)
    train[np.arange(len(r)), i] = 0
    test[np.arange(len(r)), i] = True
    start = sample.coefficients(counts)
    e = sample.losses(train, test, start[r])[test]
    means = np.bincount(r, weights=counts[r, i] * e, minlength=resamples) / n
    loo = sample.losses(~np.eye(n, dtype=bool), np.eye(n, dtype=bool)).diagonal().mean()
    low, high = np.quantile(means, TAILS) - (means.mean() - loo)
    return {"bootstrap_case_cv": (loo, low, high, len(r) + n)}


def whole_plus(sample, counts):
    out = counts == 0
    e = sample.losses(counts, out)
    insample, gamma = sample.insample()
    return float(plus_point(out_of_bag_mean(e, out), np.asarray(insample), gamma)), insample


def two_stage_bootstrap(sample, rng, outer=200, inner=10):
    """Every copy of a row is a row of the first stage; the second answer leaves out all copies or none."""
    n = sample.n
    point, _ = whole_plus(sample, bootstrap_counts(rng, n, 100))
    members = rng.integers(n, size=(outer, n))
    draws = bootstrap_counts(rng, n, outer * inner).reshape(outer, inner, n)
    cell = np.arange(outer * inner).reshape(outer, inner, 1) * n + members[:, None, :]

    def by_row(weights):
        return np.bincount(cell.ravel(), weights=weights.ravel(), minlength=outer * inner * n).reshape(-1, n)

    train = by_row(draws)
    copies = by_row(np.ones_like(draws)).reshape(outer, inner, n)[:, 0]
    raw = pointwise(sample.loss, sample.coefficients(train) @ sample.design.rows.T, sample.y)

    score = sample.coefficients(copies) @ sample.design.rows.T
    e = sample.cut(pointwise(sample.loss, score, sample.y), copies)
    insample = (e * copies).sum(axis=1) / n
    gamma = np.array([no_information(sample.loss, sample.y[m], s[m]) for m, s in zip(members, score, strict=True)])

    left_out = draws == 0
    e = sample.cut(raw, by_row(left_out)).reshape(outer, inner, n)
    e = np.take_along_axis(e, np.broadcast_to(members[:, None, :], e.shape), axis=2)
    oob = out_of_bag_mean(e, left_out)

    out = (train.reshape(outer, inner, n) == 0) & (copies > 0)[:, None, :]
    e = sample.cut(raw, (out * copies[:, None, :]).reshape(-1, n)).reshape(outer, inner, n)
    oob_distinct = out_of_bag_mean(e, out, copies)

    fits = outer * (inner + 1) + 101
    return {
        name: (point, *np.quantile(plus_point(value, insample, gamma), TAILS), fits)
        for name, value in (("two_stage_bootstrap", oob), ("two_stage_bootstrap_distinct", oob_distinct))
    }


def location_shifted_bootstrap(sample, rng, k=100):
    counts = bootstrap_counts(rng, sample.n, k)
    point, insample = whole_plus(sample, counts)
    inside = (sample.losses(counts, counts) * counts).sum(axis=1) / sample.n
    low, high = np.quantile(inside, TAILS) - (insample - point)
    return {"location_shifted_bootstrap": (point, low, high, k + 1)}


def out_of_bag_replicates(sample, rng, k=200):
    counts = bootstrap_counts(rng, sample.n, k)
    means = split_means(sample.losses(counts, counts == 0), counts == 0)
    half = stdtrit(k - 1, 1 - ALPHA / 2) * means.std(ddof=1)
    return {
        "oob_t": around(means.mean(), half, k),
        "oob_percentile": (means.mean(), *np.quantile(means, TAILS), k),
    }


FAMILIES: dict[Callable[..., dict[str, Interval]], tuple[str, ...]] = {
    holdout: ("holdout",),
    replace_one_cv: ("replace_one_cv",),
    repeated_replace_one_cv: ("repeated_replace_one_cv",),
    cv_wald: ("cv_wald",),
    corrected_t: ("corrected_t",),
    conservative_z: ("conservative_z",),
    five_by_two_cv: ("five_by_two_cv",),
    nested_cv: ("nested_cv",),
    out_of_bag: ("oob", "bootstrap_632", "bootstrap_632_plus"),
    bootstrap_case_cv: ("bootstrap_case_cv",),
    two_stage_bootstrap: ("two_stage_bootstrap", "two_stage_bootstrap_distinct"),
    location_shifted_bootstrap: ("location_shifted_bootstrap",),
    out_of_bag_replicates: ("oob_t", "oob_percentile"),
}
METHODS = [name for names in FAMILIES.values() for name in names]


# The study


def stream(*key):
    return np.random.default_rng([zlib.crc32(k.encode()) if isinstance(k, str) else k for k in key])


def study(problem, n, learner, loss, methods, replications, seed, validation):
    families = {f: [m for m in names if m in methods] for f, names in FAMILIES.items()}
    families = {f: names for f, names in families.items() if names and (n <= 100 or f is not bootstrap_case_cv)}
    val_X, val_y = PROBLEMS[problem](stream(seed, problem, "validation"), validation)
    val_rows = np.column_stack([np.ones(validation), val_X])
    risks = np.empty(replications)
    results = {m: np.empty((replications, 4)) for names in families.values() for m in names}
    seconds = dict.fromkeys(families, 0.0)
    for r in range(replications):
        X, y = PROBLEMS[problem](stream(seed, problem, n, r, "data"), n)
        sample = Sample(X, y, learner, loss)
        risks[r] = sample.risk(val_rows, val_y)
        for family, names in families.items():
            began = time.perf_counter()
            found = family(sample, stream(seed, problem, n, r, family.__name__))
            seconds[family] += time.perf_counter() - began
            for m in names:
                results[m][r] = found[m]
    expected = risks.mean()
    rows = []
    for family, names in families.items():
        for m in names:
            point, low, high, fits = results[m].T
            row = {"problem": problem, "n": n, "learner": learner, "loss": loss, "method": m}
            row |= {"replications": replications, "seed": seed, "validation_rows": validation}
            for target, truth in (("risk", risks), ("expected_risk", expected)):
                covered = np.mean((low <= truth) & (truth <= high))
                row[f"coverage_{target}"] = float(covered)
                row[f"coverage_{target}_error"] = math.sqrt(covered * (1 - covered) / replications)
            sd = float(point.std(ddof=1))
            width = float(np.median(high - low))
            row |= {
                "expected_risk": float(expected),
                "risk_sd": float(risks.std(ddof=1)),
                "mean_point": float(point.mean()),
                "mean_point_error": sd / math.sqrt(replications),
                "median_width": width,
                "point_sd": sd,
                "width_over_sd": width / sd if sd > 0 else None,
                "mean_fits": float(fits.mean()),
            }
            rows.append(row)
            print(
                f"{m:29s} {row['coverage_risk']:.3f} ({row['coverage_risk_error']:.3f})"
                f"  {row['coverage_expected_risk']:.3f} ({row['coverage_expected_risk_error']:.3f})"
                f"  {row['mean_point']:8.4f} ({row['mean_point_error']:.4f})  {width:8.4f}  {sd:7.4f}"
                f"  {width / sd if sd > 0 else math.nan:6.2f}  {row['mean_fits']:7.0f}"
                f"  {seconds[family] / replications:7.3f}",
                flush=True,
            )
    return rows


def listed(text):
    return [part.strip() for part in text.split(",") if part.strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", default="bates_regr_20", help=", ".join(PROBLEMS))
    parser.add_argument("--n", default="100")
    parser.add_argument("--learner", default="ridge", help="linear, ridge, logistic")
    parser.add_argument("--loss", default="squared", help="squared, zero_one, winsorized")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--replications", type=int, default=500)
    parser.add_argument("--validation", type=int, default=100_000, help="rows of the validation set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.replications < 2:
        parser.error("at least 2 replications are needed")
    methods = listed(args.methods)
    cases = [
        (problem, int(n), learner, loss)
        for problem in listed(args.problem)
        for n in listed(args.n)
        for learner in listed(args.learner)
        for loss in listed(args.loss)
    ]
    for problem, _, learner, loss in cases:
        if problem not in PROBLEMS or learner not in ("linear", "ridge", "logistic"):
            parser.error(f"unknown problem or learner: {problem}, {learner}")
        if loss not in ("squared", "zero_one", "winsorized") or (loss == "zero_one") != (learner == "logistic"):
            parser.error(f"{loss} does not go with {learner}")
        if "classif" not in problem and learner == "logistic":
            parser.error(f"{learner} does not go with {problem}")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"unknown methods: {', '.join(sorted(unknown))}")
    rows = []
    for case in cases:
        began = time.perf_counter()
        print(f"{' '.join(map(str, case))}, {args.replications} replications, seed {args.seed}")
        print("method, covers risk, expected risk, mean point, median width, sd of point, width / sd, fits, s each")
        rows += study(*case, methods, args.replications, args.seed, args.validation)
        print(f"expected risk {rows[-1]['expected_risk']:.5f}, {time.perf_counter() - began:.0f} s\n", flush=True)
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
