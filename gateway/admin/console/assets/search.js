// What the box in the head finds. Where it is one thing alone, its page comes at once.
import { get, pages } from './api.js';
import { changesOf, past } from './changes.js';
import { all, answersOf } from './errors.js';
import { el, show } from './dom.js';
import * as links from './links.js';
import { heading, note, table } from './parts.js';

const deployment = /\/deployments\/[^/]+$/i; // its page is that of its job

const mostSubscriptions = 30, mostHits = 100, mostSearched = 20000;

export function start(body, { signal, query, title }) {
  const sought = query.get('q') ?? '', list = el('div', { id: 'hits', 'aria-live': 'polite' });
  title(`Search: ${sought}`);
  body.append(list);
  if (/^\/subscriptions\/./i.test(sought) && !deployment.test(sought)) return location.replace(links.to('why', { of: sought }));
  show(list, note('Looking …'));
  search(sought, signal).then((found) => {
    if (signal.aborted) return;
    const things = [...found.things.values()];
    if (things.length === 1 && !found.changes.length && !found.errors.length) location.replace(things[0].at);
    else if (!things.length && deployment.test(sought)) location.replace(links.to('resource', { id: sought }));
    else show(list, hitsOf(found, things));
  }).catch((err) => signal.aborted || show(list, el('p', { role: 'alert' }, err.message)));
}

// search asks each part of the gateway that may know such a thing.
async function search(sought, signal) {
  const wanted = sought.toLowerCase(), found = { things: new Map(), errors: [], changes: [], left: 0 };
  const add = (kind, shown, page, asked) => { const at = links.to(page, asked); found.things.set(at, { id: at, kind, shown, at, page, asked }); };
  const { value: subscriptions } = await pages('/admin/subscriptions?limit=1000', signal);
  links.learn(subscriptions);
  for (const s of subscriptions) if (`${s.id} ${s.displayName}`.toLowerCase().includes(wanted)) add('subscription', `${s.displayName} ${s.id}`, 'resource', { id: `/subscriptions/${s.id}` });
  found.left = Math.max(0, subscriptions.length - mostSubscriptions);
  await Promise.all([
    pages('/admin/regions', signal).then(({ value }) => value.filter((r) => `${r.name} ${r.displayName}`.toLowerCase().includes(wanted)).forEach((r) => add('region', r.name, 'region', { name: r.name }))),
    pages('/admin/jobs?limit=1000', signal).then(({ value }) => value.filter((j) => j.subject.toLowerCase() === wanted || j.deployment && j.subject.toLowerCase().endsWith(`/${wanted}`)).forEach((j) => add(`job ${j.kind}`, `${j.subject} (${j.state})`, 'job', { id: j.id }))),
    !deployment.test(sought) && get(`/admin/why?of=${encodeURIComponent(sought)}`, signal).then((w) => add(w.subject.kind, w.subject.id, 'why', { of: sought }), () => {}), // it is no job, correlation id or URL that is known
    all(signal).then((errors) => { found.errors = errors.filter((a) => [a.caller, a.name].some((v) => v?.toLowerCase() === wanted)).slice(0, mostHits); }),
    past(signal, mostSearched).then(({ found: changes }) => { found.changes = changes.filter((e) => [e.data.objectId, e.data.name].some((v) => v?.toLowerCase() === wanted)).slice(0, mostHits); }),
    ...subscriptions.slice(0, mostSubscriptions).flatMap((s) => inside(s, wanted, signal, add)),
  ]);
  return found;
}

// inside looks for groups of this very name and resources whose name has it.
function inside(s, wanted, signal, add) {
  const groupID = `/subscriptions/${s.id}/resourceGroups/${wanted}`;
  const named = (id) => id.split('/').at(-1).toLowerCase().includes(wanted);
  return [
    /^[^/?#%\\]+$/.test(wanted) ? get(`/admin/resource?id=${encodeURIComponent(groupID)}`, signal).then((k) => k.group && add('group', k.id, 'resource', { id: k.id }), () => {}) : undefined, // no name of a group
    pages(`/admin/resources?subscription=${encodeURIComponent(s.id)}&limit=1000`, signal, 5).then(({ value }) => value.filter((r) => named(r.id)).slice(0, mostHits).forEach((r) => add(r.type, r.id, 'resource', { id: r.id }))),
  ];
}

function hitsOf({ errors, changes, left }, things) {
  return [
    things.length ? table(`${things.length} things`, [['What', (t) => t.kind], ['Which', (t) => links.link(t.shown, t.page, t.asked)]], things) : '',
    errors.length ? [heading('Errors'), answersOf(errors)] : '',
    changes.length ? [heading('Changes'), changesOf(changes, `${changes.length} changes, newest first`)] : '',
    things.length + errors.length + changes.length ? '' : note('Nothing found: no subscription, region, job, group, resource, error or stored change matches.'),
    left ? note(`Names of resources were searched in ${mostSubscriptions} subscriptions; ${left} were skipped. An ID is found in any subscription.`) : ''];
}
