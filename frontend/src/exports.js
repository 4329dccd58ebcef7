// What is shown, to take along: CSV of the visible buckets, SVG drawn anew, PNG from that SVG.

import { timeTicks, valueRange } from "./chart.js";
import { element, theme } from "./dom.js";
import { drawHeat, heatImage, heatTop } from "./heat.js";
import { PALETTE, cellAt, colourOf, isBad, isHeat } from "./model.js";
import { axisTexts, isBytes, quantity } from "./units.js";

/** @typedef {import("./plot.js").Plot} Plot */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 960;
const [LEFT, RIGHT, HEAD, PANEL, FOOT] = [78, 30, 24, 150, 48];
const PNG_SCALE = 2;
const FONT = "system-ui, 'DejaVu Sans', sans-serif";

/** @param {Plot} plot @param {string} kind */
export async function download(plot, kind) {
  if (kind === "csv") return save(new Blob([csvOf(plot)], { type: "text/csv" }), kind);
  const svg = svgOf(plot);
  if (kind === "svg") return save(new Blob([svg.text], { type: "image/svg+xml" }), kind);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.text)}`;
  await image.decode();
  const canvas = element("canvas", { width: WIDTH * PNG_SCALE, height: svg.height * PNG_SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((/** @type {Blob} */ blob) => save(blob, kind), "image/png");
}

/** @param {Blob} blob @param {string} ending */
function save(blob, ending) {
  const link = element("a", { href: URL.createObjectURL(blob), download: `jumper-plot.${ending}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

const quoted = (/** @type {any} */ value) => {
  const text = value == null ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/**
 * A row a bucket, times absolute, units in the names; empty where nothing is known.
 * @param {Plot} plot
 */
export function csvOf(plot) {
  const { data, panels } = plot;
  const [begin, end] = plot.view.map((x) => plot.map.toTime(x));
  /** @type {{name: string, values: (number|null)[]}[]} */
  const columns = panels.flatMap(({ metric, panel, level }) =>
    panel.tracks.flatMap((/** @type {any} */ track) =>
      ["mean", "min", "max"]
        .map((which) => ({
          name: `${level}.${metric.id}.${track.name}.${which} [${metric.unit || "1"}]`,
          values: track[which] ?? track.mean,
        }))
        .filter((_, i) => i === 0 || !isHeat(metric, panel)),
    ),
  );
  const rows = [["begin_s", "end_s", "begin", "cell", ...columns.map((one) => one.name)]];
  for (let i = 0; i + 1 < data.edges_s.length; i += 1) {
    const [from, to] = [data.edges_s[i], data.edges_s[i + 1]];
    if (to <= begin || from >= end || (plot.isCut && !plot.map.spans(from, to).length)) continue;
    const at = new Date(1000 * (data.begin_wall_s + from)).toISOString();
    const cell = cellAt(data, (from + to) / 2)?.index ?? "";
    rows.push(/** @type {any} */ ([from, to, at, cell, ...columns.map((one) => one.values[i])]));
  }
  return rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/** @param {Element} parent @param {string} tag @param {Object<string, any>} attributes @param {string} [text] */
function add(parent, tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  if (text != null) made.textContent = text;
  parent.append(made);
  return made;
}

/** @param {Plot} plot @returns {{text: string, height: number}} */
export function svgOf(plot) {
  const { data, panels, view, map } = plot;
  const cells = 22;
  const height = cells + panels.length * (HEAD + PANEL) + FOOT;
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({
    xmlns: SVG, width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, "font-family": FONT, "font-size": 12,
  })) svg.setAttribute(name, String(value));
  const ink = theme("--ink");
  add(svg, "rect", { width: WIDTH, height, fill: theme("--paper") });
  const clip = add(add(svg, "defs", {}), "clipPath", { id: "plot" });
  const inner = WIDTH - LEFT - RIGHT;
  add(clip, "rect", { x: LEFT, y: 0, width: inner, height });
  const hatch = { id: "gap", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  const line = { x1: 0, x2: 0, y1: 0, y2: 7, stroke: theme("--gap"), "stroke-width": 1.5 };
  add(add(clip.parentElement ?? svg, "pattern", hatch), "line", line);
  const toX = (/** @type {number} */ x) => LEFT + ((x - view[0]) / (view[1] - view[0])) * inner;
  const last = data.edges_s[data.edges_s.length - 1];
  const bands = add(svg, "g", { "clip-path": "url(#plot)" });
  for (const cell of data.cells) {
    for (const [from, to] of map.spans(cell.begin_s, cell.end_s ?? last)) {
      const [left, right] = [Math.max(toX(from), LEFT), Math.min(toX(to), WIDTH - RIGHT)];
      if (right < LEFT || left > WIDTH - RIGHT) continue;
      const [x, width] = [left.toFixed(1), Math.max(right - left, 1).toFixed(1)];
      add(bands, "rect", { x, y: 4, width, height: height - FOOT - 4, fill: theme(isBad(cell) ? "--bad-band" : "--cell-band") });
      if (right - left > 8 + 7 * cell.label.length) add(bands, "text", { x: left + 4, y: 17, fill: ink }, cell.label);
    }
  }
  panels.forEach((one, i) => drawPanel(svg, plot, one, cells + i * (HEAD + PANEL), toX, inner));
  for (const tick of timeTicks(map, view[0], view[1], inner)) {
    add(svg, "text", { x: toX(tick.x).toFixed(1), y: height - FOOT + 16, fill: theme("--ink-soft"), "text-anchor": "middle" }, tick.text);
  }
  const begin = new Date(1000 * data.begin_wall_s).toLocaleString([], { hour12: false });
  const source = [data.label, data.host && `on ${data.host}`, `begun ${begin}`, "measured by JUmPER"];
  add(svg, "text", { x: WIDTH - RIGHT, y: height - 10, fill: theme("--ink-soft"), "text-anchor": "end", "font-size": 11 }, source.filter(Boolean).join(" · "));
  return { text: new XMLSerializer().serializeToString(svg), height };
}

/** @param {Element} svg @param {Plot} plot @param {any} one @param {number} top @param {(x: number) => number} toX @param {number} inner */
function drawPanel(svg, plot, { metric, panel }, top, toX, inner) {
  const { map, data } = plot;
  const [low, high] = valueRange({ metric, panel, map, view: plot.view });
  const [y0, y1] = [top + HEAD + PANEL - 6, top + HEAD];
  const toY = (/** @type {number} */ value) => y0 - ((value - low) / (high - low)) * (y0 - y1);
  const soft = theme("--ink-soft");
  const title = add(svg, "text", { x: LEFT, y: top + 16, fill: theme("--ink"), "font-weight": 600 }, metric.title);
  const heat = isHeat(metric, panel) && panel.tracks.length > 0;
  if (!heat) {
    panel.tracks.forEach((/** @type {any} */ track, /** @type {number} */ i) => {
      const part = document.createElementNS(SVG, "tspan");
      part.setAttribute("fill", colourOf(metric, i));
      part.setAttribute("dx", "12");
      part.textContent = `■ ${track.name}`;
      title.append(part);
    });
    const ticks = axisSteps(low, high, metric.unit);
    const texts = axisTexts(ticks, metric.unit);
    ticks.forEach((value, i) => {
      const y = toY(value).toFixed(1);
      add(svg, "line", { x1: LEFT, x2: LEFT + inner, y1: y, y2: y, stroke: theme("--grid") });
      add(svg, "text", { x: LEFT - 6, y: Number(y) + 4, fill: soft, "text-anchor": "end" }, texts[i]);
    });
  }
  if (heat) {
    const { tracks } = panel;
    const step = Math.max(1, Math.ceil(tracks.length / 8));
    for (let k = 0; k < tracks.length; k += step) {
      const y = y0 - ((k + 0.5) / tracks.length) * (y0 - y1) + 4;
      add(svg, "text", { x: LEFT - 6, y: y.toFixed(1), fill: soft, "text-anchor": "end" }, tracks[k].name);
    }
    const part = document.createElementNS(SVG, "tspan");
    part.setAttribute("fill", PALETTE[0]);
    part.setAttribute("dx", "12");
    part.textContent = `■ ${quantity(heatTop(panel), metric.unit)}`;
    title.append(part);
  }
  const area = add(svg, "g", { "clip-path": "url(#plot)", fill: "none", "stroke-width": 1.75 });
  if (heat) drawHeatPicture(area, plot, panel, toX, y1, y0 - y1, inner);
  else panel.tracks.forEach((/** @type {any} */ track, /** @type {number} */ i) => drawTrack(area, map, track, colourOf(metric, i), toX, toY));
  for (const gap of data.gaps) {
    for (const [from, to] of map.spans(gap.begin_s, gap.end_s)) {
      const width = Math.max(toX(to) - toX(from), 1);
      add(area, "rect", { x: toX(from).toFixed(1), y: y1, width: width.toFixed(1), height: y0 - y1, fill: "url(#gap)" });
    }
  }
  for (const line of panel.lines ?? []) {
    if (heat || line.value > high) continue;
    const y = toY(line.value).toFixed(1);
    add(area, "line", { x1: LEFT, x2: LEFT + inner, y1: y, y2: y, stroke: theme("--limit"), "stroke-dasharray": "6 4" });
    add(svg, "text", { x: LEFT + inner - 4, y: Number(y) + 13, fill: theme("--limit"), "text-anchor": "end", "font-size": 11 }, `${line.label} ${quantity(line.value, metric.unit)}`);
  }
}

/** @param {number} low @param {number} high @param {string} unit */
function axisSteps(low, high, unit) {
  const rough = (high - low) / 4;
  const power = isBytes(unit) ? 2 ** Math.round(Math.log2(rough)) : 10 ** Math.floor(Math.log10(rough));
  const step = isBytes(unit) ? power : ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough * 0.99) ?? 10) * power;
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) ticks.push(value);
  return ticks;
}

/** @param {Element} area @param {any} map @param {any} track @param {string} colour @param {any} toX @param {any} toY */
function drawTrack(area, map, track, colour, toX, toY) {
  /** @type {any[][]} */
  const runs = [[]];
  for (const point of map.points) {
    if (point.bucket < 0 || track.mean[point.bucket] == null) runs.push([]);
    else runs[runs.length - 1].push(point);
  }
  const at = (/** @type {any} */ point, /** @type {any[]} */ values) =>
    `${toX(point.x).toFixed(1)},${toY(values[point.bucket]).toFixed(1)}`;
  for (const run of runs.filter((one) => one.length)) {
    if (track.min && track.max) {
      const upper = run.map((point) => at(point, track.max));
      const lower = run.map((point) => at(point, track.min)).reverse();
      add(area, "polygon", { points: [...upper, ...lower].join(" "), fill: colour, "fill-opacity": 0.22 });
    }
    add(area, "polyline", { points: run.map((point) => at(point, track.mean)).join(" "), stroke: colour });
  }
}

/** @param {Element} area @param {Plot} plot @param {any} panel @param {any} toX @param {number} top @param {number} height @param {number} inner */
function drawHeatPicture(area, plot, panel, toX, top, height, inner) {
  const canvas = element("canvas", { width: 2 * inner, height: 2 * height });
  const u = {
    ctx: canvas.getContext("2d"),
    bbox: { left: 0, top: 0, width: canvas.width, height: canvas.height },
    scales: { x: { min: plot.view[0], max: plot.view[1] } },
    valToPos: (/** @type {number} */ x) => 2 * (toX(x) - LEFT),
  };
  drawHeat(u, heatImage(panel), plot.data.edges_s, plot.map);
  add(area, "image", { x: LEFT, y: top, width: inner, height, href: canvas.toDataURL(), preserveAspectRatio: "none" });
}
