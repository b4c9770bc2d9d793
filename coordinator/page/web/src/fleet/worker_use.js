// SPDX-License-Identifier: Apache-2.0
// Number of jobs that workers ran at a time, from when jobs started and how long they took. Pure
// functions.
import { secondsOf } from "../format.js";

export const PARTS = 60; // of the time from the first start to the last end

// {worker, from, to, failed} in milliseconds; null for a job that no worker ran.
function spanOf(job) {
  const from = Date.parse(job.result?.start_time);
  const to = from + 1000 * secondsOf(job.result?.run_time);
  const wasRun = job.worker && !job.reused_from && Number.isFinite(to);
  return wasRun ? { worker: job.worker, from, to, failed: job.state === "STATE_FAILED" } : null;
}

// {from, to, running, active, workers}: for each part of the time the mean of how many jobs ran at
// a time, and how many workers ran any; of each worker, by name, {name, jobs, failed, busy,
// running}, busy in seconds. Null when no job was run.
export function useOf(jobs) {
  const spans = jobs.map(spanOf).filter((span) => span !== null);
  if (spans.length === 0) {
    return null;
  }
  const from = spans.reduce((least, span) => Math.min(least, span.from), Infinity);
  const to = spans.reduce((most, span) => Math.max(most, span.to), -Infinity);
  const width = Math.max(1, to - from) / PARTS;
  const workers = new Map();
  for (const span of spans) {
    const none = { name: span.worker, jobs: 0, failed: 0, busy: 0, running: Array(PARTS).fill(0) };
    const worker = workers.get(span.worker) ?? none;
    worker.jobs += 1;
    worker.failed += span.failed ? 1 : 0;
    worker.busy += (span.to - span.from) / 1000;
    const last = Math.min(PARTS - 1, Math.floor((span.to - from) / width));
    for (let part = Math.floor((span.from - from) / width); part <= last; part += 1) {
      const begin = Math.max(span.from, from + part * width);
      const end = Math.min(span.to, from + (part + 1) * width);
      worker.running[part] += Math.max(0, end - begin) / width;
    }
    workers.set(span.worker, worker);
  }
  const all = [...workers.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const overAll = (value) =>
    Array.from({ length: PARTS }, (_, part) =>
      all.reduce((sum, { running }) => sum + value(running[part]), 0),
    );
  return {
    from,
    to,
    running: overAll((running) => running),
    active: overAll((running) => (running > 0 ? 1 : 0)),
    workers: all,
  };
}
