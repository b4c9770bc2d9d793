# SPDX-License-Identifier: Apache-2.0
"""The same methods for asyncio:

    client = concur.aio.Async(concur.connect())
    sweep = await client.submit("study.yaml")
    await sweep.wait(timeout=3600)
    async for event in sweep.events():
        …
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional

from concur.client import Client
from concur.handles import Job, SubmittedSweep
from concur.mapped import Future, Mapped

_END = object()
_SEEN_AS_ASYNC = (Client, Future, Job, Mapped, SubmittedSweep)


def _wrapped(value: Any) -> Any:
    return Async(value) if isinstance(value, _SEEN_AS_ASYNC) else value


async def _in_thread(
    function: Callable[[], Any], program: Any, executor: Optional[ThreadPoolExecutor] = None
) -> Any:
    """Result of the function; cancelling ends the command that it runs: a sweep goes on."""
    thread: List[int] = []

    def run() -> Any:
        thread.append(threading.get_ident())
        return function()

    try:
        return await asyncio.get_running_loop().run_in_executor(executor, run)
    except asyncio.CancelledError:
        if thread:
            program.stop(thread[0])
        raise


async def _iterate(values: Iterator[Any], program: Any) -> AsyncIterator[Any]:
    # One thread: the command belongs to that which started it.
    executor = ThreadPoolExecutor(max_workers=1)
    try:
        while True:
            value = await _in_thread(lambda: next(values, _END), program, executor)
            if value is _END:
                return
            yield _wrapped(value)
    finally:
        if inspect.isgenerator(values):
            executor.submit(values.close)
        executor.shutdown(wait=False)


class Async:
    """A client, sweep or job whose methods are coroutines, and whose iterators are asynchronous.

    Attributes that ask the coordinator (`state`) are coroutines, too: await sweep.get() instead.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"<async {self.value!r}>"

    def __getattr__(self, name: str) -> Any:
        if isinstance(getattr(type(self.value), name, None), property):
            raise AttributeError(f"{name} is an attribute that asks; call a method instead, e.g. get()")
        found = getattr(self.value, name)
        if not callable(found):
            return found
        program = self.value.program
        if name in ("events", "job_rows", "as_completed"):
            return lambda *args, **more: _iterate(found(*args, **more), program)

        async def call(*args: Any, **more: Any) -> Any:
            if name == "wait":
                more.setdefault("progress", False)
            return _wrapped(await _in_thread(lambda: found(*args, **more), program))

        return call
