import { createNode, limitReached } from '../testing/node'
import { createCaller, createEvmCaller } from './caller'

const echo = (params: unknown) => params
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ method: 'echo', params: [index] }))

test('without batching each call is a request', async () => {
  const node = createNode({ echo })
  const call = createCaller(node, 'eip155:1')
  const answers = await Promise.all(numbered(3).map(call))
  expect(answers).toEqual([0, 1, 2].map((index) => ({ result: [index] })))
  expect(node.sent).toEqual([
    { jsonrpc: '2.0', id: 1, method: 'echo', params: [0] },
    { jsonrpc: '2.0', id: 2, method: 'echo', params: [1] },
    { jsonrpc: '2.0', id: 3, method: 'echo', params: [2] },
  ])
})

test('the calls of one moment share a request, up to the size of a batch, and each gets its own answer', async () => {
  const node = createNode({ echo })
  const call = createCaller(node, 'eip155:1', { batchSize: 4 })
  const answers = await Promise.all(numbered(9).map(call))
  expect(answers).toEqual(numbered(9).map(({ params }) => ({ result: params })))
  expect(node.sent.map((body) => (Array.isArray(body) ? body.length : 'alone'))).toEqual([4, 4, 'alone'])
})

test('a refusal rejects each call of the batch', async () => {
  const refusal = limitReached()
  const call = createCaller({ send: () => Promise.reject(refusal) }, 'eip155:1', {})
  const settled = await Promise.allSettled(numbered(3).map(call))
  expect(settled).toEqual(settled.map(() => ({ status: 'rejected', reason: refusal })))
})

test('an id that the chain’s name has is answered without a call', async () => {
  const node = createNode({})
  const { call, chainId } = createEvmCaller(node, 84532)
  expect(await call({ method: 'eth_chainId' })).toEqual({ result: '0x14a34' })
  expect(await call({ method: 'net_version' })).toEqual({ result: '84532' })
  expect([chainId(), node.sent]).toEqual(['0x14a34', []])
})

test('an id that only the gateway knows is asked for once, and again after a failure', async () => {
  let isAway = true
  const node = createNode({
    eth_chainId: () => {
      if (isAway) throw limitReached()
      return '0x14a34'
    },
  })
  const { call, chainId } = createEvmCaller(node, 'base-sepolia')
  await expect(call({ method: 'eth_chainId' })).rejects.toThrow('above the limit')
  expect(chainId()).toBeUndefined()
  isAway = false
  const both = [call({ method: 'eth_chainId' }), call({ method: 'net_version' })]
  expect(await Promise.all(both)).toEqual([{ result: '0x14a34' }, { result: '84532' }])
  await call({ method: 'eth_chainId' })
  expect([chainId(), node.methods(), [...node.chains]]).toEqual([
    '0x14a34',
    ['eth_chainId', 'eth_chainId'],
    ['base-sepolia'],
  ])
})
