// SPDX-License-Identifier: Apache-2.0
// Failed jobs by cause. Pure functions.

// Messages that differ in numbers, digests and paths only have one cause.
export function causeOf(job) {
  const message = job.result?.message || job.explanation || "";
  return message
    .split("\n")[0]
    .replace(/\b[0-9a-f]{12,}\b/g, "…")
    .replace(/(\/[\w.+-]+){2,}/g, "…")
    .replace(/\d+(\.\d+)?/g, "#")
    .slice(0, 200);
}

// Largest first: {failure, cause, message, jobs}.
export function groupFailures(jobs) {
  const groups = new Map();
  for (const job of jobs) {
    const failure = job.result?.failure ?? job.failure;
    const key = `${failure}\n${causeOf(job)}`;
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
