# SPDX-License-Identifier: Apache-2.0
"""Runs a function of Client.map as a predict command:

    python3 call.py METRICS_FILE TEST_FILE SEED METRIC FUNCTION [NAME:TYPE=VALUE …]

A result that is not a number, or a mapping of names to numbers, ends with 78: it cannot get better.
This file travels with the function, beside task.py, which holds it.
"""

import inspect
import json
import math
import sys
from typing import Any, Callable, Dict

READERS: Dict[str, Callable[[str], Any]] = {
    "bool": lambda text: text == "true",
    "int": int,
    "float": float,
    "str": str,
}


def main(
    metrics_file: str, test_file: str, seed: str, metric: str, name: str, *settings: str
) -> int:
    import task  # what pack() of function.py wrote

    function = getattr(task, name)
    arguments: Dict[str, Any] = {}
    for setting in settings:
        head, text = setting.split("=", 1)
        key, kind = head.rsplit(":", 1)
        arguments[key] = READERS[kind](text)
    offered: Dict[str, Any] = {"seed": int(seed), "data": test_file}
    for key in inspect.signature(function).parameters:
        if key in offered:
            arguments.setdefault(key, offered[key])
    result = function(**arguments)
    values = dict(result) if hasattr(result, "keys") else {metric: result}
    try:
        values = {str(key): float(value) for key, value in values.items()}
        if not values or not all(math.isfinite(value) for value in values.values()):
            raise ValueError
    except (TypeError, ValueError):
        print(
            f"{name}: expected a finite number, or a mapping of names to such numbers, as the result, "
            f"got {result!r:.200}",
            file=sys.stderr,
        )
        return 78
    with open(metrics_file, "w", encoding="utf-8") as file:
        json.dump(values, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
