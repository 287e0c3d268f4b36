import { call } from './api.js';
import { asking } from './asking.js';
import { el } from './dom.js';
import { explanationOf } from './explanation.js';
import { link } from './links.js';
import { field } from './parts.js';

const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'];

// What the address may hold: a token and a content stay out of it.
const kept = ['method', 'path', 'principal', 'tenant'];

export function start(body, context) {
  const { signal, query } = context;
  const input = (id, more) => el('input', { id, spellcheck: 'false', value: query.get(id) ?? '', ...more });
  const controls = {
    method: el('select', { id: 'method' }, el('option', { value: '' }, 'GET, newest version'), methods.map((m) => el('option', { selected: m === query.get('method') }, m))),
    path: input('path', { required: true, placeholder: '/subscriptions/…' }), principal: input('principal'), tenant: input('tenant'),
    token: el('input', { id: 'bearer', type: 'password', autocomplete: 'off', spellcheck: 'false' }),
    content: el('textarea', { id: 'content', rows: 3, spellcheck: 'false', placeholder: '{"location": "…"}' }), ask: el('input', { id: 'ask', type: 'checkbox' }),
  };
  const { method, path, principal, tenant, token, content, ask } = controls;
  const bodyField = field('Body (JSON)', content, true);
  const withBody = () => { bodyField.hidden = !['PUT', 'PATCH', 'POST'].includes(method.value); };
  method.addEventListener('input', withBody);
  withBody();
  asking('explain', body, context, {
    about: 'Shows how a request would be handled, without sending it.', agree: 'Explain',
    fields: [field('Method', method), field('Path or ID', path, true), bodyField, field('Caller (object ID, optional)', principal, true), field('Tenant (empty: the subscription’s)', tenant, true),
      field('Or a bearer token (not stored)', token, true), field('Ask providers if the index does not know, and fetch missing keys of issuers', ask)],
    kept: () => Object.fromEntries(kept.map((name) => [name, controls[name].value])),
    answer: async (asked) => {
      const question = { ...asked, token: token.value.trim(), ask: ask.checked, content: bodyField.hidden ? '' : content.value };
      token.value = ''; // it goes out once
      const e = await call('POST', '/admin/explain', question, signal);
      return [explanationOf(e), e.known ? el('p', {}, link('Role assignments here', 'access', { scope: e.known.id })) : ''];
    },
    ready: path.value && method.value !== 'PUT', // a body would be missing
    examples: (subscription) => [{ path: subscription }, { method: 'GET', path: `${subscription}/resources?api-version=2021-04-01` }, { method: 'DELETE', path: `${subscription}/resourceGroups/example?api-version=2021-04-01` }],
  });
}
