// SPDX-License-Identifier: Apache-2.0
// Offsets, drafts and numbers of the annotators' page.

// Browsers count UTF-16 units, the server code points.
export const codePoints = (text, units) => [...text.slice(0, units)].length;

export const percentText = (share) =>
  share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`;

// Answers of one system, or of several, in a sentence.
export function answersText(answers) {
  const texts = answers.map(
    ({ text, f1 }) => `${text === "" ? "nothing" : `“${text}”`}, word overlap ${percentText(f1)}`,
  );
  return answers.length === 1 ? `It answered ${texts[0]}.` : `The systems answered ${texts.join("; ")}.`;
}

// Drafts that were typed and not yet saved, by annotator and passage, in this browser's storage.
// Another version of the page, or another room at the same address, may have written what is there.
const nameOf = (user, passage) => `concur-draft ${user} ${passage.id}`;
const KEY = /^[0-9a-f]{32}$/; // as newKey makes it
const EMPTY = { question: "", span: null };

const isSpanOf = (span, text) =>
  Array.isArray(span) &&
  span.length === 2 &&
  span.every(Number.isInteger) &&
  0 <= span[0] &&
  span[0] < span[1] &&
  span[1] <= text.length;

// Fields of the draft for `passage` ({id, text}) that have the right shape. Its key belongs to
// question and span together.
export function draftOf(user, passage, storage = localStorage) {
  let stored;
  try {
    stored = JSON.parse(storage.getItem(nameOf(user, passage)));
  } catch {
    return EMPTY;
  }
  if (typeof stored?.question !== "string") {
    return EMPTY;
  }
  const { question, span, key } = stored;
  if (!isSpanOf(span, passage.text)) {
    return { question, span: null };
  }
  return KEY.test(key) ? { question, span, key } : { question, span };
}

// A full storage must not stop the work: then the draft lives as long as the page.
export function keepDraft(user, passage, draft, storage = localStorage) {
  try {
    storage.setItem(nameOf(user, passage), JSON.stringify(draft));
  } catch {
    return false;
  }
  return true;
}

export const dropDraft = (user, passage, storage = localStorage) => storage.removeItem(nameOf(user, passage));

export const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
