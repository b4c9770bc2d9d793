#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Concurrence matrices and their bootstrap, beside SciPy, pandas and R's pcaPP on tables of the same shape.

usage: analysis.py

Times are medians of wall time in milliseconds, and Concur's CPU time; rivals compute coefficients only, as
`p_values:0` does, and no intervals from their replicates.
"""

import json
import shutil
import statistics
import subprocess
import sys
import time

import harness


def table(approaches, benchmarks):
    import numpy

    random = numpy.random.default_rng(1)
    quality = random.normal(size=(approaches, 1))
    return numpy.round(60 + 8 * quality + 4 * random.normal(size=(approaches, benchmarks)), 2)


def median_ms(repeats, work):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def concur(program):
    output = subprocess.run(
        [program, "--benchmark_format=json", "--benchmark_min_time=1"],
        check=True, capture_output=True, text=True).stdout
    scale = {"us": 1e-3, "ms": 1.0, "ns": 1e-6}
    for run in json.loads(output)["benchmarks"]:
        unit = scale[run["time_unit"]]
        yield "concur", run["name"], run["real_time"] * unit, run["cpu_time"] * unit


def scipy_rival():
    from scipy import stats

    def both(scores):
        for a in range(scores.shape[1]):
            for b in range(a + 1, scores.shape[1]):
                stats.kendalltau(scores[:, a], scores[:, b])
                stats.pearsonr(scores[:, a], scores[:, b])

    small = table(20, 32)
    yield "scipy", "both matrices, 20 x 32 (with p-values)", median_ms(5, lambda: both(small))
    large = table(1000, 300)
    pairs = [(a, b) for a in range(300) for b in range(a + 1, 300)][::100]
    part = median_ms(1, lambda: [stats.kendalltau(large[:, a], large[:, b]) for a, b in pairs])
    yield "scipy", "Kendall, 1000 x 300 (from one pair in 100)", part * 44850 / len(pairs)


def pandas_rival():
    import numpy
    import pandas

    small = table(20, 32)
    frame = pandas.DataFrame(small)
    yield "pandas", "both matrices, 20 x 32", median_ms(
        5, lambda: (frame.corr("kendall"), frame.corr("pearson")))
    random = numpy.random.default_rng(2)

    def replicate():
        drawn = frame.iloc[random.integers(0, 20, 20)]
        drawn.corr("kendall")
        drawn.corr("pearson")

    yield "pandas", "10,000 replicates of both (from 10)", 1000 * median_ms(
        1, lambda: [replicate() for _ in range(10)])


def pcapp_rival():
    script = """
suppressMessages(library(pcaPP)); set.seed(1)
make <- function(n, m) round(60 + 8 * rnorm(n) + matrix(4 * rnorm(n * m), n, m), 2)
ms <- function(work) 1000 * system.time(work())[["elapsed"]]
small <- make(20, 32); large <- make(1000, 300)
cat("both matrices, 20 x 32\\t", ms(function() for (i in 1:10) {cor.fk(small); cor(small)}) / 10, "\\n")
cat("10,000 replicates of both (from 100)\\t", 100 * ms(function() for (i in 1:100) {
  drawn <- small[sample(20, 20, TRUE), ]; cor.fk(drawn); cor(drawn)}), "\\n")
cat("Kendall, 1000 x 300\\t", ms(function() cor.fk(large)), "\\n")
"""
    output = subprocess.run(["Rscript", "-e", script], check=True, capture_output=True, text=True)
    for line in output.stdout.splitlines():
        name, value = line.split("\t")
        yield "R pcaPP", name.strip(), float(value)


def main():
    harness.build("analysis_bench", "comparison_bench")
    rows = [row for name in ("analysis_bench", "comparison_bench")
            for row in concur(harness.BIN / name)]
    for name, rival in (("scipy", scipy_rival), ("pandas", pandas_rival), ("R", pcapp_rival)):
        try:
            if name == "R" and shutil.which("Rscript") is None:
                raise ImportError("Rscript")
            rows.extend((*row, None) for row in rival())
        except (ImportError, subprocess.CalledProcessError) as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
    print(harness.table(
        ["who", "what", "ms", "CPU ms"],
        [[who, what, f"{ms:,.3f}", "" if cpu_ms is None else f"{cpu_ms:,.3f}"]
         for who, what, ms, cpu_ms in rows]))


if __name__ == "__main__":
    main()
