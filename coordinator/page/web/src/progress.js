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

export const isOver = (sweep) =>
  ["STATE_SUCCEEDED", "STATE_FAILED", "STATE_CANCELED"].includes(sweep.state);

// Version by which a sweep's tables are asked for again: it changes with every job that ends, with
// the end of the sweep, and with each end after a retry.
export const versionOf = (sweep) =>
  `${sweep.progress?.done ?? 0} ${sweep.counts.canceled} ${isOver(sweep) ? sweep.end_time : ""}`;

// After how many ms tables are asked for again though nothing has ended: while a sweep runs, the
// coordinator may answer with one that it made before. 0: never.
const AGAIN_MS = 30_000;
export const againOf = (sweep) => (isOver(sweep) ? 0 : AGAIN_MS);

// Jobs a second over the last minute, and seconds until the sweep ends at that rate; NaN: unknown.
export const rateOf = (sweep) => sweep.progress?.jobs_per_second || NaN;
export const timeLeft = (sweep) => secondsOf(sweep.progress?.left);

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
