# SPDX-License-Identifier: Apache-2.0
"""Sweeps, approaches and benchmarks in the words of the sweep file (docs/sweep-file.md).

Values are not checked here: the program does, and its errors name the field. Fields that are None
are not written, so that the program's defaults apply. Fields that are not listed go into `more`.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Tags = Union[Sequence[str], Mapping[str, str]]
# Names, or an inclusive range {"from": 1, "to": 5}.
Seeds = Union[Sequence[int], Mapping[str, int]]


def _plain(value: Any) -> Any:
    """The value in types that JSON has."""
    if isinstance(value, (Approach, Benchmark)):
        return value.entry()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()  # a scalar of NumPy
    return value


def _document(value: Any) -> Dict[str, Any]:
    """{"metadata": …, "spec": …} of a dataclass: name, description and tags are metadata."""
    metadata: Dict[str, Any] = {}
    spec: Dict[str, Any] = {}
    for field in dataclasses.fields(value):
        found = getattr(value, field.name)
        if field.name == "more":
            spec.update(_plain(found))
        elif found is not None:
            target = metadata if field.name in ("name", "description", "tags") else spec
            target[field.name] = _plain(found)
    return {"metadata": metadata, "spec": spec}


@dataclasses.dataclass
class Approach:
    """Method to train and predict: commands are lists of arguments with placeholders."""

    name: str
    version: Optional[str] = None  # None: what `code` has stands for it
    predict: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    train: Optional[Mapping[str, Any]] = None
    hyperparameters: Optional[Mapping[str, Any]] = None
    resources: Optional[Mapping[str, Any]] = None
    timeout: Optional[Union[str, Mapping[str, str]]] = None
    env: Optional[Mapping[str, str]] = None
    description: Optional[str] = None
    tags: Optional[Tags] = None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def entry(self) -> Dict[str, Any]:
        """Entry that stands for it in a sweep file."""
        return _document(self)


@dataclasses.dataclass
class Benchmark:
    """A train file, a test file, and the metric."""

    name: str
    test: Optional[Union[Path, Mapping[str, Any]]] = None
    train: Optional[Union[Path, Mapping[str, Any]]] = None
    format: Optional[str] = None
    metric: Optional[Union[str, Mapping[str, Any]]] = None
    resources: Optional[Mapping[str, Any]] = None
    description: Optional[str] = None
    tags: Optional[Tags] = None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def entry(self) -> Dict[str, Any]:
        """Entry that stands for it in a sweep file."""
        return _document(self)


@dataclasses.dataclass
class Sweep:
    """Approaches × benchmarks × settings × seeds. Entries may also be paths of files.

    Relative paths are relative to the working directory.
    """

    name: str = "python"
    approaches: Sequence[Union[Approach, Path, Mapping[str, Any]]] = ()
    benchmarks: Sequence[Union[Benchmark, Path, Mapping[str, Any]]] = ()
    seeds: Optional[Seeds] = None
    settings: Optional[Mapping[str, Any]] = None
    train_on: Optional[Sequence[str]] = None
    evaluate_on: Optional[Union[str, Sequence[str]]] = None
    mixtures: Optional[Sequence[Mapping[str, Any]]] = None
    exclude: Optional[Sequence[Mapping[str, Any]]] = None
    select: Optional[str] = None
    metric: Optional[str] = None
    priority: Optional[int] = None
    keep: Optional[Sequence[str]] = None
    retry: Optional[Mapping[str, Any]] = None
    early_stop: Optional[Mapping[str, Any]] = None
    resources: Optional[Mapping[str, Any]] = None
    timeout: Optional[Mapping[str, str]] = None
    description: Optional[str] = None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def document(self) -> Dict[str, Any]:
        """The sweep file. JSON is YAML."""
        return {"apiVersion": "concur/v1", "kind": "Sweep", **_document(self)}


def strings(arguments: Mapping[str, Any]) -> List[str]:
    """["--name", "value", …] of keyword arguments: _ is -, True a flag, a list repeats; None and
    False are left out."""
    argv: List[str] = []
    for name, value in arguments.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is None or item is False:
                continue
            argv += [flag] if item is True else [flag, str(item)]
    return argv
