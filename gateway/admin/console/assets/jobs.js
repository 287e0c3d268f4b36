// The jobs of all subscriptions.
import { get, pages } from './api.js';
import { el, show } from './dom.js';
import * as links from './links.js';
import { badge, field, filters, note, say, table, text } from './parts.js';
import { when } from './time.js';

export const isOpen = (j) => !['Done', 'Failed', 'Cancelled'].includes(j.state);
export const stateOf = (j) => badge(j.state, { Failed: 'bad', Done: 'good' }[j.state]);

export function start(body, { every, signal, query, keep }) {
  const asked = query.get('kind') ?? '', state = el('select', { id: 'state' }), words = el('input', { type: 'search', id: 'filter', value: query.get('text') ?? '' }), list = el('div', { id: 'jobs' });
  const kind = el('select', { id: 'kind' }, el('option', { value: '' }, 'all'), asked && el('option', { value: asked, selected: true }, asked));
  for (const [value, title] of [['', 'all'], ['open', 'in progress'], ['failed', 'failed'], ['ended', 'ended']]) state.append(el('option', { value, selected: value === query.get('state') }, title));
  let found = { value: [], more: false };
  const draw = () => {
    keep({ kind: kind.value, state: state.value, text: words.value });
    show(list, listOf(found, state.value, words.value.toLowerCase()));
  };
  const fillKinds = async () => {
    const { value } = await get('/admin/jobKinds', signal);
    kind.append(...value.filter((k) => k.kind !== asked).map((k) => el('option', { value: k.kind }, k.kind)));
  };
  const refresh = async () => {
    if (kind.options.length < 3) await fillKinds();
    found = await pages(`/admin/jobs?limit=200&kind=${encodeURIComponent(kind.value)}`, signal);
    draw();
  };
  kind.addEventListener('change', () => refresh().catch((err) => say(err.message)));
  for (const control of [state, words]) control.addEventListener('input', draw);
  body.append(filters(field('Kind', kind), field('State', state), field('Filter', words, true)), list);
  every(3000, refresh);
}

const isIn = (state) => (j) => !state || (state === 'failed' ? j.state === 'Failed' : isOpen(j) === (state === 'open'));

// listOf has those under way first, and of each the newest: a row moves only when its job ends.
function listOf({ value, more }, state, wanted) {
  const shown = value.filter(isIn(state)).filter((j) => !wanted || JSON.stringify(j).toLowerCase().includes(wanted))
    .sort((a, b) => isOpen(b) - isOpen(a) || Date.parse(b.created) - Date.parse(a.created));
  const counts = [['open', 'in progress'], ['failed', 'failed']].map(([s, word]) => `${shown.filter(isIn(s)).length} ${word}`);
  return [table(`${shown.length} jobs, ${counts.join(', ')}`, [
    ['Job', (j) => [links.job(j.id, j.kind), el('p', { class: 'muted' }, text(j.on ?? j.subject))]], ['State', stateOf], ['Progress', progress], ['Subscription', (j) => links.subscription(j.subscription)],
    ['Attempts', (j) => String(j.attempts)], ['Changed', (j) => when(j.changed)], ['Next', (j) => (j.owner ? `on replica ${j.owner}` : when(j.due))]], shown, { empty: 'No jobs match.' }),
  more ? note('There are more. Choose a kind to narrow the list.') : ''];
}

export function progress(j) {
  if (!j.steps) return '';
  const { done, of } = j.steps;
  return [el('progress', { value: String(done), max: String(of), 'aria-label': `${done} of ${of}` }), ` ${done} of ${of}`, j.waitingFor?.length ? el('p', { class: 'muted' }, `waits for ${j.waitingFor.join(', ')}`) : ''];
}
