# SPDX-License-Identifier: Apache-2.0
"""Functions as approaches: what is sent along, what comes back."""

import math
import os
import pathlib
import random
import subprocess
import sys
import unittest
import unittest.mock

import concur
from concur.function import pack
from concur.mapped import plan, settings_of
from coordinator import CoordinatorTest

OFFSET = 0.5
GENERATOR = random.Random(1)


def shifted(value):
    return math.floor(value) + OFFSET


def train(lr, depth, mode="fast", seed=0):
    for step in range(3):
        concur.report_metric(step=step, value=lr * step)
    value = shifted(lr * 10) + depth + seed / 10
    return {"value": value, "deep": float(depth > 2), "is_fast": mode == "fast"}


def fails(lr):
    raise ValueError("out of milk")


def text(lr):
    return "good"


def reads(data, factor):
    with open(data, encoding="utf-8") as file:
        return len(file.read()) * factor


def counts(folder):
    path = concur.checkpoint_dir() / "count"
    count = int(path.read_text()) if path.exists() else 0
    path.write_text(str(count + 1))
    if count < 1:
        raise SystemExit(75)  # try again later
    return count


def waits(gate):
    import os
    import time

    while not os.path.exists(gate):
        time.sleep(0.02)
    return 1


def draws(lr):
    return GENERATOR.random()


class MapTest(CoordinatorTest):
    once = {"failures_max": 1, "backoff_min": "1ms", "backoff_max": "1ms"}

    def test_results_come_back_by_setting_and_seed(self):
        calls = self.client.map(train, {"lr": [0.25, 1.0], "depth": [2, 3]}, seeds=[1, 2])
        self.assertEqual(len(calls), 8)
        self.assertEqual(calls[3].setting, {"lr": 0.25, "depth": 3})
        self.assertEqual(calls[3].seed, 2)
        self.assertEqual(calls[3].result(60), {"value": 5.7, "deep": 1.0, "is_fast": 1.0})
        self.assertEqual(calls.result(60)[0], {"value": 4.6, "deep": 0.0, "is_fast": 1.0})
        self.assertTrue(calls[0].done())
        self.assertIsNone(calls[0].exception())
        self.assertEqual({id(call) for call in calls.as_completed()}, {id(call) for call in calls})
        reported = calls[4].job.metrics()
        self.assertEqual(reported.value.tolist(), [0.0, 1.0, 2.0])
        self.assertEqual(reported.step.tolist(), [0, 1, 2])
        scores = calls.sweep.scores()
        names = {f"train@lr={lr}+depth={depth}" for lr in (0.25, 1.0) for depth in (2, 3)}
        self.assertEqual(set(scores.approach), names)
        self.assertEqual(calls[0].job.get()["setting"], {"lr": 0.25, "depth": 2})

    def test_a_call_that_did_not_change_does_not_run_again(self):
        first = self.client.map(train, {"lr": [1.0], "depth": [2]})
        first.result(60)
        self.assertEqual(self.client.map(train, {"lr": [1.0], "depth": [2]}).sweep.id, first.sweep.id)
        wider = self.client.map(train, {"lr": [1.0, 2.0], "depth": [2]})
        self.assertNotEqual(wider.sweep.id, first.sweep.id)
        wider.result(60)
        self.assertEqual(wider.sweep.get()["reused"], 1)
        self.assertEqual(wider[0].job.get()["reused_from"], first[0].job.id)

    def test_data_and_constants_reach_the_function(self):
        pathlib.Path("text.txt").write_text("abcde")
        calls = self.client.map(reads, [{"factor": 2}, {"factor": 3}], data="text.txt", metric="letters")
        self.assertEqual(calls.result(60), [10.0, 15.0])

    def test_what_fails_says_why(self):
        calls = self.client.map(fails, {"lr": [0.1]}, retry=self.once)
        with self.assertRaisesRegex(concur.JobFailed, "out of milk"):
            calls.result(60)
        self.assertIn("out of milk", str(calls[0].exception()))
        self.assertEqual(list(calls.as_completed()), list(calls))
        with self.assertRaisesRegex(concur.JobFailed, "expected a finite number.*'good'"):
            self.client.map(text, {"lr": [0.1]}).result(60)

    def test_a_later_attempt_finds_the_checkpoint(self):
        retry = {"lost_max": 3, "backoff_min": "1ms", "backoff_max": "1ms"}
        for where in (None, "kept"):
            calls = self.client.map(counts, {"folder": ["x"]}, checkpoints=where, retry=retry)
            self.assertEqual(calls.result(60), [1.0], where)
        with self.assertRaisesRegex(RuntimeError, "for jobs"):
            concur.checkpoint_dir()

    def test_the_checkpoint_is_the_coordinators(self):
        job = {"CONCUR_JOB": "s1/0", "CONCUR_CHECKPOINT": "kept-by-coordinator"}
        with unittest.mock.patch.dict(os.environ, job):
            self.assertEqual(concur.checkpoint_dir(), pathlib.Path("kept-by-coordinator"))

    def test_waiting_ends_in_time_and_canceling_ends_the_calls(self):
        calls = self.client.map(waits, {"gate": [os.path.abspath("never")]})
        with self.assertRaises(concur.Timeout):
            calls.result(0.1)
        calls.cancel()
        with self.assertRaisesRegex(concur.JobFailed, "canceled"):
            calls[0].result(60)

    def test_one_call_is_canceled_alone(self):
        gates = [os.path.abspath("never"), os.path.abspath("go")]
        calls = self.client.map(waits, {"gate": gates})
        self.assertTrue(calls[0].cancel())
        pathlib.Path("go").touch()
        self.assertEqual(calls[1].result(60), 1.0)
        self.assertFalse(calls[1].cancel(), "it had ended")
        with self.assertRaisesRegex(concur.JobFailed, "canceled"):
            calls[0].result(60)
        self.assertEqual({call.seed for call in calls.as_completed()}, {1})


class PackTest(unittest.TestCase):
    def test_the_same_function_gives_the_same_text_and_it_runs_alone(self):
        source = pack(train)
        self.assertEqual(source, pack(train))
        self.assertIn("OFFSET = 0.5", source)
        self.assertNotIn("GENERATOR", source)
        scope = {}
        exec(source, scope)
        self.assertEqual(scope["shifted"](3.7), 3.5)

    def test_what_cannot_travel_is_named_with_a_remedy(self):
        outer = 3

        def closes():
            return outer

        with self.assertRaisesRegex(concur.InvalidInput, "closes: .* uses outer of the function around it"):
            pack(closes)
        with self.assertRaisesRegex(concur.InvalidInput, "draws: it uses GENERATOR, a Random"):
            pack(draws)
        with self.assertRaisesRegex(concur.InvalidInput, "made by def"):
            pack(lambda: 3)
        with self.assertRaisesRegex(concur.InvalidInput, "made by def"):
            pack(math.floor)
        module = type(sys)("mine")
        exec("def helper():\n    return 1\n", module.__dict__)
        sys.modules["mine"] = module
        try:
            scope = globals()
            scope["helper"] = module.helper
            with self.assertRaisesRegex(concur.InvalidInput, r"module mine, .* in code=\[…\]"):
                pack(uses_helper)
            self.assertIn("from mine import helper as helper", pack(uses_helper, ["src/mine.py"]))
        finally:
            del sys.modules["mine"], scope["helper"]

    def test_a_setting_that_the_function_does_not_take_is_refused_at_once(self):
        def square(x, seed):
            return x * x + seed

        for grid in ({"x": [1], "y": [2]}, [{}], {"X": [1]}):
            with self.assertRaisesRegex(concur.InvalidInput, r"grid: square\(x, seed\): .* argument"):
                plan(square, grid, None, [0], None, "accuracy", [], None, None, None, {})

    def test_grids_are_every_combination_or_a_list(self):
        self.assertEqual(
            settings_of({"a": [1, 2], "b": "xy"}),
            [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}],
        )
        self.assertEqual(settings_of([{"a": 1}]), [{"a": 1}])

    def test_what_travels_needs_no_other_library(self):
        for name in ("inside.py", "call.py"):
            path = pathlib.Path(concur.__file__).parent / name
            run = f"import runpy; runpy.run_path({str(path)!r})"
            done = subprocess.run([sys.executable, "-I", "-S", "-c", run], check=False)
            self.assertEqual(done.returncode, 0)


def uses_helper():
    return helper()  # noqa: F821


if __name__ == "__main__":
    unittest.main()
