// SPDX-License-Identifier: Apache-2.0
// Workers and the pools that start them.
import { Fleet } from "./fleet.jsx";
import { bytes, integer, serviceText, time } from "../format.js";
import { useGet } from "../hooks.js";
import { Action, Loading, Problem, SaveRows, State, Table } from "../parts.jsx";
import { Pools } from "./pools.jsx";

const INTERVAL_MS = 3000;
const PAGE = 1000;

const NUMBERS = ["running", "CPUs", "memory", "GPUs", "succeeded", "failed"];

const cpus = (resources) => (resources?.cpu_millis ?? 0) / 1000;

function Worker({ worker, isAdmin, onDone }) {
  const isDraining = worker.state === "STATE_DRAINING";
  return (
    <tr>
      <td class="name">{worker.name}</td>
      <td>
        <State value={worker.state} />
        {worker.quarantine_reason && (
          <div class="faint text">
            {worker.quarantine_reason}, until {time(worker.quarantine_end_time)}
          </div>
        )}
        {worker.notices?.map((notice) => (
          <div class="faint text" key={notice}>
            {notice}
          </div>
        ))}
        {worker.services?.map((service, i) => (
          <div class="faint text" key={i}>
            {serviceText(service)}
          </div>
        ))}
      </td>
      <td class="number">{integer(worker.running)}</td>
      <td class="number">
        {cpus(worker.used)} / {cpus(worker.capacity)}
      </td>
      <td class="number">
        {bytes(worker.used?.memory_bytes)} / {bytes(worker.capacity?.memory_bytes)}
      </td>
      <td class="number">
        {(worker.used?.gpus ?? 0) + (worker.used?.gpu_share ?? 0) / 100} / {worker.capacity?.gpus ?? 0}
      </td>
      <td class="number">{integer(worker.succeeded)}</td>
      <td class="number">{integer(worker.failed)}</td>
      <td>{worker.host}</td>
      <td class="time">{time(worker.last_seen_time)}</td>
      {isAdmin && (
        <td>
          <Action
            label={isDraining ? "Undo drain" : "Drain"}
            method="DrainWorker"
            body={{ worker: worker.name, undo: isDraining }}
            onDone={onDone}
          />
        </td>
      )}
    </tr>
  );
}

export function Workers({ session }) {
  const { data, error, reload } = useGet("ListWorkers", { page_size: PAGE }, INTERVAL_MS);
  const isAdmin = session.role === "admin";
  if (!data) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const columns = ["worker", "state", "running", "CPUs", "memory", "GPUs", "succeeded", "failed", "host", "last seen"];
  return (
    <>
      <div class="heading">
        <h1>Workers</h1>
        <SaveRows
          name="workers"
          columns={["worker", "state", "running", "succeeded", "failed", "host", "last_seen"]}
          rows={data.workers.map((worker) => [
            worker.name,
            worker.state,
            worker.running,
            worker.succeeded,
            worker.failed,
            worker.host,
            worker.last_seen_time,
          ])}
          json={data.workers}
        />
      </div>
      <Problem error={error} />
      {data.workers.length === 0 ? (
        <p>
          No worker has called yet: <code>concur-worker</code>, or a pool.
        </p>
      ) : (
        <Table label="Workers" columns={isAdmin ? [...columns, ""] : columns} numbers={NUMBERS}>
          {data.workers.map((worker) => (
            <Worker key={worker.name} worker={worker} isAdmin={isAdmin} onDone={reload} />
          ))}
        </Table>
      )}
      {data.next_page_token && <p class="faint">The first {integer(PAGE)}.</p>}
      <Pools isAdmin={isAdmin} />
      <Fleet />
    </>
  );
}
