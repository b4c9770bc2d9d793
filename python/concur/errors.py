# SPDX-License-Identifier: Apache-2.0
"""Errors, by the exit code of the program (docs/exit-codes.md)."""

from __future__ import annotations


class ConcurError(Exception):
    """The program refused or failed. The message names file, line and field where there are some."""


class InvalidInput(ConcurError):
    """A sweep, a file or an argument is not as it must be."""


class NotFound(ConcurError):
    """There is no such sweep, job, worker or pool."""


class StateForbids(ConcurError):
    """The state of the sweep or the job does not allow it."""


class SweepFailed(ConcurError):
    """The sweep has ended, and not all of its jobs have succeeded or were stopped early."""


class JobFailed(ConcurError):
    """A call of Client.map gave no result."""


class PermissionDenied(ConcurError):
    """The token is missing, or its role does not allow it."""


class Unavailable(ConcurError):
    """No coordinator answers. It may be asked again."""


class Timeout(ConcurError):
    """The time given was over first. The sweep goes on."""


BY_EXIT_CODE = {
    2: InvalidInput,
    3: NotFound,
    4: StateForbids,
    5: SweepFailed,
    6: PermissionDenied,
    7: Unavailable,
    124: Timeout,
}
