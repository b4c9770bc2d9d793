// SPDX-License-Identifier: Apache-2.0
// Every view on a sweep that runs, a coordinator that is killed under the page, hostile text, and
// axe-core's opinion.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
import { Stand } from "./stand.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TIMEOUT = 60_000;
const MISSING = "s404"; // no sweep has this id

const stand = await Stand.start();
const complaints = [];
let page;

async function open() {
  page = await stand.browser.newPage();
  page.setDefaultTimeout(TIMEOUT);
  page.on("pageerror", (error) => complaints.push(`page error: ${error.message}`));
  page.on("console", (message) => {
    // A coordinator that is away is not the script's mistake; the browser notes it all the same.
    const isExpected =
      /ERR_|net::|status of (401|403|503)/.test(message.text()) ||
      message.location().url.includes(MISSING) ||
      message.location().url.endsWith("/CreatePool"); // what the form has to show
    if (message.type() === "error" && !isExpected) {
      complaints.push(`console: ${message.text()}`);
    }
  });
}

async function step(name, work) {
  const began = Date.now();
  await work();
  console.log(`ok ${name} (${Date.now() - began} ms)`);
}

const see = (text) => page.getByText(text).first().waitFor();
const go = async (hash, heading) => {
  await page.evaluate((to) => (location.hash = to), hash);
  await page.getByRole("heading", { name: heading }).first().waitFor();
};

async function checkAccess(view) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${view}: ${id}: ${nodes[0].html} ${nodes[0].failureSummary}`),
    [],
  );
}

async function main() {
  await open();
  await step("without a session a token is asked for", async () => {
    await page.goto(stand.page.split("#")[0]);
    await page.getByLabel("Token").fill("guessed");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("alert").waitFor();
    await checkAccess("login");
  });

  await step("the link logs in, once", async () => {
    await page.goto("about:blank");
    await page.goto(stand.page);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.ok(!page.url().includes("login"), "the code stays in no address");
    assert.notEqual(stand.link(), stand.page);
    await see("No sweep yet");
  });

  const sweep = stand.submit(8, 2);
  const id = sweep.id ?? sweep.sweep?.id;
  await step("a new sweep shows up by itself", async () => {
    await page.getByRole("link", { name: "reading" }).waitFor();
    await see("Workers live");
    await checkAccess("overview");
    await page.getByRole("link", { name: "reading" }).click();
    await page.getByRole("heading", { name: "reading" }).waitFor();
  });

  await step("progress moves, and failures stand by their cause", async () => {
    await page.getByRole("link", { name: "roberta" }).waitFor();
    await page.getByRole("heading", { name: "Failures by cause" }).waitFor();
    await page.locator("details.group summary").first().click();
    await page.getByRole("link", { name: "log" }).first().waitFor();
    await checkAccess("sweep");
  });

  await step("a matrix fills while the sweep runs", async () => {
    await go(`#/sweeps/${id}/matrix`, "Matrix");
    await page.locator(".pair button").first().waitFor();
    await page.locator(".pair button").first().click();
    await page.locator(".scatter circle").first().waitFor();
    await checkAccess("matrix");
  });

  const long = stand.submit(8, 40); // runs until it is canceled
  await step("a killed coordinator is told of, and its return", async () => {
    await go(`#/sweeps/${long.id ?? long.sweep.id}`, "reading");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    stand.killCoordinator();
    await see("The coordinator does not answer");
    await see("Connected again.");
    await page.locator(".connection.lost").waitFor({ state: "detached" });
  });

  await step("events come as jobs change, and are held while somebody reads", async () => {
    await go(`#/sweeps/${long.id ?? long.sweep.id}/events`, "Events");
    const rows = page.getByRole("region", { name: "Events" }).locator("tbody tr");
    await rows.filter({ hasText: "succeeded" }).first().waitFor();
    await page.getByRole("button", { name: "Hold" }).click();
    await see("Held: later ones are not shown.");
    const held = await rows.allInnerTexts();
    await checkAccess("events");
    const ended = await page.locator(".counts").innerText();
    await page.waitForFunction(
      (before) => document.querySelector(".counts").innerText !== before,
      ended,
    );
    assert.deepEqual(await rows.allInnerTexts(), held);
    await page.getByRole("button", { name: "Follow" }).click();
    await page.waitForFunction(
      (before) => document.querySelectorAll("tbody tr").length > before,
      held.length,
    );
  });

  await step("an owner pauses, resumes and cancels", async () => {
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "No" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Yes" }).click();
    await page.getByText("canceled").first().waitFor();
    await page.getByRole("button", { name: "Pause" }).waitFor({ state: "detached" });
  });

  await step("one job is canceled and retried", async () => {
    const other = stand.submit(8, 20);
    const job = `${other.id ?? other.sweep.id}/600`;
    await go(`#/jobs/${job}`, /^s\d+ job/);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Yes" }).click();
    await page.locator(".heading .state-canceled").waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator(".heading .state-canceled").waitFor({ state: "detached" });
    stand.concur("sweep", "cancel", other.id ?? other.sweep.id);
  });

  await step("jobs are filtered by what the address says", async () => {
    stand.concur("sweep", "wait", id, "--timeout", "100");
    await go(`#/sweeps/${id}/jobs?approach=broken&state=failed`, "Jobs");
    await page.locator("tbody .state-failed").first().waitFor();
    assert.equal(await page.locator("tbody .state-succeeded").count(), 0);
    await checkAccess("jobs");
    // Text that is being typed stays when newer jobs come.
    await page.getByLabel("Benchmark").fill("triv");
    await page.waitForResponse((response) => response.url().includes("/ListJobs"));
    await page.waitForResponse((response) => response.url().includes("/ListJobs"));
    assert.equal(await page.getByLabel("Benchmark").inputValue(), "triv");
    await page.getByLabel("Benchmark").fill("");
  });

  await step("events are filtered by what the address says", async () => {
    await go(`#/sweeps/${id}/events`, "Events");
    await page.getByLabel("State").selectOption("failures");
    await see("Nothing has changed yet.");
    assert.match(page.url(), /events\?state=failures$/);
    await page.getByRole("button", { name: "Retry what failed" }).click();
    const rows = page.getByRole("region", { name: "Events" }).locator("tbody tr");
    await rows.filter({ hasText: "broken" }).locator(".state-failed").first().waitFor();
    assert.equal(await page.locator("tbody .state-running").count(), 0);
    await page.getByLabel("Text").fill("no job says this");
    await page.keyboard.press("Enter");
    await see("No event matches.");
    stand.concur("sweep", "wait", id, "--timeout", "100");
  });

  await step("hostile text is text", async () => {
    await go(`#/sweeps/${id}/jobs?approach=broken&state=failed`, "Jobs");
    await page.locator("tbody tr a").first().click();
    await page.getByRole("heading", { name: /^s\d+ job/ }).waitFor();
    await page.locator(".log").getByText("window.hacked=1").first().waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("main img").count(), 0);
    await checkAccess("job");
  });

  await step("scores are a table with every approach", async () => {
    await go(`#/sweeps/${id}/scores`, "Scores");
    await page.locator("tbody tr").nth(8).waitFor();
    await checkAccess("scores");
  });

  await step("ranks stand below the matrix, as the command resolves them", async () => {
    await go(`#/sweeps/${id}/matrix`, "Ranks");
    const rows = page.getByRole("region", { name: "Ranks" }).locator("tbody tr");
    await rows.filter({ hasText: "broken" }).first().waitFor();
    const printed = JSON.parse(stand.concur("rank", id, "-o", "json"));
    const section = page.locator("section").filter({ has: page.getByRole("heading", { name: "Ranks" }) }).last();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      section.getByRole("button", { name: "JSON" }).click(),
    ]);
    assert.deepEqual(JSON.parse(readFileSync(await download.path(), "utf8")), printed);
    assert.equal(await rows.count(), printed.rows.length);
    for (const [index, row] of (await rows.all()).entries()) {
      const { approach, rank, rank_low: low, rank_high: high } = printed.rows[index];
      const shown = low === null ? /—/ : new RegExp(`^${rank}\\s+${approach}\\s.*\\s${low}(–${high})?\\s`, "s");
      assert.match(await row.innerText(), shown);
    }
    assert.ok(printed.rows.some(({ rank_low: low }) => low > 1), "some ranks are resolved");
    await page.getByText(/Resolved by (benchmarks|\d+ groups? of benchmarks)/).first().waitFor();
    await see(`concur rank ${id} --group NAME=BENCHMARK --resolve examples`);
    await checkAccess("ranks");
  });

  await step("a saved view is one file that shows the same without scripts", async () => {
    const shown = await page.locator("main table").first().innerText();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save view" }).click(),
    ]);
    assert.match(download.suggestedFilename(), /^concur-.*\.html$/);
    const path = `${await download.path()}.html`; // a browser goes by the suffix
    await download.saveAs(path);
    const text = readFileSync(path, "utf8");
    assert.doesNotMatch(text, /<script|<link|<button type="button" class="quiet"/);
    const reader = await stand.browser.newPage({ javaScriptEnabled: false });
    const asked = [];
    reader.on("request", (request) => asked.push(request.url()));
    await reader.goto(pathToFileURL(path).href);
    assert.equal(await reader.locator("main table").first().innerText(), shown);
    assert.match(await reader.locator("main").innerText(), /Saved from http.*#\/sweeps\//);
    assert.equal(asked.length, 1, asked.join(" "));
    await reader.close();
  });

  await step("settings are lines and a table, and a range filters both", async () => {
    const tuned = stand.submitTuned();
    const name = tuned.id ?? tuned.sweep.id;
    stand.concur("sweep", "wait", name, "--timeout", "100");
    await go(`#/sweeps/${name}/settings`, "Settings");
    const rows = page.getByRole("region", { name: "Settings", exact: true }).locator("tbody tr");
    await see("12 of 12 settings");
    assert.equal(await rows.count(), 12);
    await page.getByText("Which parameters matter").click();
    const shares = page.getByRole("region", { name: "Importance of parameters" }).locator("tbody tr");
    assert.match(await shares.first().innerText(), /^rate\s+[0-9]+ %/, "the score grows with the rate");
    await checkAccess("settings");
    // They were 22 pixels high on a wide screen.
    const heights = await page
      .locator(".parallel text")
      .evaluateAll((texts) => texts.map((text) => text.getBoundingClientRect().height));
    assert.ok(heights.length > 0 && Math.max(...heights) <= 20, heights.join(" "));
    await page.mouse.move(0, 0); // off the rows, which mark their lines
    // By keyboard.
    await page.getByLabel("score from").focus();
    await page.keyboard.type("0.01");
    await page.keyboard.press("Enter");
    await page.getByText("12 of 12 settings").waitFor({ state: "detached" });
    const kept = await rows.count();
    assert.ok(kept > 0 && kept < 12, `${kept} rows`);
    assert.equal(await page.locator(".parallel path.within").count(), kept);
    assert.equal(await page.locator(".parallel path.out").count(), 12 - kept);
    for (const row of await rows.all()) {
      assert.ok(Number(await row.locator("td").nth(4).innerText()) >= 0.01);
    }
    assert.match(page.url(), /r\.score=0\.01\.\.$/);
    await page.reload();
    await page.locator(".parallel path.out").first().waitFor({ state: "attached" });
    assert.equal(await rows.count(), kept);
    await page.getByRole("combobox", { name: "mode" }).selectOption("exact");
    await page.waitForFunction((before) => document.querySelectorAll(".parallel path.within").length < before, kept);
    await page.getByRole("combobox", { name: "mode" }).selectOption("");
    // By drawing along an axis.
    await page.getByLabel("score from").fill("");
    await page.keyboard.press("Enter");
    await see("12 of 12 settings");
    const axis = await page.locator(".parallel .grip").last().boundingBox();
    await page.mouse.move(axis.x + axis.width / 2, axis.y + 2);
    await page.mouse.down();
    await page.mouse.move(axis.x + axis.width / 2, axis.y + axis.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.getByText("12 of 12 settings").waitFor({ state: "detached" });
    assert.match(page.url(), /r\.score=[0-9.]+\.\.[0-9.]+$/);
    await page.setViewportSize({ width: 360, height: 740 });
    const wide = await page.evaluate(() =>
      [...document.querySelectorAll("main *")]
        .filter((element) => !element.closest(".scroll") && element.getBoundingClientRect().right > 360)
        .map((element) => element.outerHTML.slice(0, 80)),
    );
    await page.setViewportSize({ width: 1400, height: 1000 });
    assert.deepEqual(wide, []);
  });

  // They were 30 pixels high.
  await step("letters of a job's chart are as large as the page's", async () => {
    const tuned = JSON.parse(stand.concur("sweep", "list", "-o", "json")).find(({ name }) => name === "tuned");
    await go(`#/jobs/${tuned.id}/0`, "Reported");
    const heights = await page
      .locator(".curve text")
      .evaluateAll((texts) => texts.map((text) => text.getBoundingClientRect().height));
    assert.ok(heights.length > 0 && Math.max(...heights) <= 20, heights.join(" "));
    // Its log said "(nothing yet)" when it had ended.
    await go(`#/jobs/${tuned.id}/1`, "Metrics");
    await page.locator(".log").getByText("(nothing)").waitFor();
  });

  await step("what is typed before the first frame is kept", async () => {
    const kept = await page.evaluate(async () => {
      const find = () => document.querySelector("input[list=sweeps]");
      const typed = new Promise((resolve) => {
        new MutationObserver((_, observer) => {
          const box = find();
          if (box) {
            observer.disconnect();
            box.value = "typed";
            box.dispatchEvent(new Event("input", { bubbles: true }));
            resolve();
          }
        }).observe(document.body, { childList: true, subtree: true });
      });
      location.hash = "#/compare";
      await typed;
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)));
      await frame();
      await frame();
      return find().value;
    });
    assert.equal(kept, "typed");
  });

  await step("two sweeps are compared", async () => {
    const fewer = stand.submit(5, 2);
    const other = fewer.id ?? fewer.sweep.id;
    stand.concur("sweep", "wait", other, "--timeout", "100");
    await go(`#/sweeps/${id}/matrix`, "Matrix");
    await page.getByRole("link", { name: "Compare with another sweep" }).click();
    await page.getByLabel("Second sweep").fill(other);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Differences" }).waitFor();
    assert.match(page.url(), new RegExp(`#/compare\\?first=${id}&second=${other}$`));
    await see(`Only ${id} has the approaches mnemonic-reader, qanet, roberta.`);
    const pairs = page.getByRole("region", { name: "Differences" }).locator("tbody tr");
    assert.equal(await pairs.count(), 6);
    for (const row of await pairs.all()) {
      const [difference, verdict, , first, second] = await row.locator("td").allInnerTexts();
      const numberOf = (text) => parseFloat(text.replace("−", "-"));
      const [a, b, c] = [first, second, difference].map(numberOf);
      assert.ok(Math.abs(b - a - c) < 0.011, `${first}, ${second}: ${difference}`);
      assert.match(verdict, /^(overlap|apart)$/);
    }
    const matrix = page.getByRole("region", { name: `Matrix of ${other}` });
    await matrix.getByRole("button").first().click();
    assert.equal(await page.locator(".pair.chosen").count(), 2);
    assert.equal(await page.locator("tr.chosen").count(), 1);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const csv = readFileSync(await download.path(), "utf8").trim().split("\r\n");
    assert.match(csv[0], new RegExp(`^a,b,${id}_value,.*${other}_n,difference,intervals$`));
    assert.equal(csv.length, 7);
    await checkAccess("compare");
    await page.reload();
    await page.getByRole("heading", { name: "Differences" }).waitFor();
  });

  await step("a comparison says what is wrong", async () => {
    await go(`#/compare?first=${id}&second=${id}`, "Compare");
    await see(`Both are ${id}`);
    await go(`#/compare?first=${id}&second=${MISSING}`, "Compare");
    await page.getByRole("alert").filter({ hasText: MISSING }).waitFor();
  });

  await step("workers are listed", async () => {
    await go("#/workers", "Workers");
    await page.getByRole("cell", { name: "local-2" }).waitFor();
    await page.getByRole("heading", { name: "Over time" }).waitFor();
    await page.getByRole("img", { name: /^Workers live: 2 at most/ }).waitFor();
    await checkAccess("workers");
  });

  await step("pools and quarantines are shown over time", async () => {
    const at = (minutes) => new Date(Date.now() + 60_000 * minutes).toISOString();
    const zeros = [0, 0];
    const history = {
      times: [at(-2), at(-1)],
      jobs_ready: ["7", "3"],
      jobs_running: ["0", "4"],
      workers_live: [1, 2],
      workers_draining: zeros,
      workers_quarantined: [0, 1],
      pools: [
        { pool: "cpu", wanted: [5, 3], pending: [2, 1], starting: [1, 0], working: [1, 4], draining: zeros },
      ],
      quarantines: [
        { worker: "node-7", begin_time: at(-1), end_time: at(9), reason: "fails <b>what</b> succeeds on node-8" },
        { worker: "node-9", end_time: at(-5), reason: "the same" },
      ],
    };
    await page.route(/GetFleetHistory/, (route) => route.fulfill({ json: history }));
    await go("#/", "Overview");
    await go("#/workers", "Quarantines");
    const pool = page.getByRole("region", { name: "Pools over time" });
    await pool.getByRole("img", { name: "cpu, waiting: 3 at most" }).waitFor();
    await pool.getByRole("img", { name: "cpu, working: 4 at most" }).waitFor();
    const rows = page.getByRole("region", { name: "Quarantines" }).locator("tbody tr");
    assert.match(await rows.nth(0).innerText(), /node-7.*now.*fails <b>what<\/b>/s);
    assert.match(await rows.nth(1).innerText(), /before the coordinator's start/);
    await checkAccess("pools over time");
    await page.unroute(/GetFleetHistory/);
  });

  await step("an admin adds, pauses and removes a pool, and errors stand at their fields", async () => {
    await go("#/", "Overview");
    await go("#/workers", "Pools");
    await page.getByRole("button", { name: "Add a pool" }).click();
    const form = page.getByRole("form", { name: "Add a pool" });
    const press = (name) => form.getByRole("button", { name, exact: true }).click();
    const refused = async (label, text) => {
      await press("Add");
      await form.getByRole("alert").filter({ hasText: text }).waitFor();
      assert.equal(await form.getByRole("alert").count(), 1);
      assert.equal(await form.getByLabel(label).getAttribute("aria-invalid"), "true");
    };
    await form.getByLabel("Name", { exact: true }).fill("here");
    await refused("Workers at most", "expected 1 to 10000, got 0");
    await checkAccess("a pool's form");
    await form.getByLabel("Workers at most").fill("2");
    await refused("CPUs of each", "expected some CPU");
    await form.getByLabel("CPUs of each").fill("0.5");
    await form.getByText("Times, labels, programs").click();
    await form.getByLabel("Time limit, minutes").fill("0.5");
    await form.getByText("Times, labels, programs").click();
    await refused("Time limit, minutes", "expected");
    assert.ok(await form.getByLabel("Time limit, minutes").isVisible());
    await form.getByLabel("Time limit, minutes").fill("90");
    await form.getByLabel("Workers come from").selectOption("Kubernetes");
    await form.getByLabel(/as JSON/).fill('{"tolerations": [{"effect": "Sometimes"}]}');
    await refused(/as JSON/, "tolerations: 1: ");
    await form.getByLabel("Workers come from").selectOption("this machine");
    await press("Check");
    await form.getByRole("status").filter({ hasText: /./ }).waitFor();
    assert.deepEqual(JSON.parse(stand.concur("pool", "list", "-o", "json")), []);
    await press("Add");
    await form.waitFor({ state: "detached" });
    const row = page.getByRole("region", { name: "Pools", exact: true }).getByRole("row", { name: /^here / });
    await row.getByText("active").waitFor();
    const { spec } = JSON.parse(stand.concur("pool", "get", "here", "-o", "json"));
    assert.equal(spec.workers_max, 2);
    assert.equal(Number.parseFloat(spec.time_limit), 5400);
    await row.getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused: by ").waitFor();
    await row.getByRole("button", { name: "Remove", exact: true }).click();
    await row.getByRole("button", { name: "Yes" }).click();
    await row.waitFor({ state: "detached" });
    await see("No pools: workers are started by hand.");
  });

  await step("a sweep's workers are shown over time", async () => {
    const isList = (request) => request.url().includes("ListJobs");
    const failed = page.waitForEvent("requestfailed", isList);
    await page.route(/ListJobs/, (route) => route.abort(), { times: 1 });
    await go(`#/sweeps/${id}/workers`, "Workers over time"); // it asks again
    await failed;
    const rows = page.getByRole("region", { name: "Workers over time" }).locator("tbody tr");
    assert.equal(await rows.count(), 2);
    const counts = await rows.locator("td:nth-child(3)").allInnerTexts();
    const listed = await page.locator(".counts b").allInnerTexts();
    const sum = (texts) => texts.reduce((total, text) => total + Number(text), 0);
    assert.equal(sum(counts), sum(listed), "every job of the first sweep ran on one of them");
    await page.getByRole("img", { name: /^Jobs at a time: (?!0(\.0)? )/ }).waitFor();
    await checkAccess("workers over time");
    await rows.first().getByRole("link").click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    assert.match(page.url(), /jobs\?worker=local-1$/);
  });

  await step("an admin reads who did what, and others see no such link", async () => {
    await page.getByRole("link", { name: "Audit" }).click();
    const rows = page.getByRole("region", { name: "Audit" }).locator("tbody tr");
    await rows.filter({ hasText: "CancelSweep" }).first().waitFor();
    await checkAccess("audit");
    const heads = page.getByRole("region", { name: "Audit" }).locator("thead");
    assert.match(await heads.innerText(), /^time\s+user\s+method\s+target/, "what a narrow screen shows");
    await page.getByLabel("Method").fill("PauseSweep");
    await page.keyboard.press("Enter");
    await rows.filter({ hasText: "CancelSweep" }).first().waitFor({ state: "detached" });
    await rows.filter({ hasText: "PauseSweep" }).first().waitFor();
    assert.match(page.url(), /#\/audit\?method=PauseSweep$/);
    await page.getByLabel("Calls").selectOption("strangers");
    await page.getByLabel("Method").fill("");
    await page.keyboard.press("Enter");
    await rows.filter({ hasText: "LogIn" }).first().waitFor(); // the guessed token
    const asViewer = await stand.browser.newPage();
    await asViewer.route(/\/api\/v1\/session/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), role: "viewer" } });
    });
    await asViewer.goto(`${stand.page.split("#")[0]}#/audit`);
    await asViewer.getByText("The audit log is for admins.").waitFor();
    assert.equal(await asViewer.getByRole("link", { name: "Audit" }).count(), 0);
    await asViewer.goto(`${stand.page.split("#")[0]}#/workers`);
    await asViewer.getByRole("cell", { name: "local-2" }).waitFor();
    assert.equal(await asViewer.getByRole("button", { name: "Add a pool" }).count(), 0);
    await asViewer.close();
  });

  await step("the keyboard reaches the content", async () => {
    await page.keyboard.press("Tab");
    await page.getByRole("link", { name: "Skip to the content" }).focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "content");
  });

  await step("nothing is wider than a narrow screen", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    for (const [hash, heading] of [
      ["#/", "Overview"],
      [`#/sweeps/${id}`, "reading"],
      [`#/sweeps/${id}/jobs`, "Jobs"],
      [`#/sweeps/${id}/events`, "Events"],
      [`#/sweeps/${id}/scores`, "Scores"],
      [`#/sweeps/${id}/matrix`, "Matrix"],
      [`#/sweeps/${id}/workers`, "Workers over time"],
      [`#/compare?first=${id}&second=${long.id ?? long.sweep.id}`, "Differences"],
      ["#/workers", "Workers"],
      ["#/audit", "Audit"],
    ]) {
      await go(hash, heading);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `${hash}: ${width} px`);
    }
  });

  await step("logging out ends the session", async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.reload();
    await page.getByLabel("Token").waitFor();
  });
  assert.deepEqual(complaints, []);
}

try {
  await main();
} catch (error) {
  console.error(error);
  console.error("the page shows:\n" + (await page?.locator("body").innerText().catch(() => "")));
  console.error(complaints.join("\n"));
  process.exitCode = 1;
} finally {
  await stand.stop();
}
