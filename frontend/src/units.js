// Numbers as people read them: three digits and a unit, the same as in the summaries.

const STEP = 1024;
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const DECIMAL = ["", "k", "M", "G", "T"];

/** @param {number} value */
function threeDigits(value) {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return value.toFixed(0);
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

/** @param {string} unit */
export const isBytes = (unit) => unit === "B" || unit === "B/s";

/**
 * "1.52 GiB", "98.7 %", "12.3 k"; "–" for what isn't known.
 * @param {number|null|undefined} value
 * @param {string} unit
 */
export function quantity(value, unit) {
  if (value == null || !Number.isFinite(value)) return "–";
  const base = isBytes(unit) ? STEP : 1000;
  const prefixes = isBytes(unit) ? BINARY : DECIMAL;
  let power = 0;
  let shown = value;
  while (unit !== "%" && Math.abs(shown) >= base * 0.9995 && power + 1 < prefixes.length) {
    shown /= base;
    power += 1;
  }
  const text = power === 0 && Number.isInteger(shown) ? String(shown) : threeDigits(shown);
  return `${text} ${prefixes[power]}${unit}`.trim();
}

/**
 * The values of an axis's lines, all in one unit, without needless digits.
 * @param {number[]} values
 * @param {string} unit
 */
export function axisTexts(values, unit) {
  const most = Math.max(...values.map(Math.abs), 0);
  const base = isBytes(unit) ? STEP : 1000;
  const prefixes = isBytes(unit) ? BINARY : DECIMAL;
  let power = 0;
  while (unit !== "%" && most / base ** power >= base && power + 1 < prefixes.length) power += 1;
  return values.map((value) => {
    const shown = Number((value / base ** power).toPrecision(6));
    return value === 0 ? "0" : `${shown} ${prefixes[power]}${unit}`.trim();
  });
}

/**
 * A time since the begin, as far as `step` between neighbours needs it: "12.5 s", "3:20", "1:02:05".
 * @param {number} time_s
 * @param {number} step_s
 */
export function elapsed(time_s, step_s) {
  const digits = step_s < 1 ? Math.min(6, Math.ceil(-Math.log10(step_s) - 1e-9)) : 0;
  if (Math.abs(time_s) < 60) return `${time_s.toFixed(digits)} s`;
  const sign = time_s < 0 ? "−" : "";
  const whole = Number(Math.abs(time_s).toFixed(digits));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const seconds = (whole % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  const clock = hours ? `${hours}:${String(minutes).padStart(2, "0")}` : String(minutes);
  return `${sign}${clock}:${seconds}`;
}

/** How long something took: "350 ms", "6.02 s", "2:05", "1:02:05". @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.9995) return `${threeDigits(seconds * 1000)} ms`;
  return seconds < 60 ? `${threeDigits(seconds)} s` : elapsed(seconds, 1);
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];

/** A round step of at least so many seconds. @param {number} least_s */
export function roundStep(least_s) {
  if (least_s < 1) {
    const power = 10 ** Math.floor(Math.log10(least_s));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least_s * 0.999999);
  }
  return STEPS_S.find((step) => step >= least_s) ?? Math.ceil(least_s / 86400) * 86400;
}

/** A top for an axis whose lines shall be round. @param {number} value @param {string} unit */
export function roundTop(value, unit) {
  if (value <= 0) return 1;
  const base = isBytes(unit) ? STEP ** Math.max(0, Math.floor(Math.log(value) / Math.log(STEP))) : 1;
  const power = 10 ** Math.floor(Math.log10(value / base));
  const factor = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((one) => one * power * base >= value * 0.999999);
  return (factor ?? 10) * power * base;
}
