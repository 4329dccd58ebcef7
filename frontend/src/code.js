// Python's words told apart by colour: comments, strings, numbers, keywords. What it doesn't know is plain.

import { element } from "./dom.js";

const KEYWORDS =
  "False None True and as assert async await break class continue def del elif else except finally for from " +
  "global if import in is lambda nonlocal not or pass raise return try while with yield match case";
const TOKEN = new RegExp(
  [
    /(?<comment>#[^\n]*)/,
    /(?<string>\b[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$))|\b[rbfuRBFU]{0,2}(?:"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
    /(?<number>\b\d[\w.]*)/,
    /(?<word>[^\W\d]\w*)/,
    /(?<magic>^[ \t]*[%!][^\n]*)/,
  ].map((one) => one.source.replaceAll("\\b[rbfu", "(?<!\\w)[rbfu")).join("|"),
  "gm",
);
const IS_KEYWORD = new Set(KEYWORDS.split(" "));

/** @param {string} code @returns {Node[]} */
export function coloured(code) {
  /** @type {Node[]} */
  const nodes = [];
  let done = 0;
  for (const found of code.matchAll(TOKEN)) {
    const [kind] = Object.entries(found.groups ?? {}).find(([, text]) => text !== undefined) ?? ["word"];
    const name = kind === "word" ? (IS_KEYWORD.has(found[0]) ? "keyword" : "") : kind;
    if (!name) continue;
    nodes.push(document.createTextNode(code.slice(done, found.index)), element("span", { class: name }, found[0]));
    done = (found.index ?? 0) + found[0].length;
  }
  nodes.push(document.createTextNode(code.slice(done)));
  return nodes;
}
