# SPDX-License-Identifier: Apache-2.0
"""The whole process `concur data score`, beside a script of the same usage as SQuAD's official one.

usage: score.py DATA PREDICTIONS [SCRIPT]      SCRIPT is run as: python3 SCRIPT DATA PREDICTIONS
"""

import json
import statistics
import subprocess
import sys
import time

import harness


def measure(command, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        times.append(1000 * (time.perf_counter() - start))
    figures = json.loads(output)
    return statistics.median(times), min(times), figures["exact_match"], figures["f1"]


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    data, predictions = sys.argv[1:3]
    score = [harness.BIN / "concur", "-o", "json", "data", "score", "--data", data,
             "--predictions", predictions]
    runs = {"concur data score": measure(score, 31)}
    if len(sys.argv) == 4:
        runs[sys.argv[3]] = measure(["python3", sys.argv[3], data, predictions], 7)
    ours = runs["concur data score"]
    rows = []
    for name, run in runs.items():
        if any(abs(a - b) > 5e-5 for a, b in zip(run[2:], ours[2:])):
            raise RuntimeError(f"{name} finds {run[2:]}, concur {ours[2:]}")
        rows.append([name, f"{run[0]:.1f}", f"{run[1]:.1f}", f"{run[0] / ours[0]:.1f}"])
    print(harness.table(["program", "median ms", "min ms", "times concur"], rows))


if __name__ == "__main__":
    main()
