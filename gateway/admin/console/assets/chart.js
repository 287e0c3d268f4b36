import { el, svg } from './dom.js';

const width = 300, height = 60;

// chart draws series of numbers, each [class, values], the newest at the right, with one
// scale from zero.
export function chart(label, series, { most = 180, small = false } = {}) {
  const top = Math.max(1e-9, ...series.flatMap(([, values]) => values));
  const points = (values) => values.map((v, i) => `${(width * (most - values.length + i)) / (most - 1)},${height - 2 - (height - 6) * (v / top)}`).join(' ');
  return svg('svg', { class: small ? 'chart small' : 'chart', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    series.map(([kind, values]) => svg('polyline', { class: kind, points: points(values) })));
}

export const captioned = (picture, ...caption) => el('figure', {}, el('figcaption', {}, caption), picture);
