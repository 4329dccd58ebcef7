// Makes the one page out of src and uPlot: node build.mjs OUTPUT
// The page holds its program deflated, a policy that lets only that program run, and the line
// "@data@", in whose place the data goes (python/jumper/page.py, src/view/page.cpp).

import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";

import { buildSync, transformSync } from "esbuild";

const folder = dirname(fileURLToPath(import.meta.url));
const read = (name) => readFileSync(join(folder, name), "utf8");
const source = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const TARGET = ["chrome103", "firefox113", "safari16.4"]; // what has DecompressionStream

const css = read("node_modules/uplot/dist/uPlot.min.css") + read("src/page.css");
const style = transformSync(css, { loader: "css", minify: true, target: TARGET }).code.trim();
const program = buildSync({
  entryPoints: [join(folder, "src/page.js")],
  bundle: true,
  write: false,
  minify: true,
  format: "iife",
  target: TARGET,
  charset: "utf8",
  legalComments: "none",
  define: { JUMPER_STYLE: JSON.stringify(style) },
}).outputFiles[0].text;
const whole = `/* uPlot: ${read("node_modules/uplot/LICENSE").trim()} */\n${program}`;
const boot = transformSync(read("src/boot.js"), { minify: true, target: TARGET }).code.trim();
const policy =
  `default-src 'none'; script-src ${source(boot)} ${source(whole)}; style-src ${source(style)}; ` +
  "img-src data: blob:; base-uri 'none'; form-action 'none'";
const parts = {
  csp: policy,
  program: deflateSync(Buffer.from(whole), { level: 9 }).toString("base64"),
  boot,
};
for (const [name, text] of Object.entries({ whole, boot })) {
  if (/<\/script|<!--/i.test(text)) throw new Error(`${name} would end its own script element`);
}
const page = read("src/page.html").replace(/@(csp|program|boot)@/g, (_, name) => parts[name]);
const output = process.argv[2];
writeFileSync(`${output}.${process.pid}`, page);
renameSync(`${output}.${process.pid}`, output); // another build may read it at this moment
