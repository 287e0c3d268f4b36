// One regional endpoint: node server.mjs --port 0 --region westus
import { parseArgs } from 'node:util'
import fastify from 'fastify'
import { randomUUID } from 'node:crypto'
import { answerErrors } from './src/errors.mjs'
import { parseJSON } from './src/json.mjs'
import { serve } from './src/routes.mjs'
import { NAMESPACE } from './src/types.mjs'

const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, region: { type: 'string', default: 'westus' } },
})

const app = fastify({
  genReqId: () => randomUUID(), // never a caller's: each answer has an id of its own
  requestIdHeader: false,
  bodyLimit: 4 << 20,
  http: { maxHeaderSize: 64 << 10 }, // a front door's headers are longer than Node's 16 KiB allow
  // Names match in any casing, and one that is too long is answered 400, not 404 by the router.
  routerOptions: { caseSensitive: false, maxParamLength: 8192 },
  ...answerErrors.options,
})
answerErrors(app)
parseJSON(app)
serve(app, values.region)

// Loopback only: it believes whoever calls.
const address = await app.listen({ host: '127.0.0.1', port: Number(values.port) })
console.log(`serving ${NAMESPACE} in ${values.region} on ${address}`)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close().then(() => process.exit(0)))
