// The configurations that there were, and the settings in use.
import { call, get } from './api.js';
import { el, show } from './dom.js';
import { filtersOf } from './filter.js';
import { badge, button, code, filters, heading, note, table, text as shown } from './parts.js';
import { when } from './time.js';

export function start(body, { every, signal, query, keep }) {
  const generations = el('div', { id: 'generations' }), settings = el('div', { id: 'settings' });
  let inUse = [], read = -1;
  const draw = () => {
    keep(by.values());
    const found = by.matching(inUse).sort((a, b) => Boolean(a.atDefault) - Boolean(b.atDefault));
    show(settings, table(`${found.length} settings, those that differ from their default first; REDACTED replaces values that may be secret or name a person`,
      [['Setting', (s) => code(s.path)], ['Value', (s) => (s.atDefault ? shown(s.value) : el('strong', { class: 'text' }, s.value))], ['Default', (s) => (s.atDefault ? 'the same' : shown(s.default))]], found.slice(0, 500), { key: (s) => s.path }),
    found.length > 500 ? note('Only the first 500 are shown.') : '');
  };
  const by = filtersOf(query, [['text', 'Filter', (s) => `${s.path} ${s.value}`]], undefined, draw);
  const refresh = async () => {
    const { value } = await get('/admin/configurations', signal);
    show(generations, value.map(generationOf));
    const newest = value.find((g) => g.outcome === 'taken')?.generation ?? 0;
    if (newest === read) return;
    inUse = (await get('/admin/configuration', signal)).settings;
    read = newest;
    draw();
  };
  body.append(el('p', {}, button('reload', 'Reload the configuration', reload, refresh)),
    heading('Generations, newest first'), generations, heading('Settings in use'), filters(by.fields), settings);
  every(5000, refresh);
}

// reload says what came of it; a refusal shows among the generations, too.
const reload = () => call('POST', '/admin/reload').then(({ generation }) => `Generation ${generation} is in use.`, (err) => `Refused: ${err.message}`);

function generationOf(g) {
  const taken = g.outcome === 'taken';
  return el('article', { class: `box ${taken ? 'good' : 'bad'}`, 'data-key': g.time },
    el('div', { class: 'row' }, el('h3', {}, taken ? `Generation ${g.generation}` : 'Refused'), badge(g.outcome, taken ? 'good' : 'bad')),
    el('p', {}, when(g.time), ', by ', el('span', { class: 'text' }, g.by ? `${g.why}, ${g.by}` : g.why)),
    (g.faults ?? []).map((f) => el('p', { class: 'text' }, f)),
    g.needsRestart?.length ? el('p', { class: 'text' }, badge('needs a restart', 'warn'), ` ${g.needsRestart.join(', ')}`) : '',
    g.changes?.length ? el('ul', {}, g.changes.map(change)) : taken && g.generation > 1 ? note('No visible setting has changed.') : '',
    g.further ? note(`${g.further} more.`) : '');
}

function change(c) {
  return el('li', {}, code(c.path), ' ', c.from ? el('del', {}, `− ${c.from}`) : '', ' ', c.to ? el('ins', {}, `+ ${c.to}`) : '');
}
