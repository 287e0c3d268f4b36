// A step for what waits: what it would do is shown before anybody agrees to it.
import { call } from './api.js';
import { ask, facts } from './parts.js';

// unstick resolves to what came of a step, or to nothing where no one agreed. What is
// refused is refused before anybody is asked.
export async function unstick(order, question, agree, { shown = [], reason = false } = {}) {
  const { outcome } = await call('POST', '/admin/unstick', { ...order, dryRun: true });
  const agreed = await ask(question, agree, { shown: [shown, facts([['What it would do', outcome]])], reason });
  return agreed ? (await call('POST', '/admin/unstick', { ...order, ...(reason && { reason: agreed }) })).outcome : undefined;
}
