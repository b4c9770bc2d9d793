# SPDX-License-Identifier: Apache-2.0
"""A function over settings: one approach a setting, one job a setting and seed."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import os
import pathlib
import re
import shutil
import sys
import time
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Union,
    overload,
)

from concur.errors import InvalidInput, JobFailed, SweepFailed, Timeout, Unavailable
from concur.function import pack
from concur.spec import Approach, Benchmark, Path, Sweep

if TYPE_CHECKING:
    from concur.handles import Job, SubmittedSweep
    from concur.program import Program

Grid = Union[Mapping[str, Iterable[Any]], Iterable[Mapping[str, Any]]]
Result = Union[float, Dict[str, float]]

_ENDED = ("succeeded", "failed", "canceled", "skipped", "stopped")
_NAME_BYTES_MAX = 120
_OUTAGE_SECONDS = 60.0
# The code of every call: files of this package, by their names there.
_FILES = {"call.py": "call.py", "concur/__init__.py": "inside.py"}
_TASK = "task.py"
# Stands for the data of functions that read none: an empty file with a path that stays.
_NO_DATA = pathlib.Path(__file__).with_name("py.typed")


def settings_of(grid: Grid) -> List[Dict[str, Any]]:
    """{"lr": [0.1, 1], "depth": [2]} is every combination; a list of mappings is itself."""
    if isinstance(grid, Mapping):
        lists = [list(values) for values in grid.values()]
        return [dict(zip(grid, point)) for point in itertools.product(*lists)]
    return [dict(point) for point in grid]


def _typed(name: str, value: Any) -> Any:
    """A value that a setting can have: bool, int, float or str."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if not isinstance(value, (bool, int, float, str)):
        raise InvalidInput(
            f"grid: {name}: expected a number, a string or a bool, got {value!r:.100}; "
            "make it inside the function from one of these"
        )
    return value


def _approach_name(function: str, setting: Mapping[str, Any], taken: Sequence[str]) -> str:
    pairs = "+".join(f"{name}={value}" for name, value in setting.items())
    name = re.sub(r"[^A-Za-z0-9._+=@-]", "_", f"{function}@{pairs}" if pairs else function).lstrip("_")
    if len(name) > _NAME_BYTES_MAX or name in taken:
        name = f"{name[:_NAME_BYTES_MAX]}-{len(taken)}"
    return name


@dataclasses.dataclass
class Plan:
    """A sweep that runs a function, and the files that it needs beside it."""

    sweep: Sweep
    files: Dict[str, pathlib.Path]
    task: str
    settings: List[Dict[str, Any]]
    approaches: List[Approach]
    metric: str

    def write(self, folder: str) -> None:
        """Puts the code where the sweep file will lie."""
        for name, path in self.files.items():
            target = pathlib.Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target)
            else:
                shutil.copy(path, target)
        (pathlib.Path(folder) / _TASK).write_text(self.task, encoding="utf-8")


def _check_arguments(function: Callable[..., Any], setting: Mapping[str, Any]) -> None:
    """InvalidInput unless the function can be called with the setting, a seed and the data."""
    signature = inspect.signature(function)
    offered = {key: None for key in ("seed", "data") if key in signature.parameters}
    try:
        signature.bind(**{**offered, **setting})
    except TypeError as error:
        raise InvalidInput(f"grid: {function.__name__}{signature}: {error}") from None


def plan(
    function: Callable[..., Any],
    grid: Grid,
    name: Optional[str],
    seeds: Sequence[int],
    data: Optional[Path],
    metric: Union[str, Mapping[str, Any]],
    code: Sequence[Path],
    python: Optional[str],
    checkpoints: Optional[Path],
    env: Optional[Mapping[str, str]],
    more: Mapping[str, Any],
) -> Plan:
    """The sweep that Client.map submits."""
    task = pack(function, code)
    settings = settings_of(grid)
    if not settings:
        raise InvalidInput("grid: expected at least one setting, got none")
    for setting in settings:
        _check_arguments(function, setting)
    here = pathlib.Path(__file__).parent
    files = {target: here / source for target, source in _FILES.items()}
    for path in map(pathlib.Path, code):
        if not path.exists():
            raise InvalidInput(f"code: {path}: no such file or folder")
        if path.name in (_TASK, "call.py", "concur"):
            raise InvalidInput(f"code: {path}: the name {path.name} is taken; rename it")
        files[path.name] = path.absolute()
    environment = dict(env or {})
    if checkpoints is not None:
        environment["CHECKPOINT_ROOT"] = os.path.abspath(checkpoints)
    metric_name = metric if isinstance(metric, str) else str(metric["name"])
    approaches: List[Approach] = []
    for setting in settings:
        values = {key: _typed(key, value) for key, value in setting.items()}
        command = [python or sys.executable, "-B", "{code}/call.py", "{metrics}", "{test}", "{seed}"]
        command += [metric_name.replace("{", "{{").replace("}", "}}"), function.__name__]
        command += [f"{key}:{type(value).__name__}={{hp.{key}}}" for key, value in values.items()]
        approaches.append(
            Approach(
                _approach_name(function.__name__, values, [found.name for found in approaches]),
                version=None,
                predict={"command": command},
                hyperparameters={"default": values} if values else None,
                env=environment or None,
                more={"code": sorted([*files, _TASK])},
            )
        )
    test = os.path.abspath(_NO_DATA if data is None else data)
    benchmark = Benchmark(function.__name__.lstrip("_"), test=test, format="file", metric=metric)
    sweep = Sweep(
        name or function.__name__.lstrip("_").replace("_", "-"),
        approaches=approaches,
        benchmarks=[benchmark],
        seeds=list(seeds),
        **more,
    )
    return Plan(sweep, files, task, settings, approaches, metric_name)


class Future:
    """The call of a function with one setting and seed."""

    def __init__(self, mapped: "Mapped", index: int, setting: Dict[str, Any], seed: int) -> None:
        self._mapped = mapped
        self._index = index
        self.setting = setting
        self.seed = seed

    def __repr__(self) -> str:
        return f"<call {self.setting} seed {self.seed} of {self._mapped.sweep.id}>"

    @property
    def program(self) -> "Program":
        return self._mapped.sweep.program

    @property
    def job(self) -> "Job":
        return self._mapped.jobs()[self._index]

    def done(self) -> bool:
        """True if it has ended, in whichever way."""
        return self.job.get()["state"] in _ENDED

    def exception(self, timeout: Optional[float] = None) -> Optional[JobFailed]:
        """Why there is no result; None when there is one. Timeout when it has not ended by then."""
        return self._failure(self._wait(timeout))

    def result(self, timeout: Optional[float] = None) -> Result:
        """Value that the function returned. JobFailed, with the end of its log, when it did not."""
        job = self._wait(timeout)
        failure = self._failure(job)
        if failure is not None:
            raise failure
        values = {metric["name"]: metric["value"] for metric in job["result"]["metrics"]}
        return values[self._mapped.metric] if set(values) == {self._mapped.metric} else values

    def cancel(self) -> bool:
        """Ends this call alone. False when it had ended before: its result stays."""
        return self.job.cancel() == "canceled"

    def _failure(self, job: Mapping[str, Any]) -> Optional[JobFailed]:
        if job["state"] == "succeeded":
            return None
        message = (job["result"] or {}).get("message") or job["explanation"] or ""
        return JobFailed(f"{job['id']} {job['state']}: {message}")

    def _wait(self, timeout: Optional[float]) -> Mapping[str, Any]:
        begin = heard = time.monotonic()
        pause = 0.02
        while True:
            try:
                job = self.job.get()
                heard = time.monotonic()
                if job["state"] in _ENDED:
                    return job
            except Unavailable:  # a coordinator that restarts
                if time.monotonic() - heard > _OUTAGE_SECONDS:
                    raise
            left = float("inf") if timeout is None else begin + timeout - time.monotonic()
            if left <= 0:
                raise Timeout(f"{self!r}: not ended after {timeout} s; it goes on")
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 1.0)


class Mapped(Sequence[Future]):
    """The calls of Client.map: settings in their order, for each the seeds in theirs."""

    def __init__(self, sweep: "SubmittedSweep", metric: str, calls: List[Any]) -> None:
        self.sweep = sweep
        self.metric = metric
        self._keys = [(approach, seed) for approach, _, seed in calls]
        self._futures = [Future(self, i, call[1], call[2]) for i, call in enumerate(calls)]
        self._jobs: Optional[List["Job"]] = None
        self.program = sweep.program

    @overload
    def __getitem__(self, index: int) -> Future: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Future]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Future, Sequence[Future]]:
        return self._futures[index]

    def __len__(self) -> int:
        return len(self._futures)

    def __repr__(self) -> str:
        return f"<{len(self)} calls in {self.sweep.id}>"

    def jobs(self) -> List["Job"]:
        """The job of each call."""
        if self._jobs is None:
            found = {(row["approach"], row["seed"]): row["id"] for row in self.sweep.job_rows()}
            self._jobs = [self.sweep.job(int(found[key].split("/")[1])) for key in self._keys]
        return self._jobs

    def result(self, timeout: Optional[float] = None) -> List[Result]:
        """Values that the calls returned, in order. JobFailed for the first that did not."""
        end = None if timeout is None else time.monotonic() + timeout
        left: Callable[[], Optional[float]] = lambda: end and max(0.0, end - time.monotonic())
        return [future.result(left()) for future in self]

    def as_completed(self) -> Iterator[Future]:
        """The calls as they end."""
        left = {job.id: future for job, future in zip(self.jobs(), self)}

        try:
            # A cursor that is none: the first event is a reset, and what ended before it is listed.
            for event in self.sweep.events(after="none"):
                if event["reset"]:  # also after a restart of the coordinator
                    for row in self.sweep.job_rows():
                        if row["state"] in _ENDED and row["id"] in left:
                            yield left.pop(row["id"])
                elif event["state"] in _ENDED and event["job"] in left:
                    yield left.pop(event["job"])
        except SweepFailed:
            pass  # their exception() says why
        yield from left.values()  # the stream ends when all have

    def cancel(self) -> None:
        """Ends the calls that have not ended; results stay."""
        self.sweep.cancel()
