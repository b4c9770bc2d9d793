// SPDX-License-Identifier: Apache-2.0
// Tables as CSV (RFC 4180). Pure function.

// A spreadsheet takes text that begins with one of these for a formula.
const FORMULA = /^[=+\-@\t\r]/;

function field(value) {
  const text = String(value ?? "");
  const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const toCsv = (columns, rows) =>
  [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
