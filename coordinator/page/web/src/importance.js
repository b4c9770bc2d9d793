// SPDX-License-Identifier: Apache-2.0
// The share of the order of settings that each parameter explains alone. Pure functions.
import { SCORE, valueAt } from "./settings.js";

export const SETTINGS_MIN = 10;
const GROUPS_MAX = 5; // of a number's values
const GROUP_SIZE = 4; // at least, on the mean
const LEVEL = 0.05;

// Ranks from 1; equal values share the mean of theirs.
function ranksOf(values) {
  const order = values.map((_, index) => index).sort((a, b) => values[a] - values[b]);
  const ranks = new Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && values[order[to]] === values[order[from]]) {
      ++to;
    }
    for (const index of order.slice(from, to)) {
      ranks[index] = (from + 1 + to) / 2;
    }
    from = to;
  }
  return ranks;
}

// The group of each value, from 0: words and few numbers by value, more numbers by quantile.
function groupsOf(values) {
  const distinct = [...new Set(values)];
  const isNumber = values.every((value) => typeof value === "number");
  const count = Math.min(GROUPS_MAX, Math.floor(values.length / GROUP_SIZE));
  if (!isNumber || distinct.length <= count) {
    return values.map((value) => distinct.indexOf(value));
  }
  const found = ranksOf(values).map((rank) => Math.ceil((rank * count) / values.length));
  const names = [...new Set(found)];
  return found.map((group) => names.indexOf(group));
}

// Kruskal and Wallis's H, corrected for ties, of ranks in groups.
function kruskalWallis(ranks, groups) {
  const n = ranks.length;
  const mean = (n + 1) / 2;
  const sums = new Map();
  ranks.forEach((rank, index) => {
    const [sum, count] = sums.get(groups[index]) ?? [0, 0];
    sums.set(groups[index], [sum + rank - mean, count + 1]);
  });
  const between = [...sums.values()].reduce((total, [sum, count]) => total + (sum * sum) / count, 0);
  const all = ranks.reduce((total, rank) => total + (rank - mean) ** 2, 0);
  return all > 0 ? ((n - 1) * between) / all : 0;
}

// True where H of k groups is beyond its distribution without an effect at `level`: chi-squared with
// k - 1 degrees of freedom by Wilson and Hilferty's cube root (1931), conservative in small groups,
// and the normal quantile by Abramowitz and Stegun's 26.2.23.
function isBeyondChance(h, k, level) {
  const spread = 2 / (9 * (k - 1));
  const z = (Math.cbrt(h / (k - 1)) - (1 - spread)) / Math.sqrt(spread);
  const t = Math.sqrt(-2 * Math.log(level));
  const top = 2.515517 + t * (0.802853 + t * 0.010328);
  return z > t - top / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

// For each parameter with at least two groups of values, the largest share first:
//   {name, share, isChance}
// `share`: (H - k + 1) / (n - k), from 0 to 1, of n settings in k groups (Tomczak and Tomczak 2014):
// 0 for a parameter without effect. Ranks, since one diverged run would outweigh all.
// `isChance`: the test of Kruskal and Wallis does not show an effect, at 5 % over all parameters.
// Empty below SETTINGS_MIN settings.
export function importanceOf(rows, axes) {
  const found = axes
    .filter(({ name }) => name !== SCORE)
    .map(({ name }) => {
      const own = rows.filter((row) => valueAt(row, name) !== undefined);
      const groups = groupsOf(own.map((row) => valueAt(row, name)));
      return { name, own, groups, count: new Set(groups).size };
    })
    .filter(({ own, count }) => own.length >= SETTINGS_MIN && count > 1 && count < own.length);
  return found
    .map(({ name, own, groups, count }) => {
      const h = kruskalWallis(ranksOf(own.map(({ score }) => score)), groups);
      return {
        name,
        share: Math.max(0, (h - count + 1) / (own.length - count)),
        isChance: !isBeyondChance(h, count, LEVEL / found.length),
      };
    })
    .sort((a, b) => b.share - a.share || (a.name < b.name ? -1 : 1));
}
