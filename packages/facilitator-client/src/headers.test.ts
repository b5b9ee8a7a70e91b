import { createAuthHeaders, facilitatorConfig } from './headers'

describe('createAuthHeaders', () => {
  test('gives the client key for what asks for one, in the shape that x402 libraries take', async () => {
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

  test('gives address and client key together', async () => {
    const { url, createAuthHeaders: createHeaders } = facilitatorConfig('https://host/api/v1', key)
    expect([url, await createHeaders()]).toEqual([
      'https://host/api/v1',
      await createAuthHeaders('client_1', 'secret')(),
    ])
  })

  test('leaves no slash at the end of the address, after which the libraries put one of their own', () => {
    expect(facilitatorConfig('https://host/api/v1/', key).url).toBe('https://host/api/v1')
  })

  test.each(['', '/api/v1', 'host/api/v1', 'ftp://host', 'https://'])('refuses %j at once', (url) => {
    expect(() => facilitatorConfig(url, key)).toThrow(TypeError)
  })
})
