// What stands around the panels: the bar with its choices, a panel's head, the help.

import { choice, element } from "./dom.js";
import { heatTop } from "./heat.js";
import { LEVELS, colourOf, isHeat } from "./model.js";
import { quantity } from "./units.js";

/** @typedef {import("./plot.js").Plot} Plot */

const HELP = [
  ["drag", "zoom"],
  ["shift + drag, sideways wheel, ← →", "move in time"],
  ["+ −, Ctrl + wheel, pinch", "nearer, further"],
  ["double click, 0, Home", "all of the time"],
  ["[ ]", "the cell before, the next cell"],
  ["click on a cell's name", "that cell"],
  ["Escape", "no cursor"],
  ["Tab", "the next control"],
];

/** @param {string} text @param {string} name @param {() => void} onClick */
const button = (text, name, onClick) =>
  element("button", { type: "button", title: name, "aria-label": name, onclick: onClick }, text);

/** @param {Plot} plot */
export function makeToolbar(plot) {
  const { data } = plot;
  const level = choice(
    "Level",
    data.levels.map((one) => ({ value: one, text: LEVELS[one] ? `${one} (${LEVELS[one]})` : one })),
    plot.level,
    (value) => {
      plot.level = value;
      plot.draw();
    },
  );
  const others = data.metrics.filter((one) => !plot.metrics.includes(one.id));
  const more = choice(
    "Add a panel",
    [{ value: "", text: "+ panel" }, ...others.map((one) => ({ value: one.id, text: one.title }))],
    "",
    (value) => {
      if (value) plot.metrics.push(value);
      plot.draw();
    },
  );
  const save = choice(
    "Download what is shown",
    [{ value: "", text: "save as" }, ...["png", "svg", "csv"].map((one) => ({ value: one, text: one.toUpperCase() }))],
    "",
    (value) => {
      if (value) plot.download(value);
      save.value = "";
    },
  );
  const between = element("input", { type: "checkbox", checked: !plot.isCut, onchange: () => plot.cut(!between.checked) });
  const hasBetween = data.cells.length > 0;
  plot.bar.replaceChildren(
    data.group ? element("b", {}, data.group) : "",
    element("label", {}, "level ", level),
    others.length ? more : "",
    hasBetween ? element("label", { title: "Show the time in which no cell ran" }, between, " between cells") : "",
    element("span", { class: "space" }),
    element(
      "span",
      { class: "group" },
      button("−", "Further", () => plot.zoom(1 / 0.6)),
      button("+", "Nearer", () => plot.zoom(0.6)),
      button("reset", "Show all of the time (double click, 0)", () => plot.reset()),
    ),
    save,
    button("?", "Help", () => plot.help.show()),
  );
}

/**
 * A panel's metric and, for each line, its colour, name and figures.
 * @param {Plot} plot @param {number} at @param {any} metric @param {string} level @param {any} panel
 */
export function makePanelHead(plot, at, metric, level, panel) {
  const taken = plot.metrics.filter((_, i) => i !== at);
  const choose = choice(
    "Metric",
    plot.data.metrics.map((one) => ({ value: one.id, text: one.title, disabled: taken.includes(one.id) })),
    metric.id,
    (value) => {
      plot.metrics[at] = value;
      plot.draw();
    },
  );
  const note = [panel.note ?? metric.note, level === plot.level ? "" : `level ${level}`].filter(Boolean).join(", ");
  const node = element("div", { class: "head" }, choose, element("span", { class: "note" }, note));
  /** @type {HTMLElement[]} */
  const values = [];
  let ofHeat = null;
  if (!panel.tracks.length) node.append(element("span", { class: "note" }, "not measured at this level"));
  if (isHeat(metric, panel) && panel.tracks.length) {
    const figure = element("span", { class: "value" });
    node.append(
      element("span", { class: "ramp", "aria-hidden": "true" }),
      element("span", { class: "note" }, `0 to ${quantity(heatTop(panel), metric.unit)}`),
      figure,
    );
    ofHeat = heatFigure(figure, plot, metric, panel);
  } else {
    panel.tracks.forEach((/** @type {any} */ track, /** @type {number} */ i) => {
      const swatch = element("i", { class: "swatch", "aria-hidden": "true" });
      swatch.style.background = colourOf(metric, i);
      const value = element("span", { class: "value" });
      const name = track.name.toLowerCase() === metric.title.toLowerCase() ? "" : `${track.name} `;
      node.append(element("span", { class: "track" }, swatch, element("b", {}, name), value));
      values.push(value);
    });
  }
  for (const line of panel.lines ?? []) {
    node.append(element("span", { class: "track" }, element("i", { class: "dash", "aria-hidden": "true" }), `${line.label} ${quantity(line.value, metric.unit)}`));
  }
  if (plot.metrics.length > 1) {
    node.append(
      button("×", `Remove ${metric.title}`, () => {
        plot.metrics.splice(at, 1);
        plot.draw();
      }),
    );
  }
  return { node, values, ofHeat };
}

/** How busy how many rows are. @param {HTMLElement} node @param {Plot} plot @param {any} metric @param {any} panel */
function heatFigure(node, plot, metric, panel) {
  return (/** @type {number|null} */ bucket, /** @type {number} */ begin, /** @type {number} */ end) => {
    const { edges_s: edges } = plot.data;
    const means = panel.tracks.map((/** @type {any} */ track) => {
      if (bucket != null) return track.mean[bucket];
      const shown = track.mean.filter((/** @type {any} */ value, /** @type {number} */ i) => value != null && edges[i] < end && edges[i + 1] > begin);
      return shown.length ? shown.reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 0) / shown.length : null;
    });
    const known = means.filter((/** @type {any} */ one) => one != null);
    const busy = known.filter((/** @type {number} */ one) => one >= heatTop(panel) / 2).length;
    node.textContent = known.length
      ? `${busy} of ${known.length} above ${quantity(heatTop(panel) / 2, metric.unit)}`
      : "not known";
  };
}

export function makeHelp() {
  const dialog = element(
    "dialog",
    { class: "help", "aria-label": "Help" },
    element("table", {}, ...HELP.map(([keys, does]) => element("tr", {}, element("th", {}, keys), element("td", {}, does)))),
    element("form", {}, element("button", { type: "button", onclick: () => dialog.close() }, "close")),
  );
  dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => event.target === dialog && dialog.close());
  return dialog;
}
