// Signs in at an identity service on another origin with oidc-client-ts. What it needs to know stands
// in the fragment of its first address, as JSON.

const settings = JSON.parse(
  sessionStorage.getItem('settings') ?? decodeURIComponent(location.hash.slice(1)),
)
sessionStorage.setItem('settings', JSON.stringify(settings))

const manager = new oidc.UserManager({
  ...settings,
  redirect_uri: location.origin + '/',
  post_logout_redirect_uri: location.origin + '/',
  scope: 'openid profile email offline_access',
  loadUserInfo: true,
  automaticSilentRenew: false,
})

const say = (text) => (document.getElementById('said').textContent = text)

async function greet(greeting) {
  const user = await manager.getUser()
  const { name, email } = user?.profile ?? {}
  document.getElementById('tokens').textContent = JSON.stringify(user)
  say(user ? `${greeting}, ${name} <${email}>` : 'Nobody')
}

function attempt(work) {
  return () => work().catch((error) => say(`Failed: ${error.error ?? error.message}`))
}

const on = (id, work) => document.getElementById(id).addEventListener('click', attempt(work))
on('sign-in', () => manager.signinRedirect())
on('refresh', async () => {
  await manager.signinSilent() // by the refresh token
  await greet('Hello again')
})
on('revoke', async () => {
  await manager.revokeTokens()
  say('Revoked')
})
on('sign-out', () => manager.signoutRedirect({ state: 'bye' }))

attempt(async () => {
  const query = new URLSearchParams(location.search)
  if (query.has('code')) {
    await manager.signinCallback()
    history.replaceState(null, '', '/')
  } else if (query.has('state')) {
    await manager.signoutCallback()
    return say('Signed out')
  }
  await greet('Hello')
})()
