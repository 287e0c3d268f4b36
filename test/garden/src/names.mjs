// Names: what they may contain, and when two are the same.
import { invalid } from './errors.mjs'

export function checkName(name) {
  if (name === '' || [...name].length > 260 || /[<>%&:\\?/\p{Cc}]/u.test(name))
    throw invalid(`'${name}' is no name of a resource: at most 260 characters, none of <>%&:\\?/ or control characters.`, 'InvalidResourceName')
}

export function checkGroup(group) {
  if (group.length > 90 || !/^[\p{L}\p{Nd}\-_().]*[\p{L}\p{Nd}\-_()]$/u.test(group))
    throw invalid(`'${group}' is no name of a group: at most 90 letters, digits and -_(). without a final dot.`, 'InvalidResourceGroup')
}

// Character by character, by simple case mappings: ß and ss, or é and e, are different names.
// toLowerCase of the whole text would map Σ by its place in a word.
const single = (mapped, otherwise) => ([...mapped].length === 1 ? mapped : otherwise)
const foldOne = (c) => { const upper = single(c.toUpperCase(), c); return single(upper.toLowerCase(), upper) }

/** The form under which names that differ in casing alone are equal. */
export const fold = (name) => Array.from(name, foldOne).join('')

/** "West US", "westus" and "West us" are one location. */
export const foldLocation = (location) => location.replaceAll(' ', '').toLowerCase()
