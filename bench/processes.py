# SPDX-License-Identifier: Apache-2.0
"""Real jobs on two slots. Concur's have all that a job has: run directory, captured output, time-out,
a metric read back, durable result; its job is a program of three system calls that writes the metric,
as /bin/true would leave nothing to count. Everybody else's job is /bin/true, but for floor-metric's: the
floor's loops with Concur's job, each with a new file in one directory.

usage: processes.py [JOBS] [--only NAME ...]      default: 4000 jobs, fewer for slow rivals; a
multiple of 10. NAMEs: floor, floor-metric, concur, concur-shm (run directories in /dev/shm), concur-processes and
concur-shm-processes (no control groups), concur-new (each job leaves other metrics), concur-files
(the same, each in a file of its own), xargs, parallel, tsp, postgresql, celery, bullmq, dask, snakemake, slurm
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import time

import harness
import rivals
from rivals.bullmq import BullMQ
from rivals.celery_redis import Celery
from rivals.dask_distributed import Dask
from rivals.parallel import Parallel
from rivals.postgres import Postgres
from rivals.slurm import Slurm
from rivals.snakemake import Snakemake
from rivals.spooler import Spooler
from rivals.xargs import Xargs


class Floor(rivals.Rival):
    """Ends with an error unless every process was waited for and exited with 0."""

    key = "floor"
    name = "two loops of posix_spawn"
    command = ["/bin/true"]

    def process_rate(self, jobs):
        directory = harness.make_directory(pathlib.Path.cwd())
        try:
            return float(subprocess.run([harness.BIN / "bench_spawn", str(jobs), "2", *self.command],
                                        check=True, capture_output=True, text=True,
                                        cwd=directory).stdout)
        finally:
            shutil.rmtree(directory)


class FloorOfTheJob(Floor):
    key = "floor-metric"
    name = "the same loops with Concur's job"
    command = [harness.BIN / "bench_metric", "-", "{}"]


class Concur(rivals.Rival):
    key = "concur"
    name = "Concur, one worker of two slots"
    coordinator_options = []
    run_options = []
    job_arguments = []

    def process_rate(self, jobs):
        with harness.Coordinator(*self.coordinator_options,
                                 parent=pathlib.Path.cwd()) as coordinator:
            work = coordinator.directory / "work"
            worker = subprocess.Popen(
                [harness.BIN / "concur-worker", "--coordinator", coordinator.address, "--name", "w",
                 "--work-dir", work, "--cpus", "2", *self.run_options],
                stdout=subprocess.DEVNULL, stderr=open(coordinator.directory / "worker.log", "w"))
            try:
                coordinator.submit(harness.sweep_of(jobs, command=harness.BIN / "bench_metric",
                                                    arguments=self.job_arguments))
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


class ConcurInMemory(Concur):
    key = "concur-shm"
    name = "Concur, run directories in /dev/shm"
    run_options = ["--run-dir", "/dev/shm"]


class ConcurWithoutGroups(Concur):
    key = "concur-processes"
    name = "Concur, no control groups"
    run_options = ["--containment", "processes"]


class ConcurInMemoryWithoutGroups(Concur):
    key = "concur-shm-processes"
    name = "Concur, run directories in /dev/shm, no control groups"
    run_options = ["--run-dir", "/dev/shm", "--containment", "processes"]


class ConcurNew(Concur):
    key = "concur-new"
    name = "Concur, other metrics from each job"
    job_arguments = ["new"]


class ConcurFiles(ConcurNew):
    key = "concur-files"
    name = "Concur, other metrics from each job, in files"
    coordinator_options = ["--options", pathlib.Path(__file__).with_name("files.yaml")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("jobs", nargs="?", type=int, default=4000)
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f}\n", flush=True)
    entries = [Floor(), FloorOfTheJob(), Concur(), ConcurWithoutGroups(), ConcurInMemory(),
               ConcurInMemoryWithoutGroups(), ConcurNew(), ConcurFiles(), Xargs(), Parallel(),
               Spooler(), Postgres(), Celery(), BullMQ(), Dask(), Snakemake(), Slurm()]

    def work(rival):
        jobs = min(options.jobs, rival.process_jobs_max or options.jobs)
        yield (rival.name, f"{jobs:,}"), rival.process_rate(jobs)

    rates, notes = rivals.interleaved(entries, options.only, work)
    floors = {heading: values
              for rival, heading in ((Floor, "of the floor"),
                                     (FloorOfTheJob, "of the floor with Concur's job"))
              for (name, _), values in rates.items() if name == rival.name}
    rows = []
    for (name, jobs), values in rates.items():
        parts = [f"{statistics.median(values) / statistics.median(floor):.3f}"
                 for floor in floors.values()]
        rows.append([name, *rivals.spread(values), *parts, f"{jobs} × {len(values)}"])
    print(harness.table(["", "jobs/s", "min–max", *floors, "jobs × runs"], rows))
    print("\n" + "\n".join("- " + note for note in notes))


if __name__ == "__main__":
    main()
