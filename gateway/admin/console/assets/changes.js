// What changed, and what changes as it happens.
import { failureOf, get, ourHeader, pages } from './api.js';
import { el, show } from './dom.js';
import { filtersOf } from './filter.js';
import * as links from './links.js';
import { badge, field, filters, note, outcome, table } from './parts.js';
import { utc, when } from './time.js';

const mostShown = 200, mostRead = 1000;

// past reads the newest changes that are kept, the newest first, and the token behind them.
export async function past(signal, most = mostShown) {
  const found = [];
  let begin = `last=${most}`, after = '';
  for (let read = -1; read !== found.length && found.length < most;) {
    read = found.length;
    const page = await get(`/admin/changes?limit=1000&${begin}`, signal);
    found.push(...page.value);
    after = page.next;
    begin = `after=${encodeURIComponent(after)}`;
  }
  return { found: found.reverse().slice(0, most), after };
}

// Of one request, the change of a group or a deployment has those of its resources below it.
const isDeployment = (e) => /\/deployments\/[^/]+$/i.test(e.subject);
const belongs = (e, to) => Boolean(e.data.correlationId) && e.data.correlationId === to.data.correlationId && !isDeployment(e) && (isDeployment(to) || e.subject.toLowerCase().startsWith(`${to.subject.toLowerCase()}/`));
const operation = (e) => el('span', { title: e.data.operationName }, e.data.operationName.split('/').slice(-2).join('/'));

export const changesOf = (events, caption, options) => table(caption, [
  ['Time', (e) => when(e.time)], ['What', operation], ['Status', (e) => [outcome(e.data.status), e.data.status === 'Failed' && e.data.httpStatus ? ` ${e.data.httpStatus}` : '']], ['Resource', (e) => links.named(e.subject)],
  ['Who', (e) => (e.data.objectId ? links.shortID(e.data.objectId, e.data.name) : e.data.job ? links.shortJob(e.data.job, 'a job') : 'Portico')], ['Correlation ID', (e) => links.shortID(e.data.correlationId)]], events, { belongs, ...options });

export function start(body, context) {
  if (context.query.get('resource')) history(body, context);
  else live(body, context);
}

// history shows all that is kept of one ID, however long ago.
function history(body, { every, signal, query, title }) {
  const id = query.get('resource'), list = el('div', { id: 'changes' });
  title(`Changes of ${id.split('/').at(-1)}`);
  body.append(el('p', {}, links.resource(id)), list);
  every(5000, async () => {
    const { value, more } = await pages(`/admin/changes?limit=${mostShown}&resource=${encodeURIComponent(id)}`, signal, 1);
    show(list, changesOf(value, `${value.length} changes, newest first`, { empty: 'No changes of it are stored.' }), more ? note(`Only the latest ${mostShown} are shown.`) : '');
  });
}

function live(body, { every, signal, query, keep }) {
  const pause = el('input', { type: 'checkbox', id: 'pause' }), state = el('p', {}), list = el('div', { id: 'changes' });
  let events = [], last = '', read = false;
  const draw = () => {
    keep(by.values());
    const found = by.matching(events), since = events.length ? `, which began ${utc(new Date(events.at(-1).time))}` : '';
    show(list, changesOf(found.slice(0, mostShown), `${found.length} of the latest ${events.length} changes${since}; newest first${found.length > mostShown ? `, ${mostShown} are shown` : ''}`, { empty: events.length ? 'No changes match.' : 'No changes are stored.' }));
  };
  const by = filtersOf(query, [['text', 'Filter', JSON.stringify], ['type', 'Type', (e) => e.data.operationName, true], ['caller', 'Caller', (e) => e.data.name || e.data.objectId, true]], (e) => e.time, draw);
  pause.addEventListener('input', () => pause.checked || draw());
  body.append(filters(by.fields, field('Pause', pause)), state, list);
  // A stream ends after some minutes; the next one goes on where it was.
  every(1000, async () => {
    if (!read) {
      const { found, after } = await past(signal, mostRead);
      [events, last, read] = [found, after, true];
      draw();
    }
    const headers = { ...ourHeader(), Accept: 'text/event-stream' };
    if (last) headers['Last-Event-ID'] = last;
    const response = await fetch('/admin/changes?after=latest', { headers, signal, cache: 'no-store' });
    if (response.status === 410) [last, read] = ['', false];
    if (!response.ok) throw await failureOf(response);
    show(state, badge('live', 'good'));
    try {
      for await (const message of messages(response.body)) {
        if (message.id) last = message.id;
        if (!message.data) continue;
        events = [JSON.parse(message.data), ...events].slice(0, mostRead);
        if (!pause.checked) draw();
      }
    } finally {
      show(state, note('Reconnecting to the stream.'));
    }
  });
}

// messages reads a stream of server-sent events.
async function* messages(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      const message = {};
      for (const line of text.slice(0, end).split('\n')) {
        const [, name, rest] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
        if (name) message[name] = rest;
      }
      yield message;
    }
  }
}
