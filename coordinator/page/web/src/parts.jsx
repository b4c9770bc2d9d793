// SPDX-License-Identifier: Apache-2.0
// Small parts that several views use.
import { useLayoutEffect, useState } from "preact/hooks";
import { ApiError, getBlob, post } from "./api.js";
import { toCsv } from "./csv.js";
import { enumName, integer } from "./format.js";
import { SHAPES, STATES } from "./progress.js";

// A state by its word, its shape and its colour.
export function State({ value, title }) {
  const name = value === "STATE_UNSPECIFIED" ? "not loaded" : enumName(value);
  return (
    <span class={`state state-${name.replace(" ", "-")}`} title={title}>
      <span aria-hidden="true">{SHAPES[name] ?? "●"}</span> {name}
    </span>
  );
}

// Counts by state as one bar; screen readers get the numbers.
export function Bar({ counts, states = STATES }) {
  const shown = states.filter((state) => counts[state] > 0);
  const total = states.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const text = shown.map((state) => `${integer(counts[state])} ${state}`).join(", ");
  return (
    <div class="bar" role="img" aria-label={text || "nothing"} title={text}>
      {shown.map((state) => (
        <span
          key={state}
          class={`fill fill-${state}`}
          style={{ width: `${(100 * counts[state]) / total}%` }}
        />
      ))}
    </div>
  );
}

export function Progress({ sweep }) {
  const { jobs = 0, done = 0, percent = 0 } = sweep.progress ?? {};
  return (
    <div class="progress">
      <Bar counts={sweep.counts} />
      <span class="number">{jobs === 0 ? "–" : `${percent} %`}</span>
      <span class="faint number">
        {integer(done)}/{integer(jobs)}
      </span>
    </div>
  );
}

// Every state with its count.
export function Counts({ counts, reused }) {
  return (
    <ul class="counts">
      {STATES.filter((state) => counts[state] > 0).map((state) => (
        <li key={state}>
          <State value={state} /> <b>{integer(counts[state])}</b>
          {state === "succeeded" && reused > 0 && <span class="faint"> ({integer(reused)} reused)</span>}
          {state === "running" && counts.running_done > 0 && (
            <span class="faint">
              {" "}
              ({Math.floor((100 * counts.running_done) / (counts.running - (counts.queued ?? 0)))} % done)
            </span>
          )}
          {state === "running" && counts.queued > 0 && (
            <span class="faint"> ({integer(counts.queued)} queued)</span>
          )}
        </li>
      ))}
    </ul>
  );
}

// Choice of the settings behind a table: the answers' sentences, where anything was chosen.
export function Choices({ answer }) {
  const sentences = answer?.choices ?? [];
  return (
    sentences.length > 0 && (
      <details class="faint">
        <summary>How settings were chosen</summary>
        {sentences.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </details>
    )
  );
}

export function Problem({ error }) {
  // The banner says it already.
  const isOutage = error instanceof ApiError && error.status === 0;
  return error && !isOutage ? (
    <p class="problem" role="alert">
      {error.message}
    </p>
  ) : null;
}

export const Loading = () => <p class="faint">Loading…</p>;

export function Figure({ label, value, note }) {
  return (
    <div class="figure">
      <div class="faint">{label}</div>
      <div class="big number">{value}</div>
      {note && <div class="faint">{note}</div>}
    </div>
  );
}

// A text that a view is filtered by. What is being typed stays when the view shows something newer;
// `onChange` gets it when it is done. An effect after the frame would take back what was typed before.
export function TextFilter({ label, value = "", onChange, ...rest }) {
  const [typed, setTyped] = useState(value);
  useLayoutEffect(() => setTyped(value), [value]);
  return (
    <label>
      {label}
      <input
        size={16}
        {...rest}
        value={typed}
        onInput={(event) => setTyped(event.target.value)}
        onChange={onChange}
      />
    </label>
  );
}

// A table that scrolls sideways on its own, by keyboard, too. Names of columns in `numbers` stand
// above numbers. A compact one is as wide as its contents.
export function Table({ label, columns, numbers = [], compact, children }) {
  return (
    <div class={compact ? "scroll compact" : "scroll"} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column}
                scope="col"
                class={numbers.includes(column) ? "number" : undefined}
                aria-label={column === "" ? "actions" : undefined}
              >
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Downloads of what a table shows.
export function SaveRows({ name, columns, rows, json }) {
  return (
    <span class="downloads">
      <button
        type="button"
        class="quiet"
        onClick={() => save(new Blob([toCsv(columns, rows)], { type: "text/csv" }), `${name}.csv`)}
      >
        CSV
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() =>
          save(new Blob([JSON.stringify(json, null, 1)], { type: "application/json" }), `${name}.json`)
        }
      >
        JSON
      </button>
    </span>
  );
}

// Downloads that the coordinator makes.
export function SaveAnswer({ name, method, parameters, formats }) {
  const [error, setError] = useState(null);
  return (
    <span class="downloads">
      {formats.map((format) => (
        <button
          type="button"
          class="quiet"
          key={format}
          onClick={async () => {
            try {
              save(await getBlob(method, { ...parameters, format }), `${name}.${format}`);
              setError(null);
            } catch (failure) {
              setError(failure);
            }
          }}
        >
          {format.toUpperCase()}
        </button>
      ))}
      <Problem error={error} />
    </span>
  );
}

// A button that changes something. `confirm`: a second click is asked for.
export function Action({ label, method, body, confirm, onDone }) {
  const [step, setStep] = useState("idle");
  const [error, setError] = useState(null);
  const run = async () => {
    setStep("running");
    try {
      const answer = await post(method, body);
      setError(null);
      onDone?.(answer);
    } catch (failure) {
      setError(failure);
    }
    setStep("idle");
  };
  return (
    <span class="action">
      {step === "asking" ? (
        <>
          <span>{confirm}</span>
          <button type="button" class="danger" onClick={run}>
            Yes
          </button>
          <button type="button" onClick={() => setStep("idle")}>
            No
          </button>
        </>
      ) : (
        <button
          type="button"
          disabled={step === "running"}
          onClick={() => (confirm ? setStep("asking") : run())}
        >
          {label}
        </button>
      )}
      {error && (
        <span class="problem" role="alert">
          {error.message}
        </span>
      )}
    </span>
  );
}
