// The types, their members, and what a valid body is.
import { invalid } from './errors.mjs'
import { isObject } from './json.mjs'

export const NAMESPACE = 'Fabrikam.Garden'
export const API_VERSIONS = ['2024-01-01']

const text = (value) => typeof value === 'string' && value.length <= 1000
const count = (value) => Number.isInteger(value) && value >= 0
const oneOf = (...values) => (value) => values.includes(value)

// properties: each member's check. members: those beside properties that clients write.
const gardens = {
  segments: ['gardens'], tracked: true,
  members: { kind: text },
  properties: { size: oneOf('small', 'large'), soil: text, fence: isObject },
}
const plots = {
  segments: ['gardens', 'plots'], parent: gardens, tracked: false,
  members: {},
  properties: { crop: text, rows: count },
}
export const TYPES = [gardens, plots]

// Clients put back what they have read; these are the provider's, or the URL's.
const READ_ONLY = ['id', 'name', 'type', 'etag', 'systemData']
const OF_TRACKED = ['location', 'tags'] // not applicable to others, where they are ignored

/** Refuses a body whose members are not those of the type. state is the provisioningState that a client may send. */
export function checkBody(type, body, state) {
  if (!isObject(body)) throw invalid('The body must be a JSON object.')
  for (const [name, value] of Object.entries(body)) {
    if (name === 'properties' || READ_ONLY.includes(name) || OF_TRACKED.includes(name)) continue
    const check = Object.hasOwn(type.members, name) && type.members[name]
    if (!check || (value !== null && !check(value))) throw invalid(`The member '${name}' is unknown or invalid.`)
  }
  const properties = body.properties ?? {}
  if (!isObject(properties)) throw invalid('properties must be an object.')
  for (const [name, value] of Object.entries(properties)) {
    if (value === null) continue
    if (name === 'provisioningState') {
      if (value !== state) throw invalid(`provisioningState is '${state}', and cannot be written.`)
      continue
    }
    const check = Object.hasOwn(type.properties, name) && type.properties[name]
    if (!check || !check(value)) throw invalid(`properties.${name} is unknown or invalid.`)
  }
  if (type.tracked) checkTags(body.tags)
}

function checkTags(tags) {
  if (tags === undefined || tags === null) return
  if (!isObject(tags)) throw invalid('tags must be an object.', 'InvalidTags')
  for (const [name, value] of Object.entries(tags)) {
    if (name.length > 512 || /[<>%&\\?/\p{Cc}]/u.test(name)) throw invalid(`'${name}' is no name of a tag.`, 'InvalidTagName')
    if (typeof value !== 'string' || value.length > 256) throw invalid(`The value of the tag '${name}' is no text of at most 256 characters.`, 'InvalidTagValue')
  }
}
