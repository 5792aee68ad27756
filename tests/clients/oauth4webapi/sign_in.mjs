// Signs in at an identity service with oauth4webapi, which checks every answer strictly.
//
// The one argument is JSON: issuer, client_id, client_secret (or null), authentication, redirect_uri,
// post_logout_redirect_uri, scope. Writes the authorization address to stdout, reads the address it
// was called back at from stdin, and writes what it learned as JSON. Any refusal of the library is an
// uncaught error.

import { createInterface } from 'node:readline/promises'
import * as oauth from 'oauth4webapi'

const DEADLINE = 30_000 // milliseconds for everything, the person included
setTimeout(() => {
  console.error('The deadline has passed.')
  process.exit(1)
}, DEADLINE).unref()

const config = JSON.parse(process.argv[2])
const client = { client_id: config.client_id }
const authentication = {
  client_secret_basic: () => oauth.ClientSecretBasic(config.client_secret),
  client_secret_post: () => oauth.ClientSecretPost(config.client_secret),
  none: () => oauth.None(),
}[config.authentication]()
const http = { [oauth.allowInsecureRequests]: true } // plain http, on this machine only

// Discovery, as OpenID Connect and as RFC 8414 describe it.
const issuer = new URL(config.issuer)
const [server] = await Promise.all(
  ['oidc', 'oauth2'].map(async (algorithm) =>
    oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm, ...http }),
    ),
  ),
)

// The person is sent to the service, and comes back.
const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()
const nonce = oauth.generateRandomNonce()
const address = new URL(server.authorization_endpoint)
for (const [name, value] of Object.entries({
  client_id: client.client_id,
  response_type: 'code',
  redirect_uri: config.redirect_uri,
  scope: config.scope,
  state,
  nonce,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})) {
  address.searchParams.set(name, value)
}
console.log(address.href)
const lines = createInterface({ input: process.stdin })
const { value: calledBackAt } = await lines[Symbol.asyncIterator]().next()
lines.close()

// `state` and `iss` are compared here (RFC 9207).
const parameters = oauth.validateAuthResponse(server, client, new URL(calledBackAt), state)

const exchanged = await oauth.authorizationCodeGrantRequest(
  server, client, authentication, parameters, config.redirect_uri, verifier, http,
)
const tokens = await oauth.processAuthorizationCodeResponse(server, client, exchanged, {
  expectedNonce: nonce,
  requireIdToken: true,
})
await oauth.validateApplicationLevelSignature(server, exchanged, http)
const claims = oauth.getValidatedIdTokenClaims(tokens)

const userinfo = await oauth.processUserInfoResponse(
  server, client, claims.sub,
  await oauth.userInfoRequest(server, client, tokens.access_token, http),
)

const repeated = await oauth.refreshTokenGrantRequest(
  server, client, authentication, tokens.refresh_token, http,
)
const refreshed = await oauth.processRefreshTokenResponse(server, client, repeated)
await oauth.validateApplicationLevelSignature(server, repeated, http)

// Signing out: the tokens end, then the person's session at the service.
await oauth.processRevocationResponse(
  await oauth.revocationRequest(server, client, authentication, refreshed.refresh_token, http),
)
const afterwards = await oauth
  .refreshTokenGrantRequest(server, client, authentication, refreshed.refresh_token, http)
  .then((answer) => oauth.processRefreshTokenResponse(server, client, answer))
  .catch((error) => error)
const logout = new URL(server.end_session_endpoint)
logout.searchParams.set('id_token_hint', refreshed.id_token)
logout.searchParams.set('post_logout_redirect_uri', config.post_logout_redirect_uri)
logout.searchParams.set('state', 's-1')

console.log(
  JSON.stringify({
    claims,
    scope: tokens.scope,
    userinfo,
    refreshed: oauth.getValidatedIdTokenClaims(refreshed),
    revoked: afterwards.error,
    logout: logout.href,
    replaced: refreshed.refresh_token !== tokens.refresh_token,
  }),
)
