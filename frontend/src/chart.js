// One panel: a uPlot of one metric at one level. All panels share the view (the part of time that
// is shown) and the cursor; the page owns both and is told what the user does.

import uPlot from "uplot";

import { theme } from "./dom.js";
import { drawHeat, heatImage } from "./heat.js";
import { drawBreaks, drawCells, drawGaps, drawLines } from "./marks.js";
import { colourOf, isHeat } from "./model.js";
import { axisTexts, elapsed, isBytes, quantity, roundStep, roundTop } from "./units.js";

/** @typedef {import("./model.js").PlotData} PlotData */
/** @typedef {import("./model.js").PanelData} PanelData */
/** @typedef {import("./model.js").Metric} Metric */
/** @typedef {import("./timemap.js").TimeMap} TimeMap */
/**
 * @typedef {{data: PlotData, map: TimeMap, metric: Metric, panel: PanelData, view: [number, number],
 *   isLast: boolean, width: number, height: number,
 *   onZoom: (from: number, to: number) => void, onPan: (event: MouseEvent, u: any) => void,
 *   onReset: () => void, onCursor: (point: number|null) => void}} Wish
 */

export const AXIS_WIDTH = 72;
export const RIGHT_PAD = 24;
const TIME_HEIGHT = 26;
const LEAST_DRAG = 4; // pixels; less is a click
const NEAR = 4; // a limit further above the data than this times isn't worth the room
const FONT = "11px system-ui, sans-serif";
const BYTE_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

/** Columns as uPlot wants them: times, then for each track largest, smallest, mean. @param {Wish} wish */
function columns({ map, panel, metric }) {
  const { points } = map;
  const x = points.map((point) => point.x);
  const of = (/** @type {(number|null)[]} */ values) =>
    points.map(({ bucket }) => (bucket < 0 ? null : (values[bucket] ?? null)));
  if (isHeat(metric, panel)) return [x, points.map(({ bucket }) => (bucket < 0 ? null : 0))];
  return [
    x,
    ...panel.tracks.flatMap((track) =>
      track.min && track.max ? [of(track.max), of(track.min), of(track.mean)] : [of(track.mean)],
    ),
  ];
}

/** Lines and bands that belong to the columns. @param {Wish} wish */
function series({ panel, metric }) {
  const all = [/** @type {any} */ ({})];
  const bands = [];
  if (isHeat(metric, panel)) return { all: [...all, { stroke: "transparent", points: { show: false } }], bands };
  panel.tracks.forEach((track, i) => {
    const colour = colourOf(metric, i);
    if (track.min && track.max) {
      bands.push({ series: [all.length, all.length + 1], fill: `${colour}38` });
      const edge = { stroke: `${colour}50`, width: 0.5, points: { show: false } };
      all.push(edge, edge);
    }
    all.push({ stroke: colour, width: 1.75, points: { size: 4, fill: colour } });
  });
  return { all, bands };
}

/** The axis from 0 (or below) to a round top above what is in view. @param {Wish} wish */
export function valueRange({ panel, metric, map, view }) {
  if (isHeat(metric, panel)) return [0, panel.tracks.length];
  let [least, most] = [0, 0];
  for (const track of panel.tracks) {
    const [low, high] = [track.min ?? track.mean, track.max ?? track.mean];
    for (const { bucket, x } of map.points) {
      if (bucket < 0 || x < view[0] || x > view[1]) continue;
      least = Math.min(least, low[bucket] ?? 0);
      most = Math.max(most, high[bucket] ?? 0);
    }
  }
  const near = (panel.lines ?? []).filter((line) => line.value <= NEAR * most).map((line) => line.value);
  const top = Math.max(most, ...near);
  if (panel.max && top <= panel.max) return [least, panel.max * 1.05];
  return [least < 0 ? -roundTop(-least, metric.unit) : 0, roundTop(top * 1.05, metric.unit)];
}

/** The labels of time: round ones, as many as there is room for. @param {TimeMap} map @param {any} u */
export function timeTicks(map, from, to, width) {
  const perPixel = (to - from) / Math.max(width, 1);
  const step = roundStep(80 * perPixel);
  return map.ticks(from, to, step, 56 * perPixel).map((tick) => ({ ...tick, text: elapsed(tick.time, step) }));
}

/**
 * @param {HTMLElement} host
 * @param {Wish} wish
 */
export function makeChart(host, wish) {
  const { data, map, panel, metric } = wish;
  const heat = isHeat(metric, panel) && panel.tracks.length > 0;
  const image = heat ? heatImage(panel) : null;
  const { all, bands } = series(wish);
  const ink = () => theme("--ink-soft");
  const grid = { stroke: () => theme("--grid"), width: 1 };
  const timeTexts = (/** @type {any} */ u) => timeTicks(map, u.scales.x.min, u.scales.x.max, u.bbox.width / devicePixelRatio);

  const options = {
    width: wish.width,
    height: wish.height,
    padding: [7, RIGHT_PAD, wish.isLast ? 0 : 4, 0],
    legend: { show: false },
    series: all,
    bands,
    scales: {
      x: { time: false, range: () => wish.view },
      y: { range: () => valueRange(wish) },
    },
    axes: [
      {
        stroke: ink, grid, font: FONT, size: wish.isLast ? TIME_HEIGHT : 0,
        ticks: { show: wish.isLast, ...grid, size: 4 },
        splits: (/** @type {any} */ u) => timeTexts(u).map((tick) => tick.x),
        values: (/** @type {any} */ u) => (wish.isLast ? timeTexts(u).map((tick) => tick.text) : []),
      },
      {
        stroke: ink, grid: heat ? { show: false } : grid, font: FONT, size: AXIS_WIDTH, space: 26,
        ticks: { show: true, ...grid, size: 4 },
        incrs: isBytes(metric.unit) ? BYTE_STEPS : undefined,
        splits: heat ? () => heatTicks(panel.tracks.length, wish.height) : undefined,
        values: (/** @type {any} */ _, /** @type {number[]} */ values) =>
          heat
            ? values.map((value) => panel.tracks[Math.floor(value)]?.name ?? "")
            : axisTexts(values, metric.unit),
      },
    ],
    cursor: {
      y: false,
      points: { show: !heat, size: 7 },
      drag: { x: true, y: false, setScale: false },
      sync: { key: "jumper", setSeries: false, filters: { pub: (/** @type {string} */ type) => type === "mousemove" || type === "mouseleave" } },
      bind: {
        mousedown: (/** @type {any} */ u, /** @type {any} */ _, /** @type {(e: MouseEvent) => void} */ next) =>
          (/** @type {MouseEvent} */ event) => (event.shiftKey ? wish.onPan(event, u) : next(event)),
        dblclick: () => () => wish.onReset(),
      },
    },
    hooks: {
      drawClear: [
        (/** @type {any} */ u) => {
          if (image) drawHeat(u, image, data.edges_s, map);
          drawCells(u, data, map, !heat);
        },
      ],
      draw: [
        (/** @type {any} */ u) => {
          drawGaps(u, data, map);
          drawBreaks(u, map);
          if (!heat) drawLines(u, panel.lines ?? [], (value) => quantity(value, metric.unit));
        },
      ],
      setSelect: [
        (/** @type {any} */ u) => {
          const { left, width } = u.select;
          if (width >= LEAST_DRAG) wish.onZoom(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
          if (width > 0) u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
      setCursor: [(/** @type {any} */ u) => wish.onCursor(u.cursor.left >= 0 ? (u.cursor.idx ?? null) : null)],
    },
  };
  return new uPlot(/** @type {any} */ (options), /** @type {any} */ (columns(wish)), host);
}

/** Middles of the rows that get a name. @param {number} count @param {number} height */
function heatTicks(count, height) {
  const step = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(height / 18))));
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step + 0.5);
}
