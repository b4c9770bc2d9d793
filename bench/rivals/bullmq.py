# SPDX-License-Identifier: Apache-2.0
"""BullMQ on Redis, one worker process. It keeps what has completed, as it does by default.

Jobs are in the queue before the worker starts; the time is from its start to the last answer.
"""

import json
import shutil
import subprocess

import harness
from rivals import BENCH, Rival, Unavailable, exactly
from rivals.redis_server import Redis

NODE = harness.ROOT / "build" / "bench-node"


class BullMQ(Rival):
    key = "bullmq"
    name = "BullMQ"
    programs = ("redis-server", "node", "npm")
    modules = ("redis",)
    queue_clients = (2, 50)
    process_jobs_max = 2000

    def prepare(self):
        if shutil.which("npm") is None:
            subprocess.run([harness.ROOT / "scripts" / "install-packages",
                            harness.ROOT / "scripts" / "packages" / "node.txt"])
        super().prepare()
        lock = (BENCH / "package-lock.json").read_text()
        installed = NODE / "installed"
        if installed.exists() and installed.read_text() == lock:
            return
        NODE.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(BENCH / file, NODE)
        done = subprocess.run(["npm", "ci", "--prefix", NODE, "--ignore-scripts", "--no-audit",
                               "--no-fund"], capture_output=True, text=True, cwd=NODE)
        if done.returncode != 0:
            raise Unavailable(f"npm ci: {done.stderr.strip().splitlines()[-1:]}")
        installed.write_text(lock)

    def start(self):
        self.redis = Redis(self)

    def settings(self):
        version = json.loads((NODE / "node_modules/bullmq/package.json").read_text())["version"]
        return f"BullMQ {version}, {self.redis.settings()}; completed jobs kept"

    def measure(self, what, jobs, concurrency):
        self.redis.client.flushall()
        done = subprocess.run(
            list(map(str, ["node", BENCH / "rivals" / "bullmq.js", self.redis.socket, what, jobs,
                           concurrency])),
            capture_output=True, text=True, timeout=600,
            env=self.environment(NODE_PATH=str(NODE / "node_modules")))
        if done.returncode != 0:
            raise RuntimeError(f"BullMQ: {done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        exactly(jobs, report["ended"], "BullMQ's events")
        if report["counts"] != {"completed": jobs, "failed": 0, "waiting": 0, "active": 0}:
            raise RuntimeError(f"BullMQ: {jobs} jobs, but {report['counts']}")
        return jobs / report["seconds"]

    def queue_rate(self, jobs, clients):
        return self.measure("nothing", jobs, clients)

    def process_rate(self, jobs):
        return self.measure("process", jobs, 2)
