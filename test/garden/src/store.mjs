// What there is, in memory: subscriptions and resources.
import { fold } from './names.mjs'

export class Store {
  #subscriptions = new Map() // folded id: state
  #resources = new Map() // folded key: resource
  #sequence = 0

  /** The state that the front door told last, or undefined. */
  state(subscription) { return this.#subscriptions.get(fold(subscription)) }

  tell(subscription, state) {
    this.#subscriptions.set(fold(subscription), state)
    if (state !== 'Deleted') return
    for (const resource of this.all({ subscription })) this.#resources.delete(resource.key)
  }

  get(at) { return this.#resources.get(keyOf(at)) }

  /** Sets what is at a place. order stays while it exists, and etags are never used twice. */
  put(at, resource) {
    const key = keyOf(at)
    const old = this.#resources.get(key)
    const order = old?.order ?? ++this.#sequence
    const stored = { ...resource, at, key, order, etag: `W/"${++this.#sequence}"` }
    this.#resources.set(key, stored)
    return stored
  }

  /** Removes what is there, with what hangs below it. */
  delete(at) {
    const key = keyOf(at)
    for (const other of this.#resources.keys()) if (other.startsWith(key + '/')) this.#resources.delete(other)
    return this.#resources.delete(key)
  }

  /** In the order of creation: of a type; in a subscription, a group, or below a parent, as far as given. */
  all({ subscription, group, type, names = [] }) {
    const same = (a, b) => b === undefined || fold(a) === fold(b)
    return [...this.#resources.values()]
      .filter(({ at }) => same(at.subscription, subscription) && same(at.group, group) && (!type || at.type === type) &&
        names.every((name, i) => same(at.names[i], name)))
      .sort((a, b) => a.order - b.order)
  }
}

// A place is {subscription, group, type, names}: as many names as the type has segments.
const keyOf = ({ subscription, group, type, names }) =>
  fold([subscription, group, ...names.flatMap((name, i) => [type.segments[i], name])].join('/'))
