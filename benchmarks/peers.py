"""Time, memory and answers of jaxci beside every other library that we know for the same intervals, in one run.

    python benchmarks/peers.py --peers-python OTHER/bin/python --json FILE --plot FILE
    python benchmarks/peers.py --from FILE --page docs/speed.md

Each case of each library runs in a process of its own, so that its peak memory is its own, on the same data, B = 9,999,
float64, 95%. ``--peers-python`` names an environment that has the other libraries (arch, foostrap, bootstrapx-lib,
rapidstats with pyarrow, confidenceinterval, torchmetrics, scikit-learn, SciPy), ``--python NAME=PATH`` one for one of
them; one that is not installed is reported as such. A request that would take more than a quarter of ``--limit``
seconds is timed on fewer resamples and scaled, which the table says. ``--from`` prints, draws and writes what a file
holds.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from peers_calls import PEERS, Call, Ends, Peer
from peers_cases import CASES, CURVES, B, Case, data_of, fingerprint, reference_of, verdict
from peers_page import DRAWN, EXACT, lines_of, plot, rewritten

ROOT = Path(__file__).resolve().parents[1]
PROBE = 8  # resamples of the first calls
LEAST = 0.1  # seconds that a first call must take to be scaled
LONG = 20.0  # seconds from which on one measurement is enough


# --- one case of one peer, in a process of its own --------------------------------------------------


def clock(call: Callable[[int], Ends], b: int) -> tuple[float, float, Ends]:
    """Wall seconds, CPU seconds of all threads and finished children, and the answer."""
    before, cpu, start = os.times(), time.process_time(), time.perf_counter()
    ends = call(b)
    wall, cpu, after = time.perf_counter() - start, time.process_time() - cpu, os.times()
    children = sum(after[2:4]) - sum(before[2:4])  # in hundredths of a second, where process_time has nanoseconds
    return wall, cpu + children, ends


def measured(call: Call, b: int, most: float, probe: int) -> dict[str, Any]:
    """Median warm time of ``b`` resamples, or of as many as ``most`` seconds allow, scaled; ``probe`` at first."""
    probe = b if call.fixed else min(b, probe)
    first = clock(call.forms[0], probe)[0]
    form, few = call.forms[0], None
    if not call.fixed:
        tried = []
        for one in call.forms:
            if one is not call.forms[0]:
                one(probe)
            tried.append((*clock(one, probe)[:2], one))
        few = min(tried, key=lambda t: t[0])
        form = few[2]
        while few[0] < LEAST and probe < b:  # too short to be scaled
            probe = min(8 * probe, b)
            if call.compiles:
                form(probe)
            few = (*clock(form, probe)[:2], form)
    used = b
    if few is not None and probe < b and few[0] * b / probe > most:
        used = min(b, max(2 * probe, int(b * most / 4 / (few[0] * b / probe))))
        if call.compiles:
            form(used)
        times = [clock(form, used)]
        growth = [max(times[0][i] - few[i], 0.0) / (used - probe) or times[0][i] / used for i in (0, 1)]
        if times[0][0] + growth[0] * (b - used) <= most:  # what does not grow with b made the probe slow
            used = b
    if used == b:
        if call.compiles and not call.fixed:
            form(b)
        times = [clock(form, b)]
        if times[0][0] < LONG:
            times = [clock(form, b) for _ in range(3 if times[0][0] > 0.5 else 15)]
        wall, cpu = (float(np.median([t[i] for t in times])) for i in (0, 1))
    else:
        times.append(clock(form, used))
        wall, cpu = (min(t[i] for t in times) + growth[i] * (b - used) for i in (0, 1))
    return {
        "seconds": wall,
        "cpu_seconds": cpu,
        "first_seconds": first,
        "repeats": len(times),
        "resamples": used if call.draws else None,
        "scaled": used != b,
        "ends": {name: [float(low), float(high)] for name, (low, high) in times[-1][2].items()},
        "note": call.note,
    }


def probe_of(peer: Peer, n: int) -> int:
    """Return the resamples of the first calls: jaxci takes other roads for few than for many, so it has many."""
    if peer.package != "jaxci":
        return PROBE
    return 1_000 if n <= 10**5 else 40  # the least that it takes


def peak_mib() -> float:
    """Peak resident memory of this process or a child of it, whichever is larger."""
    import resource

    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    status = Path("/proc/self/status")
    if not status.exists():
        return max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, children) / 1024
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return max(int(lines["VmHWM"].split()[0]), children) / 1024


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(importlib.import_module(package), "__version__", ""))


def child(name: str, case_name: str, refdata: Path, limit: float) -> dict[str, Any]:
    """Run a case or a curve in this process and describe it."""
    peer = PEERS[name]
    try:
        importlib.import_module(peer.module)
    except ImportError as error:
        return {"status": "not installed", "note": str(error)}
    if case_name in CURVES:
        points = []
        for n, b in CURVES[case_name]:
            case = Case(case_name, case_name, "mean", "percentile", n)
            call = peer.call(case, data_of(case, refdata))
            if call is None:
                return {"status": "not served"}
            points.append({"n": n, "b": b, **measured(call, b, limit / 24, probe_of(peer, n))})
            print(json.dumps({"status": "ok", "points": points, "version": version(peer.package)}), flush=True)
        return {"status": "ok", "points": points, "version": version(peer.package)}
    case = next(case for case in CASES if case.name == case_name)
    data = data_of(case, refdata)
    call = peer.call(case, data)
    if call is None:
        return {"status": "not served"}
    found = {
        "status": "ok",
        "version": version(peer.package),
        "data": fingerprint(data),
        **measured(call, B, limit / 4, probe_of(peer, case.n)),
    }
    return found | {"peak_mib": peak_mib()}


def command(python: str, repeats: int) -> list[dict[str, Any]]:
    """Time the first ``jaxci evaluate`` of a small file, with nothing kept from before, and the second one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    score = 1 / (1 + np.exp(-rng.normal(2.0 * y - 1, 1.5)))
    rows = [f"{a},{int(s > 0.5)},{s:.6f}" for a, s in zip(y, score, strict=True)]
    runs: tuple[list, list] = ([], [])
    peaks, kept = [0.0, 0.0], 0
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "predictions.csv"
            file.write_text("\n".join(["target,pred,score", *rows]) + "\n")
            home = Path(folder) / "home"
            home.mkdir()
            environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XDG_")) or "PLATFORM" in k}
            environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
            line = [python, "-m", "jaxci", "evaluate", str(file), "--target", "target", "--pred", "pred"]
            for again in (0, 1):
                start = time.perf_counter()
                with subprocess.Popen([*line, "--score", "score"], env=environment, stdout=subprocess.DEVNULL) as run:
                    _, code, usage = os.wait4(run.pid, 0)
                    run.returncode = os.waitstatus_to_exitcode(code)
                if run.returncode:
                    raise RuntimeError(f"jaxci evaluate ended with {run.returncode}")
                runs[again].append((time.perf_counter() - start, usage.ru_utime + usage.ru_stime))
                peaks[again] = max(peaks[again], usage.ru_maxrss / 1024)
            kept = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    note = f"{kept / 2**20:.1f} MiB kept between runs" if kept else "this version keeps nothing between runs"
    return [
        {
            "status": "ok",
            "seconds": float(np.median([t[0] for t in times])),
            "cpu_seconds": float(np.median([t[1] for t in times])),
            "repeats": repeats,
            "peak_mib": peak,
            "scaled": False,
            "note": note,
        }
        for times, peak in zip(runs, peaks, strict=True)
    ]


# --- R, where there is one --------------------------------------------------------------------------

R_SCRIPTS = {
    "boot": """d <- read.csv(file)[[1]]; library(boot); set.seed(1)
f <- function(b) {{ r <- boot(d, function(x, i) mean(x[i]), R = b)
  ci <- boot.ci(r, type = "{kind}")${field}; as.numeric(ci)[4:5] }}""",
    "pROC": """d <- read.csv(file); library(pROC); set.seed(1)
f <- function(b) {{ r <- roc(d$y, d$score, quiet = TRUE, direction = "<")
  v <- as.numeric(ci.auc(r, method = "bootstrap", boot.n = b, boot.stratified = FALSE)); v[c(1, 3)] }}""",
}
R_LOOP = """
b <- {b}; probe <- min(b, 100); t <- system.time(e <- f(probe)); t <- system.time(e <- f(probe))
scaled <- t[["elapsed"]] * b / probe > {most}
used <- if (scaled) max(probe, floor(probe * {most} / 4 / t[["elapsed"]])) else b
t <- sapply(1:(if (scaled) 1 else 3), function(i) {{
  s <- system.time(e <<- f(used)); c(s[["elapsed"]], s[[1]] + s[[2]]) }})
cat(median(t[1, ]) * b / used, median(t[2, ]) * b / used, used, e[1], e[2], ncol(t), "\\n", sep = " ")"""


def r_library(package: str, case: Case, refdata: Path, limit: float) -> dict[str, Any]:
    """Run R's boot (means) or pROC (ROC AUC) on the case, if R is there."""
    serves = case.statistic == ("mean" if package == "boot" else "roc_auc")
    if not serves:
        return {"status": "not served"}
    script = shutil.which("Rscript")
    if script is None:
        return {"status": "not installed", "note": "no Rscript"}
    data = data_of(case, refdata)
    names = ("x",) if package == "boot" else ("y", "score")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.csv"
        columns = np.column_stack([data[name] for name in names])
        np.savetxt(file, columns, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        kind, field = ("bca", "bca") if case.method == "bca" else ("perc", "percent")
        text = f'file <- "{file}"\n' + R_SCRIPTS[package].format(kind=kind, field=field)
        text += R_LOOP.format(b=B, most=limit / 4)
        try:
            run = subprocess.run([script, "-e", text], capture_output=True, text=True, timeout=limit + 60)
        except subprocess.TimeoutExpired:
            return {"status": "> limit"}
    if run.returncode:
        return {"status": "failed", "note": run.stderr.strip()[-300:]}
    wall, cpu, used, low, high, repeats = (float(word) for word in run.stdout.split()[-6:])
    times = {"seconds": wall, "cpu_seconds": cpu, "repeats": int(repeats), "resamples": int(used), "scaled": used != B}
    ends = {case.statistic: [low, high]}
    return {"status": "ok", **times, "ends": ends, "data": fingerprint(data), "note": "", "peak_mib": None}


# --- all of them ------------------------------------------------------------------------------------


def spawned(python: str, name: str, case: str, refdata: Path, limit: float) -> dict[str, Any]:
    """Run a case of a peer in a process of its own; its last line says what it found."""
    line = [python, __file__, "--peer", name, "--case", case, "--refdata", str(refdata), "--limit", str(limit)]
    late = False
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        environment = os.environ | {"RUST_MIN_STACK": str(2**26)}  # rapidstats 0.4.2 crashes at B = 9,999 without
        run = subprocess.Popen(line, stdout=out, stderr=err, text=True, env=environment)
        try:
            run.wait(timeout=limit + 60)  # a minute to import, read and compile
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            late = True
        out.seek(0)
        err.seek(0)
        said = [text for text in out.read().splitlines() if text.startswith('{"status"')]
        if said and (case in CURVES or not late):
            return json.loads(said[-1])
        if late:
            return {"status": "> limit"}
        how = "failed" if run.returncode > 0 else f"crashed (signal {-run.returncode})"
        return {"status": how, "note": err.read().strip()[-300:]}


def everything(options: argparse.Namespace) -> dict[str, Any]:
    """Run every case of every peer, printing rows as they come."""
    pythons = dict(text.split("=", 1) for text in options.python)
    others = options.peers_python or sys.executable
    found: dict[str, Any] = {"machine": machine(), "versions": {}, "cases": [], "curves": {}}
    if options.resume and options.json.exists():
        found = json.loads(options.json.read_text())
    twice: list[dict[str, Any]] = []
    done = [entry["name"] for entry in found["cases"]]
    names = [name for name in PEERS if not options.peers or name in options.peers]
    for case in CASES:
        if case.name in done or (options.only and case.name not in options.only):
            continue
        entry: dict[str, Any] = {
            "name": case.name,
            "title": case.title,
            "goal": case.goal,
            "rows": {},
            "limit": options.limit,
        }
        found["cases"].append(entry)
        found["cases"].sort(key=lambda one: [case.name for case in CASES].index(one["name"]))
        if case.file and not (options.refdata / case.file).is_file():
            entry["note"] = "no real data beside the checkout: left out"
            print(case.title, entry["note"])
            continue
        if case.statistic == "command":
            twice = twice or command(pythons.get(EXACT, sys.executable), 3)
            entry["rows"]["jaxci"] = twice[0 if case.name == "command-cold" else 1]
        elif case.alone:
            python = pythons.get(EXACT, sys.executable)
            entry["rows"]["jaxci"] = spawned(python, EXACT, case.name, options.refdata, options.limit)
        else:
            data = data_of(case, options.refdata)
            start = time.perf_counter()
            reference = reference_of(case, data, options.draws)
            entry["reference"] = {"ends": reference.ends, "errors": reference.errors, "source": reference.source}
            print(f"--- {case.title}: right answer by {reference.source}, {time.perf_counter() - start:.0f} s")
            for name in [*names, *([] if options.peers else ["boot (R)", "pROC (R)"])]:
                if name not in PEERS:
                    row = r_library(name.split()[0], case, options.refdata, options.limit)
                else:
                    python = pythons.get(name, sys.executable if name in (EXACT, DRAWN) else others)
                    row = spawned(python, name, case.name, options.refdata, options.limit)
                if "ends" in row:
                    if row["data"] != fingerprint(data):
                        raise RuntimeError(f"{name} had other data in {case.name}")
                    far, chance, said = verdict(row["ends"], reference, case.method, row["resamples"])
                    row |= {"error": float(far), "monte_carlo_error": float(chance), "verdict": said}
                entry["rows"][name] = row
        for name, row in entry["rows"].items():
            if "version" in row:
                found["versions"][name] = row["version"]
        ratios(entry)
        print(*lines_of(entry), sep="\n", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    for curve in CURVES if not options.only else [name for name in CURVES if name in options.only]:
        if curve in found["curves"]:
            continue
        rows = found["curves"][curve] = {}
        for name in names:
            python = pythons.get(name, sys.executable if name in (EXACT, DRAWN) else others)
            rows[name] = spawned(python, name, curve, options.refdata, options.limit)
            seconds = [f"{point['seconds']:.4g}" for point in rows[name].get("points", [])]
            print(curve, name, rows[name]["status"], *seconds, flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    return found


def ratios(entry: dict[str, Any]) -> None:
    """Add what each time is in multiples of jaxci's: as it is asked by default, and with drawn resamples."""
    rows = {name: row for name, row in entry["rows"].items() if row["status"] == "ok"}
    default = rows.get(EXACT, rows.get(DRAWN))
    for row in rows.values():
        if default is not None:
            row["ratio"] = row["seconds"] / default["seconds"]
            row["ratio_cpu"] = row["cpu_seconds"] / default["cpu_seconds"]
        if DRAWN in rows:
            row["ratio_drawn"] = row["seconds"] / rows[DRAWN]["seconds"]


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = named[0] if named else model
    python = platform.python_version()
    return {"processor": model, "cores": os.cpu_count(), "python": python, "date": date.today().isoformat()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--peers-python", metavar="PATH")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), help="these alone")
    parser.add_argument(
        "--only", nargs="*", choices=[*(case.name for case in CASES), *CURVES], help="these cases alone"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a case of a library, default 120")
    parser.add_argument("--draws", type=int, default=20_000, help="resamples of a right answer without a known law")
    parser.add_argument("--refdata", type=Path, default=ROOT.parent / "shared" / "refdata")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--resume", action="store_true", help="leave out the cases that the file of --json holds")
    parser.add_argument("--from", type=Path, dest="kept", help="a file of --json, instead of running")
    parser.add_argument("--peer", choices=list(PEERS), help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer is not None:
        warnings.simplefilter("ignore")
        print(json.dumps(child(options.peer, options.case, options.refdata, options.limit)), flush=True)
        return
    if options.kept is not None:
        found = json.loads(options.kept.read_text())
        for entry in found["cases"]:
            print(*lines_of(entry), sep="\n")
    else:
        found = everything(options)
    if options.plot:
        plot(found, options.plot)
    if options.page:
        options.page.write_text(rewritten(options.page.read_text(), found))


if __name__ == "__main__":
    main()
