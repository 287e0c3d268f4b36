// Charts of a range of time: axes, and the values under the pointer or, with
// the arrow keys, at a time.
import { el, show, svg } from './dom.js';
import { clock, utc } from './time.js';

const looked = new Map(); // by chart: the time that somebody looks at

// chart draws series of intervals, each {name, kind, of}, on one scale from zero. write
// makes a text of a value. range has the span in milliseconds, its name, and whether it ends now.
export function chart(id, title, intervals, series, write, { large = false, ...range }) {
  const figure = el('figure', { id, class: large ? 'large' : '' });
  figure.append(...parts(id, title, intervals, series, write, range));
  return figure;
}

const stamp = (i) => Date.parse(i.time);

// nice is the first of 1, 2, 5, 10, … that is not less.
function nice(top) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(top, 1e-6)));
  return [1, 2, 5, 10].map((n) => n * ten).find((n) => n >= top * 0.999);
}

function parts(id, title, intervals, series, write, range) {
  const { span, name, live } = range;
  const end = stamp(intervals.at(-1)), begin = end - span;
  const top = nice(Math.max(...series.flatMap((s) => intervals.map(s.of))) || 1);
  const x = (i) => (100 * (stamp(i) - begin)) / span, y = (v) => 100 - (100 * v) / top;
  const at = intervals.findLastIndex((i) => stamp(i) <= (looked.get(id) ?? end));
  const seen = intervals[Math.max(at, 0)];
  const values = series.map((s) => `${s.name} ${write(s.of(seen))}`);
  const look = (event, time) => {
    if (time === undefined) looked.delete(id);
    else looked.set(id, time);
    show(event.currentTarget.closest('figure'), parts(id, title, intervals, series, write, range));
  };
  const step = (event) => {
    const last = intervals.length - 1;
    const index = { ArrowLeft: Math.max(at - 1, 0), ArrowRight: Math.min(at + 1, last), Home: 0, End: last }[event.key];
    if (index === undefined) return;
    event.preventDefault();
    look(event, stamp(intervals[index]));
  };
  const point = (event) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    look(event, begin + (span * (event.clientX - left)) / width);
  };
  return [
    el('figcaption', {}, el('strong', {}, title), el('output', {}, live && !looked.has(id) ? 'now ' : `${clock(new Date(stamp(seen)))}Z `, series.map((s, n) => [n ? ', ' : '', el('span', { class: `key ${s.kind}` }, values[n])]))),
    el('div', { class: 'plot' },
      el('div', { class: 'y', 'aria-hidden': 'true' }, [top, top / 2, 0].map((v) => el('span', {}, write(v)))),
      svg('svg', {
        id: `${id}-plot`, viewBox: '0 0 100 100', preserveAspectRatio: 'none', tabindex: 0, role: 'slider', 'aria-label': `${title}, last ${name}`,
        'aria-valuemin': 0, 'aria-valuemax': intervals.length - 1, 'aria-valuenow': Math.max(at, 0), 'aria-valuetext': `${utc(new Date(stamp(seen)))}: ${values.join(', ')}`,
        onpointermove: point, onpointerleave: (event) => look(event), onkeydown: step, onblur: (event) => look(event),
      },
      [0, 50, 100].map((line) => svg('path', { class: 'grid', d: `M0 ${line}H100` })), [0, 100 / 3, 200 / 3, 100].map((line) => svg('path', { class: 'grid', d: `M${line} 0V100` })),
      series.map((s) => svg('polyline', { class: s.kind, points: intervals.filter((i) => stamp(i) >= begin).map((i) => `${x(i).toFixed(2)},${y(s.of(i)).toFixed(2)}`).join(' ') })),
      looked.has(id) && svg('path', { class: 'cursor', d: `M${Math.max(0, x(seen)).toFixed(2)} 0V100` })),
      el('div', { class: 'x', 'aria-hidden': 'true' }, [0, 1 / 3, 2 / 3, 1].map((part) => el('span', {}, clock(new Date(begin + part * span)).slice(0, 5), part === 1 ? 'Z' : '')))),
  ];
}
