# SPDX-License-Identifier: Apache-2.0
"""A model that takes long to load, on ten benchmarks: loaded by every eval job, and once as a service.

usage: services.py [--load S] [--ask S] [--workers N] [--kills SERVERS WORKERS COORDINATORS]

Prints how often the model was loaded, the time from submission to the last score, and the seconds for which
programs held the model, from their start to their end, beside those in which it was asked. With --kills
servers, workers and the coordinator are killed so often at random moments, with a model that loads in 0.3 s
and answers in 0.4 s; the run ends with an error if a cell is lost or failed, or a server is left.
"""

import argparse
import os
import random
import signal
import subprocess
import time

import harness

BENCHMARKS = 10
SEED = 7  # of the times of kills

# A program that loads notes its start, and its end if it is not killed.
NOTES = """
import atexit, os, signal, sys, time
def note(name, text):
    with open(f"{sys.argv[2]}/{name}", "a") as file: file.write(text + "\\n")
begin = time.time()
atexit.register(lambda: note("held", str(time.time() - begin)))
signal.signal(signal.SIGTERM, lambda *arguments: sys.exit(0))
time.sleep(float(sys.argv[3]))
note("loads", str(os.getpid()))
"""

SERVER = NOTES + """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/health":
            time.sleep(float(sys.argv[4]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"0.75")
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

CLIENT = """
import json, sys, urllib.request
score = float(urllib.request.urlopen(sys.argv[1] + "/score").read())
json.dump({"accuracy": score}, open(sys.argv[2], "w"))
"""

# Loads the model itself, asks it, and ends.
ALONE = NOTES + """
import json
time.sleep(float(sys.argv[4]))
json.dump({"accuracy": 0.75}, open(sys.argv[1], "w"))
"""


def sweep(approach, benchmarks, seeds):
    rows = "\n".join(f"    - metadata: {{name: b{i}}}\n"
                     f"      spec: {{format: file, test: set-{i}.txt, metric: accuracy}}"
                     for i in range(benchmarks))
    return (f"apiVersion: concur/v1\nkind: Sweep\nmetadata: {{name: served}}\nspec:\n"
            f"  approaches:\n    - metadata: {{name: m}}\n      spec:\n        version: \"1\"\n"
            f"{approach}\n  benchmarks:\n{rows}\n  seeds: {{from: 1, to: {seeds}}}\n"
            f"  retry: {{lost_max: 100}}\n")


def approach(served, directory, load, ask):
    if served:
        return (f"        service:\n"
                f"          command: [python3, {directory}/server.py, \"{{port}}\", {directory}, \"{load}\", \"{ask}\"]\n"
                f"          ready: {{http: /health}}\n"
                f"          resources: {{cpus: 1}}\n          serves: 1\n          idle: 1s\n"
                f"        predict:\n"
                f"          command: [python3, {directory}/client.py, \"{{service.url}}\", \"{{metrics}}\", \"{{seed}}\"]\n"
                f"          resources: {{cpus: 0}}")
    return (f"        predict:\n"
            f"          command: [python3, {directory}/alone.py, \"{{metrics}}\", {directory}, \"{load}\", \"{ask}\", \"{{seed}}\"]\n"
            f"          resources: {{cpus: 1}}")


class Workers:
    """So many workers of one CPU each; `kill` restarts one of them."""

    def __init__(self, coordinator, count):
        self.coordinator = coordinator
        self.processes = {}
        for number in range(count):
            self.start(f"w{number}")

    def start(self, name):
        directory = self.coordinator.directory
        self.processes[name] = subprocess.Popen(
            [harness.BIN / "concur-worker", "--coordinator", self.coordinator.address, "--name", name,
             "--cpus", "1", "--work-dir", directory / name],
            stdout=subprocess.DEVNULL, stderr=open(directory / f"{name}.log", "a"))

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()
        self.start(name)

    def close(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait()


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def loads_of(directory):
    """The processes that have loaded."""
    return list(map(int, lines_of(directory / "loads")))


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition, what, seconds=600):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.02)


def run(served, args, seeds=1, kills=None):
    with harness.Coordinator() as coordinator:
        directory = coordinator.directory
        for name, text in (("server.py", SERVER), ("client.py", CLIENT), ("alone.py", ALONE)):
            (directory / name).write_text(text)
        workers = Workers(coordinator, args.workers)
        try:
            begin = time.time()
            coordinator.submit(sweep(approach(served, directory, args.load, args.ask), BENCHMARKS, seeds))
            if kills:
                break_things(coordinator, workers, kills)
            coordinator.concur("sweep", "wait", "s1")
            took = time.time() - begin
            counts = coordinator.counts("s1")["counts"]
            if counts["succeeded"] != BENCHMARKS * seeds:
                raise RuntimeError(f"not every cell succeeded: {counts}")
            loads = loads_of(directory)
            until(lambda: not any(map(runs, loads)), "a server is left")
            held = sum(map(float, lines_of(directory / "held")))
            return len(loads), took, held
        finally:
            workers.close()


def break_things(coordinator, workers, kills):
    chance = random.Random(SEED)
    servers, of_workers, of_coordinator = kills
    deeds = ["server"] * servers + ["worker"] * of_workers + ["coordinator"] * of_coordinator
    chance.shuffle(deeds)
    for deed in deeds:
        alive = lambda: list(filter(runs, loads_of(coordinator.directory)))
        until(lambda: alive() or coordinator.counts("s1")["counts"]["succeeded"] ==
              coordinator.counts("s1")["jobs"], "a server that answers")
        time.sleep(chance.uniform(0, 1.5))
        if deed == "server":
            for pid in alive()[:1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # ended meanwhile
        elif deed == "worker":
            workers.kill(chance.choice(sorted(workers.processes)))
        else:
            coordinator.stop("KILL")
            coordinator.start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--load", type=float, default=20)
    parser.add_argument("--ask", type=float, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, nargs=3, metavar=("SERVERS", "WORKERS", "COORDINATORS"))
    args = parser.parse_args()
    harness.build("concur-coordinator", "concur-worker", "concur")
    if args.kills:
        jobs_left = sum(args.kills)
        args.load, args.ask = 0.3, 0.4
        seeds = max(1, jobs_left // 2)
        loads, took, _ = run(True, args, seeds, args.kills)
        print(f"{sum(args.kills)} kills (servers, workers, coordinators: {args.kills}), "
              f"{BENCHMARKS * seeds} cells, {loads} loads, {took:.0f} s: no cell lost or failed, no server left")
        return
    work = args.ask * BENCHMARKS
    rows = []
    for name, served in (("once as a service", True), ("by every eval job", False)):
        loads, took, held = run(served, args)
        rows.append((name, loads, f"{took:.1f}", f"{held:.0f}", f"{work:.0f}", f"{held / work:.1f}"))
    print(harness.table(("the model is loaded", "loads", "seconds", "seconds held", "seconds asked",
                         "held / asked"), rows))


if __name__ == "__main__":
    main()
