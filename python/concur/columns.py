# SPDX-License-Identifier: Apache-2.0
"""Reads the stream of `concur scores --columns`.

It is pieces: a line of JSON, {"rows": N, "columns": [{"name", "type"}, …]}, then the N values of
each column in turn, little-endian. "f8" and "i8" are numbers; "name" are 4-byte places in the list
of the column's names so far, to which a piece's "names" are added, or -1; names of "json" are objects
of JSON, whose keys are columns of their own. A piece of no rows is last.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, Dict, List, Mapping

from concur.errors import ConcurError
from concur.frames import load_pandas

if TYPE_CHECKING:
    import pandas

_DTYPES = {"f8": "<f8", "i8": "<i8", "name": "<i4", "json": "<i4"}
_HEAD_BYTES_MAX = 1 << 30


def read_frame(stream: IO[bytes]) -> "pandas.DataFrame":
    """One row a score; None or NaN where there is nothing."""
    pandas = load_pandas()  # first: it is to be named where both are missing
    import numpy

    pieces: Dict[str, List[Any]] = {}
    names: Dict[str, List[Any]] = {}
    objects = set()
    while True:
        head = _head(stream.readline(_HEAD_BYTES_MAX))
        for column in head["columns"]:
            name, dtype = column["name"], numpy.dtype(_DTYPES[column["type"]])
            if "names" in column:
                names.setdefault(name, []).extend(column["names"])
                objects.update([name] if column["type"] == "json" else [])
            size = head["rows"] * dtype.itemsize
            data = stream.read(size)
            if len(data) != size:
                raise _cut()
            pieces.setdefault(name, []).append(numpy.frombuffer(data, dtype))
        if head["rows"] == 0:
            break
    columns: Dict[str, Any] = {}
    for name, parts in pieces.items():
        values = numpy.concatenate(parts)
        if name in objects:
            settings = [json.loads(text) for text in names[name]]
            settings += [{}] if (values < 0).any() else []
            for key in sorted({key for setting in settings for key in setting}):
                of = pandas.Series([setting.get(key) for setting in settings])
                columns[f"setting.{key}" if key in pieces else key] = of.to_numpy()[values]
            continue
        if name in names:  # -1 takes the None at the end
            values = numpy.array([*names[name], None], dtype=object)[values]
        columns[name] = values
    return pandas.DataFrame(columns)


def _head(line: bytes) -> Mapping[str, Any]:
    if not line.endswith(b"\n"):
        raise _cut()
    try:
        head = json.loads(line)
        if head["rows"] < 0 or any(column["type"] not in _DTYPES for column in head["columns"]):
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise ConcurError(
            "scores: expected the columns that `concur scores --columns` of the same version prints, "
            f"got {line[:100]!r}"
        ) from None
    found: Mapping[str, Any] = head
    return found


def _cut() -> ConcurError:
    return ConcurError("scores: the stream ended before its last piece; ask again")
