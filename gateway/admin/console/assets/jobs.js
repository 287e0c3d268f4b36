// The jobs of all subscriptions.
import { get, pages } from './api.js';
import { el, show } from './dom.js';
import { filtersOf } from './filter.js';
import * as links from './links.js';
import { badge, field, filters, note, say, table } from './parts.js';
import { when } from './time.js';

export const isOpen = (j) => !['Done', 'Failed', 'Cancelled'].includes(j.state);
export const stateOf = (j) => badge(j.state, { Failed: 'bad', Done: 'good' }[j.state]);

export function start(body, { every, signal, query, keep }) {
  const asked = query.get('kind') ?? '', state = el('select', { id: 'state' }), list = el('div', { id: 'jobs' });
  const kind = el('select', { id: 'kind' }, el('option', { value: '' }, 'all'), asked && el('option', { value: asked, selected: true }, asked));
  for (const [value, title] of [['', 'all'], ['open', 'in progress'], ['failed', 'failed'], ['ended', 'ended']]) state.append(el('option', { value, selected: value === query.get('state') }, title));
  let found = { value: [], more: false };
  const draw = () => {
    keep({ kind: kind.value, state: state.value, ...by.values() });
    show(list, listOf({ ...found, value: by.matching(found.value) }, state.value));
  };
  const by = filtersOf(query, [['text', 'Filter', JSON.stringify]], (j) => j.changed, draw);
  const fillKinds = async () => {
    const { value } = await get('/admin/jobKinds', signal);
    kind.append(...value.filter((k) => k.kind !== asked).map((k) => el('option', { value: k.kind }, k.kind)));
  };
  const refresh = async () => {
    if (kind.options.length < 3) await fillKinds();
    found = await pages(`/admin/jobs?limit=200&kind=${encodeURIComponent(kind.value)}&state=${state.value}`, signal);
    draw();
  };
  for (const control of [kind, state]) control.addEventListener('change', () => refresh().catch((err) => say(err.message)));
  state.addEventListener('input', draw);
  body.append(filters(field('Kind', kind), field('State', state), by.fields), list);
  every(3000, refresh);
}

const isIn = (state) => (j) => !state || (state === 'failed' ? j.state === 'Failed' : isOpen(j) === (state === 'open'));

const on = (j) => j.on ?? j.subject;
const belongs = (j, to) => isOpen(j) === isOpen(to) && on(j).toLowerCase().startsWith(`${on(to).toLowerCase()}/`);

// listOf has those under way first, and of each the newest: a row moves only when its job ends.
function listOf({ value, more }, state) {
  const shown = value.filter(isIn(state)).sort((a, b) => isOpen(b) - isOpen(a) || Date.parse(b.created) - Date.parse(a.created));
  const counts = [['open', 'in progress'], ['failed', 'failed']].map(([s, word]) => `${shown.filter(isIn(s)).length} ${word}`);
  return [table(`${shown.length} jobs, ${counts.join(', ')}`, [
    ['Job', (j) => links.shortJob(j.id, j.kind)], ['On', (j) => links.named(on(j))], ['State', stateOf], ['Progress', progress], ['Subscription', (j) => j.subscription && links.named(`/subscriptions/${j.subscription}`)],
    ['Attempts', (j) => String(j.attempts)], ['Changed', (j) => when(j.changed)], ['Next', (j) => (j.owner ? `on replica ${j.owner}` : when(j.due))]], shown, { empty: 'No jobs match.', belongs }),
  more ? note('There are more. Choose a kind or a state to narrow the list.') : ''];
}

export function progress(j) {
  if (!j.steps) return '';
  const { done, of } = j.steps;
  return [el('progress', { value: String(done), max: String(of), 'aria-label': `${done} of ${of}` }), ` ${done} of ${of}`, j.waitingFor?.length ? [' ', el('p', { class: 'muted' }, `waits for ${j.waitingFor.join(', ')}`)] : ''];
}
