// Finer data of the part of time that is shown, from a kernel that listens (python/jumper/widget.js
// brings the messages there and back). The page says that it is ready, asks only when it is
// answered, one question at a time, and takes nothing from an answer but numbers. The data of the
// whole stay: a window's buckets are laid into them.

/** @typedef {import("./plot.js").Plot} Plot */
/** @typedef {import("./model.js").PlotData} PlotData */
/** @typedef {{begin: number, end: number, data: PlotData, isFinest: boolean}} Window */

const ASK_AFTER_MS = 150;
const PATIENCE_MS = 10_000; // with a kernel that doesn't answer; it may be busy
const FEW = 240; // buckets in view: with fewer there is more to be seen
const OF_SAMPLES = 450; // an answer with fewer buckets (of 600) has one for each sample
const MARGIN = 0.5; // of what is shown, on either side
const MOST_WINDOWS = 8;
const MOST_BUCKETS = 5000;
const MOST_TEXT = 300;
const ROUNDING = 1e-5; // seconds

export class Finer {
  /** @param {Plot} plot */
  constructor(plot) {
    this.plot = plot;
    this.whole = plot.data;
    this.channel = /** @type {any} */ (plot.data).channel;
    this.isHeard = false;
    /** @type {Window[]} */
    this.windows = [];
    /** @type {{id: number, since: number, begin: number, end: number, view: string}|null} */
    this.asked = null;
    this.answered = ""; // the view that was asked for last
    this.count = 0; // of questions
    this.laid = 0; // windows that were laid in
    if (typeof this.channel !== "string" || parent === window) return;
    addEventListener("message", (event) => event.source === parent && this.hear(event.data));
    addEventListener("mousedown", () => (this.isPressed = true), true);
    addEventListener("mouseup", () => (this.isPressed = false), true);
    this.post({ kind: "ready" });
  }

  /** @param {object} message */
  post(message) {
    parent.postMessage({ ...message, channel: this.channel }, "*");
  }

  /** @param {any} message */
  hear(message) {
    if (typeof message?.channel !== "string") return;
    if (message.kind === "hello" && this.channel.startsWith(`${message.channel}/`)) this.post({ kind: "ready" });
    if (message.channel !== this.channel) return;
    if (message.kind === "listening") {
      this.isHeard = true;
      this.asked = null;
      document.documentElement.dataset.listening = "true";
      this.follow();
    } else if (message.kind === "finer" && this.asked && message.id === this.asked.id) {
      this.take(message, this.asked);
    }
  }

  shown() {
    const [from, to] = this.plot.view;
    return { begin: this.plot.map.toTime(from), end: this.plot.map.toTime(to) };
  }

  /** The narrowest window that has all of what is shown. @returns {Window|undefined} */
  best() {
    const { begin, end } = this.shown();
    const fit = this.windows.filter((one) => one.begin <= begin && end <= one.end);
    return fit.sort((a, b) => a.end - a.begin - (b.end - b.begin))[0];
  }

  /** After another view: the data that have most of it, and soon a question. */
  follow() {
    if (!this.isHeard) return;
    const data = this.best()?.data ?? this.whole;
    if (data !== this.plot.data) this.plot.use(data);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), ASK_AFTER_MS);
  }

  ask() {
    const { begin, end } = this.shown();
    const edges = this.whole.edges_s;
    const [first, last] = [edges[0], edges[edges.length - 1]];
    const view = `${begin} ${end}`;
    const [from, to] = this.plot.view;
    const seen = this.plot.map.points.filter(({ bucket, x }) => bucket >= 0 && x >= from && x <= to).length;
    if (!(end > begin) || (begin <= first && end >= last)) return;
    if (seen >= FEW || this.best()?.isFinest || view === this.answered) return;
    const now = performance.now();
    if (this.asked && now - this.asked.since < PATIENCE_MS) {
      this.timer = setTimeout(() => this.ask(), ASK_AFTER_MS);
      return;
    }
    const more = MARGIN * (end - begin);
    const asked = {
      id: (this.count += 1),
      since: now,
      begin: Math.max(first, rounded(begin - more)),
      end: Math.min(last, rounded(end + more)),
      view,
    };
    this.asked = asked;
    this.post({ kind: "finer", id: asked.id, begin_s: asked.begin, end_s: asked.end });
  }

  /** @param {any} message @param {{id: number, begin: number, end: number, view: string}} asked */
  async take(message, asked) {
    const root = document.documentElement;
    try {
      if (typeof message.error === "string") throw new Error(message.error);
      const fine = JSON.parse(await unpacked(message.packed));
      while (this.isPressed) await new Promise((next) => addEventListener("mouseup", next, { once: true }));
      if (this.asked !== asked) return; // a kernel that was waited for too long
      const data = spliced(this.whole, fine, asked.begin, asked.end);
      this.windows.push({ begin: asked.begin, end: asked.end, data, isFinest: fine.edges_s.length <= OF_SAMPLES });
      this.windows.splice(0, this.windows.length - MOST_WINDOWS);
      root.dataset.finer = String((this.laid += 1));
      this.plot.notice("");
    } catch (error) {
      this.plot.notice(`No finer data: ${/** @type {Error} */ (error).message}`.slice(0, MOST_TEXT));
    }
    this.answered = asked.view;
    this.asked = null;
    this.follow();
  }
}

/** Times travel as microseconds. @param {number} time_s */
const rounded = (time_s) => Math.round(time_s * 1e6) / 1e6;

/** @param {ArrayBuffer} packed */
function unpacked(packed) {
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

/**
 * The whole with a window's buckets in place of its own; those at the window's edges are cut.
 * @param {PlotData} whole @param {any} fine @param {number} begin @param {number} end
 * @returns {PlotData}
 */
export function spliced(whole, fine, begin, end) {
  const inner = checkedEdges(fine?.edges_s, begin, end);
  const count = inner.length - 1;
  const edges = whole.edges_s;
  const before = edges.findIndex((edge) => edge >= begin); // buckets that begin before the window
  const behind = edges.findLastIndex((edge) => edge <= end); // the first bucket that ends behind it
  /** @param {(number|null)[]} outer @param {(number|null)[]} values */
  const joined = (outer, values) => [...outer.slice(0, before), ...values, ...outer.slice(behind)];
  const unknown = Array(count).fill(null);
  /** @param {any} track @param {any} found */
  const track = (track, found) => {
    const mean = found ? checked(found.mean, count) : unknown;
    const made = { name: track.name, mean: joined(track.mean, mean) };
    if (!track.max && !found?.max) return made;
    const [min, max] = found?.max ? [checked(found.min, count), checked(found.max, count)] : [mean, mean];
    return { ...made, min: joined(track.min ?? track.mean, min), max: joined(track.max ?? track.mean, max) };
  };
  const metrics = whole.metrics.map((metric) => {
    const other = fine.metrics.find((/** @type {any} */ one) => one.id === metric.id);
    const panels = Object.entries(metric.panels).map(([level, panel]) => {
      const found = new Map(other?.panels[level]?.tracks.map((/** @type {any} */ one) => [one.name, one]));
      return [level, { ...panel, tracks: panel.tracks.map((one) => track(one, found.get(one.name))) }];
    });
    return { ...metric, panels: Object.fromEntries(panels) };
  });
  const outer = [edges.slice(0, before), edges.slice(behind + 1)];
  return { ...whole, edges_s: [...outer[0], ...inner, ...outer[1]], metrics };
}

/** @param {any} edges @param {number} begin @param {number} end @returns {number[]} */
function checkedEdges(edges, begin, end) {
  const isOurs =
    Array.isArray(edges) && edges.length >= 2 && edges.length <= MOST_BUCKETS &&
    edges.every((edge, i) => Number.isFinite(edge) && (i === 0 || edge >= edges[i - 1])) &&
    Math.abs(edges[0] - begin) < ROUNDING && Math.abs(edges[edges.length - 1] - end) < ROUNDING;
  if (!isOurs) throw new Error("the answer is of another time");
  return [begin, ...edges.slice(1, -1), end];
}

/** @param {any} values @param {number} count @returns {(number|null)[]} */
function checked(values, count) {
  const isOurs = Array.isArray(values) && values.length === count;
  if (!isOurs || !values.every((one) => one === null || Number.isFinite(one))) throw new Error("the answer isn't numbers");
  return values;
}
