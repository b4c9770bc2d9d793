// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { codePoints, draftOf, dropDraft, keepDraft, newKey, percentText } from "../../src/annotation.js";

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

test("a draft is kept by person and passage until it is dropped", () => {
  const storage = new Storage();
  assert.deepEqual(draftOf("ada", "p1", storage), { question: "", span: null });
  keepDraft("ada", "p1", { question: "Who?", span: [1, 4], key: "k" }, storage);
  assert.deepEqual(draftOf("ada", "p1", storage), { question: "Who?", span: [1, 4], key: "k" });
  assert.equal(draftOf("bob", "p1", storage).question, "");
  assert.equal(draftOf("ada", "p2", storage).question, "");
  dropDraft("ada", "p1", storage);
  assert.equal(draftOf("ada", "p1", storage).question, "");
});

test("a damaged or full storage stops nobody", () => {
  const storage = new Storage();
  for (const text of ["{", "null", "3", '{"question": 7}']) {
    storage.setItem("concur-draft ada p1", text);
    assert.equal(draftOf("ada", "p1", storage).question, "");
  }
  storage.setItem = () => {
    throw new Error("full");
  };
  assert.equal(keepDraft("ada", "p1", { question: "Who?", span: null }, storage), false);
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
