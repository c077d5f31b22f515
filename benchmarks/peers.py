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

ROOT = Path(__file__).resolve().parents[1]
PROBE = 8  # resamples of the first calls
LEAST = 0.1  # seconds that a first call must take to be scaled
LONG = 20.0  # seconds from which on one measurement is enough
EXACT, DRAWN = "jaxci (exact)", "jaxci (drawn)"
START, END = "<!-- figures: written by peers.py --page -->", "<!-- end of the figures -->"


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


# --- what is printed --------------------------------------------------------------------------------


def seconds_text(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{1e3 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:,.0f} s"


def times_text(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99.5 else f"{float(f'{ratio:.2g}'):,.0f}"


def cells_of(name: str, row: dict[str, Any]) -> list[str]:
    """Cells of one row: peer, time, CPU time, three ratios, memory, error, verdict."""
    if row["status"] != "ok":
        return [name, row["status"], *[""] * 7]
    mark = f" (scaled from {row['resamples']:,})" if row["scaled"] else " (once)" if row["repeats"] == 1 else ""
    return [
        name,
        seconds_text(row["seconds"]) + mark,
        seconds_text(row["cpu_seconds"]),
        *(times_text(row[key]) if key in row else "" for key in ("ratio", "ratio_cpu", "ratio_drawn")),
        f"{row['peak_mib']:,.0f}" if row.get("peak_mib") else "",
        f"{row['error']:.2g} of {row['monte_carlo_error'] + 0.01:.2g}" if "error" in row else "",
        row.get("verdict", ""),
    ]


def lines_of(entry: dict[str, Any]) -> list[str]:
    """Lines of one case, as they are printed."""
    lines = [entry["title"]]
    for name, row in entry["rows"].items():
        if row["status"] != "not served":
            cells = cells_of(name, row)
            widths = (22, 30, 9, 9, 9, 9, 9, 16, 26)
            lines.append("  " + " ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())
            if row.get("note"):
                lines.append(f"    {row['note']}")
    without = [name for name, row in entry["rows"].items() if row["status"] == "not served"]
    return [*lines, *([f"  has no such thing: {', '.join(without)}"] if without else [])]


def figures(found: dict[str, Any]) -> str:
    """Return the part of the page that holds figures, in Markdown."""
    names = [name for name in PEERS if name != EXACT]
    kept = [entry for entry in found["cases"] if entry["goal"] is None]
    versions = ", ".join(f"{name} {v}" for name, v in found["versions"].items() if name not in (EXACT, "jaxci"))
    where = found["machine"]
    lines = [
        f"{where['processor']}, {where['cores']} cores, {where['date']}; {versions.replace(DRAWN, 'jaxci')}.",
        "",
        "| case | jaxci | " + " | ".join("drawn" if name == DRAWN else name for name in names) + " |",
        "| --- |" + " --- |" * (len(names) + 1),
    ]
    for entry in kept:
        rows = entry["rows"]
        default = rows.get(EXACT, {}) if rows.get(EXACT, {}).get("status") == "ok" else rows.get(DRAWN, {})
        cells = [entry["title"], seconds_text(default["seconds"]) if default else entry.get("note", "")]
        for name in names:
            row = rows.get(name, {"status": "not served"})
            if row["status"] != "ok":
                cells.append("" if row["status"] == "not served" else row["status"])
                continue
            wrong = " wrong" if row["verdict"] == "wrong" else ""
            cells.append(f"{times_text(row['ratio'])}{'*' if row['scaled'] else ''}{wrong}")
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *faster(kept)]
    lines += [
        "",
        "| jaxci alone | seconds | goal | CPU seconds | first call | MiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for entry in found["cases"]:
        row = entry["rows"].get("jaxci")
        if row is None:
            continue
        if row["status"] != "ok":
            lines.append(f"| {entry['title']} | {row['status']} | {entry['goal']:.0f} s, missed | | | |")
            continue
        met = f"{entry['goal']:.0f} s, {'met' if row['seconds'] <= entry['goal'] else 'missed'}"
        first = f"{row['first_seconds']:.1f}" if "first_seconds" in row else ""
        cells = [f"{row['seconds']:.2f}", met, f"{row['cpu_seconds']:.2f}", first, f"{row['peak_mib']:,.0f}"]
        lines.append("| " + " | ".join([entry["title"], *cells]) + " |")
    lines += [
        "",
        "| case | library | time | CPU time | times jaxci | in CPU time | times drawn | MiB | error | answer |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for entry in kept:
        for name, row in entry["rows"].items():
            if row["status"] != "not served":
                lines.append("| " + " | ".join([entry["title"], *cells_of(name, row)]) + " |")
    return "\n".join(lines)


def faster(entries: list[dict[str, Any]]) -> list[str]:
    """Say who was faster than jaxci by default and than its drawn resamples."""
    lines = []
    for against, wall in (("jaxci by default", "ratio"), ("jaxci's drawn resamples", "ratio_drawn")):
        lines.append(f"Faster than {against}, with the multiple of its time:")
        found = []
        for entry in entries:
            rows = {k: row for k, row in entry["rows"].items() if row["status"] == "ok" and k not in (EXACT, DRAWN)}
            ahead = sorted((row[wall], name) for name, row in rows.items() if row.get(wall, 1.0) < 1)
            if ahead:
                found.append(f"- {entry['title']}: " + ", ".join(f"{name} {times_text(r)}" for r, name in ahead))
        lines += [*(found or ["- none"]), ""]
    return lines[:-1]


def rewritten(page: str, found: dict[str, Any]) -> str:
    """Return the page with its figures replaced by those that were found."""
    before, rest = page.split(START)
    return f"{before}{START}\n\n{figures(found)}\n\n{END}{rest.split(END)[1]}"


COLORS = {  # Okabe and Ito's, which the colour-blind tell apart
    EXACT: "#000000",
    DRAWN: "#D55E00",
    "SciPy": "#0072B2",
    "arch": "#56B4E9",
    "foostrap": "#009E73",
    "bootstrapx": "#CC79A7",
    "rapidstats": "#E69F00",
    "rapidstats (Poisson)": "#9A7B00",
    "torchmetrics": "#777777",
}


def plot(found: dict[str, Any], path: Path) -> None:
    """Draw time against n and against B, log-log, each line named at its end."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot, ticker

    titles = {"curve-n": "B = 9,999 resamples", "curve-B": "n = 10,000 rows"}
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 5.4), sharey=True, layout="constrained")
    for ax, (curve, title) in zip(axes, titles.items(), strict=True):
        ends = []
        for name, row in found["curves"][curve].items():
            points = row.get("points", [])
            if not points:
                continue
            x = [point["n" if curve == "curve-n" else "b"] for point in points]
            y = [point["seconds"] for point in points]
            ours = name in (EXACT, DRAWN)
            ax.plot(x, y, color=COLORS[name], lw=2.5 if ours else 1.3, zorder=3 if ours else 2)
            for point, a, s in zip(points, x, y, strict=True):
                ax.plot(a, s, "o", ms=5, mec=COLORS[name], mfc="white" if point["scaled"] else COLORS[name], zorder=4)
            ends.append((x[-1], y[-1], name))
        ax.set(xscale="log", yscale="log", title=f"percentile interval of a mean, {title}")
        ax.set_xlabel("rows n" if curve == "curve-n" else "resamples B")
        ax.grid(alpha=0.25, lw=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        low, high = ax.get_ylim()
        ax.set_xticks([point[0 if curve == "curve-n" else 1] for point in CURVES[curve]])
        ax.xaxis.set_minor_locator(ticker.NullLocator())
        ax.set_xlim(ax.get_xlim()[0], ax.get_xlim()[1] * 14)
        heights = spread([np.log10(y) for _, y, _ in ends], 0.045 * np.log10(high / low))
        for (x_end, y_end, name), height in zip(ends, heights, strict=True):
            style = {"color": COLORS[name], "lw": 0.6, "alpha": 0.6}
            ax.plot([x_end, x_end * 1.5], [y_end, 10**height], **style)
            ax.text(x_end * 1.6, 10**height, name, color=COLORS[name], va="center", fontsize=9)
    axes[0].set_ylabel("seconds, warm (hollow: scaled from fewer resamples)")
    figure.savefig(path, dpi=110)


def spread(heights: list[float], gap: float) -> list[float]:
    """Heights moved apart so that labels do not cover each other."""
    order = np.argsort(heights)
    moved = np.array(heights, dtype=float)[order]
    for _ in range(200):
        for i in range(len(moved) - 1):
            short = gap - (moved[i + 1] - moved[i])
            if short > 0:
                moved[i] -= short / 2
                moved[i + 1] += short / 2
    found = np.empty(len(moved))
    found[order] = moved
    return found.tolist()


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
