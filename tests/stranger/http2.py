# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 frames by hand, for clients that break every rule. Standard library only."""

import select
import socket
import ssl
import struct
import time

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
ACK = END_STREAM = 1
END_HEADERS = 4


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(name, value, indexed=False):
    """A literal of HPACK without Huffman coding; `indexed`: kept in the dynamic table."""

    def text(raw):
        length = len(raw)
        if length < 127:
            return bytes([length]) + raw
        out, length = b"\x7f", length - 127
        while length >= 128:
            out, length = out + bytes([length % 128 + 128]), length // 128
        return out + bytes([length]) + raw

    return (b"\x40" if indexed else b"\x00") + text(name.encode()) + text(value.encode())


def call_headers(method, **more):
    """The header block of a gRPC call."""
    fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": "a",
              "te": "trailers", "content-type": "application/grpc"}
    fields.update({name.replace("_", "-"): value for name, value in more.items()})
    return b"".join(header(name, value) for name, value in fields.items())


def message(body, compressed=False, announced=None):
    return struct.pack(">BI", compressed, len(body) if announced is None else announced) + body


class Connection:
    """One connection; `settings` are pairs of number and value."""

    def __init__(self, port, tls=None, settings=(), timeout=5.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        payload = b"".join(struct.pack(">HI", number, value) for number, value in settings)
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, payload))
        self.received = b""
        self.readable = select.poll()  # select() has no room for the attackers' descriptors
        self.readable.register(self.socket, select.POLLIN)

    def send(self, data):
        self.socket.sendall(data)

    def read(self, seconds):
        """The next frame as (kind, flags, stream, payload); None after `seconds`."""
        until = time.monotonic() + seconds
        while True:
            if len(self.received) >= 9:
                length = int.from_bytes(self.received[:3], "big")
                if len(self.received) >= 9 + length:
                    whole, self.received = self.received[:9 + length], self.received[9 + length:]
                    return whole[3], whole[4], int.from_bytes(whole[5:9], "big"), whole[9:]
            left = until - time.monotonic()
            if left <= 0:
                return None
            pending = isinstance(self.socket, ssl.SSLSocket) and self.socket.pending()
            if not pending and not self.readable.poll(1000 * left):
                return None
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("closed by the server")
            self.received += data

    def call(self, method, body, seconds, **headers):
        """Makes a unary call on stream 1; says whether a message answered it within `seconds`."""
        until = time.monotonic() + seconds
        self.send(frame(HEADERS, END_HEADERS, 1, call_headers(method, **headers)) +
                  frame(DATA, END_STREAM, 1, message(body)))
        answered = False
        while time.monotonic() < until:
            got = self.read(until - time.monotonic())
            answered |= got is not None and got[:1] == (DATA,)
            if got is not None and got[0] == SETTINGS and not got[1] & ACK:
                self.send(frame(SETTINGS, ACK))
            if got is not None and got[2] == 1 and got[0] in (HEADERS, RESET) and got[1] & END_STREAM:
                return answered
        return False

    def close(self):
        self.socket.close()
