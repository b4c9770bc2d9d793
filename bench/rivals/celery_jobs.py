# SPDX-License-Identifier: Apache-2.0
"""Module that Celery's worker imports: the tasks, and settings that make a completion durable."""

import os
import subprocess

import celery

from rivals import ledger

app = celery.Celery("bench", broker=os.environ.get("CONCUR_BENCH_BROKER"))
app.conf.update(task_acks_late=True, task_ignore_result=True, enable_utc=True)


@app.task
def nothing(job):
    ledger.note(os.environ["CONCUR_BENCH_LEDGER"], job)


@app.task
def process(job):
    subprocess.run(["/bin/true"], check=True)
    ledger.note(os.environ["CONCUR_BENCH_LEDGER"], job)
