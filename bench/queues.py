# SPDX-License-Identifier: Apache-2.0
"""Completions a second of jobs that do nothing, durable but for Dask's: queues beside Concur.

usage: queues.py [JOBS] [--only NAME ...]      default: 20000 jobs, fewer for slow rivals; a
multiple of 80. NAMEs: concur, postgresql, celery, bullmq, dask
"""

import argparse
import os
import pathlib

import harness
import rivals
from rivals.bullmq import BullMQ
from rivals.celery_redis import Celery
from rivals.dask_distributed import Dask
from rivals.postgres import Postgres


class Concur(rivals.Rival):
    """Workers that run nothing, `slots` each; every completion is committed before it is answered."""

    key = "concur"

    def __init__(self, slots, clients):
        self.name = f"Concur, workers of {slots} slot{'s' if slots > 1 else ''}"
        self.slots = slots
        self.queue_clients = clients

    def settings(self):
        return "SQLite, as store/sqlite.cc opens it: a sync at every commit" if self.slots == 1 else ""

    def queue_rate(self, jobs, clients):
        with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
            coordinator.submit(harness.sweep_of(jobs))
            workers = clients // self.slots
            rate = coordinator.fake_workers(jobs, workers=workers, slots=self.slots)["per_second"]
            counts = coordinator.counts("s1")["counts"]
            if counts["succeeded"] != jobs:
                raise RuntimeError(f"{jobs} acknowledged, but {counts}")
            return rate


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("jobs", nargs="?", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    if options.jobs % 80 != 0:
        parser.error(f"expected a multiple of 80, got {options.jobs}")
    print(f"load average before: {os.getloadavg()[0]:.1f}\n{harness.floors()}\n", flush=True)
    entries = [Postgres(), Celery(), BullMQ(), Dask(), Concur(1, (2, 16, 64)), Concur(64, (1024,))]

    def work(rival):
        jobs = min(options.jobs, rival.queue_jobs_max or options.jobs)
        for clients in rival.queue_clients:
            yield (rival.name, f"{clients:,}", f"{jobs:,}"), rival.queue_rate(jobs, clients)

    rates, notes = rivals.interleaved(entries, options.only, work)
    rows = [[name, clients, *rivals.spread(values), f"{jobs} × {len(values)}"]
            for (name, clients, jobs), values in rates.items()]
    print(harness.table(["", "jobs in flight", "jobs/s", "min–max", "jobs × runs"], rows))
    print("\n" + "\n".join("- " + note for note in notes))


if __name__ == "__main__":
    main()
