import { parseEvmChain } from './chain'

test.each([
  ['eip155:84532', 'eip155:84532', 84532n],
  ['84532', 'eip155:84532', 84532n],
  [84532, 'eip155:84532', 84532n],
  [1n, 'eip155:1', 1n],
  ['base-sepolia', 'base-sepolia', undefined],
])('%p is the chain %s with the id %p', (chain, name, id) => {
  expect(parseEvmChain(chain)).toEqual({ name, id })
})

test.each(['cosmos:cosmoshub-4', 'eip155:', 'eip155:0x1', '', 0, -1, 1.5])('%p is refused', (chain) => {
  expect(() => parseEvmChain(chain)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error)
})
