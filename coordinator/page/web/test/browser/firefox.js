// SPDX-License-Identifier: Apache-2.0
// The page in Firefox: login, a sweep that runs, its matrix and ranks, hostile text, the form of a
// pool, a coordinator that is killed under the page, and axe-core's opinion. By another driver than
// Chromium: playwright-core 1.65 sends Firefox 153 a command that it does not know.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";
import { Stand } from "./stand.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TIMEOUT = 60_000;

const stand = await Stand.start({ withBrowser: false });
const complaints = [];
let browser;
let page;

// The page's policy forbids the driver's own way to wait, which makes functions of text.
const appears = (selector, text = "", isGone = false) =>
  page.evaluate(
    (wanted, part, gone, limit) =>
      new Promise((resolve, reject) => {
        const isThere = () =>
          [...document.querySelectorAll(wanted)].some((element) => element.textContent.includes(part));
        const observer = new MutationObserver(look);
        const timer = setTimeout(
          () => reject(new Error(`${wanted} "${part}"; the page shows: ${document.body.innerText}`)),
          limit,
        );
        function look() {
          if (isThere() !== gone) {
            observer.disconnect();
            clearTimeout(timer);
            resolve();
          }
        }
        observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        look();
      }),
    selector,
    text,
    isGone,
    TIMEOUT,
  );
const disappears = (selector, text) => appears(selector, text, true);

async function find(selector, text = "") {
  await appears(selector, text);
  const found = await page.evaluateHandle(
    (wanted, part) => [...document.querySelectorAll(wanted)].find((element) => element.textContent.includes(part)),
    selector,
    text,
  );
  return found.asElement();
}
// Not by where it is, which changes while new data come.
const click = async (selector, text) => (await find(selector, text)).evaluate((element) => element.click());
const go = async (hash, heading) => {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await appears("h1, h2", heading);
};

async function step(name, work) {
  const began = Date.now();
  await work();
  console.log(`ok ${name} (${Date.now() - began} ms)`);
}

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
  browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.CONCUR_FIREFOX,
    headless: true,
    userDataDir: `${stand.directory}/firefox`,
  });
  page = await browser.newPage();
  await page.setViewport({ width: 1400, height: 1000 });
  page.on("pageerror", (error) => complaints.push(`page error: ${error.message}`));

  await step("the link logs in, once", async () => {
    await page.goto(stand.page);
    await appears("h1", "Overview");
    assert.ok(!page.url().includes("login"), "the code stays in no address");
    assert.notEqual(stand.link(), stand.page);
  });

  const sweep = stand.submit(8, 2);
  const id = sweep.id ?? sweep.sweep.id;
  await step("a new sweep shows up by itself, and its failures by their cause", async () => {
    await click("main a", "reading");
    await appears(".lane", "roberta");
    await appears("h2", "Failures by cause");
    await checkAccess("sweep");
  });

  await step("the matrix and the ranks fill, and a pair shows its approaches", async () => {
    await go(`#/sweeps/${id}/matrix`, "Matrix");
    await click(".pair button");
    await appears(".scatter circle");
    await appears(".rank-set");
    await checkAccess("matrix");
  });

  await step("hostile text is text", async () => {
    await go(`#/sweeps/${id}/jobs?approach=broken&state=failed`, "Jobs");
    await click("main tbody tr a");
    await appears(".log", "window.hacked=1");
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.evaluate(() => document.querySelectorAll("main img").length), 0);
  });

  await step("an error of a pool stands at its field", async () => {
    await go("#/workers", "Pools");
    await click("button", "Add a pool");
    await (await find("#pool-name")).type("here");
    await click(".pool-form button", "Add");
    await appears("#pool-workers-max-problem", "expected 1 to 10000");
    await click(".pool-form button", "Close");
    await disappears("form", "Workers come from");
  });

  await step("a killed coordinator is told of, and its return", async () => {
    const long = stand.submit(8, 40); // runs until the end
    await go(`#/sweeps/${long.id ?? long.sweep.id}`, "reading");
    await appears("button", "Pause");
    stand.killCoordinator();
    await appears(".connection.lost", "does not answer");
    await disappears(".connection.lost");
  });

  await step("logging out ends the session", async () => {
    await click("button", "Log out");
    await appears("label", "Token");
    await page.reload();
    await appears("label", "Token");
  });
  assert.deepEqual(complaints, []);
}

try {
  await main();
} catch (error) {
  console.error(error);
  console.error(complaints.join("\n"));
  process.exitCode = 1;
} finally {
  try {
    await browser?.close();
  } finally {
    await stand.stop();
  }
}
