// SPDX-License-Identifier: Apache-2.0
// Series over time, drawn as steps.
import { integer, time } from "./format.js";
import { stepsPath } from "./steps.js";

const HEIGHT = 20;

export const peakOf = (values) => values.reduce((most, value) => Math.max(most, value), 0);
export const short = (value) => (Number.isInteger(value) ? integer(value) : value.toFixed(1));

// `most`: the value at the upper edge.
export function Steps({ values, most, label }) {
  return (
    <svg
      class="steps"
      viewBox={`0 0 ${values.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <path d={stepsPath(values, most, HEIGHT)} />
    </svg>
  );
}

// One series with its peak and the ends of its time, in milliseconds.
export function Chart({ name, values, from, to }) {
  const peak = peakOf(values);
  return (
    <figure class="chart">
      <figcaption>
        {name} <b class="number">{short(peak)}</b> <span class="faint">at most</span>
      </figcaption>
      <Steps values={values} most={peak || 1} label={`${name}: ${short(peak)} at most`} />
      <div class="ends faint">
        <span>{time(from)}</span>
        <span>{time(to)}</span>
      </div>
    </figure>
  );
}
