// SPDX-License-Identifier: Apache-2.0
// Finds what two matrices have in common and where they differ. Pure functions.

// Names in `one` that `other` lacks.
export const onlyIn = (one, other) => {
  const known = new Set(other);
  return one.filter((name) => !known.has(name));
};

const isNumber = (value) => value !== null && value !== undefined;
export const hasInterval = (pair) => isNumber(pair?.low) && isNumber(pair?.high);
// The order of a pair's benchmarks is that of its sweep.
export const pairKey = ({ a, b }) => JSON.stringify([a, b].sort());

// The pairs of two matrices, the largest difference first: {key, a, b, first, second, difference,
// overlap}. `difference` is second − first, NaN unless both have a value; `overlap` tells whether
// the intervals do, null unless both have one.
export function comparePairs(first, second) {
  const rows = new Map();
  for (const [side, matrix] of [["first", first], ["second", second]]) {
    for (const pair of matrix.pairs) {
      const key = pairKey(pair);
      rows.set(key, { key, a: pair.a, b: pair.b, ...rows.get(key), [side]: pair });
    }
  }
  const size = (row) => (Number.isNaN(row.difference) ? -1 : Math.abs(row.difference));
  return [...rows.values()]
    .map((row) => ({ ...row, ...differenceOf(row.first, row.second) }))
    .sort((x, y) => size(y) - size(x));
}

function differenceOf(first, second) {
  const haveValues = isNumber(first?.value) && isNumber(second?.value);
  const haveIntervals = haveValues && hasInterval(first) && hasInterval(second);
  return {
    difference: haveValues ? second.value - first.value : NaN,
    overlap: haveIntervals ? first.low <= second.high && second.low <= first.high : null,
  };
}

// Sweeps to compare before anybody chose: the newest of the `sweeps`, which come newest first, with
// the one before it. Undefined where there are fewer than two.
export const newestTwo = (sweeps) =>
  sweeps.length < 2 ? undefined : { first: sweeps[1].id, second: sweeps[0].id };

export const isSweepOf = (sweeps, text) => sweeps.some(({ id, name }) => text === id || text === name);
