// One resource, group or subscription: all that is known of it, and where to go on.
import { get } from './api.js';
import { all, answersOf } from './errors.js';
import { el, show } from './dom.js';
import { knownOf } from './known.js';
import { link, subscription, subscriptionOf } from './links.js';
import { button, facts, heading, table, text } from './parts.js';
import { when } from './time.js';
import { unstick } from './unstick.js';

export function start(body, { every, signal, query, title }) {
  const id = query.get('id') ?? '', top = el('section', { 'aria-label': 'Links' }), detail = el('section', { 'aria-label': 'Known state' }), errors = el('section', { 'aria-label': 'Errors' });
  const name = id.split('/').filter(Boolean);
  title(name.length === 2 ? `Subscription ${name[1]}` : name.at(-1) ?? 'Resource');
  body.append(top, detail, errors);
  const refresh = async () => {
    const k = await get(`/admin/resource?id=${encodeURIComponent(id)}`, signal);
    show(detail, knownOf(k, k.locks));
    show(top, el('p', { class: 'text' }, k.id), facts([['In', subscription(subscriptionOf(k.id))]]), el('p', { class: 'tools' }, ...elsewhere(k), ...tools(k, refresh)));
    const found = (await all(signal)).filter((a) => a.path.toLowerCase() === k.id.toLowerCase()).slice(0, 50);
    show(errors, found.length ? [heading('Latest errors'), answersOf(found)] : '');
  };
  every(5000, refresh);
}

const group = (id) => /^\/subscriptions\/[^/]+\/resourceGroups\/([^/]+)$/i.exec(id)?.[1];

function elsewhere(k) {
  const sub = subscriptionOf(k.id);
  return [
    k.subscription || k.group ? link('Resources', 'resources', { subscription: sub, group: group(k.id) }) : '',
    link('Explain a request', 'explain', { path: k.id }), link('Role assignments here', 'access', { scope: k.id }), link('Changes', 'changes', { resource: k.id }),
    k.subscription ? link('Errors', 'errors', { subscription: sub }) : ''];
}

// What a step would do is what waits: it is shown before anything is done.
function tools(k, refresh) {
  if (k.waiting.length === 0 && !k.row?.flags.length) return [];
  const shown = table('Pending work', [['What', (w) => text(w.message)], ['Last outcome', (w) => text(w.lastOutcome)], ['Next attempt', (w) => when(w.next)]], k.waiting, { key: (w) => `${w.reason} ${w.job}`, empty: 'The row is unverified.' });
  const step = (question, agree, name, reason) => unstick({ id: k.id, step: name }, question, agree, { shown, reason });
  return [
    button('ask', 'Ask now', () => step('Ask the provider now instead of at the next attempt?', 'Ask now', 'ask'), refresh),
    button('giveUp', 'Give up', () => step('Give up the pending work now, as if its time limit had passed?', 'Give up', 'giveUp', true), refresh),
    k.row ? button('forget', 'Forget', () => step('Forget the row? Only do this if you know that the resource does not exist.', 'Forget', 'forget', true), refresh) : ''];
}
