// SPDX-License-Identifier: Apache-2.0
// A value that changes often, passed on once in a while.
import { useEffect, useRef, useState } from "preact/hooks";

const EVERY_MS = 2000;

// The newest `value`, at most every two seconds; the last one always comes.
export function useThrottled(value, every = EVERY_MS) {
  const [passed, setPassed] = useState(value);
  const last = useRef(Date.now());
  useEffect(() => {
    if (value === passed) {
      return undefined;
    }
    const timer = setTimeout(() => {
      last.current = Date.now();
      setPassed(value);
    }, Math.max(0, last.current + every - Date.now()));
    return () => clearTimeout(timer);
  }, [value, passed, every]);
  return passed;
}
