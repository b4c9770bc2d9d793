// SPDX-License-Identifier: Apache-2.0
// The view that is shown as one HTML file without scripts, to be kept or sent.

const GONE = "script, noscript, link, button:not([aria-pressed]), .skip, .connection, .who, .grip, nav a:not(.brand)";

// Fields show what was chosen, and links, which lead into this page, become text.
function settle(copy, original) {
  const fields = [...original.querySelectorAll("input, select")];
  copy.querySelectorAll("input, select").forEach((field, index) => {
    const text = document.createElement("b");
    const { value, options, selectedIndex } = fields[index];
    text.textContent = ` ${(options ? options[selectedIndex]?.textContent : value) || "all"}`;
    field.replaceWith(text);
  });
  copy.querySelectorAll("a").forEach((link) => link.removeAttribute("href"));
  copy.querySelectorAll(GONE).forEach((element) => element.remove());
}

const rulesOf = (sheet) => [...sheet.cssRules].map(({ cssText }) => cssText).join("\n");

// `now`: a Date, printed beside the address at the end.
export function snapshot(now) {
  const copy = document.documentElement.cloneNode(true);
  settle(copy, document.documentElement);
  const style = document.createElement("style");
  style.textContent = [...document.styleSheets].map(rulesOf).join("\n");
  copy.querySelector("head").append(style);
  const source = document.createElement("p");
  source.className = "faint";
  source.textContent = `Saved from ${location.href} at ${now.toISOString().slice(0, 19)}Z.`;
  copy.querySelector("main").append(source);
  return `<!doctype html>\n${copy.outerHTML}`;
}
