// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { importanceOf, SETTINGS_MIN } from "../../src/importance.js";
import { axesOf } from "../../src/settings.js";

// Numbers from 0 to 1, the same in every run (Park and Miller's generator).
function generator(seed) {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return (state - 1) / 2147483646;
  };
}
const next = generator(7);
const table = (n, score) =>
  Array.from({ length: n }, (_, setting) => {
    const values = { rate: next(), cell: ["gru", "lstm", "rnn"][Math.floor(3 * next())], size: 2 ** Math.floor(8 * next()) };
    return { setting, values, score: score(values) };
  });
const of = (rows) => importanceOf(rows, axesOf(rows));

test("the parameter that makes the score explains it, the others do not", () => {
  const [first, ...others] = of(table(60, ({ rate }) => 50 - 100 * (rate - 0.5) ** 2 + next()));
  assert.equal(first.name, "rate");
  assert.ok(first.share > 0.7 && first.share <= 1 && !first.isChance, JSON.stringify(first));
  assert.deepEqual(others.map(({ isChance }) => isChance), [true, true]);
  const words = of(table(60, ({ cell }) => ({ gru: 3, lstm: 1, rnn: 2 })[cell]));
  assert.equal(words[0].name, "cell");
  assert.equal(words[0].share, 1);
});

test("a strong effect is seen in a dozen settings", () => {
  const [first] = of(table(12, ({ rate }) => rate));
  assert.equal(first.name, "rate");
  assert.ok(first.share > 0.6 && !first.isChance, JSON.stringify(first));
});

test("one diverged run does not hide the others", () => {
  const rows = table(60, ({ size }) => size + next());
  rows[3].score = 1e12;
  assert.equal(of(rows)[0].name, "size");
});

test("without an effect the shares are small, and rarely called more than chance", () => {
  let wrong = 0;
  let shares = 0;
  for (let draw = 0; draw < 400; ++draw) {
    const found = of(table(12 + (draw % 3) * 30, next));
    wrong += found.some(({ isChance }) => !isChance) ? 1 : 0;
    shares += found.reduce((sum, { share }) => sum + share, 0) / found.length;
  }
  assert.ok(wrong <= 24, `${wrong} of 400 tables`);
  assert.ok(shares / 400 < 0.08, `${shares / 400}`);
});

test("a parameter with one value, few settings and equal scores claim nothing", () => {
  assert.deepEqual(of([]), []);
  assert.deepEqual(of(table(SETTINGS_MIN - 1, next)), []);
  assert.deepEqual(of(table(20, next).map((row) => ({ ...row, values: { rate: 1 } }))), []);
  for (const { share, isChance } of of(table(20, () => 5))) {
    assert.equal(share, 0);
    assert.ok(isChance);
  }
});
