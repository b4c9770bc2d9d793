// SPDX-License-Identifier: Apache-2.0
// Addresses of views: what stands behind "#", so that every view can be shared and reloaded.
//
// "#/sweeps/s1/matrix?coefficient=pearson" is {view: "sweep", sweep: "s1", tab: "matrix",
// query: {coefficient: "pearson"}}. Pure functions.

export const TABS = ["progress", "jobs", "events", "scores", "settings", "matrix", "workers"];

const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray "%"
  }
};

export function parseRoute(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (parts.length === 0) {
    return { view: "overview", query };
  }
  if (parts[0] === "sweeps" && parts.length >= 2 && parts.length <= 3) {
    const tab = parts[2] ?? TABS[0];
    return TABS.includes(tab) ? { view: "sweep", sweep: parts[1], tab, query } : { view: "unknown", query };
  }
  if (parts[0] === "jobs" && parts.length === 3) {
    return { view: "job", job: `${parts[1]}/${parts[2]}`, sweep: parts[1], query };
  }
  if (parts[0] === "workers" && parts.length === 1) {
    return { view: "workers", query };
  }
  if (parts[0] === "audit" && parts.length === 1) {
    return { view: "audit", query };
  }
  if (parts[0] === "compare" && parts.length === 1) {
    return { view: "compare", query };
  }
  return { view: "unknown", query };
}

const withQuery = (path, query = {}) => {
  const entries = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined);
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`;
};

export const overviewLink = () => "#/";
export const workersLink = () => "#/workers";
// `query`: the filters: calls, user, method and target.
export const auditLink = (query = {}) => withQuery("#/audit", query);
// `query`: the sweeps as first and second, and the coefficient.
export const compareLink = (query = {}) => withQuery("#/compare", query);
export const sweepLink = (sweep, tab = TABS[0], query = {}) =>
  withQuery(`#/sweeps/${encodeURIComponent(sweep)}${tab === TABS[0] ? "" : `/${tab}`}`, query);
export const jobLink = (job) => `#/jobs/${job.split("/").map(encodeURIComponent).join("/")}`;
