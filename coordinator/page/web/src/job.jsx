// SPDX-License-Identifier: Apache-2.0
// One job: why it waits or failed, its attempts, what it left, and its learning curves and log as
// they grow.
import { useEffect, useRef, useState } from "preact/hooks";
import { Curves } from "./curves.jsx";
import { bytes, decimal, enumName, secondsOf, settingText, span, time } from "./format.js";
import { useGet, useStream } from "./hooks.js";
import { Action, Loading, Problem, State, Table } from "./parts.jsx";
import { indexOf } from "./failures.js";
import { appendLog, decodeBase64 } from "./log_text.js";
import { shareOf } from "./progress.js";
import { sweepLink } from "./route.js";

const INTERVAL_MS = 2000;

function Facts({ rows }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== "" && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function Attempts({ job }) {
  return job.attempts?.length > 0 ? (
    <section>
      <h2>Attempts that did not succeed</h2>
      <Table
        label="Attempts"
        columns={["attempt", "worker", "ended", "cause", "took", "peak memory", "message"]}
        numbers={["attempt", "took", "peak memory"]}
      >
        {job.attempts.map((attempt) => (
          <tr key={attempt.attempt}>
            <td class="number">{attempt.attempt}</td>
            <td>{attempt.worker}</td>
            <td class="time">{time(attempt.end_time)}</td>
            <td>{enumName(attempt.result?.failure)}</td>
            <td class="number">{span(secondsOf(attempt.result?.run_time))}</td>
            <td class="number">{bytes(attempt.result?.memory_bytes_peak)}</td>
            <td class="text">{attempt.result?.message}</td>
          </tr>
        ))}
      </Table>
    </section>
  ) : null;
}

function Result({ job }) {
  const { result } = job;
  return result?.metrics?.length > 0 ? (
    <section>
      <h2>Metrics</h2>
      <Table label="Metrics" columns={["metric", "value", "examples"]} numbers={["value", "examples"]} compact>
        {result.metrics.map((metric) => (
          <tr key={metric.name}>
            <td>{metric.name}</td>
            <td class="number">{decimal(metric.value, 4)}</td>
            <td class="number">{metric.examples === "0" ? "—" : metric.examples}</td>
          </tr>
        ))}
      </Table>
    </section>
  ) : null;
}

function Log({ job, waits }) {
  const [text, setText] = useState("");
  const offset = useRef(0);
  const box = useRef(null);
  const sticks = useRef(true); // the end stays in view until somebody scrolls up
  const decoder = useRef(null);
  useEffect(() => {
    offset.current = 0;
    decoder.current = new TextDecoder();
    setText("");
  }, [job.id, job.attempt]);
  const error = useStream(
    "ReadLog",
    () => ({ job: job.id, offset: offset.current, follow: true }),
    (message) => {
      const data = decodeBase64(message.data);
      offset.current = Number(message.offset) + data.length;
      const more = decoder.current.decode(data, { stream: true });
      setText((before) => appendLog(before, more));
    },
    [job.id, job.attempt, job.state],
  );
  useEffect(() => {
    if (sticks.current && box.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [text]);
  return (
    <section>
      <h2>Log</h2>
      {error && error.status !== 0 && <p class="faint">{error.message}</p>}
      <pre
        class="log"
        ref={box}
        tabIndex={0}
        role="log"
        aria-label="Log"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          sticks.current = scrollTop + clientHeight > scrollHeight - 20;
        }}
      >
        {text || (waits ? "(nothing yet)" : "(nothing)")}
      </pre>
    </section>
  );
}

export function Job({ route, session }) {
  const { data: job, error, reload } = useGet("GetJob", { job: route.job, include_steps: true }, INTERVAL_MS);
  if (!job) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const { result } = job;
  const waits = ["STATE_BLOCKED", "STATE_READY", "STATE_BACKOFF", "STATE_RUNNING"].includes(job.state);
  const ended = ["STATE_FAILED", "STATE_SKIPPED", "STATE_CANCELED", "STATE_STOPPED"].includes(job.state);
  return (
    <>
      <div class="heading">
        <h1>
          <a href={sweepLink(route.sweep)} class="faint">
            {route.sweep}
          </a>{" "}
          job {job.id}
        </h1>
        <State value={job.state} />
        {shareOf(job)}
        {waits && session.role !== "viewer" && (
          <Action
            label="Cancel"
            method="CancelJob"
            body={{ job: job.id }}
            confirm={`End ${job.id}?`}
            onDone={reload}
          />
        )}
        {ended && session.role !== "viewer" && (
          <Action
            label="Retry"
            method="RetryJobs"
            body={{ sweep: route.sweep, jobs: [indexOf(job.id)] }}
            onDone={reload}
          />
        )}
      </div>
      <Problem error={error} />
      {job.explanation && <p class="explanation">{job.explanation}</p>}
      <Facts
        rows={[
          ["Kind", enumName(job.kind)],
          ["Approach", job.approach],
          ["Train set", job.train_set],
          ["Test benchmark", job.test_benchmark],
          ["Setting", `${job.setting_index}${settingText(job.setting) && `: ${settingText(job.setting)}`}`],
          ["Seed", job.seed],
          ["Attempt", job.attempt || (job.reused_from ? "" : "none yet")],
          ["Worker", job.worker],
          ["Reused from", job.reused_from],
          ["Waits until", job.not_before_time && time(job.not_before_time)],
          ["Started", result?.start_time && time(result.start_time)],
          ["Took", result?.run_time && span(secondsOf(result.run_time))],
          ["Peak memory", Number(result?.memory_bytes_peak) > 0 ? bytes(result.memory_bytes_peak) : ""],
          ["Exit code", result && !result.succeeded ? result.exit_code : ""],
          ["Cause", result && !result.succeeded ? enumName(result.failure) : ""],
          ["Message", result?.message],
        ]}
      />
      <Result job={job} />
      <Curves job={job} />
      <Attempts job={job} />
      <Log job={job} waits={waits} />
    </>
  );
}
