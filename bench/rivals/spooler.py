# SPDX-License-Identifier: Apache-2.0
"""task-spooler with two slots. Its jobs enter one client process at a time; that is part of the time."""

import re
import subprocess
import time

from rivals import Rival, exactly

FINISHED = re.compile(r"^(\d+)\s+finished\s.*\s0\s+[\d.]+/[\d.]+/[\d.]+\s", re.MULTILINE)


class Spooler(Rival):
    key = "tsp"
    name = "task-spooler -S 2"
    programs = ("tsp", "xargs")
    process_jobs_max = 1000

    def tsp(self, *arguments, **more):
        return subprocess.run(["tsp", *arguments], check=True, text=True, env=self.spooler,
                              capture_output=True, **more).stdout

    def stop(self):
        if hasattr(self, "spooler"):
            self.tsp("-K")
            del self.spooler

    def process_rate(self, jobs):
        self.spooler = self.environment(TS_SOCKET=str(self.directory / "socket"), TS_SLOTS="2",
                                        TS_MAXFINISHED=str(jobs + 1), TMPDIR=str(self.directory))
        self.tsp("-S", "2")  # starts the server
        numbers = "\n".join(map(str, range(jobs)))
        start = time.perf_counter()
        subprocess.run(["xargs", "-n1", "tsp", "-n", "/bin/true"], input=numbers, check=True,
                       text=True, stdout=subprocess.DEVNULL, env=self.spooler)
        self.tsp("-w")  # the last one that was queued; its neighbour may still run
        while len(ended := FINISHED.findall(self.tsp("-l"))) < jobs:
            if time.perf_counter() - start > 600:
                raise RuntimeError(f"{self.name}: {len(ended)} of {jobs} jobs in ten minutes")
        seconds = time.perf_counter() - start
        exactly(jobs, ended, self.name)
        return jobs / seconds
