# SPDX-License-Identifier: Apache-2.0
"""xargs -P2, which keeps no account: that it says each command (-t) and exits with 0 is the check."""

import subprocess
import time

from rivals import Rival, exactly


class Xargs(Rival):
    key = "xargs"
    name = "xargs -P2"
    programs = ("xargs",)

    def process_rate(self, jobs):
        numbers = "\n".join(map(str, range(jobs)))
        start = time.perf_counter()
        done = subprocess.run(["xargs", "-t", "-P2", "-n1", "/bin/true"], input=numbers, check=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - start
        exactly(jobs, done.stderr.splitlines(), self.name)
        return jobs / seconds
