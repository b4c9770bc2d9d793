// SPDX-License-Identifier: Apache-2.0
// Changes of a sweep's jobs as the stream tells of them. Pure functions.
import { enumName } from "./format.js";
import { STATES } from "./progress.js";

export const EVENTS_MAX = 2000; // what a browser keeps of a sweep
const FAILURES = "failures";
export const KINDS = [FAILURES, ...STATES];

// Detail in which the coordinator shall send events for what the address asks for.
export const detailOf = (route) =>
  route.tab !== "events"
    ? "EVENTS_NONE"
    : route.query.state === FAILURES
      ? "EVENTS_FAILURES"
      : "EVENTS_ALL";

// The newest first, with those of one more message. Where some were missed stands {gap: true}.
export function keepEvents(before, message) {
  const isGap = message.reset && before.length > 0 && !before[0].gap;
  const more = [...(message.events ?? [])].reverse();
  if (!isGap && more.length === 0) {
    return before;
  }
  return [...more, ...(isGap ? [{ gap: true }] : []), ...before].slice(0, EVENTS_MAX);
}

// Those that a query {state, worker, text} asks for. Gaps always stay.
export function filterEvents(events, { state = "", worker = "", text = "" }) {
  const wanted = text.toLowerCase();
  return events.filter(
    (event) =>
      event.gap ||
      ((state === "" || state === FAILURES || enumName(event.state) === state) &&
        (worker === "" || event.worker === worker) &&
        `${event.job} ${event.description} ${event.message}`.toLowerCase().includes(wanted)),
  );
}
