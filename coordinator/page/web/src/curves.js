// SPDX-License-Identifier: Apache-2.0
// The learning curves of what a job reported. Pure functions.

// [{name, points: [{step, value}]}], in the order in which the names came; steps grow.
export function curvesOf(steps) {
  const curves = new Map();
  for (const { step, name, value } of steps ?? []) {
    if (!curves.has(name)) {
      curves.set(name, []);
    }
    curves.get(name).push({ step: Number(step ?? 0), value: value ?? 0 });
  }
  return [...curves].map(([name, points]) => ({ name, points }));
}

// The path of a line through points, placed by the functions `x` and `y`.
export const linePath = (points, x, y) =>
  points.map(({ step, value }, i) => `${i === 0 ? "M" : "L"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
