// SPDX-License-Identifier: Apache-2.0
// Values over time as steps of equal width. Pure functions.

// The outline of steps as an SVG path, one unit wide each and at most `height` high.
export function stepsPath(values, most, height) {
  const y = (value) => Number((height * (1 - value / most)).toFixed(2));
  return `M0 ${height}${values.map((value) => `V${y(value)}h1`).join("")}V${height}Z`;
}

// The largest value of each of `parts` equal parts of the time from the first sample to the last;
// where a part has no sample, the value of the sample before it. `times` ascend.
export function partsOf(times, values, parts) {
  const from = times[0];
  const width = Math.max(1, times.at(-1) - from) / parts;
  const result = Array(parts).fill(undefined);
  times.forEach((time, index) => {
    const part = Math.min(parts - 1, Math.floor((time - from) / width));
    result[part] = Math.max(result[part] ?? 0, values[index]);
  });
  for (let part = 1; part < parts; part += 1) {
    result[part] ??= result[part - 1];
  }
  return result;
}
