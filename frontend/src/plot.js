// The page of a plot: several panels on one axis of time, and what can be done with them.

import { AXIS_WIDTH, RIGHT_PAD, makeChart } from "./chart.js";
import { makeHelp, makePanelHead, makeToolbar } from "./controls.js";
import { element } from "./dom.js";
import { download } from "./exports.js";
import { Finer } from "./finer.js";
import { bindKeys, bindWheel, startPan } from "./moves.js";
import { PALETTE, cellAt, figures, isBad, isHeat, panelOf } from "./model.js";
import { followTheme } from "./theme.js";
import { TimeMap } from "./timemap.js";
import { duration, elapsed, quantity } from "./units.js";

const LEAST_PANEL_HEIGHT = 80;
const LEAST_VIEW = 1 / 5000; // of the time: about a tenth of a bucket
const LEAST_FINE_VIEW = LEAST_VIEW / 100; // where finer data are to be had
const SAY_AFTER_MS = 400; // a reader isn't told each step of a drag

/** @typedef {import("./model.js").PlotData} PlotData */

export class Plot {
  /** @param {HTMLElement} host @param {PlotData} data */
  constructor(host, data) {
    this.data = data;
    this.level = data.level;
    this.isCut = Boolean(data.cut);
    this.map = new TimeMap(data.edges_s, data.cells, this.isCut);
    /** @type {[number, number]} */
    this.view = [this.map.begin, this.map.end];
    this.metrics = data.shown.filter((id) => this.metric(id)).slice();
    if (!this.metrics.length && data.metrics.length) this.metrics = [data.metrics[0].id];
    /** @type {{host: HTMLElement, head: any, u: any, metric: any, panel: any, level: string}[]} */
    this.panels = [];

    this.bar = element("header", { class: "bar" });
    this.lane = element("div", { class: "lane", "aria-hidden": "true" });
    this.charts = element("div", { class: "charts", tabindex: 0, role: "group", "aria-describedby": "said" });
    this.time = element("div", { class: "time" });
    this.note = element("div", { class: "notice", role: "status" });
    this.said = element("p", { id: "said", class: "unseen", "aria-live": "polite" });
    this.help = makeHelp();
    host.classList.add("plot");
    host.append(this.bar, this.lane, this.charts, this.time, this.note, this.said, this.help);

    bindKeys(this);
    bindWheel(this);
    new ResizeObserver(() => this.resize()).observe(host);
    followTheme(() => this.draw());
    this.draw();
    this.finer = new Finer(this);
  }

  /** @param {string} id */
  metric(id) {
    return this.data.metrics.find((one) => one.id === id);
  }

  /** Everything anew: after another level, metric, theme or way to show time. */
  draw() {
    makeToolbar(this);
    this.drawPanels();
  }

  drawPanels() {
    for (const { u } of this.panels) u.destroy();
    this.charts.replaceChildren();
    this.panels = this.metrics.map((id, i) => {
      const metric = /** @type {any} */ (this.metric(id));
      const { level, panel } = panelOf(this.data, metric, this.level);
      const host = element("section", { class: "panel" });
      const head = makePanelHead(this, i, metric, level, panel);
      const body = element("div", { class: "body" });
      host.append(head.node, body);
      this.charts.append(host);
      return { host: body, head, u: null, metric, panel, level };
    });
    const height = this.panelHeight();
    const plot = this;
    this.panels.forEach((one, i) => {
      one.u = makeChart(one.host, {
        data: this.data,
        map: this.map,
        metric: one.metric,
        panel: one.panel,
        get view() {
          return plot.view;
        },
        isLast: i === this.panels.length - 1,
        width: this.width(),
        height: height + (i === this.panels.length - 1 ? 22 : 0),
        onZoom: (from, to) => this.show(from, to),
        onPan: (event, u) => startPan(this, event, u),
        onReset: () => this.reset(),
        onCursor: (point) => this.showCursor(point),
      });
    });
    this.refresh();
  }

  /** Other buckets of the same time. @param {PlotData} data */
  use(data) {
    const controls = () => [...this.charts.querySelectorAll("select, button")];
    const focused = controls().findIndex((one) => one === document.activeElement);
    this.data = data;
    this.map = new TimeMap(data.edges_s, data.cells, this.isCut);
    this.drawPanels();
    controls()[focused]?.focus();
  }

  /** What the user must know of the plot itself; "": nothing. @param {string} text */
  notice(text) {
    this.note.textContent = text;
    this.resize();
  }

  width() {
    return Math.max(this.charts.clientWidth, 200);
  }

  panelHeight() {
    const heads = this.panels.reduce((sum, one) => sum + one.head.node.offsetHeight, 0);
    const others = this.bar.offsetHeight + this.lane.offsetHeight + this.time.offsetHeight + this.note.offsetHeight + heads + 22 + 14;
    return Math.max(LEAST_PANEL_HEIGHT, Math.floor((innerHeight - others) / Math.max(1, this.panels.length)));
  }

  resize() {
    const height = this.panelHeight();
    this.panels.forEach(({ u }, i) => {
      const wished = { width: this.width(), height: height + (i === this.panels.length - 1 ? 22 : 0) };
      if (u && (u.width !== wished.width || u.height !== wished.height)) u.setSize(wished);
    });
    this.placeCells();
  }

  /** Shows a part of the axis; never less than there is data for, never beyond the ends. */
  show(/** @type {number} */ from, /** @type {number} */ to) {
    const { begin, end } = this.map;
    const least = (end - begin) * (this.finer?.isHeard ? LEAST_FINE_VIEW : LEAST_VIEW);
    const length = Math.min(Math.max(to - from, least), end - begin);
    const first = Math.min(Math.max(from, begin), end - length);
    this.view = [first, first + length];
    this.refresh();
  }

  reset() {
    this.show(this.map.begin, this.map.end);
  }

  /** @param {number} share of what is shown; to the right when positive */
  pan(share) {
    const by = share * (this.view[1] - this.view[0]);
    this.show(this.view[0] + by, this.view[1] + by);
  }

  /** @param {number} factor below 1: nearer @param {number} [at] what stays in place */
  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    this.show(at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor);
  }

  /** The next cell (or the one before) fills the view. @param {number} step */
  zoomToNeighbour(step) {
    const middle = this.map.toTime((this.view[0] + this.view[1]) / 2);
    const { cells } = this.data;
    const isWhole = this.view[0] <= this.map.begin && this.view[1] >= this.map.end;
    let at = cells.findIndex((cell) => cell.begin_s <= middle && middle <= (cell.end_s ?? Infinity));
    if (isWhole) at = step > 0 ? -1 : cells.length;
    else if (at < 0) at = cells.filter((cell) => cell.begin_s < middle).length - (step > 0 ? 1 : 0);
    const cell = cells[Math.min(Math.max(at + step, 0), cells.length - 1)];
    if (cell) this.zoomTo(cell);
  }

  /** @param {import("./model.js").Cell} cell */
  zoomTo(cell) {
    const end = cell.end_s ?? this.data.edges_s[this.data.edges_s.length - 1];
    const spans = this.map.spans(cell.begin_s, end);
    if (!spans.length) return;
    const [from, to] = [spans[0][0], spans[spans.length - 1][1]];
    this.show(from - 0.03 * (to - from), to + 0.03 * (to - from));
  }

  /** @param {boolean} isCut */
  cut(isCut) {
    const times = this.view.map((x) => this.map.toTime(x));
    const isWhole = this.view[0] <= this.map.begin && this.view[1] >= this.map.end;
    this.isCut = isCut;
    this.map = new TimeMap(this.data.edges_s, this.data.cells, isCut);
    const spans = this.map.spans(times[0], times[1]);
    const keep = !isWhole && spans.length > 0;
    this.view = keep ? [spans[0][0], spans[spans.length - 1][1]] : [this.map.begin, this.map.end];
    this.draw();
  }

  clearCursor() {
    for (const { u } of this.panels) u.setCursor({ left: -10, top: -10 });
    this.showCursor(null);
  }

  /** After another view: the lines, the cells above them, and the words. */
  refresh() {
    for (const { u } of this.panels) u.setScale("x", { min: this.view[0], max: this.view[1] });
    this.placeCells();
    this.showCursor(null);
    this.finer?.follow();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.say(), SAY_AFTER_MS);
  }

  placeCells() {
    const [from, to] = this.view;
    const width = this.width() - AXIS_WIDTH - RIGHT_PAD;
    const last = this.data.edges_s[this.data.edges_s.length - 1];
    this.lane.replaceChildren(
      ...this.data.cells.flatMap((cell) =>
        this.map.spans(cell.begin_s, cell.end_s ?? last).map(([begin, end]) => {
          const left = ((Math.max(begin, from) - from) / (to - from)) * width;
          const right = ((Math.min(end, to) - from) / (to - from)) * width;
          if (right < 0 || left > width) return null;
          const took = duration((cell.end_s ?? last) - cell.begin_s);
          const texts = [`${cell.label} · ${took}${isBad(cell) ? ` · ${cell.outcome}` : ""}`, cell.label, ""];
          const text = texts.find((one) => right - Math.max(left, 0) > 8 + 6.5 * one.length);
          const mark = element("span", {
            class: `cell${isBad(cell) ? " bad" : ""}${right - left < 14 ? " small" : ""}`,
            title: `${cell.label} · ${took} · ${cell.outcome ?? "running"}\n${cell.code}`,
            onclick: () => this.zoomTo(cell),
          }, text ?? "");
          mark.style.left = `${AXIS_WIDTH + left}px`;
          mark.style.width = `${Math.max(right - left, 2)}px`;
          return mark;
        }),
      ).filter((one) => one),
    );
  }

  /** The values at a point of all panels; without one, the figures of what is shown. @param {number|null} point */
  showCursor(point) {
    const at = point == null ? null : this.map.points[point];
    const [begin, end] = this.view.map((x) => this.map.toTime(x));
    for (const { head, panel, metric } of this.panels) {
      head.values.forEach((/** @type {HTMLElement} */ node, /** @type {number} */ i) => {
        const track = panel.tracks[i];
        if (at == null || at.bucket < 0) {
          const { mean, peak } = figures(this.data, track, begin, end);
          node.textContent = `mean ${quantity(mean, metric.unit)} · peak ${quantity(peak, metric.unit)}`;
          return;
        }
        const [mean, low, high] = [track.mean, track.min, track.max].map((values) => values?.[at.bucket]);
        const range = low != null && high != null && low !== high;
        node.textContent =
          quantity(mean, metric.unit) + (range ? ` (${quantity(low, metric.unit)} to ${quantity(high, metric.unit)})` : "");
      });
      if (head.ofHeat) head.ofHeat(at == null || at.bucket < 0 ? null : at.bucket, begin, end);
    }
    this.time.textContent = at == null || at.bucket < 0 ? this.rangeText(begin, end) : this.timeText(this.map.toTime(at.x));
  }

  /** @param {number} time */
  clock(time) {
    return new Date(1000 * (this.data.begin_wall_s + time)).toLocaleTimeString([], { hour12: false });
  }

  /** @param {number} time */
  timeText(time) {
    const cell = cellAt(this.data, time);
    const gap = this.data.gaps.find((one) => one.begin_s <= time && time <= one.end_s);
    const step = (this.view[1] - this.view[0]) / 500;
    return [elapsed(time, Math.min(step, 1)), this.clock(time), cell?.label ?? "between cells", gap && `no data: ${gap.reason}`]
      .filter(Boolean)
      .join(" · ");
  }

  /** @param {number} begin @param {number} end */
  rangeText(begin, end) {
    const step = (end - begin) / 100;
    return `${elapsed(begin, step)} to ${elapsed(end, step)} · ${this.clock(begin)} to ${this.clock(end)}`;
  }

  /** What a reader of the screen hears: what is shown, of when, and how much it was. */
  say() {
    const [begin, end] = this.view.map((x) => this.map.toTime(x));
    const cells = this.data.cells.filter((cell) => cell.begin_s < end && (cell.end_s ?? Infinity) > begin);
    const names = cells.length > 4 ? `${cells.length} cells, ${cells[0].label} to ${cells[cells.length - 1].label}` : cells.map((cell) => cell.label).join(", ") || "no cell";
    const parts = this.panels.map(({ metric, panel, level }) => {
      const tracks = isHeat(metric, panel) ? [] : panel.tracks;
      const each = tracks.slice(0, PALETTE.length).map((track) => {
        const { mean, peak } = figures(this.data, track, begin, end);
        return `${track.name}: mean ${quantity(mean, metric.unit)}, peak ${quantity(peak, metric.unit)}`;
      });
      return `${metric.title} of level ${level}${each.length ? "; " + each.join("; ") : `, ${panel.tracks.length} rows`}.`;
    });
    const group = this.data.group ? `${this.data.group}, ` : "";
    this.said.textContent = `Shown: ${group}${names}; ${this.rangeText(begin, end)}. ${parts.join(" ")}`;
  }

  /** @param {string} kind "png", "svg" or "csv" */
  download(kind) {
    return download(this, kind);
  }
}

/** @param {HTMLElement} host @param {PlotData} data */
export function showPlot(host, data) {
  return new Plot(host, data);
}
