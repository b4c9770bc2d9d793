# SPDX-License-Identifier: Apache-2.0
"""Exports to MLflow, and samplers that are asked and told."""

import http.server
import json
import os
import pathlib
import re
import struct
import subprocess
import threading
import unittest
import urllib.parse
import zlib

import concur
from concur import mlflow, wandb
from coordinator import CoordinatorTest, approach, study


class FakeMlflow(http.server.ThreadingHTTPServer):
    """Keeps experiments and runs as MLflow's REST interface describes; may fail one method once."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.experiments = {}
        self.runs = {}
        self.fail_once = ""
        self.authorization = None
        self.url = f"http://127.0.0.1:{self.server_port}"

    def answer(self, method, query, body):
        if method == "experiments/get-by-name":
            name = query["experiment_name"][0]
            if name not in self.experiments:
                return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": name}
            return 200, {"experiment": {"experiment_id": self.experiments[name], "name": name}}
        if method == "experiments/create":
            self.experiments[body["name"]] = str(len(self.experiments))
            return 200, {"experiment_id": self.experiments[body["name"]]}
        if method == "runs/search":  # a page holds one run
            at = int(body.get("page_token", "0"))
            found = list(self.runs.values())
            answer = {"runs": found[at:at + 1]}
            if at + 1 < len(found):
                answer["next_page_token"] = str(at + 1)
            return 200, answer
        if method == "runs/create":
            info = {"run_id": f"r{len(self.runs)}", "status": "RUNNING", **body}
            run = {"info": info, "data": {"tags": body["tags"]}}
            self.runs[run["info"]["run_id"]] = run
            return 200, {"run": run}
        run = self.runs[body["run_id"]]
        if method == "runs/log-batch":
            run["data"].update(metrics=body["metrics"], params=body["params"])
        elif method == "runs/update":
            run["info"].update(body)
        else:
            return 404, {"message": method}
        return 200, {}


class Handler(http.server.BaseHTTPRequestHandler):
    def reply(self, body):
        parts = urllib.parse.urlsplit(self.path)
        method = parts.path.replace("/api/2.0/mlflow/", "")
        self.server.authorization = self.headers["Authorization"]
        if method == self.server.fail_once:
            self.server.fail_once = ""
            status, value = 500, {"message": "out of milk"}
        else:
            status, value = self.server.answer(method, urllib.parse.parse_qs(parts.query), body)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def do_GET(self):
        self.reply(None)

    def do_POST(self):
        self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_):
        pass


def curve(height):
    for step in range(2):
        concur.report_metric(step=step, value=height * step)
    return height


def records_of(data):
    """Reads what wandb writes, as LevelDB's description of its log says, with zlib's CRC-32."""
    ident, magic, version = struct.unpack_from("<4sHB", data)
    assert (ident, magic, version) == (b":W&B", 0xBEE1, 0)
    at, record, begun = 7, b"", False
    while at < len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        crc, length, kind = struct.unpack_from("<IHB", data, at)
        piece = data[at + 7:at + 7 + length]
        assert at // 32768 == (at + 6 + length) // 32768, "a piece crosses the border of a block"
        assert crc == zlib.crc32(bytes([kind]) + piece) and kind in (1, 2, 3, 4)
        assert (kind in (3, 4)) == begun
        record, begun = record + piece, kind in (2, 3)
        at += 7 + length
        if kind in (1, 4):
            yield record
            record = b""


def decode(record):
    """The fields of a message, by protobuf's own compiler."""
    done = subprocess.run(["protoc", "--decode_raw"], input=record, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def parabola(x):
    if x > 9:
        raise ValueError("out of milk")
    return (x - 3) ** 2


class Sampler:
    """A sampler with ask and tell, as simple as one can be."""

    def __init__(self):
        self.asked = 0
        self.told = {}

    def ask(self):
        self.asked += 1
        return self.asked

    def tell(self, trial, value):
        self.told[trial] = value


class NeighboursTest(CoordinatorTest):
    once = {"failures_max": 1, "backoff_min": "1ms", "backoff_max": "1ms"}

    def setUp(self):
        super().setUp()
        self.fake = FakeMlflow()
        thread = threading.Thread(target=self.fake.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.fake.server_close)
        self.addCleanup(self.fake.shutdown)

    def test_runs_reach_mlflow_once(self):
        sweep = self.client.submit(study(approaches=[approach("a")], seeds=[1, 2])).wait(timeout=60)
        self.fake.fail_once = "runs/update"
        with self.assertRaisesRegex(concur.ConcurError, "runs/update: HTTP 500: .*out of milk"):
            mlflow.export(sweep, self.fake.url)
        os.environ["MLFLOW_TRACKING_TOKEN"] = "t0"
        try:
            self.assertEqual(mlflow.export(sweep, self.fake.url), 4)  # the first one is finished
        finally:
            del os.environ["MLFLOW_TRACKING_TOKEN"]
        self.assertEqual(self.fake.authorization, "Bearer t0")
        self.assertEqual(mlflow.export(sweep, self.fake.url), 0)
        self.assertEqual(list(self.fake.experiments), ["study"])
        runs = list(self.fake.runs.values())
        self.assertEqual([run["info"]["status"] for run in runs], ["FINISHED"] * 4)
        scores = sorted(sweep.scores().value)
        self.assertEqual(sorted(run["data"]["metrics"][0]["value"] for run in runs), scores)
        self.assertIn({"key": "seed", "value": "2"}, runs[3]["data"]["params"])

    def test_runs_are_records_that_weights_and_biases_reads(self):
        calls = self.client.map(curve, {"height": [2.0, 3.0]})
        calls.result(60)
        self.assertEqual(wandb.export(calls.sweep, "runs", project="p", steps=True), 2)
        self.assertEqual(wandb.export(calls.sweep, "runs", project="p", steps=True), 0, "it has them")
        runs = sorted(pathlib.Path("runs").iterdir())
        self.assertEqual([str(run).split("-")[:2] for run in runs], [["runs/offline", "run"]] * 2)
        heights = set()
        for run in runs:
            (path,) = run.glob("run-*.wandb")
            self.assertEqual(path.stem, "run-" + run.name.split("-")[-1])
            texts = [decode(record) for record in records_of(path.read_bytes())]
            self.assertEqual([text.split()[1] for text in texts], ["1", "2", "3", "4", "5", "6"])
            # By wandb_internal.proto: 17 a run, 2 history, 3 summary, 18 the exit.
            kinds = [re.search(r"^(\d+) \{", text, re.M)[1] for text in texts]
            self.assertEqual(kinds, ["17", "2", "2", "2", "3", "18"])
            self.assertIn('3: "p"', texts[0])
            height = re.search(r'1: "height"\s+16: "([\d.]+)"', texts[0])[1]
            heights.add(float(height))
            self.assertRegex(texts[2], r'1: "value"\s+16: "%s"' % re.escape(height))
            self.assertRegex(texts[2], r"2 \{\s+1: 1\s+\}")
            self.assertRegex(texts[4], r'1: "value"\s+16: "%s"' % re.escape(height))
        self.assertEqual(heights, {2.0, 3.0})

    def test_records_of_any_length_read_back(self):
        lengths = [*range(0, 40), *range(32700, 32800), 65521, 65522, 100_000]
        records = [os.urandom(length) for length in lengths]
        self.assertEqual(list(records_of(b"".join(wandb.log_of(records)))), records)

    def test_what_is_no_mlflow_is_an_error(self):
        sweep = self.client.submit(study(approaches=[approach("a")], seeds=[1]))
        with self.assertRaisesRegex(concur.InvalidInput, "http"):
            mlflow.export(sweep, "file:///etc")
        with self.assertRaises(concur.Unavailable):
            mlflow.export(sweep, "http://127.0.0.1:1")
        self.fake.answer = lambda *_: (200, ["no"])
        with self.assertRaisesRegex(concur.ConcurError, "expected a JSON object"):
            mlflow.export(sweep, self.fake.url)

    def test_a_sampler_is_told_what_it_asked_for(self):
        sampler = Sampler()
        space = lambda trial: {"x": float(trial * 2)}  # noqa: E731
        concur.tune(self.client, parabola, sampler, space, trials=5, at_once=3, retry=self.once)
        self.assertEqual(sampler.told, {1: 1.0, 2: 1.0, 3: 9.0, 4: 25.0, 5: None})

    def test_optuna_is_such_a_sampler(self):
        try:
            import optuna
        except ImportError:
            self.skipTest("python3-optuna is not installed")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampled = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
        space = lambda trial: {"x": trial.suggest_float("x", 0, 12)}  # noqa: E731
        concur.tune(self.client, parabola, sampled, space, trials=8, retry=self.once)
        self.assertEqual(len(sampled.trials), 8)
        states = {trial.state.name for trial in sampled.trials}
        self.assertLessEqual(states, {"COMPLETE", "FAIL"})
        self.assertAlmostEqual(sampled.best_value, (sampled.best_params["x"] - 3) ** 2)


if __name__ == "__main__":
    unittest.main()
