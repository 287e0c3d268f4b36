// The keys of the console, and the list of them.
import { el } from './dom.js';
import { to } from './links.js';
import { nextTheme } from './theme.js';

const keys = [['/', 'find a resource, a group, a subscription, a job, a correlation id, a caller'], ['1 … 9, 0', 'the pages, in their order'], ['f', 'the first field of a page'],
  ['← →', 'on a chart: the values at a time'], ['t', 'light, dark, as the system has it'], ['?', 'this list'], ['Esc', 'close what is open']];

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
