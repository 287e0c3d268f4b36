// An issuer of OpenID Connect, by the library oidc-provider, on a loopback address over
// TLS. It has an application, which gets tokens by its secret, and the az CLI, which
// gets them for the one user by a code that a browser confirms. It prints its address,
// and serves until it is ended.

import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { Provider } from 'oidc-provider'

const { CERT, KEY, PATHNAME, TENANT, OBJECT, NAME, CLIENT, SECRET, AUDIENCE } = process.env

const commandLine = '04b07795-8ddb-461a-bbee-02f9e1bf7b46' // the client id of every az
const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code'
const scope = `${AUDIENCE}/.default ${AUDIENCE}//.default` // what clients of Azure ask for

const server = createServer({ cert: readFileSync(CERT), key: readFileSync(KEY) })
server.listen(0, '127.0.0.1', () => {
  const issuer = `https://127.0.0.1:${server.address().port}${PATHNAME}`
  const library = provider(issuer)
  const answer = library.callback()
  server.on('request', (request, response) => {
    if (request.url === `/${TENANT}/oauth2/v2.0/token`) { // for clients that do not ask for the address
      request.url = `${PATHNAME}/token`
    }
    if (!request.url.startsWith(`${PATHNAME}/`)) {
      response.writeHead(404).end()
      return
    }
    if (request.url.startsWith(`${PATHNAME}/signin/`)) { // there is one user, who needs no password
      library.interactionFinished(request, response, { login: { accountId: OBJECT } })
        .catch((error) => response.writeHead(500).end(String(error)))
      return
    }
    request.originalUrl = request.url // by which the library knows the path that it is below
    request.url = request.url.slice(PATHNAME.length)
    answer(request, response)
  })
  console.log(issuer)
})

function provider (issuer) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const library = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'only', use: 'sig', alg: 'RS256' }] },
    clients: [{
      client_id: CLIENT,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_post',
    }, {
      client_id: commandLine,
      grant_types: [deviceCode, 'refresh_token'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'none',
    }],
    ttl: { ClientCredentials: 3600, AccessToken: 3600 },
    claims: { openid: ['sub', 'tid', 'oid'], profile: ['name', 'preferred_username'] },
    conformIdTokenClaims: false, // clients of Azure read names from the ID token
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, tid: TENANT, oid: OBJECT, name: NAME, preferred_username: NAME }),
    }),
    interactions: { url: (_, interaction) => `${PATHNAME}/signin/${interaction.uid}` },
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId })
      grant.addOIDCScope('openid profile offline_access')
      grant.addResourceScope(AUDIENCE, scope)
      await grant.save()
      return grant
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ audience: AUDIENCE, scope, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
      },
    },
    extraTokenClaims: () => ({ tid: TENANT, oid: OBJECT, name: NAME }),
  })
  // az shows the user the issuer's own words, which the standard does not know.
  library.use(async (ctx, next) => {
    await next()
    if (ctx.body?.user_code) {
      ctx.body.message = `To sign in, use a web browser to open the page ${ctx.body.verification_uri} and enter the code ${ctx.body.user_code} to authenticate.`
    }
  })
  return library
}
