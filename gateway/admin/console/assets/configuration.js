import { call, get } from './api.js';
import { badge, el, heading, note, say, show, table, when } from './dom.js';

export function start(body, { every, signal }) {
  const generations = el('div', { id: 'generations' }), settings = el('div', { id: 'settings' }), text = el('input', { type: 'search', id: 'filter' });
  let inUse = [], read = -1;
  const draw = () => {
    const found = inUse.filter((s) => `${s.path} ${s.value}`.toLowerCase().includes(text.value.toLowerCase()));
    show(settings, table(`${found.length} settings; REDACTED stands for what may be a secret, or name a person`, [['Setting', (s) => el('code', {}, s.path)], ['Value', (s) => el('span', { class: 'text' }, s.value)]], found.slice(0, 500)),
      found.length > 500 ? note('The first 500 are shown.') : '');
  };
  text.addEventListener('input', draw);
  const refresh = async () => {
    const { value } = await get('/admin/configurations', signal);
    show(generations, value.map(generationOf));
    const newest = value.find((g) => g.outcome === 'taken')?.generation ?? 0;
    if (newest === read) return;
    inUse = (await get('/admin/configuration', signal)).settings;
    read = newest;
    draw();
  };
  body.append(el('form', { onsubmit: (e) => e.preventDefault() }, el('button', { type: 'button', id: 'reload', onclick: () => reload(refresh) }, 'Read the configuration again')),
    heading('Generations, the newest first'), generations, heading('Settings in use'), el('form', { onsubmit: (e) => e.preventDefault() }, el('label', { class: 'wide' }, 'Filter', text)), settings);
  every(5000, refresh);
}

async function reload(refresh) {
  try {
    const { generation } = await call('POST', '/admin/reload');
    say(`Generation ${generation} is in use.`);
  } catch (err) {
    say(`Refused: ${err.message}`);
  }
  await refresh().catch(() => {});
}

function generationOf(g) {
  const taken = g.outcome === 'taken';
  return el('article', { class: `box ${taken ? 'good' : 'bad'}` },
    el('div', { class: 'row' }, el('h3', {}, taken ? `Generation ${g.generation}` : 'Refused'), badge(g.outcome, taken ? 'good' : 'bad')),
    el('p', {}, when(g.time), ', by ', el('span', { class: 'text' }, g.by ? `${g.why}, ${g.by}` : g.why)),
    (g.faults ?? []).map((f) => el('p', { class: 'text' }, f)),
    g.needsRestart?.length ? el('p', { class: 'text' }, badge('needs a restart', 'warn'), ` ${g.needsRestart.join(', ')}`) : '',
    g.changes?.length ? el('ul', {}, g.changes.map(change)) : taken && g.generation > 1 ? note('Nothing that is shown has changed.') : '',
    g.further ? note(`${g.further} more.`) : '');
}

function change(c) {
  return el('li', {}, el('code', {}, c.path), ' ', c.from ? el('del', {}, `− ${c.from}`) : '', ' ', c.to ? el('ins', {}, `+ ${c.to}`) : '');
}
