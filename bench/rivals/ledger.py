# SPDX-License-Identifier: Apache-2.0
"""A file with one line for each end of a job, written by whichever process ended it.

A line goes in one append, about a microsecond, beside at least ten times as much for the job itself:
the same check of accounting and the same clock for every rival whose own records do not have both.
"""

import os
import time

import rivals

_LINE = 32  # bytes: job, monotonic nanoseconds
_files = {}


def note(path, job):
    """Writes down, in any process, that this job has ended."""
    if path not in _files:
        _files[path] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    os.write(_files[path], b"%010d %020d\n" % (job, time.monotonic_ns()))


def count(path):
    return os.path.getsize(path) // _LINE if os.path.exists(path) else 0


def rate(path, jobs):
    """Ends a second, from the first to the last; raises unless so many jobs ended, each once."""
    with open(path) as lines:
        ends = [tuple(map(int, line.split())) for line in lines]
    rivals.exactly(jobs, (job for job, _ in ends), path)
    times = [end for _, end in ends]
    return (jobs - 1) / (max(times) - min(times)) * 1e9
