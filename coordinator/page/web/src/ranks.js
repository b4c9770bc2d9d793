// SPDX-License-Identifier: Apache-2.0
// Makes what the view of ranks shows from a ranking's rows. Pure functions.

const OF_RANKS = new Set([
  "rank",
  "approach",
  "rank_low",
  "rank_high",
  "all_ranks_low",
  "all_ranks_high",
  "group",
  "next_p",
]);

// The names of the groups of benchmarks that are averaged.
export const averagesOf = (rows) => Object.keys(rows[0] ?? {}).filter((key) => !OF_RANKS.has(key));

export const isResolved = (row) => row.rank_low !== null && row.rank_low !== undefined;

export const rankText = (low, high) => (low === high ? `${low}` : `${low}–${high}`);

// Where ranks `low` to `high` of `count` stand on a bar, in percent of its width.
export const rankBar = (low, high, count) => ({
  left: (100 * (low - 1)) / count,
  width: (100 * (high - low + 1)) / count,
});
