// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "../../src/csv.js";
import { bytes, decimal, enumName, secondsOf, serviceText, settingText, span, time } from "../../src/format.js";
import { appendLog, decodeBase64, LOG_MAX } from "../../src/log_text.js";

test("a span has two units at most", () => {
  assert.equal(span(0), "0.0 s");
  assert.equal(span(9.94), "9.9 s");
  assert.equal(span(59.6), "1 min");
  assert.equal(span(75), "1 min 15 s");
  assert.equal(span(3600), "1 h");
  assert.equal(span(90061), "1 d 1 h");
  assert.equal(span(NaN), "—");
  assert.equal(span(Infinity), "—");
  assert.equal(span(-1), "0.0 s");
});

test("values of protobuf's JSON are read", () => {
  assert.equal(secondsOf("1.500s"), 1.5);
  assert.ok(Number.isNaN(secondsOf(undefined)));
  assert.equal(enumName("FAILURE_CLASS_INVALID_OUTPUT"), "invalid output");
  assert.equal(enumName(undefined), "");
  assert.equal(settingText({ b: { int_value: "2" }, a: { string_value: "x" } }), "a=x, b=2");
  // The page of a job showed lr=false.
  assert.equal(settingText({ lr: { is_number: false, double_value: 0.1 } }), "lr=0.1");
  assert.equal(settingText({ lr: { double_value: 1 }, n: { int_value: "1" } }), "lr=1.0, n=1");
  assert.equal(settingText({ lr: JSON.parse('{"double_value": -0}') }), "lr=-0.0");
  assert.equal(settingText({ lr: { is_number: true, string_value: "3.10" } }), "lr=3.10");
  assert.equal(settingText(undefined), "");
});

test("sizes and decimals are short, and nothing is a dash", () => {
  assert.equal(bytes("0"), "0 B");
  assert.equal(bytes("1536"), "1.5 KiB");
  assert.equal(bytes(undefined), "—");
  assert.equal(decimal(-0.256), "−0.26");
  assert.equal(decimal(null), "—");
  assert.equal(decimal(undefined), "—");
});

test("a CSV quotes what it must and starts no formula", () => {
  assert.equal(toCsv(["a", "b"], [['x"y', "1,2"]]), 'a,b\r\n"x""y","1,2"\r\n');
  assert.equal(toCsv(["a"], [["=cmd()"], ["-1+1"], ["@x"]]), "a\r\n'=cmd()\r\n'-1+1\r\n'@x\r\n");
  assert.equal(toCsv(["a"], [[-1], [null], [undefined]]), "a\r\n-1\r\n\r\n\r\n");
  assert.equal(toCsv(["a"], [["x\ny"]]), 'a\r\n"x\ny"\r\n');
});

test("a log loses terminals' commands and, when it is long, its first lines", () => {
  assert.equal(appendLog("a", "\u001b[31mred\u001b[0m\r\n"), "ared\n");
  assert.equal(appendLog("", "\u001b]0;title\u0007x"), "x");
  // A bar's states stood one after the other.
  assert.equal(appendLog("", "1 %\r2 %\rdone\nnext\r"), "done\nnext\r");
  assert.equal(appendLog("done\nnext\r", "\n"), "done\nnext\n");
  assert.equal(appendLog("a\n50 %\r", "60 %\r"), "a\n60 %\r");
  const long = appendLog("first\n".repeat(LOG_MAX / 6), "last\n");
  assert.ok(long.length <= LOG_MAX);
  assert.ok(long.startsWith("first\n") && long.endsWith("last\n"));
});

test("bytes come out of base64 as they went in", () => {
  assert.deepEqual([...decodeBase64(Buffer.from([0, 255, 195, 164]).toString("base64"))], [0, 255, 195, 164]);
});

test("a service says its state and its jobs", () => {
  assert.equal(serviceText({ approach: "m7", state: "starting" }), "m7 starting, jobs: 0");
  assert.equal(serviceText({ approach: "m7", state: "ready", jobs: 12 }), "m7 ready, jobs: 12");
  const setting = { lr: { double_value: 0.1 } };
  const start_time = "2026-11-30T12:03:00Z";
  assert.equal(
    serviceText({ approach: "m7", setting, state: "starting", start_time, failed_starts: 2 }),
    `m7 (lr=0.1) starting since ${time(start_time)}, jobs: 0, failed starts: 2`,
  );
});
