# SPDX-License-Identifier: Apache-2.0
"""Samples what a running service holds, over time, and tells whether any of it grows.

Growth is the Theil-Sen slope (the median over all pairs of samples) times the measured time, so
that neither a peak nor a restart counts as growth. It must stay below the series' bound.
"""

import os
import pathlib
import statistics

MIB = 1 << 20
POINTS_MAX = 300  # of a series in the slope: more are reduced to medians of neighbours


class Series:
    def __init__(self, name, unit, bound):
        self.name, self.unit, self.bound = name, unit, bound
        self.samples = []  # (time, life, value)

    def add(self, time, life, value):
        self.samples.append((time, life, value / MIB if self.unit == "MiB" else value))

    def per_second(self):
        """Pairs are of one life: memory of a program that was restarted begins anew."""
        points = _reduce(self.samples)
        slopes = [
            (b[2] - a[2]) / (b[0] - a[0])
            for i, a in enumerate(points)
            for b in points[i + 1:]
            if a[1] == b[1] and b[0] > a[0]
        ]
        return statistics.median(slopes) if slopes else 0.0

    def level(self, end):
        """The median of the first or last fifth of the samples."""
        count = max(1, len(self.samples) // 5)
        part = self.samples[-count:] if end else self.samples[:count]
        return statistics.median(value for _, _, value in part)


def _reduce(samples):
    step = -(-len(samples) // POINTS_MAX)
    if step <= 1:
        return samples
    points = []
    for life in dict.fromkeys(sample[1] for sample in samples):
        own = [sample for sample in samples if sample[1] == life]
        for i in range(0, len(own), step):
            part = own[i:i + step]
            points.append((statistics.median(s[0] for s in part), life,
                           statistics.median(s[2] for s in part)))
    return points


class Growth:
    """All series of a run. `slack` widens every bound, for runs too short for warm caches."""

    def __init__(self, slack=1.0):
        self.slack = slack
        self.series = {}

    def add(self, name, unit, bound, time, life, value):
        if name not in self.series:
            self.series[name] = Series(name, unit, bound * self.slack)
        self.series[name].add(time, life, value)

    def judge(self, seconds):
        """The table, and the names of the series that grow beyond their bound."""
        lines = [f"{'what':<38}{'samples':>8}{'first':>10}{'last':>10}{'slope/h':>10}{'growth':>10}"
                 f"{'bound':>8}"]
        grown = []
        for series in self.series.values():
            slope = series.per_second()
            growth = slope * seconds
            if growth > series.bound:
                grown.append(series.name)
            label = f"{series.name} ({series.unit})" if series.unit else series.name
            lines.append(f"{label:<38}{len(series.samples):>8}{series.level(False):>10.1f}"
                         f"{series.level(True):>10.1f}{slope * 3600:>+10.2f}{growth:>+10.2f}"
                         f"{series.bound:>8.0f}" + ("  GROWS" if growth > series.bound else ""))
        return "\n".join(lines), grown


def process_values(pid):
    """{name: (unit, bound, value)} of a process; empty when it is gone."""
    try:
        rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024
                 for line in rollup.splitlines()[1:]}
        tasks = os.listdir(f"/proc/{pid}/task")
        children = sum(
            len(pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
            for task in tasks)
        return {
            "rss": ("MiB", 8, sizes["Rss"]),
            "pss": ("MiB", 8, sizes["Pss"]),
            "descriptors": ("", 8, len(os.listdir(f"/proc/{pid}/fd"))),
            "threads": ("", 4, len(tasks)),
            "child processes": ("", 4, children),
        }
    except (OSError, KeyError, IndexError):
        return {}


def files(directory):
    """(number of files, their bytes) below a directory; what vanishes meanwhile is left out."""
    count = size = 0
    for root, _, names in os.walk(directory):
        for name in names:
            try:
                size += os.lstat(os.path.join(root, name)).st_size
                count += 1
            except OSError:
                pass
    return count, size


def entries(directory):
    try:
        return len(os.listdir(directory))
    except OSError:
        return 0


def size_of(path):
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
