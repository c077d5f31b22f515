"""Threads and forks: what is asked for at the same time, and in a process that was forked."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxci

VERBS = {
    "evaluate": "jaxci.evaluate(y, p, metrics=['accuracy', 'f1'], n_resamples=99, rng=0)",
    "interval": "jaxci.interval('trimmed_mean', x, n_resamples=99, rng=0)",
    "interval of a function": "jaxci.interval(lambda x: x.mean(), x, n_resamples=99, rng=0)",
    "compare": "jaxci.compare('accuracy', y, p, 1 - p, n_resamples=99, rng=0)",
    "bootstrap": "jaxci.bootstrap((x,), np.mean, n_resamples=99, rng=0)",
    "jackknife": "jaxci.jackknife(x, 'std')",
    "check_coverage": "jaxci.check_coverage('mean', x, n_replications=50, n_resamples=99, rng=0)",
    "quantile_interval": "jaxci.quantile_interval(x, 0.5, rng=0)",
    "generalization_interval": "jaxci.generalization_interval('ridge', x[:, None], x, rng=0)",
    "study": "study.run(tempfile.mkdtemp())",
}

SCRIPT = """
import os, signal, sys, tempfile
import numpy as np
import jaxci
from jaxci.coverage import Study
from jaxci.distributions import Parametric

y, p, x = np.arange(40) % 2, np.arange(40) % 3 % 2, np.linspace(0.0, 1.0, 40) ** 2
study = Study({{"a": Parametric("norm", {{}})}}, ["mean"], ["t"], [10], n_replications=40, n_resamples=99, n_groups=2)

def forked(verb):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is killed
        try:
            verb()
        except RuntimeError as error:
            os._exit(1 if "was forked from one that had already computed" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

verbs = [{verbs}]
{before}
print(*[forked(verb) for verb in verbs])
"""


def statuses(before: str, verbs: list[str]) -> list[int]:
    script = SCRIPT.format(before=before, verbs=", ".join(f"lambda: {verb}" for verb in verbs))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.slow
def test_a_process_that_was_forked_after_first_use_is_told_so_by_every_verb():
    assert statuses(VERBS["interval"], list(VERBS.values())) == [1] * len(VERBS)


@pytest.mark.slow
def test_a_process_that_was_forked_before_first_use_computes():
    assert statuses("", [VERBS["interval"], VERBS["quantile_interval"]]) == [0, 0]


@pytest.mark.slow
def test_evaluations_at_the_same_time_are_those_one_after_another():
    rng = np.random.default_rng(0)
    jobs = []
    for seed in range(12):
        n = 60 + 20 * (seed % 4)
        y = rng.integers(0, 2, n)
        jobs.append((y, np.where(rng.random(n) < 0.8, y, 1 - y), np.clip(0.3 * y + 0.7 * rng.random(n), 0, 1), seed))

    def told(job):
        y, predicted, score, seed = job
        metrics = ["accuracy", "f1", "roc_auc", "log_loss"]
        table = jaxci.evaluate(y, predicted, score, metrics=metrics, method="bca", n_resamples=199 + seed % 3, rng=seed)
        return [(table[m].estimate, *table[m].confidence_interval, table[m].standard_error) for m in metrics]

    one_by_one = [told(job) for job in jobs]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(told, jobs * 2))
    assert together == one_by_one * 2
    assert len({tuple(row) for rows in one_by_one for row in rows}) == 4 * len(jobs)
