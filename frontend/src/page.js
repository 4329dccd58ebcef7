// Begins: the data says which page it is. When all is drawn, the page covers what lies under it.

import { element } from "./dom.js";
import { showHistory } from "./history.js";
import { showPlot } from "./plot.js";

// @ts-ignore: the build puts the text of the style sheets in here
document.head.append(element("style", {}, JUMPER_STYLE));
const host = /** @type {HTMLElement} */ (document.getElementById("page"));
const data = JSON.parse(/** @type {any} */ (globalThis).jumperData);
if (data.kind === "history") showHistory(host, data);
else showPlot(host, data);
document.documentElement.classList.add("drawn");
// Keys are the notebook's again (Ctrl+S saves it) once the pointer is there and nothing is typed here.
document.documentElement.addEventListener("mouseleave", () => {
  const typing = ["INPUT", "SELECT"].includes(document.activeElement?.tagName ?? "");
  if (document.hasFocus() && !typing && window.parent !== window) window.parent.focus();
});
