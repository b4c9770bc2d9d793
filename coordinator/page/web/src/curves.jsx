// SPDX-License-Identifier: Apache-2.0
// Values that a job reported step by step, a learning curve for each name.
import { curvesOf, linePath } from "./curves.js";
import { decimal, integer } from "./format.js";
import { scale, ticks } from "./scatter.js";

const WIDTH = 420;
const HEIGHT = 200;
const LEFT = 56;
const BOTTOM = HEIGHT - 24;

function Curve({ name, points }) {
  const last = points[points.length - 1];
  const x = scale(points.map((point) => point.step), LEFT, WIDTH - 8);
  const y = scale(points.map((point) => point.value), BOTTOM, 8);
  const label = `${name}: ${decimal(last.value, 4)} at step ${integer(last.step)}`;
  return (
    <figure class="chart">
      <figcaption>
        {name} <b class="number">{decimal(last.value, 4)}</b>{" "}
        <span class="faint">at step {integer(last.step)}</span>
      </figcaption>
      <svg class="curve" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        <title>{label}</title>
        <path class="axis" d={`M${LEFT} 8V${BOTTOM}H${WIDTH - 8}`} />
        {ticks(x.low, x.high)
          .filter(Number.isInteger)
          .map((tick) => (
            <text key={tick} x={x.at(tick)} y={BOTTOM + 16} text-anchor="middle">
              {integer(tick)}
            </text>
          ))}
        {ticks(y.low, y.high, 4).map((tick) => (
          <text key={tick} x={LEFT - 6} y={y.at(tick) + 4} text-anchor="end">
            {tick}
          </text>
        ))}
        <path class="line" d={linePath(points, x.at, y.at)} />
        <circle cx={x.at(last.step)} cy={y.at(last.value)} r="3" />
      </svg>
    </figure>
  );
}

export function Curves({ job }) {
  const curves = curvesOf(job.steps);
  return curves.length > 0 ? (
    <section>
      <h2>Reported</h2>
      <div class="charts">
        {curves.map((curve) => (
          <Curve key={curve.name} {...curve} />
        ))}
      </div>
    </section>
  ) : null;
}
