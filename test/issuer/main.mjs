// An issuer of OpenID Connect, by the library oidc-provider, on a loopback address over
// TLS. It has one client, which gets tokens by its secret. It prints its address, and
// serves until it is ended.

import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { Provider } from 'oidc-provider'

const { CERT, KEY, TENANT, OBJECT, NAME, CLIENT, SECRET, AUDIENCE } = process.env

const server = createServer({ cert: readFileSync(CERT), key: readFileSync(KEY) })
server.listen(0, '127.0.0.1', () => {
  // Clients of Azure expect an issuer for each tenant, below its name.
  const path = `/${TENANT}/v2.0`
  const issuer = `https://127.0.0.1:${server.address().port}${path}`
  const answer = provider(issuer).callback()
  server.on('request', (request, response) => {
    if (!request.url.startsWith(`${path}/`)) {
      response.writeHead(404).end()
      return
    }
    request.originalUrl = request.url // by which the library knows the path that it is below
    request.url = request.url.slice(path.length)
    answer(request, response)
  })
  console.log(issuer)
})

function provider(issuer) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'only', use: 'sig', alg: 'RS256' }] },
    clients: [{
      client_id: CLIENT,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    }],
    ttl: { ClientCredentials: 3600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({ audience: AUDIENCE, scope: '', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      },
    },
    extraTokenClaims: () => ({ tid: TENANT, oid: OBJECT, name: NAME }),
  })
}
