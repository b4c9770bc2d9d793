// SPDX-License-Identifier: Apache-2.0
// The settings of one approach on one benchmark: a line for each across parallel axes, and the
// table of those within the chosen ranges. Ranges are chosen by the fields below the axes or by
// drawing along an axis, and are in the address.
import { useState } from "preact/hooks";
import { jobsOf } from "./api.js";
import { decimal, integer } from "./format.js";
import { useAnswer, useGet } from "./hooks.js";
import { importanceOf } from "./importance.js";
import { Loading, Problem, SaveRows, Table, TextFilter } from "./parts.jsx";
import { sweepLink } from "./route.js";
import {
  axesOf,
  choicesOf,
  dataSetsOf,
  endsOf,
  isWithin,
  OTHER_COLUMNS,
  RANGE_PREFIX,
  rangesOf,
  rangeText,
  rowsOf,
  SCORE,
  valueAt,
  valueOn,
} from "./settings.js";
import { useThrottled } from "./throttle.js";

const LINES_MAX = 2000;
const ROWS_SHOWN = 500;
const EVERY_MS = 10_000; // several calls each time
const HEIGHT = 260;
const TOP = 28;
const BOTTOM = HEIGHT - 12;
const STEP = 150; // between axes
const LEFT = 60;

async function scoredJobs(sweep, approach, benchmark, signal) {
  const parameters = { sweep, approach, benchmark, states: ["STATE_SUCCEEDED"] };
  const { jobs, more } = await jobsOf(parameters, signal);
  return { jobs: jobs.filter((job) => job.kind === "KIND_EVAL"), more };
}

function Choice({ label, value, options, onChange }) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => (
          <option key={option} value={option}>
            {option || "none"}
          </option>
        ))}
      </select>
    </label>
  );
}

const y = (share) => BOTTOM - share * (BOTTOM - TOP);

// The line of a row; parameters that it lacks are passed by.
const lineOf = (row, axes) =>
  axes
    .map((axis, index) => [LEFT + index * STEP, axis.at(valueAt(row, axis.name))])
    .filter(([, share]) => share !== undefined)
    .map(([x, share], index) => `${index === 0 ? "M" : "L"}${x} ${y(share).toFixed(1)}`)
    .join("");

function Axis({ axis, x, drawn, onDraw }) {
  const shareAt = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, 1 - (event.clientY - box.top) / box.height));
  };
  const [drag, setDrag] = useState(null); // from where to where
  const ends = drag && [...drag].sort((a, b) => a - b);
  const range = ends ?? drawn;
  return (
    <g>
      <path class="axis" d={`M${x} ${TOP}V${BOTTOM}`} />
      {range && (
        <rect class="range" x={x - 6} width="12" y={y(range[1])} height={y(range[0]) - y(range[1])} />
      )}
      <text x={x} y={TOP - 12} text-anchor="middle" class="label">
        {axis.name}
      </text>
      {axis.ticks.map(({ at, label }) => (
        <text key={label} x={x - 8} y={y(at) + 4} text-anchor="end">
          {label.length > 12 ? `${label.slice(0, 11)}…` : label}
        </text>
      ))}
      {axis.kind !== "word" && (
        <rect
          class="grip"
          x={x - 12}
          width="24"
          y={TOP}
          height={BOTTOM - TOP}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            setDrag([shareAt(event), shareAt(event)]);
          }}
          onPointerMove={(event) => drag && setDrag([drag[0], shareAt(event)])}
          onPointerUp={() => {
            if (ends) {
              onDraw(ends.map((share) => valueOn(axis, share)));
            }
            setDrag(null);
          }}
          onPointerCancel={() => setDrag(null)}
        />
      )}
    </g>
  );
}

// The part of an axis that a range covers, from 0 to 1; null: there is none.
function drawnOf(axis, range) {
  if (!range || axis.kind === "word") {
    return null;
  }
  const share = (text, open) => {
    const place = text === "" ? open : axis.at(Number(text));
    return Number.isFinite(place) ? Math.min(1, Math.max(0, place)) : open;
  };
  const [low, high] = endsOf(range);
  const ends = [share(low, 0), share(high, 1)];
  return ends[1] > ends[0] ? ends : null;
}

function Lines({ rows, axes, ranges, marked, onRange }) {
  const width = LEFT + (axes.length - 1) * STEP + 40;
  const shown = rows.slice(0, LINES_MAX);
  const within = new Set(shown.filter((row) => isWithin(row, ranges)));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Settings as lines">
      <svg
        class="parallel"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        style={{ minWidth: `${Math.min(width, 90 * axes.length)}px`, maxWidth: `${width * 1.2}px` }}
        role="img"
        aria-label={`${within.size} of ${shown.length} settings across ${axes.map(({ name }) => name).join(", ")}; the table below has their values`}
      >
        {shown
          .filter((row) => !within.has(row))
          .map((row) => (
            <path key={row.setting} class="out" d={lineOf(row, axes)} />
          ))}
        {[...within].map((row) => (
          <path
            key={row.setting}
            class={row.setting === marked ? "marked" : "within"}
            d={lineOf(row, axes)}
          />
        ))}
        {axes.map((axis, index) => (
          <Axis
            key={axis.name}
            axis={axis}
            x={LEFT + index * STEP}
            drawn={drawnOf(axis, ranges[axis.name])}
            onDraw={([low, high]) => onRange(axis.name, low < high ? rangeText(low, high) : "")}
          />
        ))}
      </svg>
    </div>
  );
}

// A range of each axis, by keyboard.
function Ranges({ axes, ranges, onRange }) {
  return (
    <form class="filters ranges" onSubmit={(event) => event.preventDefault()}>
      {axes.map((axis) => {
        const range = ranges[axis.name] ?? "";
        if (axis.kind === "word") {
          return (
            <label key={axis.name}>
              {axis.name}
              <select
                value={range.slice(1)}
                onChange={({ target }) => onRange(axis.name, target.value && `=${target.value}`)}
              >
                <option value="">all</option>
                {axis.words.map((word) => (
                  <option key={word} value={word}>
                    {word}
                  </option>
                ))}
              </select>
            </label>
          );
        }
        const [low, high] = endsOf(range);
        const change = (from, to) => onRange(axis.name, rangeText(from.trim(), to.trim()));
        return (
          <fieldset key={axis.name}>
            <legend>{axis.name}</legend>
            <TextFilter
              label="from"
              value={low}
              size={7}
              inputMode="decimal"
              aria-label={`${axis.name} from`}
              placeholder={String(Number(axis.low.toPrecision(4)))}
              onChange={({ target }) => change(target.value, high)}
            />
            <TextFilter
              label="to"
              value={high}
              size={7}
              inputMode="decimal"
              aria-label={`${axis.name} to`}
              placeholder={String(Number(axis.high.toPrecision(4)))}
              onChange={({ target }) => change(low, target.value)}
            />
          </fieldset>
        );
      })}
    </form>
  );
}

// A bar for each parameter: the share of the settings' order that it explains alone.
function Importance({ rows, axes, searched }) {
  const shares = importanceOf(rows, axes);
  return (
    shares.length > 0 && (
      <details>
        <summary>Which parameters matter</summary>
        <Table label="Importance of parameters" columns={["parameter", "explains", ""]} numbers={["explains"]} compact>
          {shares.map(({ name, share, isChance }) => (
            <tr key={name}>
              <td>{name}</td>
              <td class="number">{decimal(100 * share, 0)} %</td>
              <td>
                <span class="share" style={{ width: `${(12 * share).toFixed(2)}rem` }} aria-hidden="true" />
                {isChance && !searched && <span class="faint">may be chance</span>}
              </td>
            </tr>
          ))}
        </Table>
        <p class="faint">
          The share of the order of {integer(rows.length)} settings that a parameter explains alone, without its
          interactions.{searched && " A search visits settings near the best ones, so these shares are rough."}
        </p>
      </details>
    )
  );
}

function Shown({ sweep, approach, benchmark, metric, rows, axes, ranges, searched, onRange }) {
  const [marked, setMarked] = useState(null);
  const within = rows.filter((row) => isWithin(row, ranges));
  const parameters = axes.map(({ name }) => name).filter((name) => name !== SCORE);
  const columns = [OTHER_COLUMNS[0], ...parameters, ...OTHER_COLUMNS.slice(1)];
  return (
    <>
      <Lines rows={rows} axes={axes} ranges={ranges} marked={marked} onRange={onRange} />
      <Ranges axes={axes} ranges={ranges} onRange={onRange} />
      <Importance rows={within} axes={axes} searched={searched} />
      <div class="heading">
        <p role="status">
          {integer(within.length)} of {integer(rows.length)} settings, by {metric}, the best first.
        </p>
        <SaveRows
          name={`${sweep.id}-settings`}
          columns={columns}
          rows={within.map((row) => [
            row.setting,
            ...parameters.map((name) => row.values[name]),
            row.score,
            row.deviation,
            row.seeds,
          ])}
          json={within}
        />
      </div>
      <Table label="Settings" columns={columns} numbers={OTHER_COLUMNS}>
        {within.slice(0, ROWS_SHOWN).map((row) => (
          <tr
            key={row.setting}
            onMouseEnter={() => setMarked(row.setting)}
            onMouseLeave={() => setMarked(null)}
          >
            <td class="number">
              <a
                href={sweepLink(sweep.id, "jobs", { approach, benchmark, setting: row.setting })}
                onFocus={() => setMarked(row.setting)}
                onBlur={() => setMarked(null)}
              >
                {row.setting}
              </a>
            </td>
            {parameters.map((name) => (
              <td key={name}>{row.written[name] ?? "—"}</td>
            ))}
            <td class="number">{decimal(row.score, 3)}</td>
            <td class="number">{decimal(row.deviation, 3)}</td>
            <td class="number">{integer(row.seeds)}</td>
          </tr>
        ))}
      </Table>
      {within.length > ROWS_SHOWN && <p class="faint">The first {integer(ROWS_SHOWN)}.</p>}
    </>
  );
}

export function Settings({ sweep, version, route }) {
  const { query } = route;
  const round = useThrottled(version, EVERY_MS);
  const spec = useGet("GetSweep", { sweep: sweep.id, include_spec: true });
  const approaches = (spec.data?.spec?.approaches ?? []).map(({ name }) => name);
  const dataSets = dataSetsOf(spec.data?.spec?.benchmarks ?? []);
  const benchmarks = dataSets.map(({ name }) => name);
  const approach = query.approach ?? approaches[0] ?? "";
  const benchmark = query.benchmark ?? benchmarks[0] ?? "";
  const { data, error } = useAnswer(
    spec.data ? `settings of ${approach} on ${benchmark} in ${sweep.id}` : "",
    (signal) => scoredJobs(sweep.id, approach, benchmark, signal),
    0,
    round,
  );
  if (!spec.data) {
    return spec.error ? <Problem error={spec.error} /> : <Loading />;
  }
  const change = (more) => {
    location.hash = sweepLink(sweep.id, "settings", { ...query, ...more });
  };
  const { trainSets, metrics } = choicesOf(data?.jobs ?? [], benchmark);
  const own = dataSets.find(({ name }) => name === benchmark);
  const among = (wanted, all) => (all.includes(wanted) ? wanted : (all[0] ?? ""));
  const metric = among(query.metric ?? own?.metric, metrics);
  const trainSet = among(query.train ?? own?.of, trainSets);
  const minimize = own?.minimize && metric === own.metric;
  const rows = data ? rowsOf(data.jobs, { benchmark, trainSet, metric, minimize }) : [];
  const axes = axesOf(rows);
  // Ranges of the approach before would hide everything of the next one.
  const known = Object.entries(rangesOf(query)).filter(([name]) => axes.some((axis) => axis.name === name));
  return (
    <section>
      <div class="heading">
        <h2>Settings</h2>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <Choice label="Approach" value={approach} options={approaches} onChange={(to) => change({ approach: to })} />
          <Choice label="Benchmark" value={benchmark} options={benchmarks} onChange={(to) => change({ benchmark: to })} />
          {trainSets.length > 1 && (
            <Choice label="Trained on" value={trainSet} options={trainSets} onChange={(to) => change({ train: to })} />
          )}
          {metrics.length > 1 && (
            <Choice label="Metric" value={metric} options={metrics} onChange={(to) => change({ metric: to })} />
          )}
        </form>
      </div>
      <Problem error={error} />
      {!data && !error && <Loading />}
      {data && rows.length === 0 && <p>No setting of {approach} has a score on {benchmark} yet.</p>}
      {minimize && rows.length > 1 && <p class="faint">Less {metric} is better.</p>}
      {own?.of === own?.name && rows.length > 1 && (
        <p class="faint">
          {benchmark} has no validation set, so these are test scores: the best of them is too good as an estimate.
        </p>
      )}
      {data?.more && <p class="faint">From the first {integer(data.jobs.length)} scores.</p>}
      {rows.length > 0 && (
        <Shown
          sweep={sweep}
          approach={approach}
          benchmark={benchmark}
          metric={metric}
          rows={rows}
          axes={axes}
          ranges={Object.fromEntries(known)}
          searched={spec.data.spec.approaches.find(({ name }) => name === approach)?.search !== undefined}
          onRange={(axis, range) => change({ [RANGE_PREFIX + axis]: range })}
        />
      )}
    </section>
  );
}
