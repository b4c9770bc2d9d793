// SPDX-License-Identifier: Apache-2.0
// All sweeps, the workers, the queue and the rates.
import { useState } from "preact/hooks";
import { integer, span, time } from "./format.js";
import { useGet, useNow } from "./hooks.js";
import { Figure, Loading, Problem, Progress, SaveRows, State, Table } from "./parts.jsx";
import { isOver, rateOf, timeLeft } from "./progress.js";
import { sweepLink, workersLink } from "./route.js";

const INTERVAL_MS = 2000;
const PAGE = 50;

const sum = (values) => values.reduce((total, value) => total + value, 0);

function Figures({ sweeps, workers }) {
  const live = workers.filter((worker) => worker.state === "STATE_LIVE");
  const rates = sweeps.filter((sweep) => !isOver(sweep)).map(rateOf).filter(Number.isFinite);
  const cpus = (resources) => (resources?.cpu_millis ?? 0) / 1000;
  return (
    <div class="figures">
      <Figure
        label="Workers live"
        value={integer(live.length)}
        note={
          <a href={workersLink()}>
            {live.length === workers.length ? "all" : `of ${integer(workers.length)}`} ·{" "}
            {sum(live.map((worker) => cpus(worker.used)))} of {sum(live.map((worker) => cpus(worker.capacity)))} CPUs
            used
          </a>
        }
      />
      <Figure label="Jobs running" value={integer(sum(sweeps.map((sweep) => sweep.counts.running)))} />
      <Figure label="Jobs ready" value={integer(sum(sweeps.map((sweep) => sweep.counts.ready)))} />
      <Figure
        label="Jobs a minute"
        value={rates.length > 0 ? (60 * sum(rates)).toFixed(0) : "—"}
        note="in the last minute"
      />
    </div>
  );
}

function SweepRow({ sweep, now }) {
  const over = isOver(sweep);
  const began = Date.parse(sweep.create_time);
  const took = ((over && sweep.end_time ? Date.parse(sweep.end_time) : now) - began) / 1000;
  return (
    <tr>
      <td>
        <a href={sweepLink(sweep.id)}>{sweep.id}</a>
      </td>
      <td class="name">
        <a href={sweepLink(sweep.id)}>{sweep.name}</a>
      </td>
      <td>
        <State value={sweep.state} />
      </td>
      <td class="wide">
        <Progress sweep={sweep} />
      </td>
      <td class="number">{sweep.counts.failed > 0 ? integer(sweep.counts.failed) : "—"}</td>
      <td class="number">{over ? "—" : span(timeLeft(sweep))}</td>
      <td class="number">{span(took)}</td>
      <td>{sweep.owner}</td>
      <td class="time">{time(sweep.create_time)}</td>
    </tr>
  );
}

const COLUMNS = ["sweep", "name", "state", "progress", "failed", "time left", "took", "owner", "submitted"];
const NUMBERS = ["failed", "time left", "took"];

export function Overview() {
  const [before, setBefore] = useState([""]);
  const now = useNow();
  const sweeps = useGet("ListSweeps", { page_size: PAGE, page_token: before.at(-1) }, INTERVAL_MS);
  const workers = useGet("ListWorkers", { page_size: 1000 }, INTERVAL_MS);
  if (!sweeps.data) {
    return sweeps.error ? <Problem error={sweeps.error} /> : <Loading />;
  }
  const rows = sweeps.data.sweeps;
  return (
    <>
      <h1>Overview</h1>
      <Problem error={sweeps.error} />
      <Figures sweeps={rows} workers={workers.data?.workers ?? []} />
      <div class="heading">
        <h2>Sweeps</h2>
        <SaveRows
          name="sweeps"
          columns={["sweep", "name", "owner", "state", "succeeded", "failed", "submitted"]}
          rows={rows.map((sweep) => [
            sweep.id,
            sweep.name,
            sweep.owner,
            sweep.state,
            sweep.counts.succeeded,
            sweep.counts.failed,
            sweep.create_time,
          ])}
          json={rows}
        />
      </div>
      {rows.length === 0 ? (
        <p>
          No sweep yet: <code>concur sweep submit study.yaml</code>
        </p>
      ) : (
        <Table label="Sweeps" columns={COLUMNS} numbers={NUMBERS}>
          {rows.map((sweep) => (
            <SweepRow key={sweep.id} sweep={sweep} now={now} />
          ))}
        </Table>
      )}
      <p class="pager">
        {before.length > 1 && (
          <button type="button" onClick={() => setBefore(before.slice(0, -1))}>
            Newer
          </button>
        )}
        {sweeps.data.next_page_token && (
          <button type="button" onClick={() => setBefore([...before, sweeps.data.next_page_token])}>
            Older
          </button>
        )}
      </p>
    </>
  );
}
