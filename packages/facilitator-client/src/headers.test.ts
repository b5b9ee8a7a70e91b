import { createAuthHeaders, facilitatorConfig } from './headers'

describe('createAuthHeaders', () => {
  test('returns the client key for the requests that need it, as x402 libraries expect', async () => {
    const key = { 'X-Client-ID': 'client_1', 'X-Client-Token': 'secret' }
    const createHeaders = createAuthHeaders('client_1', 'secret')
    expect(await createHeaders()).toEqual({ verify: key, settle: key, supported: key })
  })

  test.each([
    ['', 'secret'],
    ['client_1', ''],
    ['client_1', 'secret\r\n'],
  ])('refuses at once what no header can carry (%j, %j)', (clientId, clientToken) => {
    expect(() => createAuthHeaders(clientId, clientToken)).toThrow(TypeError)
  })
})

describe('facilitatorConfig', () => {
  const key = { clientId: 'client_1', clientToken: 'secret' }

  test('contains the address and the client key', async () => {
    const { url, createAuthHeaders: createHeaders } = facilitatorConfig('https://host/api/v1', key)
    expect([url, await createHeaders()]).toEqual([
      'https://host/api/v1',
      await createAuthHeaders('client_1', 'secret')(),
    ])
  })

  test('removes the trailing slash of the address, because the libraries append one', () => {
    expect(facilitatorConfig('https://host/api/v1/', key).url).toBe('https://host/api/v1')
  })

  test.each(['', '/api/v1', 'host/api/v1', 'ftp://host', 'https://'])('refuses %j at once', (url) => {
    expect(() => facilitatorConfig(url, key)).toThrow(TypeError)
  })
})
