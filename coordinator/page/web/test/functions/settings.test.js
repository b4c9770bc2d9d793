// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  axesOf,
  choicesOf,
  dataSetsOf,
  endsOf,
  isWithin,
  rangesOf,
  rangeText,
  rowsOf,
  valueOn,
} from "../../src/settings.js";

const job = (index, setting, seed, f1, more = {}) => ({
  setting_index: index,
  setting,
  seed: String(seed),
  train_set: "squad",
  test_benchmark: "squad",
  result: { metrics: [{ name: "f1", value: f1 }] },
  ...more,
});
// As the coordinator prints them: every plain field, false or not.
const lr = (value) => ({ is_number: false, double_value: value });
const text = (value) => ({ is_number: false, string_value: value });
const JOBS = [
  job(0, { lr: lr(0.001), size: { int_value: "64" }, cell: text("gru") }, 1, 50),
  job(0, { lr: lr(0.001), size: { int_value: "64" }, cell: text("gru") }, 2, 52),
  job(1, { lr: lr(0.5), size: { int_value: "128" }, cell: text("lstm") }, 1, 60),
  job(2, { lr: lr(0.01), size: { is_number: true, string_value: "96.0" } }, 1, 40),
  job(3, { lr: lr(0.01) }, 1, NaN),
  job(0, {}, 1, 99, { train_set: "news" }),
  job(0, {}, 1, 99, { test_benchmark: "news" }),
];
const ASKED = { benchmark: "squad", trainSet: "squad", metric: "f1" };

test("a setting's row has its values and the mean over seeds, the best first", () => {
  const rows = rowsOf(JOBS, ASKED);
  assert.deepEqual(rows.map(({ setting }) => setting), [1, 0, 2]);
  assert.deepEqual(rows[1], {
    setting: 0,
    values: { lr: 0.001, size: 64, cell: "gru" },
    written: { lr: "0.001", size: "64", cell: "gru" },
    score: 51,
    seeds: 2,
    deviation: Math.SQRT2,
  });
  assert.equal(rows[2].written.size, "96.0", "as the file has it");
  assert.equal(rows[0].deviation, null, "one seed has none");
  const least = rowsOf(JOBS, { ...ASKED, minimize: true });
  assert.deepEqual(least.map(({ setting }) => setting), [2, 0, 1], "the worst was first");
  assert.deepEqual(rowsOf(JOBS, { ...ASKED, metric: "none" }), []);
});

test("what can be chosen is what the jobs have", () => {
  assert.deepEqual(choicesOf(JOBS, "squad"), { trainSets: ["news", "squad"], metrics: ["f1"] });
  assert.deepEqual(choicesOf(JOBS, "none"), { trainSets: [], metrics: [] });
});

test("settings are compared on validation sets where there are any", () => {
  const benchmarks = [
    { name: "squad", metric: "f1" },
    { name: "news", metric: "loss", goal: "GOAL_MINIMIZE" },
    { name: "squad.validation", metric: "f1", validation_of: 0 },
  ];
  assert.deepEqual(dataSetsOf(benchmarks), [
    { name: "news", metric: "loss", minimize: true, of: "news" },
    { name: "squad.validation", metric: "f1", minimize: false, of: "squad" },
  ]);
});

test("an axis is linear, logarithmic or of words, and the score is the last one", () => {
  const axes = axesOf(rowsOf(JOBS, ASKED));
  assert.deepEqual(
    axes.map(({ name, kind }) => [name, kind]),
    [["cell", "word"], ["lr", "log"], ["size", "number"], ["score", "number"]],
  );
  const [cell, rate, size] = axes;
  assert.equal(cell.at("lstm"), 1);
  assert.equal(cell.at(undefined), undefined);
  assert.equal(rate.at(0.001), 0);
  assert.ok(Math.abs(rate.at(0.01) - 1 / Math.log10(500)) < 1e-12);
  assert.deepEqual(rate.ticks.map(({ label }) => label), ["0.001", "0.01", "0.1"]);
  assert.equal(size.at(96), 0.5);
  assert.equal(valueOn(size, 0.5), 96);
  assert.equal(valueOn(rate, -3), 0.001);
  assert.equal(valueOn(rate, 1), 0.5);
  assert.equal(valueOn({ ...size, high: 87.654321 }, 1), 87.654321);
});

test("values that are all the same stand in the middle", () => {
  const [axis] = axesOf([{ values: { a: 3 }, score: 1 }]);
  assert.equal(axis.at(3), 0.5);
  assert.deepEqual(axis.ticks, [{ at: 0.5, label: "3" }]);
});

test("a parameter called like a column is told apart from it", () => {
  const [row] = rowsOf([job(0, { score: lr(1), seeds: lr(2) }, 1, 50)], ASKED);
  assert.deepEqual(row.values, { "score (parameter)": 1, "seeds (parameter)": 2 });
});

test("ranges of the address choose rows", () => {
  const rows = rowsOf(JOBS, ASKED);
  const chosen = (query) => rows.filter((row) => isWithin(row, rangesOf(query))).map(({ setting }) => setting);
  assert.deepEqual(chosen({}), [1, 0, 2]);
  assert.deepEqual(chosen({ approach: "x", "r.lr": "" }), [1, 0, 2]);
  assert.deepEqual(chosen({ "r.lr": "0.005..0.1" }), [2]);
  assert.deepEqual(chosen({ "r.lr": "0.005.." }), [1, 2]);
  assert.deepEqual(chosen({ "r.score": "..51", "r.size": "64..64" }), [0]);
  assert.deepEqual(chosen({ "r.cell": "=gru" }), [0]);
  assert.deepEqual(chosen({ "r.size": "64..", "r.cell": "=none" }), []);
  assert.deepEqual(chosen({ "r.lr": "nonsense" }), [1, 0, 2], "no number is no limit");
  assert.deepEqual(chosen({ "r.size": ".." }), [1, 0, 2]);
  assert.deepEqual(endsOf(rangeText("1", "")), ["1", ""]);
  assert.equal(rangeText("", ""), "");
});
