// Elements are built by these functions alone: a text only ever becomes a text node.

const svgSpace = 'http://www.w3.org/2000/svg';

// A handler belongs to an element by its name, so that show can give an element that stays
// the handlers of the one that would have replaced it.
const handlers = new WeakMap();

function hear(node, kind, handler) {
  const of = handlers.get(node) ?? {};
  handlers.set(node, of);
  if (!(kind in of)) node.addEventListener(kind, (event) => handlers.get(node)[kind]?.(event));
  of[kind] = handler;
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) hear(node, name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...flat(children));
  return node;
}

const flat = (children) => children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false && c !== '');

export const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(svgSpace, name), attributes, children);

// show has a container hold these children. What is there already and stays is changed in
// place: the focus, a selection, what is open and how far it was scrolled stay with it.
export function show(container, ...children) {
  const fresh = document.createDocumentFragment();
  fresh.append(...flat(children));
  become(container, fresh);
}

const keyOf = (node) => node.id || node.dataset?.key || '';
const alike = (a, b) => a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

function become(old, fresh) {
  const keyed = new Map([...old.children].filter(keyOf).map((c) => [keyOf(c), c]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted);
    const there = key ? keyed.get(key) : at;
    if (!there || !alike(there, wanted)) {
      old.insertBefore(wanted, at);
      continue;
    }
    keyed.delete(key);
    if (there === at) at = at.nextSibling;
    else old.insertBefore(there, at);
    change(there, wanted);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function change(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const now = handlers.get(wanted) ?? {};
  for (const kind of Object.keys({ ...handlers.get(old), ...now })) hear(old, kind, now[kind]);
  become(old, wanted);
}
