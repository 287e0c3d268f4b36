// What POST /admin/explain answers: the verdict first, then the way to it.

import { badge, el, heading, note, table, when } from './dom.js';

const outcomes = { forwarded: 'good', answered: 'good', refused: 'bad', open: 'warn' };
const roles = { enforced: 'roles count', ignored: 'roles do not count: the configuration says so', notAsked: 'nobody is asked for roles: no caller is named' };
const text = (t) => el('span', { class: 'text' }, t ?? '');

export function explanationOf(e) {
  return [verdictOf(e), e.heldBy ? [heading('What holds it up'), table('What refuses or delays it', waiting, e.heldBy)] : '', signInOf(e.signIn), heading('Steps'), table('The steps of the way, up to the one that ends it', [
    ['Step', (c) => c.step], ['Outcome', (c) => (c.passed ? badge('passed', 'good') : badge(e.verdict.outcome === 'open' ? 'open' : 'refused', e.verdict.outcome === 'open' ? 'warn' : 'bad'))], ['What was found', (c) => text(c.detail)]], e.checks),
  e.locks ? [heading('Locks'), table('Locks at or above what the request changes', locks, e.locks)] : '',
  placeOf(e.place), (e.calls ?? []).map(callOf), e.known ? knownOf(e.known, e.locks ? [] : e.known.locks) : ''];
}

function verdictOf({ verdict: v, request: r, caller: c }) {
  const answer = [v.status, v.code].filter(Boolean).join(' ');
  const facts = { Answer: answer, 'Retry after': v.retryAfter, 'Ends at': v.step, Class: [r.class, r.route].filter(Boolean).join(' '), Type: r.resourceType && `${r.resourceType} ${r.kind ?? ''}`, 'API version': r.apiVersion };
  return el('section', { class: `verdict ${outcomes[v.outcome] ?? ''}`, 'aria-label': 'Verdict' },
    el('p', {}, el('strong', { class: 'text' }, v.summary)),
    r.method ? el('p', {}, el('code', {}, `${r.method} ${r.path}`)) : '',
    el('dl', { class: 'facts' }, Object.entries(facts).filter(([, value]) => value).map(([k, value]) => el('div', {}, el('dt', {}, k), el('dd', {}, value)))),
    el('p', { class: 'muted text' }, c.objectId ? `Caller ${c.objectId}${c.tenantId ? ` of tenant ${c.tenantId}` : ''}; ` : '', roles[c.roles] ?? c.roles));
}

function signInOf(s) {
  if (!s) return '';
  const facts = { Method: s.method, Name: s.name, Application: s.appId, Issuer: s.issuer, Groups: s.groups?.join(', '), 'WWW-Authenticate': s.challenge };
  return [heading('Signing in'), el('p', { class: 'text' }, badge(s.result, { accepted: 'good', mustFetch: 'warn' }[s.result] ?? 'bad'), ' ', s.advice ?? ''),
    el('dl', { class: 'facts' }, Object.entries(facts).filter(([, value]) => value).map(([k, value]) => el('div', {}, el('dt', {}, k), el('dd', { class: 'text' }, value))))];
}

function placeOf(place) {
  if (!place) return '';
  const more = [place.cached && 'a location from memory', place.remembered && 'a subscription or group from memory', place.verify && 'the index is not sure of the row'].filter(Boolean);
  return [heading('Where it goes'), el('p', { class: 'text' }, el('strong', {}, place.regions.join(', ') || 'nowhere'), `: ${place.reason}`), note(`Decided by: ${[place.source, ...more].join('; ')}.`)];
}

function callOf(c, i) {
  return [el('h3', { class: 'text' }, c.made ? 'Called' : 'Would call', ` ${c.region}: `, el('code', {}, `${c.method} ${c.path}`), ' ', badge(c.purpose)),
    table('Addresses', [
      ['Address', (a) => el('code', {}, a.url)], ['State', (a) => badge(a.state, a.state === 'up' ? 'good' : 'bad')], ['Circuit', (a) => a.circuit], ['Chosen', (a) => (a.candidate ? 'may be' : 'no')]], c.addresses),
    c.headers ? el('details', { id: `headers-${i}` }, el('summary', {}, `${c.headers.length} headers`), table('Headers that go out', [['Header', (h) => el('code', {}, h.name)], ['Value', valueOf]], c.headers)) : ''];
}

function valueOf(h) {
  if (h.origin === 'secret') return 'a secret';
  if (h.origin === 'client') return 'the client’s';
  return h.varies ? 'another one for each request' : text(h.value);
}

const waiting = [
  ['What', (w) => text(w.message)], ['On', (w) => text(w.on)], ['Since', (w) => when(w.since)], ['Until', (w) => when(w.until)], ['Next try', (w) => when(w.next)], ['Last outcome', (w) => text(w.lastOutcome)],
  ['Job', (w) => text(w.job)], ['Go on with', (w) => (w.command ? el('code', {}, w.command) : '')]];

const locks = [['Lock', (l) => text(l.name)], ['Level', (l) => l.level], ['Scope', (l) => text(l.scope)], ['Notes', (l) => text(l.notes)]];

// knownOf says what is known of what the path names; parts of it that are empty are left
// out. standing are the locks that were not shown yet.
function knownOf(k, standing) {
  const part = (caption, columns, items) => (items.length ? table(caption, columns, items) : '');
  return el('section', {}, heading('What is known'), el('p', { class: 'text' }, k.id),
    k.row ? table('Its row', [['Type', (r) => r.type], ['Region', (r) => r.region], ['Phase', (r) => r.phase], ['Flags', (r) => r.flags.join(', ')], ['Changed', (r) => when(r.changed)]], [k.row]) : note('The index has no row.'),
    part('It waits for', waiting, k.waiting),
    part('Fences', [['Region', (f) => f.region], ['Reason', (f) => text(f.reason)], ['Until', (f) => when(f.until)]], k.fences),
    part('Locks', locks, standing),
    part('Its last events', [['Time', (v) => when(v.time)], ['Action', (v) => v.action], ['Status', (v) => v.status], ['Caller', (v) => text(v.caller)], ['Correlation id', (v) => el('code', {}, v.correlationId ?? '')]], k.events));
}
