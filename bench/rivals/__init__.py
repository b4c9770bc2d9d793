# SPDX-License-Identifier: Apache-2.0
"""Other queues and other runners of processes, one a module, all measured in the same way.

A rival is entered (`with`) with a server of its own, on a unix socket or a free port of the loopback
device, in a directory of its own; all of it ends with the block. Nothing here is part of the product.
"""

import importlib.util
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import time

import harness

BENCH = pathlib.Path(__file__).resolve().parent.parent
# Where administrators' programs are, which not everyone's PATH has.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"


class Unavailable(Exception):
    """A rival that cannot be measured here; the text says why."""


class Rival:
    key = ""                # for --only
    name = ""               # for the table
    programs = ()           # that must be there, of scripts/packages/rivals.txt
    modules = ()            # of Python's, likewise
    queue_clients = ()      # jobs in flight at a time, to be measured one by one
    queue_jobs_max = None   # fewer jobs for one that is slow
    process_jobs_max = None
    runs = 5

    def prepare(self):
        """Looks for what it needs, and raises Unavailable when that is not here."""
        for program in self.programs:
            if shutil.which(program, path=PATH) is None:
                raise Unavailable(f"no program {program} is installed")
        for module in self.modules:
            if importlib.util.find_spec(module) is None:
                raise Unavailable(f"/usr/bin/python3 has no module {module}")

    def __enter__(self):
        self.processes = []
        # On the disk of the current directory, as Concur's data are; temporary ones may be in memory.
        self.directory = harness.make_directory(pathlib.Path.cwd())
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        try:
            self.stop()
        finally:
            for process in reversed(self.processes):
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        """Starts servers; raises Unavailable with what they say when they do not come up."""

    def stop(self):
        """Ends what is not in `processes`."""

    def settings(self):
        """Versions and what the server itself says about durability."""
        return ""

    def queue_rate(self, jobs, clients):
        """Completions a second of jobs that do nothing; raises unless each ended exactly once."""
        raise NotImplementedError

    def process_rate(self, jobs):
        """Runs of /bin/true a second on two slots; raises unless each ended exactly once."""
        raise NotImplementedError

    def serve(self, argv, **environment):
        """Starts a server that ends with the block; its output goes to a file for `complaint`."""
        with open(self.directory / "log", "a") as log:
            process = subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, cwd=self.directory,
                                       env=self.environment(**environment))
        self.processes.append(process)
        return process

    def environment(self, **more):
        return {**os.environ, "PATH": PATH, "PYTHONPATH": str(BENCH), **more}

    def complaint(self):
        log = self.directory / "log"
        return " / ".join(log.read_text(errors="replace").splitlines()[-3:]) if log.exists() else ""

    def until(self, condition, what, seconds=30):
        """Waits for `condition`; raises Unavailable when a server dies or the time is over."""
        deadline = time.monotonic() + seconds
        while not condition():
            if any(process.poll() is not None for process in self.processes):
                raise Unavailable(f"a server ended early: {self.complaint()}")
            if time.monotonic() > deadline:
                raise Unavailable(f"{what}: not in {seconds} s: {self.complaint()}")
            time.sleep(0.005)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def exactly(jobs, ended, what):
    """Raises unless `ended` names each of so many jobs once."""
    ended = list(ended)
    if len(ended) != jobs or len(set(ended)) != jobs:
        raise RuntimeError(f"{what}: {jobs} jobs, but {len(ended)} ends of {len(set(ended))} jobs")


def interleaved(rivals, only, work):
    """Rates by row and notes: one run of each after the other, so that a noisy minute hits all.

    `work(rival)` yields a row's name and a rate, in a block of its own for each run. Who cannot be
    started is noted; whose server fails later is out from then on, and noted. Wrong accounting is an
    error that ends everything.
    """
    unknown = set(only) - {rival.key for rival in rivals}
    if unknown:
        raise SystemExit(f"no rival is called {', '.join(sorted(unknown))}; there are "
                         + ", ".join(rival.key for rival in rivals))
    rates, notes, absent = {}, {}, {}
    rivals = [rival for rival in rivals if not only or rival.key in only]
    for run in range(max(rival.runs for rival in rivals)):
        for rival in rivals:
            if run >= rival.runs or rival.name in absent:
                continue
            try:
                if run == 0:
                    rival.prepare()
                with rival:
                    notes[rival.name] = f"{rival.name}: {rival.settings()}"
                    for row, rate in work(rival):
                        rates.setdefault(row, []).append(rate)
            except Unavailable as reason:
                runs = f"after {run} runs" if run > 0 else "not measured"
                absent[rival.name] = f"{rival.name}: {runs}, {reason}"
    notes = [note for note in notes.values() if not note.endswith(": ")]
    return rates, notes + list(absent.values())


def spread(rates):
    return [harness.si(statistics.median(rates)),
            f"{harness.si(min(rates))}–{harness.si(max(rates))}"]
