// Operations that outlive their request, on demand: x-ms-fabrikam-async: true asks for one,
// x-ms-fabrikam-duration (seconds) and x-ms-fabrikam-outcome (Failed, Canceled) say how it goes.
import { randomUUID } from 'node:crypto'
import { notFound, Refusal } from './errors.mjs'
import { NAMESPACE } from './types.mjs'

const RETRY_AFTER = 10 // seconds; the contract allows 10 to 600

export class Operations {
  #all = new Map()
  constructor(region) { this.region = region }

  /** Whether the request asks for one, for certify and other tests. */
  static asked = (request) => request.headers['x-ms-fabrikam-async'] === 'true'

  /** Begins one in a subscription. finish(status) is called once, when it ends. */
  begin(request, subscription, finish) {
    const id = randomUUID()
    const path = `/subscriptions/${subscription}/providers/${NAMESPACE}/locations/${this.region}`
    const outcome = request.headers['x-ms-fabrikam-outcome'] ?? 'Succeeded'
    const operation = { id, path, subscription, by: callerOf(request), status: 'InProgress', startTime: new Date().toISOString() }
    operation.end = (status) => {
      if (operation.status !== 'InProgress') return
      clearTimeout(timer)
      Object.assign(operation, { status, endTime: new Date().toISOString() })
      if (status !== 'Succeeded') operation.error = { code: `Operation${status}`, message: `The operation was asked to end ${status}.` }
      finish(status)
    }
    const timer = setTimeout(() => operation.end(outcome), 1000 * Number(request.headers['x-ms-fabrikam-duration'] ?? 1)).unref()
    this.#all.set(id, operation)
    return operation
  }

  /** Adds the header that tells the client where to poll: Location or Azure-AsyncOperation. */
  announce(request, reply, operation, header) {
    const word = header === 'location' ? 'operationResults' : 'operations'
    const query = request.url.match(/api-version=[^&]*/i)[0]
    return reply.header('retry-after', RETRY_AFTER).header(header, `${publicHost(request)}${operation.path}/${word}/${operation.id}?${query}`)
  }

  /** The Azure-AsyncOperation resource: always 200. */
  status(request, reply) {
    const { id, path, status, startTime, endTime, error } = this.#find(request)
    if (!endTime) reply.header('retry-after', RETRY_AFTER)
    return reply.send({ id: `${path}/operations/${id}`, name: id, status, startTime, endTime, error })
  }

  /** What Location answers: 202 while it runs, then what the synchronous call would have. */
  result(request, reply) {
    const operation = this.#find(request)
    if (operation.status === 'InProgress') return this.announce(request, reply.code(202), operation, 'location').send()
    if (operation.error) throw new Refusal(409, operation.error.code, operation.error.message)
    return reply.code(204).send()
  }

  /** An operation exists only for who began it, in its subscription. */
  #find(request) {
    const { id, subscription, location } = request.params
    const operation = this.#all.get(id)
    if (!operation || operation.subscription.toLowerCase() !== subscription.toLowerCase() ||
        operation.by !== callerOf(request) || location.toLowerCase() !== this.region) throw notFound(`The operation '${id}'`)
    return operation
  }
}

const callerOf = ({ headers }) =>
  JSON.stringify([headers['x-ms-client-tenant-id'], headers['x-ms-client-object-id'] ?? headers['x-ms-client-puid']])

const publicHost = ({ headers }) => (headers.referer ? new URL(headers.referer).origin : `http://${headers.host}`)
