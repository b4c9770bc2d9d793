#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each file of configs/approaches/llm with stand-ins: models become rows, tasks columns."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
APPROACHES = HERE.parents[1] / "configs/approaches/llm"
BINARIES = pathlib.Path(os.environ.get("CONCUR_BIN_DIR", "build/dev/bin")).resolve()
MODELS = ["org/model-1b", "org/model-4b", "org/model-8b"]


class LlmTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="concur-test-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.programs = self.directory / "bin"
        self.programs.mkdir()
        for name in ("vllm", "lm_eval", "inspect", "lighteval", "mteb"):
            shutil.copy(HERE / "programs.py", self.programs / name)
        self.environment = {
            "PATH": f"{self.programs}:{BINARIES}:/usr/bin:/bin", "HOME": str(self.directory),
            "CONCUR_SERVER": f"unix:{self.directory}/socket", "NO_COLOR": "1"}
        self.start("concur-coordinator", "--data-dir", "data", "--listen", self.environment["CONCUR_SERVER"])
        self.until(lambda: (self.directory / "socket").exists())
        self.start("concur-worker", "--coordinator", self.environment["CONCUR_SERVER"], "--name", "w",
                   "--work-dir", "work", "--cpus", "4", "--gpus", "2", "--memory", "200GiB")

    def start(self, program, *arguments):
        with open(self.directory / (program + ".log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen([program, *arguments], cwd=self.directory, env=self.environment, stdout=log,
                                       stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def until(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "it takes longer than a minute")
            time.sleep(0.05)

    def concur(self, *arguments, **options):
        done = subprocess.run(["concur", *arguments], cwd=self.directory, env=self.environment, check=False,
                              capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def evaluate(self, approach, tasks, models=MODELS, **parameters):
        """The scores of the models on parts of the benchmark, by model and column."""
        spec = {"approaches": [{"file": str(approach), "name": model.split("/")[-1], "set": {"model": model}}
                               for model in models],
                "benchmarks": [{"metadata": {"name": "b"},
                                "spec": {"parameters": {"tasks": tasks, **parameters},
                                         "metric": "score"}}],
                "keep": ["outputs"]}
        sweep = {"apiVersion": "concur/v1", "kind": "Sweep", "metadata": {"name": "llm"}, "spec": spec}
        (self.directory / "sweep.yaml").write_text(json.dumps(sweep), encoding="utf-8")
        self.concur("sweep", "submit", "sweep.yaml", "--wait")
        rows = list(csv.DictReader(io.StringIO(self.concur("scores", "llm", "-o", "csv"))))
        self.assertEqual([row["approach"] for row in rows], [model.split("/")[-1] for model in models])
        return {row["approach"]: {name: float(score) for name, score in row.items() if name.startswith("b/")}
                for row in rows}

    def loads(self):
        path = self.programs / "loads"
        return sorted(line.split()[0] for line in path.read_text(encoding="utf-8").splitlines())

    def check_order(self, scores, columns):
        """Larger models are better on the mean of the columns."""
        means = []
        for row in scores.values():
            self.assertEqual(sorted(row), sorted(columns))
            self.assertTrue(all(0 < score < 1 for score in row.values()), row)
            means.append(sum(row.values()))
        self.assertEqual(means, sorted(means))

    def test_lm_evaluation_harness(self):
        scores = self.evaluate(APPROACHES / "lm-evaluation-harness.yaml", "arc_easy,piqa,boolq", shots=5)
        self.check_order(scores, ["b/arc_easy", "b/boolq", "b/piqa"])
        self.assertEqual(self.loads(), MODELS)
        pairs = json.loads(self.concur("significance", "llm", "--benchmark", "b/piqa", "-o", "json"))["rows"]
        self.assertEqual([pair["n"] for pair in pairs], [40, 40, 40])
        self.concur("job", "outputs", "llm/0", "--out", "outputs")
        self.assertEqual(len(list((self.directory / "outputs").rglob("results_*.json"))), 1)

    def test_inspect(self):
        scores = self.evaluate(APPROACHES / "inspect.yaml", "inspect_evals/arc_easy inspect_evals/gpqa")
        self.check_order(scores, ["b/inspect_evals/arc_easy", "b/inspect_evals/gpqa"])
        self.assertEqual(self.loads(), MODELS)

    def test_lighteval(self):
        scores = self.evaluate(APPROACHES / "lighteval.yaml",
                               "lighteval|drop|0,lighteval|gsm8k|5")
        self.assertEqual(len(next(iter(scores.values()))), 2, "the mean of all is no column")
        self.check_order(scores, list(scores["model-1b"]))

    def test_mteb(self):
        self.start("vllm", "serve", "openai/embed-3", "--port", "0")
        self.until(lambda: (self.programs / "loads").exists())
        port = (self.programs / "loads").read_text(encoding="utf-8").split()[-1]
        text = (APPROACHES / "mteb.yaml").read_text(encoding="utf-8")
        (self.directory / "mteb.yaml").write_text(
            text + f'  env: {{OPENAI_BASE_URL: "http://127.0.0.1:{port}/v1"}}\n', encoding="utf-8")
        self.concur("secret", "set", "openai", input="sk-12345678")
        self.concur("resource", "set", "openai", "4")
        scores = self.evaluate(self.directory / "mteb.yaml", "Banking77Classification STS12",
                               models=["openai/embed-3"])
        self.assertEqual(sorted(scores["embed-3"]), ["b/Banking77Classification", "b/STS12"])


if __name__ == "__main__":
    unittest.main()
