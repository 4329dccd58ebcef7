// Light or dark: as the notebook is, else as the system is. A sandboxed page can't ask the notebook,
// but its height tells: so many pixels more than a multiple of 12 (python/jumper/page.py).

const STEP = 12;
const DARK = 4;
const LIGHT = 8;
const ROUNDING = 1; // of a zoomed browser

const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const more = parent === window ? 0 : innerHeight % STEP;
  if (Math.abs(more - DARK) <= ROUNDING) return true;
  return Math.abs(more - LIGHT) <= ROUNDING ? false : system.matches;
}

/** Sets the theme now and whenever it changes, and says so. @param {() => void} onChange */
export function followTheme(onChange) {
  const root = document.documentElement;
  const set = () => {
    const name = isDark() ? "dark" : "light";
    if (root.dataset.theme === name) return;
    const isFirst = !root.dataset.theme;
    root.dataset.theme = name;
    if (!isFirst) onChange();
  };
  set();
  system.addEventListener("change", set);
  addEventListener("resize", set);
}
