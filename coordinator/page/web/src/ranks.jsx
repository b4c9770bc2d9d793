// SPDX-License-Identifier: Apache-2.0
// Which ranks of the approaches the scores resolve so far, as `concur rank` says.
import { decimal, integer } from "./format.js";
import { useGet } from "./hooks.js";
import { Loading, Problem, SaveAnswer, Table } from "./parts.jsx";
import { againOf } from "./progress.js";
import { averagesOf, isResolved, rankBar, rankText } from "./ranks.js";

function RankSet({ row, of }) {
  const { left, width } = rankBar(row.rank_low, row.rank_high, of);
  return (
    <>
      <span class="rank-set" aria-hidden="true">
        <span style={{ left: `${left}%`, width: `${width}%` }} />
      </span>{" "}
      {rankText(row.rank_low, row.rank_high)}
    </>
  );
}

const RESOLVED = ["rank set", "of all", "group", "next differs: p"];

export function Ranks({ sweep, round }) {
  const { data, error } = useGet("rank", { sweep: sweep.id, format: "json" }, againOf(sweep), round);
  if (!data) {
    return error ? <Problem error={error} /> : <Loading />;
  }
  const averages = averagesOf(data.rows);
  const ranked = data.rows.filter(isResolved).length;
  const columns = ["rank", "approach", ...averages, ...(ranked > 0 ? RESOLVED : [])];
  return (
    <section>
      <div class="heading">
        <h2>Ranks</h2>
        <SaveAnswer name={`${sweep.id}-rank`} method="rank" parameters={{ sweep: sweep.id }} formats={["csv", "json"]} />
      </div>
      <Problem error={error} />
      {ranked === 0 && (
        <p class="faint">
          Rank sets need two approaches with all scores on three benchmarks.
        </p>
      )}
      <Table label="Ranks" compact columns={columns} numbers={["rank", ...averages, "group", RESOLVED.at(-1)]}>
        {data.rows.map((row, index) => (
          <tr key={row.approach} class={index > 0 && row.group !== data.rows[index - 1].group ? "next-group" : undefined}>
            <td class="number">{row.rank ?? "—"}</td>
            <th scope="row" class="name">
              {row.approach}
            </th>
            {averages.map((name) => (
              <td key={name} class="number">
                {decimal(row[name])}
              </td>
            ))}
            {ranked > 0 &&
              (isResolved(row) ? (
                <>
                  <td class="number">
                    <RankSet row={row} of={ranked} />
                  </td>
                  <td class="number">{rankText(row.all_ranks_low, row.all_ranks_high)}</td>
                  <td class="number">{integer(row.group)}</td>
                  <td class="number">{row.next_p === null ? "" : decimal(row.next_p, 4)}</td>
                </>
              ) : (
                <td colSpan={RESOLVED.length}>—</td>
              ))}
          </tr>
        ))}
      </Table>
      {data.notes.map((note) => (
        <p key={note} class="faint note">
          {note}
        </p>
      ))}
      <p class="faint note">
        Within one benchmark, by its test examples:{" "}
        <code>
          concur rank {sweep.id} --group NAME=BENCHMARK <span class="together">--resolve examples</span>
        </code>
      </p>
    </section>
  );
}
