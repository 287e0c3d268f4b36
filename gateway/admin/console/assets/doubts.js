import { pages } from './api.js';
import { badge, describe, el, heading, note, show, table, when } from './dom.js';

export function start(body, { every, signal }) {
  const sweep = el('section'), doubts = el('section'), fences = el('section'), strays = el('section');
  body.append(sweep, doubts, fences, strays);
  every(5000, async () => {
    const [d, f, s, j] = await Promise.all(['/admin/doubts', '/admin/fences', '/admin/strays', '/admin/jobs?kind=sweep'].map((path) => pages(path, signal)));
    show(sweep, sweepOf(j.value));
    show(doubts, heading('What the index is not sure of'), table(`${d.value.length} resources`, [
      ['Resource', (x) => el('span', { class: 'text' }, x.id)], ['Region', (x) => x.region], ['Phase', (x) => x.phase], ['Flags', (x) => x.flags.join(', ')],
      ['Why', (x) => x.why.map((w) => el('p', { class: 'text' }, `${w.message} ${w.lastOutcome ?? ''}`, w.attempts ? ` ${w.attempts} attempts.` : '', w.next ? [' Next ', when(w.next)] : ''))],
      ['Until', (x) => when(x.until)]], d.value, 'It is sure of everything.'), more(d));
    show(fences, heading('Fences'), table(`${f.value.length} fences`, [
      ['Resource', (x) => el('span', { class: 'text' }, x.id)], ['Region', (x) => x.region], ['Write', (x) => x.kind], ['Reason', (x) => el('span', { class: 'text' }, x.reason)],
      ['Since', (x) => when(x.since)], ['Until', (x) => when(x.until)]], f.value), more(f));
    show(strays, heading('Strays'), table(`${s.value.length} resources in a second region`, [
      ['Resource', (x) => el('span', { class: 'text' }, x.id)], ['Seen in', (x) => x.region], ['Type', (x) => x.type], ['Seen', (x) => when(x.seen)]], s.value), more(s));
  });
}

const more = (list) => (list.more ? note('There are more.') : '');

const findings = [['missingRows', 'missing rows, adopted'], ['missingResources', 'rows without a resource, removed'], ['strays', 'strays'], ['unknownGroups', 'resources of unknown groups'], ['usage', 'miscounted quotas']];

function sweepOf(jobs) {
  const last = jobs.filter((j) => j.progress?.started).sort((a, b) => b.progress.started.localeCompare(a.progress.started))[0];
  if (!last) return [heading('The last sweep'), note('There was none yet.')];
  const p = last.progress;
  return [heading('The last sweep'),
    el('p', {}, badge(p.ended ? (p.failureCount ? 'incomplete' : 'complete') : 'under way', p.ended ? (p.failureCount ? 'warn' : 'good') : ''), ' ', el('span', { class: 'text' }, last.subject), ', began ', when(p.started), p.ended ? [', ended ', when(p.ended)] : ` – ${p.done} of ${p.of}`),
    el('dl', { class: 'facts' }, findings.map(([key, title]) => el('div', {}, el('dt', {}, title), el('dd', {}, String(p[key]?.count ?? 0))))),
    findings.filter(([key]) => p[key]?.ids?.length).map(([key, title]) => el('details', { id: `sweep-${key}` }, el('summary', {}, title), describe(p[key].ids))),
    p.failures?.length ? el('details', { id: 'sweep-failures' }, el('summary', {}, `${p.failureCount} regions could not be looked at in full`), describe(p.failures)) : ''];
}
