import { get, pages } from './api.js';
import { badge, el, heading, note, show, svg, table, when } from './dom.js';
import { job } from './jobs.js';

const states = { waiting: ['waiting', 'warn'], inFlight: ['being sent', 'good'], accepted: ['being deleted', 'good'], refused: ['refused', 'bad'] };
const mostDrawn = 80;

export function start(body, { every, signal, query }) {
  const choice = el('select', { id: 'deletion' }), shown = el('div');
  let chosen = query.get('job') ?? '';
  choice.addEventListener('change', () => {
    chosen = choice.value;
    refresh().catch(() => {});
  });
  body.append(el('form', {}, el('label', { class: 'wide' }, 'Deletion', choice)), shown);
  const refresh = async () => {
    const kinds = (await get('/admin/jobKinds', signal)).value.filter((k) => k.parts);
    const found = await Promise.all(kinds.map((k) => pages(`/admin/jobs?limit=200&kind=${encodeURIComponent(k.kind)}`, signal)));
    const value = found.flatMap((f) => f.value);
    if (!value.some((j) => j.id === chosen)) chosen = (value.find((j) => j.due) ?? value[0])?.id ?? '';
    const options = value.map((j) => `${j.id} ${j.state}`).join();
    if (choice.dataset.options !== options) {
      choice.dataset.options = options;
      choice.replaceChildren(...value.map((j) => el('option', { value: j.id }, `${j.subject} (${j.state}) in ${j.subscription}`)));
    }
    choice.value = chosen;
    if (!chosen) return show(shown, note('No group is being deleted.'));
    const now = await job(chosen, signal);
    const [members, orders] = await Promise.all([get(`/admin/jobs/${encodeURIComponent(chosen)}/members`, signal), get(`/admin/deleteOrder?subscription=${encodeURIComponent(now.subscription)}`, signal)]);
    show(shown, deletionOf(now, members, orders.value));
  };
  every(3000, refresh);
}

function deletionOf(j, { group, members, further }, orders) {
  const p = j.progress ?? {};
  return [el('p', { class: 'text' }, el('strong', {}, group), ' ', badge(j.state)),
    p.total !== undefined ? el('p', {}, el('progress', { value: String(p.deleted), max: String(p.total), 'aria-label': 'Deleted' }), ` ${p.deleted} of ${p.total} deleted, ${p.inFlight} under way, ${p.waiting} waiting, ${p.parked} refused, pass ${p.pass}`) : '',
    p.waitingFor?.length ? el('p', {}, badge('waits for regions', 'bad'), ` ${p.waitingFor.join(', ')}`) : '',
    heading('What waits for what'), members.length ? graph(members) : note('Nothing is left to delete.'),
    members.length > mostDrawn ? note(`The picture has ${mostDrawn} of them.`) : '', further ? note('There are more members than are shown.') : '',
    table('Members', [
      ['Resource', (m) => [el('span', { class: 'text' }, m.id), m.stray ? [' ', badge('stray', 'warn')] : '']],
      ['State', (m) => badge(...states[m.state])],
      ['Region', (m) => m.region],
      ['Waits for', (m) => (m.waitsFor ? m.waitsFor.map((id) => el('p', { class: 'text' }, id)) : m.state === 'refused' ? 'any other to go' : '')],
      ['Why', (m) => (m.why ? el('span', { class: 'text' }, words(m.why)) : '')],
      ['Tried again', (m) => (m.state === 'waiting' && m.due ? when(m.due) : '')],
    ], members),
    heading('The order that deletions have learnt'), table('Types', [['First', (o) => o.before], ['Then', (o) => o.after], ['Seen', (o) => when(o.seen)]], orders)];
}

// words are those of an error, which may be JSON as the provider sent it.
function words(text) {
  try {
    const { code, message } = JSON.parse(text).error;
    return `${code}: ${message}`;
  } catch {
    return text;
  }
}

// levels tells how many others have to go before each member, one after the other.
function levels(members) {
  const byID = new Map(members.map((m) => [m.id, m]));
  const found = new Map();
  const level = (m, above) => {
    if (found.has(m.id)) return found.get(m.id);
    if (above.has(m.id)) return 0; // they wait for each other
    const next = new Set(above).add(m.id);
    const deepest = Math.max(-1, ...(m.waitsFor ?? []).map((id) => byID.get(id)).filter(Boolean).map((b) => level(b, next)));
    found.set(m.id, deepest + 1);
    return deepest + 1;
  };
  for (const m of members) level(m, new Set());
  return found;
}

const boxWidth = 240, boxHeight = 46, gapX = 60, gapY = 14;
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function graph(all) {
  const members = [...all].sort((a, b) => (b.waitsFor?.length ?? 0) - (a.waitsFor?.length ?? 0)).slice(0, mostDrawn);
  const level = levels(members), rows = new Map(), place = new Map();
  for (const m of members) {
    const column = level.get(m.id), row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    place.set(m.id, [10 + column * (boxWidth + gapX), 10 + row * (boxHeight + gapY)]);
  }
  const edges = members.flatMap((m) => [...(m.waitsFor ?? []).map((id) => [id, m.id, 'edge']), ...(m.parent ? [[m.parent, m.id, 'edge child']] : [])]).filter(([from, to]) => place.has(from) && place.has(to));
  const wide = 20 + (Math.max(...level.values()) + 1) * (boxWidth + gapX), high = 10 + Math.max(...rows.values()) * (boxHeight + gapY);
  return el('div', { class: 'graph', id: 'graph', tabindex: '0', role: 'region', 'aria-label': 'The members as a graph; the table below says the same' },
    svg('svg', { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, 'aria-hidden': 'true' },
      svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' }, svg('path', { d: 'M0 0 8 4 0 8z' }))),
      edges.map(([from, to, kind]) => edge(place.get(from), place.get(to), kind)), members.map((m) => box(m, place.get(m.id)))));
}

function edge([fx, fy], [tx, ty], kind) {
  const x = fx + boxWidth, y = fy + boxHeight / 2, to = ty + boxHeight / 2;
  return svg('path', { class: kind, d: `M${x} ${y} C${x + gapX / 2} ${y} ${tx - gapX / 2} ${to} ${tx} ${to}`, 'marker-end': 'url(#tip)' });
}

function box(m, [x, y]) {
  const type = m.type.split('/').at(-1);
  return svg('g', { class: m.state, 'data-member': m.id }, svg('title', {}, `${m.id}: ${states[m.state][0]}`), svg('rect', { x, y, width: boxWidth, height: boxHeight, rx: 6 }),
    svg('text', { x: x + 10, y: y + 18 }, cut(m.id.split('/').at(-1), 28)), svg('text', { x: x + 10, y: y + 36 }, cut(`${type}, ${m.region}: ${states[m.state][0]}`, 32)));
}
