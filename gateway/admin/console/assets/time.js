// Times are shown in UTC; the local time is in the title, the age beside.
import { el } from './dom.js';

const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

function age(at) {
  const seconds = Math.round((Date.now() - at) / 1000);
  const [unit, of] = units.find(([, n]) => Math.abs(seconds) >= n) ?? units.at(-1);
  const n = Math.floor(Math.abs(seconds) / of);
  return seconds < 0 ? `in ${n} ${unit}` : `${n} ${unit} ago`;
}

export const utc = (at) => at.toISOString().replace('T', ' ').replace(/\.\d+Z$/, 'Z');
export const clock = (at) => at.toISOString().slice(11, 19);

export function when(text) {
  if (!text) return '';
  const at = new Date(text);
  return el('time', { datetime: text, title: `${local.format(at)}, local time` }, el('span', { class: 'utc' }, utc(at)), ' ', el('span', { class: 'age' }, age(at)));
}

setInterval(() => {
  for (const shown of document.querySelectorAll('time .age')) {
    const now = age(new Date(shown.parentElement.dateTime));
    if (shown.textContent !== now) shown.firstChild.data = now;
  }
}, 1000);

export function seconds(s) {
  if (!s) return '0 s';
  return s < 1 ? `${number(s * 1000)} ms` : `${number(s)} s`;
}

export const number = (n) => (n >= 100 ? Math.round(n) : n >= 1 ? Math.round(n * 10) / 10 : Math.round(n * 1000) / 1000).toLocaleString('en');
