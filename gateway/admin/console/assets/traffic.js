// The traffic: of this replica as it comes, or of all replicas by the minutes that they stored.
import { get } from './api.js';
import { chart } from './chart.js';
import { el } from './dom.js';
import { to } from './links.js';
import { heading, note } from './parts.js';
import { number, seconds } from './time.js';

const ranges = { '15m': ['15 minutes', 900000], '1h': ['hour', 3600000], '6h': ['6 hours', 21600000], '24h': ['24 hours', 86400000] };
const mostIntervals = 180, storedFor = 20000;
let own = [], stored = {}; // they stay while the console is open, whichever page is shown

async function history(range, region, signal) {
  const path = `/admin/traffic?range=${range}&region=${encodeURIComponent(region)}`;
  if (stored.path !== path || Date.now() - stored.at > storedFor) stored = { path, at: Date.now(), intervals: (await get(path, signal)).intervals };
  return stored.intervals;
}

// read reads what the address asks for. It asks for nothing after a restart: then the last
// hour, if there was traffic before.
export async function read({ signal, query }, region = '') {
  const last = own.at(-1)?.time ?? '', { intervals: fresh } = await get(`/admin/traffic?after=${encodeURIComponent(last)}`, signal);
  own = [...own, ...fresh.filter((i) => i.time > last)].slice(-mostIntervals);
  let range = ranges[query.get('range')] ? query.get('range') : '15m', intervals = own, problem;
  try {
    const began = own.length ? Date.parse(own[0].time) - 1000 * own[0].seconds : Date.now(); // this replica
    if (!query.has('range') && own.length < mostIntervals && (await history('1h', region, signal)).some((i) => i.requests && Date.parse(i.time) <= began)) range = '1h';
    if (range !== '15m') intervals = await history(range, region, signal);
  } catch (err) {
    if (range !== '15m') [intervals, problem] = [[], err.message];
  }
  return { range, intervals, problem, query };
}

// flowOf is the flow of an interval: all of it, or that to a region.
const flowOf = (i, region) => (region ? i.regions.find((r) => r.region === region) : i) ?? {};

// charts has the charts of everything, or of a region, and links to the other ranges of a page.
export function charts(id, page, { range, intervals, problem, query }, { region, large } = {}) {
  const [name, span] = ranges[range], live = range === '15m';
  const per = (series, kind, key) => ({ name: series, kind, of: (i) => (i.seconds > 0 ? (flowOf(i, region)[key] ?? 0) / i.seconds : 0) });
  const took = (series, kind, key) => ({ name: series, kind, of: (i) => flowOf(i, region)[key] ?? 0 });
  const draw = (key, title, series, write) => chart(`${id}-${key}`, title, intervals, series, write, { large, live, span, name });
  const idle = intervals.every((i) => !flowOf(i, region).requests && (region || !i.inFlight));
  return [heading(`Traffic, last ${name}`),
    el('nav', { class: 'tools', 'aria-label': 'Time range' }, Object.keys(ranges).map((r) => el('a', { href: to(page, { ...Object.fromEntries(query), range: r }), 'aria-current': r === range && 'true' }, r)), el('span', { class: 'muted' }, live ? 'this replica, as it comes' : 'all replicas, by minutes')),
    problem ? note(problem) : !intervals.length ? note('No data yet. The first values come after a few seconds.') : idle ? note(`No requests in the last ${name}.`) : el('div', { class: 'charts' },
      draw('requests', 'Requests per second', [per('all', 'first', 'requests')], number),
      draw('errors', 'Errors per second', [per('failed', 'second', 'failures'), per('refused', 'third', 'refusals')], number),
      draw('time', 'Time', [took('p95', 'first', 'p95'), took('mean', 'third', 'mean')], seconds),
      region ? '' : draw('under-way', 'In progress', [took('requests', 'first', 'inFlight')], number))];
}
