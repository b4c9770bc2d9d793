// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { answersText, codePoints, draftOf, dropDraft, keepDraft, newKey, percentText } from "../../src/annotation/annotation.js";

class Storage {
  kept = new Map();
  getItem = (name) => this.kept.get(name) ?? null;
  setItem = (name, value) => this.kept.set(name, value);
  removeItem = (name) => this.kept.delete(name);
}

test("offsets count code points, as the server does", () => {
  assert.equal(codePoints("abc", 2), 2);
  assert.equal(codePoints("a😀b", 3), 2);
  assert.equal(codePoints("Zürich", 6), 6);
});

const RHINE = { id: "p1", text: "The Rhine" };
const EMPTY = { question: "", span: null };

test("a draft is kept by person and passage until it is dropped", () => {
  const storage = new Storage();
  const draft = { question: "Who?", span: [1, 9], key: newKey() };
  assert.deepEqual(draftOf("ada", RHINE, storage), EMPTY);
  keepDraft("ada", RHINE, draft, storage);
  assert.deepEqual(draftOf("ada", RHINE, storage), draft);
  assert.deepEqual(draftOf("bob", RHINE, storage), EMPTY);
  assert.deepEqual(draftOf("ada", { ...RHINE, id: "p2" }, storage), EMPTY);
  dropDraft("ada", RHINE, storage);
  assert.deepEqual(draftOf("ada", RHINE, storage), EMPTY);
});

test("a damaged or full storage stops nobody", () => {
  const storage = new Storage();
  for (const text of ["{", "null", "3", '"Who?"', "[]", "[1, 2]", "{}", '{"question": 7, "span": [0, 3]}']) {
    storage.setItem("concur-draft ada p1", text);
    assert.deepEqual(draftOf("ada", RHINE, storage), EMPTY, text);
  }
  storage.setItem = () => {
    throw new Error("full");
  };
  assert.equal(keepDraft("ada", RHINE, { question: "Who?", span: null }, storage), false);
});

test("a draft's span that is no part of the passage is dropped, and the question stays", () => {
  const storage = new Storage();
  const spans = [undefined, 3, "03", {}, { 0: 0, 1: 3, length: 2 }, [], [0], [0, 3, 4], [0, "3"], [0, null]];
  spans.push([0, 2.5], [-1, 3], [3, 3], [4, 3], [0, 10], [10, 12], [[0], [3]]);
  for (const span of spans) {
    keepDraft("ada", RHINE, { question: "Who?", span, key: newKey() }, storage);
    assert.deepEqual(draftOf("ada", RHINE, storage), { question: "Who?", span: null }, JSON.stringify(span));
  }
  keepDraft("ada", RHINE, { question: "Who?", span: [0, 9] }, storage);
  assert.deepEqual(draftOf("ada", RHINE, storage).span, [0, 9]);
});

test("a draft's key that this page did not make is dropped, as are other fields", () => {
  const storage = new Storage();
  for (const key of ["", "k", 7, null, ["k"], "a".repeat(65)]) {
    keepDraft("ada", RHINE, { question: "Who?", span: [0, 3], key, other: 1 }, storage);
    assert.deepEqual(draftOf("ada", RHINE, storage), { question: "Who?", span: [0, 3] }, JSON.stringify(key));
  }
});

test("each system's answer is told", () => {
  assert.equal(answersText([{ text: "the Alps", f1: 1 }]), "It answered “the Alps”, word overlap 100 %.");
  assert.equal(
    answersText([{ text: "", f1: 0 }, { text: "<b>", f1: 0.4 }]),
    "The systems answered nothing, word overlap 0 %; “<b>”, word overlap 40 %.",
  );
});

test("keys differ", () => {
  assert.match(newKey(), /^[0-9a-f]{32}$/);
  assert.notEqual(newKey(), newKey());
});

test("a share that is not known is a dash", () => {
  assert.equal(percentText(null), "–");
  assert.equal(percentText(0), "0 %");
  assert.equal(percentText(0.666), "67 %");
});
