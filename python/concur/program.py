# SPDX-License-Identifier: Apache-2.0
"""Runs the `concur` program and turns what it prints into values and exceptions."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from typing import IO, TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence

from concur.columns import read_frame
from concur.errors import BY_EXIT_CODE, ConcurError
from concur.frames import load_pandas

if TYPE_CHECKING:
    import pandas


def find_program() -> str:
    """CONCUR_PROGRAM, else `concur` on the PATH."""
    program = os.environ.get("CONCUR_PROGRAM") or shutil.which("concur")
    if not program:
        raise ConcurError(
            "the program concur is not on the PATH; install the package concur, "
            "or name the program in CONCUR_PROGRAM"
        )
    return program


F_SETPIPE_SZ = 1031  # of Linux; fcntl has it from Python 3.10 on


def _widen(pipe: IO[bytes]) -> None:
    """Lets the program write on while a piece is parsed, where the system allows it."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, F_SETPIPE_SZ, 1 << 20)


_TEXT_MARKS = ("concur: error: ", "concur: warning: ", "concur: ")  # of commands without JSON


def _messages(stderr: str) -> List[str]:
    messages = []
    for line in stderr.splitlines():
        try:
            value = json.loads(line)
            messages.append(value.get("error", value.get("warning"))["message"])
        except (ValueError, KeyError, TypeError, AttributeError):
            mark = next((mark for mark in _TEXT_MARKS if line.startswith(mark)), "")
            messages.append(line[len(mark) :])
    return messages


def _error_of(exit_code: int, stderr: str) -> ConcurError:
    messages = _messages(stderr)
    return BY_EXIT_CODE.get(exit_code, ConcurError)("\n".join(messages) or f"exit code {exit_code}")


def _callers_level() -> int:
    """The stack level of the first caller outside this package and contextlib, for a warning."""
    inside = (os.path.dirname(os.path.abspath(__file__)), contextlib.__file__)
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    return level


class Program:
    """The program, with the options of a connection before every command."""

    def __init__(self, options: Sequence[str], token: Optional[str] = None) -> None:
        self.argv = [find_program(), *options]
        if token is not None:
            # Arguments and environments of processes are seen by others; a file of mode 0600 is not.
            self._token = tempfile.NamedTemporaryFile("w", prefix="concur-token-")
            self._token.write(token.strip() + "\n")
            self._token.flush()
            self.argv += ["--token-file", self._token.name]
        # Command that each thread runs, for stop().
        self._running: Dict[int, "subprocess.Popen[Any]"] = {}

    @contextlib.contextmanager
    def _started(
        self, arguments: Sequence[str], stdin: Any, stderr: Any
    ) -> Iterator["subprocess.Popen[Any]"]:
        """The command while it runs. Left early, it is ended: nothing that it asked for is undone."""
        thread = threading.get_ident()
        process = subprocess.Popen(
            [*self.argv, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr
        )
        self._running[thread] = process
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            assert process.stdout is not None
            process.stdout.close()
            process.wait()
            self._running.pop(thread, None)

    def stop(self, thread: int) -> None:
        """Ends the command that the thread is waiting for, if there is one."""
        process = self._running.get(thread)
        if process is not None:
            process.terminate()

    def run(
        self,
        arguments: Sequence[str],
        mode: str = "json",
        stdin: Optional[str] = None,
        warn: bool = False,
    ) -> str:
        """Output of the command. Raises a ConcurError when it fails."""
        with tempfile.TemporaryFile() as given:
            given.write((stdin or "").encode("utf-8"))
            given.seek(0)
            with self._output(["-o", mode, *arguments], given, warn) as output:
                return output.read().decode("utf-8")

    def frame(self, arguments: Sequence[str]) -> "pandas.DataFrame":
        """The table that the command prints, read while it is printed."""
        pandas = load_pandas()
        with self._output(["-o", "csv", *arguments]) as output:
            try:
                # Only what is empty is missing: "NA" is a name. Other parsers of pandas round numbers.
                return pandas.read_csv(
                    output, float_precision="round_trip", keep_default_na=False, na_values=[""]
                )
            except pandas.errors.EmptyDataError:
                return pandas.DataFrame()

    def columns(self, arguments: Sequence[str]) -> "pandas.DataFrame":
        """The binary columns that the command prints."""
        with self._output(arguments) as output:
            _widen(output)
            return read_frame(output)

    @contextlib.contextmanager
    def _output(
        self, arguments: Sequence[str], stdin: Any = subprocess.DEVNULL, warn: bool = False
    ) -> Iterator[IO[bytes]]:
        """Where the command prints; after it a ConcurError when the command failed.

        `warn`: what it says beside its output becomes warnings.
        """
        # Into a file: a pipe that nobody reads would hold the command up.
        with tempfile.TemporaryFile() as messages:
            broken: Optional[ConcurError] = None
            with self._started(arguments, stdin, messages) as process:
                assert process.stdout is not None
                try:
                    yield process.stdout
                except ConcurError as error:  # in what was read: why it is so, the command says
                    broken = error
            messages.seek(0)
            said = messages.read().decode("utf-8", "replace")
            if process.returncode != 0:
                raise _error_of(process.returncode, said)
            for message in _messages(said) if warn else []:
                warnings.warn(message, stacklevel=_callers_level())
            if broken is not None:
                raise broken

    def show(self, arguments: Sequence[str]) -> None:
        """Runs a command whose output the user sees, on stderr; its exit code is not looked at."""
        subprocess.run([*self.argv, *arguments], stdout=sys.stderr, check=False)

    def json(
        self, arguments: Sequence[str], stdin: Optional[str] = None, warn: bool = False
    ) -> Any:
        """The JSON value that the command prints."""
        return json.loads(self.run(arguments, stdin=stdin, warn=warn))

    def lines(self, arguments: Sequence[str]) -> Iterator[Any]:
        """The JSON values of a command that prints one a line, as they come."""
        with self._output(["-o", "jsonl", *arguments]) as output:
            for line in output:
                yield json.loads(line)
