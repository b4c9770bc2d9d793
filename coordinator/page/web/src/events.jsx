// SPDX-License-Identifier: Apache-2.0
// Changes of a sweep's jobs as they happen, with filters that are in the address.
import { useEffect, useState } from "preact/hooks";
import { filterEvents, KINDS } from "./events.js";
import { enumName, integer, time } from "./format.js";
import { SaveRows, State, Table, TextFilter } from "./parts.jsx";
import { isOver } from "./progress.js";
import { jobLink, sweepLink } from "./route.js";

const PAGE = 100;
const COLUMNS = ["time", "job", "state", "attempt", "worker", "what", "cause"];

function Filters({ sweep, query }) {
  const change = (name) => (event) => {
    location.hash = sweepLink(sweep.id, "events", { ...query, [name]: event.target.value.trim() });
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        State
        <select value={query.state ?? ""} onChange={change("state")}>
          <option value="">all</option>
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {kind}
            </option>
          ))}
        </select>
      </label>
      {["worker", "text"].map((name) => (
        <TextFilter
          key={name}
          label={name[0].toUpperCase() + name.slice(1)}
          value={query[name]}
          onChange={change(name)}
        />
      ))}
    </form>
  );
}

const causeOf = ({ failure, message }) =>
  [failure === "FAILURE_CLASS_UNSPECIFIED" ? "" : enumName(failure), message]
    .filter(Boolean)
    .join(": ");

function Row({ event }) {
  if (event.gap) {
    return (
      <tr>
        <td colSpan={COLUMNS.length} class="faint">
          Events are missing here: there were too many, or the coordinator started again.
        </td>
      </tr>
    );
  }
  return (
    <tr>
      <td class="time">{time(event.time)}</td>
      <td>
        <a href={jobLink(event.job)}>{event.job}</a>
      </td>
      <td>
        <State value={event.state} />
        {event.reused && <span class="faint"> reused</span>}
      </td>
      <td class="number">{event.attempt || "—"}</td>
      <td>{event.worker}</td>
      <td class="text">{event.description}</td>
      <td class="text">{causeOf(event)}</td>
    </tr>
  );
}

export function Events({ sweep, events, route }) {
  const { query } = route;
  const [held, setHeld] = useState(null); // what is shown while somebody reads
  const [page, setPage] = useState(0);
  useEffect(() => {
    setHeld(null);
    setPage(0);
  }, [JSON.stringify(query)]);
  const rows = filterEvents(held ?? events, query);
  const turnTo = (to) => {
    setHeld(held ?? events);
    setPage(to);
  };
  const follow = () => {
    setHeld(null);
    setPage(0);
  };
  const first = page * PAGE;
  const saved = rows.filter((event) => !event.gap);
  return (
    <section>
      <div class="heading">
        <h2>Events</h2>
        <Filters sweep={sweep} query={query} />
        <button type="button" onClick={held ? follow : () => turnTo(page)}>
          {held ? "Follow" : "Hold"}
        </button>
        <SaveRows
          name={`${sweep.id}-events`}
          columns={COLUMNS}
          rows={saved.map((event) => [
            event.time,
            event.job,
            enumName(event.state),
            event.attempt,
            event.worker,
            event.description,
            causeOf(event),
          ])}
          json={saved}
        />
      </div>
      <p class="faint">
        Changes of jobs since this view was opened, the newest first.
        {held && " Held: later ones are not shown."}
        {isOver(sweep) && " All jobs have ended: the jobs' own views have their attempts."}
      </p>
      {rows.length === 0 ? (
        <p>{events.length === 0 ? "Nothing has changed yet." : "No event matches."}</p>
      ) : (
        <Table label="Events" columns={COLUMNS} numbers={["attempt"]}>
          {rows.slice(first, first + PAGE).map((event, index) => (
            <Row
              key={event.gap ? `gap ${index}` : `${event.job} ${event.time} ${event.state}`}
              event={event}
            />
          ))}
        </Table>
      )}
      <p class="pager">
        {page > 0 && (
          <button type="button" onClick={() => turnTo(page - 1)}>
            Newer
          </button>
        )}
        {first + PAGE < rows.length && (
          <button type="button" onClick={() => turnTo(page + 1)}>
            Older
          </button>
        )}
        {rows.length > PAGE && (
          <span class="faint">
            {integer(first + 1)} to {integer(Math.min(rows.length, first + PAGE))} of{" "}
            {integer(rows.length)}
          </span>
        )}
      </p>
    </section>
  );
}
