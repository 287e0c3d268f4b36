// One region: its traffic, its endpoints and their addresses, and what lies there.
import { call, pages } from './api.js';
import { el, show } from './dom.js';
import { link, region as regionLink, resource, to } from './links.js';
import { ask, badge, button, code, drainOf, facts, heading, note, table, text } from './parts.js';
import { when } from './time.js';
import * as traffic from './traffic.js';

export const kindOf = { up: 'good', degraded: 'warn', down: 'bad', closed: 'good', open: 'bad', 'half-open': 'warn' };

export function start(body, context) {
  const { every, signal, query, title } = context, provider = query.get('provider');
  const top = el('section', { 'aria-label': 'State' }), charts = el('section', { 'aria-label': 'Traffic' }), endpoints = el('section', { 'aria-label': 'Endpoints' }), retire = el('section', { 'aria-label': 'Retirement' });
  body.append(top, charts, endpoints, retire);
  const name = query.get('name'), address = query.get('address');
  let asked = '';
  every(5000, async () => {
    const [{ value }, seen] = await Promise.all([pages('/admin/regions', signal), traffic.read(context, name)]);
    const found = value.find((r) => (address ? r.endpoints.some((e) => e.addresses.some((a) => a.url === address)) : r.name === name));
    if (address && found) return location.replace(to('region', { name: found.name }));
    const shown = found?.name ?? name;
    title(shown ? `Region ${shown}` : 'Region');
    if (!found) show(top, el('p', {}, badge('not in the map', 'warn'), ' ', name || address), el('p', {}, 'Regions of the map: ', value.map((r, n) => [n ? ', ' : '', regionLink(r.name)])));
    else show(top, facts([['State', badge(found.state, kindOf[found.state])], ['Name', found.displayName], ['Paired with', regionLink(found.pairedRegion)], ['Drained', drainOf(found.drain)], ['Errors', link('errors', 'errors', { region: found.name })]]));
    show(charts, found ? traffic.charts('region', 'region', seen, { region: found.name, large: true }) : '');
    show(endpoints, found ? [heading(provider ? `Endpoints of ${provider}` : 'Endpoints'), provider ? el('p', {}, regionLink(shown, 'All endpoints of the region')) : '', found.endpoints.filter((e) => !provider || e.namespace === provider).map(endpoint)] : '');
    if (shown && asked !== shown) retirement(retire, asked = shown);
  });
}

function endpoint(e) {
  return el('article', { class: `box ${kindOf[e.state] ?? ''}`, 'data-key': e.namespace },
    el('div', { class: 'row' }, el('h3', { class: 'text' }, e.namespace), badge(e.state, kindOf[e.state])),
    el('p', { class: 'muted text' }, e.resourceTypes.join(', '), e.shed ? `; ${e.shed} calls refused because all slots were in use` : ''),
    table('Addresses', [
      ['Address', (a) => code(a.url)], ['State', (a) => badge(a.state, kindOf[a.state])], ['Circuit', (a) => `circuit ${a.circuit}`], ['Why', (a) => text(a.drain ? `drained ${drainOf(a.drain)}` : a.reason ?? a.distrust)], ['Since', (a) => when(a.since)],
      ['In progress', (a) => String(a.inFlight)], ['Calls', (a) => a.requests.toLocaleString('en')], ['Failures', (a) => a.failures.toLocaleString('en')], ['Certificate expires', (a) => when(a.certificateEnds)]], e.addresses, { key: (a) => a.url }));
}

const counted = [['rows', 'Resources'], ['intents', 'Writes of unknown outcome'], ['fences', 'Fences'], ['operations', 'Polling URLs'], ['strays', 'Strays'], ['notices', 'Notices'], ['moving', 'Moving'], ['coverage', 'Coverage'], ['writtenRegions', 'Collections checked before groups are deleted']];

// retirement counts what would be forgotten first; only then, and only of a region that
// the map has no more, it can be done.
function retirement(section, name) {
  const result = el('div', { id: 'retirement' });
  const retire = (dryRun) => call('POST', `/admin/regions/${encodeURIComponent(name)}/retire`, { dryRun });
  const showAll = (r) => show(result, facts(counted.map(([key, title]) => [title, r[key] ?? 0])),
    r.groups.count ? el('details', { id: 'retire-groups' }, el('summary', {}, `${r.groups.count} groups wait for it`), (r.groups.ids ?? []).map((id) => el('p', {}, resource(id)))) : '',
    r.inMap ? note('The region is still in the map. Remove it from the configuration before you retire it.') : r.dryRun ? button('retire', 'Forget all of this', forget) : note('All of this was forgotten.'));
  const forget = async () => {
    const r = await retire(true);
    const shown = facts(counted.map(([key, title]) => [title, r[key] ?? 0]));
    if (!(await ask(`Retire ${name} and forget everything counted here?`, 'Forget', { shown }))) return undefined;
    showAll(await retire(false));
    return `Region ${name} was retired.`;
  };
  show(section, heading('Retirement'), note('Counts what retiring the region would forget. Nothing is changed.'),
    button('dryRun', 'Count', async () => { showAll(await retire(true)); return `Retirement of ${name} was counted.`; }), result);
}
