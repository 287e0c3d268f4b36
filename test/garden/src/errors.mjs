// Errors as the contract has them, and the id that every answer carries.
import { randomUUID } from 'node:crypto'

/** An error that is answered with its status, code and message. */
export class Refusal extends Error {
  constructor(status, code, message) {
    super(message)
    Object.assign(this, { status, code })
  }
}

export const invalid = (message, code = 'InvalidRequestContent') => new Refusal(400, code, message)
export const notFound = (what) => new Refusal(404, 'ResourceNotFound', `${what} was not found.`)

const envelope = (code, message) => ({ error: { code, message } })

export function answerErrors(app) {
  app.addHook('onRequest', async (request, reply) => { reply.header('x-ms-request-id', request.id) })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send(envelope('InvalidResourceType', `Nothing is served for ${request.method} ${request.url}.`)))
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof Refusal) return reply.code(error.status).send(envelope(error.code, error.message))
    if (error.statusCode < 500) return reply.code(error.statusCode).send(envelope('BadRequest', error.message)) // fastify's own
    console.error(error)
    return reply.code(500).send(envelope('InternalServerError', `Request ${request.id} failed.`))
  })
}

// A path that cannot be decoded never reaches the hooks and handlers above.
answerErrors.options = {
  frameworkErrors: (error, request, reply) =>
    reply.code(400).header('x-ms-request-id', randomUUID()).send(envelope('BadRequest', error.message)),
}
