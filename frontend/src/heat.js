// Many tracks as one picture: a row a core, the stronger the busier. Unknown stays empty.

/** @typedef {import("./model.js").PanelData} PanelData */

const COLOUR = [59, 130, 246];
const IDLE_ALPHA = 0.04;

/** The largest value that the strongest colour stands for. @param {PanelData} panel */
export function heatTop(panel) {
  if (panel.max) return panel.max;
  let top = 0;
  for (const track of panel.tracks) for (const value of track.mean) top = Math.max(top, value ?? 0);
  return top || 1;
}

/**
 * A picture of one pixel a bucket and core, core 0 in the last row.
 * @param {PanelData} panel
 */
export function heatImage(panel) {
  const [width, height] = [panel.tracks[0].mean.length, panel.tracks.length];
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  if (!context || !width) return canvas;
  const image = context.createImageData(width, height);
  const top = heatTop(panel);
  panel.tracks.forEach((track, row) => {
    const start = (height - 1 - row) * width;
    track.mean.forEach((value, i) => {
      if (value == null) return;
      const share = Math.min(Math.max(value / top, 0), 1);
      image.data.set([...COLOUR, 255 * (IDLE_ALPHA + (1 - IDLE_ALPHA) * share)], 4 * (start + i));
    });
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * @param {any} u uPlot @param {HTMLCanvasElement} image @param {number[]} edges
 * @param {import("./timemap.js").TimeMap} map
 */
export function drawHeat(u, image, edges, map) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.imageSmoothingEnabled = false;
  for (let i = 0; i + 1 < edges.length; i += 1) {
    for (const [from, to] of map.spans(edges[i], edges[i + 1])) {
      if (to < u.scales.x.min || from > u.scales.x.max) continue;
      const left = Math.round(u.valToPos(from, "x", true));
      const right = Math.max(Math.round(u.valToPos(to, "x", true)), left + 1);
      ctx.drawImage(image, i, 0, 1, image.height, left, bbox.top, right - left, bbox.height);
    }
  }
  ctx.restore();
}
