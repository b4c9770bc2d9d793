# SPDX-License-Identifier: Apache-2.0
"""Settings chosen by a sampler that is asked and told, such as a study of Optuna."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List

from concur.errors import InvalidInput, JobFailed

if TYPE_CHECKING:
    from concur.client import Client


def tune(
    client: "Client",
    function: Callable[..., Any],
    study: Any,
    space: Callable[[Any], Dict[str, Any]],
    trials: int,
    at_once: int = 4,
    **more: Any,
) -> None:
    """Calls the function with `trials` settings of the study, `at_once` on the workers together.

    `space(trial)` asks the trial for a setting:
    {"lr": trial.suggest_float("lr", 1e-4, 1, log=True)}. `study` needs ask() and tell(trial, value),
    as optuna.create_study() has; a call that fails is told as None. `more` is as for Client.map.
    Its score is the metric of map, so the study's direction says which way is better.
    """
    if trials < 1 or at_once < 1:
        raise InvalidInput("trials, at_once: expected at least 1")
    while trials > 0:
        asked: List[Any] = [study.ask() for _ in range(min(at_once, trials))]
        trials -= len(asked)
        calls = client.map(function, [space(trial) for trial in asked], **more)
        for trial, call in zip(asked, calls):
            try:
                result = call.result()
                value = result[calls.metric] if isinstance(result, dict) else result
            except JobFailed:
                value = None
            study.tell(trial, value)
