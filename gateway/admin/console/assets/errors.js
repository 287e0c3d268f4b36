import { get } from './api.js';
import { badge, el, show, table, when } from './dom.js';

export function start(body, { every, signal }) {
  const text = el('input', { type: 'search', id: 'filter' }), failed = el('input', { type: 'checkbox', id: 'failed' }), list = el('div', { id: 'errors' });
  let answers = [];
  const draw = () => {
    const wanted = text.value.toLowerCase();
    const found = answers.filter((a) => (!failed.checked || a.status >= 500) && (!wanted || Object.values(a).join(' ').toLowerCase().includes(wanted)));
    show(list, table(`${found.length} answers, the newest first`, [
      ['Time', (a) => when(a.time)], ['Status', (a) => badge(String(a.status), a.status >= 500 ? 'bad' : 'warn')], ['Code', (a) => a.code ?? ''], ['Whose', (a) => (a.cause === 'service' ? 'the provider’s' : 'Portico’s')],
      ['Request', (a) => [el('span', {}, `${a.method} `), el('span', { class: 'text' }, a.path), el('p', { class: 'muted' }, a.class)]], ['Region', (a) => a.region],
      ['Correlation id', (a) => el('code', {}, a.correlationId)]], found, 'No answer was an error since the start.'));
  };
  for (const field of [text, failed]) field.addEventListener('input', draw);
  body.append(el('form', { onsubmit: (e) => e.preventDefault() }, el('label', { class: 'wide' }, 'Filter: a correlation id, a region, a status, a code', text), el('label', {}, '5xx only', failed)), list);
  every(3000, async () => {
    answers = (await get('/admin/errors?limit=1000', signal)).value;
    draw();
  });
}
