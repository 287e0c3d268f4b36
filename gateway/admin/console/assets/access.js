// Who can do what at a scope: the assignments that hold there, and whether one caller may
// do one action.
import { call, pages } from './api.js';
import { asking } from './asking.js';
import { el } from './dom.js';
import * as links from './links.js';
import { badge, code, facts, field, heading, note, table, text } from './parts.js';

export function start(body, context) {
  const { signal, query } = context, input = (id, more) => el('input', { id, spellcheck: 'false', value: query.get(id) ?? '', ...more });
  const scope = input('scope', { required: true, placeholder: '/subscriptions/…' }), action = input('action', { placeholder: 'Contoso.Compute/virtualMachines/write' }), principal = input('principal');
  asking('access', body, context, {
    about: 'Role assignments that apply to a scope.', agree: 'Show', ready: scope.value,
    fields: [field('Scope: an ID', scope, true), field('Action (empty: all)', action, true), field('Caller: an object ID (empty: all)', principal, true)],
    kept: () => ({ scope: scope.value.trim(), action: action.value.trim(), principal: principal.value.trim() }),
    answer: async (asked) => {
      const check = asked.action && asked.principal ? await call('POST', '/admin/roles/check', { principalId: asked.principal, action: asked.action, scope: asked.scope }, signal) : undefined;
      const who = asked.action && !asked.principal ? await call('POST', '/admin/roles/who', { action: asked.action, scope: asked.scope }, signal) : undefined;
      return [check ? answerOf(check) : '', who ? whoTable(who, asked) : await holding(asked, signal)];
    },
    examples: (subscription) => [{ scope: subscription }, { scope: subscription, action: 'Microsoft.Resources/subscriptions/resourceGroups/delete' }],
  });
}

const columns = [
  ['Who', (a) => [links.caller(a.principalId, a.principalName), a.principalType ? el('span', { class: 'muted' }, ` ${a.principalType}`) : '']], ['Role', (a) => text(a.role)], ['At', (a) => links.resource(a.scope)],
  ['By', (a) => (a.owner ? 'the configuration' : code(a.id ?? a.assignment ?? ''))]];
const key = (a) => `${a.id ?? a.assignment ?? ''} ${a.principalId} ${a.scope} ${a.role}`;

const above = (scope, at) => scope === '/' || at.toLowerCase() === scope.toLowerCase() || at.toLowerCase().startsWith(`${scope.toLowerCase()}/`);

// holding are the assignments that hold at the scope: those on it and above.
async function holding({ scope, principal }, signal) {
  const asked = new URLSearchParams({ subscription: links.subscriptionOf(scope), limit: 1000, ...(principal && { principalId: principal }) });
  const { value, more } = await pages(`/admin/roles?${asked}`, signal);
  const found = value.filter((a) => above(a.scope, scope));
  return [heading('Assignments that apply here'), table(`${found.length} assignments`, columns, found, { key, empty: 'No assignment applies here.' }), more ? note('There are more. Enter a caller to narrow the list.') : ''];
}

function whoTable({ everybody, value, further }, { action }) {
  const found = value.map(({ grant, ...who }) => ({ ...who, ...grant }));
  return [heading('Who may do this here'), everybody ? note('Everyone may: roles are not enforced.') : table(`${found.length} assignments allow ${action}; an assignment to a group applies to its members`, columns, found, { key, empty: 'No assignment allows it.' }),
    further ? note('Not all assignments were checked. Enter a caller to narrow the list.') : ''];
}

function answerOf(a) {
  return el('section', { class: `verdict ${a.allowed ? 'good' : 'bad'}`, 'aria-label': 'Verdict' }, el('p', {}, badge(a.allowed ? 'allowed' : 'not allowed', a.allowed ? 'good' : 'bad'), ' ', text(a.reason)),
    a.grant ? facts([['Role', a.grant.role], ['At', links.resource(a.grant.scope)], ['By', a.grant.owner ? 'the configuration' : a.grant.assignment]]) : '',
    a.wouldAllow?.length ? el('p', {}, 'Roles that would allow it: ', text(a.wouldAllow.join(', '))) : '');
}
