// The page of the history: every cell one row; typing filters, a header sorts, a row shows its code.

import { coloured } from "./code.js";
import { element } from "./dom.js";
import { followTheme } from "./theme.js";
import { duration, quantity } from "./units.js";

/**
 * @typedef {{index: number, execution_count: number|null, begin: string, duration_s: number,
 *   cpu_percent: number|null, memory_bytes: number|null, io_bytes: number|null,
 *   gpu_percent: number|null, outcome: string, code: string, is_cut: boolean, group?: string, label?: string}} Entry
 *   A group has a label, and comes before its cells; these have the group's name.
 * @typedef {{name: string, of: (one: Entry) => any, text?: (one: Entry) => string, top?: number, width: string,
 *   wide?: boolean}} Column
 */

/** @type {Column[]} */
const COLUMNS = [
  { name: "#", of: (one) => one.index, text: (one) => one.label ?? `#${one.index}`, width: "3.2em" },
  { name: "In", of: (one) => one.execution_count, text: (one) => (one.execution_count == null ? "–" : `[${one.execution_count}]`), width: "3.4em" },
  { name: "code", of: (one) => one.code, width: "auto" },
  { name: "duration", of: (one) => one.duration_s, text: (one) => duration(one.duration_s), width: "5.6em" },
  { name: "CPU", of: (one) => one.cpu_percent, text: (one) => quantity(one.cpu_percent, "%"), top: 100, width: "5.2em" },
  { name: "peak", of: (one) => one.memory_bytes, text: (one) => quantity(one.memory_bytes, "B"), width: "6em" },
  { name: "I/O", of: (one) => one.io_bytes, text: (one) => quantity(one.io_bytes, "B"), width: "6em", wide: true },
  { name: "GPU", of: (one) => one.gpu_percent, text: (one) => quantity(one.gpu_percent, "%"), top: 100, width: "5.2em", wide: true },
  { name: "outcome", of: (one) => one.outcome, text: (one) => (one.outcome === "ok" ? "✓ ok" : one.outcome), width: "8.6em", wide: true },
];
/** @type {Object<string, string>} */
const OUTCOMES = { ok: "good", running: "note" };
const BARS = new Set(["duration", "CPU", "peak", "I/O", "GPU"]);

class History {
  /** @param {HTMLElement} host @param {{cells: Entry[]}} data */
  constructor(host, data) {
    this.cells = data.cells;
    const hasGpu = this.cells.some((one) => one.gpu_percent != null);
    this.columns = COLUMNS.filter((column) => column.name !== "GPU" || hasGpu);
    /** @type {Map<Column, number>} */
    this.tops = new Map(
      this.columns.map((column) => [column, column.top ?? Math.max(...this.cells.map((one) => Number(column.of(one)) || 0), 0)]),
    );
    this.sorted = this.columns[0];
    this.isDown = false;
    /** @type {Set<number>} */
    this.open = new Set();
    this.search = element("input", {
      type: "search", placeholder: "search code, outcome, number", "aria-label": "Search the history", oninput: () => this.fill(),
    });
    this.count = element("span", { class: "note", role: "status" });
    this.heads = element("tr");
    this.body = element("tbody");
    followTheme(() => {}); // all its colours are the style sheet's
    host.classList.add("history");
    host.append(
      element("header", { class: "bar" }, this.search, this.count),
      element("div", { class: "scroll" }, element("table", {}, this.widths(), element("thead", {}, this.heads), this.body)),
    );
    this.fill();
  }

  widths() {
    const list = this.columns.map((column) => {
      const one = element("col", { class: column.wide ? "wide" : null });
      one.style.width = column.width;
      return one;
    });
    return element("colgroup", {}, ...list);
  }

  /** @param {Column} column */
  sort(column) {
    this.isDown = this.sorted === column ? !this.isDown : BARS.has(column.name);
    this.sorted = column;
    this.fill();
  }

  found() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (/** @type {Entry} */ one) => {
      const text = `#${one.index} [${one.execution_count}] in [${one.execution_count}] ${one.outcome} ${one.label ?? ""} ${one.group ?? ""} ${one.code}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const { of } = this.sorted;
    const sign = this.isDown ? -1 : 1;
    return this.cells.filter(matches).sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      if (x == null || y == null) return Number(x == null) - Number(y == null); // unknown comes last
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.index - b.index;
    });
  }

  fill() {
    const found = this.found();
    const cells = this.cells.filter((one) => one.label == null).length;
    const shown = found.filter((one) => one.label == null).length;
    this.count.textContent = shown === cells ? `${cells} cells` : `${shown} of ${cells} cells`;
    this.heads.replaceChildren(
      ...this.columns.map((column) => {
        const isSorted = column === this.sorted;
        const arrow = isSorted ? (this.isDown ? " ↓" : " ↑") : "";
        return element(
          "th",
          { scope: "col", class: column.wide ? "wide" : null, "aria-sort": isSorted ? (this.isDown ? "descending" : "ascending") : null },
          element("button", { type: "button", onclick: () => this.sort(column) }, column.name + arrow),
        );
      }),
    );
    this.body.replaceChildren(...found.flatMap((one) => this.rows(one)));
  }

  /** @param {Entry} one */
  rows(one) {
    const isOpen = this.open.has(one.index);
    const toggle = () => {
      if (isOpen) this.open.delete(one.index);
      else this.open.add(one.index);
      this.fill();
      this.body.querySelector(`[data-index="${one.index}"] button`)?.focus();
    };
    const row = element(
      "tr",
      { "data-index": one.index, class: isOpen ? "open" : null, onclick: toggle },
      ...this.columns.map((column) => this.field(one, column, isOpen)),
    );
    if (!isOpen) return [row];
    const code = element("pre", {}, ...coloured(one.code), one.is_cut ? element("i", {}, `\n… the rest: %jumper code #${one.index}`) : null);
    return [row, element("tr", { class: "whole" }, element("td", { colspan: this.columns.length }, code))];
  }

  /** @param {Entry} one @param {Column} column @param {boolean} isOpen */
  field(one, column, isOpen) {
    if (column.name === "code") {
      const first = one.code.split("\n").find((line) => line.trim()) ?? "";
      return element(
        "td",
        { class: "code" },
        element("button", { type: "button", "aria-expanded": String(isOpen), "aria-label": `Code of ${one.label ?? `#${one.index}`}` }, isOpen ? "▾" : "▸"),
        one.group ? element("span", { class: "note" }, `${one.group} · `) : null,
        one.label ? element("b", {}, first) : element("code", {}, ...coloured(first.slice(0, 200))),
      );
    }
    const text = column.text?.(one) ?? "";
    const kind = [column.wide ? "wide" : "", BARS.has(column.name) ? "figure" : "", column.name === "outcome" ? (OUTCOMES[one.outcome] ?? "bad") : ""];
    const cell = element("td", { class: kind.filter(Boolean).join(" ") || null }, text);
    const top = this.tops.get(column) ?? 0;
    if (BARS.has(column.name) && column.of(one) != null && top > 0) {
      const bar = element("i", { class: `bar-${column.name.replace("/", "")}`, "aria-hidden": "true" });
      bar.style.width = `${Math.min(100, (100 * column.of(one)) / top)}%`;
      cell.append(element("span", { class: "track" }, bar));
    }
    return cell;
  }
}

/** @param {HTMLElement} host @param {any} data */
export function showHistory(host, data) {
  return new History(host, data);
}
