// SPDX-License-Identifier: Apache-2.0
// The settings of an approach with their scores on a benchmark, as lines across parallel axes: one
// axis for each parameter, the last for the score. Pure functions.
import { memberOf, writtenOf } from "./format.js";
import { ticks } from "./scatter.js";

export const SCORE = "score"; // the last axis
// Columns of the table; parameters of these names have " (parameter)" after them.
export const OTHER_COLUMNS = ["setting", SCORE, "± over seeds", "seeds"];
const LOG_FROM = 100; // positive values that span so much have a logarithmic axis
const CATEGORIES_MAX = 20; // ticks of an axis of words

// A parameter's value from protobuf's JSON, whose 64-bit integers are texts.
function valueOf(value) {
  const [kind, raw] = memberOf(value);
  const isNumber = kind === "int_value" || kind === "double_value" || value.is_number;
  return isNumber ? Number(raw) : String(raw);
}

const nameOf = (parameter) =>
  OTHER_COLUMNS.includes(parameter) ? `${parameter} (parameter)` : parameter;

// The data sets on which settings are compared: the validation sets of the benchmarks that have one,
// since choosing a setting by its test score would flatter it, and the other benchmarks themselves.
// Each with its benchmark: {name, metric, minimize, of}.
export function dataSetsOf(benchmarks) {
  const validated = new Set(
    benchmarks.map(({ validation_of: of }) => of).filter((of) => of !== undefined),
  );
  return benchmarks
    .filter((_, index) => !validated.has(index))
    .map(({ name, metric, goal, validation_of: of }) => ({
      name,
      metric,
      minimize: goal === "GOAL_MINIMIZE",
      of: of === undefined ? name : benchmarks[of].name,
    }));
}

// The train sets and metrics that jobs of `benchmark` have, each by name.
export function choicesOf(jobs, benchmark) {
  const evals = jobs.filter((job) => job.test_benchmark === benchmark);
  const names = (all) => [...new Set(all)].sort();
  return {
    trainSets: names(evals.map((job) => job.train_set)),
    metrics: names(evals.flatMap((job) => (job.result?.metrics ?? []).map(({ name }) => name))),
  };
}

// One row for each setting that has a score: {setting, values, written, score, deviation, seeds}, the
// best score first. `values` and how the file writes them (3.10) are by parameter; the deviation is
// that of the seeds.
export function rowsOf(jobs, { benchmark, trainSet, metric, minimize = false }) {
  const rows = new Map();
  for (const job of jobs) {
    const score = job.result?.metrics?.find(({ name }) => name === metric)?.value;
    const isAsked = job.test_benchmark === benchmark && job.train_set === trainSet;
    if (!isAsked || !Number.isFinite(score)) {
      continue;
    }
    const byParameter = (read) =>
      Object.fromEntries(Object.entries(job.setting ?? {}).map(([name, value]) => [nameOf(name), read(value)]));
    const row = rows.get(job.setting_index) ?? {
      setting: job.setting_index,
      values: byParameter(valueOf),
      written: byParameter(writtenOf),
      scores: [],
    };
    row.scores.push(score);
    rows.set(job.setting_index, row);
  }
  return [...rows.values()]
    .map(({ scores, ...row }) => {
      const seeds = scores.length;
      const score = scores.reduce((sum, value) => sum + value, 0) / seeds;
      const squares = scores.reduce((sum, value) => sum + (value - score) ** 2, 0);
      return { ...row, score, seeds, deviation: seeds > 1 ? Math.sqrt(squares / (seeds - 1)) : null };
    })
    .sort((a, b) => (minimize ? a.score - b.score : b.score - a.score) || a.setting - b.setting);
}

export const valueAt = (row, axis) => (axis === SCORE ? row.score : row.values[axis]);

// The axes of all parameters, by name, and the score's: {name, kind, at(value), ticks, low, high}.
// `at` is from 0 (bottom) to 1. A value that is not there has no place: undefined.
export function axesOf(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.values)))].sort();
  return [...names, SCORE].map((name) => {
    const values = rows.map((row) => valueAt(row, name)).filter((value) => value !== undefined);
    return values.every((value) => typeof value === "number")
      ? numberAxis(name, values)
      : wordAxis(name, values.map(String));
  });
}

function numberAxis(name, values) {
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const isLog = low > 0 && high / low >= LOG_FROM;
  const place = isLog ? Math.log10 : (value) => value;
  const span = place(high) - place(low);
  const at = (value) => (value === undefined ? undefined : span > 0 ? (place(value) - place(low)) / span : 0.5);
  const marks = isLog
    ? ticks(Math.log10(low), Math.log10(high))
        .filter(Number.isInteger)
        .map((power) => Number(`1e${power}`))
    : ticks(low, high);
  const shown = span > 0 ? marks.filter((mark) => mark >= low && mark <= high) : [low];
  return {
    name,
    kind: isLog ? "log" : "number",
    low,
    high,
    at,
    ticks: (shown.length > 1 || span === 0 ? shown : [low, high]).map((value) => ({
      at: at(value),
      label: String(Number(value.toPrecision(4))),
    })),
  };
}

function wordAxis(name, values) {
  const words = [...new Set(values)].sort();
  const at = (value) => {
    const index = words.indexOf(String(value));
    return index < 0 ? undefined : words.length > 1 ? index / (words.length - 1) : 0.5;
  };
  return {
    name,
    kind: "word",
    words,
    at,
    ticks: words.slice(0, CATEGORIES_MAX).map((word) => ({ at: at(word), label: word })),
  };
}

// Ranges are {axis: "low..high"}, either end may be missing, or {axis: "=word"}: as in addresses.
export const RANGE_PREFIX = "r.";
const numberOr = (text, other) => (text.trim() === "" || Number.isNaN(Number(text)) ? other : Number(text));

export function rangesOf(query) {
  return Object.fromEntries(
    Object.entries(query)
      .filter(([name, value]) => name.startsWith(RANGE_PREFIX) && value !== "")
      .map(([name, value]) => [name.slice(RANGE_PREFIX.length), value]),
  );
}

// The ends of a range as texts; "" where it is open.
export const endsOf = (range = "") => {
  const [low = "", high = ""] = range.startsWith("=") ? [] : range.split("..");
  return [low, high];
};
export const rangeText = (low, high) => (low === "" && high === "" ? "" : `${low}..${high}`);

export function isWithin(row, ranges) {
  return Object.entries(ranges).every(([axis, range]) => {
    const value = valueAt(row, axis);
    if (range.startsWith("=")) {
      return String(value) === range.slice(1);
    }
    const [low, high] = endsOf(range);
    return value >= numberOr(low, -Infinity) && value <= numberOr(high, Infinity);
  });
}

// Where on an axis `share` (0 to 1) is, as a value with few digits.
export function valueOn(axis, share) {
  const { low, high } = axis;
  const within = Math.min(1, Math.max(0, share));
  if (within === 0 || within === 1) {
    return within === 0 ? low : high; // unrounded, so that what lies there is within
  }
  const value =
    axis.kind === "log"
      ? 10 ** (Math.log10(low) + within * (Math.log10(high) - Math.log10(low)))
      : low + within * (high - low);
  return Number(value.toPrecision(4));
}
