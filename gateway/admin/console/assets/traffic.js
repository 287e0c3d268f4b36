// What was seen of the traffic stays while the console is open, whichever page is shown.
import { get } from './api.js';
import { chart } from './chart.js';
import { number, seconds } from './time.js';

const mostIntervals = 180;
let intervals = [];

export async function read(signal) {
  const { intervals: fresh } = await get(`/admin/traffic?after=${encodeURIComponent(intervals.at(-1)?.time ?? '')}`, signal);
  const last = intervals.at(-1)?.time ?? '';
  intervals = [...intervals, ...fresh.filter((i) => i.time > last)].slice(-mostIntervals);
}

export const latest = () => intervals.at(-1);

// flowOf is the flow of an interval: all of it, or that to a region.
const flowOf = (i, region) => (region ? i.regions.find((r) => r.region === region) : i) ?? {};
export const rate = (i, key, region) => (i?.seconds > 0 ? (flowOf(i, region)[key] ?? 0) / i.seconds : 0);

// charts of everything, or of a region.
export function charts(id, { region, large } = {}) {
  const per = (name, kind, key) => ({ name, kind, of: (i) => rate(i, key, region) });
  const took = (name, kind, key) => ({ name, kind, of: (i) => flowOf(i, region)[key] ?? 0 });
  const draw = (name, title, series, write) => chart(`${id}-${name}`, title, intervals, series, write, { large });
  return [
    draw('requests', 'Requests per second', [per('all', 'first', 'requests')], number),
    draw('errors', 'Errors per second', [per('failed', 'second', 'failures'), per('refused', 'third', 'refusals')], number),
    draw('time', 'Time', [took('p95', 'first', 'p95'), took('mean', 'third', 'mean')], seconds),
    region ? '' : draw('under-way', 'In progress', [took('requests', 'first', 'inFlight')], number)];
}

// small is the chart of a region beside others.
export const small = (region) => chart(`small-${region}`, 'A second', intervals, [
  { name: 'requests', kind: 'first', of: (i) => rate(i, 'requests', region) }, { name: 'failures', kind: 'second', of: (i) => rate(i, 'failures', region) }], number);
