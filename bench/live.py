# SPDX-License-Identifier: Apache-2.0
"""What following a concurrence matrix live costs the coordinator: `concur matrix --watch`.

usage: live.py [FOLLOWERS ...]      default: 0 1 8

A sweep of 20 approaches on 32 benchmarks is evaluated by fake workers in some three seconds; the
coordinator's CPU time beyond that of a run that nobody follows, divided by finished cells and
followers, is the cost. The target is 1 ms.
"""

import statistics
import subprocess
import sys

import harness

APPROACHES = 20
BENCHMARKS = 32
CELLS = APPROACHES * BENCHMARKS
PAIRS = BENCHMARKS * (BENCHMARKS - 1) // 2  # lines of a matrix
RUNS = 5


def measure(followers):
    with harness.Coordinator() as coordinator:
        coordinator.submit(harness.study_of(APPROACHES, BENCHMARKS, seeds=1), sets=BENCHMARKS)
        watches = [
            subprocess.Popen(
                [harness.BIN / "concur", "--server", coordinator.address, "-o", "jsonl", "matrix",
                 "s1", "--watch"], stdout=subprocess.PIPE, text=True)
            for _ in range(followers)]
        for watch in watches:
            watch.stdout.readline()  # the first matrix: it follows
        pid = coordinator.process.pid
        before = harness.process_cpu_seconds(pid)
        coordinator.fake_workers(CELLS, workers=2, slots=4, seconds=0.04)
        updates = [len(watch.communicate()[0].splitlines()) // PAIRS + 1 for watch in watches]
        cpu = harness.process_cpu_seconds(pid) - before
        if coordinator.counts("s1")["counts"]["succeeded"] != CELLS:
            raise RuntimeError(f"not all of {CELLS} cells succeeded")
        return cpu, updates


def main():
    rows = []
    baseline = None
    for followers in [int(argument) for argument in sys.argv[1:]] or [0, 1, 8]:
        runs = [measure(followers) for _ in range(RUNS)]
        cpu = statistics.median(run[0] for run in runs)
        baseline = cpu if baseline is None else baseline
        extra = (cpu - baseline) / CELLS / followers * 1e6 if followers else 0
        updates = [count for run in runs for count in run[1]]
        rows.append([followers, f"{cpu * 1000:.0f}", f"{extra:.0f}" if followers else "",
                     f"{statistics.median(updates):.0f}" if updates else "", RUNS])
        print(" | ".join(map(str, rows[-1])), flush=True)
    print("\n" + harness.table(
        ["followers", "coordinator CPU ms", "µs per cell and follower", "matrices seen", "runs"],
        rows))


if __name__ == "__main__":
    main()
