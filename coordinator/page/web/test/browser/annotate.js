// SPDX-License-Identifier: Apache-2.0
// Annotators and a reviewer, from a system that a sweep trained to a benchmark that a sweep uses:
// onboarding, attempts that the systems win and lose, a server that is killed, hostile text,
// validation, review; and a data set that is answered.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { BIN, HOSTILE, Stand } from "./stand.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PASSAGES = [
  { id: "rhine", title: "Rivers", text: "The Rhine flows from the Alps to the North Sea, past Cologne." },
  { id: "danube", title: "Rivers", text: "The Danube leaves the Alps aside; it passes Vienna and Budapest." },
  { id: "emoji", title: "Towns", text: "😀 Zürich lies near the Alps, on the river Limmat." },
  { id: "hostile", title: HOSTILE, text: `${HOSTILE} is no tag; the Alps are mountains, and Bern is a town.` },
];
const KNOWN = {
  context: "Ada lives in Bern.",
  qas: [{ qid: "1", question: "Who lives in Bern?", answers: ["Ada"] }],
};
// A system that gives one answer to everything. Braces stand for placeholders, so that printf writes them.
const ANSWERER = `apiVersion: concur/v1
kind: Approach
metadata: {name: answerer}
spec:
  version: "1"
  train: {command: [sh, -c, 'cat "$0" > "$1"', "{train}", "{model}"]}
  predict: {command: [sh, -c, 'printf "{{\\"accuracy\\": 50}}" > "$1"', "{model}", "{metrics}"]}
  serve:
    command: [sh, -c, 'while read -r line; do id=$$\{{line#*:}}; id=$$\{{id%%,*}}; printf "{{\\"id\\":%s,\\"answer\\":\\"%s\\"}}\\n" "$id" "$(cat "$0")"; done', "{model}"]
`;
const STUDY = `apiVersion: concur/v1
kind: Sweep
metadata: {name: answers}
spec:
  approaches: [answerer.yaml]
  benchmarks: [{metadata: {name: one}, spec: {train: alps.txt, test: alps.txt, format: file, metric: accuracy}}]
  select: default
`;
const stand = await Stand.start();
const complaints = [];
const path = (name) => join(stand.directory, name);
let server;

async function step(name, work) {
  const began = Date.now();
  await work();
  console.log(`ok ${name} (${Date.now() - began} ms)`);
}

// Two systems of one approach: what a sweep trained, and a file.
const serve = (listen, ...more) =>
  serveRoom(
    "room",
    listen,
    ...["--system", "s1/0", "--system", path("nowhere.txt"), "--approach", path("answerer.yaml"), ...more],
  );

// Starts `concur annotate`; what it prints first.
async function serveRoom(room, listen, ...more) {
  server = spawn(
    join(BIN, "concur"),
    ["--server", stand.address, "annotate", "--dir", path(room), "--listen", listen, "-o", "json", ...more],
    {
      env: { ...stand.environment, CONCUR_TOKEN_FILE: path("data/token") },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const text = await new Promise((resolve, reject) => {
    let text = "";
    server.stdout.on("data", (piece) => {
      text += piece;
      try {
        resolve(JSON.parse(text));
      } catch {
        // More comes.
      }
    });
    server.on("exit", (code) => reject(new Error(`concur annotate ended with ${code}`)));
  });
  return text;
}

async function kill(signal) {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill(signal);
  await ended;
}

async function open(browser) {
  const page = await browser.newPage();
  page.setDefaultTimeout(30_000);
  page.on("pageerror", (error) => complaints.push(`page error: ${error.message}`));
  page.on("console", (message) => {
    // Missing sessions, tasks that there are none of or that are refused, and a server that is away
    // are no mistakes.
    if (message.type() === "error" && !/ERR_|net::|status of (401|403|404|409|503)/.test(message.text())) {
      complaints.push(`console: ${message.text()}`);
    }
  });
  return page;
}

async function checkAccess(page, view) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run());
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${view}: ${id}: ${nodes[0].html} ${nodes[0].failureSummary}`),
    [],
  );
}

async function takePictures(page, view) {
  mkdirSync(process.env.CONCUR_PICTURES, { recursive: true });
  for (const width of [1400, 500]) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${view} is ${wide} pixels wide, not ${width}`);
    await page.screenshot({ path: join(process.env.CONCUR_PICTURES, `annotation-${view}-${width}.png`) });
  }
}

const passageOf = (page) => page.getByLabel(/^Passage/).last();
const textOf = (page) => passageOf(page).inputValue();
const see = (page, text) => page.getByText(text).first().waitFor();

// Selects `answer` in the passage as someone without a mouse does.
async function mark(page, answer) {
  const box = passageOf(page);
  await box.focus();
  await page.keyboard.press("Control+Home");
  const text = await textOf(page);
  const steps = [...text.slice(0, text.indexOf(answer))].length;
  for (let i = 0; i < steps; ++i) {
    await page.keyboard.press("ArrowRight");
  }
  for (let i = 0; i < [...answer].length; ++i) {
    await page.keyboard.press("Shift+ArrowRight");
  }
  await page.getByTestId("answer").filter({ hasText: answer }).waitFor();
}

async function ask(page, question, answer) {
  await page.getByLabel("Question").fill(question);
  await mark(page, answer);
  await page.getByRole("button", { name: "Submit" }).click();
}

// An answer that the system does not give, in any of the passages.
const otherAnswer = (text) => ["Cologne", "Vienna", "Limmat", "Bern"].find((word) => text.includes(word));

async function onboard(page) {
  await see(page, "Who lives in Bern?");
  await mark(page, "Bern");
  await page.getByRole("button", { name: "Save the answer" }).click();
  await see(page, "start again");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Save the answer" }).waitFor();
  await mark(page, "Ada");
  await page.getByRole("button", { name: "Save the answer" }).click();
  await see(page, "The answer is “Ada”");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Question").waitFor();
}

async function main() {
  writeFileSync(path("answerer.yaml"), ANSWERER);
  writeFileSync(path("alps.txt"), "the Alps");
  writeFileSync(path("nowhere.txt"), "nowhere");
  writeFileSync(path("answers.yaml"), STUDY);
  writeFileSync(path("passages.jsonl"), PASSAGES.map((one) => `${JSON.stringify(one)}\n`).join(""));
  writeFileSync(path("known.jsonl"), `${JSON.stringify(KNOWN)}\n`);
  stand.concur("sweep", "submit", path("answers.yaml"));
  stand.concur("sweep", "wait", "s1");

  let started;
  await step("a system that a sweep trained is served", async () => {
    started = await serve(
      "127.0.0.1:0",
      ...["--passages", path("passages.jsonl"), "--onboarding", path("known.jsonl"), "--validators", "1"],
      ...["--annotator", "ada", "--annotator", "bob", "--annotator", "carl", "--reviewer", "rita"],
    );
    assert.deepEqual(started.links.map(({ annotator }) => annotator), ["ada", "bob", "carl", "rita"]);
  });
  const [adaLink, bobLink, carlLink, ritaLink] = started.links.map(({ link }) => link);
  const listen = new URL(started.page).host;
  const ada = await open(stand.browser);
  const bob = await open(await stand.openBrowser());

  await step("without a link nothing is seen, and a link works once", async () => {
    await bob.goto(started.page);
    await see(bob, "You need a login link");
    await checkAccess(bob, "no session");
    await ada.goto(adaLink);
    await see(ada, "First some questions");
    assert.ok(!ada.url().includes("login"), "the code stays in no address");
    await bob.goto("about:blank");
    await bob.goto(adaLink);
    await see(bob, "this link was used");
    await bob.goto("about:blank");
    await bob.goto(bobLink);
  });

  await step("onboarding is repeated until it is good enough", async () => {
    await checkAccess(ada, "onboarding");
    await onboard(ada);
    await onboard(bob);
  });

  await step("two annotators have two passages", async () => {
    assert.notEqual(await textOf(ada), await textOf(bob));
    await checkAccess(ada, "writing");
  });

  await step("the system wins, and the person tries again", async () => {
    await ask(ada, "Which mountains?", "Alps");
    await see(ada, "The system wins");
    await see(ada, "The systems answered “the Alps”, word overlap 100 %; “nowhere”, word overlap 0 %.");
    await ask(ada, HOSTILE, otherAnswer(await textOf(ada)));
    await see(ada, "You win");
    assert.equal(await ada.getByLabel("Question").inputValue(), "");
  });

  await step("what is typed survives the browser and the server", async () => {
    const answer = otherAnswer(await textOf(bob));
    await bob.getByLabel("Question").fill("Which town is it?");
    await mark(bob, answer);
    await bob.reload();
    await see(bob, answer);
    assert.equal(await bob.getByLabel("Question").inputValue(), "Which town is it?");
    await kill("SIGKILL");
    await bob.getByRole("button", { name: "Submit" }).click();
    await see(bob, "The server does not answer");
    await serve(listen);
    await bob.reload();
    await bob.getByRole("button", { name: "Submit" }).click();
    await see(bob, "You win");
    const { attempts } = JSON.parse(stand.concur("annotate", "status", path("room"), "-o", "json"));
    assert.equal(attempts, 3);
  });

  await step("more questions to other passages", async () => {
    for (let i = 0; i < 2; ++i) {
      const before = await textOf(ada);
      await ada.getByRole("button", { name: "Another passage" }).click();
      await ada.waitForFunction((old) => document.querySelector("textarea").value !== old, before);
      await ask(ada, `Which place is number ${i}?`, otherAnswer(await textOf(ada)));
      await see(ada, "You win");
    }
  });

  await step("what is typed is there again after another view", async () => {
    const [passage, answer] = [await textOf(bob), otherAnswer(await textOf(bob))];
    await bob.getByLabel("Question").fill("Half a");
    await mark(bob, answer);
    await bob.getByRole("button", { name: "Validate" }).click();
    await bob.getByRole("button", { name: "Save the answer" }).waitFor();
    await bob.getByRole("button", { name: "Write" }).click();
    await bob.getByLabel("Question").waitFor();
    assert.equal(await textOf(bob), passage);
    assert.equal(await bob.getByLabel("Question").inputValue(), "Half a");
    await bob.getByTestId("answer").filter({ hasText: answer }).waitFor();
  });

  await step("others validate, and hostile text is text", async () => {
    // Each takes what the other one has left.
    await bob.getByRole("button", { name: "Validate" }).click();
    await see(bob, HOSTILE);
    await checkAccess(bob, "validating");
    for (let i = 0; i < 2; ++i) {
      await mark(bob, otherAnswer(await textOf(bob)));
      await bob.getByRole("button", { name: "Save the answer" }).click();
      await see(bob, "The author’s answer is");
      const before = await bob.locator(".asked").textContent();
      await bob.getByRole("button", { name: "Next" }).click();
      await bob.waitForFunction((old) => document.querySelector(".asked")?.textContent !== old, before);
    }
    await see(bob, "no question of others");
    await ada.getByRole("button", { name: "Validate" }).click();
    await see(ada, "Which town is it?");
    await mark(ada, otherAnswer(await textOf(ada)));
    await ada.getByRole("button", { name: "Save the answer" }).click();
    await see(ada, "The author’s answer is");
    for (const page of [ada, bob]) {
      assert.equal(await page.evaluate(() => window.hacked), undefined);
    }
  });

  await step("a reviewer judges questions, and ends the work of an author", async () => {
    const carl = await open(await stand.openBrowser());
    await carl.goto(carlLink);
    await onboard(carl);
    assert.equal(await carl.getByRole("button", { name: "Review" }).count(), 0);
    await ask(carl, "Bad?", otherAnswer(await textOf(carl)));
    await see(carl, "You win");
    const rita = await open(await stand.openBrowser());
    rita.on("dialog", (dialog) => dialog.accept());
    await rita.goto(ritaLink);
    await rita.getByRole("button", { name: "Review" }).click();
    await see(rita, "reviewed, 0 accepted");
    await checkAccess(rita, "reviewing");
    await takePictures(rita, "review");
    const seen = new Set();
    for (;;) {
      await rita.locator(".asked, p[role=status]").first().waitFor();
      const asked = rita.locator(".asked");
      if ((await asked.count()) === 0) {
        break;
      }
      const question = await asked.textContent();
      seen.add(question);
      const verdict = question === "Bad?" ? "Reject all of this author" : "Accept";
      await rita.getByRole("button", { name: verdict }).click();
      await rita.waitForFunction((old) => document.querySelector(".asked")?.textContent !== old, question);
    }
    await see(rita, "no question is to be reviewed now");
    assert.ok(seen.has(HOSTILE) && seen.has("Bad?"), [...seen].join());
    assert.equal(await rita.evaluate(() => window.hacked), undefined);
    await carl.getByRole("button", { name: "Another passage" }).click();
    await see(carl, "a reviewer has ended your work here");
    const { rejected } = JSON.parse(stand.concur("annotate", "status", path("room"), "-o", "json"));
    assert.equal(rejected, 1);
  });

  await step("progress is shown, on a phone and in the dark", async () => {
    await ada.setViewportSize({ width: 360, height: 700 });
    await ada.emulateMedia({ colorScheme: "dark" });
    await ada.getByRole("button", { name: "Progress" }).click();
    await see(ada, "Your work");
    await checkAccess(ada, "progress");
    await ada.getByRole("button", { name: "Write" }).click();
    await ada.getByLabel("Question").waitFor();
    await checkAccess(ada, "writing in the dark");
    const wide = await ada.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} pixels wide`);
  });

  await step("a sweep uses what came out", async () => {
    await kill("SIGINT");
    const exported = JSON.parse(
      stand.concur("annotate", "export", path("room"), "--out", path("hard"), "--name", "hard", "-o", "json"),
    );
    assert.deepEqual(exported.splits.map(({ questions }) => questions), [1, 1, 1]);
    for (const { path: file } of exported.splits) {
      stand.concur("data", "validate", file);
    }
    const configs = join(process.env.CONCUR_CONFIGS, "approaches");
    writeFileSync(
      path("hard.yaml"),
      `apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: hard-sweep}\nspec:\n` +
        `  approaches: [${join(configs, "sliding-window.yaml")}, ${join(configs, "random-span.yaml")}]\n` +
        `  benchmarks: [hard/benchmark.yaml]\n  select: default\n`,
    );
    stand.concur("sweep", "submit", path("hard.yaml"));
    stand.concur("sweep", "wait", "hard-sweep");
    const { state } = JSON.parse(stand.concur("sweep", "get", "hard-sweep", "-o", "json"));
    assert.equal(state, "succeeded");
  });

  await step("people answer an existing data set, and their scores come out", async () => {
    const asked = { ...KNOWN, qas: [...KNOWN.qas, { qid: "2", question: HOSTILE, answers: ["Bern"] }] };
    writeFileSync(path("existing.jsonl"), `${JSON.stringify(asked)}\n`);
    const { links } = await serveRoom(
      "people",
      "127.0.0.1:0",
      ...["--system", "none", "--answering", "--passages", path("existing.jsonl"), "--annotator", "dora"],
    );
    const dora = await open(await stand.openBrowser());
    await dora.goto(links[0].link);
    await see(dora, "Question 1 of 2.");
    await checkAccess(dora, "answering");
    await takePictures(dora, "answer");
    assert.equal(await dora.getByRole("button", { name: "Validate" }).count(), 0);
    await mark(dora, "Ada");
    await dora.getByRole("button", { name: "Save the answer" }).click();
    await see(dora, "Question 2 of 2.");
    await see(dora, HOSTILE);
    await dora.getByRole("button", { name: "It has no answer here" }).click();
    await see(dora, "you have answered all questions");
    assert.equal(await dora.evaluate(() => window.hacked), undefined);
    await kill("SIGINT");
    const people = JSON.parse(stand.concur("annotate", "export", path("people"), "--out", path("scores"), "-o", "json"));
    assert.deepEqual(people, [{ annotator: "dora", answers: 2, exact_match: 50, f1: 50 }]);
    assert.match(readFileSync(path("scores/human-f1.csv"), "utf8"), /^system,annotated\nhuman-dora,50.00\n$/);
  });
  assert.deepEqual(complaints, []);
}

try {
  await main();
} finally {
  server?.kill("SIGKILL");
  await stand.stop();
}
