// SPDX-License-Identifier: Apache-2.0
// Values as people read them. Pure functions.

export const integer = (value) => Number(value ?? 0).toLocaleString("en-US");

export const plural = (count, noun) =>
  `${integer(count)} ${noun}${Number(count) === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;

// Seconds of a protobuf duration, "1.5s".
export const secondsOf = (duration) => (duration ? Number.parseFloat(duration) : NaN);

// 75 → "1 min 15 s"; two units at most.
export function span(seconds) {
  if (!Number.isFinite(seconds)) {
    return "—";
  }
  if (seconds < 10) {
    return `${Math.max(0, seconds).toFixed(1)} s`;
  }
  const whole = Math.round(seconds);
  const units = [
    ["d", 86400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, size]) => whole >= size);
  const [unit, size] = units[first];
  const next = units[first + 1];
  const rest = next ? Math.floor((whole % size) / next[1]) : 0;
  return `${Math.floor(whole / size)} ${unit}${rest > 0 ? ` ${rest} ${next[0]}` : ""}`;
}

export function bytes(count) {
  const value = Number(count);
  if (!Number.isFinite(value)) {
    return "—";
  }
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let scaled = value;
  while (scaled >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`;
}

// "2026-01-05 09:30:12", in the viewer's time zone.
export function time(timestamp) {
  if (!timestamp) {
    return "—";
  }
  const date = new Date(timestamp);
  const two = (number) => String(number).padStart(2, "0");
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

export const clock = (milliseconds) => time(milliseconds).slice(11);

// STATE_SUCCEEDED → "succeeded"; FAILURE_CLASS_OOM → "oom".
export const enumName = (value) =>
  (value ?? "").replace(/^(STATE|FAILURE_CLASS|KIND)_/, "").toLowerCase().replaceAll("_", " ");

// A coefficient or a score; "—" when there is none.
export const decimal = (value, places = 2) =>
  value === null || value === undefined || !Number.isFinite(value) ? "—" : value.toFixed(places).replace("-", "−");

// [member, value] of a protobuf ParamValue, which may say beside it that a text is a number.
export const memberOf = (value) => Object.entries(value).find(([field]) => field.endsWith("_value")) ?? [];

// As a command gets it: a number that is no integer has a point.
export function writtenOf(value) {
  const [kind, raw] = memberOf(value);
  const text = Object.is(raw, -0) ? "-0" : String(raw);
  return kind === "double_value" && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

export function settingText(setting) {
  return Object.entries(setting ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${writtenOf(value)}`)
    .join(", ");
}

// A service that a worker runs, an entry of its `services`; as `concur sweep get` says it.
export function serviceText(service) {
  const setting = settingText(service.setting);
  return (
    `${service.approach}${setting ? ` (${setting})` : ""} ${service.state}` +
    (service.start_time ? ` since ${time(service.start_time)}` : "") +
    `, jobs: ${integer(service.jobs)}` +
    (service.failed_starts ? `, failed starts: ${integer(service.failed_starts)}` : "")
  );
}
