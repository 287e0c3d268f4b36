// The steps of a deployment: what each depends on, its time, its status and its error.
import { el } from './dom.js';
import { graph } from './graph.js';
import * as links from './links.js';
import { badge, facts, heading, note, table, text } from './parts.js';
import { when } from './time.js';

const states = {
  Waiting: ['waiting', 'warn', 'waiting'], Sent: ['being sent', 'good', 'inFlight'], Accepted: ['in progress', 'good', 'accepted'], Succeeded: ['succeeded', 'good', 'succeeded'],
  Failed: ['failed', 'bad', 'refused'], NotSent: ['not sent', '', 'notSent'], Ended: ['dependency failed', 'warn', 'waiting'], Canceled: ['canceled', '', 'notSent'],
};

export function deploymentOf(d) {
  const scope = d.id.slice(0, d.id.toLowerCase().indexOf('/providers/'));
  const shown = (id) => links.resource(id, id.toLowerCase().startsWith(`${scope.toLowerCase()}/providers/`) ? id.slice(scope.length + '/providers/'.length) : id);
  return [facts([['Deployment', d.state], ['Mode', d.mode], ['Correlation ID', links.correlation(d.correlationId)]]),
    d.error ? el('p', { class: 'text' }, badge('failed', 'bad'), ' ', d.error) : '',
    heading('Dependencies'), d.steps.length ? graph(d.steps.map(drawn)) : note('No steps are known.'), d.further ? note('Not all steps are shown.') : '',
    d.steps.length ? table('Steps', [
      ['Resource', (s) => [shown(s.id), s.removes ? [' ', badge('deletion', 'warn')] : '']], ['State', (s) => badge(...states[s.state].slice(0, 2))],
      ['Depends on', (s) => (s.dependsOn ?? []).map((id) => el('p', {}, shown(id)))], ['In', (s) => (s.within ? shown(s.within) : '')], ['Began', (s) => when(s.began)], ['Ended', (s) => when(s.ended)],
      ['Status', (s) => s.status ?? ''], ['Error', (s) => [s.waitsFor ? el('p', {}, s.waitsFor) : '', s.why ? text(s.why) : '']]], d.steps, { key: (s) => `${s.id} ${s.removes ?? ''}` }) : ''];
}

// drawn is a step as a graph has it.
function drawn(s) {
  const [said, , kind] = states[s.state];
  return { id: s.id, name: s.id.split('/').at(-1), about: `${s.type.split('/').at(-1)}: ${said}`, said, kind, waitsFor: s.dependsOn, parent: s.within };
}
