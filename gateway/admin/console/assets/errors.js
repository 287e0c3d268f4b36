// The answers of all replicas that were errors, in groups of those that are alike.
import { get } from './api.js';
import { el, show } from './dom.js';
import * as links from './links.js';
import { code, field, filters, note, status, table, text } from './parts.js';
import { when } from './time.js';

const group = { code: (a) => `${a.status} ${a.code ?? ''}`.trim(), blame: (a) => a.blame ?? '', region: (a) => (a.region === 'none' ? '' : a.region), subscription: (a) => a.subscription ?? '', caller: (a) => a.caller ?? '', replica: (a) => a.replica };
const titles = { code: 'Code', blame: 'Blame', region: 'Region', subscription: 'Subscription', caller: 'Caller', replica: 'Replica' };
const usual = ['code', 'blame', 'region', 'subscription', 'caller'];
const blames = ['Portico', 'unreachable', 'provider', 'caller'];
const mostListed = 100; // answers of a group

export const all = async (signal) => (await read(signal)).answers;

// read reads the errors of all replicas, the newest first: each of the last ones of the
// replica that answers, and one for all others that are alike. The note says what they lack.
async function read(signal) {
  const { value: groups, note: lacks } = await get('/admin/errors?limit=1000', signal), { value: each } = await get('/admin/errors?each=true&limit=1000', signal);
  const kind = (a) => [a.replica, a.status, a.code, a.cause, a.region, a.subscription, a.tenantId, a.caller].join('|'), known = new Map();
  for (const a of each) known.set(kind(a), (known.get(kind(a)) ?? 0) + 1);
  const others = groups.map((g) => (known.has(kind(g)) ? { ...g, count: g.count - known.get(kind(g)), time: g.first, path: '', correlationId: '', message: '' } : g)).filter((g) => g.count > 0);
  return { answers: [...each, ...others].sort((a, b) => new Date(b.time) - new Date(a.time)), lacks };
}

const total = (answers) => answers.reduce((n, a) => n + a.count, 0);

export function start(body, { every, signal, query, keep }) {
  const words = el('input', { type: 'search', id: 'filter', value: query.get('text') ?? '' }), failed = el('input', { type: 'checkbox', id: 'failed', checked: query.has('failed') });
  const region = query.get('region') ?? '', subscription = query.get('subscription') ?? '', list = el('div', { id: 'errors' });
  const blame = el('select', { id: 'blame' }, ['', ...blames].map((value) => el('option', { value, selected: value === query.get('blame') }, value || 'all')));
  const chosen = query.get('by')?.split(',') ?? usual;
  const by = Object.keys(group).map((key) => [key, el('input', { type: 'checkbox', id: `by-${key}`, checked: chosen.includes(key) })]);
  let answers = [], lacks;
  const draw = () => {
    const keys = by.filter(([, box]) => box.checked).map(([key]) => key), wanted = words.value.toLowerCase();
    keep({ text: words.value, failed: failed.checked && '1', blame: blame.value, region, subscription, by: keys.join() !== usual.join() && (keys.join() || 'none') });
    const found = answers.filter((a) => (!failed.checked || a.status >= 500) && (!blame.value || a.blame === blame.value) && (!region || a.region === region) && (!subscription || group.subscription(a) === subscription) && (!wanted || Object.values(a).join(' ').toLowerCase().includes(wanted)));
    show(list, lacks ? el('p', { class: 'verdict warn', id: 'lacks' }, lacks) : '', el('p', {}, el('strong', {}, `${total(found)} answers`), found.length ? [', from ', when(found.at(-1).time), ' to ', when(found[0].time)] : '', region || subscription ? [' of ', region, nameOr(subscription), ' ', links.link('all', 'errors')] : ''),
      found.length ? groupsOf(found, keys) : note(answers.length ? 'No errors match.' : 'There were no errors in the last day.'));
  };
  for (const control of [words, failed, blame, ...by.map(([, box]) => box)]) control.addEventListener('input', draw);
  body.append(filters(field('Filter by correlation ID, region, status or code', words, true), field('Blame', blame), el('label', { class: 'choice' }, failed, '5xx only'), el('fieldset', {}, el('legend', {}, 'Group by'), by.map(([key, box]) => el('label', { class: 'choice' }, box, titles[key])))), list);
  every(3000, async () => {
    ({ answers, lacks } = await read(signal));
    draw();
  });
}

const nameOr = (subscription) => links.nameOf(subscription) || subscription;

function groupsOf(answers, chosen) {
  const keys = chosen.filter((k) => answers.some(group[k]));
  const groups = new Map();
  for (const a of answers) {
    const key = keys.map((k) => group[k](a)).join('|');
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(a);
  }
  return el('div', { class: 'groups' }, [...groups].sort(([, a], [, b]) => total(b) - total(a)).map(([key, found]) => groupOf(key, found, keys)));
}

function groupOf(key, found, keys) {
  const [newest] = found;
  const shown = (k) => (k === 'code' ? [status(newest), ' ', newest.code ?? ''] : k === 'subscription' ? nameOr(group.subscription(newest)) : k === 'caller' ? newest.name ?? newest.caller : group[k](newest));
  return el('details', { id: `errors-${key}` },
    el('summary', {}, el('span', { class: 'count' }, String(total(found))), keys.map((k) => el('span', { class: `by ${k}`, title: titles[k] }, shown(k) || '–')), el('span', { class: 'muted' }, 'last ', when(newest.time))),
    table(`${total(found)} answers, newest first${found.length > mostListed ? `; ${mostListed} are shown` : ''}`, [
      ['Time', (a) => [when(a.time), a.count > 1 ? el('p', { class: 'muted' }, `${a.count} times`) : '']], ['Status', answered], ['Blame', group.blame],
      ['Request', (a) => [code(a.method), ' ', links.resource(a.path), el('p', { class: 'muted' }, a.class)]], ['Region', (a) => links.region(a.region)], ['Caller', (a) => [links.caller(a.caller, a.name), el('p', { class: 'muted' }, text(a.replica))]], ['Correlation ID', (a) => links.correlation(a.correlationId)]],
    found.slice(0, mostListed), { key: (a) => `${a.time} ${a.correlationId} ${a.path} ${a.replica}` }));
}

// answered shows the status, the code and one line of the message; its title has the whole.
const answered = (a) => [status(a), ' ', a.code ?? '', a.message ? el('p', { class: 'muted line', title: a.message }, a.message) : ''];

// answersOf is a table of some answers, on the page of what they are about.
export const answersOf = (answers) => table(`${answers.length} error answers`, [
  ['Time', (a) => when(a.time)], ['Status', answered], ['Blame', group.blame], ['Request', (a) => [code(a.method), ' ', links.resource(a.path)]], ['Region', (a) => links.region(a.region)]],
answers, { key: (a) => `${a.time} ${a.correlationId} ${a.path}` });
