// One job: how far it is, what it waits for, and what can be done about it.
import { call, get } from './api.js';
import { el, show } from './dom.js';
import { deploymentOf } from './deployment.js';
import { graph } from './graph.js';
import { isOpen, progress, stateOf } from './jobs.js';
import * as links from './links.js';
import { ask, badge, button, code, describe, facts, heading, note, table, text } from './parts.js';
import { when } from './time.js';
import { unstick } from './unstick.js';

export function start(body, { every, signal, query, title }) {
  const id = query.get('id') ?? '', path = `/admin/jobs/${encodeURIComponent(id)}`;
  const top = el('section', { 'aria-label': 'State' }), tools = el('section', { 'aria-label': 'Actions' }), parts = el('section', { 'aria-label': 'Members' }), past = el('section', { 'aria-label': 'Latest steps' }), order = el('section'), more = el('details', { id: 'details' });
  body.append(top, tools, parts, past, order, more);
  const refresh = async () => {
    const j = await get(path, signal);
    title(`${j.kind} ${j.subject.startsWith('/') ? j.subject.split('/').pop() : j.subject}`);
    show(top, stateOfJob(j));
    show(tools, toolsOf(j, refresh)); // apart, so that what comes or goes above takes no focus
    const { history = [], ...rest } = j;
    show(past, heading('Latest steps'), stepsOf(history));
    show(more, el('summary', {}, 'All details'), describe(rest));
    if (j.deployment) show(parts, deploymentOf(await get(`${path}/deployment`, signal)));
    if (!j.parts) return;
    const [members, orders] = await Promise.all([get(`${path}/members`, signal), get(`/admin/deleteOrder?subscription=${encodeURIComponent(j.subscription)}`, signal)]);
    show(parts, membersOf(j, members));
    show(order, heading('Learned deletion order'), table('Types', [['First', (o) => o.before], ['Then', (o) => o.after], ['Seen', (o) => when(o.seen)]], orders.value, { key: (o) => `${o.before} ${o.after}` }));
  };
  every(3000, refresh);
}

function stateOfJob(j) {
  const p = j.progress ?? {};
  return [
    facts([['State', stateOf(j)], ['Subject', links.resource(j.on ?? j.subject)], ['Subscription', links.subscription(j.subscription)], ['Attempts', j.attempts], ['Replica', j.owner], ['Created', when(j.created)], ['Changed', when(j.changed)],
      ['Next attempt', isOpen(j) ? when(j.due) : ''], ['Attempts until', isOpen(j) ? when(j.until) : '']]),
    j.steps ? el('p', {}, progress({ steps: j.steps })) : '',
    j.parts ? el('p', {}, ...endOf(j, p)) : j.outcome ? el('p', { class: 'text' }, j.outcome) : '',
    j.waitingFor?.length && j.state === 'Waiting' ? el('p', {}, badge('waits for regions', 'bad'), ' ', j.waitingFor.map((r, n) => [n ? ', ' : '', links.region(r)])) : '',
    el('p', { class: 'muted' }, code(j.command))];
}

const kinds = { failed: 'bad', panicked: 'bad', expired: 'warn', done: 'good' };

// stepsOf is a line of time, the newest step first.
const stepsOf = (steps) => (steps.length ? el('ol', { class: 'timeline' }, steps.map((s) => el('li', { class: kinds[s.outcome], 'data-key': `${s.at} ${s.outcome}` },
  when(s.at), ' ', badge(s.outcome, kinds[s.outcome]), ' ', s.times > 1 ? ['× ', s.times, ' since ', when(s.since), ' '] : '', text(s.did), s.replica ? el('span', { class: 'muted text' }, ` ${s.replica}`) : ''))) : note('No steps are recorded yet.'));

// endOf says of the deletion of a group how it stands, or how it ended.
function endOf(j, p) {
  const counts = p.total !== undefined ? `${p.deleted} of ${p.total} deleted` : '';
  if (j.state === 'Cancelling') return [badge('being cancelled'), ` This deletion is being cancelled${counts ? `, after ${counts}` : ''}: it sends no more calls, and ends when the calls in progress have ended.`];
  if (j.state === 'Cancelled') return [badge('cancelled'), ` This deletion was cancelled${counts ? ` after ${counts}` : ''}: no more of the group is deleted, and it can be used again.`];
  if (j.state === 'Failed') return [badge('given up', 'bad'), ` This deletion was given up${counts ? ` after ${counts}` : ''}: the group can be used again.`];
  if (j.state === 'Done') return [badge('done', 'good'), ' The group is deleted.'];
  return [counts ? `${counts}, ${p.inFlight} in progress, ${p.waiting} waiting, ${p.parked} refused, pass ${p.pass}` : 'It has not started yet.'];
}

function toolsOf(j, refresh) {
  if (!isOpen(j)) return '';
  const step = (question, agree, name, options) => unstick({ job: j.id, step: name }, question, agree, options);
  const shown = facts([['Job', `${j.kind} of ${j.on ?? j.subject}`], ['Attempts', j.attempts], ['Next attempt', when(j.due)], ['Attempts until', when(j.until)]]);
  return el('p', { class: 'tools' },
    button('ask', 'Try now', () => step('Run it now instead of at the next attempt? It will do the same as it would then.', 'Try now', 'ask', { shown }), refresh),
    button('giveUp', 'Give up', () => step('Give it up now, as if its time limit had passed? Completed work stays; the rest will not be done.', 'Give up', 'giveUp', { shown, reason: true }), refresh),
    j.cancellable ? button(`cancel-${j.id}`, 'Cancel', async () => {
      if (!(await ask(`Cancel the job ${j.kind} of ${j.subject}?`, 'Cancel the job', { shown }))) return undefined;
      await call('POST', `/admin/jobs/${encodeURIComponent(j.id)}/cancel`);
      return 'The job is being cancelled.';
    }, refresh) : '');
}

const states = { waiting: ['waiting', 'warn'], inFlight: ['being sent', 'good'], accepted: ['being deleted', 'good'], refused: ['refused', 'bad'] };

// drawn is a member as a graph has it.
function drawn(m) {
  const [said] = states[m.state];
  return { id: m.id, name: m.id.split('/').at(-1), about: `${m.type.split('/').at(-1)}, ${m.region}: ${said}`, said, kind: m.state, waitsFor: m.waitsFor, parent: m.parent };
}

function membersOf(j, { group, members, further }) {
  const member = (id) => links.resource(id, id.toLowerCase().startsWith(`${group.toLowerCase()}/providers/`) ? id.slice(group.length + '/providers/'.length) : id);
  if (j.state !== 'Waiting') return '';
  return [heading('Dependencies'), members.length ? graph(members.map(drawn)) : note('Nothing is left to delete.'), further ? note('Not all members are shown.') : '',
    members.length ? table('Members', [
      ['Resource', (m) => [member(m.id), m.stray ? [' ', badge('stray', 'warn')] : '']], ['State', (m) => badge(...states[m.state])], ['Region', (m) => links.region(m.region)],
      ['Waits for', (m) => (m.waitsFor ? m.waitsFor.map((id) => el('p', {}, member(id))) : m.ownWrite ? `its own ${m.ownWrite} to end` : m.state === 'refused' ? 'any other deletion' : '')],
      ['Why', (m) => (m.why ? text(words(m.why)) : '')], ['Next attempt', (m) => (m.state === 'waiting' && m.due ? when(m.due) : '')]], members) : ''];
}

// words are those of an error, which may be JSON as the provider sent it.
function words(said) {
  try {
    const { code: name, message } = JSON.parse(said).error;
    return `${name}: ${message}`;
  } catch {
    return said;
  }
}
