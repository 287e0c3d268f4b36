'use strict';
// Everything is there without this script: it hides trials that are not looked for, opens
// the one that a link leads to, and copies lines.
const form = document.getElementById('filter');
const words = document.getElementById('words');
const profile = document.getElementById('profile');
const trials = [...document.querySelectorAll('[data-trial]')].map((e) => ({e, text: e.textContent.toLowerCase()}));
const status = document.getElementById('shown');

function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const {e, text} of trials) {
    e.hidden = !wanted.every((w) => text.includes(w)) || profile.value !== '' && e.dataset.profile !== profile.value;
    if (e.hidden) continue;
    shown++;
    if (e.tagName === 'LI' && wanted.length) e.closest('details').open = true;
  }
  status.textContent = shown === trials.length ? '' : `${shown} of ${trials.length} trials`;
}

function reveal() {
  const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (at instanceof HTMLDetailsElement) at.open = true;
}

async function copy(pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent);
    status.textContent = 'Copied.';
  } catch { // a browser that does not let pages of files copy
    getSelection().selectAllChildren(pre);
    status.textContent = 'Selected: copy it by the keyboard.';
  }
}

form.hidden = false;
form.addEventListener('submit', (e) => e.preventDefault());
form.addEventListener('input', filter);
for (const pre of document.querySelectorAll('pre.curl')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', () => copy(pre));
  pre.after(button);
}
addEventListener('hashchange', reveal);
reveal();
