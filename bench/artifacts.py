# SPDX-License-Identifier: Apache-2.0
"""scripts/bench artifacts [MIB]: an artifact (default 1 GiB) to the coordinator and back, over TCP
on loopback and as a worker moves it, beside what bounds that: a copy with a sync, SHA-256, and
gRPC streams that nobody writes or hashes. Each figure is the best of three, in one run."""

import json
import os
import subprocess
import sys

import harness

ROUNDS = 3


def transfer(*arguments):
    done = subprocess.run([harness.BIN / "bench_transfer", *map(str, arguments)], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def best(rounds):
    return {name: min(times[name] for times in rounds) for name in rounds[0]}


def main():
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    floors, moved, cpu = [], [], []
    for _ in range(ROUNDS):
        with harness.Coordinator(listen="127.0.0.1:0") as coordinator:
            file = coordinator.directory / "artifact"
            with open(file, "wb") as out:
                for _ in range(mib):
                    out.write(os.urandom(1 << 20))
            os.sync()  # what is written later is what is measured
            floors.append(transfer("floors", file, coordinator.directory))
            before = harness.process_cpu_seconds(coordinator.process.pid)
            moved.append(transfer(coordinator.address, file, coordinator.directory))
            cpu.append(harness.process_cpu_seconds(coordinator.process.pid) - before)
    size = mib << 20
    floors, moved = best(floors), best(moved)
    names = {
        "upload": "upload, durable (coordinator's fsync included)",
        "download": "download into a worker's cache, checked",
        "copy": "floor: copy of the file, read and write, with an fsync",
        "sha256": "floor: SHA-256 of the file",
        "grpc_up": "floor: gRPC stream to a server that drops it",
        "grpc_down": "floor: gRPC stream from memory",
    }
    seconds = {**moved, **floors}
    print(harness.table(["what", "MB/s", "seconds"],
                        [[names[name], f"{size / seconds[name] / 1e6:,.0f}",
                          f"{seconds[name]:.2f}"] for name in names]))
    print(f"\n{mib} MiB; the coordinator took {min(cpu):.2f} s of CPU for both ways")


if __name__ == "__main__":
    main()
