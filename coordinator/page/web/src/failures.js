// SPDX-License-Identifier: Apache-2.0
// Failed jobs by cause. Pure functions.

// Largest first: {failure, cause, message, jobs}.
export function groupFailures(jobs) {
  const groups = new Map();
  for (const job of jobs) {
    const failure = job.result?.failure ?? job.failure;
    const key = job.failure_group;
    const group = groups.get(key) ?? {
      key,
      failure,
      message: (job.result?.message || job.explanation || "").split("\n")[0],
      jobs: [],
    };
    group.jobs.push(job);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}

export const indexOf = (jobId) => Number(jobId.slice(jobId.lastIndexOf("/") + 1));
