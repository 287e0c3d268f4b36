// The keys of the console, and the list of them.
import { el } from './dom.js';
import { to } from './links.js';
import { nextTheme } from './theme.js';

const keys = [['/', 'find a resource, group, subscription, job, correlation ID or caller'], ['1 … 9, 0', 'go to a page, in the order of the menu'], ['f', 'go to the first field of the page'],
  ['← →', 'on a chart: move through time'], ['t', 'switch between light, dark and system colours'], ['?', 'show this list'], ['Esc', 'close the dialog']];

function help() {
  if (document.getElementById('keys')) return;
  const dialog = el('dialog', { id: 'keys', 'aria-labelledby': 'keysTitle' }, el('h2', { id: 'keysTitle' }, 'Keys'),
    el('dl', {}, keys.map(([key, what]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)])),
    el('form', { method: 'dialog' }, el('button', {}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function keyboard(pages, search) {
  document.getElementById('help').addEventListener('click', help);
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea, dialog')) return;
    const page = /^[0-9]$/.test(event.key) ? pages.at(Number(event.key) - 1) : undefined;
    const inside = !search.form.hidden;
    if (page && inside) location.hash = to(page);
    else if (event.key === '?') help();
    else if (event.key === 't') nextTheme();
    else if (event.key === '/' && inside) { search.focus(); search.select(); }
    else if (event.key === 'f') document.querySelector('main :is(input, select, textarea)')?.focus();
    else return;
    event.preventDefault();
  });
}
