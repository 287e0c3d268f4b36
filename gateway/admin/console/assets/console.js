// The frame of the console: which page is shown, and who is signed in.
import { call, get, pages } from './api.js';
import { el, show } from './dom.js';
import * as access from './access.js';
import * as changes from './changes.js';
import * as configuration from './configuration.js';
import * as errors from './errors.js';
import * as explain from './explain.js';
import * as index from './doubts.js';
import * as job from './job.js';
import * as jobs from './jobs.js';
import { keyboard } from './keyboard.js';
import { learn, link, to } from './links.js';
import * as overview from './overview.js';
import { note } from './parts.js';
import * as region from './region.js';
import * as resource from './resource.js';
import * as resources from './resources.js';
import * as search from './search.js';
import * as sinks from './sinks.js';
import './theme.js';
import * as why from './why.js';

// The pages of the menu, in their order, and those that links lead to, each with that of
// the menu which it belongs to.
const menu = [
  ['overview', 'Overview', overview], ['errors', 'Errors', errors], ['changes', 'Changes', changes], ['jobs', 'Jobs', jobs], ['resources', 'Resources', resources],
  ['explain', 'Explain', explain], ['access', 'Access', access], ['index', 'Index', index], ['configuration', 'Configuration', configuration], ['sinks', 'Sinks', sinks]];
const further = [['job', 'Job', job, 'jobs'], ['region', 'Region', region, 'overview'], ['resource', 'Resource', resource, 'resources'], ['search', 'Search', search, ''], ['why', 'Why', why, '']];
const unknown = { start: (body) => body.append(note(`The console has no page ${location.hash}.`), el('p', {}, link('Overview', 'overview'))) };
const main = document.getElementById('main'), find = document.getElementById('find'), sought = document.getElementById('search');
const menuOf = document.getElementById('menuOf'), signOut = document.getElementById('signOut'), who = document.getElementById('who');
let leave = () => {};

// open shows the page that the address names.
function open() {
  const [name, text] = location.hash.replace(/^#\/?/, '').split('?');
  if (name === 'main') return;
  const [id, title, page, below = id] = [...menu, ...further].find(([n]) => n === (name || 'overview')) ?? ['unknown', 'No such page', unknown, ''];
  leave();
  const gone = new AbortController();
  leave = () => gone.abort();
  for (const a of document.querySelectorAll('#pages a')) {
    if (a.dataset.page === below) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  for (const opened of document.querySelectorAll('header [popover]')) opened.hidePopover();
  menuOf.textContent = menu.find(([n]) => n === below)?.[1] ?? 'Menu';
  const problem = el('div', { role: 'alert' }), heading = el('h1', {}, title), body = el('div', { id: `page-${id}` });
  document.title = `${title} – Portico`;
  main.replaceChildren(heading, problem, body);
  const query = new URLSearchParams(text);
  sought.value = id === 'search' ? query.get('q') ?? '' : '';
  page.start(body, {
    signal: gone.signal, query,
    every: (pause, work) => repeat(pause, work, gone.signal, problem),
    title: (now) => {
      if (heading.textContent !== now) show(heading, now);
      document.title = `${now} – Portico`;
    },
    // keep has the address hold what is seen, without another step of the way back.
    keep: (seen) => {
      const now = to(id, seen);
      if (!gone.signal.aborted && location.hash !== now) history.replaceState(null, '', now);
    },
  });
}

// repeat works at once and then again and again until the page is left. A failure shows
// until the work goes well again.
async function repeat(pause, work, signal, problem) {
  while (!signal.aborted) {
    try {
      await work();
      if (!signal.aborted && problem.childNodes.length) problem.replaceChildren();
    } catch (err) {
      if (signal.aborted) return;
      show(problem, el('p', { class: 'badge bad' }, err.message));
      if (err.status === 401) return;
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, pause);
      signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
    });
  }
}

function navigation(shown) {
  document.getElementById('pages').replaceChildren(...(shown ? menu : []).map(([id, title], i) =>
    el('li', {}, el('a', { href: to(id), 'data-page': id, 'aria-keyshortcuts': String((i + 1) % 10) }, title))));
  for (const part of [find, menuOf, document.getElementById('help')]) part.hidden = !shown;
}

// Signing in: the token goes out once, by POST, and is forgotten.
function signIn(why) {
  leave();
  leave = () => {};
  sessionStorage.clear(); // what was asked
  navigation(false);
  signOut.hidden = true;
  who.textContent = '';
  document.title = 'Sign in – Portico';
  const token = el('input', { type: 'password', id: 'token', name: 'token', autocomplete: 'off', required: true, spellcheck: 'false' });
  const problem = el('p', { role: 'alert', id: 'refused' }, why ?? '');
  const form = el('form', { method: 'post', action: '/console/session' }, el('label', { class: 'wide' }, 'Admin token', token), el('button', {}, 'Sign in'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const sent = token.value;
    token.value = '';
    try {
      await begin(await call('POST', '/console/session', { token: sent }));
    } catch (err) {
      problem.textContent = err.status === 401 ? 'This token is not valid.' : err.message;
      token.focus();
    }
  });
  main.replaceChildren(el('h1', {}, 'Sign in'), form, problem);
  token.focus();
}

async function begin(session) {
  if (!session.signedIn) return signIn();
  navigation(true);
  signOut.hidden = !session.asked;
  who.textContent = session.name ?? '';
  await pages('/admin/subscriptions?limit=1000').then(({ value }) => learn(value), () => {}); // names alone
  open();
}

find.addEventListener('submit', (event) => {
  event.preventDefault();
  if (sought.value.trim()) location.hash = to('search', { q: sought.value.trim() });
});
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
signOut.addEventListener('click', async () => {
  await call('DELETE', '/console/session').catch(() => {});
  for (const opened of document.querySelectorAll('header [popover]')) opened.hidePopover();
  signIn('You are signed out.');
});
addEventListener('signedout', () => { if (!document.getElementById('token')) signIn('The session has ended. Sign in again.'); });
addEventListener('hashchange', () => {
  if (document.getElementById('token') || location.hash === '#main') return;
  open();
  main.focus();
});
keyboard(menu.map(([id]) => id), sought);
get('/console/session').then(begin, (err) => show(main, el('p', { role: 'alert' }, err.message)));
