# SPDX-License-Identifier: Apache-2.0
"""Overhead of orchestration: a sweep on one worker of two slots, from submission to matrix, beside
two loops that run the same commands one after the other, in the order in which Concur started them.

usage: overhead.py [WHAT …] [--runs N] [--seconds S] [--sweep FILE [--var NAME=VALUE …]]
WHAT: sleep (jobs of S seconds that leave the processor free), compute (jobs that keep one busy for
about S seconds), seeds (the same with five seeds of each approach), demo (the jobs of `concur demo`).
--sweep: the jobs of a sweep file whose commands take {train}, {test}, {model}, {predictions}, {metrics},
{seed} and {hp.NAME}. Default: all of WHAT."""

import argparse
import collections
import glob
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile
import threading
import time
from datetime import datetime

import yaml

import harness

SLOTS = 2
CELLS = 20
DEMO = harness.ROOT / "configs" / "sweeps" / "demo.yaml"


def seconds_of(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


# --- commands ------------------------------------------------------------------------------------

def documents(sweep):
    """{name: document} of the approaches and of the benchmarks of a sweep file."""
    found = []
    for key in ("approaches", "benchmarks"):
        by_name = {}
        for entry in sweep["document"]["spec"][key]:
            if isinstance(entry, dict) and "spec" in entry:
                by_name[entry["metadata"]["name"]] = entry
                continue
            pattern = entry["file"] if isinstance(entry, dict) else entry
            for path in sorted(glob.glob(str(sweep["path"].parent / pattern))):
                document = yaml.safe_load(pathlib.Path(path).read_text())
                name = entry.get("name") if isinstance(entry, dict) else None
                by_name[name or document["metadata"]["name"]] = document
        found.append(by_name)
    return found


def filled(text, values):
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text.replace("{{", "{").replace("}}", "}")


def commands(sweep, jobs, folder):
    """(command, what it needs, what it makes) of each job, in the order of their starts."""
    approaches, benchmarks = documents(sweep)

    def data(name, kind):
        path = benchmarks[name]["spec"][kind]
        for variable, value in sweep["variables"].items():
            path = path.replace("${" + variable + "}", value)
        return str((sweep["path"].parent / path).resolve())

    found = []
    for job in sorted(jobs, key=lambda job: seconds_of(job["result"]["start_time"])):
        spec = approaches[job["approach"]]["spec"]
        name = (f"{job['approach']}-{job['train_set']}-{job['setting_index']}-{job['seed']}")
        values = {"seed": str(job["seed"]), "model": str(folder / f"{name}.model"),
                  "predictions": str(folder / f"{name}-{job['test_benchmark']}.predictions"),
                  "metrics": str(folder / f"{name}-{job['test_benchmark']}.metrics")}
        values.update({f"hp.{key}": str(value).lower() if isinstance(value, bool) else str(value)
                       for key, value in job["setting"].items()})
        if job["kind"] == "train":
            values["train"] = data(job["train_set"], "train")
            command, needs, makes = spec["train"]["command"], None, name
        else:
            values["test"] = data(job["test_benchmark"], "test")
            command, needs, makes = spec["predict"]["command"], name, None
        found.append(([filled(str(word), values) for word in command],
                      needs if spec.get("train") else None, makes))
    return found


def two_loops(found):
    """Seconds until all commands have ended, each started by the next free loop."""
    left = collections.deque(found)
    made, lock = set(), threading.Condition()
    failed = []

    def loop():
        while True:
            with lock:
                if not left:
                    return
                command, needs, makes = left.popleft()
                lock.wait_for(lambda: needs is None or needs in made)
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=environment()).returncode != 0:
                failed.append(command)
            with lock:
                made.add(makes)
                lock.notify_all()

    start = time.perf_counter()
    threads = [threading.Thread(target=loop) for _ in range(SLOTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError(f"{shlex.join(failed[0])}: a command that Concur ran has failed")
    return time.perf_counter() - start


def environment():
    """As jobs have it: one thread, and Concur's own programs first."""
    return dict(os.environ, PATH=f"{harness.BIN}:{os.environ['PATH']}", OMP_NUM_THREADS="1")


# --- one run -------------------------------------------------------------------------------------

def gaps_of(jobs):
    """Milliseconds between the end of a job and the start of the next one in its slot."""
    ends, gaps = [], []
    for begin, end in sorted((seconds_of(job["result"]["start_time"]),
                              seconds_of(job["result"]["start_time"]) + job["result"]["run_time"])
                             for job in jobs):
        free = [other for other in ends if other <= begin + 0.001]  # starts are in whole milliseconds
        if free:  # the slot that was freed last
            ends.remove(max(free))
            gaps.append(max(0, 1000 * (begin - max(free))))
        ends.append(end)
    return gaps


def measured(sweep, folder):
    """One sweep, then its commands by themselves."""
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        worker = subprocess.Popen(
            [harness.BIN / "concur-worker", "--coordinator", coordinator.address, "--name", "w",
             "--work-dir", coordinator.directory / "work", "--cpus", str(SLOTS)],
            stdout=subprocess.DEVNULL, stderr=open(coordinator.directory / "worker.log", "w"),
            env=environment())
        try:
            while not coordinator.concur("-o", "csv", "worker", "list").count("\n") > 1:
                time.sleep(0.05)
            variables = [f"--var={name}={value}" for name, value in sweep["variables"].items()]
            begun = time.time()
            marks = [time.perf_counter()]
            for command in (["sweep", "submit", sweep["path"], *variables],
                            ["sweep", "wait", "s1", "--quiet"], ["matrix", "s1"]):
                coordinator.concur(*command)
                marks.append(time.perf_counter())
            jobs = [json.loads(line) for line in
                    coordinator.concur("-o", "jsonl", "job", "list", "s1", "--limit", 0).splitlines()]
        finally:
            worker.terminate()
            worker.wait()
    if any(job["state"] != "succeeded" for job in jobs):
        raise RuntimeError("not every job succeeded")
    starts = [seconds_of(job["result"]["start_time"]) for job in jobs]
    last = max(start + job["result"]["run_time"] for start, job in zip(starts, jobs))
    plain = two_loops(commands(sweep, jobs, folder))
    return {"jobs": len(jobs), "plain": plain, "concur": marks[3] - marks[0],
            "to first job": min(starts) - begun, "gap": statistics.median(gaps_of(jobs)),
            "longest": max(gaps_of(jobs)),
            "after last job": begun + marks[2] - marks[0] - last, "matrix": marks[3] - marks[2]}


def loaded(path, variables):
    path = pathlib.Path(path).resolve()
    document = yaml.safe_load(path.read_text())
    given = dict(document["spec"].get("variables") or {})
    given.update(variables)
    return {"path": path, "document": document, "variables": given}


def same_jobs(folder, script, seeds=1):
    """CELLS jobs of one shell script, on two benchmarks so that there is a matrix, with `seeds` jobs of each
    approach on each. With one, the jobs of an approach run at once, and Concur does not know how long they
    take."""
    for name in ("x", "y"):
        (folder / f"{name}.txt").write_text(name)
    approach = {"metadata": {"name": "a"}, "spec": {
        "version": "1", "predict": {"command": ["/bin/sh", "-c", script, "sh", "{metrics}", "{test}",
                                           "{seed}"]},
        "resources": {"cpus": 1, "memory": "0B"}}}
    approaches = [dict(approach, metadata={"name": f"a{i}"}) for i in range(CELLS // 2 // seeds)]
    for i, one in enumerate(approaches):  # equal ones would run once
        one["spec"] = dict(one["spec"], version=str(i))
    benchmarks = [{"metadata": {"name": name}, "spec": {
        "format": "file", "test": f"{name}.txt", "metric": "accuracy"}} for name in ("x", "y")]
    document = {"apiVersion": "concur/v1", "kind": "Sweep", "metadata": {"name": "same"},
                "spec": {"approaches": approaches, "benchmarks": benchmarks,
                         "seeds": list(range(1, seeds + 1))}}
    path = folder / "sweep.yaml"
    path.write_text(json.dumps(document))
    return loaded(path, {})


LEAVE = "printf '{{\"accuracy\": %s}}' $$ > \"$1\""


def sweeps(names, folder, arguments):
    if "sleep" in names:
        path = folder / "sleep"
        path.mkdir()
        yield f"{arguments.seconds} s of sleep", same_jobs(path, f"sleep {arguments.seconds}; " + LEAVE)
    for name, seeds in (("compute", 1), ("seeds", 5)):
        if name not in names:
            continue
        path = folder / name
        path.mkdir()
        count = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done; "
        start = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", count % 200_000], check=True)
        rounds = int(200_000 * arguments.seconds / (time.perf_counter() - start))
        yield (f"{arguments.seconds} s of computing" + (f", {seeds} seeds" if seeds > 1 else ""),
               same_jobs(path, count % rounds + LEAVE, seeds))
    if "demo" in names:
        for name in ("fuzzy", "wordnet", "cloze", "lastword"):
            subprocess.run([harness.BIN / "concur", "data", "build", name, "--out", folder / "data" / name,
                            "--seed", "1", "--train-questions", "600", "--test-questions", "300"],
                           check=True, capture_output=True)
        yield "the demo's", loaded(DEMO, {"data": str(folder / "data")})
    if arguments.sweep:
        yield pathlib.Path(arguments.sweep).stem, loaded(
            arguments.sweep, dict(pair.split("=", 1) for pair in arguments.var))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--sweep")
    parser.add_argument("--var", action="append", default=[])
    arguments = parser.parse_args()
    names = arguments.what or ([] if arguments.sweep else ["sleep", "compute", "seeds", "demo"])
    if unknown := set(names) - {"sleep", "compute", "seeds", "demo"}:
        parser.error(f"no jobs are called {', '.join(sorted(unknown))}")
    rows = []
    with tempfile.TemporaryDirectory(dir=pathlib.Path.cwd(), prefix="concur-bench-") as name:
        folder = pathlib.Path(name)
        for what, sweep in sweeps(names, folder, arguments):
            runs = [measured(sweep, folder) for _ in range(arguments.runs)]

            def median(key):
                return statistics.median(run[key] for run in runs)

            ratios = [run["concur"] / run["plain"] for run in runs]
            rows.append([what, runs[0]["jobs"], f"{median('plain'):.2f} s", f"{median('concur'):.2f} s",
                         f"{statistics.median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})",
                         f"{median('gap'):.1f} ms", f"{median('longest'):.0f} ms",
                         f"{1000 * median('to first job'):.0f} ms",
                         f"{1000 * median('after last job'):.0f} ms",
                         f"{1000 * median('matrix'):.0f} ms"])
            print(harness.table(["jobs", "n", "two loops", "Concur", "ratio", "gap of a slot",
                                 "longest gap", "to the first job", "after the last job", "matrix"],
                                rows), flush=True)


if __name__ == "__main__":
    main()
