// The subscriptions, and the rows of the index of one of them.
import { pages } from './api.js';
import { el, show } from './dom.js';
import { filtersOf } from './filter.js';
import * as links from './links.js';
import { badge, code, field, filters, note, table } from './parts.js';
import { when } from './time.js';

const filtered = [['group', 'resourceGroup', 'Group'], ['type', 'resourceType', 'Type'], ['region', 'region', 'Region']];

export function start(body, context) {
  if (context.query.get('subscription')) rows(body, context);
  else subscriptions(body, context);
}

function subscriptions(body, { every, signal, query, keep }) {
  const list = el('div', { id: 'subscriptions' });
  let found = { value: [] };
  const draw = () => {
    keep(by.values());
    const shown = by.matching(found.value);
    show(list, table(`${shown.length} subscriptions`, [
      ['Name', (s) => links.link(s.displayName || s.id, 'resource', { id: `/subscriptions/${s.id}` })], ['Id', (s) => code(s.id)], ['State', (s) => badge(s.state, s.state === 'Enabled' ? 'good' : 'warn')], ['Tenant', (s) => code(s.tenantId)],
      ['', (s) => [links.link('resources', 'resources', { subscription: s.id }), ' ', links.link('errors', 'errors', { subscription: s.id })]]], shown, { empty: found.value.length ? 'No subscriptions match.' : 'No subscriptions yet. Create one: portico subscriptions put ID --tenant TENANT' }), found.more ? note('There are more. Find one by its ID.') : '');
  };
  const by = filtersOf(query, [['text', 'Filter', (s) => `${s.id} ${s.displayName} ${s.tenantId}`]], undefined, draw);
  body.append(filters(by.fields), list);
  every(10000, async () => {
    found = await pages('/admin/subscriptions?limit=1000', signal);
    links.learn(found.value);
    draw();
  });
}

function rows(body, { every, signal, query, keep, title }) {
  const subscription = query.get('subscription'), list = el('div', { id: 'rows' });
  title(`Resources of ${links.nameOf(subscription) || subscription}`);
  const fields = filtered.map(([key, parameter, head]) => [key, parameter, head, el('input', { type: 'search', id: key, value: query.get(key) ?? '' })]);
  const refresh = async () => {
    const set = Object.fromEntries(fields.map(([key, , , input]) => [key, input.value.trim()]));
    keep({ subscription, ...set });
    const asked = new URLSearchParams({ subscription, limit: 500 });
    for (const [key, parameter] of fields) if (set[key]) asked.set(parameter, set[key]);
    const { value, more } = await pages(`/admin/resources?${asked}`, signal, 1);
    show(list, table(`${value.length} resources`, [
      ['Resource', (r) => links.resource(r.id)], ['Type', (r) => r.type], ['Region', (r) => links.region(r.region)], ['Phase', (r) => r.phase], ['Flags', (r) => r.flags.join(', ')], ['Changed', (r) => when(r.changed)]], value), more ? note('There are more. Choose a group, type or region to narrow the list.') : '');
  };
  for (const [, , , input] of fields) input.addEventListener('change', () => refresh().catch(() => {}));
  body.append(filters(fields.map(([, , head, input]) => field(head, input))), el('p', {}, links.subscription(subscription)), list);
  every(5000, refresh);
}
