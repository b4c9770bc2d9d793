// SPDX-License-Identifier: Apache-2.0
// Approaches × benchmarks: mean ± standard deviation over seeds, and why a score is missing.
import { decimal, plural } from "./format.js";
import { useGet } from "./hooks.js";
import { Choices, Loading, Problem, SaveAnswer } from "./parts.jsx";
import { againOf, lacksParts } from "./progress.js";
import { sweepLink } from "./route.js";
import { useThrottled } from "./throttle.js";

function Cell({ cell }) {
  if (!cell || cell.value === null || cell.value === undefined) {
    return <span class={`state state-${cell?.state ?? "missing"}`}>{cell?.state ?? "—"}</span>;
  }
  return (
    <span title={`${cell.setting === null ? "" : `setting ${cell.setting}, `}${plural(cell.seeds, "seed")}`}>
      {decimal(cell.value)}
      {lacksParts(cell) && <span title="some of it failed, is pending, or was canceled or stopped">*</span>}
      {cell.standard_deviation > 0 && <span class="faint"> ±{decimal(cell.standard_deviation)}</span>}
    </span>
  );
}

export function Scores({ sweep, version }) {
  const round = useThrottled(version);
  const { data, error } = useGet("scores", { sweep: sweep.id, format: "json" }, againOf(sweep), round);
  if (!data) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const minimized = data.benchmarks.filter(({ goal }) => goal === "minimize").map(({ name }) => name);
  const cells = new Map(data.cells.map((cell) => [`${cell.approach}\n${cell.benchmark}`, cell]));
  return (
    <section>
      <div class="heading">
        <h2>Scores</h2>
        <SaveAnswer name={`${sweep.id}-scores`} method="scores" parameters={{ sweep: sweep.id }} formats={["csv", "json"]} />
      </div>
      <Problem error={error} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Scores">
        <table class="pivot">
          <thead>
            <tr>
              <th scope="col">approach</th>
              {data.benchmarks.map((benchmark) => (
                <th key={benchmark.name} scope="col" class="number">
                  {benchmark.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.approaches.map((approach) => (
              <tr key={approach.name}>
                <th scope="row" class="name">
                  <a href={sweepLink(sweep.id, "jobs", { approach: approach.name })}>{approach.name}</a>
                </th>
                {data.benchmarks.map((benchmark) => (
                  <td key={benchmark.name} class="number">
                    <Cell cell={cells.get(`${approach.name}\n${benchmark.name}`)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {data.cells.some((cell) => cell.standard_deviation > 0) && (
        <p class="faint">± is the standard deviation over seeds.</p>
      )}
      {data.cells.some((cell) => cell.state === "value" && lacksParts(cell)) && (
        <p class="faint">*: some seeds or settings of the score failed or have not ended.</p>
      )}
      {minimized.length > 0 && <p class="faint">Less is better on {minimized.join(", ")}.</p>}
      <Choices answer={data} />
    </section>
  );
}
