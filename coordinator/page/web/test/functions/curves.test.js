// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { curvesOf, linePath } from "../../src/curves.js";

test("reports are a curve for each name, and 64-bit steps come as text", () => {
  const curves = curvesOf([
    { step: "1", name: "loss", value: 2.5 },
    { step: "1", name: "f1", value: 10 },
    { step: "20", name: "loss", value: 0 },
  ]);
  assert.deepEqual(curves, [
    { name: "loss", points: [{ step: 1, value: 2.5 }, { step: 20, value: 0 }] },
    { name: "f1", points: [{ step: 1, value: 10 }] },
  ]);
});

test("a field that is 0 may be absent, and so may all reports", () => {
  assert.deepEqual(curvesOf([{ name: "f1" }]), [{ name: "f1", points: [{ step: 0, value: 0 }] }]);
  assert.deepEqual(curvesOf(undefined), []);
});

test("a line goes through its points in order", () => {
  const points = [{ step: 0, value: 1 }, { step: 2, value: 3 }];
  assert.equal(linePath(points, (step) => step * 10, (value) => -value), "M0.0 -1.0L20.0 -3.0");
});
