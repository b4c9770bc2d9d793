# SPDX-License-Identifier: Apache-2.0
"""Measures what grows, or must not: submissions, memory and disk of many jobs, a restart with them,
answers under load, and what else the project's table of targets asks for.

usage: scale.py [JOBS] [--only PART ...]      JOBS of submissions and restart: default 1000000; at
least 20000, a multiple of 100
"""

import argparse
import json
import os
import pathlib
import signal as signals
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import completions
import harness
import processes
import rivals
from rivals.postgres import Postgres
from rivals.xargs import Xargs

CLIENT = harness.BIN / "bench_client"


def client(*arguments):
    done = subprocess.run([CLIENT, *map(str, arguments)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def cells_of_the_largest_study():
    """3,840 cells with a train and an eval job each: 20 approaches, 32 benchmarks, 6 seeds."""
    approaches = "\n".join(
        f'    - {{metadata: {{name: a{i}}}, spec: {{version: "1", '
        f'train: {{command: [t, "{{train}}", "{{model}}", "{{seed}}"]}}, '
        f'predict: {{command: [p, "{{model}}", "{{test}}", "{{metrics}}"]}}}}}}' for i in range(20))
    benchmarks = "\n".join(
        f"    - {{metadata: {{name: b{i}}}, spec: {{format: file, train: set-{i % 10}.txt, "
        f"test: set-{i % 10}.txt, metric: accuracy}}}}" for i in range(32))
    return (f"apiVersion: concur/v1\nkind: Sweep\nmetadata: {{name: study}}\nspec:\n  approaches:\n"
            f"{approaches}\n  benchmarks:\n{benchmarks}\n  seeds: {{from: 1, to: 6}}\n")


def submit(coordinator, text, times):
    """Milliseconds of a durable submission; the first one, which brings the files, is not counted."""
    coordinator.submit(text)
    return client("submit", coordinator.directory / "sweep.yaml", "--coordinator",
                  coordinator.address, "--times", times)["millis"]


def submissions(jobs, rows):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        millis = submit(coordinator, cells_of_the_largest_study(), 7)
        rows.append(["submit 3,840 cells, durable", f"{millis['median']:.1f} ms",
                     f"{millis['min']:.1f}–{millis['max']:.1f}", "20 ms", millis["count"]])
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        before = harness.resident_bytes(coordinator.process.pid)
        millis = submit(coordinator, harness.sweep_of(jobs), 5)
        bytes_per_job = (harness.resident_bytes(coordinator.process.pid) - before) / (6 * jobs)
        rows.append([f"submit {jobs:,} jobs, durable", f"{millis['median']:.0f} ms",
                     f"{millis['min']:.0f}–{millis['max']:.0f}", "1 s", millis["count"]])
        rows.append(["resident memory a pending job", f"{bytes_per_job:.0f} B", "", "200 B", 1])


def restart(jobs, rows):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        # Half of all jobs end, so that every one of these is accounted for; the other half waits.
        coordinator.submit(harness.sweep_of(jobs // 2))
        before = harness.resident_bytes(coordinator.process.pid)
        coordinator.fake_workers(jobs // 2)
        resident = (harness.resident_bytes(coordinator.process.pid) - before) / (jobs // 2)
        disk = harness.directory_bytes(coordinator.data) / (jobs // 2)
        if coordinator.counts("s1")["counts"]["succeeded"] != jobs // 2:
            raise RuntimeError("jobs are missing")
        coordinator.submit(harness.sweep_of(jobs // 2, command="/bin/other"))
        rows.append(["resident memory a finished job", f"{resident:.0f} B", "", "500 B", 1])
        rows.append(["disk a finished job", f"{disk:.0f} B", "", "300 B", 1])
        coordinator.stop("KILL")
        seconds = []
        for i in range(5):
            start = time.perf_counter()
            coordinator.start()
            coordinator.fake_workers(1, workers=1, slots=1, prefix=f"again{i}", partial=1)
            seconds.append(time.perf_counter() - start)
            coordinator.stop("KILL")
        rows.append([f"killed, restarted, first job leased and done: {jobs:,} jobs, half finished",
                     f"{statistics.median(seconds):.2f} s",
                     f"{min(seconds):.2f}–{max(seconds):.2f}", "2 s", len(seconds)])


def take_over(jobs, rows):
    """The leader ends, and a stand-by on the same PostgreSQL database takes over."""
    with Postgres() as server, harness.Coordinator(
            *completions.options_for(server), parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(jobs // 2))
        coordinator.fake_workers(jobs // 2)
        coordinator.submit(harness.sweep_of(jobs // 2, command="/bin/other"))
        log = coordinator.directory / "log"
        for signal in ("KILL", "TERM"):
            seconds = []
            for i in range(3):
                leader, waiting = coordinator.process, log.read_text().count("stand-by: another")
                coordinator.listen = f"unix:{coordinator.directory}/{signal}{i}"
                coordinator.launch()
                while log.read_text().count("stand-by: another") == waiting:
                    time.sleep(0.002)
                start = time.perf_counter()
                leader.send_signal(getattr(signals, f"SIG{signal}"))
                coordinator.wait_until_it_leads()
                coordinator.fake_workers(1, workers=1, slots=1, prefix=f"{signal}{i}", partial=1)
                seconds.append(time.perf_counter() - start)
                leader.wait()
            rows.append([f"SIG{signal} to the leader, first job leased and done by the stand-by on "
                         f"PostgreSQL: {jobs:,} jobs, half finished",
                         f"{statistics.median(seconds):.2f} s",
                         f"{min(seconds):.2f}–{max(seconds):.2f}", "10 s", len(seconds)])


def watch(coordinator, watchers, events, seconds):
    """Streams in a process of their own, counted once all of them are open."""
    process = subprocess.Popen(
        [CLIENT, "watch", "s1", "--coordinator", coordinator.address, "--watchers", str(watchers),
         "--events", events, "--seconds", str(seconds)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stderr.readline() != "open\n":
        raise RuntimeError(f"{watchers} watchers were not served: {process.stderr.read()}")
    return process


def watched(process, watchers):
    out, errors = process.communicate()
    report = json.loads(out)
    if process.returncode != 0 or report["watchers_open"] != watchers:
        raise RuntimeError(f"{report['watchers_open']} of {watchers} watchers were served: {errors}")
    return report


def many_streams(directory):
    """Options of a coordinator that lets one host open as many streams as are measured."""
    path = pathlib.Path(directory) / "options.yaml"
    path.write_text("apiVersion: concur/v1\nkind: CoordinatorOptions\n"
                    "spec: {limits: {streams_per_peer_max: 20000}}\n")
    return "--options", path


def answers(rows, jobs=100_000, watchers=1000, followers=10, seconds=10):
    """Load: jobs of 0.2 s on 1,024 slots, some 5,000 a second. Each asks in a process of its own."""
    with (tempfile.TemporaryDirectory() as directory,
          harness.Coordinator(*many_streams(directory), parent=pathlib.Path.cwd()) as coordinator):
        coordinator.submit(harness.sweep_of(jobs))
        load = threading.Thread(target=lambda: coordinator.fake_workers(jobs, seconds=0.2))
        load.start()
        progress = watch(coordinator, watchers, "failures", seconds)
        every = watch(coordinator, followers, "all", seconds)
        cpu = harness.process_cpu_seconds(coordinator.process.pid)
        asked = client("ask", "s1", "--coordinator", coordinator.address, "--seconds", seconds - 2)
        cpu = (harness.process_cpu_seconds(coordinator.process.pid) - cpu) / (seconds - 2)
        progress = watched(progress, watchers)
        every = watched(every, followers)
        still_running = coordinator.counts("s1")["counts"]["running"] > 0
        load.join()
        if coordinator.counts("s1")["counts"]["succeeded"] != jobs:
            raise RuntimeError("jobs are missing")
        if not still_running:
            raise RuntimeError("the load ended before the measurement did")
        under = f"p99 under load, {watchers:,} + {followers} watchers"
        for name, millis, target in (
                ("GetSweep", asked["get_sweep"], "20 ms"),
                ("ListJobs, a page of 1,000", asked["list_jobs"], "20 ms"),
                ("WatchSweep, progress and failures: age of the earliest change in a message",
                 progress["earliest_change"], "50 ms"),
                (f"WatchSweep, {followers} watchers of all events: age of an event",
                 every["event"], "50 ms")):
            rows.append([f"{name}, {under}", f"{millis['p99']:.1f} ms",
                         f"median {millis['median']:.1f}, max {millis['max']:.1f}", target,
                         f"{millis['count']:,}"])
        rows.append([f"messages a second to {watchers:,} watchers",
                     harness.si(progress["messages_per_second"]), "", "", 1])
        rows.append(["coordinator CPU meanwhile", f"{cpu:.2f} cores", "", "", 1])


def timed(command):
    """Seconds that a command takes, and the most memory that it has, in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


FRAME = """import sys, time, concur, pandas
sweep = concur.connect(sys.argv[1]).sweep("s1")
start = time.perf_counter()
scores = sweep.scores()
print(time.perf_counter() - start, len(scores))"""


IMPORT = """import time
start = time.perf_counter()
import concur
print(time.perf_counter() - start)"""


def python_with_concur(*arguments):
    """Output of an interpreter of its own, without the time of its start."""
    environment = dict(os.environ, PYTHONPATH=str(harness.ROOT / "python"),
                       CONCUR_PROGRAM=str(harness.BIN / "concur"))
    done = subprocess.run([sys.executable, "-c", *arguments], env=environment, check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout


def seconds_of_import():
    return float(python_with_concur(IMPORT))


def seconds_of_frame(address, scores):
    seconds, count = python_with_concur(FRAME, address).split()
    if int(count) != scores:
        raise RuntimeError(f"{count} of {scores} scores were read")
    return float(seconds)


def reading(rows, scores=1_000_000, approaches=100, benchmarks=100, seeds=10, runs=5):
    """Answers of a sweep that has ended: every score by itself, then tables of 100,000 cells."""
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(scores))
        coordinator.fake_workers(scores)
        concur = [harness.BIN / "concur", "--server", coordinator.address]
        for form in (["--by-job", "-o", "csv"], ["--by-job", "-o", "jsonl"], ["--columns"]):
            command = ["scores", "s1", *form]
            add_reading(rows, f"{scores:,} scores by `concur {' '.join(command)}`",
                        lambda: timed([*concur, *command]), "", runs)
        add_reading(rows, "`import concur` in Python", lambda: (seconds_of_import(), None), "0.3 s", runs)
        add_reading(rows, f"{scores:,} scores by Python's scores()",
                    lambda: (seconds_of_frame(coordinator.address, scores), None), "3 s", runs)
    cells = approaches * benchmarks * seeds
    with (tempfile.TemporaryDirectory(dir=pathlib.Path.cwd()) as directory,
          harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator):
        coordinator.submit(harness.study_of(approaches, benchmarks, seeds), sets=benchmarks)
        coordinator.fake_workers(cells)
        concur = [harness.BIN / "concur", "--server", coordinator.address]
        for command in (["scores", "s1"], ["matrix", "s1"], ["job", "list", "s1", "--limit", 0],
                        ["report", "s1", "--interval", 0, "--out", f"{directory}/report.html"]):
            words = " ".join(map(str, command)).partition(" --out")[0]
            add_reading(rows, f"{cells:,} cells by `concur {words}`",
                        lambda: timed([*concur, *command]), "2 s, 300 MB", runs)


def add_reading(rows, what, run, target, runs):
    measured = [run() for _ in range(runs)]
    seconds = [took for took, _ in measured]
    memory = max(most for _, most in measured) if measured[0][1] is not None else None
    rows.append([what, f"{statistics.median(seconds):.2f} s" + (f", {memory:.0f} MB" if memory else ""),
                 f"{min(seconds):.2f}–{max(seconds):.2f}", target, runs])


def throughput(rows, sizes=(1_000, 100_000, 1_000_000)):
    medians = {}
    for jobs in sizes:
        reports = [completions.measure(jobs) for _ in range(5 if jobs < 1_000_000 else 3)]
        rates = [report["per_second"] for report in reports]
        medians[jobs] = statistics.median(rates)
        cpu = statistics.median(report["cpu_us"] for report in reports)
        rows.append([f"durable results a second, {jobs:,} jobs", harness.si(medians[jobs]),
                     f"{harness.si(min(rates))}–{harness.si(max(rates))}", "20 k", len(rates)])
        rows.append([f"coordinator CPU a job, {jobs:,} jobs", f"{cpu:.1f} µs", "", "25 µs",
                     len(rates)])
    rows.append([f"results a second, {sizes[-1]:,} jobs over {sizes[0]:,}",
                 f"{medians[sizes[-1]] / medians[sizes[0]]:.2f}", "", "0.90", 1])
    return medians[sizes[0]]


def memory(rows, jobs=100_000, workers=1000):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(jobs))
        coordinator.fake_workers(jobs, workers=workers, slots=4, channels=2)
        resident = harness.resident_bytes(coordinator.process.pid) / 1e6
        rows.append([f"resident memory, {jobs:,} finished jobs and {workers:,} workers",
                     f"{resident:.0f} MB", "", "150 MB", 1])


def schedules(rows):
    def simulate(sweep, *arguments):
        done = subprocess.run([harness.BIN / "concur", "-o", "json", "sweep", "simulate", sweep,
                               *map(str, arguments)], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    study = harness.ROOT / "configs/sweeps/concurrence.yaml"
    durations = harness.ROOT / "bench/concurrence-durations.csv"
    for workers in (16, 64):
        forecast = simulate(study, "--workers", workers, "--slots", 1, "--durations", durations)
        rows.append([f"makespan of the 3,840-cell study over its bound, {workers} slots",
                     f"{forecast['makespan_seconds'] / forecast['bound_seconds']:.3f}", "", "1.03",
                     1])
    with tempfile.TemporaryDirectory(dir=pathlib.Path.cwd()) as directory:
        folder = pathlib.Path(directory)
        (folder / "sweep.yaml").write_text(harness.sweep_of(20_000))
        for i in range(10):
            (folder / f"set-{i}.txt").write_text(f"{i}\n")
        (folder / "durations.csv").write_text(
            "approach,benchmark,kind,seconds,spread\n*,*,eval,1,0.3\n")
        forecast = simulate(folder / "sweep.yaml", "--workers", 200, "--slots", 1, "--durations",
                            folder / "durations.csv")
        rows.append(["utilisation, 20,000 jobs of 1 s on 200 slots",
                     f"{100 * forecast['utilization']:.1f} %", "", "97 %", 1])


def real_processes(rows, jobs=4000):
    entries = [processes.Floor(), processes.Concur(), Xargs()]
    rates, _ = rivals.interleaved(
        entries, [], lambda rival: [(rival.key, rival.process_rate(jobs))])
    floor = statistics.median(rates["floor"])
    for name, values, target in (("Concur", rates["concur"], "0.70, above xargs"),
                                 ("xargs -P2", rates["xargs"], "")):
        rows.append([f"processes a second on two slots, {name}, of the posix_spawn floor",
                     f"{statistics.median(values) / floor:.2f}",
                     f"{harness.si(min(values))}–{harness.si(max(values))} of {harness.si(floor)}",
                     target, len(values)])


def huge(rows, base=None, jobs=10_000_000, workers=10_000):
    """Results a second and memory on ten thousand workers: of ten million jobs, on workers like those
    of the thousand that they are compared with, and of a million, on workers that take four at a time."""
    if base is None:
        base = statistics.median(completions.measure(1000)["per_second"] for _ in range(5))
    for count, slots, target in ((jobs, 64, "0.80"), (jobs // 10, 4, "")):
        with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
            coordinator.submit(harness.sweep_of(count))
            before = harness.resident_bytes(coordinator.process.pid)
            report = coordinator.fake_workers(count, workers=workers, slots=slots, channels=20)
            resident = (harness.resident_bytes(coordinator.process.pid) - before) / count
            if coordinator.counts("s1")["counts"]["succeeded"] != count:
                raise RuntimeError("jobs are missing")
        what = f"{count:,} jobs on {workers:,} workers of {slots} slots"
        rows.append([f"results a second, {what}, over 1,000 jobs",
                     f"{report['per_second'] / base:.2f}",
                     f"{harness.si(report['per_second'])} over {harness.si(base)}", target, 1])
        rows.append([f"resident memory a finished job, {what}", f"{resident:.0f} B", "",
                     "500 B" if target else "", 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["submissions", "restart", "answers", "reading", "throughput", "memory", "schedules",
             "processes", "huge"]
    named = ["take-over"]  # needs PostgreSQL, and so is not measured unless asked for
    parser.add_argument("jobs", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=parts + named, default=parts, metavar="PART",
                        help=f"of {', '.join(parts + named)}")
    arguments = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f}\n", flush=True)
    rows = []
    base = None
    for part in arguments.only:
        first = len(rows)
        if part == "submissions":
            submissions(arguments.jobs, rows)
        elif part == "restart":
            restart(arguments.jobs, rows)
        elif part == "take-over":
            take_over(arguments.jobs, rows)
        elif part == "answers":
            answers(rows)
        elif part == "reading":
            reading(rows)
        elif part == "throughput":
            base = throughput(rows)
        elif part == "memory":
            memory(rows)
        elif part == "schedules":
            schedules(rows)
        elif part == "processes":
            real_processes(rows)
        elif part == "huge":
            huge(rows, base)
        for row in rows[first:]:
            print(" | ".join(map(str, row)), flush=True)
    print("\n" + harness.table(["what", "median", "min–max", "target", "runs"], rows))
    print(f"\nload average after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
