# SPDX-License-Identifier: Apache-2.0
"""Scored jobs as offline runs of Weights & Biases, which `wandb sync FOLDER/offline-run-*` uploads.

wandb itself is not needed here. A run is a folder with one file of records: a log of 32 KiB blocks
whose pieces carry a length and a CRC, each record a protobuf message `Record` of wandb's
wandb_internal.proto. The numbers below are that file's field numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import struct
import zlib
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from concur.spec import Path

if TYPE_CHECKING:
    from concur.handles import SubmittedSweep

_BLOCK_BYTES = 32768
_PIECE_HEAD = struct.Struct("<IHB")  # CRC-32 of kind and data, length, kind
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_FILE_HEAD = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)

_HISTORY, _SUMMARY, _RUN, _EXIT = 2, 3, 17, 18  # of Record; 1 numbers the records

Field = Tuple[int, Union[int, str, bytes]]


def export(
    sweep: "SubmittedSweep",
    folder: Path = "wandb",
    project: Optional[str] = None,
    entity: Optional[str] = None,
    steps: bool = False,
) -> int:
    """Every succeeded job that scores becomes an offline run in `folder`; how many were added.

    Settings, approach, benchmark and seed are the config, the metrics of its result the summary and,
    as one step, the history; `steps` adds the values of report_metric(), for which each log is read.
    `project` is by default the sweep's name. What the folder has already is not written again, so
    that a second call adds what is new.
    """
    about = sweep.get()
    target = pathlib.Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    added = 0
    for job in sweep.job_rows(state="succeeded", test_scores=True):
        metrics = (job["result"] or {}).get("metrics") or []
        if not metrics:
            continue
        # Ids are a coordinator's own; with the time they are one sweep's.
        tag = f"{job['id']} of {about['create_time']}"
        run_id = hashlib.sha256(tag.encode()).hexdigest()[:16]
        begun = datetime.fromisoformat(job["result"]["start_time"].replace("Z", "+00:00"))
        name = f"offline-run-{begun.astimezone(timezone.utc):%Y%m%d_%H%M%S}-{run_id}"
        if (target / name).exists():
            continue
        number = int(job["id"].split("/")[1])
        reported = _steps_of(sweep.job(number).metrics()) if steps else []
        records = _records(job, about, run_id, begun, project, entity, reported)
        # Under another name until it is whole: a folder of this one counts as written.
        unfinished = target / f".{name}"
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / "files").mkdir(parents=True)
        with open(unfinished / f"run-{run_id}.wandb", "wb") as file:
            file.write(b"".join(log_of(records)))
        os.rename(unfinished, target / name)
        added += 1
    return added


def _steps_of(frame: Any) -> List[Dict[str, float]]:
    """Values that were reported, step by step; without a step, in order."""
    found: List[Dict[str, float]] = []
    for place, row in enumerate(frame.itertuples()):
        step = place if row.step is None or row.step != row.step else int(row.step)
        if not found or found[-1]["_step"] != step:
            found.append({"_step": step})
        found[-1][row.name] = row.value
    return found


def _records(
    job: Mapping[str, Any],
    about: Mapping[str, Any],
    run_id: str,
    begun: datetime,
    project: Optional[str],
    entity: Optional[str],
    reported: List[Dict[str, float]],
) -> Iterator[bytes]:
    result = job["result"]
    config = {
        "approach": job["approach"],
        "train_set": job["train_set"],
        "benchmark": job["test_benchmark"],
        "seed": job["seed"],
        **job["setting"],
    }
    values = {metric["name"]: metric["value"] for metric in result["metrics"]}
    seconds = float(result["run_time"])
    stamp = begun.timestamp()
    run: List[Field] = [
        (1, run_id),
        (2, entity or ""),
        (3, project or str(about["name"])),
        (4, message((1, _item(key, value)) for key, value in config.items())),
        (6, str(job["approach"])),
        (7, "eval"),
        (8, f"{job['id']} {job['approach']} on {job['test_benchmark']}"),
        (10, "concur"),
        (13, str(job["worker"] or "")),
        (17, message([(1, int(stamp)), (2, begun.microsecond * 1000)])),
    ]
    step = reported[-1]["_step"] + 1 if reported else 0
    last: Dict[str, float] = {"_step": step, **values}
    when: Dict[str, float] = {"_timestamp": stamp + seconds, "_runtime": seconds}
    rows: List[Dict[str, float]] = [{**row, **when} for row in [*reported, last]]
    summary: Dict[str, Any] = {**rows[-1], "_wandb": {"runtime": int(seconds)}}
    records: List[Tuple[int, List[Field]]] = [(_RUN, run)]
    for row in rows:
        items: List[Field] = [(1, _item(key, value)) for key, value in row.items()]
        records.append((_HISTORY, [*items, (2, message([(1, int(row["_step"]))]))]))
    records.append((_SUMMARY, [(1, _item(key, value)) for key, value in summary.items()]))
    records.append((_EXIT, [(1, 0), (2, int(seconds))]))
    for number, (kind, fields) in enumerate(records, start=1):
        yield message([(1, number), (kind, message(fields))])


def _item(key: str, value: Any) -> bytes:
    """{key, value_json}, as items of config, history and summary are."""
    return message([(1, key), (16, json.dumps(value))])


def message(fields: Iterable[Field]) -> bytes:
    """A protobuf message: integers are varints, strings and messages have their length before them."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        else:
            data = value.encode("utf-8", "replace") if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return bytes(out)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def log_of(records: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of a file of records: no piece crosses the border of a block."""
    yield _FILE_HEAD
    at = len(_FILE_HEAD)
    for record in records:
        begun = False
        while True:
            room = _BLOCK_BYTES - at % _BLOCK_BYTES
            if room < _PIECE_HEAD.size:
                yield bytes(room)
                at += room
                continue
            piece, record = record[: room - _PIECE_HEAD.size], record[room - _PIECE_HEAD.size :]
            kind = (_MIDDLE if record else _LAST) if begun else (_FIRST if record else _FULL)
            crc = zlib.crc32(piece, zlib.crc32(bytes([kind])))
            yield _PIECE_HEAD.pack(crc, len(piece), kind) + piece
            at += _PIECE_HEAD.size + len(piece)
            begun = True
            if not record:
                break
