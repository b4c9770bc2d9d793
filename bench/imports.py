# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `concur import mteb` on many result files, made from real ones with random scores.

usage: imports.py RESULTS [MODELS [FILE_BYTES]]      default: 2500 models, 17000 bytes a file

RESULTS is a folder results/MODEL/REVISION/TASK.json of MTEB's results repository. Every made model has
every task of RESULTS once. CONCUR names the program (default: build/release/bin/concur).
"""

import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time


def make(results, out, models, size):
    """Writes the files; their number and bytes."""
    tasks = {path.stem: path.read_text() for path in sorted(results.glob("*/*/*.json"))}
    if not tasks:
        sys.exit(f"imports.py: no MODEL/REVISION/TASK.json in {results}")
    rng = random.Random(1)
    total = 0
    for model in range(models):
        folder = out / f"org{model % 90}__model-{model}" / f"{model:040x}"
        folder.mkdir(parents=True)
        for name, text in tasks.items():
            document = json.loads(text)
            for subsets in document["scores"].values():
                for subset in subsets:
                    subset["main_score"] = rng.random()
            # JSON allows white space: a file of the size that was asked for, with the same scores.
            text = json.dumps(document, indent=1)
            text += "\n" * max(0, size - len(text))
            (folder / f"{name}.json").write_text(text)
            total += len(text)
    return models * len(tasks), total


def main():
    results = pathlib.Path(sys.argv[1])
    models = int(sys.argv[2]) if len(sys.argv) > 2 else 2500
    size = int(sys.argv[3]) if len(sys.argv) > 3 else 17_000
    program = os.environ.get("CONCUR", "build/release/bin/concur")
    with tempfile.TemporaryDirectory() as work:
        files, total = make(results, pathlib.Path(work, "results"), models, size)
        start = time.monotonic()
        command = [program, "import", "mteb", f"{work}/results", "--out", f"{work}/bundle"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{files} files, {total / 1e9:.2f} GB: {wall:.1f} s wall, "
            f"{used.ru_utime + used.ru_stime:.1f} s CPU, at most {used.ru_maxrss / 1024:.0f} MiB"
        )


if __name__ == "__main__":
    main()
