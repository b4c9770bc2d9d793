// SPDX-License-Identifier: Apache-2.0
// Workers and pools since the coordinator started, and which workers were in quarantine and why.
import { Chart, peakOf, short, Steps } from "../chart.jsx";
import { plural, time } from "../format.js";
import { useGet } from "../hooks.js";
import { Loading, Problem, SaveRows, Table } from "../parts.jsx";
import { partsOf } from "../steps.js";

const INTERVAL_MS = 10_000;
const PARTS = 60;
// Series of all workers, by the field of the answer.
const SERIES = [
  ["Jobs that wait", "jobs_ready"],
  ["Jobs that run", "jobs_running"],
  ["Workers live", "workers_live"],
  ["Workers in quarantine", "workers_quarantined"],
];
// Series that a pool's row shows, from a pool's lists of counts.
const POOL_SERIES = [
  ["wanted", (pool) => pool.wanted],
  ["waiting", (pool) => pool.pending.map((count, index) => count + pool.starting[index])],
  ["working", (pool) => pool.working],
  ["draining", (pool) => pool.draining],
];
const QUARANTINE_COLUMNS = ["worker", "from", "until", "why"];

// Workers that were in quarantine at any time; one that is has a later end than now.
function Quarantines({ quarantines }) {
  if (quarantines.length === 0) {
    return <p class="faint">No worker was in quarantine since then.</p>;
  }
  return (
    <>
      <div class="heading">
        <h3>Quarantines</h3>
        <SaveRows
          name="quarantines"
          columns={QUARANTINE_COLUMNS}
          rows={quarantines.map((one) => [one.worker, one.begin_time, one.end_time, one.reason])}
          json={quarantines}
        />
      </div>
      <Table label="Quarantines" columns={QUARANTINE_COLUMNS}>
        {quarantines.map(({ worker, begin_time: begin, end_time: end, reason }) => (
          <tr key={`${worker} ${begin} ${end}`}>
            <td class="name">{worker}</td>
            <td class="time">{begin ? time(begin) : "before the coordinator's start"}</td>
            <td class="time">
              {time(end)}
              {Date.parse(end) > Date.now() && <span class="problem"> now</span>}
            </td>
            <td class="text">{reason}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function Pools({ pools, times }) {
  const columns = ["pool", ...POOL_SERIES.map(([name]) => name)];
  return (
    <Table label="Pools over time" columns={columns}>
      {pools.map((pool) => {
        const series = POOL_SERIES.map(([name, valuesOf]) => [
          name,
          partsOf(times, valuesOf(pool), PARTS),
        ]);
        const most = peakOf(series.map(([, values]) => peakOf(values))) || 1;
        return (
          <tr key={pool.pool}>
            <td class="name">{pool.pool}</td>
            {series.map(([name, values]) => (
              <td key={name}>
                <Steps
                  values={values}
                  most={most}
                  label={`${pool.pool}, ${name}: ${short(peakOf(values))} at most`}
                />
                <span class="faint">{short(peakOf(values))} at most</span>
              </td>
            ))}
          </tr>
        );
      })}
    </Table>
  );
}

export function Fleet() {
  const { data, error } = useGet("GetFleetHistory", {}, INTERVAL_MS);
  if (!data) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const times = data.times.map((text) => Date.parse(text));
  const columns = ["time", ...SERIES.map(([, field]) => field)];
  return (
    <section>
      <div class="heading">
        <h2>Over time</h2>
        <SaveRows
          name="workers-over-time"
          columns={columns}
          rows={data.times.map((at, index) => [at, ...SERIES.map(([, field]) => data[field][index])])}
          json={data}
        />
      </div>
      <Problem error={error} />
      <p class="faint">
        Since {times.length > 0 ? time(times[0]) : "now"}, from {plural(times.length, "count")}. The
        coordinator keeps them in memory.
      </p>
      {times.length > 1 && (
        <div class="charts">
          {SERIES.map(([name, field]) => (
            <Chart
              key={field}
              name={name}
              values={partsOf(times, data[field].map(Number), PARTS)}
              from={times[0]}
              to={times.at(-1)}
            />
          ))}
        </div>
      )}
      {times.length > 1 && data.pools.length > 0 && <Pools pools={data.pools} times={times} />}
      <Quarantines quarantines={data.quarantines} />
    </section>
  );
}
