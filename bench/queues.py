"""Durable completions a second, one job a call as a queue's client takes them: PostgreSQL's SKIP
LOCKED with synchronous commits and N clients (pgbench), beside Concur with N workers of one slot.

usage: queues.py [JOBS]      default: 20000
"""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import harness

BIN = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
TAKE = """UPDATE job SET state = 1 WHERE id = (
  SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);
"""


class Postgres:
    """A server of its own, on a socket, as the user postgres: it refuses to run as root."""

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="concur-bench-pg-", dir=pathlib.Path.cwd())
        os.chmod(self.directory, 0o755)
        self.data = tempfile.mkdtemp(prefix="concur-bench-pg-", dir="/var/tmp")
        shutil.chown(self.data, "postgres", "postgres")
        self.run(BIN / "initdb", "-D", f"{self.data}/db", "-A", "trust")
        self.run(BIN / "pg_ctl", "-D", f"{self.data}/db", "-w", "-l", f"{self.data}/log", "-o",
                 f"-k {self.data} -c listen_addresses=", "start")
        return self

    def __exit__(self, *unused):
        self.run(BIN / "pg_ctl", "-D", f"{self.data}/db", "-m", "immediate", "stop")
        shutil.rmtree(self.data)
        shutil.rmtree(self.directory)

    def run(self, *arguments):
        return subprocess.run(["runuser", "-u", "postgres", "--", *map(str, arguments)], check=True,
                              capture_output=True, text=True, cwd="/").stdout

    def sql(self, text):
        return self.run(BIN / "psql", "-h", self.data, "-Atc", text)

    def measure(self, jobs, clients):
        self.sql("DROP TABLE IF EXISTS job")
        self.sql("CREATE TABLE job (id int PRIMARY KEY, state int NOT NULL)")
        self.sql("CREATE INDEX ready ON job (id) WHERE state = 0")
        self.sql(f"INSERT INTO job SELECT i, 0 FROM generate_series(1, {jobs}) i")
        self.sql("VACUUM ANALYZE job")
        script = pathlib.Path(self.directory) / "take.sql"
        script.write_text(TAKE)
        out = self.run(BIN / "pgbench", "-h", self.data, "-n", "-M", "prepared", "-f", script, "-c",
                       clients, "-j", 2, "-t", jobs // clients)
        done = int(self.sql("SELECT count(*) FROM job WHERE state = 1"))
        if done != jobs // clients * clients:
            raise RuntimeError(f"{done} of {jobs} jobs are done")
        return float(re.search(r"tps = ([\d.]+) \(without", out).group(1))


def concur(jobs, clients):
    with harness.Coordinator(parent=pathlib.Path.cwd()) as coordinator:
        coordinator.submit(harness.sweep_of(jobs))
        return coordinator.fake_workers(jobs, workers=clients, slots=1)["per_second"]


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"load average before: {os.getloadavg()[0]:.1f}\n", flush=True)
    rows = []
    with Postgres() as postgres:
        for clients in (2, 16):
            rates = {"PostgreSQL SKIP LOCKED": [], "Concur, workers of one slot": []}
            for _ in range(5):
                rates["PostgreSQL SKIP LOCKED"].append(postgres.measure(jobs, clients))
                rates["Concur, workers of one slot"].append(concur(jobs, clients))
            for name, values in rates.items():
                rows.append([name, clients, harness.si(statistics.median(values)),
                             f"{harness.si(min(values))}–{harness.si(max(values))}"])
    print(harness.table(["", "clients", "jobs/s", "min–max"], rows))


if __name__ == "__main__":
    main()
