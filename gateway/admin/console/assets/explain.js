import { call } from './api.js';
import { describe, el, note, show } from './dom.js';

const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];

export function start(body, { signal, query }) {
  const method = el('select', { id: 'method' }, methods.map((m) => el('option', { selected: m === query.get('method') }, m)));
  const path = el('input', { id: 'path', required: true, value: query.get('path') ?? '', spellcheck: 'false', placeholder: '/subscriptions/…' });
  const principal = el('input', { id: 'principal', spellcheck: 'false' });
  const answer = el('div', { id: 'answer', 'aria-live': 'polite' });
  const form = el('form', {}, el('label', {}, 'Method', method), el('label', { class: 'wide' }, 'Path or ID', path), el('label', { class: 'wide' }, 'As (object id, may be empty)', principal), el('button', {}, 'Explain'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const asked = { method: method.value, path: path.value };
      if (principal.value) asked.principal = principal.value;
      show(answer, describe(await call('POST', '/admin/explain', asked, signal)));
    } catch (err) {
      if (signal.aborted) return;
      show(answer, err.status === 404 && !err.code ? note('Not available: this gateway has no POST /admin/explain.') : el('p', { role: 'alert', class: 'text' }, err.message));
    }
  });
  body.append(note('The way that a request would take, without sending it.'), form, answer);
}
