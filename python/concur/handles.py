# SPDX-License-Identifier: Apache-2.0
"""Handles of what a coordinator keeps: sweeps and jobs.

Nothing is cached: every method asks. Handles may be kept, copied and made anew from an id.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional

from concur.frames import load_pandas
from concur.inside import METRIC_MARK
from concur.matrix import Matrix
from concur.notebook import show_in_notebook
from concur.program import Program
from concur.spec import Path, strings

if TYPE_CHECKING:
    import pandas


class SubmittedSweep:
    """A sweep that the coordinator has."""

    def __init__(self, program: Program, sweep_id: str) -> None:
        self.program = program
        self.id = sweep_id

    def __repr__(self) -> str:
        return f"<concur sweep {self.id}>"

    def get(self) -> Dict[str, Any]:
        """Name, state, counts of jobs by state, times."""
        found: Dict[str, Any] = self.program.json(["sweep", "get", self.id])
        return found

    @property
    def state(self) -> str:
        return str(self.get()["state"])

    def wait(self, timeout: Optional[float] = None, progress: bool = True) -> "SubmittedSweep":
        """Until the sweep has ended; SweepFailed unless all jobs succeeded, Timeout after `timeout` s.

        Jobs that early_stop has stopped count as succeeded. Shows its progress in terminals and
        notebooks. KeyboardInterrupt ends the wait: the sweep goes on.
        """
        limit = strings({"timeout": timeout})
        if progress and sys.stderr.isatty():
            self.program.show(["sweep", "wait", self.id, *limit])
        elif progress and "ipykernel" in sys.modules:
            show_in_notebook(self.get, self.program.lines(["sweep", "watch", self.id, *limit]))
        self.program.run(["sweep", "wait", self.id, *limit])
        return self

    def events(self, after: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """Events of its jobs, as they happen, until the sweep has ended.

        An event's "cursor", where it is not None, resumes after it: events(after=cursor). One with
        "reset" true, and nothing else, says that events before it may be missing, as after a restart
        of the coordinator: ask jobs() how things stand.
        """
        return self.program.lines(["sweep", "watch", self.id, *strings({"after": after})])

    def scores(self, metric: Optional[str] = None) -> "pandas.DataFrame":
        """One row for each job that scores; by default by its benchmark's own metric.

        job (its number), approach, train_set, benchmark, setting ("depth=2 lr=0.1"), setting_index,
        seed, metric, value, low and high (the interval of the value at 95 %, where examples were
        scored), examples, state, worker, seconds (of its command); then the hyperparameters, each of
        its own type ("setting.NAME" where a column has the name). NaN or None where there is nothing.
        """
        return self.program.columns(["scores", self.id, "--columns", *strings({"metric": metric})])

    def table(self, **options: Any) -> "pandas.DataFrame":
        """Approaches × benchmarks, as floats; options as flags of `concur scores`.

        NaN where there is no score. `.attrs` says what is known besides: "approaches" their tags,
        "benchmarks" their tags, goal and scale, and how settings were chosen; "states" why cells
        have no score.
        """
        pandas = load_pandas()
        found = self.program.json(["scores", self.id, *strings(options)])
        names = {
            axis: [entry["name"] for entry in found[axis]] for axis in ("approaches", "benchmarks")
        }
        frame = pandas.DataFrame(
            float("nan"), index=pandas.Index(names["approaches"], name="approach"),
            columns=names["benchmarks"], dtype=float,
        )
        values = [cell["value"] for cell in found["cells"]]  # by approach, then benchmark
        if values:
            frame.iloc[:, :] = pandas.Series(values, dtype=float).to_numpy().reshape(frame.shape)
        for axis in names:
            frame.attrs[axis] = {entry.pop("name"): entry for entry in found[axis]}
        states: Dict[str, Dict[str, str]] = {}  # by approach, then benchmark
        for cell in found["cells"]:
            if cell["state"] != "value":
                states.setdefault(cell["approach"], {})[cell["benchmark"]] = cell["state"]
        frame.attrs["states"] = states
        return frame

    def matrix(self, coefficient: str = "kendall", **options: Any) -> Matrix:
        """The concurrence matrix; options as the flags of `concur matrix`."""
        command = ["matrix", self.id, *strings({"coefficient": coefficient, **options})]
        return Matrix(
            self.program.json(command),
            lambda: self.program.run([*command, "--format", "svg"], mode="table"),
        )

    def analyze(self, command: str, **options: Any) -> "pandas.DataFrame":
        """The table of an analysis: uncertainty, curve, significance, rank, transfer, scatter or
        shift, with its flags as options: analyze("rank", baseline="a")."""
        return self.program.frame([command, self.id, *strings(options)])

    def simulate(self, **options: Any) -> Any:
        """Time that it would take on given workers."""
        return self.program.json(["sweep", "simulate", self.id, *strings(options)])

    def report(self, out: Path, **options: Any) -> None:
        """Writes the page of it as HTML."""
        self.program.run(["report", self.id, "--out", os.fspath(out), *strings(options)])

    def export(self, out: Path, **options: Any) -> None:
        """Writes it with all its numbers to a directory: `concur bundle verify` checks it offline."""
        self.program.run(["bundle", "write", self.id, "--out", os.fspath(out), *strings(options)])

    def jobs(self, **filters: Any) -> "pandas.DataFrame":
        """Its jobs; filters as the flags of `concur job list`, e.g. state="failed"."""
        pandas = load_pandas()
        return pandas.DataFrame(self.job_rows(**filters))

    def job_rows(self, **filters: Any) -> Iterator[Dict[str, Any]]:
        """Its jobs one by one, as `concur job list` gives them."""
        return self.program.lines(["job", "list", self.id, "--limit", "0", *strings(filters)])

    def failures(self) -> "pandas.DataFrame":
        """The jobs that failed, with why."""
        frame = self.jobs(state="failed")
        if not frame.empty:
            frame["message"] = [result and result.get("message") for result in frame["result"]]
        return frame

    def failure_groups(self) -> Any:
        """The failures, equal ones as one."""
        return self.program.json(["sweep", "failures", self.id])

    def job(self, number: int) -> "Job":
        return Job(self.program, f"{self.id}/{number}")

    def pause(self) -> None:
        self.program.json(["sweep", "pause", self.id])

    def resume(self) -> None:
        self.program.json(["sweep", "resume", self.id])

    def set_priority(self, priority: int) -> None:
        self.program.json(["sweep", "set", self.id, "--priority", str(priority)])

    def cancel(self) -> None:
        """Ends what is unfinished; finished results stay."""
        self.program.json(["sweep", "cancel", self.id])

    def delete(self) -> None:
        """Removes it once it has ended."""
        self.program.run(["sweep", "delete", self.id, "--yes"])

    def retry(self) -> int:
        """Returns failed, skipped and canceled jobs to the queue, and tells how many."""
        return int(self.program.json(["sweep", "retry", self.id])["retried"])


class Job:
    """One job of a sweep."""

    def __init__(self, program: Program, job_id: str) -> None:
        self.program = program
        self.id = job_id

    def __repr__(self) -> str:
        return f"<concur job {self.id}>"

    def get(self) -> Dict[str, Any]:
        """State, attempt, setting, result."""
        found: Dict[str, Any] = self.program.json(["job", "get", self.id])
        return found

    def log(self) -> str:
        """Text that its latest attempt wrote."""
        return self.program.run(["job", "logs", self.id], mode="table")

    def metrics(self) -> "pandas.DataFrame":
        """Reports of its latest attempt by report_metric() so far: step, name, value."""
        pandas = load_pandas()
        rows = []
        for line in self.log().splitlines():
            _, mark, report = line.partition(METRIC_MARK)  # a progress bar may stand before it
            if mark:
                try:
                    row = json.loads(report)
                    if isinstance(row, dict) and "value" in row:
                        rows.append(row)
                except ValueError:
                    pass  # cut where the log was
        return pandas.DataFrame(rows, columns=["step", "name", "value"])

    def cancel(self) -> str:
        """Ends it, and with a train job what waits for it; the sweep goes on. Returns its state: a
        result that came first stays."""
        return str(self.program.json(["job", "cancel", self.id])["state"])

    def explain(self) -> str:
        """Why it waits, failed, or ran although it was done before."""
        return self.program.run(["job", "explain", self.id], mode="table")
