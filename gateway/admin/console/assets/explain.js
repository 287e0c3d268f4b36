import { call } from './api.js';
import { el, show } from './dom.js';
import { explanationOf } from './explanation.js';
import { link } from './links.js';
import { field, note } from './parts.js';

const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];

// What the address may hold: a token and a content stay out of it.
const kept = ['method', 'path', 'principal', 'tenant'];

export function start(body, { signal, query, keep }) {
  const input = (id, more) => el('input', { id, spellcheck: 'false', value: query.get(id) ?? '', ...more });
  const controls = {
    method: el('select', { id: 'method' }, el('option', { value: '' }, 'GET, newest version'), methods.map((m) => el('option', { selected: m === query.get('method') }, m))),
    path: input('path', { required: true, placeholder: '/subscriptions/…' }), principal: input('principal'), tenant: input('tenant'),
    token: el('input', { id: 'bearer', type: 'password', autocomplete: 'off', spellcheck: 'false' }),
    content: el('textarea', { id: 'content', rows: 3, spellcheck: 'false', placeholder: '{"location": "…"}' }), ask: el('input', { id: 'ask', type: 'checkbox' }),
  };
  const { method, path, principal, tenant, token, content, ask } = controls, answer = el('div', { id: 'answer', 'aria-live': 'polite' });
  const bodyField = field('Body (JSON)', content, true);
  const form = el('form', {}, field('Method', method), field('Path or ID', path, true), bodyField, field('Caller (object ID, optional)', principal, true),
    field('Tenant (empty: the subscription’s)', tenant, true), field('Or a bearer token (not stored)', token, true), field('Ask providers if the index does not know, and fetch missing keys of issuers', ask), el('button', {}, 'Explain'));
  const withBody = () => { bodyField.hidden = !['PUT', 'PATCH', 'POST'].includes(method.value); };
  const explain = async () => {
    const question = Object.fromEntries(kept.map((name) => [name, controls[name].value]));
    keep(question);
    Object.assign(question, { token: token.value.trim(), ask: ask.checked, content: bodyField.hidden ? '' : content.value });
    token.value = ''; // it goes out once
    try {
      const e = await call('POST', '/admin/explain', question, signal);
      show(answer, explanationOf(e), e.known ? el('p', {}, link('Role assignments here', 'access', { scope: e.known.id })) : '');
    } catch (err) {
      if (!signal.aborted) show(answer, el('p', { role: 'alert', class: 'text' }, err.message));
    }
  };
  method.addEventListener('input', withBody);
  withBody();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    explain();
  });
  body.append(note('Shows how a request would be handled, without sending it.'), form, answer);
  if (path.value && method.value !== 'PUT') explain(); // a body would be missing
}
