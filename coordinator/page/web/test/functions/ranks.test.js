// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { averagesOf, isResolved, rankBar, rankText } from "../../src/ranks.js";

test("averages are what a row has besides its ranks, in their order", () => {
  const row = { rank: 1, approach: "a", "more is better": 3, all: 2, rank_low: 1, rank_high: 2, group: 1, next_p: null };
  assert.deepEqual(averagesOf([row]), ["more is better", "all"]);
  assert.deepEqual(averagesOf([]), []);
});

test("a row without a rank set is not resolved", () => {
  assert.equal(isResolved({ rank: 1, rank_low: 1 }), true);
  assert.equal(isResolved({ rank: null, rank_low: null }), false);
  assert.equal(isResolved({ rank: 1 }), false);
});

test("a set of one rank is one number", () => {
  assert.equal(rankText(2, 2), "2");
  assert.equal(rankText(2, 5), "2–5");
});

test("the sets of all ranks fill the bar, side by side", () => {
  assert.deepEqual(rankBar(1, 8, 8), { left: 0, width: 100 });
  assert.deepEqual(rankBar(3, 4, 8), { left: 25, width: 25 });
  assert.deepEqual(rankBar(8, 8, 8), { left: 87.5, width: 12.5 });
});
