# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `concur bundle convert mteb` on files like those of MTEB's results repository, and of a matrix
of it.

usage: imports.py [FILES]      default: 105000

The files are made: 500 models with 210 of 1,000 tasks each at 105,000 files, 17 KB on average with one to 24
subsets, random scores. The first 196 models have all of the first 41 tasks, no other model has: they are the matrix.
Limits: an import in 60 s and 500 MB, the matrix in one second. Ends with 1 when one does not hold."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from harness import BIN

TASKS_OF_A_MODEL = 210
MATRIX_MODELS = 196
MATRIX_TASKS = [f"task-{number}" for number in range(41)]
# Subsets of a file and how many files in a hundred have so many: most have one, few one for each language.
SUBSETS = {1: 66, 2: 14, 6: 10, 12: 6, 24: 4}
METRICS = [
    f"{prefix}{metric}_at_{k}{suffix}"
    for metric in ("ndcg", "map", "recall", "precision", "mrr")
    for prefix, suffix in (("", ""), ("nauc_", "_max"), ("nauc_", "_std"), ("nauc_", "_diff1"))
    for k in (1, 3, 5, 10, 20, 100, 1000)
]


def subset_text(rng):
    """The metrics of a subset, as mteb indents them, up to its main score."""
    return "".join(f'        "{name}": {rng.random():.6f},\n' for name in METRICS)


def make(out, files):
    """Writes the files; their bytes."""
    rng = random.Random(1)
    values = [subset_text(rng) for _ in range(50)]
    counts = rng.choices(list(SUBSETS), SUBSETS.values(), k=files)
    total = 0
    for model in range(files // TASKS_OF_A_MODEL):
        folder = out / f"org{model % 90}__model-{model}" / f"{model:040x}"
        folder.mkdir(parents=True)
        if model < MATRIX_MODELS:
            others = rng.sample(range(41, 1000), TASKS_OF_A_MODEL - len(MATRIX_TASKS))
            tasks = MATRIX_TASKS + [f"task-{number}" for number in others]
        else:
            tasks = [f"task-{number}" for number in rng.sample(range(1, 1000), TASKS_OF_A_MODEL)]
        for task in tasks:
            subsets = ",\n".join(
                "      {\n" + rng.choice(values)
                + f'        "main_score": {rng.random():.6f},\n        "hf_subset": "s{i}",\n'
                  '        "languages": ["eng-Latn"]\n      }' for i in range(counts.pop()))
            text = (f'{{\n  "dataset_revision": "{model:040x}",\n  "task_name": "{task}",\n'
                    f'  "mteb_version": "2.6.7",\n  "scores": {{\n    "test": [\n{subsets}\n    ]\n  }},\n'
                    '  "evaluation_time": 12.5,\n  "kg_co2_emissions": null\n}\n')
            (folder / f"{task}.json").write_text(text)
            total += len(text)
    return total


def measure(*command):
    """Wall and processor seconds, peak MB and the output of a command that must succeed."""
    start = time.monotonic()
    child = subprocess.Popen([BIN / "concur", *map(str, command)], stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"imports.py: concur {command[0]} ended with {child.returncode}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, output


def main():
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 105_000
    models = files // TASKS_OF_A_MODEL
    if models < MATRIX_MODELS:
        sys.exit(f"imports.py: expected at least {MATRIX_MODELS * TASKS_OF_A_MODEL} files, got {files}")
    files = models * TASKS_OF_A_MODEL
    with tempfile.TemporaryDirectory() as work:
        results = pathlib.Path(work, "results")
        total = make(results, files)
        print("| what | wall s | processor s | peak MB |\n|---|---|---|---|")
        took = measure("bundle", "convert", "mteb", results, "--out", f"{work}/bundle")
        print(f"| import of {files:,} files, {total / 1e9:.2f} GB | {took[0]:.1f} | {took[1]:.1f} | {took[2]:.0f} |")
        matrices = [
            measure("matrix", f"{work}/bundle", "--columns", ",".join(MATRIX_TASKS), "--complete-cases",
                    "--interval", "0", "-o", "json") for _ in range(3)]
        matrix = sorted(matrices, key=lambda one: one[0])[1]
        pairs = json.loads(matrix[3])["pairs"]
        pairs_of_all = len(MATRIX_TASKS) * (len(MATRIX_TASKS) - 1) // 2
        if len(pairs) != pairs_of_all or any(pair["n"] != MATRIX_MODELS for pair in pairs):
            sys.exit("imports.py: the matrix is not of the models and tasks that it should be of")
        print(f"| matrix of {MATRIX_MODELS} × {len(MATRIX_TASKS)} from it, median of three | {matrix[0]:.2f} "
              f"| {matrix[1]:.2f} | {matrix[2]:.0f} |")
    if took[0] > 60 or took[2] > 500 or matrix[0] > 1:
        sys.exit("imports.py: a limit does not hold: import 60 s and 500 MB, matrix 1 s")


if __name__ == "__main__":
    main()
