"""Real jobs on two slots, with all that a job has: run directory, captured output, time-out, a
metric read back, durable result. The job is a program of three system calls that writes the metric,
as /bin/true would leave nothing to count. Beside, with /bin/true: two loops of posix_spawn, xargs -P2, GNU parallel with a job log.

usage: processes.py [JOBS]      default: 4000
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import harness

def timed(argv, **more):
    start = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    return time.perf_counter() - start


def spawn_floor(jobs):
    out = subprocess.run([harness.BIN / "bench_spawn", str(jobs)], check=True,
                         capture_output=True, text=True).stdout
    return float(out)


def xargs(jobs):
    numbers = "\n".join(map(str, range(jobs)))
    return jobs / timed(["xargs", "-P2", "-n1", "/bin/true"], input=numbers, text=True)


def parallel(jobs):
    numbers = "\n".join(map(str, range(jobs)))
    with tempfile.TemporaryDirectory() as home:
        log = os.path.join(home, "log")
        return jobs / timed(["parallel", "-j2", "--joblog", log, "/bin/true"], input=numbers,
                            text=True, env={**os.environ, "HOME": home})


def concur(jobs):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        work = coordinator.directory / "work"
        worker = subprocess.Popen(
            [harness.BIN / "concur-worker", "--coordinator", coordinator.address, "--name", "w",
             "--work-dir", work, "--cpus", "2"],
            stdout=subprocess.DEVNULL, stderr=open(coordinator.directory / "worker.log", "w"))
        try:
            coordinator.submit(harness.sweep_of(jobs, command=harness.BIN / "bench_metric"))
            start = time.perf_counter()
            coordinator.concur("sweep", "wait", "s1")
            seconds = time.perf_counter() - start
            counts = coordinator.counts("s1")["counts"]
            if counts["succeeded"] != jobs:
                raise RuntimeError(f"{jobs} jobs, but {counts}")
            return jobs / seconds
        finally:
            worker.terminate()
            worker.wait()


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    rivals = {"two loops of posix_spawn": spawn_floor, "xargs -P2": xargs,
              "Concur, one worker of two slots": concur}
    rates = {name: [] for name in rivals}
    for _ in range(5):  # interleaved, so that a noisy minute hits all
        for name, measure in rivals.items():
            rates[name].append(measure(jobs))
    rates["GNU parallel -j2 --joblog"] = [parallel(min(jobs, 1000)) for _ in range(3)]
    floor = statistics.median(rates["two loops of posix_spawn"])
    rows = [[name, harness.si(statistics.median(values)),
             f"{harness.si(min(values))}–{harness.si(max(values))}",
             f"{statistics.median(values) / floor:.2f}"] for name, values in rates.items()]
    print(harness.table(["", "jobs/s", "min–max", "of the floor"], rows))


if __name__ == "__main__":
    main()
