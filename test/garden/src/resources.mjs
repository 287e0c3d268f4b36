// A single resource: PUT, PATCH, GET (and HEAD, which fastify makes of it) and DELETE.
import { invalid, notFound, Refusal } from './errors.mjs'
import { mergePatch } from './json.mjs'
import { fold, foldLocation } from './names.mjs'
import { Operations } from './operations.mjs'
import { checkWrite, isKnown } from './preconditions.mjs'
import { checkBody, NAMESPACE } from './types.mjs'
import { view } from './view.mjs'

export function resourceHandlers(store, operations, region) {
  const found = (at) => store.get(at) ?? (() => { throw notFound(`'${at.names.join('/')}'`) })()
  const answer = (reply, status, resource) => reply.code(status).header('etag', resource.etag).send(view(resource))

  return {
    get(request, reply, at) {
      const resource = found(at)
      if (isKnown(request.headers, resource)) return reply.code(304).header('etag', resource.etag).send()
      return answer(reply, 200, resource)
    },

    put(request, reply, at) {
      if (at.type.parent) found({ ...at, type: at.type.parent, names: at.names.slice(0, -1) })
      const old = store.get(at)
      checkBody(at.type, request.body, old?.state ?? 'Succeeded')
      const { kind, location, tags, properties } = request.body
      if (at.type.tracked) checkLocation(location, region)
      checkWrite(request.headers, old)
      checkIdle(old)
      const next = {
        kind: kind ?? undefined,
        location: region,
        tags: tags ?? {},
        systemData: systemData(request, old),
        properties: written(properties),
        state: 'Succeeded',
      }
      if (!Operations.asked(request)) return answer(reply, old ? 200 : 201, store.put(at, next))
      const operation = operations.begin(request, at.subscription, (status) => {
        if (store.get(at)?.operation !== operation) return // it was deleted meanwhile
        store.put(at, status === 'Succeeded' ? next : { ...(old ?? next), state: status })
      })
      operations.announce(request, reply, operation, 'azure-asyncoperation')
      return answer(reply, old ? 200 : 201, store.put(at, { ...next, operation, state: old ? 'Updating' : 'Creating' }))
    },

    patch(request, reply, at) {
      const old = found(at)
      const patch = request.body
      checkBody(at.type, patch, old.state)
      checkKept(patch, view(old))
      checkWrite(request.headers, old)
      checkIdle(old)
      const resource = store.put(old.at, {
        ...old,
        state: 'Succeeded',
        ...('kind' in patch && { kind: patch.kind ?? undefined }),
        ...('tags' in patch && { tags: patch.tags ?? {} }),
        systemData: systemData(request, old),
        properties: written(mergePatch(old.properties, patch.properties ?? {})),
      })
      return answer(reply, 200, resource)
    },

    delete(request, reply, at) {
      const old = store.get(at)
      if (old) checkWrite(request.headers, old)
      if (old && Operations.asked(request)) {
        checkIdle(old)
        const operation = operations.begin(request, at.subscription, (status) => {
          if (store.get(at)?.operation !== operation) return
          if (status === 'Succeeded') store.delete(at)
          else store.put(at, old)
        })
        store.put(at, { ...old, operation, state: 'Deleting' })
        return operations.announce(request, reply.code(202), operation, 'location').send()
      }
      if (old) {
        store.delete(at) // also while something is under way, which ends by that
        old.operation?.end(old.state === 'Deleting' ? 'Succeeded' : 'Canceled')
      }
      return reply.code(old ? 200 : 204).send()
    },
  }
}

/** One operation at a time. */
function checkIdle(resource) {
  if (resource?.operation?.status === 'InProgress') throw new Refusal(409, 'OperationInProgress', 'Another operation on the resource is under way.')
}

function checkLocation(location, region) {
  if (typeof location !== 'string') throw invalid('location is required.', 'LocationRequired')
  if (foldLocation(location) !== region) throw invalid(`${NAMESPACE} does not serve '${location}' here.`, 'LocationNotAvailableForResourceType')
}

/** What a PATCH may name, but not change. */
function checkKept(patch, now) {
  for (const name of ['id', 'name', 'type'])
    if (name in patch && fold(String(patch[name])) !== fold(now[name])) throw invalid(`${name} cannot be changed.`)
  if ('location' in patch && now.location && foldLocation(String(patch.location)) !== now.location) throw invalid('location cannot be changed.')
}

/** properties as they are kept: without null, and without the state, which is no client's. */
function written(properties) {
  const { provisioningState, ...rest } = mergePatch({}, properties ?? {})
  return rest
}

/** The front door says who writes. The creation's members stay those of the first write. */
function systemData(request, old) {
  const header = request.headers['x-ms-arm-resource-system-data']
  if (!header) return old?.systemData
  let told
  try { told = JSON.parse(header) } catch { return old?.systemData }
  const of = (data, prefix) => Object.fromEntries(Object.entries(data ?? {}).filter(([name]) => name.startsWith(prefix)))
  return { ...of(old ? old.systemData : told, 'created'), ...of(told, 'lastModified') }
}
