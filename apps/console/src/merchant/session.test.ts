import { ApiError } from '../api/api-error'
import { createSession, subjectOf } from './session'
import { createTokenStore } from './token-store'

const refused = () => new ApiError(401, 'UNAUTHORIZED', 'The token is not valid')
const offline = () => new ApiError(0, 'UNREACHABLE', 'offline')

function storage() {
  const values = new Map<string, string>()
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  }
}

const userOf = (accessToken: string) => (accessToken.startsWith('access of other') ? 'other' : 'own')

/** A service that accepts the access tokens in `valid`, and refreshes with those of `renewals` one after the other. */
function world({ isStored = true } = {}) {
  const places = { tab: storage(), lasting: storage() }
  const store = createTokenStore(places.tab, places.lasting)
  if (isStored) store.write('refresh', false)
  const valid = new Set<string>()
  const sent: string[] = []
  let refreshes = 0
  let refusal: Error | undefined
  const session = createSession(
    store,
    () => {
      refreshes += 1
      if (refusal) return Promise.reject(refusal)
      valid.add(`access-${refreshes}`)
      return Promise.resolve(`access-${refreshes}`)
    },
    userOf,
  )
  return {
    ...places,
    session,
    valid,
    sent,
    refreshes: () => refreshes,
    refuse: (error: Error | undefined) => (refusal = error),
    ask: (name = 'request') =>
      session.request((token) => {
        sent.push(`${name} ${token}`)
        return valid.has(token) ? Promise.resolve(name) : Promise.reject(refused())
      }),
  }
}

const locked = (session: { state: () => string; subscribe: (listener: () => void) => () => void }) =>
  new Promise<void>((resolve) => session.subscribe(() => session.state() === 'locked' && resolve()))

test('a page without a token is signed out, and sends nothing', async () => {
  const { session, ask, sent } = world({ isStored: false })
  expect(session.state()).toBe('signed-out')
  await expect(ask()).rejects.toMatchObject({ code: 'SIGNED_OUT' })
  expect(sent).toEqual([])
})

test('many requests with an expired token share one refresh, and are each repeated once', async () => {
  const { ask, valid, sent, refreshes } = world()
  await ask('first')
  valid.clear()
  await expect(Promise.all([ask('a'), ask('b'), ask('c')])).resolves.toEqual(['a', 'b', 'c'])
  expect(refreshes()).toBe(2)
  expect(sent.filter((one) => one.startsWith('a '))).toEqual(['a access-1', 'a access-2'])
})

test('a request that is refused again fails, and is not repeated a second time', async () => {
  const { session, refreshes } = world()
  const send = jest.fn(() => Promise.reject(refused()))
  await expect(session.request(send)).rejects.toMatchObject({ status: 401 })
  expect([send.mock.calls.length, refreshes()]).toEqual([2, 2])
})

test('a late refusal of an old token uses the token that another request got', async () => {
  const { session, valid, ask, refreshes } = world()
  await ask()
  const answers: (() => void)[] = []
  const slow = session.request((token) =>
    valid.has(token) && token !== 'access-1'
      ? Promise.resolve('late')
      : new Promise<string>((_, reject) => answers.push(() => reject(refused()))),
  )
  valid.clear()
  await ask()
  answers[0]?.()
  await expect(slow).resolves.toBe('late')
  expect(refreshes()).toBe(2)
})

test('a session that ends while the page is open waits for the password, then sends all requests', async () => {
  const { session, ask, valid, refuse, tab } = world()
  await ask()
  valid.clear()
  refuse(refused())
  const waiting = locked(session)
  const both = Promise.all([ask('a'), ask('b')])
  await waiting
  valid.add('after password')
  session.start({ accessToken: 'after password', refreshToken: 'new' }, session.isKept())
  await expect(both).resolves.toEqual(['a', 'b'])
  expect([session.state(), ...tab.values.values()]).toEqual(['signed-in', 'new'])
})

test('signing out rejects the requests that wait for the password', async () => {
  const { session, ask, valid, refuse, tab } = world()
  await ask()
  valid.clear()
  refuse(refused())
  const waiting = locked(session)
  const request = ask()
  await waiting
  session.end()
  await expect(request).rejects.toMatchObject({ code: 'SIGNED_OUT' })
  expect([session.state(), tab.values.size]).toEqual(['signed-out', 0])
})

test('a stored token that is refused when the page opens leads to the sign-in', async () => {
  const { session, ask, refuse } = world()
  refuse(refused())
  await expect(ask()).rejects.toMatchObject({ status: 401 })
  expect(session.state()).toBe('signed-out')
})

test('a refresh without a network fails, keeps the session, and is tried again', async () => {
  const { session, ask, refuse } = world()
  refuse(offline())
  await expect(ask()).rejects.toMatchObject({ code: 'UNREACHABLE' })
  expect(session.state()).toBe('signed-in')
  refuse(undefined)
  await expect(ask()).resolves.toBe('request')
})

test('a refresh that ends after the sign-out brings no token back', async () => {
  const places = { tab: storage(), lasting: storage() }
  const store = createTokenStore(places.tab, places.lasting)
  store.write('refresh', false)
  let answer: (token: string) => void = () => undefined
  const session = createSession(store, () => new Promise((resolve) => (answer = resolve)), userOf)
  const request = session.request((token) => Promise.resolve(token))
  session.end()
  answer('late')
  await expect(request).rejects.toMatchObject({ code: 'SIGNED_OUT' })
})

test('the refresh token outlives the tab only if the reader wants that', () => {
  const { session, tab, lasting } = world({ isStored: false })
  session.start({ accessToken: 'a', refreshToken: 'kept' }, true)
  expect([[...lasting.values.values()], tab.values.size]).toEqual([['kept'], 0])
  session.start({ accessToken: 'a', refreshToken: 'not kept' }, false)
  expect([lasting.values.size, [...tab.values.values()]]).toEqual([0, ['not kept']])
})

describe('two tabs of a kept session', () => {
  /** Two tabs with one storage that outlives them. What `lasting` removes is a sign-out to the other tab. */
  function tabs() {
    const lasting = storage()
    const removed: string[] = []
    const watched = {
      ...lasting,
      removeItem(key: string) {
        if (lasting.values.has(key)) removed.push(key)
        lasting.removeItem(key)
      },
    }
    const valid = new Map([['first', 'access-1']])
    const refresh = (token: string) =>
      valid.has(token) ? Promise.resolve(valid.get(token) ?? '') : Promise.reject(refused())
    const openTab = () => createSession(createTokenStore(storage(), watched), refresh, userOf)
    const one = openTab()
    one.start({ accessToken: 'access-1', refreshToken: 'first' }, true)
    const other = openTab()
    const ask = () =>
      other.request((token) =>
        [...valid.values()].includes(token) ? Promise.resolve('answer') : Promise.reject(refused()),
      )
    return { one, other, ask, valid, removed }
  }

  test.each(['access-2', 'access of other'])(
    'signing in again as %s signs the other tab not out',
    (access) => {
      const { one, removed } = tabs()
      one.start({ accessToken: access, refreshToken: 'second' }, true)
      expect(removed).toEqual([])
    },
  )

  test('a locked tab goes on with the session that the other tab begins', async () => {
    const { one, other, ask, valid } = tabs()
    await ask()
    valid.clear()
    const waiting = locked(other)
    const request = ask()
    await waiting
    valid.set('second', 'access-2')
    one.start({ accessToken: 'access-2', refreshToken: 'second' }, true)
    await other.adopt()
    await expect(request).resolves.toBe('answer')
    expect(other.state()).toBe('signed-in')
  })

  test('a tab that finds its session ended goes on with the one that the other tab has begun', async () => {
    const { one, ask, valid } = tabs()
    await ask()
    valid.clear()
    valid.set('second', 'access-2')
    one.start({ accessToken: 'access-2', refreshToken: 'second' }, true)
    await expect(ask()).resolves.toBe('answer')
  })

  test('a locked tab does not go on as another user', async () => {
    const { one, other, ask, valid } = tabs()
    await ask()
    valid.clear()
    const waiting = locked(other)
    const request = ask()
    await waiting
    valid.set('second', 'access of other')
    one.start({ accessToken: 'access of other', refreshToken: 'second' }, true)
    await other.adopt()
    expect(other.state()).toBe('locked')
    other.end()
    await expect(request).rejects.toMatchObject({ code: 'SIGNED_OUT' })
  })
})

test('the user of an access token is the subject of its claims', () => {
  expect(subjectOf('e30.eyJzdWIiOiI3In0.signature')).toBe('7')
})
