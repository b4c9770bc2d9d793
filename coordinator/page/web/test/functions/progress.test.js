// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { coefficientColours, contrast } from "../../src/colour.js";
import { EventParser } from "../../src/event_parser.js";
import { groupFailures, indexOf } from "../../src/failures.js";
import {
  againOf,
  isOver,
  lacksParts,
  lanesOf,
  shareOf,
  rateOf,
  SHAPES,
  STATES,
  timeLeft,
  versionOf,
} from "../../src/progress.js";
import { pointsOf, scale, ticks } from "../../src/scatter.js";

test("a running job says how much of it is done", () => {
  assert.equal(shareOf({ done: "42", of: "1000" }), " 4 %");
  assert.equal(shareOf({ of: "1000" }), " 0 %");
  assert.equal(shareOf({}), "");
});

test("a score is marked when any of its parts is not there, whatever became of it", () => {
  const whole = { seeds: 3, failed: 0, pending: 0, missing: 0, stopped: 0 };
  assert.equal(lacksParts(whole), false);
  assert.equal(lacksParts({ seeds: 3 }), false);
  for (const part of ["failed", "pending", "missing", "stopped"]) {
    assert.equal(lacksParts({ ...whole, [part]: 1 }), true, part);
  }
});

test("rate and time left are the coordinator's, or unknown", () => {
  const sweep = { state: "STATE_ACTIVE", progress: { jobs_per_second: 0.5, left: "120s" } };
  assert.equal(rateOf(sweep), 0.5);
  assert.equal(timeLeft(sweep), 120);
  for (const unknown of [{}, { progress: {} }, { progress: { jobs_per_second: 0 } }]) {
    assert.ok(Number.isNaN(rateOf(unknown)));
    assert.ok(Number.isNaN(timeLeft(unknown)));
  }
  assert.ok(!isOver(sweep));
  assert.ok(isOver({ state: "STATE_CANCELED" }));
  assert.ok(!isOver({ state: "STATE_CANCELING" }));
});

test("every state has a shape of its own", () => {
  assert.equal(new Set(STATES.map((state) => SHAPES[state])).size, STATES.length);
});

test("lanes count the parts of each approach's cells, also of approaches without any", () => {
  const table = {
    approaches: [{ name: "a" }, { name: "constructor" }],
    cells: [
      { approach: "a", state: "value", seeds: 3, failed: 0, pending: 2, missing: 0, stopped: 1 },
      { approach: "a", state: "failed", seeds: 0, failed: 5, pending: 0, missing: 0 },
    ],
  };
  assert.deepEqual(lanesOf(table), [
    { approach: "a", counts: { scored: 3, failed: 5, pending: 2, stopped: 1, missing: 0 } },
    { approach: "constructor", counts: {} },
  ]);
});

const failed = (id, group) => ({ id, failure_group: group, result: { message: `${id} failed` } });

test("failures are grouped as the coordinator says, the largest group first", () => {
  const groups = groupFailures([failed("s1/3", "8"), failed("s1/1", "7"), failed("s1/2", "7")]);
  assert.deepEqual(
    groups.map((group) => group.jobs.map((job) => job.id)),
    [["s1/1", "s1/2"], ["s1/3"]],
  );
  assert.equal(groups[0].message, "s1/1 failed");
  assert.equal(indexOf("s1/345"), 345);
});

test("events are read however they are cut", () => {
  const text = 'event: message\ndata: {"a":1}\n\n: \n\nevent: end\ndata: {}\n\n';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const events = [];
    const parser = new EventParser((name, data) => events.push([name, data]));
    parser.push(text.slice(0, cut));
    parser.push(text.slice(cut));
    assert.deepEqual(events, [["message", '{"a":1}'], ["end", "{}"]], `cut at ${cut}`);
  }
});

test("a coefficient's text can be read on its colour", () => {
  const channels = (colour) =>
    colour.startsWith("#")
      ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
      : colour.match(/\d+/g).map(Number);
  for (let value = -1; value <= 1.0001; value += 0.01) {
    const { background, text } = coefficientColours(value);
    assert.ok(contrast(channels(background), channels(text)) >= 4.5, `${value}: ${background} ${text}`);
  }
});

test("axes have round ticks within the values", () => {
  assert.deepEqual(ticks(0, 10), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.11, 0.32), [0.15, 0.2, 0.25, 0.3]);
  assert.equal(ticks(5, 5).length > 0, true);
  const one = scale([3], 0, 100);
  assert.ok(one.at(3) > 0 && one.at(3) < 100);
});

test("values that differ by rounding alone share one tick", () => {
  const pairs = [
    [0.7, 0.7000000000000001],
    [71.5, 71.50000000000001],
    [2 ** 53 - 2, 2 ** 53],
    [-71.50000000000001, -71.5],
  ];
  for (const [low, high] of pairs) {
    assert.deepEqual(ticks(low, high), [low]);
  }
  const close = ticks(1e6, 1e6 + 0.001);
  assert.ok(close.length >= 2 && close.length <= 6, `${close}`);
});

test("only approaches with both scores are points", () => {
  const table = {
    approaches: [{ name: "a" }, { name: "b" }],
    cells: [
      { approach: "a", benchmark: "x", value: 1 },
      { approach: "a", benchmark: "y", value: 2 },
      { approach: "b", benchmark: "x", value: 3 },
      { approach: "b", benchmark: "y", value: null },
    ],
  };
  assert.deepEqual(pointsOf(table, "x", "y"), [{ name: "a", x: 1, y: 2 }]);
});

test("tables are asked for again at the end of a sweep, and while it runs", () => {
  const counts = { succeeded: 3, failed: 0, skipped: 0, canceled: 0, running: 0, ready: 0, waiting: 0 };
  const running = { state: "STATE_ACTIVE", counts };
  const ended = { state: "STATE_SUCCEEDED", counts, end_time: "2026-01-01T00:00:00Z" };
  const retried = { ...ended, end_time: "2026-01-01T00:01:00Z" };
  assert.equal(new Set([running, ended, retried].map(versionOf)).size, 3);
  assert.equal(againOf(ended), 0);
  assert.ok(againOf(running) > 0);
});
