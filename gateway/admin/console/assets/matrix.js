// The providers by the regions: which of them is up, slow, draining or down.
import { el } from './dom.js';
import { region, to } from './links.js';
import { drainOf, text } from './parts.js';

const kindOf = { slow: 'warn', degraded: 'warn', draining: 'warn', down: 'bad' };

// cellOf is the state of a provider in a region, with its reasons. What an operator drains
// counts as that, whatever else it is.
function cellOf(r, endpoints) {
  const addresses = endpoints.flatMap((e) => e.addresses);
  const drains = r.drain ? [r.drain] : addresses.flatMap((a) => a.drain ?? []);
  const reasons = [...drains.map((d) => `drained ${drainOf(d)}`), ...addresses.filter((a) => a.reason && !a.drain).map((a) => `${a.url}: ${a.reason}`)];
  const some = (state) => endpoints.some((e) => e.state === state), drained = r.drain || addresses.every((a) => a.drain);
  return { state: drained ? 'draining' : some('down') ? 'down' : addresses.some((a) => a.slow) ? 'slow' : some('degraded') ? 'degraded' : drains.length ? 'draining' : some('up') ? 'up' : 'unknown', reasons };
}

export function matrix(regions) {
  const providers = [...new Set(regions.flatMap((r) => r.endpoints.map((e) => e.namespace)))].sort();
  const cells = providers.map((name) => regions.map((r) => {
    const endpoints = r.endpoints.filter((e) => e.namespace === name);
    return endpoints.length && { name, r, id: `${name} ${r.name}`, at: to('region', { name: r.name, provider: name }), ...cellOf(r, endpoints) };
  }));
  return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Providers by regions' }, el('table', { class: 'matrix', id: 'matrix' },
    el('thead', {}, el('tr', {}, el('td', {}), regions.map((r) => el('th', { scope: 'col', 'data-region': r.name }, region(r.name, r.displayName || r.name))))),
    el('tbody', {}, cells.map((row, i) => el('tr', { 'data-key': providers[i] }, el('th', { scope: 'row' }, text(providers[i])), row.map(cell))))));
}

function cell(c) {
  if (!c) return el('td', { class: 'muted', title: 'not served here' }, '–');
  return el('td', { 'data-state': c.state, 'data-at': c.id }, el('a', { href: c.at, class: `badge ${kindOf[c.state] ?? ''}`, title: [`${c.name} in ${c.r.name}: ${c.state}`, ...c.reasons].join('\n') }, c.state));
}
