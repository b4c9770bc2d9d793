// SPDX-License-Identifier: Apache-2.0
// The form that adds a pool. The coordinator checks it: its errors stand at their fields. "Check"
// asks the provider, too, whether it would start such workers, and adds nothing.
import { useState } from "preact/hooks";
import { post } from "../api.js";
import { LINE_KINDS, MAIN_FIELDS, MORE_FIELDS, NO_NUMBER, NUMBER_KINDS, placeOf, PROVIDER_FIELDS, PROVIDERS, specOf } from "./pool_form.js";

function Field({ field, typed, problem, onType }) {
  const { path, label, kind, hint } = field;
  const isHere = problem?.path === path;
  const id = `pool-${path.replaceAll(".", "-")}`;
  const rest = {
    id,
    value: typed[path] === NO_NUMBER ? undefined : (typed[path] ?? ""), // what is there stays
    placeholder: hint,
    "aria-invalid": isHere,
    "aria-describedby": isHere ? `${id}-problem` : undefined,
    onInput: ({ target }) => onType(path, target.validity.badInput ? NO_NUMBER : target.value),
  };
  return (
    <div class={LINE_KINDS.includes(kind) ? "field lines" : "field"}>
      <label for={id}>{label}</label>
      {LINE_KINDS.includes(kind) ? (
        <textarea rows={2} spellcheck={false} {...rest} />
      ) : (
        <input
          type={NUMBER_KINDS.includes(kind) ? "number" : "text"}
          step="any"
          size={kind === "text" ? 24 : 8}
          autocomplete="off"
          spellcheck={false}
          {...rest}
        />
      )}
      {isHere && (
        <span class="problem" id={`${id}-problem`} role="alert">
          {problem.message}
        </span>
      )}
    </div>
  );
}

// Fields that were typed for one provider stay when another one is looked at.
export function PoolForm({ onAdded, onClose }) {
  const [provider, setProvider] = useState(PROVIDERS[0][0]);
  const [typed, setTyped] = useState({});
  const [problem, setProblem] = useState(null);
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  const [showsMore, setShowsMore] = useState(false);
  const change = (path, text) => {
    setTyped((before) => ({ ...before, [path]: text }));
    setSaid("");
    setProblem((before) => (before?.path === path ? null : before));
  };
  const send = async (isCheck) => {
    setBusy(true);
    setSaid("");
    setProblem(null);
    try {
      const spec = specOf(provider, typed);
      const pool = await post("CreatePool", { spec, validate_only: isCheck });
      if (isCheck) {
        setSaid(pool.explanation.join(" ") || "It can be added.");
      } else {
        onAdded();
      }
    } catch (failure) {
      const found = "path" in failure ? failure : placeOf(failure.message, provider);
      setProblem(found);
      setShowsMore((before) => before || MORE_FIELDS.some(({ path }) => path === found.path));
    }
    setBusy(false);
  };
  const list = (fields) =>
    fields.map((field) => <Field key={field.path} field={field} typed={typed} problem={problem} onType={change} />);
  const [, title, settings] = PROVIDERS.find(([name]) => name === provider);
  return (
    <form
      class="pool-form"
      aria-label="Add a pool"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send(false);
      }}
    >
      <div class="fields">
        <div class="field">
          <label for="pool-provider">Workers come from</label>
          <select
            id="pool-provider"
            value={provider}
            aria-invalid={problem?.path === "provider"}
            aria-describedby={problem?.path === "provider" ? "pool-provider-problem" : undefined}
            onChange={(event) => {
              setProvider(event.target.value);
              setProblem(null);
              setSaid("");
            }}
          >
            {PROVIDERS.map(([name, text]) => (
              <option key={name} value={name}>
                {text}
              </option>
            ))}
          </select>
          {problem?.path === "provider" && (
            <span class="problem" id="pool-provider-problem" role="alert">
              {problem.message}
            </span>
          )}
        </div>
        {list(MAIN_FIELDS)}
      </div>
      {PROVIDER_FIELDS[settings].length > 0 && (
        <fieldset>
          <legend>{title}</legend>
          <div class="fields">{list(PROVIDER_FIELDS[settings])}</div>
        </fieldset>
      )}
      <details open={showsMore} onToggle={(event) => setShowsMore(event.target.open)}>
        <summary>Times, labels, programs</summary>
        <div class="fields">{list(MORE_FIELDS)}</div>
      </details>
      {problem?.path === "" && (
        <p class="problem" role="alert">
          {problem.message}
        </p>
      )}
      <p class="actions">
        <button type="submit" disabled={busy}>
          Add
        </button>
        <button type="button" disabled={busy} onClick={() => send(true)}>
          Check
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
        <span role="status">{said}</span>
      </p>
    </form>
  );
}
