# SPDX-License-Identifier: Apache-2.0
"""Times the dev build, from a clean clone of HEAD and without ccache: the programs of
scripts/demo, then the rest with all tests, then one file of core/ changed and core's tests run.

usage: build.py [REVISION …]      other revisions are built beside HEAD, for comparison
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import harness

PROGRAMS = ["concur", "concur-coordinator", "concur-worker", "concur-qa"]
CHANGED = "core/sweep/expansion.cc"
UNITS = 10


def run(command, directory):
    """Wall and CPU seconds of a command that must succeed."""
    environment = dict(os.environ, CCACHE_DISABLE="1", CONCUR_SOURCE_DIR=str(directory))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def steps(directory):
    """Seconds of each step of ninja's log, by its first output."""
    seconds = {}
    for line in (directory / "build/dev/.ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def measure(revision, parent):
    directory = pathlib.Path(parent) / revision
    subprocess.run(["git", "clone", "-q", harness.ROOT, directory], check=True)
    subprocess.run(["git", "checkout", "-q", revision], cwd=directory, check=True)
    figures = {}
    figures["programs of the demo"] = run(["scripts/build", "dev", *PROGRAMS], directory)
    rest = run(["scripts/build", "dev"], directory)
    demo = figures["programs of the demo"]
    figures["everything, with tests"] = (demo[0] + rest[0], demo[1] + rest[1])
    seconds = steps(directory)
    with open(directory / CHANGED, "a", encoding="utf-8") as changed:
        changed.write("// changed\n")
    figures[f"{CHANGED} changed: core and its tests"] = run(
        ["sh", "-c", "scripts/build dev core_test && ctest --test-dir build/dev -R '^core$'"],
        directory)
    shutil.rmtree(directory)
    return figures, seconds


def main():
    revisions = ["HEAD", *sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="concur-bench-build-") as parent:
        results = {name: measure(name, parent) for name in revisions}
    rows = []
    for figure in results["HEAD"][0]:
        for name in revisions:
            wall, cpu = results[name][0][figure]
            first = results["HEAD"][0][figure][0]
            rows.append([figure, name, f"{wall:.0f}", f"{cpu:.0f}", f"{wall / first:.2f}"])
    print(harness.table(["what is built", "revision", "s", "CPU s", "times HEAD"], rows))
    units = {output: s for output, s in results["HEAD"][1].items() if output.endswith(".o")}
    print(f"\n{len(units)} units compiled; the {UNITS} that took longest:")
    for output, s in sorted(units.items(), key=lambda item: -item[1])[:UNITS]:
        print(f"{s:7.1f} s  {output}")


if __name__ == "__main__":
    main()
