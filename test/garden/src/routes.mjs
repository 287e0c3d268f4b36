// Which path means what, and what is asked of every request before it is answered.
import { invalid, notFound, Refusal } from './errors.mjs'
import { isObject } from './json.mjs'
import { answerList } from './lists.mjs'
import { checkGroup, checkName } from './names.mjs'
import { Operations } from './operations.mjs'
import { resourceHandlers } from './resources.mjs'
import { Store } from './store.mjs'
import { API_VERSIONS, NAMESPACE, TYPES } from './types.mjs'

export function serve(app, region) {
  const store = new Store()
  const operations = new Operations(region)
  const resources = resourceHandlers(store, operations, region)
  const provider = `providers/${NAMESPACE}`
  const subscription = '/subscriptions/:subscription'
  const group = `${subscription}/resourceGroups/:group/${provider}`

  app.put(subscription, (request) => {
    if (queryOf(request)['api-version'] !== '2.0') throw noVersion()
    const state = isObject(request.body) && request.body.state
    if (typeof state !== 'string') throw invalid('state is missing.')
    store.tell(request.params.subscription, state)
    return request.body
  })

  app.get(`/${provider}/operations`, (request) => {
    checkVersion(request)
    return { value: TYPES.flatMap(operationsOf) }
  })

  for (const [word, handler] of Object.entries({ operations: 'status', operationResults: 'result' }))
    app.get(`${subscription}/${provider}/locations/:location/${word}/:id`, (request, reply) => {
      checkVersion(request)
      return operations[handler](request, reply)
    })

  for (const type of TYPES) {
    // gardens/:name0/plots/:name1, and without the last name the collection.
    const path = type.segments.map((segment, i) => `${segment}/:name${i}`).join('/')
    const collection = path.slice(0, path.lastIndexOf('/'))
    const placeOf = ({ subscription, group, ...names }) => ({ subscription, group, type, names: Object.values(names) })

    for (const method of ['get', 'put', 'patch', 'delete'])
      app[method](`${group}/${path}`, (request, reply) => {
        const at = placeOf(request.params)
        check(request, at)
        return resources[method](request, reply, at)
      })

    const list = (request) => {
      const at = placeOf(request.params)
      check(request, at)
      if (at.group !== undefined && type.parent && !store.get({ ...at, type: type.parent })) throw notFound(`'${at.names.join('/')}'`)
      return answerList(request, queryOf(request), store.all(at))
    }
    app.get(`${group}/${collection}`, list)
    if (!type.parent) app.get(`${subscription}/${provider}/${collection}`, list)
  }

  function check(request, at) {
    checkVersion(request)
    if (at.group !== undefined) checkGroup(at.group)
    at.names.forEach(checkName)
    checkState(request.method, store.state(at.subscription), at.subscription)
  }
}

// What may be done in a subscription of each state.
const READS = ['GET', 'HEAD']
const ALLOWED = { Registered: null, Warned: [...READS, 'DELETE'], Suspended: [...READS, 'DELETE'], Unregistered: READS }

function checkState(method, state, subscription) {
  if (!Object.hasOwn(ALLOWED, state ?? '')) throw new Refusal(404, 'SubscriptionNotFound', `The subscription '${subscription}' was not found.`)
  if (ALLOWED[state] && !ALLOWED[state].includes(method))
    throw new Refusal(409, 'SubscriptionNotRegistered', `The subscription is ${state}: ${method} is not allowed.`)
}

/** The query, its names in lower case, since they match in any casing. */
const queryOf = (request) => Object.fromEntries(Object.entries(request.query).map(([name, value]) => [name.toLowerCase(), value]))

const noVersion = () => invalid(`api-version is required, and one of ${API_VERSIONS.join(', ')}.`, 'InvalidApiVersionParameter')
const checkVersion = (request) => { if (!API_VERSIONS.includes(queryOf(request)['api-version'])) throw noVersion() }

const operationsOf = (type) => ['read', 'write', 'delete'].map((verb) => ({
  name: [NAMESPACE, ...type.segments, verb].join('/'),
  display: { provider: NAMESPACE, resource: type.segments.join('/'), operation: verb, description: `${verb} ${type.segments.at(-1)}` },
}))
