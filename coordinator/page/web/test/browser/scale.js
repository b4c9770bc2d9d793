// SPDX-License-Identifier: Apache-2.0
// The page on a sweep of 99,840 jobs in 3,840 cells that runs, and on one whose jobs have all ended:
// milliseconds to first paint, of a filter, of a frame while it scrolls, from a change to the
// screen, beside what they may be. What has no target is shown for comparison.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Stand } from "./stand.js";

const APPROACHES = 320;
const BENCHMARKS = 12;
const SEEDS = 26;
const ROUNDS = 5;
const CHANGES = 20;
const FRAMES = 60;
const TARGETS = { paint: 1000, filter: 100, frame: 100, change: 500 };

const names = (prefix, count) => Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(3, "0")}`);
const approaches = names("reader-", APPROACHES);
const benchmarks = names("set-", BENCHMARKS);

// Jobs of a quarter of a second, of which few will have run. None is like another, whose result it
// would take.
function study(directory) {
  benchmarks.forEach((name) => writeFileSync(join(directory, `${name}.txt`), `${name}\n`));
  const path = join(directory, "large.yaml");
  const script = `sleep 0.25; printf '\\173"accuracy": 0.%02d\\175' $(($1 % 90 + 5)) > "$0"`;
  writeFileSync(
    path,
    `apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: large}\nspec:\n  approaches:\n` +
      approaches
        .map(
          (name) =>
            `    - metadata: {name: ${name}}\n      spec:\n        version: "1"\n` +
            `        predict: {command: [sh, -c, ${JSON.stringify(script)}, "{metrics}", "{seed}", "{test}", ${name}]}\n`,
        )
        .join("") +
      `  benchmarks:\n` +
      benchmarks
        .map((name) => `    - metadata: {name: ${name}}\n      spec: {test: ${name}.txt, format: file, metric: accuracy}\n`)
        .join("") +
      `  seeds: {from: 1, to: ${SEEDS}}\n  select: default\n`,
  );
  return path;
}

// A leaderboard with a score for each cell.
function leaderboard(directory) {
  const path = join(directory, "scores.csv");
  const score = (a, b) => (20 + (a * 0.2 + ((a * 7919 + b * 104729) % 97) * (0.1 + 0.05 * b)) % 75).toFixed(2);
  const rows = approaches.map((name, a) => [name, ...benchmarks.map((_, b) => score(a, b))].join(","));
  writeFileSync(path, `${[["model", ...benchmarks].join(","), ...rows].join("\n")}\n`);
  return path;
}

const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
let missed = 0;
function report(what, all, target) {
  const worst = Math.max(...all);
  const isMissed = target !== undefined && median(all) > target;
  missed += isMissed ? 1 : 0;
  const limit = target === undefined ? "" : `, at most ${target}${isMissed ? ": MISSED" : ""}`;
  console.log(`${what}: ${Math.round(median(all))} (worst ${Math.round(worst)} of ${all.length}${limit})`);
}

// In the page: milliseconds from when the address changes, or a call is sent, until what is wanted
// is there and painted. Wanted are a heading, elements, and a text that all of them have.
const measured = (page, what) =>
  page.evaluate(
    ({ hash, method, body, heading = "", selector, text = "", limit = 20_000 }) =>
      new Promise((resolve, reject) => {
        setTimeout(() => reject(new Error(`${hash} ${selector} ${text}: ${document.body.innerText.slice(0, 2000)}`)), limit);
        const isThere = () => {
          const found = [...document.querySelectorAll(selector)];
          const headings = [...document.querySelectorAll("h1, h2")];
          return (
            found.length > 0 &&
            found.every((element) => element.textContent.includes(text)) &&
            headings.some((element) => element.textContent.startsWith(heading))
          );
        };
        const began = performance.now();
        const observer = new MutationObserver(() => {
          if (isThere()) {
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
          }
        });
        observer.observe(document.body, { subtree: true, childList: true, characterData: true });
        if (hash) {
          location.hash = hash;
        } else {
          fetch(`/api/v1/${method}`, {
            method: "POST",
            headers: { "Content-Type": "application/json", "X-Concur-CSRF": localStorage.getItem("concur-csrf") },
            body: JSON.stringify(body),
          });
        }
      }),
    what,
  );

async function measureViews(page, running, ended) {
  const views = [
    ["overview", "#/", "Overview", "main tbody tr"],
    ["running sweep", `#/sweeps/${running}`, "By approach", ".lane"],
    ["running sweep, jobs", `#/sweeps/${running}/jobs`, "Jobs", "main tbody tr"],
    ["running sweep, scores", `#/sweeps/${running}/scores`, "Scores", ".pivot tbody tr"],
    ["ended sweep, scores", `#/sweeps/${ended}/scores`, "Scores", ".pivot tbody tr"],
    ["ended sweep, matrix", `#/sweeps/${ended}/matrix`, "Matrix", ".matrix tbody tr"],
    ["ended sweep, ranks", `#/sweeps/${ended}/matrix`, "Ranks", ".rank-set"],
  ];
  for (const [name, hash, heading, selector] of views) {
    const times = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await page.evaluate(() => (location.hash = "#/audit"));
      await page.getByRole("heading", { name: "Audit" }).waitFor();
      times.push(await measured(page, { hash, heading, selector }));
    }
    report(`${name}, until it is shown`, times);
  }
}

// Each view is loaded anew.
async function measurePaint(page, hashes) {
  const times = [];
  for (const hash of hashes) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.reload();
    await page.locator("main h1").first().waitFor();
    times.push(
      await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime),
    );
  }
  report("first paint", times, TARGETS.paint);
}

async function measureFilters(page, running) {
  const jobs = `#/sweeps/${running}/jobs`;
  const filters = [
    ["approach", (round) => [`approach=${approaches[APPROACHES - 1 - round]}`, 4, approaches[APPROACHES - 1 - round]]],
    ["benchmark", (round) => [`benchmark=${benchmarks[round]}`, 6, benchmarks[round]]],
    ["seed", (round) => [`seed=${round + 3}`, 8, `${round + 3}`]],
    ["state", (round) => (round % 2 === 0 ? ["state=running", 3, "running"] : ["state=ready", 3, "ready"])],
  ];
  for (const [name, filterOf] of filters) {
    const times = [];
    await page.evaluate((to) => (location.hash = to), jobs);
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    for (let round = 0; round < ROUNDS; round += 1) {
      const [query, column, text] = filterOf(round);
      const selector = `main tbody tr td:nth-child(${column})`;
      times.push(await measured(page, { hash: `${jobs}?${query}`, selector, text }));
    }
    report(`jobs filtered by ${name}`, times, TARGETS.filter);
  }
}

async function measureScrolling(page, views) {
  for (const [name, hash, selector] of views) {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.locator(selector).first().waitFor();
    const frames = await page.evaluate(async (count) => {
      const times = [];
      const step = Math.max(20, (document.documentElement.scrollHeight - innerHeight) / count);
      for (let i = 0; i < count; i += 1) {
        const began = performance.now();
        scrollBy(0, step);
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - began);
      }
      return times;
    }, FRAMES);
    report(`a frame while ${name} scrolls`, frames, TARGETS.frame);
  }
}

// From the request that cancels a job to the count on the screen.
async function measureChanges(page, running) {
  await page.evaluate((to) => (location.hash = to), `#/sweeps/${running}/events`);
  await page.locator(".counts").waitFor();
  const times = [];
  for (let change = 1; change <= CHANGES; change += 1) {
    times.push(
      await measured(page, {
        method: "CancelJob",
        body: { job: `${running}/${APPROACHES * BENCHMARKS * SEEDS - change}` },
        selector: ".counts li:has(.state-canceled) b",
        text: `${change}`,
      }),
    );
  }
  report("a change on the screen", times, TARGETS.change);
}

const stand = await Stand.start();
try {
  const idOf = (answer) => answer.id ?? answer.sweep.id;
  const bundle = join(stand.directory, "bundle");
  stand.concur("bundle", "convert", "leaderboard", leaderboard(stand.directory), "--out", bundle);
  const ended = idOf(JSON.parse(stand.concur("bundle", "load", bundle, "-o", "json")));
  const running = idOf(JSON.parse(stand.concur("sweep", "submit", study(stand.directory), "-o", "json")));
  const page = await stand.browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(stand.page);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await measurePaint(page, ["#/", `#/sweeps/${running}`, `#/sweeps/${running}/jobs`, `#/sweeps/${ended}/scores`, `#/sweeps/${ended}/matrix`]);
  await measureFilters(page, running);
  await measureScrolling(page, [
    ["the list of 320 approaches", `#/sweeps/${running}`, ".lane"],
    ["a page of jobs", `#/sweeps/${running}/jobs`, "main tbody tr"],
    ["the table of 3,840 scores", `#/sweeps/${ended}/scores`, ".pivot tbody tr"],
    ["the matrix with 320 ranks", `#/sweeps/${ended}/matrix`, ".rank-set"],
  ]);
  await measureChanges(page, running);
  await measureViews(page, running, ended);
  process.exitCode = missed > 0 ? 1 : 0;
} finally {
  await stand.stop();
}
