// SPDX-License-Identifier: Apache-2.0
// Calls of the coordinator's API (docs/page.md), and how the connection is.
import { EventParser } from "./event_parser.js";

const CSRF_KEY = "concur-csrf"; // in this origin's storage, which servers on other ports do not see

export class ApiError extends Error {
  constructor(code, message, status) {
    super(message);
    this.code = code;
    this.status = status;
  }
  get needsLogin() {
    return this.status === 401 || (this.status === 403 && this.message.startsWith("X-Concur-CSRF"));
  }
}

// When the coordinator last answered, and since when it does not. Views that show data subscribe.
export const connection = {
  lastAnswer: 0,
  lostSince: 0,
  listeners: new Set(),
  heard() {
    this.lastAnswer = Date.now();
    this.set(0);
  },
  lost() {
    this.set(this.lostSince || Date.now());
  },
  set(lostSince) {
    if (this.lostSince !== lostSince) {
      this.lostSince = lostSince;
      this.listeners.forEach((listener) => listener());
    }
  },
};

const headers = () => ({ "X-Concur-CSRF": localStorage.getItem(CSRF_KEY) || "none" });

const address = (name, parameters = {}) => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== "") {
        query.append(key, one);
      }
    }
  }
  return `/api/v1/${name}${query.size > 0 ? `?${query}` : ""}`;
};

async function send(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    if (error.name !== "AbortError") {
      connection.lost();
      throw new ApiError("UNAVAILABLE", "the coordinator does not answer", 0);
    }
    throw error;
  }
  if (!response.ok) {
    const body = await response.json().catch(() => ({}));
    const error = body.error ?? { code: "UNKNOWN", message: response.statusText };
    if (response.status < 500) {
      connection.heard();
    }
    throw new ApiError(error.code, error.message, response.status);
  }
  connection.heard();
  return response;
}

export const get = async (name, parameters, signal) =>
  (await send(address(name, parameters), { headers: headers(), signal })).json();

export const getBlob = async (name, parameters) =>
  (await send(address(name, parameters), { headers: headers() })).blob();

export const post = async (name, body) =>
  (
    await send(address(name), {
      method: "POST",
      headers: { ...headers(), "Content-Type": "application/json" },
      body: JSON.stringify(body),
    })
  ).json();

export async function logIn(credentials) {
  const session = await post("login", credentials);
  localStorage.setItem(CSRF_KEY, session.csrf);
  return session;
}

export async function logOut() {
  await post("logout", {});
  localStorage.removeItem(CSRF_KEY);
}

// Follows a stream until it ends; `onMessage` gets each message. Throws what the stream ends by.
export async function follow(name, parameters, onMessage, signal) {
  const response = await send(address(name, parameters), { headers: headers(), signal });
  let failure;
  let ended = false;
  const parser = new EventParser((event, data) => {
    if (event === "message") {
      onMessage(JSON.parse(data));
    } else if (event === "error") {
      const { code, message } = JSON.parse(data).error;
      failure = new ApiError(code, message, 200);
    } else if (event === "end") {
      ended = true;
    }
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === "AbortError") {
        throw error;
      }
      return { done: true };
    });
    if (done) {
      break;
    }
    connection.heard();
    parser.push(value);
  }
  if (failure) {
    throw failure;
  }
  if (!ended) {
    connection.lost();
    throw new ApiError("UNAVAILABLE", "the connection broke", 0);
  }
}

const JOBS_PAGE = 1000;
const JOBS_MAX = 10_000;

// {jobs, more}: the first jobs that ListJobs gives for the parameters, and whether there are more.
export async function jobsOf(parameters, signal) {
  const jobs = [];
  let token = "";
  do {
    const page = { ...parameters, page_size: JOBS_PAGE, page_token: token };
    const answer = await get("ListJobs", page, signal);
    jobs.push(...answer.jobs);
    token = answer.next_page_token;
  } while (token && jobs.length < JOBS_MAX);
  return { jobs, more: Boolean(token) };
}
