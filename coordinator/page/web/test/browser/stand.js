// SPDX-License-Identifier: Apache-2.0
// A coordinator with two workers, a study that runs for some seconds, and a browser.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const JOBS_FAILED = 5; // the exit code of a wait for a sweep of which some jobs fail, as they shall
const BIN = process.env.CONCUR_BIN_DIR;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
export { BIN };
export const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

// Scores that differ between approaches and benchmarks, the first approach's far behind. $0: metrics,
// $1: test file, $2: seed. Braces stand for placeholders in a command, so that printf writes them.
const PREDICT = (approach) =>
  `sleep 0.25; b=$(cat "$1"); v=$((${approach === 1 ? 1 : 35} + ${approach} * (b > 2 ? 3 : 5) + (${approach} * b * 7 + $2) % 11)); ` +
  `printf '\\173"accuracy": 0.%02d\\175' $v > "$0"; echo "scored by approach ${approach}"`;

// An approach with settings, on a benchmark: the score grows with the rate.
const TUNED = `apiVersion: concur/v1
kind: Sweep
metadata: {name: tuned}
spec:
  approaches:
    - metadata: {name: ranker}
      spec:
        version: "1"
        train:
          command: [sh, -c, 'for s in 1 2 3; do echo "concur-metric {{\\"step\\": $s, \\"value\\": 0.$s}}"; done; : > "$0"', "{model}"]
        predict:
          command: [sh, -c, 'printf "{{\\"accuracy\\": %s}}" "$2" > "$0"', "{metrics}", "{test}", "{hp.rate}", "{hp.mode}", "{hp.width}"]
        hyperparameters:
          default: {rate: 0.001, width: 64, mode: fast}
          space:
            rate: {log_uniform: [0.0001, 1.0]}
            width: {integer: [32, 256, 32]}
            mode: {choice: [fast, exact]}
  benchmarks:
    - metadata: {name: newswire}
      spec: {train: newswire.txt, test: newswire.txt, format: file, metric: accuracy}
  settings: {random: 11, seed: 1}
  select: default
`;

// The approach `broken` fails with `complaint`.
function study(directory, approaches, seeds, complaint) {
  const benchmarks = ["newswire", "trivia", "stories", "synthetic"];
  benchmarks.forEach((name, index) => writeFileSync(join(directory, `${name}.txt`), `${index + 1}\n`));
  const approach = (name, script) =>
    `    - metadata: {name: ${name}}\n` +
    `      spec:\n        version: "1"\n` +
    `        predict: {command: [sh, -c, ${JSON.stringify(script)}, "{metrics}", "{test}", "{seed}"]}\n`;
  const names = ["bag-of-words", "bidaf", "bert-base", "fusionnet", "gpt2", "mnemonic-reader", "qanet", "roberta"];
  const text =
    "apiVersion: concur/v1\nkind: Sweep\nmetadata: {name: reading}\nspec:\n  approaches:\n" +
    names
      .slice(0, approaches)
      .map((name, index) => approach(name, PREDICT(index + 1)))
      .join("") +
    approach("broken", `echo '${complaint}'; echo '${complaint}' >&2; exit 78`) +
    "  benchmarks:\n" +
    benchmarks
      .map((name) => `    - metadata: {name: ${name}}\n      spec: {test: ${name}.txt, format: file, metric: accuracy}\n`)
      .join("") +
    `  seeds: {from: 1, to: ${seeds}}\n  select: default\n`;
  const path = join(directory, "study.yaml");
  writeFileSync(path, text);
  return path;
}

const childrenOf = (parent, program) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const after = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return Number(after[1]) === parent && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(program);
      } catch {
        return false;
      }
    })
    .map(Number);

export class Stand {
  // `withBrowser`: Chromium.
  static async start({ withBrowser = true } = {}) {
    const stand = new Stand();
    stand.browsers = [];
    stand.directory = mkdtempSync(join(process.env.TMPDIR || tmpdir(), "concur-page."));
    stand.environment = { ...process.env, HOME: stand.directory, XDG_STATE_HOME: join(stand.directory, "xdg") };
    delete stand.environment.CONCUR_SERVER;
    stand.up = spawn(
      join(BIN, "concur"),
      ["up", "-n", "2", "--listen", "127.0.0.1:0", "--data-dir", join(stand.directory, "data"), "-o", "json"],
      { env: stand.environment, stdio: ["ignore", "pipe", "inherit"] },
    );
    const first = await new Promise((resolve, reject) => {
      let text = "";
      stand.up.stdout.on("data", (piece) => {
        text += piece;
        if (text.includes("}")) {
          resolve(text);
        }
      });
      stand.up.on("exit", (code) => reject(new Error(`concur up ended with ${code}`)));
    });
    Object.assign(stand, JSON.parse(first));
    if (withBrowser) {
      stand.browser = await stand.openBrowser();
    }
    return stand;
  }

  // A browser with cookies and storage of its own.
  async openBrowser() {
    const browser = await chromium.launchPersistentContext(mkdtempSync(join(this.directory, "profile.")), {
      executablePath: process.env.CONCUR_CHROMIUM,
      headless: true,
      args: FLAGS,
      viewport: { width: 1400, height: 1000 },
    });
    this.browsers.push(browser);
    return browser;
  }

  concur(...args) {
    const done = spawnSync(join(BIN, "concur"), ["--server", this.address, ...args], {
      env: { ...this.environment, CONCUR_TOKEN_FILE: join(this.directory, "data/token") },
      encoding: "utf8",
    });
    if (done.status !== 0 && done.status !== JOBS_FAILED) {
      throw new Error(`concur ${args.join(" ")}: ${done.stderr}`);
    }
    return done.stdout;
  }

  submit(approaches, seeds, complaint = HOSTILE) {
    const path = study(this.directory, approaches, seeds, complaint);
    return JSON.parse(this.concur("sweep", "submit", path, "-o", "json"));
  }

  submitTuned() {
    const path = join(this.directory, "tuned.yaml");
    writeFileSync(path, TUNED);
    return JSON.parse(this.concur("sweep", "submit", path, "-o", "json"));
  }

  link() {
    return readFileSync(join(this.directory, "data/page"), "utf8").trim();
  }

  killCoordinator() {
    const found = childrenOf(this.up.pid, "concur-coordinator");
    if (found.length !== 1) {
      throw new Error(`expected one coordinator, found ${found.length}`);
    }
    process.kill(found[0], "SIGKILL");
  }

  async stop() {
    await Promise.all(this.browsers.map((browser) => browser.close()));
    const ended = new Promise((resolve) => this.up.on("exit", resolve));
    if (this.up.exitCode === null) {
      this.up.kill("SIGINT");
      await ended;
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
