// SPDX-License-Identifier: Apache-2.0
// The places of points in a scatter plot. Pure functions.

// Values this close, relative to their size, share one tick: tick labels have 12 digits.
const TINY = 1e-10;

// Round numbers that span the values: at most `count` + 1 of them.
export function ticks(low, high, count = 5) {
  if (high > low && high - low < TINY * Math.max(Math.abs(low), Math.abs(high))) {
    return [low];
  }
  const range = high - low || Math.abs(high) || 1;
  const rough = range / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const first = Math.ceil(low / step);
  const result = [];
  for (let index = 0; index <= count && (first + index) * step <= high + step / 1e6; index += 1) {
    result.push(Number(((first + index) * step).toPrecision(12)));
  }
  return result;
}

// From values to pixels between `from` and `to`, with a margin of 4 % at both ends.
export function scale(values, from, to) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = (high - low || Math.abs(high) || 1) * 0.04;
  const span = high - low + 2 * margin;
  return {
    low: low - margin,
    high: high + margin,
    at: (value) => from + ((value - low + margin) / span) * (to - from),
  };
}

// The approaches of a score table that have a score on both benchmarks.
export function pointsOf(table, x, y) {
  const scores = new Map();
  for (const cell of table.cells) {
    if (Number.isFinite(cell.value) && cell.value !== null) {
      scores.set(`${cell.approach}\n${cell.benchmark}`, cell.value);
    }
  }
  return table.approaches
    .map(({ name }) => ({ name, x: scores.get(`${name}\n${x}`), y: scores.get(`${name}\n${y}`) }))
    .filter((point) => point.x !== undefined && point.y !== undefined);
}
