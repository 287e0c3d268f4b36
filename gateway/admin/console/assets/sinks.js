// The receivers of events: what they did not take, and how to send it again.
import { call, get, pages } from './api.js';
import { el, show } from './dom.js';
import { resource } from './links.js';
import { ask, badge, button, facts, note, table, text } from './parts.js';
import { when } from './time.js';

const kindOf = { Delivering: 'good', Away: 'bad' };
const listed = 100; // events of each list

export function start(body, { every, signal, query }) {
  const list = el('div', { id: 'sinks' });
  body.append(list);
  const refresh = async () => {
    const name = query.get('name'), { value: known } = await get('/admin/sinks', signal);
    const value = known.filter((s) => !name || s.name === name);
    const all = [];
    for (const sink of value) {
      const events = async (name, n) => (n ? (await pages(`${path(sink)}/${name}?limit=${listed}`, signal, 1)) : { value: [] });
      all.push([sink, await events('retrying', sink.retrying), await events('dead', sink.dead)]);
    }
    show(list, all.length ? all.map((one) => sinkOf(...one, refresh)) : note('The configuration has no sinks (events.sinks).'));
  };
  every(3000, refresh);
}

const path = (sink) => `/admin/sinks/${encodeURIComponent(sink.name)}`;
const why = (failure, status) => (status ? `${failure}, ${status}` : failure ?? '');
const subject = (e) => (e.event ? resource(e.event.subject) : 'no longer stored');

function sinkOf(sink, retrying, dead, refresh) {
  const { name, state } = sink;
  const shown = [['Lag', `${sink.lagEvents} events`], ['Behind', sink.lagSeconds ? `${Math.round(sink.lagSeconds)} s` : ''], ['Retrying', sink.retrying], ['Dead', sink.dead], ['Delivered', sink.delivered],
    ['Forgotten', sink.forgotten || ''], ['Last success', when(sink.lastSuccess)], ['Last failure', when(sink.lastFailure)], ['Failure', why(sink.failure, sink.status)], ['Failed event', sink.failedEvent], ['Away since', when(sink.awaySince)]];
  return el('section', { 'aria-label': name, 'data-key': name },
    el('article', { class: `box ${kindOf[state] ?? ''}`, 'data-sink': name },
      el('div', { class: 'row' }, el('h2', { class: 'text' }, name), badge(state, kindOf[state])),
      el('p', { class: 'muted text' }, sink.host),
      facts(shown),
      el('p', { class: 'tools' },
        button(`test-${name}`, 'Send a test', () => call('POST', `${path(sink)}/test`).then((t) => `The test was ${why(t.outcome, t.status)}.`), refresh), ' ',
        button(`ask-${name}`, 'Retry now', () => step(name), refresh), ' ',
        sink.dead ? button(`replay-${name}`, 'Replay all dead letters', () => replayAll(sink), refresh) : '')),
    table('Events to be retried', [
      ['Event', (e) => e.id], ['Why', (e) => (e.attempts ? why(e.failure, e.status) : 'waits for an earlier event of its resource')], ['Attempts', (e) => String(e.attempts)], ['Next', (e) => when(e.next)], ['Subject', subject],
      ['', (e) => (e.attempts ? button(`ask-${name}-${e.id}`, 'Try now', () => step(name, e.id), refresh) : '')]], retrying.value, { empty: 'No events to retry.' }),
    more(retrying),
    table('Dead letters', [
      ['Event', (e) => e.id], ['Why', (e) => why(e.failure, e.status)], ['Reason', (e) => text(e.reason)], ['Given up', (e) => when(e.givenUp)], ['Subject', subject],
      ['', (e) => button(`replay-${name}-${e.id}`, 'Replay', () => replay(sink, [e.id]), refresh)]], dead.value, { empty: 'No dead letters.' }),
    more(dead));
}

const more = (list) => (list.more ? note('There are more. portico sinks lists all.') : '');

const step = (sink, event) => call('POST', '/admin/unstick', { sink, event, step: 'ask' }).then((done) => done.outcome);

const replay = (sink, ids) => call('POST', `${path(sink)}/dead/replay`, ids ? { ids } : {}).then((done) => `${done.replayed} events will be retried.`);

const replayAll = async (sink) => ((await ask(`Retry all ${sink.dead} dead letters of ${sink.name}?`, 'Replay all')) ? replay(sink) : undefined);
