"""What grows, or must not: submissions, memory and disk of many jobs, a restart with them, and answers
under load.

usage: scale.py [JOBS]      default: 1000000; at least 20000, a multiple of 100
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import harness

CLIENT = harness.BIN / "bench_client"


def client(*arguments):
    done = subprocess.run([CLIENT, *map(str, arguments)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def cells_of_the_largest_study():
    """3,840 cells with a train and an eval job each: 20 approaches, 32 benchmarks, 6 seeds."""
    approaches = "\n".join(
        f'    - {{metadata: {{name: a{i}}}, spec: {{version: "1", '
        f'train: {{command: [t, "{{train}}", "{{model}}", "{{seed}}"]}}, '
        f'predict: {{command: [p, "{{model}}", "{{test}}", "{{metrics}}"]}}}}}}' for i in range(20))
    benchmarks = "\n".join(
        f"    - {{metadata: {{name: b{i}}}, spec: {{format: file, train: set-{i % 10}.txt, "
        f"test: set-{i % 10}.txt, metric: accuracy}}}}" for i in range(32))
    return (f"apiVersion: concur/v1\nkind: Sweep\nmetadata: {{name: study}}\nspec:\n  approaches:\n"
            f"{approaches}\n  benchmarks:\n{benchmarks}\n  seeds: {{from: 1, to: 6}}\n")


def submit(coordinator, text, times):
    """Milliseconds of a durable submission; the first one, which brings the files, is not counted."""
    coordinator.submit(text)
    return client("submit", coordinator.directory / "sweep.yaml", "--coordinator",
                  coordinator.address, "--times", times)["millis"]


def submissions(jobs, rows):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        millis = submit(coordinator, cells_of_the_largest_study(), 7)
        rows.append(["submit 3,840 cells, durable", f"{millis['median']:.1f} ms",
                     f"{millis['min']:.1f}–{millis['max']:.1f}", "20 ms", millis["count"]])
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        before = harness.resident_bytes(coordinator.process.pid)
        millis = submit(coordinator, harness.sweep_of(jobs), 5)
        bytes_per_job = (harness.resident_bytes(coordinator.process.pid) - before) / (6 * jobs)
        rows.append([f"submit {jobs:,} jobs, durable", f"{millis['median']:.0f} ms",
                     f"{millis['min']:.0f}–{millis['max']:.0f}", "1 s", millis["count"]])
        rows.append(["resident memory a pending job", f"{bytes_per_job:.0f} B", "", "200 B", 1])


def restart(jobs, rows):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        # Half of all jobs end, so that every one of these is accounted for; the other half waits.
        coordinator.submit(harness.sweep_of(jobs // 2))
        before = harness.resident_bytes(coordinator.process.pid)
        coordinator.fake_workers(jobs // 2)
        resident = (harness.resident_bytes(coordinator.process.pid) - before) / (jobs // 2)
        disk = harness.directory_bytes(coordinator.data) / (jobs // 2)
        if coordinator.counts("s1")["counts"]["succeeded"] != jobs // 2:
            raise RuntimeError("jobs are missing")
        coordinator.submit(harness.sweep_of(jobs // 2, command="/bin/other"))
        rows.append(["resident memory a finished job", f"{resident:.0f} B", "", "500 B", 1])
        rows.append(["disk a finished job", f"{disk:.0f} B", "", "300 B", 1])
        coordinator.stop("KILL")
        seconds = []
        for i in range(5):
            start = time.perf_counter()
            coordinator.start()
            coordinator.fake_workers(1, workers=1, slots=1, prefix=f"again{i}", partial=1)
            seconds.append(time.perf_counter() - start)
            coordinator.stop("KILL")
        rows.append([f"killed, restarted, first job leased and done: {jobs:,} jobs, half finished",
                     f"{statistics.median(seconds):.2f} s",
                     f"{min(seconds):.2f}–{max(seconds):.2f}", "2 s", len(seconds)])


def answers(rows, jobs=100_000, watchers=900):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(jobs))
        load = threading.Thread(target=lambda: coordinator.fake_workers(jobs, seconds=0.2))
        load.start()
        asked = client("ask", "s1", "--coordinator", coordinator.address, "--seconds", 8,
                       "--watchers", watchers)
        load.join()
        if coordinator.counts("s1")["counts"]["succeeded"] != jobs:
            raise RuntimeError("jobs are missing")
        if asked["watchers_open"] != watchers:
            raise RuntimeError(f"{asked['watchers_open']} of {watchers} watchers were served")
        for name, key in (("GetSweep", "get_sweep"), ("ListJobs, a page of 1,000", "list_jobs")):
            rows.append([f"{name}, p99 under load, {watchers:,} watchers",
                         f"{asked[key]['p99']:.1f} ms",
                         f"median {asked[key]['median']:.1f}", "20 ms", asked[key]["count"]])


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"load average before: {os.getloadavg()[0]:.1f}\n", flush=True)
    rows = []
    submissions(jobs, rows)
    restart(jobs, rows)
    answers(rows)
    print(harness.table(["what", "median", "min–max", "target", "runs"], rows))


if __name__ == "__main__":
    main()
