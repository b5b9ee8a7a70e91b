import { type PaymentPayload, type PaymentRequirements } from '@x402/core/types'
import {
  extractDiscoveryInfo,
  isValidRouteTemplate,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
  type DiscoveryExtension,
} from '@x402/extensions/bazaar'
import { declareJsonRpc, declareRest, listingOf } from './bazaar'

const rest = { base: 'https://gateway.example/v1/osmosis-1/rest', path: '/cosmos/bank/v1beta1/supply' }

const declarations = {
  'a JSON-RPC URL of an EVM chain': declareJsonRpc('evm'),
  'a JSON-RPC URL of a Cosmos chain': declareJsonRpc('cosmos'),
  'a REST URL': declareRest(rest),
  'a REST URL with a query': declareRest({ ...rest, query: { 'pagination.limit': '10' } }),
}

const extensionOf = ({ bazaar }: Readonly<Record<string, object>>) => bazaar as DiscoveryExtension

/** The catalogue entry that the public package makes of a payment which returns the declaration. */
function catalogued(url: string, extensions: Readonly<Record<string, object>>) {
  const accepted = {} as PaymentRequirements
  const payment: PaymentPayload = { x402Version: 2, resource: { url }, accepted, payload: {}, extensions }
  return extractDiscoveryInfo(payment, accepted)
}

test.each(Object.entries(declarations))('the public validator accepts %s', (_name, declaration) => {
  const extension = extensionOf(declaration)
  expect(validateDiscoveryExtension(extension)).toEqual({ valid: true })
  expect(validateDiscoveryExtensionSpec(extension as unknown as Record<string, unknown>)).toEqual({
    valid: true,
  })
})

test.each(['evm', 'cosmos'] as const)(
  'a JSON-RPC URL (%s) is catalogued by itself, as a POST',
  (ecosystem) => {
    const url = 'https://gateway.example/v1/eip155:84532'
    expect(catalogued(url, declareJsonRpc(ecosystem))).toMatchObject({
      resourceUrl: url,
      method: 'POST',
      discoveryInfo: { input: { bodyType: 'json', body: { jsonrpc: '2.0' } }, output: { type: 'json' } },
    })
  },
)

test('the schema refuses a body that is no JSON-RPC call', () => {
  const { info, schema } = extensionOf(declareJsonRpc('evm'))
  for (const body of ['text', {}, { jsonrpc: '1.0', method: 'eth_chainId' }, { jsonrpc: '2.0', method: 1 }]) {
    const extension = { info: { ...info, input: { ...info.input, body } }, schema } as DiscoveryExtension
    expect(validateDiscoveryExtension(extension).valid).toBe(false)
  }
})

test('all paths below a REST URL are one entry of the catalogue', () => {
  const paths = ['/cosmos/bank/v1beta1/supply', 'cosmos/tx/v1beta1/txs']
  const entries = paths.map((path) =>
    catalogued(`${rest.base}/${path.replace(/^\//, '')}?page=1`, declareRest({ base: rest.base, path })),
  )
  expect(entries.map((entry) => entry?.resourceUrl)).toEqual([`${rest.base}/:path`, `${rest.base}/:path`])
  expect(entries[0]).toMatchObject({
    method: 'GET',
    discoveryInfo: { input: { pathParams: { path: 'cosmos/bank/v1beta1/supply' } } },
  })
})

describe('the listing of a paid call', () => {
  const listed = (changes: Partial<Parameters<typeof listingOf>[0]>) =>
    listingOf(
      {
        ...{ ecosystem: 'cosmos', chainId: 'osmosis-1', transport: 'rest', method: 'GET' },
        resource: '/cosmos/bank/v1beta1/balances/osmo1secret',
        ...changes,
      },
      'https://gateway.example',
    )
  const base = 'https://gateway.example/v1/cosmos%3Aosmosis-1'
  test.each([
    ['a REST path', {}, `${base}/rest/:path`],
    ['a path of CometBFT', { transport: 'rpc', resource: '/tx?hash=0xsecret' }, `${base}/:path`],
  ] as const)(
    'of %s of a Cosmos chain is one entry, and has nothing of what was asked',
    (_, changes, url) => {
      const { extensions, outputSchema } = listed(changes)!
      const paid = 'https://gateway.example/v1/cosmos:osmosis-1/any'
      expect(validateDiscoveryExtensionSpec({ ...extensionOf(extensions) })).toEqual({ valid: true })
      expect([catalogued(paid, extensions)?.resourceUrl, outputSchema]).toEqual([url, undefined])
      expect(JSON.stringify(extensions)).not.toContain('secret')
    },
  )

  test('is none for other paths', () => {
    expect(listed({ ecosystem: 'evm', chainId: '1' })).toBeUndefined()
    expect(listed({ transport: 'rpc', method: 'POST', resource: '/x' })).toBeUndefined()
    expect(listed({ method: 'POST' })).toBeUndefined()
  })
})

test('a chain in CAIP-2 adds no parameter to the route', () => {
  const { bazaar } = declareRest({ ...rest, base: 'https://gateway.example/gw/v1/cosmos:osmosis-1/rest' })
  const { routeTemplate } = bazaar as { routeTemplate: string }
  expect(routeTemplate).toBe('/gw/v1/cosmos%3Aosmosis-1/rest/:path')
  expect(isValidRouteTemplate(routeTemplate)).toBe(true)
})
