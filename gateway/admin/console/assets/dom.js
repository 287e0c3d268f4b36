// Elements are built by these functions alone: a text only ever becomes a text node.

const svgSpace = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(svgSpace, name), attributes, children);

export const badge = (text, kind = '') => el('span', { class: `badge ${kind}` }, text);
export const heading = (text) => el('h2', {}, text);
export const note = (text) => el('p', { class: 'muted' }, text);

// show replaces what a container holds. The focus, what is open and how far a part was
// scrolled stay, by their ids.
export function show(container, ...children) {
  const focused = container.contains(document.activeElement) && document.activeElement.id;
  const open = [...container.querySelectorAll('details[open][id]')].map((d) => d.id);
  const scrolled = [...container.querySelectorAll('.graph[id]')].map((g) => [g.id, g.scrollLeft, g.scrollTop]);
  container.replaceChildren(...children.flat(Infinity).filter(Boolean));
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo(left, top);
  if (focused) document.getElementById(focused)?.focus();
}

// table has a row for each item; columns are pairs of a header and what a cell shows. On a
// narrow screen each cell says its header.
export function table(caption, columns, items, empty = 'None.') {
  if (items.length === 0) return note(empty);
  return el('table', {}, el('caption', {}, caption),
    el('thead', {}, el('tr', {}, columns.map(([head]) => el('th', { scope: 'col' }, head)))),
    el('tbody', {}, items.map((item) => el('tr', {}, columns.map(([head, cell]) => el('td', { 'data-label': head }, cell(item) ?? ''))))));
}

// describe shows any JSON as a list of definitions.
export function describe(value) {
  if (Array.isArray(value)) {
    if (value.length === 0) return el('span', { class: 'muted' }, 'none');
    return el('dl', {}, value.map((v, i) => [el('dt', { class: 'muted' }, String(i + 1)), el('dd', {}, describe(v))]));
  }
  if (value !== null && typeof value === 'object') {
    return el('dl', {}, Object.entries(value).map(([k, v]) => [el('dt', {}, k), el('dd', {}, describe(v))]));
  }
  return el('span', { class: 'text' }, value === null ? 'none' : String(value));
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

export function when(text) {
  if (!text) return '';
  const at = new Date(text);
  return el('time', { datetime: text, title: at.toISOString() }, clock.format(at));
}

export const number = (n) => (n >= 100 ? Math.round(n) : n >= 1 ? Math.round(n * 10) / 10 : Math.round(n * 1000) / 1000).toLocaleString();

export function seconds(s) {
  if (!s) return '–';
  return s < 1 ? `${number(s * 1000)} ms` : `${number(s)} s`;
}

let said;

// say tells of something that happened, on the page and to screen readers.
export function say(text) {
  const status = document.getElementById('status');
  status.textContent = text;
  clearTimeout(said);
  said = setTimeout(() => { status.textContent = ''; }, 8000);
}

// ask resolves to whether somebody agrees.
export function ask(question, agree) {
  return new Promise((resolve) => {
    const dialog = el('dialog', { 'aria-labelledby': 'question' }, el('p', { id: 'question' }, question),
      el('form', { method: 'dialog' }, el('button', { value: 'yes', id: 'agree' }, agree), el('button', { value: 'no' }, 'Leave it')));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
