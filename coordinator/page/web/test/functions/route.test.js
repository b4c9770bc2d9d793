// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { auditLink, compareLink, jobLink, parseRoute, sweepLink, workersLink } from "../../src/route.js";

test("a link leads to its view", () => {
  assert.deepEqual(parseRoute(""), { view: "overview", query: {} });
  assert.deepEqual(parseRoute("#/"), { view: "overview", query: {} });
  assert.equal(parseRoute(workersLink()).view, "workers");
  assert.deepEqual(parseRoute(sweepLink("s1")), { view: "sweep", sweep: "s1", tab: "progress", query: {} });
  assert.deepEqual(parseRoute(sweepLink("s1", "jobs", { approach: "a b&c", state: "" })), {
    view: "sweep",
    sweep: "s1",
    tab: "jobs",
    query: { approach: "a b&c" },
  });
  assert.deepEqual(parseRoute(compareLink({ first: "s1", second: "a&b" })), {
    view: "compare",
    query: { first: "s1", second: "a&b" },
  });
  assert.deepEqual(parseRoute(auditLink({ user: "a&b", calls: "" })), {
    view: "audit",
    query: { user: "a&b" },
  });
  assert.deepEqual(parseRoute(jobLink("s1/7")), { view: "job", job: "s1/7", sweep: "s1", query: {} });
});

test("what is no address leads nowhere", () => {
  for (const hash of ["#/nothing", "#/sweeps", "#/sweeps/s1/other", "#/sweeps/s1/jobs/x", "#/jobs/s1", "#/jobs/1/2/3", "#/compare/s1", "#/audit/x"]) {
    assert.equal(parseRoute(hash).view, "unknown", hash);
  }
});

test("a hostile address is text", () => {
  assert.equal(parseRoute("#/sweeps/%3Cscript%3E").sweep, "<script>");
  assert.equal(parseRoute("#/sweeps/%E0%A4%A").sweep, "%E0%A4%A");
  assert.equal(parseRoute("#/sweeps/__proto__").sweep, "__proto__");
});
