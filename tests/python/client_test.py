# SPDX-License-Identifier: Apache-2.0
"""The Python package against a real coordinator and worker."""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import concur
from concur import aio, program, spec
from coordinator import BIN, CoordinatorTest, approach, study


class ClientTest(CoordinatorTest):
    def test_from_a_grid_to_scores_and_a_matrix(self):
        approaches = [
            approach(name, f"printf '{{{{\"accuracy\": {i}{i}.%s}}}}' {{seed}} > {{metrics}}; : {{test}}")
            for i, name in enumerate(["a", "b", "c", "d", "e"], start=1)
        ]
        sweep = self.client.submit(study(approaches=approaches)).wait(timeout=120)
        scores = sweep.scores()
        self.assertEqual(len(scores), 5 * 2 * 3)
        row = scores[(scores.approach == "b") & (scores.test_benchmark == "y") & (scores.seed == 2)]
        self.assertEqual(row.value.tolist(), [22.2])
        matrix = sweep.matrix("kendall", interval=0.9, replicates=200)
        self.assertEqual(matrix.benchmarks, ["x", "y"])
        self.assertEqual(matrix.tau.loc["x", "y"], 1.0)
        self.assertEqual(matrix.json["level"], 0.9)
        self.assertLessEqual(matrix.low.loc["x", "y"], 1.0)
        self.assertIn("<svg", matrix._repr_html_())
        with self.assertRaisesRegex(AttributeError, "kendall has no 'r'"):
            matrix.r
        self.assertEqual(sweep.table().shape[0], 5)

    # 362,170 of 1,000,000 values were read as a neighbour; an approach called NA was missing.
    def test_scores_have_the_bits_and_the_names_that_were_reported(self):
        value = "0.13436424411240122"
        approaches = [
            approach(name, "printf '{{\"accuracy\": %s}}' > {metrics}; : {test}" % value)
            for name in ("NA", "007")
        ]
        sweep = self.client.submit(study(approaches=approaches, seeds=[1])).wait(timeout=120)
        scores = sweep.scores()
        self.assertEqual(scores.approach.tolist(), ["NA", "NA", "007", "007"])
        self.assertEqual(scores.value.tolist(), [float(value)] * 4)
        self.assertTrue(scores.train_set.isna().all())
        self.assertEqual(sweep.table().approach.tolist()[0], "NA")

    def test_a_cell_that_runs_twice_submits_once(self):
        first = self.client.submit(study())
        self.assertEqual(self.client.submit(study()).id, first.id)
        self.assertNotEqual(self.client.submit(study(seeds=[1])).id, first.id)
        self.assertNotEqual(self.client.submit(study(), request_id="again").id, first.id)

    def test_failures_say_why(self):
        bad = approach("bad", "echo out of milk >&2; exit 3; : {metrics} {test}")
        sweep = self.client.submit(study(approaches=[bad], seeds=[1]))
        with self.assertRaisesRegex(concur.SweepFailed, "failed"):
            sweep.wait(timeout=120)
        failures = sweep.failures()
        self.assertGreater(len(failures), 0)
        self.assertRegex(failures.message[0], "out of milk")
        self.assertIn("out of milk", sweep.job(0).log())
        self.assertIn("exit code 3", sweep.job(0).explain())
        self.assertGreater(sweep.retry(), 0)
        sweep.cancel()

    def test_errors_name_the_field(self):
        sweep = study()
        sweep.more = {"seedz": 3}
        with self.assertRaisesRegex(concur.InvalidInput, r"^spec\.seedz: .*did you mean \"seeds\""):
            self.client.submit(sweep)
        with self.assertRaises(concur.NotFound):
            self.client.sweep("nothing")
        with self.assertRaises(concur.Unavailable):
            concur.connect("unix:/nonexistent/socket")
        self.assertEqual(list(pathlib.Path(".").glob(".concur-*")), [], "no file is left")

    def test_a_coordinator_that_comes_back_has_it_all(self):
        gate = approach("gate", "while [ ! -e %s/go ]; do sleep 0.05; done; "
                        "echo '{{\"accuracy\": 1}}' > {metrics}; : {test}" % os.getcwd())
        sweep = self.client.submit(study(approaches=[gate], seeds=[1]))
        with self.assertRaises(concur.Timeout):
            sweep.wait(timeout=0.2)
        self.up.send_signal(signal.SIGTERM)
        pathlib.Path("go").write_text("")
        self.up.wait()
        self.up.stderr.close()
        self.start(self.server)
        self.assertEqual(self.client.submit(study(approaches=[gate], seeds=[1])).id, sweep.id)
        sweep.wait(timeout=120)
        self.assertEqual(set(sweep.scores().value), {1.0})

    def test_any_command_runs_as_in_a_shell(self):
        self.client.submit(study()).wait(timeout=120)
        jobs = self.client.run("job", "list", "study", benchmark="y", limit=2)
        self.assertEqual([job["test_benchmark"] for job in jobs], ["y", "y"])
        version = subprocess.run(
            [BIN / "concur", "--version"], stdout=subprocess.PIPE, encoding="utf-8", check=True
        )
        self.assertIn(concur.__version__, version.stdout)

    def test_everything_has_an_asynchronous_form(self):
        gate = approach("gate", "while [ ! -e %s/go ]; do sleep 0.05; done; "
                        "echo '{{\"accuracy\": 1}}' > {metrics}; : {test}" % os.getcwd())

        async def use():
            client = aio.Async(self.client)
            sweep = await client.submit(study(approaches=[gate], seeds=[1]))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(sweep.wait(), 0.3)  # ends the command, or this would hang
            self.assertEqual((await sweep.get())["state"], "active")
            events = sweep.events()
            waiting = asyncio.ensure_future(sweep.wait(timeout=60))
            pathlib.Path("go").write_text("")
            ended = {event["job"] async for event in events if event["state"] == "succeeded"}
            await waiting
            self.assertLessEqual(ended, {"s1/0", "s1/1"})
            self.assertEqual(len(await sweep.scores()), 2)
            self.assertEqual((await (await sweep.job(0)).get())["state"], "succeeded")
            with self.assertRaisesRegex(AttributeError, r"get\(\)"):
                sweep.state

        asyncio.run(use())

    def test_an_interrupt_ends_the_wait_and_not_the_sweep(self):
        gate = approach("gate", "while [ ! -e %s/go ]; do sleep 0.05; done; "
                        "echo '{{\"accuracy\": 1}}' > {metrics}; : {test}" % os.getcwd())
        sweep = self.client.submit(study(approaches=[gate], seeds=[1]))
        waiter = subprocess.Popen(
            [sys.executable, "-c", "import concur, sys; s = concur.connect(sys.argv[1]).sweep('s1')\n"
             "print('waits', flush=True)\ns.wait()", self.server],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )
        self.assertEqual(waiter.stdout.readline(), "waits\n")
        waiter.send_signal(signal.SIGINT)
        self.assertIn("KeyboardInterrupt", waiter.communicate(timeout=60)[1])
        self.assertEqual(sweep.state, "active")
        pathlib.Path("go").write_text("")
        sweep.wait(timeout=60)

    def test_import_brings_no_large_library(self):
        code = "import sys, concur; print([m for m in ('pandas', 'asyncio', 'numpy') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "[]\n")


class SpecTest(unittest.TestCase):
    def test_only_what_is_said_is_written(self):
        document = study().document()
        self.assertEqual(document["metadata"], {"name": "study"})
        self.assertEqual(set(document["spec"]), {"approaches", "benchmarks", "seeds"})
        json.dumps(document)

    def test_flags_of_keyword_arguments(self):
        self.assertEqual(
            spec.strings({"by_job": True, "where": ["a=1", "b=2"], "top": 3, "no": None, "off": False}),
            ["--by-job", "--where", "a=1", "--where", "b=2", "--top", "3"],
        )

    def test_a_missing_program_says_what_to_do(self):
        os.environ["CONCUR_PROGRAM"], path = "", os.environ["PATH"]
        os.environ["PATH"] = "/nonexistent"
        try:
            with self.assertRaisesRegex(concur.ConcurError, "CONCUR_PROGRAM"):
                program.find_program()
        finally:
            os.environ["PATH"] = path


if __name__ == "__main__":
    unittest.main()
