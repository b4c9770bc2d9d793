# SPDX-License-Identifier: Apache-2.0
"""Users that submit, read, cancel, retry and delete without end, a bounded number of sweeps each."""

import collections
import json
import random
import subprocess
import threading

SWEEPS_MAX = 4  # of a user at a time
UNAVAILABLE, PRECONDITION = 7, 4

# One of the four seeds fails, and one leaves a process behind that left its session. Every model is
# new bytes; every eighth sweep runs into its time-out.
SWEEP = """apiVersion: concur/v1
kind: Sweep
metadata: {{name: {name}}}
spec:
  approaches:
    - metadata: {{name: shell}}
      spec:
        version: "{version}"
        train:
          command: [/bin/sh, -c, "seq 1 200; [ {{seed}} != 3 ] || exit 3; \
[ {{seed}} != 4 ] || (setsid sleep 20 &) ; sleep {sleep}; \
head -c 49152 /dev/urandom > {{model}}; : {{train}}"]
          timeout: 2s
        predict:
          command: [/bin/sh, -c, "seq 1 20; \
printf '{{{{\\"accuracy\\": %s}}}}' {{seed}} > {{metrics}}; : {{test}} {{model}}"]
          timeout: 20s
  benchmarks:
    - metadata: {{name: task}}
      spec: {{format: file, train: {data}, test: {data}, metric: accuracy}}
  retry: {{failures_max: 1, lost_max: 1000, backoff_min: 10ms, backoff_max: 50ms}}
  seeds: {{from: 1, to: 4}}
"""


class User(threading.Thread):
    def __init__(self, number, concur, directory, pace, stop):
        super().__init__(name=f"user {number}")
        self.number, self.concur, self.directory = number, concur, directory
        self.pace, self.stop = pace, stop
        self.random = random.Random(number)
        self.sweeps = []
        self.submitted = 0
        self.counts = collections.Counter()
        self.unexpected = []

    def run(self):
        while not self.stop.wait(self.random.uniform(0, 2 * self.pace)):
            self.act()

    def ask(self, what, *arguments, allowed=()):
        """The standard output, or None when the call was refused as it may be."""
        done = subprocess.run([*self.concur, "-o", "jsonl", *arguments], capture_output=True,
                              text=True, timeout=120)
        if done.returncode == 0:
            self.counts[what] += 1
            return done.stdout
        self.counts["unavailable" if done.returncode == UNAVAILABLE else "refused"] += 1
        if done.returncode not in (UNAVAILABLE, *allowed):
            self.unexpected.append(f"{what}: exit code {done.returncode}: {done.stderr[:500]}")
        return None

    def act(self):
        if len(self.sweeps) < SWEEPS_MAX:
            self.submit()
            return
        sweep = self.random.choice(self.sweeps)
        what = self.random.randrange(8)
        if what == 0:
            self.ask("cancel", "sweep", "cancel", sweep, allowed=[PRECONDITION])
        elif what == 1:
            self.ask("retry", "sweep", "retry", sweep, allowed=[PRECONDITION])
        elif what == 2:
            self.ask("scores", "scores", sweep)
        elif what == 3:
            self.ask("jobs", "job", "list", sweep, "--limit", "0")
        elif what == 4:
            # A job that has not run has no log yet.
            self.ask("logs", "job", "logs", f"{sweep}/{self.random.randrange(8)}",
                     allowed=[3, PRECONDITION])
        elif what == 5:
            self.ask("explain", "job", "explain", f"{sweep}/{self.random.randrange(8)}")
        else:
            self.delete(self.sweeps[0])

    def submit(self):
        name = f"u{self.number}-{self.submitted}"
        # Two sweeps after one another do the same work; the data changes with every fourth.
        data = self.directory / f"data-{self.number}.txt"
        if self.submitted % 4 == 0:
            data.write_text(f"{name} " * 2000 + "\n")
        file = self.directory / f"sweep-{self.number}.yaml"
        file.write_text(SWEEP.format(name=name, version=f"{self.number}.{self.submitted // 2}",
                                     data=data.name, sleep=3 if self.submitted % 8 == 6 else 0.05))
        answer = self.ask("submit", "sweep", "submit", str(file), "--request-id", name)
        if answer is not None:  # else the same submission is repeated
            self.sweeps.append(json.loads(answer)["id"])
            self.submitted += 1

    def delete(self, sweep):
        if self.ask("delete", "sweep", "delete", sweep, "--yes", allowed=[PRECONDITION, 3]) is None:
            self.ask("cancel", "sweep", "cancel", sweep, allowed=[PRECONDITION, 3])
        # Gone, whether this call or one whose answer was lost did it.
        if self.ask("get", "sweep", "get", sweep, allowed=[3]) is None:
            found = self.ask("list", "sweep", "list", "--limit", "0")
            if found is not None and all(json.loads(line)["id"] != sweep
                                         for line in found.splitlines()):
                self.sweeps.remove(sweep)
                self.counts["gone"] += 1
