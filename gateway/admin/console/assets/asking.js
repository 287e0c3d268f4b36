// A page with a form that asks the gateway for something. What the address holds is asked at
// once; otherwise what was asked last in this tab, and examples, stand where the answer will.
import { el, show } from './dom.js';
import { link, someSubscription } from './links.js';
import { heading, note } from './parts.js';

const mostKept = 5;

// asking has the address hold what kept returns, and shows what answer makes of it. examples
// are what to ask, made from the path of a subscription.
export function asking(page, body, { signal, keep }, { about, fields, agree, kept, answer, ready, examples }) {
  const shown = el('div', { id: 'answer', 'aria-live': 'polite' }), last = JSON.parse(sessionStorage.getItem(page) ?? '[]');
  const ask = async () => {
    const asked = kept();
    keep(asked);
    sessionStorage.setItem(page, JSON.stringify([asked, ...last.filter((l) => JSON.stringify(l) !== JSON.stringify(asked))].slice(0, mostKept)));
    try {
      show(shown, await answer(asked));
    } catch (err) {
      if (!signal.aborted) show(shown, el('p', { role: 'alert', class: 'text' }, err.message));
    }
  };
  const list = (title, all) => (all.length ? [heading(title), all.map((q) => el('p', {}, link(Object.values(q).filter(Boolean).join(' '), page, q)))] : '');
  body.append(note(about), el('form', { onsubmit: (event) => { event.preventDefault(); ask(); } }, fields, el('button', {}, agree)), shown);
  if (ready) ask();
  else show(shown, list('Asked last', last), list('Examples', examples(`/subscriptions/${someSubscription()}`)));
}
