// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { detailOf, EVENTS_MAX, filterEvents, keepEvents } from "../../src/events.js";

const event = (job, state = "STATE_RUNNING", more = {}) => ({
  job,
  state,
  worker: "w1",
  description: "roberta on trivia",
  message: "",
  ...more,
});

test("the coordinator sends what the view shows, and nothing to other views", () => {
  assert.equal(detailOf({ tab: "matrix", query: { state: "failures" } }), "EVENTS_NONE");
  assert.equal(detailOf({ tab: "events", query: {} }), "EVENTS_ALL");
  assert.equal(detailOf({ tab: "events", query: { state: "failed" } }), "EVENTS_ALL");
  assert.equal(detailOf({ tab: "events", query: { state: "failures" } }), "EVENTS_FAILURES");
});

test("the newest event comes first, and old ones go", () => {
  const first = keepEvents([], { reset: true, events: [] });
  assert.deepEqual(first, []);
  const two = keepEvents(first, { events: [event("s1/1"), event("s1/2")] });
  const three = keepEvents(two, { events: [event("s1/3")] });
  assert.deepEqual(three.map(({ job }) => job), ["s1/3", "s1/2", "s1/1"]);
  const many = Array.from({ length: EVENTS_MAX }, (_, index) => event(`s1/${index}`));
  const full = keepEvents(three, { events: many });
  assert.equal(full.length, EVENTS_MAX);
  assert.equal(full[0].job, `s1/${EVENTS_MAX - 1}`);
  assert.equal(full.at(-1).job, "s1/0");
});

test("a message without events changes nothing", () => {
  const events = [event("s1/1")];
  assert.equal(keepEvents(events, { events: [] }), events);
  assert.equal(keepEvents(events, {}), events);
});

test("missed events leave one mark, which no filter hides", () => {
  const events = keepEvents([event("s1/1")], { reset: true });
  assert.deepEqual(keepEvents(events, { reset: true }), events);
  assert.equal(events.length, 2);
  assert.deepEqual(filterEvents(events, { text: "nothing" }), [{ gap: true }]);
});

test("events are filtered by state, worker and text", () => {
  const events = [
    event("s1/1"),
    event("s1/2", "STATE_FAILED", { worker: "w2", message: "Out of memory" }),
  ];
  const jobs = (query) => filterEvents(events, query).map(({ job }) => job);
  assert.deepEqual(jobs({}), ["s1/1", "s1/2"]);
  assert.deepEqual(jobs({ state: "failed" }), ["s1/2"]);
  assert.deepEqual(jobs({ state: "failures" }), ["s1/1", "s1/2"]); // the coordinator chose them
  assert.deepEqual(jobs({ worker: "w1" }), ["s1/1"]);
  assert.deepEqual(jobs({ worker: "w" }), []);
  assert.deepEqual(jobs({ text: "OUT OF" }), ["s1/2"]);
  assert.deepEqual(jobs({ text: "s1/1" }), ["s1/1"]);
});
