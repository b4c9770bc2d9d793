// SPDX-License-Identifier: Apache-2.0
// Offsets, drafts and numbers of the annotators' page.

// Browsers count UTF-16 units, the server code points.
export const codePoints = (text, units) => [...text.slice(0, units)].length;

export const percentText = (share) =>
  share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`;

// What was typed and not yet saved, by annotator and passage, in this browser's storage.
const nameOf = (user, passage) => `concur-draft ${user} ${passage}`;
const EMPTY = { question: "", span: null };

export function draftOf(user, passage, storage = localStorage) {
  try {
    const draft = JSON.parse(storage.getItem(nameOf(user, passage)));
    return typeof draft?.question === "string" ? { ...EMPTY, ...draft } : EMPTY;
  } catch {
    return EMPTY;
  }
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
