# SPDX-License-Identifier: Apache-2.0
"""The Python package against a real coordinator and worker."""

import asyncio
import concurrent.futures
import gc
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import concur
from concur import aio, columns, handles, program, spec
from coordinator import BIN, CoordinatorTest, approach, study


def shifted(lr, depth):
    return lr + depth


class ClientTest(CoordinatorTest):
    def test_from_a_grid_to_scores_and_a_matrix(self):
        approaches = [
            approach(name, f"printf '{{{{\"accuracy\": {i}{i}.%s}}}}' {{seed}} > {{metrics}}; : {{test}}")
            for i, name in enumerate(["a", "b", "c", "d", "e"], start=1)
        ]
        sweep = self.client.submit(study(approaches=approaches)).wait(timeout=120)
        scores = sweep.scores()
        self.assertEqual(len(scores), 5 * 2 * 3)
        row = scores[(scores.approach == "b") & (scores.benchmark == "y") & (scores.seed == 2)]
        self.assertEqual(row.value.tolist(), [22.2])
        matrix = sweep.matrix("kendall", interval=0.9, replicates=200)
        self.assertEqual(matrix.benchmarks, ["x", "y"])
        self.assertEqual(matrix.tau.loc["x", "y"], 1.0)
        self.assertEqual(matrix.json["level"], 0.9)
        self.assertLessEqual(matrix.low.loc["x", "y"], 1.0)
        self.assertIn("<svg", matrix._repr_html_())
        with self.assertRaisesRegex(AttributeError, "kendall has no 'r'"):
            matrix.r
        # It had text alone, and rows "#goal" and "#scale" among the approaches.
        table = sweep.table()
        self.assertEqual(table.index.tolist(), ["a", "b", "c", "d", "e"])
        self.assertEqual(table.dtypes.astype(str).tolist(), ["float64"] * 2)
        self.assertAlmostEqual(table.loc["b", "y"], 22.2)
        self.assertEqual(list(table.attrs["benchmarks"]), ["x", "y"])
        self.assertEqual(table.attrs["states"], {})

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
        self.assertTrue(scores.low.isna().all(), "a file of metrics has no examples")
        self.assertEqual(scores.state.unique().tolist(), ["succeeded"])
        self.assertEqual(scores.worker.isna().sum(), 0)
        self.assertGreater(scores.seconds.min(), 0)
        self.assertEqual(sweep.job(int(scores.job[2])).get()["approach"], "007")
        # They were rows of NaN.
        for ask in (sweep.scores, sweep.table, sweep.matrix):
            with self.assertRaisesRegex(concur.InvalidInput, 'no job reported "f1".* accuracy'):
                ask(metric="f1")
        self.assertEqual(sweep.table().index[0], "NA")

    def test_hyperparameters_are_columns_of_their_types(self):
        approaches = [
            approach("a", "echo '{{\"accuracy\": 1}}' > {metrics}; : {test} {hp.depth} {hp.deep} {hp.state}",
                     hyperparameters={"default": {"depth": 2, "deep": True, "state": "on"}}),
            approach("b", "echo '{{\"accuracy\": 1}}' > {metrics}; : {test} {hp.depth} {hp.lr}",
                     hyperparameters={"default": {"depth": 3, "lr": 0.5}}),
        ]
        scores = self.client.submit(study(approaches=approaches, seeds=[1])).wait(timeout=120).scores()
        self.assertEqual(scores.depth.tolist(), [2, 2, 3, 3])
        self.assertEqual(scores.deep.tolist(), [True, True, None, None])
        self.assertEqual(scores.lr.fillna(-1).tolist(), [-1, -1, 0.5, 0.5])
        self.assertEqual(scores["setting.state"].tolist(), ["on", "on", None, None])

    # It was empty.
    def test_a_reused_job_has_the_log_of_the_job_that_ran(self):
        talk = approach("talk", "echo hello; echo '{{\"accuracy\": 1}}' > {metrics}; : {test}")
        self.client.submit(study(approaches=[talk], seeds=[1])).wait(timeout=120)
        again = study(approaches=[talk], seeds=[1])
        again.name = "again"
        sweep = self.client.submit(again).wait(timeout=120)
        self.assertEqual(sweep.job(0).get()["reused_from"], "s1/0")
        self.assertEqual(sweep.job(0).log(), "hello\n")

    def test_scores_of_examples_have_intervals_and_settings_their_text(self):
        right = [{"id": str(i), "question": "q", "answers": [{"text": "yes", "answer_start": 0}]}
                 for i in range(10)]
        data = [{"title": "", "paragraphs": [{"context": "yes or no", "qas": right}]}]
        pathlib.Path("gold.json").write_text(json.dumps({"version": "1.1", "data": data}))
        answers = {str(i): "yes" if i < 8 else "no" for i in range(10)}
        pathlib.Path("answers.json").write_text(json.dumps(answers))
        reader = concur.Approach(
            "reader", version="1", hyperparameters={"default": {"lr": 0.5, "depth": 2}},
            predict={"command": ["/bin/sh", "-c", ": {test} {hp.lr} {hp.depth}; cp %s {predictions}"
                                 % os.path.abspath("answers.json")]})
        sweep = self.client.submit(concur.Sweep(
            approaches=[reader], metric="exact_match",
            benchmarks=[concur.Benchmark("yes", test="gold.json", format="qa")])).wait(timeout=120)
        (row,) = sweep.scores().itertuples()
        self.assertEqual((row.value, row.examples, row.setting), (80.0, 10, "depth=2 lr=0.5"))
        # Clopper and Pearson's interval of 8 out of 10.
        self.assertAlmostEqual(row.low, 44.3905, places=3)
        self.assertAlmostEqual(row.high, 97.4789, places=3)

    def test_a_stream_of_scores_that_is_cut_is_an_error(self):
        sweep = self.client.submit(study(seeds=[1])).wait(timeout=120)
        whole = subprocess.run(
            [BIN / "concur", "--server", self.server, "scores", sweep.id, "--columns"],
            stdout=subprocess.PIPE, check=True,
        ).stdout
        self.assertEqual(len(columns.read_frame(io.BytesIO(whole))), 4)
        for length in range(len(whole)):
            with self.assertRaises(concur.ConcurError):
                columns.read_frame(io.BytesIO(whole[:length]))
        for other in (b"approach,x,y\n", b"[]\n", b"{}\n", b'{"rows":-1,"columns":[]}\n',
                      b'{"rows":0,"columns":[{"name":"a","type":"f2"}]}\n'):
            with self.assertRaisesRegex(concur.ConcurError, "of the same version"):
                columns.read_frame(io.BytesIO(other))

    def test_events_go_on_where_an_earlier_reader_stopped(self):
        sweep = self.client.submit(study()).wait(timeout=120)
        seen, cursor = [], "none"
        for event in sweep.events(after=cursor):
            self.assertTrue(event["reset"], "of an ended sweep there is a snapshot alone")
            cursor = event["cursor"]
        self.assertEqual(list(sweep.events(after=cursor)), [])
        bad = approach("bad", "exit 3; : {metrics} {test} {seed}")
        failing = self.client.submit(study(approaches=[bad], seeds=[1]))
        with self.assertRaises(concur.SweepFailed):
            failing.wait(timeout=120)
        cursor = next(failing.events(after="none"))["cursor"]
        self.assertGreater(failing.retry(), 0)
        with self.assertRaises(concur.SweepFailed):
            for event in failing.events(after=cursor):
                seen.append((event["job"], event["state"], event["reset"]))
        self.assertIn((f"{failing.id}/0", "ready", False), seen)
        self.assertIn((f"{failing.id}/0", "failed", False), seen)

    def test_one_job_is_canceled_and_the_others_go_on(self):
        gate = approach("gate", "while [ ! -e %s/go ]; do sleep 0.05; done; "
                        "echo '{{\"accuracy\": 1}}' > {metrics}; : {test}" % os.getcwd())
        sweep = self.client.submit(study(approaches=[gate], seeds=[1]))
        self.assertEqual(sweep.job(0).cancel(), "canceled")
        self.assertIn("sweep retry", sweep.job(0).explain())
        pathlib.Path("go").write_text("")
        with self.assertRaisesRegex(concur.SweepFailed, "1 canceled"):
            sweep.wait(timeout=60)
        self.assertEqual(sweep.job(1).cancel(), "succeeded", "its result stays")
        self.assertEqual(sweep.state, "canceled")

    def test_a_token_may_be_given_as_text(self):
        with self.assertRaisesRegex(concur.InvalidInput, "expected one of them"):
            concur.connect(self.server, token="t", token_file="f")
        client = concur.connect(self.server, token=pathlib.Path("data/token").read_text()
                                if pathlib.Path("data/token").exists() else "any")
        name = client.program.argv[-1]
        self.assertEqual(os.stat(name).st_mode & 0o077, 0)
        del client
        gc.collect()
        self.assertFalse(os.path.exists(name))

    def test_a_cell_that_runs_twice_submits_once(self):
        first = self.client.submit(study())
        self.assertEqual(self.client.submit(study()).id, first.id)
        self.assertNotEqual(self.client.submit(study(seeds=[1])).id, first.id)
        self.assertNotEqual(self.client.submit(study(), request_id="again").id, first.id)

    def test_a_changed_file_makes_it_another_sweep(self):
        path = pathlib.Path("edited.sh")
        command = ["sh", "{code}/edited.sh", "{metrics}", "{test}"]
        own = concur.Approach("own", predict={"command": command}, more={"code": ["edited.sh"]})
        ids = []
        for score in (0.5, 0.75, 0.5):
            path.write_text(f"printf '{{\"accuracy\": {score}}}' > $1\n")
            ids.append(self.client.submit(study(approaches=[own], seeds=[1])).id)
        self.assertNotEqual(ids[0], ids[1])
        self.assertEqual(ids[0], ids[2])

    def test_what_a_submission_warns_of_is_a_warning(self):
        tool = pathlib.Path("lib/tool.py").absolute()
        tool.parent.mkdir(exist_ok=True)
        tool.write_text("pass\n")
        command = ["python3", str(tool), "{metrics}", "{test}"]
        own = concur.Approach("own", "1", {"command": command})
        with self.assertWarnsRegex(UserWarning, "in no code") as caught:
            self.client.submit(study(approaches=[own], seeds=[1]))
        self.assertEqual(caught.filename, __file__)  # not a line of contextlib

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
        # Errors of commands that print text began with "concur: error: ".
        with self.assertRaisesRegex(concur.NotFound, "^no sweep"):
            handles.Job(self.client.program, "s9999/0").log()
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

    def test_a_killed_coordinator_loses_nothing(self):
        gate = approach("gate", "while [ ! -e %s/go ]; do sleep 0.05; done; "
                        "echo '{{\"accuracy\": 1}}' > {metrics}; : {test}" % os.getcwd())
        sweep = self.client.submit(study(approaches=[gate], seeds=[1, 2, 3]))
        waiting = concurrent.futures.ThreadPoolExecutor(1).submit(sweep.wait, 120)
        for _ in range(2):
            os.kill(self.coordinator(), signal.SIGKILL)  # `concur up` starts another
            self.assertEqual(self.client.submit(study(approaches=[gate], seeds=[1, 2, 3])).id, sweep.id)
        pathlib.Path("go").write_text("")
        waiting.result(120)
        self.assertEqual(sweep.scores().value.tolist(), [1.0] * 6)

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

    # It was a bare ModuleNotFoundError.
    def test_without_pandas_it_is_said_what_to_install(self):
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            for make in (columns.read_frame, lambda _: handles.Job(None, "s1/0").metrics()):
                with self.assertRaisesRegex(ImportError, "pip install pandas"):
                    make(io.BytesIO())


class TenLinesTest(CoordinatorTest):
    """The lines that the package is made for, as they are written in a notebook."""

    def test_from_a_grid_to_a_matrix_in_ten_lines(self):
        script = "printf '{{{{\"accuracy\": {0}.%s}}}}' {{seed}} > {{metrics}}; : {{test}}"
        approaches = [approach(name, script.format(i)) for i, name in enumerate("abcde", start=1)]
        benchmarks = study().benchmarks
        grid = {"lr": [0.1, 1.0], "depth": [2]}
        os.environ["CONCUR_SERVER"] = self.server
        self.addCleanup(os.environ.pop, "CONCUR_SERVER")

        c = concur.connect()
        s = c.submit(concur.Sweep(approaches=approaches, benchmarks=benchmarks, seeds=range(5)))
        s.wait()
        scores = s.scores()
        matrix = s.matrix("kendall", replicates=200)
        tau, low, high = matrix.tau, matrix.low, matrix.high
        failures, log, why = s.failures(), s.job(7).log(), s.job(7).explain()
        s.cancel()
        f = c.map(shifted, grid)
        results = f.result(60)
        f.cancel()

        self.assertLessEqual(
            {"approach", "benchmark", "setting", "seed", "metric", "value", "low", "high", "state",
             "worker", "seconds"}, set(scores.columns))
        self.assertEqual(len(scores), 5 * 2 * 5)
        self.assertEqual(scores.groupby("approach").value.mean().round(1).tolist(),
                         [1.2, 2.2, 3.2, 4.2, 5.2])
        self.assertEqual((tau.loc["x", "y"], low.loc["x", "x"], high.loc["x", "x"]), (1.0, 1.0, 1.0))
        self.assertIn("<svg", matrix.svg())
        self.assertEqual(len(failures), 0)
        self.assertEqual(log, "")
        self.assertIn("succeeded", why)
        self.assertEqual(s.state, "succeeded", "canceling what has ended changes nothing")
        self.assertEqual(results, [2.1, 3.0])
        self.assertEqual(f[1].setting, {"lr": 1.0, "depth": 2})


class InsideTest(unittest.TestCase):
    def test_a_report_is_a_line_of_the_log_and_of_the_file_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = pathlib.Path(folder) / "lines"
            code = "import concur\nfor i in range(2): concur.report_metric(i, i / 2, 'loss')"
            for path in (lines, None):
                env = {**os.environ, "CONCUR_METRICS_LINES": str(path or "")}
                done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE,
                                      encoding="utf-8", check=True)
                reports = [json.loads(line.split(" ", 1)[1]) for line in done.stdout.splitlines()]
                self.assertEqual(reports, [{"step": 0, "name": "loss", "value": 0.0},
                                           {"step": 1, "name": "loss", "value": 0.5}])
            self.assertEqual([json.loads(line) for line in lines.read_text().splitlines()], reports)


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
