// One thing: how it stands, why, what can be done, and what is known of it.
import { get } from './api.js';
import { el, show } from './dom.js';
import * as links from './links.js';
import { note, table, text } from './parts.js';
import { when } from './time.js';

const about = (id) => (id?.startsWith('/') ? links.resource(id) : links.job(id));

export function start(body, { every, signal, query, title }) {
  const of = query.get('of') ?? '', verdict = el('section', { class: 'verdict', 'aria-label': 'Verdict' }), known = el('section', { 'aria-label': 'Known' });
  title(`Why: ${of.split('/').at(-1)}`);
  body.append(verdict, known);
  every(10000, async () => {
    const w = await get(`/admin/why?of=${encodeURIComponent(of)}`, signal);
    show(verdict, el('p', {}, el('strong', { class: 'text' }, w.verdict)), el('p', {}, w.subject.kind === 'correlation' ? links.link('Errors', 'errors', { text: of }) : about(w.subject.id)),
      w.actions.length ? el('ul', {}, w.actions.map((a) => el('li', { 'data-key': a.command }, text(a.text), ' ', links.go(a.command)))) : '');
    show(known, table('Known, the newest first', [['Time', (e) => when(e.time)], ['What', (e) => e.what], ['Text', (e) => text(e.text)], ['By', (e) => text(e.by)], ['About', (e) => about(e.link)], ['Correlation ID', (e) => links.correlation(e.correlationId)]], w.known, { key: (e) => `${e.time} ${e.what} ${e.text}` }),
      note(`Searched: ${w.searched}.`));
  });
}
