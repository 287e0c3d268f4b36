// What is known of one ID: its row, what it waits for, fences, locks, its last events.
import { el } from './dom.js';
import * as links from './links.js';
import { badge, facts, heading, note, outcome, table, text } from './parts.js';
import { when } from './time.js';

// waitingOf lists what something waits for; each with the page that shows more of it.
export const waitingOf = (caption, all) => (all.length ? [el('h3', {}, caption), el('ul', { class: 'problems' }, all.map((w) => el('li', { class: 'warn', 'data-key': `${w.reason} ${w.on ?? ''} ${w.job ?? ''} ${w.region ?? ''} ${w.since}` },
  el('strong', { class: 'text' }, w.message), facts([['On', w.on && links.resource(w.on)], ['Since', when(w.since)], ['Until', when(w.until)], ['Next attempt', when(w.next)], ['Attempts', w.attempts], ['Last outcome', w.lastOutcome]]),
  el('p', { class: 'about' }, w.job ? links.job(w.job, 'Its job') : '', w.command ? links.go(w.command) : ''))))] : '');

export const lockColumns = [['Lock', (l) => text(l.name)], ['Level', (l) => badge(l.level, 'warn')], ['Scope', (l) => links.resource(l.scope)], ['Notes', (l) => text(l.notes)]];

// knownOf leaves out the parts that are empty. standing are the locks that were not shown
// yet.
export function knownOf(k, standing) {
  const part = (caption, columns, items, key) => (items.length ? table(caption, columns, items, { key }) : '');
  const s = k.subscription;
  return [
    s ? facts([['Subscription', s.displayName || s.id], ['State', badge(s.state, s.state === 'Enabled' ? 'good' : 'warn')], ['Tenant', s.tenantId], ['Offer', s.offerId]]) : '',
    k.group ? facts([['Group', badge(k.group.state, k.group.state === 'Succeeded' ? 'good' : 'warn')], ['Location', k.group.location], ['Created', when(k.group.created)], ['Changed', when(k.group.changed)]]) : '',
    k.row ? table('Index row', [['Type', (r) => r.type], ['Region', (r) => links.region(r.region)], ['Phase', (r) => r.phase], ['Flags', (r) => r.flags.join(', ')], ['Changed', (r) => when(r.changed)]], [k.row]) : k.group || s ? '' : note('Not in the index.'),
    waitingOf('Waits for', k.waiting),
    part('Fences', [['Region', (f) => links.region(f.region)], ['Reason', (f) => text(f.reason)], ['Until', (f) => when(f.until)]], k.fences, (f) => `${f.id} ${f.region}`),
    part('Locks', lockColumns, standing),
    part('Latest events', [['Time', (v) => when(v.time)], ['Action', (v) => v.action], ['Status', (v) => outcome(v.status)], ['Caller', (v) => links.caller(v.caller, v.name)], ['Correlation ID', (v) => links.correlation(v.correlationId)]], k.events, (v) => `${v.time} ${v.action} ${v.status}`)];
}

export const known = (k, standing) => el('section', {}, heading('Known state'), el('p', {}, links.resource(k.id)), knownOf(k, standing));
