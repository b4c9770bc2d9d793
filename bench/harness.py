# SPDX-License-Identifier: Apache-2.0
"""Needs of every benchmark: a coordinator of its own, timing, tables, and a check of accounting."""

import array
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / os.environ.get("CONCUR_PRESET", "release") / "bin"


def build(*targets):
    preset = os.environ.get("CONCUR_PRESET", "release")
    subprocess.run([ROOT / "scripts" / "build", preset, *targets], check=True,
                   stdout=subprocess.DEVNULL)


def floors():
    """Rates that the disk of the current directory, SQLite and gRPC give at most, in words."""
    def rates(program):
        return json.loads(subprocess.run([BIN / program, "."], check=True, capture_output=True,
                                         text=True).stdout)

    def calls(rates):
        return ", ".join(f"{si(rate)} with {n} in flight"
                         for n, rate in sorted(rates.items(), key=lambda item: int(item[0])))

    disk = rates("bench_floors")
    echo = rates("bench_echo")
    return (f"floors: {si(disk['fdatasync'])} fdatasync/s, "
            f"{si(disk['sqlite_commit'])} one-row SQLite commits/s; empty gRPC calls/s: "
            f"{calls(echo['empty'])}; those that wait for a committed row: "
            f"{calls(echo['committed'])}")


def process_cpu_seconds(pid):
    """User and system time of a process, its threads included."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS")


def directory_bytes(path):
    return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*") if f.is_file())


def make_directory(parent=None):
    """A directory for one run, in `parent`/concur-bench-runs. On ext4 that spreads its folders over the
    disk: without a journal the kernel looks through all inodes that were deleted lately near a new
    file, and the removal of one run's files would slow down the next run."""
    runs = pathlib.Path(parent or tempfile.gettempdir()) / "concur-bench-runs"
    runs.mkdir(exist_ok=True)
    get_flags, set_flags, topdir = 0x80086601, 0x40086602, 0x00020000  # of linux/fs.h, 64 bits
    fd = os.open(runs, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = array.array("i", [0])
        fcntl.ioctl(fd, get_flags, flags)
        flags[0] |= topdir
        fcntl.ioctl(fd, set_flags, flags)
    except OSError:
        pass  # another file system
    finally:
        os.close(fd)
    return pathlib.Path(tempfile.mkdtemp(prefix="", dir=runs))


class Coordinator:
    """A coordinator with its data in a directory of its own, which goes when it is closed."""

    def __init__(self, *options, parent=None, listen=None):
        self.directory = make_directory(parent)
        self.data = self.directory / "data"
        self.listen = listen or f"unix:{self.directory}/socket"
        self.options = options
        self.process = None
        self.start()

    def start(self):
        self.launch()
        self.wait_until_it_leads()

    def launch(self):
        (self.data / "address").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [BIN / "concur-coordinator", "--data-dir", self.data, "--listen", self.listen,
             *self.options],
            stdout=subprocess.DEVNULL, stderr=open(self.directory / "log", "a"))

    def wait_until_it_leads(self):
        address_file = self.data / "address"
        while not address_file.exists():
            if self.process.poll() is not None:
                raise RuntimeError((self.directory / "log").read_text())
            time.sleep(0.002)
        self.address = address_file.read_text().strip()

    def stop(self, signal="TERM"):
        self.process.terminate() if signal == "TERM" else self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.directory)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def concur(self, *arguments, check=True):
        return subprocess.run([BIN / "concur", "--server", self.address, *map(str, arguments)],
                              check=check, capture_output=True, text=True).stdout

    def submit(self, text, sets=10):
        path = self.directory / "sweep.yaml"
        path.write_text(text)
        # Their contents differ: equal cells would share one result.
        for i in range(sets):
            (self.directory / f"set-{i}.txt").write_text(f"{i}\n")
        self.concur("sweep", "submit", path)

    def counts(self, sweep):
        return json.loads(self.concur("-o", "json", "sweep", "get", sweep))

    def fake_workers(self, jobs, workers=16, slots=64, **more):
        """Completes `jobs` jobs; raises unless each was acknowledged exactly once."""
        arguments = [BIN / "concur-bench-worker", "--coordinator", self.address, "--jobs", jobs,
                     "--workers", workers, "--slots", slots]
        for name, value in more.items():
            arguments += ["--" + name.replace("_", "-"), value]
        done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"accounting is not exact: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)


def sweep_of(jobs, command="/bin/true", arguments=()):
    """A sweep of `jobs` jobs: ten benchmarks, the rest seeds."""
    benchmarks = min(10, jobs)
    seeds, rest = divmod(jobs, benchmarks)
    if rest:
        raise ValueError(f"{jobs} is no multiple of {benchmarks}")
    tests = "\n".join(
        f"    - metadata: {{name: b{i}}}\n"
        f"      spec: {{format: file, train: set-{i}.txt, test: set-{i}.txt, metric: accuracy}}"
        for i in range(benchmarks))
    words = ", ".join([str(command), '"{test}"', '"{metrics}"', '"{seed}"', *arguments])
    return f"""apiVersion: concur/v1
kind: Sweep
metadata: {{name: bench}}
spec:
  approaches:
    - metadata: {{name: a}}
      spec:
        version: "1"
        predict: {{command: [{words}]}}
        resources: {{cpus: 1, memory: 0B}}
  benchmarks:
{tests}
  seeds: {{from: 1, to: {seeds}}}
"""


def study_of(approaches, benchmarks, seeds):
    """A sweep of so many approaches on so many benchmarks, each a set of its own; no training."""
    rows = "\n".join(
        f"    - metadata: {{name: a{i}}}\n"
        f"      spec:\n"
        f"        version: \"{i}\"\n"
        f"        predict: {{command: [/bin/true, \"{{test}}\", \"{{metrics}}\", \"{{seed}}\"]}}\n"
        f"        resources: {{cpus: 1, memory: 0B}}"
        for i in range(approaches))
    columns = "\n".join(
        f"    - metadata: {{name: b{i}}}\n"
        f"      spec: {{format: file, train: set-{i}.txt, test: set-{i}.txt, metric: accuracy}}"
        for i in range(benchmarks))
    return (f"apiVersion: concur/v1\nkind: Sweep\nmetadata: {{name: study}}\nspec:\n"
            f"  approaches:\n{rows}\n  benchmarks:\n{columns}\n  seeds: {{from: 1, to: {seeds}}}\n")


def si(value):
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    if value >= 10_000:
        return f"{value / 1e3:.1f} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def table(header, rows):
    cells = [list(map(str, header))] + [list(map(str, row)) for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)
