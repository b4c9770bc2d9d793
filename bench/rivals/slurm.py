# SPDX-License-Identifier: Apache-2.0
"""A whole Slurm on the loopback device, without cgroups and accounting, one node of two CPUs, and an
array job of which each task is one job. Tasks' output goes to /dev/null.

The time is from the submission until every task is in the file of completed jobs.
"""

import os
import pwd
import re
import socket
import subprocess
import time

from rivals import Rival, exactly, free_port

CONFIGURATION = """ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={directory}/munge/s
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller_port}
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_min_interval=20000,batch_sched_delay=1
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={directory}/completed
MpiDefault=none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SwitchType=switch/none
ReturnToService=2
MaxArraySize=100001
NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm(Rival):
    key = "slurm"
    name = "Slurm, an array on two CPUs"
    programs = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
    process_jobs_max = 20
    runs = 3

    def start(self):
        self.before = 0  # tasks of earlier measurements
        munge = self.directory / "munge"
        for folder in (munge, self.directory / "state", self.directory / "spool"):
            folder.mkdir()
        # munged asks that nobody but the owner can write here, and everybody reach its socket.
        self.directory.chmod(0o755)
        munge.chmod(0o711)
        with open(munge / "key", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
            key.write(os.urandom(128))
        self.serve(["munged", "--foreground", "--force", f"--key-file={munge}/key",
                    f"--socket={munge}/s", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
                    f"--seed-file={munge}/seed"])
        self.until((munge / "s").exists, "munged's socket")
        configuration = self.directory / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(
            directory=self.directory, host=socket.gethostname().split(".")[0], port=free_port(),
            controller_port=free_port(), user=pwd.getpwuid(os.getuid()).pw_name))
        self.slurm = {"SLURM_CONF": str(configuration)}
        self.serve(["slurmctld", "-D", "-i"], **self.slurm)
        self.serve(["slurmd", "-D", "-N", "n0"], **self.slurm)
        self.until(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D") == "1", "an idle node")

    def run(self, *argv):
        return subprocess.run(argv, capture_output=True, text=True, cwd=self.directory,
                              env=self.environment(**self.slurm)).stdout.strip()

    def settings(self):
        return self.run("sinfo", "--version")

    def ended(self):
        file = self.directory / "completed"
        text = file.read_text() if file.exists() else ""
        return re.findall(r"JobId=(\d+) .*JobState=COMPLETED ", text)[self.before:]

    def process_rate(self, jobs):
        self.before += len(self.ended())
        start = time.perf_counter()
        said = self.run("sbatch", f"--array=0-{jobs - 1}", "--output=/dev/null", "--ntasks=1",
                        "--wrap=exec /bin/true")
        if "Submitted" not in said:
            raise RuntimeError(f"Slurm: sbatch said {said!r}")
        self.until(lambda: len(self.ended()) >= jobs, f"{jobs} tasks", 300)
        seconds = time.perf_counter() - start
        exactly(jobs, self.ended(), self.name)
        return jobs / seconds
