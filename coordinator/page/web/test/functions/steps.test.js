// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf, stepsPath } from "../../src/steps.js";

test("steps are as high as their values", () => {
  assert.equal(stepsPath([1, 4, 0], 4, 20), "M0 20V15h1V0h1V20h1V20Z");
});

test("each part of the time shows its largest value, or the one before", () => {
  assert.deepEqual(partsOf([0, 10, 20, 90, 100], [1, 5, 2, 3, 7], 5), [5, 2, 2, 2, 7]);
  assert.deepEqual(partsOf([50, 50], [2, 3], 3), [3, 3, 3]);
});
