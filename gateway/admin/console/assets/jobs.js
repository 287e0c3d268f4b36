import { call, get, pages } from './api.js';
import { ask, badge, describe, el, say, show, table, when } from './dom.js';

const ended = ['Done', 'Failed', 'Cancelled'];

export function start(body, { every, signal, query }) {
  const asked = query.get('kind') ?? '';
  const kind = el('select', { id: 'kind' }, el('option', { value: '' }, 'all'), asked && el('option', { value: asked, selected: true }, asked));
  const state = el('select', { id: 'state' }, el('option', { value: '' }, 'all'), el('option', { value: 'open' }, 'under way'), el('option', { value: 'ended' }, 'ended'));
  const text = el('input', { type: 'search', id: 'filter' });
  const list = el('div', { id: 'jobs' });
  let found = { value: [], more: false };
  const draw = () => show(list, listOf(found, state.value, text.value.toLowerCase(), refresh));
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
  for (const field of [state, text]) field.addEventListener('input', draw);
  body.append(el('form', { onsubmit: (e) => e.preventDefault() }, el('label', {}, 'Kind', kind), el('label', {}, 'State', state), el('label', { class: 'wide' }, 'Filter', text)), list);
  every(3000, refresh);
}

const isOpen = (j) => !ended.includes(j.state);

function listOf({ value, more }, state, text, refresh) {
  const shown = value.filter((j) => (!state || isOpen(j) === (state === 'open')) && (!text || JSON.stringify(j).toLowerCase().includes(text)));
  return [table(`${shown.length} jobs`, [
    ['Job', (j) => [el('span', {}, j.kind), ' ', el('p', { class: 'muted text' }, j.on ?? j.subject)]],
    ['State', (j) => badge(j.state, isOpen(j) ? '' : j.state === 'Failed' ? 'bad' : 'good')],
    ['Progress', progress],
    ['Attempts', (j) => `${j.attempts}`],
    ['Changed', (j) => when(j.changed)],
    ['Next', (j) => (j.owner ? 'being worked on' : when(j.due))],
    ['', (j) => el('div', {}, details(j), cancelButton(j, refresh))],
  ], shown), more ? el('p', { class: 'muted' }, 'There are more; choose a kind.') : ''];
}

function progress(j) {
  if (!j.steps) return '';
  const { done, of } = j.steps;
  return [el('progress', { value: String(done), max: String(of), 'aria-label': `${done} of ${of}` }), ` ${done} of ${of}`];
}

function details(j) {
  return [el('details', { id: `job-${j.id}` }, el('summary', {}, 'Details'), describe(j)),
    j.parts ? el('a', { href: `#/deletion?job=${encodeURIComponent(j.id)}` }, 'What waits for what') : ''];
}

function cancelButton(j, refresh) {
  if (!j.cancellable) return '';
  return el('button', {
    type: 'button', id: `cancel-${j.id}`,
    onclick: async () => {
      if (!(await ask(`Cancel the job ${j.kind} of ${j.subject}?`, 'Cancel the job'))) return;
      try {
        await call('POST', `/admin/jobs/${encodeURIComponent(j.id)}/cancel`);
        say('The job is being cancelled.');
      } catch (err) {
        say(err.message);
      }
      await refresh().catch(() => {});
    },
  }, 'Cancel');
}

export const job = (id, signal) => get(`/admin/jobs/${encodeURIComponent(id)}`, signal);
