// SPDX-License-Identifier: Apache-2.0
// How long the views of a sweep of 100,000 jobs take to show, in milliseconds: the median of five.
import { Stand } from "./stand.js";

const ROUNDS = 5;
const SEEDS = 2777; // with 9 approaches and 4 benchmarks 99,972 jobs

const stand = await Stand.start();
try {
  const sweep = stand.submit(8, SEEDS);
  const id = sweep.id ?? sweep.sweep.id;
  const page = await stand.browser.newPage();
  await page.goto(stand.page);
  const views = [
    ["overview", "#/", "tbody tr"],
    ["sweep", `#/sweeps/${id}`, ".lane"],
    ["jobs", `#/sweeps/${id}/jobs`, "tbody tr"],
    ["jobs of one approach", `#/sweeps/${id}/jobs?approach=roberta`, "tbody tr td:nth-child(4):has-text('roberta')"],
    ["running jobs", `#/sweeps/${id}/jobs?state=running`, "tbody .state-running"],
    ["scores", `#/sweeps/${id}/scores`, ".pivot"],
    ["matrix", `#/sweeps/${id}/matrix`, ".matrix"],
  ];
  const times = new Map(views.map(([name]) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, hash, wanted] of views) {
      const began = Date.now();
      await page.evaluate((to) => (location.hash = to), hash);
      await page.locator(wanted).first().waitFor();
      times.get(name).push(Date.now() - began);
    }
  }
  for (const [name, all] of times) {
    console.log(`${name}: ${all.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]}`);
  }
  await page.reload();
  await page.locator(".matrix").waitFor();
  const paints = await page.evaluate(() => performance.getEntriesByType("paint").map(({ startTime }) => startTime));
  console.log(`first paint: ${Math.round(Math.min(...paints))}`);
} finally {
  await stand.stop();
}
