# SPDX-License-Identifier: Apache-2.0
"""Measures what following costs the coordinator: `concur matrix --watch`, and viewers of the page.

usage: live.py [FOLLOWERS ...]                default: 0 1 8
       live.py viewers [COUNT] [JOBS]         default: 200 100000

A sweep of 20 approaches on 32 benchmarks is evaluated by fake workers in some three seconds; the
coordinator's CPU time beyond that of a run that nobody follows, divided by finished cells and
followers, is the cost. The target is 1 ms.

`viewers`: fake workers complete JOBS jobs while nobody looks, while COUNT viewers of the page follow
the sweep, and while COUNT viewers have opened the same streams and read nothing (dead browsers), in
turns. The targets are 5 % fewer durable completions a second, 500 ms from a change to its message, and
nothing for the dead. The viewers run on the same machine, whose time they take: the coordinator's CPU
time for each job says what they cost it.
"""

import json
import multiprocessing
import selectors
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
from datetime import datetime

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


VIEWERS_PER_USER = 50  # fewer than one user may have
PIECE_BYTES = 65536  # bytes read at a time


def open_stream(address, token, receive_bytes=None):
    """A viewer's stream of the sweep, as the page opens it."""
    url = urllib.parse.urlparse(address)
    viewer = socket.socket()
    if receive_bytes:
        viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    viewer.connect((url.hostname, url.port))
    viewer.sendall(
        f"GET /api/v1/WatchSweep?sweep=s1&events=EVENTS_NONE HTTP/1.1\r\nHost: {url.netloc}\r\n"
        f"Authorization: Bearer {token}\r\n\r\n".encode())
    return viewer


def await_head(viewer):
    head = viewer.recv(PIECE_BYTES)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(head.decode())


def latencies_of(pieces):
    """Milliseconds from the earliest change that a message tells of until it was here, for each message
    of one stream that came as `pieces` of (time, bytes)."""
    text, arrivals = b"", []
    for at, piece in pieces:
        text += piece
        arrivals.append((len(text), at))
    found, position = [], 0
    while (end := text.find(b"\n\n", position)) >= 0:
        for line in text[position:end].split(b"\n"):
            if not line.startswith(b"data: {") or b'"earliest_change_time":"' not in line:
                continue
            change = json.loads(line[6:line.rindex(b"}") + 1])["earliest_change_time"]
            at = next(at for size, at in arrivals if size >= end)
            found.append((at - datetime.fromisoformat(change.replace("Z", "+00:00")).timestamp()) * 1000)
        position = end + 2
    return found


def view(address, tokens, count, is_dead, ready, stop, results):
    """A process with `count` viewers. The live ones read all that comes; one of them keeps it."""
    viewers = [open_stream(address, tokens[i % len(tokens)], 4096 if is_dead else None)
               for i in range(count)]
    for viewer in viewers:
        await_head(viewer)
    ready.set()
    kept, total = [], 0
    selector = selectors.DefaultSelector()
    if not is_dead:
        for viewer in viewers:
            viewer.setblocking(False)
            selector.register(viewer, selectors.EVENT_READ)
    while not stop.is_set():
        if is_dead:
            stop.wait()
            break
        for key, _ in selector.select(0.1):
            piece = key.fileobj.recv(PIECE_BYTES)
            total += len(piece)
            if not piece:
                selector.unregister(key.fileobj)
            elif key.fileobj is viewers[0]:
                kept.append((time.time(), piece))
    results.put((latencies_of(kept), total))


def measure_viewers(jobs, count, is_dead):
    with harness.Coordinator("--page-listen", "127.0.0.1:0") as coordinator:
        coordinator.submit(harness.sweep_of(jobs))
        address = (coordinator.data / "page").read_text().split("#")[0]
        tokens = []
        for i in range(-(-count // VIEWERS_PER_USER)):
            out = coordinator.directory / f"viewer-{i}.token"
            subprocess.run([harness.BIN / "concur-coordinator", "token", "create", "--data-dir",
                            coordinator.data, "--user", f"viewer-{i}", "--role", "viewer", "--out", out],
                           check=True, capture_output=True)
            tokens.append(out.read_text().strip())
        ready, stop = multiprocessing.Event(), multiprocessing.Event()
        results = multiprocessing.SimpleQueue()
        process = None
        if count:
            process = multiprocessing.Process(
                target=view, args=(address, tokens, count, is_dead, ready, stop, results))
            process.start()
            if not ready.wait(30):
                raise RuntimeError("the viewers' streams did not open")
        pid = coordinator.process.pid
        cpu = harness.process_cpu_seconds(pid)
        report = coordinator.fake_workers(jobs)
        report["cpu_us"] = (harness.process_cpu_seconds(pid) - cpu) / jobs * 1e6
        report["resident"] = harness.resident_bytes(pid)
        report["latencies"], report["bytes"] = [], 0
        if process is not None:
            stop.set()
            report["latencies"], report["bytes"] = results.get()
            process.join()
        if coordinator.counts("s1")["counts"]["succeeded"] != jobs:
            raise RuntimeError(f"not all of {jobs} jobs succeeded")
        return report


def viewers_main(count, jobs):
    kinds = {"nobody": (0, False), f"{count} viewers": (count, False), f"{count} dead": (count, True)}
    reports = {kind: [] for kind in kinds}
    for _ in range(RUNS):
        for kind, (viewers, is_dead) in kinds.items():  # in turns: the machine's load changes
            reports[kind].append(measure_viewers(jobs, viewers, is_dead))
    rows = []
    base = [report["per_second"] for report in reports["nobody"]]
    for kind, runs in reports.items():
        rates = [report["per_second"] for report in runs]
        ratio = statistics.median(rate / before for rate, before in zip(rates, base))
        late = sorted(late for report in runs for late in report["latencies"])
        rows.append([
            kind, harness.si(statistics.median(rates)),
            f"{harness.si(min(rates))}–{harness.si(max(rates))}", f"{(ratio - 1) * 100:+.1f} %",
            f"{statistics.median(report['cpu_us'] for report in runs):.1f}",
            f"{statistics.median(report['resident'] for report in runs) / 1e6:.0f}",
            f"{statistics.median(late):.0f}, {late[len(late) * 99 // 100]:.0f}" if late else "", RUNS])
        print(" | ".join(map(str, rows[-1])), flush=True)
    print("\n" + harness.table(
        ["who looks", "results/s", "min–max", "to nobody in the same turn", "coordinator CPU µs/job",
         "resident MB", "ms to a message, median, p99", "runs"], rows))


def main():
    if sys.argv[1:2] == ["viewers"]:
        count, jobs = (list(map(int, sys.argv[2:])) + [200, 100_000][len(sys.argv) - 2:])[:2]
        viewers_main(count, jobs)
        return
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
