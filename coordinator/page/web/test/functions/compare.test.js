// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { comparePairs, isSweepOf, newestTwo, onlyIn, pairKey } from "../../src/compare.js";

const pair = (a, b, value, low = null, high = null) => ({ a, b, value, low, high, n: 8 });

test("what one side lacks is told in the other's order", () => {
  assert.deepEqual(onlyIn(["c", "a", "b"], ["a", "d"]), ["c", "b"]);
  assert.deepEqual(onlyIn(["a"], ["a"]), []);
});

test("a pair is the same in either order, and names do not run into each other", () => {
  assert.equal(pairKey({ a: "x", b: "y" }), pairKey({ a: "y", b: "x" }));
  assert.notEqual(pairKey({ a: "x,y", b: "z" }), pairKey({ a: "x", b: "y,z" }));
});

test("pairs differ by second less first, the largest first", () => {
  const first = { pairs: [pair("x", "y", 0.5, 0.4, 0.6), pair("x", "z", 0.9, 0.8, 0.95)] };
  const second = { pairs: [pair("y", "x", 0.75, 0.6, 0.9), pair("z", "x", -0.1, -0.5, 0.2)] };
  const rows = comparePairs(first, second);
  assert.deepEqual(rows.map(({ a, b, difference, overlap }) => [a, b, difference, overlap]), [
    ["x", "z", -1, false],
    ["x", "y", 0.25, true], // they touch
  ]);
});

test("without a value on both sides there is no difference, without both intervals no verdict", () => {
  const first = { pairs: [pair("x", "y", null), pair("x", "z", 0.2), pair("x", "only", 0.2, 0.1, 0.3)] };
  const second = { pairs: [pair("x", "y", 0.5, 0.4, 0.6), pair("x", "z", 0, -0.1, 0.1)] };
  const rows = new Map(comparePairs(first, second).map((row) => [row.b, row]));
  assert.ok(Number.isNaN(rows.get("y").difference));
  assert.equal(rows.get("y").overlap, null);
  assert.equal(rows.get("z").difference, -0.2);
  assert.equal(rows.get("z").overlap, null);
  assert.equal(rows.get("only").second, undefined);
  assert.ok(Number.isNaN(rows.get("only").difference));
});

test("the newest two sweeps are offered before any is chosen, and unknown names are told apart", () => {
  const sweeps = [{ id: "s3", name: "study" }, { id: "s2", name: "demo" }, { id: "s1", name: "demo" }];
  assert.deepEqual(newestTwo(sweeps), { first: "s2", second: "s3" });
  assert.equal(newestTwo(sweeps.slice(2)), undefined);
  assert.ok(isSweepOf(sweeps, "demo") && isSweepOf(sweeps, "s1") && !isSweepOf(sweeps, "nothing"));
});
