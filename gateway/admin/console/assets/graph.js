// A graph of what waits for what: the members of the deletion of a group, or the steps of a
// deployment. A member has an id, a name, what is said about it, and the kind that it is drawn as.
import { el, svg } from './dom.js';
import { note } from './parts.js';

const mostDrawn = 80;

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

export function graph(all) {
  const members = [...all].sort((a, b) => (b.waitsFor?.length ?? 0) - (a.waitsFor?.length ?? 0)).slice(0, mostDrawn);
  const level = levels(members), rows = new Map(), place = new Map();
  for (const m of members) {
    const column = level.get(m.id), row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    place.set(m.id, [10 + column * (boxWidth + gapX), 10 + row * (boxHeight + gapY)]);
  }
  const edges = members.flatMap((m) => [...(m.waitsFor ?? []).map((id) => [id, m.id, 'edge']), ...(m.parent ? [[m.parent, m.id, 'edge child']] : [])]).filter(([from, to]) => place.has(from) && place.has(to));
  const wide = 20 + (Math.max(...level.values()) + 1) * (boxWidth + gapX), high = 10 + Math.max(...rows.values()) * (boxHeight + gapY);
  return [all.length > mostDrawn ? note(`The graph shows ${mostDrawn} of them.`) : '', el('div', { class: 'graph', id: 'graph', tabindex: '0', role: 'region', 'aria-label': 'Graph of the members; the table below has the same content' },
    svg('svg', { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, 'aria-hidden': 'true' },
      svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: 'auto' }, svg('path', { d: 'M0 0 8 4 0 8z' }))),
      edges.map(([from, to, kind]) => edge(place.get(from), place.get(to), kind)), members.map((m) => box(m, place.get(m.id)))))];
}

function edge([fx, fy], [tx, ty], kind) {
  const x = fx + boxWidth, y = fy + boxHeight / 2, to = ty + boxHeight / 2;
  return svg('path', { class: kind, d: `M${x} ${y} C${x + gapX / 2} ${y} ${tx - gapX / 2} ${to} ${tx} ${to}`, 'marker-end': 'url(#tip)' });
}

function box(m, [x, y]) {
  return svg('g', { class: m.kind, 'data-key': m.id }, svg('title', {}, `${m.id}: ${m.said}`), svg('rect', { x, y, width: boxWidth, height: boxHeight, rx: 6 }),
    svg('text', { x: x + 10, y: y + 18 }, cut(m.name, 28)), svg('text', { x: x + 10, y: y + 36 }, cut(m.about, 32)));
}
