// Bodies of requests: JSON, whatever they call themselves; and merge-patches of them.
import { invalid } from './errors.mjs'

export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)

export function parseJSON(app) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') return done(null, undefined)
    try { done(null, JSON.parse(text)) } catch { done(invalid('The body is not well-formed JSON.')) }
  })
}

/** What RFC 7396 makes of target. fromEntries, as an assignment to __proto__ would lose that member. */
export function mergePatch(target, patch) {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}
