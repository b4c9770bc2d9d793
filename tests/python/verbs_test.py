# SPDX-License-Identifier: Apache-2.0
"""Every command of the program can be reached from Python: lists both."""

import subprocess
import unittest

import concur
from concur.client import Client
from concur.handles import Job, SubmittedSweep
from concur.program import Program
from coordinator import BIN, study

# Commands for Client.run, which has no method of their own for them.
BY_RUN = """
 bundle.convert bundle.load bundle.verify sweep.submit-predictions sweep.steps next concurrence init
 up demo top audit usage
secret.set secret.list secret.delete job.outputs
worker.get worker.drain pool.list pool.get pool.explain pool.add pool.pause pool.resume pool.remove
strata diff data.score data.build data.fetch data.import data.list data.majority data.mixture
data.downsample data.split data.stats data.validate data.export adapt.predictions adapt.nbest
adapt.lines adapt.metrics adapt.lm-eval adapt.results sweep.schema annotate.export annotate.status
resource.list resource.set resource.delete
""".split()


# Headings of lists of commands in help.
HEADINGS = {"Run:", "Watch:", "Results:", "Analysis:", "Data:", "Serve:", "Subcommands:"}


class Recorder(Program):
    """Instead of the program: keeps what it is asked to run."""

    def __init__(self):
        self.commands = []

    def run(self, arguments, mode="json", stdin=None):
        self.commands.append(list(arguments))
        return ""

    def json(self, arguments, stdin=None, warn=False):
        self.run(arguments)
        return {"id": "s1", "retried": 1, "state": "running"}

    def lines(self, arguments):
        self.run(arguments)
        return iter(())

    def frame(self, arguments):
        return self.run(arguments)

    columns = frame


def called():
    """{command: how it is reached} of the methods."""
    methods = {
        "sweep submit": lambda client, sweep, job: client.submit(study()),
        "sweep list": lambda client, sweep, job: client.sweeps(),
        "sweep get": lambda client, sweep, job: client.sweep("s1"),
        "sweep validate": lambda client, sweep, job: client.validate("a.yaml"),
        "sweep plan": lambda client, sweep, job: client.plan("a.yaml"),
        "worker list": lambda client, sweep, job: client.workers(),
        "sweep watch": lambda client, sweep, job: sweep.events(),
        "sweep wait": lambda client, sweep, job: sweep.wait(progress=False),
        "sweep failures": lambda client, sweep, job: sweep.failure_groups(),
        "sweep pause": lambda client, sweep, job: sweep.pause(),
        "sweep resume": lambda client, sweep, job: sweep.resume(),
        "sweep set": lambda client, sweep, job: sweep.set_priority(3),
        "sweep cancel": lambda client, sweep, job: sweep.cancel(),
        "sweep retry": lambda client, sweep, job: sweep.retry(),
        "sweep delete": lambda client, sweep, job: sweep.delete(),
        "job list": lambda client, sweep, job: sweep.job_rows(),
        "job get": lambda client, sweep, job: job.get(),
        "job explain": lambda client, sweep, job: job.explain(),
        "job cancel": lambda client, sweep, job: job.cancel(),
        "job logs": lambda client, sweep, job: job.log(),
        "scores": lambda client, sweep, job: sweep.scores(),
        "matrix": lambda client, sweep, job: sweep.matrix(),
        "sweep simulate": lambda client, sweep, job: sweep.simulate(),
        "report": lambda client, sweep, job: sweep.report("a.html"),
        "bundle write": lambda client, sweep, job: sweep.export("a"),
    }
    for name in ("uncertainty", "curve", "significance", "rank", "transfer", "scatter", "shift"):
        methods[name] = lambda client, sweep, job, name=name: sweep.analyze(name)
    return methods


def leaves(path=()):
    """The commands that `concur --help` lists, and those below them."""
    done = subprocess.run(
        [BIN / "concur", *path, "--help"], stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    below, inside = [], False
    for line in done.stdout.splitlines():
        if line in HEADINGS:
            inside = True
        elif line and not line.startswith("  "):
            inside = False
        elif inside and line and line[2] != " ":
            below.append(line.split()[0])
    return [leaf for name in below for leaf in leaves((*path, name))] if below else [" ".join(path)]


class VerbsTest(unittest.TestCase):
    def test_every_command_has_a_method_or_is_known_to_need_run(self):
        by_run = {name.replace(".", " ") for name in BY_RUN}
        self.assertEqual(sorted(set(called()) | by_run), sorted(leaves()))
        self.assertEqual(set(called()) & by_run, set())

    def test_methods_run_the_command_of_their_name(self):
        for command, call in called().items():
            program = Recorder()
            call(Client(program), SubmittedSweep(program, "s1"), Job(program, "s1/0"))
            self.assertEqual(" ".join(program.commands[0])[: len(command) + 1].strip(), command)

    def test_run_reaches_the_rest(self):
        program = Recorder()
        Client(program).run("pool", "add", "pools.yaml", at_once=True)
        self.assertEqual(program.commands, [["pool", "add", "pools.yaml", "--at-once"]])
        self.assertTrue(concur.__version__)


if __name__ == "__main__":
    unittest.main()
