// The filters of a list. The address holds them, so that a view can be sent.
import { el, show } from './dom.js';
import { field } from './parts.js';

// filtersOf has a field for each [id, title, value of an item, whether to suggest the values],
// and two for the time of an item if it has one.
export function filtersOf(query, fields, time, draw) {
  const input = (id, more) => el('input', { id, value: query.get(id) ?? '', oninput: draw, ...more });
  const by = fields.map(([id, title, of, suggests]) => ({ id, title, of, suggests, input: input(id, { type: 'search', list: suggests && `${id}-all` }), all: el('datalist', { id: `${id}-all` }) }));
  const from = input('from', { type: 'datetime-local' }), until = input('until', { type: 'datetime-local' });
  return {
    fields: [by.map((f) => field(f.title, [f.input, f.suggests && f.all], !f.suggests)), time && [field('From (UTC)', from), field('Until (UTC)', until)]],
    values: () => ({ ...Object.fromEntries(by.map((f) => [f.id, f.input.value])), from: from.value, until: until.value }),
    matching(items) {
      for (const f of by) if (f.suggests) show(f.all, [...new Set(items.map(f.of))].filter(Boolean).sort().map((value) => el('option', { value, 'data-key': value })));
      const at = (item) => new Date(time(item)).toISOString();
      return items.filter((i) => by.every((f) => String(f.of(i) ?? '').toLowerCase().includes(f.input.value.toLowerCase())) && (!from.value || at(i) >= from.value) && (!until.value || at(i) <= until.value));
    },
  };
}
