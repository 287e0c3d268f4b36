// Which provider is well in which region, what is wrong, and the traffic.
import { get, pages } from './api.js';
import { el, show } from './dom.js';
import { go, link, next, region } from './links.js';
import { matrix } from './matrix.js';
import { badge, facts, heading, say } from './parts.js';
import { when } from './time.js';
import * as traffic from './traffic.js';

export function start(body, context) {
  const { every, signal } = context, regions = el('section', { 'aria-label': 'Regions', id: 'regions' }), status = el('section', { 'aria-label': 'Problems' }), charts = el('section', { 'aria-label': 'Traffic' });
  body.append(regions, status, charts);
  let problems = -1;
  every(5000, async () => {
    const [state, map, seen] = await Promise.all([get('/admin/status', signal), pages('/admin/regions', signal), traffic.read(context)]);
    show(regions, matrix(map.value));
    show(status, problemsOf(state));
    if (problems >= 0 && problems !== state.problems.length) say(`${state.problems.length} problems`);
    problems = state.problems.length;
    show(charts, traffic.charts('all', 'overview', seen));
  });
}

function problemsOf(state) {
  return [heading('Problems'),
    state.problems.length === 0 ? el('p', {}, badge('No known problems', 'good')) : el('ul', { class: 'problems' }, state.problems.map(problem)),
    facts([['Version', state.version], ['Region', region(state.region)], ['Configuration', link(`generation ${state.generation}`, 'configuration')], ['Store', state.store], ['Replicas', state.replicas], ['Started', when(state.started)]])];
}

const kinds = { critical: 'bad', warning: 'warn', planned: 'planned' };

// problem is in the order of the gateway: one with a cause follows it.
function problem(p) {
  const kind = kinds[p.severity], at = next(p.next, p.subject);
  return el('li', { class: `${kind} ${p.causedBy ? 'caused' : ''}`, 'data-key': `${p.code} ${p.subject ?? ''}` }, badge(p.severity, kind), ' ',
    el(at ? 'a' : 'strong', { class: 'text what', href: at || undefined }, p.summary), p.count > 1 && !p.summary.includes(p.count) ? ` (${p.count})` : '',
    p.detail ? el('p', { class: 'text' }, p.detail) : '', p.advice ? el('p', { class: 'text' }, el('strong', {}, 'Next: '), p.advice) : '',
    el('p', { class: 'about' }, p.subject && !p.summary.includes(p.subject) ? el('span', { class: 'text muted' }, p.subject) : '', p.causedBy ? el('span', { class: 'text muted' }, `Because of ${p.causedBy}`) : '',
      p.since ? el('span', { class: 'muted' }, 'Since ', when(p.since)) : '', go(p.next, p.subject)));
}
