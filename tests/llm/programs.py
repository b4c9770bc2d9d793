#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for vllm, lm_eval, inspect, lighteval and mteb, told apart by the name they are run under.

They take the options that configs/approaches/llm uses and no others, ask the server as the programs do,
and leave files of the programs' forms. Every fifth question meets 429 or 500 first. A question is right
if the model's name says so: a higher number in it is a better model.
"""

import argparse
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
import zlib

EXAMPLES = 40  # of a task
STAMP = "2026-01-01T00-00-00.000000"


def is_right(model, task, example):
    """More often for larger numbers in the model's name."""
    skill = int(re.search(r"\d+", model)[0])
    return zlib.crc32(f"{model} {task} {example}".encode()) % 100 < 40 + 5 * skill


def vllm():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("model")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    lock, asked = threading.Lock(), [0]

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):
            self.answer(200 if self.path == "/health" else 404, {})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                asked[0] += 1
                turn = asked[0]
            time.sleep(0.002)
            if turn % 5 == 0:
                self.answer(429 if turn % 10 else 500, {"error": {"message": "try again"}})
            elif body["model"] not in (options.model, options.model.split("/")[-1]):
                self.answer(404, {"error": {"message": "no such model"}})
            else:
                right = is_right(body["model"], *body["prompt"].split())
                self.answer(200, {"choices": [{"text": "yes" if right else "no"}]})

        def log_message(self, *_arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    notes = os.path.dirname(os.path.abspath(sys.argv[0]))
    with open(os.path.join(notes, "loads"), "a", encoding="utf-8") as file:
        file.write(f"{options.model} {server.server_port}\n")
    server.serve_forever()


def ask(url, model, task, example, key="none"):
    """1 for a right answer, else 0. Asks again after 429 and 500."""
    request = urllib.request.Request(
        url, json.dumps({"model": model, "prompt": f"{task} {example}"}).encode(),
        {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    for _ in range(5):
        try:
            with urllib.request.urlopen(request) as answer:
                return int(json.load(answer)["choices"][0]["text"] == "yes")
        except urllib.error.HTTPError as error:
            if error.code not in (429, 500):
                raise
    raise SystemExit("the server never answered")


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def share(scores):
    return sum(scores) / len(scores)


def lm_eval():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["local-completions"], required=True)
    for name in ("--tasks", "--model_args", "--output_path", "--use_cache"):
        parser.add_argument(name, required=True)
    for name in ("--num_fewshot", "--seed"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--log_samples", action="store_true", required=True)
    options = parser.parse_args()
    model_args = dict(one.split("=", 1) for one in options.model_args.split(","))
    assert set(model_args) == {"model", "base_url", "num_concurrent", "max_retries", "tokenized_requests"}
    model, results, configs = model_args["model"], {}, {}
    folder = os.path.join(options.output_path, model.replace("/", "__"))
    os.makedirs(folder)
    cache = {}
    if os.path.exists(options.use_cache + "_rank0.db"):
        with open(options.use_cache + "_rank0.db", encoding="utf-8") as file:
            cache = {tuple(one[:2]): one[2] for one in map(json.loads, file)}
    for task in options.tasks.split(","):
        scores = []
        with open(os.path.join(folder, f"samples_{task}_{STAMP}.jsonl"), "w", encoding="utf-8") as samples, \
                open(options.use_cache + "_rank0.db", "a", encoding="utf-8") as kept:
            for example in range(EXAMPLES):
                if (task, example) not in cache:
                    cache[task, example] = ask(model_args["base_url"], model, task, example)
                    kept.write(json.dumps([task, example, cache[task, example]]) + "\n")
                    kept.flush()
                scores.append(cache[task, example])
                samples.write(json.dumps({"doc_id": example, "doc": {}, "target": "yes", "filter": "none",
                                          "metrics": ["acc"], "acc": float(scores[-1])}) + "\n")
        results[task] = {"alias": task, "acc,none": share(scores), "acc_stderr,none": 0.01}
        configs[task] = {"task": task, "num_fewshot": options.num_fewshot, "dataset_path": task}
    tasks = list(results)
    write(os.path.join(folder, f"results_{STAMP}.json"), {
        "results": results, "group_subtasks": {task: [] for task in tasks}, "configs": configs,
        "versions": {task: 1.0 for task in tasks}, "n-shot": {task: options.num_fewshot for task in tasks},
        "higher_is_better": {task: {"acc": True} for task in tasks},
        "n-samples": {task: {"original": EXAMPLES, "effective": EXAMPLES} for task in tasks},
        "config": {"model": options.model, "model_args": options.model_args, "limit": None,
                   "use_cache": options.use_cache, "random_seed": options.seed},
        "date": 1767225600.0, "model_name": model, "model_name_sanitized": model.replace("/", "__")})


def inspect():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["eval-set"])
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--display", choices=["plain"], required=True)
    parser.add_argument("--seed", type=int, required=True)
    for name in ("--model", "--log-dir"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    provider, service, model = options.model.split("/", 2)
    assert (provider, service) == ("openai-api", "served")
    url, key = os.environ["SERVED_BASE_URL"] + "/completions", os.environ["SERVED_API_KEY"]
    os.makedirs(options.log_dir, exist_ok=True)
    for number, task in enumerate(options.tasks):
        scores = [ask(url, model, task, example, key) for example in range(EXAMPLES)]
        header = {"version": 2, "status": "success",
                  "eval": {"eval_id": f"e{number}", "task": task, "model": options.model,
                           "created": "2026-01-01T00:00:00+00:00", "config": {}},
                  "results": {"completed_samples": EXAMPLES, "total_samples": EXAMPLES, "scores": [
                      {"name": "choice", "scorer": "choice",
                       "metrics": {"accuracy": {"name": "accuracy", "value": share(scores)},
                                   "stderr": {"name": "stderr", "value": 0.01}}}]},
                  "stats": {"started_at": "2026-01-01T00:00:00+00:00",
                            "completed_at": "2026-01-01T00:01:00+00:00"}}
        summaries = [{"id": example + 1, "epoch": 1, "scores": {"choice": {"value": "C" if right else "I"}}}
                     for example, right in enumerate(scores)]
        name = f"2026-01-01T00-00-00+00-00_{task.replace('/', '-')}_{number}.eval"
        with zipfile.ZipFile(os.path.join(options.log_dir, name), "w", zipfile.ZIP_DEFLATED) as log:
            log.writestr("header.json", json.dumps(header))
            log.writestr("summaries.json", json.dumps(summaries))
    for name in ("logs.json", "eval-set.json"):
        write(os.path.join(options.log_dir, name), {"tasks": options.tasks})


def lighteval():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["endpoint"])
    parser.add_argument("backend", choices=["litellm"])
    parser.add_argument("config")
    parser.add_argument("tasks")
    parser.add_argument("--output-dir", required=True)
    options = parser.parse_args()
    with open(options.config, encoding="utf-8") as file:
        config = dict(re.findall(r'^  (\w+): "?([^"\n]*)"?$', file.read(), re.MULTILINE))
    assert config["model_name"].startswith("openai/") and config["api_key"] == "none"
    model, results = config["model_name"].removeprefix("openai/"), {}
    for task in options.tasks.split(","):
        name = "|".join(task.split("|")[:3])
        scores = [ask(config["base_url"] + "/completions", model, name, example) for example in range(EXAMPLES)]
        results[name] = {"acc": share(scores), "acc_stderr": 0.01}
    results["all"] = {"acc": share([one["acc"] for one in results.values()]), "acc_stderr": 0.01}
    write(os.path.join(options.output_dir, "results", config["model_name"], f"results_{STAMP}.json"), {
        "config_general": {"lighteval_sha": "abc", "num_fewshot_seeds": 1, "max_samples": None,
                           "model_name": model, "model_config": config},
        "results": results, "versions": {task: 0 for task in results}, "config_tasks": {}, "summary_tasks": {},
        "summary_general": {}})


def mteb():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run"])
    parser.add_argument("-m", dest="model", required=True)
    parser.add_argument("-t", dest="tasks", nargs="+", required=True)
    parser.add_argument("--output-folder", required=True)
    options = parser.parse_args()
    url, key = os.environ["OPENAI_BASE_URL"] + "/embeddings", os.environ["OPENAI_API_KEY"]
    folder = os.path.join(options.output_folder, options.model.replace("/", "__"), "1")
    for task in options.tasks:
        path = os.path.join(folder, task + ".json")
        if os.path.exists(path):
            continue
        scores = [ask(url, options.model.split("/")[-1], task, example, key) for example in range(EXAMPLES)]
        write(path, {"dataset_revision": "r1", "task_name": task, "mteb_version": "2.1.0",
                     "scores": {"test": [{"accuracy": share(scores), "main_score": share(scores),
                                          "hf_subset": "default", "languages": ["eng-Latn"]}]},
                     "evaluation_time": 1.0, "kg_co2_emissions": None})
    write(os.path.join(folder, "model_meta.json"), {"name": options.model, "revision": "1"})


if __name__ == "__main__":
    {"vllm": vllm, "lm_eval": lm_eval, "inspect": inspect, "lighteval": lighteval,
     "mteb": mteb}[os.path.basename(sys.argv[0])]()
