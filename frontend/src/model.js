// What is asked of the plot's data: which metric at which level, and the figures of a view.

/** @typedef {{name: string, mean: (number|null)[], min?: (number|null)[], max?: (number|null)[]}} Track */
/** @typedef {{label: string, value: number}} Line */
/** @typedef {{lines?: Line[], max?: number, tracks: Track[]}} PanelData */
/** @typedef {{id: string, title: string, unit: string, colour?: number, note?: string, panels: Object<string, PanelData>}} Metric */
/** @typedef {{index: number, execution_count: number|null, label: string, begin_s: number,
 *   end_s: number|null, outcome: string|null, code: string}} Cell */
/** @typedef {{begin_s: number, end_s: number, reason: string}} Gap */
/** @typedef {{label: string, host: string, group?: string, begin_wall_s: number, level: string, levels: string[],
 *   shown: string[], cut?: boolean, edges_s: number[], cells: Cell[], gaps: Gap[], metrics: Metric[]}} PlotData */

export const PALETTE = ["#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#06b6d4"];
/** @param {Metric} metric @param {number} track */
export const colourOf = (metric, track) => PALETTE[((metric.colour ?? 0) + track) % PALETTE.length];
export const LEVELS = {
  process: "this notebook",
  user: "all of the user's",
  job: "the whole job",
  node: "the whole machine",
};

/**
 * A metric's data at the wished level, else at the nearest one that has it.
 * @param {PlotData} data @param {Metric} metric @param {string} level
 * @returns {{level: string, panel: PanelData}}
 */
export function panelOf(data, metric, level) {
  const levels = [level, ...data.levels, ...Object.keys(metric.panels)];
  const found = levels.find((one) => Object.hasOwn(metric.panels, one));
  return { level: found ?? level, panel: found ? metric.panels[found] : { tracks: [] } };
}

/** One row a core says more than sixteen lines over each other. @param {Metric} metric @param {PanelData} panel */
export function isHeat(metric, panel) {
  return /_cores$/.test(metric.id) || panel.tracks.length > PALETTE.length;
}

/**
 * Mean over time and largest value of a track between two times; null where nothing is known.
 * @param {PlotData} data @param {Track} track @param {number} begin @param {number} end
 */
export function figures(data, track, begin, end) {
  let [sum, weight, peak] = [0, 0, -Infinity];
  const edges = data.edges_s;
  for (let i = 0; i < track.mean.length; i += 1) {
    const mean = track.mean[i];
    const overlap = Math.min(edges[i + 1], end) - Math.max(edges[i], begin);
    if (mean == null || !(overlap > 0)) continue;
    sum += mean * overlap;
    weight += overlap;
    peak = Math.max(peak, track.max?.[i] ?? mean);
  }
  return weight > 0 ? { mean: sum / weight, peak } : { mean: null, peak: null };
}

/** The cell that ran at a time. @param {PlotData} data @param {number} time */
export function cellAt(data, time) {
  return data.cells.find((cell) => cell.begin_s <= time && time <= (cell.end_s ?? Infinity)) ?? null;
}

/** Whether an outcome is one to look at. @param {Cell} cell */
export const isBad = (cell) => cell.outcome != null && !["ok", "running"].includes(cell.outcome);
