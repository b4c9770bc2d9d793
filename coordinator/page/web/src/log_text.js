// SPDX-License-Identifier: Apache-2.0
// The text of a job's log as it is shown. Pure functions.

// Characters of a log that the page keeps: the last ones.
export const LOG_MAX = 1_000_000;

// Colours and cursor movements of terminals.
const ESCAPES = /\u001b(\[[0-9;?]*[ -/]*[@-~]|\][^\u0007]*(\u0007|$)|.)/g;

// A progress bar writes over its line, which it begins anew by a carriage return.
const lastOf = (line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1);

export function appendLog(before, more) {
  const at = before.lastIndexOf("\n") + 1;
  const lines = (before.slice(at) + more.replace(ESCAPES, "")).replaceAll("\r\n", "\n").split("\n");
  const text = before.slice(0, at) + lines.map(lastOf).join("\n");
  return text.length > LOG_MAX ? text.slice(text.indexOf("\n", text.length - LOG_MAX) + 1) : text;
}

export const decodeBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
