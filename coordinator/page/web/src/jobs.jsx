// SPDX-License-Identifier: Apache-2.0
// A sweep's jobs, a page at a time, with filters that are in the address.
import { useEffect, useState } from "preact/hooks";
import { enumName, settingText, span, secondsOf } from "./format.js";
import { useGet } from "./hooks.js";
import { Loading, Problem, SaveRows, State, Table, TextFilter } from "./parts.jsx";
import { shareOf, STATES } from "./progress.js";
import { jobLink, sweepLink } from "./route.js";

const PAGE = 100;
const INTERVAL_MS = 3000;
const COLUMNS = ["job", "kind", "state", "approach", "train", "test", "setting", "seed", "attempt", "worker", "took"];
const NUMBERS = ["setting", "seed", "attempt", "took"];

// Scores are in the Scores view, where each is of a chosen setting.
function withoutScores(job) {
  return job.result ? { ...job, result: { ...job.result, metrics: [] } } : job;
}

function Filters({ sweep, query }) {
  const change = (name) => (event) => {
    location.hash = sweepLink(sweep.id, "jobs", { ...query, [name]: event.target.value.trim() });
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        State
        <select value={query.state ?? ""} onChange={change("state")}>
          <option value="">all</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {state}
            </option>
          ))}
        </select>
      </label>
      {["approach", "benchmark", "worker", "setting", "seed"].map((name) => (
        <TextFilter
          key={name}
          label={name[0].toUpperCase() + name.slice(1)}
          value={query[name]}
          onChange={change(name)}
          size={name === "seed" || name === "setting" ? 6 : 16}
        />
      ))}
    </form>
  );
}

function Row({ job }) {
  return (
    <tr>
      <td>
        <a href={jobLink(job.id)}>{job.id}</a>
      </td>
      <td>{enumName(job.kind)}</td>
      <td>
        <State value={job.state} title={job.explanation} />
        {shareOf(job)}
        {job.reused_from && <span class="faint"> reused</span>}
      </td>
      <td class="name">{job.approach}</td>
      <td class="name">{job.train_set}</td>
      <td class="name">{job.test_benchmark}</td>
      <td class="number" title={settingText(job.setting)}>
        {job.setting_index}
      </td>
      <td class="number">{job.seed}</td>
      <td class="number">{job.attempt || "—"}</td>
      <td>{job.worker}</td>
      <td class="number">{span(secondsOf(job.result?.run_time))}</td>
    </tr>
  );
}

export function Jobs({ sweep, route }) {
  const { query } = route;
  const [tokens, setTokens] = useState([""]);
  useEffect(() => setTokens([""]), [JSON.stringify(query)]);
  const { data, error } = useGet(
    "ListJobs",
    {
      sweep: sweep.id,
      page_size: PAGE,
      page_token: tokens.at(-1),
      states: query.state ? [`STATE_${query.state.toUpperCase()}`] : [],
      approach: query.approach,
      benchmark: query.benchmark,
      worker: query.worker,
      setting_index: query.setting,
      seed: query.seed,
    },
    INTERVAL_MS,
  );
  return (
    <section>
      <div class="heading">
        <h2>Jobs</h2>
        <Filters sweep={sweep} query={query} />
        {data && (
          <SaveRows
            name={`${sweep.id}-jobs`}
            columns={COLUMNS}
            rows={data.jobs.map((job) => [
              job.id,
              enumName(job.kind),
              enumName(job.state),
              job.approach,
              job.train_set,
              job.test_benchmark,
              job.setting_index,
              job.seed,
              job.attempt,
              job.worker,
              job.result?.run_time,
            ])}
            json={data.jobs.map(withoutScores)}
          />
        )}
      </div>
      <Problem error={error} />
      {!data && !error && <Loading />}
      {data && (
        <Table label="Jobs" columns={COLUMNS} numbers={NUMBERS}>
          {data.jobs.map((job) => (
            <Row key={job.id} job={job} />
          ))}
        </Table>
      )}
      {data?.jobs.length === 0 && <p>No job matches.</p>}
      <p class="pager">
        {tokens.length > 1 && (
          <button type="button" onClick={() => setTokens(tokens.slice(0, -1))}>
            Back
          </button>
        )}
        {data?.next_page_token && (
          <button type="button" onClick={() => setTokens([...tokens, data.next_page_token])}>
            Next {PAGE}
          </button>
        )}
      </p>
    </section>
  );
}
