// Entity tags: If-Match and If-None-Match. An empty value counts as absent.
import { Refusal } from './errors.mjs'

const tagsOf = (header) => (header ?? '').split(',').map((tag) => tag.trim()).filter(Boolean)
const opaque = (tag) => tag.replace(/^W\//, '')
const names = (tags, resource) =>
  resource !== undefined && tags.some((tag) => tag === '*' || opaque(tag) === opaque(resource.etag))

/** Throws 412 where a write may not happen to what is there (or undefined). */
export function checkWrite(headers, resource) {
  const match = tagsOf(headers['if-match'])
  const noneMatch = tagsOf(headers['if-none-match'])
  if ((match.length && !names(match, resource)) || names(noneMatch, resource))
    throw new Refusal(412, 'PreconditionFailed', 'The resource is not in the state that If-Match or If-None-Match asks for.')
}

/** Whether a reader has what is there already: 304. */
export const isKnown = (headers, resource) => names(tagsOf(headers['if-none-match']), resource)
