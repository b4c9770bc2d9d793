# SPDX-License-Identifier: Apache-2.0
"""A connection to a coordinator. Nothing is cached: every method asks."""

from __future__ import annotations

import json
import os
import re
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from concur.errors import ConcurError, InvalidInput
from concur.handles import SubmittedSweep
from concur.mapped import Grid, Mapped, plan
from concur.program import Program
from concur.spec import Path, Sweep, strings


def connect(
    server: Optional[str] = None,
    token: Optional[str] = None,
    token_file: Optional[Path] = None,
    ca: Optional[Path] = None,
    certificate: Optional[Path] = None,
    key: Optional[Path] = None,
) -> "Client":
    """A client of a coordinator: by default CONCUR_SERVER's, else your own on this machine.

    A `server` with commas names several coordinators, of which one leads: "a:7447,b:7447".
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
    """Does what the commands of `concur` do; see connect()."""

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

        The same sweep is submitted once, however often this runs: a notebook's cell may run twice.
        Files that have changed make it another one. Another `request_id` submits it again.
        """
        pairs = [f"{name}={value}" for name, value in (variables or {}).items()]
        options = strings({"var": pairs})
        if not isinstance(sweep, Sweep):
            return self._submit(os.fspath(sweep), options, request_id)
        text = json.dumps(sweep.document(), ensure_ascii=False, indent=1)
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
        self, text: str, folder: str, options: List[str], request_id: Optional[str]
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

    def _submit(
        self, path: str, options: List[str], request_id: Optional[str]
    ) -> "SubmittedSweep":
        once = ["--request-id", request_id] if request_id else ["--once"]
        found = self.program.json(["sweep", "submit", path, *once, *options], warn=True)
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
        """Number of jobs that a sweep file has, and their kinds."""
        return self.run("sweep", "plan", os.fspath(path), **options)

    def workers(self) -> List[Dict[str, Any]]:
        """The workers, with what they have and do."""
        return list(self.program.lines(["worker", "list"]))
