// SPDX-License-Identifier: Apache-2.0
// The page: who is logged in, which view is shown, and how the connection is.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, logIn, logOut } from "./api.js";
import { Audit } from "./audit.jsx";
import { Compare } from "./compare.jsx";
import { clock, span } from "./format.js";
import { reportError, useConnection, useNow } from "./hooks.js";
import { Job } from "./job.jsx";
import { Login } from "./login.jsx";
import { Overview } from "./overview.jsx";
import { save } from "./parts.jsx";
import { auditLink, compareLink, overviewLink, parseRoute, workersLink } from "./route.js";
import { snapshot } from "./snapshot.js";
import { Sweep } from "./sweep.jsx";
import { Workers } from "./fleet/workers.jsx";

const LOGIN_PREFIX = "#login=";
const BACK_MS = 4000; // how long the page says that the coordinator is back

// The code of a login link. It is taken out of the address, and so stays in no history.
function takeLoginCode() {
  if (!location.hash.startsWith(LOGIN_PREFIX)) {
    return "";
  }
  const code = location.hash.slice(LOGIN_PREFIX.length);
  history.replaceState(null, "", overviewLink());
  return code;
}

function useRoute() {
  const [route, setRoute] = useState(parseRoute(location.hash));
  useEffect(() => {
    const listener = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return route;
}

// Says when what is shown is old, and when the coordinator is back.
function Connection() {
  const { lostSince, lastAnswer } = useConnection();
  const now = useNow();
  const [back, setBack] = useState(0);
  const [wasLost, setWasLost] = useState(false);
  useEffect(() => {
    if (lostSince) {
      setWasLost(true);
    } else if (wasLost) {
      setWasLost(false);
      setBack(Date.now());
    }
  }, [lostSince]);
  if (lostSince) {
    return (
      <p class="connection lost" role="status">
        The coordinator does not answer; trying again.{" "}
        {lastAnswer > 0 && `What is shown is from ${clock(lastAnswer)}, ${span((now - lastAnswer) / 1000)} ago.`}
      </p>
    );
  }
  return back > 0 && now - back < BACK_MS ? (
    <p class="connection back" role="status">
      Connected again.
    </p>
  ) : (
    <p class="connection" role="status" />
  );
}

// Saves the view that is shown as one file.
function saveView(route) {
  const name = titleOf(route).replace(/[^A-Za-z0-9.]+/g, "-");
  save(new Blob([snapshot(new Date())], { type: "text/html" }), `concur-${name}.html`);
}

function Navigation({ route, session, onLogout }) {
  const link = (view, href, text) => (
    <a href={href} aria-current={route.view === view ? "page" : undefined}>
      {text}
    </a>
  );
  return (
    <header class="top">
      <a class="skip" href="#content" onClick={(event) => {
        event.preventDefault();
        document.getElementById("content").focus();
      }}>
        Skip to the content
      </a>
      <nav aria-label="Views">
        <a class="brand" href={overviewLink()}>
          Concur
        </a>
        {link("overview", overviewLink(), "Overview")}
        {link("workers", workersLink(), "Workers")}
        {link("compare", compareLink(), "Compare")}
        {session.role === "admin" && link("audit", auditLink(), "Audit")}
      </nav>
      <span class="who">
        <button type="button" class="quiet" onClick={() => saveView(route)}>
          Save view
        </button>
        {session.user} <span class="faint">({session.role})</span>
        {session.csrf !== undefined && (
          <button type="button" class="quiet" onClick={onLogout}>
            Log out
          </button>
        )}
      </span>
    </header>
  );
}

function View({ route, session }) {
  switch (route.view) {
    case "overview":
      return <Overview />;
    case "sweep":
      return <Sweep key={route.sweep} route={route} session={session} />;
    case "job":
      return <Job key={route.job} route={route} session={session} />;
    case "workers":
      return <Workers session={session} />;
    case "audit":
      return <Audit route={route} session={session} />;
    case "compare":
      return <Compare route={route} />;
    default:
      return (
        <p>
          There is no such view. <a href={overviewLink()}>Overview</a>
        </p>
      );
  }
}

const TITLES = { workers: "Workers", compare: "Compare", audit: "Audit" };
const titleOf = (route) =>
  ({ sweep: `${route.sweep} ${route.tab}`, job: route.job, ...TITLES })[route.view] ?? "Overview";

// {session, problem, setSession}: undefined until it is known, null when nobody is logged in.
function useSession(code) {
  const [session, setSession] = useState(undefined);
  const [problem, setProblem] = useState("");
  const begin = async (code) => {
    if (code !== "") {
      try {
        setSession({ ...(await logIn({ code })), csrf: "" });
        return;
      } catch (error) {
        setProblem(error.message);
      }
    }
    try {
      setSession(await get("session"));
      setProblem("");
    } catch (error) {
      if (error.needsLogin) {
        setSession(null);
      } else {
        setTimeout(begin, 1000, "");
      }
    }
  };
  useEffect(() => {
    reportError.handler = (error) => {
      if (error.needsLogin) {
        setProblem("The session has ended.");
        setSession(null);
      }
    };
    begin(code);
  }, []);
  return { session, problem, setSession };
}

function Page({ code }) {
  const route = useRoute();
  const { session, problem, setSession } = useSession(code);
  useEffect(() => {
    document.title = `${titleOf(route)} · Concur`;
  }, [route]);
  if (session === undefined) {
    return <Connection />;
  }
  if (session === null) {
    return <Login reason={problem} onLogin={setSession} />;
  }
  const leave = async () => {
    await logOut();
    setSession(null);
  };
  return (
    <>
      <Navigation route={route} session={{ csrf: "", ...session }} onLogout={leave} />
      <Connection />
      <main id="content" tabIndex={-1}>
        <View route={route} session={session} />
      </main>
    </>
  );
}

render(<Page code={takeLoginCode()} />, document.getElementById("page"));
