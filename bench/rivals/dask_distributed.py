# SPDX-License-Identifier: Apache-2.0
"""Dask distributed: a scheduler and two worker processes of one thread. It keeps all in memory, so
that nothing here is durable.

The time is from the first end of a job to the last; Dask begins while jobs are still being submitted.
"""

import importlib.metadata
import subprocess
import sys

from rivals import Rival, Unavailable, ledger


def nothing(path, job):
    ledger.note(path, job)
    return job


def process(path, job):
    subprocess.run(["/bin/true"], check=True)
    ledger.note(path, job)
    return job


class Dask(Rival):
    key = "dask"
    name = "Dask, nothing durable"
    modules = ("distributed",)
    queue_clients = (2,)
    queue_jobs_max = 2000
    process_jobs_max = 1000

    def start(self):
        from distributed import Client
        scheduler = self.directory / "scheduler.json"
        self.serve([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1",
                    "--port", 0, "--dashboard-address", "127.0.0.1:0", "--scheduler-file", scheduler])
        self.until(scheduler.exists, "Dask's scheduler")
        self.serve([sys.executable, "-m", "distributed.cli.dask_worker", "--host", "127.0.0.1",
                    "--scheduler-file", scheduler, "--nworkers", 2, "--nthreads", 1,
                    "--dashboard-address", "127.0.0.1:0", "--local-directory", self.directory])
        try:
            self.client = Client(scheduler_file=str(scheduler), set_as_default=False)
            self.client.wait_for_workers(2, timeout=60)
        except (OSError, TimeoutError) as error:
            raise Unavailable(f"Dask's workers: {error}") from error

    def stop(self):
        if hasattr(self, "client"):
            self.client.close()
            del self.client

    def settings(self):
        return f"Dask {importlib.metadata.version('distributed')}, all in memory"

    def measure(self, work, jobs):
        path = str(self.directory / work.__name__)
        futures = self.client.map(work, [path] * jobs, range(jobs), pure=False)
        if self.client.gather(futures) != list(range(jobs)):
            raise RuntimeError(f"Dask: not the results of {jobs} jobs")
        return ledger.rate(path, jobs)

    def queue_rate(self, jobs, clients):
        return self.measure(nothing, jobs)

    def process_rate(self, jobs):
        return self.measure(process, jobs)
