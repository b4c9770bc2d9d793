# SPDX-License-Identifier: Apache-2.0
"""Snakemake: a rule whose jobs run /bin/true and then have their output files made.

The time is that of the whole command: its start and the graph of its jobs are part of every use.
"""

import pathlib
import subprocess
import tempfile
import time

from rivals import Rival, exactly

SNAKEFILE = """
rule all:
    input: expand("done/{{job}}", job=range({jobs}))

rule one:
    output: touch("done/{{job}}")
    shell: "/bin/true"
"""


class Snakemake(Rival):
    key = "snakemake"
    name = "Snakemake -j2"
    programs = ("snakemake",)
    process_jobs_max = 200
    runs = 3

    def settings(self):
        return "Snakemake " + subprocess.run(["snakemake", "--version"], check=True, text=True,
                                             capture_output=True).stdout.strip()

    def process_rate(self, jobs):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        (folder / "Snakefile").write_text(SNAKEFILE.format(jobs=jobs))
        start = time.perf_counter()
        subprocess.run(["snakemake", "-j2", "--quiet", "all"], check=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=self.environment(HOME=str(folder)))
        seconds = time.perf_counter() - start
        exactly(jobs, (folder / "done").iterdir(), self.name)
        return jobs / seconds
