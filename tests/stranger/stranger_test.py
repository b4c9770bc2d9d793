#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers, who have no token, attack a real coordinator by plain text and by TLS.

Meanwhile its memory stays within half of what its pod has, a client with a token is answered
within two seconds, and /readyz tells whether it is; the page and the annotators' page answer, too.
Each process runs in a memory control group with the pod's limit and memory is that group's peak;
where none can be made it is the peak of resident memory. Descriptors are limited to 1,024.

    stranger_test.py [ATTACK…]
"""

import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zlib

from http2 import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RESET, SETTINGS,
                   WINDOW, Connection, call_headers, frame, header, message)

POD_MEMORY = 2 << 30  # of k8s/base/coordinator.yaml
MEMORY_MAX = POD_MEMORY // 2
ANSWER_MAX = 2.0
DESCRIPTORS = 1024
SECONDS = 1.5  # that an attack lasts
METHOD = "/concur.v1.Coordinator/CreateSweep"
BINARIES = os.environ.get("CONCUR_BIN_DIR", "build/dev/bin")


def flood(connection, data):
    """Sends `data` again and again, reading nothing, until cut off or SECONDS have passed."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        connection.send(data)


def zeros_packed(mebibytes):
    """As gzip, without the check at its end, which comes too late for who unpacks it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    mebibyte = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08" + bytes(7) + mebibytes * mebibyte


def compression(connect):
    packed = zeros_packed(1024)
    connection = connect()
    for stream in (1, 3, 5, 7):
        connection.send(frame(HEADERS, END_HEADERS, stream, call_headers(METHOD, grpc_encoding="gzip")))
    send_by_window(connection, {stream: message(packed, True) for stream in (1, 3, 5, 7)}, END_STREAM)


def small_compression(connect):
    """As much as a stranger may send, packed, on many connections."""
    packed = zeros_packed(48)
    for _ in range(24):
        connection = connect()
        connection.send(frame(HEADERS, END_HEADERS, 1, call_headers(METHOD, grpc_encoding="gzip")))
        send_by_window(connection, {1: message(packed, True)}, END_STREAM, 0.1)


def half_messages(connect):
    connections = [connect() for _ in range(4)]
    for connection in connections:
        streams = range(1, 40, 2)
        for stream in streams:
            connection.send(frame(HEADERS, END_HEADERS, stream, call_headers(METHOD)))
        body = message(bytes(100 << 20), announced=127 << 20)
        send_by_window(connection, {stream: body for stream in streams})


def settings_of(payload):
    return [(int.from_bytes(payload[at:at + 2], "big"), int.from_bytes(payload[at + 2:at + 6], "big"))
            for at in range(0, len(payload), 6)]


def send_by_window(connection, bodies, last_flags=0, seconds=SECONDS):
    """Sends each stream's body as far as the server's windows allow."""
    windows = {stream: 65535 for stream in bodies}
    window, sent = 65535, {stream: 0 for stream in bodies}
    initial = 65535
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        progress = False
        for stream, body in bodies.items():
            piece = min(windows[stream], window, 16384, len(body) - sent[stream])
            if piece > 0:
                end = sent[stream] + piece == len(body)
                connection.send(frame(DATA, last_flags if end else 0, stream,
                                      body[sent[stream]:sent[stream] + piece]))
                sent[stream] += piece
                windows[stream] -= piece
                window -= piece
                progress = True
        got = connection.read(0 if progress else 0.05)
        while got is not None:
            kind, flags, stream, payload = got
            if kind == SETTINGS and not flags & ACK:
                for number, value in settings_of(payload):
                    if number == 4:
                        windows = {one: left + value - initial for one, left in windows.items()}
                        initial = value
                connection.send(frame(SETTINGS, ACK))
            elif kind == PING and not flags & ACK:
                connection.send(frame(PING, ACK, 0, payload))
            elif kind == WINDOW and stream == 0:
                window += int.from_bytes(payload, "big")
            elif kind == WINDOW and stream in windows:
                windows[stream] += int.from_bytes(payload, "big")
            got = connection.read(0)


def resets(connect):
    headers = call_headers("/concur.v1.Coordinator/ListSweeps")
    connection = connect()
    stream, until = 1, time.monotonic() + 3 * SECONDS
    while time.monotonic() < until:
        data = b""
        for _ in range(500):
            data += frame(HEADERS, END_HEADERS, stream, headers) + frame(RESET, 0, stream, b"\0\0\0\x08")
            stream += 2
        connection.send(data)


def continuations(connect):
    connection = connect()
    connection.send(frame(HEADERS, 0, 1, call_headers(METHOD)))
    flood(connection, frame(CONTINUATION, 0, 1, header("x", "y" * 8000) * 2))


def empty_continuations(connect):
    connection = connect()
    connection.send(frame(HEADERS, 0, 1, call_headers(METHOD)))
    flood(connection, frame(CONTINUATION, 0, 1) * 1000)


def pings(connect):
    flood(connect(), frame(PING, 0, 0, bytes(8)) * 1000)


def settings(connect):
    flood(connect(), frame(SETTINGS, 0, 0, b"\0\x04\0\0\x10\0") * 1000)


def slow_readers(connect):
    """Asks for the longest answer that needs no token, many times, and reads none of it."""
    for _ in range(8):
        connection = connect(settings=((4, 0x7fffffff),))
        connection.send(frame(WINDOW, 0, 0, b"\x7f\0\0\0"))
        body = message(b"\x22\x1cconcur.v1.CreateSweepRequest")
        for stream in range(1, 400, 2):
            connection.send(frame(HEADERS, END_HEADERS, stream, call_headers(
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")))
            for _ in range(50):
                connection.send(frame(DATA, 0, stream, body))


def header_bomb(connect):
    connection = connect()
    connection.send(frame(HEADERS, END_HEADERS | END_STREAM, 1,
                          call_headers(METHOD) + header("x", "y" * 3900, indexed=True)))
    stream, until = 3, time.monotonic() + SECONDS
    while time.monotonic() < until:
        connection.send(frame(HEADERS, END_HEADERS | END_STREAM, stream,
                              call_headers(METHOD) + b"\xbe" * 16000))
        stream += 2


def idle(connect, count=1100):
    """Bare connections, which send nothing at all."""
    kept = []
    for _ in range(count):
        try:
            kept.append(socket.create_connection(("127.0.0.1", connect.port), 1))
        except OSError:
            break
    time.sleep(2 * SECONDS)
    for one in kept:
        one.close()


def attack_pages(connect, begin, more):
    """Opens connections to the pages and to the status server that send `begin`, then `more` again and again."""
    kept, until = [], time.monotonic() + 2 * SECONDS
    while time.monotonic() < until:
        for port in (connect.page, connect.annotators, connect.metrics):
            for _ in range(20):
                kept.append(socket.create_connection(("127.0.0.1", port), 1))
                kept[-1].send(begin)
        for one in list(kept):
            try:
                one.send(more, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:
                kept.remove(one)
                one.close()
        for port in (connect.page, connect.annotators):
            asked = time.monotonic()
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=ANSWER_MAX).close()
            except urllib.error.HTTPError:
                pass  # an answer, too
            except OSError:
                asked -= ANSWER_MAX
            connect.page_waited = max(connect.page_waited, time.monotonic() - asked)
    for one in kept:
        one.close()


def slow_pages(connect):
    """Requests that arrive byte by byte."""
    attack_pages(connect, b"GET /", b"a")


def page_headers(connect):
    """Heads without an end."""
    attack_pages(connect, b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X: " + b"y" * 65000 + b"\r\n")


def page_bodies(connect):
    """Bodies that are announced large and do not end."""
    attack_pages(connect, b"POST /api/ListSweeps HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nContent-Length: 4000000000\r\n\r\n", b" " * 65536)


ATTACKS = [compression, small_compression, half_messages, resets, continuations, empty_continuations, pings,
           settings, slow_readers, header_bomb, idle, slow_pages,
           page_headers, page_bodies]


class MemoryGroup:
    """A control group with the pod's memory for one process; None in `directory` where none can be made."""

    def __init__(self, name):
        self.directory = None
        for root, limit, self.peak_file in (
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
                ("/sys/fs/cgroup", "memory.max", "memory.peak")):
            directory = os.path.join(root, f"concur-stranger-{os.getpid()}-{name}")
            try:
                os.mkdir(directory)
            except OSError:
                continue
            try:
                with open(os.path.join(directory, limit), "w") as file:
                    file.write(str(POD_MEMORY))
                with open(os.path.join(directory, self.peak_file)):
                    self.directory = directory
                    return
            except OSError:
                os.rmdir(directory)

    def enter(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        if self.directory:
            with open(os.path.join(self.directory, "cgroup.procs"), "w") as file:
                file.write(str(os.getpid()))

    def peak(self, process):
        if self.directory:
            with open(os.path.join(self.directory, self.peak_file)) as file:
                return int(file.read())
        with open(f"/proc/{process.pid}/status") as file:
            found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
            return int(found[1]) << 10 if found else POD_MEMORY  # gone: a zombie has none

    def remove(self):
        if self.directory:
            os.rmdir(self.directory)


class Annotators:
    """The annotators' page, a process of its own."""

    def __init__(self, directory):
        passages = os.path.join(directory, "passages.jsonl")
        with open(passages, "w") as file:
            file.write('{"id": "a", "text": "Ada lives in Bern."}\n')
        self.group = MemoryGroup("annotators")
        self.process = subprocess.Popen(
            [os.path.join(BINARIES, "concur"), "annotate", "--dir", os.path.join(directory, "room"),
             "--passages", passages, "--system", "none", "--annotator", "ada", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=self.group.enter)
        text = ""
        while not (link := re.search(r"http://[^/\s]+:(\d+)/", text)):
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the annotators' page did not start:\n" + text)
            text += line
        self.port = int(link[1])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=15)
        self.group.remove()
        return self.process.returncode


class Coordinator:
    """A coordinator process and its client with a token."""

    def __init__(self, directory, tls):
        self.directory, self.tls = directory, tls
        self.data = os.path.join(directory, "data")
        arguments = [os.path.join(BINARIES, "concur-coordinator"), "--data-dir", self.data]
        environment = dict(os.environ, XDG_STATE_HOME=os.path.join(directory, "state"))
        self.context = None
        if tls:
            subprocess.run(arguments + ["init-tls"], check=True, env=environment, stdout=subprocess.DEVNULL)
            files = os.path.join(self.data, "tls")
            arguments += ["--tls-certificate", files + "/server.pem", "--tls-key", files + "/server.key"]
            self.context = ssl.create_default_context(cafile=files + "/ca.pem")
            self.context.set_alpn_protocols(["h2"])
        self.log = open(os.path.join(directory, "log"), "w+")
        self.group = MemoryGroup("coordinator")
        self.process = subprocess.Popen(
            arguments + ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
                         "--page-listen", "127.0.0.1:0"], env=environment,
            stdout=self.log, stderr=self.log, preexec_fn=self.group.enter)
        self.port, self.metrics, self.page = self.wait_for_ports()
        with open(os.path.join(self.data, "token")) as file:
            self.token = file.read().strip()

    def text(self):
        with open(self.log.name) as file:
            return file.read()

    def wait_for_ports(self):
        until = time.monotonic() + 30
        while time.monotonic() < until:
            line = re.search(r"listening on \S+?:(\d+).*metrics=\S+?:(\d+) page=http\S+?:(\d+)", self.text())
            if line:
                return int(line[1]), int(line[2]), int(line[3])
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("the coordinator did not start:\n" + self.text())

    def connect(self, **options):
        return Connection(self.port, self.context, **options)

    def peak(self):
        return self.group.peak(self.process)

    def answer_seconds(self):
        """Seconds that the client with the token waited; ANSWER_MAX: it got no answer.

        As gRPC's clients do, it connects again when a connection is closed.
        """
        begin = time.monotonic()
        while (left := begin + ANSWER_MAX - time.monotonic()) > 0:
            try:
                connection = self.connect(timeout=left)
                answered = connection.call("/concur.v1.Coordinator/ListSweeps", b"", left,
                                           authorization="Bearer " + self.token)
                connection.close()
                return time.monotonic() - begin if answered else ANSWER_MAX
            except OSError:
                time.sleep(0.1)
        return ANSWER_MAX

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "hangs"
        finally:
            self.group.remove()


class Client(threading.Thread):
    """Asks again and again, as long as an attack lasts."""

    def __init__(self, coordinator):
        super().__init__()
        self.coordinator, self.done = coordinator, threading.Event()
        self.slowest, self.lies = 0.0, False

    def run(self):
        lied = False  # once may be a change between the two questions
        while True:
            waited = self.coordinator.answer_seconds()
            self.slowest = max(self.slowest, waited)
            lies = (waited < ANSWER_MAX) != self.coordinator.ready()
            self.lies = self.lies or (lies and lied)
            lied = lies
            if self.done.wait(0.3) and (self.lies or not lies):
                return


def attacked(coordinator, annotators, attack):
    """Sentences of all that went wrong."""
    client = Client(coordinator)
    client.start()

    def connect(**options):
        return coordinator.connect(**options)

    connect.port, connect.metrics, connect.page = coordinator.port, coordinator.metrics, coordinator.page
    connect.annotators = annotators.port
    connect.page_waited = 0.0
    try:
        attack(connect)
        ended = "went through"
    except OSError as error:
        ended = f"cut off ({error})"
    client.done.set()
    client.join()
    wrong = []
    if coordinator.process.poll() is not None:
        wrong.append(f"the coordinator ended with {coordinator.process.returncode}")
    elif coordinator.peak() > MEMORY_MAX:
        wrong.append(f"it took {coordinator.peak() >> 20} MiB")
    if annotators.process.poll() is not None:
        wrong.append(f"the annotators' page ended with {annotators.process.returncode}")
    elif annotators.group.peak(annotators.process) > MEMORY_MAX:
        wrong.append("the annotators' page took too much memory")
    if client.slowest >= ANSWER_MAX:
        wrong.append("the client with a token got no answer")
    if connect.page_waited >= ANSWER_MAX:
        wrong.append("a page did not answer")
    if client.lies:
        wrong.append("/readyz did not tell the truth")
    print(f"  {attack.__name__:20} {'TLS  ' if coordinator.tls else 'plain'} "
          f"peak {coordinator.peak() >> 20:5} MiB, slowest answer {client.slowest:4.2f} s, {ended}"
          f"{''.join('; WRONG: ' + one for one in wrong)}", flush=True)
    return wrong


def main():
    chosen = [attack for attack in ATTACKS if not sys.argv[1:] or attack.__name__ in sys.argv[1:]]
    failed = 0
    for tls in (False, True):
        with tempfile.TemporaryDirectory() as directory:
            coordinator, annotators = Coordinator(directory, tls), Annotators(directory)
            for attack in chosen:
                failed += bool(attacked(coordinator, annotators, attack))
                if coordinator.process.poll() is not None or annotators.process.poll() is not None:
                    break
            if (status := annotators.end()) != 0:
                failed += 1
                print(f"the annotators' page ended with {status}")
            if (status := coordinator.end()) != 0:
                failed += 1
                print(f"the coordinator ended with {status}:\n{coordinator.text()[-3000:]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
