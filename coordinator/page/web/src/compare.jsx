// SPDX-License-Identifier: Apache-2.0
// Two sweeps' matrices beside each other, and by how much their pairs differ.
import { useState } from "preact/hooks";
import { comparePairs, hasInterval, isSweepOf, newestTwo, onlyIn, pairKey } from "./compare.js";
import { decimal } from "./format.js";
import { useGet } from "./hooks.js";
import { CoefficientFilter, COEFFICIENTS, Grid } from "./matrix.jsx";
import { Loading, Problem, SaveRows, State, Table, TextFilter } from "./parts.jsx";
import { againOf, isOver, versionOf } from "./progress.js";
import { compareLink, sweepLink } from "./route.js";
import { useThrottled } from "./throttle.js";

const INTERVAL_MS = 3000;
const SWEEPS_OFFERED = 100;
const OVERLAP = { true: "overlap", false: "apart", null: "—" };

function Filters({ query }) {
  const sweeps = useGet("ListSweeps", { page_size: SWEEPS_OFFERED });
  const offered = sweeps.data?.sweeps ?? [];
  const change = (name) => (event) => {
    const value = event.target.value.trim();
    const isComplete = sweeps.data && offered.length < SWEEPS_OFFERED;
    const isUnknown = name !== "coefficient" && value && isComplete && !isSweepOf(offered, value);
    event.target.setCustomValidity(isUnknown ? `there is no sweep ${value}` : "");
    if (event.target.reportValidity()) {
      location.hash = compareLink({ ...query, [name]: value });
    }
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {["first", "second"].map((side) => (
        <TextFilter
          key={side}
          label={side === "first" ? "First sweep" : "Second sweep"}
          value={query[side]}
          onChange={change(side)}
          list="sweeps"
          placeholder="id or name"
          autocomplete="off"
        />
      ))}
      <datalist id="sweeps">
        {offered.map((sweep) => (
          <option key={sweep.id} value={sweep.id}>
            {sweep.name}
          </option>
        ))}
      </datalist>
      <CoefficientFilter value={query.coefficient} onChange={change("coefficient")} />
    </form>
  );
}

// {sweep, matrix, error} of one side; the matrix follows the sweep.
function useSide(name, coefficient) {
  const sweep = useGet("GetSweep", { sweep: name }, INTERVAL_MS);
  const round = useThrottled(sweep.data ? versionOf(sweep.data) : "", INTERVAL_MS);
  const matrix = useGet(
    sweep.data ? "matrix" : null,
    { sweep: name, coefficient, intervals: "true", format: "json" },
    sweep.data ? againOf(sweep.data) : 0,
    round,
  );
  return { sweep: sweep.data, matrix: matrix.data, error: sweep.error ?? matrix.error };
}

function Side({ side, chosen, onChoose }) {
  const { sweep, matrix, error } = side;
  const key = chosen && pairKey(chosen);
  return (
    <section class="side" aria-label={sweep?.id}>
      {sweep && (
        <h2>
          <a href={sweepLink(sweep.id, "matrix")}>{sweep.id}</a> {sweep.name}{" "}
          <State value={sweep.state} />
          {!isOver(sweep) && (
            <span class="faint"> {sweep.progress?.percent ?? 0} % of the jobs are done</span>
          )}
        </h2>
      )}
      <Problem error={error} />
      {!matrix && !error && <Loading />}
      {matrix && (
        <Grid
          label={`Matrix of ${sweep.id}`}
          matrix={matrix}
          chosen={matrix.pairs.find((pair) => pairKey(pair) === key)}
          onChoose={onChoose}
        />
      )}
    </section>
  );
}

// Names that one side has and the other one lacks.
function Only({ side, other }) {
  return ["approaches", "benchmarks"].map((names) => {
    const only = onlyIn(side.matrix[names], other.matrix[names]);
    return only.length === 0 ? null : (
      <p key={names} class="only">
        Only {side.sweep.id} has the {names} <b>{only.join(", ")}</b>.
      </p>
    );
  });
}

const textOf = (pair) => {
  if (pair === undefined) {
    return "—";
  }
  const interval = hasInterval(pair) ? ` [${decimal(pair.low)}, ${decimal(pair.high)}]` : "";
  return `${decimal(pair.value)}${interval}, n ${pair.n}`;
};
const ENDS = ["value", "low", "high", "n"];
const endsOf = (pair) => ENDS.map((name) => pair?.[name]);
const endColumns = (sweep) => ENDS.map((name) => `${sweep}_${name}`);
const signed = (value) => (value > 0 ? "+" : "") + decimal(value);

function Differences({ first, second, chosen }) {
  const [left, right] = [first.sweep.id, second.sweep.id];
  const rows = comparePairs(first.matrix, second.matrix);
  const key = chosen && pairKey(chosen);
  return (
    <section>
      <div class="heading">
        <h2>Differences</h2>
        <SaveRows
          name={`${left}-${right}-comparison`}
          columns={["a", "b", ...endColumns(left), ...endColumns(right), "difference", "intervals"]}
          rows={rows.map((row) => [
            row.a,
            row.b,
            ...endsOf(row.first),
            ...endsOf(row.second),
            Number.isNaN(row.difference) ? "" : row.difference,
            row.overlap === null ? "" : OVERLAP[row.overlap],
          ])}
          json={rows}
        />
      </div>
      <p class="faint">
        {right} − {left}, the largest first. Where the 95 % intervals are apart, chance hardly explains
        the difference; where they overlap, it may or may not. n: approaches with both scores; * in
        a matrix marks pairs that lack approaches.
      </p>
      <Table
        label="Differences"
        compact
        columns={["difference", "intervals", "benchmarks", left, right]}
        numbers={["difference", left, right]}
      >
        {rows.map((row) => (
          <tr
            key={row.key}
            class={row.key === key ? "chosen" : undefined}
            aria-current={row.key === key}
          >
            <td class="number">
              <b>{signed(row.difference)}</b>
            </td>
            <td>{OVERLAP[row.overlap]}</td>
            <td class="name">
              {row.a} and {row.b}
            </td>
            <td class="number">{textOf(row.first)}</td>
            <td class="number">{textOf(row.second)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function Comparison({ query }) {
  const coefficient = query.coefficient ?? COEFFICIENTS[0][0];
  const first = useSide(query.first, coefficient);
  const second = useSide(query.second, coefficient);
  const [chosen, setChosen] = useState(null);
  const isSame = first.sweep && first.sweep.id === second.sweep?.id;
  return isSame ? (
    <p>Both are {first.sweep.id}: choose another one.</p>
  ) : (
    <>
      {first.matrix && second.matrix && (
        <>
          <Only side={first} other={second} />
          <Only side={second} other={first} />
        </>
      )}
      <div class="beside">
        <Side side={first} chosen={chosen} onChoose={setChosen} />
        <Side side={second} chosen={chosen} onChoose={setChosen} />
      </div>
      {first.matrix && second.matrix && (
        <Differences first={first} second={second} chosen={chosen} />
      )}
    </>
  );
}

function Newest() {
  const newest = newestTwo(useGet("ListSweeps", { page_size: 2 }).data?.sweeps ?? []);
  return (
    newest && (
      <a href={compareLink(newest)}>
        Compare {newest.first} with {newest.second}, the newest two
      </a>
    )
  );
}

export function Compare({ route }) {
  const { query } = route;
  return (
    <>
      <div class="heading">
        <h1>Compare</h1>
        <Filters query={query} />
      </div>
      {query.first && query.second ? (
        <Comparison key={`${query.first} ${query.second}`} query={query} />
      ) : (
        <p>
          Choose two sweeps. Approaches and benchmarks are matched by their names. <Newest />
        </p>
      )}
    </>
  );
}
