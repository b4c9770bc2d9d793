// SPDX-License-Identifier: Apache-2.0
// Hooks that get what views show: by asking again, or by following a stream. Both go on after the
// coordinator was away, and rest while nobody sees the page, since a browser opens six connections
// to one server for all of its windows.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { connection, follow, get } from "./api.js";

const RETRY_MS = 1000;
const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 5000;

export const reportError = { handler: () => {} }; // the shell sets it: asks for a login

const isVisible = () => document.visibilityState === "visible";

// Runs `work(signal)` while the page is visible, and again when it becomes visible.
function useWhileVisible(work, dependencies) {
  useEffect(() => {
    let controller = null;
    const update = () => {
      if (isVisible() && controller === null) {
        controller = new AbortController();
        work(controller.signal);
      } else if (!isVisible() && controller !== null) {
        controller.abort();
        controller = null;
      }
    };
    update();
    document.addEventListener("visibilitychange", update);
    return () => {
      document.removeEventListener("visibilitychange", update);
      controller?.abort();
    };
  }, dependencies);
}

// 0 ms: without end. `wake.current()` ends it, too.
const pause = (milliseconds, signal, wake) =>
  new Promise((resolve) => {
    const timer = milliseconds > 0 ? setTimeout(resolve, milliseconds) : undefined;
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", end);
    if (wake) {
      wake.current = end;
    }
  });

// Asks for `name` (null: for nothing) now, every `interval` ms (0: never), and when `version` changes;
// an answer on its way is waited for then, since a table may take longer than its sweep to change.
// Returns {data, error, reload}; the data stay until others come.
export function useGet(name, parameters, interval = 0, version = 0) {
  const key = name === null ? "" : `${name} ${JSON.stringify(parameters)}`;
  return useAnswer(key, (signal) => get(name, parameters, signal), interval, version);
}

// The same for what `ask(signal)` gives. `key` says what is asked for; "": nothing.
export function useAnswer(key, ask, interval = 0, version = 0) {
  const [state, setState] = useState({ data: null, error: null });
  const [round, setRound] = useState(0);
  const shown = useRef("");
  const latest = useRef(version);
  const wake = useRef(() => {});
  latest.current = version;
  useEffect(() => wake.current(), [version]);
  useWhileVisible(
    async (signal) => {
      if (key === "") {
        return;
      }
      if (shown.current !== key) {
        setState({ data: null, error: null });
      }
      do {
        const asked = latest.current;
        let wait = interval;
        try {
          const data = await ask(signal);
          shown.current = key;
          setState({ data, error: null });
        } catch (error) {
          if (signal.aborted) {
            return;
          }
          reportError.handler(error);
          setState((before) => ({ data: before.data, error }));
          wait = error.status === 0 || error.status === 503 ? Math.max(RETRY_MS, interval) : interval;
        }
        if (latest.current === asked) {
          await pause(wait, signal, wake);
        }
      } while (!signal.aborted);
    },
    [key, interval, round],
  );
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, reload };
}

// Follows the stream `name`; `onMessage(message)` may be called at any time. `parametersOf` is called
// before each connection, so that it can resume. Returns the error that ended it, or null.
export function useStream(name, parametersOf, onMessage, dependencies) {
  const [error, setError] = useState(null);
  useWhileVisible(async (signal) => {
    if (name === null) {
      return;
    }
    let wait = RETRY_FIRST_MS;
    while (!signal.aborted) {
      try {
        const parameters = parametersOf();
        await follow(
          name,
          parameters,
          (message) => {
            wait = RETRY_FIRST_MS;
            setError(null);
            onMessage(message);
          },
          signal,
        );
        return;
      } catch (failure) {
        if (signal.aborted) {
          return;
        }
        reportError.handler(failure);
        const again = failure.status === 0 || failure.code === "UNAVAILABLE" || failure.code === "CANCELLED";
        setError(failure);
        if (!again) {
          return;
        }
      }
      await pause(wait, signal);
      wait = Math.min(RETRY_LAST_MS, 2 * wait);
    }
  }, [name, ...dependencies]);
  return error;
}

// {lostSince, lastAnswer} of the connection; re-renders when it changes.
export function useConnection() {
  const [, setRound] = useState(0);
  useEffect(() => {
    const listener = () => setRound((before) => before + 1);
    connection.listeners.add(listener);
    return () => connection.listeners.delete(listener);
  }, []);
  return connection;
}

// Re-renders every `interval` ms.
export function useNow(interval = 1000) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}
