// SPDX-License-Identifier: Apache-2.0
// The annotators' page: write questions that the system fails to answer, answer those of others.
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get, logIn, logOut, post } from "../api.js";
import { answersText, codePoints, draftOf, dropDraft, keepDraft, newKey, percentText } from "./annotation.js";

const LOGIN_PREFIX = "#login=";
// The task is no longer this annotator's, or was saved when an earlier answer of the server was lost.
const CONFLICT = 409;

function takeLoginCode() {
  if (!location.hash.startsWith(LOGIN_PREFIX)) {
    return "";
  }
  const code = location.hash.slice(LOGIN_PREFIX.length);
  history.replaceState(null, "", "/");
  return code;
}

function Complaint({ error }) {
  if (!error) {
    return null;
  }
  const text =
    error.status === 0 ? "The server does not answer. What you wrote stays here; submit it again." : error.message;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

// The passage as text of which a part is selected by mouse, finger or keyboard. A box that is
// readOnly has no cursor for the keyboard, so every change is refused instead. What was selected
// stays the answer while `busy`.
function Passage({ passage, span, busy, onSpan }) {
  const box = useRef(null);
  useEffect(() => {
    const fit = () => {
      box.current.style.height = "auto";
      box.current.style.height = `${box.current.scrollHeight + 4}px`;
    };
    fit();
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, [passage.id]);
  const take = () => {
    const { selectionStart, selectionEnd } = box.current;
    if (!busy && selectionEnd > selectionStart) {
      onSpan([selectionStart, selectionEnd]);
    }
  };
  return (
    <section aria-label="Passage">
      {passage.title && <h2>{passage.title}</h2>}
      <label class="passage">
        <span class="faint">Passage: select the answer in it (by keyboard: arrow keys with Shift)</span>
        <textarea
          ref={box}
          value={passage.text}
          aria-readonly="true"
          inputMode="none"
          spellcheck={false}
          onBeforeInput={(event) => event.preventDefault()}
          onInput={() => (box.current.value = passage.text)}
          onSelect={take}
        />
      </label>
      <p class="answer" aria-live="polite">
        Answer:{" "}
        {span ? <mark data-testid="answer">{passage.text.slice(...span)}</mark> : <span class="faint">none yet</span>}
      </p>
    </section>
  );
}

// The marked span as the server counts it.
const spanOf = (passage, span) => ({
  begin: codePoints(passage.text, span[0]),
  end: codePoints(passage.text, span[1]),
});

function Verdict({ result, systems }) {
  if (!result) {
    return <p class="verdict" role="status" />;
  }
  if (systems === 0) {
    return (
      <p class="verdict won" role="status">
        Saved.
      </p>
    );
  }
  return (
    <p class={`verdict ${result.winner === "person" ? "won" : "lost"}`} role="status">
      {result.winner === "person" ? "You win. Saved. " : "The system wins: try again. "}
      {answersText(result.answers)}
    </p>
  );
}

// While `busy` nothing can be typed: what the server answers is about the text as it was sent.
function Writing({ task, session, state, busy, setBusy, onSkip, onDone }) {
  const { passage } = task;
  const [draft, setDraft] = useState(() => draftOf(session.user, passage));
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const change = (fields) => {
    const next = { ...draft, ...fields };
    setDraft(next);
    keepDraft(session.user, passage, next);
  };
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    // The key is kept with the text: sent again, it is the same attempt.
    const key = draft.key ?? newKey();
    change({ key });
    try {
      const saved = await post("attempt", {
        key,
        passage: passage.id,
        question: draft.question.trim(),
        ...spanOf(passage, draft.span),
      });
      setResult(saved);
      if (saved.winner === "person") {
        dropDraft(session.user, passage);
        setDraft({ question: "", span: null });
      } else {
        const next = { question: draft.question, span: draft.span };
        setDraft(next);
        keepDraft(session.user, passage, next);
      }
      onDone();
    } catch (failure) {
      setResult(null);
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <form onSubmit={submit}>
      <Passage
        passage={passage}
        span={draft.span}
        busy={busy}
        onSpan={(span) => change({ span, key: undefined })}
      />
      <label class="question">
        Question
        <input
          value={draft.question}
          maxLength={state.question_bytes_max}
          autocomplete="off"
          readOnly={busy}
          onInput={(event) => change({ question: event.target.value, key: undefined })}
        />
      </label>
      <p class="buttons">
        <button type="submit" disabled={busy || draft.question.trim() === "" || !draft.span}>
          {busy ? "The system answers…" : "Submit"}
        </button>
        <button type="button" class="quiet" disabled={busy} onClick={onSkip}>
          Another passage
        </button>
      </p>
      <Verdict result={result} systems={state.systems} />
      <Complaint error={error} />
    </form>
  );
}

// A question of another person, one whose answer is known, or one of a data set, whose answer is not
// told.
function Answering({ task, busy, setBusy, onSkip, onNext, onRefused }) {
  const { passage } = task;
  const isKnown = task.kind === "onboarding";
  const isExisting = task.kind === "answering";
  const [span, setSpan] = useState(null);
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const next = useRef(null);
  // As soon as it is seen: a key that is pressed then is meant for it.
  useLayoutEffect(() => next.current?.focus(), [result]);
  const send = async (fields) => {
    setBusy(true);
    setError(null);
    try {
      const { number, round } = task;
      const method = { onboarding: "onboarding", answering: "answer" }[task.kind] ?? "validation";
      const saved = await post(method, { number, round, ...fields });
      if (isExisting) {
        await onNext();
      } else {
        setResult(saved);
      }
    } catch (failure) {
      if (failure.status === CONFLICT) {
        await onRefused(failure.message);
      } else {
        setError(failure);
      }
    }
    setBusy(false);
  };
  const submit = (event) => {
    event.preventDefault();
    send(spanOf(passage, span));
  };
  const known = result && (isKnown ? result.answers.join(" / ") : result.author_answer);
  return (
    <form onSubmit={submit}>
      {isKnown && (
        <p>
          First some questions whose answers are known: {task.number + 1} of {task.of}.
        </p>
      )}
      {isExisting && (
        <p>
          Question {task.number + 1} of {task.of}.
        </p>
      )}
      <p class="asked">
        <b>{task.question}</b>
      </p>
      <Passage passage={passage} span={span} busy={busy || result !== null} onSpan={setSpan} />
      {result ? (
        <>
          <p class="verdict won" role="status">
            Saved. {isKnown ? "The answer is" : "The author’s answer is"} “{known}”.
            {result.again && " Too few of your answers were right; the questions start again."}
          </p>
          <button type="button" onClick={onNext} ref={next}>
            Next
          </button>
        </>
      ) : (
        <p class="buttons">
          <button type="submit" disabled={busy || !span}>
            Save the answer
          </button>
          {!isKnown && (
            <>
              <button type="button" disabled={busy} onClick={() => send({ unanswerable: true })}>
                It has no answer here
              </button>
              {!isExisting && (
                <button type="button" class="quiet" disabled={busy} onClick={onSkip}>
                  Another question
                </button>
              )}
            </>
          )}
        </p>
      )}
      <Complaint error={error} />
    </form>
  );
}

const VERDICTS = [
  ["accept", "Accept", undefined],
  ["reject", "Reject the question", undefined],
  ["revoke", "Reject all of this author", "quiet"],
];

// A question that a reviewer judges. Whoever revokes an author is asked whether that is meant.
function Reviewing({ task, busy, setBusy, onNext, onRefused }) {
  const [error, setError] = useState(null);
  const send = async (verdict) => {
    if (verdict === "revoke" && !confirm(`Take out all questions of ${task.author}, who can then do nothing more?`)) {
      return;
    }
    setBusy(true);
    setError(null);
    try {
      await post("review", { number: task.number, verdict });
      await onNext();
    } catch (failure) {
      if (failure.status === CONFLICT) {
        await onRefused(failure.message);
      } else {
        setError(failure);
      }
    }
    setBusy(false);
  };
  return (
    <section aria-label="Review">
      <p>
        By {task.author}: {task.written} questions, {task.reviewed} reviewed, {task.accepted} accepted.
      </p>
      <p class="asked">
        <b>{task.question}</b>
      </p>
      <p class="answer">
        Answer: <mark data-testid="answer">{task.answer}</mark>
      </p>
      <p class="buttons">
        {VERDICTS.map(([verdict, text, style]) => (
          <button type="button" key={verdict} class={style} disabled={busy} onClick={() => send(verdict)}>
            {text}
          </button>
        ))}
      </p>
      <Complaint error={error} />
      {task.passage.title && <h2>{task.passage.title}</h2>}
      <p class="read">{task.passage.text}</p>
    </section>
  );
}

function Numbers({ rows }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd class="number">{value}</dd>
        </>
      ))}
    </dl>
  );
}

function Standing({ state }) {
  const { mine, all } = state;
  return (
    <>
      <h2>Your work</h2>
      <Numbers
        rows={[
          ["Questions submitted", mine.attempts],
          [state.systems > 0 ? "Of them the system failed on" : "Of them counted", mine.wins],
          ["Kept", mine.kept],
          ["Dropped for too little agreement", mine.dropped],
          ["Validators agreed with you", percentText(mine.agreement)],
          ["Questions of others answered", mine.validations],
          ["You agreed with their authors", percentText(mine.validator_agreement)],
        ]}
      />
      <h2>All together</h2>
      <Numbers
        rows={[
          ["Passages done", `${all.passages_done} of ${all.passages}`],
          ["Questions submitted", all.attempts],
          ["Waiting for validation", all.waiting],
          ["Kept", all.kept],
          ["Dropped", all.dropped],
          ["Rejected by reviewers", all.rejected],
          ["Agreement", percentText(all.agreement)],
        ]}
      />
    </>
  );
}

function Work({ kind, session, state, busy, setBusy, refresh }) {
  const [task, setTask] = useState(null);
  const [error, setError] = useState(null);
  const [notice, setNotice] = useState("");
  const [turn, setTurn] = useState(0);
  const fetchTask = async (skip, why = "") => {
    try {
      setTask(await post("task", { kind, skip }));
      setError(null);
    } catch (failure) {
      setTask(null);
      setError(failure);
    }
    setNotice(why);
    setTurn((before) => before + 1);
    refresh();
  };
  useEffect(() => {
    fetchTask(false);
  }, [kind]);
  let view = <p class="faint">Loading…</p>;
  if (error) {
    view = (
      <>
        {error.status === 404 ? <p role="status">{error.message}</p> : <Complaint error={error} />}
        <button type="button" onClick={() => fetchTask(false)}>
          Look again
        </button>
      </>
    );
  } else if (task?.kind === "writing") {
    view = (
      <Writing
        key={turn}
        task={task}
        session={session}
        state={state}
        busy={busy}
        setBusy={setBusy}
        onSkip={() => fetchTask(true)}
        onDone={refresh}
      />
    );
  } else if (task?.kind === "reviewing") {
    view = (
      <Reviewing
        key={turn}
        task={task}
        busy={busy}
        setBusy={setBusy}
        onNext={() => fetchTask(false)}
        onRefused={(why) => fetchTask(false, why)}
      />
    );
  } else if (task) {
    view = (
      <Answering
        key={turn}
        task={task}
        busy={busy}
        setBusy={setBusy}
        onSkip={() => fetchTask(true)}
        onNext={() => fetchTask(false)}
        onRefused={(why) => fetchTask(false, why)}
      />
    );
  }
  return (
    <>
      {notice !== "" && (
        <p class="problem" role="alert">
          The last question is closed for you: {notice}.
        </p>
      )}
      {view}
    </>
  );
}

const VIEWS = [
  ["writing", "Write"],
  ["validating", "Validate"],
  ["reviewing", "Review"],
  ["standing", "Progress"],
];

const isShown = (name, { reviewer, answering }) =>
  answering ? name === "writing" : name !== "reviewing" || reviewer;

function Page({ code }) {
  const [session, setSession] = useState(undefined);
  const [state, setState] = useState(null);
  const [problem, setProblem] = useState("");
  const [view, setView] = useState("writing");
  // Something was sent and is not answered: a view that is left now would miss the answer.
  const [busy, setBusy] = useState(false);
  const refresh = async () => {
    try {
      const now = await get("state");
      setState(now);
      setSession({ user: now.user });
    } catch (error) {
      if (error.needsLogin) {
        setSession(null);
      } else if (error.status !== 0) {
        setProblem(error.message);
      }
    }
  };
  const begin = async () => {
    if (code !== "") {
      await logIn({ code }).catch((error) => setProblem(error.message));
    }
    await refresh();
  };
  useEffect(() => {
    begin();
  }, []);
  if (session === null) {
    return (
      <main class="login" id="content">
        <h1>Annotation</h1>
        {problem && <p role="alert">{problem}</p>}
        <p>You need a login link. Ask whoever runs this annotation for one; each link works once.</p>
      </main>
    );
  }
  if (!session || !state) {
    return <p class="faint">Loading…</p>;
  }
  const leave = async () => {
    await logOut();
    setSession(null);
  };
  return (
    <>
      <header class="top">
        <nav aria-label="Views">
          <span class="brand">Annotation</span>
          {VIEWS.filter(([name]) => isShown(name, state)).map(([name, text]) => (
            <button
              type="button"
              class="quiet"
              key={name}
              aria-current={view === name ? "page" : undefined}
              disabled={busy}
              onClick={() => setView(name)}
            >
              {state.answering && name === "writing" ? "Answer" : text}
            </button>
          ))}
        </nav>
        <span class="who">
          {session.user}{" "}
          <button type="button" class="quiet" onClick={leave}>
            Log out
          </button>
        </span>
      </header>
      <main id="content" class="annotation" tabIndex={-1}>
        <h1>{state.answering && view === "writing" ? "Answer" : VIEWS.find(([name]) => name === view)[1]}</h1>
        {view === "standing" ? (
          <Standing state={state} />
        ) : (
          <Work
            key={view}
            kind={view}
            session={session}
            state={state}
            busy={busy}
            setBusy={setBusy}
            refresh={refresh}
          />
        )}
      </main>
    </>
  );
}

render(<Page code={takeLoginCode()} />, document.getElementById("page"));
