// SPDX-License-Identifier: Apache-2.0
// The form that takes a token.
import { useState } from "preact/hooks";
import { logIn } from "./api.js";
import { Problem } from "./parts.jsx";

export function Login({ reason, onLogin }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      onLogin(await logIn({ token: token.trim() }));
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <main class="login" id="content">
      <h1>Concur</h1>
      {reason && <p role="alert">{reason}</p>}
      <p>
        On the coordinator's machine, <code>concur up --link</code> prints a link that logs in. Elsewhere, paste a token
        from <code>concur-coordinator token create</code>:
      </p>
      <form onSubmit={submit}>
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            value={token}
            onInput={(event) => setToken(event.target.value)}
          />
        </label>
        <button type="submit" disabled={token.trim() === ""}>
          Log in
        </button>
      </form>
      <Problem error={error} />
    </main>
  );
}
