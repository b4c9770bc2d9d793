# SPDX-License-Identifier: Apache-2.0
"""Scored jobs as runs of an MLflow server, over its REST interface; MLflow itself is not needed here."""

from __future__ import annotations

import base64
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from concur.errors import ConcurError, InvalidInput, NotFound, PermissionDenied, Unavailable

if TYPE_CHECKING:
    from concur.handles import SubmittedSweep

_SECONDS_MAX = 60
_ANSWER_BYTES_MAX = 64 << 20
_PAGE = 1000
# MLflow's own limits of a batch.
_PARAMS_MAX = 100
_METRICS_MAX = 1000
_TAG = "concur.job"


def export(sweep: "SubmittedSweep", url: str, experiment: Optional[str] = None) -> int:
    """Every succeeded job that scores becomes a run; how many were added.

    Settings are parameters, the metrics of its result metrics. A job that the experiment (by default
    the sweep's name) has already is not added again, and one that was begun is finished. Credentials
    are MLflow's: MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.
    """
    server = _Server(url)
    about = sweep.get()
    experiment_id = server.experiment(experiment or str(about["name"]))
    known = server.runs(experiment_id)
    added = 0
    for job in sweep.job_rows(state="succeeded", test_scores=True):
        metrics = (job["result"] or {}).get("metrics") or []
        # Ids are a coordinator's own; with the time they are one sweep's.
        tag = f"{job['id']} of {about['create_time']}"
        run = known.get(tag, {})
        if not metrics or run.get("status") == "FINISHED":
            continue
        server.add(experiment_id, run.get("run_id"), tag, job, metrics)
        added += 1
    return added


def _millis(time: str) -> int:
    return round(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)


class _Server:
    def __init__(self, url: str) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise InvalidInput(f"url: expected http://… or https://…, got {url!r}")
        self._base = url.rstrip("/") + "/api/2.0/mlflow/"
        self._headers = {"Content-Type": "application/json"}
        token = os.environ.get("MLFLOW_TRACKING_TOKEN")
        user = os.environ.get("MLFLOW_TRACKING_USERNAME")
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        elif user:
            pair = f"{user}:{os.environ.get('MLFLOW_TRACKING_PASSWORD', '')}"
            self._headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()

    def experiment(self, name: str) -> str:
        query = urllib.parse.urlencode({"experiment_name": name})
        try:
            found = self._call("experiments/get-by-name?" + query)
            return str(found["experiment"]["experiment_id"])
        except NotFound:
            return str(self._call("experiments/create", {"name": name})["experiment_id"])

    def runs(self, experiment_id: str) -> Dict[str, Dict[str, Any]]:
        """{tag: {"run_id", "status"}} of the runs that came from here."""
        known: Dict[str, Dict[str, Any]] = {}
        body: Dict[str, Any] = {"experiment_ids": [experiment_id], "max_results": _PAGE}
        while True:
            page = self._call("runs/search", body)
            for run in page.get("runs", []):
                for tag in run.get("data", {}).get("tags", []):
                    if tag["key"] == _TAG:
                        known[tag["value"]] = run["info"]
            if not page.get("next_page_token"):
                return known
            body["page_token"] = page["next_page_token"]

    def add(
        self,
        experiment_id: str,
        run_id: Optional[str],
        tag: str,
        job: Mapping[str, Any],
        metrics: List[Mapping[str, Any]],
    ) -> None:
        begin = _millis(job["result"]["start_time"])
        end = begin + round(job["result"]["run_time"] * 1000)
        if run_id is None:
            names = ("approach", "train_set", "test_benchmark", "worker")
            tags = [{"key": f"concur.{name}", "value": job[name]} for name in names if job[name]]
            body = {
                "experiment_id": experiment_id,
                "run_name": f"{job['approach']} on {job['test_benchmark']}, seed {job['seed']}",
                "start_time": begin,
                "tags": [{"key": _TAG, "value": tag}, *tags],
            }
            run_id = str(self._call("runs/create", body)["run"]["info"]["run_id"])
        params = {"seed": job["seed"], **job["setting"]}
        batch = {
            "run_id": run_id,
            "metrics": [
                {"key": metric["name"], "value": metric["value"], "timestamp": end, "step": 0}
                for metric in metrics[:_METRICS_MAX]
            ],
            "params": [
                {"key": key, "value": str(value)} for key, value in list(params.items())[:_PARAMS_MAX]
            ],
        }
        self._call("runs/log-batch", batch)
        # Last: what is FINISHED is complete.
        self._call("runs/update", {"run_id": run_id, "status": "FINISHED", "end_time": end})

    def _call(self, method: str, body: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + method, data=data, headers=self._headers)
        place = self._base + method.partition("?")[0]
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS_MAX) as answer:
                text = answer.read(_ANSWER_BYTES_MAX + 1)
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode("utf-8", "replace")
            kind = {401: PermissionDenied, 403: PermissionDenied, 404: NotFound}.get(error.code, ConcurError)
            raise kind(f"{place}: HTTP {error.code}: {said}") from None
        except OSError as error:
            raise Unavailable(f"{place}: {error}") from None
        try:
            value = json.loads(text)
            if not isinstance(value, dict) or len(text) > _ANSWER_BYTES_MAX:
                raise ValueError
            return value
        except ValueError:
            raise ConcurError(
                f"{place}: expected a JSON object, as MLflow answers, got {text[:100]!r}"
            ) from None
