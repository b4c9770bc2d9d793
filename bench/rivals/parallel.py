# SPDX-License-Identifier: Apache-2.0
"""GNU parallel with a job log, which says each job's exit code."""

import csv
import subprocess
import time

from rivals import Rival, exactly


class Parallel(Rival):
    key = "parallel"
    name = "GNU parallel -j2 --joblog"
    programs = ("parallel",)
    process_jobs_max = 1000
    runs = 3

    def process_rate(self, jobs):
        log = self.directory / "joblog"
        numbers = "\n".join(map(str, range(jobs)))
        start = time.perf_counter()
        subprocess.run(["parallel", "-j2", "--joblog", log, "/bin/true"], input=numbers, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
                       env=self.environment(HOME=str(self.directory)))
        seconds = time.perf_counter() - start
        with open(log) as lines:
            ends = list(csv.DictReader(lines, delimiter="\t"))
        exactly(jobs, (end["Seq"] for end in ends if end["Exitval"] == "0"), self.name)
        return jobs / seconds
