import { failureOf, ourHeader } from './api.js';
import { badge, el, note, show, table, when } from './dom.js';

const mostShown = 200;

export function start(body, { every, signal }) {
  const text = el('input', { type: 'search', id: 'filter' }), pause = el('input', { type: 'checkbox', id: 'pause' }), state = el('p', {}), list = el('div', { id: 'changes' });
  let events = [], last = '';
  const draw = () => {
    const wanted = text.value.toLowerCase();
    const found = events.filter((e) => !wanted || JSON.stringify(e).toLowerCase().includes(wanted));
    show(list, table(`${found.length} changes since this page was opened, the newest first`, [
      ['Time', (e) => when(e.time)], ['What', (e) => e.data.operationName], ['Status', (e) => badge(e.data.status, e.data.status === 'Failed' ? 'bad' : e.data.status === 'Succeeded' ? 'good' : '')],
      ['Resource', (e) => el('span', { class: 'text' }, e.subject)], ['Who', (e) => e.data.objectId ?? e.data.job ?? 'Portico'],
      ['Correlation id', (e) => el('code', {}, e.data.correlationId ?? '')]], found, 'Nothing has changed yet.'));
  };
  text.addEventListener('input', draw);
  pause.addEventListener('input', () => pause.checked || draw());
  body.append(el('form', { onsubmit: (e) => e.preventDefault() }, el('label', { class: 'wide' }, 'Filter', text), el('label', {}, 'Pause', pause)), state, list);
  draw();
  // A stream ends after some minutes; the next one goes on where it was.
  every(1000, async () => {
    const headers = { ...ourHeader(), Accept: 'text/event-stream' };
    if (last) headers['Last-Event-ID'] = last;
    const response = await fetch('/admin/changes?after=latest', { headers, signal, cache: 'no-store' });
    if (response.status === 410) last = '';
    if (!response.ok) throw await failureOf(response);
    show(state, badge('live', 'good'));
    try {
      for await (const message of messages(response.body)) {
        if (message.id) last = message.id;
        if (!message.data) continue;
        events = [JSON.parse(message.data), ...events].slice(0, mostShown);
        if (!pause.checked) draw();
      }
    } finally {
      show(state, note('The stream is being taken up again.'));
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
