# SPDX-License-Identifier: Apache-2.0
"""Submit sweeps to Concur, and read scores and concurrence matrices as DataFrames.

    import concur
    client = concur.connect()
    sweep = client.submit("study.yaml")
    sweep.wait()
    sweep.scores()
    sweep.matrix("kendall").tau

The package drives the `concur` program, which checks, expands, stores and computes; what a command
prints as JSON is what a method returns.
"""

from concur.client import Client, connect
from concur.errors import (
    ConcurError,
    InvalidInput,
    JobFailed,
    NotFound,
    PermissionDenied,
    StateForbids,
    SweepFailed,
    Timeout,
    Unavailable,
)
from concur.handles import Job, SubmittedSweep
from concur.inside import checkpoint_dir, report_metric, report_progress
from concur.mapped import Future, Mapped
from concur.matrix import Matrix
from concur.spec import Approach, Benchmark, Sweep
from concur.tune import tune
from concur.version import VERSION as __version__

__all__ = [
    "Approach",
    "Benchmark",
    "Client",
    "ConcurError",
    "Future",
    "InvalidInput",
    "Job",
    "JobFailed",
    "Mapped",
    "Matrix",
    "NotFound",
    "PermissionDenied",
    "StateForbids",
    "SubmittedSweep",
    "Sweep",
    "SweepFailed",
    "Timeout",
    "Unavailable",
    "__version__",
    "checkpoint_dir",
    "connect",
    "report_metric",
    "report_progress",
    "tune",
]
