// SPDX-License-Identifier: Apache-2.0
// The audit log, for admins: who changed what, or who was refused; newest first.
import { useEffect, useState } from "preact/hooks";
import { time } from "./format.js";
import { useGet } from "./hooks.js";
import { Loading, Problem, SaveRows, Table, TextFilter } from "./parts.jsx";
import { auditLink } from "./route.js";

const PAGE = 100;
const INTERVAL_MS = 5000;
const COLUMNS = ["time", "user", "method", "target", "outcome", "message", "token", "address"];
const TEXTS = ["user", "method", "target"];

function Filters({ query }) {
  const change = (name, value) => {
    location.hash = auditLink({ ...query, [name]: value });
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Calls
        <select
          value={query.calls ?? ""}
          onChange={(event) => change("calls", event.target.value)}
        >
          <option value="">carried out for users and workers</option>
          <option value="failed">refused or failed</option>
          <option value="strangers">without a valid token</option>
        </select>
      </label>
      {TEXTS.map((name) => (
        <TextFilter
          key={name}
          label={name[0].toUpperCase() + name.slice(1)}
          value={query[name]}
          onChange={(event) => change(name, event.target.value.trim())}
        />
      ))}
    </form>
  );
}

const Outcome = ({ value }) => (
  <span class={value === "ok" ? undefined : "problem"}>{value.replaceAll("_", " ")}</span>
);

export function Audit({ route, session }) {
  const { query } = route;
  const [tokens, setTokens] = useState([""]);
  useEffect(() => setTokens([""]), [JSON.stringify(query)]);
  const isAdmin = session.role === "admin";
  const { data, error } = useGet(
    isAdmin ? "ListAuditEntries" : null,
    {
      page_size: PAGE,
      page_token: tokens.at(-1),
      failed_only: query.calls === "failed" ? true : undefined,
      strangers: query.calls === "strangers" ? true : undefined,
      ...Object.fromEntries(TEXTS.map((name) => [name, query[name]])),
    },
    tokens.length === 1 ? INTERVAL_MS : 0,
  );
  if (!isAdmin) {
    return (
      <>
        <h1>Audit</h1>
        <p>The audit log is for admins.</p>
      </>
    );
  }
  return (
    <>
      <div class="heading">
        <h1>Audit</h1>
        <Filters query={query} />
        {data && (
          <SaveRows
            name="audit"
            columns={COLUMNS}
            rows={data.entries.map((entry) => [
              entry.time,
              entry.user,
              entry.method,
              entry.target,
              entry.outcome,
              entry.message,
              entry.token,
              entry.peer,
            ])}
            json={data.entries}
          />
        )}
      </div>
      <p class="faint">
        Calls that change something, and refused ones, the newest first. Of workers: when they came
        and went.
      </p>
      <Problem error={error} />
      {!data && !error && <Loading />}
      {data?.entries.length > 0 && (
        <Table label="Audit" columns={COLUMNS}>
          {data.entries.map((entry, index) => (
            <tr key={`${tokens.length} ${index}`}>
              <td class="time">{time(entry.time)}</td>
              <td>{entry.user}</td>
              <td>{entry.method}</td>
              <td class="name">{entry.target}</td>
              <td>
                <Outcome value={entry.outcome} />
              </td>
              <td class="text">{entry.message}</td>
              <td>{entry.token}</td>
              <td>{entry.peer}</td>
            </tr>
          ))}
        </Table>
      )}
      {data?.entries.length === 0 && (
        <p>{data.next_page_token ? "None in this part of the log." : "No call matches."}</p>
      )}
      <p class="pager">
        {tokens.length > 1 && (
          <button type="button" onClick={() => setTokens(tokens.slice(0, -1))}>
            Newer
          </button>
        )}
        {data?.next_page_token && (
          <button type="button" onClick={() => setTokens([...tokens, data.next_page_token])}>
            Older
          </button>
        )}
      </p>
    </>
  );
}
