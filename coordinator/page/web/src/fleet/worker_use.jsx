// SPDX-License-Identifier: Apache-2.0
// The workers of a sweep over time: how many ran jobs, how many jobs ran, and each one's part.
import { jobsOf } from "../api.js";
import { Chart, peakOf, short, Steps } from "../chart.jsx";
import { integer, span } from "../format.js";
import { useAnswer } from "../hooks.js";
import { Loading, Problem, SaveRows, Table } from "../parts.jsx";
import { sweepLink } from "../route.js";
import { useThrottled } from "../throttle.js";
import { useOf } from "./worker_use.js";

const WORKERS_SHOWN = 500;
const EVERY_MS = 10_000; // several calls each time
const COLUMNS = ["worker", "jobs at a time", "jobs", "failed", "busy", "mean at a time"];

export function WorkerUse({ sweep, version }) {
  const round = useThrottled(version, EVERY_MS);
  const states = ["STATE_SUCCEEDED", "STATE_FAILED"];
  const ask = (signal) => jobsOf({ sweep: sweep.id, states }, signal);
  const { data, error } = useAnswer(`ended jobs of ${sweep.id}`, ask, 0, round);
  if (!data) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const { jobs, more } = data;
  const use = useOf(jobs);
  if (use === null) {
    return <p>No job of this sweep has ended on a worker yet.</p>;
  }
  const seconds = Math.max(0.001, (use.to - use.from) / 1000);
  const most = peakOf(use.workers.map(({ running }) => peakOf(running))) || 1;
  return (
    <section>
      <div class="heading">
        <h2>Workers over time</h2>
        <SaveRows
          name={`${sweep.id}-workers`}
          columns={["worker", "jobs", "failed", "busy_seconds", "mean_jobs_at_a_time"]}
          rows={use.workers.map(({ name, jobs: count, failed, busy }) => [
            name,
            count,
            failed,
            busy,
            busy / seconds,
          ])}
          json={use}
        />
      </div>
      <Problem error={error} />
      <p class="faint">
        From {integer(jobs.length)} jobs that ended{more && ", the first of more"}: each job's last
        attempt, by the workers' clocks. Reused results took no worker.
      </p>
      <div class="charts">
        <Chart name="Workers with jobs" values={use.active} from={use.from} to={use.to} />
        <Chart name="Jobs at a time" values={use.running} from={use.from} to={use.to} />
      </div>
      <Table label="Workers over time" columns={COLUMNS} numbers={COLUMNS.slice(2)}>
        {use.workers.slice(0, WORKERS_SHOWN).map((worker) => (
          <tr key={worker.name}>
            <td class="name">
              <a href={sweepLink(sweep.id, "jobs", { worker: worker.name })}>{worker.name}</a>
            </td>
            <td class="wide">
              <Steps
                values={worker.running}
                most={most}
                label={`${worker.name}: ${short(peakOf(worker.running))} jobs at a time at most`}
              />
            </td>
            <td class="number">{integer(worker.jobs)}</td>
            <td class="number">{worker.failed > 0 ? integer(worker.failed) : "—"}</td>
            <td class="number">{span(worker.busy)}</td>
            <td class="number">{(worker.busy / seconds).toFixed(2)}</td>
          </tr>
        ))}
      </Table>
      {use.workers.length > WORKERS_SHOWN && (
        <p class="faint">
          The first {integer(WORKERS_SHOWN)} of {integer(use.workers.length)} workers.
        </p>
      )}
    </section>
  );
}
