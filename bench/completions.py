# SPDX-License-Identifier: Apache-2.0
"""Durable results a second: a coordinator with its disk synced, and workers that run nothing.

usage: completions.py [JOBS ...]      default: 1000 10000 100000 1000000
"""

import pathlib
import statistics
import sys

import harness


def measure(jobs):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(jobs))
        pid = coordinator.process.pid
        cpu = harness.process_cpu_seconds(pid)
        report = coordinator.fake_workers(jobs)
        report["cpu_us"] = (harness.process_cpu_seconds(pid) - cpu) / jobs * 1e6
        report["resident"] = harness.resident_bytes(pid)
        counts = coordinator.counts("s1")["counts"]
        if counts["succeeded"] != jobs:
            raise RuntimeError(f"{jobs} acknowledged, but {counts}")
        coordinator.stop()
        report["disk"] = harness.directory_bytes(coordinator.data)
        return report


def main():
    sizes = [int(argument) for argument in sys.argv[1:]] or [1000, 10_000, 100_000, 1_000_000]
    print(harness.floors() + "\n", flush=True)
    header = ["jobs", "results/s", "min–max", "coordinator CPU µs/job", "resident MB", "disk B/job",
              "runs"]
    rows = []
    for jobs in sizes:
        runs = 5 if jobs <= 100_000 else 3 if jobs <= 1_000_000 else 1
        reports = [measure(jobs) for _ in range(runs)]
        rates = [report["per_second"] for report in reports]
        rows.append([
            f"{jobs:,}", harness.si(statistics.median(rates)),
            f"{harness.si(min(rates))}–{harness.si(max(rates))}",
            f"{statistics.median(r['cpu_us'] for r in reports):.1f}",
            f"{statistics.median(r['resident'] for r in reports) / 1e6:.0f}",
            f"{statistics.median(r['disk'] for r in reports) / jobs:.0f}",
            runs,
        ])
        print(" | ".join(map(str, rows[-1])), flush=True)
    print("\n" + harness.table(header, rows))


if __name__ == "__main__":
    main()
