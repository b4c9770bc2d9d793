# SPDX-License-Identifier: Apache-2.0
"""Celery on Redis: late acknowledgements, so that a job is not lost with its worker; no results kept,
which is less work for it. Two prefork processes.

Jobs are in the queue before the worker starts; the time is from the first end to the last.
"""

import importlib.metadata
import sys

from rivals import Rival, ledger
from rivals.redis_server import Redis


class Celery(Rival):
    key = "celery"
    name = "Celery, acks_late"
    programs = ("redis-server",)
    modules = ("celery", "redis")
    queue_clients = (2,)
    queue_jobs_max = 2000
    process_jobs_max = 1000

    def start(self):
        self.redis = Redis(self)
        self.broker = f"redis+socket://{self.redis.socket}"

    def settings(self):
        return (f"Celery {importlib.metadata.version('celery')}, {self.redis.settings()}; "
                "task_acks_late, no results kept")

    def measure(self, task, jobs, concurrency):
        self.redis.client.flushall()
        path = str(self.directory / f"{task}-{concurrency}")
        self.enqueue(task, jobs)
        worker = self.serve(
            [sys.executable, "-m", "celery", "--quiet", "-A", "rivals.celery_jobs", "worker",
             "--concurrency", concurrency, "--pool", "prefork", "--loglevel", "error",
             "--without-gossip", "--without-mingle", "--without-heartbeat"],
            CONCUR_BENCH_BROKER=self.broker, CONCUR_BENCH_LEDGER=path)
        self.until(lambda: ledger.count(path) >= jobs, f"{jobs} jobs", 600)
        # An acknowledgement removes the job from these; one that stays would be delivered again.
        left = ("unacked", "unacked_index", "celery")
        self.until(lambda: not self.redis.client.exists(*left), "acknowledgements")
        self.processes.remove(worker)
        worker.terminate()
        worker.wait()
        return ledger.rate(path, jobs)

    def enqueue(self, task, jobs):
        import celery
        app = celery.Celery(broker=self.broker)
        with app.connection() as connection, app.amqp.Producer(connection) as producer:
            for job in range(jobs):
                app.send_task(f"rivals.celery_jobs.{task}", (job,), producer=producer)

    def queue_rate(self, jobs, clients):
        return self.measure("nothing", jobs, clients)

    def process_rate(self, jobs):
        return self.measure("process", jobs, 2)
