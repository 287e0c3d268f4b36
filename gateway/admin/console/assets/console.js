// The frame of the console: which page is shown, who is signed in, keys, light and dark.
import { call, get } from './api.js';
import { el, say, show } from './dom.js';
import * as changes from './changes.js';
import * as configuration from './configuration.js';
import * as deletion from './deletion.js';
import * as errors from './errors.js';
import * as explain from './explain.js';
import * as index from './doubts.js';
import * as jobs from './jobs.js';
import * as overview from './overview.js';
import * as sinks from './sinks.js';

const all = [
  ['overview', 'Overview', overview], ['jobs', 'Jobs', jobs], ['deletion', 'Group deletion', deletion], ['explain', 'Explain', explain],
  ['index', 'Index', index], ['configuration', 'Configuration', configuration], ['errors', 'Errors', errors], ['changes', 'Changes', changes],
  ['sinks', 'Sinks', sinks],
];
const main = document.getElementById('main');
let leave = () => {};

// open shows the page that the address names.
function open() {
  const [name, query] = location.hash.replace(/^#\/?/, '').split('?');
  if (name === 'main') return;
  const [id, title, page] = all.find(([n]) => n === name) ?? all[0];
  leave();
  const gone = new AbortController();
  leave = () => gone.abort();
  for (const a of document.querySelectorAll('#pages a')) {
    if (a.dataset.page === id) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  document.title = `${title} – Portico`;
  const problem = el('div', { role: 'alert' });
  const body = el('div', { id: `page-${id}` });
  main.replaceChildren(el('h1', {}, title), problem, body);
  const context = { signal: gone.signal, query: new URLSearchParams(query), every: (pause, work) => repeat(pause, work, gone.signal, problem), problem };
  page.start(body, context);
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
      const text = err.message;
      if (problem.textContent !== text) problem.replaceChildren(el('p', { class: 'badge bad' }, text));
      if (err.status === 401) return;
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, pause);
      signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
    });
  }
}

function navigation(shown) {
  document.getElementById('pages').replaceChildren(...(shown ? all : []).map(([id, title], i) =>
    el('li', {}, el('a', { href: `#/${id}`, 'data-page': id, 'aria-keyshortcuts': String(i + 1) }, title))));
  document.getElementById('help').hidden = !shown;
}

// Signing in: the token goes out once, by POST, and is forgotten.
function signIn(why) {
  leave();
  leave = () => {};
  navigation(false);
  document.getElementById('signOut').hidden = true;
  document.getElementById('who').textContent = '';
  document.title = 'Sign in – Portico';
  const token = el('input', { type: 'password', id: 'token', name: 'token', autocomplete: 'off', required: true, spellcheck: 'false' });
  const problem = el('p', { role: 'alert', id: 'refused' }, why ?? '');
  const form = el('form', { method: 'post', action: '/console/session' }, el('label', { class: 'wide' }, 'Admin token', token), el('button', {}, 'Sign in'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const sent = token.value;
    token.value = '';
    try {
      begin(await call('POST', '/console/session', { token: sent }));
    } catch (err) {
      problem.textContent = err.status === 401 ? 'No admin token is like this one.' : err.message;
      token.focus();
    }
  });
  main.replaceChildren(el('h1', {}, 'Sign in'), form, problem);
  token.focus();
}

function begin(session) {
  if (!session.signedIn) return signIn();
  navigation(true);
  document.getElementById('signOut').hidden = !session.asked;
  document.getElementById('who').textContent = session.name ?? '';
  open();
}

// Light and dark: the system's choice until somebody chooses.
const themes = { '': 'Light or dark: system', light: 'Light', dark: 'Dark' };

function theme(chosen) {
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  document.getElementById('theme').textContent = themes[chosen];
  try {
    localStorage.setItem('portico-theme', chosen);
  } catch { /* then the choice lasts as long as the page */ }
}

function nextTheme() {
  const names = Object.keys(themes);
  const next = names[(names.indexOf(document.documentElement.dataset.theme ?? '') + 1) % names.length];
  theme(next);
  say(`Colours: ${themes[next]}`);
}

const keys = [['1 … 9', 'the pages, in their order'], ['/', 'the filter or first field of a page'], ['t', 'light, dark, as the system has it'], ['?', 'this list'], ['Esc', 'close what is open']];

function help() {
  if (document.getElementById('keys')) return;
  const dialog = el('dialog', { id: 'keys', 'aria-labelledby': 'keysTitle' }, el('h2', { id: 'keysTitle' }, 'Keys'),
    el('dl', {}, keys.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)])),
    el('form', { method: 'dialog' }, el('button', {}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea, dialog')) return;
  const page = all[Number(event.key) - 1];
  if (page && document.querySelector('#pages a')) location.hash = `#/${page[0]}`;
  else if (event.key === '?') help();
  else if (event.key === 't') nextTheme();
  else if (event.key === '/') main.querySelector('input, select')?.focus();
  else return;
  event.preventDefault();
});
document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById('theme').addEventListener('click', nextTheme);
document.getElementById('help').addEventListener('click', help);
document.getElementById('signOut').addEventListener('click', async () => {
  await call('DELETE', '/console/session').catch(() => {});
  signIn('You are signed out.');
});
addEventListener('signedout', () => { if (!document.getElementById('token')) signIn('The session has ended. Sign in again.'); });
addEventListener('hashchange', () => {
  if (document.getElementById('token') || location.hash === '#main') return;
  open();
  main.focus();
});

theme((() => { try { return localStorage.getItem('portico-theme') ?? ''; } catch { return ''; } })());
get('/console/session').then(begin, (err) => show(main, el('p', { role: 'alert' }, err.message)));
