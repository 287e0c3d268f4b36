// Light and dark: the system's choice until somebody chooses.
import { say } from './parts.js';

const themes = { '': 'Light or dark: system', light: 'Light', dark: 'Dark' };
const root = document.documentElement, button = document.getElementById('theme');

function choose(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  button.textContent = themes[theme];
  try {
    localStorage.setItem('portico-theme', theme);
  } catch { /* then the choice lasts as long as the page */ }
}

export function nextTheme() {
  const names = Object.keys(themes);
  const next = names[(names.indexOf(root.dataset.theme ?? '') + 1) % names.length];
  choose(next);
  say(`Colours: ${themes[next]}`);
}

button.addEventListener('click', nextTheme);
choose((() => { try { return localStorage.getItem('portico-theme') ?? ''; } catch { return ''; } })());
