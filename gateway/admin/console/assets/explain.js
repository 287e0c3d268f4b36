import { call } from './api.js';
import { el, note, show } from './dom.js';
import { explanationOf } from './explanation.js';

const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];

export function start(body, { signal, query }) {
  const method = el('select', { id: 'method' }, el('option', { value: '' }, 'GET, newest version'), methods.map((m) => el('option', { selected: m === query.get('method') }, m)));
  const path = el('input', { id: 'path', required: true, value: query.get('path') ?? '', spellcheck: 'false', placeholder: '/subscriptions/…' });
  const principal = el('input', { id: 'principal', spellcheck: 'false' });
  const tenant = el('input', { id: 'tenant', spellcheck: 'false' });
  const token = el('input', { id: 'bearer', type: 'password', autocomplete: 'off', spellcheck: 'false' });
  const ask = el('input', { id: 'ask', type: 'checkbox' });
  const answer = el('div', { id: 'answer', 'aria-live': 'polite' });
  const form = el('form', {}, el('label', {}, 'Method', method), el('label', { class: 'wide' }, 'Path or ID', path), el('label', { class: 'wide' }, 'As (object id, may be empty)', principal),
    el('label', { class: 'wide' }, 'Tenant (that of the subscription by default)', tenant), el('label', { class: 'wide' }, 'Or signed in by a bearer token (it is not kept)', token), el('label', {}, 'Ask providers for what the index does not know, and issuers for keys', ask), el('button', {}, 'Explain'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const question = { method: method.value, path: path.value, principal: principal.value, tenant: tenant.value, token: token.value.trim(), ask: ask.checked };
    token.value = ''; // it goes out once
    try {
      show(answer, explanationOf(await call('POST', '/admin/explain', question, signal)));
    } catch (err) {
      if (!signal.aborted) show(answer, el('p', { role: 'alert', class: 'text' }, err.message));
    }
  });
  body.append(note('The way that a request would take, without sending it.'), form, answer);
}
