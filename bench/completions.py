# SPDX-License-Identifier: Apache-2.0
"""Durable results a second: a coordinator with its disk synced, and workers that run nothing.

usage: completions.py [--postgresql] [JOBS ...]      default: 1000 10000 100000 1000000
With --postgresql the rows are in a server of this run's own, synced as its defaults say. Then workers
of one slot, whose calls complete one job each, beside that server's plain SKIP LOCKED queue.
"""

import contextlib
import pathlib
import statistics
import sys

import harness
from rivals.postgres import Postgres


def options_for(server):
    """Options of a coordinator whose rows are in an empty schema of that server."""
    if server is None:
        return ()
    server.sql("DROP SCHEMA IF EXISTS concur CASCADE")
    path = pathlib.Path(server.directory) / "options.yaml"
    path.write_text("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n"
                    f"  database: postgresql://postgres@/postgres?host={server.data}\n")
    return ("--options", path)


def measure(jobs, server, **workers):
    with harness.Coordinator(*options_for(server), parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(jobs))
        pid = coordinator.process.pid
        cpu = harness.process_cpu_seconds(pid)
        report = coordinator.fake_workers(jobs, **workers)
        report["cpu_us"] = (harness.process_cpu_seconds(pid) - cpu) / jobs * 1e6
        report["resident"] = harness.resident_bytes(pid)
        counts = coordinator.counts("s1")["counts"]
        if counts["succeeded"] != jobs:
            raise RuntimeError(f"{jobs} acknowledged, but {counts}")
        coordinator.stop()
        report["disk"] = harness.directory_bytes(coordinator.data)
        return report


def main():
    arguments = sys.argv[1:]
    in_postgres = arguments[:1] == ["--postgresql"]
    sizes = [int(argument) for argument in arguments[in_postgres:]] or [1000, 10_000, 100_000,
                                                                        1_000_000]
    print(harness.floors() + "\n", flush=True)
    with Postgres() if in_postgres else contextlib.nullcontext() as server:
        run(sizes, server)


def run(sizes, server):
    header = ["jobs", "results/s", "min–max", "coordinator CPU µs/job", "resident MB", "disk B/job",
              "runs"]
    rows = []
    for jobs in sizes:
        runs = 5 if jobs <= 100_000 else 3 if jobs <= 1_000_000 else 1
        reports = [measure(jobs, server) for _ in range(runs)]
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
    if server is not None:
        print("\n" + server.settings() + "\n")
        print_one_by_one(server)


def print_one_by_one(server):
    """Rates of one job a call, by turns with the plain queue's."""
    rows = []
    for clients in server.queue_clients:
        rates, jobs = [], 500 * clients
        for _ in range(3):
            queue = server.queue_rate(jobs, clients)
            ours = measure(jobs, server, workers=clients, slots=1)["per_second"]
            rates.append((ours, queue, ours / queue))
        rows.append([clients, *(harness.si(statistics.median(column)) for column in zip(*rates))])
    print(harness.table(["in flight", "one job a call, jobs/s", "SKIP LOCKED", "ratio"], rows))


if __name__ == "__main__":
    main()
