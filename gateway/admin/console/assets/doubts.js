// Unverified resources, the regions that were not listed, and what the last sweep found.
import { pages } from './api.js';
import { el, show } from './dom.js';
import * as links from './links.js';
import { badge, describe, facts, heading, note, table, text } from './parts.js';
import { when } from './time.js';

export function start(body, { every, signal }) {
  const sweep = el('section'), unlisted = el('section', { id: 'unlisted' }), doubts = el('section'), fences = el('section'), strays = el('section');
  body.append(sweep, unlisted, doubts, fences, strays);
  every(5000, async () => {
    const [d, f, s, j] = await Promise.all(['/admin/doubts', '/admin/fences', '/admin/strays', '/admin/jobs?kind=sweep'].map((path) => pages(path, signal)));
    show(sweep, sweepOf(j.value));
    const [regions, resources] = [d.value.filter(isRegion), d.value.filter((x) => !isRegion(x))];
    show(unlisted, regions.length ? [heading('Regions not yet listed'), table(`${regions.length} regions of subscriptions`, [
      ['Subscription', (x) => links.subscription(x.id.split('/').pop())], ['Region', (x) => links.region(x.region)], ['Since', (x) => when(x.why[0].since)],
      ['Why', why]], regions, { key: (x) => `${x.id} ${x.region}` })] : '');
    show(doubts, heading('Unverified resources'), table(`${resources.length} resources`, [
      ['Resource', (x) => links.resource(x.id)], ['Region', (x) => links.region(x.region)], ['Phase', (x) => x.phase], ['Flags', (x) => x.flags.join(', ')],
      ['Why', why], ['Until', (x) => when(x.until)]], resources, { empty: regions.length ? 'No known unverified resources.' : 'All resources are verified.' }), more(d));
    show(fences, heading('Fences'), table(`${f.value.length} fences`, [
      ['Resource', (x) => links.resource(x.id)], ['Region', (x) => links.region(x.region)], ['Write', (x) => x.kind], ['Reason', (x) => text(x.reason)],
      ['Since', (x) => when(x.since)], ['Until', (x) => when(x.until)]], f.value, { key: (x) => `${x.id} ${x.region}` }), more(f));
    show(strays, heading('Strays'), table(`${s.value.length} resources in a second region`, [
      ['Resource', (x) => links.resource(x.id)], ['Found in', (x) => links.region(x.region)], ['Type', (x) => x.type], ['Seen', (x) => when(x.seen)]], s.value, { key: (x) => `${x.id} ${x.region}` }), more(s));
  });
}

const isRegion = (x) => x.why.some((w) => w.reason === 'regionUnlisted');

const why = (x) => x.why.map((w) => el('p', { class: 'text' }, `${w.message} ${w.lastOutcome ?? ''}`, w.job ? [' ', links.job(w.job, 'its job')] : '', w.attempts ? ` ${w.attempts} attempts.` : '', w.next ? [' Next ', when(w.next)] : ''));

const more = (list) => (list.more ? note('There are more.') : '');

const findings = [['missingRows', 'missing rows (adopted)'], ['missingResources', 'rows without a resource (removed)'], ['strays', 'strays'], ['unknownGroups', 'resources in unknown groups'], ['usage', 'miscounted quotas']];

function sweepOf(jobs) {
  const last = jobs.filter((j) => j.progress?.started).sort((a, b) => b.progress.started.localeCompare(a.progress.started))[0];
  if (!last) return [heading('Last sweep'), note('No sweep has run yet.')];
  const p = last.progress;
  return [heading('Last sweep'),
    el('p', {}, badge(p.ended ? (p.failureCount ? 'incomplete' : 'complete') : 'in progress', p.ended ? (p.failureCount ? 'warn' : 'good') : ''), ' ', links.job(last.id, last.subject), ', began ', when(p.started), p.ended ? [', ended ', when(p.ended)] : '', ` – ${p.done} of ${p.of} lists`, last.waitingFor?.length ? [', waits for ', last.waitingFor.join(', '), ' until ', when(last.due)] : ''),
    facts(findings.map(([key, title]) => [title, p[key]?.count ?? 0])),
    findings.filter(([key]) => p[key]?.ids?.length).map(([key, title]) => el('details', { id: `sweep-${key}` }, el('summary', {}, title), describe(p[key].ids))),
    p.failures?.length ? el('details', { id: 'sweep-failures' }, el('summary', {}, `${p.failureCount} regions could not be listed completely`), describe(p.failures)) : ''];
}
