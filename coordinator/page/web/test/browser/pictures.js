// SPDX-License-Identifier: Apache-2.0
// Pictures of the views, narrow, wide and very wide, light and dark.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Stand } from "./stand.js";

const out = process.env.CONCUR_PICTURES;
mkdirSync(out, { recursive: true });
const COMPLAINT = "cannot read the checkpoint: layer 7 has 768 columns, expected 1024";
const stand = await Stand.start();

try {
  const page = await stand.browser.newPage();
  await page.goto(stand.page);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const first = stand.submit(8, 1, COMPLAINT);
  stand.concur("sweep", "wait", first.id ?? first.sweep?.id, "--timeout", "100");
  const tuned = stand.submitTuned();
  stand.concur("sweep", "wait", tuned.id ?? tuned.sweep?.id, "--timeout", "100");
  const running = stand.submit(8, 24, COMPLAINT);
  const id = running.id ?? running.sweep?.id;
  const views = [
    ["overview", "#/", "table"],
    ["sweep", `#/sweeps/${id}`, ".lane"],
    ["matrix", `#/sweeps/${id}/matrix`, ".pair button"],
    ["scores", `#/sweeps/${id}/scores`, ".pivot"],
    ["settings", `#/sweeps/${tuned.id ?? tuned.sweep?.id}/settings?r.score=0.01..`, ".parallel path.within"],
    ["jobs", `#/sweeps/${id}/jobs`, "tbody tr"],
    ["events", `#/sweeps/${id}/events`, "tbody tr"],
    ["job", `#/jobs/${id}/0`, ".log"],
    ["compare", `#/compare?first=${first.id ?? first.sweep?.id}&second=${id}`, "tbody tr td.name"],
    ["worker-use", `#/sweeps/${id}/workers`, ".steps"],
    ["workers", "#/workers", "tbody tr"],
    ["audit", "#/audit", "tbody tr"],
  ];
  for (const [width, height] of [
    [1400, 900],
    [500, 900],
    [360, 740],
    [2560, 1300],
  ]) {
    await page.setViewportSize({ width, height });
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme });
      for (const [name, hash, wanted] of views) {
        await page.evaluate((to) => (location.hash = to), hash);
        await page.locator(wanted).first().waitFor();
        if (name === "matrix") {
          await page.locator(wanted).nth(2).click();
          await page.locator(".scatter").waitFor();
        }
        const path = join(out, `page-${name}-${width}-${theme}.png`);
        await page.screenshot({ path });
        console.log(path);
      }
    }
  }
} finally {
  await stand.stop();
}
