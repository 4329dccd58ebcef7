// Keys, wheel and drags that move the view. A wheel that turns only up and down scrolls the
// notebook, as everywhere: what moves time is a sideways wheel, or one with Control (or a pinch).

/** @typedef {import("./plot.js").Plot} Plot */

const PAN_SHARE = 0.2;
const ZOOM_FACTOR = 0.6;

/** @param {Plot} plot */
export function bindKeys(plot) {
  /** @type {Object<string, () => void>} */
  const actions = {
    ArrowLeft: () => plot.pan(-PAN_SHARE),
    ArrowRight: () => plot.pan(PAN_SHARE),
    "+": () => plot.zoom(ZOOM_FACTOR),
    "=": () => plot.zoom(ZOOM_FACTOR),
    "-": () => plot.zoom(1 / ZOOM_FACTOR),
    "0": () => plot.reset(),
    Home: () => plot.reset(),
    "[": () => plot.zoomToNeighbour(-1),
    "]": () => plot.zoomToNeighbour(1),
    Escape: () => (plot.help.open ? plot.help.close() : plot.clearCursor()),
    "?": () => plot.help.show(),
  };
  document.addEventListener("keydown", (event) => {
    const of = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (of.tagName === "SELECT" && event.key !== "Escape" && event.key !== "?") return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** @param {Plot} plot @param {number} pageX */
function placeOf(plot, pageX) {
  const { u } = plot.panels[0];
  return u.posToVal(pageX - u.over.getBoundingClientRect().left, "x");
}

/** @param {Plot} plot */
export function bindWheel(plot) {
  plot.charts.addEventListener(
    "wheel",
    (/** @type {WheelEvent} */ event) => {
      if (!plot.panels.length) return;
      const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
      if (event.ctrlKey) {
        plot.zoom(Math.exp(event.deltaY / 300), placeOf(plot, event.clientX));
      } else if (Math.abs(sideways) > Math.abs(event.deltaX === sideways ? event.deltaY : 0)) {
        plot.pan(sideways / plot.width());
      } else {
        return;
      }
      event.preventDefault();
    },
    { passive: false },
  );
}

/** @param {Plot} plot @param {MouseEvent} event @param {any} u */
export function startPan(plot, event, u) {
  const [from, to] = plot.view;
  const perPixel = (to - from) / (u.bbox.width / devicePixelRatio);
  const move = (/** @type {MouseEvent} */ now) => {
    const by = (event.clientX - now.clientX) * perPixel;
    plot.show(from + by, to + by);
  };
  const stop = () => {
    removeEventListener("mousemove", move);
    removeEventListener("mouseup", stop);
  };
  addEventListener("mousemove", move);
  addEventListener("mouseup", stop);
  event.preventDefault();
}
