// SPDX-License-Identifier: Apache-2.0
// One sweep: its state, live, and what its tabs show.
import { useEffect, useRef, useState } from "preact/hooks";
import { Events } from "./events.jsx";
import { detailOf, keepEvents } from "./events.js";
import { integer, span, time } from "./format.js";
import { useGet, useNow, useStream } from "./hooks.js";
import { Jobs } from "./jobs.jsx";
import { Matrix } from "./matrix.jsx";
import { Action, Counts, Loading, Problem, Progress, State } from "./parts.jsx";
import { isOver, rateOf, timeLeft, versionOf } from "./progress.js";
import { Lanes, Failures } from "./sweep_progress.jsx";
import { TABS, sweepLink } from "./route.js";
import { Scores } from "./scores.jsx";
import { Settings } from "./settings.jsx";
import { WorkerUse } from "./fleet/worker_use.jsx";

const ENDED_INTERVAL_MS = 5000;

function Actions({ sweep, session, onDone }) {
  const mayChange = session.role === "admin" || (session.role === "submitter" && session.user === sweep.owner);
  if (!mayChange) {
    return null;
  }
  const body = { sweep: sweep.id };
  const failed = sweep.counts.failed + sweep.counts.skipped + sweep.counts.canceled;
  return (
    <div class="actions">
      {sweep.state === "STATE_ACTIVE" && <Action label="Pause" method="PauseSweep" body={body} onDone={onDone} />}
      {sweep.state === "STATE_PAUSED" && <Action label="Resume" method="ResumeSweep" body={body} onDone={onDone} />}
      {!isOver(sweep) && (
        <Action
          label="Cancel"
          method="CancelSweep"
          body={body}
          confirm={`End every unfinished job of ${sweep.id}?`}
          onDone={onDone}
        />
      )}
      {failed > 0 && <Action label="Retry what failed" method="RetryJobs" body={body} onDone={onDone} />}
    </div>
  );
}

function Spent({ sweep }) {
  const { usd = 0, tokens_in: tokensIn = 0, tokens_out: tokensOut = 0 } = sweep.spent ?? {};
  const parts = [];
  if (usd > 0 || sweep.budget_usd > 0) {
    parts.push(`$${usd.toFixed(2)}${sweep.budget_usd > 0 ? ` of $${sweep.budget_usd.toFixed(2)}` : ""} spent`);
  }
  if (tokensIn > 0 || tokensOut > 0) {
    parts.push(`${integer(tokensIn)} tokens in, ${integer(tokensOut)} out`);
  }
  if (sweep.over_budget) {
    parts.push(`paused: the next job would pass the budget; concur sweep set ${sweep.id} --budget-usd N raises it`);
  }
  return parts.length > 0 && <p class="faint">{parts.join(" · ")}</p>;
}

function Header({ sweep, session, onDone }) {
  const now = useNow();
  const over = isOver(sweep);
  const rate = rateOf(sweep);
  const took = ((over && sweep.end_time ? Date.parse(sweep.end_time) : now) - Date.parse(sweep.create_time)) / 1000;
  return (
    <>
      <div class="heading">
        <h1>
          <span class="faint">{sweep.id}</span> {sweep.name}
        </h1>
        <State value={sweep.state} />
        <Actions sweep={sweep} session={session} onDone={onDone} />
      </div>
      <Progress sweep={sweep} />
      <Counts counts={sweep.counts} reused={sweep.reused} />
      <p class="faint">
        {integer(sweep.cell_count)} cells, submitted by {sweep.owner} {time(sweep.create_time)} ·{" "}
        {over ? `took ${span(took)}` : `runs for ${span(took)}`}
        {!over && Number.isFinite(rate) && ` · ${(60 * rate).toFixed(0)} jobs a minute`}
        {!over && Number.isFinite(timeLeft(sweep)) && ` · about ${span(timeLeft(sweep))} left`}
      </p>
      <Spent sweep={sweep} />
    </>
  );
}

function Tabs({ sweep, tab }) {
  return (
    <nav class="tabs" aria-label="Parts of the sweep">
      {TABS.map((name) => (
        <a key={name} href={sweepLink(sweep, name)} aria-current={name === tab ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}

export function Sweep({ route, session }) {
  const [sweep, setSweep] = useState(null);
  const [round, setRound] = useState(0);
  const again = () => setRound((before) => before + 1);
  const cursor = useRef("");
  const [events, setEvents] = useState([]);
  const detail = detailOf(route);
  useEffect(() => setEvents([]), [detail]);
  const error = useStream(
    "WatchSweep",
    () => ({ sweep: route.sweep, cursor: cursor.current, events: detail }),
    (message) => {
      cursor.current = message.cursor;
      setSweep(message.sweep);
      setEvents((before) => keepEvents(before, message));
    },
    [route.sweep, detail, round],
  );
  // The stream ends with the sweep; somebody may retry some of its jobs later.
  const isEnded = sweep !== null && isOver(sweep);
  const later = useGet(isEnded ? "GetSweep" : null, { sweep: route.sweep }, ENDED_INTERVAL_MS);
  const runsAgain = later.data !== null && !isOver(later.data);
  useEffect(() => {
    if (runsAgain) {
      again();
    }
  }, [runsAgain]);
  if (sweep === null) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const version = versionOf(sweep);
  return (
    <>
      <Header sweep={sweep} session={session} onDone={again} />
      <Problem error={error} />
      <Tabs sweep={route.sweep} tab={route.tab} />
      {route.tab === "progress" && (
        <>
          <Lanes sweep={sweep} version={version} />
          <Failures sweep={sweep} session={session} onRetried={again} />
        </>
      )}
      {route.tab === "jobs" && <Jobs sweep={sweep} route={route} />}
      {route.tab === "events" && <Events sweep={sweep} events={events} route={route} />}
      {route.tab === "scores" && <Scores sweep={sweep} version={version} />}
      {route.tab === "settings" && <Settings sweep={sweep} version={version} route={route} />}
      {route.tab === "matrix" && <Matrix sweep={sweep} version={version} route={route} />}
      {route.tab === "workers" && <WorkerUse sweep={sweep} version={version} />}
    </>
  );
}
