// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { PARTS, useOf } from "../../src/fleet/worker_use.js";

const START = Date.parse("2026-01-05T09:00:00Z");
const job = (worker, begin, seconds, more = {}) => ({
  worker,
  state: "STATE_SUCCEEDED",
  result: { start_time: new Date(START + 1000 * begin).toISOString(), run_time: `${seconds}s` },
  ...more,
});
const sum = (values) => values.reduce((total, value) => total + value, 0);

test("workers are busy while their jobs run", () => {
  const use = useOf([
    job("b", 0, 30),
    job("a", 0, 60, { state: "STATE_FAILED" }),
    job("a", 30, 30),
  ]);
  assert.equal(use.from, START);
  assert.equal(use.to, START + 60_000);
  assert.deepEqual(
    use.workers.map(({ name, jobs, failed, busy }) => [name, jobs, failed, busy]),
    [["a", 2, 1, 90], ["b", 1, 0, 30]],
  );
  assert.deepEqual(use.running, Array(PARTS).fill(2));
  assert.deepEqual(use.active, [...Array(PARTS / 2).fill(2), ...Array(PARTS / 2).fill(1)]);
});

test("a job that begins and ends within parts counts by its time", () => {
  const use = useOf([job("a", 0, 0.5), job("a", 10.25, 1), job("a", 59, 1)]);
  assert.ok(Math.abs(sum(use.running) - 2.5) < 1e-9); // parts are a second
  assert.equal(use.running[0], 0.5);
  assert.equal(use.running[10], 0.75);
  assert.equal(use.running[11], 0.25);
  assert.equal(use.running[PARTS - 1], 1);
});

test("jobs that no worker ran do not count", () => {
  assert.equal(useOf([]), null);
  const reused = job("a", 0, 10, { reused_from: "s1/1" });
  assert.equal(useOf([reused, job("", 0, 1), { worker: "a" }]), null);
  assert.equal(useOf([reused, job("a", 100, 0)]).workers[0].jobs, 1); // no time at all
});
