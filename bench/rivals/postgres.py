# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL as a queue, with SKIP LOCKED and its own settings, which sync every commit.

As a queue: pgbench, one statement and so one commit a job. Of processes: two clients that hold a
job's row, run it and mark it, in one transaction.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from rivals import Rival, Unavailable, ledger

BINARIES = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
TAKE = """UPDATE job SET state = 1 WHERE id = (
  SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);
"""


class Postgres(Rival):
    key = "postgresql"
    name = "PostgreSQL SKIP LOCKED"
    modules = ("psycopg2",)
    queue_clients = (2, 16, 64)

    def prepare(self):
        if not BINARIES:
            raise Unavailable("no PostgreSQL is in /usr/lib/postgresql")
        super().prepare()

    def start(self):
        # Where the user postgres may write: the server refuses to run as root.
        self.data = tempfile.mkdtemp(prefix="concur-bench-pg-", dir="/var/tmp")
        if os.stat(self.data).st_dev != os.stat(self.directory).st_dev:
            os.rmdir(self.data)
            raise Unavailable("/var/tmp is not on the disk of the current directory")
        if os.getuid() == 0:
            shutil.chown(self.data, "postgres", "postgres")
        self.run("initdb", "-D", f"{self.data}/db", "-A", "trust", "-U", "postgres")
        self.run("pg_ctl", "-D", f"{self.data}/db", "-w", "-l", f"{self.data}/log", "-o",
                 f"-k {self.data} -c listen_addresses=", "start")

    def stop(self):
        if not os.path.isdir(self.data):
            return
        if pathlib.Path(f"{self.data}/db/postmaster.pid").exists():
            self.run("pg_ctl", "-D", f"{self.data}/db", "-m", "immediate", "stop")
        shutil.rmtree(self.data)

    def run(self, program, *arguments):
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        done = subprocess.run([*user, BINARIES[-1] / program, *map(str, arguments)],
                              capture_output=True, text=True, cwd="/")
        if done.returncode != 0:
            raise Unavailable(f"{program}: {done.stderr.strip()}")
        return done.stdout

    def sql(self, text):
        return self.run("psql", "-h", self.data, "-U", "postgres", "-Atc", text).strip()

    def settings(self):
        return f"PostgreSQL {self.sql('SHOW server_version')}, " + ", ".join(
            f"{name} {self.sql('SHOW ' + name)}"
            for name in ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes"))

    def fill(self, jobs):
        self.sql("DROP TABLE IF EXISTS job")
        self.sql("CREATE TABLE job (id int PRIMARY KEY, state int NOT NULL)")
        self.sql("CREATE INDEX ready ON job (id) WHERE state = 0")
        self.sql(f"INSERT INTO job SELECT i, 0 FROM generate_series(0, {jobs - 1}) i")
        self.sql("VACUUM ANALYZE job")

    def check(self, jobs):
        done = int(self.sql("SELECT count(*) FROM job WHERE state = 1"))
        if done != jobs:
            raise RuntimeError(f"PostgreSQL: {done} of {jobs} jobs are done")

    def queue_rate(self, jobs, clients):
        self.fill(jobs)
        script = pathlib.Path(self.data) / "take.sql"
        script.write_text(TAKE)
        script.chmod(0o644)
        out = self.run("pgbench", "-h", self.data, "-U", "postgres", "-n", "-M", "prepared", "-f",
                       script, "-c", clients, "-j", 2, "-t", jobs // clients, "postgres")
        self.check(jobs // clients * clients)
        return float(re.search(r"tps = ([\d.]+) \(without", out).group(1))

    def process_rate(self, jobs):
        self.fill(jobs)
        path = str(self.directory / "ledger")
        workers = [subprocess.Popen([sys.executable, "-m", "rivals.postgres", self.data, path],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    env=self.environment()) for _ in range(2)]
        for worker in workers:
            worker.stdout.readline()
        for worker in workers:
            worker.stdin.close()
        if any(worker.wait() != 0 for worker in workers):
            raise RuntimeError("PostgreSQL: a worker failed")
        self.check(jobs)
        return ledger.rate(path, jobs)


def worker(host, path):
    """Runs jobs one by one until none is left, once standard input has ended."""
    import psycopg2
    connection = psycopg2.connect(host=host, user="postgres", dbname="postgres")
    cursor = connection.cursor()
    print("ready", flush=True)
    sys.stdin.read()
    while True:
        cursor.execute("SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1 "
                       "FOR UPDATE SKIP LOCKED")
        row = cursor.fetchone()
        if row is None:
            return
        _, status = os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], os.environ), 0)
        if status != 0:
            raise RuntimeError(f"job {row[0]}: {status}")
        cursor.execute("UPDATE job SET state = 1 WHERE id = %s", row)
        connection.commit()
        ledger.note(path, row[0])


if __name__ == "__main__":
    worker(*sys.argv[1:])
