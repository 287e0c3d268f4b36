// What is wrong, first; then the traffic, and the regions.
import { get, pages } from './api.js';
import { el, show } from './dom.js';
import { go, link, next, region } from './links.js';
import { badge, facts, heading, note, say } from './parts.js';
import { kindOf } from './region.js';
import { when } from './time.js';
import * as traffic from './traffic.js';

export function start(body, { every, signal }) {
  const status = el('section', { 'aria-label': 'Problems' }), charts = el('section', { 'aria-label': 'Traffic' }), regions = el('section', { 'aria-label': 'Regions', id: 'regions' });
  body.append(status, charts, regions);
  let problems = -1;
  every(5000, async () => {
    const [state, map] = await Promise.all([get('/admin/status', signal), pages('/admin/regions', signal), traffic.read(signal)]);
    show(status, problemsOf(state));
    if (problems >= 0 && problems !== state.problems.length) say(`${state.problems.length} problems`);
    problems = state.problems.length;
    show(charts, heading('Traffic, last 15 minutes'), traffic.latest() ? el('div', { class: 'boxes charts' }, traffic.charts('all')) : note('No data yet. The first values come after a few seconds.'));
    show(regions, heading('Regions'), el('div', { class: 'boxes' }, map.value.map(box)));
  });
}

function problemsOf(state) {
  return [heading('Problems'),
    state.problems.length === 0 ? el('p', {}, badge('No known problems', 'good')) : el('ul', { class: 'problems' }, state.problems.map(problem)),
    facts([['Version', state.version], ['Region', region(state.region)], ['Configuration', link(`generation ${state.generation}`, 'configuration')], ['Store', state.store], ['Replicas', state.replicas], ['Started', when(state.started)]])];
}

function problem(p) {
  const kind = p.severity === 'critical' ? 'bad' : 'warn', at = next(p.next, p.subject);
  return el('li', { class: kind, 'data-key': `${p.code} ${p.subject ?? ''}` }, badge(p.severity, kind), ' ',
    el(at ? 'a' : 'strong', { class: 'text what', href: at || undefined }, p.summary), p.count > 1 && !p.summary.includes(p.count) ? ` (${p.count})` : '',
    el('p', { class: 'about' }, p.subject && !p.summary.includes(p.subject) ? el('span', { class: 'text muted' }, p.subject) : '', p.since ? el('span', { class: 'muted' }, 'Since ', when(p.since)) : '', go(p.next, p.subject)));
}

function box({ name, displayName, state, endpoints }) {
  const away = endpoints.flatMap((e) => e.addresses.filter((a) => a.reason).map((a) => [e, a]));
  const addresses = endpoints.reduce((n, e) => n + e.addresses.length, 0);
  return el('article', { class: `box ${kindOf[state] ?? ''}`, 'data-region': name, 'data-key': name },
    el('div', { class: 'row' }, el('h3', {}, region(name, displayName || name)), badge(state, kindOf[state])),
    traffic.latest() ? traffic.small(name) : '',
    el('p', { class: 'muted' }, `${endpoints.length} endpoints, ${addresses} addresses${away.length ? `, ${away.length} unhealthy:` : ', all healthy'}`),
    away.slice(0, 4).map(([e, a]) => el('p', { class: 'text' }, badge(a.state, kindOf[a.state]), ' ', e.namespace, ': ', a.reason, a.since ? [' since ', when(a.since)] : '')));
}
