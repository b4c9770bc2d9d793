// SPDX-License-Identifier: Apache-2.0
// Pools as they are; admins add, pause and remove them.
import { useState } from "preact/hooks";
import { integer } from "../format.js";
import { useGet } from "../hooks.js";
import { Action, Problem, Table } from "../parts.jsx";
import { PoolForm } from "./pool_form.jsx";

const INTERVAL_MS = 3000;
const COUNTS = ["working", "starting", "pending", "draining", "wanted"];

function Pool({ pool, isAdmin, onDone }) {
  const { name } = pool.spec;
  return (
    <tr>
      <td class="name">{name}</td>
      <td class="text">
        {pool.paused ? "paused" : "active"}
        {pool.pause_reason && `: ${pool.pause_reason}`}
        {pool.failures > 0 && <div class="problem">{pool.last_failure}</div>}
      </td>
      {COUNTS.map((count) => (
        <td key={count} class="number">
          {integer(pool[count])}
        </td>
      ))}
      {isAdmin && (
        <td>
          <span class="actions">
            <Action
              label={pool.paused ? "Resume" : "Pause"}
              method={pool.paused ? "ResumePool" : "PausePool"}
              body={{ pool: name }}
              onDone={onDone}
            />
            {!pool.from_options && (
              <>
                <Action
                  label="Remove"
                  method="DeletePool"
                  body={{ pool: name }}
                  confirm="Once its workers have finished what they run?"
                  onDone={onDone}
                />
                <Action
                  label="Remove now"
                  method="DeletePool"
                  body={{ pool: name, at_once: true }}
                  confirm="Stop its workers? What they run goes back to the queue."
                  onDone={onDone}
                />
              </>
            )}
          </span>
        </td>
      )}
    </tr>
  );
}

export function Pools({ isAdmin }) {
  const { data, error, reload } = useGet("ListPools", {}, INTERVAL_MS);
  const [isAdding, setAdding] = useState(false);
  const hasPools = data?.pools.length > 0;
  if (!hasPools && !isAdmin) {
    return <Problem error={error} />;
  }
  return (
    <section>
      <div class="heading">
        <h2>Pools</h2>
        {isAdmin && !isAdding && (
          <button type="button" onClick={() => setAdding(true)}>
            Add a pool
          </button>
        )}
      </div>
      <Problem error={error} />
      {isAdding && (
        <PoolForm
          onAdded={() => {
            setAdding(false);
            reload();
          }}
          onClose={() => setAdding(false)}
        />
      )}
      {hasPools ? (
        <Table label="Pools" columns={["pool", "state", ...COUNTS, ...(isAdmin ? [""] : [])]} numbers={COUNTS}>
          {data.pools.map((pool) => (
            <Pool key={pool.spec.name} pool={pool} isAdmin={isAdmin} onDone={reload} />
          ))}
        </Table>
      ) : (
        <p class="faint">No pools: workers are started by hand.</p>
      )}
    </section>
  );
}
