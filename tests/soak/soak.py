#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs for a long time under load with restarts; nothing that they hold may grow.

docs/reliability.md, "Soak". Exit code 0: flat, everything was given back at the end, and no call
was answered otherwise than it may be. 1: not so. 77: this machine cannot run it.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import growth
from load import User

OPTIONS = """apiVersion: concur/v1
kind: CoordinatorOptions
spec:
  lease: 5s
  sync_park_max: 1s
  pack_small_artifacts: true
  gc: {{interval: {gc}s, grace: {gc}s}}
"""
WORKER_OPTIONS = """apiVersion: concur/v1
kind: WorkerOptions
spec: {cache_bytes_max: 4MiB, stop_grace: 1s, drain_max: 2s}
"""
AUDIT_FILE_BYTES, AUDIT_FILES = 16 << 20, 9  # coordinator/access/audit_log.h
PACK_BYTES = 64 << 20  # store/artifacts/pack_format.h
PLANTED = {"coordinator rss", "coordinator pss", "coordinator descriptors", "coordinator threads",
           "w2 files of the spool"}


class Program:
    """One of the programs, which may be killed and started again: another life."""

    def __init__(self, name, argv, log, env):
        self.name, self.argv, self.log, self.env = name, argv, log, env
        self.life = 0
        self.process = None

    def start(self):
        self.life += 1
        self.born = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=self.env)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


class Soak:
    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.growth = growth.Growth(options.slack)
        self.faults = []
        self.restarts = {"coordinator": 0, "w2": 0}
        self.stop = threading.Event()
        for name in ("data", "state", "tmp"):
            (directory / name).mkdir(mode=0o700)
        programs = pathlib.Path(options.programs)
        server = f"unix:{directory}/socket"
        env = {**os.environ, "XDG_STATE_HOME": str(directory / "state"),
               "XDG_CACHE_HOME": str(directory / "tmp/cache"), "TMPDIR": str(directory / "tmp"),
               "PATH": f"{programs}:{os.environ['PATH']}"}
        for name in [name for name in env if name.startswith("CONCUR_")]:
            del env[name]
        os.environ.clear()
        os.environ.update(env)  # of the users' calls
        (directory / "options.yaml").write_text(OPTIONS.format(gc=options.gc))
        (directory / "worker.yaml").write_text(WORKER_OPTIONS)
        self.fill_audit_log()
        leak = {"LD_PRELOAD": options.leak,
                "CONCUR_SOAK_LEAK_FILES": str(directory / "w2/spool")} if options.leak else {}
        self.coordinator = Program(
            "coordinator",
            [programs / "concur-coordinator", "--data-dir", directory / "data", "--listen", server,
             "--options", directory / "options.yaml"],
            directory / "coordinator.log", {**env, **leak})
        self.workers = [
            Program(name, [*before, programs / "concur-worker", "--coordinator", server, "--name",
                           name, "--work-dir", directory / name, "--cpus", "2", "--options",
                           directory / "worker.yaml"],
                    directory / f"{name}.log", env)
            for name, before in (("w1", self.without_the_artifacts()), ("w2", []))
        ]
        self.users = [User(number, [programs / "concur", "--server", server], directory,
                           options.pace, self.stop)
                      for number in range(options.users)]

    def without_the_artifacts(self):
        """Command to make a worker one of another machine, which loads up and down. Needs root."""
        before = ["unshare", "--mount", "sh", "-c",
                  'mount -t tmpfs -o size=64k none "$0" && exec "$@"',
                  str(self.directory / "data/artifacts")]
        (self.directory / "data/artifacts").mkdir(mode=0o700)
        works = subprocess.run([*before, "true"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL).returncode == 0
        return before if works else []

    def fill_audit_log(self):
        """As after months: full files, so that it is rotated within this run."""
        audit = self.directory / "data/audit"
        audit.mkdir(mode=0o700)
        for name in ["calls.jsonl"] + [f"calls.jsonl.{i}" for i in range(1, AUDIT_FILES)]:
            with open(audit / name, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
                file.truncate(AUDIT_FILE_BYTES - 1000)

    def start(self):
        for program in [self.coordinator, *self.workers]:
            program.start()
            if program is self.coordinator:
                self.wait_until_it_listens()
        for user in self.users:
            user.start()

    def wait_until_it_listens(self):
        address = self.directory / "data/address"
        deadline = time.monotonic() + 120
        while not address.exists():
            if self.coordinator.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("soak: the coordinator does not start; see " + str(self.coordinator.log))
            time.sleep(0.05)

    def restart(self, program, number):
        code = program.end(number)
        if code not in (0, -signal.SIGKILL):
            self.faults.append(f"{program.name} ended with {code}")
        if program is self.coordinator:
            (self.directory / "data/address").unlink(missing_ok=True)
        program.start()
        self.restarts[program.name] += 1
        if program is self.coordinator:
            self.wait_until_it_listens()

    def run(self):
        options = self.options
        begin = time.monotonic()
        warm = begin + options.seconds * options.warm_up
        next_sample = begin
        next_restart = {self.coordinator: begin + options.restart_coordinator,
                        self.workers[1]: begin + options.restart_worker}
        every = {self.coordinator: options.restart_coordinator,
                 self.workers[1]: options.restart_worker}
        while (now := time.monotonic()) < begin + options.seconds:
            for program in [self.coordinator, *self.workers]:
                if program.process.poll() is not None:
                    self.faults.append(f"{program.name} ended with {program.process.returncode}")
                    program.start()
            for program, due in next_restart.items():
                if now >= due:
                    kill = self.restarts[program.name] % 2 == 0
                    self.restart(program, signal.SIGKILL if kill else signal.SIGTERM)
                    next_restart[program] = due + every[program]
            if now >= warm:
                self.sample(now - begin)
            next_sample = max(next_sample + options.interval, now)
            time.sleep(max(0.0, next_sample - time.monotonic()))
        self.measured_seconds = options.seconds * (1 - options.warm_up)

    def sample(self, now):
        def add(name, unit, bound, value, life=0):
            self.growth.add(name, unit, bound, now, life, value)

        for program in [self.coordinator, *self.workers]:
            # A program's caches fill after each start; one that seldom lives that long is left out.
            if time.monotonic() - program.born >= self.options.settle:
                for name, (unit, bound, value) in growth.process_values(program.process.pid).items():
                    add(f"{program.name} {name}", unit, bound, value, program.life)
        data = self.directory / "data"
        add("database", "MiB", 2, growth.size_of(data / "concur.db"))
        add("write-ahead log", "MiB", 4, growth.size_of(data / "concur.db-wal"))
        count, size = growth.files(data / "artifacts/sha256")
        add("artifacts", "", 64, count)
        add("bytes of artifacts", "MiB", 8, size)
        add("uploads under way", "", 4, growth.entries(data / "artifacts/tmp"))
        add("damaged artifacts", "", 0, growth.entries(data / "artifacts/damaged"))
        add("other entries of the data directory", "", 4, growth.entries(data))
        for worker in self.workers:
            work = self.directory / worker.name
            add(f"{worker.name} run directories", "", 8, growth.entries(work / "runs"))
            add(f"{worker.name} logs", "", 8, growth.entries(work / "logs"))
            add(f"{worker.name} files of the spool", "", 8, growth.files(work / "spool")[0])
            add(f"{worker.name} cache", "MiB", 4, growth.files(work / "cache")[1])
            add(f"{worker.name} other entries", "", 4, growth.entries(work))
        add("files in $TMPDIR", "", 4, growth.files(self.directory / "tmp")[0])
        add("recorded tokens", "", 4, growth.files(self.directory / "state")[0])
        count, size = growth.files(data / "artifacts/packs")
        # Each worker has one that it writes; the rest is merged.
        if count > 3 * len(self.workers) + self.restarts[self.workers[1].name] \
                or size > (len(self.workers) + 1) * PACK_BYTES:
            self.faults.append(f"there are {count} packs of {size >> 20} MiB")
        count, size = growth.files(data / "audit")
        # Rotated: a ceiling holds, and no slope.
        if count > 2 * AUDIT_FILES or size > AUDIT_FILES * AUDIT_FILE_BYTES + (1 << 20):
            self.faults.append(f"the audit log has {count} files of {size >> 20} MiB")

    def finish(self):
        """Deletes every sweep: what is held for them must go."""
        self.stop.set()
        for user in self.users:
            user.join()
            if user.unexpected:
                self.faults += user.unexpected[:5]
        deadline = time.monotonic() + 60 + 3 * self.options.gc
        user = self.users[0]
        for sweep in [sweep for each in self.users for sweep in each.sweeps]:
            user.sweeps.append(sweep)
            while sweep in user.sweeps and time.monotonic() < deadline:
                user.delete(sweep)
                time.sleep(0.2)
        left = self.left()
        while left and time.monotonic() < deadline:
            time.sleep(0.5)
            left = self.left()
        self.faults += [f"in the end there are {text}" for text in left]
        for program in [*self.workers, self.coordinator]:
            code = program.end(signal.SIGTERM)
            if code != 0:
                self.faults.append(f"{program.name} ended with {code}")

    def left(self):
        def count(what, value, allowed=0):
            return [f"{value} {what}"] if value > allowed else []

        data = self.directory / "data"
        found = count("artifacts", growth.files(data / "artifacts/sha256")[0])
        found += count("uploads", growth.entries(data / "artifacts/tmp"))
        for worker in self.workers:
            work = self.directory / worker.name
            children = growth.process_values(worker.process.pid).get("child processes", (0, 0, 0))
            found += count(f"processes of {worker.name}", children[2])
            # Empty ones are kept for the next jobs.
            found += count(f"files in run directories of {worker.name}",
                           growth.files(work / "runs")[0])
            found += count(f"logs of {worker.name}", growth.entries(work / "logs"))
        return found

    def kill(self):
        self.stop.set()
        for program in [self.coordinator, *self.workers]:
            if program.process is not None and program.process.poll() is None:
                program.process.kill()
                program.process.wait()


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, nargs="?", default=3600)
    parser.add_argument("--programs", default=os.environ.get("CONCUR_BIN_DIR"),
                        help="the directory of concur, concur-coordinator and concur-worker")
    parser.add_argument("--users", type=int, default=2)
    parser.add_argument("--pace", type=float, default=0.5, help="seconds between a user's calls")
    parser.add_argument("--interval", type=float, help="seconds between samples")
    parser.add_argument("--warm-up", type=float, default=0.15, help="the part that is not measured")
    parser.add_argument("--gc", type=int, default=20, help="seconds until an artifact is collected")
    parser.add_argument("--slack", type=float, default=1.0, help="widens every bound")
    parser.add_argument("--leak", help="a library to preload into the coordinator, which must be "
                        "found to leak, and nothing else")
    options = parser.parse_args()
    if not options.programs:
        parser.error("--programs: expected a directory, or CONCUR_BIN_DIR in the environment")
    options.programs = os.path.abspath(options.programs)
    options.interval = options.interval or max(0.25, options.seconds / 360)
    # Each of four lives of the coordinator is measured after it has settled.
    options.restart_coordinator = options.seconds / 4 if not options.leak else options.seconds * 2
    options.restart_worker = max(4.0, options.seconds / 60)
    options.settle = max(4.0, min(options.restart_coordinator, options.seconds) / 3)
    return options


def main():
    if not os.path.exists("/proc/self/smaps_rollup"):
        print("soak: skipped: this kernel has no smaps_rollup", file=sys.stderr)
        return 77
    options = parse()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="concur-soak."))
    soak = Soak(options, directory)
    failed = True
    try:
        soak.start()
        soak.run()
        soak.finish()
        table, grown = soak.growth.judge(soak.measured_seconds)
        counts = sum((user.counts for user in soak.users), type(soak.users[0].counts)())
        print(table)
        print("calls: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
        print("restarts: " + ", ".join(f"{name} {n}" for name, n in soak.restarts.items()))
        expected = PLANTED if options.leak else set()
        for name in sorted(expected - set(grown)):
            soak.faults.append(f"the planted growth of {name} was not found")
        for name in sorted(set(grown) - expected):
            soak.faults.append(f"{name} grows")
        for fault in soak.faults:
            print("soak: " + fault)
        failed = bool(soak.faults)
    finally:
        soak.kill()
        if failed:
            print(f"soak: logs and data are in {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory)
    print("soak: " + ("failed" if failed else "passed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
