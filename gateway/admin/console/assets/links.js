// Everything that has a page is a link to it. The hash of an address is the page and what
// is seen of it.
import { el } from './dom.js';
import { code, copyable } from './parts.js';

export function to(page, query = {}) {
  const set = Object.entries(query).filter(([, v]) => v);
  return `#/${page}${set.length ? `?${new URLSearchParams(set)}` : ''}`;
}

export const link = (shown, page, query) => el('a', { href: to(page, query), class: 'text' }, shown);

// Names of subscriptions, by their ids; console.js reads them when somebody comes in.
const names = new Map();
export const learn = (subscriptions) => { for (const s of subscriptions) names.set(s.id.toLowerCase(), s.displayName); };
export const someSubscription = () => names.keys().next().value ?? '00000000-0000-0000-0000-000000000000';
export const nameOf = (subscription) => names.get((subscription ?? '').toLowerCase()) ?? '';

// An ID breaks at its strokes.
const broken = (id) => (id ?? '').split(/(?=\/)/).map((part, n) => [n ? el('wbr') : '', part]);

export const resource = (id, shown = id) => (/^\/subscriptions\/./i.test(id ?? '') ? link(broken(shown), 'resource', { id }) : el('span', { class: 'text' }, broken(id)));
export const region = (name, shown = name) => (name && name !== 'none' ? link(shown, 'region', { name }) : name ?? '');
export const job = (id, shown = id) => (id ? link(shown, 'job', { id }) : '');
export const subscription = (id) => (id ? [nameOf(id) ? [nameOf(id), ' '] : '', link(id, 'resource', { id: `/subscriptions/${id}` })] : '');
export const correlation = (id) => (id ? link(code(id), 'search', { q: id }) : '');
export const caller = (id, name) => (id ? [name ? [el('span', { class: 'text' }, name), ' '] : '', link(id, 'search', { q: id })] : '');
// The short forms have the whole in the title and to copy.
const short = (whole, shown, page, query) => copyable(whole, el('a', { href: to(page, query), class: 'text', title: whole }, shown));
export const named = (id) => (/^\/subscriptions\/./i.test(id ?? '') ? short(id, nameOf(id.slice('/subscriptions/'.length)) || id.split('/').at(-1), 'resource', { id }) : el('span', { class: 'text', title: id }, id));
export const shortJob = (id, shown) => short(id, shown, 'job', { id });
export const shortID = (id, name) => (id ? short(id, name || id.slice(0, 8), 'search', { q: id }) : '');
export const subscriptionOf = (path) => /^\/subscriptions\/([^/]+)/i.exec(path ?? '')?.[1]?.toLowerCase() ?? '';

// next is where a command of portico shows the same in the console: its page and query.
export function next(command, subject) {
  const words = ((command ?? '').match(/'[^']*'|[^ ]+/g) ?? []).map((w) => w.replaceAll("'", '')), [, verb, first = '', second] = words;
  const flag = (name) => (words.includes(name) ? words[words.indexOf(name) + 1] : '');
  if (/^(doubts|fences|sweep)$/.test(verb)) return to('index');
  switch (verb) {
    case 'regions': return regionOf(second ?? subject);
    case 'retire': return regionOf(first);
    case 'jobs': return first === 'show' ? to('job', { id: second }) : to('jobs', { kind: flag('--kind') });
    case 'sinks': return to('sinks', { name: second });
    case 'unstick': return first.startsWith('/') ? to('resource', { id: first }) : first.startsWith('sink/') ? to('sinks', { name: first.split('/')[1] }) : to('job', { id: first });
    case 'resources': return to('resource', { id: second });
    case 'why': return to('why', { of: first });
    case 'reload': case 'configuration': return to('configuration');
    case 'errors': return to('errors', { blame: flag('--blame') });
    case 'explain': case 'changes': return to(verb);
  }
  return '';
}

const regionOf = (place) => (place ? to('region', /:\/\//.test(place) ? { address: place } : { name: place }) : to('overview'));

// go is a command with the link to the page that shows the same.
export function go(command, subject, shown = 'Show') {
  if (!command) return '';
  const at = next(command, subject);
  return el('span', { class: 'go' }, at ? el('a', { href: at }, shown) : '', at ? ' ' : '', code(command));
}
