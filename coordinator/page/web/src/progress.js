// SPDX-License-Identifier: Apache-2.0
// Progress of a sweep, as its counts tell it. Pure functions.
import { secondsOf } from "./format.js";

// In the order in which a bar shows them.
export const STATES = [
  "succeeded",
  "failed",
  "skipped",
  "stopped",
  "canceled",
  "running",
  "backoff",
  "ready",
  "blocked",
];

// With a shape each, so that colour is not all that tells them apart.
export const SHAPES = {
  succeeded: "✓",
  failed: "✕",
  skipped: "⊘",
  stopped: "■",
  canceled: "⊗",
  running: "▶",
  backoff: "↻",
  ready: "○",
  blocked: "◌",
};

export const totalOf = (counts) => STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
export const endedOf = (counts) =>
  counts.succeeded + counts.failed + counts.skipped + (counts.stopped ?? 0) + counts.canceled;

export const isOver = (sweep) =>
  ["STATE_SUCCEEDED", "STATE_FAILED", "STATE_CANCELED"].includes(sweep.state);

// Version by which a sweep's tables are asked for again: it changes with every job that ends, with
// the end of the sweep, and with each end after a retry.
export const versionOf = (sweep) => `${endedOf(sweep.counts)} ${isOver(sweep) ? sweep.end_time : ""}`;

// After how many ms tables are asked for again though nothing has ended: while a sweep runs, the
// coordinator may answer with one that it made before. 0: never.
const AGAIN_MS = 30_000;
export const againOf = (sweep) => (isOver(sweep) ? 0 : AGAIN_MS);

// Jobs a second over the last minute; NaN when nothing is known.
export function rateOf(sweep) {
  const seconds = secondsOf(sweep.recent_span);
  return seconds > 0 ? (sweep.recent_jobs ?? 0) / seconds : NaN;
}

// Seconds until the sweep ends at today's rate; NaN when nothing tells.
export function timeLeft(sweep) {
  const rate = rateOf(sweep);
  const left = totalOf(sweep.counts) - endedOf(sweep.counts) - (sweep.counts.running_done ?? 0);
  return left > 0 && rate > 0 && sweep.state === "STATE_ACTIVE" ? left / rate : NaN;
}

// Whole percents, 100 only when all is done.
export function percentOf(counts) {
  const total = totalOf(counts);
  const done = endedOf(counts);
  return done === total ? 100 : Math.min(99, Math.floor((100 * (done + (counts.running_done ?? 0))) / total));
}

// " 42 %" of a running job that says how far it is; "" of others.
export const shareOf = (job) => (Number(job.of ?? 0) > 0 ? ` ${Math.floor((100 * (job.done ?? 0)) / job.of)} %` : "");

// True if parts of a score table's cell (seeds, settings that were chosen from) have no score.
export const lacksParts = (cell) =>
  ["failed", "pending", "stopped", "missing"].some((part) => Number(cell[part] ?? 0) > 0);

export const PARTS = ["scored", "failed", "pending", "stopped", "missing"];

// For each approach of a score table: how many parts of its cells (seeds, of the settings that the
// table shows) are scored, failed, pending, stopped or missing.
export function lanesOf(table) {
  const lanes = new Map(table.approaches.map((approach) => [approach.name, {}]));
  for (const cell of table.cells) {
    const lane = lanes.get(cell.approach);
    const counts = { scored: cell.state === "value" ? cell.seeds : 0, ...cell };
    for (const part of PARTS) {
      lane[part] = (lane[part] ?? 0) + Number(counts[part] ?? 0);
    }
  }
  return [...lanes].map(([approach, counts]) => ({ approach, counts }));
}
