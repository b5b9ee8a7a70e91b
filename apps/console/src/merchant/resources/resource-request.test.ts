import { type RegisteredResource } from '@tollgate/protocol'
import { emptyResource, toResourceForm, toResourceRequest, validateResource } from './resource-request'

const usdc = { id: 1, network: 'base', asset: '0xAa', symbol: 'USDC', decimals: 6, active: true }
const atom = { id: 2, network: 'cosmoshub-4', asset: 'uatom', symbol: 'ATOM', decimals: 6, active: true }
const assets = [usdc, atom]

const resource: RegisteredResource = {
  id: 7,
  resource: 'https://shop.example/weather',
  type: 'http',
  x402Version: 1,
  accepts: [
    { scheme: 'exact', network: 'base', maxAmountRequired: '10000', asset: '0xaa', payTo: '0xShop' },
    {
      scheme: 'exact',
      network: 'cosmoshub-4',
      maxAmountRequired: '1500000',
      asset: 'uatom',
      payTo: 'cosmos1shop',
    },
  ],
  metadata: { description: 'The weather', mimeType: 'application/json', tags: ['sun'] },
  createdAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:00Z',
  owner: '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3',
  verified: false,
  verifiedAt: null,
  ownership: 'unchecked',
}

test('a resource that is saved without a change stays as it is, with what the form does not show', () => {
  const { resource: url, type, x402Version, metadata } = resource
  expect(toResourceRequest(toResourceForm(resource, assets), assets, metadata)).toEqual({
    resource: url,
    type,
    x402Version,
    accepts: [{ ...resource.accepts[0], asset: '0xAa' }, resource.accepts[1]],
    metadata,
  })
})

test('a text that is emptied is removed', () => {
  const form = { ...toResourceForm(resource, assets), description: ' ' }
  expect(toResourceRequest(form, assets, resource.metadata).metadata).toEqual({
    mimeType: 'application/json',
    tags: ['sun'],
  })
})

test.each([
  ['https://shop.example/', true],
  ['/weather', true],
  ['//evil.example', false],
  ['shop.example', false],
  ['', false],
])('whether %j may be registered: %s', (url, is) => {
  expect(validateResource(assets).resource(url) === null).toBe(is)
})

test('a price must be an amount of its asset, above zero', () => {
  const form = emptyResource(assets)
  const { price } = validateResource(assets).ways
  expect(['0.01', '0', '0.0000001', 'x'].map((text) => price(text, form, 'ways.0.price') === null)).toEqual([
    true,
    false,
    false,
    false,
  ])
})
