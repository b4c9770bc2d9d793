# SPDX-License-Identifier: Apache-2.0
"""For use inside jobs; Python's own library is all that it needs.

This file travels with the functions of Client.map, as their package `concur`: a change of it makes
them run anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys
from typing import Any, Dict, List, Optional

# Beginning of a line of a job's log that reports a value.
METRIC_MARK = "concur-metric "


def report_metric(step: Optional[int] = None, value: float = 0.0, name: str = "value") -> None:
    """Reports a value while the job runs, for Job.metrics(). It is a line of the job's log, and of
    the file CONCUR_METRICS_LINES, for output may be redirected. A step of a name counts once."""
    _report({"step": step, "name": str(name), "value": float(value)})


def report_progress(done: int, of: int) -> None:
    """Says that `done` of `of` parts of the job's work are done. The fraction shows while it runs."""
    _report({"step": int(done), "of": int(of)})


def _report(fields: Dict[str, Any]) -> None:
    report = json.dumps(fields)
    # One write each: lines of several processes do not mix.
    sys.stdout.flush()
    os.write(1, (METRIC_MARK + report + "\n").encode("utf-8"))
    path = os.environ.get("CONCUR_METRICS_LINES")
    if path:
        with open(path, "ab", buffering=0) as lines:
            lines.write((report + "\n").encode("utf-8"))


def _code_digest(folder: str) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(folder)}\0".encode("utf-8", "surrogateescape"))
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def checkpoint_dir() -> pathlib.Path:
    """A folder that later attempts of this job find as this one leaves it.

    It is CONCUR_CHECKPOINT, which the coordinator keeps until the job has ended. With
    CHECKPOINT_ROOT (the argument `checkpoints` of Client.map, or `env` of an approach) it lies below
    that folder, which must be one that all workers share; another job, another setting or other code
    has another, and nobody removes it. Write a file under another name first, then rename it: an
    attempt may end at any time.
    """
    root = os.environ.get("CHECKPOINT_ROOT")
    job = os.environ.get("CONCUR_JOB")
    if not job:
        raise RuntimeError("checkpoint_dir() is for jobs: CONCUR_JOB is not set here")
    own = os.environ.get("CONCUR_CHECKPOINT")
    if not root:
        if not own:
            raise RuntimeError("CONCUR_CHECKPOINT is not set: upgrade the worker")
        return pathlib.Path(own)
    parts: List[str] = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith("CONCUR_HP_")
        or name in ("CONCUR_JOB", "CONCUR_APPROACH", "CONCUR_BENCHMARK", "CONCUR_SEED")
    ]
    code = os.environ.get("CONCUR_CODE")
    parts.append(_code_digest(code) if code else "")
    key = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = pathlib.Path(root) / f"{job.replace('/', '-')}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
