# SPDX-License-Identifier: Apache-2.0
"""A connection to a coordinator, and handles of what it keeps.

Nothing is cached: every method asks. Handles may be kept, copied and made anew from an id.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Union,
)

from concur.errors import ConcurError, InvalidInput
from concur.frames import load_pandas
from concur.inside import METRIC_MARK
from concur.mapped import Grid, Mapped, plan
from concur.matrix import Matrix
from concur.notebook import show_in_notebook
from concur.program import Program
from concur.spec import Path, Sweep, strings

if TYPE_CHECKING:
    import pandas


def connect(
    server: Optional[str] = None,
    token: Optional[str] = None,
    token_file: Optional[Path] = None,
    ca: Optional[Path] = None,
    certificate: Optional[Path] = None,
    key: Optional[Path] = None,
) -> "Client":
    """A client of a coordinator: by default CONCUR_SERVER's, else your own on this machine.

    Asks the coordinator once, so that a wrong address or token is an error here. A `token` is kept
    in a file that only you can read, for as long as the client is used.
    """
    if token is not None and token_file is not None:
        raise InvalidInput("token, token_file: expected one of them")
    options = {"server": server, "token_file": token_file, "ca": ca}
    options.update({"certificate": certificate, "key": key})
    client = Client(Program(strings(options), token))
    client.sweeps(limit=1)
    return client


class Client:
    """What the commands of `concur` do; see connect()."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def run(self, *command: str, stdin: Optional[str] = None, **options: Any) -> Any:
        """Any command, as JSON: run("job", "list", "s1", state="failed") is `job list s1 --state failed`."""
        return self.program.json([*command, *strings(options)], stdin=stdin)

    def submit(
        self,
        sweep: Union[Sweep, Path],
        variables: Optional[Mapping[str, Any]] = None,
        request_id: Optional[str] = None,
    ) -> "SubmittedSweep":
        """Submits a sweep and returns at once.

        The same sweep with the same variables is submitted once, however often this runs: a
        notebook's cell may run twice. Another `request_id` submits it again.
        """
        pairs = [f"{name}={value}" for name, value in (variables or {}).items()]
        options = strings({"var": pairs})
        if not isinstance(sweep, Sweep):
            path = os.fspath(sweep)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            request_id = request_id or _request_id(path, text, pairs)
            return self._submit(path, options, request_id)
        text = json.dumps(sweep.document(), ensure_ascii=False, indent=1)
        request_id = request_id or _request_id(os.getcwd(), text, pairs)
        # In the working directory, to which the paths in it are relative.
        return self._submit_text(text, os.getcwd(), options, request_id)

    def map(
        self,
        function: Callable[..., Any],
        grid: Grid,
        *,
        name: Optional[str] = None,
        seeds: Sequence[int] = (1,),
        data: Optional[Path] = None,
        metric: Union[str, Mapping[str, Any]] = "value",
        code: Sequence[Path] = (),
        python: Optional[str] = None,
        checkpoints: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        request_id: Optional[str] = None,
        **more: Any,
    ) -> Mapped:
        """Calls the function with every setting of the grid and every seed, on the workers.

        `grid` is {"lr": [0.1, 1.0], "depth": [2, 3]}, every combination, or a list of settings. A
        parameter `seed` of the function gets the seed, a parameter `data` a path to the worker's
        copy of the file `data`. It returns a number, or a mapping of names to numbers of which
        `metric` is the score. Its source is sent along, with what it uses of its own module; other
        files of yours are named in `code`. `python` is the workers' interpreter: by default the path
        of this one. `more` are fields of Sweep: retry, resources, timeout, …

        A call whose source, setting, seed and data did not change is not run again.
        """
        task = plan(
            function, grid, name, seeds, data, metric, code, python, checkpoints, env, more
        )
        text = json.dumps(task.sweep.document(), ensure_ascii=False, indent=1)
        request_id = request_id or _request_id(os.getcwd(), text, [task.digest()])
        with tempfile.TemporaryDirectory(prefix="concur-map-") as folder:
            task.write(folder)
            sweep = self._submit_text(text, folder, [], request_id)
        names = [approach.name for approach in task.approaches]
        calls = [
            (name, setting, seed)
            for name, setting in zip(names, task.settings)
            for seed in seeds
        ]
        return Mapped(sweep, task.metric, calls)

    def _submit_text(
        self, text: str, folder: str, options: List[str], request_id: str
    ) -> "SubmittedSweep":
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=folder, prefix=".concur-", suffix=".yaml"
        ) as file:
            file.write(text)
            file.flush()
            try:
                return self._submit(file.name, options, request_id)
            except ConcurError as error:
                # Fields say where; the file and its lines are not the user's.
                place = re.escape(file.name) + r":(\d+:)* "
                raise type(error)(re.sub(place, "", str(error))) from None

    def _submit(self, path: str, options: List[str], request_id: str) -> "SubmittedSweep":
        found = self.program.json(
            ["sweep", "submit", path, "--request-id", request_id, *options]
        )
        return SubmittedSweep(self.program, found["id"])

    def sweep(self, name: str) -> "SubmittedSweep":
        """A sweep by id, or the newest of a name."""
        return SubmittedSweep(self.program, self.run("sweep", "get", name)["id"])

    def sweeps(self, limit: int = 100) -> List[Dict[str, Any]]:
        """The sweeps, newest first; 0: all."""
        return list(self.program.lines(["sweep", "list", "--limit", str(limit)]))

    def validate(self, path: Path, **options: Any) -> Any:
        """Checks a sweep file and all that it names."""
        return self.run("sweep", "validate", os.fspath(path), **options)

    def plan(self, path: Path, **options: Any) -> Any:
        """How many jobs a sweep file has, and of what kind."""
        return self.run("sweep", "plan", os.fspath(path), **options)

    def workers(self) -> List[Dict[str, Any]]:
        """The workers, with what they have and do."""
        return list(self.program.lines(["worker", "list"]))


def _request_id(place: str, text: str, variables: List[str]) -> str:
    parts = json.dumps([place, text, variables]).encode("utf-8", "surrogateescape")
    return "python-" + hashlib.sha256(parts).hexdigest()[:40]


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
        """What happens to its jobs, as it happens, until the sweep has ended.

        An event's "cursor", where it is not None, resumes after it: events(after=cursor). One with
        "reset" true, and nothing else, says that events before it may be missing, as after a restart
        of the coordinator: ask jobs() how things stand.
        """
        return self.program.lines(["sweep", "watch", self.id, *strings({"after": after})])

    def scores(self, metric: Optional[str] = None) -> "pandas.DataFrame":
        """One row for each job that scores; by default by its benchmark's own metric.

        job (its number), approach, train_set, benchmark, setting ("depth=2 lr=0.1"), setting_index,
        seed, metric, value, low and high (the interval of the value at 95 %, where examples were
        scored), examples, state, worker, seconds (of its command). NaN or None where there is nothing.
        """
        return self.program.columns(["scores", self.id, "--columns", *strings({"metric": metric})])

    def table(self, **options: Any) -> "pandas.DataFrame":
        """Approaches × benchmarks, as `concur scores` prints it; options as its flags."""
        return self._frame(["scores", self.id, *strings(options)])

    def matrix(self, coefficient: str = "kendall", **options: Any) -> Matrix:
        """The concurrence matrix; options as the flags of `concur matrix`."""
        command = ["matrix", self.id, *strings({"coefficient": coefficient, **options})]
        return Matrix(
            self.program.json(command),
            lambda: self.program.run([*command, "--format", "svg"], mode="table"),
        )

    def analyze(self, command: str, **options: Any) -> "pandas.DataFrame":
        """The table of an analysis: uncertainty, curve, compare, rank, cross, scatter or shift, with its
        flags as options: analyze("rank", baseline="a")."""
        return self._frame([command, self.id, *strings(options)])

    def simulate(self, **options: Any) -> Any:
        """How long it would take on given workers."""
        return self.program.json(["simulate", self.id, *strings(options)])

    def report(self, out: Path, **options: Any) -> None:
        """Writes the page of it as HTML."""
        self.program.run(["report", self.id, "--out", os.fspath(out), *strings(options)])

    def export(self, out: Path, **options: Any) -> None:
        """Writes it with all its numbers to a directory that `concur verify` checks offline."""
        self.program.run(["export", self.id, "--out", os.fspath(out), *strings(options)])

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

    def cancel(self) -> None:
        """Ends what is unfinished; finished results stay."""
        self.program.json(["sweep", "cancel", self.id])

    def delete(self) -> None:
        """Removes it once it has ended."""
        self.program.run(["sweep", "delete", self.id])

    def retry(self) -> int:
        """Returns failed, skipped and canceled jobs to the queue, and tells how many."""
        return int(self.program.json(["sweep", "retry", self.id])["retried"])

    def _frame(self, command: List[str]) -> "pandas.DataFrame":
        return self.program.frame(command)


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
        """What its latest attempt wrote."""
        return self.program.run(["job", "logs", self.id], mode="table")

    def metrics(self) -> "pandas.DataFrame":
        """What its latest attempt has reported by report_metric() so far: step, name, value."""
        pandas = load_pandas()
        rows = []
        for line in self.log().splitlines():
            if line.startswith(METRIC_MARK):
                try:
                    rows.append(json.loads(line[len(METRIC_MARK) :]))
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
