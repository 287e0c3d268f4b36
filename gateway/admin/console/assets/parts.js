// The parts that pages are made of.
import { el } from './dom.js';

export const badge = (text, kind = '') => el('span', { class: `badge ${kind}` }, text);
// status is that of an answer which was an error; outcome is how a change ended.
export const status = (a) => badge(String(a.status), a.status >= 500 ? 'bad' : 'warn');
export const outcome = (name) => badge(name, { Failed: 'bad', Succeeded: 'good' }[name]);
export const drainOf = (d) => d && `by ${d.by ?? 'an operator'}: ${d.reason}`;
export const heading = (text) => el('h2', {}, text);
export const note = (text) => el('p', { class: 'muted' }, text);
export const text = (t) => el('span', { class: 'text' }, t ?? '');
export const code = (t) => el('code', {}, t ?? '');
export const field = (title, control, wide) => el('label', { class: wide && 'wide' }, title, control);
export const filters = (...fields) => el('form', { class: 'filters', onsubmit: (e) => e.preventDefault() }, fields);

// table has a row for each item; columns are pairs of a header and what a cell shows. On a
// narrow screen each cell says its header. By its key a row stays what it is. With belongs, on
// a wide screen a row takes one line, and items follow the one that they belong to.
export function table(caption, columns, items, { empty = 'None.', key = (item) => item.id, belongs } = {}) {
  if (items.length === 0) return note(empty);
  const parent = new Map(belongs && items.map((i) => [i, items.find((o) => o !== i && belongs(i, o))]));
  const withBelow = (i) => [i, ...items.filter((c) => parent.get(c) === i).flatMap(withBelow)];
  return el('table', { class: belongs ? 'list one' : 'list' }, el('caption', {}, caption),
    el('thead', {}, el('tr', {}, columns.map(([head]) => el('th', { scope: 'col' }, head)))),
    el('tbody', {}, items.filter((i) => !parent.get(i)).flatMap(withBelow).map((item) => el('tr', { 'data-key': key(item), class: parent.get(item) && 'child' }, columns.map(([head, cell]) => el('td', { 'data-label': head }, cell(item) ?? ''))))));
}

// facts shows those of pairs that have a value.
export function facts(pairs) {
  return el('dl', { class: 'facts' }, pairs.filter(([, v]) => v !== undefined && v !== null && v !== '').map(([k, v]) => el('div', { 'data-key': k }, el('dt', {}, k), el('dd', { class: 'text' }, typeof v === 'number' ? v.toLocaleString('en') : v))));
}

// describe shows any JSON as a list of definitions.
export function describe(value) {
  if (Array.isArray(value)) {
    if (value.length === 0) return el('span', { class: 'muted' }, 'none');
    return el('dl', {}, value.map((v, i) => [el('dt', { class: 'muted' }, String(i + 1)), el('dd', {}, describe(v))]));
  }
  if (value !== null && typeof value === 'object') return el('dl', {}, Object.entries(value).map(([k, v]) => [el('dt', {}, k), el('dd', {}, describe(v))]));
  return text(value === null ? 'none' : String(value));
}

// copyable adds a button that copies what is shown in short. It is no stop of the keyboard: the
// page that the short form leads to has the whole.
export const copyable = (whole, shown) => [shown, el('button', {
  type: 'button', class: 'copy', tabindex: -1, title: 'Copy', 'aria-label': `Copy ${whole}`,
  onclick: () => (navigator.clipboard?.writeText(whole) ?? Promise.reject(new Error())).then(() => say(`Copied ${whole}`), () => say(whole)), // only a secure context may copy
})];

let said;

// say tells of something that happened, on the page and to screen readers.
export function say(what) {
  const status = document.getElementById('status');
  status.textContent = what;
  clearTimeout(said);
  said = setTimeout(() => { status.textContent = ''; }, 8000);
}

// ask resolves to whether somebody agrees to what is shown, or to the reason that they
// give where one is needed.
export function ask(question, agree, { shown = [], reason = false } = {}) {
  return new Promise((resolve) => {
    const why = el('input', { id: 'reason', required: true, maxlength: 500 });
    const dialog = el('dialog', { 'aria-labelledby': 'question' }, el('p', { id: 'question' }, question), shown,
      el('form', { method: 'dialog' }, reason && field('Reason (for the audit log)', why, true), el('button', { value: 'yes', id: 'agree' }, agree), el('button', { value: 'no', id: 'leave', formnovalidate: true, autofocus: !reason }, 'Go back')));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' && (reason ? why.value : true));
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// button does something that says what came of it, or nothing where no one agreed.
export function button(id, title, work, refresh = async () => {}) {
  return el('button', {
    type: 'button', id,
    onclick: async () => {
      try {
        const came = await work();
        if (came === undefined) return;
        say(came);
      } catch (err) {
        say(err.message);
      }
      await refresh().catch(() => {});
    },
  }, title);
}
