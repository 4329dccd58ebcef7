// From seconds since the begin to places on the shown axis and back. Where the time between cells
// is cut out, the cells stand side by side with a narrow break between them.

/** @typedef {{begin: number, end: number, at: number}} Segment */
/** @typedef {{bucket: number, x: number}} Point  bucket is -1 in a break */

const BREAK_SHARE = 0.012; // of the shown time, each
const BREAKS_SHARE = 0.25; // all together

/** @param {{begin_s: number, end_s: number|null}[]} cells @param {number} first @param {number} last */
function joined(cells, first, last) {
  const spans = cells
    .map((cell) => [Math.max(cell.begin_s, first), Math.min(cell.end_s ?? last, last)])
    .filter(([begin, end]) => end > begin)
    .sort((a, b) => a[0] - b[0]);
  /** @type {number[][]} */
  const whole = [];
  for (const [begin, end] of spans) {
    const previous = whole[whole.length - 1];
    if (previous && begin <= previous[1]) previous[1] = Math.max(previous[1], end);
    else whole.push([begin, end]);
  }
  return whole;
}

export class TimeMap {
  /**
   * @param {number[]} edges
   * @param {{begin_s: number, end_s: number|null}[]} cells
   * @param {boolean} isCut
   */
  constructor(edges, cells, isCut) {
    const [first, last] = [edges[0], edges[edges.length - 1]];
    let spans = isCut ? joined(cells, first, last) : [];
    if (!spans.length) spans = [[first, last]];
    const total = spans.reduce((sum, [begin, end]) => sum + end - begin, 0);
    this.pause = total * Math.min(BREAK_SHARE, BREAKS_SHARE / spans.length);
    let at = spans.length > 1 ? 0 : spans[0][0];
    /** @type {Segment[]} */
    this.segments = spans.map(([begin, end]) => {
      const segment = { begin, end, at };
      at += end - begin + this.pause;
      return segment;
    });
    this.begin = this.segments[0].at;
    this.end = at - this.pause;
    /** @type {Point[]} */
    this.points = this.segments.flatMap((segment, i) => this.pointsOf(segment, edges, i > 0));
  }

  /**
   * The middle of each bucket, and the segment's two ends.
   * @param {Segment} segment @param {number[]} edges @param {boolean} afterBreak
   * @returns {Point[]}
   */
  pointsOf({ begin, end, at }, edges, afterBreak) {
    /** @type {Point[]} */
    const points = [];
    let bucket = Math.max(0, firstAbove(edges, begin) - 1);
    if (afterBreak) points.push({ bucket: -1, x: at - this.pause / 2 });
    const first = bucket;
    for (; bucket + 1 < edges.length && edges[bucket] < end; bucket += 1) {
      const middle = (Math.max(edges[bucket], begin) + Math.min(edges[bucket + 1], end)) / 2;
      if (bucket === first) points.push({ bucket, x: at });
      points.push({ bucket, x: at + middle - begin });
    }
    if (bucket > first) points.push({ bucket: bucket - 1, x: at + end - begin });
    return points;
  }

  /** @param {number} x @returns {number} seconds since the begin */
  toTime(x) {
    let of = this.segments[0];
    for (const segment of this.segments) if (segment.at <= x) of = segment;
    return Math.min(Math.max(of.begin + x - of.at, of.begin), of.end);
  }

  /**
   * The places of a span of time; several where breaks lie within it.
   * @param {number} begin @param {number} end
   * @returns {number[][]}
   */
  spans(begin, end) {
    return this.segments
      .filter((one) => begin < one.end && end > one.begin)
      .map((one) => [
        one.at + Math.max(begin, one.begin) - one.begin,
        one.at + Math.min(end, one.end) - one.begin,
      ]);
  }

  /**
   * Round times within a view, `least` apart at least.
   * @param {number} from @param {number} to @param {number} step_s @param {number} least
   * @returns {{x: number, time: number}[]}
   */
  ticks(from, to, step_s, least) {
    const found = [];
    let previous = -Infinity;
    for (const { begin, end, at } of this.segments) {
      if (at > to || at + end - begin < from) continue;
      const last = Math.min(end, begin + to - at);
      for (let k = Math.ceil((Math.max(begin, begin + from - at) - 1e-9) / step_s); k * step_s <= last + 1e-9; k += 1) {
        const x = at + k * step_s - begin;
        if (x - previous < least) continue;
        found.push({ x, time: k * step_s });
        previous = x;
      }
    }
    return found;
  }
}

/** The first index whose value is larger. @param {number[]} values @param {number} value */
export function firstAbove(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
