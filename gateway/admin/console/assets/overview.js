import { get, pages } from './api.js';
import { captioned, chart } from './chart.js';
import { badge, el, heading, note, number, say, seconds, show, when } from './dom.js';

const kindOf = { up: 'good', degraded: 'warn', down: 'bad', closed: 'good', open: 'bad', 'half-open': 'warn' };
const mostIntervals = 180;
// What was seen stays while the page is open, whichever part of it is shown.
let intervals = [];
let called = new Map(); // by address: what it had counted when it was looked at last

export function start(body, { every, signal }) {
  const status = el('section', { 'aria-label': 'Problems' }), traffic = el('section', { 'aria-label': 'Traffic' }), regions = el('section', { 'aria-label': 'Regions' });
  body.append(status, traffic, regions);
  let problems = -1;
  every(5000, async () => {
    const [state, flow, map] = await Promise.all([get('/admin/status', signal), get(`/admin/traffic?after=${encodeURIComponent(intervals.at(-1)?.time ?? '')}`, signal), pages('/admin/regions', signal)]);
    intervals = [...intervals, ...flow.intervals].slice(-mostIntervals);
    show(status, problemsOf(state));
    if (problems >= 0 && problems !== state.problems.length) say(`${state.problems.length} problems`);
    problems = state.problems.length;
    show(traffic, trafficOf());
    show(regions, regionsOf(map.value));
  });
}

function problemsOf(state) {
  const facts = { Version: state.version, Region: state.region, Generation: state.generation, Store: state.store, Replicas: state.replicas, Started: when(state.started) };
  return [heading('Problems'),
    state.problems.length === 0 ? el('p', {}, badge('None known', 'good')) : el('ul', { class: 'problems' }, state.problems.map(problem)),
    el('dl', { class: 'facts' }, Object.entries(facts).map(([k, v]) => el('div', {}, el('dt', {}, k), el('dd', {}, v ?? ''))))];
}

function problem(p) {
  const kind = p.severity === 'critical' ? 'bad' : 'warn';
  return el('li', { class: kind }, badge(p.severity, kind), ' ', el('strong', { class: 'text' }, p.summary), p.count > 1 && !p.summary.includes(p.count) ? ` (${p.count})` : '',
    el('p', { class: 'about' }, p.subject && !p.summary.includes(p.subject) ? el('span', { class: 'text muted' }, p.subject) : '', p.since ? el('span', { class: 'muted' }, 'Since ', when(p.since)) : '',
      p.next ? el('span', {}, 'Next: ', el('code', {}, p.next)) : ''));
}

const rate = (flow, key, lasted) => (lasted > 0 ? (flow?.[key] ?? 0) / lasted : 0);

function trafficOf() {
  const last = intervals.at(-1);
  if (!last) return [heading('Traffic'), note('The first interval is being counted.')];
  const of = (key) => intervals.map((i) => rate(i, key, i.seconds));
  const now = (key) => number(rate(last, key, last.seconds));
  const figure = (title, text, series) => captioned(chart(`${title} in the last quarter of an hour; now ${text}`, series), `${title}: `, el('strong', { 'data-figure': title }, text));
  return [heading('Traffic, the last quarter of an hour'), el('div', { class: 'boxes charts' },
    figure('Requests per second', now('requests'), [['first', of('requests')]]),
    figure('Errors per second', `${now('failures')} failed, ${now('refusals')} refused`, [['second', of('failures')], ['third', of('refusals')]]),
    figure('Time of 95 in 100', `${seconds(last.p95)}, mean ${seconds(last.mean)}`, [['first', intervals.map((i) => i.p95)], ['third', intervals.map((i) => i.mean)]]),
    figure('Under way', number(last.inFlight), [['first', intervals.map((i) => i.inFlight)]]))];
}

function regionsOf(all) {
  const before = called;
  called = new Map();
  return [heading('Regions'), el('div', { class: 'boxes' }, all.map((r) => region(r, before)))];
}

function region({ name, displayName, state, endpoints }, before) {
  const flows = intervals.map((i) => i.regions.find((r) => r.region === name));
  const per = (key) => flows.map((f, i) => rate(f, key, intervals[i].seconds));
  const last = flows.at(-1);
  const lasted = intervals.at(-1)?.seconds;
  return el('article', { class: `box ${kindOf[state] ?? ''}`, 'data-region': name },
    el('div', { class: 'row' }, el('h3', { class: 'text' }, displayName || name), badge(state, kindOf[state])),
    captioned(chart(`Requests and failures of ${name} per second`, [['first', per('requests')], ['second', per('failures')]], { small: true }),
      el('strong', {}, number(rate(last, 'requests', lasted))), ' requests and ', el('strong', {}, number(rate(last, 'failures', lasted))), ' failures a second; 95 in 100 within ', seconds(last?.p95)),
    el('ul', {}, endpoints.map((e) => el('li', {}, el('p', { class: 'text' }, e.namespace, ' ', el('span', { class: 'muted' }, `${e.resourceTypes.length} types`)), e.addresses.map((a) => address(a, before))))));
}

function address(a, before) {
  const now = Date.now(), was = before.get(a.url);
  called.set(a.url, { at: now, requests: a.requests });
  const perSecond = was && now > was.at ? number(Math.max(0, a.requests - was.requests) / ((now - was.at) / 1000)) : '–';
  return el('div', {}, el('div', { class: 'row' }, el('code', {}, a.url), badge(a.state, kindOf[a.state])),
    el('p', { class: 'muted text' }, `circuit ${a.circuit}; ${perSecond} calls a second, ${a.inFlight} under way; ${a.requests.toLocaleString()} calls and ${a.failures.toLocaleString()} failures since the start`),
    a.reason ? el('p', { class: 'text' }, a.reason, a.since ? [' since ', when(a.since)] : '') : '');
}
