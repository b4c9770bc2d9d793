// SPDX-License-Identifier: Apache-2.0
// Progress by approach, and failures by cause.
import { useState } from "preact/hooks";
import { groupFailures, indexOf } from "./failures.js";
import { enumName, integer } from "./format.js";
import { useGet } from "./hooks.js";
import { Action, Bar, Loading, Problem, Table } from "./parts.jsx";
import { againOf, lanesOf, PARTS } from "./progress.js";
import { jobLink, sweepLink } from "./route.js";
import { useThrottled } from "./throttle.js";

const FAILURES_MAX = 1000;
const JOBS_SHOWN = 20;

export function Lanes({ sweep, version }) {
  const round = useThrottled(version);
  const table = useGet("scores", { sweep: sweep.id, format: "json" }, againOf(sweep), round);
  if (!table.data) {
    return table.error ? <Problem error={table.error} /> : <Loading />;
  }
  return (
    <section>
      <h2>By approach</h2>
      <p class="faint">Scores of the settings that the table shows, over all benchmarks and seeds.</p>
      <div class="lanes">
        {lanesOf(table.data).map(({ approach, counts }) => (
          <div class="lane" key={approach}>
            <a class="name" href={sweepLink(sweep.id, "jobs", { approach })} title={approach}>
              {approach}
            </a>
            <Bar counts={counts} states={PARTS} />
            <span class="faint">
              {PARTS
                .filter((state) => counts[state] > 0)
                .map((state) => `${integer(counts[state])} ${state === "failed" ? "failed or skipped" : state}`)
                .join(" · ")}
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}

function Group({ group, sweep, mayChange, onRetried }) {
  const [shown, setShown] = useState(JOBS_SHOWN);
  return (
    <details class="group">
      <summary>
        <b class="number">{integer(group.jobs.length)} ×</b> <span class="class">{enumName(group.failure)}</span>{" "}
        <span class="message">{group.message || "no message"}</span>
      </summary>
      {mayChange && (
        <Action
          label={`Retry these ${integer(group.jobs.length)}`}
          method="RetryJobs"
          body={{ sweep: sweep.id, jobs: group.jobs.map((job) => indexOf(job.id)) }}
          onDone={onRetried}
        />
      )}
      <Table label={`Jobs that failed: ${group.message}`} columns={["job", "approach", "train", "test", "log"]}>
        {group.jobs.slice(0, shown).map((job) => (
          <tr key={job.id}>
            <td>
              <a href={jobLink(job.id)}>{job.id}</a>
            </td>
            <td class="name">{job.approach}</td>
            <td>{job.train_set}</td>
            <td>{job.test_benchmark}</td>
            <td>
              <a href={jobLink(job.id)}>log</a>
            </td>
          </tr>
        ))}
      </Table>
      {group.jobs.length > shown && (
        <button type="button" onClick={() => setShown(shown + 100)}>
          {integer(group.jobs.length - shown)} more
        </button>
      )}
    </details>
  );
}

export function Failures({ sweep, session, onRetried }) {
  const failed = sweep.counts.failed;
  const round = useThrottled(failed);
  const jobs = useGet(
    failed > 0 ? "ListJobs" : null,
    { sweep: sweep.id, states: ["STATE_FAILED"], page_size: FAILURES_MAX },
    0,
    round,
  );
  if (failed === 0) {
    return null;
  }
  const mayChange = session.role === "admin" || (session.role === "submitter" && session.user === sweep.owner);
  return (
    <section>
      <h2>Failures by cause</h2>
      <Problem error={jobs.error} />
      {jobs.data &&
        groupFailures(jobs.data.jobs).map((group) => (
          <Group key={group.key} group={group} sweep={sweep} mayChange={mayChange} onRetried={onRetried} />
        ))}
      {failed > FAILURES_MAX && <p class="faint">Of the first {integer(FAILURES_MAX)} that failed.</p>}
    </section>
  );
}
