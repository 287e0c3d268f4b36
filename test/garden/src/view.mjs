// A resource as clients see it.
import { NAMESPACE } from './types.mjs'

/** Group and name in the casing of the latest write, not encoded. */
export function view({ at, kind, location, tags, systemData, properties, state, etag }) {
  const { subscription, group, type, names } = at
  const path = names.map((name, i) => `${type.segments[i]}/${name}`).join('/')
  return {
    id: `/subscriptions/${subscription}/resourceGroups/${group}/providers/${NAMESPACE}/${path}`,
    name: names.at(-1),
    type: [NAMESPACE, ...type.segments].join('/'),
    etag,
    ...(kind !== undefined && { kind }),
    ...(type.tracked && { location, tags, systemData }),
    properties: { ...properties, provisioningState: state },
  }
}
