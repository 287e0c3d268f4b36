// What POST /admin/explain answers: the verdict first, then the way to it.

import { el } from './dom.js';
import { known, lockColumns, waitingOf } from './known.js';
import * as links from './links.js';
import { badge, facts, heading, note, table, text } from './parts.js';

const outcomes = { forwarded: 'good', answered: 'good', refused: 'bad', open: 'warn' };
const roles = { enforced: 'roles are enforced', ignored: 'roles are not enforced: auth.roles is ignored', notAsked: 'roles are not checked: no caller is given' };

export function explanationOf(e) {
  return [verdictOf(e), waitingOf('What blocks or delays it', e.heldBy ?? []), signInOf(e.signIn), heading('Steps'), table('Steps, up to the one that decides', [
    ['Step', (c) => c.step], ['Outcome', (c) => (c.passed ? badge('passed', 'good') : badge(e.verdict.outcome === 'open' ? 'open' : 'refused', e.verdict.outcome === 'open' ? 'warn' : 'bad'))], ['Detail', (c) => text(c.detail)]], e.checks, { key: (c) => c.step }),
  judgesOf(e.judges), e.locks ? [heading('Locks'), table('Locks at or above the target of the request', lockColumns, e.locks)] : '',
  placeOf(e.place), (e.calls ?? []).map(callOf), e.known ? known(e.known, e.locks ? [] : e.known.locks) : ''];
}

const judges = { gateway: 'Portico', shape: 'The type’s schema', provider: 'The provider' };
const says = { accepts: ['accepts', 'good'], refuses: ['refuses', 'bad'], notAsked: ['not asked'] };

// judgesOf says who would refuse the body if it were planned, in their order.
function judgesOf(all) {
  if (!all) return '';
  return [heading('Preflight of the body'), table('Checks of the body, up to the one that refuses it', [
    ['Check', (j) => judges[j.judge]], ['Verdict', (j) => badge(...says[j.verdict])], ['Detail', (j) => text(j.detail ?? '')]], all, { key: (j) => j.judge })];
}

function verdictOf({ verdict: v, request: r, caller: c }) {
  const answer = [v.status, v.code].filter(Boolean).join(' ');
  const found = [['Answer', answer], ['Retry after', v.retryAfter], ['Ends at', v.step], ['Class', [r.class, r.route].filter(Boolean).join(' ')], ['Type', r.resourceType && `${r.resourceType} ${r.kind ?? ''}`], ['API version', r.apiVersion]];
  return el('section', { class: `verdict ${outcomes[v.outcome] ?? ''}`, 'aria-label': 'Verdict' },
    el('p', {}, el('strong', { class: 'text' }, v.summary)),
    r.method ? el('p', {}, el('code', {}, `${r.method} ${r.path}`)) : '',
    facts(found),
    el('p', { class: 'muted text' }, c.objectId ? `Caller ${c.objectId}${c.tenantId ? ` of tenant ${c.tenantId}` : ''}; ` : '', roles[c.roles] ?? c.roles));
}

function signInOf(s) {
  if (!s) return '';
  return [heading('Authentication'), el('p', { class: 'text' }, badge(s.result, { accepted: 'good', mustFetch: 'warn' }[s.result] ?? 'bad'), ' ', s.advice ?? ''),
    facts([['Method', s.method], ['Name', s.name], ['Application', s.appId], ['Issuer', s.issuer], ['Groups', s.groups?.join(', ')], ['WWW-Authenticate', s.challenge]])];
}

function placeOf(place) {
  if (!place) return '';
  const more = [place.cached && 'a location from memory', place.remembered && 'a subscription or group from memory', place.verify && 'the row is unverified'].filter(Boolean);
  return [heading('Target'), el('p', { class: 'text' }, el('strong', {}, place.regions.length ? place.regions.map((r, n) => [n ? ', ' : '', links.region(r)]) : 'nowhere'), `: ${place.reason}`), note(`Decided by: ${[place.source, ...more].join('; ')}.`)];
}

function callOf(c, i) {
  return [el('h3', { class: 'text' }, c.made ? 'Called' : 'Would call', ' ', links.region(c.region), ': ', el('code', {}, `${c.method} ${c.path}`), ' ', badge(c.purpose)),
    table('Addresses', [
      ['Address', (a) => el('code', {}, a.url)], ['State', (a) => badge(a.state, a.state === 'up' ? 'good' : 'bad')], ['Circuit', (a) => a.circuit], ['Chosen', (a) => (a.candidate ? 'possible' : 'no')]], c.addresses, { key: (a) => a.url }),
    c.headers ? el('details', { id: `headers-${i}` }, el('summary', {}, `${c.headers.length} headers`), table('Request headers', [['Header', (h) => el('code', {}, h.name)], ['Value', valueOf]], c.headers, { key: (h) => h.name })) : ''];
}

function valueOf(h) {
  if (h.origin === 'secret') return 'a secret';
  if (h.origin === 'client') return 'the client’s';
  return h.varies ? 'different for each request' : text(h.value);
}
