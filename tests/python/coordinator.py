# SPDX-License-Identifier: Apache-2.0
"""A real coordinator and worker of a test's own, and a small study for them."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import concur

BIN = pathlib.Path(os.environ["CONCUR_BIN_DIR"])


def approach(name, script="printf '{{\"accuracy\": %s}}' {seed} > {metrics}; : {test}", **more):
    return concur.Approach(name, version="1", predict={"command": ["/bin/sh", "-c", script]}, **more)


def study(name="study", approaches=None, seeds=range(1, 4)):
    return concur.Sweep(
        name,
        approaches=approaches or [approach("a"), approach("b")],
        benchmarks=[
            concur.Benchmark(bench, test="set.txt", format="file", metric="accuracy")
            for bench in ("x", "y")
        ],
        seeds=list(seeds),
    )


class CoordinatorTest(unittest.TestCase):
    def setUp(self):
        self.before = os.getcwd()
        self.directory = tempfile.TemporaryDirectory(prefix="concur-python-")
        os.chdir(self.directory.name)
        pathlib.Path("set.txt").write_text("x\n")
        os.environ["CONCUR_PROGRAM"] = str(BIN / "concur")
        self.start()

    def tearDown(self):
        pathlib.Path("go").touch()  # what waits for it would hold the worker up
        self.up.send_signal(signal.SIGINT)
        self.up.wait()
        self.up.stderr.close()
        os.chdir(self.before)
        self.directory.cleanup()

    def coordinator(self):
        """The process of the coordinator, a child of `concur up`; None while there is none."""
        with open(f"/proc/{self.up.pid}/task/{self.up.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        for child in children:
            try:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    if file.read().split(b"\0")[0].endswith(b"concur-coordinator"):
                        return int(child)
            except FileNotFoundError:
                pass
        return None

    def start(self, listen="127.0.0.1:0"):
        self.up = subprocess.Popen(
            [BIN / "concur", "up", "--data-dir", "data", "--listen", listen],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for line in self.up.stderr:
            if "reach it by --server " in line:
                self.server = line.split()[-1]
            if "ready" in line:
                break
        self.client = concur.connect(self.server)
