"""Time and memory of a Parquet file of scores that is evaluated in one pass, beside those of reading it alone.

    python benchmarks/streaming.py --rows 20000000 --json FILE

Each task runs in a process of its own, so that its peak memory (VmHWM of /proc) is its own.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

METRICS = "accuracy,balanced_accuracy,f1,precision,recall,matthews_corrcoef,roc_auc,log_loss"
ROW_GROUP = 2**20


def write(path: Path, rows: int) -> None:
    """Write a file of labels, predictions and probabilities, a group of rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([("target", pa.int8()), ("pred", pa.int8()), ("score", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, ROW_GROUP):
            y = rng.integers(0, 2, min(ROW_GROUP, rows - start))
            score = 1 / (1 + np.exp(-rng.normal(2.0 * y - 1, 1.5)))
            columns = [y.astype(np.int8), (score > 0.5).astype(np.int8), score]
            writer.write_table(pa.table(columns, schema=schema))


def read(path: Path) -> None:
    """Read the file in the batches in which it is evaluated."""
    from jaxci.cli.batches import read_batches

    for _ in read_batches([path], ["target", "pred", "score"], ["score"]):
        pass


def evaluate(path: Path) -> None:
    """Evaluate six metrics of labels, the area under the ROC curve and the log loss."""
    from jaxci.cli import main

    columns = ["--target", "target", "--pred", "pred", "--score", "score"]
    main(["evaluate", str(path), *columns, "--metrics", METRICS, "--stream", "--seed", "1", "--resamples", "999"])


TASKS = {"read": read, "evaluate": evaluate}


def measured(task: str, path: Path) -> dict[str, float]:
    """Run a task in a process of its own; return its seconds, also of CPU, and its peak memory in MiB."""
    found = subprocess.run([sys.executable, __file__, "--task", task, "--file", str(path)], capture_output=True)
    if found.returncode:
        raise RuntimeError(found.stderr.decode())
    print(*found.stdout.decode().splitlines()[:-1], sep="\n")
    return json.loads(found.stdout.splitlines()[-1])


def main() -> None:
    """Write the file, run the tasks and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--json", type=Path, help="file for the numbers")
    options = parser.parse_args()
    if options.task is not None:
        start, worked = time.perf_counter(), time.process_time()
        TASKS[options.task](options.file)
        taken = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - worked}
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        print(json.dumps({**taken, "peak_mib": int(status["VmHWM"].split()[0]) / 1024}))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        write(path, options.rows)
        print(f"{options.rows:,} rows, {path.stat().st_size / 2**20:.0f} MiB")
        found = {"rows": options.rows, "file_mib": path.stat().st_size / 2**20, "metrics": METRICS.split(",")}
        for task in TASKS:
            found[task] = {"load_before": os.getloadavg()[0], **measured(task, path)}
            print(task, found[task])
    if options.json:
        about = {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "versions": {name: importlib.metadata.version(name) for name in ("jax", "numpy", "pyarrow")},
            "date": datetime.date.today().isoformat(),
        }
        options.json.write_text(json.dumps({**about, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
