// What is drawn on a panel besides its lines: cells as bands, gaps hatched, limits dashed, breaks.

import { isBad } from "./model.js";
import { theme } from "./dom.js";

const LEAST_WITH_EDGES = 14; // pixels

/** @typedef {import("./model.js").PlotData} PlotData */
/** @typedef {import("./timemap.js").TimeMap} TimeMap */

/** @param {any} u uPlot @param {(context: CanvasRenderingContext2D) => void} draw */
function clipped(u, draw) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx);
  ctx.restore();
}

/** The canvas's pixels of spans of time. @param {any} u @param {TimeMap} map @param {number} begin @param {number} end */
function pixels(u, map, begin, end) {
  return map.spans(begin, end).map(([from, to]) => {
    const left = u.valToPos(from, "x", true);
    return { left, width: Math.max(u.valToPos(to, "x", true) - left, devicePixelRatio) };
  });
}

/**
 * Behind the lines: each cell a band with its two edges, time between cells left plain.
 * @param {any} u @param {PlotData} data @param {TimeMap} map @param {boolean} isFilled
 */
export function drawCells(u, data, map, isFilled) {
  const last = data.edges_s[data.edges_s.length - 1];
  clipped(u, (context) => {
    for (const cell of data.cells) {
      for (const { left, width } of pixels(u, map, cell.begin_s, cell.end_s ?? last)) {
        context.fillStyle = theme(isBad(cell) ? "--bad-band" : "--cell-band");
        if (isFilled) context.fillRect(left, u.bbox.top, width, u.bbox.height);
        if (width < LEAST_WITH_EDGES * devicePixelRatio) continue; // many cells: their edges would be all that is seen
        context.fillStyle = theme("--cell-edge");
        context.fillRect(left, u.bbox.top, devicePixelRatio, u.bbox.height);
        context.fillRect(left + width - devicePixelRatio, u.bbox.top, devicePixelRatio, u.bbox.height);
      }
    }
  });
}

/** Over the lines: where nothing was measured. @param {any} u @param {PlotData} data @param {TimeMap} map */
export function drawGaps(u, data, map) {
  clipped(u, (context) => {
    context.strokeStyle = theme("--gap");
    context.lineWidth = devicePixelRatio;
    const step = 7 * devicePixelRatio;
    const { top, height } = u.bbox;
    for (const gap of data.gaps) {
      for (const { left, width } of pixels(u, map, gap.begin_s, gap.end_s)) {
        context.save();
        context.beginPath();
        context.rect(left, top, Math.max(width, 2 * devicePixelRatio), height);
        context.clip();
        context.beginPath();
        for (let x = left - height; x < left + width; x += step) {
          context.moveTo(x, top + height);
          context.lineTo(x + height, top);
        }
        context.stroke();
        context.restore();
      }
    }
  });
}

/** Where time between cells is cut out. @param {any} u @param {TimeMap} map */
export function drawBreaks(u, map) {
  clipped(u, (context) => {
    context.fillStyle = theme("--break");
    for (const segment of map.segments.slice(1)) {
      const left = u.valToPos(segment.at - map.pause, "x", true);
      const right = u.valToPos(segment.at, "x", true);
      context.fillRect(left, u.bbox.top, right - left, u.bbox.height);
    }
  });
}

/**
 * Dashed, with its name at the right end; a line above the axis's top is left to the legend.
 * @param {any} u @param {import("./model.js").Line[]} lines @param {(value: number) => string} text
 */
export function drawLines(u, lines, text) {
  clipped(u, (context) => {
    context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    context.textAlign = "right";
    context.textBaseline = "top";
    context.lineWidth = 1.5 * devicePixelRatio;
    context.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    for (const line of lines) {
      if (line.value > u.scales.y.max) continue;
      const y = u.valToPos(line.value, "y", true);
      const right = u.bbox.left + u.bbox.width;
      context.strokeStyle = theme("--limit");
      context.beginPath();
      context.moveTo(u.bbox.left, y);
      context.lineTo(right, y);
      context.stroke();
      context.fillStyle = theme("--limit");
      context.fillText(`${line.label} ${text(line.value)}`, right - 5 * devicePixelRatio, y + 3 * devicePixelRatio);
    }
  });
}
