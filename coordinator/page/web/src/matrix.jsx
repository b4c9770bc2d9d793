// SPDX-License-Identifier: Apache-2.0
// The concurrence matrix of a sweep, computed again while it runs, with intervals and what is
// missing; a chosen pair shows its approaches. Below it, which ranks are resolved.
import { useState } from "preact/hooks";
import { coefficientColours } from "./colour.js";
import { clock, decimal, plural } from "./format.js";
import { useGet } from "./hooks.js";
import { Loading, Problem, SaveAnswer } from "./parts.jsx";
import { againOf, isOver } from "./progress.js";
import { Ranks } from "./ranks.jsx";
import { compareLink, sweepLink } from "./route.js";
import { pointsOf, scale, ticks } from "./scatter.js";
import { useThrottled } from "./throttle.js";

export const COEFFICIENTS = [
  ["kendall", "Kendall's τ-b"],
  ["spearman", "Spearman's ρ"],
  ["pearson", "Pearson's r"],
  ["weighted-kendall", "weighted τ"],
];
const EVERY_MS = 3000;

export function CoefficientFilter({ value, onChange }) {
  return (
    <label>
      Coefficient
      <select value={value ?? COEFFICIENTS[0][0]} onChange={onChange}>
        {COEFFICIENTS.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

// Intervals of so few approaches may be too short.
const FEW = 5;
const isFew = (pair) => pair.n < FEW;

function Pair({ pair, isChosen, onChoose }) {
  const hasValue = pair.value !== null && pair.value !== undefined;
  // Two approaches always agree wholly, or not at all.
  const colours = hasValue && pair.n > 2 ? coefficientColours(isFew(pair) ? pair.value / 2 : pair.value) : null;
  const hasInterval = pair.low !== null && pair.low !== undefined;
  return (
    <td class={`pair${isChosen ? " chosen" : ""}`}>
      <button
        type="button"
        aria-pressed={isChosen}
        title={`${pair.a} and ${pair.b}, on ${plural(pair.n, "approach")}`}
        style={colours && { background: colours.background, color: colours.text }}
        onClick={() => onChoose(pair)}
      >
        <b>
          {hasValue ? decimal(pair.value) : "undef"}
          {pair.missing?.length > 0 && <span title={`without ${plural(pair.missing.length, "approach")}`}>*</span>}
        </b>
        <small>
          {hasInterval && `[${decimal(pair.low)}, ${decimal(pair.high)}] `}
          {(!hasInterval || isFew(pair)) && `n ${pair.n}`}
        </small>
      </button>
    </td>
  );
}

export function Grid({ label = "Matrix", matrix, chosen, onChoose }) {
  const { benchmarks } = matrix;
  const pairs = new Map(matrix.pairs.map((pair) => [`${pair.a}\n${pair.b}`, pair]));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="matrix">
        <thead>
          <tr>
            <td />
            {benchmarks.slice(0, -1).map((name) => (
              <th key={name} scope="col" title={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {benchmarks.slice(1).map((row, index) => (
            <tr key={row}>
              <th scope="row" title={row}>
                {row}
              </th>
              {benchmarks.slice(0, index + 1).map((column) => {
                const pair = pairs.get(`${column}\n${row}`);
                return (
                  <Pair
                    key={column}
                    pair={pair}
                    isChosen={chosen?.a === pair.a && chosen?.b === pair.b}
                    onChoose={onChoose}
                  />
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const WIDTH = 420;
const HEIGHT = 340;
const LEFT = 48;
const BOTTOM = HEIGHT - 40;

function Scatter({ table, pair }) {
  const points = pointsOf(table, pair.a, pair.b);
  if (points.length === 0) {
    return <p>No approach has both scores yet.</p>;
  }
  const x = scale(points.map((point) => point.x), LEFT, WIDTH - 8);
  const y = scale(points.map((point) => point.y), BOTTOM, 8);
  return (
    <svg class="scatter" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${pair.a} against ${pair.b}`}>
      <path class="axis" d={`M${LEFT} 8V${BOTTOM}H${WIDTH - 8}`} />
      {ticks(x.low, x.high).map((tick) => (
        <text key={tick} x={x.at(tick)} y={BOTTOM + 16} text-anchor="middle">
          {tick}
        </text>
      ))}
      {ticks(y.low, y.high).map((tick) => (
        <text key={tick} x={LEFT - 6} y={y.at(tick) + 4} text-anchor="end">
          {tick}
        </text>
      ))}
      <text x={(LEFT + WIDTH) / 2} y={HEIGHT - 6} text-anchor="middle" class="label">
        {pair.a}
      </text>
      <text x={12} y={BOTTOM / 2} text-anchor="middle" class="label" transform={`rotate(-90 12 ${BOTTOM / 2})`}>
        {pair.b}
      </text>
      {points.map((point) => (
        <circle key={point.name} cx={x.at(point.x)} cy={y.at(point.y)} r="5">
          <title>{`${point.name}: ${decimal(point.x)}, ${decimal(point.y)}`}</title>
        </circle>
      ))}
    </svg>
  );
}

function Chosen({ pair, sweep, round }) {
  const scores = useGet("scores", { sweep: sweep.id, format: "json" }, againOf(sweep), round);
  return (
    <aside class="chosen-pair" aria-live="polite">
      <h3>
        {pair.a} and {pair.b}
      </h3>
      <p>
        <b>{decimal(pair.value)}</b>
        {pair.low !== null && pair.low !== undefined && ` [${decimal(pair.low)}, ${decimal(pair.high)}]`} on{" "}
        {plural(pair.n, "approach")}
        {pair.undefined && `: ${pair.undefined}`}
      </p>
      {pair.warning && <p class="faint">{pair.warning}</p>}
      {pair.missing?.length > 0 && (
        <details>
          <summary>{plural(pair.missing.length, "approach")} without both scores</summary>
          <p>{pair.missing.join(", ")}</p>
        </details>
      )}
      <Problem error={scores.error} />
      {scores.data && <Scatter table={scores.data} pair={pair} />}
    </aside>
  );
}

export function Matrix({ sweep, version, route }) {
  const coefficient = route.query.coefficient ?? COEFFICIENTS[0][0];
  const intervals = route.query.intervals ?? "true";
  const parameters = { sweep: sweep.id, coefficient, intervals };
  const round = useThrottled(version, EVERY_MS);
  const [chosen, setChosen] = useState(null);
  const whole = useGet("matrix", { ...parameters, format: "json" }, againOf(sweep), round);
  // Intervals of a large table take long: its values are shown until they are there.
  const isWaiting = intervals === "true" && !whole.data;
  const quick = { ...parameters, intervals: "false", format: "json" };
  const values = useGet(isWaiting ? "matrix" : null, quick, againOf(sweep), round);
  const data = whole.data ?? values.data;
  const error = whole.error ?? values.error;
  const change = (name) => (event) => {
    location.hash = sweepLink(sweep.id, "matrix", { ...route.query, [name]: event.target.value });
  };
  const pair = chosen && data?.pairs.find(({ a, b }) => a === chosen.a && b === chosen.b);
  return (
    <section>
      <div class="heading">
        <h2>Matrix</h2>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <CoefficientFilter value={coefficient} onChange={change("coefficient")} />
          <label>
            Intervals
            <select value={intervals} onChange={change("intervals")}>
              <option value="true">95 %</option>
              <option value="false">none</option>
            </select>
          </label>
        </form>
        <a href={compareLink({ first: sweep.id, coefficient: route.query.coefficient })}>
          Compare with another sweep
        </a>
        <SaveAnswer name={`${sweep.id}-matrix`} method="matrix" parameters={parameters} formats={["svg", "csv", "json"]} />
      </div>
      <p class="faint">
        How similarly two benchmarks rank the approaches: 1 alike, 0 unrelated, −1 opposite.{" "}
        {isOver(sweep) ? "All jobs have ended." : `Live: ${sweep.progress?.percent ?? 0} % of the jobs are done; as of ${clock(Date.now())}.`}
        {data?.pairs.some(({ missing }) => missing?.length > 0) && " * marks pairs that lack approaches."}
      </p>
      <p class="faint" role="status">
        {isWaiting && data && !whole.error && "Intervals are being computed."}
      </p>
      <Problem error={error} />
      {!data && !error && <Loading />}
      {data && (
        <div class="beside">
          <Grid matrix={data} chosen={pair} onChoose={setChosen} />
          {pair ? <Chosen pair={pair} sweep={sweep} round={round} /> : <p class="faint">Choose a pair to see its approaches.</p>}
        </div>
      )}
      {data?.interval_method && (
        <p class="faint">
          Intervals: {data.interval_method}.
          {data.pairs.some(isFew) && ` Of fewer than ${FEW} approaches (pale), they may be too short.`}
        </p>
      )}
      <Ranks sweep={sweep} round={round} />
    </section>
  );
}
